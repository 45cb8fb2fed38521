//! Runs of one dataset under one protocol.

use super::group_scores::GroupScores;
use crate::view::distinct_names;
use crate::{
    Block, Cell, CellCost, Comparison, Contender, Measured, Outcome, Point, RunView, SeedSummary,
    Settings, Summary,
};
use boostfgl_fairness::frame::MIN_GROUP;

/// Runs that can be compared: one dataset, one protocol.
#[derive(Debug)]
pub struct RunGroup {
    /// The dataset.
    pub dataset: String,
    /// In what its protocol differs from others of its dataset, such as `fed.rounds = 100`.
    pub protocol: Vec<String>,
    /// The runs; empty for a comparison, of which only cells were kept.
    pub(super) views: Vec<RunView>,
    /// What each run is called.
    labels: Vec<String>,
    /// How groups of nodes fared in each run, where predictions were kept.
    pub(super) group_scores: Vec<Option<GroupScores>>,
    /// The methods on the pairs of seeds that all have, if there are several.
    pub(super) block: Option<Block>,
    /// The label of the method that others are compared with.
    pub(super) base: String,
    /// How scores came about, round by round.
    pub(super) curves: Vec<Curve>,
    /// Groups of fewer counted test nodes are shown, but not ranked.
    pub(super) min_group: usize,
    /// Facts for the last section, where there is no run that holds them.
    pub(super) facts: Vec<(String, String)>,
}

/// The course of one method over rounds, seed by seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The method.
    pub label: String,
    /// Its evaluated rounds under each seed.
    pub seeds: Vec<(u64, Vec<Point>)>,
}

/// Keys by which methods differ, which do not make another protocol.
const OF_METHODS: [&str; 6] = ["name", "method", "boosts", "boost.", "methods.", "seeds"];

/// Sorts runs into run_groups, in order of appearance.
pub(super) fn run_groups(views: Vec<RunView>) -> Vec<RunGroup> {
    let mut sorted: Vec<Vec<RunView>> = Vec::new();
    for view in views {
        match sorted.iter_mut().find(|runs| alike(&runs[0], &view)) {
            Some(runs) => runs.push(view),
            None => sorted.push(vec![view]),
        }
    }
    let dataset = |view: &RunView| view.dataset().unwrap_or("unknown data").to_owned();
    let apart: Vec<Vec<String>> = sorted
        .iter()
        .map(|runs| {
            // What any other of its dataset has otherwise, with the value that this one has.
            let others = sorted.iter().filter(|other| dataset(&other[0]) == dataset(&runs[0]));
            let mut found: Vec<String> =
                others.flat_map(|other| protocol(&other[0], &runs[0])).collect();
            found.sort();
            found.dedup();
            found
        })
        .collect();
    sorted
        .into_iter()
        .zip(apart)
        .map(|(views, apart)| RunGroup::of_runs(dataset(&views[0]), views, apart))
        .collect()
}

fn alike(a: &RunView, b: &RunView) -> bool {
    a.dataset() == b.dataset() && protocol(a, b).is_empty()
}

/// What b's protocol has that a's has not; data of one name that are not the same count as such.
fn protocol(a: &RunView, b: &RunView) -> Vec<String> {
    let data = |view: &'_ RunView| {
        view.summary.as_ref().and_then(|summary| Some(summary.data.as_ref()?.whole.clone()))
    };
    let other = data(a)
        .zip(data(b))
        .filter(|(a, b)| a != b)
        .map(|(_, b)| b.chars().take(12).collect::<String>());
    let other = other.map(|start| format!("data of fingerprint {start}…"));
    let none = Settings::default();
    let (a, b) = (a.settings.as_ref().unwrap_or(&none), b.settings.as_ref().unwrap_or(&none));
    let differences = a.differences(b).into_iter();
    let ours = |key: &str| {
        !OF_METHODS.iter().any(|own| key == *own || (own.ends_with('.') && key.starts_with(own)))
    };
    let told = |value: &str| if value.is_empty() { "not set".to_owned() } else { value.to_owned() };
    let settings = differences.filter(|(key, _, _)| ours(key));
    other
        .into_iter()
        .chain(settings.map(|(key, _, value)| format!("{key} = {}", told(value))))
        .collect()
}

impl RunGroup {
    fn of_runs(dataset: String, views: Vec<RunView>, protocol: Vec<String>) -> Self {
        let labels = labels(&views);
        let group_scores = views.iter().map(GroupScores::of).collect();
        let block = block(&dataset, &views, &labels);
        let curves =
            views.iter().zip(&labels).map(|(view, label)| Curve::of(view, label)).collect();
        // Differences are to the first run that has an outcome.
        let finished = views.iter().position(|view| view.summary.is_some()).unwrap_or(0);
        let base = labels.get(finished).cloned().unwrap_or_default();
        let min_group = MIN_GROUP;
        Self {
            dataset,
            protocol,
            views,
            labels,
            group_scores,
            block,
            base,
            curves,
            min_group,
            facts: Vec::new(),
        }
    }

    /// A dataset of a comparison, of which cells alone were kept.
    pub(super) fn of_block(
        block: Block,
        base: &str,
        seeds: &[u64],
        methods: &[Contender],
        program: &str,
        curves: Vec<Curve>,
    ) -> Self {
        let list: Vec<String> = seeds.iter().map(u64::to_string).collect();
        let evaluated = |method: &Contender| format!("{}: {}", method.label, method.evaluated);
        let models: Vec<String> = methods.iter().map(evaluated).collect();
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
            group_scores: Vec::new(),
            block: Some(block),
            base: base.to_owned(),
            curves,
            min_group: MIN_GROUP,
            facts: facts.map(|(key, value)| (key.to_owned(), value)).to_vec(),
        }
    }

    /// What each method or run is called.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The finished runs with their labels and summaries.
    pub(super) fn summaries(&self) -> impl Iterator<Item = (usize, &str, &Summary)> {
        let all = self.views.iter().zip(&self.labels).enumerate();
        all.filter_map(|(at, (view, label))| Some((at, &label[..], view.summary.as_ref()?)))
    }

    pub(super) fn heading(&self) -> String {
        let apart = if self.protocol.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.protocol.join(", "))
        };
        format!("{}{apart}", self.dataset)
    }

    /// Dataset, methods, and what sets the runs apart.
    pub(super) fn told(&self) -> Vec<String> {
        let apart =
            if self.protocol.is_empty() { "–".to_owned() } else { self.protocol.join(", ") };
        vec![self.dataset.clone(), self.labels.join(", "), apart]
    }
}

/// Runs by the name that the user gave or by method; runs of the same method also by what was
/// changed, or by folder.
fn labels(views: &[RunView]) -> Vec<String> {
    let short = |view: &RunView| match (&view.summary, &view.settings) {
        (Some(summary), _) => summary.called_alone(),
        (None, Some(settings)) => settings.get("name").map_or_else(|| view.label(), str::to_owned),
        (None, None) => view.label(),
    };
    let short: Vec<String> = views.iter().map(short).collect();
    let alone = |at: usize| short.iter().filter(|other| **other == short[at]).count() == 1;
    let plain: Vec<String> = (0..views.len())
        .map(|at| if alone(at) { short[at].clone() } else { views[at].called() })
        .collect();
    let twins = |at: usize| plain.iter().filter(|other| **other == plain[at]).count() > 1;
    let names = distinct_names(views);
    let label = |at: usize| {
        if twins(at) { format!("{} ({})", plain[at], names[at]) } else { plain[at].clone() }
    };
    (0..views.len()).map(label).collect()
}

/// The runs as cells on the seeds that all of them have.
fn block(dataset: &str, views: &[RunView], labels: &[String]) -> Option<Block> {
    let finished: Vec<(&Summary, &String)> = views
        .iter()
        .zip(labels)
        .filter_map(|(view, label)| Some((view.summary.as_ref()?, label)))
        .collect();
    let has = |summary: &Summary, seed: u64| summary.seeds.iter().any(|known| known.seed == seed);
    let (first, _) = finished.first().filter(|_| finished.len() > 1)?;
    let seeds: Vec<u64> = first.seeds.iter().map(|seed| seed.seed).collect();
    let seeds: Vec<u64> =
        seeds.into_iter().filter(|seed| finished.iter().all(|(run, _)| has(run, *seed))).collect();
    let contender = |(summary, label): &(&Summary, &String)| Contender {
        label: (*label).clone(),
        method: summary.method.clone(),
        boost: summary.boost.clone(),
        evaluated: String::new(),
    };
    let cells = |(summary, _): &(&Summary, &String)| -> Vec<Cell> {
        let known =
            seeds.iter().filter_map(|seed| summary.seeds.iter().find(|known| known.seed == *seed));
        known.map(|seed| cell(seed, summary.peak_rss_mib)).collect()
    };
    let rows = finished.iter().map(cells).collect();
    let methods = finished.iter().map(contender).collect();
    let comparison = Comparison::new(0, methods, seeds.clone(), vec![(dataset.to_owned(), rows)]);
    comparison.datasets.into_iter().next()
}

fn cell(seed: &SeedSummary, peak_rss_mib: f64) -> Cell {
    let cost = CellCost {
        seconds: seed.seconds,
        cpu_seconds: seed.cpu_seconds,
        bytes_up: seed.bytes_up,
        bytes_down: seed.bytes_down,
        client_rounds: 0,
        peak_rss_mib: Some(peak_rss_mib),
    };
    let (scores, digest) = (seed.scores.clone(), seed.digest.clone());
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
    pub(super) fn of(view: &RunView, label: &str) -> Self {
        let Some(rounds) = &view.rounds else {
            return Self { label: label.to_owned(), seeds: Vec::new() };
        };
        let points = |seed: u64| {
            let of_seed = rounds.rounds.iter().filter(move |round| round.seed == seed);
            let point = |round: &crate::Round| {
                let evaluation = round.metrics.as_ref()?;
                Some(Point::new(round.round, round.loss, &evaluation.0.scores))
            };
            of_seed.filter_map(point).collect()
        };
        let seeds = rounds.seeds().into_iter().map(|seed| (seed, points(seed)));
        Self { label: label.to_owned(), seeds: seeds.collect() }
    }
}
