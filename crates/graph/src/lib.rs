//! Graphs, their node groups, and a generator of synthetic ones.
//!
//! Everything later (partition, training, metrics) sees only the type [`Graph`]. Reading one from a
//! file is the part of the crate `boostfgl-data`; its errors are those of this crate, since a file
//! may hold anything that a graph refuses.
//!
//! * [`Graph`] — topology ([`Adjacency`]), [`Features`], [`Labels`] and, where published, a
//!   [`Split`].
//! * [`generator`] — seeded synthetic graphs.
//! * [`GroupColumn`] — groupings of the nodes that come with the data, such as sex or region.
//! * [`Preparation`] — what is to be done with feature columns before training, and which values
//!   are missing.
//! * [`groups`] — what fairness is measured on: minority classes, node homophily.
//! * [`stream`] — the random numbers of the whole program, keyed so that nothing depends on call
//!   order.

#![forbid(unsafe_code)]

mod adjacency;
mod error;
mod features;
pub mod generator;
mod graph;
mod group_column;
pub mod groups;
mod labels;
mod preparation;
mod problems;
mod split;
pub mod stats;
pub mod stream;

pub use adjacency::{Adjacency, EdgeCounts};
pub use error::{Error, Result, nearest};
pub use features::{Features, Scaling, SparseRows};
pub use graph::{Graph, NodeIds};
pub use group_column::{GroupColumn, in_order, numbered};
pub use labels::Labels;
pub use preparation::{ColumnPreparation, Missing, Preparation};
pub use problems::{Problems, line_numbers};
pub use split::{Role, Split};
pub use stream::Stream;
