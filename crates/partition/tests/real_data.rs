//! Louvain and the merge on real graphs, where they are found.
//!
//! Looked for in the folder `BOOSTFGL_DATA`, else in `shared/data` next to the checkout. A graph
//! that is not there is left out, and the test says so.

use std::path::PathBuf;
use std::time::Instant;

use boostfgl_graph::{Adjacency, Features, Graph, Labels};
use boostfgl_partition::louvain::communities;
use boostfgl_partition::{ClientGraph, Description, Louvain, Partition, SplitRule};

type Archive = zip::ZipArchive<std::fs::File>;

fn archive(name: &str) -> Option<Archive> {
    let folder = std::env::var_os("BOOSTFGL_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        PathBuf::from,
    );
    let path = folder.join(name);
    if !path.is_file() {
        eprintln!("left out: {} is not there", path.display());
        return None;
    }
    Some(zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap())
}

fn integers(archive: &mut Archive, array: &str) -> Vec<i64> {
    let array = npyz::NpyFile::new(archive.by_name(&format!("{array}.npy")).unwrap()).unwrap();
    match array.dtype().num_bytes() {
        Some(4) => array.into_vec::<i32>().unwrap().into_iter().map(i64::from).collect(),
        _ => array.into_vec::<i64>().unwrap(),
    }
}

/// Topology and labels; features do not matter here.
fn graph(name: &str, file: &str) -> Option<Graph> {
    let mut archive = archive(file)?;
    let labels = integers(&mut archive, "y");
    let ends = integers(&mut archive, "edge_index");
    let (sources, targets) = ends.split_at(ends.len() / 2);
    let edges: Vec<(u32, u32)> =
        sources.iter().zip(targets).map(|(&a, &b)| (a as u32, b as u32)).collect();
    let (adjacency, _) = Adjacency::from_edges(labels.len(), &edges, None, false).unwrap();
    let classes = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let features = Features::dense(labels.len(), 0, Vec::new()).unwrap();
    let labels = Labels::from_integers(&labels, classes).unwrap();
    Some(Graph::new(name, adjacency, features, labels).unwrap())
}

/// `expected` is the mean of python-louvain's `best_partition` over ten seeds.
fn mean_modularity_is(name: &str, file: &str, expected: f64) {
    let Some(graph) = graph(name, file) else { return };
    let qs: Vec<f64> =
        (0..10).map(|seed| communities(graph.adjacency(), 1.0, seed).modularity).collect();
    let mean = qs.iter().sum::<f64>() / 10.0;
    println!("{name}: mean Q {mean:.4}, each {qs:.4?}");
    assert!((mean - expected).abs() <= 0.003, "{name}: mean Q {mean}, expected {expected} ± 0.003");
}

#[test]
fn cora_communities_are_as_good_as_python_louvains() {
    mean_modularity_is("cora", "cora.npz", 0.8145);
}

#[test]
fn citeseer_communities_are_as_good_as_python_louvains() {
    mean_modularity_is("citeseer", "citeseer.npz", 0.8892);
}

#[test]
fn arxiv_takes_seconds() {
    let Some(graph) = graph("ogbn-arxiv", "ogbn-arxiv.nofeat.npz") else { return };
    let start = Instant::now();
    let found = communities(graph.adjacency(), 1.0, 0);
    println!(
        "ogbn-arxiv: Q {:.4}, {} communities, {} levels, {:.2?}",
        found.modularity,
        found.count(),
        found.levels,
        start.elapsed()
    );
    assert!(found.modularity > 0.69, "Q {}", found.modularity);
    let start = Instant::now();
    let partition =
        Partition::draw(&graph, &Louvain::default(), 10, &SplitRule::default(), 0).unwrap();
    println!("partition {:.2?}\n{}", start.elapsed(), Description::new(&graph, &partition));
}

/// Another Louvain made the published partition, so its clients are others; their sizes should look
/// alike.
#[test]
fn cora_clients_are_about_as_large_as_openfgls() {
    let (Some(graph), Some(mut published)) =
        (graph("cora", "cora.npz"), archive("cora.openfgl_louvain_partitions.npz"))
    else {
        return;
    };
    for clients in [10, 20] {
        let mut theirs = vec![0usize; clients];
        integers(&mut published, &format!("client_{clients}"))
            .iter()
            .for_each(|&k| theirs[k as usize] += 1);
        let partition =
            Partition::draw(&graph, &Louvain::default(), clients, &SplitRule::default(), 0)
                .unwrap();
        let ours = partition.client_graphs(&graph).iter().map(ClientGraph::len).collect::<Vec<_>>();
        println!("ours {ours:?}\ntheirs {theirs:?}");
        let largest = |sizes: &[usize]| sizes.iter().copied().max().unwrap_or(0);
        assert!(
            largest(&ours).abs_diff(largest(&theirs)) <= 40,
            "ours {ours:?}, theirs {theirs:?}"
        );
        assert!(ours.iter().all(|&size| size >= graph.len() / clients / 2), "{ours:?}");
    }
}
