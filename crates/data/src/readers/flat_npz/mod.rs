//! The project's own npz: one file per dataset, all arrays flat.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | `edge_index` | 2 × E | every edge once; loops and duplicates are dropped |
//! | `x_indptr`, `x_indices`, `x_data`, `x_shape` | CSR | sparse features, or … |
//! | `x` | n × d | … dense features |
//! | `y` | n | class of each node, negative for unlabelled |
//! | `unlabelled_idx` | any | optional: nodes without a class, whatever `y` holds for them |
//! | `train_idx`, `val_idx`, `test_idx` | any | the published split, or … |
//! | `train_masks`, `val_masks`, `test_masks` | k × n | … k published splits; a run of seed s takes number s mod k |
//!
//! [`write()`] adds, and [`read`] understands, what published files lack: `name`, `directed` (one
//! number), `edge_weight` (E), `class_names`, `node_ids`, `feature_names`, `group_names` and for
//! each of those, counted from 0, `group_K` (n, the position of the node's value, −1 for none) and
//! `group_values_K`. Texts are UTF-8 bytes one after the other in `NAME` with the k + 1 boundaries
//! in `NAME_offsets`. `preparation` (d × 2: 0 mean, 1 zero or 2 indicator for missing values, and 1
//! if a column is to be standardised) and `missing_cells` (k × 2, node and column) say how features
//! are prepared. Other arrays, such as `raw_edge_index`, are ignored.

mod preparation;
mod write;

use std::path::Path;

use boostfgl_graph::{Adjacency, Error, Features, Graph, GroupColumn, Labels, Result, Role, Split};

pub use write::write;

use super::npz::Npz;
use super::{Detection, Reader, npz_in, parts};

/// The line of this format in the table.
pub(super) const READER: Reader = Reader {
    name: "flat-npz",
    description: "one npz with edge_index, x or x_indptr…, y",
    needs: &["edge_index", "y", "x|x_indptr"],
    optional: "x_indices, x_data, x_shape (with x_indptr); a split: train_idx, val_idx, \
        test_idx, or train_masks, val_masks, test_masks; unlabelled_idx, edge_weight, \
        directed, class_names, node_ids, feature_names, group_names, preparation",
    detection: Detection::Array("edge_index"),
    read,
};

/// Reads a graph.
///
/// `path` is the file, or a folder that holds it as its only npz or as the one named like the
/// folder.
///
/// # Errors
/// If the file cannot be read, lacks the edges, labels or features, or its arrays do not fit
/// together.
pub fn read(path: &Path) -> Result<Graph> {
    let mut npz = Npz::open(&npz_in(path)?)?;
    let labels = labels(&mut npz)?;
    let features = features(&mut npz)?;
    let adjacency = adjacency(&mut npz, labels.len())?;
    let splits = splits(&mut npz, labels.len())?;
    let name = match strings(&mut npz, "name")? {
        Some(mut name) if name.len() == 1 => name.remove(0),
        _ => parts::name_of(npz.path()),
    };
    let ids = strings(&mut npz, "node_ids")?;
    let groups = group_columns(&mut npz)?;
    let columns = strings(&mut npz, "feature_names")?;
    let preparation = preparation::read(&mut npz)?;
    Graph::new(name, adjacency, features, labels)
        .and_then(|graph| graph.with_splits(splits))
        .and_then(|graph| match ids {
            Some(ids) => graph.with_ids(ids),
            None => Ok(graph),
        })
        .and_then(|graph| match columns {
            Some(columns) => graph.with_feature_names(columns),
            None => Ok(graph),
        })
        .and_then(|graph| match preparation {
            Some(preparation) => graph.with_preparation(preparation),
            None => Ok(graph),
        })
        .and_then(|graph| graph.with_group_columns(groups))
        .map_err(|e| parts::in_file(npz.path(), e))
}

/// Reads all but the features, for graphs published without them.
///
/// # Errors
/// As [`read`], except for the features.
pub fn read_without_features(path: &Path) -> Result<(Adjacency, Labels, Vec<Split>)> {
    let mut npz = Npz::open(&npz_in(path)?)?;
    let labels = labels(&mut npz)?;
    let adjacency = adjacency(&mut npz, labels.len())?;
    let splits = splits(&mut npz, labels.len())?;
    Ok((adjacency, labels, splits))
}

fn labels(npz: &mut Npz) -> Result<Labels> {
    let mut y: Vec<i64> = npz.list("y")?;
    let unlabelled: Vec<usize> = npz.optional_list("unlabelled_idx")?.unwrap_or_default();
    for v in unlabelled {
        let nodes = y.len();
        *y.get_mut(v).ok_or_else(|| {
            let expected = format!("node indices below {nodes}");
            Error::malformed(npz.path(), ", array unlabelled_idx", expected, v.to_string())
        })? = -1;
    }
    let Some(names) = strings(npz, "class_names")? else { return parts::labels(npz.path(), &y) };
    Labels::from_named_integers(&y, names).map_err(|e| parts::in_file(npz.path(), e))
}

fn features(npz: &mut Npz) -> Result<Features> {
    let features = if npz.has("x") {
        let (rows, columns, values) = npz.matrix("x")?;
        Features::dense(rows, columns, values).map_err(|e| parts::in_file(npz.path(), e))?
    } else if npz.has("x_indptr") {
        npz.csr("x")?.features(npz.path())?
    } else {
        return Err(no_features(npz.path()));
    };
    if features.columns() == 0 { Err(no_features(npz.path())) } else { Ok(features) }
}

fn no_features(path: &Path) -> Error {
    Error::malformed(
        path,
        "",
        "node features (`x`, or `x_indptr` and its companions)",
        "a graph without features",
    )
}

fn adjacency(npz: &mut Npz, nodes: usize) -> Result<Adjacency> {
    let (rows, columns, ends) = npz.matrix::<u32>("edge_index")?;
    if rows != 2 {
        return Err(npz.wrong_shape(
            "edge_index",
            "two rows, sources and targets",
            &[rows, columns],
        ));
    }
    let (sources, targets) = ends.split_at(columns);
    let edges: Vec<(u32, u32)> = sources.iter().copied().zip(targets.iter().copied()).collect();
    let weights: Option<Vec<f32>> = npz.optional_list("edge_weight")?;
    let directed = match npz.optional_list::<u8>("directed")?.as_deref() {
        None | Some([0]) => false,
        Some([1]) => true,
        Some(other) => {
            let found = format!("{} numbers, the first {:?}", other.len(), other.first());
            return Err(Error::malformed(npz.path(), ", array directed", "a single 0 or 1", found));
        }
    };
    let (adjacency, _) = Adjacency::from_edges(nodes, &edges, weights.as_deref(), directed)
        .map_err(|e| parts::in_file(npz.path(), e))?;
    Ok(adjacency)
}

fn splits(npz: &mut Npz, nodes: usize) -> Result<Vec<Split>> {
    if !npz.has("train_idx") {
        return masks(npz, nodes);
    }
    let train: Vec<u32> = npz.list("train_idx")?;
    let val: Vec<u32> = npz.optional_list("val_idx")?.unwrap_or_default();
    let test: Vec<u32> = npz.optional_list("test_idx")?.unwrap_or_default();
    let lists = [
        (Role::Train, "array train_idx", &train[..]),
        (Role::Val, "array val_idx", &val[..]),
        (Role::Test, "array test_idx", &test[..]),
    ];
    Ok(vec![parts::split(npz.path(), nodes, &lists)?])
}

/// The splits in `train_masks`, `val_masks` and `test_masks`, one per row; none without such
/// arrays.
///
/// Published results on such datasets are averages over all splits.
pub(super) fn masks(npz: &mut Npz, nodes: usize) -> Result<Vec<Split>> {
    if !npz.has("train_masks") {
        return Ok(Vec::new());
    }
    let mut masks = Vec::new();
    for (role, name) in MASKS {
        let (rows, columns, values) = npz.matrix::<u8>(name)?;
        if rows == 0 || columns != nodes {
            return Err(npz.wrong_shape(
                name,
                format!("at least one mask of {nodes} nodes"),
                &[rows, columns],
            ));
        }
        masks.push((role, name, rows, values));
    }
    let count = masks[0].2;
    if let Some((_, name, rows, _)) = masks.iter().find(|(_, _, rows, _)| *rows != count) {
        return Err(npz.wrong_shape(
            name,
            format!("{count} masks, as in train_masks"),
            &[*rows, nodes],
        ));
    }
    (0..count)
        .map(|at| {
            let lists: Vec<(Role, String, Vec<u32>)> = masks
                .iter()
                .map(|(role, name, _, values)| {
                    let row = &values[at * nodes..(at + 1) * nodes];
                    (*role, format!("row {at} of array {name}"), marked(row))
                })
                .collect();
            let lists: Vec<_> =
                lists.iter().map(|(role, name, list)| (*role, name.as_str(), &list[..])).collect();
            parts::split(npz.path(), nodes, &lists)
        })
        .collect()
}

/// The positions in a mask that are not 0.
fn marked(mask: &[u8]) -> Vec<u32> {
    (0..).zip(mask).filter(|(_, mark)| **mark != 0).map(|(v, _)| v).collect()
}

/// The arrays that hold several splits.
const MASKS: [(Role, &str); 3] =
    [(Role::Train, "train_masks"), (Role::Val, "val_masks"), (Role::Test, "test_masks")];

/// The groupings of the nodes; their sizes are checked when they join the graph.
fn group_columns(npz: &mut Npz) -> Result<Vec<GroupColumn>> {
    let mut columns = Vec::new();
    for (k, name) in strings(npz, "group_names")?.unwrap_or_default().into_iter().enumerate() {
        let array = format!("group_values_{k}");
        let Some(values) = strings(npz, &array)? else {
            return Err(Error::malformed(npz.path(), "", format!("an array `{array}`"), "none"));
        };
        let of_node: Vec<i64> = npz.list(&format!("group_{k}"))?;
        let of_node = of_node
            .into_iter()
            .map(|value| (value >= 0).then(|| u32::try_from(value).unwrap_or(u32::MAX)));
        columns.push(GroupColumn { name, values, of_node: of_node.collect() });
    }
    Ok(columns)
}

/// Texts stored as bytes and boundaries; `None` if there are none of that name.
fn strings(npz: &mut Npz, name: &str) -> Result<Option<Vec<String>>> {
    let offsets_name = format!("{name}_offsets");
    if !npz.has(name) || !npz.has(&offsets_name) {
        return Ok(None);
    }
    let bytes: Vec<u8> = npz.list(name)?;
    let offsets: Vec<usize> = npz.list(&offsets_name)?;
    let covers = offsets.first() == Some(&0) && offsets.last() == Some(&bytes.len());
    let texts: Option<Vec<String>> = if covers {
        offsets.windows(2).map(|range| text_between(&bytes, range[0], range[1])).collect()
    } else {
        None
    };
    texts.map(Some).ok_or_else(|| {
        Error::malformed(
            npz.path(),
            format!(", array {offsets_name}"),
            "rising boundaries of UTF-8 texts, from 0 to the number of bytes",
            "other boundaries or bytes",
        )
    })
}

/// One text; `None` if the range is not inside the bytes or they are not UTF-8.
fn text_between(bytes: &[u8], start: usize, end: usize) -> Option<String> {
    String::from_utf8(bytes.get(start..end)?.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::npz_writer::NpzWriter;
    use crate::readers::testing::{Folder, graph, survives_damage};
    use proptest::prelude::*;

    /// Three nodes as others publish them: sparse features, masks, no extras.
    fn published(without: &str, change: impl Fn(&str) -> Option<Vec<i64>>) -> Result<Graph> {
        let folder = Folder::new();
        let path = folder.path("tiny.npz");
        let mut npz = NpzWriter::create(&path).unwrap();
        let arrays: [(&str, &[u64], &[i64]); 10] = [
            ("edge_index", &[2, 3], &[0, 1, 2, 1, 2, 2]),
            ("x_indptr", &[4], &[0, 1, 1, 2]),
            ("x_indices", &[2], &[1, 0]),
            ("x_data", &[2], &[5, 6]),
            ("x_shape", &[2], &[3, 2]),
            ("y", &[3], &[1, 0, 0]),
            ("unlabelled_idx", &[1], &[2]),
            ("train_masks", &[2, 3], &[1, 0, 0, 0, 1, 0]),
            ("val_masks", &[2, 3], &[0, 1, 0, 1, 0, 0]),
            ("test_masks", &[2, 3], &[0, 0, 0, 0, 0, 0]),
        ];
        for (name, shape, values) in arrays.iter().filter(|(name, ..)| *name != without) {
            let values = change(name).unwrap_or_else(|| values.to_vec());
            npz.array(name, shape, values).unwrap();
        }
        npz.finish().unwrap();
        read(&path)
    }

    fn reason(name: &'static str, values: &'static [i64]) -> String {
        published("", |n| (n == name).then(|| values.to_vec())).unwrap_err().to_string()
    }

    #[test]
    fn published_arrays_become_a_graph() {
        let graph = published("", |_| None).unwrap();
        assert_eq!(
            (graph.name(), graph.len(), graph.classes(), graph.adjacency().edges()),
            ("tiny", 3, 2, 2)
        );
        assert_eq!(graph.labels().get(2), None);
        assert_eq!(graph.features().non_zeros(), 2);
        assert_eq!(graph.split().unwrap().roles(), [Role::Train, Role::Val, Role::None]);
    }

    #[test]
    fn every_seed_takes_its_stored_split() {
        let graph = published("", |_| None).unwrap();
        let roles = |seed: u64| graph.split_of_seed(seed).unwrap().roles().to_vec();
        let (first, second) =
            (vec![Role::Train, Role::Val, Role::None], vec![Role::Val, Role::Train, Role::None]);
        assert_eq!([0, 1, 2, 7].map(roles), [first.clone(), second.clone(), first, second]);
        // Written and read again, all of them are there.
        let folder = Folder::new();
        write(&graph, &folder.path("again.npz")).unwrap();
        assert_eq!(read(&folder.path("again.npz")).unwrap().splits(), graph.splits());
        // Two masks for training, one for validation.
        let mut npz = NpzWriter::create(&folder.path("fewer.npz")).unwrap();
        npz.array("train_masks", &[2, 1], [1u8, 0]).unwrap();
        npz.array("val_masks", &[1, 1], [0u8]).unwrap();
        npz.array("test_masks", &[2, 1], [0u8, 1]).unwrap();
        npz.finish().unwrap();
        let fewer =
            masks(&mut Npz::open(&folder.path("fewer.npz")).unwrap(), 1).unwrap_err().to_string();
        assert!(fewer.contains("array val_masks: expected 2 masks, as in train_masks"), "{fewer}");
    }

    #[test]
    fn wrong_arrays_are_named() {
        assert!(
            reason("edge_index", &[0, 1, 2, 1, 2, 3])
                .contains("tiny.npz, edge 2: expected node indices below 3")
        );
        assert!(reason("edge_index", &[0, 1, 2, 1, 2, -1]).contains("array edge_index"));
        assert!(
            reason("x_indices", &[1, 2])
                .contains("arrays x_*: expected column indices below 2, found 2")
        );
        assert!(reason("x_indptr", &[0, 2, 1, 2]).contains("row offsets"));
        assert!(
            reason("unlabelled_idx", &[3])
                .contains("array unlabelled_idx: expected node indices below 3, found 3")
        );
        assert!(reason("y", &[1, 1 << 40, 0]).contains("labels: expected classes below 65536"));
        assert!(reason("x_shape", &[2, 2]).contains("2 rows"));
        assert!(
            reason("val_masks", &[1, 1, 0, 0, 0, 0])
                .contains("array val_masks: expected every node in one role")
        );
        let without = published("y", |_| None).unwrap_err().to_string();
        assert!(without.contains("expected an array `y`, found only edge_index"), "{without}");
        let without = published("x_indptr", |_| None).unwrap_err().to_string();
        assert!(without.contains("a graph without features"), "{without}");
    }

    /// Two nodes with names, whose classes have names too.
    #[test]
    fn names_are_checked_like_numbers() {
        let folder = Folder::new();
        let path = folder.path("g.npz");
        let message = |y: [i64; 2], ids: &str, columns: i64| {
            let mut npz = NpzWriter::create(&path).unwrap();
            npz.array("edge_index", &[2, 1], vec![0i64, 1]).unwrap();
            npz.array("y", &[2], y).unwrap();
            npz.array("x_shape", &[2], [2, columns]).unwrap();
            npz.array("x_indptr", &[3], [0i64, 1, 1]).unwrap();
            npz.array("x_indices", &[1], [0i64]).unwrap();
            npz.array("x_data", &[1], [1f32]).unwrap();
            for (name, texts) in [("class_names", "ab"), ("node_ids", ids)] {
                npz.array(name, &[2], texts.bytes()).unwrap();
                npz.array(&format!("{name}_offsets"), &[3], [0u64, 1, 2]).unwrap();
            }
            npz.finish().unwrap();
            read(&path).map_or_else(|error| error.to_string(), |_| "read".to_owned())
        };
        assert_eq!(message([0, 1], "uv", 1), "read");
        assert!(
            message([0, 1], "uu", 1)
                .ends_with("node ids of g: expected every id once, found `u` for nodes 0 and 1")
        );
        let sentinel = message([0, 4_294_967_295], "uv", 1);
        assert!(
            sentinel.ends_with("label of node 1: expected a class below 2, found 4294967295"),
            "{sentinel}"
        );
        assert!(
            message([0, 1], "uv", 4_294_967_295)
                .contains("expected at most 1048576 feature columns")
        );
    }

    #[test]
    fn features_may_be_absent_if_they_are_not_read() {
        let folder = Folder::new();
        let path = folder.path("bare.npz");
        let mut npz = NpzWriter::create(&path).unwrap();
        npz.array("edge_index", &[2, 1], vec![0i64, 1]).unwrap();
        npz.array("y", &[2], vec![0i64, 1]).unwrap();
        npz.array("x", &[2, 0], Vec::<f32>::new()).unwrap();
        npz.finish().unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("a graph without features"));
        let (adjacency, labels, split) = read_without_features(&path).unwrap();
        assert_eq!((adjacency.edges(), labels.len(), split.len()), (1, 2, 0));
    }

    #[test]
    fn wrong_groups_are_named() {
        let folder = Folder::new();
        let path = folder.path("g.npz");
        let reason = |groups: &[i64]| {
            let mut npz = NpzWriter::create(&path).unwrap();
            npz.array("edge_index", &[2, 1], vec![0i64, 1]).unwrap();
            npz.array("y", &[2], vec![0i64, 1]).unwrap();
            npz.array("x", &[2, 1], vec![1f32, 2.0]).unwrap();
            for (name, text) in [("group_names", "g"), ("group_values_0", "v")]
                .into_iter()
                .take(1 + groups.len().min(1))
            {
                npz.array(name, &[1], text.bytes()).unwrap();
                npz.array(&format!("{name}_offsets"), &[2], [0u64, 1]).unwrap();
            }
            npz.array("group_0", &[groups.len() as u64], groups.iter().copied()).unwrap();
            npz.finish().unwrap();
            read(&path).map_or_else(|error| error.to_string(), |_| "read".to_owned())
        };
        assert_eq!(reason(&[0, -1]), "read");
        assert!(
            reason(&[0, 1]).ends_with("g.npz, group column `g`: expected a value below 1, found 1")
        );
        assert!(reason(&[0]).ends_with("expected 2 rows, one per node, found 1"));
        assert!(reason(&[]).ends_with("expected an array `group_values_0`, found none"));
    }

    #[test]
    fn damage_is_noticed_and_never_panics() {
        let folder = Folder::new();
        let path = folder.path("g.npz");
        let whole = Graph::new(
            "g",
            Adjacency::from_edges(3, &[(0, 1), (1, 2)], Some(&[1.0, 2.0]), false).unwrap().0,
            Features::dense(3, 1, vec![1.0, 2.0, 3.0]).unwrap(),
            Labels::from_integers(&[0, 1, -1], 2).unwrap(),
        );
        write(&whole.unwrap(), &path).unwrap();
        survives_damage(&path, |path| read(path).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_written_is_read_back_exactly(graph in graph()) {
            let folder = Folder::new();
            let path = folder.path("any name.npz");
            write(&graph, &path).unwrap();
            prop_assert_eq!(read(&path).unwrap(), graph);
        }
    }
}
