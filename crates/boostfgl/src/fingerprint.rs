//! Fingerprints of the data of a run, as a whole and part by part.
//!
//! The [`Fingerprint`] of the data is stored in `summary.json`, in the checkpoint of a stopped run,
//! and in the name of a cell of a grid. All three are computed here, so that "the data have
//! changed" has one meaning.

use crate::{Error, Result};
use blake3::Hasher;
use boostfgl_graph::{Features, Graph, GroupColumn, Preparation, Role, Split};
use boostfgl_report::Fingerprint;

/// The fingerprint of a graph as it was read: nodes and edges, features before any scaling, labels,
/// split; and of each group column by itself.
///
/// What cannot change a result is left out: the names of dataset and classes, how features are
/// stored, and weights that are all 1.
pub fn of(graph: &Graph) -> Fingerprint {
    let parts = [
        structure(graph),
        features(graph.features(), graph.preparation()),
        labels(graph),
        split(graph),
    ];
    let mut whole = Part::new("boostfgl data");
    parts.iter().for_each(|part| whole.bytes(part.as_bytes()));
    let [structure, features, labels, split] = parts;
    let groups = graph
        .group_columns()
        .iter()
        .map(|column| (column.name.clone(), group_column(column)))
        .collect();
    Fingerprint { whole: whole.finish(), structure, features, labels, split, groups }
}

/// Compares the data of a run with the present `dataset`; `place` names the file of the run.
///
/// # Errors
/// Names both fingerprints and the parts that differ.
pub fn check(
    place: &str,
    dataset: &str,
    expected: &Fingerprint,
    found: &Fingerprint,
    advice: &'static str,
) -> Result<()> {
    if expected.whole == found.whole {
        return check_groups(place, dataset, &expected.changed_groups(found));
    }
    let parts = match &expected.differences(found)[..] {
        [] => String::new(),
        parts => format!(" (other {})", parts.join(", ")),
    };
    let reason = format!(
        "expected the data that the run was begun with, of fingerprint {}, found that `{dataset}` \
         has changed: \
         fingerprint {}{parts}",
        expected.whole, found.whole
    );
    Err(Error::usage(place, reason, advice))
}

/// Refuses to compare groups by columns that have other values than the run had.
fn check_groups(place: &str, dataset: &str, changed: &[&str]) -> Result<()> {
    if changed.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = changed.iter().map(|name| format!("`group:{name}`")).collect();
    let reason = format!(
        "expected the group columns that the run was begun with, found that {} of `{dataset}` \
         changed or was removed",
        named.join(", ")
    );
    let advice = "Put the columns back as they were, or repeat the run on the changed data.";
    Err(Error::usage(place, reason, advice))
}

fn structure(graph: &Graph) -> String {
    let adjacency = graph.adjacency();
    let mut part = Part::new("structure");
    [graph.len(), adjacency.is_directed().into()].into_iter().for_each(|x| part.whole(x));
    adjacency.offsets().iter().for_each(|&offset| part.whole(offset));
    adjacency.indices().iter().for_each(|&v| part.whole(v as usize));
    // A file with weights that are all 1 is the same graph as one without weights.
    let weights = adjacency.weights().filter(|weights| weights.iter().any(|&weight| weight != 1.0));
    part.whole(weights.map_or(0, <[f32]>::len));
    weights.unwrap_or_default().iter().for_each(|&weight| part.real(weight));
    for v in 0..graph.len() {
        part.bytes(graph.id(v).as_bytes());
    }
    part.finish()
}

/// Row by row the columns that are not 0 with their values: a bag of words is the same in a dense
/// table.
fn features(features: &Features, preparation: Option<&Preparation>) -> String {
    let mut part = Part::new("features");
    [features.rows(), features.columns()].into_iter().for_each(|x| part.whole(x));
    for v in 0..features.rows() {
        let mut count = 0;
        match features {
            Features::Sparse(rows) => {
                let (columns, values) = rows.row(v);
                for (&column, &x) in columns.iter().zip(values) {
                    part.whole(column as usize);
                    part.real(x);
                    count += 1;
                }
            }
            Features::Dense { columns, values, .. } => {
                let row = values[v * columns..(v + 1) * columns].iter().enumerate();
                for (column, &x) in row.filter(|(_, x)| **x != 0.0) {
                    part.whole(column);
                    part.real(x);
                    count += 1;
                }
            }
        }
        // With the count, the bytes of two tables differ also if only the ends of rows do.
        part.whole(count);
    }
    if let Some(preparation) = preparation {
        prepared(preparation, &mut part);
    }
    part.finish()
}

/// What is to be done with the columns, and the cells without a value.
fn prepared(preparation: &Preparation, part: &mut Part) {
    for column in preparation.columns() {
        part.bytes(column.missing.name().as_bytes());
        part.whole(usize::from(column.standardise));
    }
    for (node, column) in preparation.missing() {
        part.whole(*node as usize);
        part.whole(*column as usize);
    }
}

fn labels(graph: &Graph) -> String {
    let mut part = Part::new("labels");
    part.whole(graph.classes());
    graph.labels().iter().for_each(|label| part.whole(label.map_or(0, |class| class as usize + 1)));
    part.finish()
}

fn split(graph: &Graph) -> String {
    let mut part = Part::new("split");
    let roles = graph.splits().iter().flat_map(Split::roles);
    roles.for_each(|role: &Role| part.whole(*role as usize));
    part.finish()
}

fn group_column(column: &GroupColumn) -> String {
    let mut part = Part::new("group column");
    part.whole(column.values.len());
    column.values.iter().for_each(|value| part.bytes(value.as_bytes()));
    column.of_node.iter().for_each(|value| part.whole(value.map_or(0, |at| at as usize + 1)));
    part.finish()
}

/// A hasher that is fed in pieces of some kilobytes: numbers one by one would take many times as
/// long.
struct Part {
    hasher: Hasher,
    waiting: Vec<u8>,
}

impl Part {
    const PIECE: usize = 1 << 16;

    fn new(name: &str) -> Self {
        let mut part =
            Self { hasher: Hasher::new(), waiting: Vec::with_capacity(Self::PIECE + 64) };
        part.bytes(name.as_bytes());
        part
    }

    fn put(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= Self::PIECE {
            self.hasher.update(&self.waiting);
            self.waiting.clear();
        }
    }

    fn whole(&mut self, x: usize) {
        self.put(&(x as u64).to_le_bytes());
    }

    fn real(&mut self, x: f32) {
        self.put(&x.to_bits().to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.whole(bytes.len());
        self.put(bytes);
    }

    fn finish(mut self) -> String {
        self.hasher.update(&self.waiting);
        self.hasher.finalize().to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_graph::{Adjacency, ColumnPreparation, Labels, Scaling, SparseRows};
    use std::collections::BTreeSet;

    fn graph_of(
        edges: &[(u32, u32)],
        weights: Option<&[f32]>,
        features: Features,
        label: i64,
    ) -> Graph {
        let adjacency = Adjacency::from_edges(3, edges, weights, false).unwrap().0;
        Graph::new("g", adjacency, features, Labels::from_integers(&[label, 1, 0], 2).unwrap())
            .unwrap()
    }

    fn graph(edges: &[(u32, u32)], feature: f32, label: i64) -> Graph {
        graph_of(
            edges,
            None,
            Features::dense(3, 2, vec![feature, 0.0, 0.0, 1.0, 0.0, 0.0]).unwrap(),
            label,
        )
    }

    fn grouped(graph: &Graph, name: &str, values: [&str; 3]) -> Graph {
        graph.clone().with_group_columns(vec![GroupColumn::from_texts(name, &values)]).unwrap()
    }

    #[test]
    fn content_counts_and_names_do_not() {
        let one = graph(&[(0, 1)], 0.5, 0);
        let same = of(&one.clone().renamed("other"));
        assert_eq!(of(&one), same);
        let split = |role| Split::new(vec![Role::Train, role, Role::Test]);
        let others = [
            ("structure", graph(&[(0, 2)], 0.5, 0)),
            (
                "structure",
                one.clone().with_ids(["a", "b", "c"].map(str::to_owned).to_vec()).unwrap(),
            ),
            ("structure", graph_of(&[(0, 1)], Some(&[2.0]), one.features().clone(), 0)),
            ("features", graph(&[(0, 1)], 0.25, 0)),
            ("labels", graph(&[(0, 1)], 0.5, 1)),
            ("split", one.clone().with_split(split(Role::Val)).unwrap()),
            ("split", one.clone().with_split(split(Role::Test)).unwrap()),
            ("split", one.clone().with_split(split(Role::Train)).unwrap()),
            ("split", one.with_split(split(Role::None)).unwrap()),
        ];
        let mut wholes = BTreeSet::from([same.whole.clone()]);
        for (part, other) in &others {
            let found = of(other);
            assert_eq!(same.differences(&found), [*part]);
            assert!(wholes.insert(found.whole), "another {part} has a fingerprint of its own");
        }
    }

    #[test]
    fn group_columns_are_compared_one_by_one() {
        let graph = graph(&[(0, 1)], 0.5, 0);
        let [begun, same, other] = [["f", "m", ""], ["f", "m", ""], ["m", "m", ""]]
            .map(|values| of(&grouped(&graph, "sex", values)));
        assert_eq!(begun.whole, of(&graph).whole, "no digit depends on them");
        check("d", "g", &begun, &same, "").unwrap();
        // A column that came later is no change.
        check("d", "g", &of(&graph), &begun, "").unwrap();
        for changed in [other, of(&graph)] {
            let error = check("d", "g", &begun, &changed, "").unwrap_err().to_string();
            assert!(
                error.contains("found that `group:sex` of `g` changed or was removed"),
                "{error}"
            );
        }
    }

    #[test]
    fn how_a_file_stores_the_same_graph_does_not_matter() {
        let dense = graph(&[(0, 1)], 0.5, 0);
        let sparse =
            Features::Sparse(SparseRows::new(2, &[0, 1, 2, 2], &[0, 1], &[0.5, 1.0]).unwrap());
        assert_eq!(of(&graph_of(&[(0, 1)], None, sparse, 0)), of(&dense), "sparse rows");
        assert_eq!(
            of(&graph_of(&[(1, 0)], Some(&[1.0]), dense.features().clone(), 0)),
            of(&dense),
            "weights of 1"
        );
        let ids = ["0", "1", "2"].map(str::to_owned).to_vec();
        assert_eq!(of(&dense.clone().with_ids(ids).unwrap()), of(&dense), "positions as names");
    }

    /// A value of one row cannot pass for one of the next.
    #[test]
    fn rows_do_not_run_into_each_other() {
        let of_rows = |offsets: &[usize]| {
            features(
                &Features::Sparse(SparseRows::new(2, offsets, &[0, 1], &[1.0, 1.0]).unwrap()),
                None,
            )
        };
        let all: BTreeSet<String> =
            [[0, 1, 2, 2], [0, 2, 2, 2], [0, 0, 1, 2]].map(|rows| of_rows(&rows)).into();
        assert_eq!(all.len(), 3);
        // More than one piece of the hasher.
        let many = |last: f32| {
            let mut values = vec![1.0; 20_000];
            values[19_999] = last;
            features(&Features::dense(2, 10_000, values).unwrap(), None)
        };
        assert_ne!(many(1.0), many(2.0));
    }

    #[test]
    fn an_experiment_keeps_the_fingerprint_of_what_was_read_and_not_of_what_was_scaled() {
        let graph = graph(&[(0, 1)], 0.5, 0);
        assert_ne!(of(&graph.clone().scaled(Scaling::Binary)), of(&graph));
        for features in ["raw", "binary"] {
            let mut layers = crate::Layers::new();
            layers.set("data.features", features, "test").unwrap();
            layers.set("partition.clients", 1i64, "test").unwrap();
            let config = layers.resolve().unwrap().0;
            let experiment = crate::Experiment::new(config, graph.clone()).unwrap();
            assert_eq!(*experiment.fingerprint(), of(&graph), "{features}");
        }
    }

    #[test]
    fn a_difference_names_both_and_what_differs() {
        let [one, other] = [0.5, 0.25].map(|feature| of(&graph(&[(0, 1)], feature, 0)));
        check("d", "g", &one, &one, "").unwrap();
        let error = check("d", "g", &one, &other, "Do.").unwrap_err();
        let expected = format!(
            "d: expected the data that the run was begun with, of fingerprint {}, found",
            one.whole
        );
        let found = format!("`g` has changed: fingerprint {} (other features)", other.whole);
        let message = error.to_string();
        assert!(message.starts_with(&expected) && message.ends_with(&found), "{message}");
        assert_eq!(error.advice(), "Do.");
    }

    /// A changed `columns.toml` changes what a model sees, and with it the data.
    #[test]
    fn preparation_and_missing_values_are_part_of_the_features() {
        let plain = graph(&[(0, 1)], 0.0, 0);
        let columns = plain.features().columns();
        let with = |standardise, missing: &[(u32, u32)]| {
            let column = ColumnPreparation { standardise, ..ColumnPreparation::default() };
            let preparation = Preparation::new(vec![column; columns], missing.to_vec()).unwrap();
            of(&plain.clone().with_preparation(preparation).unwrap())
        };
        let all = [of(&plain), with(false, &[]), with(true, &[]), with(true, &[(0, 0)])];
        for (i, one) in all.iter().enumerate() {
            for other in &all[..i] {
                assert_ne!((&one.features, &one.whole), (&other.features, &other.whole));
                assert_eq!(one.structure, other.structure);
            }
        }
    }
}
