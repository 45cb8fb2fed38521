//! Boosts: those that a method refuses, and strength 0.

use crate::small::{NARROW, WORDS, graph, partition, setup};
use crate::{Case, Suite, assert_same, bits, runs};
use boostfgl_fed::boost::Boost;
use boostfgl_fed::{Federation, Registry, Setup};
use boostfgl_graph::Graph;
use boostfgl_partition::Partition;

/// A boost that the method refuses is named with the reason; every other one is accepted. Returns
/// the refused ones.
pub fn refused(suite: &Suite<'_>) -> Vec<Boost> {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let (method, mut refused) = (suite.method, Vec::new());
    for boost in Boost::ALL {
        let data = suite.data(&graph, &partition);
        let made = Federation::with_registry(setup(method, &[boost]), data, suite.registry);
        let message = made.err().map(|error| error.to_string());
        let expected = (method.refuses)(boost).map(|reason| {
            let boost = boost.name();
            format!("{} cannot be combined with {boost} boosting: {reason}", method.name)
        });
        assert_eq!(message, expected, "{} with {boost:?}", method.name);
        refused.extend(message.map(|_| boost));
    }
    refused
}

/// λn = λe = λs = γ = 0.
fn without_strength(setup: &Setup) -> Setup {
    let mut setup = setup.clone();
    setup.boost.node.lambda_n = 0.0;
    setup.boost.topology.lambda_e = 0.0;
    (setup.boost.model.lambda_s, setup.boost.model.gamma) = (0.0, 0.0);
    setup
}

/// Proposition 3.4 in its exact form: boosts of strength 0 leave the base method, bit for bit.
pub fn strength_zero(suite: &Suite<'_>) {
    for features in [WORDS, NARROW] {
        let graph = graph(features);
        let partition = partition(&graph);
        for (participation, epochs) in [(1.0, 1), (0.5, 3)] {
            for case in suite.cases() {
                let mut case = case.clone();
                case.what = format!("{}, {participation}, {epochs} epochs", case.what);
                let protocol = &mut case.setup.protocol;
                (protocol.participation, protocol.epochs) = (participation, epochs);
                built_in_boosts(suite, &case, &graph, &partition);
                added_boosts(suite, &case, &graph, &partition);
            }
        }
    }
}

fn built_in_boosts(suite: &Suite<'_>, case: &Case, graph: &Graph, partition: &Partition) {
    let Case { setup, what } = case;
    let base = Setup { boosts: Vec::new(), ..setup.clone() };
    let base = suite.run(&base, graph, partition);
    assert_same(&base, &suite.run(&without_strength(setup), graph, partition), what);
    // The comparison would be empty if the boosts had no effect at their usual strength either.
    if !setup.boosts.is_empty() && !(suite.has_no_effect)(setup) {
        let boosted = suite.run(setup, graph, partition);
        assert!(bits(&base.models) != bits(&boosted.models), "{what}: the boosts have no effect");
    }
}

fn added_boosts(suite: &Suite<'_>, case: &Case, graph: &Graph, partition: &Partition) {
    let Some([off, without]) = suite.zero else { return };
    let what = format!("{}, added boosts", case.what);
    let run_with =
        |registry: &Registry<f32>| runs::run(&case.setup, suite.data(graph, partition), registry);
    let base = run_with(without);
    assert_same(&base, &run_with(off), &what);
    let boosted = run_with(suite.registry);
    assert!(bits(&base.models) != bits(&boosted.models), "{what}: they have no effect");
}
