//! Your own data: a folder with two comma-separated tables.
//!
//! ```text
//! nodes.csv                        edges.csv
//! id,label,age,group:town,split    src,dst,weight
//! anna,blue,31,Ulm,train           anna,ben,0.5
//! ben,,40,,none                    ben,carl,2
//! ```
//!
//! In `nodes.csv` the columns `id` and `label` are required, `split` (`train`, `val`, `test`,
//! `none` or empty) is optional, a column `group:NAME` puts nodes into groups of that name
//! ([`GroupColumn`]; an empty field means none), and every other column is a feature; their order
//! is free. Ids and labels are any texts; an empty label means unlabelled, and such a node has no
//! role in the split. Classes are ordered by number if all labels are integers and by letter
//! otherwise. In `edges.csv`, `weight` is optional and above 0. Spaces around a field do not count.
//! Features are stored sparse if less than a quarter of them is not zero.
//!
//! With a `columns.toml` in the folder ([`Columns`]), as an import writes it, feature columns may
//! also hold dates, words for yes and no, categories and gaps.

mod features;
mod write;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use boostfgl_graph::{
    Adjacency, EdgeCounts, Graph, GroupColumn, Labels, Problems, Result, Role, Split, numbered,
};

pub use write::write;

use self::features::FeatureColumns;
use super::table::Table;
use super::text::{malformed, quoted};
use super::{Detection, Match, Reader, parts};
use crate::columns::Columns;

/// Options for reading the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsvOptions {
    /// Whether an edge carries messages from `src` to `dst` only.
    pub directed: bool,
}

/// The line of this format in the table.
pub(super) const READER: Reader = Reader {
    name: "csv",
    description: "a folder with nodes.csv (id,label,<feature>…[,group:NAME…]) and edges.csv \
        (src,dst[,weight])",
    needs: &[NODE_FILE, EDGE_FILE],
    optional: "in nodes.csv a column split (train, val, test or none) and columns group:NAME; \
        in edges.csv a column weight; columns.toml, as `boostfgl data import --nodes` writes it",
    detection: Detection::Files { order: 2, matches },
    read,
};

/// Whether a folder has both tables.
fn matches(path: &Path) -> Result<Match> {
    Ok((path.join(NODE_FILE).is_file() && path.join(EDGE_FILE).is_file()).into())
}

/// Reads an undirected graph from a folder with `nodes.csv` and `edges.csv`.
///
/// # Errors
/// If a table is missing or malformed; the message names file, line and column of everything that
/// is wrong with it.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("nodes.csv"), "id,label,age\nanna,blue,31\nben,red,40\n")?;
/// std::fs::write(folder.path().join("edges.csv"), "src,dst\nanna,ben\n")?;
/// let graph = boostfgl_data::readers::csv_tables::read(folder.path())?;
/// assert_eq!((graph.len(), graph.adjacency().edges(), graph.id(1).as_str()), (2, 1, "ben"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(folder: &Path) -> Result<Graph> {
    read_with(folder, CsvOptions::default())
}

/// Reads a graph as [`read`] does, with options.
///
/// # Errors
/// As [`read`].
pub fn read_with(folder: &Path, options: CsvOptions) -> Result<Graph> {
    read_counted(folder, options).map(|(graph, _)| graph)
}

/// Reads a graph as [`read_with`] does, and counts the edges that were merged or dropped.
///
/// # Errors
/// As [`read`].
pub fn read_counted(folder: &Path, options: CsvOptions) -> Result<(Graph, EdgeCounts)> {
    let path = folder.join(NODE_FILE);
    let prescribed = Columns::find(folder)?;
    let nodes = Nodes::read(&path, prescribed.as_ref())?;
    let (adjacency, counts) = read_edges(&folder.join(EDGE_FILE), &nodes.position, options)?;
    let finished = nodes.features.finish(&path, nodes.ids.len())?;
    let labels = name_classes(&nodes.labels, prescribed.as_ref())?;
    let graph = Graph::new(parts::name_of(folder), adjacency, finished.features, labels)
        .map_err(|e| parts::in_file(&path, e))?;
    let columns = nodes
        .groups
        .into_iter()
        .map(|(name, texts)| GroupColumn::from_texts(name, &texts))
        .collect();
    let graph = graph
        .with_ids(nodes.ids)?
        .with_group_columns(columns)?
        .with_feature_names(finished.names)?;
    let graph = match finished.preparation {
        Some(preparation) => graph.with_preparation(preparation)?,
        None => graph,
    };
    let graph = match nodes.roles {
        Some(roles) => graph.with_split(Split::new(roles))?,
        None => graph,
    };
    Ok((graph, counts))
}

/// The content of `nodes.csv`.
struct Nodes {
    ids: Vec<String>,
    /// The position of each id, and the byte at which its row begins.
    position: HashMap<String, (u32, u64)>,
    labels: Vec<String>,
    roles: Option<Vec<Role>>,
    features: FeatureColumns,
    /// Name and fields of each group column.
    groups: Vec<(String, Vec<String>)>,
}

impl Nodes {
    fn read(path: &Path, prescribed: Option<&Columns>) -> Result<Self> {
        let mut table = Table::open(path)?;
        let (id, label) = (table.required("id")?, table.required("label")?);
        let split = table.column("split");
        let groups = table.group_columns()?;
        let reserved: HashSet<usize> = [id, label]
            .into_iter()
            .chain(split)
            .chain(groups.iter().map(|group| group.0))
            .collect();
        let others = (0..table.header.len()).filter(|at| !reserved.contains(at)).collect();
        let classes = prescribed.and_then(Columns::classes);
        let mut nodes = Self {
            ids: Vec::new(),
            position: HashMap::new(),
            labels: Vec::new(),
            roles: split.map(|_| Vec::new()),
            features: FeatureColumns::new(&table, others, prescribed)?,
            groups: groups.iter().map(|(_, name)| (name.clone(), Vec::new())).collect(),
        };
        let mut problems = Problems::new(path);
        while table.next(&mut problems)? {
            nodes.push_id(&table, id, &mut problems)?;
            nodes.labels.push(class(&table, label, classes, &mut problems));
            if let (Some(roles), Some(split)) = (&mut nodes.roles, split) {
                roles.push(role(&table, split, label, &mut problems));
            }
            nodes.features.push(&table, &mut problems);
            for ((column, _), (_, texts)) in groups.iter().zip(&mut nodes.groups) {
                texts.push(table.field(*column).to_owned());
            }
        }
        problems.finish()?;
        Ok(nodes)
    }

    fn push_id(&mut self, table: &Table, column: usize, problems: &mut Problems<'_>) -> Result<()> {
        let id = table.field(column);
        let position = u32::try_from(self.ids.len());
        let position = position
            .map_err(|_| malformed(table.path, 1, column + 1, "fewer than 2^32 nodes", "more"))?;
        if id.is_empty() {
            table.problem(problems, column, || ("an id".to_owned(), "an empty field".to_owned()));
        } else if let Some(&(_, first)) = self.position.get(id) {
            problems.add_again(table.start(), Some(column + 1), first, || {
                ("every id once".to_owned(), quoted(id))
            });
        } else {
            self.position.insert(id.to_owned(), (position, table.start()));
        }
        self.ids.push(id.to_owned());
        Ok(())
    }
}

/// The role in a row; a role without a label is a problem.
fn role(table: &Table, split: usize, label: usize, problems: &mut Problems<'_>) -> Role {
    let text = table.field(split);
    let role = Role::from_name(text);
    if role.is_none() {
        table.problem(problems, split, || {
            ("train, val, test, none or nothing".to_owned(), quoted(text))
        });
    }
    role.filter(|_| !table.field(label).is_empty()).unwrap_or(Role::None)
}

/// The class in a row; one that `columns.toml` does not list is a problem.
fn class(
    table: &Table,
    label: usize,
    classes: Option<&[String]>,
    problems: &mut Problems<'_>,
) -> String {
    let text = table.field(label);
    let is_known = |classes: &[String]| text.is_empty() || classes.iter().any(|it| it == text);
    if !classes.is_none_or(is_known) {
        table.problem(problems, label, || (format!("a class of {}", Columns::FILE), quoted(text)));
    }
    text.to_owned()
}

/// Numbers the classes in the order of `columns.toml`, otherwise in that of their names.
fn name_classes(labels: &[String], prescribed: Option<&Columns>) -> Result<Labels> {
    let Some(names) = prescribed.and_then(Columns::classes) else {
        let (names, class) = numbered(labels);
        return Labels::new(class, names);
    };
    let number: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    let class: Vec<Option<u32>> =
        labels.iter().map(|label| number.get(label.as_str()).copied()).collect();
    Labels::new(class, names.to_vec())
}

fn read_edges(
    path: &Path,
    position: &HashMap<String, (u32, u64)>,
    options: CsvOptions,
) -> Result<(Adjacency, EdgeCounts)> {
    let mut table = Table::open(path)?;
    let (source, target) = (table.required("src")?, table.required("dst")?);
    let weight = table.column("weight");
    let known = [Some(source), Some(target), weight];
    if let Some(other) = (0..table.header.len()).find(|at| !known.contains(&Some(*at))) {
        return Err(malformed(
            path,
            1,
            other + 1,
            "the columns src, dst and weight only",
            quoted(&table.header[other]),
        ));
    }
    let mut edges = Vec::new();
    let mut weights = weight.map(|_| Vec::new());
    let mut problems = Problems::new(path);
    while table.next(&mut problems)? {
        // Both ends are looked up before either is used, so that each unknown id is a problem.
        let from = node_at(&table, source, position, &mut problems);
        let to = node_at(&table, target, position, &mut problems);
        edges.extend(from.zip(to));
        if let (Some(weights), Some(column)) = (&mut weights, weight) {
            let value = table.number(column, &mut problems);
            if value.is_some_and(|value| value <= 0.0) {
                table.problem(&mut problems, column, || {
                    ("a number above 0".to_owned(), quoted(table.field(column)))
                });
            }
            weights.extend(value);
        }
    }
    problems.finish()?;
    let adjacency =
        Adjacency::from_edges(position.len(), &edges, weights.as_deref(), options.directed);
    adjacency.map_err(|e| parts::in_file(path, e))
}

/// The node whose id is in this column; an unknown id is a problem.
fn node_at(
    table: &Table,
    column: usize,
    position: &HashMap<String, (u32, u64)>,
    problems: &mut Problems<'_>,
) -> Option<u32> {
    let known = position.get(table.field(column)).map(|(position, _)| *position);
    if known.is_none() {
        table.problem(problems, column, || {
            ("an id from nodes.csv".to_owned(), quoted(table.field(column)))
        });
    }
    known
}

/// The table of nodes.
pub const NODE_FILE: &str = "nodes.csv";
/// The table of edges.
pub const EDGE_FILE: &str = "edges.csv";

#[cfg(test)]
mod tests;
