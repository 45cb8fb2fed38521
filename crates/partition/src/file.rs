//! A partition as a file: `partition.csv`.
//!
//! ```text
//! seed,node,client,split
//! 0,paper-17,2,train
//! 0,paper-18,0,none
//! ```
//!
//! * `node` is the name of the node in its source, [`Graph::id`]; `client` counts from 0 without
//!   gaps; `split` is `train`, `val`, `test` or `none`.
//! * One file may hold several seeds, each with every node once. If it holds a single seed, or has
//!   no `seed` column, that partition is used for **every** seed.
//! * Without a `split` column, the split is drawn by the ratios, separately for each seed.
//! * The order of columns and rows is free. Other columns are ignored, so a `predictions.csv` can
//!   be read too.

mod reader;

use std::io;
use std::path::{Path, PathBuf};

use boostfgl_disk::AtomicFile;
use boostfgl_graph::{Graph, Split};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::partitioner::check_clients;
use crate::{Error, Partition, Partitioner, Result};

pub use reader::{Saved, read};

/// Partitioner `file`: the assignment was saved before or made by hand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FromFile {
    /// A partition.csv to take clients and split from, with partitioner = "file".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

impl FromFile {
    /// The path, which has to be set.
    fn path(&self) -> Result<&Path> {
        self.file.as_deref().ok_or_else(|| Error::Setting {
            key: "partition.file",
            expected: "the path of a partition.csv",
            found: "none".into(),
        })
    }
}

impl Partitioner for FromFile {
    fn name(&self) -> &'static str {
        "file"
    }

    fn summary(&self) -> &'static str {
        "a partition saved before, or made by hand, as CSV"
    }

    fn check_chosen(&self) -> Result<()> {
        self.path().map(|_| ())
    }

    /// The clients in the file, which must be as many as asked for.
    fn assign(&self, graph: &Graph, clients: usize, seed: u64) -> Result<Vec<u32>> {
        check_clients(graph.len(), clients)?;
        let path = self.path()?;
        let saved = read(path, graph, seed)?;
        if saved.clients == clients {
            return Ok(saved.client);
        }
        let (expected, found) =
            (format!("{clients} clients, as configured"), saved.clients.to_string());
        Err(boostfgl_graph::Error::malformed(path, "", expected, found).into())
    }

    fn split(&self, graph: &Graph, seed: u64) -> Result<Option<Split>> {
        Ok(read(self.path()?, graph, seed)?.split)
    }

    fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

/// Whether a partition file has a `split` column; `false` if its first line cannot be read.
pub fn has_split(path: &Path) -> bool {
    let header = csv::Reader::from_path(path).and_then(|mut reader| reader.headers().cloned());
    header.is_ok_and(|header| header.iter().any(|name| name.trim() == "split"))
}

/// Writes the partitions of one or more seeds of one graph.
///
/// The write is atomic: a temporary file next to it is renamed once it is complete.
///
/// # Errors
/// If the folder cannot be written, or a partition is of a graph of another size.
pub fn write(path: &Path, graph: &Graph, partitions: &[(u64, &Partition)]) -> Result<()> {
    if let Some((seed, other)) =
        partitions.iter().find(|(_, partition)| partition.len() != graph.len())
    {
        let (expected, found) = (format!("{} nodes", graph.len()), other.len().to_string());
        return Err(boostfgl_graph::Error::inconsistent(
            format!("partition of seed {seed}"),
            expected,
            found,
        )
        .into());
    }
    write_file(path, graph, partitions).map_err(|source| Error::write(path, source))
}

fn write_file(path: &Path, graph: &Graph, partitions: &[(u64, &Partition)]) -> io::Result<()> {
    let file = AtomicFile::create(path).map_err(|error| error.source)?;
    let mut writer = csv::Writer::from_writer(file);
    write_rows(&mut writer, graph, partitions)?;
    let file = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
    file.finish().map_err(|error| error.source)
}

fn write_rows(
    writer: &mut csv::Writer<impl io::Write>,
    graph: &Graph,
    partitions: &[(u64, &Partition)],
) -> csv::Result<()> {
    writer.write_record(["seed", "node", "client", "split"])?;
    for (seed, partition) in partitions {
        let seed = seed.to_string();
        for v in 0..graph.len() {
            let (client, role) =
                (partition.client_of(v).to_string(), partition.split().role(v).name());
            writer.write_record([seed.as_str(), &graph.id(v), &client, role])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use boostfgl_graph::{Adjacency, Features, Labels, Role};

    use super::*;
    use crate::SplitRule;

    fn graph(ids: &[&str]) -> Graph {
        let n = ids.len();
        let (adjacency, _) = Adjacency::from_edges(n, &[], None, false).unwrap();
        let labels = Labels::from_integers(&vec![0; n], 1).unwrap();
        let graph =
            Graph::new("named", adjacency, Features::dense(n, 1, vec![0.0; n]).unwrap(), labels)
                .unwrap();
        graph.with_ids(ids.iter().map(|&id| id.to_owned()).collect()).unwrap()
    }

    fn partition(client: &[u32]) -> Partition {
        let roles =
            [Role::Train, Role::Val, Role::Test].into_iter().cycle().take(client.len()).collect();
        Partition::new(2, client.to_vec(), Split::new(roles)).unwrap()
    }

    #[test]
    fn several_seeds_with_awkward_names_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("partition.csv");
        let graph = graph(&["a, b", "say \"hi\"", "línea\n2", "0"]);
        let (first, second) = (partition(&[0, 1, 0, 1]), partition(&[1, 1, 0, 0]));
        write(&path, &graph, &[(0, &first), (7, &second)]).unwrap();
        let rule = SplitRule::default();
        assert_eq!(Partition::from_file(&path, &graph, &rule, 0).unwrap(), first);
        assert_eq!(Partition::from_file(&path, &graph, &rule, 7).unwrap(), second);
        let error = Partition::from_file(&path, &graph, &rule, 3).unwrap_err().to_string();
        assert!(error.ends_with("partition.csv: expected seed 3, found seeds 0, 7"), "{error}");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }

    #[test]
    fn the_partitioner_brings_clients_and_split() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("partition.csv");
        let (graph, saved) = (graph(&["a", "b", "c"]), partition(&[0, 1, 0]));
        write(&file, &graph, &[(5, &saved)]).unwrap();
        let from_file = FromFile { file: Some(file) };
        // One seed in the file: it serves seed 1 too.
        assert_eq!(
            Partition::draw(&graph, &from_file, 2, &SplitRule::default(), 1).unwrap(),
            saved
        );
        let error = from_file.assign(&graph, 3, 1).unwrap_err().to_string();
        assert!(
            error.ends_with("partition.csv: expected 3 clients, as configured, found 2"),
            "{error}"
        );
        let error = FromFile::default().assign(&graph, 2, 0).unwrap_err().to_string();
        assert_eq!(error, "partition.file: expected the path of a partition.csv, found none");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let graph = graph(&["a", "b"]);
        let error =
            write(Path::new("not-there/partition.csv"), &graph, &[(0, &partition(&[0, 1]))])
                .unwrap_err();
        assert!(error.to_string().starts_with("could not write not-there"), "{error}");
        assert!(matches!(
            write(Path::new("x.csv"), &graph, &[(0, &partition(&[0, 1, 1]))]),
            Err(Error::Graph(_))
        ));
    }
}
