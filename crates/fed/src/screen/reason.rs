//! Why an update is refused.

use crate::ClientName;
use std::fmt;

/// An update that was not used.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The client that sent it.
    pub client: usize,
    /// Its name; empty if it has none.
    pub name: String,
    /// The round, from 1.
    pub round: usize,
    /// Why.
    pub reason: Reason,
}

impl Refusal {
    /// A refusal in this round, of a client whose name is added when it is reported.
    pub(crate) fn new(client: usize, round: usize, reason: Reason) -> Self {
        Self { client, name: String::new(), round, reason }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = ClientName::new(self.client, self.name.clone());
        write!(f, "{client}, round {}: {}", self.round, self.reason)
    }
}

/// What is wrong with an update, with what was expected and what was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The client's own training failed.
    Failed(String),
    /// The client already sent an update in this round.
    Duplicate,
    /// The reply is missing: none arrived in time, or the client is gone.
    Missing(String),
    /// The reply cannot be read, or is not a reply to what was asked.
    Unreadable(String),
    /// Another client did not use its answer.
    Answer {
        /// The reason in one word.
        kind: &'static str,
        /// The reason.
        reason: String,
    },
    /// It is for another round.
    WrongRound {
        /// The current round.
        expected: usize,
        /// The round that the update names.
        found: usize,
    },
    /// It arrived after the deadline.
    Late {
        /// The deadline in seconds.
        allowed: f64,
        /// The seconds until it arrived.
        took: f64,
    },
    /// A tensor has the wrong shape, or there are too many or too few.
    Shape {
        /// The shapes of the model.
        expected: String,
        /// The shapes that were sent.
        found: String,
    },
    /// The message is not of the method's form, or a model is missing or unexpected.
    Message {
        /// What clients of the method send.
        expected: String,
        /// What was sent.
        found: String,
    },
    /// A number is infinite or NaN.
    NotFinite {
        /// `model`, `message` or `update norm`.
        what: &'static str,
    },
    /// The size is not whole, below 1, or above the client's size at enrolment.
    Size {
        /// The client's size at enrolment.
        enrolled: f64,
        /// The claimed size.
        found: f64,
    },
    /// The fairness gap is not between 0 and 1, or the minority's difficulty not a number of at
    /// least 0.
    Summary {
        /// `fairness gap` or `difficulty of the minority`.
        what: &'static str,
        /// The range of valid values.
        expected: &'static str,
        /// The claimed value.
        found: f64,
    },
    /// It repeats an earlier update of the client.
    Replay {
        /// The round in which the earlier update was accepted.
        round: usize,
    },
    /// A number that wins influence is far above those of the other clients.
    Implausible {
        /// What the number means.
        what: &'static str,
        /// The largest value that would have been accepted.
        bound: f64,
        /// The claimed value.
        found: f64,
    },
    /// It is much longer than the others.
    TooLong {
        /// `an update`, `a message` or `an answer`.
        what: &'static str,
        /// The largest length that would have been accepted.
        bound: f64,
        /// Its length.
        found: f64,
    },
}

impl Reason {
    /// One word for files and tables.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Failed(_) => "failed",
            Self::Duplicate => "duplicate",
            Self::Missing(_) => "missing",
            Self::Unreadable(_) => "unreadable",
            Self::Answer { kind, .. } => kind,
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

    /// Whether the update counts towards the f bad updates that a robust rule is configured for:
    /// whether no honest client sends such an update. A client that failed, was late or is far
    /// from the others may be honest, and is often the one with the hardest data.
    pub fn is_suspect(&self) -> bool {
        match self {
            Self::Duplicate | Self::WrongRound { .. } | Self::Unreadable(_) => true,
            Self::Shape { .. } | Self::Message { .. } | Self::NotFinite { .. } => true,
            Self::Size { .. } | Self::Summary { .. } => true,
            Self::Failed(_) | Self::Missing(_) | Self::Answer { .. } | Self::Late { .. } => false,
            Self::Replay { .. } | Self::Implausible { .. } | Self::TooLong { .. } => false,
        }
    }

    /// Whether both a malicious client and an honest one that is far from the others may have sent
    /// it.
    pub fn is_doubtful(&self) -> bool {
        matches!(self, Self::Replay { .. } | Self::Implausible { .. } | Self::TooLong { .. })
    }

    /// Whether the client's optimiser may be the cause, so that it must be reset.
    pub(crate) fn is_numeric(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::NotFinite { .. } | Self::TooLong { .. })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "expected an update, found a failure: {error}"),
            Self::Missing(reason) => write!(f, "expected a reply, found none: {reason}"),
            Self::Unreadable(reason) => {
                write!(f, "expected a reply to what was asked, found another: {reason}")
            }
            Self::Answer { reason, .. } => f.write_str(reason),
            Self::Duplicate => f.write_str("expected one update per round, found a second one"),
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
                write!(f, "expected a new update, found a replay of its update of round {round}")
            }
            Self::Implausible { what, bound, found } => {
                write!(
                    f,
                    "expected a {what} of at most {bound:.3e}, given those of the other clients, \
                     found {found:.3e}"
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
        let text = String::new;
        vec![
            Reason::Failed(text()),
            Reason::Missing(text()),
            Reason::Unreadable(text()),
            Reason::Answer {
                kind: "message",
                reason: Reason::Message { expected: text(), found: text() }.to_string(),
            },
            Reason::Duplicate,
            Reason::WrongRound { expected: 1, found: 2 },
            Reason::Late { allowed: 1.0, took: 2.0 },
            Reason::Shape { expected: text(), found: text() },
            Reason::Message { expected: text(), found: text() },
            Reason::NotFinite { what: "model" },
            Reason::Size { enrolled: 1.0, found: 2.0 },
            Reason::Summary { what: "gap", expected: "from 0 to 1", found: 2.0 },
            Reason::Replay { round: 1 },
            Reason::Implausible { what: "loss", bound: 1.0, found: 2.0 },
            Reason::TooLong { what: "an update", bound: 1.0, found: 2.0 },
        ]
    }

    fn kinds(property: impl Fn(&Reason) -> bool) -> Vec<&'static str> {
        all().iter().filter(|reason| property(reason)).map(Reason::kind).collect()
    }

    /// As docs/robustness.md lists them.
    #[test]
    fn reasons_are_classified_as_suspect_doubtful_or_numeric() {
        let suspect = [
            "unreadable",
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
    fn every_reason_states_what_was_expected_and_what_was_found() {
        for reason in all() {
            let text = reason.to_string();
            assert!(text.starts_with("expected ") && text.contains("found "), "{text}");
        }
    }
}
