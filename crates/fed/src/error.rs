//! What can go wrong in a federated run.

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of a federated run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No method or boost has this name.
    #[error("unknown {kind} `{name}`{}", suggestion.as_deref().map(|s| format!(" (did you mean `{s}`?)")).unwrap_or_default())]
    Unknown {
        /// `method` or `boost`.
        kind: &'static str,
        /// The name as given.
        name: String,
        /// The nearest known one.
        suggestion: Option<String>,
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

    /// A method makes no sense together with something else that was asked for.
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
    #[error("client {client} diverged in round {round}: its {what} is not finite")]
    Diverged {
        /// Which client.
        client: usize,
        /// In which round, from 1.
        round: usize,
        /// `loss` or `model`.
        what: &'static str,
    },

    /// What the server made of the clients' models became infinite or NaN.
    #[error("the server diverged in round {round}: its model is not finite")]
    ServerDiverged {
        /// In which round, from 1.
        round: usize,
    },

    /// The backbone is unknown.
    #[error(transparent)]
    Network(#[from] boostfgl_nn::Error),
}

impl Error {
    /// Builds an [`Error::Unknown`], suggesting the nearest of `known`.
    pub fn unknown<'a>(kind: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let suggestion = boostfgl_graph::nearest(name, known).map(str::to_owned);
        Self::Unknown { kind, name: name.to_owned(), suggestion }
    }

    /// Builds an [`Error::Setting`].
    pub fn setting(key: &'static str, expected: impl Into<String>, found: impl ToString + Copy) -> Self {
        Self::Setting { key, expected: expected.into(), found: found.to_string() }
    }

    /// What the user can do about it, in one sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Unknown { kind: "method", .. } => "`boostfgl methods` lists every method.",
            Self::Unknown { .. } => "Boosts are node, topology and model; `all` and `none` work too.",
            Self::Setting { .. } => "`boostfgl config show` prints every key with its default and meaning.",
            Self::Refused { .. } => {
                "`boostfgl methods NAME` says what a method works with; choose boosts with --boost."
            }
            Self::NothingToTrain => "Give the dataset labels, or a larger training share (split.train).",
            Self::Diverged { .. } => "Lower the learning rate (optimizer.learning_rate), or check the features' scale.",
            Self::ServerDiverged { .. } => {
                "Lower the learning rate of the method (`boostfgl methods NAME` lists its keys)."
            }
            Self::Network(_) => "`boostfgl methods` lists the backbones.",
        }
    }
}
