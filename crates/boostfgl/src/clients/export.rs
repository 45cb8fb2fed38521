//! Writing the folders of clients from one graph that is divided among them.

use super::schema::ClientSchema;
use crate::{Error, Result};
use boostfgl_data::readers::{csv_tables, flat_npz};
use boostfgl_disk as disk;
use boostfgl_graph::Graph;
use boostfgl_partition::Partition;
use std::path::{Path, PathBuf};

/// The files of a client's folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableFormat {
    /// `nodes.csv` and `edges.csv`.
    #[default]
    Csv,
    /// `graph.npz`, far smaller for sparse features of many columns.
    Npz,
}

impl TableFormat {
    /// The format of that name.
    ///
    /// # Errors
    /// If there is none; the nearest name is suggested.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "csv" => Ok(Self::Csv),
            "npz" => Ok(Self::Npz),
            _ => Err(boostfgl_graph::Error::unknown("format", name, ["csv", "npz"]).into()),
        }
    }
}

/// Writes a folder for each client of a partition into `folder`, with the split and a `schema.toml`:
/// `client-0`, `client-1`, …. A run on these folders gives the federation digest of a simulation
/// with this partition.
///
/// # Errors
/// If `folder` exists and is not empty, a file cannot be written, or the format cannot represent
/// the graph.
pub fn export(
    graph: &Graph,
    partition: &Partition,
    folder: &Path,
    format: TableFormat,
) -> Result<Vec<PathBuf>> {
    check_free(folder)?;
    let schema = ClientSchema::of(graph).to_toml();
    let digits = (partition.clients() - 1).to_string().len();
    let mut written = Vec::with_capacity(partition.clients());
    for client in partition.client_graphs(graph) {
        let place = folder.join(format!("client-{:0digits$}", client.id));
        disk::create_dir_all(&place)?;
        let ids = client.nodes.iter().map(|&v| graph.id(v as usize)).collect();
        let own = client.graph.with_ids(ids)?.with_split(client.split)?;
        match format {
            TableFormat::Csv => csv_tables::write(&own, &place)?,
            TableFormat::Npz => flat_npz::write(&own, &place.join("graph.npz"))?,
        }
        disk::write_atomic(place.join(ClientSchema::FILE), schema.as_bytes())?;
        written.push(place);
    }
    Ok(written)
}

/// Refuses a folder that is not empty: clients of an earlier partition would be taken for some of
/// this one.
///
/// # Errors
/// Names the folder and a file in it.
pub fn check_free(folder: &Path) -> Result<()> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .map(|entries| {
            entries
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect()
        })
        .unwrap_or_default();
    names.sort_unstable();
    match names.first() {
        None => Ok(()),
        Some(name) => {
            let place = folder.display().to_string();
            let reason = format!("expected a new or an empty folder, found `{name}` in it");
            Err(Error::usage(place, reason, "Choose another folder for --to-clients."))
        }
    }
}
