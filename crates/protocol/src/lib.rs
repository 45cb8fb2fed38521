//! The protocol between the clients and the server of a federation.
//!
//! ```text
//!            server                                       client
//!
//!   TaskFrame { run, round, client, tasks }  ──────►  handle(Task) -> Reply
//!                                            ◄──────  ReplyFrame { run, round, client, replies }
//! ```
//!
//! A frame has an ordered list of tasks for one client, or that client's replies in the same order,
//! so that the evaluation of one round travels together with the training of the next. Messages are
//! owned values: the transport may hand them over as they are, or [`encode`] and [`decode`] them.
//!
//! This crate does no input or output, starts no threads, reads no clock and trains nothing.
//!
//! * [`Task`], [`Reply`] — what a frame contains.
//! * [`Model`], [`Message`] — numbers of a method, with a version in place of an identity.
//! * [`encode`], [`decode`] — the bytes of a frame; [`codec`] documents them.
//! * [`Traffic`] — payload and framed bytes, counted by the encoder itself.

#![forbid(unsafe_code)]

pub mod codec;
mod enrolment;
mod error;
mod exchange;
mod frame;
mod group_counts;
mod message;
mod model;
mod reply;
mod task;
mod traffic;
mod update;

pub use codec::{Limits, decode, encode, encode_in, measure};
pub use enrolment::{Enrolment, Roster, Schema};
pub use error::{Error, Result};
pub use exchange::{Answer, Exchange, Exchanged, Fault};
pub use frame::{Frame, Header, ReplyFrame, RunId, TaskFrame, VERSION};
pub use group_counts::{GroupCounts, SCORE_BINS};
pub use message::Message;
pub use model::{Model, Version};
pub use reply::{Conclusion, Evaluation, Failure, GROUPS, Reply, Revealed};
pub use task::{Broadcast, Discard, Task, Trial};
pub use traffic::Traffic;
pub use update::{Claims, Summary, Update};
