//! Noise on messages (`model.message_noise`): every pass of a client over its graph draws its own.
//!
//! The key of a pass is a function of (seed, client, round, occasion). A pass that is computed
//! earlier, later or not at all, because its result is cached, changes no other.

use crate::Setup;
use boostfgl_graph::stream::key64;
use boostfgl_nn::MessageNoise;

/// Why a client passes messages over its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The usual training, in this epoch of the round.
    Training(usize),
    /// Difficulties and edge scores, by plain propagation.
    Scoring,
    /// The model that a round starts from or that is evaluated.
    Start,
    /// Another model on all nodes.
    Other,
    /// The gap between majority and minority after training.
    Summary,
    /// A pass that only the method's rule makes, with a number of its own.
    Rule(usize),
}

impl Occasion {
    fn path(self) -> [u64; 2] {
        match self {
            Self::Training(epoch) => [0, epoch as u64],
            Self::Scoring => [1, 0],
            Self::Start => [2, 0],
            Self::Other => [3, 0],
            Self::Summary => [4, 0],
            Self::Rule(number) => [5, number as u64],
        }
    }
}

impl Setup {
    /// The noise of one pass of client `client` after `rounds_done` rounds.
    pub(crate) fn noise(
        &self,
        client: usize,
        rounds_done: usize,
        occasion: Occasion,
    ) -> MessageNoise {
        if self.model.message_noise == 0.0 {
            return MessageNoise::off();
        }
        let [kind, number] = occasion.path();
        let path = [client as u64, rounds_done as u64, kind, number];
        MessageNoise::new(self.model.message_noise, key64(self.seed, "message noise", &path))
    }
}
