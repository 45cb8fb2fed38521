//! All that can be seen of a run folder, finished, half-written or broken.

mod settings;

pub use settings::Settings;

use crate::{
    DiagnosticsFile, Error, PartitionFile, Predictions, Result, Rounds, RunFolder, Summary,
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

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has its summary.
    Finished,
    /// It has none: it runs, was stopped or failed.
    Unfinished,
    /// Nothing in the folder can be read as part of a run.
    Broken,
}

/// A run as far as it can be seen. What cannot be read is missing here and named in
/// [`RunView::problems`].
#[derive(Debug)]
pub struct RunView {
    /// The folder.
    pub path: PathBuf,
    /// What it is called: the last part of its path.
    pub name: String,
    /// `summary.json`.
    pub summary: Option<Summary>,
    /// `config.toml`.
    pub settings: Option<Settings>,
    /// `rounds.jsonl`.
    pub rounds: Option<Rounds>,
    /// `partition.json`.
    pub partition: Option<PartitionFile>,
    /// `predictions.csv`.
    pub predictions: Option<Predictions>,
    /// `diagnostics.json`.
    pub diagnostics: Option<DiagnosticsFile>,
    /// What is wrong, one sentence each, naming the file.
    pub problems: Vec<String>,
}

impl RunView {
    /// Looks at a folder.
    ///
    /// # Errors
    /// If there is no such folder; whatever is wrong inside it is a problem of the view.
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
            view.partition =
                optional(&folder, RunFolder::DIVISIONS, PartitionFile::read, &mut view.problems);
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
        view.name_missing(depth);
        if view.summary.is_some() {
            view.name_changed(&folder, depth);
        }
        Ok(view)
    }

    /// A finished run should have all its files; of another, those that were begun.
    fn name_missing(&mut self, depth: Depth) {
        let mut expected = vec![RunFolder::CONFIG];
        if self.summary.is_some() {
            expected.push(RunFolder::ROUNDS);
            expected.extend((depth >= Depth::Whole).then_some(RunFolder::PREDICTIONS));
        }
        let missing = expected.into_iter().filter(|name| !self.path.join(name).exists());
        self.problems.extend(missing.map(|name| format!("{name} is missing")));
        let cut = self.rounds.as_ref().is_some_and(Rounds::is_cut);
        if let (Some(summary), Some(rounds)) = (&self.summary, &self.rounds) {
            let count = |seed: u64| rounds.rounds.iter().filter(|round| round.seed == seed).count();
            let counts: Vec<usize> = summary.seeds.iter().map(|seed| count(seed.seed)).collect();
            let most = counts.iter().copied().max().unwrap_or(0);
            let short = summary.seeds.iter().zip(&counts).find(|(_, found)| **found < most);
            if let Some((seed, found)) = short {
                let told = format!("seed {}: expected {most} rounds, found {found}", seed.seed);
                self.problems.push(format!("{}: {told}: the file was cut off", RunFolder::ROUNDS));
            } else if cut {
                self.problems
                    .push(format!("{}: the file was cut off in its last line", RunFolder::ROUNDS));
            }
        }
    }

    /// Of a finished run, what was looked at must be what the run wrote.
    fn name_changed(&mut self, folder: &RunFolder, depth: Depth) {
        let sums = match Checksums::read(folder.path()) {
            Ok(Some(sums)) => sums,
            Ok(None) => return,
            Err(damaged) => return self.problems.push(without_folder(folder, &damaged.into())),
        };
        // A file that a list names under a changed name would pass for one that has no line.
        let nowhere = |name: &&str| !RunFolder::is_of_run(name) && !folder.file(name).exists();
        let told =
            |name: &str| format!("{}: expected `{name}`, found no such file", RunFolder::CHECKSUMS);
        self.problems.extend(sums.names().filter(nowhere).map(told));
        let read = [
            (Depth::Glance, &[RunFolder::SUMMARY, RunFolder::CONFIG][..]),
            (Depth::Rounds, &[RunFolder::ROUNDS, RunFolder::DIVISIONS, RunFolder::DIAGNOSTICS]),
            (
                Depth::Whole,
                &[
                    RunFolder::PREDICTIONS,
                    RunFolder::PARTITION,
                    RunFolder::MODEL,
                    RunFolder::REPORT,
                ],
            ),
        ];
        for name in read.iter().filter(|(needed, _)| depth >= *needed).flat_map(|(_, names)| *names)
        {
            // Earlier versions gave the report no line.
            if *name == RunFolder::REPORT && !sums.has(name) {
                continue;
            }
            // One sentence about a file is enough, and what its reader said is the better one.
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

    /// Leaves out what is wrong with `report.html`, for a report that takes its place.
    pub fn forget_report(&mut self) {
        self.problems.retain(|problem| !problem.starts_with(RunFolder::REPORT));
    }

    /// Where the run stands.
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

    /// The method with its boosts, as tables name it.
    pub fn label(&self) -> String {
        let setting = |key: &str| self.settings.as_ref().and_then(|settings| settings.get(key));
        match (&self.summary, setting("method")) {
            (Some(summary), _) => summary.label(),
            (None, Some(method)) => method.to_owned(),
            (None, None) => self.name.clone(),
        }
    }

    /// What the run is called: as the user said, or by method, boosts and what was changed.
    pub fn called(&self) -> String {
        let named = self.settings.as_ref().and_then(|settings| settings.get("name"));
        match (&self.summary, named) {
            (Some(summary), _) => summary.called(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => self.label(),
        }
    }

    /// The method without its boosts, if anything says so.
    pub fn method(&self) -> Option<&str> {
        let setting = self.settings.as_ref().and_then(|settings| settings.get("method"));
        self.summary.as_ref().map(|summary| summary.method.as_str()).or(setting)
    }

    /// Whether it is FedAvg without boosts: what others are compared with where no order of runs
    /// was given.
    pub fn is_base(&self) -> bool {
        let boosted = self.summary.as_ref().is_some_and(|summary| !summary.boost.is_empty());
        self.method() == Some("fedavg") && !boosted
    }

    /// The dataset, if anything says so.
    pub fn dataset(&self) -> Option<&str> {
        let setting = self.settings.as_ref().and_then(|settings| settings.get("dataset"));
        self.summary.as_ref().map(|summary| summary.dataset.as_str()).or(setting)
    }

    /// Rounds that are over, and how many there will be over all seeds, if the configuration says
    /// so.
    pub fn progress(&self) -> (usize, Option<usize>) {
        let settings = self.settings.as_ref();
        let seeds = settings.and_then(|s| s.keys.get("seeds")).map(|list| list.split(',').count());
        let rounds = settings.and_then(|s| s.number("fed.rounds")).map(|rounds| rounds as usize);
        // The file may hold anything.
        let total = seeds.zip(rounds).map(|(seeds, rounds)| seeds.saturating_mul(rounds));
        let done = self.rounds.as_ref().map_or(0, |rounds| rounds.rounds.len());
        // A method may add rounds to those that were asked for.
        (done, total.map(|total| total.max(done)))
    }
}

/// The names of runs that are shown together: by their folders, and by the folder above where two
/// would be called the same.
pub(crate) fn distinct_names(views: &[RunView]) -> Vec<String> {
    let count = |name: &str| views.iter().filter(|view| view.name == name).count();
    let mut names: Vec<String> = Vec::new();
    for view in views {
        let above = view
            .path
            .parent()
            .and_then(Path::file_name)
            .map(|above| above.to_string_lossy().into_owned());
        let name = match above.filter(|_| count(&view.name) > 1) {
            Some(above) => format!("{above}/{}", view.name),
            None => view.name.clone(),
        };
        let again = names.iter().filter(|known| **known == name).count();
        names.push(if again == 0 { name } else { format!("{name} #{}", again + 1) });
    }
    names
}

/// What a folder is called: the last part of its path.
pub(crate) fn name_of(path: &Path) -> String {
    let last = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let full = || {
        path.canonicalize()
            .ok()
            .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
    };
    last.or_else(full).unwrap_or_else(|| path.display().to_string())
}

/// Reads a file if it is there; if it cannot be read, that is a problem and the rest goes on.
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
