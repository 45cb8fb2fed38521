//! The diagnostics along the pipeline: distances, losses, hardness, dilution and trust.
//!
//! * `golden` — the numbers of an independent float64 implementation in PyTorch autograd, on twelve
//!   nodes.
//! * `unusual` — no node or every node in the minority, clients that did not take part or have no
//!   training node.
//! * `federation` — during real runs: results do not change, for any number of threads.
//! * `huge` — models whose logits overflow: what is no number is left out.

mod federation;
mod golden;
mod huge;
mod unusual;
