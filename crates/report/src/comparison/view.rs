//! All that can be seen of the folder of a comparison.

use super::{Block, BlockRow, Cell, CellRecord, CellStore, Comparison, Outcome};
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
    /// What it is called: the last part of its path.
    pub name: String,
    /// `comparison.json`.
    pub comparison: Comparison,
    /// How scores came about, where cells were kept.
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

    /// Leaves out what is wrong with `report.html`, for a report that takes its place.
    pub fn forget_report(&mut self) {
        self.problems.retain(|problem| !problem.contains(RunFolder::REPORT));
    }
}

/// The changed files next to `comparison.json`. A damaged list is found when it is read.
fn problems(folder: &Path) -> Vec<String> {
    let Ok(Some(sums)) = Checksums::read(folder) else { return Vec::new() };
    let others =
        Comparison::FORMS.into_iter().chain([RunFolder::REPORT]).filter(|name| sums.has(name));
    others
        .filter_map(|name| sums.check(name).err())
        .map(|changed| Error::from(changed).to_string())
        .collect()
}

/// The curves of the cells of a comparison, where they were kept.
fn courses(folder: &Path, comparison: &Comparison) -> Courses {
    let records = CellStore::at(folder).records();
    let of_block = |block: &Block| {
        let of_row = |row: &BlockRow| {
            let of_cell = |cell: &Cell| {
                let Outcome::Done(measured) = &cell.outcome else { return None };
                let same = |record: &&CellRecord| {
                    record.seed == cell.seed
                        && record.dataset == block.name
                        && record.method == row.label
                        && record.measured.digest == measured.digest
                };
                let detail = records.iter().find(same)?.detail.as_ref()?;
                Some((cell.seed, detail.curve.clone()))
            };
            Curve {
                label: row.label.clone(),
                seeds: row.cells.iter().filter_map(of_cell).collect(),
            }
        };
        (block.name.clone(), block.rows.iter().map(of_row).collect())
    };
    comparison.datasets.iter().map(of_block).collect()
}
