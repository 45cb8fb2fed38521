//! Rates, disparities and metrics of scores agree with scikit-learn and Fairlearn;
//! `fixtures/fairness.py` made the numbers.

use boostfgl_fairness::frame::FrameOptions;
use boostfgl_fairness::protected::{
    Audit, BinaryCounts, Disparities, FairnessScores, GroupRates, Share,
};
use boostfgl_fairness::{Facts, FrameMetric, Grouping, MetricFrame};
use boostfgl_graph::{GroupColumn, Labels};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    classes: usize,
    positive: u32,
    truth: Vec<u32>,
    prediction: Vec<u32>,
    score: Vec<f64>,
    group: Vec<u32>,
    /// Whether every group has positive and negative nodes.
    complete: bool,
    demographic_parity_difference: Option<f64>,
    demographic_parity_ratio: Option<f64>,
    equalized_odds_difference: Option<f64>,
    equalized_odds_ratio: Option<f64>,
    worst_group_accuracy: Option<f64>,
    overall: Expected,
    by_group: Vec<Expected>,
}

/// Values of one set of nodes.
#[derive(Deserialize)]
struct Expected {
    precision: Option<f64>,
    recall: Option<f64>,
    selection_rate: Option<f64>,
    false_positive_rate: Option<f64>,
    false_negative_rate: Option<f64>,
    generalised_entropy: Option<f64>,
    auc: Option<f64>,
    average_precision: Option<f64>,
    calibration_error: Option<f64>,
}

fn cases() -> Vec<Case> {
    let text = include_str!("fixtures/fairness.json");
    serde_json::from_str::<Fixture>(text).unwrap().cases
}

fn same(what: &str, ours: Option<f64>, theirs: Option<f64>) {
    let equal = match (ours, theirs) {
        (Some(ours), Some(theirs)) => (ours - theirs).abs() <= 1e-12,
        (ours, theirs) => ours == theirs,
    };
    assert!(equal, "{what}: {ours:?} here, {theirs:?} there");
}

fn same_rates(what: &str, ours: &GroupRates, theirs: &Expected) {
    let value = |share: Share| share.value;
    same(&format!("{what}, precision"), value(ours.precision), theirs.precision);
    same(&format!("{what}, recall"), value(ours.true_positive_rate), theirs.recall);
    same(&format!("{what}, selection"), value(ours.selection_rate), theirs.selection_rate);
    let fpr = value(ours.false_positive_rate);
    same(&format!("{what}, false positives"), fpr, theirs.false_positive_rate);
    let fnr = value(ours.false_negative_rate);
    same(&format!("{what}, false negatives"), fnr, theirs.false_negative_rate);
    same(&format!("{what}, entropy"), ours.generalised_entropy, theirs.generalised_entropy);
}

impl Case {
    /// The column of groups.
    fn columns(&self) -> [GroupColumn; 1] {
        let texts: Vec<String> = self.group.iter().map(u32::to_string).collect();
        [GroupColumn::from_texts("g", &texts)]
    }

    fn truth(&self) -> Labels {
        let names = (0..self.classes).map(|class| class.to_string()).collect();
        Labels::new(self.truth.iter().copied().map(Some), names).unwrap()
    }

    /// Calls `check` with the facts of the case.
    fn with_facts(&self, check: impl FnOnce(Facts<'_>)) {
        let n = self.truth.len();
        let nodes: Vec<u32> = (0..n as u32).collect();
        check(Facts {
            truth: &self.truth(),
            prediction: &self.prediction,
            nodes: &nodes,
            client: &vec![0; n],
            minority: &vec![None; n],
            heterophilous: &vec![false; n],
            homophily_unknown: &vec![false; n],
            degree: &vec![1; n],
            columns: &self.columns(),
        });
    }

    /// The case as an audit sees it, without probabilities.
    fn audit(&self) -> FairnessScores {
        let mut found = None;
        self.with_facts(|facts| {
            let audit = Audit { positive: Some(self.positive), min_group: 0, ..Audit::new(facts) };
            found = Some(audit.answer().unwrap());
        });
        found.unwrap()
    }
}

#[test]
fn rates_of_all_nodes_and_of_groups() {
    for (i, case) in cases().iter().enumerate() {
        let found = case.audit();
        same_rates(&format!("case {i}"), &found.classes[0].rates, &case.overall);
        let groups = &found.attributes[0].groups;
        assert_eq!(groups.len(), case.by_group.len());
        for (ours, theirs) in groups.iter().zip(&case.by_group) {
            same_rates(&format!("case {i}, {}", ours.group), ours, theirs);
        }
        let worst = found.attributes[0].worst_group.as_ref().map(|worst| worst.value);
        same(&format!("case {i}, worst group"), worst, case.worst_group_accuracy);
    }
}

#[test]
fn disparities_of_groups_that_have_both_sides() {
    let (mut compared, mut left_out) = (0, 0);
    for (i, case) in cases().iter().enumerate() {
        let attribute = &case.audit().attributes[0];
        let Disparities { demographic_parity, equalised_odds, .. } = &attribute.disparities;
        let parity = (demographic_parity.difference, demographic_parity.ratio);
        same(&format!("case {i}, DP difference"), parity.0, case.demographic_parity_difference);
        same(&format!("case {i}, DP ratio"), parity.1, case.demographic_parity_ratio);
        assert_eq!(attribute.disparities.left_out.is_empty(), case.complete, "case {i}");
        if case.complete {
            compared += 1;
            let odds = (equalised_odds.difference, equalised_odds.ratio);
            same(&format!("case {i}, EO difference"), odds.0, case.equalized_odds_difference);
            same(&format!("case {i}, EO ratio"), odds.1, case.equalized_odds_ratio);
        } else {
            left_out += 1;
        }
    }
    assert!(compared > 50 && left_out > 10, "{compared} cases, {left_out} others");
}

#[test]
fn metrics_of_scores_with_ties() {
    use boostfgl_fairness::scored::ScoredNodes;
    for (i, case) in cases().iter().enumerate() {
        let score = |group: Option<u32>| {
            let nodes = case.truth.iter().zip(&case.score).zip(&case.group);
            let chosen = nodes.filter(|(_, g)| group.is_none_or(|group| group == **g));
            let scored = chosen.map(|((y, s), _)| (*y == case.positive, *s));
            ScoredNodes::new(scored).unwrap().metrics()
        };
        let all = std::iter::once((None, &case.overall));
        let groups = (0..).map(Some).zip(&case.by_group);
        for (group, theirs) in all.chain(groups) {
            let (ours, what) = (score(group), format!("case {i}, group {group:?}"));
            same(&format!("{what}, AUC"), ours.auc, theirs.auc);
            same(&format!("{what}, AP"), ours.average_precision, theirs.average_precision);
            same(&format!("{what}, ECE"), ours.calibration_error, theirs.calibration_error);
        }
    }
}

/// `diagnose --by column:g --metric precision:1` shows what the summary holds.
#[test]
fn frames_and_audits_agree() {
    let metrics =
        ["precision", "recall", "selection_rate", "false_positive_rate", "false_negative_rate"];
    for (i, case) in cases().iter().enumerate() {
        let found = case.audit();
        case.with_facts(|facts| {
            for name in metrics.into_iter().chain(["generalised_entropy"]) {
                let metric = FrameMetric::parse(&format!("{name}:{}", case.positive)).unwrap();
                let options = FrameOptions { min_group: 0, draws: 0 };
                let by = Grouping::column("g");
                let frame = MetricFrame::new(&facts, &by, &metric, options).unwrap();
                for (row, group) in frame.rows.iter().zip(&found.attributes[0].groups) {
                    let of_audit = match name {
                        "precision" => group.precision.value,
                        "recall" => group.true_positive_rate.value,
                        "selection_rate" => group.selection_rate.value,
                        "false_positive_rate" => group.false_positive_rate.value,
                        "false_negative_rate" => group.false_negative_rate.value,
                        _ => group.generalised_entropy,
                    };
                    assert_eq!(row.value, of_audit, "case {i}, {name}");
                    assert_eq!(row.group, group.group);
                }
                if name == "selection_rate" {
                    let parity = &found.attributes[0].disparities.demographic_parity;
                    assert_eq!((frame.difference, frame.ratio), (parity.difference, parity.ratio));
                }
            }
        });
    }
}

/// A group without positive nodes is left out of the true positive rate alone, where Fairlearn takes
/// that rate to be 0.
#[test]
fn a_group_without_positive_nodes_is_named() {
    let counts = |tp, fp, fn_, tn| BinaryCounts {
        true_positives: tp,
        false_positives: fp,
        false_negatives: fn_,
        true_negatives: tn,
    };
    let groups = [counts(3, 1, 1, 4), counts(2, 2, 2, 5), counts(0, 3, 0, 1)];
    let rates: Vec<GroupRates> =
        ["a", "b", "c"].iter().zip(&groups).map(|(n, c)| GroupRates::new(*n, c, 0, None)).collect();
    let found = Disparities::new(&rates, 0);
    assert_eq!(found.true_positive_rate.difference, Some(0.25));
    assert_eq!(found.false_positive_rate.highest.as_deref(), Some("c"));
    let out: Vec<_> = found.left_out.iter().map(|out| (&*out.group, &*out.rate)).collect();
    assert_eq!(out, [("c", "true_positive_rate")]);
}
