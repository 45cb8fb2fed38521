//! Names of runs and of their folders.

use crate::common::{Place, TINY, TINY_CHANGES};

/// One method with two settings: each has its own folder and its own label in a report.
#[test]
fn runs_of_one_method_are_named_by_their_changed_settings() {
    let place = Place::new();
    let tiny = format!("run {TINY} --method fedavg --boost topology");
    place.ok(&tiny);
    place.ok(&format!("{tiny} --set edge_score=reliability"));
    let folder = format!("runs/demo/fedavg+topology,{TINY_CHANGES}");
    let changed = "runs/demo/fedavg+topology,seeds=1,edge_score=reliability,rounds=2,hidden=8";
    assert!(
        place.exists(&format!("{folder}/summary.json"))
            && place.exists(&format!("{changed}/summary.json"))
    );
    let summary = place.json(&format!("{changed}/summary.json"));
    let settings = ["seeds=1", "edge_score=reliability", "rounds=2", "hidden=8"];
    assert_eq!(summary["changed"], serde_json::json!(settings));
    assert_eq!(summary["name"], serde_json::Value::Null);
    place.ok("report runs/demo --out page.html");
    let page = place.read("page.html");
    for wanted in
        ["seeds=1, rounds=2, hidden=8", "seeds=1, edge_score=reliability, rounds=2, hidden=8"]
    {
        assert!(page.contains(&format!(">fedavg + topology, {wanted}<")), "{wanted}");
    }
    // The same run again gets a number.
    let again = place.ok(&tiny).stdout;
    assert!(again.contains(&format!("{folder}-2 (digest")), "{again}");
}

#[test]
fn a_name_is_shown_everywhere_and_does_not_change_the_digest() {
    let place = Place::new();
    let tiny = format!("run {TINY} --method fedavg");
    let done = place.ok(&format!("{tiny} --name first.try"));
    assert!(
        done.stdout.contains("\nfirst.try ") && done.stdout.contains("runs/demo/first.try (digest"),
        "{}",
        done.stdout
    );
    let summary = place.json("runs/demo/first.try/summary.json");
    assert_eq!((&summary["name"], &summary["method"]), (&"first.try".into(), &"fedavg".into()));
    assert_eq!(summary["digest"].as_str().unwrap(), place.digest(&format!("{tiny} --out plain")));
    assert!(place.read("runs/demo/first.try/report.html").contains("first.try on demo"));
    // The name is part of the configuration, but runs of other names are compared.
    assert!(place.read("runs/demo/first.try/config.toml").contains("name = \"first.try\""));
    place.ok("report runs/demo/first.try plain --out page.html");
    assert!(place.read("page.html").contains("first.try, fedavg on demo"));
    place.ok("run --config runs/demo/first.try/config.toml");
    assert!(place.exists("runs/demo/first.try-2/summary.json"));
}

#[test]
fn invalid_names_are_refused() {
    let place = Place::new();
    for (name, wanted) in [
        ("a/b", "name: expected a name without / and \\"),
        ("a\\b", "name: expected a name without / and \\"),
        ("..", "name: expected a name with a letter or a digit"),
        (&"x".repeat(81), "name: expected a name of at most 80 characters"),
    ] {
        place.refused_with(&format!("run --method fedavg --name {name}"), &[wanted]);
    }
    place.refused_with("run --method fedavg --name=", &["name: expected a name that is not empty"]);
    place.refused_with(
        "run --name two",
        &["--name: expected one run to name `two`, found two: fedavg and boostfgl"],
    );
}

/// Earlier versions wrote no names.
#[test]
fn runs_of_earlier_versions_without_names_are_read() {
    let place = Place::new();
    place.ok(&format!("run {TINY} --method fedavg --out old"));
    let mut summary = place.json("old/summary.json");
    summary.as_object_mut().unwrap().remove("changed").unwrap();
    place.write("old/summary.json", serde_json::to_string(&summary).unwrap());
    std::fs::remove_file(place.path("old/checksums.txt")).unwrap();
    place.ok("report old --out page.html");
    assert!(place.read("page.html").contains("fedavg on demo"));
}

/// The pair is written next to single runs and does not replace another pair.
#[test]
fn a_pair_shares_the_folder_of_its_data_with_single_runs() {
    let place = Place::new();
    let pair = format!("runs/demo,{TINY_CHANGES}");
    place.write(&format!("{pair}/moon/summary.json"), "{}");
    let done = place.ok(&format!("run {TINY}"));
    assert!(done.stdout.contains(&format!("{pair}/fedavg (digest")), "{}", done.stdout);
    let done = place.ok(&format!("run {TINY} --boost node"));
    let boosted = format!("runs/demo,boost=node,{TINY_CHANGES}/boostfgl (digest");
    assert!(
        done.stdout.contains(&boosted) && done.stdout.contains("\nboostfgl + node "),
        "{}",
        done.stdout
    );
}
