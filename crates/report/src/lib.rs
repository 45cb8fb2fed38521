//! What a run leaves behind: its folder, its summary and a table a person can read.
//!
//! * [`RunFolder`] — where a run writes, so that a crash never leaves a half-written file under a
//!   final name.
//! * [`RoundsWriter`] — `rounds.jsonl`, one line per seed and round, while the run goes on.
//! * [`Rounds`] — the same file read back, also while it grows.
//! * [`PartitionFile`] — `partition.json`: how the graph was divided, in numbers.
//! * [`PredictionsWriter`] — `predictions.csv`, one row per seed and node.
//! * [`Predictions`] — the same file read back.
//! * [`name`] — what runs are called.
//! * [`Summary`] — `summary.json`, written last: its presence means that the run is complete.
//! * [`RunView`] — all that can be seen of a run folder, finished, half-written or broken.
//! * [`page::Report`] — one self-contained page from one or more runs, drawn with [`chart`].
//! * [`export`] — runs for other programs: CSV, JSON, Parquet, LaTeX, Markdown, TensorBoard,
//!   pictures.
//! * [`Table`] — several runs side by side, as text, Markdown, LaTeX or CSV.
//! * [`DiagnosticsFile`] — `diagnostics.json`: what diagnostics found; [`DiagnosisReport`] — the same for
//!   people.
//! * [`FrameTable`] — a metric by groups of nodes, with intervals and the worst group; [`GroupCurves`] —
//!   the same round by round.
//! * [`Results`] — what an experiment measured, small enough for a repository.
//! * [`figure`] — the figures of the paper by name, from results or from runs.
//! * [`chart`] — pictures as inline SVG, each with the table of its numbers.
//! * [`Comparison`] — methods side by side over datasets and seeds, with how sure each difference
//!   is and its cost; [`ComparisonView`] — its folder, with the curves of its cells
//!   ([`CellStore`]).

#![forbid(unsafe_code)]

pub mod chart;
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
mod markup;
pub mod name;
mod notes;
pub mod page;
mod partition_file;
mod predictions;
mod results;
mod rounds;
mod summary;
mod table;
mod text_table;
mod version;
mod view;

pub use boostfgl_disk::{AtomicFile, write_atomic};
pub use comparison::{
    Block, BlockRow, Cell, CellCost, CellRecord, CellStore, Comparison, ComparisonView, Contender,
    CostSummary, Courses, Difference, Measured, MetricSummary, Metrics, Outcome, StoredCell,
};
pub use details::{
    Budget, MinorityUsed, RoundScores, SeedDetails, SplitOrigin, SplitUsed, StoredSplit,
};
pub use diagnostics_file::{DiagnosticsFile, SeedDiagnosis};
pub use diagnostics_tables::DiagnosisReport;
pub use error::{Error, Result};
pub use fingerprint::Fingerprint;
pub use folder::{RunFolder, free_name};
pub use frame::FrameTable;
pub use group_curves::{GroupCurves, RoundFrames};
pub use markup::escaped;
pub use partition_file::{PartitionFile, SeedPartition};
pub use predictions::{
    Prediction, Predictions, PredictionsWriter, SavedPrediction, SeedPredictions,
};
pub use results::{
    BINS, Cause, Detail, Hardest, NOT_RUN, OVER_BUDGET, Origin, Point, RATIOS, ResultRow, Results,
};
pub use rounds::{ClientRecord, Round, RoundRefusal, Rounds, RoundsWriter};
pub use summary::{Bytes, RunTotals, SeedSummary, Summary};
pub use table::{Row, Style, Table};
pub use view::{Depth, RunView, Settings, State};
