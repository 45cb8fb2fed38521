//! Counting test nodes on the client, so that metrics need no predictions on the server.

use boostfgl_protocol::GroupCounts;

/// The probability that one of the client's own nodes is of a class of the run.
pub type Probability<'a> = &'a dyn Fn(usize, u32) -> f64;

/// Counts how a client's test nodes are predicted.
///
/// It has the test labels, which training never sees: it comes from outside and is called with
/// predictions alone. A simulation needs none, since it reveals predictions.
pub trait Tally: Send {
    /// Takes the names of the classes in the order of the run, before anything is counted.
    fn begin(&mut self, classes: &[String]);

    /// The number of test nodes that are counted.
    fn nodes(&self) -> u64;

    /// The counts of [`Evaluation::counts`](boostfgl_protocol::Evaluation::counts), given the class
    /// that is predicted for each of the client's own nodes.
    fn count(&self, predictions: &[u32]) -> Vec<u64>;

    /// The counts of [`Evaluation::groups`](boostfgl_protocol::Evaluation::groups), given
    /// predictions and probabilities: none unless a tally has groups and a positive class. It is
    /// called only if the settings ask for probabilities.
    fn by_group(&self, _predictions: &[u32], _probability: Probability<'_>) -> Vec<GroupCounts> {
        Vec::new()
    }
}
