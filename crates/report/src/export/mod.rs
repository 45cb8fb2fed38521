//! Run folders for other programs: spreadsheets, data frames, papers, TensorBoard.
//!
//! | file | rows | formats |
//! |:--|:--|:--|
//! | `runs.*` | one per run | CSV, JSON, Parquet; LaTeX and Markdown as tables of each dataset |
//! | `rounds.*` | one per run, seed and round | CSV, JSON, Parquet |
//! | `clients.*` | one per run, seed, round and client | CSV, JSON, Parquet |
//! | `predictions.*` | one per run, seed and node | CSV, Parquet |
//! | `tensorboard/RUN/seedN/` | one event per round | TensorBoard |
//!
//! Metrics are in percent and carry their reading in their names: `hete_f1_pooled`. What was not measured is an empty field,
//! `null`, or a missing value of a nullable column, never a number that stands for it.

mod clients;
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

use crate::{Error, Result, RunView, write_atomic};
use records::Records;
use runs::{Run, runs};
use std::path::{Path, PathBuf};

/// Writes `views` in each of `formats` into the folder `to`, which is made if it is not there, and returns what was
/// written. Each file is whole or not there; files that had their names are replaced.
///
/// What a view does not hold is left out: predictions need [`Depth::Whole`](crate::Depth::Whole), rounds
/// [`Depth::Course`](crate::Depth::Course).
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
/// If the system refuses, or a format is asked for that the program was built without; then nothing is written.
pub fn export(views: &[RunView], formats: &[Format], to: &Path) -> Result<Vec<PathBuf>> {
    if let Some(format) = formats.iter().find(|format| !format.is_built_in()) {
        return Err(Error::NotBuiltIn { what: format.title(), feature: format.name() });
    }
    boostfgl_disk::create_dir_all(to)?;
    let runs = runs(views);
    let mut written = Vec::new();
    for format in formats {
        match format {
            Format::Csv => tables(&runs, &TABLES, "csv", to, csv::write, &mut written)?,
            Format::Json => tables(&runs, &TABLES[..3], "json", to, json::write, &mut written)?,
            #[cfg(feature = "parquet")]
            Format::Parquet => tables(&runs, &TABLES, "parquet", to, parquet::write, &mut written)?,
            // Refused above.
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => {}
            Format::Latex => document(&to.join("runs.tex"), &latex::document(&runs), &mut written)?,
            Format::Markdown => document(&to.join("runs.md"), &markdown::document(&runs), &mut written)?,
            Format::Tensorboard => written.extend(tensorboard::write(&runs, &to.join("tensorboard"))?),
        }
    }
    Ok(written)
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

/// Writes every table that has parts.
fn tables<'a>(
    runs: &'a [Run<'a>],
    sources: &[Source],
    ending: &str,
    to: &Path,
    write: impl Fn(&Path, Parts<'a>) -> Result<()>,
    written: &mut Vec<PathBuf>,
) -> Result<()> {
    for (name, records) in sources {
        let mut parts = records(runs).peekable();
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
