//! Writing checkpoints while a run is under way.

use super::load::{self, SavedRun};
use super::manifest::Manifest;
use super::schedule::SaveTimer;
use super::state::{FinishedSeed, Position, RecordedRounds, StateHeader, StoredSeed, TimeSpent};
use super::{CheckpointOptions, container, finished_file, state_file, unfinished};
use crate::experiment::Refused;
use crate::grid::identity::{self, CellInputs};
use crate::run::trainable::{SeedResult, Trainable};
use crate::{Error, Result};
use boostfgl_disk as disk;
use boostfgl_nn::StateVisitor;
use boostfgl_report::RunFolder;
use std::path::PathBuf;
use std::time::Instant;

/// The number of states of the current seed that are kept: if the newer one is damaged, the older
/// one is used.
const STATES_KEPT: usize = 2;

/// Saves the state of a run while it is under way.
pub(crate) struct CheckpointWriter<'a, E> {
    /// Locked, so that no other process works on the run.
    run: RunFolder,
    folder: PathBuf,
    experiment: &'a E,
    options: CheckpointOptions<'a>,
    timer: SaveTimer,
    /// The inputs when the run was started or resumed. The run continues with the data it has read,
    /// even if the files change meanwhile.
    inputs: CellInputs,
    /// The number of finished seeds on disk.
    stored: usize,
}

impl<'a, E: Trainable> CheckpointWriter<'a, E> {
    /// Starts the checkpoints of a new run and removes those of an earlier run in the folder.
    ///
    /// # Errors
    /// If the folder cannot be written, or another process works on it.
    pub(crate) fn start(
        run: &RunFolder,
        experiment: &'a E,
        options: CheckpointOptions<'a>,
    ) -> Result<Self> {
        let writer = Self::new(run, experiment, options)?;
        disk::create_dir_all(&writer.folder)?;
        load::remove_states(&writer.folder, |_| true)?;
        Manifest::new(experiment, &writer.inputs).write(&writer.folder)?;
        Ok(writer)
    }

    /// Continues the checkpoints of a run that was stopped, and reads its state.
    ///
    /// # Errors
    /// If there is no state, it belongs to another configuration or other data, or another process
    /// works on the run.
    pub(crate) fn resume(
        run: &RunFolder,
        experiment: &'a E,
        options: CheckpointOptions<'a>,
    ) -> Result<(Self, SavedRun<E::Seed>)> {
        // The folder is locked before anything is read: the process that held the lock until now
        // may have finished the run.
        let mut writer = Self::new(run, experiment, options)?;
        unfinished::check(run)?;
        let (mut manifest, mut notes) = Manifest::read(&writer.folder)?;
        manifest.check_config(run, experiment.config())?;
        manifest.check_inputs(run, experiment, &writer.inputs)?;
        if !notes.is_empty() {
            // One of the two copies is damaged: the other one repairs it.
            manifest.write(&writer.folder)?;
        }
        // Temporary files of a crashed process. They are not in use, because the folder is locked.
        load::remove_temporary(run.path());
        run.client_names().iter().for_each(|name| load::remove_temporary(&run.client(name)));
        load::remove_temporary(&writer.folder);
        let mut saved = SavedRun::read(run, experiment, &writer.inputs)?;
        notes.append(&mut saved.notes);
        saved.notes = notes;
        // Files beyond the point to continue from are damaged, or follow a damaged one. They are
        // removed before the rounds after that point are repeated: a later resume would take them
        // for the states of the repeated rounds.
        load::remove_states(&writer.folder, |file| saved.is_beyond(file))?;
        disk::sync_folder(&writer.folder)?;
        writer.stored = saved.finished.len();
        Ok((writer, saved))
    }

    fn new(run: &RunFolder, experiment: &'a E, options: CheckpointOptions<'a>) -> Result<Self> {
        let folder = run.file(RunFolder::CHECKPOINT);
        let (run, timer) = (run.take()?, SaveTimer::new(options.schedule));
        let inputs = CellInputs::of(experiment)?;
        Ok(Self { run, folder, experiment, options, timer, inputs, stored: 0 })
    }

    /// Counts a round, and returns whether the state is to be saved after it. If so,
    /// `rounds.jsonl` must be fsynced before [`CheckpointWriter::save`].
    pub(crate) fn is_due(&mut self) -> bool {
        self.timer.count_round() || self.options.is_asked_to_stop()
    }

    /// Saves the state between two rounds of a seed: the finished seeds, and the values that
    /// `save_training` visits.
    ///
    /// # Errors
    /// If it cannot be written, and [`Error::Stopped`] if a stop was requested.
    pub(crate) fn save(
        &mut self,
        position: Position<'_, E::Seed>,
        save_training: impl FnOnce(&mut StateVisitor<'_>) -> boostfgl_nn::Result<()>,
    ) -> Result<()> {
        let started = Instant::now();
        let Position { finished, recorded, spent, refused, rounds_done } = position;
        // Finished seeds first: a state is used only if the seeds before it are on disk.
        self.store_finished(finished)?;
        let index = finished.len();
        let mut header =
            self.header(self.experiment.config().seeds[index], recorded, spent, refused)?;
        container::write(&state_file(&self.folder, index, rounds_done), |visitor| {
            visitor.visit("head", &mut header)?;
            save_training(visitor)
        })?;
        self.remove_old(index);
        self.timer.saved(started);
        if self.options.is_asked_to_stop() { Err(self.stopped(index, rounds_done)) } else { Ok(()) }
    }

    /// Before the first round of a seed: stores the finished seeds and stops the run, if a stop was
    /// requested. `rounds.jsonl` must be fsynced.
    ///
    /// # Errors
    /// If they cannot be written, and [`Error::Stopped`].
    pub(crate) fn stop_if_asked(&mut self, finished: &[FinishedSeed<E::Seed>]) -> Result<()> {
        if !self.options.is_asked_to_stop() {
            return Ok(());
        }
        self.store_finished(finished)?;
        Err(self.stopped(finished.len(), 0))
    }

    fn stopped(&self, index: usize, round: usize) -> Error {
        let seed = self.experiment.config().seeds[index];
        Error::Stopped { folder: self.run.path().to_path_buf(), seed, round }
    }

    /// Removes the checkpoints of a finished run. A file that cannot be removed is harmless: a run
    /// with a summary is never resumed.
    pub(crate) fn finish(self) {
        let _ = disk::remove_dir_all(&self.folder);
    }

    fn store_finished(&mut self, finished: &[FinishedSeed<E::Seed>]) -> Result<()> {
        for (index, seed) in finished.iter().enumerate().skip(self.stored) {
            self.store(index, seed)?;
            self.stored = index + 1;
        }
        Ok(())
    }

    fn store(&self, index: usize, seed: &FinishedSeed<E::Seed>) -> Result<()> {
        let mut header =
            self.header(seed.summary.seed, seed.recorded.clone(), seed.spent, seed.run.refused())?;
        let diagnosis = seed.run.diagnosis().map(serde_json::to_string).transpose();
        let mut stored = StoredSeed {
            summary: serde_json::to_string(&seed.summary).map_err(not_json)?,
            diagnosis: diagnosis.map_err(not_json)?.unwrap_or_default(),
            outcome: seed.run.outcome().clone(),
        };
        container::write(&finished_file(&self.folder, index), |visitor| {
            visitor.visit("head", &mut header)?;
            visitor.visit("done", &mut stored)
        })
    }

    fn header(
        &self,
        seed: u64,
        recorded: RecordedRounds,
        spent: TimeSpent,
        refused: &[Refused],
    ) -> Result<StateHeader> {
        let refused = serde_json::to_string(refused).map_err(not_json)?;
        let identity = identity::of_cell(self.experiment.config(), seed, &self.inputs);
        Ok(StateHeader { identity, recorded, spent, refused })
    }

    /// Removes the states of finished seeds, and all but the last [`STATES_KEPT`] of this one. A
    /// file that cannot be removed is harmless: a newer one is preferred to it.
    fn remove_old(&self, index: usize) {
        let mut states = load::states(&self.folder).unwrap_or_default();
        states.sort();
        let current = states.iter().filter(|state| state.index == index).count();
        let mut surplus = current.saturating_sub(STATES_KEPT);
        for state in states {
            let is_surplus = state.index == index && surplus > 0;
            surplus -= usize::from(is_surplus);
            if state.index < index || is_surplus {
                let _ = disk::remove_file(state.path);
            }
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it by value")]
fn not_json(error: serde_json::Error) -> Error {
    boostfgl_report::Error::malformed(RunFolder::CHECKPOINT, error.to_string()).into()
}
