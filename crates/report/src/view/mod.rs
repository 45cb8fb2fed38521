//! Reading a run folder, whether finished, unfinished or damaged.

mod settings;

pub use settings::Settings;

use crate::{
    DiagnosticsFile, Error, PartitionStats, Predictions, Result, Rounds, RunFolder, Summary,
};
use boostfgl_disk::Checksums;
use std::path::{Path, PathBuf};

/// How much of a folder is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Summary and configuration: enough for a list.
    Glance,
    /// Also rounds, partition and diagnostics: enough for curves.
    Rounds,
    /// Also the predictions of every node: enough for groups with intervals.
    Whole,
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has its summary.
    Finished,
    /// It has no summary: it is running, was stopped or failed.
    Unfinished,
    /// Nothing in the folder can be read as part of a run.
    Broken,
}

/// A run as far as its files can be read. A file that cannot be read is `None` here and reported in
/// [`RunView::problems`].
#[derive(Debug)]
pub struct RunView {
    /// The folder.
    pub path: PathBuf,
    /// Its name: the last part of its path.
    pub name: String,
    /// `summary.json`.
    pub summary: Option<Summary>,
    /// `config.toml`.
    pub settings: Option<Settings>,
    /// `rounds.jsonl`.
    pub rounds: Option<Rounds>,
    /// `partition.json`.
    pub partition: Option<PartitionStats>,
    /// `predictions.csv`.
    pub predictions: Option<Predictions>,
    /// `diagnostics.json`.
    pub diagnostics: Option<DiagnosticsFile>,
    /// The problems, one sentence each, with the name of the file.
    pub problems: Vec<String>,
}

impl RunView {
    /// Reads a folder.
    ///
    /// # Errors
    /// If there is no such folder; defects of its files are problems of the view.
    pub fn read(path: impl AsRef<Path>, depth: Depth) -> Result<Self> {
        let folder = RunFolder::open(path.as_ref())?;
        let mut problems = Vec::new();
        let mut view = Self {
            name: name_of(folder.path()),
            summary: optional(&folder, RunFolder::SUMMARY, Summary::read, &mut problems),
            settings: optional(&folder, RunFolder::CONFIG, Settings::read, &mut problems),
            rounds: None,
            partition: None,
            predictions: None,
            diagnostics: None,
            path: folder.path().to_path_buf(),
            problems,
        };
        if depth >= Depth::Rounds {
            view.rounds = optional(&folder, RunFolder::ROUNDS, Rounds::read, &mut view.problems);
            view.partition = optional(
                &folder,
                RunFolder::PARTITION_STATS,
                PartitionStats::read,
                &mut view.problems,
            );
            view.diagnostics = optional(
                &folder,
                RunFolder::DIAGNOSTICS,
                DiagnosticsFile::read,
                &mut view.problems,
            );
        }
        if depth >= Depth::Whole {
            view.predictions =
                optional(&folder, RunFolder::PREDICTIONS, Predictions::read, &mut view.problems);
        }
        let broken = view.rounds.iter().flat_map(|rounds| &rounds.problems);
        view.problems.extend(broken.map(|problem| format!("{}: {problem}", RunFolder::ROUNDS)));
        view.report_missing(depth);
        if view.summary.is_some() {
            view.report_changed(&folder, depth);
        }
        Ok(view)
    }

    /// Reports missing and truncated files. Only a finished run must have all of them.
    fn report_missing(&mut self, depth: Depth) {
        let mut expected = vec![RunFolder::CONFIG];
        if let Some(summary) = &self.summary {
            expected.push(RunFolder::ROUNDS);
            let has_predictions = depth >= Depth::Whole && !summary.is_of_clients();
            expected.extend(has_predictions.then_some(RunFolder::PREDICTIONS));
        }
        let missing = expected.into_iter().filter(|name| !self.path.join(name).exists());
        self.problems.extend(missing.map(|name| format!("{name} is missing")));
        if let (Some(summary), Some(rounds)) = (&self.summary, &self.rounds) {
            let problem = truncation(summary, rounds);
            self.problems
                .extend(problem.map(|problem| format!("{}: {problem}", RunFolder::ROUNDS)));
        }
    }

    /// Reports files of a finished run that differ from their checksums.
    fn report_changed(&mut self, folder: &RunFolder, depth: Depth) {
        let sums = match Checksums::read(folder.path()) {
            Ok(Some(sums)) => sums,
            Ok(None) => return,
            Err(damaged) => return self.problems.push(without_folder(folder, &damaged.into())),
        };
        // If a file name in the checksums was damaged, the file itself looks like one without a
        // checksum, so unknown names are reported.
        for name in sums.names() {
            if !RunFolder::is_of_run(name) && !folder.file(name).exists() {
                self.problems.push(format!(
                    "{}: expected `{name}`, found no such file",
                    RunFolder::CHECKSUMS
                ));
            }
        }
        let read = [
            (Depth::Glance, &[RunFolder::SUMMARY, RunFolder::CONFIG][..]),
            (
                Depth::Rounds,
                &[RunFolder::ROUNDS, RunFolder::PARTITION_STATS, RunFolder::DIAGNOSTICS],
            ),
            (
                Depth::Whole,
                &[
                    RunFolder::PREDICTIONS,
                    RunFolder::PARTITION,
                    RunFolder::MODEL,
                    RunFolder::STATE,
                    RunFolder::REPORT,
                ],
            ),
        ];
        let of_run = read.iter().filter(|(needed, _)| depth >= *needed);
        let of_run = of_run.flat_map(|(_, names)| names.iter().copied());
        let below = format!("{}/", RunFolder::CLIENTS);
        let of_clients =
            sums.names().filter(|name| depth >= Depth::Whole && name.starts_with(&below));
        for name in of_run.chain(of_clients) {
            // Earlier versions wrote no checksum of the report.
            if name == RunFolder::REPORT && !sums.has(name) {
                continue;
            }
            // One problem per file is enough, and that of its reader is more precise.
            let known = self.problems.iter().any(|problem| problem.contains(name));
            let gone = !folder.file(name).exists() && !sums.has(name);
            if !known
                && !gone
                && let Err(changed) = sums.check(name)
            {
                self.problems.push(without_folder(folder, &changed.into()));
            }
        }
    }

    /// Drops the problems of `report.html`, for a report that replaces it.
    pub fn forget_report(&mut self) {
        self.problems.retain(|problem| !problem.starts_with(RunFolder::REPORT));
    }

    /// The state of the run.
    pub fn state(&self) -> State {
        let begun = self.settings.is_some()
            || self.rounds.is_some()
            || self.path.join(RunFolder::ROUNDS).is_file();
        match &self.summary {
            Some(_) => State::Finished,
            None if begun => State::Unfinished,
            None => State::Broken,
        }
    }

    /// The method with its boosts, as in tables.
    pub fn label(&self) -> String {
        match (&self.summary, self.setting("method")) {
            (Some(summary), _) => summary.label(),
            (None, Some(method)) => method.to_owned(),
            (None, None) => self.name.clone(),
        }
    }

    /// The name of the run: that given by the user, or method, boosts and changed settings.
    pub fn called(&self) -> String {
        match (&self.summary, self.setting("name")) {
            (Some(summary), _) => summary.called(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => self.label(),
        }
    }

    /// The method without its boosts, from summary or configuration.
    pub fn method(&self) -> Option<&str> {
        let summary = self.summary.as_ref().map(|summary| summary.method.as_str());
        summary.or_else(|| self.setting("method"))
    }

    /// Whether it is FedAvg without boosts: the default base of comparisons.
    pub fn is_base(&self) -> bool {
        let boosted = self.summary.as_ref().is_some_and(|summary| !summary.boost.is_empty());
        self.method() == Some("fedavg") && !boosted
    }

    /// The dataset, from summary or configuration.
    pub fn dataset(&self) -> Option<&str> {
        let summary = self.summary.as_ref().map(|summary| summary.dataset.as_str());
        summary.or_else(|| self.setting("dataset"))
    }

    fn setting(&self, key: &str) -> Option<&str> {
        self.settings.as_ref()?.get(key)
    }

    /// The number of finished rounds, and the total over all seeds, if it is configured.
    pub fn progress(&self) -> (usize, Option<usize>) {
        let settings = self.settings.as_ref();
        let seeds = settings.and_then(|s| s.keys.get("seeds")).map(|list| list.split(',').count());
        let rounds = settings.and_then(|s| s.number("fed.rounds")).map(|rounds| rounds as usize);
        // Saturating, because the file may contain any number.
        let total = seeds.zip(rounds).map(|(seeds, rounds)| seeds.saturating_mul(rounds));
        let done = self.rounds.as_ref().map_or(0, |rounds| rounds.rounds.len());
        // A method may add rounds to the configured ones.
        (done, total.map(|total| total.max(done)))
    }
}

/// How the rounds of a finished run are truncated: a seed has fewer rounds than another, or the last
/// line is incomplete.
fn truncation(summary: &Summary, rounds: &Rounds) -> Option<String> {
    let counts: Vec<usize> = summary
        .seeds
        .iter()
        .map(|seed| rounds.rounds.iter().filter(|round| round.seed == seed.seed).count())
        .collect();
    let most = counts.iter().copied().max().unwrap_or(0);
    let short = summary.seeds.iter().zip(&counts).find(|(_, count)| **count < most);
    if let Some((seed, count)) = short {
        let seed = seed.seed;
        Some(format!("seed {seed}: expected {most} rounds, found {count}: the file was cut off"))
    } else {
        rounds.is_cut().then(|| "the file was cut off in its last line".to_owned())
    }
}

/// Distinct names of runs that are shown together: the folder, with its parent where two folders
/// have the same name.
pub(crate) fn distinct_names(views: &[RunView]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for view in views {
        let above = view.path.parent().and_then(last_part);
        let same = views.iter().filter(|other| other.name == view.name).count();
        let name = match above.filter(|_| same > 1) {
            Some(above) => format!("{above}/{}", view.name),
            None => view.name.clone(),
        };
        let again = names.iter().filter(|known| **known == name).count();
        names.push(if again == 0 { name } else { format!("{name} #{}", again + 1) });
    }
    names
}

/// The name of a folder: the last part of its path, resolved for paths such as `.`.
pub(crate) fn name_of(path: &Path) -> String {
    last_part(path)
        .or_else(|| last_part(&path.canonicalize().ok()?))
        .unwrap_or_else(|| path.display().to_string())
}

fn last_part(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// Reads a file if it exists; an unreadable one is added to the problems.
fn optional<T>(
    folder: &RunFolder,
    name: &str,
    read: impl Fn(PathBuf) -> Result<T>,
    problems: &mut Vec<String>,
) -> Option<T> {
    match read(folder.file(name)) {
        Ok(found) => Some(found),
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            problems.push(without_folder(folder, &error));
            None
        }
    }
}

/// The message with the bare name of the file: a view already shows its folder.
fn without_folder(folder: &RunFolder, error: &Error) -> String {
    let folder = format!("{}{}", folder.path().display(), std::path::MAIN_SEPARATOR);
    error.to_string().replace(&folder, "")
}
