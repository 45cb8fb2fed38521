//! Trains FedAvg, the method, and the method with the boost on the demo graph.

use boostfgl_fed::boost::BoostConfig;
use boostfgl_fed::config::{Model, Optimizer, Protocol};
use boostfgl_fed::methods::{MethodConfigs, MethodInfo};
use boostfgl_fed::{Federation, LocalData, Registry, RoundRecord, Setup};
use boostfgl_graph::generator::{generate, preset};
use boostfgl_graph::groups::{Groups, HOMOPHILY_THRESHOLD, minority_classes, node_homophily};
use boostfgl_graph::{Graph, Role};
use boostfgl_partition::{Louvain, Partition, SplitRule};
use own_method::{DegreeBoost, FedAvgM};
use std::error::Error;

const CLIENTS: usize = 10;
const ROUNDS: usize = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let demo = preset("demo")?;
    let graph = generate("demo", &demo.spec, 0, &mut |_, _| {})?;
    let partition =
        Partition::draw(&graph, &Louvain::default(), CLIENTS, &SplitRule::default(), 0)?;
    let method = FedAvgM { momentum: 0.5 };
    let plain = Registry::builtin().with_method(method);
    let boosted = Registry::builtin().with_method(method).with_boost(DegreeBoost { strength: 1.0 });
    for (title, registry, method) in [
        ("fedavg", &plain, "fedavg"),
        ("fedavgm", &plain, "fedavgm"),
        ("fedavgm with degree", &boosted, "fedavgm"),
    ] {
        println!("{title}");
        train(registry, registry.method(method)?, &graph, &partition)?;
    }
    Ok(())
}

/// Trains, and prints the loss of some rounds and the accuracy by group.
fn train(
    registry: &Registry<f32>,
    method: &'static MethodInfo,
    graph: &Graph,
    partition: &Partition,
) -> Result<(), Box<dyn Error>> {
    let data = partition.client_graphs(graph).iter().map(LocalData::new).collect();
    let mut print_loss = |record: &RoundRecord<'_>| {
        if record.round == 1 || record.round.is_multiple_of(10) {
            println!("  round {:2}: loss {:.4}", record.round, record.loss);
        }
    };
    let federation = Federation::with_registry(setup(method), data, registry)?;
    let outcome = federation.run(&mut [&mut print_loss])?;
    for (group, nodes) in groups(graph, partition)? {
        let right =
            nodes.iter().filter(|&&v| graph.labels().get(v) == Some(outcome.predictions[v]));
        let share = right.count() as f64 / nodes.len().max(1) as f64;
        println!("  {:14} {:5.1} % of {} test nodes", group, 100.0 * share, nodes.len());
    }
    Ok(())
}

/// The name and the nodes of a group.
type Group = (&'static str, Vec<usize>);

/// The test nodes of each group.
fn groups(graph: &Graph, partition: &Partition) -> Result<[Group; 4], Box<dyn Error>> {
    let labels = graph.labels();
    let mut counts = vec![0; graph.classes()];
    labels.iter().flatten().for_each(|class| counts[class as usize] += 1);
    let minority = minority_classes(&counts, 0.3);
    let groups = Groups::new(&node_homophily(graph), labels, &minority, HOMOPHILY_THRESHOLD)?;
    let test: Vec<usize> = partition.split().nodes(Role::Test).collect();
    let among =
        |is_in: &dyn Fn(usize) -> bool| test.iter().copied().filter(|&v| is_in(v)).collect();
    Ok([
        ("all", test.clone()),
        ("minority", among(&|v| groups.minority[v] == Some(true))),
        ("heterophilous", among(&|v| groups.heterophilous[v])),
        ("few neighbours", among(&|v| graph.adjacency().degree(v) <= 2)),
    ])
}

/// The usual settings.
fn setup(method: &'static MethodInfo) -> Setup {
    Setup {
        seed: 0,
        method,
        boosts: Vec::new(),
        protocol: Protocol { rounds: ROUNDS, ..Protocol::default() },
        model: Model::default(),
        optimizer: Optimizer::default(),
        boost: BoostConfig::default(),
        methods: MethodConfigs::default(),
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
        transport: Default::default(),
        moments: Default::default(),
        loss: Default::default(),
        evaluation: String::new(),
        probabilities: false,
    }
}
