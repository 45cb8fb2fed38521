//! Tables of frames, with values computed by hand.

use boostfgl_fairness::frame::{FrameRow, SeedFrame, SeedFrames, WorstGroup};
use boostfgl_fairness::statistics::Interval;
use boostfgl_fairness::{FrameMetric, Grouping, MetricFrame};
use boostfgl_report::{FrameTable, Style};

/// Three groups: two with these accuracies, one without nodes.
fn frame(minority: f64, majority: f64) -> MetricFrame {
    let row = |group: &str, nodes, value, interval: Option<(f64, f64)>| FrameRow {
        group: group.into(),
        nodes,
        counted: nodes,
        value,
        interval: interval.map(|(lo, hi)| Interval { lo, hi }),
        small: false,
    };
    MetricFrame {
        metric: FrameMetric::accuracy(),
        grouping: Grouping::parse("column:a").unwrap(),
        min_group: 1,
        nodes: 6,
        counted: 6,
        overall: Some(0.625),
        overall_interval: Some(Interval { lo: 0.5, hi: 0.75 }),
        rows: vec![
            row("a=x|y", 2, Some(minority), Some((0.0, 1.0))),
            row("a=, \u{1b}", 4, Some(majority), None),
            row("a=z", 0, None, None),
        ],
        difference: Some(majority - minority),
        difference_interval: Some(Interval { lo: 0.125, hi: 0.5 }),
        ratio: Some(minority / majority),
        worst: Some(WorstGroup { group: "a=x|y".into(), value: minority }),
    }
}

#[test]
fn one_seed_has_intervals() {
    let frame = frame(0.5, 0.75);
    let table = FrameTable::of_frame("demo, boostfgl", &frame);
    let expected = "\
demo, boostfgl: accuracy by column:a

Group     Nodes       accuracy        Interval
                             %               %
───────────────────────────────────────────────
all nodes     6           62.5    [50.0, 75.0]
a=x|y         2           50.0!   [0.0, 100.0]
a=, �         4           75.0   not available
a=z           0   no such node
───────────────────────────────────────────────
Percent; 95 % intervals over nodes; ! worst group.
Difference 25.0 [12.5, 50.0] points, ratio 0.67.
";
    assert_eq!(table.text(Style::Plain), expected, "\n{}", table.text(Style::Plain));
    assert!(table.text(Style::Colour).contains("50.0!\u{1b}["));
    let markdown = table.markdown();
    assert!(
        markdown
            .starts_with("| Group | Nodes | accuracy (%) | Interval (%) |\n|:--|--:|--:|--:|\n"),
        "{markdown}"
    );
    assert!(markdown.contains("\n| a=x\\|y | 2 | **50.0** | [0.0, 100.0] |\n"), "{markdown}");
    assert!(
        markdown
            .ends_with("; worst group in bold. Difference 25.0 [12.5, 50.0] points, ratio 0.67.\n"),
        "{markdown}"
    );
}

#[test]
fn csv_has_every_digit() {
    let frame = frame(0.5, 0.75);
    let csv = FrameTable::of_frame("demo", &frame).csv();
    let expected = "\
metric,grouping,seed,row,group,nodes,value,lo,hi,worst,counted,small
accuracy,column:a,,overall,,6,62.5,50,75,,6,
accuracy,column:a,,group,a=x|y,2,50,0,100,1,2,0
accuracy,column:a,,group,\"a=, \u{1b}\",4,75,,,0,4,0
accuracy,column:a,,group,a=z,0,,,,0,0,0
accuracy,column:a,,difference,,,25,12.5,50,,,
accuracy,column:a,,ratio,,,0.6666666666666666,,,,,
";
    assert_eq!(csv, expected, "\n{csv}");
}

#[test]
fn several_seeds_have_a_standard_deviation() {
    let seed = |seed, frame| SeedFrame { seed, frame };
    let frames =
        SeedFrames::new(vec![seed(0, frame(0.5, 0.75)), seed(7, frame(0.375, 0.75))]).unwrap();
    let table = FrameTable::of_seeds("demo", &frames);
    let text = table.text(Style::Plain);
    // Standard deviation of 50 and 37.5: 12.5 / √2 = 8.84; differences 25 and 37.5; ratios 2/3 and
    // 1/2.
    for line in ["a=x|y         2     43.8 ± 8.8!", "a=z           0   no such node"] {
        assert!(text.lines().any(|found| found.trim_end() == line), "{text}");
    }
    assert!(
        text.ends_with(
            "over 2 seeds; ! worst group.\nDifference 31.2 ± 8.8 points, ratio 0.58 ± 0.12.\n"
        ),
        "{text}"
    );
    assert!(table.csv().contains("\naccuracy,column:a,7,group,a=x|y,2,37.5,0,100,1,2,0\n"));
    let alone = SeedFrames::new(vec![seed(3, frame(0.5, 0.75))]).unwrap();
    let table = FrameTable::of_seeds("demo", &alone);
    assert!(
        table.text(Style::Plain).contains("[50.0, 75.0]")
            && table.csv().contains("\naccuracy,column:a,3,overall,")
    );
}

#[test]
fn no_group_is_worst_if_all_are_printed_alike() {
    let even = frame(0.5, 0.5001);
    assert!(!FrameTable::of_frame("demo", &even).text(Style::Plain).contains("50.0!"));
    let mut error = frame(0.25, 0.5);
    error.metric = FrameMetric::parse("error").unwrap();
    assert!(FrameTable::of_frame("demo", &error).text(Style::Plain).contains("50.0!"));
    let undefined =
        MetricFrame { difference: None, ratio: None, difference_interval: None, ..frame(0.5, 0.5) };
    let text = FrameTable::of_frame("demo", &undefined).text(Style::Plain);
    assert!(
        text.ends_with("No difference and ratio: they need two groups with a value.\n"),
        "{text}"
    );
}

#[test]
fn small_groups_and_counted_cases_are_shown() {
    let mut recall = frame(0.5, 0.75);
    recall.metric = FrameMetric::parse("recall:fraud").unwrap();
    (recall.min_group, recall.counted) = (3, 5);
    // The first group counts two cases and is small; the third has nodes, and none of the class.
    recall.rows[0].small = true;
    (recall.rows[2].nodes, recall.rows[2].small) = (7, true);
    (recall.difference, recall.ratio, recall.difference_interval, recall.worst) =
        (None, None, None, None);
    let expected = "\
demo: recall:fraud by column:a

Group         Nodes       Counted      recall:fraud        Interval
                     of the class                 %               %
────────────────────────────────────────────────────────────────────
all nodes         6             5              62.5    [50.0, 75.0]
a=x|y (small)     2             2              50.0    [0.0, 100.0]
a=, �             4             4              75.0   not available
a=z               7             0   no counted node
────────────────────────────────────────────────────────────────────
Percent; 95 % intervals over nodes; ! worst group.
(small): fewer than 3 counted cases; not ranked, not in difference and ratio.
No difference and ratio: they need two groups with a value and at least 3 counted cases.
";
    let text = FrameTable::of_frame("demo", &recall).text(Style::Plain);
    assert_eq!(text, expected, "\n{text}");
    let seed = |seed| SeedFrame { seed, frame: recall.clone() };
    let frames = SeedFrames::new(vec![seed(0), seed(1)]).unwrap();
    let text = FrameTable::of_seeds("demo", &frames).text(Style::Plain);
    assert!(
        text.contains("a=x|y (small)")
            && text.contains("no counted node")
            && !text.contains("50.0 ± 0.0!"),
        "{text}"
    );
}
