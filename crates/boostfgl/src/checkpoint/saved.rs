//! What is on the disk of a run that was stopped.

use super::{Done, Experiment, FinishedSeed, Head, Params, Spent, done_file, put_back, sealed};
use crate::experiment::Refused;
use crate::grid::identity;
use crate::{Error, Result};
use boostfgl_disk as disk;
use boostfgl_fairness::diagnostics::Diagnosis;
use boostfgl_fed::Outcome;
use boostfgl_nn::Ledger;
use boostfgl_nn::backbones::{self, Architecture};
use boostfgl_report::RunFolder;
use std::path::{Path, PathBuf};

/// The state of a stopped run.
pub(crate) struct Saved {
    /// The finished seeds, in order.
    pub(crate) finished: Vec<FinishedSeed>,
    /// The seed under way, if it had begun and saved.
    pub(crate) running: Option<Running>,
    /// What was found damaged, and what is done about it.
    pub(crate) notes: Vec<String>,
}

/// A seed under way.
pub(crate) struct Running {
    /// What a [`Ledger`] reads it from.
    pub(crate) course: Vec<u8>,
    pub(crate) lines: usize,
    pub(crate) spent: Spent,
    pub(crate) refused: Vec<Refused>,
    pub(crate) path: PathBuf,
}

impl Saved {
    /// Looks for the newest state that is whole. A damaged file is passed over with a note: some work is then done again.
    ///
    /// # Errors
    /// If a state belongs to another configuration, other data or another version of the program.
    pub(crate) fn read(run: &RunFolder, experiment: &Experiment) -> Result<Self> {
        let folder = run.file(RunFolder::CHECKPOINT);
        let reader = Reader { experiment, graph: identity::of_graph(experiment.graph()), model: model(experiment)? };
        let mut saved = Self { finished: Vec::new(), running: None, notes: Vec::new() };
        for (index, &seed) in experiment.config().seeds.iter().enumerate() {
            let path = done_file(&folder, index);
            if !path.exists() {
                break;
            }
            match reader.finished(&path, seed) {
                Ok(finished) => saved.finished.push(finished),
                Err(error) => {
                    saved.note(error, &format!("seed {seed} is trained again"))?;
                    break;
                }
            }
        }
        saved.find_running(&folder, &reader)?;
        Ok(saved)
    }

    fn find_running(&mut self, folder: &Path, reader: &Reader<'_>) -> Result<()> {
        let index = self.finished.len();
        let Some(&seed) = reader.experiment.config().seeds.get(index) else { return Ok(()) };
        let mut states: Vec<(usize, PathBuf)> = states(folder)
            .into_iter()
            .filter(|(of, _, _)| *of == index)
            .map(|(_, round, path)| (round, path))
            .collect();
        states.sort();
        for (round, path) in states.into_iter().rev() {
            match reader.running(path, seed) {
                Ok(running) => {
                    self.running = Some(running);
                    break;
                }
                Err(error) => self.note(error, &format!("round {round} of seed {seed} is done again"))?,
            }
        }
        Ok(())
    }

    /// Passes over a damaged file; an error about anything else stays one.
    fn note(&mut self, error: Error, remedy: &str) -> Result<()> {
        match error {
            Error::Report(damaged @ (boostfgl_report::Error::Io { .. } | boostfgl_report::Error::Malformed { .. })) => {
                self.notes.push(format!("{damaged}; {remedy}"));
                Ok(())
            }
            other => Err(other),
        }
    }

    /// Lines of `rounds.jsonl` that belong to it.
    pub(crate) fn lines(&self) -> usize {
        let finished = self.finished.last().map_or(0, |seed| seed.lines);
        self.running.as_ref().map_or(finished, |running| running.lines)
    }
}

/// Everything that reading a state takes.
struct Reader<'a> {
    experiment: &'a Experiment,
    graph: blake3::Hash,
    /// A model of the right shapes.
    model: Params<f32>,
}

impl Reader<'_> {
    fn finished(&self, path: &Path, seed: u64) -> Result<FinishedSeed> {
        let (head, rest) = self.opened(path, seed)?;
        let mut done = Done { summary: String::new(), diagnosis: String::new(), outcome: Outcome::blank(&self.model) };
        put_back(path, &rest, |ledger| ledger.keep("done", &mut done))?;
        let malformed = |reason: String| boostfgl_report::Error::malformed(path, reason);
        let summary = serde_json::from_str(&done.summary).map_err(|error| malformed(error.to_string()))?;
        let diagnosis: Option<Diagnosis> = match done.diagnosis.as_str() {
            "" => None,
            text => Some(serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?),
        };
        let run = self.experiment.judged_again(seed, done.outcome, diagnosis, refused(&head, path)?)?;
        Ok(FinishedSeed { run, summary, spent: head.spent, lines: head.lines })
    }

    fn running(&self, path: PathBuf, seed: u64) -> Result<Running> {
        let (head, course) = self.opened(&path, seed)?;
        Ok(Running { course, refused: refused(&head, &path)?, lines: head.lines, spent: head.spent, path })
    }

    /// What a file says of itself, and the rest of it.
    fn opened(&self, path: &Path, seed: u64) -> Result<(Head, Vec<u8>)> {
        let mut bytes = sealed::read(path)?;
        let mut head = Head { identity: String::new(), lines: 0, spent: Spent::default(), refused: String::new() };
        let mut ledger = Ledger::restoring(&bytes);
        let read = ledger.keep("head", &mut head);
        read.map_err(|error| boostfgl_report::Error::malformed(path, error.to_string()))?;
        let taken = bytes.len() - ledger.unread();
        self.check(&head, seed, path)?;
        bytes.drain(..taken);
        Ok((head, bytes))
    }

    fn check(&self, head: &Head, seed: u64, path: &Path) -> Result<()> {
        let expected = identity::of_cell(self.experiment.config(), seed, &self.graph);
        if head.identity == expected {
            return Ok(());
        }
        let reason = "expected the configuration, the data and the version of the program that the run was begun with, \
                      found at least one of them changed";
        let advice =
            "Put config.toml, the data and the program back as they were, or begin anew with `boostfgl run --config`.";
        Err(Error::usage(path.display().to_string(), reason, advice))
    }
}

fn refused(head: &Head, path: &Path) -> Result<Vec<Refused>> {
    let read = serde_json::from_str(&head.refused);
    Ok(read.map_err(|error| boostfgl_report::Error::malformed(path, error.to_string()))?)
}

/// Removes what an earlier run left.
pub(super) fn clear(folder: &Path) -> Result<()> {
    let old = |name: &str| name.starts_with("seed-") && (name.ends_with(".state") || name.ends_with(".done"));
    Ok(named(folder, old).try_for_each(disk::remove_file)?)
}

/// Removes files that were never finished. Those that cannot be removed do no harm.
pub(super) fn remove_unfinished(folder: &Path) {
    let unfinished = |name: &str| name.starts_with(disk::UNFINISHED.0) && name.ends_with(disk::UNFINISHED.1);
    named(folder, unfinished).for_each(|path| {
        let _ = disk::remove_file(path);
    });
}

/// The files in a folder whose name is like that.
fn named(folder: &Path, like: impl Fn(&str) -> bool) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(move |path| path.file_name().and_then(|n| n.to_str()).is_some_and(&like))
}

/// The states in a folder: of which seed, after which round, where.
pub(super) fn states(folder: &Path) -> Vec<(usize, usize, PathBuf)> {
    let parse = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        let (seed, round) = name.strip_prefix("seed-")?.strip_suffix(".state")?.split_once("-round-")?;
        Some((seed.parse().ok()?, round.parse().ok()?, path))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| parse(entry.path())).collect()
}

/// A model of the shapes that the experiment trains.
fn model(experiment: &Experiment) -> Result<Params<f32>> {
    let (graph, model) = (experiment.graph(), &experiment.config().model);
    let architecture = Architecture {
        inputs: graph.features().columns(),
        hidden: model.hidden,
        classes: graph.classes(),
        layers: model.layers,
    };
    let backbone = backbones::build::<f32>(&model.backbone, architecture)?;
    Ok(Params::glorot(&backbone.shapes(), 0))
}
