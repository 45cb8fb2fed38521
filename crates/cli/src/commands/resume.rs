//! `boostfgl resume`.

use super::run::{FinishedRun, print_json, print_tables, write_report};
use crate::args::{DataFlags, PaceFlags, PrintFlags, ResourceFlags};
use crate::output;
use crate::planned::Planned;
use crate::progress::Rounds;
use crate::signals;
use anyhow::Result;
use boostfgl::checkpoint::{UnfinishedRun, is_unfinished, runs_in};
use boostfgl::clients::ClientsExperiment;
use boostfgl::report::{DiagnosticsFile, RunFolder, Summary};
use boostfgl::{CheckpointOptions, Error, Experiment};
use clap::Args;
use std::path::{Path, PathBuf};

/// Continue a stopped run to the same result
///
/// Continues after a crash, a power failure, kill -9 or Ctrl-C from the last checkpoint
/// (checkpoint/ in the run folder). Parameters, predictions and tables are bit for bit those of an
/// uninterrupted run; times are summed over all attempts.
///
/// Examples:
///   boostfgl resume runs/cora/fedavg          one run
///   boostfgl resume runs/demo                 both methods of `boostfgl run`
///   boostfgl resume runs/cora/fedavg --threads 1
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Resume {
    /// Folder of a stopped run, or a folder that contains several
    #[arg(value_name = "RUN")]
    run: PathBuf,

    #[command(flatten)]
    resources: ResourceFlags,

    #[command(flatten)]
    pace: PaceFlags,

    #[command(flatten)]
    data_flags: DataFlags,

    #[command(flatten)]
    printing: PrintFlags,
}

impl Resume {
    pub(crate) fn execute(&self) -> Result<()> {
        self.resources.limit()?;
        let pool = self.resources.pool()?;
        let options =
            CheckpointOptions { schedule: self.pace.pace()?, stop: Some(signals::stop_flag()) };
        let folders = runs_in(&self.run);
        if folders.is_empty() {
            // Returns the error that names what is missing.
            UnfinishedRun::open(&self.run)?;
        }
        let (mut runs, mut diagnostics) = (Vec::new(), Vec::new());
        for folder in &folders {
            if is_unfinished(folder) {
                let unfinished = UnfinishedRun::open(folder)?;
                runs.push(self.complete(&unfinished, folder, options, &pool)?);
                diagnostics = unfinished.diagnostics().to_vec();
            } else {
                if !self.printing.quiet {
                    output::note(&format!("{} is already finished", folder.display()));
                }
                runs.push(finished(folder)?);
            }
        }
        if diagnostics.is_empty() {
            // For runs that were finished before, all recorded diagnostics are shown.
            let files = runs.iter().filter_map(|run| run.diagnostics.as_ref());
            diagnostics = files.flat_map(DiagnosticsFile::recorded).collect();
        }
        let together = (folders.len() > 1 || folders[0] != self.run).then_some(self.run.as_path());
        let report = write_report(&runs, together)?;
        if self.printing.json {
            print_json(&runs, &diagnostics)
        } else {
            print_tables(&runs, &diagnostics, &[], &report)
        }
    }

    /// Trains the remaining rounds of a run.
    fn complete(
        &self,
        unfinished: &UnfinishedRun,
        folder: &Path,
        options: CheckpointOptions<'_>,
        pool: &rayon::ThreadPool,
    ) -> Result<FinishedRun> {
        let config = unfinished.config().clone();
        let experiment = if config.client_data.is_empty() {
            let (_, graph) = self.data_flags.load(&config, self.printing.quiet)?;
            let experiment = pool.install(|| Experiment::new(config, graph))?;
            Planned::Simulation(experiment.with_diagnostics(unfinished.diagnostics().to_vec()))
        } else {
            Planned::Clients(pool.install(|| ClientsExperiment::new(config))?)
        };
        experiment.check(&self.resources, pool)?;
        let config = experiment.config();
        let mut rounds =
            Rounds::new(&config.method, config.seeds.len(), config.fed.rounds, self.printing.quiet);
        let run = pool.install(|| experiment.resume(&mut rounds, unfinished.folder(), options));
        let run = run.map_err(|error| match error {
            // If several runs are resumed together, the hint names their common folder.
            Error::Stopped { seed, round, .. } => {
                Error::Stopped { folder: self.run.clone(), seed, round }
            }
            other => other,
        })?;
        Ok(FinishedRun::new(run, folder))
    }
}

/// A run that has its summary. If a crash left a temporary file or no report, this is repaired.
fn finished(path: &Path) -> Result<FinishedRun> {
    let (summary, diagnostics) = read_finished(path).map_err(Error::from)?;
    if !path.join(RunFolder::REPORT).exists() {
        boostfgl::write_report(&RunFolder::open(path).map_err(Error::from)?)?;
    }
    Ok(FinishedRun { summary, diagnostics, folder: path.to_path_buf() })
}

/// Removes temporary files of a finished run, and reads its summary and diagnostics.
fn read_finished(
    path: &Path,
) -> Result<(Summary, Option<DiagnosticsFile>), boostfgl::report::Error> {
    // The lock is held until everything is read.
    let folder = RunFolder::open(path)?.take()?;
    folder.check(RunFolder::SUMMARY)?;
    folder.tidy()?;
    let file = folder.file(RunFolder::DIAGNOSTICS);
    let diagnostics = if file.exists() {
        folder.check(RunFolder::DIAGNOSTICS)?;
        Some(DiagnosticsFile::read(&file)?)
    } else {
        None
    };
    Ok((folder.summary()?, diagnostics))
}
