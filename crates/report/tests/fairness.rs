//! The exact text of rates by protected attribute, computed by hand.

mod common;

use boostfgl_fairness::Facts;
use boostfgl_fairness::protected::{Audit, FairnessScores};
use boostfgl_graph::{GroupColumn, Labels};
use boostfgl_report::{FairnessTable, Style, Summary};

/// Twelve customers; women first.
const TRUTH: [i64; 12] = [1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0];
const PREDICTION: [u32; 12] = [1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0];
const SCORE: [f32; 12] = [0.6, 0.4, 0.3, 0.35, 0.1, 0.2, 0.9, 0.8, 0.7, 0.3, 0.2, 0.1];

/// Their rates; groups with fewer nodes than `min_group` are not compared.
fn rates(min_group: u64, with_scores: bool) -> FairnessScores {
    let truth = Labels::from_integers(&TRUTH, 2).unwrap();
    let probabilities: Vec<f32> = SCORE.iter().flat_map(|p| [1.0 - p, *p]).collect();
    let columns =
        [GroupColumn::from_texts("sex", &["f"; 6].into_iter().chain(["m"; 6]).collect::<Vec<_>>())];
    let nodes: Vec<u32> = (0..12).collect();
    let facts = Facts {
        truth: &truth,
        prediction: &PREDICTION,
        nodes: &nodes,
        client: &[0; 12],
        minority: &[None; 12],
        heterophilous: &[false; 12],
        homophily_unknown: &[false; 12],
        degree: &[1; 12],
        columns: &columns,
    };
    let probabilities = with_scores.then_some(&probabilities[..]);
    Audit { probabilities, min_group, ..Audit::new(facts) }.answer().unwrap()
}

/// A run with these rates under each seed.
fn run(seeds: &[FairnessScores]) -> Summary {
    let mut summary = common::run("fedavg", &[], &vec![[None; 4]; seeds.len()]);
    for (seed, rates) in summary.seeds.iter_mut().zip(seeds) {
        seed.details.fairness = Some(rates.clone());
    }
    summary
}

fn text(summary: &Summary) -> String {
    let tables = FairnessTable::of("bank, fedavg", summary);
    tables.iter().map(|table| table.text(Style::Plain)).collect()
}

#[test]
fn one_seed() {
    let expected = "\
bank, fedavg: `1` against the rest by sex

Group  Nodes  Positive  Selected  Recall    FPR  Precision  Accuracy     AUC      AP     ECE
                               %       %      %          %         %
─────────────────────────────────────────────────────────────────────────────────────────────
all       12         5      33.3    60.0   14.3       75.0      75.0   0.871   0.835   0.279
sex=f      6         3      16.7    33.3    0.0      100.0      66.7   0.889   0.917   0.392
sex=m      6         2      50.0   100.0   25.0       66.7      83.3   1.000   1.000   0.267
─────────────────────────────────────────────────────────────────────────────────────────────
Positive class: `1`, the last of two; evaluation.positive chooses another.
  Demographic parity: difference 33.3 points, ratio 0.333 (smallest sex=f, largest sex=m).
  Equalised odds: difference 66.7 points, ratio 0.000.
  Recall (equal opportunity): difference 66.7 points, ratio 0.333 (smallest sex=f, largest sex=m).
  False positive rate: difference 25.0 points, ratio 0.000 (smallest sex=f, largest sex=m).
  Worst-group accuracy: 66.7 % (sex=f).
";
    assert_eq!(text(&run(&[rates(0, true)])), expected);
}

#[test]
fn groups_that_are_too_small_are_shown_and_not_compared() {
    let found = text(&run(&[rates(7, false), rates(7, false)]));
    assert!(found.contains("Mean over 2 seeds; the report has the spread."), "{found}");
    assert!(found.contains("sex=f"), "{found}");
    assert!(!found.contains("difference"), "{found}");
    assert!(!found.contains("AUC"), "{found}");
    let reason =
        "Not compared: sex=f: 6 test nodes, fewer than 7; sex=m: 6 test nodes, fewer than 7;";
    assert!(found.contains(reason), "{found}");
}

#[test]
fn a_run_without_rates_has_no_table() {
    assert_eq!(text(&run(&[])), "");
    assert_eq!(text(&common::run("fedavg", &[], &[[None; 4]])), "");
}
