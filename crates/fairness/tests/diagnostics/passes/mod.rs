//! Gradient share disparity and propagation reliability: against golden numbers, against one pass
//! per node or message, as samples, and during real runs.

mod exact;
mod golden;
mod random;
mod runs;
mod sampling;
