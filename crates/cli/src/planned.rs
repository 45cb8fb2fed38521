//! What `run` trains: a simulation on one graph, or clients with graphs of their own.

use crate::args::ResourceFlags;
use anyhow::Result;
use boostfgl::clients::ClientsExperiment;
use boostfgl::fed::boost::Boost;
use boostfgl::report::{DiagnosticsFile, RunFolder, Summary};
use boostfgl::{Checked, CheckpointOptions, Config, Experiment, Progress, diagnose};

/// An experiment of either kind.
#[derive(Clone)]
pub(crate) enum Planned {
    /// One graph, divided among clients.
    Simulation(Experiment),
    /// Clients with graphs of their own.
    Clients(ClientsExperiment),
}

/// The results of a run of either kind.
pub(crate) struct Trained {
    pub(crate) summary: Summary,
    pub(crate) diagnostics: Option<DiagnosticsFile>,
    /// Refused updates, and what the user should know although nothing is lost.
    pub(crate) notes: Vec<String>,
}

impl Planned {
    /// The resolved configuration.
    pub(crate) fn config(&self) -> &Checked<Config> {
        match self {
            Self::Simulation(experiment) => experiment.config(),
            Self::Clients(experiment) => experiment.config(),
        }
    }

    /// The name of the data in tables.
    pub(crate) fn dataset(&self) -> &str {
        match self {
            Self::Simulation(experiment) => experiment.graph().name(),
            Self::Clients(experiment) => &experiment.config().dataset,
        }
    }

    /// Another method and other boosts on the same data.
    pub(crate) fn with_method(
        &self,
        method: &str,
        boosts: Option<Vec<Boost>>,
    ) -> boostfgl::Result<Self> {
        match self {
            Self::Simulation(experiment) => {
                experiment.with_method(method, boosts).map(Self::Simulation)
            }
            Self::Clients(experiment) => experiment.with_method(method, boosts).map(Self::Clients),
        }
    }

    /// Refuses a run that needs more memory than it may use, and data that cannot be trained on.
    pub(crate) fn check(&self, flags: &ResourceFlags, pool: &rayon::ThreadPool) -> Result<()> {
        let threads = pool.current_num_threads();
        match (self, flags.limit()?) {
            (Self::Simulation(experiment), _) => {
                flags.check(experiment, pool)?;
                experiment.check_inputs()?;
            }
            (Self::Clients(experiment), Some(limit)) => experiment.check_memory(limit, threads)?,
            (Self::Clients(experiment), None) => experiment.check_machine()?,
        }
        Ok(())
    }

    /// Prepares a folder for a run that starts later.
    pub(crate) fn announce(&self, folder: &RunFolder) -> boostfgl::Result<()> {
        match self {
            Self::Simulation(experiment) => experiment.announce(folder),
            Self::Clients(experiment) => experiment.announce(folder),
        }
    }

    /// Runs every seed into a folder.
    pub(crate) fn run(
        &self,
        progress: &mut dyn Progress,
        folder: &RunFolder,
        options: CheckpointOptions<'_>,
    ) -> boostfgl::Result<Trained> {
        match self {
            Self::Simulation(experiment) => {
                experiment.run_with_checkpoints(progress, folder, options).map(Trained::from)
            }
            Self::Clients(experiment) => {
                experiment.run_with_checkpoints(progress, folder, options).map(Trained::from)
            }
        }
    }

    /// Continues the run in a folder.
    pub(crate) fn resume(
        &self,
        progress: &mut dyn Progress,
        folder: &RunFolder,
        options: CheckpointOptions<'_>,
    ) -> boostfgl::Result<Trained> {
        match self {
            Self::Simulation(experiment) => {
                experiment.resume(progress, folder, options).map(Trained::from)
            }
            Self::Clients(experiment) => {
                experiment.resume(progress, folder, options).map(Trained::from)
            }
        }
    }
}

impl From<boostfgl::Run> for Trained {
    fn from(run: boostfgl::Run) -> Self {
        let diagnostics = diagnose::diagnostics_file(&run.seeds);
        let notes = run.refusals().into_iter().chain(run.note).collect();
        Self { summary: run.summary, diagnostics, notes }
    }
}

impl From<boostfgl::clients::ClientsRun> for Trained {
    fn from(run: boostfgl::clients::ClientsRun) -> Self {
        let notes = run.refusals().into_iter().chain(run.note).collect();
        Self { summary: run.summary, diagnostics: None, notes }
    }
}
