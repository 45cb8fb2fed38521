//! Federated rounds: clients train on their own graphs, a server combines what they send.
//!
//! ```text
//!            ┌────────── θ ──────────┐            one round
//!   server ──┤                       ├──► client k: score θ, boost nodes and edges, E epochs
//!            └── ServerRule ◄── Update┴──── θₖ, number of nodes, fairness summary, message
//! ```
//!
//! * [`Federation`] — clients and server, ready to run; [`Training`] — the loop over its rounds,
//!   which can be stopped and resumed to the same digits; [`Observer`]s receive results and cannot
//!   change them.
//! * [`methods`] — one file per method, one line in [`methods::METHODS`]; a method is a
//!   [`methods::ServerRule`] and a [`ClientRule`].
//! * [`boost`] — boosts: plug-ins that stack on any method. The paper's three are built in; a
//!   [`boost::Registry`] takes more.
//! * [`screen`] — every update is checked before it may change a model; a refused one is reported
//!   with client and reason.
//! * [`aggregate`] — the mean, and robust rules that outvote bad updates, under any method that
//!   averages models.
//! * [`attack`] — simulated malicious clients, for tests and experiments.
//! * [`config`] — every key of the protocol, with its default and range.

#![forbid(unsafe_code)]

pub mod aggregate;
pub mod attack;
pub mod boost;
mod client;
mod client_name;
mod client_rule;
pub mod config;
mod error;
mod federation;
#[cfg(all(debug_assertions, not(test)))]
mod instantiate;
mod layers;
mod local_data;
pub mod methods;
mod noise_occasion;
mod observer;
mod run_context;
pub mod screen;
mod server;
mod submission;
mod tally;
mod training;
pub mod transport;

pub use aggregate::{Combination, Contribution, Rule};
pub use boostfgl_protocol::{Message, Model};
pub use client::Client;
pub use client_name::ClientName;
pub use client_rule::{
    BroadcastForm, ClientContext, ClientRule, PersonalModel, PreparationHooks, RuleState,
    StateContext, TrainingHooks, Upload,
};
pub use error::{Error, Result};
pub use federation::{Federation, Outcome, Setup};
pub use local_data::LocalData;
pub use noise_occasion::Occasion;
pub use observer::{ClientRecord, Inspected, Inspection, Observer, ObserverResult, RoundRecord};
pub use screen::{Reason, Refusal};
pub use server::{Event, Next, RoundEvaluation, RoundReport, Server};
pub use tally::Tally;
pub use training::{Snapshot, Trace, Training};
