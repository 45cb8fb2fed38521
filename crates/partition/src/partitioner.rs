//! The [`Partitioner`] trait.
//!
//! A new partitioner is one file with a settings struct that implements it, and one line in
//! [`Registry::builtin`](crate::Registry::builtin).

use std::path::Path;

use boostfgl_graph::{Graph, Split};

use crate::{Error, Result};

/// A way to divide the nodes of a graph among clients, with its settings.
///
/// The fields of the implementing struct are its keys under `[partition]` in a configuration file;
/// their doc comments are the help of these keys.
pub trait Partitioner: std::fmt::Debug + Send + Sync {
    /// The name in configuration files and on the command line.
    fn name(&self) -> &'static str;

    /// What it does, in one line of help.
    fn summary(&self) -> &'static str;

    /// Checks the range of every setting.
    ///
    /// # Errors
    /// Names the first key that is out of range.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Checks what has to be set if this partitioner is chosen, such as the name of a file.
    ///
    /// # Errors
    /// Names the key that is missing.
    fn check_chosen(&self) -> Result<()> {
        Ok(())
    }

    /// The number of clients, where `asked` is what the configuration says: the data may decide.
    ///
    /// # Errors
    /// If the data do not have what decides it.
    fn clients(&self, graph: &Graph, asked: usize) -> Result<usize> {
        let _ = graph;
        Ok(asked)
    }

    /// The client, below `clients`, of each node. No client is empty, and the same seed gives the
    /// same clients.
    ///
    /// # Errors
    /// If `clients` is 0 or larger than the number of nodes, or a setting is out of range.
    fn assign(&self, graph: &Graph, clients: usize, seed: u64) -> Result<Vec<u32>>;

    /// Like [`Partitioner::assign`]; `progress` is called with the share that is done, by partitioners
    /// that take long.
    ///
    /// # Errors
    /// As [`Partitioner::assign`].
    fn assign_watched(
        &self,
        graph: &Graph,
        clients: usize,
        seed: u64,
        _progress: &mut dyn FnMut(f64),
    ) -> Result<Vec<u32>> {
        self.assign(graph, clients, seed)
    }

    /// The split that comes with the assignment, if one does. Only a file has one.
    ///
    /// # Errors
    /// As for [`Partitioner::assign`].
    fn split(&self, graph: &Graph, seed: u64) -> Result<Option<Split>> {
        let _ = (graph, seed);
        Ok(None)
    }

    /// The partition file that the assignment is read from, if it is. Such a file also sets the
    /// number of clients.
    fn file(&self) -> Option<&Path> {
        None
    }
}

/// Refuses numbers of clients that would leave a client without a node.
pub(crate) fn check_clients(nodes: usize, clients: usize) -> Result<()> {
    match clients {
        0 => Err(Error::NoClients),
        _ if clients > nodes => Err(Error::TooManyClients { clients, nodes }),
        _ => Ok(()),
    }
}

/// Refuses a setting that is not a finite number above 0.
pub(crate) fn check_positive(key: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::Setting { key, expected: "a finite number above 0", found: value.to_string() })
}
