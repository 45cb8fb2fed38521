//! Runs of one dataset that can be compared in pairs.

use super::group_scores::GroupScores;
use super::pairing::{self, Differing};
use crate::view::distinct_names;
use crate::{
    Block, Cell, CellCost, Comparison, Contender, Measured, Outcome, Point, Round, RunView,
    SeedSummary, Summary, name,
};
use boostfgl_fairness::frame::MIN_GROUP;
use std::collections::BTreeMap;

/// Runs that can be compared in pairs: the same data, partition, split, groups and seeds.
#[derive(Debug)]
pub struct RunGroup {
    /// The dataset.
    pub dataset: String,
    /// What sets it apart from other groups on its dataset, such as `partition.clients = 3`.
    pub protocol: Vec<String>,
    /// The runs; empty for a comparison, of which only cells were kept.
    pub(super) views: Vec<RunView>,
    /// The label of each run.
    labels: Vec<String>,
    /// What is compared, for the title of the page: the labels, or the methods alone where keys
    /// were varied.
    pub(super) named: String,
    /// The settings in which the runs differ, apart from what methods differ in anyway.
    pub(super) differing: Vec<Differing>,
    /// The scores by group of nodes of each run, if predictions were kept.
    pub(super) group_scores: Vec<Option<GroupScores>>,
    /// The methods paired over the seeds that all runs have; `None` for a single run.
    pub(super) block: Option<Block>,
    /// The label of the method that others are compared with.
    pub(super) base: String,
    /// The scores of each run over rounds.
    pub(super) curves: Vec<Curve>,
    /// Groups of fewer counted test nodes are shown, but not ranked.
    pub(super) min_group: usize,
    /// What was chosen for the methods and the rounds that they got, if a comparison decided it.
    pub(super) remarks: Vec<(String, String)>,
    /// Facts for the last section that no run holds.
    pub(super) facts: Vec<(String, String)>,
}

/// The scores of one method over rounds, by seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The method.
    pub label: String,
    /// Its evaluated rounds under each seed.
    pub seeds: Vec<(u64, Vec<Point>)>,
}

/// Sorts runs into groups that can be compared in pairs, in order of appearance.
pub(super) fn run_groups(views: Vec<RunView>) -> Vec<RunGroup> {
    let mut sorted: Vec<Vec<RunView>> = Vec::new();
    for view in views {
        match sorted.iter_mut().find(|runs| comparable(runs, &view)) {
            Some(runs) => runs.push(view),
            None => sorted.push(vec![view]),
        }
    }
    let protocols: Vec<Vec<String>> =
        sorted.iter().map(|runs| distinguishing(&runs[0], &sorted)).collect();
    sorted
        .into_iter()
        .zip(protocols)
        .map(|(views, protocol)| RunGroup::of_runs(dataset(&views[0]), views, protocol))
        .collect()
}

/// The dataset of a run, if it is known.
fn dataset(view: &RunView) -> String {
    view.dataset().unwrap_or("unknown data").to_owned()
}

/// Whether a run makes fair pairs with those of a group.
fn comparable(group: &[RunView], view: &RunView) -> bool {
    group[0].dataset() == view.dataset() && pairing::objections(group, view).is_empty()
}

/// What sets a run apart from the other groups of its dataset.
fn distinguishing(view: &RunView, groups: &[Vec<RunView>]) -> Vec<String> {
    let others = groups.iter().filter(|other| dataset(&other[0]) == dataset(view));
    let mut found: Vec<String> =
        others.flat_map(|other| pairing::objections(other, view)).collect();
    found.sort();
    found.dedup();
    found
}

impl RunGroup {
    fn of_runs(dataset: String, views: Vec<RunView>, protocol: Vec<String>) -> Self {
        let differing = pairing::differing(&views);
        let labels = labels(&views, &differing);
        let named = labels.join(", ");
        let group_scores = views.iter().map(GroupScores::of).collect();
        let block = block(&dataset, &views, &labels);
        let curves =
            views.iter().zip(&labels).map(|(view, label)| Curve::of(view, label)).collect();
        // The base is the first run with a summary, since others have no scores to compare with.
        let finished = views.iter().position(|view| view.summary.is_some()).unwrap_or(0);
        let base = labels.get(finished).cloned().unwrap_or_default();
        let min_group = MIN_GROUP;
        Self {
            dataset,
            protocol,
            views,
            labels,
            named,
            differing,
            group_scores,
            block,
            base,
            curves,
            min_group,
            remarks: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// One dataset of a comparison, of which only cells were kept.
    pub(super) fn of_block(
        block: Block,
        base: &str,
        seeds: &[u64],
        methods: &[Contender],
        program: &str,
        curves: Vec<Curve>,
    ) -> Self {
        let list: Vec<String> = seeds.iter().map(u64::to_string).collect();
        let models: Vec<String> = methods
            .iter()
            .map(|method| format!("{}: {}", method.label, method.evaluated))
            .collect();
        let facts = [
            ("seeds", list.join(", ")),
            ("evaluated model", models.join("; ")),
            ("program", format!("boostfgl {program}")),
        ];
        Self {
            dataset: block.name.clone(),
            protocol: Vec::new(),
            views: Vec::new(),
            labels: block.rows.iter().map(|row| row.label.clone()).collect(),
            named: methods_named(methods),
            differing: Vec::new(),
            group_scores: Vec::new(),
            block: Some(block),
            base: base.to_owned(),
            curves,
            min_group: MIN_GROUP,
            remarks: Vec::new(),
            facts: facts.map(|(key, value)| (key.to_owned(), value)).to_vec(),
        }
    }

    pub(super) fn with_remarks(self, remarks: Vec<(String, String)>) -> Self {
        Self { remarks, ..self }
    }

    /// The label of each method or run.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The finished runs by position, with their labels and summaries.
    pub(super) fn summaries(&self) -> impl Iterator<Item = (usize, &str, &Summary)> {
        let all = self.views.iter().zip(&self.labels).enumerate();
        all.filter_map(|(at, (view, label))| Some((at, &label[..], view.summary.as_ref()?)))
    }

    /// The dataset, with the settings that distinguish the group.
    pub(super) fn heading(&self) -> String {
        let protocol = if self.protocol.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.protocol.join(", "))
        };
        format!("{}{protocol}", self.dataset)
    }

    /// A table row: dataset, methods, and the settings that distinguish the group.
    pub(super) fn overview(&self) -> Vec<String> {
        let protocol =
            if self.protocol.is_empty() { "–".to_owned() } else { self.protocol.join(", ") };
        vec![self.dataset.clone(), self.labels.join(", "), protocol]
    }
}

/// The methods of a comparison in a list; those of which keys were varied once.
fn methods_named(methods: &[Contender]) -> String {
    let mut names: Vec<String> = Vec::new();
    for method in methods {
        let name = match method.settings.is_empty() {
            true => method.label.clone(),
            false => name::label(&method.method, &method.boost),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// A distinct label for every run: the name that the user gave, or the method and the settings in
/// which the runs differ. If several runs have the same, all changed settings are named, and then
/// the folder if these are the same too.
fn labels(views: &[RunView], differing: &[Differing]) -> Vec<String> {
    let distinctions = pairing::distinctions(differing, views.len());
    let short: Vec<String> =
        views.iter().zip(&distinctions).map(|(view, own)| short_label(view, own)).collect();
    let full: Vec<String> = short
        .iter()
        .zip(views)
        .map(|(label, view)| if count(&short, label) == 1 { label.clone() } else { view.called() })
        .collect();
    let with_folder = full.iter().zip(distinct_names(views)).map(|(label, folder)| {
        if count(&full, label) > 1 { format!("{label} ({folder})") } else { label.clone() }
    });
    with_folder.collect()
}

/// The name that the user gave, or the method with what distinguishes the run.
fn short_label(view: &RunView, distinctions: &[String]) -> String {
    let given = match (&view.summary, &view.settings) {
        (Some(summary), _) => summary.name.clone(),
        (None, settings) => {
            settings.as_ref().and_then(|settings| settings.get("name")).map(str::to_owned)
        }
    };
    given.unwrap_or_else(|| name::composed(&view.label(), distinctions))
}

/// How many of the labels equal this one.
fn count(labels: &[String], label: &str) -> usize {
    labels.iter().filter(|other| *other == label).count()
}

/// The finished runs as methods of a comparison, on the seeds that all of them have; `None` for
/// fewer than two.
fn block(dataset: &str, views: &[RunView], labels: &[String]) -> Option<Block> {
    let finished: Vec<(&Summary, &String)> = views
        .iter()
        .zip(labels)
        .filter_map(|(view, label)| Some((view.summary.as_ref()?, label)))
        .collect();
    let (first, _) = finished.first().filter(|_| finished.len() > 1)?;
    let mut seeds: Vec<u64> = first.seeds.iter().map(|seed| seed.seed).collect();
    seeds.retain(|seed| finished.iter().all(|(run, _)| of_seed(run, *seed).is_some()));
    let (mut methods, mut rows) = (Vec::new(), Vec::new());
    for (summary, label) in finished {
        methods.push(Contender {
            label: label.clone(),
            method: summary.method.clone(),
            boost: summary.boost.clone(),
            evaluated: String::new(),
            settings: BTreeMap::new(),
        });
        let shared = seeds.iter().filter_map(|seed| of_seed(summary, *seed));
        rows.push(shared.map(|seed| cell(seed, summary.peak_rss_mib)).collect());
    }
    let comparison = Comparison::new(0, methods, seeds, vec![(dataset.to_owned(), rows)]);
    comparison.datasets.into_iter().next()
}

/// The summary of one seed.
fn of_seed(summary: &Summary, seed: u64) -> Option<&SeedSummary> {
    summary.seeds.iter().find(|known| known.seed == seed)
}

/// One seed of a run as the cell of a comparison.
fn cell(seed: &SeedSummary, peak_rss_mib: f64) -> Cell {
    let cost = CellCost {
        seconds: seed.seconds,
        cpu_seconds: seed.cpu_seconds,
        bytes_up: seed.bytes_up,
        bytes_down: seed.bytes_down,
        client_rounds: 0,
        peak_rss_mib: Some(peak_rss_mib),
    };
    let (scores, digest) = (seed.scores.clone(), seed.identity().to_owned());
    let measured = Measured {
        scores,
        groups: seed.groups,
        round: seed.round,
        details: seed.details.clone(),
        digest,
        cost,
    };
    Cell { seed: seed.seed, outcome: Outcome::Done(Box::new(measured)), peak_bytes: 0 }
}

impl Curve {
    /// The curve of a run; empty if no rounds were read.
    pub(super) fn of(view: &RunView, label: &str) -> Self {
        let mut seeds = Vec::new();
        if let Some(rounds) = &view.rounds {
            for seed in rounds.seeds() {
                let of_seed = rounds.rounds.iter().filter(|round| round.seed == seed);
                seeds.push((seed, of_seed.filter_map(point).collect()));
            }
        }
        Self { label: label.to_owned(), seeds }
    }
}

/// The scores and the loss of an evaluated round.
fn point(round: &Round) -> Option<Point> {
    let evaluation = round.metrics.as_ref()?;
    Some(Point::new(round.round, round.loss, &evaluation.0.scores))
}
