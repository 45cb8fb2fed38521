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

mod write;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use boostfgl_graph::{
    Adjacency, Graph, GroupColumn, Labels, Problems, Result, Role, Split, numbered,
};

pub use write::write;

use super::table::Table;
use super::text::{malformed, quoted};
use super::{Detection, Match, Reader, parts};

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
        in edges.csv a column weight",
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
    let path = folder.join(NODE_FILE);
    let nodes = Nodes::read(&path)?;
    let adjacency = read_edges(&folder.join(EDGE_FILE), &nodes.position, options)?;
    let features = parts::compact(&path, nodes.ids.len(), nodes.columns.len(), nodes.features)?;
    let labels = name_classes(&nodes.labels)?;
    let graph = Graph::new(parts::name_of(folder), adjacency, features, labels)
        .map_err(|e| parts::in_file(&path, e))?;
    let columns = nodes
        .groups
        .into_iter()
        .map(|(name, texts)| GroupColumn::from_texts(name, &texts))
        .collect();
    let graph = graph
        .with_ids(nodes.ids)?
        .with_group_columns(columns)?
        .with_feature_names(nodes.columns)?;
    match nodes.roles {
        Some(roles) => graph.with_split(Split::new(roles)),
        None => Ok(graph),
    }
}

/// The content of `nodes.csv`.
struct Nodes {
    ids: Vec<String>,
    /// The position of each id, and the byte at which its row begins.
    position: HashMap<String, (u32, u64)>,
    labels: Vec<String>,
    roles: Option<Vec<Role>>,
    /// The names of the feature columns.
    columns: Vec<String>,
    features: Vec<f32>,
    /// Name and fields of each group column.
    groups: Vec<(String, Vec<String>)>,
}

impl Nodes {
    fn read(path: &Path) -> Result<Self> {
        let mut table = Table::open(path)?;
        let (id, label) = (table.required("id")?, table.required("label")?);
        let split = table.column("split");
        let groups = table.group_columns()?;
        let reserved: HashSet<usize> = [id, label]
            .into_iter()
            .chain(split)
            .chain(groups.iter().map(|group| group.0))
            .collect();
        let feature_columns: Vec<usize> =
            (0..table.header.len()).filter(|at| !reserved.contains(at)).collect();
        if feature_columns.is_empty() {
            return Err(malformed(
                path,
                1,
                table.header.len(),
                "at least one feature column",
                "none",
            ));
        }
        let mut nodes = Self {
            ids: Vec::new(),
            position: HashMap::new(),
            labels: Vec::new(),
            roles: split.map(|_| Vec::new()),
            columns: feature_columns.iter().map(|&at| table.header[at].clone()).collect(),
            features: Vec::new(),
            groups: groups.iter().map(|(_, name)| (name.clone(), Vec::new())).collect(),
        };
        let mut problems = Problems::new(path);
        while table.next(&mut problems)? {
            nodes.push_id(&table, id, &mut problems)?;
            nodes.labels.push(table.field(label).to_owned());
            if let (Some(roles), Some(split)) = (&mut nodes.roles, split) {
                roles.push(role(&table, split, label, &mut problems));
            }
            // The default for an invalid field is never used, since any problem ends in an error.
            let features = feature_columns
                .iter()
                .map(|&column| table.feature(column, &mut problems).unwrap_or(0.0));
            nodes.features.extend(features);
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

/// Numbers the classes in the order of their names.
fn name_classes(labels: &[String]) -> Result<Labels> {
    let (names, class) = numbered(labels);
    Labels::new(class, names)
}

fn read_edges(
    path: &Path,
    position: &HashMap<String, (u32, u64)>,
    options: CsvOptions,
) -> Result<Adjacency> {
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
    adjacency.map(|(adjacency, _)| adjacency).map_err(|e| parts::in_file(path, e))
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
mod tests {
    use super::*;
    use crate::readers::testing::Folder;
    use boostfgl_graph::Features;
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
        assert_eq!(
            graph.adjacency().weights().unwrap()[graph.adjacency().arc_range(0)],
            [3.0, 0.5]
        );
        assert_eq!(graph.labels().names(), ["9", "10"]);
        assert_eq!(graph.labels().iter().collect::<Vec<_>>(), [Some(1), Some(0), None]);
        assert_eq!(graph.split().unwrap().roles(), [Role::Train, Role::Test, Role::None]);
        let Features::Dense { values, .. } = graph.features() else { panic!("no zeros") };
        assert_eq!(values[..], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(parse(NODES.as_bytes(), EDGES.as_bytes(), true).unwrap().adjacency().edges(), 3);
    }

    /// Comparing every name with every other would take minutes: 60,000² are 3,600 million
    /// comparisons.
    #[test]
    fn many_groupings_take_time_in_proportion() {
        let count = 60_000;
        let titles: String = (0..count).map(|k| format!(",group:g{k}")).collect();
        let nodes = format!("id,label,a{titles}\nx,0,1{}\n", ",".repeat(count));
        let begun = std::time::Instant::now();
        let graph = parse(nodes.as_bytes(), b"src,dst\n", false).unwrap();
        assert_eq!(graph.group_columns().len(), count);
        assert!(begun.elapsed().as_secs() < 8, "took {:?}", begun.elapsed());
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
    fn group_columns_are_no_features() {
        let nodes = "id,group:age,label,a,group: sex \nx,10,0,1,f\ny,9,1,2,\nz,,0,3,m\n";
        let graph = parse(nodes.as_bytes(), b"src,dst\nx,y\n", false).unwrap();
        let columns = [
            GroupColumn::from_texts("age", &["10", "9", ""]),
            GroupColumn::from_texts("sex", &["f", "", "m"]),
        ];
        assert_eq!(graph.group_columns(), columns);
        assert_eq!(graph.group_columns()[0].values, ["9", "10"]);
        let plain = parse(b"id,label,a\nx,0,1\ny,1,2\nz,0,3\n", b"src,dst\nx,y\n", false).unwrap();
        assert_eq!(graph.features(), plain.features());
        assert_eq!(
            graph.clone().renamed("r").scaled(boostfgl_graph::Scaling::Binary).group_columns(),
            columns
        );
        assert!(graph.induced(&[0, 1]).group_columns().is_empty());
    }

    #[test]
    fn errors_name_file_line_and_column() {
        let nodes =
            |text: &str| parse(text.as_bytes(), b"src,dst\n", false).unwrap_err().to_string();
        let edges =
            |text: &str| parse(NODES.as_bytes(), text.as_bytes(), false).unwrap_err().to_string();
        for (message, wanted) in [
            (
                nodes("id,label,a\nx,0,1\ny,0,1\nx,0,1\n"),
                "nodes.csv, line 4, column 1: expected every id once, found `x` again, first on \
                 line 2",
            ),
            (
                nodes("id,label,a\nx,0,one\n"),
                "nodes.csv, line 2, column 3: expected a finite number for `a`, found `one`",
            ),
            (
                nodes("id,label,a\nx,0,NaN\n"),
                "line 2, column 3: expected a finite number for `a`, found `NaN`",
            ),
            (
                nodes("id,label,a\nx,0,1\ny,0\n"),
                "line 3, column 3: expected 3 fields, as in the header, found 2",
            ),
            (nodes("id,label,a\n,0,1\n"), "line 2, column 1: expected an id"),
            (
                nodes("id,label,a,split\nx,0,1,tain\n"),
                "line 2, column 4: expected train, val, test, none or nothing, found `tain`",
            ),
            (
                nodes("x,0,1\n"),
                "line 1, column 1: expected a header with a column `id`, found `x,0,1`",
            ),
            (nodes("id,label\nx,0\n"), "expected at least one feature column"),
            (nodes("id,label,a,a\n"), "line 1, column 4: expected every column name once"),
            (nodes("id,label,group:a\nx,0,1\n"), "expected at least one feature column"),
            (
                nodes("id,label,town\nx,0,Ulm\n"),
                "found `Ulm` (a column of names is a grouping if it is called `group:town`)",
            ),
            (
                nodes("id,label,a,group:\n"),
                "line 1, column 4: expected a name after `group:`, found `group:`",
            ),
            (nodes("id,label,a,group:b*c\n"), "line 1, column 4: expected a name without `*`"),
            (
                nodes("id,label,a,group:b,group: b\n"),
                "line 1, column 5: expected every name of a grouping once, found `b` again, first \
                 in column 4",
            ),
            (nodes("id,label,a\n"), "expected at least one node"),
            (nodes(""), "line 1, column 1: expected a header"),
            (
                edges("src,dst\nx,w\nx,q\n"),
                "edges.csv, line 3, column 2: expected an id from nodes.csv, found `q`",
            ),
            (
                edges("src,dst,weight\nx,w,-1\n"),
                "edges.csv, line 2, column 3: expected a number above 0, found `-1`",
            ),
            (
                edges("src,dst,colour\n"),
                "edges.csv, line 1, column 3: expected the columns src, dst and weight only",
            ),
            (edges("source,dst\n"), "expected a header with a column `src`"),
        ] {
            assert!(message.contains(wanted), "{message}\n{wanted}");
        }
        let bytes = parse(b"id,label,a\nx,\xff,1\n", b"src,dst\n", false).unwrap_err().to_string();
        assert!(bytes.contains("nodes.csv, line 2, column 2: expected UTF-8 text"), "{bytes}");
    }

    #[test]
    fn lines_are_numbered_as_in_an_editor_for_all_line_endings() {
        let nodes = "id,label,a\nx,0,1\n\ny,0,one\nx,1,2\n";
        for end in ["\n", "\r\n"] {
            let message = parse(nodes.replace('\n', end).as_bytes(), b"src,dst\n", false)
                .unwrap_err()
                .to_string();
            assert!(
                message.contains(
                    "\n  line 4, column 3: expected a finite number for `a`, found `one`"
                ),
                "{message}"
            );
            assert!(message.ends_with(
                "\n  line 5, column 1: expected every id once, found `x` again, first on line 2"
            ));
            let edges = "src,dst\nx,w\nx,q\n".replace('\n', end);
            let message = parse(NODES.as_bytes(), edges.as_bytes(), false).unwrap_err().to_string();
            assert!(message.contains("edges.csv, line 3, column 2"), "{message}");
            let message =
                parse(format!("id,label,a{end}x,0,1{end}y,0{end}").as_bytes(), b"src,dst\n", false);
            assert!(message.unwrap_err().to_string().contains("nodes.csv, line 3, column 3"));
        }
    }

    #[test]
    fn all_problems_of_a_table_are_reported_at_once() {
        let rows: String = (0..30).map(|at| format!("n{at},0,x{at}\n")).collect();
        let message = parse(format!("id,label,a\n{rows},0,1\n").as_bytes(), b"src,dst\n", false)
            .unwrap_err()
            .to_string();
        let lines: Vec<&str> = message.lines().collect();
        assert!(lines[0].ends_with("nodes.csv: 31 problems") && lines.len() == 22, "{message}");
        assert!(
            lines[1].starts_with("  line 2, column 3: ") && lines[20].starts_with("  line 21, "),
            "{message}"
        );
        assert_eq!(lines[21], "  and 11 more");
        let edges = b"src,dst,weight\nx,q,1\np,x,-1\nx,w\n\xff,w,1\nx,w,1\n";
        let message = parse(NODES.as_bytes(), edges, false).unwrap_err().to_string();
        let places = [
            "line 2, column 2: ",
            "line 3, column 1: ",
            "line 3, column 3: ",
            "line 4, column 3: ",
            "line 5, ",
        ];
        assert!(message.contains("edges.csv: 5 problems"), "{message}");
        for (line, place) in message.lines().skip(1).zip(places) {
            assert!(line.trim_start().starts_with(place), "{message}");
        }
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
