//! The sources of a report: run folders, comparisons, results of experiments.

use crate::{Error, Result};
use boostfgl_disk::Checksums;
use boostfgl_fed::methods::METHODS;
use boostfgl_report::export::is_table;
use boostfgl_report::page::Report;
use boostfgl_report::{ComparisonView, Depth, Results, RunFolder, RunView};
use std::path::{Path, PathBuf};

/// The runs and comparisons under some paths. Unreadable ones are listed as problems.
#[derive(Debug, Default)]
pub struct Sources {
    /// Runs, path by path. In a folder with several, FedAvg without boosts comes first, because the
    /// others are compared with the first; then methods in the order of the registry.
    pub views: Vec<RunView>,
    /// Comparisons with the curves of their cells.
    pub comparisons: Vec<ComparisonView>,
    /// Results of experiments.
    pub results: Vec<Results>,
    /// The files that could not be read, one sentence each.
    pub problems: Vec<String>,
}

/// The depth to which runs are searched in a folder that is not a run.
const DEEPEST: usize = 2;

const ADVICE: &str = "Name the folder of a run, of a comparison or of a reproduction, or one that \
    holds such folders.";

impl Sources {
    /// Reads every path: the folder of a run, of `compare`, of `reproduce`, a folder that holds
    /// runs, or the JSON file of an experiment. `experiments` names the result files that a folder
    /// of `reproduce` may hold, without their ending.
    ///
    /// # Errors
    /// If a path does not exist, or nothing under any of them can be shown.
    pub fn find(paths: &[PathBuf], experiments: &[&str]) -> Result<Self> {
        let mut sources = Self::default();
        for path in paths {
            let (before, views) = (sources.len(), sources.views.len());
            sources.look(path, experiments, 0)?;
            sort_runs(&mut sources.views[views..]);
            if sources.len() == before {
                sources.problems.push(format!(
                    "{}: expected a run, a comparison or results, found none",
                    path.display()
                ));
            }
        }
        if sources.len() > 0 {
            return Ok(sources);
        }
        let reason = sources
            .problems
            .first()
            .cloned()
            .unwrap_or_else(|| "expected a run, found none".to_owned());
        let place = paths.first().map_or(String::new(), |path| path.display().to_string());
        let reason =
            reason.strip_prefix(&format!("{place}: ")).map(str::to_owned).unwrap_or(reason);
        Err(Error::usage(place, reason, ADVICE))
    }

    fn len(&self) -> usize {
        self.views.len() + self.comparisons.len() + self.results.len()
    }

    /// Reads a path, which may be a file or a folder, `depth` folders below a path of the user.
    fn look(&mut self, path: &Path, experiments: &[&str], depth: usize) -> Result<()> {
        if !path.exists() {
            let place = path.display().to_string();
            return Err(Error::usage(place, "expected a folder, found nothing", ADVICE));
        }
        if path.is_file() {
            self.read_results(path);
            return Ok(());
        }
        let is_run = [RunFolder::SUMMARY, RunFolder::ROUNDS, RunFolder::CONFIG]
            .into_iter()
            .any(|name| path.join(name).is_file());
        if is_run {
            let view = RunView::read(path, Depth::Whole);
            self.add(view, |sources, view| sources.views.push(view));
            return Ok(());
        }
        let found = self.read_comparison(path) | self.read_experiments(path, experiments);
        if found || depth == DEEPEST { Ok(()) } else { self.look_inside(path, experiments, depth) }
    }

    /// Reads every folder inside this one, by name.
    fn look_inside(&mut self, path: &Path, experiments: &[&str], depth: usize) -> Result<()> {
        let entries = match std::fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => {
                self.problems.push(format!("{}: {error}", path.display()));
                return Ok(());
            }
        };
        let mut folders: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_dir())
            .collect();
        folders.sort();
        folders.iter().try_for_each(|folder| self.look(folder, experiments, depth + 1))
    }

    /// Reads the comparison in a folder; false if there is none.
    fn read_comparison(&mut self, path: &Path) -> bool {
        if ComparisonView::is_at(path) {
            let comparison = ComparisonView::read(path);
            self.add(comparison, |sources, comparison| sources.comparisons.push(comparison));
            return true;
        }
        // The report of several runs lies next to their folders.
        if let Err(changed) = Checksums::check_sidecar(&path.join(RunFolder::REPORT)) {
            self.problems.push(boostfgl_report::Error::from(changed).to_string());
        }
        false
    }

    /// Reads the result files of experiments in a folder; false if there is none.
    fn read_experiments(&mut self, path: &Path, experiments: &[&str]) -> bool {
        let mut found = false;
        for name in experiments {
            let file = path.join(format!("{name}.json"));
            // An exported table may have the name of an experiment.
            if file.is_file() && !is_table(&file) {
                found = true;
                self.read_results(&file);
            }
        }
        found
    }

    /// Reads the result file of an experiment.
    fn read_results(&mut self, path: &Path) {
        if is_table(path) {
            let reason = "expected results of an experiment, found a table that `boostfgl report \
                --export` wrote";
            self.problems.push(format!("{}: {reason}", path.display()));
            return;
        }
        self.add(Results::read(path), |sources, results| sources.results.push(results));
    }

    /// Adds what was read, or the problem if it could not be read.
    fn add<T>(&mut self, read: boostfgl_report::Result<T>, push: impl FnOnce(&mut Self, T)) {
        match read {
            Ok(read) => push(self, read),
            Err(error) => self.problems.push(format!("{error} ({})", error.advice())),
        }
    }

    /// Removes the problems of a report that is about to be replaced.
    pub fn replacing(&mut self, report: &Path) {
        for view in &mut self.views {
            if is_same(&view.path.join(RunFolder::REPORT), report) {
                view.forget_report();
            }
        }
        for view in &mut self.comparisons {
            if is_same(&view.path.join(RunFolder::REPORT), report) {
                view.forget_report();
            }
        }
        let own = format!("{}: ", report.display());
        self.problems.retain(|problem| !problem.starts_with(&own));
    }

    /// All of it as one report.
    pub fn report(self) -> Report {
        let mut report = Report::new(self.views);
        for ComparisonView { name, comparison, courses, problems, .. } in self.comparisons {
            report.compare(comparison, &courses);
            problems.into_iter().for_each(|problem| report.problem(format!("{name}: {problem}")));
        }
        self.results.iter().for_each(|results| report.experiment(results));
        self.problems.into_iter().for_each(|problem| report.problem(problem));
        report
    }
}

/// Sorts the runs of one folder: datasets in the order found; of each FedAvg first, then methods in
/// the order of the registry, those with fewer boosts first, then by path.
fn sort_runs(views: &mut [RunView]) {
    let mut datasets: Vec<Option<String>> = Vec::new();
    for dataset in views.iter().map(|view| view.dataset().map(str::to_owned)) {
        if !datasets.contains(&dataset) {
            datasets.push(dataset);
        }
    }
    views.sort_by_cached_key(|view| {
        let dataset = datasets.iter().position(|known| known.as_deref() == view.dataset());
        let name = view.method();
        let place =
            METHODS.iter().position(|method| Some(method.name) == name).unwrap_or(METHODS.len());
        let boosts = view.summary.as_ref().map_or(0, |summary| summary.boost.len());
        (dataset, !view.is_base(), place, boosts, view.path.clone())
    });
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}
