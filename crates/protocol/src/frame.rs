//! Frames: the tasks for one client, or its replies.

use crate::{Error, Reply, Result, Task};
use std::fmt;

/// The version of the protocol.
pub const VERSION: u16 = 1;

/// Which run a frame belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RunId(pub [u8; 16]);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Run, round and client of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The run.
    pub run: RunId,
    /// Rounds from 1; 0 before the first one.
    pub round: u32,
    /// The client that the tasks are for, or that replies.
    pub client: u32,
}

impl Header {
    /// Fails unless `found` is the header of a reply to this frame.
    ///
    /// # Errors
    /// Names the first of run, round and client that differs.
    pub fn check_reply(&self, found: &Self) -> Result<()> {
        if self.run != found.run {
            return Err(misdirected("run", &self.run, &found.run));
        }
        if self.round != found.round {
            return Err(misdirected("round", &self.round, &found.round));
        }
        if self.client != found.client {
            return Err(misdirected("client", &self.client, &found.client));
        }
        Ok(())
    }
}

fn misdirected<D: fmt::Display>(what: &'static str, expected: &D, found: &D) -> Error {
    Error::Misdirected { what, expected: expected.to_string(), found: found.to_string() }
}

/// An ordered list of tasks or replies.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame<I> {
    /// Run, round and client.
    pub header: Header,
    /// The tasks or replies. Replies are in the order of their tasks.
    pub items: Vec<I>,
}

/// Tasks for one client.
pub type TaskFrame<T> = Frame<Task<T>>;
/// The replies of one client.
pub type ReplyFrame<T> = Frame<Reply<T>>;
