//! Graphs, and the files, catalogue and generator they are read from.
//!
//! This is the first crate of the pipeline: a file, a catalogue name or a generator preset goes in,
//! a [`Graph`] comes out. Everything later (partition, training, metrics) sees only that type.
//!
//! * [`Graph`] — topology ([`Adjacency`]), [`Features`], [`Labels`] and, where published, a
//!   [`Split`].
//! * [`readers`] — one file per format.
//! * [`catalogue`] — the datasets known by name, with origin, checksum, licence and known flaws.
//! * [`generator`] — seeded synthetic graphs.
//! * [`GroupColumn`] — groupings of the nodes that come with the data, such as sex or region.
//! * [`groups`] — what fairness is measured on: minority classes, node homophily.
//! * [`stream`] — the random numbers of the whole program, keyed so that nothing depends on call
//!   order.

#![forbid(unsafe_code)]

mod adjacency;
pub mod catalogue;
mod error;
mod features;
pub mod generator;
mod graph;
mod group_column;
pub mod groups;
mod labels;
mod problems;
pub mod readers;
mod split;
pub mod stats;
pub mod stream;

pub use adjacency::{Adjacency, EdgeCounts};
pub use error::{Error, Result, nearest};
pub use features::{Features, Scaling, SparseRows};
pub use graph::{Graph, NodeIds};
pub use group_column::{GroupColumn, in_order};
pub use labels::Labels;
pub use problems::{Problems, line_numbers};
pub use split::{Role, Split};
pub use stream::Stream;
