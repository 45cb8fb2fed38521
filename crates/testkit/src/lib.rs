//! Toy graphs and golden numbers that the tests of several crates share.
//!
//! A dev-dependency only: no crate of the program may use it. `tests/golden/README.md` describes
//! the golden files.

#![forbid(unsafe_code)]

mod golden;
mod random_graph;
pub mod toy;

pub use golden::{TOLERANCE, assert_close, golden, indices, numbers};
pub use random_graph::RandomGraph;
