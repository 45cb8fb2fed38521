//! The identity of a cell: a digest of everything that its results depend on.
//!
//! The digest of a cell covers the version of the program, the content of the graph, the resolved
//! configuration with its one seed, method and boosts, and the content of a partition file. It does
//! not cover names and paths: a dataset with another name or in another folder has the same digest.
//! Two builds of the same version count as the same program. Across CPU models the last digits of a
//! result may differ (see ARCHITECTURE.md).

use crate::config::SplitSource;
use crate::run::trainable::Trainable;
use crate::{Config, Data, Result};
use blake3::{Hash, Hasher};
use boostfgl_partition::FromFile;
use boostfgl_report::Fingerprint;
use std::path::Path;

/// The data of a cell, as they were when this value was made. Together with the configuration and
/// the seed they determine the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellInputs {
    /// The fingerprint of the data.
    pub data: Fingerprint,
    /// BLAKE3 of the partition file, where clients and split come from one.
    pub partition: Option<Hash>,
}

impl CellInputs {
    /// The data of an experiment. The partition file is read for it.
    ///
    /// # Errors
    /// If there is a partition file and it cannot be read.
    pub(crate) fn of(experiment: &impl Trainable) -> Result<Self> {
        let file = experiment.config().partition.file();
        Ok(Self {
            data: experiment.fingerprint().clone(),
            partition: file.map(digest_of_file).transpose()?,
        })
    }
}

fn digest_of_file(path: &Path) -> Result<Hash> {
    let bytes = std::fs::read(path).map_err(|error| boostfgl_report::Error::io(path, error))?;
    Ok(blake3::hash(&bytes))
}

/// The digest of the cell with this configuration and seed, made from these inputs, in hexadecimal.
pub fn of_cell(config: &Config, seed: u64, inputs: &CellInputs) -> String {
    let mut identity = config.clone();
    // The name of the dataset is not part of the digest. It affects the results in one way only: it
    // decides whether the split is that of the data.
    if identity.split.source == SplitSource::Auto && Data::known(&config.dataset).is_some() {
        identity.split.source = SplitSource::Shares;
    }
    identity.dataset = String::new();
    identity.client_data = Vec::new();
    identity.name = None;
    // It changes no digit.
    identity.transport = Default::default();
    identity.seeds = vec![seed];
    // Boosts that are on by default of the method count like boosts that were named.
    identity.boosts = config.active_boosts().ok();
    // The content of the partition file is among the inputs, not its path.
    if let Some(from_file) = identity.partition.settings_mut::<FromFile>() {
        from_file.file = None;
    }
    let mut hasher = Hasher::new();
    let toml = identity.to_toml();
    let parts: [&[u8]; 4] = [
        concat!("boostfgl cell, ", env!("CARGO_PKG_VERSION")).as_bytes(),
        inputs.data.whole.as_bytes(),
        toml.as_bytes(),
        inputs.partition.as_ref().map_or(&[], |digest| digest.as_bytes().as_slice()),
    ];
    for part in parts {
        // With its length, so that no two sequences of parts have the same bytes.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_changes_with_everything_that_results_depend_on() {
        let data = |whole: &str| Fingerprint { whole: whole.to_owned(), ..Fingerprint::default() };
        let inputs = CellInputs { data: data("a graph"), partition: None };
        let config = Config { method: "boostfgl".into(), ..Config::default() };
        let digest = of_cell(&config, 3, &inputs);
        // Data that are given by path bring their own split, in whichever folder they are.
        let of_dataset = |dataset: &str| {
            of_cell(&Config { dataset: dataset.into(), ..config.clone() }, 3, &inputs)
        };
        assert_ne!(of_dataset("mine/cora.npz"), digest);
        assert_eq!(
            (of_dataset("mine/cora.npz"), of_dataset("cora")),
            (of_dataset("moved/elsewhere"), digest.clone())
        );
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
            of_cell(&config, 3, &CellInputs { data: data("another"), ..inputs.clone() }),
            digest
        );
        assert_ne!(
            of_cell(
                &config,
                3,
                &CellInputs { partition: Some(blake3::hash(b"another")), ..inputs }
            ),
            digest
        );
    }
}
