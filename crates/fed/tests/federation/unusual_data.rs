//! Every method, with every boost, on data that occur in practice but not in benchmarks: clients
//! with one node, without edges, with one class, without training nodes.

use crate::conformance::{NARROW, STEPS};
use crate::every::for_all;
use crate::small::*;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::boost::topology::PropagationRule;
use boostfgl_fed::methods::{self, Layout, METHODS, MethodInfo};
use boostfgl_fed::{Error, Federation, LocalData, Outcome, Setup};
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role, Split};
use boostfgl_nn::backbones::{Architecture, Backbone, Gcn, logits};
use boostfgl_nn::{Inputs, Params, Pool, View};
use boostfgl_partition::{ClientGraph, Partition};

/// Runs every method with every set of boosts, and topology boosting with every rule, and hands the
/// results over.
fn survives(
    graph: &Graph,
    partition: &Partition,
    mut check: impl FnMut(&'static MethodInfo, &Setup, &Outcome<f32>, &[Round]),
) {
    let mut run_and_check = |method: &'static MethodInfo, setup: &Setup, what: &str| {
        let (outcome, rounds) = watch::<f32>(setup, data(method.name, graph, partition));
        assert_eq!(outcome.predictions.len(), graph.len(), "{what}");
        assert!(
            outcome.predictions.iter().all(|&class| (class as usize) < graph.classes()),
            "{what}"
        );
        assert!(outcome.models.iter().all(Params::is_finite), "{what}");
        for client in rounds.iter().flat_map(|round| &round.clients) {
            assert!(client.loss.is_finite() && client.update_norm > 0.0, "{what}: {client:?}");
        }
        check(method, setup, &outcome, &rounds);
    };
    for_all(|method, setup, what| run_and_check(method, &setup, what));
    for rule in [
        PropagationRule::Noself,
        PropagationRule::Selfsm,
        PropagationRule::Selfsep,
        PropagationRule::Mulgcnself,
    ] {
        let method = methods::find("fedavg").unwrap();
        let mut setup = setup(method.name, &Boost::ALL);
        setup.boost.topology.propagation_rule = rule;
        run_and_check(method, &setup, &format!("{rule:?}"));
    }
}

/// The small federation with some nodes moved to the last client, alone there, and roles changed.
fn altered(graph: &Graph, last: &[usize], role: impl Fn(usize, Role) -> Role) -> Partition {
    let base = partition(graph);
    let keep = |v: usize| base.assignment()[v] % (CLIENTS as u32 - 1);
    let assignment = (0..graph.len())
        .map(|v| if last.contains(&v) { CLIENTS as u32 - 1 } else { keep(v) })
        .collect();
    let roles = (0..graph.len()).map(|v| role(v, base.split().role(v))).collect();
    Partition::new(CLIENTS, assignment, Split::new(roles)).unwrap()
}

/// Where one class holds most of every client's training nodes, the others are the minority, and
/// the gap affects trust.
#[test]
fn clients_with_one_large_class_have_a_gap() {
    let plain = graph(WORDS);
    // Three of four nodes are of class 0, whatever they were.
    let label = |v: usize| {
        if v.is_multiple_of(4) { plain.labels().get(v).map_or(-1, i64::from) } else { 0 }
    };
    let labels =
        Labels::from_integers(&(0..plain.len()).map(label).collect::<Vec<_>>(), CLASSES).unwrap();
    let skewed =
        Graph::new("skewed", plain.adjacency().clone(), plain.features().clone(), labels).unwrap();
    let partition = partition(&skewed);
    let run_with = |gamma: f64| {
        let mut setup = setup("boostfgl", &Boost::ALL);
        (setup.boost.model.gamma, setup.boost.model.minority_ratio, setup.protocol.rounds) =
            (gamma, 0.5, 6);
        watch::<f32>(&setup, data("boostfgl", &skewed, &partition))
    };
    let (gated, rounds) = run_with(5.0);
    for (k, client) in partition.client_graphs(&skewed).iter().enumerate() {
        let counts = client.class_counts(Role::Train);
        let gap = rounds.iter().filter_map(|round| round.clients[k].gap).fold(0.0, f64::max);
        let several = counts.iter().filter(|&&count| count > 0).count() > 1;
        assert_eq!(
            gap > 0.0,
            several,
            "client {k} with {counts:?} training nodes per class has gap {gap}"
        );
    }
    assert!(bits(&gated.models) != bits(&run_with(0.0).0.models), "the gap has no effect");
}

#[test]
fn every_method_runs_with_one_client() {
    let graph = graph(WORDS);
    let split = partition(&graph).split().clone();
    let alone = Partition::new(1, vec![0; graph.len()], split).unwrap();
    survives(&graph, &alone, |method, _, outcome, rounds| {
        assert_eq!(outcome.models.len(), 1);
        assert!(rounds.iter().all(|round| round.clients.len() == 1));
        let whole = |weight: f64| weight == 1.0 || STEPS.contains(&method.name);
        assert!(rounds.iter().all(|round| round.clients[0].weight.is_none_or(whole)));
    });
}

#[test]
fn every_method_runs_with_a_client_of_one_node() {
    for features in [WORDS, NARROW] {
        let graph = graph(features);
        let alone = altered(&graph, &[17], |v, role| if v == 17 { Role::Train } else { role });
        let client = &alone.client_graphs(&graph)[CLIENTS - 1];
        assert_eq!((client.len(), client.training_nodes()), (1, vec![0]));
        survives(&graph, &alone, |method, _, _, rounds| {
            let clients = if method.layout == Layout::Whole { 1 } else { CLIENTS };
            assert!(rounds.iter().all(|round| round.clients.len() == clients));
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

#[test]
fn every_method_runs_with_a_client_without_edges() {
    for features in [WORDS, NARROW] {
        let graph = graph(features);
        let nodes = independent(&graph);
        let half = |v: usize| nodes.iter().position(|&u| u == v).is_some_and(|i| i % 2 == 0);
        let bare = altered(&graph, &nodes, |v, role| if half(v) { Role::Train } else { role });
        let client = &bare.client_graphs(&graph)[CLIENTS - 1];
        assert_eq!((client.len(), client.graph.adjacency().edges()), (12, 0));
        survives(&graph, &bare, |_, _, _, _| {});
    }
}

/// A model's predictions for a client's nodes by plain propagation.
fn plain_predictions(client: &ClientGraph, model: &Params<f32>) -> Vec<u32> {
    let inputs = Inputs::new(&client.graph);
    let net = Gcn::new(Architecture {
        inputs: inputs.width(),
        hidden: HIDDEN,
        classes: CLASSES,
        layers: 2,
    });
    let out = logits(&net, model, &View::whole(&inputs, Backbone::<f32>::plan(&net)), &Pool::new());
    let best =
        |row: &[f32]| (0..row.len()).fold(0, |best, c| if row[c] > row[best] { c } else { best });
    (0..out.rows()).map(|v| best(out.row(v)) as u32).collect()
}

/// The client is left out of every round, and all other results are as without it. It is evaluated
/// as well.
#[test]
fn every_method_runs_with_a_client_without_training_nodes() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let idle = CLIENTS - 1;
    let role = |v: usize| if base.client_of(v) == idle { Role::Test } else { base.split().role(v) };
    let split = Split::new((0..graph.len()).map(role).collect());
    let partition = Partition::new(CLIENTS, base.assignment().to_vec(), split).unwrap();
    let clients = partition.client_graphs(&graph);
    let sizes: Vec<f64> = clients.iter().map(|client| client.len() as f64).collect();
    let others: f64 = sizes[..idle].iter().sum();
    survives(&graph, &partition, |method, setup, outcome, rounds| {
        if method.layout == Layout::Whole {
            return;
        }
        for round in rounds {
            assert_eq!(
                round.clients.iter().map(|client| client.client).collect::<Vec<_>>(),
                [0, 1, 2]
            );
            if ["fedavg", "moon"].contains(&method.name) && !setup.boosts.contains(&Boost::Model) {
                let expected = |k: usize| sizes[k] / others;
                assert!(
                    round
                        .clients
                        .iter()
                        .all(|c| c.weight.is_none_or(|w| (w - expected(c.client)).abs() < 1e-15))
                );
            }
        }
        // The other clients are not affected.
        let trained = run_only(setup, &clients[..idle]);
        assert!(
            bits(&trained.models) == bits(&outcome.models[..trained.models.len()]),
            "{}",
            method.name
        );
        // It is evaluated with its own model, which is the initial one, or with the global one.
        if setup.boosts.is_empty() {
            let evaluated = outcome.models.get(idle).unwrap_or(&outcome.models[0]);
            let found: Vec<u32> =
                clients[idle].nodes.iter().map(|&v| outcome.predictions[v as usize]).collect();
            assert_eq!(found, plain_predictions(&clients[idle], evaluated), "{}", method.name);
            if outcome.models.len() > 1 {
                assert_eq!(evaluated, &Params::glorot(evaluated.shapes(), setup.seed));
            }
        }
    });
}

/// A run of some of the clients, whose nodes are numbered one after the other.
fn run_only(setup: &Setup, clients: &[ClientGraph]) -> Outcome<f32> {
    let mut next = 0..u32::MAX;
    let renumbered = |client: &ClientGraph| {
        let nodes = next.by_ref().take(client.len()).collect();
        LocalData::new(&ClientGraph { nodes, ..client.clone() })
    };
    run(setup, clients.iter().map(renumbered).collect())
}

#[test]
fn every_method_runs_with_a_client_of_one_class() {
    let graph = graph(WORDS);
    let nodes: Vec<usize> =
        (0..graph.len()).filter(|&v| graph.labels().get(v) == Some(2)).take(30).collect();
    let uniform = altered(&graph, &nodes, |_, role| role);
    let client = &uniform.client_graphs(&graph)[CLIENTS - 1];
    assert!(client.class_counts(Role::Train)[2] > 0);
    assert_eq!(client.class_counts(Role::Train).iter().filter(|n| **n > 0).count(), 1);
    survives(&graph, &uniform, |method, setup, _, rounds| {
        if method.layout == Layout::Federated && setup.boosts.contains(&Boost::Model) {
            // With one class there is a majority or a minority but never both.
            assert!(rounds.iter().all(|round| round.clients[CLIENTS - 1].gap == Some(0.0)));
        }
    });
}

#[test]
fn every_method_runs_with_a_class_without_training_nodes() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    for class in [0, CLASSES as u32 - 1] {
        let unseen = |v: usize| graph.labels().get(v) == Some(class);
        let role = |v: usize| if unseen(v) { Role::Test } else { base.split().role(v) };
        let split = Split::new((0..graph.len()).map(role).collect());
        let partition = Partition::new(CLIENTS, base.assignment().to_vec(), split).unwrap();
        survives(&graph, &partition, |_, _, outcome, _| {
            // The model still has a column for it.
            assert!(outcome.models.iter().all(|model| model.tensors()[3].columns() == CLASSES));
        });
    }
}

/// Runs every method on data that some methods cannot handle. Returns the methods that refused
/// them, and checks that each gave a reason.
fn served(graph: &Graph, partition: &Partition) -> Vec<&'static str> {
    let mut refused = Vec::new();
    for method in METHODS {
        match Federation::<f32>::new(setup(method.name, &[]), data(method.name, graph, partition)) {
            Ok(federation) => {
                let outcome = federation
                    .run(&mut [])
                    .unwrap_or_else(|error| panic!("{}: {error}", method.name));
                assert!(outcome.models.iter().all(Params::is_finite), "{}", method.name);
                assert!(
                    outcome.predictions.iter().all(|&class| (class as usize) < graph.classes()),
                    "{}",
                    method.name
                );
            }
            Err(Error::Refused { what, reason, .. }) => {
                assert_eq!(what, "these data", "{}", method.name);
                assert!(reason.len() > 20, "{}: {reason}", method.name);
                refused.push(method.name);
            }
            Err(other) => panic!("{}: {other}", method.name),
        }
    }
    refused
}

#[test]
fn every_method_runs_with_clients_without_common_classes() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let assignment = (0..graph.len()).map(|v| graph.labels().get(v).unwrap_or(0) % 2).collect();
    let disjoint = Partition::new(2, assignment, base.split().clone()).unwrap();
    let [one, two] = [0, 1].map(|k| disjoint.client_graphs(&graph)[k].class_counts(Role::Train));
    assert!(one.iter().zip(&two).all(|(a, b)| *a == 0 || *b == 0));
    assert!(served(&graph, &disjoint).is_empty());
}

#[test]
fn every_method_runs_on_a_graph_without_edges() {
    for features in [WORDS, NARROW] {
        let graph = graph(features);
        let base = partition(&graph);
        let (bare, _) = Adjacency::from_edges(graph.len(), &[], None, false).unwrap();
        let graph =
            Graph::new("bare", bare, graph.features().clone(), graph.labels().clone()).unwrap();
        assert!(served(&graph, &base).is_empty());
    }
}

#[test]
fn every_method_runs_on_a_graph_with_one_class() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let labels = Labels::from_integers(&vec![0; graph.len()], 1).unwrap();
    let graph =
        Graph::new("uniform", graph.adjacency().clone(), graph.features().clone(), labels).unwrap();
    assert!(served(&graph, &base).is_empty());
}

#[test]
fn every_method_runs_on_a_graph_without_features() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let nothing = Features::dense(graph.len(), 0, Vec::new()).unwrap();
    let graph =
        Graph::new("featureless", graph.adjacency().clone(), nothing, graph.labels().clone())
            .unwrap();
    assert_eq!(served(&graph, &base), METHODS.iter().map(|method| method.name).collect::<Vec<_>>());
}

#[test]
fn a_federation_without_training_nodes_is_refused() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let split = Split::new(vec![Role::Test; graph.len()]);
    let partition = Partition::new(CLIENTS, base.assignment().to_vec(), split).unwrap();
    for_all(|method, setup, what| {
        let error = Federation::<f32>::new(setup.clone(), data(method.name, &graph, &partition))
            .err()
            .unwrap();
        assert!(matches!(error, Error::NothingToTrain), "{what}: {error}");
        assert!(
            matches!(Federation::<f32>::new(setup, Vec::new()).err(), Some(Error::NothingToTrain)),
            "{what}"
        );
    });
}
