//! Every method, with every boost, on data that occur in practice but not in benchmarks: clients
//! with one node, without edges, with one class, without training nodes.

use crate::conformance::STEPS;
use crate::every::for_all_methods;
use crate::small::*;
use boostfgl_conformance::properties::unusual;
use boostfgl_conformance::{Also, Suite};
use boostfgl_fed::Registry;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::boost::topology::PropagationRule;
use boostfgl_fed::methods::{Layout, METHODS};
use boostfgl_graph::{Graph, Labels, Role};
use boostfgl_nn::backbones::{Architecture, Backbone, Gcn, logits};
use boostfgl_nn::{Inputs, Params, Pool, View};
use boostfgl_partition::ClientGraph;

/// Checks a property of every method with every set of boosts, and of FedAvg with every rule of
/// topology boosting, with a further check of each run.
fn survive(property: fn(&Suite<'_>), also: &Also<'_>) {
    let registry = Registry::builtin();
    for method in METHODS {
        let mut suite = Suite::new(&registry, method).also(also);
        for rule in [
            PropagationRule::Noself,
            PropagationRule::Selfsm,
            PropagationRule::Selfsep,
            PropagationRule::Mulgcnself,
        ] {
            let mut setup = setup(method.name, &Boost::ALL);
            setup.boost.topology.propagation_rule = rule;
            if method.name == "fedavg" {
                suite = suite.with_case(setup, format!("{rule:?}"));
            }
        }
        property(&suite);
    }
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
    survive(unusual::one_client, &|setup, _, rounds| {
        let whole = |weight: f64| weight == 1.0 || STEPS.contains(&setup.method.name);
        assert!(rounds.iter().all(|round| round.clients[0].weight.is_none_or(whole)));
    });
}

#[test]
fn every_method_runs_with_a_client_of_one_node() {
    survive(unusual::client_of_one_node, &|_, _, _| {});
}

#[test]
fn every_method_runs_with_a_client_without_edges() {
    survive(unusual::client_without_edges, &|_, _, _| {});
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
    let clients = unusual::without_training_nodes(&graph).client_graphs(&graph);
    let idle = CLIENTS - 1;
    let sizes: Vec<f64> = clients.iter().map(|client| client.len() as f64).collect();
    let others: f64 = sizes[..idle].iter().sum();
    survive(unusual::client_without_training_nodes, &|setup, outcome, rounds| {
        let method = setup.method;
        if method.layout == Layout::Whole {
            return;
        }
        if ["fedavg", "moon"].contains(&method.name) && !setup.boosts.contains(&Boost::Model) {
            let expected = |k: usize| sizes[k] / others;
            let mut records = rounds.iter().flat_map(|round| &round.clients);
            assert!(
                records.all(|c| c.weight.is_none_or(|w| (w - expected(c.client)).abs() < 1e-15))
            );
        }
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

#[test]
fn every_method_runs_with_a_client_of_one_class() {
    survive(unusual::client_of_one_class, &|_, _, _| {});
}

#[test]
fn every_method_runs_with_a_class_without_training_nodes() {
    survive(unusual::class_without_training_nodes, &|_, _, _| {});
}

#[test]
fn every_method_runs_with_clients_without_common_classes() {
    for_all_methods(|suite| assert!(unusual::clients_without_common_classes(suite)));
}

#[test]
fn every_method_runs_on_a_graph_without_edges() {
    for_all_methods(|suite| assert!(unusual::graph_without_edges(suite)));
}

#[test]
fn every_method_runs_on_a_graph_with_one_class() {
    for_all_methods(|suite| assert!(unusual::graph_with_one_class(suite)));
}

#[test]
fn every_method_refuses_a_graph_without_features() {
    for_all_methods(unusual::graph_without_features);
}

#[test]
fn a_federation_without_training_nodes_is_refused() {
    for_all_methods(unusual::nothing_to_train);
}
