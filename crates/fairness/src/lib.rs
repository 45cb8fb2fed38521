//! Scores of predictions, overall, by group of nodes and by client.
//!
//! A [`Question`] holds the true and the predicted classes, the client of each node and the nodes
//! that are at a disadvantage; its answer is an [`Evaluation`]: the four headline [`Scores`], the
//! same by group and by client. It does not depend on how the predictions were made.
//!
//! * [`Confusion`] — counts of (truth, prediction) over a set of nodes.
//! * [`metrics`] — one file per metric, one line each in
//!   [`MetricRegistry::builtin`].
//! * [`HEADLINES`] — the metrics on groups that every run reports.
//! * [`Group`] — the sets of nodes that are evaluated separately.
//! * [`Readings`], [`Scores`] — each metric in its three readings `pooled`, `present` and `client`.
//! * [`frame`] — any metric × any grouping of the nodes: difference, ratio, worst group and
//!   intervals.
//! * [`protected`] — rates of a positive class by protected attribute, demographic parity, equalised
//!   odds.
//! * [`scored`] — metrics of probabilities: AUC, average precision, calibration.
//! * [`aggregate`] — mean and standard deviation over seeds.
//! * [`diagnostics`] — where unfairness arises inside a run.
//! * [`statistics`] — intervals, tests and ranks over paired runs.
//!
//! A set without nodes has no score: every value is an `Option`, and `NaN` never appears.

#![forbid(unsafe_code)]

mod aggregate;
mod confusion;
pub mod diagnostics;
mod error;
mod evaluate;
pub mod frame;
mod group;
mod headline;
mod inputs;
pub mod metrics;
pub mod protected;
pub mod scored;
mod scores;
pub mod statistics;
mod table;
pub mod warnings;

pub use aggregate::{Aggregate, aggregate, mean, sample_std};
pub use confusion::{ClassCounts, Confusion};
pub use error::{Error, Result};
pub use evaluate::{ClientScores, ClientTallies, Evaluation, Question};
pub use frame::{Facts, FrameMetric, Grouping, MetricFrame};
pub use group::{Group, GroupSizes};
pub use headline::{HEADLINES, Headline, PerHeadline};
pub use metrics::{Classes, Metric, MetricRegistry, Parameter};
pub use scores::{Percent, Reading, Readings, Scores};
pub use table::{GroupRow, GroupTable};
pub use warnings::{Warning, WarningKind};
