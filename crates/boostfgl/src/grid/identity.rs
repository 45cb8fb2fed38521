//! What decides the digits of a cell, as one number.
//!
//! The digest of a cell covers the version of the program, the content of the graph, the resolved configuration with
//! its one seed, method and boosts, and the content of a partition file. It does not cover names and places: a
//! dataset under another name or a folder moved elsewhere leaves it as it is. Two builds of the same version count as
//! the same program; across CPU models the last places of a result may differ (see ARCHITECTURE.md).

use crate::{Config, Experiment, Result};
use blake3::{Hash, Hasher};
use boostfgl_graph::{Features, Graph, Role, Split};

/// BLAKE3 of a graph: its topology, features, labels, split and the names of its nodes.
pub fn of_graph(graph: &Graph) -> Hash {
    let mut hasher = Hasher::new();
    let mut part = |name: &str, bytes: &mut dyn Iterator<Item = [u8; 8]>| {
        hasher.update(name.as_bytes());
        let mut count = 0u64;
        for item in bytes {
            hasher.update(&item);
            count += 1;
        }
        // The count after the items keeps one part from running into the next.
        hasher.update(&count.to_le_bytes());
    };
    let whole = |x: usize| (x as u64).to_le_bytes();
    let real = |x: &f32| u64::from(x.to_bits()).to_le_bytes();
    let adjacency = graph.adjacency();
    part("size", &mut [graph.len(), graph.classes(), adjacency.is_directed().into()].into_iter().map(whole));
    part("offsets", &mut adjacency.offsets().iter().copied().map(whole));
    part("indices", &mut adjacency.indices().iter().map(|&v| whole(v as usize)));
    part("weights", &mut adjacency.weights().unwrap_or_default().iter().map(real));
    match graph.features() {
        Features::Sparse(x) => {
            part("sparse", &mut [x.rows(), x.columns()].into_iter().map(whole));
            part("offsets", &mut x.offsets().iter().copied().map(whole));
            part("indices", &mut x.indices().iter().map(|&c| whole(c as usize)));
            part("values", &mut x.values().iter().map(real));
        }
        features @ Features::Dense { values, .. } => {
            part("dense", &mut [features.rows(), features.columns()].into_iter().map(whole));
            part("values", &mut values.iter().map(real));
        }
    }
    part("labels", &mut graph.labels().iter().map(|label| whole(label.map_or(0, |y| y as usize + 1))));
    let mut roles = graph.splits().iter().flat_map(Split::roles);
    part("split", &mut roles.by_ref().map(|role: &Role| whole(*role as usize)));
    for v in 0..graph.len() {
        let id = graph.id(v);
        hasher.update(&(id.len() as u64).to_le_bytes());
        hasher.update(id.as_bytes());
    }
    hasher.finalize()
}

/// Everything that a cell is made from beside its configuration, as it was when somebody looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// BLAKE3 of the graph.
    pub graph: Hash,
    /// BLAKE3 of the partition file, where clients and split come from one.
    pub partition: Option<Hash>,
}

impl Inputs {
    /// What this experiment is made from.
    ///
    /// # Errors
    /// If there is a partition file and it cannot be read.
    pub fn of(experiment: &Experiment) -> Result<Self> {
        let file = experiment.config().partition.file.as_ref();
        let digest = |path| match std::fs::read(path) {
            Ok(bytes) => Ok(blake3::hash(&bytes)),
            Err(source) => Err(boostfgl_report::Error::io(path, source)),
        };
        Ok(Self { graph: of_graph(experiment.graph()), partition: file.map(digest).transpose()? })
    }
}

/// The digest of the cell with this configuration and seed, made from these inputs, in hexadecimal.
pub fn of_cell(config: &Config, seed: u64, inputs: &Inputs) -> String {
    let mut decides = config.clone();
    decides.dataset = String::new();
    decides.name = None;
    decides.seeds = vec![seed];
    // Boosts that are on by the method's own choice are the same as those that were named.
    decides.boosts = config.active_boosts().ok();
    decides.partition.file = None;
    let mut hasher = Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(concat!("boostfgl cell, ", env!("CARGO_PKG_VERSION")).as_bytes());
    part(inputs.graph.as_bytes());
    part(decides.to_toml().as_bytes());
    part(inputs.partition.as_ref().map_or(&[], |digest| digest.as_bytes().as_slice()));
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_graph::{Adjacency, Labels};

    fn graph(edges: &[(u32, u32)], feature: f32, label: i64) -> Graph {
        let adjacency = Adjacency::from_edges(3, edges, None, false).unwrap().0;
        let features = Features::dense(3, 1, vec![feature, 0.0, 1.0]).unwrap();
        Graph::new("g", adjacency, features, Labels::from_integers(&[label, 1, 0], 2).unwrap()).unwrap()
    }

    #[test]
    fn content_counts_and_names_do_not() {
        let one = graph(&[(0, 1)], 0.5, 0);
        let same = of_graph(&one.clone().renamed("other"));
        assert_eq!(of_graph(&one), same);
        let split = |role| Split::new(vec![Role::Train, role, Role::Test]);
        let others = [
            graph(&[(0, 2)], 0.5, 0),
            graph(&[(0, 1)], 0.25, 0),
            graph(&[(0, 1)], 0.5, 1),
            one.clone().with_split(split(Role::Val)).unwrap(),
            one.clone().with_split(split(Role::Test)).unwrap(),
            one.clone().with_split(split(Role::Train)).unwrap(),
            one.clone().with_split(split(Role::None)).unwrap(),
            one.with_ids(["a", "b", "c"].map(str::to_owned).to_vec()).unwrap(),
        ];
        let digests: std::collections::BTreeSet<String> =
            others.iter().map(|other| of_graph(other).to_hex().to_string()).collect();
        assert_eq!(digests.len(), others.len());
        assert!(!digests.contains(same.to_hex().as_str()));
    }

    #[test]
    fn what_decides_digits_decides_the_digest() {
        let inputs = Inputs { graph: blake3::hash(b"a graph"), partition: None };
        let config = Config { method: "boostfgl".into(), ..Config::default() };
        let digest = of_cell(&config, 3, &inputs);
        let named = boostfgl_fed::boost::Boost::ALL.to_vec();
        for same in [
            Config { dataset: "moved/elsewhere".into(), ..config.clone() },
            Config { seeds: vec![3, 9], ..config.clone() },
            Config { boosts: Some(named), ..config.clone() },
        ] {
            assert_eq!(of_cell(&same, 3, &inputs), digest);
        }
        let mut rounds = config.clone();
        rounds.fed.rounds += 1;
        let mut clients = config.clone();
        clients.partition.clients += 1;
        for other in [rounds, clients, Config { boosts: Some(vec![]), ..config.clone() }, Config::default()] {
            assert_ne!(of_cell(&other, 3, &inputs), digest);
        }
        assert_ne!(of_cell(&config, 4, &inputs), digest);
        let another = blake3::hash(b"another");
        assert_ne!(of_cell(&config, 3, &Inputs { graph: another, ..inputs }), digest);
        assert_ne!(of_cell(&config, 3, &Inputs { partition: Some(another), ..inputs }), digest);
    }
}
