//! A positive class and protected attributes, from raw files to the report.

use crate::common::Place;
use serde_json::Value;
use std::collections::BTreeMap;

/// Cheap, and enough to find most frauds.
const QUICK: &str = "--method fedavg --clients 2 --rounds 40 --quiet --set model.backbone=mlp --set \
                     model.hidden=8 --set learning_rate=0.05";

/// 900 customers. Every fifth is a fraud, which one feature shows; of women it shows it less
/// clearly. `heading` is that of one more column, of which `value` gives the field of a customer.
fn write_customers(place: &Place, name: &str, heading: &str, value: fn(u64) -> &'static str) {
    write_shown(place, name, (heading, value), 60);
}

/// The same, where a fraud shows by so much in the feature.
fn write_shown(
    place: &Place,
    name: &str,
    (heading, value): (&str, fn(u64) -> &'static str),
    shown: u64,
) {
    let mut state = 11u64;
    // A plain linear congruential generator: the same table everywhere.
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut nodes = format!("id,label,split,x,y{heading}\n");
    let mut edges = String::from("src,dst\n");
    for customer in 0..900u64 {
        let is_fraud = draw(5) == 0;
        let split = ["train", "train", "val", "test", "test"][draw(5) as usize];
        let noise = if customer.is_multiple_of(2) { 80 } else { 30 };
        let x = u64::from(is_fraud) * shown + draw(noise);
        let label = if is_fraud { "fraud" } else { "ok" };
        let (y, group) = (draw(100), value(customer));
        let (x, y) = (x as f64 / 50.0, y as f64 / 100.0);
        nodes.push_str(&format!("c{customer},{label},{split},{x},{y}{group}\n"));
        edges.push_str(&format!("c{customer},c{}\n", draw(900)));
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

/// Resumes a run that was killed, unless it was faster.
fn resume(place: &Place, run: &str) {
    if !place.exists(&format!("{run}/summary.json")) {
        place.ok(&format!("resume {run}"));
    }
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
    write_shown(&place, "bank", (",group:sex", sex), 0);
    let done = place.ok(&format!("run bank {QUICK} --seeds 1 --set positive=fraud --out a"));
    let summary = place.json("a/summary.json");
    let kinds: Vec<&str> = summary["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"positive-never-predicted"), "{kinds:?}");
    let words: Vec<&str> = done.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("the positive class `fraud` is never predicted"));
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
        format!(
            "run bank {QUICK} --seeds 2 --set thresholds=equal-selection --checkpoint-rounds 2 \
             --out {out}"
        )
    };
    place.ok(&run("whole"));
    let fairness = |run: &str, seed: usize| {
        place.json(&format!("{run}/summary.json"))["seeds"][seed]["fairness"].clone()
    };
    // In the middle of the first seed, and of the second.
    for rounds in [7, 20] {
        let out = format!("killed-{rounds}");
        let mut child = place.start(&run(&out));
        place.wait_for_rounds(&out, rounds);
        child.kill().unwrap();
        child.wait().unwrap();
        resume(&place, &out);
        assert_eq!(
            place.read("whole/predictions.csv"),
            place.read(&format!("{out}/predictions.csv"))
        );
        for seed in 0..2 {
            assert_eq!(fairness("whole", seed), fairness(&out, seed), "{out}, seed {seed}");
            assert_eq!(fairness(&out, seed)["positive"], "last-of-two");
        }
    }
}

#[test]
fn clients_with_graphs_of_their_own_send_counts_by_group() {
    let place = Place::new();
    write_customers(&place, "banks/north", ",group:sex", sex);
    write_customers(&place, "banks/south", ",group:sex", |customer| {
        if customer.is_multiple_of(5) { "," } else { sex(customer) }
    });
    let quick = QUICK.replace("--clients 2", "");
    let run = |keys: &str, out: &str| {
        format!(
            "run --client-data banks {quick} --seeds 2 --checkpoint-rounds 2 {keys} --out {out}"
        )
    };
    let done = place.ok(&run("--set positive=fraud", "a"));
    let seed = place.json("a/summary.json")["seeds"][0].clone();
    let attribute = &seed["fairness"]["attributes"][0];
    let mut expected: BTreeMap<String, [u64; 4]> = BTreeMap::new();
    for client in ["north", "south"] {
        // The first seed comes first.
        let file = place.read(&format!("a/clients/{client}/predictions.csv"));
        let first: String = file
            .lines()
            .filter(|line| line.starts_with("seed,") || line.starts_with("0,"))
            .map(|line| format!("{line}\n"))
            .collect();
        place.write("first.csv", first);
        for (sex, counts) in count(&place, "first.csv", "group:sex") {
            let name = if sex.is_empty() { "unknown".to_owned() } else { sex };
            let sums = expected.entry(name).or_default();
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }
    let groups = attribute["groups"].as_array().unwrap();
    let names: Vec<&str> = groups.iter().map(|group| group["group"].as_str().unwrap()).collect();
    assert_eq!(names, ["sex=f", "sex=m", "sex=unknown"]);
    for (name, [nodes, positives, selected, both]) in expected {
        let group = groups.iter().find(|group| group["group"] == format!("sex={name}")).unwrap();
        assert_eq!(share(&group["selection_rate"]), [selected, nodes], "{name}");
        assert_eq!(share(&group["true_positive_rate"]), [both, positives], "{name}");
        let scores = &group["scores"];
        assert!(scores["auc"].as_f64().unwrap() > 0.5, "{name}: {scores}");
        assert_eq!(scores["error"]["calibration_error"], 0.5 / 256.0);
    }
    let words: Vec<&str> = done.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("they are off by at most"), "{}", done.stdout);
    // Counts are traffic, and nothing is counted unless a positive class is set.
    place.ok(&run("", "b"));
    let plain = place.json("b/summary.json")["seeds"][0].clone();
    assert!(plain.get("fairness").is_none());
    assert_eq!(plain["bytes_up"], seed["bytes_up"]);
    assert!(plain["framed_up"].as_u64() < seed["framed_up"].as_u64());
    assert_eq!(plain["federation_digest"], seed["federation_digest"]);
    // What clients counted before a stop is part of the state.
    let mut child = place.start(&run("--set positive=fraud --set fed.report=best-val", "killed"));
    place.wait_for_rounds("killed", 30);
    child.kill().unwrap();
    child.wait().unwrap();
    resume(&place, "killed");
    place.ok(&run("--set positive=fraud --set fed.report=best-val", "whole"));
    for seed in 0..2 {
        let [whole, killed] = ["whole", "killed"]
            .map(|run| place.json(&format!("{run}/summary.json"))["seeds"][seed].clone());
        assert_eq!(whole["fairness"], killed["fairness"], "seed {seed}");
    }
}

#[test]
fn clients_with_graphs_of_their_own_are_asked_for_what_they_can_give() {
    let place = Place::new();
    write_customers(&place, "banks/north", ",group:sex", sex);
    let with = |keys: &str| format!("run --client-data banks {keys} --seeds 1 --quiet --out a");
    place.refused_with(
        &with("--set positive=frud --method fedavg"),
        &["unknown positive class `frud` (did you mean `fraud`?)"],
    );
    place.refused_with(
        &with("--set positive=fraud --set thresholds=equal-selection --method fedavg"),
        &["evaluation.thresholds: expected none with clients that have their own graphs"],
    );
}
