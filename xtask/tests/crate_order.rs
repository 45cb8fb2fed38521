//! The order of the crates: each may use only those before it.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// The folders under `crates/`, in the order in which data flow through them.
const ORDER: [&str; 14] = [
    "disk",
    "graph",
    "data",
    "partition",
    "nn",
    "protocol",
    "fed",
    "fairness",
    "report",
    "boostfgl",
    "reproduce",
    "serve",
    "cli",
    "fuzz",
];

/// Crates for tests: others may use them as dev-dependencies only, and they may use every crate.
const FOR_TESTS: [&str; 2] = ["conformance", "testkit"];

#[test]
fn a_crate_uses_only_crates_before_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .expect("cargo starts: it runs this test");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");

    let crates = packages(&metadata)
        .iter()
        .filter(|package| folder(&package["manifest_path"]).is_some())
        .count();
    assert!(
        crates > 0,
        "cargo metadata names no crate under crates/: this test would check nothing"
    );
    let wrong = violations(&metadata);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    for name in ORDER {
        let manifest = root.join("crates").join(name).join("Cargo.toml");
        assert!(manifest.is_file(), "ORDER lists crates/{name}, which does not exist");
    }
}

#[test]
fn contributing_lists_the_crates_in_this_order() {
    let text = include_str!("../../CONTRIBUTING.md");
    let expected = ORDER.join(" → ");
    assert!(text.contains(&expected), "CONTRIBUTING.md, House style: write {expected}");
}

#[test]
fn a_dependency_on_a_later_crate_is_found_in_every_kind() {
    for kind in [Value::Null, json!("dev"), json!("build")] {
        let wrong = violations(&json!({"packages": [
            {"manifest_path": "/p/crates/nn/Cargo.toml", "dependencies": [
                {"name": "boostfgl-graph", "path": "/p/crates/graph", "kind": null},
                {"name": "boostfgl-fed", "path": "/p/crates/fed", "kind": kind},
                {"name": "rayon", "kind": null},
            ]},
        ]}));
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].starts_with("crates/nn may not depend on crates/fed"), "{}", wrong[0]);
    }
}

#[test]
fn a_crate_for_tests_is_a_dev_dependency_only() {
    for (kind, allowed) in [(Value::Null, false), (json!("build"), false), (json!("dev"), true)] {
        let wrong = violations(&json!({"packages": [
            {"manifest_path": "/p/crates/nn/Cargo.toml", "dependencies": [
                {"name": "boostfgl-testkit", "path": "/p/crates/testkit", "kind": kind},
            ]},
            {"manifest_path": "/p/crates/testkit/Cargo.toml", "dependencies": [
                {"name": "boostfgl-nn", "path": "/p/crates/nn", "kind": null},
            ]},
        ]}));
        assert_eq!(wrong.is_empty(), allowed, "{kind}: {wrong:?}");
    }
}

#[test]
fn an_unknown_crate_gets_advice_and_a_crate_may_not_depend_on_xtask() {
    let wrong = violations(&json!({"packages": [
        {"manifest_path": "/p/crates/novel/Cargo.toml", "dependencies": []},
        {"manifest_path": "/p/crates/nn/Cargo.toml", "dependencies": [{"name": "xtask", "path": "/p/xtask"}]},
        {"manifest_path": "/p/xtask/Cargo.toml", "dependencies": [{"name": "boostfgl", "path": "/p/crates/boostfgl"}]},
    ]}));
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(
        wrong[0].contains("crates/novel") && wrong[0].contains("add it to ORDER"),
        "{}",
        wrong[0]
    );
    assert!(wrong[1].contains("outside crates/"), "{}", wrong[1]);
}

/// One sentence per broken rule, with what to do.
fn violations(metadata: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in packages(metadata) {
        // Packages in other folders, such as xtask, may use every crate.
        let Some(user) = folder(&package["manifest_path"]) else { continue };
        if FOR_TESTS.contains(&user) {
            continue;
        }
        let Some(rank) = rank(user) else {
            wrong.push(format!(
                "crates/{user} has no place in the flow of data: add it to ORDER in \
                 xtask/tests/crate_order.rs, after \
                 all crates it uses, or move its code into one of {ORDER:?}"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            if dependency["path"].is_null() {
                continue;
            }
            match folder(&dependency["path"]) {
                None => wrong.push(format!(
                    "crates/{user} depends on {}, which lies outside crates/: a crate may use \
                     only crates before it",
                    dependency["name"]
                )),
                Some(used) if FOR_TESTS.contains(&used) => {
                    if dependency["kind"] != "dev" {
                        wrong.push(format!(
                            "crates/{user} depends on crates/{used}, which is for tests: move it \
                             to [dev-dependencies]"
                        ));
                    }
                }
                Some(used) if self::rank(used).is_some_and(|used| used >= rank) => {
                    wrong.push(format!(
                        "crates/{user} may not depend on crates/{used}, which comes after it in \
                     {ORDER:?}: move the shared \
                     code into the earlier crate"
                    ));
                }
                // An unknown crate is already reported above.
                Some(_) => {}
            }
        }
    }
    wrong
}

fn packages(metadata: &Value) -> &[Value] {
    metadata["packages"].as_array().map_or(&[], Vec::as_slice)
}

fn rank(folder: &str) -> Option<usize> {
    ORDER.iter().position(|name| *name == folder)
}

/// The `NAME` of a path `…/crates/NAME` or `…/crates/NAME/Cargo.toml`.
fn folder(path: &Value) -> Option<&str> {
    let path = Path::new(path.as_str()?);
    let folder = if path.ends_with("Cargo.toml") { path.parent()? } else { path };
    (folder.parent()?.file_name()? == "crates").then_some(())?;
    folder.file_name()?.to_str()
}
