//! Features that are prepared on training nodes: standardised, with missing values filled in.

use crate::small::*;
use crate::two_sides::server;
use boostfgl_conformance::{Ended, Wire};
use boostfgl_fed::config::{MomentsOf, Transport};
use boostfgl_fed::{LocalData, Registry, Setup};
use boostfgl_graph::{
    ColumnPreparation, Features, FittedPreparation, Graph, Missing, Moments, Preparation,
};
use boostfgl_partition::ClientGraph;

/// The small graph with dense features, some of which are missing.
fn gaps() -> Graph {
    let graph = graph(NARROW);
    let (rows, columns) = (graph.len(), graph.features().columns());
    let missing: Vec<(u32, u32)> =
        (0..rows as u32).filter(|v| v % 3 == 0).map(|v| (v, v % columns as u32)).collect();
    let mut values: Vec<f32> = (0..rows * columns)
        .map(|i| 40.0 + 7.0 * graph.features().get(i / columns, i % columns))
        .collect();
    missing.iter().for_each(|(v, c)| values[*v as usize * columns + *c as usize] = 0.0);
    let policy = |c| ColumnPreparation { missing: Missing::ALL[c % 3], standardise: c % 2 == 0 };
    let preparation = Preparation::new((0..columns).map(policy).collect(), missing).unwrap();
    let features = Features::dense(rows, columns, values).unwrap();
    graph.with_features(features).unwrap().with_preparation(preparation).unwrap()
}

fn clients(graph: &Graph) -> Vec<ClientGraph> {
    partition(graph).client_graphs(graph)
}

fn shared(rounds: usize) -> Setup {
    let mut setup = setup("fedavg", &[]);
    setup.moments = MomentsOf::AllClients;
    setup.protocol.rounds = rounds;
    setup
}

/// The prepared features of clients, given to a federation as raw ones, give the same digits.
#[test]
fn preparing_features_is_the_same_as_giving_prepared_ones() {
    let graph = gaps();
    let of_client = |client: &ClientGraph, fitted: &FittedPreparation| {
        let raw = &client.graph;
        let features = fitted.apply(raw.features(), raw.preparation().unwrap());
        ClientGraph { graph: raw.clone().with_features(features).unwrap(), ..client.clone() }
    };
    let own = |client: &ClientGraph| {
        let preparation = client.graph.preparation().unwrap();
        let moments = preparation.moments(client.graph.features(), client.training_nodes());
        FittedPreparation::new(preparation, &moments)
    };
    let all = clients(&graph);
    let given = |data: Vec<LocalData<f32>>, setup: &Setup| run(setup, data).predictions;
    let raw = || all.iter().map(LocalData::new).collect::<Vec<_>>();
    let by_client = all.iter().map(|client| LocalData::new(&of_client(client, &own(client))));
    let setup = setup("fedavg", &[]);
    assert_eq!(given(raw(), &setup), given(by_client.collect(), &setup));

    let preparation = graph.preparation().unwrap();
    let mut sums = vec![Moments::default(); preparation.columns().len()];
    for client in &all {
        let preparation = client.graph.preparation().unwrap();
        let moments = preparation.moments(client.graph.features(), client.training_nodes());
        sums.iter_mut().zip(moments).for_each(|(sum, own)| *sum = sum.with(own));
    }
    let together = FittedPreparation::new(preparation, &sums);
    let prepared = all.iter().map(|client| LocalData::new(&of_client(client, &together)));
    assert_eq!(given(raw(), &shared(3)), given(prepared.collect(), &shared(3)));
    assert_ne!(given(raw(), &shared(3)), given(raw(), &setup), "moments of one client and of all");
}

/// Moments of all clients cross the wire, are counted, and give the same digits on two machines.
#[test]
fn moments_of_all_clients_cross_the_wire() {
    let graph = gaps();
    let data = || clients(&graph).iter().map(LocalData::new).collect::<Vec<LocalData<f32>>>();
    let (own, all) =
        (run(&Setup { moments: MomentsOf::Client, ..shared(2) }, data()), run(&shared(2), data()));
    let columns = graph.features().columns();
    let numbers = (8 * 3 * columns * CLIENTS) as u64;
    assert_eq!(all.bytes_up - own.bytes_up, numbers);
    assert_eq!(all.bytes_down - own.bytes_down, numbers);
    let loopback = run(&Setup { transport: Transport::Loopback, ..shared(2) }, data());
    assert_eq!(loopback.federation_digest, all.federation_digest);
    let mut wire = Wire::new(&shared(2), data(), &Registry::builtin());
    let ended = Ended::driven(&mut server(&shared(2)), &mut wire).unwrap();
    assert_eq!(ended.digest, all.federation_digest);
}

#[test]
fn the_width_of_a_model_counts_indicators() {
    let graph = gaps();
    let client = LocalData::<f32>::new(&clients(&graph)[0]);
    let indicators = graph.preparation().unwrap().indicators();
    assert!(indicators > 0);
    assert_eq!(client.width(), graph.features().columns() + indicators);
    assert_eq!(client.width(), graph.width());
    assert_eq!(client.fitted().unwrap().indicators.len(), indicators);
}
