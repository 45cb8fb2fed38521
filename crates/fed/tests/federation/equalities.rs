//! Runs that must agree with each other, or with an independent implementation in a few lines.

use crate::small::*;
use boostfgl_fed::boost::difficulty::instant;
use boostfgl_fed::boost::model::{self, ModelBoost, Summary, TrustForm};
use boostfgl_fed::boost::{Boost, ServerBoosts, node};
use boostfgl_fed::config::{ClientWeight, OptimizerKind, OptimizerState, ReportedRound};
use boostfgl_fed::{Combination, Contribution, Federation, LocalData, Message, Setup, methods};
use boostfgl_graph::stream::key64;
use boostfgl_graph::{Graph, Role};
use boostfgl_nn::backbones::{Architecture, Backbone, Gcn, gradients, logits};
use boostfgl_nn::{
    Dropout, Inputs, Matrix, Params, Pool, Real, TensorShape, View, WeightedLoss, softmax_rows,
};
use boostfgl_partition::{ClientGraph, Partition};
use proptest::prelude::*;

/// The small graph as the data of one client.
fn one_client() -> (Graph, Partition) {
    let graph = graph(WORDS);
    let split = partition(&graph).split().clone();
    let partition = Partition::new(1, vec![0; graph.len()], split).unwrap();
    (graph, partition)
}

fn network(client: &ClientGraph) -> Gcn {
    Gcn::new(Architecture {
        inputs: client.graph.features().columns(),
        hidden: HIDDEN,
        classes: CLASSES,
        layers: 2,
    })
}

/// A training loop without any federation.
fn plain_training<T: Real>(setup: &Setup, client: &ClientGraph) -> Params<T> {
    let (net, inputs, pool) = (network(client), Inputs::<T>::new(&client.graph), Pool::new());
    let nodes = client.training_nodes();
    let labels = nodes.iter().map(|&v| client.graph.labels().get(v as usize).unwrap()).collect();
    let loss = WeightedLoss::new(labels, setup.protocol.loss);
    let view = View::training(&inputs, nodes, Backbone::<T>::plan(&net));
    let mut params = Params::glorot(&Backbone::<T>::shapes(&net), setup.seed);
    let mut optimizer = setup.optimizer.build();
    for round in 0..setup.protocol.rounds {
        for epoch in 0..setup.protocol.epochs {
            let key = key64(setup.seed, "dropout", &[0, round as u64, epoch as u64]);
            let dropout = Dropout::new(setup.model.dropout, key);
            let (_, gradient) = gradients(&net, &params, &view, &loss, dropout, &pool);
            optimizer.step(&mut params, &gradient);
        }
    }
    params
}

#[test]
fn fedavg_with_one_client_is_central_training() {
    let (graph, partition) = one_client();
    for (epochs, kind) in
        [(1, OptimizerKind::Adam), (3, OptimizerKind::Adam), (2, OptimizerKind::Sgd)]
    {
        let change = |mut setup: Setup| {
            (setup.protocol.epochs, setup.optimizer.optimizer) = (epochs, kind);
            setup
        };
        let [fedavg, central] = ["fedavg", "central"].map(|method| {
            run::<f32>(&change(setup(method, &[])), data(method, &graph, &partition))
        });
        assert_same(&fedavg, &central, "fedavg and central");
        let plain = plain_training::<f32>(&change(setup("central", &[])), &partition.whole(&graph));
        assert_eq!(central.models[0], plain, "central and a plain loop");
    }
}

/// Isolated training equals one plain loop per client.
#[test]
fn isolated_training_equals_plain_training_of_each_client() {
    let graph = graph(WORDS);
    let mut setup = setup("isolated", &[]);
    setup.model.dropout = 0.0;
    let partition = partition(&graph);
    let outcome = run::<f32>(&setup, data("isolated", &graph, &partition));
    for (client, model) in partition.client_graphs(&graph).iter().zip(&outcome.models) {
        assert_eq!(model, &plain_training(&setup, client), "client {}", client.id);
    }
    // Each client reports how far it moved in the first round.
    setup.protocol.rounds = 1;
    let (outcome, rounds) = watch::<f32>(&setup, data("isolated", &graph, &partition));
    for (record, model) in rounds[0].clients.iter().zip(&outcome.models) {
        let length = model.distance(&Params::glorot(model.shapes(), setup.seed));
        assert!((record.update_norm - length).abs() < 1e-12 * length && length > 0.1);
    }
}

/// Only the order in which the server sums models changes, so that results agree up to rounding.
#[test]
fn the_order_of_clients_does_not_matter() {
    fn apart<T: Real>(order: [usize; CLIENTS]) -> f64 {
        let graph = graph(WORDS);
        let partition = partition(&graph);
        let setup = setup("fedavg", &[]);
        let clients = partition.client_graphs(&graph);
        let permuted = order.iter().map(|&k| LocalData::<T>::new(&clients[k])).collect();
        let (a, b) = (run(&setup, data("fedavg", &graph, &partition)), run(&setup, permuted));
        assert_eq!(a.predictions, b.predictions);
        a.models[0].distance(&b.models[0])
    }
    for order in [[3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]] {
        assert!(apart::<f32>(order) < 1e-5, "{}", apart::<f32>(order));
        assert!(apart::<f64>(order) < 1e-13, "{}", apart::<f64>(order));
    }
    assert_eq!(apart::<f32>([0, 1, 2, 3]), 0.0);
}

#[test]
fn identical_clients_give_the_model_of_one() {
    let graph = graph(WORDS);
    let client = &partition(&graph).client_graphs(&graph)[1];
    // Local node numbers are global ones here: the copies hold the same nodes.
    let copy = ClientGraph { id: 0, nodes: (0..client.len() as u32).collect(), ..client.clone() };
    let copies =
        |count: usize| (0..count).map(|_| LocalData::<f32>::new(&copy)).collect::<Vec<_>>();
    for boosts in [vec![], vec![Boost::Node], Boost::ALL.to_vec()] {
        let setup = setup("fedavg", &boosts);
        let [one, three] = [1, 3].map(|count| run(&setup, copies(count)).models.remove(0));
        assert!(one.distance(&three) < 1e-6, "{boosts:?}: {}", one.distance(&three));
        // Trust cancels out between equal clients. Isolated training has no aggregation.
        let boosts: Vec<Boost> =
            boosts.into_iter().filter(|boost| *boost != Boost::Model).collect();
        let alone =
            Setup { method: methods::find("isolated").unwrap(), boosts: boosts.clone(), ..setup };
        let own = run(&alone, copies(3));
        assert!(own.models.iter().all(|own| own.distance(&three) < 1e-6), "{boosts:?}");
    }
}

fn sizes(clients: &[ClientGraph], size: impl Fn(&ClientGraph) -> usize) -> Vec<f64> {
    let total: usize = clients.iter().map(&size).sum();
    clients.iter().map(|client| size(client) as f64 / total as f64).collect()
}

#[test]
fn weights_without_trust_are_sizes() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let clients = partition.client_graphs(&graph);
    let weights = |change: &dyn Fn(&mut Setup)| {
        let mut setup = setup("fedavg", &Boost::ALL);
        change(&mut setup);
        let (_, rounds) = watch::<f32>(&setup, data("fedavg", &graph, &partition));
        let weights_of = |round: &Round| {
            round.clients.iter().map(|client| client.weight.unwrap()).collect::<Vec<_>>()
        };
        rounds.iter().map(weights_of).collect::<Vec<_>>()
    };
    let nodes = sizes(&clients, ClientGraph::len);
    let labelled = sizes(&clients, |client| client.training_nodes().len());
    assert!(nodes.iter().zip(&labelled).any(|(a, b)| (a - b).abs() > 1e-3), "the two must differ");
    for trust in [TrustForm::Rational, TrustForm::Exponential] {
        let off = move |setup: &mut Setup| {
            (setup.boost.model.lambda_s, setup.boost.model.gamma, setup.boost.model.trust) =
                (0.0, 0.0, trust);
        };
        assert_eq!(weights(&off), vec![nodes.clone(); 3], "{trust:?}");
    }
    let bare = |weight: ClientWeight| {
        move |setup: &mut Setup| {
            setup.boosts.clear();
            setup.protocol.client_weight = weight;
        }
    };
    assert_eq!(weights(&bare(ClientWeight::Nodes)), vec![nodes.clone(); 3]);
    assert_eq!(weights(&bare(ClientWeight::Labelled)), vec![labelled; 3]);
    assert!(
        weights(&|_| {}).iter().flatten().zip(nodes.iter().cycle()).any(|(a, b)| a != b),
        "trust has no effect"
    );
}

/// An update from the origin, of that length, in a direction that depends on the client.
fn update_of_length(length: f64, client: usize) -> Params<f64> {
    let mut values = vec![0.0; 8];
    values[client % 8] = length;
    Params::from_tensors(&[TensorShape::bias("theta", 8)], vec![Matrix::from_rows(1, 8, &values)])
}

/// The weights of clients with these (update norm, gap, size).
fn combined(clients: &[(f64, f64, f64)], config: &model::Config) -> Vec<f64> {
    let start = update_of_length(0.0, 0);
    let models: Vec<Params<f64>> =
        clients.iter().enumerate().map(|(k, (norm, _, _))| update_of_length(*norm, k)).collect();
    let message = Message::default();
    let update = |(k, (_, gap, size)): (usize, &(f64, f64, f64))| Contribution {
        client: k,
        model: Some(&models[k]),
        message: &message,
        norm: models[k].distance(&start),
        tensor_norms: &[],
        size: *size,
        summary: Some(Summary { gap: *gap, minority_difficulty: 0.3 }),
    };
    let updates: Vec<Contribution<'_, f64>> = clients.iter().enumerate().map(update).collect();
    let sizes: Vec<f64> = clients.iter().map(|client| client.2).collect();
    let boost = ModelBoost::new(config);
    Combination::new(&updates, &sizes, ServerBoosts::only(&boost)).unwrap().mean_weights()
}

fn trust_config() -> impl Strategy<Value = model::Config> {
    (0.0f64..5.0, 0.0f64..5.0, any::<bool>()).prop_map(|(lambda_s, gamma, exponential)| {
        model::Config {
            lambda_s,
            gamma,
            trust: if exponential { TrustForm::Exponential } else { TrustForm::Rational },
            ..model::Config::default()
        }
    })
}

proptest! {
    /// Trust is relative: among equal clients it has no effect, at any strength.
    #[test]
    fn clients_of_equal_trust_are_weighted_by_size(
        sizes in prop::collection::vec(1.0f64..500.0, 1..8),
        norm in 0.0f64..20.0,
        gap in 0.0f64..1.0,
        config in trust_config(),
    ) {
        let clients: Vec<_> = sizes.iter().map(|&size| (norm, gap, size)).collect();
        let total: f64 = sizes.iter().sum();
        for (weight, size) in combined(&clients, &config).iter().zip(&sizes) {
            prop_assert!((weight - size / total).abs() < 1e-12);
        }
        let uniform = model::Config { trust_times_size: false, ..config };
        for weight in combined(&clients, &uniform) {
            prop_assert!((weight - 1.0 / sizes.len() as f64).abs() < 1e-12);
        }
    }

    /// After normalisation the weight of an only client is 1 whatever its trust.
    #[test]
    fn an_only_client_has_weight_one(norm in 0.0f64..1e6, gap in 0.0f64..1.0, size in 1.0f64..1e6, config in trust_config()) {
        prop_assert_eq!(combined(&[(norm, gap, size)], &config), [1.0]);
        prop_assert_eq!(combined(&[(norm, gap, size)], &model::Config { trust_times_size: false, ..config }), [1.0]);
    }

    /// exp(−λₛ r) of every client may underflow to 0; their ratios do not.
    #[test]
    fn huge_updates_leave_weights_that_sum_to_one(
        clients in prop::collection::vec((500.0f64..1e5, 0.0f64..1.0, 1.0f64..500.0), 1..6),
        config in trust_config(),
    ) {
        let config = model::Config { lambda_s: config.lambda_s + 2.0, ..config };
        let weights = combined(&clients, &config);
        prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{:?}", weights);
        let more = |a: usize, b: usize| clients[a].0 < clients[b].0 && clients[a].1 <= clients[b].1 && clients[a].2 >= clients[b].2;
        for a in 0..clients.len() {
            for b in (0..clients.len()).filter(|&b| more(a, b)) {
                prop_assert!(weights[a] >= weights[b], "{:?}", weights);
            }
        }
    }
}

#[test]
fn an_only_client_makes_trust_irrelevant() {
    let (graph, partition) = one_client();
    let base = run::<f32>(&setup("fedavg", &[]), data("fedavg", &graph, &partition));
    for trust in [TrustForm::Rational, TrustForm::Exponential] {
        for (times_size, lambda_s) in [(true, 0.5), (false, 0.5), (true, 1e4), (false, 1e4)] {
            let mut setup = setup("fedavg", &[Boost::Model]);
            setup.boost.model = model::Config {
                trust,
                trust_times_size: times_size,
                lambda_s,
                ..model::Config::default()
            };
            let boosted = run::<f32>(&setup, data("fedavg", &graph, &partition));
            assert_same(
                &base,
                &boosted,
                &format!("{trust:?}, size {times_size}, strength {lambda_s}"),
            );
        }
    }
}

/// Per training node of a client: loss and difficulty under a model, by plain propagation.
fn losses_and_difficulties(client: &ClientGraph, model: &Params<f64>) -> Vec<(f64, f64)> {
    let (net, inputs) = (network(client), Inputs::<f64>::new(&client.graph));
    let mut p =
        logits(&net, model, &View::whole(&inputs, Backbone::<f64>::plan(&net)), &Pool::new());
    softmax_rows(&mut p);
    let loss_and_difficulty = |v: u32| {
        let label = client.graph.labels().get(v as usize).unwrap();
        let row = p.row(v as usize);
        (-row[label as usize].ln(), instant(row, Some(label)))
    };
    client.training_nodes().into_iter().map(loss_and_difficulty).collect()
}

/// The loss of round t weighs node v by 1 + λn d̄, where d̄ is the difficulty under the model of
/// round t − 1 if μ = 1, and an average over earlier rounds otherwise.
#[test]
fn difficulty_has_no_memory_with_mu_one() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let clients = partition.client_graphs(&graph);
    for (mu, lambda_n) in [(1.0, 0.5), (1.0, 2.0), (0.3, 2.0)] {
        let of_rounds = |rounds: usize| {
            let mut setup = setup("fedavg", &[Boost::Node]);
            (setup.protocol.rounds, setup.model.dropout) = (rounds, 0.0);
            setup.boost.node = node::Config { lambda_n, mu };
            setup
        };
        let initial = Params::<f64>::glorot(
            &Backbone::<f64>::shapes(&network(&clients[0])),
            of_rounds(1).seed,
        );
        let after = |rounds: usize| match rounds {
            0 => initial.clone(),
            _ => {
                run::<f64>(&of_rounds(rounds), data("fedavg", &graph, &partition)).models.remove(0)
            }
        };
        let models: Vec<Params<f64>> = (0..3).map(after).collect();
        let (_, rounds) = watch::<f64>(&of_rounds(3), data("fedavg", &graph, &partition));
        for (k, client) in clients.iter().enumerate() {
            let mut mean = vec![0.0; client.training_nodes().len()];
            for (round, model) in rounds.iter().zip(&models) {
                let nodes = losses_and_difficulties(client, model);
                mean.iter_mut()
                    .zip(&nodes)
                    .for_each(|(mean, (_, d))| *mean = (1.0 - mu) * *mean + mu * d);
                if mu == 1.0 {
                    assert!(mean.iter().zip(&nodes).all(|(mean, (_, d))| mean == d));
                }
                let weighted =
                    mean.iter().zip(&nodes).map(|(mean, (loss, _))| (1.0 + lambda_n * mean) * loss);
                let expected = weighted.sum::<f64>() / nodes.len() as f64;
                assert!((round.clients[k].loss - expected).abs() < 1e-10, "μ = {mu}, client {k}");
            }
        }
    }
}

#[test]
fn participation_is_a_seeded_choice_of_the_right_size() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let chosen = |participation: f64, seed: u64| {
        let mut setup = setup("fedavg", &[]);
        (setup.seed, setup.protocol.rounds, setup.protocol.participation) =
            (seed, 12, participation);
        setup.protocol.eval_every = 12;
        let (_, rounds) = watch::<f32>(&setup, data("fedavg", &graph, &partition));
        let of =
            |round: &Round| round.clients.iter().map(|client| client.client).collect::<Vec<_>>();
        rounds.iter().map(of).collect::<Vec<_>>()
    };
    for (participation, count) in [(0.01, 1), (0.25, 1), (0.5, 2), (0.75, 3), (1.0, 4)] {
        let rounds = chosen(participation, 0);
        for clients in &rounds {
            assert_eq!(clients.len(), count, "{participation}");
            assert!(clients.is_sorted() && clients.iter().all(|&k| k < CLIENTS));
            assert!(clients.windows(2).all(|pair| pair[0] != pair[1]));
        }
        assert_eq!(rounds, chosen(participation, 0), "the same seed");
        if count < CLIENTS {
            assert_ne!(rounds, chosen(participation, 1), "another seed");
            assert!(rounds.iter().any(|clients| *clients != rounds[0]), "another round");
            assert!(
                (0..CLIENTS).all(|k| rounds.iter().flatten().any(|&c| c == k)),
                "every client takes part"
            );
        }
    }
}

#[test]
fn moments_are_kept_or_reset_between_rounds() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let outcome_with = |state: OptimizerState, rounds: usize| {
        let mut setup = setup("isolated", &[]);
        (setup.optimizer.optimizer_state, setup.protocol.rounds) = (state, rounds);
        setup.model.dropout = 0.0;
        (setup.clone(), run::<f32>(&setup, data("isolated", &graph, &partition)))
    };
    assert_same(
        &outcome_with(OptimizerState::Keep, 1).1,
        &outcome_with(OptimizerState::Reset, 1).1,
        "one round",
    );
    let (setup, reset) = outcome_with(OptimizerState::Reset, 2);
    assert!(
        bits(&reset.models) != bits(&outcome_with(OptimizerState::Keep, 2).1.models),
        "two rounds"
    );
    // Resetting the moments equals training for one round twice.
    let mut once = setup;
    once.protocol.rounds = 1;
    let first = run::<f32>(&once, data("isolated", &graph, &partition));
    for client in partition.client_graphs(&graph) {
        // Alone it is the only client, so that its nodes are the whole global graph.
        let own = ClientGraph { nodes: (0..client.len() as u32).collect(), ..client };
        let (net, start) = (Box::new(network(&own)), &first.models[own.id]);
        let again =
            Federation::from_model(once.clone(), vec![LocalData::new(&own)], net, start).unwrap();
        assert_eq!(
            again.run(&mut []).unwrap().models[0],
            reset.models[own.id],
            "client {}",
            own.id
        );
    }
}

#[test]
fn the_best_round_is_reported_unchanged() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for (eval_every, boosts) in [(1, vec![]), (1, Boost::ALL.to_vec()), (2, vec![])] {
        let outcome_with = |rounds: usize, report: ReportedRound| {
            let mut setup = setup("fedavg", &boosts);
            (setup.protocol.rounds, setup.protocol.report, setup.protocol.eval_every) =
                (rounds, report, eval_every);
            // Large steps, so that the last round is not the best one.
            setup.optimizer.learning_rate = 0.3;
            setup
        };
        let (best, rounds) = watch::<f32>(
            &outcome_with(9, ReportedRound::BestVal),
            data("fedavg", &graph, &partition),
        );
        let top = rounds.iter().filter_map(|round| round.val_accuracy).fold(0.0, f64::max);
        let first = rounds.iter().position(|round| round.val_accuracy == Some(top)).unwrap();
        assert!(first + 1 < 9 && top < 1.0, "round {} of 9 is too easy a case", first + 1);
        assert_eq!(best.round, first + 1);
        assert_eq!(Some(&best.predictions), rounds[first].predictions.as_ref());
        let hits = partition
            .split()
            .nodes(Role::Val)
            .filter(|&v| Some(best.predictions[v]) == graph.labels().get(v));
        assert_eq!(hits.count() as f64 / partition.split().count(Role::Val) as f64, top);
        let stopped = run::<f32>(
            &outcome_with(best.round, ReportedRound::Last),
            data("fedavg", &graph, &partition),
        );
        assert_same(&stopped, &best, "stopping there");
        let last =
            run::<f32>(&outcome_with(9, ReportedRound::Last), data("fedavg", &graph, &partition));
        assert_eq!((last.round, Some(&last.predictions)), (9, rounds[8].predictions.as_ref()));
        assert!(bits(&last.models) != bits(&best.models));
        assert_eq!(last.bytes_up, best.bytes_up, "all rounds count");
    }
}
