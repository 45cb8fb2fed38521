//! AdaFGL: FedAvg, the clients' state at the switch, and their modules after every epoch.

use super::state::{State, Table};
use super::{Case, clients, compare_with_oracle, model, toy};
use boostfgl_fed::methods::adafgl::confidence::halves;
use boostfgl_fed::methods::adafgl::{Blend, Config};
use boostfgl_fed::{LocalData, Setup};
use boostfgl_graph::stream::key64;
use boostfgl_nn::{Params, TensorShape};
use serde_json::{Map, Value, json};

/// The perceptrons of a client: their name in the program and in the oracle, and their widths.
fn perceptrons(config: &Config) -> [(&'static str, &'static str, Vec<usize>); 4] {
    let (m, smoothed) = (config.hidden, toy::FEATURES * (config.steps + 1));
    [
        ("homophilous", "homo", vec![smoothed, m, toy::CLASSES]),
        ("features", "hete.a", vec![toy::FEATURES, m, m, toy::CLASSES]),
        ("smoothed", "hete.b", vec![smoothed, m, m, toy::CLASSES]),
        ("messages", "hete.c", vec![smoothed, m, m, toy::CLASSES]),
    ]
}

/// Every tensor of a perceptron: its name in the program, its letter and layer in the oracle, and
/// its shape.
fn tensors(name: &str, widths: &[usize]) -> Vec<(String, String, TensorShape)> {
    let mut all = Vec::new();
    for (l, width) in (1..).zip(widths.windows(2)) {
        let mut add = |what: &str, letter: &str, shape: &dyn Fn(String) -> TensorShape| {
            let place = format!("{name}.layer{l}.{what}");
            all.push((place.clone(), format!("{letter}{l}"), shape(place)));
        };
        add("weight", "w", &|place| TensorShape::weight(place, width[0], width[1]));
        add("bias", "b", &|place| TensorShape::bias(place, width[1]));
        if l + 1 < widths.len() {
            add("slope", "s", &|place| TensorShape::bias(place, 1));
        }
    }
    all
}

/// A tensor as the oracle reads it: weights in rows, biases in one, slopes as numbers.
fn written(letter: &str, table: &Table) -> Value {
    match letter.as_bytes()[0] {
        b'w' => table.rows(),
        b'b' => table.flat(),
        _ => table.numbers()[0].into(),
    }
}

/// The modules of a client before the first epoch, drawn as the program draws them.
fn drawn(setup: &Setup, client: usize) -> Value {
    let config = &setup.methods.adafgl;
    let all = perceptrons(config);
    let mut out = Map::new();
    for (purpose, parts) in [("adafgl homophilous", &all[..1]), ("adafgl heterophilous", &all[1..])]
    {
        let places: Vec<(String, String, TensorShape)> = parts
            .iter()
            .flat_map(|(name, oracle, widths)| {
                let named = |(_, letter, shape)| ((*oracle).to_owned(), letter, shape);
                tensors(name, widths).into_iter().map(named).collect::<Vec<_>>()
            })
            .collect();
        let shapes: Vec<TensorShape> = places.iter().map(|(_, _, shape)| shape.clone()).collect();
        let params = Params::<f64>::glorot(&shapes, key64(setup.seed, purpose, &[client as u64]));
        for ((oracle, letter, _), tensor) in places.iter().zip(params.tensors()) {
            // Slopes start at ¼.
            let slope = || Value::from(0.25);
            let value = if letter.starts_with('s') {
                slope()
            } else {
                written(letter, &Table::from(tensor))
            };
            out.insert(format!("{oracle}.{letter}"), value);
        }
    }
    out.insert("hete.message".into(), 0.25.into());
    out.into()
}

/// The modules that a client has. One that its prediction would not use is absent.
fn modules(setup: &Setup, state: &State, client: usize) -> Value {
    let client = format!("client {client}");
    let share = state.after(&[&client, "rule", "share"]).numbers()[0];
    let mut out = Map::new();
    for (name, oracle, widths) in perceptrons(&setup.methods.adafgl) {
        if (oracle == "homo" && share == 0.0) || (oracle != "homo" && share == 1.0) {
            continue;
        }
        for (place, letter, _) in tensors(name, &widths) {
            out.insert(
                format!("{oracle}.{letter}"),
                written(&letter, state.after(&[&client, "rule", &place])),
            );
        }
    }
    if share < 1.0 {
        let slope = state.after(&[&client, "rule", "messages.slope"]).numbers()[0];
        out.insert("hete.message".into(), slope.into());
    }
    out.into()
}

fn hidden_labels(data: &LocalData<f64>, seed: u64) -> Vec<u32> {
    let labelled =
        data.training().iter().map(|&v| (v, data.training_label(v as usize).unwrap())).collect();
    halves(labelled, seed, data.id()).1.into_iter().map(|(v, _)| v).collect()
}

fn case(name: &'static str, graph: &str, setup: &Setup) -> Case {
    let (config, data) = (&setup.methods.adafgl, toy::data(graph));
    let nodes: Vec<Vec<u32>> = data.iter().map(|client| client.nodes().to_vec()).collect();
    let given = json!({
        "graph": graph,
        "settings": {
            "fed.rounds": setup.protocol.rounds,
            "optimizer.learning_rate": setup.optimizer.learning_rate,
            "adafgl.a": config.a,
            "adafgl.beta": config.beta,
            "adafgl.combination": config.combination,
            "adafgl.hidden": config.hidden,
            "adafgl.personal_epochs": config.personal_epochs,
            "adafgl.steps": config.steps,
            "adafgl.switch": config.switch,
            "adafgl.threshold": config.threshold,
        },
        "init": toy::model(&toy::initial(setup)),
        "modules": (0..toy::CLIENTS).map(|k| drawn(setup, k)).collect::<Vec<_>>(),
        "hcs_hidden": data.iter().map(|client| hidden_labels(client, setup.seed)).collect::<Vec<_>>(),
    });
    let rounds = toy::run(setup, data);
    let (federated, personal) = rounds.split_at(setup.protocol.rounds);
    let epoch = |k: usize, round: &toy::Round| {
        let predicted: Vec<u32> = nodes[k].iter().map(|&v| round.predictions[v as usize]).collect();
        json!({ "loss": round.loss(k), "modules": modules(setup, &round.state, k), "predicted": predicted })
    };
    let client = |k: usize| {
        let (place, first) = (format!("client {k}"), &personal[0].state);
        let mut seen = json!({
            "p_hat": first.after(&[&place, "rule", "predicted"]).rows(),
            "epochs": personal.iter().map(|round| epoch(k, round)).collect::<Vec<_>>(),
        });
        if config.combination == Blend::Soft {
            seen["hcs"] = first.after(&[&place, "rule", "share"]).numbers()[0].into();
        }
        seen
    };
    let step_one = |round: &toy::Round| {
        let global = model(&round.state, &["server", "global"]);
        json!({ "clients": clients(&round.state), "global": global })
    };
    let computed = json!({
        "rounds": federated.iter().map(step_one).collect::<Vec<_>>(),
        "personal": (0..toy::CLIENTS).map(client).collect::<Vec<_>>(),
    });
    Case { name, given, computed }
}

/// What the program shows of an epoch: one loss, of the modules that are there, and the class of
/// every node.
fn shown(expected: &mut Value, hard: Option<f64>) {
    for client in expected["personal"].as_array_mut().unwrap() {
        let hcs = client["hcs"].as_f64().unwrap();
        let share = hard.map_or(hcs, |switch| f64::from(u8::from(hcs >= switch)));
        for epoch in client["epochs"].as_array_mut().unwrap() {
            let parts = super::numbers(&epoch["losses"]).unwrap();
            let homophilous = if share > 0.0 { parts[0] + parts[1] } else { 0.0 };
            let heterophilous = if share < 1.0 { parts[2] + parts[3] + parts[4] } else { 0.0 };
            epoch["loss"] = (homophilous + heterophilous).into();
            let best = |row: &Value| {
                let row = super::numbers(row).unwrap();
                (0..row.len()).fold(0, |best, c| if row[c] > row[best] { c } else { best })
            };
            epoch["predicted"] =
                epoch["output"].as_array().unwrap().iter().map(best).collect::<Vec<_>>().into();
        }
    }
}

#[test]
fn adafgl_agrees_with_its_oracle() {
    let mut soft = toy::setup("adafgl", 4);
    soft.optimizer.learning_rate = 0.05;
    soft.methods.adafgl =
        Config { hidden: 4, personal_epochs: 3, dropout: 0.0, ..Config::default() };
    let mut hard = soft.clone();
    hard.methods.adafgl = Config {
        combination: Blend::Hard,
        switch: 0.6,
        a: 0.5,
        beta: 0.0,
        steps: 2,
        threshold: 0.9995,
        ..hard.methods.adafgl
    };
    let switch = hard.methods.adafgl.switch;
    compare_with_oracle(
        "adafgl",
        vec![case("soft", "toy", &soft), case("hard", "dense", &hard)],
        |expected| {
            shown(expected, (expected["name"] == "hard").then_some(switch));
        },
    );
}
