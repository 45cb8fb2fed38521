//! Frames round by round, as tables.

use boostfgl_fairness::frame::{FrameRow, SeedFrame, SeedFrames};
use boostfgl_fairness::{FrameMetric, Grouping, MetricFrame};
use boostfgl_report::{GroupCurves, RoundFrames, Style};

/// A frame whose groups have these values.
fn frame(values: &[(&str, Option<f64>)]) -> MetricFrame {
    let row = |(group, value): &(&str, Option<f64>)| FrameRow {
        group: (*group).into(),
        nodes: usize::from(value.is_some()),
        counted: usize::from(value.is_some()),
        value: *value,
        interval: None,
        small: false,
    };
    MetricFrame {
        metric: FrameMetric::accuracy(),
        grouping: Grouping::parse("column:a").unwrap(),
        min_group: 1,
        nodes: 4,
        counted: 4,
        overall: Some(0.5),
        overall_interval: None,
        rows: values.iter().map(row).collect(),
        difference: Some(0.25),
        difference_interval: None,
        ratio: None,
        worst: None,
    }
}

fn course(rounds: Vec<Vec<MetricFrame>>) -> GroupCurves {
    let round_frames = |(round, frames): (usize, Vec<MetricFrame>)| {
        let seeds = (0..).zip(frames).map(|(seed, frame)| SeedFrame { seed, frame }).collect();
        RoundFrames { round, frames: SeedFrames::new(seeds).unwrap() }
    };
    let rounds = (1..).zip(rounds).map(round_frames).collect();
    GroupCurves {
        metric: FrameMetric::accuracy(),
        grouping: Grouping::parse("column:a").unwrap(),
        rounds,
    }
}

#[test]
fn one_row_per_round() {
    let values = |x| {
        vec![frame(&[("a=x × minority", Some(x)), ("a=y × minority", None), ("a=z", Some(0.5))])]
    };
    let text = course(vec![values(0.25), values(0.75)]).text("demo, fedavg", Style::Plain);
    let expected = "\
demo, fedavg: accuracy by column:a, round by round

Round  all nodes     a=x ×     a=y ×    a=z  difference
                  minority  minority
────────────────────────────────────────────────────────
1           50.0      25.0         –   50.0        25.0
2           50.0      75.0         –   50.0        25.0
────────────────────────────────────────────────────────
Percent, on the test nodes after each evaluated round.
";
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn groups_left_out_of_the_difference_are_listed() {
    let mut small = frame(&[("a=x", Some(0.25)), ("a=y", Some(0.5))]);
    (small.min_group, small.rows[0].small) = (10, true);
    let text = course(vec![vec![small]]).text("demo, fedavg", Style::Plain);
    assert!(
        text.ends_with("Not in the difference (fewer than 10 counted cases): a=x.\n"),
        "{text}"
    );
}

#[test]
fn wide_tables_are_split_and_seeds_have_a_standard_deviation() {
    let names: Vec<String> = (0..30).map(|at| format!("a=a rather long value {at}")).collect();
    let values = |x| names.iter().map(|name| (name.as_str(), Some(x))).collect::<Vec<_>>();
    let several = course(vec![vec![frame(&values(0.25)), frame(&values(0.75))]]);
    let text = several.text("demo", Style::Plain);
    // 25 % and 75 %: 50 ± 25 √2.
    assert_eq!(text.matches("50.0 ± 35.4").count(), 30, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(
        names.iter().all(|name| text.contains(name)) && text.contains("over 2 seeds"),
        "{text}"
    );
    assert!(
        several.markdown("demo").starts_with("| Round | all nodes |"),
        "{}",
        several.markdown("demo")
    );
    let json = serde_json::to_string(&several).unwrap();
    assert_eq!(serde_json::from_str::<GroupCurves>(&json).unwrap(), several);
}
