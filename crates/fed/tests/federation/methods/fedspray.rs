//! FedSpray: how the shared modules affect the clients' GNNs and how they do not. Unit tests next
//! to the code check the formulas.

use crate::small::*;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::config::{ClientWeight, OptimizerState};
use boostfgl_fed::methods::fedspray::Head2Start;
use boostfgl_fed::{Federation, Outcome, Setup};
use boostfgl_graph::Role;
use boostfgl_nn::Real;
use boostfgl_partition::Partition;

fn outcome<T: Real>(method: &str, boosts: &[Boost], change: impl Fn(&mut Setup)) -> Outcome<T> {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup(method, boosts);
    change(&mut setup);
    run(&setup, data(method, &graph, &partition))
}

/// λ₁ = 0: every GNN trains as if there were no server, independently of the modules.
#[test]
fn without_soft_targets_every_gnn_trains_alone() {
    for (epochs, participation, boosts) in
        [(1, 1.0, vec![]), (3, 0.5, vec![]), (2, 1.0, vec![Boost::Node])]
    {
        let change = |lambda: f64| {
            move |setup: &mut Setup| {
                (setup.protocol.epochs, setup.protocol.participation) = (epochs, participation);
                setup.methods.fedspray.lambda = lambda;
            }
        };
        let alone = outcome::<f32>("isolated", &boosts, change(0.0));
        assert_same(
            &alone,
            &outcome::<f32>("fedspray", &boosts, change(0.0)),
            &format!("{epochs} epochs"),
        );
        let taught = outcome::<f32>("fedspray", &boosts, change(1.0));
        assert!(bits(&alone.models) != bits(&taught.models), "soft targets have no effect");
    }
}

/// A client's first soft targets depend on the received modules alone: no setting of step 6 changes
/// them.
#[test]
fn modules_reach_the_gnn_only_through_the_server() {
    type Change = fn(&mut Setup);
    let changes: [Change; 3] = [
        |s| s.methods.fedspray.proxy_rate = 0.5,
        |s| s.methods.fedspray.proxy_epochs = 4,
        |s| s.methods.fedspray.head2_start = Head2Start::Head1,
    ];
    for (i, change) in changes.into_iter().enumerate() {
        for (rounds, same) in [(1, true), (4, false)] {
            let base = outcome::<f32>("fedspray", &[], |s| s.protocol.rounds = rounds);
            let other = outcome::<f32>("fedspray", &[], |s| {
                s.protocol.rounds = rounds;
                change(s);
            });
            assert_eq!(
                bits(&base.models) == bits(&other.models),
                same,
                "change {i}, {rounds} rounds"
            );
        }
    }
}

#[test]
fn module_epochs_default_to_local_epochs() {
    let outcome_with = |proxy_epochs: usize| {
        outcome::<f32>("fedspray", &[], |s| {
            (s.protocol.epochs, s.methods.fedspray.proxy_epochs) = (2, proxy_epochs);
        })
    };
    assert_same(&outcome_with(0), &outcome_with(2), "2 epochs");
    assert!(bits(&outcome_with(0).models) != bits(&outcome_with(1).models));
}

/// Messages do not grow with the GNN, and clients that start from different GNNs send the same
/// modules' sizes.
#[test]
fn the_gnn_is_never_sent() {
    let bytes = |hidden: usize| {
        let outcome = outcome::<f32>("fedspray", &[], |s| s.model.hidden = hidden);
        (outcome.bytes_up, outcome.bytes_down, outcome.models[0].count())
    };
    let (narrow, wide) = (bytes(4), bytes(32));
    assert_eq!((narrow.0, narrow.1), (wide.0, wide.1));
    assert!(narrow.2 < wide.2);
}

/// At threshold 1 only training nodes have soft targets, so that the threshold has no effect on a
/// client that has only training nodes.
#[test]
fn the_threshold_affects_only_nodes_without_training_label() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let all = boostfgl_graph::Split::new(vec![Role::Train; graph.len()]);
    let labelled = Partition::new(CLIENTS, base.assignment().to_vec(), all).unwrap();
    let models_at = |partition: &Partition, threshold: f64| {
        let mut setup = setup("fedspray", &[]);
        setup.methods.fedspray.threshold = threshold;
        bits(&run::<f32>(&setup, data("fedspray", &graph, partition)).models)
    };
    assert!(models_at(&labelled, 0.0) == models_at(&labelled, 1.0));
    assert!(models_at(&base, 0.0) != models_at(&base, 1.0));
}

/// Modules are weighted by labelled nodes, whatever `client_weight` counts as a client's size.
#[test]
fn modules_are_weighed_by_labelled_nodes() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let labelled: Vec<f64> = partition
        .client_graphs(&graph)
        .iter()
        .map(|client| client.training_nodes().len() as f64)
        .collect();
    let total: f64 = labelled.iter().sum();
    for weight in [ClientWeight::Nodes, ClientWeight::Labelled] {
        let mut setup = setup("fedspray", &[]);
        setup.protocol.client_weight = weight;
        let (_, rounds) = watch::<f32>(&setup, data("fedspray", &graph, &partition));
        for round in &rounds {
            let found: Vec<f64> =
                round.clients.iter().map(|client| client.weight.unwrap()).collect();
            assert_eq!(found, labelled.iter().map(|n| n / total).collect::<Vec<_>>());
            assert!(round.predictions.is_some() && round.val_accuracy.is_some());
        }
    }
}

/// Moments of the modules follow optimizer_state as those of the GNN do.
#[test]
fn moments_of_the_modules_are_kept_or_reset() {
    let outcome_with = |state: OptimizerState, rounds: usize| {
        bits(
            &outcome::<f32>("fedspray", &[], |s| {
                (s.optimizer.optimizer_state, s.protocol.rounds) = (state, rounds);
            })
            .models,
        )
    };
    assert!(outcome_with(OptimizerState::Keep, 1) == outcome_with(OptimizerState::Reset, 1));
    assert!(outcome_with(OptimizerState::Keep, 3) != outcome_with(OptimizerState::Reset, 3));
}

/// The same run in both number types, as far as they can agree.
#[test]
fn single_and_double_precision_agree() {
    let change = |s: &mut Setup| (s.model.dropout, s.protocol.rounds) = (0.0, 2);
    let (single, double) =
        (outcome::<f32>("fedspray", &[], change), outcome::<f64>("fedspray", &[], change));
    for (a, b) in single.models.iter().zip(&double.models) {
        for (a, b) in a.tensors().iter().zip(b.tensors()) {
            let apart = a
                .to_vec()
                .iter()
                .zip(b.to_vec())
                .map(|(a, b)| (f64::from(*a) - b).abs())
                .fold(0.0, f64::max);
            assert!(apart < 2e-3, "{apart}");
        }
    }
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    type Change = fn(&mut Setup);
    let cases: [(Change, &str); 6] = [
        (|s| s.methods.fedspray.lambda = -1.0, "lambda: expected a number of at least 0, found -1"),
        (
            |s| s.methods.fedspray.threshold = 1.5,
            "threshold: expected a number from 0 to 1, found 1.5",
        ),
        (
            |s| s.methods.fedspray.threshold = f64::NAN,
            "threshold: expected a number from 0 to 1, found NaN",
        ),
        (|s| s.methods.fedspray.width = 0, "width: expected at least 1, found 0"),
        (|s| s.methods.fedspray.proxy_rate = 0.0, "proxy_rate: expected a number above 0, found 0"),
        (
            |s| s.methods.fedspray.proxy_rate = f64::INFINITY,
            "proxy_rate: expected a number above 0, found inf",
        ),
    ];
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for (change, message) in cases {
        let mut setup = setup("fedavg", &[]);
        change(&mut setup);
        let refused =
            Federation::<f32>::new(setup, data("fedavg", &graph, &partition)).err().unwrap();
        assert_eq!(refused.to_string(), format!("methods.fedspray.{message}"));
    }
}
