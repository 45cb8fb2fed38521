//! The files of a run: its folder, summary, tables, report and exports.
//!
//! * [`RunFolder`] — the folder of a run, written so that a crash never leaves a half-written file
//!   under a final name.
//! * [`RoundsWriter`] — `rounds.jsonl`, one line per seed and round, appended during the run.
//! * [`Rounds`] — the reader of that file, also while it grows.
//! * [`PartitionStats`] — `partition.json`: statistics of the partition.
//! * [`PredictionsWriter`] — `predictions.csv`, one row per seed and node.
//! * [`Predictions`] — the reader of that file.
//! * [`ScoreTable`] — what a model predicts for nodes, with the probability of every class.
//! * [`name`] — names of runs and of their folders.
//! * [`Summary`] — `summary.json`, written last: its presence means that the run is complete.
//! * [`RunView`] — the content of a run folder, whether finished, unfinished or damaged.
//! * [`page::Report`] — one self-contained page from one or more runs, drawn with [`chart`].
//! * [`export`] — runs for other programs: CSV, JSON, Parquet, LaTeX, Markdown, TensorBoard,
//!   pictures.
//! * [`Table`] — several runs side by side, as text, Markdown, LaTeX or CSV.
//! * [`DiagnosticsFile`] — `diagnostics.json`: the results of diagnostics; [`DiagnosisReport`] — their
//!   tables.
//! * [`FrameTable`] — a metric by groups of nodes, with intervals and the worst group; [`GroupCurves`] —
//!   the same round by round.
//! * [`FairnessTable`] — rates of the positive class by protected attribute.
//! * [`Results`] — the results of an experiment, small enough for a repository.
//! * [`figure`] — the figures of the paper by name, from results or from runs.
//! * [`chart`] — pictures as inline SVG, each with the table of its numbers.
//! * [`Comparison`] — methods side by side over datasets and seeds, with the certainty of each
//!   difference and the costs; [`ComparisonView`] — its folder, with the curves of its cells
//!   ([`CellStore`]).

#![forbid(unsafe_code)]

pub mod chart;
mod client_table;
mod comparison;
mod details;
mod diagnostics_file;
mod diagnostics_tables;
mod error;
pub mod export;
pub mod figure;
mod fingerprint;
mod folder;
mod frame;
mod group_curves;
mod group_fairness;
mod markup;
pub mod name;
mod notes;
pub mod page;
mod partition_stats;
mod predictions;
mod results;
mod rounds;
mod score_table;
mod stream;
mod summary;
mod table;
mod text_table;
mod version;
mod view;

pub use boostfgl_disk::{AtomicFile, write_atomic};
pub use client_table::ClientTable;
pub use comparison::{
    Block, BlockRow, Cell, CellCost, CellRecord, CellStore, Chosen, Comparison, ComparisonView,
    Contender, CostSummary, Courses, Difference, EqualBudget, Measured, MetricSummary, Metrics,
    Outcome, StoredCell, Trial, Tuning, Varied, VariedSettings, trials_csv,
};
pub use details::{
    Budget, ClientSummary, MinorityUsed, Neighbours, RoundScores, SeedDetails, SplitOrigin,
    SplitUsed, StoredSplit,
};
pub use diagnostics_file::{DiagnosticsFile, SeedDiagnosis};
pub use diagnostics_tables::DiagnosisReport;
pub use error::{Error, Result};
pub use fingerprint::Fingerprint;
pub use folder::{RunFolder, free_name};
pub use frame::FrameTable;
pub use group_curves::{GroupCurves, RoundFrames};
pub use group_fairness::FairnessTable;
pub use markup::escaped;
pub use partition_stats::{PartitionStats, SeedPartitionStats};
pub use predictions::{
    Prediction, Predictions, PredictionsWriter, SavedPrediction, SeedPredictions, score_fields,
    score_headings,
};
pub use results::{
    BINS, Cause, Detail, Hardest, NOT_RUN, OVER_BUDGET, Origin, Point, RATIOS, ResultRow, Results,
};
pub use rounds::{ClientRecord, Round, RoundRefusal, Rounds, RoundsWriter};
pub use score_table::{ScoreFormat, ScoreTable};
pub use stream::{StreamKind, Streams};
pub use summary::{Bytes, RunTotals, SeedSummary, Summary};
pub use table::{Row, Style, Table};
pub use view::{Depth, RunView, Settings, State};
