//! What a report is made from: run folders, comparisons, results of experiments.

use crate::{Error, Result};
use boostfgl_disk::Checksums;
use boostfgl_fed::methods::METHODS;
use boostfgl_report::export::is_table;
use boostfgl_report::page::Report;
use boostfgl_report::{ComparisonView, Depth, Results, RunFolder, RunView};
use std::path::{Path, PathBuf};

/// What was found under some paths. What cannot be read is named, and the rest is still there.
#[derive(Debug, Default)]
pub struct Sources {
    /// Runs: those of each path in turn. Of a folder that holds several, FedAvg without boosts
    /// comes first, as others are compared with the first; then methods in the order in which they
    /// are listed.
    pub views: Vec<RunView>,
    /// Comparisons with the curves of their cells.
    pub comparisons: Vec<ComparisonView>,
    /// Results of experiments.
    pub results: Vec<Results>,
    /// What could not be read, one sentence each.
    pub problems: Vec<String>,
}

/// How deep runs are looked for in a folder that is none itself.
const DEEPEST: usize = 2;

const ADVICE: &str = "Name the folder of a run, of a comparison or of a reproduction, or one that \
    holds such folders.";

impl Sources {
    /// Looks at every path: the folder of a run, of `compare`, of `reproduce`, a folder that holds
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
            in_order(&mut sources.views[views..]);
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

    fn look(&mut self, path: &Path, experiments: &[&str], depth: usize) -> Result<()> {
        if !path.exists() {
            return Err(Error::usage(
                path.display().to_string(),
                "expected a folder, found nothing",
                ADVICE,
            ));
        }
        if path.is_file() && is_table(path) {
            let told = "expected results of an experiment, found a table that `boostfgl report \
                --export` wrote";
            self.problems.push(format!("{}: {told}", path.display()));
            return Ok(());
        }
        if path.is_file() {
            return self
                .keep(Results::read(path), |sources, results| sources.results.push(results));
        }
        let has = |name: &str| path.join(name).is_file();
        let mut found = false;
        if [RunFolder::SUMMARY, RunFolder::ROUNDS, RunFolder::CONFIG].into_iter().any(has) {
            return self
                .keep(RunView::read(path, Depth::Whole), |sources, view| sources.views.push(view));
        }
        if ComparisonView::is_at(path) {
            found = true;
            self.keep(ComparisonView::read(path), |sources, comparison| {
                sources.comparisons.push(comparison)
            })?;
        } else if let Err(changed) = Checksums::check_sidecar(&path.join(RunFolder::REPORT)) {
            // The report of several runs stands beside their folders.
            self.problems.push(boostfgl_report::Error::from(changed).to_string());
        }
        // An exported table may have the name of an experiment.
        let results = |name: &String| has(name) && !is_table(&path.join(name));
        for name in experiments.iter().map(|name| format!("{name}.json")).filter(results) {
            found = true;
            self.keep(Results::read(&path.join(name)), |sources, results| {
                sources.results.push(results)
            })?;
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
        let mut folders: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_dir())
            .collect();
        folders.sort();
        folders.iter().try_for_each(|folder| self.look(folder, experiments, depth + 1))
    }

    /// Keeps what was read, or says why it was not.
    fn keep<T>(
        &mut self,
        read: boostfgl_report::Result<T>,
        with: impl FnOnce(&mut Self, T),
    ) -> Result<()> {
        match read {
            Ok(read) => with(self, read),
            Err(error) => self.problems.push(format!("{error} ({})", error.advice())),
        }
        Ok(())
    }

    /// Leaves out what is wrong with a report that is about to be replaced.
    pub fn replacing(&mut self, report: &Path) {
        let same = |folder: &Path| is_same(&folder.join(RunFolder::REPORT), report);
        self.views.iter_mut().filter(|view| same(&view.path)).for_each(RunView::forget_report);
        self.comparisons
            .iter_mut()
            .filter(|view| same(&view.path))
            .for_each(ComparisonView::forget_report);
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

/// Sorts the runs of one folder: datasets as they come; of each FedAvg first, then methods as they
/// are listed, those with fewer boosts first, then by path.
fn in_order(views: &mut [RunView]) {
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
