//! `config show` and `config check`.

use crate::common::{Place, TINY};

#[test]
fn what_is_shown_can_be_run() {
    let place = Place::new();
    let flags = "demo --method boostfgl --rounds 2 --seeds 1 --clients 4 --set model.hidden=8 --set lambda_e=1";
    let shown = place.ok(&format!("config show {flags}")).stdout;
    let table: toml::Table = shown.parse().unwrap();
    assert_eq!(table["fed"]["rounds"].as_integer(), Some(2));
    assert_eq!(table["partition"]["clients"].as_integer(), Some(4));
    assert_eq!(table["boost"]["topology"]["lambda_e"].as_float(), Some(1.0));
    place.write("c.toml", &shown);
    assert_eq!(place.digest("run --config c.toml"), place.digest(&format!("run {flags}")));
    // A method in the file is a method named: only that one runs.
    assert!(place.exists("runs/demo-boostfgl") && !place.exists("runs/demo"));
    let told = place.ok("config check c.toml").stdout;
    assert!(told.starts_with("c.toml: every key is known"), "{told}");
}

#[test]
fn every_value_says_where_it_came_from() {
    let place = Place::new();
    place.write("c.toml", "[fed]\nepochs = 2\nrounds = 9\n");
    let flags = "cora --config c.toml --rounds 3 --set model.dropout=0.1 --seeds 2 --boost node --partition p.csv";
    let shown = place.ok(&format!("config show {flags}")).stdout;
    let comment = |line: &str| {
        let lines: Vec<&str> = shown.lines().collect();
        let at = lines.iter().position(|l| *l == line).unwrap_or_else(|| panic!("{line}\n{shown}"));
        assert!(lines[at - 1].starts_with("# "), "{line}");
        lines[at - 1].to_owned()
    };
    assert!(comment("epochs = 2").ends_with("(from c.toml)"));
    assert!(comment("rounds = 3").ends_with("(from --rounds)"));
    assert!(comment("dropout = 0.1").ends_with("(from --set model.dropout=0.1)"));
    assert!(comment("seeds = [0, 1]").ends_with("(from --seeds)"));
    assert!(comment("boosts = [\"node\"]").ends_with("(from --boost)"));
    assert!(comment("dataset = \"cora\"").ends_with("(from DATA)"));
    assert!(comment("partitioner = \"file\"").ends_with("(from --partition)"));
    assert!(comment("train = 0.2").ends_with("(from protocol of cora)"));
    assert!(!comment("hidden = 256").contains("(from"));
    // Every key has a line on what it means.
    let keys = shown.lines().filter(|line| line.contains(" = ") && !line.starts_with('#')).count();
    let comments = shown.lines().filter(|line| line.starts_with("# ") && line.len() > 6).count();
    assert!(keys > 35 && comments == keys, "{keys} keys, {comments} comments");
}

#[test]
fn layers_win_in_order() {
    let place = Place::new();
    place.write(
        "c.toml",
        "dataset = \"demo\"\nmethod = \"central\"\n[fed]\nrounds = 9\n[optimizer]\nlearning_rate = 1\n",
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
