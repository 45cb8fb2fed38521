//! The diagnostics along the pipeline: distances, losses, hardness, dilution and trust.
//!
//! * `golden` — the numbers of an independent float64 implementation in PyTorch autograd, on twelve
//!   nodes.
//! * `unusual` — nobody in the minority, everybody in it, clients that did not take part or have
//!   nothing to train on.
//! * `federation` — beside real runs: nothing changes, for any number of threads.
//! * `huge` — models whose logits overflow: what is no number is left out.

mod federation;
mod golden;
mod huge;
mod unusual;
