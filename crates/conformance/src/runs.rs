//! Runs, and how they are compared.

use boostfgl_fed::{
    ClientRecord, Federation, LocalData, Observer, Outcome, Registry, RoundRecord, Setup,
};
use boostfgl_nn::{Params, Real};
use std::fmt::Display;

/// What an observer received of one round.
pub struct Round {
    /// The clients that took part.
    pub clients: Vec<ClientRecord>,
    /// The predicted class of every node, if the round was evaluated.
    pub predictions: Option<Vec<u32>>,
    /// Accuracy on validation nodes, if the round was evaluated.
    pub val_accuracy: Option<f64>,
}

/// Runs without an observer.
///
/// # Panics
/// If the run ends with an error.
pub fn run<T: Real>(setup: &Setup, data: Vec<LocalData<T>>, registry: &Registry<T>) -> Outcome<T> {
    outcome(setup, data, registry, &mut [])
}

/// Runs with an observer.
///
/// # Panics
/// If the run ends with an error.
pub fn watch<T: Real>(
    setup: &Setup,
    data: Vec<LocalData<T>>,
    registry: &Registry<T>,
) -> (Outcome<T>, Vec<Round>) {
    let mut rounds = Vec::new();
    let mut observer = |record: &RoundRecord<'_>| {
        rounds.push(Round {
            clients: record.clients.to_vec(),
            predictions: record.predictions.map(<[u32]>::to_vec),
            val_accuracy: record.val_accuracy,
        });
    };
    let outcome = outcome(setup, data, registry, &mut [&mut observer]);
    (outcome, rounds)
}

fn outcome<T: Real>(
    setup: &Setup,
    data: Vec<LocalData<T>>,
    registry: &Registry<T>,
    observers: &mut [&mut dyn Observer<T>],
) -> Outcome<T> {
    let federation = Federation::with_registry(setup.clone(), data, registry);
    let outcome = federation.and_then(|federation| federation.run(observers));
    succeeded(outcome, setup.method.name)
}

/// The value of a step that has to succeed.
///
/// # Panics
/// With the error, if it did not.
pub(crate) fn succeeded<V, E: Display>(result: Result<V, E>, what: &str) -> V {
    result.unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// Every bit of some models.
pub fn bits<T: Real>(models: &[Params<T>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    models.iter().for_each(|model| model.feed(|part| bytes.extend_from_slice(part)));
    bytes
}

/// Fails unless two runs have the same models and predictions, bit for bit.
///
/// # Panics
/// If they differ.
pub fn assert_same<T: Real>(a: &Outcome<T>, b: &Outcome<T>, what: &str) {
    assert!(bits(&a.models) == bits(&b.models), "{what}: the models differ");
    assert!(a.predictions == b.predictions, "{what}: the predictions differ");
}

/// Does `work` on this number of threads.
///
/// # Panics
/// If the operating system gives no threads.
pub fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    succeeded(pool, "threads").install(work)
}
