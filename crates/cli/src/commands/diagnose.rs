//! `boostfgl diagnose`.

use super::run::{title, unusable};
use crate::args::{
    OutputFlags, PrintFlags, ProtocolFlags, ResourceFlags, diagnostics_list, parse_diagnostics,
};
use crate::output;
use crate::progress::Rounds;
use crate::signals;
use anyhow::Result;
use boostfgl::diagnose::{self, Answer, Inquiry, RecordedRun};
use boostfgl::fairness::diagnostics::DiagnosticKind;
use boostfgl::fairness::frame::MIN_GROUP;
use boostfgl::fairness::{FrameMetric, Grouping, MetricRegistry};
use boostfgl::graph::Graph;
use boostfgl::report::{DiagnosisReport, DiagnosticsFile, FrameTable, RunFolder};
use boostfgl::{Checked, CheckpointOptions, Config, Data, Error, Experiment};
use clap::Args;
use serde_json::json;
use std::path::Path;

/// Measure where unfairness arises, and for which nodes
///
/// For a RUN folder, prints what `boostfgl run --diagnostics` recorded. For DATA, trains with
/// diagnostics (fedavg and one seed unless --method and --seeds are given). A name that is both a
/// run folder and a dataset is taken as the run.
///
/// With --out, the recorded times include the diagnostics. The diagnostics and metrics are listed
/// below the options.
///
/// Groups of test nodes (--by): minority, heterophilous, degree[:N] (N parts), class, client,
/// column:NAME (a column group:NAME of your nodes.csv); * intersects. Nodes without a value are
/// the group unknown. Groups below --min-group are shown but not ranked.
///
/// Examples:
///   boostfgl diagnose demo                          train once with all diagnostics
///   boostfgl diagnose runs/cora/fedavg --diagnostics gsd,epr
///                                                   recorded diagnostics
///   boostfgl diagnose runs/cora/fedavg --diagnostics dilution --replay
///                                                   not recorded: train again, same result
///   boostfgl diagnose runs/cora/fedavg --by minority*heterophilous --by degree:4
///                                                   accuracy by groups, with intervals
///   boostfgl diagnose demo --by minority --metric recall:6 --metric error --per-round
///                                                   recall of the class `6` and error, round by round
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = listed_below(),
    mut_arg("seeds", |seeds| seeds.help("How many seeds (5 means 0,1,2,3,4), or which ones as a \
        list [default: 1]")),
    mut_arg("out", |out| out.help("Write the trained run to this folder, as `run` does \
        [default: nothing is written]"))
)]
pub(crate) struct Diagnose {
    /// Folder of a run, or a dataset: a catalogue name, a path to your own files, or
    /// generate:PRESET [default: demo]
    #[arg(value_name = "RUN|DATA")]
    target: Option<String>,

    /// Diagnostics, as a list of names or all [default: all; of a run what was recorded; with --by
    /// none]
    #[arg(long, value_name = "LIST")]
    diagnostics: Option<String>,

    /// Divide the test nodes into groups and measure each; may be repeated
    #[arg(long, value_name = "GROUPING")]
    by: Vec<String>,

    #[arg(long, value_name = "NAME", requires = "by", help = metric_help())]
    metric: Vec<String>,

    /// Smallest number of counted nodes for a group to be ranked; smaller groups are shown, but are
    /// never the worst and not part of difference and ratio
    #[arg(long, value_name = "N", requires = "by", default_value_t = MIN_GROUP)]
    min_group: usize,

    /// Also measure groups after every evaluated round: on DATA, or on a RUN with --replay
    #[arg(long, requires = "by")]
    per_round: bool,

    /// Train a RUN again from its config.toml and partition.csv; the folder is not changed
    #[arg(long)]
    replay: bool,

    /// Federated method (`boostfgl methods`) [default: fedavg]
    #[arg(long, short, value_name = "METHOD")]
    method: Option<String>,

    #[command(flatten)]
    protocol: ProtocolFlags,

    #[command(flatten)]
    resources: ResourceFlags,

    #[command(flatten)]
    output: OutputFlags,

    #[command(flatten)]
    printing: PrintFlags,
}

/// Checks that a target is a dataset. If it is the name of a command, the advice is that command.
fn check_dataset(target: &str) -> Result<(), Error> {
    let Err(error) = diagnose::dataset(target) else { return Ok(()) };
    match (error, output::command_instead(target)) {
        (Error::Usage { place, reason, .. }, Some(advice)) => {
            Err(Error::usage(place, reason, advice))
        }
        (error, _) => Err(error),
    }
}

/// The diagnostics and the metrics by group, below the options.
fn listed_below() -> String {
    let mut text = format!("Diagnostics (--diagnostics):\n{}", diagnostics_list());
    text.push_str("\nMetrics of groups (--metric):\n");
    for (form, meaning) in MetricRegistry::builtin().forms() {
        text.push_str(&format!("  {form:<12} {meaning}\n"));
    }
    text.trim_end().to_owned()
}

/// The help of `--metric`, with every metric that there is.
fn metric_help() -> String {
    let forms: Vec<String> =
        MetricRegistry::builtin().forms().into_iter().map(|(form, _)| form).collect();
    format!(
        "What to measure on groups: {} (a class that `boostfgl data show` names); may be \
         repeated [default: accuracy]",
        forms.join(", ")
    )
}

impl Diagnose {
    pub(crate) fn execute(&self) -> Result<()> {
        let (wanted, inquiry) = self.inquiry()?;
        let run = self.target.as_deref().map(Path::new).filter(|path| diagnose::is_run(path));
        match run {
            Some(path) => {
                self.refuse_training_flags(path)?;
                let run = RecordedRun::open(path)?;
                if self.replay {
                    self.replay(&run, &inquiry)
                } else {
                    self.read(&run, wanted.as_deref(), &inquiry)
                }
            }
            None => self.train(&inquiry),
        }
    }

    /// The named diagnostics, if any, and the whole request.
    fn inquiry(&self) -> Result<(Option<Vec<DiagnosticKind>>, Inquiry)> {
        let named = self.diagnostics.as_deref().map(parse_diagnostics).transpose()?;
        let wanted = named.or_else(|| (!self.by.is_empty()).then(Vec::new));
        let groupings = self.by.iter().map(|text| Grouping::parse(text)).collect::<Result<_, _>>();
        let metrics =
            self.metric.iter().map(|name| FrameMetric::parse(name)).collect::<Result<Vec<_>, _>>();
        let mut metrics = metrics.map_err(Error::from)?;
        if metrics.is_empty() {
            metrics.push(FrameMetric::accuracy());
        }
        let inquiry = Inquiry {
            diagnostics: wanted.clone().unwrap_or_else(|| DiagnosticKind::ALL.to_vec()),
            groupings: groupings.map_err(Error::from)?,
            metrics,
            min_group: self.min_group,
            per_round: self.per_round,
        };
        Ok((wanted, inquiry))
    }

    /// Refuses training flags for a recorded run: they would have no effect.
    fn refuse_training_flags(&self, run: &Path) -> Result<()> {
        let own = [
            ("--method", self.method.is_some()),
            ("--out", self.output.out.is_some()),
            ("--overwrite", self.output.overwrite),
        ];
        let own = own.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag);
        if let Some(flag) = own.or_else(|| self.protocol.given()) {
            let reason =
                format!("expected a dataset to train on, found {}, which is a run", run.display());
            return Err(Error::usage(
                flag,
                reason,
                "Leave the flag out, or name the dataset instead of the run.",
            )
            .into());
        }
        if self.per_round && !self.replay {
            let reason =
                "expected --replay as well, since predictions.csv has only the reported round";
            return Err(Error::usage(
                "--per-round",
                reason,
                "Add --replay to train the run again.",
            )
            .into());
        }
        Ok(())
    }

    /// Answers from the folder.
    fn read(
        &self,
        run: &RecordedRun,
        wanted: Option<&[DiagnosticKind]>,
        inquiry: &Inquiry,
    ) -> Result<()> {
        run.changes().iter().for_each(|change| output::note(change));
        let frames = if inquiry.groupings.is_empty() {
            self.check_data(run)?;
            Vec::new()
        } else {
            let config = run.config()?;
            let (_, graph) = self.protocol.data_flags.load(&config, self.printing.quiet)?;
            self.compare_data(run, &graph)?;
            run.frames(&graph, inquiry)?
        };
        let diagnostics =
            if wanted.is_some_and(<[_]>::is_empty) { None } else { Some(run.diagnostics(wanted)?) };
        let recorded = diagnostics.as_ref().map(DiagnosticsFile::recorded).unwrap_or_default();
        let missing: Vec<&str> = inquiry
            .diagnostics
            .iter()
            .filter(|kind| !recorded.contains(kind))
            .map(|kind| kind.name())
            .collect();
        let mut last = format!("Recorded in {}", run.path().display());
        if !missing.is_empty() {
            last.push_str(&format!(
                "; not recorded: {}, which --replay computes",
                missing.join(", ")
            ));
        }
        let summary = run.summary().clone();
        self.print(&Answer { summary, diagnostics, frames, courses: Vec::new() }, inquiry, &last)
    }

    /// Recorded diagnostics do not need the data; they are compared if they are on this machine.
    fn check_data(&self, run: &RecordedRun) -> Result<()> {
        match self.load_offline(run) {
            Ok(graph) => self.compare_data(run, &graph),
            Err(error) => {
                output::note(&format!(
                    "cannot check whether the data have changed, because they cannot be read: {error}"
                ));
                Ok(())
            }
        }
    }

    /// The graph of a run, if it can be read without the network.
    fn load_offline(&self, run: &RecordedRun) -> boostfgl::Result<Graph> {
        let lookup = self.protocol.data_flags.lookup();
        let config = run.config()?;
        config.check_one_graph()?;
        Data::named(&config.dataset)?.load(&lookup, None, &mut |_, _| {})
    }

    /// Refuses data that differ from those of the run; notes what cannot be compared.
    fn compare_data(&self, run: &RecordedRun, graph: &Graph) -> Result<()> {
        let notes = run.check_data(graph.name(), &boostfgl::fingerprint::of(graph))?;
        notes.iter().for_each(|note| output::note(note));
        Ok(())
    }

    /// Trains a run again.
    fn replay(&self, run: &RecordedRun, inquiry: &Inquiry) -> Result<()> {
        let answer = self.run(run.config()?, inquiry, |experiment, progress| {
            run.replay(experiment, inquiry, progress)
        })?;
        let digest = &answer.summary.digest[..12];
        let last = format!(
            "Trained again with digest {digest}, as in {}; the folder was not changed",
            run.path().display()
        );
        self.print(&answer, inquiry, &last)
    }

    /// Trains on a dataset.
    fn train(&self, inquiry: &Inquiry) -> Result<()> {
        self.target.as_deref().map_or(Ok(()), check_dataset)?;
        if self.replay {
            let reason = format!(
                "expected the folder of a run, found {}",
                self.target.as_deref().unwrap_or("none")
            );
            return Err(Error::usage(
                "--replay",
                reason,
                "Leave --replay out: a dataset is always trained on.",
            )
            .into());
        }
        let mut layers = self.protocol.layers(self.target.as_deref(), self.method.as_deref())?;
        if !layers.sets("seeds") {
            layers.set("seeds", vec![0i64], "--seeds")?;
        }
        let (config, _) = layers.resolve()?;
        let answer = self.run(config, inquiry, |experiment, progress| {
            experiment.check_inputs()?;
            // Without a folder there is nothing to save, and Ctrl-C ends the program at once.
            let Some(out) = &self.output.out else {
                return diagnose::train(experiment, inquiry, progress, None);
            };
            let folder = RunFolder::create(out, self.output.overwrite).map_err(unusable)?;
            let options = CheckpointOptions {
                stop: Some(signals::stop_flag()),
                ..CheckpointOptions::default()
            };
            diagnose::train(experiment, inquiry, progress, Some((&folder, options)))
        })?;
        let digest = &answer.summary.digest[..12];
        let last = match &self.output.out {
            Some(out) => format!("Written to {} (digest {digest})", out.display()),
            None => format!("Nothing written (digest {digest}); --out DIR saves the run"),
        };
        self.print(&answer, inquiry, &last)
    }

    /// Reads the data and trains within the resources.
    fn run(
        &self,
        config: Checked<Config>,
        inquiry: &Inquiry,
        train: impl FnOnce(&Experiment, &mut Rounds) -> boostfgl::Result<Answer> + Send,
    ) -> Result<Answer> {
        self.resources.limit()?;
        let pool = self.resources.pool()?;
        let (_, graph) = self.protocol.data_flags.load(&config, self.printing.quiet)?;
        let experiment = pool.install(|| Experiment::new(config, graph))?;
        self.resources.check(&experiment, &pool)?;
        let config = experiment.config();
        // Before `train`, so that an invalid request leaves no folder behind.
        inquiry.check(experiment.graph(), config.partition.clients)?;
        let mut rounds =
            Rounds::new(&config.method, config.seeds.len(), config.fed.rounds, self.printing.quiet);
        Ok(pool.install(|| train(&experiment, &mut rounds))?)
    }

    fn print(&self, answer: &Answer, inquiry: &Inquiry, last: &str) -> Result<()> {
        let Answer { summary, diagnostics, frames, courses } = answer;
        if self.printing.json {
            let document = json!({
                "dataset": summary.dataset,
                "method": summary.label(),
                "digest": summary.digest,
                "diagnostics": diagnostics.as_ref().map(|found| found.only(&inquiry.diagnostics)),
                "frames": frames,
                "rounds": courses,
            });
            return output::print(&format!("{}\n", serde_json::to_string_pretty(&document)?));
        }
        let (title, style) = (title(summary), output::style());
        let mut parts = Vec::new();
        if let Some(diagnostics) = diagnostics {
            let report = DiagnosisReport::new(&title, diagnostics)
                .only(&inquiry.diagnostics)
                .with_run(summary);
            parts.push(report.text(style));
        }
        parts.extend(frames.iter().map(|frames| FrameTable::of_seeds(&title, frames).text(style)));
        parts.extend(courses.iter().map(|course| course.text(&title, style)));
        let mut about: String =
            summary.about().iter().map(|(name, text)| output::explained(name, text)).collect();
        for warning in &summary.warnings {
            about.push_str(&output::explained("Warning", &warning.sentence(summary.seeds.len())));
        }
        parts.extend(Some(about).filter(|about| !about.is_empty()));
        parts.push(format!("{last}\n"));
        output::print(&parts.join("\n"))
    }
}
