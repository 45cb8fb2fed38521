//! `boostfgl run`.

use crate::args::{
    OutputFlags, PaceFlags, PrintFlags, ResourceFlags, TrainingFlags, diagnostics_list,
    parse_diagnostics,
};
use crate::output;
use crate::planned::{Planned, Trained};
use crate::progress::Rounds;
use crate::signals;
use anyhow::Result;
use boostfgl::checkpoint::is_unfinished;
use boostfgl::clients::ClientsExperiment;
use boostfgl::config::without_effect;
use boostfgl::disk::Checksums;
use boostfgl::fairness::diagnostics::DiagnosticKind;
use boostfgl::report::page::Report;
use boostfgl::report::{
    ClientTable, Depth, DiagnosisReport, DiagnosticsFile, FairnessTable, RunFolder, RunView,
    StreamKind, Streams, Summary, Table, name, write_atomic,
};
use boostfgl::{Checked, CheckpointOptions, CheckpointSchedule, Config, Error, Experiment, Layers};
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
///   boostfgl run cora --stream tensorboard           curves for TensorBoard while it runs
///   boostfgl run --client-data north south           clients with their own graphs, a folder each
#[derive(Debug, Default, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Run {
    #[command(flatten)]
    training: TrainingFlags,

    #[command(flatten)]
    resources: ResourceFlags,

    #[command(flatten)]
    pace: PaceFlags,

    /// Folder of each client, or one folder that holds them: every client has its own graph, in any
    /// format that is read, and nothing but messages is shared. Its name is that of its folder
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["data", "clients", "partition"])]
    client_data: Vec<PathBuf>,

    /// Name of the run in tables, reports and `serve` [default: method, boosts and changed
    /// settings]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    output: OutputFlags,

    #[arg(long, value_name = "LIST", help = DIAGNOSTICS_HELP, long_help = diagnostics_help())]
    diagnostics: Option<String>,

    /// Also write every round, as it ends, for a tracker of experiments: tensorboard (event files in
    /// stream/tensorboard of the run folder), jsonl (stream/history.jsonl, with _step and
    /// _timestamp)
    #[arg(long, value_name = "LIST")]
    stream: Option<String>,

    #[command(flatten)]
    printing: PrintFlags,
}

/// The methods that are compared if none is given.
const DEFAULT_METHODS: [&str; 2] = ["fedavg", "boostfgl"];

/// A finished run, to be printed.
pub(super) struct FinishedRun {
    pub(super) summary: Summary,
    pub(super) diagnostics: Option<DiagnosticsFile>,
    pub(super) folder: PathBuf,
}

impl FinishedRun {
    /// A run that has just ended, in its folder. Its notes are printed.
    pub(super) fn new(run: Trained, folder: &Path) -> Self {
        let Trained { summary, diagnostics, notes } = run;
        notes.iter().for_each(|note| output::note(note));
        Self { summary, diagnostics, folder: folder.to_path_buf() }
    }

    /// The summary as JSON, with the diagnostics of these kinds.
    fn with_diagnostics(&self, kinds: &[DiagnosticKind]) -> Result<serde_json::Value> {
        let mut document = serde_json::to_value(&self.summary)?;
        if let Some(found) = &self.diagnostics {
            document["diagnostics"] = serde_json::to_value(found.only(kinds))?;
        }
        Ok(document)
    }
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
        let streams = self.stream.as_deref().map_or(Ok(Vec::new()), StreamKind::parse);
        let streams = streams.map_err(Error::from)?;
        let diagnostics = self.diagnostics.as_deref().map_or(Ok(Vec::new()), parse_diagnostics)?;
        let layers = self.layers()?;
        let (config, sources) = layers.resolve()?;
        without_effect(&config, &sources).iter().for_each(|warning| output::note(warning));
        let methods = methods(&layers, &config)?;
        let boosts = config.boosts.clone();
        let (base, flaws) = self.plan(config, &diagnostics, &pool)?;
        base.check(&self.resources, &pool)?;
        self.check_folders(&methods)?;
        let together = self.together(&base, methods.len() > 1)?;
        let mut planned = Vec::new();
        for method in &methods {
            // Without a method, `--boost` applies to BoostFGL, not to the base FedAvg.
            let own = boosts.clone().filter(|_| methods.len() == 1 || method != "fedavg");
            let experiment = base.with_method(method, own)?;
            let folder = self.folder(&experiment, together.as_deref())?;
            planned.push((experiment, folder));
        }
        for (_, folder) in &planned {
            Streams::switch_on(folder, &streams).map_err(Error::from)?;
        }
        let runs = self.run_planned(&planned, together.as_deref(), pace, &pool)?;
        let report = write_report(&runs, together.as_deref())?;
        let notes: Vec<&str> = Some(flaws).into_iter().filter(|f| !f.is_empty()).collect();
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
        if !self.client_data.is_empty() {
            let paths = self.client_data.iter().map(|path| path.to_string_lossy().into_owned());
            layers.set("client_data", paths.collect::<Vec<_>>(), "--client-data")?;
        }
        Ok(layers)
    }

    /// The experiment of this configuration, and known flaws of its data.
    fn plan(
        &self,
        config: Checked<Config>,
        diagnostics: &[DiagnosticKind],
        pool: &rayon::ThreadPool,
    ) -> Result<(Planned, &'static str)> {
        if config.client_data.is_empty() {
            let (data, graph) =
                self.training.protocol.data_flags.load(&config, self.printing.quiet)?;
            let experiment = pool.install(|| Experiment::new(config, graph))?;
            let experiment = experiment.with_diagnostics(diagnostics.to_vec());
            return Ok((Planned::Simulation(experiment), data.flaws()));
        }
        if !diagnostics.is_empty() {
            let reason = "expected none with --client-data: diagnostics look inside every client, \
                which only a simulation can do";
            let advice = "Leave --diagnostics out, or simulate: `boostfgl run DATA --diagnostics \
                LIST`.";
            return Err(Error::usage("--diagnostics", reason, advice).into());
        }
        let experiment = pool.install(|| ClientsExperiment::new(config))?;
        Ok((Planned::Clients(experiment), ""))
    }

    /// Runs one method after the other.
    fn run_planned(
        &self,
        planned: &[(Planned, RunFolder)],
        together: Option<&Path>,
        pace: CheckpointSchedule,
        pool: &rayon::ThreadPool,
    ) -> Result<Vec<FinishedRun>> {
        // All runs are announced before the first one trains, so that `resume` continues all of
        // them.
        if planned.len() > 1 {
            planned.iter().try_for_each(|(experiment, folder)| experiment.announce(folder))?;
        }
        let options = CheckpointOptions { schedule: pace, stop: Some(signals::stop_flag()) };
        let mut runs = Vec::new();
        for (at, (experiment, folder)) in planned.iter().enumerate() {
            let config = experiment.config();
            let mut rounds = Rounds::new(
                &config.method,
                config.seeds.len(),
                config.fed.rounds,
                self.printing.quiet,
            );
            let run = pool.install(|| experiment.run(&mut rounds, folder, options));
            drop(rounds);
            let run = run.map_err(|error| after_failure(error, &planned[at..], together))?;
            runs.push(FinishedRun::new(run, folder.path()));
        }
        Ok(runs)
    }

    /// The parent folder of several methods: DIR, or runs/DATA with the changed settings and, if
    /// necessary, a number; `None` for one method.
    fn together(&self, experiment: &Planned, several: bool) -> Result<Option<PathBuf>> {
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
        let place =
            Path::new("runs").join(name::folder(&name::composed(experiment.dataset(), &changed)));
        // Runs of single methods may already exist there; they do not require another folder.
        let mut own = DEFAULT_METHODS.into_iter().chain([RunFolder::REPORT]);
        if place.is_dir() && !own.any(|name| place.join(name).exists()) {
            return Ok(Some(place));
        }
        Ok(Some(RunFolder::create_free(place).map_err(unusable)?.path().to_path_buf()))
    }

    /// The run folder: DIR itself for one method or a new runs/DATA/NAME, DIR/METHOD for several.
    fn folder(&self, experiment: &Planned, together: Option<&Path>) -> Result<RunFolder> {
        let method = &experiment.config().method;
        let folder = match (together, &self.output.out) {
            (Some(folder), _) => RunFolder::create(folder.join(method), self.output.overwrite),
            (None, Some(out)) => RunFolder::create(out, self.output.overwrite),
            (None, None) => {
                let data = Path::new("runs").join(name::folder(experiment.dataset()));
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

/// The methods to run: the configured one, or the default ones. A name is for one run only.
fn methods(layers: &Layers, config: &Config) -> Result<Vec<String>> {
    if layers.sets("method") {
        return Ok(vec![config.method.clone()]);
    }
    if let Some(name) = &config.name {
        let reason = format!(
            "expected one run to name `{name}`, found two: {}",
            DEFAULT_METHODS.join(" and ")
        );
        let advice = "Choose one with --method, or leave the name out.";
        return Err(Error::usage("--name", reason, advice).into());
    }
    Ok(DEFAULT_METHODS.map(str::to_owned).to_vec())
}

/// The error to report if the first of these runs failed or was stopped. A hint names the folder
/// that contains all runs, so that `resume` continues all of them.
fn after_failure(error: Error, planned: &[(Planned, RunFolder)], together: Option<&Path>) -> Error {
    if let Error::Stopped { folder, seed, round } = error {
        let folder = together.map_or(folder, Path::to_path_buf);
        return Error::Stopped { folder, seed, round };
    }
    // An invalid request must not be resumed.
    if error.is_input() {
        planned.iter().for_each(|(_, folder)| folder.discard_announcement());
    }
    let folder = planned[0].1.path();
    if is_unfinished(folder) {
        let command = output::resume_command(together.unwrap_or(folder));
        output::note(&format!(
            "finished rounds are saved; to continue once the cause is fixed: {command}"
        ));
    }
    error
}

/// Writes one report of several methods next to their folders and returns its path. A single run
/// already has its report.
pub(super) fn write_report(runs: &[FinishedRun], together: Option<&Path>) -> Result<PathBuf> {
    let Some(folder) = together else { return Ok(runs[0].folder.join(RunFolder::REPORT)) };
    let views = runs
        .iter()
        .map(|run| RunView::read(&run.folder, Depth::Whole))
        .collect::<Result<Vec<_>, _>>();
    let report = Report::new(views.map_err(Error::from)?);
    let to = folder.join(RunFolder::REPORT);
    // This report belongs to no run folder, so its checksum gets a file of its own.
    Checksums::remove_sidecar(&to).map_err(Error::from)?;
    write_atomic(&to, report.html().as_bytes()).map_err(Error::from)?;
    Checksums::write_sidecar(&to).map_err(Error::from)?;
    Ok(to)
}

/// A folder that cannot be created is a mistake in the command, unlike a disk that fills up during
/// the run.
pub(crate) fn unusable(error: impl Into<boostfgl::report::Error>) -> Error {
    unusable_in(error, None)
}

/// The same for a folder inside `together`, whose runs are resumed together.
fn unusable_in(error: impl Into<boostfgl::report::Error>, together: Option<&Path>) -> Error {
    match error.into() {
        // Suggest continuing before overwriting: a stopped run may be hours of work.
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

/// Prints runs as one JSON document, with the diagnostics of these kinds.
pub(super) fn print_json(runs: &[FinishedRun], diagnostics: &[DiagnosticKind]) -> Result<()> {
    let text = match runs {
        // The same bytes as summary.json.
        [FinishedRun { summary, diagnostics: None, .. }] => summary.to_json(),
        [run] => {
            format!("{}\n", serde_json::to_string_pretty(&run.with_diagnostics(diagnostics)?)?)
        }
        _ if runs.iter().all(|run| run.diagnostics.is_none()) => {
            let all: Vec<&Summary> = runs.iter().map(|run| &run.summary).collect();
            format!("{}\n", serde_json::to_string_pretty(&serde_json::json!({ "runs": all }))?)
        }
        _ => {
            let all = runs
                .iter()
                .map(|run| run.with_diagnostics(diagnostics))
                .collect::<Result<Vec<_>>>()?;
            format!("{}\n", serde_json::to_string_pretty(&serde_json::json!({ "runs": all }))?)
        }
    };
    output::print(&text)
}

/// Prints the tables of runs, the diagnostics of these kinds, and where the runs were written.
pub(super) fn print_tables(
    runs: &[FinishedRun],
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
    text.push_str(&client_table(&summaries));
    for table in summaries.iter().flat_map(|run| FairnessTable::of(&title(run), run)) {
        text.push_str(&table.text(output::style()));
        text.push('\n');
    }
    for note in notes {
        text.push_str(&format!("Note: {note}\n\n"));
    }
    for FinishedRun { summary, diagnostics: found, .. } in runs {
        if let Some(found) = found {
            let report =
                DiagnosisReport::new(title(summary), found).only(diagnostics).with_run(summary);
            text.push_str(&report.text(output::style()));
            text.push('\n');
        }
    }
    let labels = name::distinct_labels(&summaries);
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0).max(10);
    for (FinishedRun { summary, folder, .. }, label) in runs.iter().zip(labels) {
        text.push_str(&format!(
            "{label:<width$} {} (digest {}, {:.1} s CPU time, {:.0} MiB)\n",
            folder.display(),
            short_digest(summary),
            summary.cpu_seconds,
            summary.peak_rss_mib,
        ));
    }
    text.push_str(&format!("{:<width$} {}\n", "report", report.display()));
    output::print(&text)
}

/// The table of clients that have graphs of their own; empty in a simulation.
fn client_table(summaries: &[Summary]) -> String {
    let labels = name::distinct_labels(summaries);
    let runs: Vec<(&str, &Summary)> = labels.iter().map(String::as_str).zip(summaries).collect();
    ClientTable::of(&runs)
        .map_or_else(String::new, |table| format!("{}\n", table.text(output::style())))
}

/// The start of the digest of a run; that of the federation's first seed where predictions stay with
/// the clients.
fn short_digest(summary: &Summary) -> String {
    let of_seed = summary.seeds.first().map_or("", |seed| seed.identity());
    let digest = if summary.digest.is_empty() { of_seed } else { &summary.digest };
    digest.chars().take(12).collect()
}

/// The title of a table: dataset and name of the run.
pub(super) fn title(summary: &Summary) -> String {
    format!("{}, {}", summary.dataset, summary.called_alone())
}
