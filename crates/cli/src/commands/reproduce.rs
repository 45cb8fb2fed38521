//! `boostfgl reproduce`.

use super::run::unusable;
use crate::args::{DataFlags, PrintFlags, ResourceFlags};
use crate::output;
use crate::progress::Cells;
use anyhow::Result;
use boostfgl::Error;
use boostfgl::grid::{CellStore, Resources};
use boostfgl::report::write_atomic;
use boostfgl_reproduce::{Laboratory, NAMES, Plan, Ran, Results, claims, document, origin};
use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

/// Run the paper's experiments and evaluate its claims
///
/// Each experiment is one file in crates/reproduce/plans with datasets, methods, seeds, varied
/// settings and diagnostics. Finished cells are cached in the folder and shared by all experiments, so an
/// interrupted command continues where it stopped. Datasets that are not on this machine are
/// skipped with a note. The output ends with a verdict on every claim that was measured.
///
/// `all` stands for every experiment. `document` runs nothing: it writes reproduction.md again
/// from the result files in the folder.
///
/// Examples:
///   boostfgl reproduce --list                         the experiments
///   boostfgl reproduce table1 --quick                 one seed
///   boostfgl reproduce ablation --seeds 10            more seeds than the paper's five
///   boostfgl reproduce all --quick                    small versions of all
///   boostfgl reproduce document --out docs/reproduction --document docs/reproduction.md
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    mut_arg("json", |json| json.help("Print the verdicts as one JSON document instead of tables"))
)]
pub(crate) struct Reproduce {
    /// Experiments by name, `all`, or `document`
    #[arg(value_name = "EXPERIMENT")]
    names: Vec<String>,

    /// List the experiments
    #[arg(long)]
    list: bool,

    /// Smaller and faster: one seed, fewer datasets and methods in long experiments, shorter
    /// training of AdaFGL
    #[arg(long)]
    quick: bool,

    /// Datasets to run on instead of the experiment's own
    #[arg(long, value_name = "a,b,c", value_delimiter = ',')]
    datasets: Option<Vec<String>>,

    /// Number of seeds instead of the experiment's own
    #[arg(long, value_name = "N")]
    seeds: Option<usize>,

    /// Run nothing: use the finished cells and list the missing ones
    #[arg(long)]
    finished: bool,

    /// Folder for cells, results and the document; an earlier one is continued [default:
    /// runs/reproduce, with --quick runs/reproduce-quick]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,

    /// File of the document [default: reproduction.md in the folder]
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,

    #[command(flatten)]
    data_flags: DataFlags,

    #[command(flatten)]
    resources: ResourceFlags,

    #[command(flatten)]
    printing: PrintFlags,
}

/// The argument that runs nothing.
const DOCUMENT: &str = "document";

impl Reproduce {
    pub(crate) fn execute(&self) -> Result<()> {
        if self.list {
            return output::print(&listed()?);
        }
        let names = self.wanted()?;
        if names.is_empty() {
            return self.conclude(&[], Instant::now());
        }
        let out = self.folder();
        self.check_results(&names)?;
        let plans =
            names.iter().map(|name| Ok((*name, self.plan(name)?))).collect::<Result<Vec<_>>>()?;
        let memory = self.resources.budget()?;
        let threads = self.resources.pool()?.current_num_threads();
        let resources =
            Resources { threads: NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN), memory };
        boostfgl::disk::create_dir_all(&out).map_err(unusable)?;
        let store = CellStore::open(&out).map_err(Error::from)?;
        let resources = (!self.finished).then_some(resources);
        let mut laboratory = Laboratory::new(self.data_flags.lookup(), store, resources);
        crate::signals::quit_with_note(
            "finished cells are saved; the same command continues with the rest",
        );
        let begun = Instant::now();
        let (mut ran, mut failed) = (Vec::new(), None);
        for (name, plan) in &plans {
            // An error of one experiment does not stop the others.
            match self.run(name, plan, &mut laboratory) {
                Ok(timed) => ran.push(timed),
                Err(error) if plans.len() == 1 => return Err(error),
                Err(error) => {
                    output::print_stderr(&format!("note: {name} did not run: {error}"));
                    failed = failed.or(Some(error));
                }
            }
        }
        match failed {
            Some(error) if ran.is_empty() => return Err(error),
            _ => self.conclude(&ran, begun)?,
        }
        failed.map_or_else(|| complete(&ran), Err)
    }

    /// The folder for everything.
    fn folder(&self) -> PathBuf {
        let usual = if self.quick { "runs/reproduce-quick" } else { "runs/reproduce" };
        self.out.clone().unwrap_or_else(|| PathBuf::from(usual))
    }

    /// Refuses to replace full results by those of `--quick`.
    fn check_results(&self, names: &[&str]) -> Result<()> {
        if !self.quick {
            return Ok(());
        }
        let folder = self.folder();
        for name in names {
            let path = folder.join(format!("{name}.json"));
            if Results::read(&path).is_ok_and(|results| !results.origin.quick) {
                let reason = format!(
                    "expected a folder without full results for --quick, found those of {name}"
                );
                let advice = "Choose another folder with --out, or leave --quick out.";
                return Err(Error::usage(folder.display().to_string(), reason, advice).into());
            }
        }
        Ok(())
    }

    /// The names of the experiments to run, each once; none for `document`.
    fn wanted(&self) -> Result<Vec<&'static str>> {
        if self.names.is_empty() {
            let reason = "expected the name of an experiment, found none";
            let advice = "`boostfgl reproduce --list` shows them; `boostfgl reproduce all \
                --quick` runs small versions of all.";
            return Err(Error::usage("reproduce", reason, advice).into());
        }
        let mut wanted = Vec::new();
        for name in &self.names {
            match name.as_str() {
                "all" => wanted.extend(NAMES),
                DOCUMENT if self.names.len() == 1 => {}
                DOCUMENT => {
                    let reason = "expected `document` alone, since it runs nothing, found \
                        other experiments";
                    return Err(Error::usage(
                        "reproduce",
                        reason,
                        "Every experiment writes the document anyway.",
                    )
                    .into());
                }
                name => wanted.push(known(name)?),
            }
        }
        let mut seen = Vec::new();
        wanted.retain(|name| {
            !seen.contains(name) && {
                seen.push(*name);
                true
            }
        });
        Ok(wanted)
    }

    fn plan(&self, name: &str) -> Result<Plan> {
        let mut plan = Plan::named(name)?;
        if let Some(datasets) = &self.datasets {
            let datasets =
                datasets.iter().map(|name| official(name)).collect::<Result<Vec<String>>>()?;
            // Named datasets replace those of `--quick`.
            plan.quick.datasets = None;
            plan = plan.on(&datasets);
        }
        if self.quick {
            plan = plan.quickly();
        }
        if let Some(seeds) = self.seeds {
            if !(1..=10_000).contains(&seeds) {
                let reason = format!("expected 1 to 10000, found {seeds}");
                return Err(Error::usage("--seeds", reason, "The paper has five.").into());
            }
            plan.seeds = seeds;
        }
        Ok(plan)
    }

    /// Runs one experiment, writes its files and prints its tables.
    fn run(&self, name: &str, plan: &Plan, laboratory: &mut Laboratory) -> Result<Timed> {
        if !self.printing.quiet {
            output::print_stderr(&format!("{name}: {}", plan.title));
            let smaller = if self.quick { Plan::named(name)?.smaller() } else { Vec::new() };
            if !smaller.is_empty() {
                output::print_stderr(&format!("{name}: --quick, with {}", smaller.join(", ")));
            }
        }
        let begun = Instant::now();
        let mut progress = Cells::new(self.printing.quiet);
        let ran = laboratory.run(
            name,
            plan,
            origin::here(self.command(name), self.quick),
            &mut progress,
        )?;
        drop(progress);
        write_atomic(self.folder().join(format!("{name}.json")), ran.results.to_json().as_bytes())
            .map_err(Error::from)?;
        write_atomic(self.folder().join(format!("{name}.csv")), ran.results.csv().as_bytes())
            .map_err(Error::from)?;
        let seconds = begun.elapsed().as_secs_f64();
        if !self.printing.json {
            let tables = document::tables(&ran.results);
            output::print(&format!("\n{} ({})\n\n{}", plan.title, plan.paper, tables))?;
        }
        Ok(Timed { ran, seconds })
    }

    /// The command that reproduces the results of an experiment, without local paths.
    fn command(&self, name: &str) -> String {
        let mut command = format!("boostfgl reproduce {name}");
        if self.quick {
            command.push_str(" --quick");
        }
        if let Some(datasets) = &self.datasets {
            command.push_str(&format!(" --datasets {}", datasets.join(",")));
        }
        if let Some(seeds) = self.seeds {
            command.push_str(&format!(" --seeds {seeds}"));
        }
        command
    }

    /// Writes the document of everything in the folder, and prints the verdicts on what was run.
    fn conclude(&self, ran: &[Timed], begun: Instant) -> Result<()> {
        let out = self.folder();
        let all = document::read_all(&out)?;
        if all.is_empty() {
            let place = out.display().to_string();
            let reason = "expected result files of experiments, such as table1.json, found none";
            return Err(Error::usage(
                place,
                reason,
                "Run an experiment first, or name its folder with --out.",
            )
            .into());
        }
        let path = self.document.clone().unwrap_or_else(|| out.join("reproduction.md"));
        write_atomic(&path, document::write(&all)?.as_bytes()).map_err(Error::from)?;
        let evaluated: Vec<Results> =
            if ran.is_empty() { all } else { ran.iter().map(|t| t.ran.results.clone()).collect() };
        let verdicts = claims::verdicts(&evaluated);
        if self.printing.json {
            let document = serde_json::json!({ "verdicts": verdicts, "document": path });
            return output::print(&format!("{}\n", serde_json::to_string_pretty(&document)?));
        }
        let mut text = format!("\nClaims of the paper\n\n{}\n", document::verdict_text(&verdicts));
        text.push_str(&spent(ran, begun));
        text.push_str(&format!(
            "Results and data of figures in {}; document: {}\n",
            out.display(),
            path.display()
        ));
        output::print(&text)
    }
}

/// An experiment that ran, and how long it took.
struct Timed {
    ran: Ran,
    seconds: f64,
}

/// The name of a dataset in the catalogue; other spellings and aliases are accepted.
fn official(name: &str) -> Result<String> {
    Ok(match boostfgl::Data::named(name)? {
        boostfgl::Data::Catalogued(dataset) => dataset.name.to_owned(),
        _ => name.to_owned(),
    })
}

/// The name of an experiment.
fn known(name: &str) -> Result<&'static str> {
    match NAMES.iter().find(|known| **known == name) {
        Some(known) => Ok(known),
        // The plan's own message suggests the nearest name.
        None => match Plan::named(name) {
            Err(error) => Err(error.into()),
            Ok(_) => unreachable!("every plan has a name"),
        },
    }
}

/// The experiments with their titles and numbers of cells.
fn listed() -> Result<String> {
    let mut text = String::new();
    for name in NAMES {
        let plan = Plan::named(name)?;
        let quick = plan.clone().quickly();
        text.push_str(&format!("{name:<12} {} ({})\n", plan.title, plan.paper));
        text.push_str(&format!(
            "{:<12} {} cells, {} with --quick\n",
            "",
            number_of_cells(&plan),
            number_of_cells(&quick)
        ));
    }
    Ok(text)
}

/// The number of cells of a plan.
fn number_of_cells(plan: &Plan) -> usize {
    plan.variants().iter().map(|variant| variant.datasets.len()).sum::<usize>()
        * plan.methods.len()
        * plan.seeds
}

/// A table of the time that each experiment took.
fn spent(ran: &[Timed], begun: Instant) -> String {
    if ran.is_empty() {
        return String::new();
    }
    let mut text = String::from("Time\n\n");
    for Timed { ran, seconds } in ran {
        let Ran { results, cells, reused, .. } = ran;
        text.push_str(&format!(
            "{:<14} {seconds:8.1} s   {cells} cells, {reused} of them reused\n",
            results.name
        ));
    }
    text.push_str(&format!("{:<14} {:8.1} s\n\n", "in all", begun.elapsed().as_secs_f64()));
    text
}

/// An error if a cell failed: the tables are printed, but they are incomplete. Cells over the
/// memory budget are not failures.
fn complete(ran: &[Timed]) -> Result<()> {
    let failed: Vec<&(usize, String)> =
        ran.iter().filter_map(|timed| timed.ran.failed.as_ref()).collect();
    let Some((_, first)) = failed.first() else { return Ok(()) };
    let cells = ran.iter().map(|timed| timed.ran.cells).sum();
    Err(Error::Incomplete {
        failed: failed.iter().map(|(n, _)| n).sum(),
        cells,
        first: first.clone(),
    }
    .into())
}
