//! The toy federation of the golden fixtures: 12 nodes, 2 clients (see `tests/golden/README.md`).

use boostfgl_fed::boost::{Boost, BoostConfig, model, topology};
use boostfgl_fed::config::{Model, Optimizer, Protocol};
use boostfgl_fed::methods::{self, MethodConfigs};
use boostfgl_fed::{LocalData, Setup};
use boostfgl_nn::Params;
use boostfgl_testkit::toy;
use serde_json::Value;

pub(crate) use boostfgl_testkit::toy::{clients, gcn as backbone, params};
pub(crate) use boostfgl_testkit::{assert_close, golden, numbers};

/// Clients with features as the fixture prints them, which f32 cannot represent.
pub(crate) fn exact_data() -> Vec<LocalData<f64>> {
    let exact = |client| LocalData::with_inputs(client, toy::exact_inputs(client));
    clients().iter().map(exact).collect()
}

pub(crate) fn assert_params(found: &Params<f64>, expected: &Value, what: &str) {
    for (tensor, name) in found.tensors().iter().zip(toy::TENSORS) {
        assert_close(&tensor.to_vec(), &expected[name], &format!("{what} {name}"));
    }
}

/// The setting of `trajectory.json`.
pub(crate) fn setup(boosts: &[Boost], rounds: usize) -> Setup {
    Setup {
        seed: 0,
        method: methods::find("fedavg").unwrap(),
        boosts: boosts.to_vec(),
        protocol: Protocol { rounds, ..Protocol::default() },
        model: Model { hidden: 5, dropout: 0.0, ..Model::default() },
        optimizer: Optimizer { learning_rate: 0.05, ..Optimizer::default() },
        boost: BoostConfig {
            model: model::Config {
                gap_minority: model::GapMinority::Global,
                minority_ratio: 0.2,
                ..model::Config::default()
            },
            topology: topology::Config::default(),
            ..BoostConfig::default()
        },
        methods: MethodConfigs::default(),
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
        transport: Default::default(),
        loss: Default::default(),
        evaluation: String::new(),
        probabilities: false,
    }
}
