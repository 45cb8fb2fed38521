//! `boostfgl report`.

use crate::output;
use anyhow::Result;
use boostfgl::Error;
use boostfgl::fairness::frame::MIN_GROUP;
use boostfgl::report::chart::Chart;
use boostfgl::report::export::{Format, PNG_WIDTH, export, png, standalone};
use boostfgl::report::figure::{FIGURES, Figure};
use boostfgl::report::{Results, RunFolder, write_atomic};
use boostfgl::sources::Sources;
use clap::Args;
use std::path::{Path, PathBuf};

/// Look instead of read: one HTML file from one or more runs.
///
/// RUN is the folder of a run, of `boostfgl compare` or of `boostfgl reproduce`, a folder that
/// holds such folders, or the JSON file of an experiment. Runs of one dataset and one protocol are
/// compared in pairs, the first being the base; others are shown apart, with what sets them apart.
/// The page holds everything it shows: it opens from disk, on a phone, in the dark and on paper.
///
/// Examples:
///   boostfgl report runs/cora-fedavg                  one run: runs/cora-fedavg/report.html
///   boostfgl report runs/cora-fedavg runs/cora-moon   two runs side by side: report.html
///   boostfgl report runs/compare-cora --open          a comparison, shown in the browser
///   boostfgl report runs/cora-fedavg --figure gsd,epr figures as SVG, PNG and CSV
///   boostfgl report --figure list                     what figures there are
///   boostfgl report runs/cora-fedavg --export parquet,latex,tensorboard
///                                                     tables for other programs
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Report {
    /// Folders of runs, comparisons or reproductions
    #[arg(value_name = "RUN", required_unless_present = "figure")]
    runs: Vec<PathBuf>,

    /// File of the report, or folder of figures or tables [default: report.html, figures/ or export/ in RUN, or here]
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Write figures instead of the page: names, all, or list to see them
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    figure: Vec<String>,

    /// Write tables for other programs instead of the page: all, or a list of csv, json, parquet, latex, markdown, tensorboard
    #[arg(long, value_name = "FORMATS", conflicts_with_all = ["figure", "open"])]
    export: Option<String>,

    /// Show groups with fewer test nodes, but do not rank them: never the worst, in no sentence
    #[arg(long, value_name = "N", default_value_t = MIN_GROUP)]
    min_group: usize,

    /// Show the page in the browser
    #[arg(long)]
    open: bool,
}

impl Report {
    pub(crate) fn execute(&self) -> Result<()> {
        if self.figure.iter().any(|name| name == "list") {
            let line = |figure: &Figure| format!("{:<12} {}\n", figure.name, figure.about);
            return output::print(&FIGURES.iter().map(line).collect::<String>());
        }
        if self.runs.is_empty() {
            let advice = "Name a folder: boostfgl report runs/cora-fedavg --figure gsd.";
            return Err(Error::usage("RUN", "expected at least one folder, found none", advice).into());
        }
        let figures = self.figures()?;
        let formats = self.export.as_deref().map(Format::parse).transpose().map_err(Error::from)?;
        let sources = Sources::find(&self.runs)?;
        sources.problems.iter().for_each(|problem| output::note(problem));
        for view in &sources.views {
            view.problems.iter().for_each(|problem| output::note(&format!("{}: {problem}", view.path.display())));
        }
        match &formats {
            Some(formats) => self.tables(formats, &sources),
            None if figures.is_empty() => self.page(sources),
            None => self.draw(&figures, &sources),
        }
    }

    /// The figures that are asked for.
    fn figures(&self) -> Result<Vec<&'static Figure>> {
        if self.figure.iter().any(|name| name == "all") {
            return Ok(FIGURES.iter().collect());
        }
        let named = |name: &String| {
            Figure::named(name).ok_or_else(|| {
                let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
                let near = boostfgl::graph::nearest(name, names.iter().copied());
                let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
                let reason = format!("expected one of {}, found `{name}`{near}", names.join(", "));
                Error::usage("--figure", reason, "boostfgl report --figure list tells what they show.").into()
            })
        };
        self.figure.iter().map(named).collect()
    }

    /// Writes the page.
    fn page(&self, sources: Sources) -> Result<()> {
        let to = self.place(RunFolder::REPORT);
        let shown = (sources.views.len(), sources.comparisons.len() + sources.results.len());
        write_new(&to, sources.report().with_min_group(self.min_group).html().as_bytes())?;
        let what = match shown {
            (0, others) => counted(others, "comparison or experiment"),
            (runs, 0) => counted(runs, "run"),
            (runs, others) => format!("{}, {}", counted(runs, "run"), counted(others, "comparison or experiment")),
        };
        output::print(&format!("Report of {what}: {}\n", to.display()))?;
        if self.open { open(&to) } else { Ok(()) }
    }

    /// Draws figures, each as SVG, PNG and CSV.
    fn draw(&self, figures: &[&'static Figure], sources: &Sources) -> Result<()> {
        let folder = self.place("figures");
        let mut told = String::new();
        for figure in figures {
            let charts = charts(figure, sources);
            if charts.is_empty() && self.figure.iter().any(|name| name == figure.name) {
                return Err(nothing_to_draw(figure).into());
            }
            for (at, chart) in charts.iter().enumerate() {
                let name =
                    if charts.len() == 1 { figure.name.to_owned() } else { format!("{}-{}", figure.name, at + 1) };
                let written = write_figure(&folder, &name, chart)?;
                told.push_str(&format!("{}  {}\n", written.display(), chart.title));
            }
        }
        if told.is_empty() {
            let advice = "Record diagnostics with the run: boostfgl run DATA --diagnostics all.";
            return Err(Error::usage("--figure all", "expected something to draw, found nothing", advice).into());
        }
        output::print(&told)
    }

    /// Writes tables of the runs for other programs.
    fn tables(&self, formats: &[Format], sources: &Sources) -> Result<()> {
        if sources.views.is_empty() {
            let reason = "expected runs, found comparisons or experiments alone";
            let advice = "A comparison has its tables already: comparison.csv, .json, .tex and .md in its folder.";
            return Err(Error::usage("--export", reason, advice).into());
        }
        let written = export(&sources.views, formats, &self.place("export")).map_err(super::run::unusable)?;
        output::print(&written.iter().map(|path| format!("{}\n", path.display())).collect::<String>())
    }

    /// Where something goes: where the user says, else into the one folder, else here.
    fn place(&self, name: &str) -> PathBuf {
        match (&self.out, &self.runs[..]) {
            (Some(out), _) => out.clone(),
            (None, [only]) if only.is_dir() => only.join(name),
            (None, _) => PathBuf::from(name),
        }
    }
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A figure from everything that was found: experiments that measured it, and runs.
fn charts(figure: &Figure, sources: &Sources) -> Vec<Chart> {
    let of_results = sources.results.iter().filter(|results| results.name == figure.experiment);
    let mut charts: Vec<Chart> = of_results.flat_map(|results| figure.charts(results)).collect();
    if !sources.views.is_empty() {
        charts.extend(figure.charts(&Results::of_runs(figure.experiment, &sources.views)));
        if figure.name == "heatmap" {
            charts.extend(boostfgl::report::page::sweeps(&sources.views));
        }
    }
    charts
}

fn nothing_to_draw(figure: &Figure) -> Error {
    let reason =
        format!("expected what `{}` shows ({}), found nothing of it in the folders", figure.name, figure.about);
    let advice = match figure.name {
        "gsd" | "gsd-q" | "epr" | "khop" | "dilution" | "alignment" | "attribution" | "hardness" => {
            "Record it with the run: boostfgl run DATA --diagnostics all."
        }
        "heatmap" => {
            "Give at least three runs that differ in one or two settings, or the folder of boostfgl reproduce."
        }
        _ => "Give the folder of boostfgl reproduce that holds its results.",
    };
    Error::usage("--figure", reason, advice)
}

/// SVG, PNG and CSV of a chart; the path without its ending is told.
fn write_figure(folder: &Path, name: &str, chart: &Chart) -> Result<PathBuf> {
    let base = folder.join(name);
    let svg = standalone(&chart.svg);
    write_new(&base.with_extension("svg"), svg.as_bytes())?;
    write_new(&base.with_extension("png"), &png(&svg, PNG_WIDTH).map_err(Error::from)?)?;
    write_new(&base.with_extension("csv"), chart.csv().as_bytes())?;
    Ok(base)
}

/// Writes a file, and its folder if need be.
fn write_new(to: &Path, bytes: &[u8]) -> Result<()> {
    if to.is_dir() {
        let advice = "Name a file inside the folder.";
        return Err(
            Error::usage(to.display().to_string(), "expected the name of a file, found a folder", advice).into()
        );
    }
    if let Some(parent) = to.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        boostfgl::disk::create_dir_all(parent).map_err(super::run::unusable)?;
    }
    Ok(write_atomic(to, bytes).map_err(super::run::unusable)?)
}

/// Hands a file to whatever shows web pages here.
fn open(path: &Path) -> Result<()> {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    match std::process::Command::new(program).arg(path).status() {
        Ok(_) => Ok(()),
        Err(error) => {
            let reason = format!("expected `{program}` to show it, found: {error}");
            let advice = "Open the file in a browser by hand.";
            Err(Error::usage(path.display().to_string(), reason, advice).into())
        }
    }
}
