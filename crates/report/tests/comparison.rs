//! A comparison with values computed by hand.

use boostfgl_fairness::statistics::Certainty;
use boostfgl_fairness::{GroupSizes, Readings, Scores};
use boostfgl_fairness::{Warning, WarningKind};
use boostfgl_report::{Cell, CellCost, Comparison, Contender, Measured, Metrics, Outcome, Style};

fn contender(label: &str) -> Contender {
    Contender {
        label: label.into(),
        method: label.into(),
        boost: Vec::new(),
        evaluated: "global".into(),
        settings: Default::default(),
    }
}

/// A cell with the same percent in every metric.
fn cell(seed: u64, percent: f64) -> Cell {
    let same =
        Readings { pooled: Some(percent / 100.0), present: Some(percent / 100.0), client: None };
    let scores = Scores { accuracy: same, overall_f1: same, hete_f1: same, hete_min_f1: same };
    let cost = CellCost {
        bytes_up: 4000,
        bytes_down: 2000,
        client_rounds: 10,
        cpu_seconds: 1.5,
        ..CellCost::default()
    };
    let measured = Measured {
        scores: scores.percent(),
        groups: GroupSizes::default(),
        round: 1,
        details: Default::default(),
        digest: "d".into(),
        cost,
    };
    Cell { seed, outcome: Outcome::Done(Box::new(measured)), peak_bytes: 3 << 20 }
}

fn row(values: &[f64]) -> Vec<Cell> {
    values.iter().enumerate().map(|(seed, &value)| cell(seed as u64, value)).collect()
}

fn two_datasets() -> Comparison {
    let methods = vec![contender("base"), contender("b_tter & more"), contender("worse")];
    let cora = vec![row(&[50.0, 52.0, 54.0]), row(&[51.0, 54.0, 57.0]), row(&[49.0, 51.0, 53.0])];
    let other = vec![row(&[70.0, 70.0, 70.0]), row(&[74.0, 75.0, 76.0]), row(&[70.0, 69.0, 70.0])];
    Comparison::new(0, methods, vec![0, 1, 2], vec![("cora".into(), cora), ("other".into(), other)])
}

#[test]
fn means_differences_and_ranks() {
    let comparison = two_datasets();
    let cora = &comparison.datasets[0];
    let better = &cora.rows[1].metrics["accuracy"];
    assert!((better.mean.unwrap() - 54.0).abs() < 1e-9 && (better.std.unwrap() - 3.0).abs() < 1e-9);
    let difference = better.difference.unwrap();
    // Differences 1, 2, 3 are all positive, so p = 2 / 2³. Both tests of the family have this p,
    // so Holm doubles it.
    assert!((difference.mean - 2.0).abs() < 1e-9);
    assert_eq!((difference.p, difference.p_holm, difference.pairs), (Some(0.25), Some(0.5), 3));
    assert!(
        difference.interval.is_some_and(|i| 1.0 <= i.lo && i.lo < 2.0 && 2.0 < i.hi && i.hi <= 3.0)
    );
    assert_eq!(cora.rows[0].metrics["accuracy"].difference, None);
    assert_eq!(cora.ranks["accuracy"].ranks, [Some(2.0), Some(1.0), Some(3.0)]);
    assert_eq!(cora.rows[1].cost.bytes_up, Some(400.0));
    // Six pairs together: 1, 2, 3, 4, 5, 6, so p = 2 / 2⁶.
    let pooled = comparison.pooled.as_ref().unwrap();
    let difference = pooled.rows[1].metrics["accuracy"].difference.unwrap();
    assert_eq!((difference.pairs, difference.p), (6, Some(0.03125)));
    assert!(pooled.rows.iter().all(|row| row.cells.is_empty()));
}

#[test]
fn a_method_that_did_not_run_has_a_reason_and_no_rank() {
    let over = |seed| Cell {
        seed,
        outcome: Outcome::OverBudget { needed: 13_207_024_435, budget: 1 << 30 },
        peak_bytes: 0,
    };
    let failed = |seed| Cell {
        seed,
        outcome: Outcome::Failed { message: "client 3 diverged".into() },
        peak_bytes: 0,
    };
    let rows = vec![row(&[50.0, 52.0]), vec![over(0), over(1)], vec![cell(0, 60.0), failed(1)]];
    let methods = ["base", "huge", "shaky"].map(contender).to_vec();
    let comparison = Comparison::new(0, methods, vec![0, 1], vec![("cora".into(), rows)]);
    let text = comparison.text(Style::Plain);
    assert!(text.contains("huge on cora: over budget (estimate 12.3 GiB)."), "{text}");
    assert!(
        text.contains("shaky on cora, seed 1, failed and is left out: client 3 diverged."),
        "{text}"
    );
    assert_eq!(comparison.failures(), [("cora", "shaky", 1, "client 3 diverged")]);
    let block = &comparison.datasets[0];
    assert_eq!(block.rows[2].metrics["accuracy"].difference.unwrap().pairs, 1);
    assert_eq!(block.ranks["accuracy"].ranks, [Some(2.0), None, Some(1.0)]);
    assert!(comparison.csv().contains("cora,huge,global,accuracy,pooled,0,over-budget,\n"));
}

/// The collapsed model has the best accuracy, but neither star nor rank.
#[test]
fn a_collapsed_model_has_neither_star_nor_rank() {
    let mut collapsed = row(&[90.0, 91.0]);
    for cell in &mut collapsed {
        let Outcome::Done(measured) = &mut cell.outcome else { unreachable!("every cell is done") };
        measured.details.warnings.push(Warning::new(
            WarningKind::OneClass,
            "",
            "one class only is predicted",
            0,
        ));
    }
    let rows = vec![row(&[50.0, 52.0]), collapsed, row(&[60.0, 61.0])];
    let methods = ["base", "collapsed", "other"].map(contender).to_vec();
    let comparison = Comparison::new(0, methods, vec![0, 1], vec![("fraud".into(), rows)]);
    let block = &comparison.datasets[0];
    assert_eq!(block.ranks["accuracy"].ranks, [Some(2.0), None, Some(1.0)]);
    let text = comparison.text(Style::Plain);
    assert!(!text.contains("90.5 ± 0.7*") && text.contains("60.5 ± 0.7*"), "{text}");
    assert!(
        !text.contains("Friedman"),
        "two seeds cannot show a difference, so there is no p: {text}"
    );
}

#[test]
fn latex_is_escaped_and_text_fits_a_terminal() {
    let comparison = two_datasets();
    let latex = comparison.latex();
    assert!(latex.contains("b\\_tter \\& more & \\textbf{54.0 $\\pm$ 3.0}"), "{latex}");
    assert!(
        latex.contains("\\underline{52.0 $\\pm$ 2.0}") && latex.contains("+2.0 {[}1.0, 3.0{]}"),
        "{latex}"
    );
    assert_eq!(latex.matches("\\begin{table}").count(), 7);
    let text = comparison.text(Style::Plain);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("all datasets: difference to base"), "{text}");
    assert!(text.contains("54.0 ± 3.0*") && text.contains("52.0 ± 2.0'"), "{text}");
}

/// Rows are methods, columns datasets with their metrics: the table that goes into a paper.
#[test]
fn methods_by_datasets_are_one_table() {
    let comparison = two_datasets();
    let latex = comparison.grid_latex(&Metrics::default());
    for line in [
        "    & \\multicolumn{2}{c}{cora} & \\multicolumn{2}{c}{other} \\\\\n",
        "    \\cmidrule(lr){2-3} \\cmidrule(lr){4-5}\n",
        "    Method & Accuracy & Hete-min-F1 & Accuracy & Hete-min-F1 \\\\\n",
        "    b\\_tter \\& more & \\textbf{54.0 $\\pm$ 3.0} & \\textbf{54.0 $\\pm$ 3.0} & \\textbf{75.0 $\\pm$ 1.0} & \\textbf{75.0 $\\pm$ 1.0} \\\\\n",
        "    worse & 51.0 $\\pm$ 2.0 & 51.0 $\\pm$ 2.0 & 69.7 $\\pm$ 0.6 & 69.7 $\\pm$ 0.6 \\\\\n",
    ] {
        assert!(latex.contains(line), "{line}\n{latex}");
    }
    assert!(comparison.latex().contains(&latex), "it is one of the tables of the comparison");
    let one = comparison.grid_latex(&Metrics::parse("hete_min_f1_present").unwrap());
    assert!(
        one.contains("{l rr}".replace(' ', "").as_str()) && one.contains("Hete-min-F1 (present)"),
        "{one}"
    );
    let two = comparison.grid_markdown(&Metrics::parse("hete_f1,accuracy,hete_f1").unwrap());
    let head = "| Method | cora (Hete-F1) | cora (Accuracy) | other (Hete-F1) | other (Accuracy) |";
    assert_eq!(two.lines().next(), Some(head), "in the order of the list");
    assert!(two.contains("| base | *52.0 ± 2.0* |"), "{two}");
    assert_eq!(Metrics::parse("").unwrap(), Metrics::default());
}

/// A method that could not run is in the table with the reason and without a mark.
#[test]
fn methods_by_datasets_show_missing_cells() {
    let over = Cell {
        seed: 0,
        outcome: Outcome::OverBudget { needed: 1 << 40, budget: 1 << 30 },
        peak_bytes: 0,
    };
    let rows = vec![row(&[50.0]), row(&[40.0]), vec![over]];
    let methods = ["base", "other", "huge"].map(contender).to_vec();
    let comparison = Comparison::new(0, methods, vec![0], vec![("cora".into(), rows)]);
    let latex = comparison.grid_latex(&Metrics::parse("accuracy").unwrap());
    assert!(
        latex.contains("huge & over budget \\\\") && latex.contains("over 1 seed, in percent"),
        "{latex}"
    );
    assert!(latex.contains("base & \\textbf{50.0 $\\pm$ --} \\\\"), "{latex}");
}

#[test]
fn a_method_that_equals_the_base_counts_in_the_family() {
    let methods = ["base", "same", "ahead"].map(contender).to_vec();
    let rows = vec![row(&[50.0, 52.0]), row(&[50.0, 52.0]), row(&[51.0, 54.0])];
    let comparison = Comparison::new(0, methods, vec![0, 1], vec![("cora".into(), rows)]);
    let p = |at: usize| comparison.datasets[0].rows[at].metrics["accuracy"].difference.unwrap();
    assert_eq!((p(1).p, p(1).p_holm), (Some(1.0), Some(1.0)));
    // Two positive differences of two: p = 2 / 2², times two tests.
    assert_eq!((p(2).p, p(2).p_holm), (Some(0.5), Some(1.0)));
}

#[test]
fn json_is_read_back() {
    let mut comparison = two_datasets();
    let read: Comparison = serde_json::from_str(&comparison.to_json()).unwrap();
    // The estimate is stored with the costs of the row, not with the cells.
    for row in comparison.datasets.iter_mut().flat_map(|block| &mut block.rows) {
        row.cells.iter_mut().for_each(|cell| cell.peak_bytes = 0);
    }
    assert_eq!(read, comparison);
}

/// A method that is slightly better than the base under every seed.
fn wins(seeds: usize) -> Comparison {
    let base: Vec<f64> = (0..seeds).map(|seed| 50.0 + seed as f64).collect();
    let more: Vec<f64> =
        base.iter().enumerate().map(|(seed, x)| x + 0.5 + 0.1 * seed as f64).collect();
    let methods = ["base", "more"].map(contender).to_vec();
    Comparison::new(
        0,
        methods,
        (0..seeds as u64).collect(),
        vec![("cora".into(), vec![row(&base), row(&more)])],
    )
}

#[test]
fn verdicts_depend_on_the_number_of_seeds() {
    for (seeds, word, limit) in [
        (
            3,
            "too few pairs",
            Some("Three seeds cannot show a difference:\nthe smallest p they allow is 0.25."),
        ),
        (
            5,
            "leans ahead",
            Some("Five seeds cannot show a difference:\nthe smallest p they allow is 0.062."),
        ),
        (6, "ahead", None),
    ] {
        let comparison = wins(seeds);
        let text = comparison.text(Style::Plain);
        // The verdicts have a line of their own below the four numbers of the method.
        let line = text
            .lines()
            .find(|line| line.contains(word) && !line.contains("Ahead and behind"))
            .unwrap();
        assert_eq!(
            line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect::<Vec<_>>(),
            [word; 4],
            "{text}"
        );
        let limited = text.contains("cannot show a difference");
        assert_eq!(limited, limit.is_some(), "{text}");
        assert!(limit.is_none_or(|limit| text.contains(limit)), "{text}");
        assert!(
            comparison.markdown().contains(&format!("<br>{word} |"))
                && comparison.latex().contains(word)
        );
        let csv = comparison.summary_csv();
        assert!(csv.lines().nth(6).unwrap().ends_with(&format!(",{word}")), "{csv}");
    }
}

#[test]
fn files_of_earlier_versions_follow_the_same_rule() {
    let text = wins(5).to_json();
    let mut old: serde_json::Value = serde_json::from_str(&text).unwrap();
    let difference = &mut old["datasets"][0]["rows"][1]["metrics"]["accuracy"]["difference"];
    assert_eq!(difference["verdict"], "leans-ahead");
    difference.as_object_mut().unwrap().remove("verdict");
    let read: Comparison = serde_json::from_value(old).unwrap();
    let difference = read.datasets[0].rows[1].metrics["accuracy"].difference.unwrap();
    assert_eq!((difference.verdict, difference.certainty()), (None, Certainty::LeansAhead));
}
