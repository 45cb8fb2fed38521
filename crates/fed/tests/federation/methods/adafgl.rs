//! AdaFGL: FedAvg until the switch, no messages after it, and its parts computed by hand.

use crate::small::*;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::config::ReportedRound;
use boostfgl_fed::methods::adafgl::confidence::{confidence, halves};
use boostfgl_fed::methods::adafgl::topology::{candidates, edge_weights, operator};
use boostfgl_fed::methods::adafgl::{Blend, Config};
use boostfgl_fed::{Federation, LocalData, Outcome, Setup, methods};
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role, Split, Stream};
use boostfgl_nn::{Matrix, Pool, Propagation, SimilarityRelation, SmoothingOperator};
use boostfgl_partition::Partition;
use proptest::prelude::*;

fn personal(change: impl Fn(&mut Setup)) -> (Outcome<f32>, Vec<Round>) {
    let graph = graph(WORDS);
    let mut setup = setup("adafgl", &[]);
    change(&mut setup);
    watch(&setup, data("adafgl", &graph, &partition(&graph)))
}

/// The global model is FedAvg's before and after step 2, and so is every prediction before it.
#[test]
fn before_the_switch_it_is_fedavg() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for boosts in [vec![], Boost::ALL.to_vec()] {
        let (outcome, rounds) =
            watch::<f32>(&setup("adafgl", &boosts), data("adafgl", &graph, &partition));
        let (fedavg, plain) =
            watch::<f32>(&setup("fedavg", &boosts), data("fedavg", &graph, &partition));
        assert_eq!(rounds.len(), plain.len() + setup("adafgl", &[]).methods.adafgl.personal_epochs);
        assert!(
            bits(&outcome.models) == bits(&fedavg.models),
            "{boosts:?}: step 2 moved the global model"
        );
        for (a, b) in rounds.iter().zip(&plain) {
            assert_eq!(
                (&a.predictions, a.val_accuracy),
                (&b.predictions, b.val_accuracy),
                "{boosts:?}"
            );
        }
        assert!(outcome.predictions != fedavg.predictions, "{boosts:?}: step 2 has no effect");
    }
    let (none, _) = personal(|setup| setup.methods.adafgl.personal_epochs = 0);
    let fedavg = run::<f32>(&setup("fedavg", &[]), data("fedavg", &graph, &partition));
    assert_same(&none, &fedavg, "no personal epoch");
}

/// The best round is chosen among those of the personal step: any earlier one is plain FedAvg.
#[test]
fn the_best_round_is_a_personal_one() {
    let (last, rounds) = personal(|_| {});
    let best = last.trace.best_val.as_ref().unwrap();
    let asked = setup("adafgl", &[]).protocol.rounds;
    let own = &rounds[asked..];
    let highest = own.iter().filter_map(|round| round.val_accuracy).fold(0.0, f64::max);
    assert!(
        best.round > asked && best.val_accuracy == Some(highest),
        "{} of {}",
        best.round,
        rounds.len()
    );
    let (reported, _) = personal(|setup| setup.protocol.report = ReportedRound::BestVal);
    assert_eq!((reported.round, &reported.predictions), (best.round, &best.predictions));
    assert_eq!(reported.trace, last.trace);
    assert_eq!(last.trace.last.as_ref().unwrap().predictions, last.predictions);
}

/// Each client gets the last global model once, whenever it first takes part in step 2, and nothing
/// else is sent.
#[test]
fn nothing_is_sent_in_step_two() {
    let (outcome, rounds) = personal(|setup| {
        setup.protocol.participation = 0.5;
        setup.methods.adafgl.personal_epochs = 6;
    });
    let p = outcome.models[0].count() as u64;
    let mut informed = Vec::new();
    for client in rounds[3..].iter().flat_map(|round| &round.clients) {
        let first = !informed.contains(&client.client);
        assert_eq!((client.bytes_up, client.bytes_down), (0, if first { 4 * p } else { 0 }));
        assert_eq!((client.weight, client.trust), (None, None));
        assert!(client.update_norm > 0.0);
        informed.push(client.client);
    }
    assert!(informed.len() == 12 && (0..CLIENTS).all(|k| informed.contains(&k)));
}

#[test]
fn training_decreases_the_loss_of_the_modules() {
    let (_, rounds) = personal(|setup| setup.methods.adafgl.personal_epochs = 30);
    let loss = |round: &Round| round.clients.iter().map(|c| c.loss).sum::<f64>();
    assert!(
        loss(&rounds[32]) < 0.5 * loss(&rounds[3]),
        "{} to {}",
        loss(&rounds[3]),
        loss(&rounds[32])
    );
}

/// Labels are propagated by GCN's operator on every backbone: a hard switch at any
/// client's score, and just above it, lets the same clients be homophilous. Three heads start from
/// about 3 ln C, the one of the other module below that.
#[test]
fn confidence_does_not_depend_on_the_backbone() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup("adafgl", &[]);
    let score = |data: &LocalData<f32>| {
        let labelled = data
            .training()
            .iter()
            .map(|&v| (v, data.training_label(v as usize).unwrap()))
            .collect();
        let (kept, hidden) = halves(labelled, setup.seed, data.id());
        confidence(&Propagation::<f32>::gcn(data.adjacency()), CLASSES, &kept, &hidden)
    };
    let scores: Vec<f64> = data("adafgl", &graph, &partition).iter().map(score).collect();
    (setup.protocol.rounds, setup.methods.adafgl.personal_epochs) = (1, 1);
    setup.methods.adafgl.combination = Blend::Hard;
    for backbone in ["gcn", "sage", "gat", "gin", "h2gcn"] {
        setup.model.backbone = backbone.into();
        for switch in
            scores.iter().flat_map(|score| [*score, score + 1e-6]).filter(|switch| *switch <= 1.0)
        {
            setup.methods.adafgl.switch = switch;
            let (_, rounds) = watch(&setup, data::<f32>("adafgl", &graph, &partition));
            for (client, score) in rounds[1].clients.iter().zip(&scores) {
                let homophilous = client.loss < 2.0 * (CLASSES as f64).ln();
                assert_eq!(
                    homophilous,
                    *score >= switch,
                    "{backbone}, client {}, {score}, {switch}",
                    client.client
                );
            }
        }
    }
}

/// Disconnected cliques of one class each: labels spread without error, and the soft output is the
/// homophilous one.
#[test]
fn cliques_of_one_class_are_homophilous() {
    let nodes = 24u32;
    let clique = |v: u32| v / 6;
    let pairs = (0..nodes).flat_map(|v| (0..v).map(move |u| (u, v)));
    let edges: Vec<(u32, u32)> = pairs.filter(|(u, v)| clique(*u) == clique(*v)).collect();
    let (adjacency, _) = Adjacency::from_edges(nodes as usize, &edges, None, false).unwrap();
    let p = Propagation::<f64>::gcn(&adjacency);
    let all: Vec<(u32, u32)> = (0..nodes).map(|v| (v, clique(v) % 3)).collect();
    let (kept, hidden) = all.iter().partition::<Vec<_>, _>(|(v, _)| v % 6 < 3);
    assert_eq!(confidence(&p, 3, &kept, &hidden), 1.0);
    assert_eq!(confidence(&p, 3, &kept, &[]), 0.5);

    let labels: Vec<i64> = all.iter().map(|(_, class)| i64::from(*class)).collect();
    let mut stream = Stream::new(0, "cliques", &[]);
    let features =
        Features::dense(24, 5, (0..24 * 5).map(|_| stream.normal() as f32).collect()).unwrap();
    let graph =
        Graph::new("cliques", adjacency, features, Labels::from_integers(&labels, 3).unwrap())
            .unwrap();
    let split =
        Split::new((0..24).map(|v| if v % 6 == 5 { Role::Test } else { Role::Train }).collect());
    let partition = Partition::new(1, vec![0; 24], split).unwrap();
    let outcome_with = |combination: Blend| {
        let mut setup = setup("adafgl", &[]);
        setup.methods.adafgl.combination = combination;
        let data: Vec<LocalData<f32>> =
            partition.client_graphs(&graph).iter().map(LocalData::new).collect();
        let (outcome, rounds) = watch(&setup, data);
        (outcome.predictions, rounds.last().unwrap().clients[0].loss)
    };
    assert_eq!(outcome_with(Blend::Soft), outcome_with(Blend::Hard));
}

/// All entries of an operator, row by row: the columns of a product with I.
fn written_out(operator: &SmoothingOperator<f64>) -> Vec<f64> {
    let n = operator.len();
    let unit: Vec<f64> = (0..n * n).map(|i| f64::from(u8::from(i / n == i % n))).collect();
    operator.product(&Matrix::from_rows(n, n, &unit), &Pool::new()).to_vec()
}

proptest! {
    #[test]
    fn confidence_is_a_share_of_hidden_labels(
        edges in prop::collection::vec((0u32..12, 0u32..12), 0..30),
        labels in prop::collection::vec(0u32..3, 12),
        seed in any::<u64>(),
    ) {
        let (a, _) = Adjacency::from_edges(12, &edges, None, false).unwrap();
        let labelled: Vec<(u32, u32)> = (0..12).zip(labels).take(7).collect();
        let (kept, hidden) = halves(labelled.clone(), seed, 0);
        prop_assert_eq!((kept.len(), hidden.len()), (4, 3));
        let mut both = [kept.clone(), hidden.clone()].concat();
        both.sort_unstable();
        prop_assert_eq!(both, labelled);
        let score = confidence(&Propagation::<f64>::gcn(&a), 3, &kept, &hidden);
        prop_assert!((score * 3.0).fract() == 0.0 && (0.0..=1.0).contains(&score));
    }

    /// With a = 1 smoothing is plain propagation, to the last bit; with a = 0 only similar
    /// nodes are neighbours.
    #[test]
    fn the_mixed_topology_is_the_graph_or_the_similarity_at_its_extremes(edges in prop::collection::vec((0u32..9, 0u32..9), 0..30), weighted in any::<bool>()) {
        let weights = vec![1.5f32; edges.len()];
        let (a, _) = Adjacency::from_edges(9, &edges, weighted.then_some(&weights[..]), false).unwrap();
        let alike: Vec<Vec<u32>> = (0..9u32).map(|v| if v < 2 { vec![1 - v] } else { vec![] }).collect();
        let plain = Propagation::<f64>::gcn(&a);
        let own = edge_weights(&a, &plain, Some(plain.csr()));
        let mixed = |a_share: f64| written_out(&operator::<f64>(&a, &own, SimilarityRelation::from_lists(&alike), a_share));
        prop_assert_eq!(mixed(1.0), written_out(&plain.csr().clone().into()));
        let (pair, _) = Adjacency::from_edges(9, &[(0, 1)], None, false).unwrap();
        let pair = Propagation::<f64>::gcn(&pair);
        prop_assert_eq!(mixed(0.0), written_out(&pair.csr().clone().into()));
        // In between, symmetric, and positive where there is an edge or a similarity.
        let (mixed, edge) = (mixed(0.3), |v: usize, u: usize| a.neighbours(v).contains(&(u as u32)));
        for (v, u) in (0..9).flat_map(|v| (0..9).map(move |u| (v, u))) {
            let (there, back) = (mixed[9 * v + u], mixed[9 * u + v]);
            prop_assert!((there - back).abs() < 1e-15);
            prop_assert_eq!(there > 0.0, v == u || edge(v, u) || alike[v].contains(&(u as u32)));
        }
    }
}

/// Above the cap only neighbours in confidence of the same predicted class are compared, and the
/// relation is symmetric.
#[test]
fn the_cap_limits_which_nodes_are_compared() {
    let rows: Vec<f64> = (0..10)
        .flat_map(|v| if v % 2 == 0 { [0.9 - 0.01 * f64::from(v), 0.1] } else { [0.2, 0.8] })
        .collect();
    let p = Matrix::from_rows(10, 2, &rows);
    assert_eq!(candidates(&p, 0.0, 10).pairs(), 100);
    let capped = candidates(&p, 0.0, 2);
    // Two classes of five in a row: each with itself and its one or two neighbours in the row.
    assert_eq!(capped.pairs(), 2 * (5 + 8));
    let alike = capped.relation().lists();
    assert_eq!(
        (&alike[0], &alike[4], &alike[1], &alike[5]),
        (&vec![2], &vec![2, 6], &vec![3], &vec![3, 7])
    );
    let (capped, _) = personal(|setup| setup.methods.adafgl.similarity_cap = 8);
    let (whole, _) = personal(|_| {});
    assert!(bits(&capped.models) == bits(&whole.models));
}

#[test]
fn double_precision_and_dense_features_run() {
    let narrow = boostfgl_graph::generator::FeatureSpec::Dense { columns: 12, signal: 0.5 };
    let graph = graph(narrow);
    let partition = partition(&graph);
    let setup = setup("adafgl", &[]);
    let single = run::<f32>(&setup, data("adafgl", &graph, &partition));
    let double = run::<f64>(&setup, data("adafgl", &graph, &partition));
    let same = single.predictions.iter().zip(&double.predictions).filter(|(a, b)| a == b).count();
    assert!(same > 270, "{same} of 300 predictions agree");
}

#[test]
fn the_memory_estimate_is_quadratic_below_the_cap() {
    let info = methods::find("adafgl").unwrap();
    let sizes = |n: f64| methods::Sizes {
        nodes: vec![n],
        arcs: vec![4.0 * n],
        features: 10.0,
        hidden: 16.0,
        classes: 3.0,
        parameters: 200.0,
        rounds: 50.0,
    };
    let configs = methods::MethodConfigs::default();
    let bytes = |n: f64| (info.extra_bytes)(&sizes(n), &configs);
    // A bit per pair at least.
    assert!(bytes(8e3) > 8e3 * 8e3 / 8.0 && bytes(8e4) < 8e4 * 8192.0 / 4.0 + 8e4 * 4096.0);
}

#[test]
fn bad_settings_are_refused_by_name() {
    type Change = fn(&mut Config);
    let cases: [(Change, &str); 9] = [
        (|c| c.hidden = 0, "methods.adafgl.hidden: expected at least 1, found 0"),
        (|c| c.similarity_cap = 0, "methods.adafgl.similarity_cap: expected at least 1, found 0"),
        (|c| c.a = 1.5, "methods.adafgl.a: expected a number from 0 to 1, found 1.5"),
        (|c| c.beta = f64::NAN, "methods.adafgl.beta: expected a number from 0 to 1, found NaN"),
        (
            |c| c.threshold = -0.1,
            "methods.adafgl.threshold: expected a number from 0 to 1, found -0.1",
        ),
        (|c| c.switch = 2.0, "methods.adafgl.switch: expected a number from 0 to 1, found 2"),
        (|c| c.dropout = 1.0, "methods.adafgl.dropout: expected at least 0 and below 1, found 1"),
        (
            |c| c.learning_rate = 0.0,
            "methods.adafgl.learning_rate: expected a number above 0, found 0",
        ),
        (
            |c| c.weight_decay = -1.0,
            "methods.adafgl.weight_decay: expected a number of at least 0, found -1",
        ),
    ];
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for (change, message) in cases {
        let mut setup = setup("adafgl", &[]);
        change(&mut setup.methods.adafgl);
        let refused =
            Federation::<f32>::new(setup, data("adafgl", &graph, &partition)).err().unwrap();
        assert_eq!(refused.to_string(), message);
    }
}
