//! Why an update is refused.

use std::fmt;

/// An update that was not used.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Whose connection it came over.
    pub client: usize,
    /// In which round, from 1.
    pub round: usize,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}, round {}: {}", self.client, self.round, self.reason)
    }
}

/// What is wrong with an update, with what was expected and what was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The client's own training failed.
    Failed(String),
    /// It does not take part in this round.
    NotInvited,
    /// It says that it is another client.
    Stranger {
        /// Who it says it is.
        claimed: usize,
    },
    /// It sent something in this round already.
    Duplicate,
    /// It is for another round.
    WrongRound {
        /// The round that goes on.
        expected: usize,
        /// The round that it names.
        found: usize,
    },
    /// It came after the deadline.
    Late {
        /// Seconds that were allowed.
        allowed: f64,
        /// Seconds that it took.
        took: f64,
    },
    /// A tensor has the wrong shape, or there are too many or too few.
    Shape {
        /// The shapes of the model.
        expected: String,
        /// Those that were sent.
        found: String,
    },
    /// The message, or that there is a model or none, is not what the method's clients send.
    Message {
        /// What they send.
        expected: String,
        /// What was sent.
        found: String,
    },
    /// A number is infinite or NaN.
    NotFinite {
        /// `model`, `message` or `update norm`.
        what: &'static str,
    },
    /// The size is not whole, below 1 or above what the client was enrolled with.
    Size {
        /// The size that it was enrolled with.
        enrolled: f64,
        /// The one that it names.
        found: f64,
    },
    /// The fairness gap is not between 0 and 1, or the minority's difficulty not a number of at
    /// least 0.
    Summary {
        /// `fairness gap` or `difficulty of the minority`.
        what: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What was said.
        found: f64,
    },
    /// It is an earlier update of the client once more.
    Replay {
        /// The round in which that was accepted.
        round: usize,
    },
    /// What it says of itself is far above what the others say, and would win it influence.
    Implausible {
        /// What it is about.
        what: &'static str,
        /// The most that would have been believed.
        bound: f64,
        /// What was said.
        found: f64,
    },
    /// It is much longer than the others.
    TooLong {
        /// `an update` or `a message`.
        what: &'static str,
        /// The longest that would have been used.
        bound: f64,
        /// How long it is.
        found: f64,
    },
}

impl Reason {
    /// One word for files and tables.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Failed(_) => "failed",
            Self::NotInvited => "not-invited",
            Self::Stranger { .. } => "stranger",
            Self::Duplicate => "duplicate",
            Self::WrongRound { .. } => "wrong-round",
            Self::Late { .. } => "late",
            Self::Shape { .. } => "shape",
            Self::Message { .. } => "message",
            Self::NotFinite { .. } => "not-finite",
            Self::Size { .. } => "size",
            Self::Summary { .. } => "summary",
            Self::Replay { .. } => "replay",
            Self::Implausible { .. } => "implausible",
            Self::TooLong { .. } => "too-long",
        }
    }

    /// Whether it counts among the f bad updates that a robust rule is told to expect: what no
    /// honest client sends. Who failed, was late or far from the others may be as honest as
    /// anybody, and has it hardest.
    pub fn is_suspect(&self) -> bool {
        match self {
            Self::Stranger { .. } | Self::Duplicate | Self::WrongRound { .. } => true,
            Self::Shape { .. } | Self::Message { .. } | Self::NotFinite { .. } => true,
            Self::Size { .. } | Self::Summary { .. } => true,
            Self::Failed(_) | Self::NotInvited | Self::Late { .. } => false,
            Self::Replay { .. } | Self::Implausible { .. } | Self::TooLong { .. } => false,
        }
    }

    /// Whether it may have been sent to do harm or by an honest client who is far from the others.
    pub fn is_doubtful(&self) -> bool {
        matches!(self, Self::Replay { .. } | Self::Implausible { .. } | Self::TooLong { .. })
    }

    /// Whether the client's optimiser may be to blame, so that it had better start afresh.
    pub(crate) fn is_numeric(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::NotFinite { .. } | Self::TooLong { .. })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "expected an update, found a failure: {error}"),
            Self::NotInvited => {
                f.write_str("expected a participant of the round, found a client that is none")
            }
            Self::Stranger { claimed } => {
                write!(f, "expected its own number, found that of client {claimed}")
            }
            Self::Duplicate => f.write_str("expected one update in a round, found another"),
            Self::WrongRound { expected, found } => {
                write!(f, "expected an update for round {expected}, found one for round {found}")
            }
            Self::Late { allowed, took } => {
                write!(f, "expected an update within {allowed} s, found it after {took:.3} s")
            }
            Self::Shape { expected, found } => {
                write!(f, "expected tensors of {expected}, found {found}")
            }
            Self::Message { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::NotFinite { what } => {
                write!(f, "expected finite numbers, found a {what} with infinity or NaN")
            }
            Self::Size { enrolled, found } => {
                write!(
                    f,
                    "expected a whole size from 1 to the {enrolled} it was enrolled with, found \
                     {found}"
                )
            }
            Self::Summary { what, expected, found } => {
                write!(f, "expected a {what} {expected}, found {found}")
            }
            Self::Replay { round } => {
                write!(f, "expected a new update, found its update of round {round} once more")
            }
            Self::Implausible { what, bound, found } => {
                write!(
                    f,
                    "expected a {what} of at most {bound:.3e}, by what the others say, found \
                     {found:.3e}"
                )
            }
            Self::TooLong { what, bound, found } => {
                write!(
                    f,
                    "expected {what} no longer than {bound:.3e}, found one of length {found:.3e}"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Reason> {
        let said = String::new;
        vec![
            Reason::Failed(said()),
            Reason::NotInvited,
            Reason::Stranger { claimed: 1 },
            Reason::Duplicate,
            Reason::WrongRound { expected: 1, found: 2 },
            Reason::Late { allowed: 1.0, took: 2.0 },
            Reason::Shape { expected: said(), found: said() },
            Reason::Message { expected: said(), found: said() },
            Reason::NotFinite { what: "model" },
            Reason::Size { enrolled: 1.0, found: 2.0 },
            Reason::Summary { what: "gap", expected: "from 0 to 1", found: 2.0 },
            Reason::Replay { round: 1 },
            Reason::Implausible { what: "loss", bound: 1.0, found: 2.0 },
            Reason::TooLong { what: "an update", bound: 1.0, found: 2.0 },
        ]
    }

    fn kinds(like: impl Fn(&Reason) -> bool) -> Vec<&'static str> {
        all().iter().filter(|reason| like(reason)).map(Reason::kind).collect()
    }

    /// As docs/robustness.md has them.
    #[test]
    fn what_no_honest_client_sends_is_suspect_and_what_is_far_off_is_doubtful() {
        let suspect = [
            "stranger",
            "duplicate",
            "wrong-round",
            "shape",
            "message",
            "not-finite",
            "size",
            "summary",
        ];
        assert_eq!(kinds(Reason::is_suspect), suspect);
        assert_eq!(kinds(Reason::is_doubtful), ["replay", "implausible", "too-long"]);
        assert_eq!(kinds(Reason::is_numeric), ["failed", "not-finite", "too-long"]);
    }

    #[test]
    fn every_reason_says_what_was_expected_and_what_was_found() {
        for reason in all() {
            let said = reason.to_string();
            assert!(said.starts_with("expected ") && said.contains("found "), "{said}");
        }
    }
}
