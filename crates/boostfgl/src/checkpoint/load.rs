//! What is on the disk of a run that was stopped.

use super::{
    Done, Experiment, FinishedSeed, Head, Params, Recorded, Spent, container, done_file, put_back,
};
use crate::experiment::Refused;
use crate::grid::identity::{self, Inputs};
use crate::{Error, Result};
use boostfgl_disk as disk;
use boostfgl_fairness::diagnostics::Diagnosis;
use boostfgl_fed::Outcome;
use boostfgl_nn::StateVisitor;
use boostfgl_nn::backbones::{self, Architecture};
use boostfgl_report::{RoundsWriter, RunFolder};
use std::io;
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
    /// Rounds done.
    round: usize,
    /// What a [`StateVisitor`] reads it from.
    pub(crate) course: Vec<u8>,
    pub(crate) recorded: Recorded,
    pub(crate) spent: Spent,
    pub(crate) refused: Vec<Refused>,
    pub(crate) path: PathBuf,
}

impl Saved {
    /// Looks for the newest state that is whole. A damaged file is passed over with a note: some
    /// work is then done again.
    ///
    /// # Errors
    /// If a state belongs to another configuration, other data or another version of the program,
    /// or cannot be read.
    pub(super) fn read(run: &RunFolder, experiment: &Experiment, inputs: &Inputs) -> Result<Self> {
        let folder = run.file(RunFolder::CHECKPOINT);
        let reader = Reader {
            experiment,
            inputs,
            model: model(experiment)?,
            rounds: run.file(RunFolder::ROUNDS),
        };
        let mut saved = Self { finished: Vec::new(), running: None, notes: Vec::new() };
        for (index, &seed) in experiment.config().seeds.iter().enumerate() {
            let path = done_file(&folder, index);
            // One that the system cannot tell of just now may well be there, and much hangs on it.
            if !path.try_exists().map_err(|source| boostfgl_report::Error::io(&path, source))? {
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
        let mut states: Vec<(usize, PathBuf)> = states(folder)?
            .into_iter()
            .filter(|(of, _, _)| *of == index)
            .map(|(_, round, path)| (round, path))
            .collect();
        states.sort();
        for (round, path) in states.into_iter().rev() {
            if self.running.is_some() {
                // The one before it is not needed now, so that nothing about it stops the run; that
                // it is damaged is said.
                let spare = container::read(&path).map(drop);
                let _ =
                    spare.or_else(|error| self.note(error, "the one after it is whole, and taken"));
                continue;
            }
            match reader.running(path, seed, round) {
                Ok(running) => self.running = Some(running),
                Err(error) => {
                    self.note(error, &format!("round {round} of seed {seed} is done again"))?
                }
            }
        }
        Ok(())
    }

    /// Passes over a damaged file; an error about anything else stays one. One that cannot be read
    /// just now may be whole.
    fn note(&mut self, error: Error, remedy: &str) -> Result<()> {
        match error {
            Error::Report(damaged @ boostfgl_report::Error::Malformed { .. }) => {
                self.notes.push(format!("{damaged}; {remedy}"));
                Ok(())
            }
            other => Err(other),
        }
    }

    /// Whether a file holds something that comes after the point to go on from.
    pub(super) fn is_beyond(&self, file: Kept) -> bool {
        let index = self.finished.len();
        match file {
            Kept::Done { index: of } => of >= index,
            Kept::State { index: of, round } => {
                of != index || self.running.as_ref().is_none_or(|running| round > running.round)
            }
        }
    }

    /// Lines of `rounds.jsonl` that belong to it.
    pub(crate) fn lines(&self) -> usize {
        let finished = self.finished.last().map_or(0, |seed| seed.recorded.lines);
        self.running.as_ref().map_or(finished, |running| running.recorded.lines)
    }
}

/// Everything that reading a state takes.
struct Reader<'a> {
    experiment: &'a Experiment,
    inputs: &'a Inputs,
    /// A model of the right shapes.
    model: Params<f32>,
    /// Where `rounds.jsonl` is.
    rounds: PathBuf,
}

impl Reader<'_> {
    fn finished(&self, path: &Path, seed: u64) -> Result<FinishedSeed> {
        let (head, rest) = self.opened(path, seed)?;
        let mut done = Done {
            summary: String::new(),
            diagnosis: String::new(),
            outcome: Outcome::blank(&self.model),
        };
        put_back(path, &rest, |visitor| visitor.visit("done", &mut done))?;
        let malformed = |reason: String| boostfgl_report::Error::malformed(path, reason);
        let (graph, found) = (self.experiment.graph(), &done.outcome.predictions);
        let classes = graph.classes();
        if found.len() != graph.len() || found.iter().any(|&class| class as usize >= classes) {
            let nodes = graph.len();
            return Err(malformed(format!(
                "expected a class below {classes} for each of {nodes} nodes, found others"
            ))
            .into());
        }
        let summary =
            serde_json::from_str(&done.summary).map_err(|error| malformed(error.to_string()))?;
        let diagnosis: Option<Diagnosis> = match done.diagnosis.as_str() {
            "" => None,
            text => Some(serde_json::from_str(text).map_err(|error| malformed(error.to_string()))?),
        };
        let run =
            self.experiment.judged_again(seed, done.outcome, diagnosis, refused(&head, path)?)?;
        Ok(FinishedSeed { run, summary, spent: head.spent, recorded: head.recorded })
    }

    fn running(&self, path: PathBuf, seed: u64, round: usize) -> Result<Running> {
        let (head, course) = self.opened(&path, seed)?;
        let refused = refused(&head, &path)?;
        Ok(Running { round, course, refused, recorded: head.recorded, spent: head.spent, path })
    }

    /// What a file says of itself, and the rest of it.
    fn opened(&self, path: &Path, seed: u64) -> Result<(Head, Vec<u8>)> {
        let mut bytes = container::read(path)?;
        let mut head = Head {
            identity: String::new(),
            recorded: Recorded::default(),
            spent: Spent::default(),
            refused: String::new(),
        };
        let mut visitor = StateVisitor::restoring(&bytes);
        let read = visitor.visit("head", &mut head);
        read.map_err(|error| boostfgl_report::Error::malformed(path, error.to_string()))?;
        let taken = bytes.len() - visitor.unread();
        self.check(&head, seed, path)?;
        bytes.drain(..taken);
        Ok((head, bytes))
    }

    fn check(&self, head: &Head, seed: u64, path: &Path) -> Result<()> {
        let expected = identity::of_cell(self.experiment.config(), seed, self.inputs);
        if head.identity == expected {
            return self.check_recorded(&head.recorded);
        }
        let reason = "expected the configuration, the data and the version of the program that \
            the run was begun with, \
                      found at least one of them changed";
        let advice = "Put config.toml, the data and the program back as they were, or begin anew \
            with `boostfgl run --config`.";
        Err(Error::usage(path.display().to_string(), reason, advice))
    }

    /// A state goes on from the rounds that were recorded with it, so that they must still be
    /// there.
    fn check_recorded(&self, recorded: &Recorded) -> Result<()> {
        let lines = recorded.lines;
        let malformed = |found| {
            let reason = format!("expected the {lines} lines that were saved, found {found}");
            Err(boostfgl_report::Error::malformed(&self.rounds, reason).into())
        };
        match RoundsWriter::digest_of(&self.rounds, lines) {
            _ if lines == 0 => Ok(()),
            Ok(digest) if digest == recorded.digest => Ok(()),
            Ok(_) => malformed("that they were changed"),
            Err(boostfgl_report::Error::Io { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                malformed("no such file")
            }
            Err(other) => Err(other.into()),
        }
    }
}

fn refused(head: &Head, path: &Path) -> Result<Vec<Refused>> {
    let read = serde_json::from_str(&head.refused);
    Ok(read.map_err(|error| boostfgl_report::Error::malformed(path, error.to_string()))?)
}

/// A file of a run's state, by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kept {
    /// What a finished seed left.
    Done {
        /// Which of the seeds.
        index: usize,
    },
    /// A seed under way.
    State {
        /// Which of the seeds.
        index: usize,
        /// Rounds done.
        round: usize,
    },
}

impl Kept {
    fn parse(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_prefix("seed-")?;
        if let Some(index) = name.strip_suffix(".done") {
            return Some(Self::Done { index: index.parse().ok()? });
        }
        let (index, round) = name.strip_suffix(".state")?.split_once("-round-")?;
        Some(Self::State { index: index.parse().ok()?, round: round.parse().ok()? })
    }
}

/// The files of a run's state.
fn kept(folder: &Path) -> Result<Vec<(Kept, PathBuf)>> {
    let files =
        named(folder, |_| true).map_err(|source| boostfgl_report::Error::io(folder, source))?;
    Ok(files.into_iter().filter_map(|path| Some((Kept::parse(&path)?, path))).collect())
}

/// Removes those of them that are like that.
pub(super) fn clear(folder: &Path, like: impl Fn(Kept) -> bool) -> Result<()> {
    let files = kept(folder)?.into_iter().filter(|(file, _)| like(*file));
    Ok(files.map(|(_, path)| path).try_for_each(disk::remove_file)?)
}

/// Removes files that were never finished. Those that cannot be removed do no harm.
pub(super) fn remove_unfinished(folder: &Path) {
    let unfinished =
        |name: &str| name.starts_with(disk::UNFINISHED.0) && name.ends_with(disk::UNFINISHED.1);
    named(folder, unfinished).unwrap_or_default().into_iter().for_each(|path| {
        let _ = disk::remove_file(path);
    });
}

/// The files in a folder whose name is like that.
fn named(folder: &Path, like: impl Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let like = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(&like);
    let paths = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    paths.filter(|path| path.as_ref().map_or(true, like)).collect()
}

/// The states in a folder: of which seed, after which round, where.
pub(super) fn states(folder: &Path) -> Result<Vec<(usize, usize, PathBuf)>> {
    let state = |(file, path)| match file {
        Kept::State { index, round } => Some((index, round, path)),
        Kept::Done { .. } => None,
    };
    Ok(kept(folder)?.into_iter().filter_map(state).collect())
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
