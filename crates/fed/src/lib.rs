//! Federated rounds: clients train on their own graphs, a server combines what they send.
//!
//! ```text
//!            ┌────────── θ ──────────┐            one round
//!   server ──┤                       ├──► client k: score θ, boost nodes and edges, E epochs
//!            └── ServerRule ◄── Update┴──── θₖ, number of nodes, fairness summary, the method's own message
//! ```
//!
//! * [`Federation`] — clients and a server that are ready; [`Course`] — the loop over its rounds,
//!   which can be stopped and continued to the same digits; [`Observer`]s watch it and cannot
//!   change one.
//! * [`methods`] — one file per method, one line in [`methods::METHODS`]; a method is a
//!   [`methods::ServerRule`] and a [`ClientRule`].
//! * [`boost`] — the paper's three boosts as plug-ins that stack on any method.
//! * [`screen`] — every update is looked at before it may touch a model; what is refused is named
//!   with the reason.
//! * [`aggregate`] — the mean, and robust rules that outvote bad updates, under any method that
//!   averages models.
//! * [`attack`] — clients that do harm, for tests and experiments.
//! * [`config`] — every key of the protocol, with its default and range.

#![forbid(unsafe_code)]

pub mod aggregate;
mod archive;
mod arrival;
pub mod attack;
pub mod boost;
mod client;
#[cfg(all(debug_assertions, not(test)))]
mod compiled;
pub mod config;
mod course;
mod error;
mod federation;
mod local_data;
pub mod methods;
mod noise;
mod observer;
mod preparation;
mod rule;
pub mod screen;
mod wire;

pub use aggregate::{Combination, Rule, Update};
pub use course::{Course, Snapshot, Trace};
pub use error::{Error, Result};
pub use federation::{Federation, Outcome, Setup};
pub use local_data::LocalData;
pub use noise::Occasion;
pub use observer::{ClientRecord, Inspected, Inspection, Observer, RoundRecord};
pub use rule::{ClientRule, Desk, Memory, Upload};
pub use screen::{Reason, Refusal};
pub use wire::Message;
