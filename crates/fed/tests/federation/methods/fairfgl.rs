//! FairFGL: properties of whole runs. Unit tests next to the code check the formulas of its parts.

use crate::small::*;
use boostfgl_fed::boost::{Boost, TrustScope};
use boostfgl_fed::config::{ClientWeight, OptimizerState};
use boostfgl_fed::methods::fairfgl::{Alpha, Clusters, EvaluatedWeights, UploadedWeights};
use boostfgl_fed::{
    Federation, Inspection, LocalData, Observer, ObserverResult, Outcome, RoundRecord, Setup,
};
use boostfgl_graph::Role;
use boostfgl_nn::{Matrix, Params, Real};
use boostfgl_partition::ClientGraph;

fn outcome<T: Real>(method: &str, boosts: &[Boost], change: impl Fn(&mut Setup)) -> Outcome<T> {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup(method, boosts);
    change(&mut setup);
    run(&setup, data(method, &graph, &partition))
}

/// λ₁ = λ₂ = η = 0, no mixture, ρ = 1, one cluster.
fn off(setup: &mut Setup) {
    let fairfgl = &mut setup.methods.fairfgl;
    (fairfgl.distill, fairfgl.align, fairfgl.modify) = (0.0, 0.0, 0.0);
    (fairfgl.alpha, fairfgl.keep, fairfgl.clusters) = (Alpha::Off, 1.0, Clusters::One);
}

#[test]
fn with_everything_off_it_is_fedavg() {
    for (epochs, participation, boosts) in
        [(1, 1.0, vec![]), (3, 0.5, vec![]), (2, 1.0, Boost::ALL.to_vec())]
    {
        for weight in [ClientWeight::Nodes, ClientWeight::Labelled] {
            let change = |setup: &mut Setup| {
                (setup.protocol.epochs, setup.protocol.participation) = (epochs, participation);
                (setup.protocol.client_weight, setup.protocol.rounds) = (weight, 4);
                off(setup);
            };
            let (fedavg, fairfgl) = (
                outcome::<f32>("fedavg", &boosts, change),
                outcome::<f32>("fairfgl", &boosts, change),
            );
            assert_same(
                &fedavg,
                &fairfgl,
                &format!("{epochs} epochs, {participation}, {boosts:?}"),
            );
            assert_eq!(
                (fedavg.bytes_up, fedavg.bytes_down),
                (fairfgl.bytes_up, fairfgl.bytes_down)
            );
        }
    }
}

/// Each part alone changes the run, from the first round in which it can: a part that uses the
/// history needs two rounds.
#[test]
fn every_part_has_an_effect_from_its_first_round() {
    type Change = fn(&mut Setup);
    let parts: [(&str, Change, usize); 8] = [
        ("mixture per parameter", |s| s.methods.fairfgl.alpha = Alpha::Element, 2),
        ("mixture per tensor", |s| s.methods.fairfgl.alpha = Alpha::Tensor, 2),
        ("mixture", |s| s.methods.fairfgl.alpha = Alpha::Scalar, 2),
        ("distillation", |s| s.methods.fairfgl.distill = 1.0, 2),
        ("alignment", |s| s.methods.fairfgl.align = 1.0, 2),
        ("gradient modification", |s| s.methods.fairfgl.modify = 0.5, 2),
        ("sparse upload", |s| s.methods.fairfgl.keep = 0.3, 1),
        ("clusters", |s| s.methods.fairfgl.clusters = Clusters::Linkage, 1),
    ];
    for (name, part, first) in parts {
        for rounds in [1, 2] {
            let outcome_with = |part: Option<Change>| {
                outcome::<f32>("fairfgl", &[], |s| {
                    s.protocol.rounds = rounds;
                    off(s);
                    part.iter().for_each(|part| part(s));
                })
            };
            assert_eq!(
                bits(&outcome_with(None).models) == bits(&outcome_with(Some(part)).models),
                rounds < first,
                "{name}, {rounds}"
            );
        }
    }
}

/// Uploading all entries of an update gives the server the same model as uploading the model.
#[test]
fn uploading_all_entries_equals_uploading_the_model() {
    let outcome_with = |keep: f64| {
        outcome::<f64>("fairfgl", &[], |s| {
            off(s);
            s.methods.fairfgl.keep = keep;
        })
    };
    let (model, entries) = (outcome_with(1.0), outcome_with(1.0 - 1e-12));
    assert!(model.models[0].distance(&entries.models[0]) < 1e-12);
    let p = model.models[0].count() as u64;
    // In double precision an element has 8 bytes, as a size has; a place has 4.
    assert_eq!(model.bytes_up, (8 * p + 8) * 3 * CLIENTS as u64);
    assert_eq!(entries.bytes_up, (12 * p + 8) * 3 * CLIENTS as u64);
}

/// One client and one round: exactly ⌈ρP⌉ parameters of the global model change, by their change in
/// training, and no other parameter changed more in training.
#[test]
fn a_sparse_upload_holds_the_largest_changes() {
    let graph = graph(WORDS);
    let client = &partition(&graph).client_graphs(&graph)[1];
    let one_client = || {
        let copy =
            ClientGraph { id: 0, nodes: (0..client.len() as u32).collect(), ..client.clone() };
        vec![LocalData::<f64>::new(&copy)]
    };
    let outcome_with = |keep: f64| {
        let mut setup = setup("fairfgl", &[]);
        setup.protocol.rounds = 1;
        off(&mut setup);
        setup.methods.fairfgl.keep = keep;
        run::<f64>(&setup, one_client()).models.remove(0)
    };
    let flat =
        |model: &Params<f64>| model.tensors().iter().flat_map(Matrix::to_vec).collect::<Vec<f64>>();
    let (all, some) = (outcome_with(1.0), outcome_with(0.25));
    let start = flat(&Params::<f64>::glorot(all.shapes(), 5));
    let (all, some) = (flat(&all), flat(&some));
    let kept: Vec<usize> = (0..start.len()).filter(|&i| some[i] != start[i]).collect();
    assert_eq!(kept.len(), start.len().div_ceil(4));
    let change = |i: usize| (all[i] - start[i]).abs();
    let least = kept.iter().map(|&i| change(i)).fold(f64::INFINITY, f64::min);
    for i in 0..start.len() {
        match kept.binary_search(&i) {
            Ok(_) => assert!((some[i] - all[i]).abs() < 1e-15, "entry {i}"),
            Err(_) => assert!(change(i) <= least, "entry {i}"),
        }
    }
}

/// With q = 0 no client has a minority, and no gradient is modified; messages are still sent.
#[test]
fn clients_without_a_minority_are_not_modified() {
    let outcome_with = |modify: f64, minority_ratio: f64| {
        outcome::<f32>("fairfgl", &[], |s| {
            off(s);
            (s.methods.fairfgl.modify, s.methods.fairfgl.minority_ratio) = (modify, minority_ratio);
        })
    };
    assert!(bits(&outcome_with(0.0, 0.0).models) == bits(&outcome_with(0.5, 0.0).models));
    assert!(bits(&outcome_with(0.0, 0.3).models) != bits(&outcome_with(0.5, 0.3).models));
    assert!(outcome_with(0.5, 0.0).bytes_up > outcome_with(0.0, 0.0).bytes_up);
}

/// Equal clients have equal updates, which form one cluster under every rule.
#[test]
fn equal_clients_make_one_cluster() {
    let graph = graph(WORDS);
    let client = &partition(&graph).client_graphs(&graph)[1];
    let copy = ClientGraph { id: 0, nodes: (0..client.len() as u32).collect(), ..client.clone() };
    let outcome_with = |clusters: Clusters| {
        let mut setup = setup("fairfgl", &[]);
        setup.methods.fairfgl.clusters = clusters;
        run::<f64>(&setup, (0..3).map(|_| LocalData::new(&copy)).collect())
    };
    let one = outcome_with(Clusters::One);
    for clusters in [Clusters::Linkage, Clusters::Components] {
        assert!(bits(&one.models) == bits(&outcome_with(clusters).models), "{clusters:?}");
    }
}

/// Under tensor trust one norm per tensor goes up instead of one.
#[test]
fn norms_before_sparsification_go_up() {
    let bytes = |boosts: &[Boost], scope: TrustScope, keep: f64| {
        outcome::<f32>("fairfgl", boosts, |s| {
            off(s);
            (s.boost.model.trust_scope, s.methods.fairfgl.keep) = (scope, keep);
        })
        .bytes_up
    };
    let messages = 8 * 3 * CLIENTS as u64;
    for (scope, norms) in [(TrustScope::Model, 1), (TrustScope::Tensor, 4)] {
        let (plain, trusted) = (bytes(&[], scope, 0.3), bytes(&[Boost::Model], scope, 0.3));
        assert_eq!(trusted - plain, messages * (2 + norms), "{scope:?}");
        let (plain, trusted) = (bytes(&[], scope, 1.0), bytes(&[Boost::Model], scope, 1.0));
        assert_eq!(trusted - plain, messages * 2, "the server sees the whole model");
    }
}

#[test]
fn trust_between_clusters_is_optional() {
    let outcome_with = |boosts: &[Boost], cluster_trust: bool| {
        bits(
            &outcome::<f32>("fairfgl", boosts, |s| s.methods.fairfgl.cluster_trust = cluster_trust)
                .models,
        )
    };
    assert!(
        outcome_with(&[], false) == outcome_with(&[], true),
        "without trust there is nothing to choose"
    );
    assert!(outcome_with(&[Boost::Model], false) != outcome_with(&[Boost::Model], true));
}

/// Evaluating the mixture changes predictions, not training.
#[test]
fn the_mixture_can_be_evaluated() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let outcome_with = |evaluate: EvaluatedWeights| {
        let mut setup = setup("fairfgl", &[]);
        (setup.methods.fairfgl.evaluate, setup.protocol.rounds) = (evaluate, 6);
        watch::<f32>(&setup, data("fairfgl", &graph, &partition))
    };
    let ((global, seen), (mixture, other)) =
        (outcome_with(EvaluatedWeights::Global), outcome_with(EvaluatedWeights::Mixture));
    assert!(bits(&global.models) == bits(&mixture.models));
    assert!(seen.iter().zip(&other).any(|(a, b)| a.predictions != b.predictions));
    assert_eq!(seen[0].predictions, other[0].predictions, "no history, no mixture");
    assert_eq!(seen[0].val_accuracy, other[0].val_accuracy);
    for (a, b) in seen.iter().zip(&other) {
        assert!(
            a.clients
                .iter()
                .zip(&b.clients)
                .all(|(a, b)| a.update_norm == b.update_norm && a.loss == b.loss)
        );
    }
}

#[test]
fn moments_of_the_mixture_are_kept_or_reset() {
    let outcome_with = |state: OptimizerState, alpha: Alpha| {
        outcome::<f32>("fairfgl", &[], |s| {
            off(s);
            (s.optimizer.optimizer_state, s.methods.fairfgl.alpha, s.protocol.rounds) =
                (state, alpha, 4);
        })
    };
    let apart = |alpha: Alpha| {
        outcome_with(OptimizerState::Keep, alpha).models[0]
            .distance(&outcome_with(OptimizerState::Reset, alpha).models[0])
    };
    assert!(apart(Alpha::Scalar) > 0.0);
}

#[test]
fn minorities_depend_on_training_labels_only() {
    // All test nodes get one class. Nothing that training reads has changed.
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let labels: Vec<Option<u32>> =
        (0..graph.len())
            .map(|v| {
                if partition.split().role(v) == Role::Test {
                    Some(0)
                } else {
                    graph.labels().get(v)
                }
            })
            .collect();
    let labels = boostfgl_graph::Labels::new(labels, graph.labels().names().to_vec()).unwrap();
    let other = boostfgl_graph::Graph::new(
        "other",
        graph.adjacency().clone(),
        graph.features().clone(),
        labels,
    )
    .unwrap();
    let setup = setup("fairfgl", &[]);
    let outcome_on =
        |graph: &boostfgl_graph::Graph| run::<f32>(&setup, data("fairfgl", graph, &partition));
    assert_same(&outcome_on(&graph), &outcome_on(&other), "test labels");
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    type Change = fn(&mut Setup);
    let cases: [(Change, &str); 8] = [
        (|s| s.methods.fairfgl.history = 0, "history: expected at least 1, found 0"),
        (|s| s.methods.fairfgl.alpha_rate = 0.0, "alpha_rate: expected a number above 0, found 0"),
        (
            |s| s.methods.fairfgl.distill = -1.0,
            "distill: expected a number of at least 0, found -1",
        ),
        (
            |s| s.methods.fairfgl.align = f64::NAN,
            "align: expected a number of at least 0, found NaN",
        ),
        (
            |s| s.methods.fairfgl.homophily = 1.1,
            "homophily: expected a number from 0 to 1, found 1.1",
        ),
        (|s| s.methods.fairfgl.modify = -0.1, "modify: expected a number from 0 to 1, found -0.1"),
        (
            |s| s.methods.fairfgl.keep = 0.0,
            "keep: expected a number above 0 and at most 1, found 0",
        ),
        (
            |s| s.methods.fairfgl.keep = 1.5,
            "keep: expected a number above 0 and at most 1, found 1.5",
        ),
    ];
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for (change, message) in cases {
        let mut setup = setup("fedavg", &[]);
        change(&mut setup);
        let refused =
            Federation::<f32>::new(setup, data("fedavg", &graph, &partition)).err().unwrap();
        assert_eq!(refused.to_string(), format!("methods.fairfgl.{message}"));
    }
}

/// What one client received and trained in each round.
#[derive(Default)]
struct Alone(Vec<(Params<f64>, Params<f64>)>);

impl Observer<f64> for Alone {
    fn inspects(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspection: &Inspection<'_, f64>) {
        let client = &inspection.clients[0];
        self.0.push((client.received.clone(), client.trained.unwrap().clone()));
    }

    fn round(&mut self, _: &RoundRecord<'_>) -> ObserverResult {
        Ok(())
    }
}

/// One client whose α stays ½: the next global model is what it sent, W_local or ½·mean of all
/// globals so far + ½·W_local.
#[test]
fn a_client_sends_its_own_weights_or_the_mixture_it_trained() {
    let graph = graph(WORDS);
    let client = partition(&graph).client_graphs(&graph).swap_remove(1);
    let client = ClientGraph { id: 0, nodes: (0..client.len() as u32).collect(), ..client };
    for upload in [UploadedWeights::Local, UploadedWeights::Mixture] {
        let mut setup = setup("fairfgl", &[]);
        let fairfgl = &mut setup.methods.fairfgl;
        (fairfgl.upload, fairfgl.keep) = (upload, 1.0);
        (fairfgl.alpha, fairfgl.alpha_rate) = (Alpha::Scalar, 1e-30);
        let mut seen = Alone::default();
        let federation = Federation::new(setup, vec![LocalData::new(&client)]).unwrap();
        let last = federation.run(&mut [&mut seen]).unwrap().models.remove(0);
        let received: Vec<&Params<f64>> =
            seen.0.iter().map(|(received, _)| received).chain([&last]).collect();
        for (t, (_, trained)) in seen.0.iter().enumerate() {
            let mut expected = trained.clone();
            // One model alone is no history.
            if upload == UploadedWeights::Mixture && t > 0 {
                let globals = received[..=t].iter().copied().chain([trained]).collect::<Vec<_>>();
                let weight = |i: usize| if i <= t { 0.5 / (t + 1) as f64 } else { 0.5 };
                expected.set_weighted_sum(&globals, |_| (0..globals.len()).map(weight).collect());
            }
            assert!(received[t + 1].distance(&expected) < 1e-12, "{upload:?}, round {}", t + 1);
        }
    }
}
