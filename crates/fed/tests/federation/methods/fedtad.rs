//! FedTAD: what distillation changes and what it does not, and reliability by hand.

use crate::small::*;
use boostfgl_fed::methods::fedtad::reliability::{class_reliability, node_reliability};
use boostfgl_fed::methods::fedtad::{Config, Distance};
use boostfgl_fed::{Federation, LocalData, Setup};
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role, Split};
use boostfgl_partition::Partition;

/// A run of FedTAD with other settings, and what a run of FedAvg would give.
fn pair(
    change: impl Fn(&mut Config),
    clients: usize,
) -> (boostfgl_fed::Outcome<f32>, boostfgl_fed::Outcome<f32>) {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let assignment = base.assignment().iter().map(|k| k % clients as u32).collect();
    let partition = Partition::new(clients, assignment, base.split().clone()).unwrap();
    let mut setup = setup("fedtad", &[]);
    change(&mut setup.methods.fedtad);
    let distilled = run(&setup, data("fedtad", &graph, &partition));
    let plain = Setup { method: boostfgl_fed::methods::find("fedavg").unwrap(), ..setup };
    (distilled, run(&plain, data("fedavg", &graph, &partition)))
}

#[test]
fn without_repetitions_it_is_fedavg() {
    let (distilled, plain) = pair(|config| config.repetitions = 0, CLIENTS);
    assert_same(&distilled, &plain, "no repetition");
    for distance in [Distance::Kl, Distance::L1] {
        let (distilled, plain) = pair(|config| config.distance = distance, CLIENTS);
        assert!(bits(&distilled.models) != bits(&plain.models), "{distance:?} has no effect");
    }
}

/// The generator's steps change neither the global nor the clients' models.
#[test]
fn without_students_steps_it_is_fedavg() {
    let (distilled, plain) = pair(|config| config.student_steps = 0, CLIENTS);
    assert_same(&distilled, &plain, "no step of the student");
}

/// A trained generator makes other pseudo-nodes, so that the student learns something else.
#[test]
fn generator_steps_change_the_model() {
    let outcome_with = |steps: usize| pair(|config| config.generator_steps = steps, CLIENTS).0;
    assert!(bits(&outcome_with(0).models) != bits(&outcome_with(1).models));
}

/// A single teacher is the student: L_dis = 0 to the last bit, and the student does not move.
#[test]
fn one_client_has_nothing_to_distil() {
    for distance in [Distance::Kl, Distance::L1] {
        let change = |config: &mut Config| (config.distance, config.weight_decay) = (distance, 0.0);
        let (distilled, plain) = pair(change, 1);
        assert_same(&distilled, &plain, "one client");
    }
}

/// Reliability goes up when a client first takes part, whenever that is, and never again.
#[test]
fn reliability_is_sent_once() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup("fedtad", &[]);
    (setup.protocol.participation, setup.protocol.rounds) = (0.5, 6);
    let (outcome, rounds) = watch::<f32>(&setup, data("fedtad", &graph, &partition));
    let p = outcome.models[0].count();
    assert!(rounds.iter().all(|round| round.predictions.is_some() && round.val_accuracy.is_some()));
    let mut known = Vec::new();
    for client in rounds.iter().flat_map(|round| &round.clients) {
        let first = !known.contains(&client.client);
        assert_eq!(client.bytes_up, (4 * p + if first { 8 * CLASSES } else { 0 }) as u64);
        known.push(client.client);
    }
    assert!(
        (0..CLIENTS).all(|k| known.contains(&k)) && !(0..CLIENTS).all(|k| known[..2].contains(&k))
    );
}

/// Nodes 0 – 1 – 2 on a path and 3 alone; all but 2 are trained on.
fn path() -> LocalData<f64> {
    let (adjacency, _) = Adjacency::from_edges(4, &[(0, 1), (1, 2)], None, false).unwrap();
    let features = Features::dense(4, 2, vec![1.0, 0.0, 0.0, 2.0, 1.0, 1.0, 5.0, 5.0]).unwrap();
    let graph =
        Graph::new("path", adjacency, features, Labels::from_integers(&[0, 1, 0, 1], 3).unwrap())
            .unwrap();
    let split = Split::new(vec![Role::Train, Role::Train, Role::Test, Role::Train]);
    let partition = Partition::new(1, vec![0; 4], split).unwrap();
    LocalData::new(&partition.client_graphs(&graph)[0])
}

/// By hand: walks are back at the ends with probability ½ and at the middle with 1 after 2 and
/// after 4 steps, so that e₀ = [1, 0, ½, ½], e₁ = [0, 2, 1, 1] and e₂ = [1, 1, ½, ½] where not 0.
#[test]
fn reliability_by_hand() {
    let data = path();
    let cosine01 = 1.0 / (1.5f64 * 6.0).sqrt();
    let cosine12 = 3.0 / (2.5f64 * 6.0).sqrt();
    let expected = [(1.0 + cosine01) / 2.0, (1.0 + cosine01 + cosine12) / 3.0, 1.0];
    for (found, expected) in node_reliability(&data).iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }
    assert_eq!(node_reliability(&data)[2], 1.0, "a node without neighbours");
    let classes = class_reliability(&data);
    assert!(
        (classes[0] - expected[0]).abs() < 1e-12 && (classes[1] - expected[1] - 1.0).abs() < 1e-12
    );
    assert_eq!(classes[2], 0.0, "a class without a training node");
}

/// Where every node is unlike its neighbours every reliability is 0, and the method is FedAvg: a
/// student without teachers does not move, and in particular does not shrink.
#[test]
fn a_client_whose_nodes_are_unlike_their_neighbours_has_reliability_zero() {
    // Two clients, each with all edges between three nodes of one sign and three of the other.
    let pairs = (0..2).flat_map(|k| (0..9).map(move |i| (6 * k + i / 3, 6 * k + 3 + i % 3)));
    let (adjacency, _) =
        Adjacency::from_edges(12, &pairs.collect::<Vec<(u32, u32)>>(), None, false).unwrap();
    let sign = |v: usize| if v % 6 < 3 { 1.0 } else { -1.0 };
    let features =
        Features::dense(12, 2, (0..12).flat_map(|v| [sign(v), 2.0 * sign(v)]).collect()).unwrap();
    let labels = Labels::from_integers(&(0..12).map(|v| v % 2).collect::<Vec<i64>>(), 2).unwrap();
    let graph = Graph::new("unlike", adjacency, features, labels).unwrap();
    let split = Split::new(vec![Role::Train; 12]);
    let partition = Partition::new(2, (0..12).map(|v| v / 6).collect(), split).unwrap();
    let clients = data::<f64>("fedtad", &graph, &partition);
    assert!(clients.iter().all(|client| class_reliability(client) == [0.0; 2]));
    assert!(clients.iter().all(|client| node_reliability(client).iter().all(|phi| *phi < 0.0)));
    let outcome_of = |method| run::<f32>(&setup(method, &[]), data(method, &graph, &partition));
    assert_same(&outcome_of("fedavg"), &outcome_of("fedtad"), "no teacher is reliable");
}

#[test]
fn double_precision_runs() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let setup = setup("fedtad", &[]);
    let (single, double) = (
        run::<f32>(&setup, data("fedtad", &graph, &partition)),
        run::<f64>(&setup, data("fedtad", &graph, &partition)),
    );
    let same = single.predictions.iter().zip(&double.predictions).filter(|(a, b)| a == b).count();
    assert!(same > 270, "{same} of 300 predictions agree");
}

#[test]
fn bad_settings_are_refused_by_name() {
    type Change = fn(&mut Config);
    let cases: [(Change, &str); 7] = [
        (|c| c.pseudo_nodes = 0, "methods.fedtad.pseudo_nodes: expected at least 1, found 0"),
        (|c| c.neighbours = 0, "methods.fedtad.neighbours: expected at least 1, found 0"),
        (|c| c.noise = 0, "methods.fedtad.noise: expected at least 1, found 0"),
        (|c| c.lambda1 = -1.0, "methods.fedtad.lambda1: expected a number of at least 0, found -1"),
        (
            |c| c.lambda2 = f64::NAN,
            "methods.fedtad.lambda2: expected a number of at least 0, found NaN",
        ),
        (
            |c| c.weight_decay = -1.0,
            "methods.fedtad.weight_decay: expected a number of at least 0, found -1",
        ),
        (
            |c| c.learning_rate = 0.0,
            "methods.fedtad.learning_rate: expected a number above 0, found 0",
        ),
    ];
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for (change, message) in cases {
        let mut setup = setup("fedtad", &[]);
        change(&mut setup.methods.fedtad);
        let refused =
            Federation::<f32>::new(setup, data("fedtad", &graph, &partition)).err().unwrap();
        assert_eq!(refused.to_string(), message);
    }
}

/// A server whose model overflows is an error that names the round.
#[test]
fn divergence_of_the_server_is_an_error() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup("fedtad", &[]);
    setup.methods.fedtad.learning_rate = 1e38;
    let error = Federation::<f32>::new(setup, data("fedtad", &graph, &partition))
        .unwrap()
        .run(&mut [])
        .unwrap_err();
    assert_eq!(error.to_string(), "the server diverged in round 1: its model is not finite");
    assert!(!error.advice().is_empty());
}
