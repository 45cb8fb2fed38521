//! The method and the boost in the conformance suite of boostfgl, and their formulas.

use boostfgl_conformance::{Suite, assert_same, bits, run, small};
use boostfgl_fed::boost::Boost;
use boostfgl_fed::{Federation, Outcome, Registry};
use own_method::{DegreeBoost, FedAvgM, INFO};

/// The built-in methods and boosts, and the method.
fn method(momentum: f64) -> Registry<f32> {
    Registry::builtin().with_method(FedAvgM { momentum })
}

/// The same with the boost.
fn both(strength: f64) -> Registry<f32> {
    method(0.5).with_boost(DegreeBoost { strength })
}

#[test]
fn the_method_conforms_with_every_boost() {
    Suite::new(&method(0.5), &INFO).check();
}

#[test]
fn the_boost_conforms_on_the_method() {
    let (on, off, without) = (both(1.0), both(0.0), method(0.5));
    let suite = Suite::new(&on, &INFO).boosts(&[vec![], Boost::ALL.to_vec()]);
    suite.strength_zero(&off, &without).check();
}

#[test]
fn the_boost_conforms_on_a_built_in_method() {
    let (on, off, without) = (both(1.0), both(0.0), method(0.5));
    let fedgta = on.method("fedgta").unwrap();
    let suite = Suite::new(&on, fedgta).boosts(&[vec![]]);
    suite.strength_zero(&off, &without).check();
}

/// A run of a method on the small graph.
fn outcome(registry: &Registry<f32>, name: &str) -> Outcome<f32> {
    let graph = small::graph(small::WORDS);
    let partition = small::partition(&graph);
    let method = registry.method(name).unwrap();
    run(&small::setup(method, &[]), small::data(method, &graph, &partition), registry)
}

#[test]
fn momentum_0_is_fedavg_to_the_bit() {
    let fedavg = outcome(&method(0.0), "fedavg");
    assert_same(&fedavg, &outcome(&method(0.0), "fedavgm"), "momentum 0");
    let moved = outcome(&method(0.5), "fedavgm");
    assert!(bits(&fedavg.models) != bits(&moved.models), "momentum has no effect");
}

/// By hand: 1 + 2/(1 + 0), 1 + 2/(1 + 3).
#[test]
fn node_weights_fall_with_the_degree() {
    let boost = DegreeBoost { strength: 2.0 };
    assert_eq!([boost.weight(0), boost.weight(3)], [3.0, 1.5]);
}

/// The message with which a registry is refused.
fn refusal(registry: &Registry<f32>) -> String {
    let graph = small::graph(small::WORDS);
    let partition = small::partition(&graph);
    let (setup, data) = (small::setup(&INFO, &[]), small::data(&INFO, &graph, &partition));
    Federation::with_registry(setup, data, registry).err().unwrap().to_string()
}

#[test]
fn settings_out_of_range_and_names_that_are_taken_are_refused() {
    assert_eq!(refusal(&method(1.0)), "fedavgm.momentum: expected at least 0 and below 1, found 1");
    assert_eq!(refusal(&both(-1.0)), "degree.strength: expected a number of at least 0, found -1");
    assert_eq!(
        refusal(&method(0.5).with_method(FedAvgM { momentum: 0.9 })),
        "two methods have the name `fedavgm`"
    );
    assert_eq!(refusal(&Registry::builtin()), "unknown method `fedavgm` (did you mean `fedavg`?)");
}
