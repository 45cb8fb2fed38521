//! Your own data: a folder with two comma-separated tables.
//!
//! ```text
//! nodes.csv                        edges.csv
//! id,label,age,height,split        src,dst,weight
//! anna,blue,31,1.7,train           anna,ben,0.5
//! ben,,40,1.8,none                 ben,carl,2
//! ```
//!
//! In `nodes.csv` the columns `id` and `label` are required, `split` (`train`, `val`, `test`, `none` or empty) is
//! optional, and every other column is a feature; their order is free. Ids and labels are any texts; an empty label
//! means unlabelled, and such a node has no role in the split. Classes are ordered by number if all labels are
//! integers and by letter otherwise. In `edges.csv`, `weight` is optional and above 0. Spaces around a field do not
//! count. Features are stored sparse if less than a quarter of them is not zero.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;

use csv::{StringRecord, Trim};

use super::text::{malformed, quoted};
use super::{npz::from_io, parts};
use crate::{Adjacency, Error, Graph, Labels, Result, Role, Split};

/// How to understand the tables, where they do not say it themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsvOptions {
    /// Whether an edge carries messages from `src` to `dst` only.
    pub directed: bool,
}

/// Reads an undirected graph from a folder with `nodes.csv` and `edges.csv`.
///
/// # Errors
/// If a table is missing or malformed; the message names file, line and column.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("nodes.csv"), "id,label,age\nanna,blue,31\nben,red,40\n")?;
/// std::fs::write(folder.path().join("edges.csv"), "src,dst\nanna,ben\n")?;
/// let graph = boostfgl_graph::readers::csv_tables::read(folder.path())?;
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
    let path = folder.join(NODE_FILE);
    let nodes = Nodes::read(&path)?;
    let adjacency = read_edges(&folder.join(EDGE_FILE), &nodes.position, options)?;
    let features = parts::compact(&path, nodes.ids.len(), nodes.columns, nodes.features)?;
    let labels = name_classes(&nodes.labels)?;
    let graph =
        Graph::new(parts::name_of(folder), adjacency, features, labels).map_err(|e| parts::in_file(&path, e))?;
    let graph = graph.with_ids(nodes.ids)?;
    match nodes.roles {
        Some(roles) => graph.with_split(Split::new(roles)),
        None => Ok(graph),
    }
}

/// What `nodes.csv` says.
struct Nodes {
    ids: Vec<String>,
    position: HashMap<String, (u32, u64)>,
    labels: Vec<String>,
    roles: Option<Vec<Role>>,
    columns: usize,
    features: Vec<f32>,
}

impl Nodes {
    fn read(path: &Path) -> Result<Self> {
        let mut table = Table::open(path)?;
        let (id, label) = (table.required("id")?, table.required("label")?);
        let split = table.column("split");
        let reserved = [Some(id), Some(label), split];
        let feature_columns: Vec<usize> = (0..table.header.len()).filter(|at| !reserved.contains(&Some(*at))).collect();
        if feature_columns.is_empty() {
            return Err(malformed(path, 1, table.header.len(), "at least one feature column", "none"));
        }
        let mut nodes = Self {
            ids: Vec::new(),
            position: HashMap::new(),
            labels: Vec::new(),
            roles: split.map(|_| Vec::new()),
            columns: feature_columns.len(),
            features: Vec::new(),
        };
        while table.next()? {
            nodes.push_id(&table, id)?;
            nodes.labels.push(table.field(label).to_owned());
            if let (Some(roles), Some(split)) = (&mut nodes.roles, split) {
                roles.push(role(&table, split, label)?);
            }
            for &column in &feature_columns {
                nodes.features.push(table.number(column)?);
            }
        }
        Ok(nodes)
    }

    fn push_id(&mut self, table: &Table, column: usize) -> Result<()> {
        let id = table.field(column);
        if id.is_empty() {
            return Err(table.malformed(column, "an id", "an empty field"));
        }
        let position = u32::try_from(self.ids.len());
        let position = position.map_err(|_| table.malformed(column, "fewer than 2^32 nodes", "more"))?;
        if let Some((_, line)) = self.position.insert(id.to_owned(), (position, table.line())) {
            let found = format!("{} again, first on line {line}", quoted(id));
            return Err(table.malformed(column, "every id once", found));
        }
        self.ids.push(id.to_owned());
        Ok(())
    }
}

/// The role a row asks for; without a label a node can have none.
fn role(table: &Table, split: usize, label: usize) -> Result<Role> {
    let text = table.field(split);
    let role = Role::from_name(text)
        .ok_or_else(|| table.malformed(split, "train, val, test, none or nothing", quoted(text)))?;
    Ok(if table.field(label).is_empty() { Role::None } else { role })
}

/// Numbers the classes in the order of their names.
fn name_classes(labels: &[String]) -> Result<Labels> {
    let mut names: Vec<&str> = labels.iter().map(String::as_str).filter(|label| !label.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    let numbers: Option<Vec<i64>> = names.iter().map(|name| name.parse().ok()).collect();
    if let Some(numbers) = numbers {
        let by_number: BTreeMap<(i64, &str), ()> =
            numbers.into_iter().zip(names.iter().copied()).map(|key| (key, ())).collect();
        names = by_number.into_keys().map(|(_, name)| name).collect();
    }
    let class: HashMap<&str, u32> = names.iter().zip(0..).map(|(&name, class)| (name, class)).collect();
    Labels::new(
        labels.iter().map(|label| class.get(label.as_str()).copied()),
        names.iter().map(ToString::to_string).collect(),
    )
}

fn read_edges(path: &Path, position: &HashMap<String, (u32, u64)>, options: CsvOptions) -> Result<Adjacency> {
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
    while table.next()? {
        let node = |column: usize| match position.get(table.field(column)) {
            Some((position, _)) => Ok(*position),
            None => Err(table.malformed(column, "an id from nodes.csv", quoted(table.field(column)))),
        };
        edges.push((node(source)?, node(target)?));
        if let (Some(weights), Some(column)) = (&mut weights, weight) {
            let value = table.number(column)?;
            if value <= 0.0 {
                return Err(table.malformed(column, "a number above 0", quoted(table.field(column))));
            }
            weights.push(value);
        }
    }
    let adjacency = Adjacency::from_edges(position.len(), &edges, weights.as_deref(), options.directed);
    adjacency.map(|(adjacency, _)| adjacency).map_err(|e| parts::in_file(path, e))
}

/// A table with a header, of which one row is in memory at a time.
struct Table<'a> {
    path: &'a Path,
    reader: csv::Reader<File>,
    header: Vec<String>,
    row: StringRecord,
}

impl<'a> Table<'a> {
    fn open(path: &'a Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        // Rows of another length are refused below, with a message that says which.
        let mut reader = csv::ReaderBuilder::new().flexible(true).trim(Trim::All).from_reader(file);
        let header = reader.headers().map_err(|e| unreadable(path, &e))?;
        let header: Vec<String> = header.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
        let mut columns = HashMap::new();
        for (at, name) in header.iter().enumerate() {
            if let Some(first) = columns.insert(name, at) {
                let found = format!("{} again, first in column {}", quoted(name), first + 1);
                return Err(malformed(path, 1, at + 1, "every column name once", found));
            }
        }
        Ok(Self { path, reader, header, row: StringRecord::new() })
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    fn required(&self, name: &str) -> Result<usize> {
        self.column(name).ok_or_else(|| {
            let expected = format!("a header with a column `{name}`");
            malformed(self.path, 1, 1, expected, quoted(&self.header.join(",")))
        })
    }

    /// Reads the next row; false after the last.
    fn next(&mut self) -> Result<bool> {
        let more = self.reader.read_record(&mut self.row).map_err(|e| unreadable(self.path, &e))?;
        if more && self.row.len() != self.header.len() {
            let expected = format!("{} fields, as in the header", self.header.len());
            return Err(self.malformed(self.row.len().min(self.header.len()), expected, self.row.len().to_string()));
        }
        Ok(more)
    }

    /// Rows are as long as the header, so the column exists.
    fn field(&self, column: usize) -> &str {
        self.row.get(column).unwrap_or_default()
    }

    fn number(&self, column: usize) -> Result<f32> {
        let text = self.field(column);
        let number = text.parse::<f32>().ok().filter(|x| x.is_finite());
        number.ok_or_else(|| {
            let expected = format!("a finite number for {}", quoted(&self.header[column]));
            self.malformed(column, expected, quoted(text))
        })
    }

    fn line(&self) -> u64 {
        self.row.position().map_or(0, csv::Position::line)
    }

    fn malformed(&self, column: usize, expected: impl Into<String>, found: impl Into<String>) -> Error {
        malformed(self.path, self.line(), column + 1, expected, found)
    }
}

fn unreadable(path: &Path, error: &csv::Error) -> Error {
    match error.kind() {
        csv::ErrorKind::Io(source) => from_io(path, "", source, "a table"),
        csv::ErrorKind::Utf8 { pos, err } => {
            let line = pos.as_ref().map_or(1, csv::Position::line);
            malformed(path, line, err.field() + 1, "UTF-8 text", "other bytes")
        }
        _ => Error::malformed(path, "", "a table", error.to_string()),
    }
}

/// The table of nodes.
pub(super) const NODE_FILE: &str = "nodes.csv";
/// The table of edges.
pub(super) const EDGE_FILE: &str = "edges.csv";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Features;
    use crate::readers::testing::Folder;
    use proptest::prelude::*;

    const NODES: &str = "id,label,a,split,b\nx,10,1,train,2\n\"y, z\",9,3,test,4\nw,,5,val,6\n";
    const EDGES: &str = "src,dst,weight\nx,\"y, z\",2\n\"y, z\",x,1\nw,x,0.5\n";

    fn parse(nodes: &[u8], edges: &[u8], directed: bool) -> Result<Graph> {
        let folder = Folder::new();
        folder.write(NODE_FILE, nodes);
        folder.write(EDGE_FILE, edges);
        read_with(&folder.path(""), CsvOptions { directed })
    }

    #[test]
    fn tables_become_a_graph() {
        let graph = parse(NODES.as_bytes(), EDGES.as_bytes(), false).unwrap();
        assert_eq!((graph.len(), graph.adjacency().edges(), graph.id(1).as_str()), (3, 2, "y, z"));
        assert_eq!(graph.adjacency().weights().unwrap()[graph.adjacency().arc_range(0)], [3.0, 0.5]);
        assert_eq!(graph.labels().names(), ["9", "10"]);
        assert_eq!(graph.labels().iter().collect::<Vec<_>>(), [Some(1), Some(0), None]);
        assert_eq!(graph.split().unwrap().roles(), [Role::Train, Role::Test, Role::None]);
        let Features::Dense { values, .. } = graph.features() else { panic!("no zeros") };
        assert_eq!(values[..], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(parse(NODES.as_bytes(), EDGES.as_bytes(), true).unwrap().adjacency().edges(), 3);
    }

    #[test]
    fn other_programs_tables_are_understood() {
        let nodes = "\u{feff}id, label, f0,f1,f2,f3,f4\r\n1, b ,0,0,0,0,0\r\n2,a,0,0,7,0,0\r\n";
        let graph = parse(nodes.as_bytes(), b"dst,src\r\n2,1\r\n", true).unwrap();
        assert_eq!(graph.labels().names(), ["a", "b"]);
        assert_eq!(graph.adjacency().neighbours(1), [0]);
        assert!(matches!(graph.features(), Features::Sparse(_)));
        assert!(graph.split().is_none());
    }

    #[test]
    fn errors_name_file_line_and_column() {
        let nodes = |text: &str| parse(text.as_bytes(), b"src,dst\n", false).unwrap_err().to_string();
        let edges = |text: &str| parse(NODES.as_bytes(), text.as_bytes(), false).unwrap_err().to_string();
        for (message, wanted) in [
            (
                nodes("id,label,a\nx,0,1\ny,0,1\nx,0,1\n"),
                "nodes.csv, line 4, column 1: expected every id once, found `x` again, first on line 2",
            ),
            (
                nodes("id,label,a\nx,0,one\n"),
                "nodes.csv, line 2, column 3: expected a finite number for `a`, found `one`",
            ),
            (nodes("id,label,a\nx,0,NaN\n"), "line 2, column 3: expected a finite number"),
            (nodes("id,label,a\nx,0,1\ny,0\n"), "line 3, column 3: expected 3 fields, as in the header, found 2"),
            (nodes("id,label,a\n,0,1\n"), "line 2, column 1: expected an id"),
            (
                nodes("id,label,a,split\nx,0,1,tain\n"),
                "line 2, column 4: expected train, val, test, none or nothing, found `tain`",
            ),
            (nodes("x,0,1\n"), "line 1, column 1: expected a header with a column `id`, found `x,0,1`"),
            (nodes("id,label\nx,0\n"), "expected at least one feature column"),
            (nodes("id,label,a,a\n"), "line 1, column 4: expected every column name once"),
            (nodes("id,label,a\n"), "expected at least one node"),
            (nodes(""), "line 1, column 1: expected a header"),
            (edges("src,dst\nx,w\nx,q\n"), "edges.csv, line 3, column 2: expected an id from nodes.csv, found `q`"),
            (edges("src,dst,weight\nx,w,-1\n"), "edges.csv, line 2, column 3: expected a number above 0, found `-1`"),
            (edges("src,dst,colour\n"), "edges.csv, line 1, column 3: expected the columns src, dst and weight only"),
            (edges("source,dst\n"), "expected a header with a column `src`"),
        ] {
            assert!(message.contains(wanted), "{message}\n{wanted}");
        }
        let bytes = parse(b"id,label,a\nx,\xff,1\n", b"src,dst\n", false).unwrap_err().to_string();
        assert!(bytes.contains("nodes.csv, line 2, column 2: expected UTF-8 text"), "{bytes}");
    }

    proptest! {
        #[test]
        fn damage_never_panics(cut in 0usize..120, at in 0usize..120, bit in 0u8..8, in_nodes: bool) {
            let (mut nodes, mut edges) = (NODES.as_bytes().to_vec(), EDGES.as_bytes().to_vec());
            let table = if in_nodes { &mut nodes } else { &mut edges };
            let length = table.len();
            table[at % length] ^= 1 << bit;
            table.truncate(cut.max(1));
            let _ = parse(&nodes, &edges, false);
        }
    }
}
