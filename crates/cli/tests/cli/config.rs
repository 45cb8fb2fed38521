//! `config show` and `config check`.

use crate::common::{Place, TINY};

#[test]
fn a_shown_configuration_can_be_run() {
    let place = Place::new();
    let flags = "demo --method boostfgl --rounds 2 --seeds 1 --clients 4 --set model.hidden=8 \
        --set lambda_e=1";
    let shown = place.ok(&format!("config show {flags}")).stdout;
    let table: toml::Table = shown.parse().unwrap();
    assert_eq!(table["fed"]["rounds"].as_integer(), Some(2));
    assert_eq!(table["partition"]["clients"].as_integer(), Some(4));
    assert_eq!(table["boost"]["topology"]["lambda_e"].as_float(), Some(1.0));
    place.write("c.toml", &shown);
    assert_eq!(place.digest("run --config c.toml"), place.digest(&format!("run {flags}")));
    // The file sets the method, so only that one runs.
    let folder = "runs/demo/boostfgl,seeds=1,lambda_e=1.0,rounds=2,hidden=8,clients=4";
    assert!(
        place.exists(folder)
            && place.exists(&format!("{folder}-2"))
            && !place.exists("runs/demo/fedavg")
    );
    let output = place.ok("config check c.toml").stdout;
    assert!(output.starts_with("c.toml: every key is known"), "{output}");
}

#[test]
fn every_value_is_shown_with_its_source() {
    let place = Place::new();
    place.write("c.toml", "[fed]\nepochs = 2\nrounds = 9\n");
    let flags = "cora --config c.toml --rounds 3 --set model.dropout=0.1 --seeds 2 --boost node \
        --partition p.csv";
    let shown = place.ok(&format!("config show {flags}")).stdout;
    let comment = |line: &str| {
        let lines: Vec<&str> = shown.lines().collect();
        let at = lines.iter().position(|l| *l == line).unwrap_or_else(|| panic!("{line}\n{shown}"));
        assert!(lines[at - 1].starts_with("# "), "{line}");
        lines[at - 1].to_owned()
    };
    assert!(comment("epochs = 2").ends_with("(from c.toml, line 2)"));
    assert!(comment("rounds = 3").ends_with("(from --rounds)"));
    assert!(comment("dropout = 0.1").ends_with("(from --set model.dropout=0.1)"));
    assert!(comment("seeds = [0, 1]").ends_with("(from --seeds)"));
    assert!(comment("boosts = [\"node\"]").ends_with("(from --boost)"));
    assert!(comment("dataset = \"cora\"").ends_with("(from DATA)"));
    assert!(comment("partitioner = \"file\"").ends_with("(from --partition)"));
    assert!(comment("train = 0.2").ends_with("(from protocol of cora)"));
    assert!(comment("hidden = 256").ends_with("(default)"));
    // Also keys that files leave out at their default, and keys that are not set.
    assert!(comment("portable = false").ends_with("(default)"));
    assert!(comment("message_noise = 0.0").ends_with("(default)"));
    assert!(comment("rule = \"mean\"").ends_with("(default)"));
    assert!(comment("quorum = 0.5").ends_with("(default)"));
    assert!(comment("kind = \"none\"").ends_with("(default)"));
    assert!(comment("# deadline_seconds is not set").ends_with("(default)"));
    for key in boostfgl::config::keys() {
        assert!(
            shown.contains(&format!("# {} (", key.meaning)),
            "{} is missing\n{shown}",
            key.path
        );
    }
}

/// Defaults, a dataset's protocol, a file, flags and `--set`, with an optional key and one of
/// another method.
#[test]
fn a_shown_configuration_reads_back_unchanged() {
    let place = Place::new();
    place.write("c.toml", "portable = true\n[fed]\nepochs = 2\n[methods.fedprox]\nmu = 0.25\n");
    let layers = |assignments: &[&str]| {
        let mut layers = boostfgl::Layers::new();
        layers.file(&place.path("c.toml")).unwrap();
        layers.set("dataset", "cora", "DATA").unwrap();
        layers.set("boosts", vec!["node"], "--boost").unwrap();
        assignments.iter().for_each(|assignment| layers.assignment(assignment).unwrap());
        layers.resolve().unwrap().0
    };
    let sets = [
        "attack.kind=scale",
        "attack.strength=10",
        "screen.deadline_seconds=9.5",
        "message_noise=0.5",
    ];
    let flags = sets.map(|set| format!("--set {set}")).join(" ");
    let shown = place.ok(&format!("config show cora --config c.toml --boost node {flags}")).stdout;
    let mut again = boostfgl::Layers::new();
    again.text(&shown, std::path::Path::new("shown.toml")).unwrap();
    let (again, before) = (again.resolve().unwrap().0, layers(&sets));
    assert_eq!(again, before);
    assert_eq!(again.to_toml(), before.to_toml());
}

#[test]
fn control_characters_in_values_are_escaped_in_comments() {
    let place = Place::new();
    let mut program = place.program();
    program.args(["config", "show", "--partition", "a\nb\u{7f}.csv", "--set", "rounds=\n3"]);
    let shown = crate::common::finish(&mut program).succeeded("config show").stdout;
    let table: toml::Table = shown.parse().unwrap();
    assert_eq!(table["partition"]["file"].as_str(), Some("a\nb\u{7f}.csv"));
    assert_eq!(table["fed"]["rounds"].as_integer(), Some(3));
    assert!(shown.contains("(from --set rounds=\\n3)"), "{shown}");
}

#[test]
fn keys_without_effect_are_reported() {
    let place = Place::new();
    place.write("c.toml", "method = \"fedavg\"\n[methods.fedprox]\nmu = 5\n");
    let output = place.ok("config check c.toml").stderr;
    let expected =
        "note: methods.fedprox.mu (from c.toml, line 3) has no effect: the method is fedavg\n";
    assert_eq!(output, expected);
    let output = place.ok(&format!("run --quiet {TINY} --config c.toml")).stderr;
    assert_eq!(output, expected);
    let output = place.ok(&format!("run --quiet {TINY} --config c.toml --method fedprox")).stderr;
    assert_eq!(output, "");
}

#[test]
fn later_layers_override_earlier_ones() {
    let place = Place::new();
    place.write(
        "c.toml",
        "dataset = \"demo\"\nmethod = \"central\"\n[fed]\nrounds = 9\n[optimizer]\nlearning_rate \
         = 1\n",
    );
    let value = |flags: &str, line: &str| {
        let shown = place.ok(&format!("config show --config c.toml {flags}")).stdout;
        assert!(shown.lines().any(|l| l == line), "{flags}: {line}\n{shown}");
    };
    value("", "rounds = 9");
    value("", "learning_rate = 1.0");
    value("--rounds 4", "rounds = 4");
    value("--rounds 4 --set fed.rounds=5", "rounds = 5");
    value("--set rounds=5 --set fed.rounds=6", "rounds = 6");
    value("--method fedavg", "method = \"fedavg\"");
    value("ogbn-arxiv", "dataset = \"ogbn-arxiv\"");
    place.ok(&format!("run --config c.toml {TINY} --out a"));
    assert_eq!(place.json("a/summary.json")["method"], "central");
}
