//! The gzipped tables of the Open Graph Benchmark: ogbn-arxiv, ogbn-products and others for node
//! classification.
//!
//! No file has a header. `num-node-list.csv.gz` holds n; `edge.csv.gz` one `source,target` per
//! line; `node-label.csv.gz` one class per line; `node-feat.csv.gz` d numbers per line;
//! `train.csv.gz`, `valid.csv.gz` and `test.csv.gz` one node per line. OGB's own layout has the
//! tables in `raw/` and the split in `split/SCHEME/`; all files side by side in one folder are
//! understood too. Everything is read as a stream, and all tables together are paid from one
//! `Budget`. Edges are read as undirected, although some datasets publish a direction, because that
//! is how they are used for classification.

use std::path::{Path, PathBuf};

use boostfgl_graph::{Adjacency, Error, Features, Graph, Labels, Result, Role, Split};

use super::budget::Budget;
use super::text::{Lines, quoted};
use super::{Detection, Match, Reader, parts};

/// The line of this format in the table.
pub(super) const READER: Reader = Reader {
    name: "ogb",
    description: "a folder with edge.csv.gz, node-label.csv.gz, node-feat.csv.gz, in raw/ or not",
    needs: &["edge.csv.gz", "node-label.csv.gz", "node-feat.csv.gz"],
    optional: "num-node-list.csv.gz, num-edge-list.csv.gz; a split: train.csv.gz, \
        valid.csv.gz, test.csv.gz",
    detection: Detection::Files { order: 4, matches },
    read,
};

/// Reads a graph from its folder.
///
/// # Errors
/// If a table is missing (the features among them) or malformed; the message names file and line.
pub fn read(folder: &Path) -> Result<Graph> {
    let Some(path) = find(folder, "node-feat.csv.gz") else {
        let expected = "the node features, node-feat.csv.gz";
        return Err(Error::malformed(folder, "", expected, "a graph without features"));
    };
    let budget = Budget::new();
    let (adjacency, labels, splits) = all_but_features(folder, &budget)?;
    let features = features(&path, labels.len(), &budget)?;
    let graph = Graph::new(parts::name_of(folder), adjacency, features, labels);
    graph.map_err(|e| parts::in_file(folder, e))?.with_splits(splits)
}

/// Reads all but the features, for copies that lack them.
///
/// # Errors
/// As [`read`], except for the features.
pub fn read_without_features(folder: &Path) -> Result<(Adjacency, Labels, Vec<Split>)> {
    all_but_features(folder, &Budget::new())
}

fn all_but_features(folder: &Path, budget: &Budget) -> Result<(Adjacency, Labels, Vec<Split>)> {
    let nodes = count(folder, "num-node-list.csv.gz", budget)?;
    let label_path = table(folder, "node-label.csv.gz")?;
    let wanted = "one integer class";
    let classes = Lines::unpack(&label_path, budget)?.numbers::<i64, 1>(
        ',',
        wanted,
        nodes.unwrap_or(usize::MAX),
    )?;
    let classes: Vec<i64> = classes.into_iter().map(|[class]| class).collect();
    if nodes.is_some_and(|nodes| nodes != classes.len()) {
        let expected = format!("{} lines, one per node", nodes.unwrap_or_default());
        return Err(Error::malformed(&label_path, "", expected, classes.len().to_string()));
    }
    let labels = parts::labels(&label_path, &classes)?;
    let adjacency = adjacency(folder, labels.len(), budget)?;
    let split = split(folder, labels.len(), budget)?;
    Ok((adjacency, labels, split.into_iter().collect()))
}

/// A table, in the folder itself or in `raw/`.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    [folder.join(name), folder.join("raw").join(name)].into_iter().find(|path| path.is_file())
}

/// Whether a folder holds such tables.
fn matches(path: &Path) -> Result<Match> {
    Ok(find(path, EDGE_FILE).is_some().into())
}

fn table(folder: &Path, name: &str) -> Result<PathBuf> {
    find(folder, name).ok_or_else(|| {
        let expected = format!("{name}, here or in raw/");
        Error::malformed(folder, "", expected, "no such file")
    })
}

/// The single number in a table, if the table is there.
fn count(folder: &Path, name: &str, budget: &Budget) -> Result<Option<usize>> {
    let Some(path) = find(folder, name) else { return Ok(None) };
    let numbers = Lines::unpack(&path, budget)?.numbers::<usize, 1>(',', "one number", 1)?;
    match numbers[..] {
        [[number]] => Ok(Some(number)),
        _ => Err(Error::malformed(&path, "", "one number", "an empty file")),
    }
}

fn adjacency(folder: &Path, nodes: usize, budget: &Budget) -> Result<Adjacency> {
    let path = table(folder, EDGE_FILE)?;
    let limit = count(folder, "num-edge-list.csv.gz", budget)?;
    let wanted = "two node numbers with a comma between";
    let edges = Lines::unpack(&path, budget)?.numbers::<u32, 2>(
        ',',
        wanted,
        limit.unwrap_or(usize::MAX),
    )?;
    if limit.is_some_and(|limit| limit != edges.len()) {
        let expected = format!("{} edges, as in num-edge-list.csv.gz", limit.unwrap_or_default());
        return Err(Error::malformed(&path, "", expected, edges.len().to_string()));
    }
    let edges: Vec<(u32, u32)> =
        edges.into_iter().map(|[source, target]| (source, target)).collect();
    parts::undirected(&path, nodes, &edges)
}

fn features(path: &Path, nodes: usize, budget: &Budget) -> Result<Features> {
    let mut lines = Lines::unpack(path, budget)?;
    let mut values: Vec<f32> = Vec::new();
    let (mut rows, mut columns) = (0, 0);
    while let Some(line) = lines.next()? {
        let before = values.len();
        for (column, field) in line.split(',').enumerate() {
            match field.trim().parse::<f32>().ok().filter(|x| x.is_finite()) {
                Some(value) => values.push(value),
                None => {
                    let found = quoted(field);
                    return Err(lines.malformed(column + 1, "a finite number", found));
                }
            }
        }
        let width = values.len() - before;
        lines.hold(width * size_of::<f32>())?;
        if rows > 0 && width != columns {
            return Err(lines.malformed(1, format!("{columns} numbers"), width.to_string()));
        }
        columns = width;
        rows += 1;
        if rows > nodes {
            return Err(lines.malformed(1, format!("{nodes} lines, one per node"), "more lines"));
        }
    }
    if rows != nodes {
        return Err(Error::malformed(
            path,
            "",
            format!("{nodes} lines, one per node"),
            rows.to_string(),
        ));
    }
    Features::dense(rows, columns, values).map_err(|e| parts::in_file(path, e))
}

fn split(folder: &Path, nodes: usize, budget: &Budget) -> Result<Option<Split>> {
    let Some(folder) = split_folder(folder)? else { return Ok(None) };
    let mut lists = Vec::new();
    for (role, name) in
        [(Role::Train, "train.csv.gz"), (Role::Val, "valid.csv.gz"), (Role::Test, "test.csv.gz")]
    {
        let list = Lines::unpack(&folder.join(name), budget)?.numbers::<u32, 1>(
            ',',
            "one node number",
            nodes,
        )?;
        let list: Vec<u32> = list.into_iter().map(|[v]| v).collect();
        lists.push((role, name, list));
    }
    let lists: Vec<_> = lists.iter().map(|(role, name, list)| (*role, *name, &list[..])).collect();
    parts::split(&folder, nodes, &lists).map(Some)
}

/// The folder with the three lists: the tables' own, or the only one in `split/`.
fn split_folder(folder: &Path) -> Result<Option<PathBuf>> {
    if folder.join("train.csv.gz").is_file() {
        return Ok(Some(folder.to_path_buf()));
    }
    let schemes = folder.join("split");
    if !schemes.is_dir() {
        return Ok(None);
    }
    let entries = schemes.read_dir().map_err(|e| Error::io(&schemes, e))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("train.csv.gz").is_file())
        .collect();
    found.sort();
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => {
            let names: Vec<String> = found.iter().map(|path| parts::name_of(path)).collect();
            Err(Error::malformed(&schemes, "", "one way to split", names.join(", ")))
        }
    }
}

const EDGE_FILE: &str = "edge.csv.gz";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::testing::{Folder, survives_damage};

    const TABLES: [(&str, &str); 5] = [
        ("num-node-list.csv.gz", "3\n"),
        ("num-edge-list.csv.gz", "3\n"),
        ("edge.csv.gz", "0,1\n1,0\n2,1\n"),
        ("node-label.csv.gz", "0\n1\n1\n"),
        ("node-feat.csv.gz", "0.5,1\n-1,2e-3\n0,0\n"),
    ];
    const LISTS: [(&str, &str); 3] =
        [("train.csv.gz", "0\n"), ("valid.csv.gz", "2\n"), ("test.csv.gz", "1\n")];

    fn folder(raw: &str, split: &str) -> Folder {
        let folder = Folder::new();
        TABLES.iter().for_each(|(name, text)| folder.write_gz(&format!("{raw}{name}"), text));
        LISTS.iter().for_each(|(name, text)| folder.write_gz(&format!("{split}{name}"), text));
        folder
    }

    #[test]
    fn both_layouts_give_the_same_graph() {
        let (flat, deep) = (folder("", ""), folder("raw/", "split/time/"));
        let graph = read(&flat.path("")).unwrap();
        assert_eq!(graph, read(&deep.path("")).unwrap().renamed(graph.name()));
        assert_eq!((graph.len(), graph.adjacency().edges(), graph.features().columns()), (3, 2, 2));
        assert_eq!(graph.split().unwrap().roles(), [Role::Train, Role::Test, Role::Val]);
        LISTS.iter().for_each(|(name, text)| deep.write_gz(&format!("split/sales/{name}"), text));
        assert!(
            read(&deep.path(""))
                .unwrap_err()
                .to_string()
                .contains("one way to split, found sales, time")
        );
    }

    #[test]
    fn errors_name_file_and_line() {
        let reason = |name: &str, text: &str| {
            let folder = folder("", "");
            folder.write_gz(name, text);
            read(&folder.path("")).unwrap_err().to_string()
        };
        assert!(reason("edge.csv.gz", "0,1\n1\n2,1\n").contains("edge.csv.gz, line 2, column 1"));
        assert!(
            reason("edge.csv.gz", "0,1\n1,2\n2,3\n")
                .contains("edge 2: expected node indices below 3")
        );
        assert!(reason("edge.csv.gz", "0,1\n").contains("expected 3 edges"));
        assert!(
            reason("node-label.csv.gz", "0\n1\n")
                .contains("expected 3 lines, one per node, found 2")
        );
        assert!(reason("num-node-list.csv.gz", "1000000000000\n").contains("1000000000000 lines"));
        assert!(reason("num-node-list.csv.gz", "").contains("an empty file"));
        assert!(
            reason("node-feat.csv.gz", "1,1\n1,nan\n1,1\n")
                .contains("node-feat.csv.gz, line 2, column 2")
        );
        assert!(
            reason("node-feat.csv.gz", "1,1\n1\n1,1\n")
                .contains("line 2, column 1: expected 2 numbers, found 1")
        );
        assert!(reason("node-feat.csv.gz", "1,1\n1,1\n").contains("expected 3 lines"));
        assert!(
            reason("test.csv.gz", "3\n").contains("test.csv.gz: expected node indices below 3")
        );
        assert!(reason("test.csv.gz", "0\n").contains("also as train"));
    }

    /// A table of edges next to a file that states how many there are.
    #[test]
    fn tables_that_unpack_beyond_the_budget_are_refused() {
        let (folder, edges) = (folder("", ""), 3 << 20);
        folder.write_gz("num-edge-list.csv.gz", &format!("{edges}\n"));
        folder.write_gz("edge.csv.gz", &"0,1\n".repeat(edges));
        let reason = read(&folder.path("")).unwrap_err().to_string();
        assert!(
            reason.contains("edge.csv.gz, line ")
                && reason.contains("bytes unpacked in all (32 MiB"),
            "{reason}"
        );
    }

    #[test]
    fn features_may_be_absent_if_they_are_not_read() {
        let folder = folder("", "");
        std::fs::remove_file(folder.path("node-feat.csv.gz")).unwrap();
        assert!(
            read(&folder.path(""))
                .unwrap_err()
                .to_string()
                .contains("node-feat.csv.gz, found a graph without")
        );
        let (adjacency, labels, split) = read_without_features(&folder.path("")).unwrap();
        assert_eq!((adjacency.edges(), labels.len(), split.len()), (2, 3, 1));
    }

    #[test]
    fn damage_never_panics() {
        let folder = folder("", "");
        for (name, _) in TABLES {
            survives_damage(&folder.path(name), |path| read(path.parent().unwrap()).is_ok());
        }
    }
}
