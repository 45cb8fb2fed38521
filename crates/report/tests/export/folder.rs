//! Run folders for the tests.

use boostfgl_fairness::{Evaluation, Percent, Question};
use boostfgl_graph::{Labels, Role};
use boostfgl_report::{
    ClientRecord, Depth, Prediction, PredictionsWriter, Round, RoundsWriter, RunView, Summary,
};
use std::path::Path;

/// Writes the folder `name` of a finished run with three rounds per seed and reads it whole.
pub(crate) fn folder(place: &Path, name: &str, summary: &Summary) -> RunView {
    let path = place.join(name);
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("summary.json"), summary.to_json()).unwrap();
    std::fs::write(path.join("config.toml"), format!("method = \"{}\"\n", summary.method)).unwrap();
    let mut rounds = RoundsWriter::create(path.join("rounds.jsonl")).unwrap();
    let mut predictions = PredictionsWriter::create(path.join("predictions.csv")).unwrap();
    for seed in &summary.seeds {
        for number in 1..=3 {
            rounds.write(&round(seed.seed, number)).unwrap();
        }
        for node in 0..5 {
            predictions.write(&prediction(seed.seed, node)).unwrap();
        }
    }
    rounds.finish().unwrap();
    predictions.finish().unwrap();
    RunView::read(path, Depth::Whole).unwrap()
}

/// The second round is not evaluated and client 1 takes no part in the third.
fn round(seed: u64, number: usize) -> Round {
    let loss = 1.0 / (number as f64 + 0.1 * seed as f64);
    let evaluated = number != 2;
    let client = |client: usize| ClientRecord {
        client,
        name: String::new(),
        loss: loss + client as f64,
        update_norm: 0.1 * loss,
        weight: Some((1 + client) as f64 / 3.0),
        trust: (client == 1).then_some(0.7),
        gap: evaluated.then_some(0.1),
        bytes_up: 1000 + client as u64,
        bytes_down: 3,
        framed_up: 1100 + client as u64,
        framed_down: 60,
        seconds: 0.125,
    };
    Round {
        seed,
        round: number,
        loss,
        val_accuracy: evaluated.then_some(70.1),
        metrics: evaluated.then(|| evaluation(number as u32)),
        clients: (0..2).filter(|&c| number != 3 || c != 1).map(client).collect(),
        refused: Vec::new(),
        bytes_up: 2001,
        bytes_down: 6,
        seconds: 0.3,
    }
}

/// Two clients; none of them has a node that is both of a minority and heterophilous.
fn evaluation(number: u32) -> Percent<Evaluation> {
    let truth = Labels::from_integers(&[0, 0, 1, 1, 0], 2).unwrap();
    let question = Question {
        truth: &truth,
        prediction: &[0, number % 2, 1, 1, 1],
        nodes: &[0, 1, 2, 3, 4],
        client: &[0, 0, 0, 1, 1],
        client_sizes: &[3, 2],
        minority: &[false, false, true, true, false].map(Some),
        heterophilous: &[false, true, false, false, true],
    };
    question.evaluate().unwrap().percent()
}

fn prediction(seed: u64, node: u32) -> Prediction<'static> {
    Prediction {
        seed,
        node: ["a", "b, c", "\"d\"", "é\n", " f"][node as usize],
        client: node / 3,
        split: if node == 1 { Role::Train } else { Role::Test },
        label: (node != 2).then_some("red"),
        prediction: "blue, dark",
        minority: Some(node == 3),
        heterophilous: Some(node == 4),
    }
}
