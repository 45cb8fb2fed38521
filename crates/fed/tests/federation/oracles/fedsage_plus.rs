//! FedSage+: the neighbours that every client generates at the end of both phases, and the rounds
//! on mended graphs.

use super::state::Table;
use super::{Case, clients, compare_with_oracle, last_losses, losses, model, toy};
use boostfgl_fed::methods::fedsage_plus::{Config, Count};
use boostfgl_fed::{LocalData, Setup};
use boostfgl_graph::Stream;
use boostfgl_graph::stream::key64;
use boostfgl_nn::{Params, TensorShape};
use serde_json::{Map, Value, json};

/// The nodes that a client hides.
fn hidden(data: &LocalData<f64>, setup: &Setup) -> Vec<u32> {
    let mut nodes: Vec<u32> = data.validation_nodes().collect();
    let count = (setup.methods.fedsage_plus.hide * nodes.len() as f64) as usize;
    Stream::new(setup.seed, "hide", &[data.id() as u64]).shuffle(&mut nodes);
    nodes.truncate(count);
    nodes.sort_unstable();
    nodes
}

/// A client's networks before phase A, drawn as the program draws them.
fn drawn(setup: &Setup, client: usize) -> Value {
    let config = &setup.methods.fedsage_plus;
    let Config { hidden, latent, narrow, wide, max_neighbours: p, .. } = *config;
    let seed = key64(setup.seed, "neighgen", &[client as u64]);
    let mut out = Map::new();
    let mut add = |names: &[&str], widths: &[(usize, usize)], seed: u64| {
        let layer = |&(from, to): &(usize, usize)| {
            [TensorShape::weight("w", from, to), TensorShape::bias("b", to)]
        };
        let shapes: Vec<TensorShape> = widths.iter().flat_map(layer).collect();
        let params = Params::<f64>::glorot(&shapes, seed);
        for (name, layer) in names.iter().zip(params.tensors().chunks(2)) {
            let (weight, bias) = name.split_once(' ').unwrap();
            out.insert(weight.into(), Table::from(&layer[0]).rows());
            out.insert(bias.into(), Table::from(&layer[1]).flat());
        }
    };
    add(
        &["enc.w1 enc.b1", "enc.w2 enc.b2", "deg.w deg.b", "cls.w1 cls.b1", "cls.w2 cls.b2"],
        &[
            (toy::FEATURES, hidden),
            (hidden, latent),
            (latent, 1),
            (toy::FEATURES, hidden),
            (hidden, toy::CLASSES),
        ],
        seed,
    );
    add(&["gen.w1 gen.b1", "gen.w2 gen.b2"], &[(latent, narrow), (narrow, wide)], !seed);
    // The last layer is drawn slot by slot, with the bound of the whole.
    let bound = libm::sqrt(6.0 / (wide + p * toy::FEATURES) as f64);
    let mut last = vec![vec![0.0; p * toy::FEATURES]; wide];
    for slot in 0..p {
        let mut stream = Stream::new(seed, "slot", &[slot as u64]);
        for row in &mut last {
            let columns = &mut row[slot * toy::FEATURES..][..toy::FEATURES];
            columns.iter_mut().for_each(|x| *x = bound * (2.0 * stream.unit() - 1.0));
        }
    }
    out.insert("gen.w3".into(), json!(last));
    out.insert("gen.b3".into(), json!(vec![0.0; p * toy::FEATURES]));
    out.into()
}

/// The noise of one pass, a row for every node that is not hidden.
fn noise(setup: &Setup, client: usize, pass: usize, remaining: &[u32]) -> Vec<Vec<f64>> {
    let noise_of_node = |v: &u32| {
        let path = [client as u64, pass as u64, u64::from(*v)];
        let mut stream = Stream::new(setup.seed, "neighbour noise", &path);
        (0..setup.methods.fedsage_plus.latent).map(|_| stream.normal()).collect()
    };
    remaining.iter().map(noise_of_node).collect()
}

/// What client `peer` draws for the nodes that `asker` compares, one after the other; no more than
/// its training nodes.
fn draws(
    setup: &Setup,
    data: &[LocalData<f64>],
    asker: usize,
    epoch: usize,
    peer: usize,
) -> Vec<Vec<u32>> {
    if asker == peer {
        return Vec::new();
    }
    let adjacency = data[peer].adjacency();
    let able: Vec<usize> = (0..data[peer].len()).filter(|&v| adjacency.degree(v) > 0).collect();
    let mut stream =
        Stream::new(setup.seed, "strangers", &[peer as u64, asker as u64, epoch as u64]);
    let mut draw_candidates = || {
        let neighbours = adjacency.neighbours(able[stream.below(able.len())]);
        let mut draw = || neighbours[stream.below(neighbours.len())];
        (0..setup.methods.fedsage_plus.max_neighbours).map(|_| draw()).collect()
    };
    (0..data[asker].training().len()).map(|_| draw_candidates()).collect()
}

/// Generated neighbours of a client: how many each node has, and their features by node, then slot.
fn generated(round: &toy::Round, client: usize, nodes: usize) -> Value {
    let place = format!("client {client}");
    let owners: Vec<usize> = round
        .state
        .after(&[&place, "owners of made-up nodes"])
        .numbers()
        .iter()
        .map(|&v| v as usize)
        .collect();
    let rows = round.state.some_after(&[&place, "owners of made-up nodes"], 1 + owners.len());
    let mut counts = vec![0; nodes];
    owners.iter().for_each(|&v| counts[v] += 1);
    // They are kept slot by slot.
    let mut order: Vec<usize> = (0..owners.len()).collect();
    order.sort_by_key(|&i| owners[i]);
    let features: Vec<Value> = order.into_iter().map(|i| rows[1 + i].flat()).collect();
    json!({ "generated": counts, "generated_features": features })
}

fn case(name: &'static str, graph: &str, setup: &Setup) -> Case {
    let (config, data) = (&setup.methods.fedsage_plus, toy::data(graph));
    let hidden: Vec<Vec<u32>> = data.iter().map(|client| hidden(client, setup)).collect();
    let remaining =
        |k: usize| (0..data[k].len() as u32).filter(|v| !hidden[k].contains(v)).collect::<Vec<_>>();
    let epochs = config.gen_epochs;
    let noises = |first: usize| {
        let noise_of_client = |k: usize| {
            (0..epochs).map(|e| noise(setup, k, first + e, &remaining(k))).collect::<Vec<_>>()
        };
        (0..toy::CLIENTS).map(noise_of_client).collect::<Vec<_>>()
    };
    let peers = |k: usize, e: usize| {
        (0..toy::CLIENTS).map(|j| draws(setup, &data, k, e, j)).collect::<Vec<_>>()
    };
    let given = json!({
        "graph": graph,
        "settings": {
            "fed.rounds": setup.protocol.rounds,
            "fedsage-plus.count": config.count,
            "fedsage-plus.gen_epochs": epochs,
            "fedsage-plus.hidden": config.hidden,
            "fedsage-plus.hide": config.hide,
            "fedsage-plus.lambda_class": config.lambda_class,
            "fedsage-plus.lambda_degree": config.lambda_degree,
            "fedsage-plus.lambda_feature": config.lambda_feature,
            "fedsage-plus.latent": config.latent,
            "fedsage-plus.learning_rate": config.learning_rate,
            "fedsage-plus.max_neighbours": config.max_neighbours,
            "fedsage-plus.narrow": config.narrow,
            "fedsage-plus.weight_decay": config.weight_decay,
            "fedsage-plus.wide": config.wide,
        },
        "init": toy::model(&toy::initial(setup)),
        "hidden": hidden,
        "modules": (0..toy::CLIENTS).map(|k| drawn(setup, k)).collect::<Vec<_>>(),
        "noise_a": noises(0),
        "noise_b": noises(epochs),
        "noise_mend": (0..toy::CLIENTS).map(|k| noise(setup, k, 2 * epochs, &remaining(k))).collect::<Vec<_>>(),
        "peer_draws": (0..toy::CLIENTS).map(|k| (0..epochs).map(|e| peers(k, e)).collect()).collect::<Vec<Vec<_>>>(),
    });
    let sizes: Vec<usize> = data.iter().map(LocalData::len).collect();
    let rounds = toy::run(setup, data);
    let made: Vec<Value> = (0..toy::CLIENTS).map(|k| generated(&rounds[0], k, sizes[k])).collect();
    let alive = made
        .iter()
        .filter(|client| !client["generated_features"].as_array().unwrap().is_empty())
        .count();
    assert!(config.max_neighbours == 0 || alive > 1, "{alive} clients generate neighbours");
    let computed = |round: &toy::Round| {
        let global = model(&round.state, &["server", "global"]);
        json!({ "clients": clients(&round.state), "global": global, "last_loss": losses(round) })
    };
    let mut computed = json!({ "rounds": rounds.iter().map(computed).collect::<Vec<_>>() });
    if config.max_neighbours > 0 {
        computed["clients"] = made.into();
    }
    Case { name, given, computed }
}

#[test]
fn fedsage_plus_agrees_with_its_oracle() {
    let setup = |config: Config| {
        let mut setup = toy::setup("fedsage-plus", 4);
        setup.methods.fedsage_plus = Config {
            gen_epochs: 15,
            hidden: 4,
            latent: 6,
            narrow: 5,
            wide: 7,
            learning_rate: 0.05,
            weight_decay: 1e-4,
            dropout: 0.0,
            ..config
        };
        setup
    };
    let plus = Config { max_neighbours: 3, hide: 1.0, ..Config::default() };
    let round = Config {
        hide: 0.5,
        count: Count::Round,
        lambda_degree: 2.0,
        lambda_feature: 3.0,
        lambda_class: 0.5,
        ..plus.clone()
    };
    let off = Config { max_neighbours: 0, ..plus.clone() };
    let cases = vec![
        case("plus", "dense", &setup(plus)),
        case("round", "dense", &setup(round)),
        case("off", "dense", &setup(off)),
    ];
    compare_with_oracle("fedsage_plus", cases, |expected| last_losses(expected, &[1.0]));
}
