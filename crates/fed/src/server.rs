//! The server: a state machine that says what clients should do next, and hears what they reply.
//!
//! ```text
//!             ┌─────────── next() ─► Ask: frames, quorum, deadline ───────────┐
//!   Server ───┤                                                               ├─ driver, transport
//!             └─ event() ◄── hear(arrivals) ◄── replies, or why there is none ┘
//! ```
//!
//! It knows enrolments and replies and nothing else, never waits and does no input or output.
//! Whatever drives it needs no knowledge of methods:
//!
//! ```
//! # use boostfgl_fed::{Next, Result, Server, transport::Transport};
//! fn drive(mut server: Server<f32>, clients: &mut dyn Transport<f32>) -> Result<()> {
//!     while let Next::Ask(ask) = server.next() {
//!         server.hear(clients.exchange(ask))?;
//!         while let Some(event) = server.event() {
//!             println!("{event}");
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! `enrolment` is what comes first, `preparation` the exchanges between clients, `training` one
//! round, `inbound` the way of an update from its arrival to the method, `evaluation` what follows
//! a round, `replies` the matching of replies to tasks, `state` saving and restoring.

mod enrolment;
mod evaluation;
mod inbound;
mod preparation;
mod replies;
mod running;
mod state;
mod training;

pub(crate) use enrolment::Enrolling;
pub(crate) use evaluation::federation_digest;
pub use evaluation::{RoundEvaluation, RoundReport};
pub(crate) use running::{Running, Settling};

use crate::transport::{Arrival, Ask};
use crate::{Error, Result};
use boostfgl_nn::{Params, Real, StateVisitor};
use boostfgl_protocol::{Enrolment, RunId, Traffic};
use std::fmt;

/// The server of a federation.
pub struct Server<T: Real> {
    stage: Stage<T>,
}

enum Stage<T: Real> {
    Enrolling(Box<Enrolling<T>>),
    Running(Box<Running<T>>),
}

/// What the server wants next.
#[derive(Debug)]
pub enum Next<T: Real> {
    /// Send these frames, and let the server hear the replies.
    Ask(Ask<T>),
    /// The run is over.
    Done,
}

/// What happened.
#[derive(Debug)]
pub enum Event<T: Real> {
    /// `done` of `total` exchanges between clients before the first round are finished.
    Prepared {
        /// Finished exchanges.
        done: usize,
        /// All of them.
        total: usize,
    },
    /// A round is over.
    Round(RoundReport<T>),
    /// The run is over; BLAKE3 of the global model and of what each client kept.
    Concluded(String),
}

impl<T: Real> Server<T> {
    pub(crate) fn new(enrolling: Enrolling<T>) -> Self {
        Self { stage: Stage::Enrolling(Box::new(enrolling)) }
    }

    /// The same server with another id of the run, before anything is asked. By default the id
    /// follows from the settings, so that two runs with the same settings have the same. A driver
    /// over a network passes a fresh one for each run: a late frame of an earlier run is then
    /// refused on both sides.
    #[must_use]
    pub fn with_run_id(mut self, id: RunId) -> Self {
        if let Stage::Enrolling(enrolling) = &mut self.stage {
            enrolling.id = id;
        }
        self
    }

    /// What clients should do next. It stays the same until replies are heard.
    #[expect(clippy::should_implement_trait, reason = "the name that state machines have")]
    pub fn next(&mut self) -> Next<T> {
        match &mut self.stage {
            Stage::Enrolling(enrolling) => Next::Ask(enrolling.next()),
            Stage::Running(running) => running.next(),
        }
    }

    /// Takes what became of the frames of the last [`Ask`], in any order.
    ///
    /// # Errors
    /// If the run cannot continue: a client does not fit, too few updates can be used, or the model
    /// is no longer finite.
    pub fn hear(&mut self, arrivals: Vec<Arrival<T>>) -> Result<()> {
        match &mut self.stage {
            Stage::Enrolling(enrolling) => {
                self.stage = Stage::Running(Box::new(enrolling.hear(arrivals)?));
                Ok(())
            }
            Stage::Running(running) => running.hear(arrivals),
        }
    }

    /// Ends the current round before another begins, so that the [state](Self::state) can be saved.
    pub fn pause(&mut self) {
        if let Stage::Running(running) = &mut self.stage {
            running.pauses = true;
        }
    }

    /// The state between two rounds: everything that later rounds depend on, apart from the states
    /// of the clients.
    ///
    /// # Errors
    /// If a round is not over; see [`pause`](Self::pause).
    pub fn state(&mut self) -> Result<Vec<u8>> {
        let Stage::Running(running) = &mut self.stage else {
            return Err(Error::OutOfOrder { task: "to save its state", stage: "before it began" });
        };
        let mut state = Vec::new();
        running.visit(&mut StateVisitor::saving(&mut state)).map_err(Error::State)?;
        running.pauses = false;
        Ok(state)
    }

    /// Continues from a state, once all clients have joined again.
    ///
    /// # Errors
    /// If it is not the state of such a federation.
    pub fn restore(&mut self, state: &[u8]) -> Result<()> {
        let Stage::Running(running) = &mut self.stage else {
            return Err(Error::OutOfOrder { task: "to restore a state", stage: "before it began" });
        };
        running.visit(&mut StateVisitor::restoring(state)).map_err(Error::State)
    }

    /// What the clients said about themselves when they joined, in client order; their counts of
    /// classes are in the order of [`classes`](Self::classes). Empty before all have joined.
    pub fn clients(&self) -> &[Enrolment] {
        match &self.stage {
            Stage::Enrolling(_) => &[],
            Stage::Running(running) => &running.enrolled,
        }
    }

    /// The names of the classes; empty before all clients have joined.
    pub fn classes(&self) -> &[String] {
        match &self.stage {
            Stage::Enrolling(_) => &[],
            Stage::Running(running) => &running.classes,
        }
    }

    /// The models of the round to report; none where every client has its own, and before there is
    /// such a round.
    pub fn reported_models(&self) -> &[Params<T>] {
        match &self.stage {
            Stage::Enrolling(_) => &[],
            Stage::Running(running) => &running.reported,
        }
    }

    /// Bytes from all clients and to all clients so far.
    pub fn traffic(&self) -> (Traffic, Traffic) {
        match &self.stage {
            Stage::Enrolling(_) => Default::default(),
            Stage::Running(running) => running.bytes(),
        }
    }

    /// Number of rounds: those of the protocol and those that the method adds.
    pub fn rounds(&self) -> usize {
        match &self.stage {
            Stage::Enrolling(enrolling) => enrolling.rounds(),
            Stage::Running(running) => running.run.rounds(),
        }
    }

    /// The next thing that happened, in order.
    pub fn event(&mut self) -> Option<Event<T>> {
        match &mut self.stage {
            Stage::Enrolling(_) => None,
            Stage::Running(running) => running.event(),
        }
    }
}

impl<T: Real> fmt::Display for Event<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepared { done, total } => write!(f, "prepared: {done} of {total} exchanges"),
            Self::Round(report) => write!(f, "round {}: loss {:.4}", report.round, report.loss),
            Self::Concluded(digest) => write!(f, "digest {digest}"),
        }
    }
}
