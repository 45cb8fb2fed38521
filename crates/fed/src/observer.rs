//! Watching a run without touching it.

/// What happened to one client in one round.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientRecord {
    /// Which client.
    pub client: usize,
    /// Its training loss in the last local epoch.
    pub loss: f64,
    /// ‖Δθₖ‖₂.
    pub update_norm: f64,
    /// Its weight in the aggregation, where the method aggregates.
    pub weight: Option<f64>,
    /// Its trust, under model boosting.
    pub trust: Option<f64>,
    /// Its fairness gap, under model boosting.
    pub gap: Option<f64>,
    /// Bytes it sent.
    pub bytes_up: u64,
    /// Bytes it received.
    pub bytes_down: u64,
    /// Seconds its local work took.
    pub seconds: f64,
}

/// What happened in one round.
#[derive(Clone, Debug)]
pub struct RoundRecord<'a> {
    /// Round, from 1.
    pub round: usize,
    /// How many there will be.
    pub rounds: usize,
    /// Training loss of the participants, weighted by their training nodes.
    pub loss: f64,
    /// The participants.
    pub clients: &'a [ClientRecord],
    /// The class predicted for every node of the global graph, if this round was evaluated.
    pub predictions: Option<&'a [u32]>,
    /// Share of validation nodes predicted right, if this round was evaluated and there are any.
    pub val_accuracy: Option<f64>,
    /// Seconds the round took, evaluation included.
    pub seconds: f64,
}

/// Somebody who looks at every round. Observers see results and cannot change them.
pub trait Observer {
    /// Called before the first round, where a method prepares: `done` of `of` exchanges between clients are over.
    fn preparing(&mut self, _done: usize, _of: usize) {}

    /// Called once per round, in order.
    fn round(&mut self, record: &RoundRecord<'_>);
}

impl<F: FnMut(&RoundRecord<'_>)> Observer for F {
    fn round(&mut self, record: &RoundRecord<'_>) {
        self(record);
    }
}
