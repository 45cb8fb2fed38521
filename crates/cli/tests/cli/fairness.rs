//! A positive class and protected attributes, from raw files to the report.

use crate::common::Place;
use serde_json::Value;
use std::collections::BTreeMap;

/// Cheap, and enough to find most frauds.
const QUICK: &str =
    "--method fedavg --clients 2 --rounds 15 --set model.hidden=8 --quiet --set learning_rate=0.05";

/// 600 customers of two banks' worth of rows. Every fifth is a fraud, which one feature shows; of
/// women it shows it less clearly. `groups` are more headings and the values for a customer.
fn write_customers(place: &Place, name: &str, heading: &str, value: fn(u64) -> &'static str) {
    let mut state = 11u64;
    // A plain linear congruential generator: the same table everywhere.
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut nodes = format!("id,label,split,x,y{heading}\n");
    let mut edges = String::from("src,dst\n");
    for customer in 0..600u64 {
        let is_fraud = draw(5) == 0;
        let is_woman = customer % 2 == 0;
        let split = ["train", "train", "val", "test", "test"][draw(5) as usize];
        let noise = if is_woman { 90 } else { 40 };
        let x = u64::from(is_fraud) * 60 + draw(noise);
        let label = if is_fraud { "fraud" } else { "ok" };
        let (y, group) = (draw(100), value(customer));
        nodes.push_str(&format!("c{customer},{label},{split},{},{y}{group}\n", x));
        edges.push_str(&format!("c{customer},c{}\n", draw(600)));
    }
    place.write(&format!("{name}/nodes.csv"), nodes);
    place.write(&format!("{name}/edges.csv"), edges);
}

fn sex(customer: u64) -> &'static str {
    if customer.is_multiple_of(2) { ",f" } else { ",m" }
}

/// Counts of the test nodes of `predictions.csv` by value of a column: nodes, positives, selected,
/// selected positives.
fn count(place: &Place, file: &str, column: &str) -> BTreeMap<String, [u64; 4]> {
    let text = place.read(file);
    let head: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let at = |name: &str| head.iter().position(|found| *found == name).unwrap();
    let mut counts = BTreeMap::new();
    for row in text.lines().skip(1) {
        let row: Vec<&str> = row.split(',').collect();
        if row[at("split")] != "test" {
            continue;
        }
        let (truth, selected) = (row[at("label")] == "fraud", row[at("prediction")] == "fraud");
        let found: &mut [u64; 4] = counts.entry(row[at(column)].to_owned()).or_default();
        let one = [true, truth, selected, truth && selected];
        found.iter_mut().zip(one).for_each(|(sum, yes)| *sum += u64::from(yes));
    }
    counts
}

/// `hits` and `cases` of a share.
fn share(share: &Value) -> [u64; 2] {
    [share["hits"].as_u64().unwrap(), share["cases"].as_u64().unwrap()]
}

#[test]
fn rates_by_protected_attribute_are_in_every_file_and_agree() {
    let place = Place::new();
    write_customers(&place, "bank", ",group:sex", sex);
    let done = place.ok(&format!("run bank {QUICK} --seeds 1 --set positive=fraud --out a"));
    let summary = place.json("a/summary.json");
    let fairness = &summary["seeds"][0]["fairness"];
    assert_eq!(fairness["positive"], "configured");
    let sex = &fairness["attributes"][0];
    let counts = count(&place, "a/predictions.csv", "group:sex");
    assert_eq!(counts.len(), 2);
    let mut rates = Vec::new();
    for (group, [nodes, positives, selected, both]) in &counts {
        let name = format!("sex={group}");
        let groups = sex["groups"].as_array().unwrap();
        let found = groups.iter().find(|found| found["group"] == name[..]).unwrap();
        assert_eq!(found["nodes"].as_u64(), Some(*nodes));
        assert_eq!(share(&found["selection_rate"]), [*selected, *nodes]);
        assert_eq!(share(&found["true_positive_rate"]), [*both, *positives]);
        assert_eq!(share(&found["precision"]), [*both, *selected]);
        assert!(found["scores"]["auc"].as_f64().unwrap() > 0.5, "{found}");
        rates.push(*selected as f64 / *nodes as f64);
    }
    let difference = sex["demographic_parity"]["difference"].as_f64().unwrap();
    assert!((difference - (rates[0] - rates[1]).abs()).abs() < 1e-12);
    assert!(counts.values().all(|[.., both]| *both > 0), "frauds of either sex are found");
    // The terminal and the report show the same.
    let shown = format!("difference {:.1} points", 100.0 * difference);
    assert!(done.stdout.contains("`fraud` against the rest by sex"), "{}", done.stdout);
    assert!(done.stdout.contains(&format!("Demographic parity: {shown}")), "{}", done.stdout);
    assert!(done.stdout.lines().all(|line| line.chars().count() <= 100), "{}", done.stdout);
    let report = place.read("a/report.html");
    assert!(report.contains("id=\"fairness\"") && report.contains("sex=f"));
    // `diagnose` reads the same from predictions.csv.
    let frame = place.ok("diagnose a --by column:sex --metric selection_rate:fraud").stdout;
    assert!(frame.contains(&format!("Difference {:.1}", 100.0 * difference)), "{frame}");
}

#[test]
fn data_without_groups_have_no_section_unless_a_positive_class_is_set() {
    let place = Place::new();
    write_customers(&place, "bank", "", |_| "");
    place.ok(&format!("run bank {QUICK} --seeds 1 --out a"));
    let header = "seed,node,client,split,label,prediction,minority,heterophilous";
    assert_eq!(place.read("a/predictions.csv").lines().next(), Some(header));
    assert!(!place.read("a/summary.json").contains("fairness"));
    assert!(!place.read("a/config.toml").contains("evaluation"));
    assert!(!place.read("a/report.html").contains("id=\"fairness\""));
    let done = place.ok(&format!("run bank {QUICK} --seeds 2 --set positive=fraud --out b"));
    assert!(done.stdout.contains("Positive class: `fraud`."), "{}", done.stdout);
    let [plain, positive] = ["a", "b"].map(|run| place.json(&format!("{run}/summary.json")));
    assert_eq!(plain["seeds"][0]["digest"], positive["seeds"][0]["digest"], "no digit changes");
    let found = &positive["seeds"][1]["fairness"];
    assert_eq!(found["classes"][0]["class"], "fraud");
    assert!(found.get("attributes").is_none());
}

#[test]
fn what_the_data_do_not_have_is_refused_before_training() {
    let place = Place::new();
    write_customers(&place, "bank", ",group:sex", sex);
    write_customers(&place, "plain", "", |_| "");
    let with = |data: &str, keys: &str| format!("run {data} {QUICK} --seeds 1 {keys} --out a");
    place.refused_with(
        &with("bank", "--set positive=frud"),
        &["unknown positive class `frud` (did you mean `fraud`?); there are fraud, ok"],
    );
    place.refused_with(
        &with("plain", "--set thresholds=equal-selection"),
        &["evaluation.thresholds: expected data with group columns, found none in plain"],
    );
    place.refused_with(&with("bank", "--set thresholds=equal"), &["thresholds", "equal-selection"]);
}

#[test]
fn a_positive_class_that_is_never_predicted_is_warned_about() {
    let place = Place::new();
    write_customers(&place, "bank", ",group:sex", sex);
    let untrained = QUICK.replace("learning_rate=0.05", "learning_rate=1e-9");
    let done = place.ok(&format!("run bank {untrained} --seeds 4 --set positive=fraud --out a"));
    let summary = place.json("a/summary.json");
    let kinds: Vec<&str> = summary["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w["kind"].as_str().unwrap())
        .collect();
    let never =
        summary["seeds"].as_array().unwrap().iter().any(|seed| {
            seed["fairness"]["classes"][0]["selection_rate"]["hits"].as_u64() == Some(0)
        });
    assert!(never, "a network that is not trained selects no node under some seed");
    assert!(kinds.contains(&"positive-never-predicted"), "{kinds:?}");
    assert!(done.stdout.contains("the positive class `fraud` is never predicted"));
}

#[test]
fn thresholds_by_group_make_groups_more_equal_and_show_their_cost() {
    let place = Place::new();
    write_customers(&place, "bank", ",group:sex", sex);
    let run = |keys: &str, out: &str| {
        let arguments =
            format!("run bank {QUICK} --seeds 1 --set positive=fraud {keys} --out {out}");
        (place.ok(&arguments).stdout, place.json(&format!("{out}/summary.json")))
    };
    let (_, plain) = run("", "a");
    let (text, treated) = run("--set thresholds=equal-opportunity", "b");
    assert_eq!(plain["digest"], treated["digest"], "the model and its predictions stay");
    assert_eq!(place.read("a/predictions.csv"), place.read("b/predictions.csv"));
    let sex = &treated["seeds"][0]["fairness"]["attributes"][0];
    let found = &sex["thresholds"];
    assert_eq!(found["rule"], "equal-opportunity");
    // Before the thresholds it is the model, as in the table of groups.
    let difference = |side: &str| found[side]["true_positive_rate_difference"].as_f64().unwrap();
    assert_eq!(
        found["before"]["true_positive_rate_difference"],
        sex["true_positive_rate"]["difference"]
    );
    assert!(difference("after") < difference("before"), "{found:#}");
    let thresholds: Vec<f64> = found["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["threshold"].as_f64().unwrap())
        .collect();
    assert!(thresholds[0] != thresholds[1], "{thresholds:?}");
    let accuracy = |side: &str| 100.0 * found[side]["accuracy"]["value"].as_f64().unwrap();
    let cost = format!("accuracy {:.1} to {:.1}", accuracy("before"), accuracy("after"));
    // Lines are broken between words.
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains(&cost), "{cost}\n{text}");
    assert!(place.read("b/report.html").contains("Thresholds by group (equal-opportunity)"));
    assert!(plain["seeds"][0]["fairness"]["attributes"][0].get("thresholds").is_none());
}

#[test]
fn a_resumed_run_has_the_same_rates() {
    let place = Place::new();
    write_customers(&place, "bank", ",group:sex", sex);
    let run = |out: &str| {
        format!("run bank {QUICK} --seeds 2 --set thresholds=equal-selection --out {out}")
    };
    place.ok(&run("whole"));
    let fairness = |run: &str, seed: usize| {
        place.json(&format!("{run}/summary.json"))["seeds"][seed]["fairness"].clone()
    };
    place.ok(&run("again"));
    assert_eq!(place.read("whole/predictions.csv"), place.read("again/predictions.csv"));
    for seed in 0..2 {
        assert_eq!(fairness("whole", seed), fairness("again", seed));
        assert_eq!(fairness("whole", seed)["positive"], "last-of-two");
    }
}
