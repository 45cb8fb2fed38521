//! A description of a partition in numbers, and as a table for a terminal.

use std::collections::BTreeMap;
use std::fmt;

use boostfgl_graph::{Graph, Role};
use serde::{Deserialize, Serialize};

use crate::partition::edges;
use crate::{Partition, louvain};

/// A partition in numbers. `Display` draws it as a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// The graph.
    pub graph: String,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Modularity Q (γ = 1) of the clients as communities: how many more edges are kept than chance
    /// would keep.
    pub modularity: f64,
    /// One entry per client.
    pub clients: Vec<ClientDescription>,
    /// The sums over all clients; `lost_edges` counts each lost edge once.
    pub total: ClientDescription,
}

/// One client in numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientDescription {
    /// Number of nodes n_k.
    pub nodes: usize,
    /// Edges with both ends here.
    pub edges: usize,
    /// Edges with one end here, dropped.
    pub lost_edges: usize,
    /// The same by the client that has the other end; empty for the sum over all.
    pub lost_to: BTreeMap<usize, usize>,
    /// Training nodes.
    pub train: usize,
    /// Validation nodes.
    pub val: usize,
    /// Test nodes.
    pub test: usize,
    /// Nodes of each class, whatever their role.
    pub class_counts: Vec<usize>,
    /// Training nodes of each class.
    pub train_class_counts: Vec<usize>,
    /// Share of the edges between labelled nodes that join the same class; none if there is no such
    /// edge.
    pub edge_homophily: Option<f64>,
    /// Nodes left without any edge.
    pub isolated: usize,
}

impl Description {
    /// Describes `partition` of `graph`. Time and memory O(n + m + K·C); features are not touched.
    ///
    /// # Panics
    /// If `graph` has another number of nodes than the partition.
    pub fn new(graph: &Graph, partition: &Partition) -> Self {
        assert_eq!(graph.len(), partition.len(), "a partition of another graph");
        let mut tallies: Vec<Tally> =
            (0..partition.clients()).map(|_| Tally::new(graph.classes())).collect();
        let mut connected = vec![false; graph.len()];
        for (a, b) in edges(graph.adjacency()) {
            let (a, b) = (a as usize, b as usize);
            let (k, other) = (partition.client_of(a), partition.client_of(b));
            if k == other {
                (connected[a], connected[b]) = (true, true);
                tallies[k].edge(graph.labels().get(a), graph.labels().get(b));
            } else {
                tallies[k].lost(other);
                tallies[other].lost(k);
            }
        }
        for (v, connected) in connected.into_iter().enumerate() {
            let role = partition.split().role(v);
            tallies[partition.client_of(v)].node(graph.labels().get(v), role, connected);
        }
        let mut total = tallies.iter().fold(Tally::new(graph.classes()), Tally::plus).finish();
        total.lost_edges /= 2;
        Self {
            graph: graph.name().to_owned(),
            classes: graph.labels().names().to_vec(),
            modularity: louvain::modularity(graph.adjacency(), partition.assignment(), 1.0),
            clients: tallies.into_iter().map(Tally::finish).collect(),
            total,
        }
    }

    /// Notes to consider before training, one sentence each: clients and classes without
    /// training nodes, clients without edges.
    pub fn notes(&self) -> Vec<String> {
        let untrained: Vec<String> = std::iter::zip(&self.classes, &self.total.train_class_counts)
            .filter(|(_, count)| **count == 0)
            .map(|(class, _)| class.clone())
            .collect();
        let untrainable = self.clients_that(|client| client.train == 0);
        let edgeless = self.clients_that(|client| client.edges == 0);
        let notes = [
            note(["client", "clients"], &untrainable, UNTRAINABLE),
            note(["client", "clients"], &edgeless, EDGELESS),
            note(["class", "classes"], &untrained, UNTRAINED),
        ];
        notes.into_iter().flatten().collect()
    }

    /// The numbers of the clients that pass a test.
    fn clients_that(&self, test: fn(&ClientDescription) -> bool) -> Vec<String> {
        let clients = self.clients.iter().enumerate();
        clients.filter(|(_, client)| test(client)).map(|(k, _)| k.to_string()).collect()
    }
}

const UNTRAINABLE: &str = "no training node; never trained on, still tested";
const EDGELESS: &str = "no edge; nodes receive no messages";
const UNTRAINED: &str = "no training node in any client; no model can learn it";

/// A sentence about these clients or classes; `None` if there are none.
fn note([singular, plural]: [&str; 2], names: &[String], text: &str) -> Option<String> {
    match names {
        [] => None,
        [name] => Some(format!("{singular} {name}: {text}")),
        _ => Some(format!("{plural} {}: {text}", names.join(", "))),
    }
}

/// A client being counted.
struct Tally {
    client: ClientDescription,
    labelled_edges: usize,
    same_class: usize,
}

impl Tally {
    fn new(classes: usize) -> Self {
        let client = ClientDescription {
            class_counts: vec![0; classes],
            train_class_counts: vec![0; classes],
            ..ClientDescription::default()
        };
        Self { client, labelled_edges: 0, same_class: 0 }
    }

    fn lost(&mut self, to: usize) {
        self.client.lost_edges += 1;
        *self.client.lost_to.entry(to).or_default() += 1;
    }

    fn edge(&mut self, a: Option<u32>, b: Option<u32>) {
        self.client.edges += 1;
        if let (Some(a), Some(b)) = (a, b) {
            self.labelled_edges += 1;
            self.same_class += usize::from(a == b);
        }
    }

    fn node(&mut self, class: Option<u32>, role: Role, connected: bool) {
        let client = &mut self.client;
        client.nodes += 1;
        client.isolated += usize::from(!connected);
        match role {
            Role::Train => client.train += 1,
            Role::Val => client.val += 1,
            Role::Test => client.test += 1,
            Role::None => {}
        }
        if let Some(class) = class {
            client.class_counts[class as usize] += 1;
            client.train_class_counts[class as usize] += usize::from(role == Role::Train);
        }
    }

    fn plus(mut self, other: &Self) -> Self {
        let (sum, more) = (&mut self.client, &other.client);
        sum.nodes += more.nodes;
        sum.edges += more.edges;
        sum.lost_edges += more.lost_edges;
        sum.train += more.train;
        sum.val += more.val;
        sum.test += more.test;
        sum.isolated += more.isolated;
        sum.class_counts.iter_mut().zip(&more.class_counts).for_each(|(a, b)| *a += b);
        sum.train_class_counts.iter_mut().zip(&more.train_class_counts).for_each(|(a, b)| *a += b);
        self.labelled_edges += other.labelled_edges;
        self.same_class += other.same_class;
        self
    }

    fn finish(mut self) -> ClientDescription {
        self.client.edge_homophily =
            (self.labelled_edges > 0).then(|| self.same_class as f64 / self.labelled_edges as f64);
        self.client
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = &self.total;
        let edges = total.edges + total.lost_edges;
        let lost = 100.0 * total.lost_edges as f64 / edges.max(1) as f64;
        writeln!(
            f,
            "{}: {} nodes, {edges} edges, {} clients",
            self.graph,
            total.nodes,
            self.clients.len()
        )?;
        writeln!(
            f,
            "{} edges between clients lost ({lost:.1} %), modularity {:.4}",
            total.lost_edges, self.modularity
        )?;
        writeln!(f)?;
        writeln!(f, "{HEADER}")?;
        for (k, client) in self.clients.iter().enumerate() {
            write_row(f, &k.to_string(), client)?;
        }
        write_row(f, "all", total)?;
        writeln!(f)?;
        writeln!(
            f,
            "class mix: one column per class, {}; the tallest is the row's largest",
            self.named_classes()
        )?;
        self.notes().iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}

impl Description {
    /// The classes in the order of the bars, as far as a line goes.
    fn named_classes(&self) -> String {
        let shared = self.classes.len().div_ceil(BAR);
        let many = if shared > 1 {
            format!("{shared} neighbouring classes share one, ")
        } else {
            String::new()
        };
        match &self.classes[..] {
            [first, .., last] if self.classes.len() > 8 => format!("{many}from {first} to {last}"),
            names => names.join(", "),
        }
    }
}

fn write_row(f: &mut fmt::Formatter<'_>, name: &str, client: &ClientDescription) -> fmt::Result {
    let ClientDescription { nodes, edges, lost_edges, train, val, test, isolated, .. } = client;
    let homophily = client.edge_homophily.map_or("–".to_owned(), |share| format!("{share:.3}"));
    let bar = bar(&client.class_counts);
    writeln!(
        f,
        "{name:>6}{nodes:>9}{edges:>10}{lost_edges:>10}{train:>9}{val:>9}{test:>9}{homophily:>11}{isolated:>10}  {bar}"
    )
}

/// One block per class, with the count relative to the largest as its height; an absent class is a
/// dot.
fn bar(counts: &[usize]) -> String {
    let columns: Vec<usize> =
        counts.chunks(counts.len().div_ceil(BAR).max(1)).map(|few| few.iter().sum()).collect();
    let largest = columns.iter().copied().max().unwrap_or(0).max(1);
    columns
        .iter()
        .map(|&count| match count {
            0 => '·',
            _ => BLOCKS[(count * BLOCKS.len()).div_ceil(largest) - 1],
        })
        .collect()
}

const HEADER: &str = "client    nodes     edges      lost    train      val     test  homophily  isolated  class mix";
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The most columns a bar of classes has.
const BAR: usize = 48;

#[cfg(test)]
mod tests {
    use boostfgl_graph::{Adjacency, Features, Labels, Split};

    use super::*;

    /// A triangle of class a with an unlabelled tail node; node 4 of class b is a client of its
    /// own.
    fn example() -> Description {
        let edges = [(0, 1), (1, 2), (0, 2), (2, 3), (2, 4)];
        let (adjacency, _) = Adjacency::from_edges(5, &edges, None, false).unwrap();
        let labels =
            Labels::new([Some(0), Some(0), Some(0), None, Some(1)], vec!["a".into(), "b".into()])
                .unwrap();
        let features = Features::dense(5, 1, vec![0.0; 5]).unwrap();
        let graph = Graph::new("example", adjacency, features, labels).unwrap();
        let roles = vec![Role::Train, Role::Val, Role::Test, Role::None, Role::Test];
        Description::new(
            &graph,
            &Partition::new(2, vec![0, 0, 0, 0, 1], Split::new(roles)).unwrap(),
        )
    }

    #[test]
    fn counts_add_up() {
        let description = example();
        let [first, second] = &description.clients[..] else { panic!("two clients") };
        assert_eq!((first.nodes, first.edges, first.lost_edges, first.isolated), (4, 4, 1, 0));
        assert_eq!((first.train, first.val, first.test), (1, 1, 1));
        assert_eq!(
            (&first.lost_to, &second.lost_to),
            (&BTreeMap::from([(1, 1)]), &BTreeMap::from([(0, 1)]))
        );
        assert_eq!((&first.class_counts[..], first.edge_homophily), (&[3, 0][..], Some(1.0)));
        assert_eq!(
            (second.nodes, second.edges, second.isolated, second.edge_homophily),
            (1, 0, 1, None)
        );
        assert_eq!((description.total.edges, description.total.lost_edges), (4, 1));
    }

    #[test]
    fn what_cannot_be_trained_is_noted() {
        assert_eq!(
            example().notes(),
            [
                "client 1: no training node; never trained on, still tested",
                "client 1: no edge; nodes receive no messages",
                "class b: no training node in any client; no model can learn it",
            ]
        );
    }

    #[test]
    fn the_picture_is_a_table() {
        let expected = "\
example: 5 nodes, 5 edges, 2 clients
1 edges between clients lost (20.0 %), modularity -0.0200

client    nodes     edges      lost    train      val     test  homophily  isolated  class mix
     0        4         4         1        1        1        1      1.000         0  █·
     1        1         0         1        0        0        1          –         1  ·█
   all        5         4         1        1        1        2      1.000         1  █▃

class mix: one column per class, a, b; the tallest is the row's largest
";
        let drawn = example().to_string();
        assert!(drawn.starts_with(expected), "{drawn}");
        assert_eq!(drawn.lines().filter(|line| line.starts_with("note: ")).count(), 3);
    }

    #[test]
    fn bars_stay_narrow() {
        assert_eq!(bar(&[]), "");
        assert_eq!(bar(&[0, 0]), "··");
        assert_eq!(bar(&[1, 1000, 500]), "▁█▄");
        assert!(bar(&[1; 1000]).chars().count() <= BAR);
    }

    #[test]
    fn it_serialises() {
        let json = serde_json::to_value(example()).unwrap();
        assert_eq!(json["clients"][1]["edge_homophily"], serde_json::Value::Null);
        assert_eq!(json["total"]["train"], 1);
    }
}
