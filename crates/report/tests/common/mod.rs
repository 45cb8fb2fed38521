//! Runs to summarise and tabulate.

use boostfgl_fairness::{GroupSizes, Readings, Scores};
use boostfgl_report::{RunTotals, SeedSummary, Summary};

/// A run on `cora`; per seed accuracy, Overall-F1, Hete-F1 and Hete-min-F1 as fractions. Two of
/// seven classes are present in the last group, or no node at all if its value is `None`.
pub(crate) fn run(method: &str, boost: &[&str], seeds: &[[Option<f64>; 4]]) -> Summary {
    let seeds = seeds.iter().enumerate().map(|(seed, &[accuracy, overall, hete, hete_min])| {
        let same = |value| Readings { pooled: value, present: value, client: value };
        let present = hete_min.map(|x| x * 7.0 / 2.0);
        let scores = Scores {
            accuracy: same(accuracy),
            overall_f1: same(overall),
            hete_f1: same(hete),
            hete_min_f1: Readings { present, ..same(hete_min) },
        };
        let hete_min = if hete_min.is_some() { 92 + seed } else { 0 };
        SeedSummary {
            seed: seed as u64,
            scores: scores.percent(),
            groups: GroupSizes {
                all: 1083,
                heterophilous: 153,
                homophilous: 930,
                minority: 500,
                majority: 583,
                hete_min,
            },
            round: 50,
            details: Default::default(),
            seconds: 2.5,
            cpu_seconds: 4.0,
            bytes_up: 92_274_688,
            bytes_down: 92_274_688,
            framed_up: 30,
            framed_down: 50,
            federation_digest: String::new(),
            refused: Default::default(),
            digest: format!("seed{seed}"),
        }
    });
    let totals = RunTotals {
        cpu_seconds: 12.0,
        train_cpu_seconds: 11.0,
        wall_seconds: 7.5,
        peak_rss_mib: 60.5,
        digest: "whole".to_owned(),
    };
    let boost = boost.iter().map(|&name| name.to_owned()).collect();
    Summary::new(method, boost, "cora", seeds.collect(), totals)
}
