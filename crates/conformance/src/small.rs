//! A small generated federation: 300 nodes with 4 classes, found by Louvain to belong to 4 clients.

use boostfgl_fed::boost::{Boost, BoostConfig, model};
use boostfgl_fed::config::{Model, Optimizer, Protocol};
use boostfgl_fed::methods::{
    Layout, MethodConfigs, MethodInfo, adafgl, fairfed, fairfgl, fedsage_plus,
};
use boostfgl_fed::{LocalData, Setup};
use boostfgl_graph::Graph;
use boostfgl_graph::generator::{FeatureSpec, Spec, generate, preset};
use boostfgl_nn::Real;
use boostfgl_partition::{Louvain, Partition, SplitRule};

/// Number of clients.
pub const CLIENTS: usize = 4;

/// Number of classes.
pub const CLASSES: usize = 4;

/// Number of hidden units.
pub const HIDDEN: usize = 16;

/// Sparse features, more of them than hidden units.
pub const WORDS: FeatureSpec = FeatureSpec::Sparse { columns: 60, per_node: 8, signal: 0.6 };

/// Dense features, fewer than hidden units, so that they are propagated before the first product.
pub const NARROW: FeatureSpec = FeatureSpec::Dense { columns: 12, signal: 0.5 };

/// What the graph is generated from, but for its features.
pub fn spec() -> Spec {
    let preset = preset("demo").expect("there is a graph of that name");
    Spec {
        nodes: 300,
        edges: 700,
        classes: CLASSES,
        communities: 3,
        pocket_size: 12,
        max_degree: 30,
        ..preset.spec
    }
}

/// The graph with these features.
pub fn graph(features: FeatureSpec) -> Graph {
    let spec = Spec { features, ..spec() };
    generate("small", &spec, 1, &mut |_, _| {}).expect("these numbers are in range")
}

/// Its clients and its split.
///
/// # Panics
/// If a graph of the caller has fewer nodes than clients.
pub fn partition(graph: &Graph) -> Partition {
    let drawn = Partition::draw(graph, &Louvain::default(), CLIENTS, &SplitRule::default(), 0);
    drawn.expect("every client gets a node")
}

/// The data of the clients of a method.
pub fn data<T: Real>(
    method: &MethodInfo,
    graph: &Graph,
    partition: &Partition,
) -> Vec<LocalData<T>> {
    match method.layout {
        Layout::Federated => partition.client_graphs(graph).iter().map(LocalData::new).collect(),
        Layout::Whole => vec![LocalData::new(&partition.whole(graph))],
    }
}

/// The settings: three rounds, a small network, and few of the steps that methods add, so that runs
/// are short.
pub fn setup(method: &'static MethodInfo, boosts: &[Boost]) -> Setup {
    Setup {
        seed: 5,
        method,
        boosts: boosts.to_vec(),
        protocol: Protocol { rounds: 3, ..Protocol::default() },
        model: Model { hidden: HIDDEN, ..Model::default() },
        optimizer: Optimizer::default(),
        boost: BoostConfig {
            model: model::Config { minority_ratio: 0.3, ..Default::default() },
            ..BoostConfig::default()
        },
        methods: MethodConfigs {
            adafgl: adafgl::Config { personal_epochs: 3, ..Default::default() },
            fairfed: fairfed::Config { minority_ratio: 0.3, ..Default::default() },
            fairfgl: fairfgl::Config { minority_ratio: 0.3, ..Default::default() },
            fedsage_plus: generator(),
            ..MethodConfigs::default()
        },
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
        transport: Default::default(),
        loss: Default::default(),
        evaluation: String::new(),
        probabilities: false,
    }
}

/// A generator of FedSage+ that fits the small graph, with a learning rate at which it soon has an
/// effect.
pub fn generator() -> fedsage_plus::Config {
    fedsage_plus::Config {
        gen_epochs: 5,
        hidden: 8,
        latent: 8,
        narrow: 16,
        wide: 24,
        learning_rate: 2e-2,
        count: fedsage_plus::Count::Round,
        ..fedsage_plus::Config::default()
    }
}
