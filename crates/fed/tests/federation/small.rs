//! The small federation of the conformance suite, with methods by name.

use boostfgl_conformance::small;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::{LocalData, Outcome, Registry, Setup, methods};
use boostfgl_graph::Graph;
use boostfgl_nn::Real;
use boostfgl_partition::Partition;

pub(crate) use boostfgl_conformance::{Round, assert_same, bits, with_threads};
pub(crate) use small::{CLASSES, CLIENTS, HIDDEN, NARROW, WORDS, graph, partition};

/// The data of the clients of `method`.
pub(crate) fn data<T: Real>(
    method: &str,
    graph: &Graph,
    partition: &Partition,
) -> Vec<LocalData<T>> {
    small::data(methods::find(method).unwrap(), graph, partition)
}

pub(crate) fn setup(method: &str, boosts: &[Boost]) -> Setup {
    small::setup(methods::find(method).unwrap(), boosts)
}

/// Runs with an observer.
pub(crate) fn watch<T: Real>(setup: &Setup, data: Vec<LocalData<T>>) -> (Outcome<T>, Vec<Round>) {
    boostfgl_conformance::watch(setup, data, &Registry::builtin())
}

/// Runs without an observer.
pub(crate) fn run<T: Real>(setup: &Setup, data: Vec<LocalData<T>>) -> Outcome<T> {
    boostfgl_conformance::run(setup, data, &Registry::builtin())
}
