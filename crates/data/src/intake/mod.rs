//! From exported tables to a folder that every command reads.
//!
//! [`plan`] reads node and edge tables as other programs export them, finds out what their columns
//! are, and refuses what is wrong with them, all in one message. [`Plan::write`] then writes a
//! folder with `nodes.csv`, `edges.csv` and `columns.toml`
//! ([`csv_tables`](crate::readers::csv_tables) reads it). Values stay as they are: what stands in
//! for missing ones, and the scale of a column, is fitted on the training nodes of each client.
//!
//! ```
//! use boostfgl_data::intake::{Request, plan};
//!
//! let place = tempfile::tempdir()?;
//! let (nodes, edges) = (place.path().join("nodes.txt"), place.path().join("edges.txt"));
//! std::fs::write(&nodes, "id;label;age;town\nA1;ok;31,5;Ulm\nA2;fraud;-;Bern\n")?;
//! std::fs::write(&edges, "from;to\nA1;A2\n")?;
//! let request = Request { nodes: vec![nodes], edges: vec![edges], ..Request::default() };
//! let plan = plan(&request)?;
//! assert_eq!(plan.columns[2].became, "a number (decimal comma), standardised; missing: mean");
//! plan.write(&place.path().join("bank"), false)?;
//! let graph = boostfgl_data::readers::read(&place.path().join("bank"), None)?;
//! assert_eq!(graph.feature_names(), ["age", "town=Bern", "town=Ulm"]);
//! assert_eq!(graph.preparation().unwrap().missing(), [(1, 0)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod edges;
mod encoding;
mod infer;
mod names;
mod nodes;
#[cfg(feature = "parquet")]
mod parquet;
mod report;
mod roles;
mod tables;
pub(crate) mod values;
mod write;

use std::path::PathBuf;

use boostfgl_graph::{Error, Missing, Result};

pub use self::encoding::Encoding;
pub use self::report::ColumnReport;
use self::tables::Tables;
use crate::columns::{Columns, Rest, Role};

/// What is to be imported, and how.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The tables of nodes; several are one after the other.
    pub nodes: Vec<PathBuf>,
    /// The tables of edges; several are one after the other.
    pub edges: Vec<PathBuf>,
    /// What is said about columns.
    pub columns: Columns,
    /// Roles from the command line, which come before those of `columns`.
    pub roles: RoleFlags,
    /// How bytes become rows.
    pub reading: Reading,
    /// What columns become if nothing is said about them.
    pub limits: Limits,
    /// Whether edges with the name of a node that does not exist are left out; otherwise they are
    /// an error.
    pub drop_unknown_nodes: bool,
    /// Whether names that differ only by spaces or case are different; otherwise that is an error.
    pub exact_names: bool,
    /// Whether it is no error that there is no column of labels.
    pub unlabelled: bool,
}

/// Roles that the command line gives to columns.
#[derive(Clone, Debug, Default)]
pub struct RoleFlags {
    /// Role and name of the column.
    pub given: Vec<(Role, String)>,
}

impl RoleFlags {
    /// Role, flag and name of the column.
    fn iter(&self) -> impl Iterator<Item = (Role, String, &str)> {
        self.given.iter().map(|(role, name)| (*role, format!("--{}", role.name()), name.as_str()))
    }
}

/// How the bytes of tables become rows; what is left out is found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// The delimiter.
    pub delimiter: Option<u8>,
    /// The encoding.
    pub encoding: Option<Encoding>,
}

/// What columns become if nothing is said about them.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most values with a feature of their own.
    pub max_levels: usize,
    /// What becomes of the others.
    pub rest: Rest,
    /// The number of features that hashed values share.
    pub hash_buckets: u32,
    /// What stands in for missing numbers, dates and truth values.
    pub missing: Missing,
    /// Whether numbers and dates are standardised on each client.
    pub standardise: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_levels: 32,
            rest: Rest::Other,
            hash_buckets: 32,
            missing: Missing::Mean,
            standardise: true,
        }
    }
}

/// Tables that were read and found to be right, and what they become.
pub struct Plan {
    /// What each column becomes, those of nodes first.
    pub columns: Vec<ColumnReport>,
    /// What the reader of the plan should know: what was left out or guessed.
    pub notes: Vec<String>,
    resolved: Columns,
    nodes: nodes::Nodes,
    edges: Option<edges::Edges>,
}

impl Plan {
    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes.tables.len()
    }

    /// The number of edges, as they are given.
    pub fn edges(&self) -> usize {
        self.edges.as_ref().map_or(0, |edges| edges.kept.len())
    }

    /// What `columns.toml` will say.
    pub fn resolved(&self) -> &Columns {
        &self.resolved
    }
}

/// Reads the tables and plans what they become. Nothing is written.
///
/// # Errors
/// If a file cannot be read, a role has no column, or something is wrong with the rows; the message
/// has every problem of a file.
pub fn plan(request: &Request) -> Result<Plan> {
    if request.nodes.is_empty() {
        return Err(Error::inconsistent("tables of nodes", "at least one", "none"));
    }
    let tables = Tables::read(&request.nodes, request.reading)?;
    let edge_tables = Tables::read(&request.edges, request.reading)?;
    check_dropped(request, &tables, &edge_tables)?;
    let nodes = nodes::Nodes::find(tables, request)?;
    let edges = match request.edges.is_empty() {
        true => None,
        false => Some(edges::Edges::find(edge_tables, request, &nodes)?),
    };
    let resolved = report::resolved(&nodes, edges.as_ref(), request);
    let columns = report::columns(&nodes, edges.as_ref());
    let notes = report::notes(&nodes, edges.as_ref(), request);
    Ok(Plan { columns, notes, resolved, nodes, edges })
}

/// Refuses to drop a column that no table has.
fn check_dropped(request: &Request, nodes: &Tables, edges: &Tables) -> Result<()> {
    for (_, name) in request.roles.given.iter().filter(|(role, _)| *role == Role::Drop) {
        let mut known = nodes.header.iter().chain(&edges.header).map(String::as_str);
        if !known.clone().any(|column| column == name) {
            let near = boostfgl_graph::nearest(name, &mut known);
            let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
            let expected = "a column of the tables";
            return Err(Error::inconsistent("--drop", expected, format!("`{name}`{near}")));
        }
    }
    Ok(())
}
