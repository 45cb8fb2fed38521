//! FedTAD: reliabilities, local models, the distilled model and the generator.

use super::state::Table;
use super::{Case, clients, compare_with_oracle, last_losses, losses, model, toy};
use boostfgl_fed::Setup;
use boostfgl_fed::methods::fedtad::{Config, Distance};
use boostfgl_graph::Stream;
use boostfgl_nn::{Params, TensorShape};
use serde_json::{Map, Value, json};

/// Widths of the generator's hidden layers, as published.
const WIDTHS: [usize; 3] = [64, 128, 256];
/// Larger tensors are not written to the oracle's input.
const SMALL: usize = 2000;

/// Where the generator's tensors stand in the program and in the oracle.
fn names() -> Vec<(String, String)> {
    let layer = |l: usize| {
        [(format!("layer{l}.weight"), format!("w{l}")), (format!("layer{l}.bias"), format!("b{l}"))]
    };
    std::iter::once(("classes".into(), "embedding".into())).chain((1..=4).flat_map(layer)).collect()
}

fn written(oracle: &str, table: &Table) -> Value {
    if oracle.starts_with('b') { table.flat() } else { table.rows() }
}

/// The generator before the first round, drawn as the program draws it.
fn generator(setup: &Setup) -> Value {
    let mut shapes = vec![TensorShape::weight("classes", toy::CLASSES, toy::CLASSES)];
    let widths =
        [&[setup.methods.fedtad.noise + toy::CLASSES], &WIDTHS[..], &[toy::FEATURES]].concat();
    for width in widths.windows(2) {
        shapes.push(TensorShape::weight("weight", width[0], width[1]));
        shapes.push(TensorShape::bias("bias", width[1]));
    }
    let mut params =
        Params::<f64>::glorot(&shapes, Stream::new(setup.seed, "fedtad", &[]).next_u64());
    let mut stream = Stream::new(setup.seed, "fedtad classes", &[]);
    let classes = &mut params.tensors_mut()[0];
    (0..toy::CLASSES)
        .for_each(|c| classes.row_mut(c).iter_mut().for_each(|x| *x = stream.normal()));
    let part = |((_, oracle), tensor): ((String, String), _)| {
        let value = written(&oracle, &Table::from(tensor));
        (oracle, value)
    };
    Value::Object(names().into_iter().zip(params.tensors()).map(part).collect::<Map<_, _>>())
}

/// The noise of one repetition.
fn noise(setup: &Setup, round: usize, repetition: usize) -> Vec<Vec<f64>> {
    let Config { pseudo_nodes, noise, .. } = setup.methods.fedtad;
    let mut stream = Stream::new(setup.seed, "fedtad noise", &[round as u64, repetition as u64]);
    (0..pseudo_nodes).map(|_| (0..noise).map(|_| stream.normal()).collect()).collect()
}

fn case(name: &'static str, graph: &str, setup: &Setup) -> Case {
    let config = &setup.methods.fedtad;
    let repetitions =
        |round: usize| (0..config.repetitions).map(|i| noise(setup, round, i)).collect::<Vec<_>>();
    let given = json!({
        "graph": graph,
        "settings": {
            "fed.rounds": setup.protocol.rounds,
            "fedtad.distance": config.distance,
            "fedtad.generator_steps": config.generator_steps,
            "fedtad.lambda1": config.lambda1,
            "fedtad.lambda2": config.lambda2,
            "fedtad.learning_rate": config.learning_rate,
            "fedtad.neighbours": config.neighbours,
            "fedtad.noise": config.noise,
            "fedtad.pseudo_nodes": config.pseudo_nodes,
            "fedtad.repetitions": config.repetitions,
            "fedtad.student_steps": config.student_steps,
            "fedtad.weight_decay": config.weight_decay,
        },
        "init": toy::model(&toy::initial(setup)),
        "generator": generator(setup),
        "noise": (0..setup.protocol.rounds).map(repetitions).collect::<Vec<_>>(),
    });
    let rounds = toy::run(setup, toy::data(graph));
    let last = &rounds[rounds.len() - 1].state;
    // A flag that it is there stands before the numbers.
    let reliability = |k: usize| {
        last.some_after(&["server", "student", "power of beta2", &k.to_string()], 2)[1].flat()
    };
    let part = |(name, oracle): (String, String)| {
        let table = last.after(&["server", "generator", "params", &name]);
        (table.numbers().len() <= SMALL).then(|| (oracle.clone(), written(&oracle, table)))
    };
    let computed = |round: &toy::Round| {
        let global = model(&round.state, &["server", "global"]);
        json!({ "clients": clients(&round.state), "global": global, "last_loss": losses(round) })
    };
    let computed = json!({
        "ckr": (0..toy::CLIENTS).map(reliability).collect::<Vec<_>>(),
        "rounds": rounds.iter().map(computed).collect::<Vec<_>>(),
        "generator": Value::Object(names().into_iter().filter_map(part).collect::<Map<_, _>>()),
    });
    Case { name, given, computed }
}

#[test]
fn fedtad_agrees_with_its_oracle() {
    let setup = |config: Config| {
        let mut setup = toy::setup("fedtad", 3);
        setup.methods.fedtad = Config {
            pseudo_nodes: 14,
            noise: 3,
            neighbours: 3,
            generator_steps: 2,
            student_steps: 3,
            learning_rate: 0.003,
            ..config
        };
        setup
    };
    let kl = Config { repetitions: 2, distance: Distance::Kl, ..Config::default() };
    let l1 = Config { distance: Distance::L1, lambda1: 0.5, lambda2: 2.0, ..kl.clone() };
    let off = Config { repetitions: 0, ..kl.clone() };
    let cases = vec![
        case("kl", "toy", &setup(kl)),
        case("l1", "dense", &setup(l1)),
        case("off", "dense", &setup(off)),
    ];
    compare_with_oracle("fedtad", cases, |expected| last_losses(expected, &[1.0]));
}
