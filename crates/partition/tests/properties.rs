//! Properties of every graph, partitioner and seed.

use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role};
use boostfgl_partition::louvain::{communities, modularity};
use boostfgl_partition::merge::cut_and_merge;
use boostfgl_partition::split::stratified;
use boostfgl_partition::{
    Description, LabelSkew, Louvain, Partition, Partitioner, Random, Ratios, SplitRule, file,
};
use proptest::prelude::*;

fn graphs() -> impl Strategy<Value = Graph> {
    (1usize..60, any::<bool>()).prop_flat_map(|(n, directed)| {
        let edges = prop::collection::vec((0..n as u32, 0..n as u32), 0..150);
        let labels = prop::collection::vec(-1i64..4, n);
        (edges, labels).prop_map(move |(edges, labels)| {
            let (adjacency, _) = Adjacency::from_edges(n, &edges, None, directed).unwrap();
            let features = Features::dense(n, 1, vec![0.0; n]).unwrap();
            Graph::new("any", adjacency, features, Labels::from_integers(&labels, 4).unwrap())
                .unwrap()
        })
    })
}

fn partitioners() -> impl Strategy<Value = Box<dyn Partitioner>> {
    prop_oneof![
        (0usize..30).prop_map(|delta| -> Box<dyn Partitioner> {
            Box::new(Louvain { delta, ..Louvain::default() })
        }),
        (0.01f64..10.0).prop_map(|alpha| -> Box<dyn Partitioner> { Box::new(LabelSkew { alpha }) }),
        Just(()).prop_map(|()| -> Box<dyn Partitioner> { Box::new(Random {}) }),
    ]
}

/// Ratios in hundredths, so that sums below 1, of 1 and everything between occur.
fn ratios() -> impl Strategy<Value = Ratios> {
    (0u32..=100).prop_flat_map(|a| (Just(a), 0..=100 - a)).prop_flat_map(|(a, b)| {
        (0..=100 - a - b)
            .prop_map(move |c| Ratios::new(hundredths(a), hundredths(b), hundredths(c)).unwrap())
    })
}

fn hundredths(n: u32) -> f64 {
    f64::from(n) / 100.0
}

fn sizes(client: &[u32], clients: usize) -> Vec<usize> {
    let mut sizes = vec![0; clients];
    client.iter().for_each(|&k| sizes[k as usize] += 1);
    sizes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_node_has_one_client_and_no_edge_is_forgotten(
        graph in graphs(), partitioner in partitioners(), share in 0.0f64..1.0, seed: u64,
    ) {
        let clients = 1 + (share * graph.len() as f64) as usize;
        let rule = SplitRule::default();
        let partition = Partition::draw(&graph, &*partitioner, clients, &rule, seed).unwrap();
        prop_assert_eq!(&partition, &Partition::draw(&graph, &*partitioner, clients, &rule, seed).unwrap());

        let graphs = partition.client_graphs(&graph);
        prop_assert_eq!(graphs.len(), clients);
        prop_assert!(graphs.iter().all(|client| !client.is_empty()));
        let mut nodes: Vec<u32> = graphs.iter().flat_map(|client| client.nodes.clone()).collect();
        nodes.sort_unstable();
        prop_assert_eq!(nodes, (0..graph.len() as u32).collect::<Vec<_>>());

        let inner: usize = graphs.iter().map(|client| client.graph.adjacency().edges()).sum();
        let lost = partition.lost_edges(&graph);
        prop_assert_eq!(inner + lost, graph.adjacency().edges());
        prop_assert_eq!(graphs.iter().map(|client| client.lost_edges).sum::<usize>(), 2 * lost);

        let description = Description::new(&graph, &partition);
        for (client, described) in graphs.iter().zip(&description.clients) {
            prop_assert_eq!((client.len(), client.lost_edges), (described.nodes, described.lost_edges));
            prop_assert_eq!(client.graph.adjacency().edges(), described.edges);
            prop_assert_eq!(client.class_counts(Role::Train), described.train_class_counts.clone());
            prop_assert_eq!(client.training_nodes().len(), described.train);
        }
        // Title, losses, blank, header, clients, total, blank, legend, notes.
        prop_assert_eq!(description.to_string().lines().count(), 7 + clients + description.notes().len());
    }

    #[test]
    fn too_many_clients_are_refused(graph in graphs(), partitioner in partitioners(), more in 1usize..5) {
        prop_assert!(partitioner.assign(&graph, graph.len() + more, 0).is_err());
        prop_assert!(partitioner.assign(&graph, 0, 0).is_err());
    }

    #[test]
    fn merged_clients_are_balanced_within_a_chunk(
        community in prop::collection::vec(0u32..12, 1..300), share in 0.0f64..1.0, delta in 0usize..40,
    ) {
        let clients = 1 + (share * community.len() as f64) as usize;
        let limit = community.len() / clients;
        let chunk = if limit > delta { limit - delta } else { limit };
        let sizes = sizes(&cut_and_merge(&community, clients, delta).unwrap(), clients);
        prop_assert!(sizes.iter().all(|&size| size > 0 && size <= limit + chunk.max(delta.min(limit))), "{:?}", sizes);
    }

    #[test]
    fn random_clients_differ_by_one_node(graph in graphs(), share in 0.0f64..1.0, seed: u64) {
        let clients = 1 + (share * graph.len() as f64) as usize;
        let sizes = sizes(&Random {}.assign(&graph, clients, seed).unwrap(), clients);
        prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
    }

    #[test]
    fn split_fractions_are_truncated_exactly(
        labels in prop::collection::vec(-1i64..3, 1..120), ratios in ratios(), clients in 1u32..4, seed: u64,
    ) {
        let client: Vec<u32> = (0..labels.len() as u32).map(|v| v % clients).collect();
        let split = stratified(&Labels::from_integers(&labels, 3).unwrap(), &client, &ratios, seed);
        for (k, class) in (0..clients).flat_map(|k| (-1..3).map(move |class| (k, class))) {
            let nodes: Vec<usize> = (0..labels.len()).filter(|&v| client[v] == k && labels[v] == class).collect();
            let count = |role| nodes.iter().filter(|&&v| split.role(v) == role).count();
            let n = nodes.len() as f64;
            if class < 0 {
                prop_assert_eq!(count(Role::None), nodes.len());
                continue;
            }
            let train = (ratios.train() * n) as usize;
            let val = ((ratios.train() + ratios.val()) * n) as usize;
            prop_assert_eq!((count(Role::Train), count(Role::Val)), (train, val - train));
            let sum = ratios.train() + ratios.val() + ratios.test();
            let all = if (sum - 1.0).abs() < 1e-9 { nodes.len() } else { (sum * n) as usize };
            prop_assert_eq!(count(Role::Test), all - val);
        }
    }

    #[test]
    fn louvain_is_no_worse_than_nodes_alone(graph in graphs(), resolution in 0.0f64..3.0, seed: u64) {
        let found = communities(graph.adjacency(), resolution, seed);
        let alone: Vec<u32> = (0..graph.len() as u32).collect();
        prop_assert!(found.modularity >= modularity(graph.adjacency(), &alone, resolution) - 1e-12);
        // Numbered in order of appearance, without gaps.
        let mut next = 0;
        for &c in &found.community {
            prop_assert!(c <= next);
            next = next.max(c + 1);
        }
        prop_assert_eq!(found.count(), next as usize);
    }

    #[test]
    fn files_come_back(graph in graphs(), seeds in prop::collection::btree_set(any::<u64>(), 1..4), share in 0.0f64..1.0) {
        let clients = 1 + (share * graph.len() as f64) as usize;
        let rule = SplitRule::default();
        let drawn: Vec<(u64, Partition)> = seeds
            .iter()
            .map(|&seed| (seed, Partition::draw(&graph, &Random {}, clients, &rule, seed).unwrap()))
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partition.csv");
        file::write(&path, &graph, &drawn.iter().map(|(seed, p)| (*seed, p)).collect::<Vec<_>>()).unwrap();
        for (seed, partition) in &drawn {
            prop_assert_eq!(&Partition::from_file(&path, &graph, &rule, *seed).unwrap(), partition);
        }
    }

    #[test]
    fn corrupted_files_never_panic(
        graph in graphs(), seed in 0u64..3, hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut: prop::sample::Index, shorten: bool,
    ) {
        let partition = Partition::draw(&graph, &Random {}, 1, &SplitRule::default(), 0).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partition.csv");
        file::write(&path, &graph, &[(0, &partition), (1, &partition)]).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        for (at, byte) in hits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if shorten {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(&path, bytes).unwrap();
        if let Err(error) = Partition::from_file(&path, &graph, &SplitRule::default(), seed) {
            prop_assert!(error.to_string().contains("partition.csv"), "{}", error);
            prop_assert!(!error.advice().is_empty());
        }
    }
}
