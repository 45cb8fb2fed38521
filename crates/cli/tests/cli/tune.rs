//! `tune`: the same trials for every method, chosen on validation nodes, and equal budgets.

use crate::common::{Place, table};
use serde_json::Value;
use std::collections::BTreeMap;

/// Few rounds of a small network.
const SMALL: &str = "--rounds 3 --set model.hidden=8 --quiet";

/// Method and learning rate of the best mean validation accuracy, from the trials alone.
fn best_by_hand(trials: &[BTreeMap<String, String>], method: &str) -> String {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial["method"] == method) {
        let score: f64 = trial["val_accuracy"].parse().unwrap();
        *sums.entry(&trial["optimizer.learning_rate"]).or_default() += score;
    }
    let best = sums.iter().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    (*best.0).to_owned()
}

#[test]
fn the_setting_with_the_best_validation_score_is_compared_on_test_nodes() {
    let place = Place::new();
    let command = "tune --methods fedavg,moon --vary lr=0.0001,0.05 --seeds 2";
    let done = place.ok(&format!("{command} {SMALL} --out t"));
    assert!(done.stdout.contains("demo: chosen on validation nodes"), "{}", done.stdout);
    let trials = table(&place.read("t/trials.csv"));
    assert_eq!(trials.len(), 2 * 2 * 2, "methods, values, seeds");
    assert!(!place.read("t/trials.csv").contains("hete"), "no test score");
    let document = place.json("t/comparison.json");
    assert_eq!(document["tuning"]["trials"], 2);
    for (at, method) in ["fedavg", "moon"].iter().enumerate() {
        let chosen = &document["tuning"]["chosen"][at];
        let wanted = best_by_hand(&trials, method);
        assert_eq!(chosen["settings"]["optimizer.learning_rate"], wanted.as_str(), "{method}");
        assert!(done.stdout.contains(&format!("optimizer.learning_rate = {wanted}")));
        // The chosen configuration is accepted and gives the scores in the table.
        let run = format!("run --config t/best/demo/{method}.toml --quiet --json --out {method}");
        let summary: Value = serde_json::from_str(&place.ok(&run).stdout).unwrap();
        let row = &document["datasets"][0]["rows"][at];
        assert_eq!(row["cells"][1]["digest"], summary["seeds"][1]["digest"]);
        assert_eq!(row["metrics"]["accuracy"]["mean"], summary["mean"]["accuracy"]["pooled"]);
        let scores = summary["seeds"].as_array().unwrap().iter();
        let mean = scores.map(|seed| seed["val_accuracy"].as_f64().unwrap()).sum::<f64>() / 2.0;
        assert!((mean - chosen["mean"].as_f64().unwrap()).abs() < 1e-9, "{method}");
    }
    assert!(place.read("t/report.html").contains("Chosen for fedavg on validation nodes"));
    let again = place.ok(&format!("{command} {SMALL} --out t"));
    assert!(again.stdout.contains("8 of 8 cells reused"), "{}", again.stdout);
}

#[test]
fn a_random_search_tries_the_same_settings_of_every_method() {
    let place = Place::new();
    let command = "tune --methods fedavg,moon --vary lr=0.01,0.02,0.04 --vary hidden=4,8 --trials 2 \
        --seeds 1 --rounds 2 --quiet --metric val_macro_f1 --out";
    place.ok(&format!("{command} a"));
    let trials = table(&place.read("a/trials.csv"));
    assert_eq!(trials.len(), 4);
    let settings = |method: &str| -> Vec<[String; 2]> {
        let own = trials.iter().filter(|trial| trial["method"] == method);
        own.map(|t| ["optimizer.learning_rate", "model.hidden"].map(|key| t[key].clone())).collect()
    };
    assert_eq!(settings("fedavg"), settings("moon"));
    place.ok(&format!("{command} b"));
    assert_eq!(place.read("a/trials.csv"), place.read("b/trials.csv"), "the draw has a seed");
    place.ok(&format!("{command} c --search-seed 3"));
    assert_ne!(place.read("a/trials.csv"), place.read("c/trials.csv"));
}

#[test]
fn wrong_searches_are_refused_before_training() {
    let place = Place::new();
    for (rest, wanted) in [
        ("", "--vary"),
        ("--vary lr=0.1 --metric accuracy", "expected val_accuracy or val_macro_f1"),
        ("--vary lr=0.1 --trials 0", "expected 1 to 10000 trials per method, found 0"),
        ("--vary clients=2,3", "expected a key of training, found `partition.clients`"),
        ("--vary lr=0.1 --methods fedavgg", "did you mean `fedavg`?"),
        ("--vary lr=0.1 --budget byts", "did you mean bytes?"),
        ("--vary lr=0.1 --set method=moon", "--set method: expected datasets as arguments"),
    ] {
        place.refused_with(&format!("tune --seeds 1 --out out {rest}"), &[wanted]);
    }
}

/// Rounds × epochs and traffic of every row of a comparison.
fn rounds_and_bytes(document: &Value) -> Vec<(u64, u64)> {
    let rows = document["datasets"][0]["rows"].as_array().unwrap();
    rows.iter()
        .map(|row| {
            let cell = &row["cells"][0];
            let cost = &cell["cost"];
            let bytes = cost["bytes_up"].as_u64().unwrap() + cost["bytes_down"].as_u64().unwrap();
            (cell["budget"]["rounds"].as_u64().unwrap(), bytes)
        })
        .collect()
}

#[test]
fn a_budget_of_bytes_gives_every_method_the_most_rounds_that_it_can_pay() {
    let place = Place::new();
    let command = "compare --methods fedavg,fedgta,scaffold,isolated --seeds 1 --rounds 12 \
        --set model.hidden=8 --quiet";
    let done = place.ok(&format!("{command} --budget bytes --out c"));
    let document = place.json("c/comparison.json");
    let found = rounds_and_bytes(&document);
    let budget = found[0].1;
    assert_eq!(found[0].0, 12, "the base keeps its rounds");
    for (at, &(rounds, bytes)) in found.iter().enumerate().take(3) {
        assert!(bytes <= budget, "row {at}: {bytes} of {budget}");
        // One more round would cost more than the budget.
        assert!(bytes + bytes / rounds > budget, "row {at}: {rounds} rounds");
    }
    assert!(found[2].0 < 12, "SCAFFOLD sends control variates as well: {found:?}");
    assert_eq!(found[3], (12, 0), "isolated sends nothing");
    let sentence = format!("Rounds: fedavg 12, fedgta {}", found[1].0);
    assert!(done.stdout.contains(&sentence), "{sentence}\n{}", done.stdout);
    assert_eq!(document["budget"]["rounds"][0][1], found[1].0);
}

#[test]
fn a_budget_of_rounds_counts_those_that_a_method_adds() {
    let place = Place::new();
    let command = "compare --methods fedavg,adafgl --seeds 1 --rounds 6 --set model.hidden=8 \
        --budget rounds --quiet";
    place.ok(&format!("{command} --set adafgl.personal_epochs=4 --out c"));
    let found = rounds_and_bytes(&place.json("c/comparison.json"));
    assert_eq!((found[0].0, found[1].0), (6, 2));
    let refused = place.run(&format!("{command} --out d"));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("at least 51.000000 rounds for one round of adafgl"));
}

/// The calibration decides, not the clock of the second run.
#[test]
fn a_budget_of_cpu_is_measured_once_and_repeated_from_its_file() {
    let place = Place::new();
    let command = "compare --methods fedavg,moon --seeds 1 --rounds 6 --set model.hidden=8 \
        --budget cpu --quiet --json";
    place.ok(&format!("{command} --out a"));
    let calibration = place.read("a/calibration.toml");
    assert_eq!(calibration.matches("[[measured]]").count(), 2, "{calibration}");
    // Another place with that file, in which a round of MOON costs three of FedAvg.
    let mut rates = ["per_round = 0.5\n", "per_round = 1.5\n"].into_iter();
    let mut edited = String::new();
    for line in calibration.lines() {
        match line {
            line if line.starts_with("per_round") => edited.push_str(rates.next().unwrap()),
            line if line.starts_with("fixed") => edited.push_str("fixed = 0.0\n"),
            line => edited.push_str(&format!("{line}\n")),
        }
    }
    place.ok("compare --methods fedavg --seeds 1 --rounds 1 --set model.hidden=8 --quiet --out b");
    place.write("b/calibration.toml", edited);
    place.ok(&format!("{command} --out b"));
    let found = rounds_and_bytes(&place.json("b/comparison.json"));
    assert_eq!((found[0].0, found[1].0), (6, 2), "a third of the rounds at three times the cost");
}
