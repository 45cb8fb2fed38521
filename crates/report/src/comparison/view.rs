//! Reading the folder of a comparison.

use super::{BlockRow, Cell, CellRecord, CellStore, Comparison};
use crate::page::Curve;
use crate::view::name_of;
use crate::{Error, Result, RunFolder};
use boostfgl_disk::Checksums;
use std::path::{Path, PathBuf};

/// The curves of methods, by dataset.
pub type Courses = Vec<(String, Vec<Curve>)>;

/// A comparison with the curves of its cells.
#[derive(Clone, Debug)]
pub struct ComparisonView {
    /// The folder.
    pub path: PathBuf,
    /// Its name: the last part of its path.
    pub name: String,
    /// `comparison.json`.
    pub comparison: Comparison,
    /// The learning curves, where cells were kept.
    pub courses: Courses,
    /// Files that were changed since they were written, one sentence each.
    pub problems: Vec<String>,
}

impl ComparisonView {
    /// Whether a folder holds a comparison.
    pub fn is_at(folder: &Path) -> bool {
        folder.join(Comparison::FILE).is_file()
    }

    /// Reads the comparison in a folder.
    ///
    /// # Errors
    /// If `comparison.json` cannot be read, was changed, or is of a newer version.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let path = folder.as_ref().to_path_buf();
        let comparison = Comparison::read(path.join(Comparison::FILE))?;
        let courses = courses(&path, &comparison);
        Ok(Self { name: name_of(&path), courses, problems: problems(&path), comparison, path })
    }

    /// Drops the problems of `report.html`, for a report that replaces it.
    pub fn forget_report(&mut self) {
        self.problems.retain(|problem| !problem.contains(RunFolder::REPORT));
    }
}

/// The changed files next to `comparison.json`. Damaged checksums are an error of
/// [`Comparison::read`] already.
fn problems(folder: &Path) -> Vec<String> {
    let Ok(Some(sums)) = Checksums::read(folder) else { return Vec::new() };
    Comparison::FORMS
        .into_iter()
        .chain([RunFolder::REPORT])
        .filter(|name| sums.has(name))
        .filter_map(|name| sums.check(name).err())
        .map(|changed| Error::from(changed).to_string())
        .collect()
}

/// The curves of the cells of a comparison, where they were kept.
fn courses(folder: &Path, comparison: &Comparison) -> Courses {
    let records = CellStore::at(folder).records();
    let mut courses = Courses::new();
    for block in &comparison.datasets {
        let curves = block.rows.iter().map(|row| curve(&block.name, row, &records)).collect();
        courses.push((block.name.clone(), curves));
    }
    courses
}

/// The learning curve of a method on a dataset under every seed.
fn curve(dataset: &str, row: &BlockRow, records: &[CellRecord]) -> Curve {
    let mut seeds = Vec::new();
    for cell in &row.cells {
        let of_cell = || records.iter().filter(|record| is_record_of(record, cell));
        // A cell that an earlier comparison ran has the label that it had there.
        let record = of_cell()
            .find(|record| record.dataset == dataset && record.method == row.label)
            .or_else(|| of_cell().next());
        if let Some(detail) = record.and_then(|record| record.detail.as_ref()) {
            seeds.push((cell.seed, detail.curve.clone()));
        }
    }
    Curve { label: row.label.clone(), seeds }
}

/// Whether a record has the seed and the result of a cell.
fn is_record_of(record: &CellRecord, cell: &Cell) -> bool {
    cell.measured().is_some_and(|measured| {
        record.seed == cell.seed && record.measured.digest == measured.digest
    })
}
