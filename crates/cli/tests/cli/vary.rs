//! `compare --vary`: keys that are varied, their curves, heat maps and tables.

use crate::common::{Place, table};
use serde_json::Value;

/// Few rounds of a small network.
const SMALL: &str = "--rounds 2 --set model.hidden=8 --quiet";

fn labels(document: &Value) -> Vec<String> {
    let methods = document["methods"].as_array().unwrap();
    methods.iter().map(|method| method["label"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_varied_key_gives_a_row_per_value_and_a_curve_per_method() {
    let place = Place::new();
    let command = "compare --methods fedavg,moon --vary lr=0.02,0.005 --seeds 2";
    let done = place.ok(&format!("{command} {SMALL} --out c"));
    let document = place.json("c/comparison.json");
    assert_eq!(
        labels(&document),
        [
            "fedavg, learning_rate=0.02",
            "fedavg, learning_rate=0.005",
            "moon, learning_rate=0.02",
            "moon, learning_rate=0.005"
        ]
    );
    assert!(done.stdout.contains("Varied: optimizer.learning_rate."), "{}", done.stdout);
    assert_eq!(document["varied"]["keys"][0], "optimizer.learning_rate");
    let rows = table(&place.read("c/comparison-varied.csv"));
    assert_eq!(rows.len(), 2 * 2 * 5);
    let first = &rows[0];
    assert_eq!((&first["method"][..], &first["seeds"][..]), ("fedavg", "2"));
    assert_eq!(first["optimizer.learning_rate"], "0.02");
    let mean = document["datasets"][0]["rows"][0]["metrics"]["accuracy"]["mean"].as_f64().unwrap();
    assert_eq!(first["mean"].parse::<f64>().unwrap(), mean);
    let html = place.read("c/report.html");
    assert!(html.contains("What was varied"), "the section");
    assert!(html.contains("demo: Accuracy over optimizer.learning_rate"), "the curve");
    // Numbers are in order, however they were given.
    let chart = &html[html.find("demo: Accuracy over optimizer.learning_rate").unwrap()..];
    assert!(chart.find(">0.005<").unwrap() < chart.find(">0.02<").unwrap());
    assert!(html.contains("Convergence"), "the curves of the cells are found");
}

#[test]
fn a_cell_of_a_varied_key_equals_a_run_with_that_setting_and_is_reused() {
    let place = Place::new();
    let command = format!("compare --methods fedavg --vary lr=0.02,0.005 --seeds 1 {SMALL}");
    place.ok(&format!("{command} --out c"));
    let cell = &place.json("c/comparison.json")["datasets"][0]["rows"][1]["cells"][0];
    let run = format!("run --method fedavg --set lr=0.005 --seeds 1 {SMALL} --json --out r");
    let summary: Value = serde_json::from_str(&place.ok(&run).stdout).unwrap();
    assert_eq!(cell["digest"], summary["seeds"][0]["digest"]);
    // The same cells without --vary, and with another value.
    let plain =
        place.ok(&format!("compare --methods fedavg --set lr=0.005 --seeds 1 {SMALL} --out c"));
    assert!(plain.stdout.contains("1 of 1 cells reused"), "{}", plain.stdout);
    assert!(!place.exists("c/comparison-varied.csv"), "nothing was varied");
    assert!(place.read("c/report.html").contains("Convergence"), "its curve has another label");
    let more = place.ok(&format!("{command} --out c").replace("0.005", "0.005,0.1"));
    assert!(more.stdout.contains("2 of 3 cells reused"), "{}", more.stdout);
}

#[test]
fn two_keys_give_a_heat_map_per_method_and_words_are_levels() {
    let place = Place::new();
    place.ok(&format!(
        "compare --methods fedavg --vary lr=0.01,0.02 --vary backbone=gcn,sage --seeds 1 {SMALL} \
         --out c"
    ));
    let html = place.read("c/report.html");
    assert!(html.contains("fedavg on demo: Accuracy, %"), "the heat map");
    let chart = &html[html.find("fedavg on demo: Accuracy, %").unwrap()..];
    let chart = &chart[..chart.find("</svg>").unwrap()];
    assert_eq!(chart.matches("class=\"heat\"").count(), 4, "{chart}");
    assert_eq!(place.json("c/comparison.json")["methods"].as_array().unwrap().len(), 4);
}

/// Runs under other partitions are no pairs.
#[test]
fn values_that_change_the_partition_are_blocks_of_their_own() {
    let place = Place::new();
    place.ok(&format!(
        "compare --methods fedavg,isolated --vary clients=2,3 --seeds 1 {SMALL} --out c"
    ));
    let document = place.json("c/comparison.json");
    assert_eq!(labels(&document), ["fedavg", "isolated"]);
    let blocks = document["datasets"].as_array().unwrap();
    let names: Vec<&str> = blocks.iter().map(|block| block["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["demo (clients=2)", "demo (clients=3)"]);
    let html = place.read("c/report.html");
    assert!(html.contains("demo: Accuracy over partition.clients"));
    assert!(html.contains("Convergence"), "the curves of the cells are found");
}

#[test]
fn a_key_of_one_method_leaves_the_others_alone() {
    let place = Place::new();
    place.ok(&format!(
        "compare --methods fedavg,fedprox --vary fedprox.mu=0.1,1.0 --base fedprox --seeds 1 \
         {SMALL} --out c"
    ));
    let document = place.json("c/comparison.json");
    assert_eq!(labels(&document), ["fedavg", "fedprox, fedprox.mu=0.1", "fedprox, fedprox.mu=1.0"]);
    assert_eq!(document["base"], "fedprox, fedprox.mu=0.1");
}

#[test]
fn wrong_values_of_vary_are_refused_before_training() {
    let place = Place::new();
    for (rest, wanted) in [
        ("--vary lr", "expected KEY=VALUE,VALUE, found no `=`"),
        ("--vary lrate=1", "unknown key `lrate`"),
        ("--vary learning_rat=1", "did you mean `optimizer.learning_rate`?"),
        ("--vary seeds=1,2", "expected a key that is not given otherwise, found `seeds`"),
        ("--vary method=fedavg", "found `method`"),
        ("--vary rounds=0,1", "fed.rounds: expected at least 1, found 0"),
        ("--vary rounds=0 --vary lr=fast", "optimizer.learning_rate: expected a number"),
        ("--vary backbone=gnc", "gnc"),
        ("--vary fedprox.mu=1", "expected a key that one of the methods has"),
        ("--vary lr=1 --vary lr=2", "expected every key once"),
    ] {
        let command = format!("compare --methods fedavg --seeds 1 --out out {rest}");
        place.refused_with(&command, &[wanted]);
    }
}
