//! The numeric core: a client's graph goes in, a loss and its gradients come out.
//!
//! ```text
//! Graph ──► Inputs (features, propagation P) ──► View (rows the loss needs)
//!                                                  │
//! Params ─────────────────────────────► Backbone ──┴─► Tape ──► loss, ∇ ──► Optimizer
//! ```
//!
//! * [`Matrix`] — padded, cache-line aligned, row-major; [`Real`] is `f32` in production and `f64`
//!   where gradients are checked.
//! * [`Tape`] — reverse mode over a handful of fused operations ([`ops`]).
//! * [`backbones`] — one file per architecture, one line in [`backbones::BACKBONES`].
//! * [`extra_losses`] — loss terms in addition to cross-entropy, as functions.
//! * [`Inputs`] and [`View`] — a client's graph in the layout of the kernels, restricted to the
//!   receptive field of the loss.
//! * [`optim`] — Adam and SGD, each as one fused pass.
//! * [`Stateful`] — saving and restoring of state by one list of its parts.
//!
//! **Same digits for any thread count.** Rows are independent; the few sums over rows are cut into
//! chunks of a fixed size that are added in index order; dropout masks and message noise are
//! functions of (key, node, column).

pub mod backbones;
mod cosine_similarity;
mod dropout;
mod error;
mod exp;
pub mod extra_losses;
mod feature_rows;
mod inputs;
#[cfg(all(debug_assertions, not(test)))]
mod instantiate;
mod kernels;
mod matrix;
mod message_noise;
pub mod ops;
pub mod optim;
mod parallel;
mod params;
mod propagation;
mod real;
pub mod safetensors_io;
mod similarity_relation;
mod sparse;
mod state;
mod tape;
mod top_changes;
mod view;
mod weighted_loss;

pub use cosine_similarity::cosines;
pub use dropout::Dropout;
pub use error::{Error, Result};
pub use inputs::Inputs;
pub use kernels::Level;
pub use kernels::gemm::Dense;
pub use kernels::largest::largest;
pub use kernels::mixture::{mix, sigmoid, unmix};
pub use kernels::reduce::{add_inner_products, mean_of, row_dots, squared_distance, weighted_sum};
pub use kernels::segments::{Tilted, arc_dots, tilt};
pub use kernels::softmax_rows;
pub use matrix::Matrix;
pub use message_noise::MessageNoise;
pub use ops::RowMean;
pub use params::{Params, TensorShape};
pub use propagation::{Operator, Pattern, Propagation};
pub use real::Real;
pub use similarity_relation::{SimilarityRelation, SmoothingOperator};
pub use sparse::Csr;
pub use state::{StateVisitor, Stateful};
pub use tape::{Pool, Tape, Var};
pub use top_changes::{TopChanges, difference, top_changes};
pub use view::{Reach, View};
pub use weighted_loss::{Reduction, WeightedLoss};
