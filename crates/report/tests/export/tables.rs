//! CSV, JSON, LaTeX and Markdown.

use super::*;
use boostfgl_report::Depth;
use serde_json::json as value;

#[test]
fn csv_and_json_have_every_row() {
    let place = tempfile::tempdir().unwrap();
    let (views, to) = (views(place.path()), place.path().join("new/folder"));
    let written = exported(&views, "csv,json", &to);
    let tables = ["runs.csv", "rounds.csv", "clients.csv", "predictions.csv"];
    assert_eq!(written, [&tables[..], &["runs.json", "rounds.json", "clients.json"]].concat());
    for (name, rows) in
        [("runs", 3), ("rounds", 3 * 2 * 3), ("clients", 3 * 2 * 3 * 2), ("predictions", 3 * 2 * 5)]
    {
        let text = csv(to.join(format!("{name}.csv")));
        assert_eq!(text.len(), rows, "{name}");
        if name == "predictions" {
            continue;
        }
        let typed = json(to.join(format!("{name}.json")));
        for (text, typed) in text.iter().zip(&typed) {
            assert_eq!(text.keys().collect::<Vec<_>>(), typed.keys().collect::<Vec<_>>());
            for (column, field) in text {
                match &typed[column] {
                    Value::Null => assert_eq!(field, "", "{name} {column}"),
                    Value::String(text) => assert_eq!(field, text, "{name} {column}"),
                    Value::Number(number) if number.is_f64() => {
                        assert_eq!(field.parse::<f64>().ok(), number.as_f64(), "{name} {column}");
                    }
                    value => assert_eq!(field, &value.to_string(), "{name} {column}"),
                }
            }
        }
    }
}

#[test]
fn exported_numbers_equal_those_of_the_run() {
    let place = tempfile::tempdir().unwrap();
    let views = views(place.path());
    exported(&views, "csv,json", place.path());
    let summary = &json(place.path().join("runs.json"))[1];
    let whole = views[1].summary.as_ref().unwrap();
    assert_eq!(summary["method"], "boostfgl");
    assert_eq!((&summary["seeds"], &summary["seed_list"]), (&value!(2), &value!("0 1")));
    assert_eq!(summary["hete_f1_client_std"], value!(whole.std.0.hete_f1.client));
    assert_eq!(summary["hete_min_f1_pooled_mean"], Value::Null);
    assert_eq!(summary["bytes_up"], value!(whole.bytes.up));

    let round = &json(place.path().join("rounds.json"))[2 * 3 + 3 + 2];
    assert_eq!(
        [&round["run"], &round["seed"], &round["round"]],
        [&value!("cora-boostfgl"), &value!(1), &value!(3)]
    );
    let known = &views[1].rounds.as_ref().unwrap().rounds[5];
    let scores = &known.metrics.as_ref().unwrap().0.scores;
    assert_eq!(round["overall_f1_present"], value!(scores.overall_f1.present));
    assert_eq!(round["loss"], value!(known.loss));
    let unevaluated = &json(place.path().join("rounds.json"))[1];
    assert_eq!(
        (&unevaluated["val_accuracy"], &unevaluated["accuracy_pooled"]),
        (&Value::Null, &Value::Null)
    );

    // Client 1 does not take part in the third round, but is evaluated.
    let client = &csv(place.path().join("clients.csv"))[5];
    assert_eq!((&client["round"][..], &client["client"][..]), ("3", "1"));
    assert_eq!([&client["loss"], &client["weight"], &client["bytes_up"]], ["", "", ""]);
    assert_eq!((&client["accuracy_pooled"][..], &client["nodes"][..]), ("50", "2"));

    let nodes = csv(place.path().join("predictions.csv"));
    assert_eq!((&nodes[3]["node"][..], &nodes[3]["minority"][..]), ("é\n", "true"));
    assert_eq!((&nodes[2]["label"][..], &nodes[2]["split"][..]), ("", "test"));
}

#[test]
fn latex_and_markdown_have_a_table_per_dataset() {
    let place = tempfile::tempdir().unwrap();
    let mut views = views(place.path());
    views[0].name = "twin".to_owned();
    let again = folder(place.path(), "again_1", views[0].summary.as_ref().unwrap());
    views.push(again);
    views.push(RunView::read(place.path(), Depth::Glance).unwrap());
    views[4].name = "empty & broken".to_owned();
    assert_eq!(exported(&views, "tex,md", place.path()), ["runs.tex", "runs.md"]);

    let latex = std::fs::read_to_string(place.path().join("runs.tex")).unwrap();
    assert_eq!(latex.matches("\\begin{table}").count(), 4, "{latex}");
    assert!(latex.contains("\\caption{wiki\\_cs: percent"), "{latex}");
    assert!(latex.contains("\\caption{wiki\\_cs, other readings: percent"), "{latex}");
    assert!(
        latex.contains("boostfgl & \\textbf{85.5 $\\pm$ 0.7} & \\textbf{75.5 $\\pm$ 0.7}"),
        "{latex}"
    );
    assert!(
        latex.contains("    fedavg (twin) & 80.5")
            && latex.contains("    fedavg (again\\_1) & 80.5"),
        "{latex}"
    );
    assert!(latex.contains("    fedavg & 80.5"), "alone on its dataset: {latex}");
    assert!(
        latex.ends_with("% Without a summary, and so in no table: empty \\& broken (broken).\n"),
        "{latex}"
    );

    let markdown = std::fs::read_to_string(place.path().join("runs.md")).unwrap();
    let heads: Vec<&str> = markdown.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(
        heads,
        ["## cora", "### cora: other readings", "## wiki_cs", "### wiki_cs: other readings"]
    );
    assert!(markdown.contains("| boostfgl | **85.5 ± 0.7** |"), "{markdown}");
}

#[test]
fn the_second_best_is_underlined() {
    let place = tempfile::tempdir().unwrap();
    let shifted = |by: f64| SCORES.map(|row| row.map(|x| x.map(|x| x + by)));
    let view = |(name, by): (&str, f64)| folder(place.path(), name, &run(name, &[], &shifted(by)));
    let views: Vec<RunView> = [("a", 0.0), ("b", 0.1), ("c", 0.05)].into_iter().map(view).collect();
    exported(&views, "latex", place.path());
    let latex = std::fs::read_to_string(place.path().join("runs.tex")).unwrap();
    assert!(latex.contains("    c & \\underline{85.5 $\\pm$ 0.7} & "), "{latex}");
    assert!(latex.contains("    b & \\textbf{90.5 $\\pm$ 0.7} & "), "{latex}");
}

/// No run at all is not an error, and a run that is still training has its rounds.
#[test]
fn unfinished_runs_are_exported_without_a_summary() {
    let place = tempfile::tempdir().unwrap();
    let views: Vec<RunView> = ["a", "b"]
        .map(|name| {
            folder(place.path(), name, &run("fedavg", &[], &SCORES));
            std::fs::remove_file(place.path().join(name).join("summary.json")).unwrap();
            RunView::read(place.path().join(name), Depth::Rounds).unwrap()
        })
        .into();
    let written = exported(&views, "all", place.path());
    assert!(!written.iter().any(|name| name.starts_with("predictions")), "{written:?}");
    let summary = json(place.path().join("runs.json"));
    assert_eq!(
        (&summary[1]["state"], &summary[1]["accuracy_pooled_mean"]),
        (&value!("unfinished"), &Value::Null)
    );
    assert_eq!(json(place.path().join("rounds.json")).len(), 12);
    let nothing = place.path().join("nothing");
    let written = exported(&[], "all", &nothing);
    assert!(written.iter().all(|name| nothing.join(name).is_file()), "{written:?}");
    assert!(json(nothing.join("runs.json")).is_empty());
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_refused_where_it_is_not_built_in() {
    let place = tempfile::tempdir().unwrap();
    let error = export(&[], &[Format::Csv, Format::Parquet], place.path()).unwrap_err();
    assert_eq!(error.to_string(), "this boostfgl was built without Parquet");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0, "nothing is written");
}
