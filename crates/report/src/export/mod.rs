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
//! Metrics are in percent and carry their reading in their names: `hete_f1_pooled`. What was not
//! measured is an empty field, `null`, or a missing value of a nullable column, never a number that
//! stands for it.

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
mod standalone;
mod summary;
mod tensorboard;

pub use format::Format;
#[cfg(feature = "png")]
pub use png::{PNG_WIDTH, png};
pub use standalone::standalone;

use crate::{ComparisonView, Error, Metrics, Result, RunView, write_atomic};
use comparisons::Named;
use records::Records;
use runs::{Run, runs};
use std::path::{Path, PathBuf};

/// Writes `views` in each of `formats` into the folder `to`, which is made if it is not there, and
/// returns what was written. Each file is whole or not there; files that had their names are
/// replaced.
///
/// What a view does not hold is left out: predictions need [`Depth::Whole`](crate::Depth::Whole),
/// rounds [`Depth::Rounds`](crate::Depth::Course).
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
/// If the system refuses, or a format is asked for that the program was built without; then nothing
/// is written.
pub fn export(views: &[RunView], formats: &[Format], to: &Path) -> Result<Vec<PathBuf>> {
    prepare(formats, to)?;
    let runs = runs(views);
    let all = || TABLES.iter().map(|(name, records)| (*name, records(&runs)));
    let mut written = Vec::new();
    for format in formats {
        match format {
            Format::Csv => tables(all(), "csv", to, csv::write, &mut written)?,
            Format::Json => tables(all().take(3), "json", to, json::write, &mut written)?,
            #[cfg(feature = "parquet")]
            Format::Parquet => tables(all(), "parquet", to, parquet::write, &mut written)?,
            // Refused above.
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
    let all = || COMPARED.iter().map(|(name, records)| (*name, records(&named)));
    let mut written = Vec::new();
    for format in formats {
        match format {
            Format::Csv => tables(all(), "csv", to, csv::write, &mut written)?,
            Format::Json => tables(all(), "json", to, json::write, &mut written)?,
            #[cfg(feature = "parquet")]
            Format::Parquet => tables(all(), "parquet", to, parquet::write, &mut written)?,
            // Refused above.
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => {}
            Format::Latex => {
                let of = |view: &ComparisonView| view.comparison.latex_with(metrics);
                document(
                    &to.join("comparisons.tex"),
                    &views.iter().map(of).collect::<String>(),
                    &mut written,
                )?;
            }
            Format::Markdown => {
                let of = |view: &ComparisonView| view.comparison.markdown_with(metrics);
                let all: Vec<String> = views.iter().map(of).collect();
                document(&to.join("comparisons.md"), &all.join("\n"), &mut written)?;
            }
            Format::Tensorboard => {
                written.extend(tensorboard::write_courses(&named, &to.join("tensorboard"))?);
            }
        }
    }
    Ok(written)
}

/// Whether a file is a table in JSON that an export wrote: a list of rows that say first of what
/// they are.
///
/// One of them is called `clients.json`, as the results of an experiment are.
pub fn is_table(path: &Path) -> bool {
    let mut start = [0; 32];
    let read =
        std::fs::File::open(path).and_then(|mut file| std::io::Read::read(&mut file, &mut start));
    let start = &start[..read.unwrap_or(0)];
    [&b"[]\n"[..], b"[\n{\"run\":", b"[\n{\"comparison\":"]
        .iter()
        .any(|table| start.starts_with(table))
}

/// Makes the folder, if all formats can be written.
fn prepare(formats: &[Format], to: &Path) -> Result<()> {
    if let Some(format) = formats.iter().find(|format| !format.is_built_in()) {
        return Err(Error::NotBuiltIn { what: format.title(), feature: format.name() });
    }
    Ok(boostfgl_disk::create_dir_all(to)?)
}

/// The rows of a table, part by part, so that a large one is never held as a whole.
type Parts<'a> = Box<dyn Iterator<Item = Records<'a>> + 'a>;

/// A table: the name of its file and how it is made.
type Source = (&'static str, for<'a> fn(&'a [Run<'a>]) -> Parts<'a>);

/// The last is the one with a row per node.
const TABLES: [Source; 4] = [
    ("runs", summary::records),
    ("rounds", rounds::records),
    ("clients", clients::records),
    ("predictions", predictions::records),
];

/// A table of comparisons.
type Compared = (&'static str, for<'a> fn(&'a [Named<'a>]) -> Parts<'a>);

const COMPARED: [Compared; 3] = [
    ("cells", comparisons::cells),
    ("differences", comparisons::differences),
    ("curves", comparisons::curves),
];

/// Writes every table that has parts.
fn tables<'a>(
    sources: impl Iterator<Item = (&'static str, Parts<'a>)>,
    ending: &str,
    to: &Path,
    write: impl Fn(&Path, Parts<'a>) -> Result<()>,
    written: &mut Vec<PathBuf>,
) -> Result<()> {
    for (name, parts) in sources {
        let mut parts = parts.peekable();
        if parts.peek().is_some() {
            let path = to.join(format!("{name}.{ending}"));
            write(&path, Box::new(parts))?;
            written.push(path);
        }
    }
    Ok(())
}

fn document(path: &Path, text: &str, written: &mut Vec<PathBuf>) -> Result<()> {
    write_atomic(path, text.as_bytes())?;
    written.push(path.to_path_buf());
    Ok(())
}
