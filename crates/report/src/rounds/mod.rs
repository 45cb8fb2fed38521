//! `rounds.jsonl`: training loss, scores, clients and traffic of every round.

mod reader;
mod writer;

pub use reader::Rounds;
pub use writer::RoundsWriter;

pub use boostfgl_fed::ClientRecord;

use boostfgl_fed::ClientName;

use boostfgl_fairness::{Evaluation, Percent};
use serde::{Deserialize, Serialize};

/// One line: one round under one seed. Metrics are in percent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The seed.
    pub seed: u64,
    /// Its number, from 1.
    pub round: usize,
    /// Training loss: the mean over clients.
    pub loss: f64,
    /// Accuracy on the validation nodes, if the round was evaluated.
    pub val_accuracy: Option<f64>,
    /// Scores on the test nodes: overall, by group and by client, if the round was evaluated.
    pub metrics: Option<Percent<Evaluation>>,
    /// The participants whose updates were used.
    pub clients: Vec<ClientRecord>,
    /// The refused updates; left out of the file without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RoundRefusal>,
    /// Bytes that all clients sent.
    pub bytes_up: u64,
    /// Bytes that all clients received.
    pub bytes_down: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

/// One refused update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundRefusal {
    /// The client that sent it.
    pub client: usize,
    /// Its name; left out if it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The reason in one word, such as `not-finite`.
    pub reason: String,
    /// The reason in one sentence.
    pub text: String,
}

impl RoundRefusal {
    /// How messages call the client.
    pub fn called(&self) -> ClientName {
        ClientName::new(self.client, self.name.clone())
    }
}
