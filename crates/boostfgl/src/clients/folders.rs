//! Which folders are those of clients.

use super::client_data::ClientData;
use super::schema::ClientSchema;
use crate::{Error, Result};
use boostfgl_data::readers;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Reads the data of all clients: of each of several paths, or of every folder in a single one.
///
/// # Errors
/// If there are none, or the data of one cannot be read; the message names the client.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<ClientData>> {
    let paths = match paths {
        [one] => clients_in(one)?,
        several => several.to_vec(),
    };
    // All are read before an error is chosen, so that it does not depend on the threads.
    let read: Vec<Result<ClientData>> =
        paths.par_iter().map(|path| ClientData::read(path)).collect();
    read.into_iter().collect()
}

/// The name of these clients in tables: that of the dataset they are parts of, if the schema of the
/// first names one, otherwise that of the folder they are in.
///
/// # Errors
/// If the folder or the schema cannot be read.
pub(crate) fn dataset_name(paths: &[PathBuf]) -> Result<String> {
    let first = match paths {
        [one] => clients_in(one)?.into_iter().next(),
        several => several.first().cloned(),
    };
    let schema = first.as_deref().map(ClientSchema::find).transpose()?.flatten();
    if let Some(dataset) = schema.and_then(|schema| schema.dataset) {
        return Ok(dataset);
    }
    let around = match paths {
        [one] => Some(one.clone()),
        several => several[0].canonicalize().ok().and_then(|path| Some(path.parent()?.into())),
    };
    let name = around.and_then(|path: PathBuf| {
        Some(path.canonicalize().ok()?.file_name()?.to_string_lossy().into_owned())
    });
    Ok(name.unwrap_or_else(|| "clients".to_owned()))
}

/// The clients that a single path stands for: a folder with a folder for each, or one client.
fn clients_in(path: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(path).map_err(|error| boostfgl_graph::Error::io(path, error));
    let mut folders: Vec<PathBuf> = match path.is_file() {
        true => Vec::new(),
        false => entries?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.is_dir() && !is_hidden(path))
            .collect(),
    };
    // In the order of their names, which does not depend on the file system.
    folders.sort_unstable();
    if readers::detect(path).is_ok() {
        return Ok(vec![path.to_path_buf()]);
    }
    if folders.is_empty() {
        let reason = "expected a folder with a folder for each client, found none in it";
        return Err(Error::usage(path.display().to_string(), reason, ADVICE));
    }
    Ok(folders)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

const ADVICE: &str = "Name the folder of each client, such as --client-data north south, or one \
    folder that holds them; `boostfgl partition DATA --to-clients DIR` writes an example.";
