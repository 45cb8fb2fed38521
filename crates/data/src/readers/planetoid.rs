//! The files of kimiyoung/planetoid: Cora, CiteSeer and PubMed as most papers use them.
//!
//! A dataset NAME is eight files. Seven are Python 2 pickles, read by a machine that runs nothing
//! (`pickle`):
//!
//! | file | holds |
//! |---|---|
//! | `ind.NAME.x`, `.y` | features (CSR) and one-hot classes of the training nodes, the first rows of `allx`, `ally` |
//! | `ind.NAME.allx`, `.ally` | the same of all nodes that are not tested, nodes 0, 1, 2, … |
//! | `ind.NAME.tx`, `.ty` | the same of the tested nodes, in the order of `test.index` |
//! | `ind.NAME.graph` | a dictionary from each node to the list of its neighbours |
//! | `ind.NAME.test.index` | text: the number of each tested node, one per line |
//!
//! The published split is: train on the nodes of `y`, validate on the next 500, test on
//! `test.index`.
//!
//! CiteSeer's index has gaps: 15 nodes appear in the graph only. As everywhere else they get
//! features of zeros; unlike in some loaders, which put them into class 0, they stay unlabelled
//! here.

use std::path::{Path, PathBuf};

use boostfgl_graph::{Error, Features, Graph, Labels, Result, Role, SparseRows, Split};

use super::parts::{self, Csr, MAX_CLASSES};
use super::pickle::{self, Matrix};
use super::text::Lines;
use super::{Detection, Match, Reader};

/// The line of this format in the table.
pub(super) const READER: Reader = Reader {
    name: "planetoid",
    description: "a folder with ind.NAME.x, .y, .tx, .ty, .allx, .ally, .graph, .test.index",
    needs: &[
        "ind.NAME.x",
        "ind.NAME.y",
        "ind.NAME.tx",
        "ind.NAME.ty",
        "ind.NAME.allx",
        "ind.NAME.ally",
        "ind.NAME.graph",
        "ind.NAME.test.index",
    ],
    optional: "",
    detection: Detection::Files { order: 1, matches },
    read,
};

/// Whether this is an `ind.NAME.graph`, or a folder with one.
fn matches(path: &Path) -> Result<Match> {
    let found = if path.is_dir() { !names_in(path)?.is_empty() } else { name_in(path).is_some() };
    Ok(found.into())
}

/// Reads a graph from the folder of such files, or from the path of its `ind.NAME.graph`.
///
/// # Errors
/// If a file is missing or malformed, holds anything but plain data, or the files do not fit
/// together.
pub fn read(path: &Path) -> Result<Graph> {
    let files = Files::find(path)?;
    let known = Part::read(&files, "allx", "ally")?;
    let tested = Part::read(&files, "tx", "ty")?;
    let train = Part::read(&files, "x", "y")?.features.rows;
    let test = test_index(&files, &known, &tested)?;
    let nodes = test.iter().map(|&v| v as usize + 1).max().unwrap_or(0).max(known.features.rows);
    if nodes == 0 {
        return Err(Error::malformed(
            files.path("allx"),
            "",
            "at least one node here or in .tx",
            "none",
        ));
    }
    let graph_path = files.path("graph");
    let lists = pickle::read(&graph_path)?.neighbour_lists()?;
    let edges: Vec<(u32, u32)> =
        lists.iter().flat_map(|(v, list)| list.iter().map(|u| (*v, *u))).collect();
    if let Some((v, _)) = lists.iter().find(|(v, _)| *v as usize >= nodes) {
        return Err(Error::malformed(
            &graph_path,
            "",
            format!("nodes below {nodes}"),
            v.to_string(),
        ));
    }
    let adjacency = parts::undirected(&graph_path, nodes, &edges)?;

    // The row of each node: in the training matrix, in the test matrix, or in neither.
    let mut source = vec![None; nodes];
    (0..known.features.rows).for_each(|v| source[v] = Some((&known, v)));
    test.iter().enumerate().for_each(|(row, &v)| source[v as usize] = Some((&tested, row)));
    let features = features(&files, &source, known.features.columns)?;
    let labels = labels(&source, known.classes.columns)?;
    let split = split(&files, nodes, train, known.features.rows, &test)?;
    Graph::new(files.name.clone(), adjacency, features, labels)?.with_split(split)
}

/// The paths of the files.
struct Files {
    folder: PathBuf,
    name: String,
}

impl Files {
    fn find(path: &Path) -> Result<Self> {
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
        let mut names =
            if path.is_dir() { names_in(path)? } else { name_in(path).into_iter().collect() };
        match (names.pop(), names.len()) {
            (Some(name), 0) => Ok(Self { folder: folder.to_path_buf(), name }),
            (None, _) => Err(Error::malformed(path, "", "a file ind.NAME.graph", "none")),
            (Some(last), _) => {
                let found = format!("{}, {last}", names.join(", "));
                Err(Error::malformed(
                    path,
                    "",
                    "one dataset; name its ind.NAME.graph to choose",
                    found,
                ))
            }
        }
    }

    fn path(&self, part: &str) -> PathBuf {
        self.folder.join(format!("ind.{}.{part}", self.name))
    }
}

/// The datasets in a folder, sorted by name.
fn names_in(folder: &Path) -> Result<Vec<String>> {
    let entries = folder.read_dir().map_err(|e| Error::io(folder, e))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| name_in(&entry.path())).collect();
    names.sort();
    Ok(names)
}

/// NAME, if the path is one of an `ind.NAME.graph`.
fn name_in(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    Some(file.strip_prefix("ind.")?.strip_suffix(".graph")?.to_owned())
}

/// Features and classes of the same nodes.
struct Part {
    features: Csr,
    classes: Matrix,
}

impl Part {
    fn read(files: &Files, features: &str, classes: &str) -> Result<Self> {
        let part = Self {
            features: pickle::read(&files.path(features))?.csr()?,
            classes: pickle::read(&files.path(classes))?.matrix()?,
        };
        if part.features.rows != part.classes.rows {
            let expected = format!("{} rows, as in .{features}", part.features.rows);
            return Err(Error::malformed(
                files.path(classes),
                "",
                expected,
                part.classes.rows.to_string(),
            ));
        }
        parts::check_columns(&files.path(features), "", part.features.columns)?;
        if part.classes.columns > MAX_CLASSES {
            let expected = format!("at most {MAX_CLASSES} columns, one per class");
            return Err(Error::malformed(
                files.path(classes),
                "",
                expected,
                part.classes.columns.to_string(),
            ));
        }
        check_one_hot(&part.classes).map_err(|(row, found)| {
            Error::malformed(
                files.path(classes),
                format!(", row {row}"),
                "a single 1 at most",
                found,
            )
        })?;
        Ok(part)
    }

    fn class(&self, row: usize) -> Option<u32> {
        let start = row * self.classes.columns;
        let classes = &self.classes.values[start..start + self.classes.columns];
        classes.iter().position(|x| *x == 1.0).map(|class| class as u32)
    }
}

fn check_one_hot(classes: &Matrix) -> std::result::Result<(), (usize, String)> {
    for row in 0..classes.rows {
        let values = &classes.values[row * classes.columns..(row + 1) * classes.columns];
        let ones = values.iter().filter(|x| **x == 1.0).count();
        if ones > 1 || values.iter().any(|x| *x != 0.0 && *x != 1.0) {
            return Err((row, format!("{values:?}")));
        }
    }
    Ok(())
}

/// The tested nodes, one per row of `tx`.
fn test_index(files: &Files, known: &Part, tested: &Part) -> Result<Vec<u32>> {
    for (what, a, b) in [
        ("features", known.features.columns, tested.features.columns),
        ("classes", known.classes.columns, tested.classes.columns),
    ] {
        if a != b {
            return Err(Error::inconsistent(
                format!("{what} of {}", files.name),
                format!("{a} for test nodes too"),
                b.to_string(),
            ));
        }
    }
    let path = files.path("test.index");
    let rows = tested.features.rows;
    let test = Lines::open(&path)?.numbers::<u32, 1>(',', "one node number", rows)?;
    let test: Vec<u32> = test.into_iter().map(|[v]| v).collect();
    if test.len() != rows {
        return Err(Error::malformed(
            &path,
            "",
            format!("{rows} lines, as in .tx"),
            test.len().to_string(),
        ));
    }
    // Gaps are legitimate, but a number far away would make a graph of mostly nothing.
    let (first, known_and_tested) = (known.features.rows, known.features.rows + rows);
    let range = first..2 * known_and_tested;
    match test.iter().find(|v| !range.contains(&(**v as usize))) {
        Some(v) => Err(Error::malformed(
            &path,
            "",
            format!("node numbers from {first} on, with few gaps"),
            v.to_string(),
        )),
        None => Ok(test),
    }
}

/// Collects the rows in node order; a node without a source has an empty row.
fn features(files: &Files, source: &[Option<(&Part, usize)>], columns: usize) -> Result<Features> {
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for place in source {
        if let Some((part, row)) = place {
            let range = part.features.offsets[*row]..part.features.offsets[row + 1];
            indices.extend_from_slice(&part.features.indices[range.clone()]);
            values.extend_from_slice(&part.features.values[range]);
        }
        offsets.push(indices.len());
    }
    let rows = SparseRows::new(columns, &offsets, &indices, &values);
    rows.map(Features::Sparse).map_err(|e| parts::in_file(&files.path("allx"), e))
}

fn labels(source: &[Option<(&Part, usize)>], classes: usize) -> Result<Labels> {
    let class = source.iter().map(|place| place.and_then(|(part, row)| part.class(row)));
    Labels::new(class, (0..classes).map(|class| class.to_string()).collect())
}

fn split(files: &Files, nodes: usize, train: usize, known: usize, test: &[u32]) -> Result<Split> {
    if train > known {
        let expected = format!("at most the {known} rows of .allx");
        return Err(Error::malformed(files.path("x"), "", expected, train.to_string()));
    }
    let val: Vec<u32> = (train as u32..known.min(train + VALIDATION) as u32).collect();
    let train: Vec<u32> = (0..train as u32).collect();
    let lists = [
        (Role::Train, "x", &train[..]),
        (Role::Val, "allx", &val[..]),
        (Role::Test, "test.index", test),
    ];
    parts::split(&files.path("test.index"), nodes, &lists)
}

/// The number of validation nodes, which follow the training nodes, as in the original paper.
const VALIDATION: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::testing::{
        Folder, pickled_array, pickled_csr, pickled_graph, pickled_matrix, survives_damage,
    };

    /// Known nodes 0 and 1, tested nodes 4 and 2; node 3 is in the graph only.
    fn folder() -> Folder {
        let folder = Folder::new();
        folder.write("ind.t.x", &pickled_csr(1, 2, &[0, 1], &[1], &[1.0]));
        folder.write("ind.t.y", &pickled_matrix(1, 2, &[1, 0]));
        folder.write("ind.t.allx", &pickled_csr(2, 2, &[0, 1, 2], &[1, 0], &[1.0, 1.0]));
        folder.write("ind.t.ally", &pickled_matrix(2, 2, &[1, 0, 0, 1]));
        folder.write("ind.t.tx", &pickled_csr(2, 2, &[0, 2, 3], &[1, 0, 1], &[4.0, 5.0, 6.0]));
        folder.write("ind.t.ty", &pickled_matrix(2, 2, &[0, 1, 0, 0]));
        folder.write(
            "ind.t.graph",
            &pickled_graph(&[(0, &[1, 4]), (1, &[0, 0]), (3, &[3]), (4, &[0])]),
        );
        folder.write("ind.t.test.index", b"4\n2\n");
        folder
    }

    #[test]
    fn eight_files_become_a_graph() {
        let folder = folder();
        let graph = read(&folder.path("")).unwrap();
        assert_eq!(graph, read(&folder.path("ind.t.graph")).unwrap());
        assert_eq!((graph.name(), graph.len(), graph.adjacency().edges()), ("t", 5, 2));
        let classes: Vec<_> = graph.labels().iter().collect();
        assert_eq!(classes, [Some(0), Some(1), None, None, Some(1)]);
        let Features::Sparse(matrix) = graph.features() else { panic!("stays sparse") };
        assert_eq!(matrix.row(4), (&[0, 1][..], &[5.0, 4.0][..]));
        assert_eq!((matrix.row(2), matrix.row(3).0.len()), ((&[1][..], &[6.0][..]), 0));
        assert_eq!(
            graph.split().unwrap().roles(),
            [Role::Train, Role::Val, Role::Test, Role::None, Role::Test]
        );
    }

    #[test]
    fn files_must_fit_together() {
        let reason = |name: &str, bytes: &[u8]| {
            let folder = folder();
            folder.write(name, bytes);
            read(&folder.path("")).unwrap_err().to_string()
        };
        assert!(reason("ind.t.test.index", b"4\n1\n").contains("node numbers from 2 on"));
        assert!(
            reason("ind.t.test.index", b"4\n4000000000\n")
                .contains("with few gaps, found 4000000000")
        );
        assert!(reason("ind.t.test.index", b"4\n4\n").contains("node 4 twice"));
        assert!(reason("ind.t.test.index", b"4\n").contains("expected 2 lines"));
        assert!(reason("ind.t.test.index", b"4\nx\n").contains("line 2"));
        assert!(
            reason("ind.t.graph", &pickled_graph(&[(0, &[9])]))
                .contains("edge 0: expected node indices below 5")
        );
        assert!(
            reason("ind.t.graph", &pickled_graph(&[(9, &[])])).contains("nodes below 5, found 9")
        );
        assert!(reason("ind.t.ally", &pickled_matrix(1, 2, &[1, 0])).contains("expected 2 rows"));
        assert!(
            reason("ind.t.ally", &pickled_matrix(2, 2, &[1, 1, 0, 1]))
                .contains("ind.t.ally, row 0")
        );
        assert!(reason("ind.t.ty", &pickled_matrix(2, 1, &[1, 1])).contains("classes of t"));
        assert!(
            reason("ind.t.allx", &pickled_csr(2, 2, &[0, 1, 2], &[1, 0], &[1.0, f32::NAN]))
                .contains("finite")
        );
        assert!(
            reason("ind.t.allx", &pickled_csr(2, 2, &[0, 1, 2], &[1, 2], &[1.0, 1.0]))
                .contains("below 2")
        );
        assert!(
            reason("ind.t.allx", &pickled_csr(2, 2, &[0, 1, 2], &[1, 0], &[1.0]))
                .contains("as many")
        );
        assert!(reason("ind.t.graph", b"cos\nsystem\n(S'ls'\ntR.").contains("`os.system`"));
        assert!(reason("ind.u.graph", b"").contains("expected one dataset"));
    }

    /// Nothing is in such arrays, so nothing in the file answers for their width.
    #[test]
    fn wide_empty_arrays_are_refused() {
        let none = |columns: u64| {
            let mut side = vec![0x8a, 8];
            side.extend(columns.to_le_bytes());
            pickled_array(&[b"K\x00", &side[..]].concat(), "i4", &[])
        };
        let reason = |columns: u64| {
            let folder = folder();
            for part in ["x", "allx", "tx"] {
                folder.write(&format!("ind.t.{part}"), &pickled_csr(0, 2, &[0], &[], &[]));
            }
            for part in ["y", "ally", "ty"] {
                folder.write(&format!("ind.t.{part}"), &none(columns));
            }
            folder.write("ind.t.graph", &pickled_graph(&[]));
            folder.write("ind.t.test.index", b"");
            read(&folder.path("")).unwrap_err().to_string()
        };
        assert!(reason(1 << 62).contains(
            "a pickle of plain data, found an empty array of shape [0, 4611686018427387904]"
        ));
        assert!(reason(1 << 40).contains("an empty array of shape"));
        assert!(
            reason(1 << 20).contains(
                "ind.t.ally: expected at most 65536 columns, one per class, found 1048576"
            )
        );
        assert!(reason(2).contains("ind.t.allx: expected at least one node"));
    }

    #[test]
    fn more_features_than_can_be_trained_on_are_refused() {
        let folder = folder();
        for part in ["x", "allx", "tx"] {
            let mut csr = std::fs::read(folder.path(&format!("ind.t.{part}"))).unwrap();
            let at = csr.windows(6).position(|w| w == b"_shape").unwrap() + 8;
            csr.splice(at..at + 2, *b"J\xff\xff\xff\x7f");
            folder.write(&format!("ind.t.{part}"), &csr);
        }
        let reason = read(&folder.path("")).unwrap_err().to_string();
        assert!(
            reason
                .contains("ind.t.allx: expected at most 1048576 feature columns, found 2147483647"),
            "{reason}"
        );
    }

    #[test]
    fn damage_never_panics() {
        let folder = folder();
        for part in ["tx", "ty", "graph"] {
            survives_damage(&folder.path(&format!("ind.t.{part}")), |path| {
                read(path.parent().unwrap()).is_ok()
            });
        }
    }
}
