//! The text files of Geom-GCN: Chameleon, Squirrel, Cornell, Texas, Wisconsin.
//!
//! `out1_graph_edges.txt` has a header and then one edge per line, two node numbers with a tab
//! between. `out1_node_feature_label.txt` has a header and then, per node, its number, its features
//! as `0,1,0,…` and its class, separated by tabs. Edges are read as undirected. (The *film* dataset
//! lists the indices of its non-zero features instead; its lines differ in length and are refused
//! for that.)

use std::path::Path;

use boostfgl_graph::{Graph, Result};

use super::text::{Lines, quoted};
use super::{Detection, Match, Reader, parts};

/// The line of this format in the table.
pub(super) const READER: Reader = Reader {
    name: "geom-gcn",
    description: "a folder with out1_graph_edges.txt and out1_node_feature_label.txt",
    needs: &[EDGE_FILE, NODE_FILE],
    optional: "",
    detection: Detection::Files { order: 3, matches },
    read,
};

/// Whether this is the file of edges, or a folder with it and the file of nodes.
fn matches(path: &Path) -> Result<Match> {
    if path.is_dir() && !path.join(EDGE_FILE).is_file() {
        return Ok(Match::No);
    }
    if path.is_dir() && !path.join(NODE_FILE).is_file() {
        return Ok(Match::Incomplete);
    }
    Ok((path.is_dir() || path.file_name().is_some_and(|name| name == EDGE_FILE)).into())
}

/// Reads a graph from the folder that holds both files, or from the path of its edge file.
///
/// # Errors
/// If a file is missing or malformed; the message names file and line.
pub fn read(path: &Path) -> Result<Graph> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let nodes_path = folder.join(NODE_FILE);
    let nodes = Nodes::read(&nodes_path)?;
    let mut lines = Lines::open(&folder.join(EDGE_FILE))?;
    lines.next()?;
    let edges = lines.numbers::<u32, 2>('\t', "two node numbers with a tab between", usize::MAX)?;
    let edges: Vec<(u32, u32)> = edges.iter().map(|&[source, target]| (source, target)).collect();
    let adjacency = parts::undirected(&folder.join(EDGE_FILE), nodes.labels.len(), &edges)?;
    let features = parts::compact(&nodes_path, nodes.labels.len(), nodes.columns, nodes.values)?;
    let labels = parts::labels(&nodes_path, &nodes.labels)?;
    Graph::new(parts::name_of(folder), adjacency, features, labels)
        .map_err(|e| parts::in_file(&nodes_path, e))
}

/// The content of the node file, in order of node number.
struct Nodes {
    columns: usize,
    values: Vec<f32>,
    labels: Vec<i64>,
}

impl Nodes {
    fn read(path: &Path) -> Result<Self> {
        let mut lines = Lines::open(path)?;
        lines.next()?;
        let mut nodes = Self { columns: 0, values: Vec::new(), labels: Vec::new() };
        let mut order = Vec::new();
        while let Some(line) = lines.next()? {
            let line = line.to_owned();
            order.push(nodes.push(&line, &lines)?);
        }
        nodes.sorted(&order, &lines)
    }

    /// Appends one line and returns the number of its node.
    fn push(&mut self, line: &str, lines: &Lines) -> Result<usize> {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[id, features, label] = &fields[..] else {
            let expected = "node number, features and class with tabs between";
            return Err(lines.malformed(1, expected, format!("{} fields", fields.len())));
        };
        let before = self.values.len();
        for feature in features.split(',') {
            let value = feature.trim().parse::<f32>().ok().filter(|x| x.is_finite());
            self.values
                .push(value.ok_or_else(|| lines.malformed(2, "finite numbers", quoted(feature)))?);
        }
        let columns = self.values.len() - before;
        if before > 0 && columns != self.columns {
            return Err(lines.malformed(
                2,
                format!("{} features", self.columns),
                columns.to_string(),
            ));
        }
        self.columns = columns;
        let class = label
            .trim()
            .parse()
            .map_err(|_| lines.malformed(3, "an integer class", quoted(label)))?;
        self.labels.push(class);
        id.trim().parse().map_err(|_| lines.malformed(1, "a node number", quoted(id)))
    }

    /// Moves line i to the position of node `order[i]`.
    fn sorted(self, order: &[usize], lines: &Lines) -> Result<Self> {
        let mut line_of = vec![None; order.len()];
        for (line, &v) in order.iter().enumerate() {
            let Some(free @ None) = line_of.get_mut(v) else {
                let expected = format!("every node number from 0 to {} once", order.len() - 1);
                return Err(lines.malformed(
                    1,
                    expected,
                    format!("node {v} twice or out of range"),
                ));
            };
            *free = Some(line);
        }
        let mut values = Vec::with_capacity(self.values.len());
        let mut labels = Vec::with_capacity(self.labels.len());
        for line in line_of.into_iter().flatten() {
            values.extend_from_slice(&self.values[line * self.columns..(line + 1) * self.columns]);
            labels.push(self.labels[line]);
        }
        Ok(Self { columns: self.columns, values, labels })
    }
}

/// The file by which the format is recognised.
pub(super) const EDGE_FILE: &str = "out1_graph_edges.txt";
/// The file with features and labels.
pub(super) const NODE_FILE: &str = "out1_node_feature_label.txt";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::testing::Folder;
    use boostfgl_graph::{Error, Features};

    const EDGES: &str = "node_id\tnode_id\n0\t1\n1\t0\n2\t2\n";
    const NODES: &str =
        "node_id\tfeature\tlabel\n2\t0,0,0,0,0\t1\n0\t1,0,0,0,0\t0\n1\t0,0,0,0,1\t1\n";

    fn parse(edges: &str, nodes: &str) -> Result<Graph> {
        let folder = Folder::new();
        folder.write(EDGE_FILE, edges.as_bytes());
        folder.write(NODE_FILE, nodes.as_bytes());
        read(&folder.path(""))
    }

    #[test]
    fn nodes_may_come_in_any_order() {
        let graph = parse(EDGES, NODES).unwrap();
        assert_eq!((graph.len(), graph.adjacency().edges(), graph.classes()), (3, 1, 2));
        assert_eq!(graph.labels().iter().collect::<Vec<_>>(), [Some(0), Some(1), Some(1)]);
        let Features::Sparse(matrix) = graph.features() else { panic!("two of fifteen is sparse") };
        assert_eq!(
            (matrix.row(0).0, matrix.row(1).0, matrix.row(2).0),
            (&[0][..], &[4][..], &[][..])
        );
    }

    #[test]
    fn errors_name_file_and_line() {
        let reason = |edges: &str, nodes: &str| parse(edges, nodes).unwrap_err().to_string();
        assert!(reason("h\n0\tx\n", NODES).contains("out1_graph_edges.txt, line 2, column 1"));
        assert!(reason("h\n0\t3\n", NODES).contains("edge 0: expected node indices below 3"));
        let nodes = |line: &str| reason(EDGES, &format!("{NODES}{line}\n"));
        assert!(nodes("1\t0,0,0,0,0\t0").contains("node 1 twice"));
        assert!(nodes("9\t0,0,0,0,0\t0").contains("out of range"));
        assert!(nodes("3\t0,0\t0").contains("line 5, column 2: expected 5 features, found 2"));
        assert!(
            nodes("3\t0,0,NaN,0,0\t0").contains("column 2: expected finite numbers, found `NaN`")
        );
        assert!(nodes("3\t0,0,0,0,0\tx").contains("column 3"));
        assert!(nodes("3").contains("found 1 fields"));
        assert!(parse(EDGES, "").is_err());
        assert!(parse(EDGES, "header\n").is_err());
    }

    #[test]
    fn a_missing_node_file_is_named() {
        let folder = Folder::new();
        folder.write(EDGE_FILE, EDGES.as_bytes());
        let error = read(&folder.path(EDGE_FILE)).unwrap_err();
        assert!(
            matches!(&error, Error::Io { .. }) && error.to_string().contains(NODE_FILE),
            "{error}"
        );
    }
}
