//! The errors of this crate, from a misspelt key to a full disk.

use std::borrow::Cow;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of an experiment. Each message names the place, what was expected and what was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Data could not be found or read.
    #[error(transparent)]
    Graph(#[from] boostfgl_graph::Error),
    /// The graph could not be divided among clients.
    #[error(transparent)]
    Partition(#[from] boostfgl_partition::Error),
    /// A setting is wrong, or training failed.
    #[error(transparent)]
    Fed(boostfgl_fed::Error),
    /// Parameters could not be stored.
    #[error(transparent)]
    Network(#[from] boostfgl_nn::Error),
    /// Results do not fit together.
    #[error(transparent)]
    Fairness(#[from] boostfgl_fairness::Error),
    /// The run folder could not be written.
    #[error(transparent)]
    Report(#[from] boostfgl_report::Error),

    /// A configuration is wrong.
    #[error("{place}: {reason}")]
    Config {
        /// The file and line, or the flag.
        place: String,
        /// The reason.
        reason: String,
    },

    /// An invalid request.
    #[error("{place}: {reason}")]
    Usage {
        /// The flag, the file or the dataset.
        place: String,
        /// What was expected and what was found.
        reason: String,
        /// Advice for the user.
        advice: Cow<'static, str>,
    },

    /// The data of one client are wrong.
    #[error("client {client}: {source}")]
    Client {
        /// Its name.
        client: String,
        /// What is wrong with them.
        source: Box<Error>,
    },

    /// Some cells of a grid failed; the others are stored.
    #[error("{failed} of {cells} cells failed; the first: {first}")]
    Incomplete {
        /// The number of failed ones.
        failed: usize,
        /// The number of all.
        cells: usize,
        /// Method, dataset, seed and message of the first.
        first: String,
    },

    /// A replay of a run has another digest.
    #[error("{}: expected digest {expected} as in summary.json, found {found} when trained again", path.display())]
    Differs {
        /// The run folder.
        path: std::path::PathBuf,
        /// The digest of the run.
        expected: String,
        /// The digest of the replay.
        found: String,
    },

    /// The run was asked to stop, and has saved its state.
    #[error("stopped {} seed {seed}; everything is saved in {}", how_far(*round), folder.display())]
    Stopped {
        /// The run folder.
        folder: std::path::PathBuf,
        /// The seed under way.
        seed: u64,
        /// Rounds of it that are done.
        round: usize,
    },

    /// The run would need more memory than it may use.
    #[error(
        "this run needs about {needed_mib} MiB (an estimate), more than the {allowed_mib} MiB it \
         may use"
    )]
    Memory {
        /// Estimated need.
        needed_mib: u64,
        /// The limit of `--memory`.
        allowed_mib: u64,
    },

    /// The run would need far more memory than the machine has.
    #[error(
        "{keys}: this run needs about {needed_mib} MiB (an estimate), which this machine with \
         {machine_mib} MiB cannot hold"
    )]
    Machine {
        /// The keys that decide it, with their values.
        keys: String,
        /// Estimated need.
        needed_mib: u64,
        /// Memory and swap space of the machine.
        machine_mib: u64,
    },
}

impl From<boostfgl_fed::Error> for Error {
    /// The training loop passes on what an observer returned. If that was an error of this crate,
    /// such as a failed write, it is the error to report.
    fn from(error: boostfgl_fed::Error) -> Self {
        match error {
            boostfgl_fed::Error::Observer(source) => match source.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::Fed(boostfgl_fed::Error::Observer(other)),
            },
            other => Self::Fed(other),
        }
    }
}

impl From<boostfgl_disk::Error> for Error {
    fn from(refused: boostfgl_disk::Error) -> Self {
        Self::Report(refused.into())
    }
}

impl Error {
    /// Builds an [`Error::Usage`].
    pub fn usage(
        place: impl Into<String>,
        reason: impl Into<String>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Usage { place: place.into(), reason: reason.into(), advice: advice.into() }
    }

    /// Advice for the user, in one sentence.
    pub fn advice(&self) -> &str {
        match self {
            Self::Graph(error) => error.advice(),
            Self::Partition(error) => error.advice(),
            Self::Fed(error) => error.advice(),
            Self::Report(error) => error.advice(),
            Self::Network(_) => "`boostfgl methods` lists the backbones.",
            Self::Fairness(error) => error.advice(),
            Self::Config { .. } => {
                "`boostfgl config show` prints every key with its meaning and default."
            }
            Self::Usage { advice, .. } => advice,
            Self::Client { source, .. } => source.advice(),
            Self::Incomplete { .. } => {
                "Finished cells are kept: leave the method out or change its settings, and run \
                 the same command again."
            }
            Self::Differs { .. } => {
                "Other data, another version of the program or another CPU may be the cause: \
                 repeat the run here."
            }
            Self::Stopped { .. } => "`boostfgl resume RUN` continues it, to the same digits.",
            Self::Memory { .. } => {
                "Raise --memory, or lower model.hidden or the number of clients."
            }
            Self::Machine { .. } => {
                "Lower the keys that are named; --memory SIZE sets another limit than the \
                 machine's."
            }
        }
    }

    /// The message, line by line: one line, unless it lists several problems.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Graph(several @ boostfgl_graph::Error::Several { .. })
            | Self::Partition(boostfgl_partition::Error::Graph(
                several @ boostfgl_graph::Error::Several { .. },
            )) => several.to_string().lines().map(str::to_owned).collect(),
            Self::Client { client, source } => {
                let mut lines = source.lines();
                lines[0].insert_str(0, &format!("client {client}: "));
                lines
            }
            other => vec![other.to_string().replace(['\n', '\r'], " ")],
        }
    }

    /// Whether the command or its input is wrong (exit code 2), or the run failed (exit code 1).
    pub fn is_input(&self) -> bool {
        if let Self::Client { source, .. } = self {
            return source.is_input();
        }
        if let Self::Fairness(error) = self {
            return error.is_request();
        }
        !matches!(
            self,
            Self::Fed(
                boostfgl_fed::Error::Diverged { .. }
                    | boostfgl_fed::Error::Failed { .. }
                    | boostfgl_fed::Error::Lost { .. }
                    | boostfgl_fed::Error::ServerDiverged { .. }
                    | boostfgl_fed::Error::Quorum { .. }
                    | boostfgl_fed::Error::Observer(_)
                    | boostfgl_fed::Error::TooFew { round: Some(_), .. }
            ) | Self::Incomplete { .. }
                | Self::Stopped { .. }
                | Self::Differs { .. }
                | Self::Report(boostfgl_report::Error::Io { .. })
        )
    }
}

fn how_far(round: usize) -> String {
    if round == 0 { "before".to_owned() } else { format!("after round {round} of") }
}
