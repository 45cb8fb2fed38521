//! What decides the digits of a cell, as one number.
//!
//! The digest of a cell covers the version of the program, the content of the graph, the resolved
//! configuration with its one seed, method and boosts, and the content of a partition file. It does
//! not cover names and places: a dataset under another name or a folder moved elsewhere leaves it
//! as it is. Two builds of the same version count as the same program; across CPU models the last
//! places of a result may differ (see ARCHITECTURE.md).

use crate::config::SplitSource;
use crate::{Config, Data, Experiment, Result};
use blake3::{Hash, Hasher};
use boostfgl_partition::FromFile;
use boostfgl_report::Fingerprint;
use std::path::Path;

/// Everything that a cell is made from beside its configuration, as it was when somebody looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// The fingerprint of the data.
    pub data: Fingerprint,
    /// BLAKE3 of the partition file, where clients and split come from one.
    pub partition: Option<Hash>,
}

impl Inputs {
    /// What this experiment is made from.
    ///
    /// # Errors
    /// If there is a partition file and it cannot be read.
    pub fn of(experiment: &Experiment) -> Result<Self> {
        let file = experiment.config().partition.file();
        let digest = |path: &Path| match std::fs::read(path) {
            Ok(bytes) => Ok(blake3::hash(&bytes)),
            Err(source) => Err(boostfgl_report::Error::io(path, source)),
        };
        Ok(Self {
            data: experiment.fingerprint().clone(),
            partition: file.map(digest).transpose()?,
        })
    }
}

/// The digest of the cell with this configuration and seed, made from these inputs, in hexadecimal.
pub fn of_cell(config: &Config, seed: u64, inputs: &Inputs) -> String {
    let mut decides = config.clone();
    // The name of the data decides nothing but whether their own split is used.
    if decides.split.source == SplitSource::Auto && Data::known(&config.dataset).is_some() {
        decides.split.source = SplitSource::Shares;
    }
    decides.dataset = String::new();
    decides.name = None;
    decides.seeds = vec![seed];
    // Boosts that are on by the method's own choice are the same as those that were named.
    decides.boosts = config.active_boosts().ok();
    // The content of the partition file is among the inputs; its path decides nothing.
    if let Some(from_file) = decides.partition.settings_mut::<FromFile>() {
        from_file.file = None;
    }
    let mut hasher = Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(concat!("boostfgl cell, ", env!("CARGO_PKG_VERSION")).as_bytes());
    part(inputs.data.whole.as_bytes());
    part(decides.to_toml().as_bytes());
    part(inputs.partition.as_ref().map_or(&[], |digest| digest.as_bytes().as_slice()));
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_digits_decides_the_digest() {
        let data = |whole: &str| Fingerprint { whole: whole.to_owned(), ..Fingerprint::default() };
        let inputs = Inputs { data: data("a graph"), partition: None };
        let config = Config { method: "boostfgl".into(), ..Config::default() };
        let digest = of_cell(&config, 3, &inputs);
        // The same data bring their own split if they are given by path, wherever they are.
        let of = |dataset: &str| {
            of_cell(&Config { dataset: dataset.into(), ..config.clone() }, 3, &inputs)
        };
        assert_ne!(of("mine/cora.npz"), digest);
        assert_eq!((of("mine/cora.npz"), of("cora")), (of("moved/elsewhere"), digest.clone()));
        let named = boostfgl_fed::boost::Boost::ALL.to_vec();
        for same in [
            Config { seeds: vec![3, 9], ..config.clone() },
            Config { boosts: Some(named), ..config.clone() },
        ] {
            assert_eq!(of_cell(&same, 3, &inputs), digest);
        }
        let mut rounds = config.clone();
        rounds.fed.rounds += 1;
        let mut clients = config.clone();
        clients.partition.clients += 1;
        for other in
            [rounds, clients, Config { boosts: Some(vec![]), ..config.clone() }, Config::default()]
        {
            assert_ne!(of_cell(&other, 3, &inputs), digest);
        }
        assert_ne!(of_cell(&config, 4, &inputs), digest);
        assert_ne!(
            of_cell(&config, 3, &Inputs { data: data("another"), ..inputs.clone() }),
            digest
        );
        assert_ne!(
            of_cell(&config, 3, &Inputs { partition: Some(blake3::hash(b"another")), ..inputs }),
            digest
        );
    }
}
