//! `boostfgl methods`, settings of methods, and refused combinations.

use crate::common::{Place, TINY};
use serde_json::Value;

#[test]
fn every_method_has_a_page() {
    let place = Place::new();
    let list: Value = serde_json::from_str(&place.ok("methods --json").stdout).unwrap();
    let methods = list.as_array().unwrap();
    assert!(methods.len() >= 19, "{} methods", methods.len());
    for method in methods {
        let name = method["name"].as_str().unwrap();
        let page = place.ok(&format!("methods {name}")).stdout;
        for part in ["Paper", "Boosts", "Evaluated", "Wire"] {
            assert!(page.contains(part), "{name}: {part} is missing");
        }
        for key in method["keys"].as_array().unwrap() {
            assert!(!key["meaning"].as_str().unwrap().is_empty(), "{key}");
        }
    }
    let fairfgl = place.ok("methods fairfgl").stdout;
    assert!(fairfgl.contains("no public code") && fairfgl.contains("fairfgl.keep"), "{fairfgl}");
}

#[test]
fn settings_of_methods_are_set_by_method_name() {
    let place = Place::new();
    place.refused_with(
        "run --method moon --set moon.tau=0",
        &["methods.moon.tau", "at least 0.01", "found 0"],
    );
    place.refused_with(
        "run --set methods.fedgta.epsilom=0.1",
        &["unknown key", "methods.fedgta.epsilon"],
    );
    // Exactly two methods have a `lambda`.
    place.refused_with(
        "run --set lambda=1",
        &["a key of several methods", "methods.fedproto.lambda"],
    );
    let usual =
        place.digest(&format!("run --method fedprox --set fed.epochs=3 {TINY} --out usual"));
    let pulled = place.digest(&format!(
        "run --method fedprox --set fed.epochs=3 --set fedprox.mu=3 {TINY} --out pulled"
    ));
    assert_ne!(usual, pulled);
    let config = place.read("pulled/config.toml");
    assert!(
        config.contains("[methods.fedprox]\nmu = 3.0") && !config.contains("[methods.moon]"),
        "{config}"
    );
    assert_eq!(place.digest("run --config pulled/config.toml --out again"), pulled);
}

#[test]
fn invalid_combinations_are_refused_before_training() {
    let place = Place::new();
    place.refused_with(
        "run --method afl --boost all",
        &["afl cannot be combined with model boosting", "minimax"],
    );
    place.refused_with(
        "run --method boostfgl --set backbone=mlp",
        &["topology boosting on the backbone mlp"],
    );
    place.refused_with(
        "run --method moon --set backbone=sgc",
        &["moon cannot be combined with the backbone sgc"],
    );
}

/// Methods with a preparation, further rounds or personal models run in the whole program, also
/// with boosts.
#[test]
fn methods_with_extra_phases_run_with_boosts() {
    let place = Place::new();
    let small =
        "--set adafgl.personal_epochs=2 --set fedsage-plus.gen_epochs=2 --set fedsage-plus.wide=32";
    for method in ["fedsage-plus", "adafgl", "fedspray", "fairfgl", "fedtad", "fedgta"] {
        place.ok(&format!("run --method {method} --boost all {TINY} {small} --out {method}"));
        let rounds = place.read(&format!("{method}/rounds.jsonl")).lines().count();
        assert_eq!(rounds, if method == "adafgl" { 4 } else { 2 }, "{method}");
        assert_eq!(place.json(&format!("{method}/summary.json"))["method"], method);
    }
}
