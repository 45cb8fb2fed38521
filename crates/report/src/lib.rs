//! What a run leaves behind: its folder, its summary and a table a person can read.
//!
//! * [`RunFolder`] — where a run writes, so that a crash never leaves a half-written file under a final name.
//! * [`RoundsWriter`] — `rounds.jsonl`, one line per seed and round, while the run goes on.
//! * [`PredictionsWriter`] — `predictions.csv`, one row per seed and node.
//! * [`Predictions`] — the same file read back.
//! * [`Summary`] — `summary.json`, written last: its presence means that the run is complete.
//! * [`Table`] — several runs side by side, as text, Markdown or CSV.
//! * [`Diagnoses`] — `diagnostics.json`: what diagnostics found; [`DiagnosisReport`] — the same for people.
//! * [`FrameTable`] — a metric by groups of nodes, with intervals and the worst group; [`Course`] — the same round by round.
//! * [`chart`] — pictures as inline SVG, each with the table of its numbers.
//! * [`Comparison`] — methods side by side over datasets and seeds, with how sure each difference is and its cost.

#![forbid(unsafe_code)]

mod atomic;
pub mod chart;
mod comparison;
mod course;
mod diagnoses;
mod diagnosis;
mod error;
mod folder;
mod frame;
mod predictions;
mod rounds;
mod sheet;
mod summary;
mod table;

pub use atomic::{AtomicFile, write_atomic};
pub use comparison::{
    Block, BlockRow, Cell, CellCost, Comparison, Contender, CostSummary, Difference, Measured, MetricSummary, Outcome,
};
pub use course::{Course, RoundFrames};
pub use diagnoses::{Diagnoses, SeedDiagnosis};
pub use diagnosis::DiagnosisReport;
pub use error::{Error, Result};
pub use folder::{RunFolder, free_name};
pub use frame::FrameTable;
pub use predictions::{Prediction, Predictions, PredictionsWriter, SavedPrediction, SeedPredictions};
pub use rounds::RoundsWriter;
pub use summary::{Bytes, RunTotals, SeedSummary, Summary};
pub use table::{Row, Style, Table};
