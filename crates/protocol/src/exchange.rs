//! Exchanges between clients before the first round. All of it goes through the server.

use crate::Message;
use std::sync::Arc;

/// One step of an exchange, for one client. `number` counts the exchanges of a method from 0.
#[derive(Clone, Debug, PartialEq)]
pub enum Exchange<T: boostfgl_nn::Real> {
    /// Ask the other clients.
    Ask {
        /// Which exchange.
        number: u32,
    },
    /// Answer the others.
    Answer {
        /// Which exchange.
        number: u32,
        /// Who asks, and what.
        questions: Vec<(u32, Arc<Message<T>>)>,
    },
    /// Use the answers.
    Receive {
        /// Which exchange.
        number: u32,
        /// Which client answers, and what.
        answers: Vec<(u32, Message<T>)>,
    },
    /// End the preparation: what was learnt may replace the client's graph.
    Finish,
}

/// The reply to a step of an exchange.
#[derive(Clone, Debug, PartialEq)]
pub enum Exchanged<T: boostfgl_nn::Real> {
    /// The question to all other clients, if there is one.
    Question(Option<Message<T>>),
    /// The answers, in the order of the questions.
    Answers(Vec<Answer<T>>),
    /// The answers were used, but for these.
    Received(Vec<Fault>),
    /// The preparation is over.
    Finished,
}

/// An answer that was not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Who gave it.
    pub client: u32,
    /// The reason in one word.
    pub kind: String,
    /// The reason.
    pub reason: String,
}

/// An answer, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer<T: boostfgl_nn::Real> {
    /// To whom, and what.
    Given(u32, Message<T>),
    /// To whom, and the reason.
    Failed(u32, String),
}
