//! `boostfgl report`.

use crate::output;
use anyhow::Result;
use boostfgl::Error;
use boostfgl::disk::Checksums;
use boostfgl::fairness::frame::MIN_GROUP;
use boostfgl::report::chart::Chart;
use boostfgl::report::export::{Format, export, export_comparisons, standalone};
use boostfgl::report::figure::{FIGURES, Figure};
use boostfgl::report::{Metrics, Results, RunFolder, write_atomic};
use boostfgl::sources::Sources;
use clap::Args;
use std::path::{Path, PathBuf};

/// Write an HTML report, figures or tables from one or more runs
///
/// RUN is the folder of a run, of `boostfgl compare` or of `boostfgl reproduce`, a folder that
/// contains such folders, or the JSON file of an experiment. Runs on the same dataset with the
/// same protocol are compared in pairs with the first one as the base; others are shown apart,
/// with the reason. Runs keep the order in which they are named; within a folder FedAvg is first.
/// The page is self-contained: it works offline, on small screens, in dark mode and in print.
///
/// Examples:
///   boostfgl report runs/cora/fedavg                   one run: runs/cora/fedavg/report.html
///   boostfgl report runs/cora/fedavg runs/cora/moon    two runs side by side: report.html
///   boostfgl report runs/compare-cora --open           a comparison, opened in the browser
///   boostfgl report runs/cora/fedavg --figure gsd,epr  figures as SVG, PNG and CSV
///   boostfgl report --figure list                      a list of all figures
///   boostfgl report runs/cora/fedavg --export parquet,latex,tensorboard
///                                                      tables for other programs
///   boostfgl report runs/compare-cora --export latex --metrics accuracy,hete_f1
///                                                      methods by datasets, for a paper
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Report {
    /// Folders of runs, comparisons or reproductions
    #[arg(value_name = "RUN", required_unless_present = "figure")]
    runs: Vec<PathBuf>,

    /// File of the report, or folder of figures or tables [default: report.html, figures/ or
    /// export/ in RUN, or here]
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,

    /// Write figures instead of the page: a list of names, all, or list to print the names
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    figure: Vec<String>,

    /// Write tables for other programs instead of the page: all, or a list of csv, json, parquet,
    /// latex, markdown, tensorboard
    #[arg(long, value_name = "FORMATS", conflicts_with_all = ["figure", "open"])]
    export: Option<String>,

    #[arg(long, value_name = "NAMES", requires = "export", help = metrics_help())]
    metrics: Option<String>,

    /// Smallest number of test nodes for a group to be ranked; smaller groups are shown, but are
    /// never the worst and not in the verdict
    #[arg(long, value_name = "N", default_value_t = MIN_GROUP)]
    min_group: usize,

    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

/// The help of `--metrics`, with every metric that there is.
fn metrics_help() -> String {
    format!(
        "Metrics of the table of methods by datasets, with --export of a comparison: a list of \
         {}, or all [default: {}]",
        Metrics::known().join(", "),
        Metrics::default().keys().join(",")
    )
}

impl Report {
    pub(crate) fn execute(&self) -> Result<()> {
        if self.figure.iter().any(|name| name == "list") {
            return output::print(&FIGURES.iter().map(listed).collect::<String>());
        }
        if self.runs.is_empty() {
            let advice = "Name a folder: boostfgl report runs/cora/fedavg --figure gsd.";
            return Err(
                Error::usage("RUN", "expected at least one folder, found none", advice).into()
            );
        }
        let figures = self.figures()?;
        let formats = self.export.as_deref().map(Format::parse).transpose().map_err(Error::from)?;
        let metrics = self
            .metrics
            .as_deref()
            .map_or(Ok(Metrics::default()), Metrics::parse)
            .map_err(Error::from)?;
        let sources = Sources::find(&self.runs, boostfgl_reproduce::NAMES)?;
        sources.problems.iter().for_each(|problem| output::note(problem));
        for view in &sources.views {
            view.problems
                .iter()
                .for_each(|problem| output::note(&format!("{}: {problem}", view.path.display())));
        }
        sources
            .comparisons
            .iter()
            .flat_map(|view| &view.problems)
            .for_each(|problem| output::note(problem));
        match &formats {
            Some(formats) => self.tables(formats, &metrics, &sources),
            None if figures.is_empty() => self.page(sources),
            None => self.draw(&figures, &sources),
        }
    }

    /// The requested figures.
    fn figures(&self) -> Result<Vec<&'static Figure>> {
        if self.figure.iter().any(|name| name == "all") {
            return Ok(FIGURES.iter().collect());
        }
        self.figure
            .iter()
            .map(|name| Figure::named(name).ok_or_else(|| unknown_figure(name).into()))
            .collect()
    }

    /// Writes the page.
    fn page(&self, mut sources: Sources) -> Result<()> {
        let to = self.place(RunFolder::REPORT);
        let shown = (sources.views.len(), sources.comparisons.len() + sources.results.len());
        sources.replacing(&to);
        let own = is_own(&to, &sources);
        write_page(&to, &sources.report().with_min_group(self.min_group).html(), own)?;
        let what = match shown {
            (0, others) => counted(others, "comparison or experiment"),
            (runs, 0) => counted(runs, "run"),
            (runs, others) => {
                format!("{}, {}", counted(runs, "run"), counted(others, "comparison or experiment"))
            }
        };
        output::print(&format!("Report of {what}: {}\n", to.display()))?;
        if self.open { open(&to) } else { Ok(()) }
    }

    /// Draws figures, each as SVG, PNG and CSV.
    fn draw(&self, figures: &[&'static Figure], sources: &Sources) -> Result<()> {
        let folder = self.place("figures");
        let mut lines = String::new();
        let mut drawn: Vec<(Chart, PathBuf)> = Vec::new();
        for figure in figures {
            let charts = charts(figure, sources);
            if charts.is_empty() && self.figure.iter().any(|name| name == figure.name) {
                return Err(nothing_to_draw(figure, sources).into());
            }
            for (at, chart) in charts.iter().enumerate() {
                let name = if charts.len() == 1 {
                    figure.name.to_owned()
                } else {
                    format!("{}-{}", figure.name, at + 1)
                };
                // Identical figures are written once.
                if let Some((_, same)) = drawn.iter().find(|(other, _)| other.svg == chart.svg) {
                    lines.push_str(&format!(
                        "{}  is the same as {}\n",
                        folder.join(&name).display(),
                        same.display()
                    ));
                    continue;
                }
                let written = write_figure(&folder, &name, chart)?;
                lines.push_str(&format!("{}  {}\n", written.display(), chart.title));
                drawn.push((chart.clone(), written));
            }
        }
        if lines.is_empty() {
            let advice = "Record diagnostics with the run: boostfgl run DATA --diagnostics all.";
            return Err(Error::usage(
                "--figure all",
                "expected something to draw, found nothing",
                advice,
            )
            .into());
        }
        output::print(&lines)
    }

    /// Writes tables of runs and comparisons for other programs.
    fn tables(&self, formats: &[Format], metrics: &Metrics, sources: &Sources) -> Result<()> {
        let Sources { views, comparisons, .. } = sources;
        if views.is_empty() && comparisons.is_empty() {
            let reason = "expected runs or comparisons, found only experiments";
            let advice =
                "An experiment has its tables already: NAME.csv and NAME.json in its folder.";
            return Err(Error::usage("--export", reason, advice).into());
        }
        if self.metrics.is_some() && comparisons.is_empty() {
            let reason = "expected a comparison, which has the table of methods by datasets, found \
                only runs";
            return Err(Error::usage(
                "--metrics",
                reason,
                "Leave it out: tables of runs have every metric.",
            )
            .into());
        }
        let (to, mut written) = (self.place("export"), Vec::new());
        if !views.is_empty() {
            written = export(views, formats, &to).map_err(super::run::unusable)?;
        }
        if !comparisons.is_empty() {
            let more = export_comparisons(comparisons, metrics, formats, &to);
            written.extend(more.map_err(super::run::unusable)?);
        }
        output::print(
            &written.iter().map(|path| format!("{}\n", path.display())).collect::<String>(),
        )
    }

    /// The output path: --out, else inside the only folder given, else the current folder.
    fn place(&self, name: &str) -> PathBuf {
        match (&self.out, &self.runs[..]) {
            (Some(out), _) => out.clone(),
            (None, [only]) if only.is_dir() => only.join(name),
            (None, _) => PathBuf::from(name),
        }
    }
}

/// A figure's line in `--figure list`.
fn listed(figure: &Figure) -> String {
    let same =
        figure.same_as.map(|other| format!(" (only for `reproduce`; for runs, see {other})"));
    format!("{:<12} {}{}\n", figure.name, figure.about, same.unwrap_or_default())
}

/// The error for a figure that does not exist.
fn unknown_figure(name: &str) -> Error {
    let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
    let near = boostfgl::graph::nearest(name, names.iter().copied());
    let near = near.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
    let reason = format!("expected one of {}, found `{name}`{near}", names.join(", "));
    Error::usage("--figure", reason, "`boostfgl report --figure list` describes them.")
}

/// A number with a noun, such as `2 runs`.
fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A figure from everything that was found: experiments that measured it, runs and comparisons.
fn charts(figure: &Figure, sources: &Sources) -> Vec<Chart> {
    let of_results = sources.results.iter().filter(|results| results.name == figure.experiment);
    let mut charts: Vec<Chart> = of_results.flat_map(|results| figure.charts(results)).collect();
    if figure.same_as.is_some() {
        return charts;
    }
    if !sources.views.is_empty() {
        charts.extend(figure.charts(&Results::of_runs(figure.experiment, &sources.views)));
        if figure.name == "heatmap" {
            charts.extend(boostfgl::report::page::sweeps(&sources.views));
        }
    }
    for view in &sources.comparisons {
        charts.extend(figure.charts(&Results::of_comparison(figure.experiment, view)));
    }
    charts
}

fn nothing_to_draw(figure: &Figure, sources: &Sources) -> Error {
    if let Some(same) = figure.same_as.filter(|_| sources.results.is_empty()) {
        let name = figure.name;
        let reason = format!(
            "expected results of `boostfgl reproduce {name}`, found runs or comparisons, for which \
             `{same}` is the same figure"
        );
        return Error::usage(
            "--figure",
            reason,
            "Draw table1 instead, or give the folder of boostfgl reproduce.",
        );
    }
    let reason = format!(
        "expected data for `{}` ({}), found none in the folders",
        figure.name, figure.about
    );
    let advice = match figure.name {
        _ if figure.diagnostic.is_some() => {
            "Record it with the run: boostfgl run DATA --diagnostics all."
        }
        "heatmap" => {
            "Give at least three runs that differ in one or two settings, or the folder of \
             boostfgl reproduce."
        }
        _ => "Give the folder of boostfgl reproduce with its results.",
    };
    Error::usage("--figure", reason, advice)
}

/// Writes SVG, PNG and CSV of a chart and returns their path without the ending.
fn write_figure(folder: &Path, name: &str, chart: &Chart) -> Result<PathBuf> {
    let base = folder.join(name);
    let svg = standalone(&chart.svg);
    write_new(&base.with_extension("svg"), svg.as_bytes())?;
    write_png(&base.with_extension("png"), &svg)?;
    write_new(&base.with_extension("csv"), chart.csv().as_bytes())?;
    Ok(base)
}

/// Writes an SVG drawing as PNG.
#[cfg(feature = "png")]
fn write_png(to: &Path, svg: &str) -> Result<()> {
    use boostfgl::report::export::{PNG_WIDTH, png};
    write_new(to, &png(svg, PNG_WIDTH).map_err(Error::from)?)
}

/// Without the renderer SVG and CSV are written; a note explains how to get PNG.
#[cfg(not(feature = "png"))]
fn write_png(to: &Path, _svg: &str) -> Result<()> {
    output::note(&format!(
        "{} was not written: this program was built without PNG; build it with `cargo install \
         --path crates/cli --features png`",
        to.display()
    ));
    Ok(())
}

/// Whether a page is the report of one of the runs or comparisons that it shows, in its folder.
fn is_own(page: &Path, sources: &Sources) -> bool {
    let finished =
        sources.views.iter().filter(|view| view.summary.is_some()).map(|view| &view.path);
    let mut owners = finished.chain(sources.comparisons.iter().map(|view| &view.path));
    owners.any(|owner| owner.join(RunFolder::REPORT) == page)
}

/// Writes the page and updates its checksum if it has one; in a run folder it always gets one.
fn write_page(to: &Path, html: &str, own: bool) -> Result<()> {
    prepare_folder(to)?;
    Ok(Checksums::replace(to, html.as_bytes(), own).map_err(super::run::unusable)?)
}

/// Writes a file and creates its folder if necessary.
fn write_new(to: &Path, bytes: &[u8]) -> Result<()> {
    prepare_folder(to)?;
    Ok(write_atomic(to, bytes).map_err(super::run::unusable)?)
}

/// Checks that a file can be written there, and creates its folder if necessary.
fn prepare_folder(to: &Path) -> Result<()> {
    if to.is_dir() {
        let advice = "Name a file inside the folder.";
        return Err(Error::usage(
            to.display().to_string(),
            "expected the name of a file, found a folder",
            advice,
        )
        .into());
    }
    if let Some(parent) = to.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        boostfgl::disk::create_dir_all(parent).map_err(super::run::unusable)?;
    }
    Ok(())
}

/// Opens a file in the default browser.
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
