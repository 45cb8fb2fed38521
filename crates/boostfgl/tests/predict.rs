//! Models in use: a finished run predicts again what it predicted, or says why it cannot.

use boostfgl::fed::Beyond;
use boostfgl::fed::boost::Boost;
use boostfgl::fed::methods::{METHODS, MethodInfo};
use boostfgl::graph::generator::{Spec, generate, preset};
use boostfgl::graph::{Adjacency, Features, Graph, Labels, Scaling};
use boostfgl::nn::{Params, TensorShape, safetensors_io};
use boostfgl::predict::{FinishedRun, Model, ModelFile, NodePredictions, Which, on_graph};
use boostfgl::report::{Predictions, RunFolder};
use boostfgl::{CheckpointOptions, Config, Error, Experiment, Progress, Run};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A graph of 200 nodes; names are not positions, so that mixing them up is found.
fn graph() -> Graph {
    let spec = Spec {
        nodes: 200,
        edges: 500,
        communities: 3,
        pocket_size: 10,
        ..preset("demo").unwrap().spec
    };
    let graph = generate("small", &spec, 1, &mut |_, _| {}).unwrap();
    graph.with_ids((0..200).map(|v| format!("node-{}", 999 - v)).collect()).unwrap()
}

fn config(method: &str, change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config {
        dataset: "demo".into(),
        method: method.into(),
        seeds: vec![3, 8],
        ..Config::default()
    };
    (config.fed.rounds, config.model.hidden, config.partition.clients) = (4, 8, 3);
    // A small generator that learns fast, so that some neighbours are generated.
    let generator = &mut config.methods.fedsage_plus;
    (generator.gen_epochs, generator.learning_rate) = (2, 0.05);
    (generator.latent, generator.narrow, generator.wide) = (8, 16, 32);
    config.methods.adafgl.personal_epochs = 2;
    config.evaluation.probabilities = true;
    change(&mut config);
    config
}

/// Runs into a folder.
fn run(place: &Path, config: Config) -> Run {
    let experiment = Experiment::new(config.checked().unwrap(), graph()).unwrap();
    let folder = RunFolder::create(place, false).unwrap();
    experiment.run_watched(&mut (), Some(&folder)).unwrap()
}

/// Predicts the run in a folder again and compares every node of every seed with its
/// `predictions.csv`, and every bit of the probabilities with those of the run.
fn check(place: &Path, run: &Run, what: &str) {
    let recorded = Predictions::read(place.join(RunFolder::PREDICTIONS)).unwrap();
    for rows in &recorded.seeds {
        let which = Which { seed: Some(rows.seed), client: None };
        let found = FinishedRun::open(place).unwrap().predict(Some(graph()), &which).unwrap();
        assert_eq!(found.notes, Vec::<String>::new(), "{what}, seed {}", rows.seed);
        let again: Vec<(&str, &str)> = (found.nodes.iter())
            .zip(&found.predicted)
            .map(|(node, &class)| (node.as_str(), found.classes[class as usize].as_str()))
            .collect();
        let expected: Vec<(&str, &str)> =
            rows.rows.iter().map(|row| (row.node.as_str(), &*row.prediction)).collect();
        assert_eq!(again, expected, "{what}, seed {}", rows.seed);
        let first = run.seeds.iter().find(|run| run.seed == rows.seed).unwrap();
        assert_eq!(
            Some(&found.probabilities),
            first.outcome.probabilities.as_ref(),
            "{what}, seed {}",
            rows.seed
        );
    }
}

/// A change of a configuration.
type Change = fn(&mut Config);

/// The boosts that a method does not refuse.
fn allowed(method: &MethodInfo) -> Vec<Boost> {
    Boost::ALL.into_iter().filter(|&boost| (method.refuses)(boost).is_none()).collect()
}

#[test]
fn every_method_predicts_again_what_it_predicted_with_and_without_boosts() {
    let place = tempfile::tempdir().unwrap();
    for method in METHODS {
        for boosts in [Vec::new(), allowed(method)] {
            let what = format!("{} with {boosts:?}", method.name);
            let folder = place.path().join(&what);
            let run = run(
                &folder,
                config(method.name, |config| {
                    config.boosts = Some(boosts);
                    config.seeds = vec![3];
                }),
            );
            check(&folder, &run, &what);
        }
    }
}

#[test]
fn settings_that_change_the_evaluation_are_predicted_again_too() {
    let place = tempfile::tempdir().unwrap();
    let cases: [(&str, &str, Change); 7] = [
        ("the best round", "boostfgl", |config| {
            config.fed.report = boostfgl::fed::config::ReportedRound::BestVal;
        }),
        ("mixtures", "fairfgl", |config| {
            config.methods.fairfgl.evaluate =
                boostfgl::fed::methods::fairfgl::EvaluatedWeights::Mixture;
        }),
        ("boosted scores", "boostfgl", |config| {
            config.boost.topology.scoring_propagation =
                boostfgl::fed::boost::topology::ScoringPropagation::Boosted;
        }),
        ("noise", "fedavg", |config| config.model.message_noise = 0.5),
        ("few clients", "fedgta", |config| config.fed.participation = 0.4),
        ("attention and scaled features", "fedpub", |config| {
            config.model.backbone = "gat".into();
            config.data.features = Scaling::RowNormalised;
        }),
        ("one client, products in order", "fedpub", |config| {
            config.partition.clients = 1;
            config.portable = true;
        }),
    ];
    for (what, method, change) in cases {
        let folder = place.path().join(what);
        let run = run(&folder, config(method, change));
        check(&folder, &run, what);
    }
}

/// Stops a run at once after its first seed and a half.
struct StopAfter<'a>(usize, &'a AtomicBool);

impl Progress for StopAfter<'_> {
    fn round(
        &mut self,
        _: &boostfgl::fed::RoundRecord<'_>,
        _: Option<&boostfgl::fairness::Evaluation>,
    ) {
        self.0 -= 1;
        self.1.store(self.0 == 0, std::sync::atomic::Ordering::SeqCst);
    }
}

#[test]
fn a_run_that_was_stopped_and_resumed_has_the_same_models_and_states() {
    let place = tempfile::tempdir().unwrap();
    for (method, rounds) in [("fedsage-plus", 6), ("fedpub", 7), ("adafgl", 11), ("boostfgl", 5)] {
        let [whole, stopped] =
            ["whole", "stopped"].map(|name| place.path().join(method).join(name));
        let run = run(&whole, config(method, |_| {}));
        let experiment =
            Experiment::new(config(method, |_| {}).checked().unwrap(), graph()).unwrap();
        let folder = RunFolder::create(&stopped, false).unwrap();
        let stop = AtomicBool::new(false);
        let options = CheckpointOptions { stop: Some(&stop), ..CheckpointOptions::default() };
        let halted =
            experiment.run_with_checkpoints(&mut StopAfter(rounds, &stop), &folder, options);
        assert!(matches!(halted, Err(Error::Stopped { .. })), "{method}");
        experiment.resume(&mut (), &folder, CheckpointOptions::default()).unwrap();
        for file in [RunFolder::MODEL, RunFolder::STATE] {
            let [one, other] = [&whole, &stopped].map(|place| std::fs::read(place.join(file)).ok());
            assert_eq!(one, other, "{method}: {file}");
        }
        check(&stopped, &run, method);
    }
}

#[test]
fn only_runs_that_need_it_have_a_state() {
    let place = tempfile::tempdir().unwrap();
    for method in METHODS {
        let folder = place.path().join(method.name);
        run(
            &folder,
            config(method.name, |config| {
                config.boosts = Some(Vec::new());
                config.seeds = vec![3];
            }),
        );
        let needs = ["fedsage-plus", "adafgl"].contains(&method.name);
        assert_eq!(folder.join(RunFolder::STATE).exists(), needs, "{}", method.name);
        let file = ModelFile::open(folder.join(RunFolder::MODEL)).unwrap();
        let expected: &[Beyond] = match method.name {
            "fedsage-plus" => &[Beyond::Generated],
            "adafgl" => &[Beyond::Modules],
            "fedpub" => &[Beyond::Deployed],
            _ => &[],
        };
        assert_eq!(file.about().beyond, expected, "{}", method.name);
    }
}

/// What a model predicts for a graph.
fn predicted(path: &Path, client: Option<&str>, graph: Graph) -> Result<NodePredictions, Error> {
    let chosen = Model::open(path)?.choose(&Which { seed: Some(3), client })?;
    on_graph(&chosen, graph)
}

/// Without edges between clients, a run is one model on one graph: with all nodes at one client
/// both ways of predicting agree to the bit.
#[test]
fn a_model_on_the_graph_of_a_single_client_predicts_what_the_run_did() {
    let place = tempfile::tempdir().unwrap();
    for (method, client) in [("fedavg", None), ("fedpub", Some("0")), ("central", None)] {
        let folder = place.path().join(method);
        run(&folder, config(method, |config| config.partition.clients = 1));
        let which = Which { seed: Some(3), client: None };
        let run = FinishedRun::open(&folder).unwrap().predict(Some(graph()), &which).unwrap();
        let file = folder.join(RunFolder::MODEL);
        for source in [&folder, &file] {
            let found = predicted(source, client, graph()).unwrap();
            assert_eq!(found.predicted, run.predicted, "{method}");
            assert_eq!(found.probabilities, run.probabilities, "{method}");
            assert!(found.notes[0].contains("edges between clients are used"), "{:?}", found.notes);
        }
    }
}

#[test]
fn new_nodes_get_predictions_and_old_ones_keep_theirs() {
    let place = tempfile::tempdir().unwrap();
    run(place.path(), config("fedavg", |_| {}));
    let old = graph();
    let edges: Vec<(u32, u32)> = (0..200u32)
        .flat_map(|v| old.adjacency().neighbours(v as usize).iter().map(move |&u| (u, v)))
        .collect();
    // Two more nodes with the features of node 0, joined to each other only.
    let (adjacency, _) = Adjacency::from_edges(
        202,
        &[&edges[..], &[(200, 201)]].concat(),
        None,
        old.adjacency().is_directed(),
    )
    .unwrap();
    let rows: Vec<u32> = (0..200).chain([0, 0]).collect();
    let (features, labels): (Features, Labels) =
        (old.features().select(&rows), Labels::new(vec![None; 202], Vec::new()).unwrap());
    let mut names: Vec<String> = (0..200).map(|v| old.id(v)).collect();
    names.extend(["new-1".to_owned(), "new-2".to_owned()]);
    let both = Graph::new("both", adjacency, features, labels).unwrap().with_ids(names).unwrap();
    let before = predicted(place.path(), None, old).unwrap();
    let after = predicted(place.path(), None, both).unwrap();
    assert_eq!(after.predicted[..200], before.predicted[..]);
    assert_eq!(after.probabilities.row(200), after.probabilities.row(201));
    let list = place.path().join("new.txt");
    std::fs::write(&list, "new-2\n\n node-999 \n").unwrap();
    let listed = after.listed_in(&list).unwrap();
    assert_eq!(listed.nodes, ["new-2", "node-999"]);
    assert_eq!(listed.probabilities.row(1), after.probabilities.row(0));
    std::fs::write(&list, "new-2\nnew-3\nnew-4\n").unwrap();
    let error = after.listed_in(&list).unwrap_err().to_string();
    assert!(error.ends_with("found 2 others; the first: `new-3` in line 2"), "{error}");
}

/// A model of two inputs by hand, with a fitted scaling.
fn by_hand(scale: &[f32]) -> Vec<u8> {
    let about = [
        ("format", "boostfgl model 1"),
        ("program", "by hand"),
        ("method", "fedavg"),
        ("dataset", "hand"),
        ("models", "global"),
        ("backbone", "mlp"),
        ("inputs", "2"),
        ("hidden", "1"),
        ("layers", "1"),
        ("classes", "[\"no\",\"yes\"]"),
        ("feature_names", "[\"age\",\"income\"]"),
        ("feature_scaling", "raw"),
        ("beyond", "[]"),
    ];
    let shapes = [
        TensorShape::weight("layer1.weight", 2, 2),
        TensorShape::bias("layer1.bias", 2),
        TensorShape::bias("features.shift", 2),
        TensorShape::bias("features.scale", 2),
    ];
    let row = |values: &[f32]| boostfgl::nn::Matrix::from_rows(1, 2, values);
    let tensors = vec![
        boostfgl::nn::Matrix::from_rows(2, 2, &[1.0, -1.0, 0.5, 2.0]),
        row(&[0.25, 0.0]),
        row(&[10.0, -1.0]),
        row(scale),
    ];
    let params = Params::from_tensors(&shapes, tensors);
    let about: HashMap<String, String> =
        about.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    safetensors_io::to_bytes(&[("seed3".to_owned(), &params)], about).unwrap()
}

/// Two nodes with the columns in this order.
fn two_nodes(columns: [&str; 2], values: [f32; 4]) -> Graph {
    let (adjacency, _) = Adjacency::from_edges(2, &[(0, 1)], None, false).unwrap();
    let labels = Labels::from_integers(&[-1, -1], 0).unwrap();
    let features = Features::dense(2, 2, values.to_vec()).unwrap();
    let graph = Graph::new("two", adjacency, features, labels).unwrap();
    graph.with_feature_names(columns.map(str::to_owned).to_vec()).unwrap()
}

#[test]
fn a_fitted_scaling_is_applied_and_columns_are_found_by_name() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("m.safetensors");
    std::fs::write(&path, by_hand(&[2.0, 4.0])).unwrap();
    // x = ((12 - 10) / 2, (3 + 1) / 4) = (1, 1): logits (1 + 0.5 + 0.25, -1 + 2).
    for graph in [
        two_nodes(["age", "income"], [12.0, 3.0, 10.0, -1.0]),
        two_nodes(["income", "age"], [3.0, 12.0, -1.0, 10.0]),
    ] {
        let found = predicted(&path, None, graph).unwrap();
        let logits = found.logits.unwrap();
        assert_eq!((logits.row(0), logits.row(1)), (&[1.75, 1.0][..], &[0.25, 0.0][..]));
    }
    std::fs::write(&path, by_hand(&[2.0, 0.0])).unwrap();
    let graph = two_nodes(["age", "income"], [0.0; 4]);
    let error = predicted(&path, None, graph).unwrap_err().to_string();
    assert!(error.contains("tensor seed3.features.scale"), "{error}");
}

#[test]
fn data_that_do_not_fit_the_model_get_one_message_with_everything() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("m.safetensors");
    std::fs::write(&path, by_hand(&[1.0, 1.0])).unwrap();
    let graph = two_nodes(["age", "incomes"], [0.0; 4])
        .with_labels(Labels::new([Some(0), Some(1)], vec!["yes".into(), "maybe".into()]).unwrap())
        .unwrap();
    let error = predicted(&path, None, graph).unwrap_err().to_string();
    assert_eq!(
        error,
        "two: features: expected the columns `income`, found none; features: expected no other \
         columns than the model's, found `incomes`; classes: expected some of `no`, `yes`, found \
         `maybe`"
    );
    let graph = two_nodes(["age", "income"], [0.0; 4]);
    let wide = graph.with_features(Features::dense(2, 3, vec![0.0; 6]).unwrap()).unwrap();
    let error = predicted(&path, None, wide).unwrap_err().to_string();
    assert_eq!(error, "two: features: expected 2 columns, found 3");
}

#[test]
fn damaged_model_files_are_refused_with_the_reason() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("m.safetensors");
    let intact = by_hand(&[1.0, 1.0]);
    let reason = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let graph = two_nodes(["age", "income"], [0.0; 4]);
        predicted(&path, None, graph).unwrap_err().to_string()
    };
    for length in [0, 7, 100, intact.len() - 1] {
        let error = reason(&intact[..length]);
        assert!(error.contains("expected a safetensors file"), "{length}: {error}");
    }
    assert!(reason(b"node,prediction\n1,2\n").contains("expected a safetensors file"));
    let mut odd = intact.clone();
    let end = odd.len();
    odd[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(reason(&odd).contains("expected finite numbers in tensor seed3."), "{}", reason(&odd));
    let text = String::from_utf8_lossy(&intact).into_owned();
    let renamed = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let at = text.find(from).unwrap();
        let mut bytes = intact.clone();
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        bytes
    };
    let missing = reason(&renamed("layer1.bias", "layer9.bias"));
    assert!(missing.contains("expected tensor seed3.layer1.bias"), "{missing}");
    let wider = reason(&renamed("\"inputs\":\"2\"", "\"inputs\":\"4\""));
    assert!(wider.contains("feature_names: expected 4 names or none, found 2"), "{wider}");
    let other = reason(&renamed("boostfgl model 1", "boostfgl model 7"));
    assert!(other.contains("found `boostfgl model 7`"), "{other}");
}

#[test]
fn clients_seeds_and_models_that_do_not_exist_are_named() {
    let place = tempfile::tempdir().unwrap();
    let [personal, modules] = ["fedgta", "adafgl"].map(|name| place.path().join(name));
    run(&personal, config("fedgta", |_| {}));
    run(&modules, config("adafgl", |_| {}));
    let error = |path: &Path, seed, client| {
        let chosen = Model::open(path).and_then(|model| model.choose(&Which { seed, client }));
        let found = chosen.and_then(|chosen| on_graph(&chosen, graph()));
        found.unwrap_err().to_string()
    };
    assert_eq!(
        error(&personal, Some(5), Some("0")),
        "--seed: expected a seed of the run, 3, 8, found 5"
    );
    assert!(
        error(&personal, None, None).starts_with("--client: expected one of the clients 0, 1, 2")
    );
    assert!(error(&personal, None, Some("3")).ends_with("0, 1, 2, found client 3"));
    assert!(error(&personal, None, Some("north")).ends_with("from 0, found `north`"));
    let found = error(&modules, None, None);
    assert!(found.contains("predicts with modules that each client trained"), "{found}");
    std::fs::remove_file(modules.join(RunFolder::STATE)).unwrap();
    let which = Which::default();
    let found = FinishedRun::open(&modules).unwrap().predict(Some(graph()), &which);
    let found = found.unwrap_err().to_string();
    assert!(found.ends_with("state.bin: expected modules that each client trained on its own graph under seed 3, found none"), "{found}");
}

#[test]
fn other_data_than_those_of_the_run_are_refused() {
    let place = tempfile::tempdir().unwrap();
    run(place.path(), config("fedavg", |_| {}));
    let run = FinishedRun::open(place.path()).unwrap();
    let mut features = graph().features().clone();
    features.scale(Scaling::RowNormalised);
    let changed = graph().with_features(features).unwrap();
    let error = run.predict(Some(changed), &Which::default()).unwrap_err();
    assert!(error.to_string().contains("features"), "{error}");
    assert!(error.advice().contains("boostfgl predict RUN DATA"), "{}", error.advice());
}
