//! The operations a [`Tape`](crate::Tape) can record, one file each.
//!
//! Every operation has its gradient checked against finite differences in `tests/gradients.rs`.

mod active_product;
mod add;
mod add_scaled;
mod attention;
mod bias;
mod blend;
mod concat;
mod cross_entropy;
mod dropout;
mod hidden;
mod matmul;
mod messages;
mod prelu;
mod propagate;
mod row_mean;
mod select_rows;
mod shift;
mod smoothed_product;
mod sparse_features;
mod stack_rows;
mod tanh;

pub use messages::Candidates;
pub use row_mean::RowMean;
pub use smoothed_product::Smoothing;
