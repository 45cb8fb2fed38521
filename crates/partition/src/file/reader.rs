//! Reading `partition.csv`, row by row.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use boostfgl_disk::Checksums;
use boostfgl_graph::{Graph, NodeIds, Problems, Role, Split};

use crate::{Error, Result};

/// The content of a file for one seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// Number of clients K.
    pub clients: usize,
    /// The client of each node.
    pub client: Vec<u32>,
    /// The role of each node, if the file has a `split` column.
    pub split: Option<Split>,
}

/// Reads the partition of `seed` for `graph`. The rules are in [`file`](mod@crate::file).
///
/// Rows are read one by one: memory O(n), however many seeds the file holds.
///
/// # Errors
/// If the file cannot be read; if a column is missing; if a row names an unknown node, client or
/// role, gives a role to a node without a label, or repeats a node; if a node is missing; if
/// clients are not 0..K without gaps; if the file holds several seeds but not this one. Messages
/// name file, line and column of all rows that are wrong.
pub fn read(path: &Path, graph: &Graph, seed: u64) -> Result<Saved> {
    let source =
        std::fs::File::open(path).map_err(|error| boostfgl_graph::Error::io(path, error))?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(source);
    let header = reader.headers().map_err(|error| unreadable(path, error))?;
    let columns = Columns::find(path, header)?;
    let nodes = Nodes::of(graph)?;

    let mut seeds = BTreeSet::new();
    // The rows of the requested seed or, until one is read, of the first seed, which is used if it
    // is the only one.
    let mut chosen = Rows::new(graph.len(), seed);
    let mut record = csv::StringRecord::new();
    let mut problems = Problems::new(path);
    loop {
        match reader.read_record(&mut record) {
            Ok(false) => break,
            Ok(true) => {}
            Err(error) => {
                let (at, (expected, found)) =
                    row_fault(&error).ok_or_else(|| unreadable(path, error))?;
                problems.add(at, None, || (expected, found));
                continue;
            }
        }
        let mut place = Place { columns: &columns, record: &record, problems: &mut problems };
        let Some(row) = Row::parse(&mut place, graph, &nodes, seed) else { continue };
        if seeds.is_empty() || (chosen.seed != seed && row.seed == seed) {
            chosen = Rows::new(graph.len(), row.seed);
        }
        seeds.insert(row.seed);
        if row.seed == chosen.seed {
            chosen.put(&row, &mut place);
        }
    }
    problems.finish()?;
    if chosen.seed != seed && seeds.len() > 1 {
        return Err(Error::SeedAbsent {
            path: path.to_path_buf(),
            seed,
            present: seeds.into_iter().collect(),
        });
    }
    let saved = chosen.finish(path, graph, columns.split.is_some())?;
    // In the folder of a run, the file must still be what the run wrote.
    Checksums::check_file(path).map_err(boostfgl_graph::Error::from)?;
    Ok(saved)
}

/// The positions of the columns.
struct Columns {
    seed: Option<usize>,
    node: usize,
    client: usize,
    split: Option<usize>,
}

impl Columns {
    fn find(path: &Path, header: &csv::StringRecord) -> Result<Self> {
        Ok(Self {
            seed: optional_column(path, header, "seed")?,
            node: required_column(path, header, "node")?,
            client: required_column(path, header, "client")?,
            split: optional_column(path, header, "split")?,
        })
    }
}

fn optional_column(path: &Path, header: &csv::StringRecord, name: &str) -> Result<Option<usize>> {
    let mut positions =
        header.iter().enumerate().filter(|(_, title)| *title == name).map(|(at, _)| at);
    match (positions.next(), positions.next()) {
        (Some(_), Some(_)) => Err(in_header(path, format!("column `{name}` once"), "it twice")),
        (first, _) => Ok(first),
    }
}

fn required_column(path: &Path, header: &csv::StringRecord, name: &str) -> Result<usize> {
    optional_column(path, header, name)?.ok_or_else(|| {
        let found = format!("`{}`", header.iter().collect::<Vec<_>>().join(","));
        in_header(path, format!("a column `{name}`"), found)
    })
}

/// Finds nodes by the name they had in their source.
enum Nodes<'a> {
    Position(usize),
    // For look-up only: the order of a hash map must not affect a result.
    Named(HashMap<&'a str, u32>),
}

impl<'a> Nodes<'a> {
    fn of(graph: &'a Graph) -> Result<Self> {
        let NodeIds::Named(names) = graph.ids() else { return Ok(Self::Position(graph.len())) };
        let mut nodes = HashMap::with_capacity(names.len());
        for (v, name) in names.iter().enumerate() {
            // Fields of the file are trimmed, so names are compared trimmed.
            if nodes.insert(name.trim(), v as u32).is_some() {
                let what = format!("node ids of {}", graph.name());
                let found = format!("`{name}` twice");
                return Err(
                    boostfgl_graph::Error::inconsistent(what, "every name once", found).into()
                );
            }
        }
        Ok(Self::Named(nodes))
    }

    fn find(&self, name: &str) -> Option<u32> {
        match self {
            Self::Position(nodes) => name.parse::<u32>().ok().filter(|&v| (v as usize) < *nodes),
            Self::Named(nodes) => nodes.get(name).copied(),
        }
    }
}

/// One parsed row.
struct Row {
    seed: u64,
    node: u32,
    client: u32,
    role: Role,
}

impl Row {
    /// `any_seed` is the seed if the file has no such column. `None` if a field is wrong, which is
    /// added to the problems.
    fn parse(
        place: &mut Place<'_, '_>,
        graph: &Graph,
        nodes: &Nodes<'_>,
        any_seed: u64,
    ) -> Option<Self> {
        let columns = place.columns;
        let seed = match columns.seed {
            Some(at) => {
                let seed = place.field(at).parse().ok();
                place.known(seed, at, || "a seed, 0 or a larger integer".to_owned())
            }
            None => Some(any_seed),
        };
        let node = nodes.find(place.field(columns.node));
        let node = place.known(node, columns.node, || format!("a node of {}", graph.name()));
        // There are at most as many clients as nodes. This also bounds the memory that a corrupt
        // number can cause to be allocated.
        let client =
            place.field(columns.client).parse::<u32>().ok().filter(|&k| (k as usize) < graph.len());
        let client = place.known(client, columns.client, || {
            format!("a client number from 0 to {} at most", graph.len() - 1)
        });
        let role = match (columns.split, node) {
            (Some(at), Some(node)) => place.role(at, graph.labels().get(node as usize).is_some()),
            _ => Some(Role::None),
        };
        Some(Self { seed: seed?, node: node?, client: client?, role: role? })
    }
}

/// The rows of one seed.
struct Rows {
    seed: u64,
    client: Vec<Option<u32>>,
    roles: Vec<Role>,
}

impl Rows {
    fn new(nodes: usize, seed: u64) -> Self {
        Self { seed, client: vec![None; nodes], roles: vec![Role::None; nodes] }
    }

    fn put(&mut self, row: &Row, place: &mut Place<'_, '_>) {
        if self.client[row.node as usize].replace(row.client).is_some() {
            place.problem(place.columns.node, || format!("every node once for seed {}", self.seed));
        }
        self.roles[row.node as usize] = row.role;
    }

    fn finish(self, path: &Path, graph: &Graph, has_split: bool) -> Result<Saved> {
        let missing = self.client.iter().filter(|client| client.is_none()).count();
        if let Some(v) = self.client.iter().position(Option::is_none) {
            let expected = format!("a row for each of {} nodes", graph.len());
            let found = format!("none for {missing} of them, the first being `{}`", graph.id(v));
            return Err(boostfgl_graph::Error::malformed(path, "", expected, found).into());
        }
        let client: Vec<u32> = self.client.into_iter().flatten().collect();
        let clients = client.iter().max().map_or(0, |&last| last as usize + 1);
        let mut present = vec![false; clients];
        client.iter().for_each(|&k| present[k as usize] = true);
        if let Some(gap) = present.iter().position(|seen| !seen) {
            let expected = format!("clients 0 to {} without gaps", clients - 1);
            let found = format!("no node in client {gap}");
            return Err(
                boostfgl_graph::Error::malformed(path, ", column client", expected, found).into()
            );
        }
        Ok(Saved { clients, client, split: has_split.then(|| Split::new(self.roles)) })
    }
}

/// A row, and the list to which problems with its fields are added.
struct Place<'a, 'p> {
    columns: &'a Columns,
    record: &'a csv::StringRecord,
    problems: &'a mut Problems<'p>,
}

impl<'a> Place<'a, '_> {
    fn field(&self, at: usize) -> &'a str {
        self.record.get(at).unwrap_or_default()
    }

    /// The value of a field, if it has one.
    fn known<T>(
        &mut self,
        value: Option<T>,
        at: usize,
        wanted: impl FnOnce() -> String,
    ) -> Option<T> {
        if value.is_none() {
            self.problem(at, wanted);
        }
        value
    }

    fn role(&mut self, at: usize, labelled: bool) -> Option<Role> {
        let role = Role::from_name(self.field(at));
        let role = self.known(role, at, || "train, val, test or none".to_owned())?;
        let allowed = Some(role).filter(|role| *role == Role::None || labelled);
        self.known(allowed, at, || "none, because the node has no label".to_owned())
    }

    fn problem(&mut self, at: usize, wanted: impl FnOnce() -> String) {
        let start = self.record.position().map_or(0, csv::Position::byte);
        let found = self.field(at);
        self.problems.add(start, Some(at + 1), || (wanted(), format!("`{found}`")));
    }
}

fn in_header(path: &Path, expected: String, found: impl Into<String>) -> Error {
    boostfgl_graph::Error::malformed(path, ", line 1", expected, found).into()
}

/// The start of a malformed row, what was expected and what was found. `None` if the error is not
/// confined to one row.
fn row_fault(error: &csv::Error) -> Option<(u64, (String, String))> {
    let texts = match error.kind() {
        csv::ErrorKind::Utf8 { .. } => ("UTF-8 text".to_owned(), "other bytes".to_owned()),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            (format!("{expected_len} fields"), len.to_string())
        }
        _ => return None,
    };
    Some((error.position()?.byte(), texts))
}

fn unreadable(path: &Path, error: csv::Error) -> Error {
    match row_fault(&error) {
        Some((_, (expected, found))) => {
            boostfgl_graph::Error::malformed(path, ", line 1", expected, found).into()
        }
        None => boostfgl_graph::Error::io(path, error.into()).into(),
    }
}

#[cfg(test)]
mod tests {
    use boostfgl_graph::{Adjacency, Features, Labels};

    use super::*;

    /// Four nodes known by position, the last without a label.
    fn graph() -> Graph {
        let (adjacency, _) = Adjacency::from_edges(4, &[], None, false).unwrap();
        let labels = Labels::from_integers(&[0, 0, 0, -1], 1).unwrap();
        Graph::new("four", adjacency, Features::dense(4, 1, vec![0.0; 4]).unwrap(), labels).unwrap()
    }

    fn read_text(text: impl AsRef<[u8]>, seed: u64) -> Result<Saved, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.csv");
        std::fs::write(&path, text).unwrap();
        let error = |error: Error| error.to_string().replace(path.to_str().unwrap(), "p.csv");
        read(&path, &graph(), seed).map_err(error)
    }

    #[test]
    fn columns_in_any_order_with_others_between() {
        let text =
            "client,score,split,node,seed\n1,9,train,0,3\n0,9,val,1,3\n\n0,9,test,2,3\n1,9,,3,3\n";
        let saved = read_text(text, 8).unwrap();
        assert_eq!((saved.clients, &saved.client[..]), (2, &[1, 0, 0, 1][..]));
        assert_eq!(saved.split.unwrap().roles(), [Role::Train, Role::Val, Role::Test, Role::None]);
    }

    #[test]
    fn seed_and_split_may_be_absent() {
        let saved =
            read_text("\u{feff}node, client\r\n3, 0\r\n2, 1\r\n1, 0\r\n0, 1\r\n", 8).unwrap();
        assert_eq!(saved, Saved { clients: 2, client: vec![1, 0, 1, 0], split: None });
    }

    #[test]
    fn rows_of_seeds_may_be_mixed() {
        let text = "seed,node,client\n1,0,0\n2,0,1\n1,1,0\n2,1,0\n2,2,0\n2,3,0\n1,2,0\n1,3,0\n";
        assert_eq!(read_text(text, 2).unwrap().client, [1, 0, 0, 0]);
        assert_eq!(read_text(text, 1).unwrap().client, [0; 4]);
        assert_eq!(read_text(text, 5).unwrap_err(), "p.csv: expected seed 5, found seeds 1, 2");
    }

    #[test]
    fn every_mistake_is_named_with_its_place() {
        let head = "seed,node,client,split\n0,0,0,train\n0,1,0,val\n";
        for (rest, message) in [
            ("0,9,0,test\n", "p.csv, line 4, column 2: expected a node of four, found `9`"),
            (
                "0,1,0,test\n",
                "p.csv, line 4, column 2: expected every node once for seed 0, found `1`",
            ),
            (
                "0,2,x,test\n",
                "p.csv, line 4, column 3: expected a client number from 0 to 3 at most, found `x`",
            ),
            (
                "0,2,4,test\n",
                "p.csv, line 4, column 3: expected a client number from 0 to 3 at most, found `4`",
            ),
            (
                "0,2,0,tset\n",
                "p.csv, line 4, column 4: expected train, val, test or none, found `tset`",
            ),
            (
                "0,3,0,test\n",
                "p.csv, line 4, column 4: expected none, because the node has no label, found \
                 `test`",
            ),
            (
                "-1,2,0,test\n",
                "p.csv, line 4, column 1: expected a seed, 0 or a larger integer, found `-1`",
            ),
            ("0,2,0\n", "p.csv, line 4: expected 4 fields, found 3"),
            (
                "0,2,0,test\n",
                "p.csv: expected a row for each of 4 nodes, found none for 1 of them, the first \
                 being `3`",
            ),
            (
                "0,2,2,test\n0,3,0,\n",
                "p.csv, column client: expected clients 0 to 2 without gaps, found no node in \
                 client 1",
            ),
        ] {
            assert_eq!(read_text(format!("{head}{rest}"), 0).unwrap_err(), message);
        }
        assert_eq!(
            read_text("", 0).unwrap_err(),
            "p.csv, line 1: expected a column `node`, found ``"
        );
        assert_eq!(
            read_text("node,klient\n", 0).unwrap_err(),
            "p.csv, line 1: expected a column `client`, found `node,klient`"
        );
        assert_eq!(
            read_text("node,client,node\n", 0).unwrap_err(),
            "p.csv, line 1: expected column `node` once, found it twice"
        );
        assert_eq!(
            read_text(b"node,client\n\xff,0\n", 0).unwrap_err(),
            "p.csv, line 2: expected UTF-8 text, found other bytes"
        );
        assert!(read_text("node,client\n", 0).unwrap_err().contains("a row for each of 4 nodes"));
        let missing = read(Path::new("not-there.csv"), &graph(), 0).unwrap_err().to_string();
        assert!(missing.starts_with("not-there.csv: "), "{missing}");
    }

    #[test]
    fn all_problems_of_a_file_are_reported_at_once() {
        let message = read_text(
            "seed,node,client,split\r\nx,9,7,tset\r\n0,1,0\r\n0,1,0,val\r\n0,1,0,val\r\n",
            0,
        )
        .unwrap_err();
        let expected = [
            "p.csv: 5 problems",
            "  line 2, column 1: expected a seed, 0 or a larger integer, found `x`",
            "  line 2, column 2: expected a node of four, found `9`",
            "  line 2, column 3: expected a client number from 0 to 3 at most, found `7`",
            "  line 3: expected 4 fields, found 3",
            "  line 5, column 2: expected every node once for seed 0, found `1`",
        ];
        assert_eq!(message.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn lines_are_counted_past_blank_ones() {
        for text in [
            "node,client\r\n0,0\r\n\r\n1,x\r\n",
            "node,client\n\n0,0\n1,x",
            "\u{feff}node,client\n0,0\n2,0\n1,x",
        ] {
            let error = read_text(text, 0).unwrap_err();
            assert!(error.starts_with("p.csv, line 4, column 2"), "{text:?}: {error}");
        }
        assert!(
            read_text("node,client\r\n\r\n0\r\n", 0)
                .unwrap_err()
                .starts_with("p.csv, line 3: expected 2 fields")
        );
    }
}
