//! Error messages for settings out of range and for training that diverges.

use crate::small::*;
use boostfgl_fed::boost::{Boost, BoostInfo, BoostPlugin};
use boostfgl_fed::methods::{self, MethodContext, MethodInfo, MethodPlugin, ServerRule};
use boostfgl_fed::{ClientRule, Error, Federation, LocalData, Registry, Setup};
use boostfgl_nn::Params;
use boostfgl_nn::backbones::{Architecture, Backbone, Gcn};

/// The error with which a setup is refused.
fn refusal(change: impl Fn(&mut Setup)) -> String {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup("fedavg", &Boost::ALL);
    change(&mut setup);
    let error = Federation::<f32>::new(setup, data("fedavg", &graph, &partition)).err().unwrap();
    assert!(!error.advice().is_empty());
    error.to_string()
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    type Change = fn(&mut Setup);
    let exact: [(Change, &str); 11] = [
        (|s| s.protocol.rounds = 0, "fed.rounds: expected at least 1, found 0"),
        (|s| s.protocol.epochs = 0, "fed.epochs: expected at least 1, found 0"),
        (|s| s.protocol.eval_every = 0, "fed.eval_every: expected at least 1, found 0"),
        (
            |s| s.protocol.participation = f64::NAN,
            "fed.participation: expected a number above 0 and at most 1, found NaN",
        ),
        (|s| s.model.dropout = 1.0, "model.dropout: expected at least 0 and below 1, found 1"),
        (|s| s.model.layers = 9, "model.layers: expected 1 to 8, found 9"),
        (
            |s| s.optimizer.learning_rate = 0.0,
            "optimizer.learning_rate: expected a number above 0, found 0",
        ),
        (
            |s| s.boost.node.lambda_n = -0.5,
            "boost.node.lambda_n: expected a number of at least 0, found -0.5",
        ),
        (
            |s| s.boost.node.mu = 0.0,
            "boost.node.mu: expected a number above 0 and at most 1, found 0",
        ),
        (
            |s| s.boost.topology.edge_budget = 1.5,
            "boost.topology.edge_budget: expected a number from 0 to 1, found 1.5",
        ),
        (|s| s.model.backbone = "gnc".into(), "unknown backbone `gnc` (did you mean `gcn`?)"),
    ];
    for (change, message) in exact {
        assert_eq!(refusal(change), message);
    }
    let named: [(Change, &str); 21] = [
        (|s| s.protocol.participation = 0.0, "fed.participation"),
        (|s| s.protocol.participation = 2.0, "fed.participation"),
        (|s| s.protocol.participation = -0.1, "fed.participation"),
        (|s| s.model.hidden = 0, "model.hidden"),
        (|s| s.model.layers = 0, "model.layers"),
        (|s| s.model.dropout = -0.1, "model.dropout"),
        (|s| s.model.dropout = f64::NAN, "model.dropout"),
        (|s| s.optimizer.learning_rate = f64::NAN, "optimizer.learning_rate"),
        (|s| s.optimizer.learning_rate = -1.0, "optimizer.learning_rate"),
        (|s| s.optimizer.learning_rate = f64::INFINITY, "optimizer.learning_rate"),
        (|s| s.optimizer.weight_decay = -1e-4, "optimizer.weight_decay"),
        (|s| s.optimizer.momentum = 1.0, "optimizer.momentum"),
        (|s| s.boost.node.lambda_n = f64::NAN, "boost.node.lambda_n"),
        (|s| s.boost.node.mu = 1.1, "boost.node.mu"),
        (|s| s.boost.node.mu = f64::NAN, "boost.node.mu"),
        (|s| s.boost.topology.lambda_e = -1.0, "boost.topology.lambda_e"),
        (|s| s.boost.topology.tau = f64::NAN, "boost.topology.tau"),
        (|s| s.boost.topology.edge_budget = f64::NAN, "boost.topology.edge_budget"),
        (|s| s.boost.model.lambda_s = -0.1, "boost.model.lambda_s"),
        (|s| s.boost.model.gamma = f64::INFINITY, "boost.model.gamma"),
        (|s| s.boost.model.gamma = -1.0, "boost.model.gamma"),
    ];
    for (change, key) in named {
        let message = refusal(change);
        assert!(message.starts_with(&format!("{key}: expected ")), "{key}: {message}");
    }
    let unknown = |e: Error| e.to_string();
    assert_eq!(
        unknown(methods::find("fedavgg").unwrap_err()),
        "unknown method `fedavgg` (did you mean `fedavg`?)"
    );
    assert_eq!(
        unknown(Boost::parse("node,modell").unwrap_err()),
        "unknown boost `modell` (did you mean `model`?)"
    );
    assert_eq!(
        methods::find("xyzzy-plugh").unwrap_err().to_string(),
        "unknown method `xyzzy-plugh`"
    );
}

/// A method that is described but not in the registry, and names that occur twice.
#[test]
fn registries_that_cannot_be_used_are_refused() {
    static UNKNOWN: MethodInfo = MethodInfo { name: "fedavgg", ..MethodInfo::PLAIN };
    assert_eq!(
        refusal(|setup| setup.method = &UNKNOWN),
        "unknown method `fedavgg` (did you mean `fedavg`?)"
    );
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let setup = setup("fedavg", &[]);
    let refused = |registry: &Registry<f32>| {
        let data = data("fedavg", &graph, &partition);
        let error = Federation::with_registry(setup.clone(), data, registry).err().unwrap();
        assert!(!error.advice().is_empty());
        error.to_string()
    };
    let method = Registry::builtin().with_method(SecondFedAvg);
    assert_eq!(refused(&method), "two methods have the name `fedavg`");
    let boost = Registry::builtin().with_boost(SecondNode);
    assert_eq!(refused(&boost), "two boosts have the name `node`");
}

/// A method with the name of a built-in one.
struct SecondFedAvg;

impl MethodPlugin<f32> for SecondFedAvg {
    fn info(&self) -> &'static MethodInfo {
        methods::find("fedavg").unwrap()
    }

    fn server(&self, _: &MethodContext<'_, f32>) -> Box<dyn ServerRule<f32>> {
        unreachable!("the registry is refused before")
    }

    fn client(&self, _: &MethodContext<'_, f32>, _: &LocalData<f32>) -> Box<dyn ClientRule<f32>> {
        unreachable!("the registry is refused before")
    }
}

/// A boost with the name of a built-in one.
struct SecondNode;

impl BoostPlugin<f32> for SecondNode {
    fn info(&self) -> BoostInfo {
        *Boost::Node.info()
    }
}

/// With a given model the settings of the network are still checked, as training uses them.
#[test]
fn a_given_model_does_not_bypass_the_checks() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let net = Gcn::new(Architecture { inputs: 60, hidden: HIDDEN, classes: CLASSES, layers: 2 });
    let initial = Params::<f32>::glorot(&Backbone::<f32>::shapes(&net), 0);
    let mut setup = setup("fedavg", &[]);
    setup.model.dropout = 1.0;
    let refused =
        Federation::from_model(setup, data("fedavg", &graph, &partition), Box::new(net), &initial);
    assert_eq!(
        refused.err().unwrap().to_string(),
        "model.dropout: expected at least 0 and below 1, found 1"
    );
}

/// All clients diverge at once: the error names the first client, whichever finished first.
#[test]
fn divergence_is_reported_for_the_first_client() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup("fedavg", &[]);
    // The first step is almost as long as the largest float, so that the second overflows.
    (setup.optimizer.learning_rate, setup.protocol.epochs) = (3e38, 2);
    for _ in 0..25 {
        let error = with_threads(4, || {
            Federation::<f32>::new(setup.clone(), data("fedavg", &graph, &partition))
                .unwrap()
                .run(&mut [])
                .unwrap_err()
        });
        assert_eq!(error.to_string(), "client 0 diverged in round 1: its loss is not finite");
    }
}
