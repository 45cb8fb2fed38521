//! Accuracy and F1 agree with scikit-learn; `fixtures/sklearn_f1.py` made the numbers.

use boostfgl_fairness::metrics::{Accuracy, MacroF1};
use boostfgl_fairness::{Classes, Confusion, Metric};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    classes: usize,
    truth: Vec<u32>,
    prediction: Vec<u32>,
    accuracy: f64,
    per_class: Vec<f64>,
    pooled: f64,
    present: f64,
}

#[test]
fn two_hundred_random_cases() {
    let fixture: Fixture = serde_json::from_str(include_str!("fixtures/sklearn_f1.json")).unwrap();
    assert_eq!(fixture.cases.len(), 200);
    for (i, case) in fixture.cases.iter().enumerate() {
        let pairs = case.truth.iter().copied().zip(case.prediction.iter().copied());
        let confusion = Confusion::from_pairs(case.classes, pairs).unwrap();
        let f1 = MacroF1::EXACT;
        let same = |name: &str, ours: f64, theirs: f64| {
            assert!(
                (ours - theirs).abs() <= 1e-12,
                "case {i}, {name}: {ours} here, {theirs} there"
            );
        };
        same("accuracy", Accuracy.compute(&confusion, Classes::All).unwrap(), case.accuracy);
        same("pooled", f1.compute(&confusion, Classes::All).unwrap(), case.pooled);
        same("present", f1.compute(&confusion, Classes::Present).unwrap(), case.present);
        let ours = f1.per_class(&confusion);
        assert_eq!(ours.len(), case.per_class.len());
        for (ours, theirs) in ours.iter().zip(&case.per_class) {
            same("a class", *ours, *theirs);
        }
    }
}
