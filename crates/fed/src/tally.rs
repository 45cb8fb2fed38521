//! Counting test nodes on the client, so that metrics need no predictions on the server.

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
}
