//! Reading the checkpoints of a run that was stopped.

use super::state::{FinishedSeed, RecordedRounds, StateHeader, StoredSeed, TimeSpent};
use super::{container, finished_file, restore_all};
use crate::experiment::Refused;
use crate::grid::identity::{self, CellInputs};
use crate::run::trainable::{Sizes, Trainable};
use crate::{Error, Result};
use boostfgl_disk as disk;
use boostfgl_fairness::diagnostics::Diagnosis;
use boostfgl_fed::Outcome;
use boostfgl_nn::backbones::{self, Architecture};
use boostfgl_nn::{Params, StateVisitor};
use boostfgl_report::{RoundsWriter, RunFolder};
use std::io;
use std::path::{Path, PathBuf};

/// The state of a run that was stopped.
pub(crate) struct SavedRun<S> {
    /// The finished seeds, in order.
    pub(crate) finished: Vec<FinishedSeed<S>>,
    /// The seed after them, if it had begun and its state was saved.
    pub(crate) unfinished: Option<UnfinishedSeed>,
    /// The damaged files, and the work that is repeated because of them.
    pub(crate) notes: Vec<String>,
}

/// A seed that was stopped between two rounds.
pub(crate) struct UnfinishedSeed {
    rounds_done: usize,
    /// Training and diagnostics, to be read by a [`StateVisitor`].
    pub(crate) state: Vec<u8>,
    pub(crate) recorded: RecordedRounds,
    pub(crate) spent: TimeSpent,
    pub(crate) refused: Vec<Refused>,
    /// The file that it was read from.
    pub(crate) path: PathBuf,
}

impl<S> Default for SavedRun<S> {
    fn default() -> Self {
        Self { finished: Vec::new(), unfinished: None, notes: Vec::new() }
    }
}

impl<S> SavedRun<S> {
    /// Reads the newest state that is intact. A damaged file is skipped with a note, and the work
    /// since the one before it is repeated.
    ///
    /// # Errors
    /// If a state belongs to another configuration, other data or another version of the program,
    /// or cannot be read.
    pub(super) fn read<E: Trainable<Seed = S>>(
        run: &RunFolder,
        experiment: &E,
        inputs: &CellInputs,
    ) -> Result<Self> {
        let folder = run.file(RunFolder::CHECKPOINT);
        let reader = Reader {
            experiment,
            inputs,
            model: model(experiment)?,
            rounds: run.file(RunFolder::ROUNDS),
        };
        let mut saved = Self::default();
        for (index, &seed) in experiment.config().seeds.iter().enumerate() {
            let path = finished_file(&folder, index);
            // After an I/O error the file may exist: repeating a finished seed would overwrite its
            // results.
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
        saved.find_unfinished(&folder, &reader)?;
        Ok(saved)
    }

    /// Looks for the newest intact state of the seed after the finished ones.
    fn find_unfinished<E: Trainable>(
        &mut self,
        folder: &Path,
        reader: &Reader<'_, E>,
    ) -> Result<()> {
        let index = self.finished.len();
        let Some(&seed) = reader.experiment.config().seeds.get(index) else { return Ok(()) };
        let mut states = states(folder)?;
        states.retain(|state| state.index == index);
        states.sort();
        for StateOfSeed { round, path, .. } in states.into_iter().rev() {
            if self.unfinished.is_some() {
                // The older state is a backup that is not needed now. Damage to it is reported, and
                // no error about it stops the run.
                if let Err(error) = container::read(&path) {
                    let _ = self.note(error, "the newer state is intact and is used");
                }
                continue;
            }
            match reader.unfinished(path, seed, round) {
                Ok(found) => self.unfinished = Some(found),
                Err(error) => {
                    self.note(error, &format!("round {round} of seed {seed} is repeated"))?;
                }
            }
        }
        Ok(())
    }

    /// Turns the error about a damaged file into a note. Any other error is returned: a file that
    /// cannot be read at the moment may be intact.
    fn note(&mut self, error: Error, remedy: &str) -> Result<()> {
        match error {
            Error::Report(damaged @ boostfgl_report::Error::Malformed { .. }) => {
                self.notes.push(format!("{damaged}; {remedy}"));
                Ok(())
            }
            other => Err(other),
        }
    }

    /// Whether a file belongs to a seed or round after the point to continue from.
    pub(super) fn is_beyond(&self, file: StateFile) -> bool {
        let next = self.finished.len();
        match file {
            StateFile::Finished { index } => index >= next,
            StateFile::Unfinished { index, round } => {
                let rounds_done = self.unfinished.as_ref().map(|seed| seed.rounds_done);
                index != next || rounds_done.is_none_or(|done| round > done)
            }
        }
    }

    /// The number of lines of `rounds.jsonl` that belong to it.
    pub(crate) fn lines(&self) -> usize {
        let finished = self.finished.last().map_or(0, |seed| seed.recorded.lines);
        self.unfinished.as_ref().map_or(finished, |seed| seed.recorded.lines)
    }

    /// The time spent on the saved seeds and rounds.
    pub(crate) fn spent(&self) -> TimeSpent {
        let finished = self.finished.iter().map(|seed| seed.spent);
        let unfinished = self.unfinished.iter().map(|seed| seed.spent);
        finished.chain(unfinished).fold(TimeSpent::default(), TimeSpent::plus)
    }
}

/// Reads and checks the files of one run.
struct Reader<'a, E> {
    experiment: &'a E,
    inputs: &'a CellInputs,
    /// A model of the right shapes.
    model: Params<f32>,
    /// The path of `rounds.jsonl`.
    rounds: PathBuf,
}

impl<E: Trainable> Reader<'_, E> {
    fn finished(&self, path: &Path, seed: u64) -> Result<FinishedSeed<E::Seed>> {
        let (header, rest) = self.open(path, seed)?;
        let mut stored = StoredSeed {
            summary: String::new(),
            diagnosis: String::new(),
            outcome: Outcome::blank(&self.model),
        };
        restore_all(path, &rest, |visitor| visitor.visit("done", &mut stored))?;
        self.check_predictions(&stored.outcome.predictions, path)?;
        let summary = from_json(&stored.summary, path)?;
        let diagnosis: Option<Diagnosis> = match stored.diagnosis.as_str() {
            "" => None,
            text => Some(from_json(text, path)?),
        };
        let refused = from_json(&header.refused, path)?;
        let run = self.experiment.restore_seed(seed, stored.outcome, diagnosis, refused)?;
        Ok(FinishedSeed { run, summary, spent: header.spent, recorded: header.recorded })
    }

    fn unfinished(&self, path: PathBuf, seed: u64, rounds_done: usize) -> Result<UnfinishedSeed> {
        let (header, state) = self.open(&path, seed)?;
        let refused = from_json(&header.refused, &path)?;
        let StateHeader { recorded, spent, .. } = header;
        Ok(UnfinishedSeed { rounds_done, state, refused, recorded, spent, path })
    }

    /// The header of a file, and the bytes after it.
    fn open(&self, path: &Path, seed: u64) -> Result<(StateHeader, Vec<u8>)> {
        let mut bytes = container::read(path)?;
        let mut header = StateHeader::default();
        let mut visitor = StateVisitor::restoring(&bytes);
        visitor
            .visit("head", &mut header)
            .map_err(|error| boostfgl_report::Error::malformed(path, error.to_string()))?;
        let header_length = bytes.len() - visitor.unread();
        self.check(&header, seed, path)?;
        bytes.drain(..header_length);
        Ok((header, bytes))
    }

    fn check(&self, header: &StateHeader, seed: u64, path: &Path) -> Result<()> {
        let expected = identity::of_cell(self.experiment.config(), seed, self.inputs);
        if header.identity == expected {
            return self.check_recorded(&header.recorded);
        }
        let reason = "expected the configuration, the data and the version of the program that \
            the run was begun with, found at least one of them changed";
        let advice = "Restore config.toml, the data and the program, or start again with \
            `boostfgl run --config`.";
        Err(Error::usage(path.display().to_string(), reason, advice))
    }

    /// A state continues from the rounds that were recorded before it, so they must be unchanged.
    fn check_recorded(&self, recorded: &RecordedRounds) -> Result<()> {
        let lines = recorded.lines;
        if lines == 0 {
            return Ok(());
        }
        match RoundsWriter::digest_of(&self.rounds, lines) {
            Ok(digest) if digest == recorded.digest => Ok(()),
            Ok(_) => Err(self.other_rounds(lines, "that they were changed")),
            Err(boostfgl_report::Error::Io { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                Err(self.other_rounds(lines, "no such file"))
            }
            Err(other) => Err(other.into()),
        }
    }

    fn other_rounds(&self, lines: usize, found: &str) -> Error {
        let reason = format!("expected the {lines} lines that were saved, found {found}");
        boostfgl_report::Error::malformed(&self.rounds, reason).into()
    }

    /// Evaluation indexes nodes and classes by them, so they must fit the graph.
    fn check_predictions(&self, predictions: &[u32], path: &Path) -> Result<()> {
        let Sizes { nodes, classes, .. } = self.experiment.sizes();
        let fits = predictions.len() == nodes
            && predictions.iter().all(|&class| (class as usize) < classes);
        if fits {
            return Ok(());
        }
        let reason =
            format!("expected a class below {classes} for each of {nodes} nodes, found others");
        Err(boostfgl_report::Error::malformed(path, reason).into())
    }
}

/// Reads a part of a file that is stored as JSON; `path` is for messages.
fn from_json<T: serde::de::DeserializeOwned>(text: &str, path: &Path) -> Result<T> {
    let read = serde_json::from_str(text);
    Ok(read.map_err(|error| boostfgl_report::Error::malformed(path, error.to_string()))?)
}

/// A checkpoint file, by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum StateFile {
    /// The results of a finished seed.
    Finished {
        /// Number of the seed in the configuration.
        index: usize,
    },
    /// The state of a seed between two rounds.
    Unfinished {
        /// Number of the seed in the configuration.
        index: usize,
        /// Rounds done.
        round: usize,
    },
}

impl StateFile {
    fn parse(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.strip_prefix("seed-")?;
        if let Some(index) = name.strip_suffix(".done") {
            return Some(Self::Finished { index: index.parse().ok()? });
        }
        let (index, round) = name.strip_suffix(".state")?.split_once("-round-")?;
        Some(Self::Unfinished { index: index.parse().ok()?, round: round.parse().ok()? })
    }
}

/// The state of a seed between two rounds, on disk. Ordered by seed, then by round.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StateOfSeed {
    /// Number of the seed in the configuration.
    pub(super) index: usize,
    /// Rounds done.
    pub(super) round: usize,
    pub(super) path: PathBuf,
}

/// The states of unfinished seeds in a folder, in no order.
pub(super) fn states(folder: &Path) -> Result<Vec<StateOfSeed>> {
    let files = state_files(folder)?.into_iter();
    let states = files.filter_map(|(file, path)| match file {
        StateFile::Unfinished { index, round } => Some(StateOfSeed { index, round, path }),
        StateFile::Finished { .. } => None,
    });
    Ok(states.collect())
}

/// Removes the checkpoint files that `is_removed` selects.
pub(super) fn remove_states(folder: &Path, is_removed: impl Fn(StateFile) -> bool) -> Result<()> {
    for (_, path) in state_files(folder)?.into_iter().filter(|(file, _)| is_removed(*file)) {
        disk::remove_file(path)?;
    }
    Ok(())
}

/// Removes the temporary files of a process that crashed. Those that cannot be removed are
/// harmless.
pub(super) fn remove_temporary(folder: &Path) {
    let (prefix, suffix) = disk::UNFINISHED;
    for path in files_in(folder).unwrap_or_default() {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(prefix) && name.ends_with(suffix) {
            let _ = disk::remove_file(path);
        }
    }
}

/// The checkpoint files in a folder, with seed and round parsed from their names.
fn state_files(folder: &Path) -> Result<Vec<(StateFile, PathBuf)>> {
    let files = files_in(folder).map_err(|source| boostfgl_report::Error::io(folder, source))?;
    Ok(files.into_iter().filter_map(|path| Some((StateFile::parse(&path)?, path))).collect())
}

fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// A model of the shapes that the experiment trains.
fn model(experiment: &impl Trainable) -> Result<Params<f32>> {
    let (sizes, model) = (experiment.sizes(), &experiment.config().model);
    let architecture = Architecture {
        inputs: sizes.features,
        hidden: model.hidden,
        classes: sizes.classes,
        layers: model.layers,
    };
    let backbone = backbones::build::<f32>(&model.backbone, architecture)?;
    Ok(Params::glorot(&backbone.shapes(), 0))
}
