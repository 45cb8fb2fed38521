//! What a report is made from: run folders, comparisons, results of experiments.

use crate::grid::CellStore;
use crate::reproduce::NAMES;
use crate::{Error, Result};
use boostfgl_report::page::{Curve, Report};
use boostfgl_report::{Comparison, Depth, Outcome, Results, RunFolder, RunView};
use std::path::{Path, PathBuf};

/// The curves of methods, by dataset.
pub type Courses = Vec<(String, Vec<Curve>)>;

/// What was found under some paths. What cannot be read is named, and the rest is still there.
#[derive(Debug, Default)]
pub struct Sources {
    /// Runs.
    pub views: Vec<RunView>,
    /// Comparisons with the curves of their cells, by dataset.
    pub comparisons: Vec<(Comparison, Courses)>,
    /// Results of experiments.
    pub results: Vec<Results>,
    /// What could not be read, one sentence each.
    pub problems: Vec<String>,
}

/// How deep runs are looked for in a folder that is none itself.
const DEEPEST: usize = 2;

const ADVICE: &str = "Name the folder of a run, of a comparison or of a reproduction, or one that holds such folders.";

impl Sources {
    /// Looks at every path: the folder of a run, of `compare`, of `reproduce`, a folder that holds runs, or the JSON file
    /// of an experiment.
    ///
    /// # Errors
    /// If a path does not exist, or nothing under any of them can be shown.
    pub fn find(paths: &[PathBuf]) -> Result<Self> {
        let mut sources = Self::default();
        for path in paths {
            let before = sources.len();
            sources.look(path, 0)?;
            if sources.len() == before {
                sources
                    .problems
                    .push(format!("{}: expected a run, a comparison or results, found none", path.display()));
            }
        }
        if sources.len() > 0 {
            return Ok(sources);
        }
        let reason = sources.problems.first().cloned().unwrap_or_else(|| "expected a run, found none".to_owned());
        let place = paths.first().map_or(String::new(), |path| path.display().to_string());
        let reason = reason.strip_prefix(&format!("{place}: ")).map(str::to_owned).unwrap_or(reason);
        Err(Error::usage(place, reason, ADVICE))
    }

    fn len(&self) -> usize {
        self.views.len() + self.comparisons.len() + self.results.len()
    }

    fn look(&mut self, path: &Path, depth: usize) -> Result<()> {
        if !path.exists() {
            return Err(Error::usage(path.display().to_string(), "expected a folder, found nothing", ADVICE));
        }
        if path.is_file() {
            return self.keep(Results::read(path), |sources, results| sources.results.push(results));
        }
        let has = |name: &str| path.join(name).is_file();
        let mut found = false;
        if [RunFolder::SUMMARY, RunFolder::ROUNDS, RunFolder::CONFIG].into_iter().any(has) {
            return self.keep(RunView::read(path, Depth::Whole), |sources, view| sources.views.push(view));
        }
        if has("comparison.json") {
            found = true;
            let read = Comparison::read(path.join("comparison.json"));
            self.keep(read, |sources, comparison| {
                let curves = curves(path, &comparison);
                sources.comparisons.push((comparison, curves));
            })?;
        }
        for name in NAMES.iter().map(|name| format!("{name}.json")).filter(|name| has(name)) {
            found = true;
            self.keep(Results::read(&path.join(name)), |sources, results| sources.results.push(results))?;
        }
        if found || depth == DEEPEST {
            return Ok(());
        }
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => {
                self.problems.push(format!("{}: {error}", path.display()));
                return Ok(());
            }
        };
        let mut folders: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
        folders.sort();
        folders.iter().try_for_each(|folder| self.look(folder, depth + 1))
    }

    /// Keeps what was read, or says why it was not.
    fn keep<T>(&mut self, read: boostfgl_report::Result<T>, with: impl FnOnce(&mut Self, T)) -> Result<()> {
        match read {
            Ok(read) => with(self, read),
            Err(error) => self.problems.push(format!("{error} ({})", error.advice())),
        }
        Ok(())
    }

    /// All of it as one report.
    pub fn report(self) -> Report {
        let mut report = Report::new(self.views);
        for (comparison, curves) in self.comparisons {
            report.compare(comparison, &curves);
        }
        self.results.iter().for_each(|results| report.experiment(results));
        self.problems.into_iter().for_each(|problem| report.problem(problem));
        report
    }
}

/// The curves of the cells of a comparison, where they were kept.
fn curves(folder: &Path, comparison: &Comparison) -> Courses {
    let store = CellStore::at(folder);
    let records = store.records();
    let of_block = |block: &boostfgl_report::Block| {
        let of_row = |row: &boostfgl_report::BlockRow| {
            let of_cell = |cell: &boostfgl_report::Cell| {
                let Outcome::Done(measured) = &cell.outcome else { return None };
                let same = |record: &&crate::grid::CellRecord| {
                    record.seed == cell.seed
                        && record.dataset == block.name
                        && record.method == row.label
                        && record.measured.digest == measured.digest
                };
                let detail = records.iter().find(same)?.detail.as_ref()?;
                Some((cell.seed, detail.curve.clone()))
            };
            Curve { label: row.label.clone(), seeds: row.cells.iter().filter_map(of_cell).collect() }
        };
        (block.name.clone(), block.rows.iter().map(of_row).collect())
    };
    comparison.datasets.iter().map(of_block).collect()
}
