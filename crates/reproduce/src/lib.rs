//! The experiments of the BoostFGL paper: run, measured, and compared with its claims.
//!
//! ```text
//! plans/NAME.toml ──► Plan ──► cells (stored, reused) ──► Results ──► claims ──► verdicts
//!                                                          └──────► document (docs/reproduction.md)
//! ```
//!
//! * [`Plan`] — what an experiment runs: datasets, methods, seeds, varied settings, diagnostics.
//! * [`Laboratory`] — runs plans; finished cells are stored under their digests and reused by every
//!   experiment.
//! * [`Results`] — what was measured, small enough for a repository.
//! * [`claims`] — what the paper says, and whether the measurements support it.
//! * [`document`] — all of it as one Markdown file.

#![forbid(unsafe_code)]

pub mod claims;
pub mod document;
mod laboratory;
pub mod origin;
pub mod paper;
mod plan;

pub use boostfgl_report::{Origin, ResultRow as Row, Results};
pub use laboratory::{Laboratory, Ran};
pub use plan::{NAMES, Plan, Quick, Sweep, Variant};
