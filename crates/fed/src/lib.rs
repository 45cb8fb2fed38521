//! Federated rounds: clients train on their own graphs, a server combines what they send.
//!
//! ```text
//!            ┌────────── θ ──────────┐            one round
//!   server ──┤                       ├──► client k: score θ, boost nodes and edges, E epochs
//!            └── ServerRule ◄── Update┴──── θₖ, number of nodes, fairness summary, the method's own message
//! ```
//!
//! * [`Federation`] — clients and a server that are ready; [`Training`] — the loop over its rounds,
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
pub mod attack;
pub mod boost;
mod client;
mod client_rule;
pub mod config;
mod error;
mod federation;
#[cfg(all(debug_assertions, not(test)))]
mod instantiate;
mod local_data;
pub mod methods;
mod noise;
mod observer;
mod preparation;
pub mod screen;
mod shared_models;
mod submission;
mod training;
mod wire;

pub use aggregate::{Combination, Rule, Update};
pub use client_rule::{
    ClientContext, ClientRule, PersonalModel, PreparationHooks, RuleState, StateContext,
    TrainingHooks, Upload,
};
pub use error::{Error, Result};
pub use federation::{Federation, Outcome, Setup};
pub use local_data::LocalData;
pub use noise::Occasion;
pub use observer::{ClientRecord, Inspected, Inspection, Observer, ObserverResult, RoundRecord};
pub use screen::{Reason, Refusal};
pub use training::{Snapshot, Trace, Training};
pub use wire::Message;
