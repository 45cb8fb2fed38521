//! A small generated federation: 300 nodes with 4 classes, found by Louvain to belong to 4 clients.

use boostfgl_fed::boost::{Boost, BoostConfig};
use boostfgl_fed::config::{Model, Optimizer, Protocol};
use boostfgl_fed::methods::{self, Layout, MethodConfigs, fedsage_plus};
use boostfgl_fed::{ClientRecord, Federation, LocalData, Outcome, RoundRecord, Setup};
use boostfgl_graph::Graph;
use boostfgl_graph::generator::{FeatureSpec, Spec, generate, preset};
use boostfgl_nn::{Params, Real};
use boostfgl_partition::{Louvain, Partition, SplitRule};

pub(crate) const CLIENTS: usize = 4;
pub(crate) const CLASSES: usize = 4;
pub(crate) const HIDDEN: usize = 16;
pub(crate) const WORDS: FeatureSpec = FeatureSpec::Sparse { columns: 60, per_node: 8, signal: 0.6 };

pub(crate) fn small_spec() -> Spec {
    Spec {
        nodes: 300,
        edges: 700,
        classes: CLASSES,
        communities: 3,
        pocket_size: 12,
        max_degree: 30,
        ..preset("demo").unwrap().spec
    }
}

pub(crate) fn graph(features: FeatureSpec) -> Graph {
    generate("small", &Spec { features, ..small_spec() }, 1, &mut |_, _| {}).unwrap()
}

pub(crate) fn partition(graph: &Graph) -> Partition {
    Partition::draw(graph, &Louvain::default(), CLIENTS, &SplitRule::default(), 0).unwrap()
}

/// The data of the clients of `method`.
pub(crate) fn data<T: Real>(
    method: &str,
    graph: &Graph,
    partition: &Partition,
) -> Vec<LocalData<T>> {
    match methods::find(method).unwrap().layout {
        Layout::Federated => partition.client_graphs(graph).iter().map(LocalData::new).collect(),
        Layout::Whole => vec![LocalData::new(&partition.whole(graph))],
    }
}

pub(crate) fn setup(method: &str, boosts: &[Boost]) -> Setup {
    // Few further rounds, so that runs stay short.
    let adafgl = methods::adafgl::Config { personal_epochs: 3, ..Default::default() };
    let fairfed = methods::fairfed::Config { minority_ratio: 0.3, ..Default::default() };
    let fairfgl = methods::fairfgl::Config { minority_ratio: 0.3, ..Default::default() };
    Setup {
        seed: 5,
        method: methods::find(method).unwrap(),
        boosts: boosts.to_vec(),
        protocol: Protocol { rounds: 3, ..Protocol::default() },
        model: Model { hidden: HIDDEN, ..Model::default() },
        optimizer: Optimizer::default(),
        boost: BoostConfig {
            model: boostfgl_fed::boost::model::Config { minority_ratio: 0.3, ..Default::default() },
            ..BoostConfig::default()
        },
        methods: MethodConfigs {
            adafgl,
            fairfed,
            fairfgl,
            fedsage_plus: small_generator(),
            ..MethodConfigs::default()
        },
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
        transport: Default::default(),
        evaluation: String::new(),
    }
}

/// A generator that fits the small graph, with a learning rate at which it soon has an effect.
pub(crate) fn small_generator() -> fedsage_plus::Config {
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

/// What an observer received of one round.
pub(crate) struct Round {
    pub(crate) clients: Vec<ClientRecord>,
    pub(crate) predictions: Option<Vec<u32>>,
    pub(crate) val_accuracy: Option<f64>,
}

/// Runs with an observer.
pub(crate) fn watch<T: Real>(setup: &Setup, data: Vec<LocalData<T>>) -> (Outcome<T>, Vec<Round>) {
    let mut rounds = Vec::new();
    let mut observer = |record: &RoundRecord<'_>| {
        rounds.push(Round {
            clients: record.clients.to_vec(),
            predictions: record.predictions.map(<[u32]>::to_vec),
            val_accuracy: record.val_accuracy,
        });
    };
    let outcome = Federation::new(setup.clone(), data).unwrap().run(&mut [&mut observer]).unwrap();
    (outcome, rounds)
}

/// Runs without an observer.
pub(crate) fn run<T: Real>(setup: &Setup, data: Vec<LocalData<T>>) -> Outcome<T> {
    Federation::new(setup.clone(), data).unwrap().run(&mut []).unwrap()
}

/// Every bit of some models.
pub(crate) fn bits<T: Real>(models: &[Params<T>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    models.iter().for_each(|model| model.feed(|part| bytes.extend_from_slice(part)));
    bytes
}

/// Fails unless two runs have the same models and predictions, bit for bit.
pub(crate) fn assert_same<T: Real>(a: &Outcome<T>, b: &Outcome<T>, what: &str) {
    assert!(bits(&a.models) == bits(&b.models), "{what}: the models differ");
    assert!(a.predictions == b.predictions, "{what}: the predictions differ");
}
