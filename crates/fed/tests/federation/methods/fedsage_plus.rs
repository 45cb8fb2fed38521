//! Whole runs of FedSage+: without generated neighbours, on mended graphs, and its errors.

use crate::small::*;
use boostfgl_fed::boost::topology::Config as TopologyConfig;
use boostfgl_fed::boost::{Boost, TopologyBoost};
use boostfgl_fed::methods::fedsage_plus::{Config, Count};
use boostfgl_fed::{Federation, LocalData, Setup};
use boostfgl_graph::generator::FeatureSpec;
use boostfgl_graph::{Adjacency, Graph};
use boostfgl_nn::backbones::{Architecture, Backbone, Gcn, logits};
use boostfgl_nn::{Matrix, Params, Pool, Propagation, View};
use boostfgl_partition::Partition;

const DENSE: FeatureSpec = FeatureSpec::Dense { columns: 12, signal: 0.5 };

/// The small graph in equal parts, for which equal weights are FedAvg's.
fn equal_parts(graph: &Graph) -> Partition {
    let found = partition(graph);
    let mut order: Vec<usize> = (0..graph.len()).collect();
    order.sort_by_key(|&v| found.client_of(v));
    let mut assignment = vec![0; graph.len()];
    order.iter().enumerate().for_each(|(i, &v)| assignment[v] = (i * CLIENTS / graph.len()) as u32);
    Partition::new(CLIENTS, assignment, found.split().clone()).unwrap()
}

fn with(change: impl Fn(&mut Config)) -> Setup {
    let mut setup = setup("fedsage-plus", &[]);
    change(&mut setup.methods.fedsage_plus);
    setup
}

/// FedSage, which is FedAvg with equal weights: with p = 0, and with generators that learnt that no
/// neighbour is missing.
#[test]
fn without_generated_neighbours_it_is_the_unweighted_mean() {
    for features in [WORDS, DENSE] {
        let graph = graph(features);
        let partition = equal_parts(&graph);
        let fedavg = run::<f32>(&setup("fedavg", &[]), data("fedavg", &graph, &partition));
        let outcome_of =
            |setup: &Setup| run::<f32>(setup, data("fedsage-plus", &graph, &partition));
        assert_same(&fedavg, &outcome_of(&with(|c| c.max_neighbours = 0)), "p = 0");
        let idle =
            outcome_of(&with(|c| (c.count, c.hide, c.gen_epochs) = (Count::Truncate, 0.0, 40)));
        assert_same(&fedavg, &idle, "nothing generated");
        let mended = outcome_of(&with(|_| {}));
        assert!(bits(&mended.models) != bits(&fedavg.models), "the generator adds nothing");
        // So the settings of the conformance suite do mend graphs.
        let usual = |setup: &Setup| {
            run::<f32>(setup, data("fedsage-plus", &graph, &crate::small::partition(&graph)))
        };
        assert!(
            bits(&usual(&with(|_| {})).models)
                != bits(&usual(&with(|c| c.max_neighbours = 0)).models)
        );
    }
}

#[test]
fn every_client_weighs_the_same() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let (_, rounds) = watch::<f32>(&with(|_| {}), data("fedsage-plus", &graph, &partition));
    let weights =
        rounds.iter().flat_map(|round| round.clients.iter().map(|client| client.weight.unwrap()));
    assert!(weights.into_iter().all(|w| w == 1.0 / CLIENTS as f64));
    // Only real nodes are evaluated.
    assert!(
        rounds
            .iter()
            .all(|round| round.predictions.as_ref().is_some_and(|p| p.len() == graph.len()))
    );
    assert!(
        rounds.iter().all(|round| round.val_accuracy.is_some_and(|a| (0.0..=1.0).contains(&a)))
    );
}

/// One of the small clients with three generated neighbours.
fn mended(features: FeatureSpec, generated: &Matrix<f64>) -> (LocalData<f64>, LocalData<f64>) {
    let graph = graph(features);
    let client = &partition(&graph).client_graphs(&graph)[0];
    let data = LocalData::<f64>::new(client);
    let extended = data.extended(&[4, 9, 4], generated);
    (data, extended)
}

fn rows(width: usize) -> Matrix<f64> {
    Matrix::from_rows(
        3,
        width,
        &(0..3 * width).map(|i| ((i * 7) % 11) as f64 * 0.1 - 0.4).collect::<Vec<_>>(),
    )
}

#[test]
fn mending_adds_unlabelled_leaves_and_nothing_else() {
    for (features, width) in [(WORDS, 60), (DENSE, 12)] {
        let generated = rows(width);
        let (data, mended) = mended(features, &generated);
        let (n, adjacency) = (data.len(), mended.adjacency());
        assert_eq!(mended.len(), n + 3);
        for v in 0..mended.len() {
            assert!(
                adjacency
                    .neighbours(v)
                    .iter()
                    .all(|&u| adjacency.neighbours(u as usize).contains(&(v as u32)))
            );
        }
        assert_eq!(adjacency.induced(&(0..n as u32).collect::<Vec<_>>()), *data.adjacency());
        assert_eq!(
            (mended.training(), mended.training_counts()),
            (data.training(), data.training_counts())
        );
        assert!((n..n + 3).all(|v| mended.training_label(v).is_none()));
        assert!(mended.validation_nodes().eq(data.validation_nodes()));
        let all_stored = mended.inputs().stored() == mended.inputs().nodes() * width;
        assert_eq!(all_stored, features == DENSE, "sparse features stay sparse");
        let row = |data: &LocalData<f64>, v: usize| {
            let mut row = vec![0.0; width];
            data.inputs().write_row(v, &mut row);
            row
        };
        assert!((0..n).all(|v| row(&mended, v) == row(&data, v)));
        assert!((0..3).all(|i| row(&mended, n + i) == generated.row(i)));
    }
}

/// Edges run both ways: what is generated reaches the node it was generated for.
#[test]
fn a_generated_feature_reaches_its_neighbour() {
    for (features, width) in [(WORDS, 60), (DENSE, 12)] {
        let mut generated = rows(width);
        let net =
            Gcn::new(Architecture { inputs: width, hidden: HIDDEN, classes: CLASSES, layers: 2 });
        let model = Params::glorot(&Backbone::<f64>::shapes(&net), 1);
        let out = |generated: &Matrix<f64>| {
            let (_, mended) = mended(features, generated);
            logits(
                &net,
                &model,
                &View::whole(mended.inputs(), Backbone::<f64>::plan(&net)),
                &Pool::new(),
            )
        };
        let before = out(&generated);
        generated.row_mut(1).iter_mut().for_each(|x| *x += 0.5);
        let after = out(&generated);
        let changed: Vec<usize> =
            (0..before.rows()).filter(|&v| before.row(v) != after.row(v)).collect();
        assert!(changed.contains(&9), "{changed:?}");
        assert!(changed.len() < before.rows() / 2, "a leaf reaches two hops only");
    }
}

/// Edges of generated nodes get the mean score of real edges, and nothing changes without any.
#[test]
fn edges_of_generated_nodes_get_the_mean_topology_score() {
    let (path, _) = Adjacency::from_edges(4, &[(0, 1), (1, 2), (2, 3)], None, false).unwrap();
    let boost = TopologyBoost::new(&TopologyConfig { lambda_e: 2.0, ..TopologyConfig::default() });
    let numbers = |count: usize| (0..count).map(|i| 0.1 * (i % 7) as f64).collect::<Vec<f64>>();
    let plain = Propagation::gcn(&path);
    let (h, d) = (numbers(path.arcs()), numbers(4));
    let all = boost.propagation(&path, &plain, &h, &d);
    assert_eq!(boost.clone().on_own(4).propagation(&path, &plain, &h, &d), all);

    let mended = path.with_leaves(&[1, 1, 3]);
    let plain = Propagation::gcn(&mended);
    let propagation_of =
        |h: &[f64], d: &[f64]| boost.clone().on_own(4).propagation(&mended, &plain, h, d);
    let (h, d) = (numbers(mended.arcs()), numbers(7));
    let (mut doubtful, mut hard) = (h.clone(), d.clone());
    for v in 0..7 {
        for arc in mended.arc_range(v).filter(|&arc| v.max(mended.indices()[arc] as usize) >= 4) {
            doubtful[arc] = 0.99;
        }
    }
    hard[4..].fill(0.9);
    assert_eq!(
        propagation_of(&h, &d),
        propagation_of(&doubtful, &hard),
        "predictions of generated nodes have no effect"
    );
    assert_ne!(
        boost.propagation(&mended, &plain, &h, &d),
        boost.propagation(&mended, &plain, &doubtful, &hard)
    );
    // Both leaves of node 1 send alike.
    let row = propagation_of(&h, &d);
    let range = row.csr().row_range(1);
    assert_eq!(row.csr().values()[range.end - 1], row.csr().values()[range.end - 2]);
}

#[test]
fn boosts_stack_on_mended_graphs() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let plain = run::<f32>(&with(|_| {}), data("fedsage-plus", &graph, &partition));
    for boost in Boost::ALL {
        let boosted =
            run::<f32>(&setup("fedsage-plus", &[boost]), data("fedsage-plus", &graph, &partition));
        assert!(bits(&boosted.models) != bits(&plain.models), "{boost:?}");
        assert_eq!(boosted.predictions.len(), graph.len());
    }
}

#[test]
fn bad_settings_are_refused_by_name() {
    type Change = fn(&mut Config);
    let cases: [(Change, &str); 14] = [
        (|c| c.gen_epochs = 0, "gen_epochs: expected at least 1, found 0"),
        (|c| c.hidden = 0, "hidden: expected at least 1, found 0"),
        (|c| c.latent = 0, "latent: expected at least 1, found 0"),
        (|c| c.narrow = 0, "narrow: expected at least 1, found 0"),
        (|c| c.wide = 0, "wide: expected at least 1, found 0"),
        (|c| c.hide = 1.5, "hide: expected a number from 0 to 1, found 1.5"),
        (|c| c.hide = f64::NAN, "hide: expected a number from 0 to 1, found NaN"),
        (|c| c.dropout = 1.0, "dropout: expected at least 0 and below 1, found 1"),
        (|c| c.learning_rate = 0.0, "learning_rate: expected a number above 0, found 0"),
        (
            |c| c.learning_rate = f64::INFINITY,
            "learning_rate: expected a number above 0, found inf",
        ),
        (|c| c.weight_decay = -1.0, "weight_decay: expected a number of at least 0, found -1"),
        (|c| c.lambda_degree = -1.0, "lambda_degree: expected a number of at least 0, found -1"),
        (
            |c| c.lambda_feature = f64::NAN,
            "lambda_feature: expected a number of at least 0, found NaN",
        ),
        (|c| c.lambda_class = -0.5, "lambda_class: expected a number of at least 0, found -0.5"),
    ];
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for (change, message) in cases {
        let error = Federation::<f32>::new(with(change), data("fedsage-plus", &graph, &partition))
            .err()
            .unwrap();
        assert_eq!(error.to_string(), format!("methods.fedsage-plus.{message}"));
    }
}

#[test]
fn a_generator_that_diverges_is_reported() {
    let graph = graph(WORDS);
    let setup = with(|c| (c.learning_rate, c.gen_epochs) = (1e30, 8));
    let federation =
        Federation::<f32>::new(setup, data("fedsage-plus", &graph, &partition(&graph))).unwrap();
    let error = federation.run(&mut []).unwrap_err();
    assert_eq!(error.to_string(), "client 0 diverged in round 1: its generator is not finite");
}
