//! `boostfgl resume`.

use super::run::{Done, print_json, print_tables, write_report};
use crate::args::{DataFlags, PaceFlags, PrintFlags, ResourceFlags};
use crate::output;
use crate::progress::Rounds;
use crate::signals;
use anyhow::Result;
use boostfgl::checkpoint::{UnfinishedRun, is_unfinished, runs_in};
use boostfgl::report::{DiagnosticsFile, RunFolder, Summary};
use boostfgl::{CheckpointOptions, Error, Experiment, diagnose};
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
        let keeping =
            CheckpointOptions { schedule: self.pace.pace()?, stop: Some(signals::stop_flag()) };
        let runs = runs_in(&self.run);
        if runs.is_empty() {
            // Returns the error that names what is missing.
            UnfinishedRun::open(&self.run)?;
        }
        let (mut done, mut diagnostics) = (Vec::new(), Vec::new());
        for path in &runs {
            if !is_unfinished(path) {
                if !self.printing.quiet {
                    output::note(&format!("{} is already finished", path.display()));
                }
                done.push(finished(path)?);
                continue;
            }
            let stopped = UnfinishedRun::open(path)?;
            let config = stopped.config().clone();
            let (_, graph) = self.data_flags.load(&config.dataset, self.printing.quiet)?;
            let experiment = pool.install(|| Experiment::new(config, graph))?;
            let experiment = experiment.with_diagnostics(stopped.diagnostics().to_vec());
            self.resources.check(&experiment, &pool)?;
            let config = experiment.config();
            let mut rounds = Rounds::new(
                &config.method,
                config.seeds.len(),
                config.fed.rounds,
                self.printing.quiet,
            );
            let run = pool.install(|| experiment.resume(&mut rounds, stopped.folder(), keeping));
            let run = run.map_err(|error| match error {
                // If several runs were resumed together, the hint names their common folder.
                Error::Stopped { seed, round, .. } => {
                    Error::Stopped { folder: self.run.clone(), seed, round }
                }
                other => other,
            })?;
            run.refusals().iter().chain(&run.note).for_each(|note| output::note(note));
            diagnostics = stopped.diagnostics().to_vec();
            done.push(Done {
                diagnostics: diagnose::diagnostics_file(&run.seeds),
                summary: run.summary,
                folder: path.clone(),
            });
        }
        let together = (runs.len() > 1 || runs[0] != self.run).then_some(self.run.as_path());
        if diagnostics.is_empty() {
            // Runs that were finished before show everything they recorded.
            diagnostics = done
                .iter()
                .filter_map(|done| done.diagnostics.as_ref())
                .flat_map(DiagnosticsFile::recorded)
                .collect();
        }
        let report = write_report(&done, together)?;
        if self.printing.json {
            print_json(&done, &diagnostics)
        } else {
            print_tables(&done, &diagnostics, &[], &report)
        }
    }
}

/// A run with a summary. A crash may have left its report or a temporary file undone: finish it.
fn finished(path: &Path) -> Result<Done> {
    let read = || -> Result<(Summary, Option<DiagnosticsFile>), boostfgl::report::Error> {
        let folder = RunFolder::open(path)?.take()?;
        folder.check(RunFolder::SUMMARY)?;
        folder.tidy()?;
        let found = folder.file(RunFolder::DIAGNOSTICS);
        let diagnostics = match found.exists() {
            true => {
                folder.check(RunFolder::DIAGNOSTICS)?;
                Some(DiagnosticsFile::read(&found)?)
            }
            false => None,
        };
        Ok((folder.summary()?, diagnostics))
    };
    let (summary, diagnostics) = read().map_err(Error::from)?;
    if !path.join(RunFolder::REPORT).exists() {
        boostfgl::write_report(&RunFolder::open(path).map_err(Error::from)?)?;
    }
    Ok(Done { summary, diagnostics, folder: path.to_path_buf() })
}
