//! A comparison to export.

use boostfgl_fairness::{GroupSizes, PerHeadline, Percent, Readings, Scores};
use boostfgl_report::{
    Cell, CellCost, CellRecord, CellStore, Comparison, ComparisonView, Contender, Detail, Measured,
    Outcome, Point,
};
use std::path::Path;

/// The folder of a comparison of `base` and `other` on `cora` and `small`, two seeds and two rounds
/// each. The accuracy of the last round is 50 and one more for every step of dataset, method and
/// seed; that of the first is half of it.
pub(crate) fn compared(folder: &Path) -> ComparisonView {
    let methods = ["base", "other"].map(|label| Contender {
        label: label.into(),
        method: label.into(),
        boost: Vec::new(),
        evaluated: "global".into(),
        settings: Default::default(),
    });
    let store = CellStore::open(folder).unwrap();
    let cell = |dataset: usize, method: usize, seed: u64| {
        let accuracy = (50 + 4 * dataset + 2 * method) as f64 + seed as f64;
        let pooled = |value: f64| Readings { pooled: Some(value), present: None, client: None };
        let scores = Scores {
            accuracy: pooled(accuracy),
            hete_min_f1: pooled(accuracy / 2.0),
            ..Scores::default()
        };
        let cost =
            CellCost { cpu_seconds: 1.0, bytes_up: 10, client_rounds: 2, ..CellCost::default() };
        let digest = format!("{dataset}-{method}-{seed}");
        let measured = Measured {
            scores: Percent(scores),
            groups: GroupSizes::default(),
            round: 2,
            details: Default::default(),
            digest: digest.clone(),
            cost,
        };
        let point = |round: usize, share: f64| Point {
            round,
            loss: 1.0 / round as f64,
            scores: PerHeadline { accuracy: Some(accuracy * share), ..PerHeadline::default() },
        };
        let detail = Detail { curve: vec![point(1, 0.5), point(2, 1.0)], ..Detail::default() };
        let record = CellRecord {
            dataset: ["cora", "small"][dataset].into(),
            method: ["base", "other"][method].into(),
            seed,
            measured: measured.clone(),
            detail: Some(Box::new(detail)),
        };
        store.keep(&digest, record).unwrap();
        Cell { seed, outcome: Outcome::Done(Box::new(measured)), peak_bytes: 0 }
    };
    let cells = |dataset: usize| {
        (0..2).map(|method| (0..2).map(|seed| cell(dataset, method, seed)).collect()).collect()
    };
    let datasets = vec![("cora".to_owned(), cells(0)), ("small".to_owned(), cells(1))];
    let comparison = Comparison::new(0, methods.to_vec(), vec![0, 1], datasets);
    std::fs::write(folder.join(Comparison::FILE), comparison.to_json()).unwrap();
    ComparisonView::read(folder).unwrap()
}
