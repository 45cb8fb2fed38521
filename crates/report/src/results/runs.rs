//! Runs converted to results, from which the figures of an experiment are drawn.

use super::{Detail, Origin, Point, ResultRow, Results};
use crate::view::distinct_names;
use crate::{CellCost, Measured, Outcome, RunView, SeedSummary};

impl Results {
    /// The results of the experiment `name` from these runs: one row per run and seed. Runs without
    /// a summary have no rows. If several runs have the same method on the same dataset, the key
    /// `run` of `varied` tells them apart.
    pub fn of_runs(name: &str, views: &[RunView]) -> Self {
        let origin = Origin { command: "boostfgl run".to_owned(), ..Origin::default() };
        let (columns, rows, left_out) = (Vec::new(), Vec::new(), Vec::new());
        let mut results =
            Self { version: Self::VERSION, name: name.to_owned(), origin, left_out, columns, rows };
        let mut cells = Vec::new();
        for (view, name) in views.iter().zip(distinct_names(views)) {
            let Some(summary) = &view.summary else { continue };
            let mut row = ResultRow {
                dataset: summary.dataset.clone(),
                method: summary.label(),
                ..ResultRow::default()
            };
            if views.iter().filter(|other| is_same_setup(view, other)).count() > 1 {
                row.varied.insert("run".to_owned(), name);
            }
            for seed in &summary.seeds {
                let outcome = Outcome::Done(Box::new(measured(seed, summary.peak_rss_mib, view)));
                let row = ResultRow { seed: seed.seed, ..row.clone() };
                cells.push((row, Some((outcome, Some(Box::new(detail(seed.seed, view)))))));
            }
        }
        results.fill(cells);
        results
    }
}

/// Whether two runs have the same method on the same dataset.
fn is_same_setup(a: &RunView, b: &RunView) -> bool {
    a.label() == b.label() && a.dataset() == b.dataset()
}

/// The measurements of a run under one seed.
fn measured(seed: &SeedSummary, peak_rss_mib: f64, view: &RunView) -> Measured {
    let rounds = view
        .rounds
        .iter()
        .flat_map(|rounds| &rounds.rounds)
        .filter(|round| round.seed == seed.seed);
    let cost = CellCost {
        seconds: seed.seconds,
        cpu_seconds: seed.cpu_seconds,
        bytes_up: seed.bytes_up,
        bytes_down: seed.bytes_down,
        client_rounds: rounds.map(|round| round.clients.len() as u64).sum(),
        peak_rss_mib: Some(peak_rss_mib),
    };
    let (scores, groups) = (seed.scores.clone(), seed.groups);
    let digest = seed.identity().to_owned();
    Measured { scores, groups, round: seed.round, details: seed.details.clone(), digest, cost }
}

/// The learning curve and the diagnostics of one seed.
fn detail(seed: u64, view: &RunView) -> Detail {
    let rounds =
        view.rounds.iter().flat_map(|rounds| &rounds.rounds).filter(|round| round.seed == seed);
    let curve = rounds.filter_map(|round| {
        let evaluation = round.metrics.as_ref()?;
        Some(Point::new(round.round, round.loss, &evaluation.0.scores))
    });
    let diagnosis =
        view.diagnostics.iter().flat_map(|file| &file.seeds).find(|entry| entry.seed == seed);
    let diagnosis = diagnosis.map(|entry| entry.found.clone()).unwrap_or_default();
    let diagnostics = diagnosis.cost.iter().map(|cost| cost.name.clone()).collect();
    Detail { diagnostics, curve: curve.collect(), diagnosis, hardest: None }
}
