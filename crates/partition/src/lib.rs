//! One graph becomes the graphs of K clients.
//!
//! The second crate of the pipeline: a [`Graph`](boostfgl_graph::Graph) goes in, one
//! [`ClientGraph`] per client comes out. Edges between clients are dropped and counted; nothing
//! else is lost.
//!
//! * [`Partitioner`] — assigns nodes to clients; [`Registry::builtin`] is the table of them,
//!   one file each; [`PartitionConfig`] is `[partition]` of a configuration.
//! * [`louvain`] — communities of high modularity; [`merge`] cuts and merges them to K balanced
//!   clients.
//! * [`label_skew`], [`random`] — Dirichlet over classes; equal shares at random.
//! * [`Column`] — the values of a column of the data.
//! * [`split`] — training, validation and test nodes inside each client, per class.
//! * [`Partition`] — both decisions for one seed; [`file`](mod@file) saves it and reads it back.
//! * [`Description`] — what came out, in numbers and as a picture for a terminal.
//!
//! ```
//! use boostfgl_graph::{Adjacency, Features, Graph, Labels};
//! use boostfgl_partition::{Louvain, Partition, SplitRule};
//!
//! // Two triangles joined by one edge.
//! let edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)];
//! let (adjacency, _) = Adjacency::from_edges(6, &edges, None, false)?;
//! let labels = Labels::from_integers(&[0, 0, 0, 1, 1, 1], 2)?;
//! let graph = Graph::new("triangles", adjacency, Features::dense(6, 1, vec![1.0; 6])?, labels)?;
//!
//! let partition = Partition::draw(&graph, &Louvain::default(), 2, &SplitRule::default(), 0)?;
//! assert_eq!(partition.assignment(), [0, 0, 0, 1, 1, 1]);
//! assert_eq!(partition.lost_edges(&graph), 1);
//! # Ok::<(), boostfgl_partition::Error>(())
//! ```

#![forbid(unsafe_code)]

mod client_graph;
mod column;
mod config;
mod describe;
mod error;
pub mod file;
pub mod label_skew;
pub mod louvain;
pub mod merge;
mod partition;
mod partitioner;
pub mod random;
mod registry;
pub mod split;

pub use client_graph::ClientGraph;
pub use column::Column;
pub use config::PartitionConfig;
pub use describe::{ClientDescription, Description};
pub use error::{Error, Result};
pub use file::FromFile;
pub use label_skew::LabelSkew;
pub use louvain::Communities;
pub use merge::Louvain;
pub use partition::Partition;
pub use partitioner::Partitioner;
pub use random::Random;
pub use registry::{Configurable, Registry};
pub use split::{Ratios, SplitRule};
