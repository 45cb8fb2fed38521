//! The operations a [`Tape`](crate::Tape) can record, one file each.
//!
//! Every operation has its gradient checked against finite differences in `tests/gradients.rs`.

mod bias;
mod concat;
mod cross_entropy;
mod hidden;
mod learned_messages;
mod matmul;
mod prelu;
mod propagate;
mod select_rows;
mod smoothed_product;
mod sparse_features;
mod tanh;

pub use learned_messages::Candidates;
pub use smoothed_product::Smoothing;
