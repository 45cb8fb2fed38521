//! Clients that each have their own graph, in a folder of their own.
//!
//! ```text
//!  folder of a client ─► ClientData ─► fed::Client ◄─ frames ─► fed::Server
//!     schema, tables       graph         tally                  enrolments, counts, models
//! ```
//!
//! Nothing here joins the graphs: server and clients share settings and messages, as on different
//! machines, and only the transport knows that both are in this process.
//!
//! * [`ClientSchema`] — `schema.toml`: how clients name and order what they share.
//! * [`ClientData`] — one client's graph, as its owner keeps it.
//! * [`ClientsExperiment`] — a method on such clients over several seeds.
//! * [`export()`] — writes such folders from one graph.

mod client_data;
mod details;
mod experiment;
mod export;
mod files;
mod folders;
mod group_tally;
mod schema;
mod seed;
mod tally;
mod trace;

pub use client_data::ClientData;
pub use experiment::{ClientsExperiment, ClientsRun, ClientsSeed};
pub use export::{TableFormat, check_free, export};
pub(crate) use folders::dataset_name;
pub use schema::ClientSchema;
