//! Results that must not look like a success, on data like those of a bank.

use crate::common::Place;

/// 900 customers with 6 % frauds, a split and a protected column. Features and edges are drawn
/// independently of the label, so no model can find the frauds.
fn write_frauds(place: &Place) {
    let mut state = 7u64;
    // A plain linear congruential generator: the same table everywhere.
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut nodes = String::from("id,label,split,group:sex,income,age\n");
    let mut edges = String::from("src,dst\n");
    for customer in 0..900 {
        let label = if draw(100) < 6 { "fraud" } else { "ok" };
        let split = ["train", "train", "train", "val", "test"][draw(5) as usize];
        let sex = ["f", "m"][draw(2) as usize];
        nodes.push_str(&format!(
            "c{customer},{label},{split},{sex},{},0.{:02}\n",
            20_000 + draw(90_000),
            draw(100)
        ));
        edges.push_str(&format!("c{customer},c{}\nc{customer},c{}\n", draw(900), draw(900)));
    }
    place.write("fraud/nodes.csv", nodes);
    place.write("fraud/edges.csv", edges);
}

#[test]
fn a_model_that_predicts_one_class_is_never_starred() {
    let place = Place::new();
    write_frauds(&place);
    let done = place
        .ok("run fraud --clients 3 --seeds 2 --rounds 10 --set model.hidden=8 --quiet --out a");
    let text = &done.stdout;
    // The split of the data and the rare class are named.
    assert!(text.contains("Split                 of the data: "), "{text}");
    assert!(text.contains("Minority classes      fraud ("), "{text}");
    // The warning is in the terminal, in summary.json and in the report.
    assert!(text.contains("one class only is predicted, `ok`: none of the"), "{text}");
    assert!(text.contains("feature columns differ by 5 orders of magnitude"), "{text}");
    let starred = |line: &&str| line.starts_with("fedavg ") || line.starts_with("boostfgl ");
    for line in text.lines().take_while(|line| !line.starts_with("Percent")).filter(starred) {
        let metrics: Vec<&str> = line.split("  ").filter(|cell| cell.contains('±')).collect();
        assert!(
            metrics.iter().all(|cell| !cell.contains('*')),
            "a model that predicts one class is starred: {line}"
        );
    }
    let summary = place.json("a/fedavg/summary.json");
    let kinds: Vec<&str> = summary["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"one-class") && kinds.contains(&"feature-scales"), "{kinds:?}");
    assert_eq!(summary["seeds"][0]["minority"]["classes"], serde_json::json!(["fraud"]));
    assert_eq!(summary["seeds"][0]["split"]["source"], "data");
    let report = place.read("a/report.html");
    assert!(
        report.contains("one class only is predicted, `ok`") && report.contains("id=\"warnings\"")
    );
    // There is a majority, so heterophilous minority nodes are fewer than heterophilous ones.
    let groups = &summary["seeds"][0]["groups"];
    assert!(groups["majority"].as_u64().unwrap() > 0, "{groups}");
    assert!(groups["hete_min"].as_u64() < groups["heterophilous"].as_u64(), "{groups}");
    place.ok("diagnose a/fedavg --by column:sex --metric recall:fraud");
}

#[test]
fn minority_classes_can_be_named_and_counted() {
    let place = Place::new();
    write_frauds(&place);
    let run = |setting: &str, out: &str| {
        place.ok(&format!(
            "run fraud --method fedavg --clients 2 --seeds 1 --rounds 1 --set model.hidden=4 \
             --set {setting} --quiet --out {out}"
        ));
        place.json(&format!("{out}/summary.json"))["seeds"][0]["minority"]["classes"].clone()
    };
    assert_eq!(run("groups.minority=smallest:1", "a"), serde_json::json!(["fraud"]));
    assert_eq!(run("groups.minority=[\"ok\"]", "b"), serde_json::json!(["ok"]));
    place.refused_with(
        "run fraud --method fedavg --clients 2 --seeds 1 --rounds 1 --set \
         groups.minority=[\"frauds\"] --quiet --out c",
        &["groups.minority: expected names of classes", "`frauds` (did you mean `fraud`?)"],
    );
}

/// Training does not use the groups of the evaluation.
#[test]
fn groups_of_the_evaluation_do_not_change_the_digest() {
    let place = Place::new();
    write_frauds(&place);
    for method in ["boostfgl", "fairfgl", "fairfed"] {
        let digest = |setting: &str| {
            place.digest(&format!(
                "run fraud --method {method} --clients 3 --seeds 1 --rounds 3 --set \
                 model.hidden=8 {setting}"
            ))
        };
        let plain = digest("");
        assert_eq!(plain, digest("--set groups.minority=0.01"), "{method}");
        assert_eq!(plain, digest("--set groups.minority=[\"ok\"]"), "{method}");
    }
}

#[test]
fn last_and_best_round_are_recorded_and_the_table_names_its_round() {
    let place = Place::new();
    let run = "run demo --method adafgl --seeds 1 --rounds 6 --set model.hidden=16 --set \
        personal_epochs=3 --quiet";
    let done = place.ok(&format!("{run} --out a"));
    assert!(done.stdout.contains("6×1+3"), "{}", done.stdout);
    assert!(done.stdout.contains("Round                 the last"), "{}", done.stdout);
    let seed = &place.json("a/summary.json")["seeds"][0];
    assert_eq!((&seed["round"], &seed["last"]["round"]), (&9.into(), &9.into()));
    assert_eq!(seed["last"]["accuracy"], seed["accuracy"]);
    // The best round is one of AdaFGL's own: before them the model is FedAvg's.
    assert!(seed["best_val"]["round"].as_u64().unwrap() > 6, "{seed}");
    for key in ["val_accuracy", "val_macro_f1"] {
        assert!(seed[key].as_f64().unwrap() > 0.0, "{key}: {seed}");
        assert_eq!(seed[key], seed["last"][key], "{key} of the reported round");
        assert!(seed["best_val"][key].is_number(), "{key}: {seed}");
    }
    let best = seed["best_val"]["val_accuracy"].as_f64().unwrap();
    assert!(best >= seed["val_accuracy"].as_f64().unwrap(), "{seed}");
    let done = place.ok(&format!("{run} --set report=best-val --out b"));
    assert!(done.stdout.contains("the best on validation ("), "{}", done.stdout);
    let chosen = &place.json("b/summary.json")["seeds"][0];
    assert_eq!(
        (&chosen["round"], &chosen["accuracy"]),
        (&seed["best_val"]["round"], &seed["best_val"]["accuracy"])
    );
    assert_eq!((&chosen["last"], &chosen["best_val"]), (&seed["last"], &seed["best_val"]));
}
