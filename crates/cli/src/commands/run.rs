//! `boostfgl run`.

use crate::args::{
    OutputFlags, PaceFlags, PrintFlags, ResourceFlags, TrainingFlags, diagnostics_list,
    parse_diagnostics,
};
use crate::output;
use crate::progress::Rounds;
use crate::signals;
use anyhow::Result;
use boostfgl::checkpoint::is_unfinished;
use boostfgl::config::without_effect;
use boostfgl::disk::Checksums;
use boostfgl::fairness::diagnostics::DiagnosticKind;
use boostfgl::report::page::Report;
use boostfgl::report::{
    Depth, DiagnosisReport, DiagnosticsFile, RunFolder, RunView, Summary, Table, name, write_atomic,
};
use boostfgl::{CheckpointOptions, CheckpointSchedule, Error, Experiment, Layers, diagnose};
use clap::Args;
use std::path::{Path, PathBuf};

/// Train a method and report its accuracy for each group of nodes
///
/// Divides the graph among clients, trains one model over all of them, and reports accuracy and
/// macro-F1 on all, heterophilous and minority-heterophilous test nodes. Without --method, FedAvg
/// and BoostFGL are compared.
///
/// Examples:
///   boostfgl run                                     compare FedAvg and BoostFGL on the demo graph
///   boostfgl run cora --method boostfgl              one method, five seeds: runs/cora/boostfgl
///   boostfgl run my-folder --clients 8 --rounds 100  your own nodes.csv and edges.csv
///   boostfgl run cora --method fedavg --boost node   one boost on another method
///   boostfgl run cora --method fedavg --name long --rounds 200
///                                                    named by you: runs/cora/long
///   boostfgl run cora --diagnostics gsd,epr          also measure where unfairness arises
#[derive(Debug, Default, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    #[command(flatten)]
    training: TrainingFlags,

    #[command(flatten)]
    resources: ResourceFlags,

    #[command(flatten)]
    pace: PaceFlags,

    /// Name of the run in tables, reports and `serve` [default: method, boosts and changed
    /// settings]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    output: OutputFlags,

    #[arg(long, value_name = "LIST", help = DIAGNOSTICS_HELP, long_help = diagnostics_help())]
    diagnostics: Option<String>,

    #[command(flatten)]
    printing: PrintFlags,
}

/// The methods that are compared when none is named.
const DEFAULT_METHODS: [&str; 2] = ["fedavg", "boostfgl"];

/// A finished run, to be printed.
pub(super) struct Done {
    pub(super) summary: Summary,
    pub(super) diagnostics: Option<DiagnosticsFile>,
    pub(super) folder: PathBuf,
}

/// The first line of the help of `--diagnostics`.
const DIAGNOSTICS_HELP: &str =
    "Watch training for where unfairness arises: all, or a list of these names";

/// The help of `--diagnostics`, with every diagnostic that there is.
fn diagnostics_help() -> String {
    format!(
        "{DIAGNOSTICS_HELP}\n\n{}\n\
         What they find is printed below the table and written to diagnostics.json in the run\n\
         folder, where `boostfgl diagnose` reads it. They change no digit of the run and take \
         time:\nthe times in the table and the CPU time include them.",
        diagnostics_list()
    )
}

impl Run {
    pub(crate) fn execute(&self) -> Result<()> {
        self.resources.limit()?;
        let pool = self.resources.pool()?;
        let pace = self.pace.pace()?;
        let diagnostics = self.diagnostics.as_deref().map_or(Ok(Vec::new()), parse_diagnostics)?;
        let layers = self.layers()?;
        let (config, sources) = layers.resolve()?;
        without_effect(&config, &sources).iter().for_each(|warning| output::note(warning));
        let methods: Vec<String> = if layers.sets("method") {
            vec![config.method.clone()]
        } else {
            DEFAULT_METHODS.iter().map(|m| (*m).to_owned()).collect()
        };
        if let Some(name) = config.name.as_ref().filter(|_| methods.len() > 1) {
            let reason =
                format!("expected one run to name `{name}`, found two: {}", methods.join(" and "));
            return Err(Error::usage(
                "--name",
                reason,
                "Choose one with --method, or leave the name out.",
            )
            .into());
        }
        let (data, graph) =
            self.training.protocol.data_flags.load(&config.dataset, self.printing.quiet)?;
        let boosts = config.boosts.clone();
        let base =
            pool.install(|| Experiment::new(config, graph))?.with_diagnostics(diagnostics.clone());
        self.resources.check(&base, &pool)?;
        base.check_inputs()?;
        self.check_folders(&methods)?;
        let together = self.together(&base, methods.len() > 1)?;
        let plan = |method: &String| -> Result<(Experiment, RunFolder)> {
            // Without a method, `--boost` applies to BoostFGL, not to the base FedAvg.
            let own = boosts.clone().filter(|_| methods.len() == 1 || method != "fedavg");
            let experiment = base.with_method(method, own)?;
            let folder = self.folder(&experiment, together.as_deref())?;
            Ok((experiment, folder))
        };
        let planned = methods.iter().map(plan).collect::<Result<Vec<_>>>()?;
        let runs = self.run_planned(&planned, together.as_deref(), pace, &pool)?;
        let report = write_report(&runs, together.as_deref())?;
        let notes: Vec<&str> = Some(data.flaws()).into_iter().filter(|f| !f.is_empty()).collect();
        if self.printing.json {
            print_json(&runs, &diagnostics)
        } else {
            print_tables(&runs, &diagnostics, &notes, &report)
        }
    }

    /// The layers of the configuration, with the name.
    fn layers(&self) -> Result<Layers> {
        let mut layers = self.training.layers()?;
        if let Some(name) = &self.name {
            layers.set("name", name.as_str(), "--name")?;
        }
        Ok(layers)
    }

    /// Runs one method after the other.
    fn run_planned(
        &self,
        planned: &[(Experiment, RunFolder)],
        together: Option<&Path>,
        pace: CheckpointSchedule,
        pool: &rayon::ThreadPool,
    ) -> Result<Vec<Done>> {
        // All runs are announced before the first one trains, so that `resume` continues all of
        // them.
        if planned.len() > 1 {
            planned.iter().try_for_each(|(experiment, folder)| experiment.announce(folder))?;
        }
        let keeping = CheckpointOptions { schedule: pace, stop: Some(signals::stop_flag()) };
        let mut runs = Vec::new();
        for (at, (experiment, folder)) in planned.iter().enumerate() {
            let config = experiment.config();
            let mut rounds = Rounds::new(
                &config.method,
                config.seeds.len(),
                config.fed.rounds,
                self.printing.quiet,
            );
            let run =
                pool.install(|| experiment.run_with_checkpoints(&mut rounds, folder, keeping));
            drop(rounds);
            let run = run.map_err(|error| match (error, together) {
                (Error::Stopped { seed, round, .. }, Some(all)) => {
                    Error::Stopped { folder: all.into(), seed, round }
                }
                (stopped @ Error::Stopped { .. }, None) => stopped,
                (failed, _) => {
                    // An invalid request must not be resumed.
                    if failed.is_input() {
                        planned[at..].iter().for_each(|(_, folder)| folder.discard_announcement());
                    }
                    if is_unfinished(folder.path()) {
                        let command = output::resume_command(together.unwrap_or(folder.path()));
                        output::note(&format!(
                            "finished rounds are saved; to continue once the cause is fixed: {command}"
                        ));
                    }
                    failed
                }
            })?;
            run.refusals().iter().chain(&run.note).for_each(|note| output::note(note));
            let diagnostics = diagnose::diagnostics_file(&run.seeds);
            runs.push(Done {
                summary: run.summary,
                diagnostics,
                folder: folder.path().to_path_buf(),
            });
        }
        Ok(runs)
    }

    /// The parent folder of several methods: DIR, or runs/DATA with the changed settings and, if
    /// necessary, a number; `None` for one method.
    fn together(&self, experiment: &Experiment, several: bool) -> Result<Option<PathBuf>> {
        if !several {
            return Ok(None);
        }
        if let Some(out) = &self.output.out {
            return Ok(Some(out.clone()));
        }
        let config = experiment.config();
        let boosts = config.boosts.as_ref().map(|boosts| {
            let names: Vec<&str> = boosts.iter().map(|boost| boost.name()).collect();
            format!("boost={}", if names.is_empty() { "none".to_owned() } else { names.join("_") })
        });
        let changed: Vec<String> = boosts.into_iter().chain(config.changed()).collect();
        let place = Path::new("runs")
            .join(name::folder(&name::composed(experiment.graph().name(), &changed)));
        // Runs of single methods may already exist there; they do not require another folder.
        let mut own = DEFAULT_METHODS.into_iter().chain([RunFolder::REPORT]);
        if place.is_dir() && !own.any(|name| place.join(name).exists()) {
            return Ok(Some(place));
        }
        Ok(Some(RunFolder::create_free(place).map_err(unusable)?.path().to_path_buf()))
    }

    /// The run folder: DIR itself for one method or a new runs/DATA/NAME, DIR/METHOD for several.
    fn folder(&self, experiment: &Experiment, together: Option<&Path>) -> Result<RunFolder> {
        let method = &experiment.config().method;
        let folder = match (together, &self.output.out) {
            (Some(folder), _) => RunFolder::create(folder.join(method), self.output.overwrite),
            (None, Some(out)) => RunFolder::create(out, self.output.overwrite),
            (None, None) => {
                let data = Path::new("runs").join(name::folder(experiment.graph().name()));
                RunFolder::create_free(data.join(name::folder(&experiment.config().called())))
            }
        };
        Ok(folder.map_err(unusable)?)
    }

    /// Refuses folders that are not empty or in use, before the first method runs or replaces
    /// anything, instead of when the second one starts.
    fn check_folders(&self, methods: &[String]) -> Result<()> {
        let Some(out) = self.output.out.as_ref().filter(|_| methods.len() > 1) else {
            return Ok(());
        };
        for folder in methods.iter().map(|method| out.join(method)).filter(|folder| folder.exists())
        {
            // Locking an empty folder changes nothing in it.
            let free = match self.output.overwrite {
                true => RunFolder::open(folder).and_then(|folder| folder.take()),
                false => RunFolder::create(folder, false),
            };
            free.map_err(|error| unusable_in(error, Some(out)))?;
        }
        Ok(())
    }
}

/// Writes one report of several methods next to their folders and returns its path. A single run
/// already has its report.
pub(super) fn write_report(runs: &[Done], together: Option<&Path>) -> Result<PathBuf> {
    let Some(folder) = together else { return Ok(runs[0].folder.join(RunFolder::REPORT)) };
    let views = runs
        .iter()
        .map(|run| RunView::read(&run.folder, Depth::Whole))
        .collect::<Result<Vec<_>, _>>();
    let report = Report::new(views.map_err(Error::from)?);
    let to = folder.join(RunFolder::REPORT);
    // This report belongs to no run folder, so its checksum gets a file of its own.
    let write = || {
        Checksums::remove_sidecar(&to)?;
        write_atomic(&to, report.html().as_bytes())?;
        Checksums::write_sidecar(&to)
    };
    write().map_err(|error| Error::from(boostfgl::report::Error::from(error)))?;
    Ok(to)
}

/// A folder that cannot be created is a mistake in the command, unlike a disk that fills up during
/// the run.
pub(super) fn unusable(error: impl Into<boostfgl::report::Error>) -> Error {
    unusable_in(error, None)
}

/// The same for a folder inside `together`, whose runs are resumed together.
fn unusable_in(error: impl Into<boostfgl::report::Error>, together: Option<&Path>) -> Error {
    match error.into() {
        // Suggest to continue before to overwrite: a stopped run may be hours of work.
        boostfgl::report::Error::NotEmpty { path, .. } if is_unfinished(&path) => {
            let command = output::resume_command(together.unwrap_or(&path));
            let advice = format!(
                "`{command}` continues it; --out names another folder, and --overwrite starts \
                 again."
            );
            Error::usage(
                path.display().to_string(),
                "expected an empty folder, found a run that was stopped",
                advice,
            )
        }
        boostfgl::report::Error::Io { path, source } => {
            let reason =
                format!("expected a folder that can be created and written, found: {source}");
            Error::usage(
                path.display().to_string(),
                reason,
                "Choose another folder with --out, or free that path.",
            )
        }
        other => other.into(),
    }
}

pub(super) fn print_json(runs: &[Done], diagnostics: &[DiagnosticKind]) -> Result<()> {
    let document = |run: &Done| -> Result<serde_json::Value> {
        let mut document = serde_json::to_value(&run.summary)?;
        if let Some(found) = &run.diagnostics {
            document["diagnostics"] = serde_json::to_value(found.only(diagnostics))?;
        }
        Ok(document)
    };
    let text = match runs {
        // The same bytes as summary.json.
        [Done { summary, diagnostics: None, .. }] => summary.to_json(),
        [run] => format!("{}\n", serde_json::to_string_pretty(&document(run)?)?),
        _ if runs.iter().all(|run| run.diagnostics.is_none()) => {
            let all: Vec<&Summary> = runs.iter().map(|run| &run.summary).collect();
            format!("{}\n", serde_json::to_string_pretty(&serde_json::json!({ "runs": all }))?)
        }
        _ => {
            let all = runs.iter().map(document).collect::<Result<Vec<_>>>()?;
            format!("{}\n", serde_json::to_string_pretty(&serde_json::json!({ "runs": all }))?)
        }
    };
    output::print(&text)
}

pub(super) fn print_tables(
    runs: &[Done],
    diagnostics: &[DiagnosticKind],
    notes: &[&str],
    report: &Path,
) -> Result<()> {
    let summaries: Vec<Summary> = runs.iter().map(|run| run.summary.clone()).collect();
    let mut text = String::new();
    for table in Table::by_dataset(&summaries) {
        text.push_str(&table.with_cost(true).text(output::style()));
        text.push('\n');
    }
    for note in notes {
        text.push_str(&format!("Note: {note}\n\n"));
    }
    for Done { summary, diagnostics: found, .. } in runs {
        if let Some(found) = found {
            let report =
                DiagnosisReport::new(title(summary), found).only(diagnostics).with_run(summary);
            text.push_str(&report.text(output::style()));
            text.push('\n');
        }
    }
    let labels = name::distinct_labels(&summaries);
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0).max(10);
    for (Done { summary, folder, .. }, label) in runs.iter().zip(labels) {
        text.push_str(&format!(
            "{label:<width$} {} (digest {}, {:.1} s CPU time, {:.0} MiB)\n",
            folder.display(),
            &summary.digest[..12],
            summary.cpu_seconds,
            summary.peak_rss_mib,
        ));
    }
    text.push_str(&format!("{:<width$} {}\n", "report", report.display()));
    output::print(&text)
}

/// The title of a table: dataset and name of the run.
pub(super) fn title(summary: &Summary) -> String {
    format!("{}, {}", summary.dataset, summary.called_alone())
}
