//! For whom we measure: minority classes, node homophily, heterophilous nodes.
//!
//! Groups belong to evaluation. They are computed from all labels of the whole graph (or of a client's graph) and are
//! never shown to training.

use crate::{Error, Graph, Labels, Result};

/// The default of `homophily_threshold`: a node is heterophilous if at most half of its neighbours share its class.
pub const HOMOPHILY_THRESHOLD: f64 = 0.5;

/// Which classes are minority classes: 𝒞_min(q).
///
/// Classes are sorted by labelled count n_c, smallest first, equal counts by class id. The minority is the shortest
/// prefix of that order with Σ n_c ≥ q · Σ over all classes. The definition is followed to the letter: a class without
/// a labelled node sorts first and is a minority class whenever any class is. If `q` ≤ 0 or nothing is labelled, the
/// empty prefix suffices and no class is marked.
///
/// Sums that reach q up to rounding (relative 10⁻⁹) count as reaching it, so that 55 of 100 satisfies q = 0.55.
///
/// ```
/// use boostfgl_graph::groups::minority_classes;
/// assert_eq!(minority_classes(&[4, 2, 1], 0.4), [false, true, true]);
/// assert_eq!(minority_classes(&[4, 2, 1], 0.5), [true, true, true]);
/// ```
pub fn minority_classes(counts: &[usize], q: f64) -> Vec<bool> {
    let total: usize = counts.iter().sum();
    let needed = q * total as f64 - 1e-9 * total as f64;
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|&class| (counts[class], class));

    let mut minority = vec![false; counts.len()];
    let mut mass = 0;
    for class in order {
        if total == 0 || mass as f64 >= needed {
            break;
        }
        minority[class] = true;
        mass += counts[class];
    }
    minority
}

/// Node homophily φ(v) = |{u ∈ N(v) : y_u = y_v}| / |N(v)| for every node.
///
/// N(v) holds the neighbours whose label is known: an unlabelled neighbour can neither agree nor disagree and is left
/// out above and below the line. φ is `None` for a node without a label or without a labelled neighbour. In a directed
/// graph N(v) are the nodes that send to v. Edge weights play no part. Time O(n + m).
pub fn node_homophily(graph: &Graph) -> Vec<Option<f64>> {
    (0..graph.len())
        .map(|v| {
            let (same, known) = agreement(graph, v);
            (known > 0).then(|| same as f64 / known as f64)
        })
        .collect()
}

/// Edge homophily: the share of edges that join two nodes of one class, among edges with both labels known.
///
/// `None` if there is no such edge. Time O(n + m).
pub fn edge_homophily(graph: &Graph) -> Option<f64> {
    let (same, known) =
        (0..graph.len()).map(|v| agreement(graph, v)).fold((0, 0), |(same, known), (s, k)| (same + s, known + k));
    (known > 0).then(|| same as f64 / known as f64)
}

/// How many neighbours of `v` have its class, and how many have any; (0, 0) if `v` has none itself.
fn agreement(graph: &Graph, v: usize) -> (usize, usize) {
    let labels = graph.labels();
    let Some(class) = labels.get(v) else { return (0, 0) };
    let neighbours = graph.adjacency().neighbours(v).iter().filter_map(|&u| labels.get(u as usize));
    neighbours.fold((0, 0), |(same, known), other| (same + usize::from(other == class), known + 1))
}

/// Membership of every node in the disadvantaged groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// 𝒱_min: the node's class is a minority class.
    pub minority: Vec<bool>,
    /// 𝒱_hete: φ(v) ≤ threshold. Nodes for which φ is not defined are outside.
    pub heterophilous: Vec<bool>,
    /// Nodes for which φ is not defined: neither heterophilous nor known not to be.
    pub homophily_unknown: Vec<bool>,
}

impl Groups {
    /// Groups from node homophily `phi` (see [`node_homophily`]), labels, and marked classes (see
    /// [`minority_classes`]). `threshold` is usually [`HOMOPHILY_THRESHOLD`].
    ///
    /// Whether φ was taken on the whole graph or on clients' graphs is the caller's choice.
    ///
    /// # Errors
    /// If `phi` is not about as many nodes as `labels`, or `minority` not about as many classes.
    pub fn new(phi: &[Option<f64>], labels: &Labels, minority: &[bool], threshold: f64) -> Result<Self> {
        if phi.len() != labels.len() {
            let expected = format!("{} numbers, one per node", labels.len());
            return Err(Error::inconsistent("node homophily", expected, phi.len().to_string()));
        }
        if minority.len() != labels.classes() {
            let expected = format!("{} flags, one per class", labels.classes());
            return Err(Error::inconsistent("minority classes", expected, minority.len().to_string()));
        }
        Ok(Self {
            minority: labels.iter().map(|class| class.is_some_and(|c| minority[c as usize])).collect(),
            heterophilous: phi.iter().map(|phi| phi.is_some_and(|phi| phi <= threshold)).collect(),
            homophily_unknown: phi.iter().map(Option::is_none).collect(),
        })
    }

    /// 𝒱_hete-min = 𝒱_hete ∩ 𝒱_min, node by node.
    pub fn intersection(&self) -> Vec<bool> {
        self.minority.iter().zip(&self.heterophilous).map(|(&minority, &hete)| minority && hete).collect()
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.minority.len()
    }

    /// Whether there is no node at all.
    pub fn is_empty(&self) -> bool {
        self.minority.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, Features};
    use serde_json::Value;

    const METRICS: &str = include_str!("../tests/golden/metrics.json");
    const GRAPH: &str = include_str!("../tests/golden/graph.json");

    fn indices(value: &Value) -> Vec<usize> {
        value.as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as usize).collect()
    }

    fn optional(value: &Value) -> Vec<Option<f64>> {
        value.as_array().unwrap().iter().map(Value::as_f64).collect()
    }

    fn members(flags: &[bool]) -> Vec<usize> {
        (0..flags.len()).filter(|&v| flags[v]).collect()
    }

    fn golden() -> (Graph, Value, Value) {
        let (file, metrics): (Value, Value) =
            (serde_json::from_str(GRAPH).unwrap(), serde_json::from_str(METRICS).unwrap());
        let n = file["n"].as_u64().unwrap() as usize;
        let edges: Vec<(u32, u32)> = serde_json::from_value(file["undirected_edges"].clone()).unwrap();
        let labels: Vec<i64> = serde_json::from_value(file["labels"].clone()).unwrap();
        let graph = Graph::new(
            "golden",
            Adjacency::from_edges(n, &edges, None, false).unwrap().0,
            Features::dense(n, 0, Vec::new()).unwrap(),
            Labels::from_integers(&labels, 3).unwrap(),
        );
        (graph.unwrap(), file, metrics)
    }

    fn close(found: &[Option<f64>], expected: &[Option<f64>]) -> bool {
        found.len() == expected.len()
            && found.iter().zip(expected).all(|pair| match pair {
                (Some(a), Some(b)) => (a - b).abs() < 1e-12,
                (None, None) => true,
                _ => false,
            })
    }

    /// φ of every node on the induced graph of its client.
    fn local_homophily(graph: &Graph, file: &Value) -> Vec<Option<f64>> {
        let mut phi = vec![None; graph.len()];
        for client in file["clients"].as_array().unwrap() {
            let ids: Vec<u32> = indices(&client["global_ids"]).iter().map(|&v| v as u32).collect();
            for (local, value) in node_homophily(&graph.induced(&ids)).into_iter().enumerate() {
                phi[ids[local] as usize] = value;
            }
        }
        phi
    }

    #[test]
    fn homophily_matches_the_golden_numbers() {
        let (graph, file, metrics) = golden();
        assert!(close(&node_homophily(&graph), &optional(&metrics["phi_global"])));
        assert!(close(&local_homophily(&graph, &file), &optional(&metrics["phi_local"])));
        // 17 edges; 0–1, 0–4, 4–5, 4–8, 2–7 join equal labels.
        assert!((edge_homophily(&graph).unwrap() - 5.0 / 17.0).abs() < 1e-12);
    }

    #[test]
    fn groups_match_the_golden_sets() {
        let (graph, file, metrics) = golden();
        let expected = &metrics["results"]["all_nodes"];
        let phi = node_homophily(&graph);
        let counts = indices(&metrics["labelled_class_counts"]);
        for (q, sets) in expected["minority"].as_object().unwrap() {
            let classes = minority_classes(&counts, q.parse().unwrap());
            assert_eq!(members(&classes), indices(&sets["classes"]), "q = {q}");
            let groups = Groups::new(&phi, graph.labels(), &classes, HOMOPHILY_THRESHOLD).unwrap();
            assert_eq!(members(&groups.minority), indices(&sets["nodes"]));
            assert_eq!(members(&groups.heterophilous), indices(&expected["hete_global_le"]));
            assert_eq!(members(&groups.intersection()), indices(&sets["hete_min"]));
        }
        let local =
            Groups::new(&local_homophily(&graph, &file), graph.labels(), &[false; 3], HOMOPHILY_THRESHOLD).unwrap();
        assert_eq!(members(&local.heterophilous), indices(&expected["hete_local_le"]));
    }

    #[test]
    fn minority_follows_the_definition_at_its_edges() {
        assert_eq!(minority_classes(&[3, 3, 3], 0.3), [true, false, false], "ties go to the lower class id");
        assert_eq!(minority_classes(&[5, 0, 9], 0.3), [true, true, false], "an empty class sorts first");
        assert_eq!(minority_classes(&[55, 45, 100], 0.5), [true, true, false]);
        assert_eq!(minority_classes(&[45, 10, 45], 0.55), [true, true, false], "0.55 · 100 rounds above 55");
        assert_eq!(minority_classes(&[0, 0], 0.5), [false, false]);
        assert_eq!(minority_classes(&[1, 2], 0.0), [false, false]);
        assert_eq!(minority_classes(&[1, 2], 1.0), [true, true]);
    }

    #[test]
    fn unlabelled_neighbours_are_left_out() {
        let (adjacency, _) = Adjacency::from_edges(4, &[(0, 1), (0, 2), (2, 3)], None, false).unwrap();
        let labels = Labels::from_integers(&[0, 0, -1, 1], 2).unwrap();
        let graph = Graph::new("g", adjacency, Features::dense(4, 0, Vec::new()).unwrap(), labels).unwrap();
        assert_eq!(node_homophily(&graph), [Some(1.0), Some(1.0), None, None]);
        assert_eq!(edge_homophily(&graph), Some(1.0));
        assert!(Groups::new(&[None], graph.labels(), &[false; 2], 0.5).is_err());
        assert!(Groups::new(&[None; 4], graph.labels(), &[false], 0.5).is_err());
    }
}
