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
//! * [`boost`] — boosts: plug-ins that stack on any method. The paper's three are built in.
//! * [`Registry`] — the methods and boosts of a run: the built-in ones, and those that a program
//!   adds.
//! * [`screen`] — every update is checked before it may change a model; a refused one is reported
//!   with client and reason.
//! * [`aggregate`] — the mean, and robust rules that outvote bad updates, under any method that
//!   averages models.
//! * [`attack`] — simulated malicious clients, for tests and experiments.
//! * [`config`] — every key of the protocol, with its default and range.
//!
//! # Methods and boosts of your own
//!
//! A crate of your own needs no change here. It implements [`methods::MethodPlugin`] or
//! [`boost::BoostPlugin`], adds the value to a [`Registry`], and gives that to both sides:
//! [`Federation::with_registry`] in a simulation, [`Server::for_clients`] and [`Client::of_server`]
//! between machines. `boostfgl-conformance` tests both with the tests of the built-in methods:
//! results that do not depend on threads, evaluation or where a run was stopped, data that occur in
//! practice, and bytes as the only thing that the sides share. `examples/own-method` in the
//! repository is a whole crate with a method, a boost, a program and the test.

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
mod predictor;
mod registry;
mod run_context;
pub mod screen;
mod server;
mod submission;
mod tally;
mod training;
pub mod transport;

pub use aggregate::{Combination, Contribution, Rule};
pub use boostfgl_nn::Real;
pub use boostfgl_protocol::{Message, Model};
pub use client::{Client, Evaluated};
pub use client_name::ClientName;
pub use client_rule::{
    BroadcastForm, ClientContext, ClientRule, PersonalModel, PreparationHooks, RuleState,
    StateContext, TrainingHooks, Upload,
};
pub use error::{Error, Result};
pub use federation::{Federation, Outcome, Setup};
pub use layers::ClientLayer;
pub use local_data::LocalData;
pub use noise_occasion::Occasion;
pub use observer::{ClientRecord, Inspected, Inspection, Observer, ObserverResult, RoundRecord};
pub use predictor::{Beyond, Predictors, Reported};
pub use registry::Registry;
pub use screen::{Reason, Refusal};
pub use server::{Event, Next, RoundEvaluation, RoundReport, Server};
pub use tally::{Probability, Tally};
pub use training::{Snapshot, Trace, Training};
