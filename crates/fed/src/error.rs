//! Errors of a federated run.

use crate::ClientName;
use crate::screen::{Reason, Refusal};
use boostfgl_protocol::Header;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of a federated run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No method or boost has this name.
    #[error(
        "unknown {kind} `{name}`{}",
        suggestion.as_deref().map(|s| format!(" (did you mean `{s}`?)")).unwrap_or_default()
    )]
    Unknown {
        /// `method` or `boost`.
        kind: &'static str,
        /// The name as given.
        name: String,
        /// The nearest known one.
        suggestion: Option<String>,
    },

    /// Two methods, or two boosts, of a registry have this name.
    #[error("two {kind}s have the name `{name}`")]
    Taken {
        /// `method` or `boost`.
        kind: &'static str,
        /// The name.
        name: String,
    },

    /// A setting is outside its range.
    #[error("{key}: expected {expected}, found {found}")]
    Setting {
        /// The key.
        key: &'static str,
        /// What it may be.
        expected: String,
        /// What it was.
        found: String,
    },

    /// A method cannot be combined with another setting.
    #[error("{method} cannot be combined with {what}: {reason}")]
    Refused {
        /// The method.
        method: &'static str,
        /// A boost, a backbone or a property of the data.
        what: String,
        /// Why.
        reason: &'static str,
    },

    /// No client has a labelled node to train on.
    #[error("no client has a training node: nothing can be learnt")]
    NothingToTrain,

    /// A loss or a parameter became infinite or NaN.
    #[error("{client} diverged in round {round}: its {what} is not finite")]
    Diverged {
        /// Which client.
        client: ClientName,
        /// In which round, from 1.
        round: usize,
        /// `loss` or `model`.
        what: &'static str,
    },

    /// What the server sent cannot be used.
    #[error("{client}, round {round}: what the server sent cannot be used: {reason}")]
    Broadcast {
        /// Which client.
        client: ClientName,
        /// In which round, from 1.
        round: usize,
        /// What is wrong with it.
        reason: Reason,
    },

    /// A frame of another run or client.
    #[error(
        "expected a frame for client {} of run {}, found one for client {} of run {}",
        joined.client, joined.run, found.client, found.run
    )]
    Misdirected {
        /// What the client belongs to.
        joined: Header,
        /// What the frame is for.
        found: Header,
    },

    /// A task that the client cannot do now.
    #[error("expected a task that a client can do {stage}, found {task}")]
    OutOfOrder {
        /// What the server asked.
        task: &'static str,
        /// How far the client is.
        stage: &'static str,
    },

    /// A state cannot be saved or restored.
    #[error("the state cannot be saved or restored: {0}")]
    State(boostfgl_nn::Error),

    /// A client should report a round that it has not evaluated.
    #[error("{client} has no evaluation of round {round}, which is the one to report")]
    NotEvaluated {
        /// Which client.
        client: ClientName,
        /// Which round, from 1.
        round: usize,
    },

    /// What the server says about the clients cannot be true.
    #[error("what the server says about the clients: expected {expected}, found {found}")]
    Roster {
        /// What the client expects.
        expected: String,
        /// What the server says.
        found: String,
    },

    /// A client that does not fit the others or the server.
    #[error("{client} cannot join: {what}: expected {expected}, found {found}")]
    Disagreement {
        /// Which client.
        client: ClientName,
        /// What differs.
        what: String,
        /// What the others have.
        expected: String,
        /// What it has.
        found: String,
    },

    /// A client could not do a task that the run depends on.
    #[error("{}", failed(client, reason))]
    Failed {
        /// Which client.
        client: ClientName,
        /// What it says.
        reason: String,
        /// What can be done about it, in its words.
        advice: String,
    },

    /// A client that the run depends on gave no usable reply.
    #[error("{client}, {stage}: {reason}")]
    Lost {
        /// Which client.
        client: ClientName,
        /// What it was asked.
        stage: &'static str,
        /// Why its reply cannot be used.
        reason: Reason,
    },

    /// The server's combined model became infinite or NaN.
    #[error("the server diverged in round {round}: its model is not finite")]
    ServerDiverged {
        /// In which round, from 1.
        round: usize,
    },

    /// There are too few updates for a robust rule to outvote f bad ones.
    #[error(
        "{}the rule {rule} needs at least {formula} = {least} updates in a round to outvote f = \
         {byzantine}, found {updates}: \
         with {updates} it tolerates {tolerated}",
        round.map(|round| format!("round {round}: ")).unwrap_or_default()
    )]
    TooFew {
        /// The rule.
        rule: &'static str,
        /// How many it has to outvote, f.
        byzantine: usize,
        /// How the least number follows from f.
        formula: &'static str,
        /// The least number of updates.
        least: usize,
        /// How many there are.
        updates: usize,
        /// How many bad ones it outvotes among those.
        tolerated: String,
        /// In which round, from 1; `None` before the first.
        round: Option<usize>,
    },

    /// Too many updates of a round were refused.
    #[error(
        "round {round}: expected usable updates of at least {needed} of {participants} \
         participants, found {usable}; {}",
        refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    )]
    Quorum {
        /// In which round, from 1.
        round: usize,
        /// How many took part.
        participants: usize,
        /// How many are needed.
        needed: usize,
        /// How many could be used.
        usable: usize,
        /// The others, and why.
        refused: Vec<Refusal>,
    },

    /// An observer returned an error, which ends the run.
    #[error("an observer ended the run: {0}")]
    Observer(#[source] Box<dyn std::error::Error + Send + Sync>),

    /// The backbone is unknown.
    #[error(transparent)]
    Network(#[from] boostfgl_nn::Error),
}

/// What a client says about its failure, with its name where it does not say that itself.
fn failed(client: &ClientName, reason: &str) -> String {
    let named = client.to_string();
    if reason.starts_with(&named) { reason.to_owned() } else { format!("{named}: {reason}") }
}

impl Error {
    /// Builds an [`Error::Unknown`], suggesting the nearest of `known`.
    pub fn unknown<'a>(
        kind: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let suggestion = boostfgl_graph::nearest(name, known).map(str::to_owned);
        Self::Unknown { kind, name: name.to_owned(), suggestion }
    }

    /// Builds an [`Error::Setting`].
    pub fn setting(
        key: &'static str,
        expected: impl Into<String>,
        found: impl ToString + Copy,
    ) -> Self {
        Self::Setting { key, expected: expected.into(), found: found.to_string() }
    }

    /// The same, with the round in which it happened.
    pub(crate) fn in_round(self, number: usize) -> Self {
        match self {
            Self::TooFew { rule, byzantine, formula, least, updates, tolerated, .. } => {
                Self::TooFew {
                    rule,
                    byzantine,
                    formula,
                    least,
                    updates,
                    tolerated,
                    round: Some(number),
                }
            }
            other => other,
        }
    }

    /// What the user can do about it, in one sentence.
    pub fn advice(&self) -> &str {
        match self {
            Self::Unknown { kind: "method", .. } => "`boostfgl methods` lists every method.",
            Self::Unknown { .. } => {
                "`boostfgl methods` lists every boost; `all` and `none` work too."
            }
            Self::Taken { .. } => "Give the one that your program adds a name of its own.",
            Self::Setting { .. } => {
                "`boostfgl config show` prints every key with its default and meaning."
            }
            Self::Refused { .. } => {
                "`boostfgl methods NAME` says what a method works with; choose boosts with --boost."
            }
            Self::NothingToTrain => {
                "Give the dataset labels, or a larger training share (split.train)."
            }
            Self::Diverged { .. } => {
                "Lower the learning rate (optimizer.learning_rate), or check the features' scale."
            }
            Self::Failed { advice, .. } => advice,
            Self::Lost { .. } => "See what happened to that client, and resume the run.",
            Self::Misdirected { .. } | Self::OutOfOrder { .. } | Self::NotEvaluated { .. } => {
                "Start clients and server of a run together, or resume all of them."
            }
            Self::State(_) => "Restore what this side saved, under the same settings and data.",
            Self::Disagreement { .. } => {
                "Give all clients the same settings, features and classes."
            }
            Self::Broadcast { .. } | Self::Roster { .. } => {
                "Use the same method, settings and version of boostfgl on server and clients."
            }
            Self::ServerDiverged { .. } => {
                "Lower the learning rate of the method (`boostfgl methods NAME` lists its keys)."
            }
            Self::TooFew { .. } => {
                "Lower aggregation.byzantine, choose another aggregation.rule, or let more \
                 clients take part \
                 (partition.clients, fed.participation)."
            }
            Self::Quorum { .. } => {
                "Look into the clients that are named; screen.quorum sets how many updates are \
                 needed, and a large optimizer.learning_rate is the usual reason for numbers that \
                 are not finite."
            }
            Self::Observer(_) => "Correct what the observer reports, and run again.",
            Self::Network(_) => "`boostfgl methods` lists the backbones.",
        }
    }
}
