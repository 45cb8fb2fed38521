//! What is unusual about a graph, before a model is trained on it.

use boostfgl_graph::groups::edge_homophily;
use boostfgl_graph::{EdgeCounts, Features, Graph};
use serde::Serialize;

/// What `boostfgl data check` lists.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Health {
    /// The number of nodes.
    pub nodes: usize,
    /// The number of edges that are used.
    pub edges: usize,
    /// Rows of the edge table that repeat an edge; `None` if the format does not tell.
    pub merged_duplicates: Option<usize>,
    /// Rows of the edge table from a node to itself.
    pub dropped_loops: Option<usize>,
    /// Nodes without edges.
    pub isolated: usize,
    /// The nodes with the most neighbours.
    pub hubs: Vec<Hub>,
    /// The number of features.
    pub features: usize,
    /// Features with the same value at every node.
    pub constant: Vec<String>,
    /// The features with the smallest and the largest standard deviation, of those that vary and are
    /// not standardised on each client.
    pub scales: Option<[Scale; 2]>,
    /// Features without a value at some nodes.
    pub missing: Vec<Share>,
    /// Labelled nodes by class.
    pub classes: Vec<Share>,
    /// Nodes without a label.
    pub unlabelled: usize,
    /// The share of edges between nodes of one class.
    pub edge_homophily: Option<f64>,
    /// What to look at, in words.
    pub hints: Vec<String>,
}

/// A node with many neighbours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hub {
    /// Its name in the source.
    pub node: String,
    /// The number of its neighbours.
    pub degree: usize,
}

/// The scale of a feature.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scale {
    /// Its name.
    pub feature: String,
    /// Its standard deviation among the values that are there.
    pub deviation: f64,
}

/// A part of the nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The name of the feature or class.
    pub name: String,
    /// The number of nodes.
    pub count: usize,
    /// Their share: of all nodes for a feature, of the labelled ones for a class.
    pub share: f64,
}

impl Health {
    /// Looks at a graph. `counts` are those of its edge table, if the format has one. Time
    /// O(n + m + non-zeros).
    pub fn of(graph: &Graph, counts: Option<EdgeCounts>) -> Self {
        let adjacency = graph.adjacency();
        let degrees = degrees(graph);
        let columns = Columns::of(graph);
        let labelled: usize = graph.labels().counts(0..graph.len()).iter().sum();
        let classes = graph.labels().names().iter().zip(graph.labels().counts(0..graph.len()));
        let classes: Vec<Share> =
            classes.map(|(name, count)| Share::new(name, count, labelled)).collect();
        let mut health = Self {
            nodes: graph.len(),
            edges: adjacency.edges(),
            merged_duplicates: counts.map(|counts| counts.duplicates),
            dropped_loops: counts.map(|counts| counts.loops),
            isolated: degrees.iter().filter(|degree| **degree == 0).count(),
            hubs: hubs(graph, &degrees),
            features: graph.features().columns(),
            constant: columns.constant(graph),
            scales: columns.scales(graph),
            missing: columns.missing(graph),
            classes,
            unlabelled: graph.len() - labelled,
            edge_homophily: edge_homophily(graph),
            hints: Vec::new(),
        };
        health.hints = health.found_hints();
        health
    }

    fn found_hints(&self) -> Vec<String> {
        let mut hints = Vec::new();
        for class in self.classes.iter().filter(|class| class.share < RARE) {
            hints.push(format!(
                "class `{}` is rare ({} of the labels): a model that never predicts it has a high \
                 accuracy; look at its recall and at macro-F1",
                class.name,
                percent(class.share)
            ));
        }
        if let Some([small, large]) = &self.scales
            && large.deviation > FAR_APART * small.deviation
        {
            hints.push(format!(
                "scales differ: `{}` varies {:.0} times as much as `{}`; standardise them",
                large.feature,
                large.deviation / small.deviation,
                small.feature
            ));
        }
        let half = self.missing.iter().filter(|column| column.share > 0.5);
        hints.extend(half.map(|column| {
            format!("`{}` is missing at {} of the nodes", column.name, percent(column.share))
        }));
        if self.isolated * 2 > self.nodes {
            let share = self.isolated as f64 / self.nodes as f64;
            hints.push(format!("{} of the nodes have no edge", percent(share)));
        }
        hints
    }
}

impl Share {
    fn new(name: &str, count: usize, of: usize) -> Self {
        let share = if of == 0 { 0.0 } else { count as f64 / of as f64 };
        Self { name: name.to_owned(), count, share }
    }
}

/// A share in percent, in words.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A class with a smaller share of the labels is rare.
const RARE: f64 = 0.1;
/// Standard deviations of which one is so many times the other differ.
const FAR_APART: f64 = 100.0;
/// The number of hubs that are listed.
const HUBS: usize = 5;

/// The number of neighbours of each node; in a directed graph those that it sends to count too.
fn degrees(graph: &Graph) -> Vec<usize> {
    let adjacency = graph.adjacency();
    let mut degrees: Vec<usize> = (0..graph.len()).map(|v| adjacency.degree(v)).collect();
    if adjacency.is_directed() {
        adjacency.indices().iter().for_each(|&source| degrees[source as usize] += 1);
    }
    degrees
}

fn hubs(graph: &Graph, degrees: &[usize]) -> Vec<Hub> {
    let mut nodes: Vec<usize> = (0..graph.len()).filter(|&v| degrees[v] > 0).collect();
    nodes.sort_unstable_by_key(|&v| (std::cmp::Reverse(degrees[v]), v));
    nodes.truncate(HUBS);
    nodes.into_iter().map(|v| Hub { node: graph.id(v), degree: degrees[v] }).collect()
}

/// Sums over the values of each feature.
struct Columns {
    nodes: usize,
    sums: Vec<Sums>,
}

/// Sums over the values of one feature.
#[derive(Clone, Copy)]
struct Sums {
    /// Values that are not 0.
    stored: usize,
    missing: usize,
    sum: f64,
    squares: f64,
    least: f32,
    most: f32,
}

impl Columns {
    fn of(graph: &Graph) -> Self {
        let none = Sums {
            stored: 0,
            missing: 0,
            sum: 0.0,
            squares: 0.0,
            least: f32::INFINITY,
            most: f32::NEG_INFINITY,
        };
        let mut sums = vec![none; graph.features().columns()];
        match graph.features() {
            Features::Sparse(rows) => {
                let entries = rows.indices().iter().zip(rows.values());
                entries.for_each(|(&column, &value)| sums[column as usize].add(value));
            }
            Features::Dense { columns, values, .. } if *columns > 0 => {
                for row in values.chunks_exact(*columns) {
                    let present = sums.iter_mut().zip(row).filter(|(_, value)| **value != 0.0);
                    present.for_each(|(sums, &value)| sums.add(value));
                }
            }
            Features::Dense { .. } => {}
        }
        for (_, column) in graph.preparation().iter().flat_map(|it| it.missing()) {
            sums[*column as usize].missing += 1;
        }
        let nodes = graph.len();
        // What is neither stored nor missing is 0.
        for sums in sums.iter_mut().filter(|sums| sums.stored + sums.missing < nodes) {
            (sums.least, sums.most) = (sums.least.min(0.0), sums.most.max(0.0));
        }
        Self { nodes, sums }
    }

    fn constant(&self, graph: &Graph) -> Vec<String> {
        let constant = |sums: &Sums| sums.missing < self.nodes && sums.least >= sums.most;
        let columns = self.sums.iter().enumerate().filter(|(_, sums)| constant(sums));
        columns.map(|(column, _)| name(graph, column)).collect()
    }

    fn missing(&self, graph: &Graph) -> Vec<Share> {
        let columns = self.sums.iter().enumerate().filter(|(_, sums)| sums.missing > 0);
        columns
            .map(|(column, sums)| Share::new(&name(graph, column), sums.missing, self.nodes))
            .collect()
    }

    /// The features with the smallest and the largest deviation above 0.
    fn scales(&self, graph: &Graph) -> Option<[Scale; 2]> {
        let is_kept =
            |column: usize| !graph.preparation().is_some_and(|it| it.columns()[column].standardise);
        let varying = self.sums.iter().enumerate().filter(|(_, sums)| sums.least < sums.most);
        let deviations = varying.filter(|(column, _)| is_kept(*column));
        let deviations = deviations.map(|(column, sums)| (column, sums.deviation(self.nodes)));
        let mut deviations: Vec<(usize, f64)> = deviations.filter(|it| it.1 > 0.0).collect();
        deviations.sort_by(|a, b| a.1.total_cmp(&b.1));
        let scale =
            |&(column, deviation): &(usize, f64)| Scale { feature: name(graph, column), deviation };
        match deviations.as_slice() {
            [first, .., last] => Some([scale(first), scale(last)]),
            _ => None,
        }
    }
}

impl Sums {
    fn add(&mut self, value: f32) {
        self.stored += 1;
        self.sum += f64::from(value);
        self.squares += f64::from(value) * f64::from(value);
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
    }

    /// √(E[x²] − E[x]²) over the values that are there.
    fn deviation(&self, nodes: usize) -> f64 {
        let count = (nodes - self.missing) as f64;
        let mean = self.sum / count;
        (self.squares / count - mean * mean).max(0.0).sqrt()
    }
}

/// The name of a feature, or its number.
fn name(graph: &Graph, column: usize) -> String {
    graph.feature_names().get(column).cloned().unwrap_or_else(|| format!("x{column}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_graph::{Adjacency, ColumnPreparation, Labels, Preparation};

    /// Twelve nodes; node 0 has most edges, node 11 none. The third column is constant, the second
    /// a thousand times as large as the first and missing at node 1.
    fn graph(standardise: bool) -> (Graph, EdgeCounts) {
        let edges: Vec<(u32, u32)> =
            (1..11).map(|v| (0, v)).chain([(1, 0), (2, 2), (3, 4)]).collect();
        let (adjacency, counts) = Adjacency::from_edges(12, &edges, None, false).unwrap();
        let mut values: Vec<f32> =
            (0..12).flat_map(|v| [v as f32, 1000.0 * v as f32, 7.0]).collect();
        values[4] = 0.0;
        let labels: Vec<i64> = (0..12).map(|v| i64::from(v == 11)).collect();
        let names = ["ok", "fraud"].map(str::to_owned).to_vec();
        let labels = Labels::from_named_integers(&labels, names).unwrap();
        let column = ColumnPreparation { standardise, ..ColumnPreparation::default() };
        let preparation = Preparation::new(vec![column; 3], vec![(1, 1)]).unwrap();
        let graph = Graph::new("g", adjacency, Features::dense(12, 3, values).unwrap(), labels)
            .and_then(|graph| graph.with_feature_names(["a", "b", "c"].map(str::to_owned).to_vec()))
            .and_then(|graph| graph.with_preparation(preparation));
        (graph.unwrap(), counts)
    }

    #[test]
    fn everything_unusual_is_counted() {
        let (graph, counts) = graph(false);
        let health = Health::of(&graph, Some(counts));
        assert_eq!((health.merged_duplicates, health.dropped_loops), (Some(1), Some(1)));
        assert_eq!((health.nodes, health.edges, health.isolated), (12, 11, 1));
        assert_eq!(health.hubs[0], Hub { node: "0".into(), degree: 10 });
        assert_eq!(health.constant, ["c"]);
        assert_eq!(health.missing, [Share { name: "b".into(), count: 1, share: 1.0 / 12.0 }]);
        let [small, large] = health.scales.unwrap();
        // The deviation of 0, 1, …, 11 is √(143 / 12).
        assert!((small.deviation - (143.0f64 / 12.0).sqrt()).abs() < 1e-12);
        assert_eq!((small.feature.as_str(), large.feature.as_str()), ("a", "b"));
        assert_eq!(health.classes[1], Share { name: "fraud".into(), count: 1, share: 1.0 / 12.0 });
        assert_eq!(health.hints.len(), 2, "{:?}", health.hints);
        assert!(health.hints[0].starts_with("class `fraud` is rare (8.3 % of the labels)"));
        assert!(health.hints[1].starts_with("scales differ: `b` varies "));
        assert_eq!(health.edge_homophily, Some(1.0));
    }

    #[test]
    fn sparse_features_give_the_same() {
        let (graph, counts) = graph(true);
        let preparation = graph.preparation().unwrap().clone();
        let names = graph.feature_names().to_vec();
        let features = graph.features().clone().stored(true);
        let sparse = graph.clone().with_features(features).unwrap();
        let sparse = sparse.with_feature_names(names).unwrap();
        let sparse = sparse.with_preparation(preparation).unwrap();
        let (one, other) = (Health::of(&graph, Some(counts)), Health::of(&sparse, Some(counts)));
        assert_eq!(one, other);
        // Columns that are standardised have one scale.
        assert_eq!((one.hints.len(), one.scales), (1, None));
        let unknown = Health::of(&graph, None);
        assert_eq!((unknown.merged_duplicates, unknown.dropped_loops), (None, None));
    }
}
