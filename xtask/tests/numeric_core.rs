//! What readers and downloads need stays out of the dependencies of the numeric core.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// The crates that are used where no file is read.
const CORE: [&str; 2] = ["boostfgl-graph", "boostfgl-nn"];

/// What files, archives and downloads need.
const NOT_IN_THE_CORE: [&str; 7] =
    ["boostfgl-data", "csv", "etcetera", "flate2", "parquet", "sha2", "ureq"];

#[test]
fn the_numeric_core_needs_no_reader() {
    let metadata = metadata();
    let wrong: Vec<String> = CORE.iter().flat_map(|core| violations(&metadata, core)).collect();
    assert!(
        wrong.is_empty(),
        "the numeric core needs crates for files; move what uses them into crates/data:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_forbidden_crate_is_one_of_the_program() {
    let metadata = metadata();
    let names = names(&metadata);
    for name in NOT_IN_THE_CORE {
        assert!(
            names.values().any(|known| *known == name),
            "{name} is used nowhere: a typing error?"
        );
    }
}

#[test]
fn a_reader_is_found_through_other_crates_but_not_in_tests() {
    let node = |name: &str, uses: &[(&str, Value)]| {
        let deps: Vec<Value> = uses
            .iter()
            .map(|(name, kind)| json!({"pkg": name, "dep_kinds": [{"kind": kind}]}))
            .collect();
        json!({"id": name, "deps": deps})
    };
    let packages =
        ["boostfgl-nn", "boostfgl-graph", "csv"].map(|name| json!({"id": name, "name": name}));
    let found = |kind: Value| {
        let metadata = json!({
            "packages": packages,
            "resolve": {"nodes": [
                node("boostfgl-nn", &[("boostfgl-graph", Value::Null)]),
                node("boostfgl-graph", &[("csv", kind)]),
                node("csv", &[]),
            ]},
        });
        violations(&metadata, "boostfgl-nn")
    };
    assert_eq!(found(Value::Null), ["boostfgl-nn → boostfgl-graph → csv"]);
    assert!(found(json!("dev")).is_empty());
}

/// The way to every forbidden crate that `core` uses outside of its tests, itself or through others.
fn violations(metadata: &Value, core: &str) -> Vec<String> {
    let names = names(metadata);
    let nodes = metadata["resolve"]["nodes"].as_array().expect("a workspace is resolved");
    let uses: BTreeMap<&str, &Value> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, &node["deps"]))).collect();
    let start = names.iter().find(|(_, name)| **name == core).map(|(id, _)| *id);
    let start = start.unwrap_or_else(|| panic!("there is no package {core}"));

    let mut ways = BTreeMap::from([(start, core.to_owned())]);
    let mut next = VecDeque::from([start]);
    while let Some(user) = next.pop_front() {
        for used in uses[user].as_array().into_iter().flatten().filter(|used| is_normal(used)) {
            let used = used["pkg"].as_str().expect("a dependency has an id");
            if !ways.contains_key(used) {
                ways.insert(used, format!("{} → {}", ways[user], names[used]));
                next.push_back(used);
            }
        }
    }
    ways.iter()
        .filter(|(id, _)| NOT_IN_THE_CORE.contains(&names[*id]))
        .map(|(_, way)| way.clone())
        .collect()
}

/// Whether a dependency is more than one for tests or build scripts.
fn is_normal(dependency: &Value) -> bool {
    dependency["dep_kinds"].as_array().into_iter().flatten().any(|kind| kind["kind"].is_null())
}

/// The name of every package by its id.
fn names(metadata: &Value) -> BTreeMap<&str, &str> {
    let packages = metadata["packages"].as_array().expect("a workspace has packages");
    packages
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
        .collect()
}

/// The packages of the workspace and all that they need on this platform, for which they have been
/// downloaded: those of other platforms may be missing.
fn metadata() -> Value {
    let version = cargo(&["-vV"]);
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("cargo -vV names its platform");
    let text = cargo(&["metadata", "--format-version", "1", "--filter-platform", host]);
    serde_json::from_str(&text).expect("cargo metadata prints JSON")
}

/// What a cargo command prints.
fn cargo(args: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root");
    let output = Command::new(env!("CARGO"))
        .args(args)
        .current_dir(root)
        .output()
        .expect("cargo starts: it runs this test");
    assert!(output.status.success(), "cargo {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}
