//! How layers are merged, and what is reported about mistakes in them.

use super::*;
use crate::config::keys;

fn resolve(
    build: impl FnOnce(&mut Layers) -> Result<()>,
) -> Result<(Checked<Config>, BTreeMap<String, Source>)> {
    let mut layers = Layers::new();
    build(&mut layers)?;
    layers.resolve()
}

fn message(build: impl FnOnce(&mut Layers) -> Result<()>) -> String {
    resolve(build).unwrap_err().to_string()
}

#[test]
fn later_layers_win_and_every_value_has_a_source() {
    let (config, sources) = resolve(|layers| {
        layers.text(
            "dataset = \"ogbn-arxiv\"\n[fed]\nrounds = 7\nepochs = 2\n",
            Path::new("my.toml"),
        )?;
        layers.assignment("rounds=9")?;
        layers.assignment("boost.topology.edge_score=reliability")
    })
    .unwrap();
    assert_eq!((config.fed.rounds, config.fed.epochs), (9, 2));
    assert_eq!(config.optimizer.learning_rate, 5e-3);
    assert_eq!(sources["fed.rounds"].to_string(), "--set rounds=9");
    assert_eq!(sources["fed.epochs"].to_string(), "my.toml, line 4");
    assert_eq!(sources["split.train"].to_string(), "protocol of ogbn-arxiv");
    assert_eq!(sources["model.hidden"], Source::Default);
}

#[test]
fn the_resolved_file_resolves_to_itself() {
    let (config, _) = resolve(|layers| {
        layers.assignment("dataset=chameleon")?;
        layers.assignment("boosts=[\"node\"]")?;
        layers.assignment("participation=1")
    })
    .unwrap();
    let (again, _) =
        resolve(|layers| layers.text(&config.to_toml(), Path::new("config.toml"))).unwrap();
    assert_eq!(config, again);
}

/// Digests of finished cells are made from the text: without noise it is the text of before
/// there was any.
#[test]
fn message_noise_is_written_only_where_there_is_some() {
    assert!(!Config::default().to_toml().contains("message_noise"));
    let key = keys().iter().find(|key| key.path == "model.message_noise").unwrap();
    assert!(key.meaning.contains("simulates differential privacy and is not"), "{}", key.meaning);
    let (silent, _) = resolve(|layers| layers.assignment("message_noise=0")).unwrap();
    assert_eq!(silent.to_toml(), Config::default().to_toml());
    for (given, sigma) in [("0.25", 0.25), ("2", 2.0)] {
        let (noisy, _) =
            resolve(|layers| layers.assignment(&format!("message_noise={given}"))).unwrap();
        assert_eq!(noisy.model.message_noise, sigma);
        let (again, _) =
            resolve(|layers| layers.text(&noisy.to_toml(), Path::new("config.toml"))).unwrap();
        assert_eq!((&again, again.to_toml()), (&noisy, noisy.to_toml()));
    }
    assert_eq!(
        message(|layers| layers.assignment("message_noise=-1")),
        "model.message_noise: expected a number from 0 to 100, found -1"
    );
    let refused = message(|layers| {
        layers.assignment("message_noise=0.1")?;
        layers.assignment("backbone=mlp")
    });
    assert!(refused.contains("this network passes no messages"), "{refused}");
}

#[test]
fn mistakes_are_named_with_place_and_nearest_key() {
    let file = |text: &'static str| message(move |l| l.text(text, Path::new("c.toml")));
    assert_eq!(
        file("[fed]\nrounds = 3\nround = 4\n"),
        "c.toml, line 3: unknown key `fed.round` (did you mean `fed.rounds`?)"
    );
    assert_eq!(
        file("optimizer_state = \"reset\""),
        "c.toml, line 1: unknown key `optimizer_state` (did you mean \
         `optimizer.optimizer_state`?)"
    );
    assert!(file("[fed\n").starts_with("c.toml, line 1: "), "{}", file("[fed\n"));
    assert_eq!(
        file("[fed]\nrounds = \"many\"\n"),
        "fed.rounds (from c.toml, line 2): expected a whole number of at least 0, found \
         string \"many\""
    );
    assert_eq!(
        file("method = \"fedavg\"\n[fed]\nrounds = 0\n"),
        "fed.rounds (from c.toml, line 3): expected at least 1, found 0"
    );
    assert!(file("fed = 3\n").starts_with("c.toml, line 1: expected a table, found a value"));
    assert!(
        message(|l| l.assignment("seeds=[-1]"))
            .starts_with("seeds[0] (from --set seeds=[-1]): expected a whole")
    );
    assert_eq!(
        message(|l| l.assignment("fed.rounds")),
        "--set fed.rounds: expected key=value, found no `=`"
    );
    assert_eq!(
        message(|l| l.assignment("fed.rounds=0")),
        "fed.rounds: expected at least 1, found 0"
    );
    assert!(message(|l| l.assignment("lambda_x=1")).contains("did you mean"));
    assert!(message(|l| l.assignment("method=fedavgg")).contains("did you mean `fedavg`?"));
    assert!(message(|l| l.assignment("dataset=coar")).contains("did you mean `cora`?"));
    assert!(message(|l| l.assignment("seeds=[1,1]")).contains("1 twice"));
}

#[test]
fn tables_and_words_are_named_with_place_and_nearest_name() {
    let file = |text: &'static str| message(move |l| l.text(text, Path::new("c.toml")));
    assert_eq!(file("\n[fde]\n"), "c.toml, line 2: unknown table `fde` (did you mean `fed`?)");
    assert_eq!(
        file("[model.node]\n"),
        "c.toml, line 1: unknown table `model.node` (did you mean `boost.node`?)"
    );
    assert_eq!(
        file("[model.nois]\n"),
        "c.toml, line 1: unknown table `model.nois` (did you mean `methods.fedtad.noise`?)"
    );
    assert_eq!(file("[nothing-like-it]\n"), "c.toml, line 1: unknown table `nothing-like-it`");
    assert_eq!(
        file("\n[dataset]\n"),
        "c.toml, line 2: expected a value for `dataset`, found a table"
    );
    assert_eq!(
        file("[dataset]\nname = 1\n"),
        "c.toml, line 2: expected a value for `dataset`, found a table"
    );
    assert_eq!(
        message(|l| l.assignment("rounds={a=1}")),
        "--set rounds={a=1}: expected a value for `fed.rounds`, found a table"
    );
    assert_eq!(
        message(|l| l.assignment("fed={round=3}")),
        "--set fed={round=3}: unknown key `fed.round` (did you mean `fed.rounds`?)"
    );
    let (config, _) = resolve(|l| l.assignment("fed={rounds=3, epochs=2}")).unwrap();
    assert_eq!((config.fed.rounds, config.fed.epochs), (3, 2));
    assert_eq!(
        file("[aggregation]\nrule = \"medain\"\n"),
        "aggregation.rule (from c.toml, line 2): expected one of mean, median, trimmed-mean, \
         krum, multi-krum, bulyan, \
         geometric-median, norm-bounded, found `medain` (did you mean `median`?)"
    );
    assert_eq!(
        message(|l| l.assignment("optimizer.optimizer=adma")),
        "optimizer.optimizer (from --set optimizer.optimizer=adma): expected one of adam, \
         sgd, found `adma` (did you \
         mean `adam`?)"
    );
    assert!(
        message(|l| l.assignment("boosts=[\"nod\"]"))
            .ends_with("found `nod` (did you mean `node`?)")
    );
}

#[test]
fn a_short_key_that_the_method_has_too_is_ambiguous() {
    let resolved = |method: &'static str, set: &'static str| {
        resolve(move |l| {
            l.assignment(set)?;
            l.set("method", method, "--method")
        })
    };
    for (method, set, other) in [
        ("afl", "gamma=0.5", "boost.model.gamma"),
        ("moon", "mu=0.5", "boost.node.mu"),
        ("moon", "tau=0.5", "boost.topology.tau"),
        ("fedfv", "alpha=0.5", "partition.alpha"),
    ] {
        let short = set.split('=').next().unwrap();
        let expected = format!(
            "--set {set}: `{short}` is ambiguous with the method {method}: expected one of \
             {other}, methods.{method}.{short}"
        );
        assert_eq!(resolved(method, set).unwrap_err().to_string(), expected);
    }
    assert_eq!(resolved("fedavg", "gamma=0.25").unwrap().0.boost.model.gamma, 0.25);
    assert_eq!(resolved("afl", "afl.gamma=0.25").unwrap().0.methods.afl.gamma, 0.25);
    assert_eq!(resolved("afl", "boost.model.gamma=0.25").unwrap().0.boost.model.gamma, 0.25);
}

#[test]
fn keys_of_other_methods_are_reported_to_have_no_effect() {
    let warnings = |method: &'static str| {
        let (config, sources) = resolve(move |l| {
            l.assignment("fedprox.mu=5")?;
            l.set("method", method, "--method")
        })
        .unwrap();
        without_effect(&config, &sources)
    };
    let expected =
        "methods.fedprox.mu (from --set fedprox.mu=5) has no effect: the method is fedavg";
    assert_eq!(warnings("fedavg"), [expected]);
    assert_eq!(warnings("fedprox"), [""; 0]);
}
