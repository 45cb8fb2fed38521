//! Runs and comparisons for other programs: spreadsheets, data frames, papers, TensorBoard.
//!
//! | file | rows | formats |
//! |:--|:--|:--|
//! | `runs.*` | one per run | CSV, JSON, Parquet; LaTeX and Markdown as tables of each dataset |
//! | `rounds.*` | one per run, seed and round | CSV, JSON, Parquet |
//! | `clients.*` | one per run, seed, round and client | CSV, JSON, Parquet |
//! | `predictions.*` | one per run, seed and node | CSV, Parquet |
//! | `tensorboard/RUN/seedN/` | one event per round | TensorBoard |
//!
//! Of comparisons:
//!
//! | file | rows | formats |
//! |:--|:--|:--|
//! | `cells.*` | one per comparison, dataset, method and seed | CSV, JSON, Parquet |
//! | `differences.*` | one per comparison, dataset, method and metric | CSV, JSON, Parquet |
//! | `curves.*` | one per comparison, dataset, method, seed and evaluated round, where cells were kept | CSV, JSON, Parquet |
//! | `comparisons.*` | methods by datasets, then all tables of the comparison | LaTeX, Markdown |
//! | `tensorboard/COMPARISON/DATASET/METHOD/seedN/` | one event per evaluated round | TensorBoard |
//!
//! Metrics are in percent, and their names include the reading: `hete_f1_pooled`. A value that was
//! not measured is an empty field, `null`, or a missing value of a nullable column, never a
//! placeholder number.

mod clients;
mod comparisons;
mod csv;
mod format;
mod json;
mod latex;
mod markdown;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "png")]
mod png;
mod predictions;
mod records;
mod rounds;
mod runs;
pub(crate) mod scores;
mod standalone;
mod summary;
pub(crate) mod tensorboard;

pub use format::Format;
#[cfg(feature = "png")]
pub use png::{PNG_WIDTH, png};
pub use standalone::standalone;

use crate::{ComparisonView, Error, Metrics, Result, RunView, write_atomic};
use comparisons::Named;
use records::Records;
use runs::{Run, runs};
use std::path::{Path, PathBuf};

/// Writes `views` in each of `formats` into the folder `to`, which is created if necessary, and
/// returns the paths of the written files. Each file is written atomically and replaces an earlier
/// one.
///
/// Parts that were not read into a view are left out: predictions need [`Depth::Whole`](crate::Depth::Whole),
/// rounds [`Depth::Rounds`](crate::Depth::Rounds).
///
/// ```
/// use boostfgl_report::export::{Format, export};
///
/// let place = tempfile::tempdir()?;
/// let written = export(&[], &Format::parse("csv,json")?, place.path())?;
/// let names: Vec<_> = written.iter().filter_map(|path| path.file_name()?.to_str()).collect();
/// assert_eq!(names[..3], ["runs.csv", "rounds.csv", "clients.csv"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If writing fails, or if the program was built without one of the formats; then nothing is
/// written.
pub fn export(views: &[RunView], formats: &[Format], to: &Path) -> Result<Vec<PathBuf>> {
    prepare(formats, to)?;
    let runs = runs(views);
    let mut written = Vec::new();
    for format in formats {
        match format {
            Format::Csv => tables(run_tables(&runs), "csv", to, csv::write, &mut written)?,
            // Predictions, the last table, have no JSON format.
            Format::Json => {
                tables(run_tables(&runs).take(3), "json", to, json::write, &mut written)?;
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => {
                tables(run_tables(&runs), "parquet", to, parquet::write, &mut written)?;
            }
            // `prepare` returned an error for this format.
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => {}
            Format::Latex => document(&to.join("runs.tex"), &latex::document(&runs), &mut written)?,
            Format::Markdown => {
                document(&to.join("runs.md"), &markdown::document(&runs), &mut written)?;
            }
            Format::Tensorboard => {
                written.extend(tensorboard::write(&runs, &to.join("tensorboard"))?);
            }
        }
    }
    Ok(written)
}

/// Writes comparisons in each of `formats` into the folder `to`, as [`export`] does with runs;
/// `metrics` are those of the tables of methods by datasets.
///
/// # Errors
/// As [`export`].
pub fn export_comparisons(
    views: &[ComparisonView],
    metrics: &Metrics,
    formats: &[Format],
    to: &Path,
) -> Result<Vec<PathBuf>> {
    prepare(formats, to)?;
    let named = comparisons::named(views);
    let mut written = Vec::new();
    for format in formats {
        match format {
            Format::Csv => tables(comparison_tables(&named), "csv", to, csv::write, &mut written)?,
            Format::Json => {
                tables(comparison_tables(&named), "json", to, json::write, &mut written)?;
            }
            #[cfg(feature = "parquet")]
            Format::Parquet => {
                tables(comparison_tables(&named), "parquet", to, parquet::write, &mut written)?;
            }
            // `prepare` returned an error for this format.
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => {}
            Format::Latex => {
                let all: String =
                    views.iter().map(|view| view.comparison.latex_with(metrics)).collect();
                document(&to.join("comparisons.tex"), &all, &mut written)?;
            }
            Format::Markdown => {
                let all: Vec<String> =
                    views.iter().map(|view| view.comparison.markdown_with(metrics)).collect();
                document(&to.join("comparisons.md"), &all.join("\n"), &mut written)?;
            }
            Format::Tensorboard => {
                written.extend(tensorboard::write_courses(&named, &to.join("tensorboard"))?);
            }
        }
    }
    Ok(written)
}

/// Whether a file is a table in JSON written by an export: a list of rows that begin with a run or
/// a comparison.
///
/// The name is not enough: `clients.json` is also the name of the results of an experiment.
pub fn is_table(path: &Path) -> bool {
    let mut start = [0; 32];
    let read =
        std::fs::File::open(path).and_then(|mut file| std::io::Read::read(&mut file, &mut start));
    let start = &start[..read.unwrap_or(0)];
    [&b"[]\n"[..], b"[\n{\"run\":", b"[\n{\"comparison\":"]
        .iter()
        .any(|table| start.starts_with(table))
}

/// Creates the folder if all formats can be written.
fn prepare(formats: &[Format], to: &Path) -> Result<()> {
    if let Some(format) = formats.iter().find(|format| !format.is_built_in()) {
        return Err(Error::NotBuiltIn { what: format.title(), feature: format.name() });
    }
    Ok(boostfgl_disk::create_dir_all(to)?)
}

/// The rows of a table in parts, so that a large table is never in memory as a whole.
type Parts<'a> = Box<dyn Iterator<Item = Records<'a>> + 'a>;

/// A table of runs: the name of its file and the function that makes its rows.
type RunSource = (&'static str, for<'a> fn(&'a [Run<'a>]) -> Parts<'a>);

/// The tables of runs. The last has a row per node.
const TABLES: [RunSource; 4] = [
    ("runs", summary::records),
    ("rounds", rounds::records),
    ("clients", clients::records),
    ("predictions", predictions::records),
];

/// A table of comparisons: the name of its file and the function that makes its rows.
type ComparisonSource = (&'static str, for<'a> fn(&'a [Named<'a>]) -> Parts<'a>);

/// The tables of comparisons.
const COMPARED: [ComparisonSource; 3] = [
    ("cells", comparisons::cells),
    ("differences", comparisons::differences),
    ("curves", comparisons::curves),
];

/// The tables of runs, made one after the other.
fn run_tables<'a>(runs: &'a [Run<'a>]) -> impl Iterator<Item = (&'static str, Parts<'a>)> {
    TABLES.iter().map(|(name, records)| (*name, records(runs)))
}

/// The tables of comparisons, made one after the other.
fn comparison_tables<'a>(
    named: &'a [Named<'a>],
) -> impl Iterator<Item = (&'static str, Parts<'a>)> {
    COMPARED.iter().map(|(name, records)| (*name, records(named)))
}

/// Writes every table that has parts.
fn tables<'a>(
    sources: impl Iterator<Item = (&'static str, Parts<'a>)>,
    extension: &str,
    to: &Path,
    write: fn(&Path, Parts<'_>) -> Result<()>,
    written: &mut Vec<PathBuf>,
) -> Result<()> {
    for (name, parts) in sources {
        let mut parts = parts.peekable();
        if parts.peek().is_some() {
            let path = to.join(format!("{name}.{extension}"));
            write(&path, Box::new(parts))?;
            written.push(path);
        }
    }
    Ok(())
}

/// Writes a text file.
fn document(path: &Path, text: &str, written: &mut Vec<PathBuf>) -> Result<()> {
    write_atomic(path, text.as_bytes())?;
    written.push(path.to_path_buf());
    Ok(())
}
