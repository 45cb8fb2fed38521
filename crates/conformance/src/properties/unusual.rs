//! Data that occur in practice but not in benchmarks: clients with one node, without edges, with
//! one class, without training nodes.

use crate::runs::{run, succeeded};
use crate::small::{CLASSES, CLIENTS, NARROW, WORDS, graph, partition, setup};
use crate::{Case, Round, Suite, bits};
use boostfgl_fed::boost::Boost;
use boostfgl_fed::methods::Layout;
use boostfgl_fed::{Error, Federation, LocalData, Outcome, Setup};
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role, Split};
use boostfgl_nn::Params;
use boostfgl_partition::{ClientGraph, Partition};

/// Runs every case, and hands the results over.
fn survives(
    suite: &Suite<'_>,
    graph: &Graph,
    partition: &Partition,
    mut check: impl FnMut(&Case, &Outcome<f32>, &[Round]),
) {
    for case in suite.cases() {
        let what = &case.what;
        let (outcome, rounds) = suite.watch(&case.setup, graph, partition);
        assert_eq!(outcome.predictions.len(), graph.len(), "{what}");
        assert_valid(&outcome, graph, what);
        for client in rounds.iter().flat_map(|round| &round.clients) {
            assert!(client.loss.is_finite() && client.update_norm > 0.0, "{what}: {client:?}");
        }
        check(case, &outcome, &rounds);
        (suite.also)(&case.setup, &outcome, &rounds);
    }
}

/// Every number is finite, and every prediction a class.
fn assert_valid(outcome: &Outcome<f32>, graph: &Graph, what: &str) {
    assert!(outcome.models.iter().all(Params::is_finite), "{what}: numbers are not finite");
    let is_class = |&class: &u32| (class as usize) < graph.classes();
    assert!(outcome.predictions.iter().all(is_class), "{what}: a prediction is no class");
}

/// The partition of these clients with these roles.
fn made(clients: usize, assignment: Vec<u32>, split: Split) -> Partition {
    Partition::new(clients, assignment, split).expect("every node has a client and a role")
}

/// The small federation with some nodes moved to the last client, alone there, and roles changed.
fn altered(graph: &Graph, last: &[usize], role: impl Fn(usize, Role) -> Role) -> Partition {
    let base = partition(graph);
    let keep = |v: usize| base.assignment()[v] % (CLIENTS as u32 - 1);
    let assignment = (0..graph.len())
        .map(|v| if last.contains(&v) { CLIENTS as u32 - 1 } else { keep(v) })
        .collect();
    let roles = (0..graph.len()).map(|v| role(v, base.split().role(v))).collect();
    made(CLIENTS, assignment, Split::new(roles))
}

/// One client has all nodes.
pub fn one_client(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let split = partition(&graph).split().clone();
    let alone = made(1, vec![0; graph.len()], split);
    survives(suite, &graph, &alone, |case, outcome, rounds| {
        assert_eq!(outcome.models.len(), 1, "{}", case.what);
        assert!(rounds.iter().all(|round| round.clients.len() == 1), "{}", case.what);
    });
}

/// A client has one node, which is a training node.
pub fn client_of_one_node(suite: &Suite<'_>) {
    for features in [WORDS, NARROW] {
        let graph = graph(features);
        let alone = altered(&graph, &[17], |v, role| if v == 17 { Role::Train } else { role });
        let client = &alone.client_graphs(&graph)[CLIENTS - 1];
        assert_eq!((client.len(), client.training_nodes()), (1, vec![0]));
        survives(suite, &graph, &alone, |case, _, rounds| {
            let clients = if suite.method.layout == Layout::Whole { 1 } else { CLIENTS };
            assert!(rounds.iter().all(|round| round.clients.len() == clients), "{}", case.what);
        });
    }
}

/// Nodes of which no two are neighbours.
fn independent(graph: &Graph) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    for v in 0..graph.len() {
        let free = graph.adjacency().neighbours(v).iter().all(|&u| !chosen.contains(&(u as usize)));
        if free && chosen.len() < 12 {
            chosen.push(v);
        }
    }
    chosen
}

/// A client has nodes and no edges.
pub fn client_without_edges(suite: &Suite<'_>) {
    for features in [WORDS, NARROW] {
        let graph = graph(features);
        let nodes = independent(&graph);
        let half = |v: usize| nodes.iter().position(|&u| u == v).is_some_and(|i| i % 2 == 0);
        let bare = altered(&graph, &nodes, |v, role| if half(v) { Role::Train } else { role });
        let client = &bare.client_graphs(&graph)[CLIENTS - 1];
        assert_eq!((client.len(), client.graph.adjacency().edges()), (12, 0));
        survives(suite, &graph, &bare, |_, _, _| {});
    }
}

/// The partition of the small graph in which the last client has no training node.
pub fn without_training_nodes(graph: &Graph) -> Partition {
    let base = partition(graph);
    let idle = |v: usize| base.client_of(v) == CLIENTS - 1;
    let role = |v: usize| if idle(v) { Role::Test } else { base.split().role(v) };
    let split = Split::new((0..graph.len()).map(role).collect());
    made(CLIENTS, base.assignment().to_vec(), split)
}

/// A client without training nodes is left out of every round, and all other results are as without
/// it. It is evaluated as well.
pub fn client_without_training_nodes(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let partition = without_training_nodes(&graph);
    let clients = partition.client_graphs(&graph);
    survives(suite, &graph, &partition, |case, outcome, rounds| {
        if suite.method.layout == Layout::Whole {
            return;
        }
        for round in rounds {
            let taking_part: Vec<_> = round.clients.iter().map(|client| client.client).collect();
            assert_eq!(taking_part, [0, 1, 2], "{}", case.what);
        }
        // The other clients are not affected.
        let trained = run_only(suite, &case.setup, &clients[..CLIENTS - 1]);
        assert!(
            bits(&trained.models) == bits(&outcome.models[..trained.models.len()]),
            "{}: the other clients are affected",
            case.what
        );
    });
}

/// A run of some of the clients, whose nodes are numbered one after the other.
fn run_only(suite: &Suite<'_>, setup: &Setup, clients: &[ClientGraph]) -> Outcome<f32> {
    let mut next = 0..u32::MAX;
    let renumbered = |client: &ClientGraph| {
        let nodes = next.by_ref().take(client.len()).collect();
        LocalData::new(&ClientGraph { nodes, ..client.clone() })
    };
    run(setup, clients.iter().map(renumbered).collect(), suite.registry)
}

/// All nodes of a client are of one class.
pub fn client_of_one_class(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let nodes: Vec<usize> =
        (0..graph.len()).filter(|&v| graph.labels().get(v) == Some(2)).take(30).collect();
    let uniform = altered(&graph, &nodes, |_, role| role);
    let client = &uniform.client_graphs(&graph)[CLIENTS - 1];
    assert!(client.class_counts(Role::Train)[2] > 0);
    assert_eq!(client.class_counts(Role::Train).iter().filter(|n| **n > 0).count(), 1);
    survives(suite, &graph, &uniform, |case, _, rounds| {
        let federated = suite.method.layout == Layout::Federated;
        if federated && case.setup.boosts.contains(&Boost::Model) {
            // With one class there is a majority or a minority but never both.
            let gap = |round: &Round| round.clients[CLIENTS - 1].gap;
            assert!(rounds.iter().all(|round| gap(round) == Some(0.0)), "{}", case.what);
        }
    });
}

/// No client has a training node of some class.
pub fn class_without_training_nodes(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let base = partition(&graph);
    for class in [0, CLASSES as u32 - 1] {
        let unseen = |v: usize| graph.labels().get(v) == Some(class);
        let role = |v: usize| if unseen(v) { Role::Test } else { base.split().role(v) };
        let split = Split::new((0..graph.len()).map(role).collect());
        let partition = made(CLIENTS, base.assignment().to_vec(), split);
        survives(suite, &graph, &partition, |case, outcome, _| {
            // The model still has a column for it.
            let columns = |model: &Params<f32>| model.tensors()[3].columns();
            assert!(outcome.models.iter().all(|m| columns(m) == CLASSES), "{}", case.what);
        });
    }
}

/// Runs the method on data that some methods cannot handle. Returns whether it took them, and checks
/// that it gave a reason if it did not.
fn served(suite: &Suite<'_>, graph: &Graph, partition: &Partition) -> bool {
    let (method, data) = (suite.method.name, suite.data(graph, partition));
    match Federation::with_registry(setup(suite.method, &[]), data, suite.registry) {
        Ok(federation) => {
            assert_valid(&succeeded(federation.run(&mut []), method), graph, method);
            true
        }
        Err(Error::Refused { what, reason, .. }) => {
            assert_eq!(what, "these data", "{method}");
            assert!(reason.len() > 20, "{method}: {reason}");
            false
        }
        Err(other) => panic!("{method}: {other}"),
    }
}

/// The same graph with something else in it.
fn changed(graph: &Graph, adjacency: Adjacency, features: Features, labels: Labels) -> Graph {
    Graph::new(graph.name(), adjacency, features, labels).expect("as many nodes as before")
}

/// Clients without common classes: the method runs, or refuses them with a reason. Returns whether
/// it runs.
pub fn clients_without_common_classes(suite: &Suite<'_>) -> bool {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let assignment = (0..graph.len()).map(|v| graph.labels().get(v).unwrap_or(0) % 2).collect();
    let disjoint = made(2, assignment, base.split().clone());
    let [one, two] = [0, 1].map(|k| disjoint.client_graphs(&graph)[k].class_counts(Role::Train));
    assert!(one.iter().zip(&two).all(|(a, b)| *a == 0 || *b == 0));
    served(suite, &graph, &disjoint)
}

/// A graph without edges: the method runs, or refuses it with a reason. Returns whether it runs.
pub fn graph_without_edges(suite: &Suite<'_>) -> bool {
    let both = [WORDS, NARROW].map(|features| {
        let graph = graph(features);
        let base = partition(&graph);
        let (bare, _) = Adjacency::from_edges(graph.len(), &[], None, false)
            .expect("a graph may have no edges");
        let bare = changed(&graph, bare, graph.features().clone(), graph.labels().clone());
        served(suite, &bare, &base)
    });
    both == [true, true]
}

/// A graph with one class: the method runs, or refuses it with a reason. Returns whether it runs.
pub fn graph_with_one_class(suite: &Suite<'_>) -> bool {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let labels = Labels::from_integers(&vec![0; graph.len()], 1).expect("0 is a class of one");
    let uniform = changed(&graph, graph.adjacency().clone(), graph.features().clone(), labels);
    served(suite, &uniform, &base)
}

/// A graph without features is refused.
pub fn graph_without_features(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let nothing =
        Features::dense(graph.len(), 0, Vec::new()).expect("a matrix may have no columns");
    let bare = changed(&graph, graph.adjacency().clone(), nothing, graph.labels().clone());
    assert!(!served(suite, &bare, &base), "{} runs without features", suite.method.name);
}

/// A federation without training nodes, or without clients, is refused.
pub fn nothing_to_train(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let split = Split::new(vec![Role::Test; graph.len()]);
    let partition = made(CLIENTS, base.assignment().to_vec(), split);
    for Case { setup, what } in suite.cases() {
        for data in [suite.data(&graph, &partition), Vec::new()] {
            let error = Federation::with_registry(setup.clone(), data, suite.registry).err();
            assert!(matches!(error, Some(Error::NothingToTrain)), "{what}: {error:?}");
        }
    }
}
