//! The operations a [`Tape`](crate::Tape) can record, one file each.
//!
//! Every operation has its gradient checked against finite differences in `tests/gradients.rs`.

mod add;
mod bias;
mod cross_entropy;
mod hidden;
mod matmul;
mod propagate;
mod select_rows;
mod sparse_features;
