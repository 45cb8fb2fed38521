//! `boostfgl data list|formats|show|check|import|export|fetch|generate`.

use super::check;
use super::import::Import;
use crate::args::DataFlags;
use crate::output::{self, thousands};
use crate::progress::Phases;
use anyhow::Result;
use boostfgl::data::read_located;
use boostfgl::datasets::catalogue::{self, DATASETS, Dataset};
use boostfgl::datasets::health::Health;
use boostfgl::datasets::readers::{Format, flat_npz};
use boostfgl::graph::generator::{self, PRESETS};
use boostfgl::graph::stats::Stats;
use boostfgl::graph::{self, Graph};
use boostfgl::{Data as Named, Error, Http};
use clap::{Args, Subcommand};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// List, show, check, fetch, import, export and generate graphs
#[derive(Debug, Args)]
pub(crate) struct Data {
    #[command(flatten)]
    flags: DataFlags,

    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the datasets and generator presets, and which are on this machine
    List,
    /// List the file formats that are read, and what each of them needs
    Formats,
    /// Show facts and statistics of a dataset
    ///
    /// Downloads nothing: for a dataset that is not on this machine, shows the entry of the
    /// catalogue and how to get the rest.
    Show {
        /// A catalogue name, a path, or generate:PRESET
        data: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Check the files of a dataset against their SHA-256 and counts, or read a path and list its
    /// problems and what is unusual: duplicates, hubs, gaps, scales, rare classes
    Check {
        /// A catalogue name, a path, or generate:PRESET
        data: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Download a dataset and verify it
    Fetch {
        /// A catalogue name
        data: String,
    },
    Import(Box<Import>),
    /// Write a dataset to one flat npz file, for other programs
    Export {
        /// A catalogue name, a path, or generate:PRESET
        data: String,
        /// File to write
        #[arg(long, value_name = "FILE.npz")]
        to: PathBuf,
        /// Replace an existing file
        #[arg(long)]
        overwrite: bool,
    },
    /// Generate a graph from a preset and write it to one file
    Generate {
        /// The preset (`boostfgl data list`)
        preset: String,
        /// File to write
        #[arg(long, value_name = "FILE.npz")]
        to: PathBuf,
        /// Seed of the generator [default: the preset's]
        #[arg(long)]
        seed: Option<u64>,
        /// Replace an existing file
        #[arg(long)]
        overwrite: bool,
    },
}

impl Data {
    pub(crate) fn execute(&self) -> Result<()> {
        match &self.action {
            Action::List => output::print(&self.list()),
            Action::Formats => output::print(&formats()),
            Action::Show { data, json } => self.show(data, *json),
            Action::Check { data, json } => self.check(data, *json),
            Action::Fetch { data } => self.fetch(data),
            Action::Import(import) => import.execute(),
            Action::Export { data, to, overwrite } => {
                output::check_new_file(to, *overwrite)?;
                write(&self.flags.load_named(data, false)?.1, to)
            }
            Action::Generate { preset, to, seed, overwrite } => {
                output::check_new_file(to, *overwrite)?;
                let preset = generator::preset(preset).map_err(Error::from)?;
                let mut phases = Phases::new(false);
                let graph = generator::generate(
                    preset.name,
                    &preset.spec,
                    seed.unwrap_or(preset.seed),
                    &mut |phase, share| {
                        phases.show(phase, share);
                    },
                );
                drop(phases);
                write(&graph.map_err(Error::from)?, to)
            }
        }
    }

    fn list(&self) -> String {
        let lookup = self.flags.lookup();
        let mut out = format!(
            "{:<20} {:>9} {:>10} {:>8} {:>7}  {}\n",
            "Dataset", "nodes", "edges", "features", "classes", "here"
        );
        for d in DATASETS {
            let here = match lookup.locate(d) {
                Ok(located) if located.missing.contains(&"node-feat.csv.gz") => {
                    "without features (planted)"
                }
                Ok(_) => "yes",
                Err(_) => "no: `boostfgl data fetch` it",
            };
            let c = &d.counts;
            let numbers = [c.nodes, c.edges, c.features, c.classes].map(thousands);
            let [nodes, edges, features, classes] = numbers;
            let _ = writeln!(
                out,
                "{:<20} {nodes:>9} {edges:>10} {features:>8} {classes:>7}  {here}",
                d.name
            );
        }
        out.push_str("\nGenerated (no files needed)\n");
        for p in PRESETS {
            let (s, columns) = (&p.spec, p.spec.features.columns());
            let [nodes, edges, features, classes] =
                [s.nodes, s.edges, columns, s.classes].map(thousands);
            let _ = writeln!(
                out,
                "{:<20} {nodes:>9} {edges:>10} {features:>8} {classes:>7}  {}",
                p.name, p.description
            );
        }
        out.push_str(
            "\nYour own: a folder with nodes.csv (id,label,features…) and edges.csv \
            (src,dst[,weight]), or any format that `boostfgl data formats` lists.\n",
        );
        out
    }

    fn show(&self, name: &str, json: bool) -> Result<()> {
        let data = Named::named(name)?;
        let Some(graph) = self.load_offline(&data)? else { return show_catalogued(&data, json) };
        let stats = Stats::of(&graph);
        if json {
            let about = match data {
                Named::Catalogued(dataset) => serde_json::to_value(dataset)?,
                _ => serde_json::Value::Null,
            };
            let document =
                serde_json::json!({"name": graph.name(), "statistics": stats, "catalogue": about});
            return output::print(&format!("{}\n", serde_json::to_string_pretty(&document)?));
        }
        let mut out = format!("{}\n", graph.name());
        if let Named::Catalogued(dataset) = data {
            about(dataset, &mut out);
        }
        describe(&graph, &stats, &mut out);
        output::print(&out)
    }

    /// The graph, if it can be read without the network.
    fn load_offline(&self, data: &Named) -> Result<Option<Graph>> {
        let mut phases = Phases::new(false);
        match data.load(&self.flags.lookup(), None, &mut |phase, share| phases.show(phase, share)) {
            Ok(graph) => Ok(Some(graph)),
            Err(Error::Graph(graph::Error::NotFound { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn check(&self, name: &str, json: bool) -> Result<()> {
        let (published, health) = match Named::named(name)? {
            Named::Catalogued(dataset) => {
                let (text, graph) = self.check_published(dataset)?;
                (Some(text), Health::of(&graph, None))
            }
            Named::Path(path) => (None, check::of_path(&path)?),
            Named::Generated(_) => (None, Health::of(&self.flags.load_named(name, false)?.1, None)),
        };
        if json {
            let document = serde_json::json!({"name": name, "health": health});
            return output::print(&format!("{}\n", serde_json::to_string_pretty(&document)?));
        }
        output::print(&published.unwrap_or_else(|| check::described(name, &health)))
    }

    /// Compares the files and counts of a dataset with those that were published.
    fn check_published(&self, dataset: &'static Dataset) -> Result<(String, Graph)> {
        let located = self.flags.lookup().locate(dataset).map_err(Error::from)?;
        let unknown = located.check().map_err(Error::from)?.len();
        let graph = read_located(&located)?;
        let differences = catalogue::verify_counts(&graph, dataset);
        if let Some(first) = differences.first() {
            let error = graph::Error::inconsistent(
                located.path.display().to_string(),
                "the published counts",
                first,
            );
            return Err(Error::from(error).into());
        }
        let mut out =
            format!("{}: {} files as published", dataset.name, located.files.len() - unknown);
        if unknown > 0 {
            let _ = write!(out, ", {unknown} without a known checksum");
        }
        out.push_str("; counts agree\n");
        if !located.missing.is_empty() {
            let _ = writeln!(out, "missing: {} ({})", located.missing.join(", "), graph.name());
        }
        Ok((out, graph))
    }

    fn fetch(&self, name: &str) -> Result<()> {
        let Named::Catalogued(dataset) = Named::named(name)? else {
            let reason = format!(
                "expected a dataset of the catalogue, found `{name}`, which needs no download"
            );
            let advice = "`boostfgl data list` shows what can be fetched.";
            return Err(Error::usage("data fetch", reason, advice).into());
        };
        let mut phases = Phases::new(false);
        let located =
            self.flags.lookup().fetch(dataset, &Http::default(), &mut |file, done, total| {
                let share = total.map_or(0.0, |total| done as f64 / total.max(1) as f64);
                phases.show(&format!("fetching {file}"), share);
            });
        drop(phases);
        let located = located.map_err(Error::from)?;
        located.check().map_err(Error::from)?;
        output::print(&format!("{}: {}\n", dataset.name, located.path.display()))
    }
}

pub(super) fn write(graph: &Graph, to: &Path) -> Result<()> {
    flat_npz::write(graph, to).map_err(Error::from)?;
    let [nodes, edges] = [graph.len(), graph.adjacency().edges()].map(thousands);
    output::print(&format!(
        "{}: {nodes} nodes, {edges} edges; use it as `boostfgl run {}`\n",
        to.display(),
        to.display()
    ))
}

/// Adds the catalogue's facts on a dataset to a text.
fn about(dataset: &Dataset, out: &mut String) {
    let _ = writeln!(out, "  {}", dataset.title);
    let _ = writeln!(out, "  origin     {}{}", dataset.origin, dataset.archive.unwrap_or_default());
    let _ = writeln!(out, "  licence    {}", dataset.licence);
    let [train, val, test] = dataset.split.map(|s| (100.0 * s).round());
    let _ = writeln!(
        out,
        "  protocol   {train}/{val}/{test} % train/val/test, learning rate {}",
        dataset.learning_rate
    );
    if !dataset.flaws.is_empty() {
        let _ = writeln!(out, "  flaws      {}", dataset.flaws);
    }
    out.push('\n');
}

/// Prints the catalogue's entry of a dataset that is not on this machine.
fn show_catalogued(data: &Named, json: bool) -> Result<()> {
    let Named::Catalogued(dataset) = data else { return Ok(()) };
    if json {
        let document =
            serde_json::json!({"name": dataset.name, "statistics": null, "catalogue": dataset});
        return output::print(&format!("{}\n", serde_json::to_string_pretty(&document)?));
    }
    let mut out = format!("{}\n", dataset.name);
    about(dataset, &mut out);
    let c = &dataset.counts;
    for (name, count) in
        [("nodes", c.nodes), ("edges", c.edges), ("features", c.features), ("classes", c.classes)]
    {
        let _ = writeln!(out, "  {name:<14} {} (by the catalogue)", thousands(count));
    }
    out.push_str(
        "\nNot on this machine, so degrees, homophily and class sizes are not known here.\n",
    );
    let _ = writeln!(out, "  to get it: boostfgl data fetch {}", dataset.name);
    output::print(&out)
}

/// Every format with what it needs.
fn formats() -> String {
    let mut out = String::from(
        "Formats, detected by the names of files and arrays; every command accepts such a path as \
         DATA\n",
    );
    for format in Format::all() {
        let _ = writeln!(out, "\n{:<15} {}", format.name(), format.description());
        let _ = writeln!(out, "{:<15}   needs     {}", "", format.needs());
        if !format.optional().is_empty() {
            let _ = writeln!(out, "{:<15}   may have  {}", "", format.optional());
        }
    }
    out.push_str("\n`boostfgl data import PATH --to FILE.npz` converts any of them to flat-npz.\n");
    out
}

/// Adds the statistics of a graph to a text.
fn describe(graph: &Graph, stats: &Stats, out: &mut String) {
    let rows: [(&str, String); 9] = [
        ("nodes", thousands(stats.nodes)),
        (
            "edges",
            format!(
                "{} (mean degree {:.2}, max {})",
                thousands(stats.edges),
                stats.mean_degree,
                stats.max_degree
            ),
        ),
        ("components", thousands(stats.components)),
        ("isolated", thousands(stats.isolated)),
        (
            "features",
            format!("{} ({:.2} % not zero)", thousands(stats.features), 100.0 * stats.non_zeros),
        ),
        ("classes", thousands(stats.classes)),
        ("unlabelled", thousands(stats.unlabelled)),
        (
            "homophily",
            format!(
                "{} by edge, {} by node",
                three_decimals(stats.edge_homophily),
                three_decimals(stats.node_homophily)
            ),
        ),
        ("heterophilous", three_decimals(stats.heterophilous)),
    ];
    for (name, value) in rows {
        let _ = writeln!(out, "  {name:<14} {value}");
    }
    out.push_str("  class sizes\n");
    let largest = stats.class_counts.iter().copied().max().unwrap_or(1).max(1);
    for (name, &count) in graph.labels().names().iter().zip(&stats.class_counts) {
        let bar = "█".repeat((40 * count).div_ceil(largest));
        let _ = writeln!(out, "    {name:<20} {:>9}  {bar}", thousands(count));
    }
}

/// A share with three decimals, or a dash.
fn three_decimals(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{share:.3}"))
}
