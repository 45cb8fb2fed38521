//! `run`: its output, and that results depend only on the configuration.

use crate::common::{Place, TINY, TINY_CHANGES, finish};
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn without_a_method_fedavg_and_boostfgl_are_compared() {
    let place = Place::new();
    let done = place.ok(&format!("run {TINY}"));
    for wanted in ["fedavg", "boostfgl", "Accuracy", "Overall-F1", "Hete-F1", "Hete-min-F1"] {
        assert!(done.stdout.contains(wanted), "{wanted}\n{}", done.stdout);
    }
    let pair = format!("runs/demo,{TINY_CHANGES}");
    for folder in ["fedavg", "boostfgl"].map(|method| format!("{pair}/{method}")) {
        assert!(done.stdout.contains(&folder), "{}", done.stdout);
        assert!(place.exists(&format!("{folder}/summary.json")));
    }
    assert_eq!(place.json(&format!("{pair}/fedavg/summary.json"))["boost"], serde_json::json!([]));
    let boosts = serde_json::json!(["node", "topology", "model"]);
    assert_eq!(place.json(&format!("{pair}/boostfgl/summary.json"))["boost"], boosts);
    // One report contains both methods.
    let report = format!("{pair}/report.html");
    assert!(done.stdout.contains(&report) && place.exists(&report), "{}", done.stdout);
    // The next run gets another folder and replaces nothing.
    let again = place.ok(&format!("run {TINY}"));
    assert!(again.stdout.contains(&format!("{pair}-2/fedavg")), "{}", again.stdout);
}

#[test]
fn without_arguments_run_uses_the_demo() {
    let place = Place::new();
    // Five seeds take minutes in a debug build, so the program is stopped after the first round.
    place.write("runs/demo", "taken");
    place.write("runs/demo-2", "taken");
    let mut program = place.process().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while !place.exists("runs/demo-3/fedavg/rounds.jsonl") && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    program.kill().unwrap();
    program.wait().unwrap();
    let config: toml::Table = place.read("runs/demo-3/fedavg/config.toml").parse().unwrap();
    assert_eq!(
        (config["dataset"].as_str(), config["method"].as_str()),
        (Some("demo"), Some("fedavg"))
    );
    assert_eq!(
        (config["fed"]["rounds"].as_integer(), config["seeds"].as_array().unwrap().len()),
        (Some(50), 5)
    );
}

#[test]
fn only_the_configuration_changes_the_digest() {
    let place = Place::new();
    let method = format!("run {TINY} --method boostfgl");
    let first = place.digest(&format!("{method} --out a"));
    for same in [
        "run --config a/config.toml",
        &format!("{method} --partition a/partition.csv"),
        &format!("{method} --threads 1"),
        &format!("{method} --threads 2"),
        &format!("{method} --threads 4"),
        &format!("{method} generate:demo"),
        &format!("run {TINY} --method fedavg --boost all"),
        &format!("run {TINY} --method fedavg --boost model,node,topology"),
    ] {
        assert_eq!(place.digest(same), first, "{same}");
    }
    for other in [
        &format!("{method} --clients 4"),
        &format!("{method} --boost none"),
        "run --config a/config.toml --rounds 3",
        "run --config a/config.toml --seeds 1,",
        "run --config a/config.toml --set lambda_e=0.1",
    ] {
        assert_ne!(place.digest(other), first, "{other}");
    }
    assert_eq!(
        place.digest(&format!("{method} --boost none")),
        place.digest(&format!("run {TINY} --method fedavg"))
    );
}

#[test]
fn json_prints_only_the_summary() {
    let place = Place::new();
    let done = place.ok(&format!("run {TINY} --method fedavg --out a --json"));
    assert_eq!(done.stdout, place.read("a/summary.json"));
    assert!(done.stderr.contains("round 2/2"), "{}", done.stderr);

    let two = place.ok(&format!("run {TINY} --json --out b"));
    let document: Value = serde_json::from_str(&two.stdout).unwrap();
    for (at, method) in ["fedavg", "boostfgl"].iter().enumerate() {
        assert_eq!(document["runs"][at], place.json(&format!("b/{method}/summary.json")));
    }

    let quiet = place.ok(&format!("run {TINY} --method fedavg --quiet"));
    assert_eq!(quiet.stderr, "");
}

#[test]
fn pipes_get_no_escape_codes() {
    let place = Place::new();
    for no_color in [None, Some("1")] {
        let mut program = place.program();
        program.args(format!("run {TINY} --method fedavg").split_whitespace());
        if let Some(value) = no_color {
            program.env("NO_COLOR", value);
        }
        let done = finish(&mut program).succeeded("run");
        assert!(!done.stdout.contains('\u{1b}') && !done.stderr.contains('\u{1b}'), "{done:?}");
    }
}

#[test]
fn folders_that_are_not_empty_are_not_changed() {
    let place = Place::new();
    place.write("a/notes.txt", "mine");
    let one = format!("run {TINY} --method fedavg --out a");
    place.refused_with(
        &one,
        &["a: expected an empty folder, found `notes.txt` in it", "--overwrite"],
    );

    let first = place.digest(&format!("{one} --overwrite"));
    assert_eq!(place.read("a/notes.txt"), "mine");
    place.refused(&one);
    assert_eq!(place.digest(&format!("{one} --overwrite")), first);

    // Both folders are checked before the first method runs.
    place.write("b/boostfgl/notes.txt", "mine");
    place.refused_with(&format!("run {TINY} --out b"), &["b/boostfgl", "notes.txt"]);
    place.ok(&format!("run {TINY} --out b --overwrite"));
    assert_eq!(place.read("b/boostfgl/notes.txt"), "mine");
}

#[test]
fn a_run_that_fails_leaves_no_summary() {
    let place = Place::new();
    let done = place.run(
        &format!(
            "run {TINY} --rounds 9 --method fedavg --out a --set optimizer.learning_rate=1e30"
        )
        .replace("--rounds 2 ", ""),
    );
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    done.check_error("diverged");
    assert_eq!(done.stdout, "");
    assert!(done.stderr.contains("diverged in round"), "{}", done.stderr);
    for whole in ["summary.json", "predictions.csv", "model.safetensors"] {
        assert!(!place.exists(&format!("a/{whole}")), "{whole}");
    }
    let left: Vec<_> =
        place.path("a").read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let may = |name: &std::ffi::OsString| {
        ["config.toml", "rounds.jsonl", "checkpoint"].iter().any(|may| name == may)
    };
    assert!(left.iter().all(may), "{left:?}");
}

#[test]
fn the_summary_names_the_method_that_ran() {
    let place = Place::new();
    for method in ["isolated", "central", "fedavg", "boostfgl"] {
        place.ok(&format!("run {TINY} --method {method} --out {method}"));
        let summary = place.json(&format!("{method}/summary.json"));
        assert_eq!(summary["method"], method);
        let sends = summary["bytes"]["up"].as_u64().unwrap() > 0;
        assert_eq!(sends, ["fedavg", "boostfgl"].contains(&method), "{method}");
    }
    place.ok(&format!("run {TINY} --method fedavg --boost node --out boosted"));
    assert_eq!(place.json("boosted/summary.json")["boost"], serde_json::json!(["node"]));
    place.ok(&format!("run {TINY} --method fedavg --set backbone=mlp --out mlp"));
    place.ok(&format!("run {TINY} --method fedavg --set fed.report=best-val --out best"));
}

#[test]
fn a_memory_limit_allows_small_runs_and_refuses_large_ones() {
    let place = Place::new();
    place.ok(&format!("run {TINY} --method fedavg --memory 4G"));
    place.refused_with(
        &format!("run {TINY} --method fedavg --memory 1M"),
        &["this run needs about", "more than the 1 MiB", "Raise --memory"],
    );
}

/// One client sends NaN: the run continues without it and stays finite. Terminal, summary, rounds
/// and report name the client.
#[test]
fn a_client_that_sends_nan_is_refused_and_named() {
    let place = Place::new();
    let attack = "--set attack.kind=nan --set attack.clients=1";
    let done = place.ok(&format!("run {TINY} --method fedavg --out a {attack}"));
    assert!(
        done.stderr.contains(
            "note: 2 updates were refused (client 4: 2); the first, seed 0, client 4, round 1: "
        ),
        "{}",
        done.stderr
    );
    let summary = place.json("a/summary.json");
    assert_eq!(summary["refused"], serde_json::json!({ "not-finite": 2 }));
    assert!(
        summary["mean"]["accuracy"]["pooled"].as_f64().is_some_and(f64::is_finite),
        "{summary}"
    );
    let rounds = place.read("a/rounds.jsonl");
    let refused = "\"refused\":[{\"client\":4,\"reason\":\"not-finite\",\"text\":\"expected finite numbers, found a model";
    assert_eq!(rounds.matches(refused).count(), 2, "{rounds}");
    assert!(place.read("a/report.html").contains("Refused updates"));
    // The configuration of the run repeats the attack; a run without attack does not mention it.
    let again = place.digest("run --config a/config.toml --out b");
    assert_eq!(summary["digest"], again.as_str());
    let plain = place.ok(&format!("run {TINY} --method fedavg --out c"));
    assert!(!plain.stderr.contains("refused"), "{}", plain.stderr);
    for file in ["summary.json", "rounds.jsonl", "config.toml"] {
        let text = place.read(&format!("c/{file}"));
        assert!(
            !["refused", "[attack]", "[screen]", "[aggregation]"]
                .iter()
                .any(|word| text.contains(word)),
            "{file}: {text}"
        );
    }
}

#[test]
fn a_robust_rule_with_too_few_clients_is_refused_with_the_reason() {
    let place = Place::new();
    let one = format!("run {TINY} --method fedavg --set aggregation.rule=bulyan");
    place.refused_with(
        &one,
        &["4f + 3 = 7", "found 5: with 5 it tolerates none", "aggregation.byzantine"],
    );
    let other = format!("run {TINY} --method fedproto --set aggregation.rule=median");
    place.refused_with(&other, &["fedproto cannot be combined with the rule median", "prototypes"]);
}

/// As in `boostfgl run 2>&1 | head -1`: both ends are closed while the run is under way.
#[test]
fn a_closed_pipe_does_not_end_the_run() {
    use std::process::Stdio;
    let place = Place::new();
    let arguments = format!("run {TINY} --seeds 3 --method fedavg --out out --set fedprox.mu=5")
        .replace("--seeds 1", "");
    let mut process = place.process();
    process.args(arguments.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = process.spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(0), "the run ends as if the pipe were open");
    assert!(place.exists("out/summary.json") && place.exists("out/report.html"));
    // An error message to a closed pipe does not cause another error.
    let mut process = place.process();
    process.args(["run", "--rounds", "0"]).stderr(Stdio::piped());
    let mut child = process.spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}
