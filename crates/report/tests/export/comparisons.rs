//! Exports of comparisons.

use crate::compared::compared;
use boostfgl_report::export::{Format, export_comparisons, is_table};
use boostfgl_report::figure::{FIGURES, Figure};
use boostfgl_report::{Metrics, Results};
use std::fs;

#[test]
fn every_cell_metric_and_round_is_a_row() {
    let place = tempfile::tempdir().unwrap();
    let views = [compared(&place.path().join("c")), compared(&place.path().join("again/c"))];
    let to = place.path().join("out");
    let formats = Format::parse("csv,json,latex,markdown,tensorboard").unwrap();
    let written = export_comparisons(&views, &Metrics::default(), &formats, &to).unwrap();
    let read = |name: &str| fs::read_to_string(to.join(name)).unwrap();
    let rows = |name: &str| {
        read(name).lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };

    let cells: Vec<Vec<String>> = rows("cells.csv");
    let expected =
        ["comparison", "dataset", "method", "evaluated", "seed", "state", "accuracy_pooled"];
    assert_eq!(cells[0][..7], expected);
    // Two datasets, methods and seeds of each of two comparisons.
    assert_eq!(cells.len(), 1 + 2 * 8);
    assert_eq!(cells[8][..7], ["c", "small", "other", "global", "1", "done", "57"]);
    assert_eq!(cells[9][0], "c-2", "of two comparisons of one name the second has a number");

    let differences: Vec<Vec<String>> = rows("differences.csv");
    let row = |dataset: &str, method: &str, metric: &str| {
        let same = |row: &&Vec<String>| row[..3] == ["c", dataset, method] && row[4] == metric;
        differences
            .iter()
            .find(same)
            .unwrap_or_else(|| panic!("{dataset} {method} {metric}"))
            .clone()
    };
    assert_eq!(differences[0][4..9], ["metric", "base", "mean", "std", "difference"]);
    assert_eq!(row("cora", "other", "accuracy")[5..7], ["base", "52.5"]);
    assert_eq!(row("cora", "other", "accuracy")[8], "2");
    let together = row("all datasets", "other", "accuracy");
    assert_eq!(
        (&together[6][..], &together[8][..], &together[11][..]),
        ("", "2", "4"),
        "no mean over datasets, 4 pairs"
    );

    let curves: Vec<Vec<String>> = rows("curves.csv");
    assert_eq!(curves.len(), 1 + 2 * 8 * 2);
    assert_eq!(curves[1][..8], ["c", "cora", "base", "global", "0", "1", "1", "25"]);
    let json: serde_json::Value = serde_json::from_str(&read("curves.json")).unwrap();
    assert_eq!(
        (json.as_array().unwrap().len(), &json[1]["accuracy_pooled"]),
        (32, &serde_json::json!(50.0))
    );

    assert!(read("comparisons.tex").contains("\\multicolumn{2}{c}{cora}"));
    assert!(
        read("comparisons.md")
            .starts_with("## Methods by datasets\n\n| Method | cora (Accuracy) |")
    );
    let events = written.iter().filter(|path| path.starts_with(to.join("tensorboard")));
    assert_eq!(events.count(), 16);
    assert!(
        to.join("tensorboard/c-2/small/other/seed1/events.out.tfevents.0000000000.boostfgl")
            .is_file()
    );
    for table in ["cells.json", "differences.json", "curves.json"] {
        assert!(is_table(&to.join(table)), "{table}");
    }
    assert!(!is_table(&place.path().join("c/comparison.json")) && !is_table(&to.join("cells.csv")));
}

#[test]
fn figures_of_a_comparison_are_drawn_once() {
    let place = tempfile::tempdir().unwrap();
    let view = compared(&place.path().join("c"));
    let drawn = |figure: &Figure| figure.charts(&Results::of_comparison(figure.experiment, &view));
    let own: Vec<&Figure> = FIGURES.iter().filter(|figure| figure.same_as.is_none()).collect();
    let named: Vec<&str> =
        own.iter().filter(|figure| !drawn(figure).is_empty()).map(|figure| figure.name).collect();
    assert_eq!(named, ["convergence", "runtime", "table1"]);
    let mut pictures: Vec<String> =
        own.iter().flat_map(|figure| drawn(figure)).map(|chart| chart.svg).collect();
    let all = pictures.len();
    pictures.sort();
    pictures.dedup();
    assert_eq!(pictures.len(), all);
    // The figures left out would repeat one of these pictures.
    for figure in FIGURES.iter().filter(|figure| figure.same_as.is_some()) {
        let other = Figure::named(figure.same_as.unwrap()).unwrap();
        assert!(
            other.same_as.is_none() && drawn(figure)[0].svg == drawn(other)[0].svg,
            "{}",
            figure.name
        );
    }
    let accuracy = &drawn(Figure::named("convergence").unwrap())[0];
    let csv = accuracy.csv();
    assert!(
        accuracy.title.starts_with("Accuracy over rounds, cora") && csv.starts_with("round,"),
        "{csv}"
    );
    assert!(
        csv.lines().nth(2).unwrap().starts_with("2,50.5,"),
        "mean of 50 and 51 in the last round\n{csv}"
    );
}
