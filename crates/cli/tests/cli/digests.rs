//! The recorded digests of every method (`cargo xtask digests`).

use crate::common::Place;
use std::collections::{BTreeMap, BTreeSet};

/// Digest by case, such as `fedavg gcn node,model`.
fn recorded() -> BTreeMap<String, String> {
    serde_json::from_value(boostfgl_testkit::golden("digests")["digests"].clone()).unwrap()
}

/// Too slow in a debug build; `cargo xtask digests` runs them in a release build.
const SLOW: [&str; 3] = ["fedsage-plus", "fedtad", "adafgl"];

#[test]
fn every_method_is_recorded_with_all_its_boosts() {
    let methods: serde_json::Value =
        serde_json::from_str(&Place::new().ok("methods --json").stdout).unwrap();
    let cases = recorded();
    for method in methods.as_array().unwrap() {
        let name = method["name"].as_str().unwrap();
        let refused = method["refused_boosts"].as_object().unwrap().len();
        let sets = cases.keys().filter(|case| case.starts_with(&format!("{name} gcn "))).count();
        assert_eq!(sets, 1 << (3 - refused), "{name}: run `cargo xtask digests --write`");
    }
    let names: BTreeSet<&str> = cases.keys().filter_map(|case| case.split(' ').next()).collect();
    assert_eq!(
        names.len(),
        methods.as_array().unwrap().len(),
        "a case of a method that does not exist"
    );
}

/// Every method without boosts and with all that it accepts.
#[test]
fn digests_are_the_recorded_ones() {
    let place = Place::new();
    let all = recorded();
    let mut compared = 0;
    for (case, digest) in &all {
        let [method, "gcn", boosts] = case.split(' ').collect::<Vec<_>>()[..] else { continue };
        let larger = |other: &String| {
            other.starts_with(&format!("{method} gcn "))
                && other.matches(',').count() > boosts.matches(',').count()
        };
        if SLOW.contains(&method) || (boosts != "none" && all.keys().any(larger)) {
            continue;
        }
        place.ok(&format!(
            "run --seeds 1 --rounds 3 --portable --quiet --threads 1 --method {method} --boost \
             {boosts} --overwrite --out a"
        ));
        assert_eq!(place.json("a/summary.json")["digest"], **digest, "{case}");
        compared += 1;
    }
    assert!(compared >= 32, "{compared}");
}
