//! Writing the folder of an import, which appears when it is complete.

use std::io::Write as _;
use std::path::Path;

use boostfgl_disk::{AtomicFile, NewFolder, write_atomic};
use boostfgl_graph::{Error, Result};

use super::Plan;
use super::edges::Edges;
use super::infer::Notation;
use super::nodes::{Nodes, role};
use super::values;
use crate::columns::Columns;
use crate::readers::csv_tables::{EDGE_FILE, NODE_FILE};

impl Plan {
    /// Writes the folder. It appears under its name when all of it is written; an existing one is
    /// replaced only with `overwrite`.
    ///
    /// # Errors
    /// If the folder exists and may not be replaced, or a file cannot be written; then nothing has
    /// changed.
    pub fn write(&self, folder: &Path, overwrite: bool) -> Result<()> {
        let new = NewFolder::create(folder, overwrite)?;
        self.write_files(new.path()).map_err(|error| named(error, new.path(), folder))?;
        Ok(new.finish()?)
    }

    fn write_files(&self, place: &Path) -> Result<()> {
        write_table(&place.join(NODE_FILE), |table| write_nodes(&self.nodes, table))?;
        write_table(&place.join(EDGE_FILE), |table| write_edges(self.edges.as_ref(), table))?;
        Ok(write_atomic(place.join(Columns::FILE), self.resolved.to_toml().as_bytes())?)
    }
}

/// The error with the name that a file would have had.
fn named(error: Error, temporary: &Path, folder: &Path) -> Error {
    match error {
        Error::Io { path, source } => {
            let inside = path.strip_prefix(temporary).map(|name| folder.join(name));
            Error::Io { path: inside.unwrap_or(path), source }
        }
        other => other,
    }
}

/// Writes one table.
fn write_table(
    path: &Path,
    rows: impl FnOnce(&mut csv::Writer<AtomicFile>) -> csv::Result<()>,
) -> Result<()> {
    let mut table = csv::Writer::from_writer(AtomicFile::create(path)?);
    rows(&mut table).map_err(|error| Error::io(path, error.into()))?;
    let mut file = table.into_inner().map_err(|error| Error::io(path, error.into_error()))?;
    file.flush().map_err(|error| Error::io(path, error))?;
    Ok(file.finish()?)
}

fn write_nodes(nodes: &Nodes, table: &mut csv::Writer<AtomicFile>) -> csv::Result<()> {
    let (tables, roles) = (&nodes.tables, &nodes.roles);
    let mut record: Vec<String> = vec!["id".into(), "label".into()];
    record.extend(roles.split.map(|_| "split".into()));
    record.extend(roles.groups.iter().map(|(_, name)| format!("group:{name}")));
    record.extend(nodes.features.iter().map(|feature| tables.header[feature.at].clone()));
    table.write_record(&record)?;
    for row in 0..tables.len() {
        record.clear();
        record.push(tables.field(row, roles.id).to_owned());
        record.push(roles.label.map_or("", |label| present(tables.field(row, label))).to_owned());
        // Checked before: every word is a role.
        let split = roles.split.and_then(|split| role(tables.field(row, split)));
        record.extend(split.map(|role| role.name().to_owned()));
        let groups = roles.groups.iter().map(|(at, _)| present(tables.field(row, *at)).to_owned());
        record.extend(groups);
        record.extend(
            nodes.features.iter().map(|it| canonical(tables.field(row, it.at), it.notation)),
        );
        table.write_record(&record)?;
    }
    Ok(())
}

fn write_edges(edges: Option<&Edges>, table: &mut csv::Writer<AtomicFile>) -> csv::Result<()> {
    let weight = edges.and_then(|edges| edges.roles.weight);
    table.write_field("src")?;
    table.write_field("dst")?;
    if weight.is_some() {
        table.write_field("weight")?;
    }
    table.write_record(None::<&[u8]>)?;
    let Some(edges) = edges else { return Ok(()) };
    for &row in &edges.kept {
        table.write_field(edges.tables.field(row, edges.roles.src))?;
        table.write_field(edges.tables.field(row, edges.roles.dst))?;
        if let Some(weight) = weight {
            let text = edges.tables.field(row, weight);
            table.write_field(canonical(text, Notation::Number(edges.decimal)))?;
        }
        table.write_record(None::<&[u8]>)?;
    }
    Ok(())
}

/// A field, or nothing if it says that there is no value.
fn present(text: &str) -> &str {
    if values::is_missing(text) { "" } else { text }
}

/// The text of a value with a decimal point, and of a date in ISO 8601.
fn canonical(text: &str, notation: Notation) -> String {
    let text = present(text);
    if text.is_empty() {
        return String::new();
    }
    match notation {
        Notation::Number(decimal) => values::plain(text, decimal),
        Notation::Date(format) => values::iso(text, format).unwrap_or_default(),
        Notation::AsItIs => text.to_owned(),
    }
}
