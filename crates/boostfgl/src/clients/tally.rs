//! Counting a client's test nodes, on the client.

use super::group_tally::ProtectedNodes;
use boostfgl_fed::{Probability, Tally};
use boostfgl_protocol::{GROUPS, GroupCounts};
use std::collections::HashMap;

/// A test node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) node: usize,
    /// Its class, as the client numbers them.
    pub(super) class: u32,
    /// Its group: 0 heterophilous, 1 not, 2 without labelled neighbours.
    pub(super) group: usize,
}

/// The test nodes of a client.
pub(super) struct NodeTally {
    /// The client's own names of classes.
    own: Vec<String>,
    counted: Vec<Counted>,
    /// The number of classes of all clients.
    classes: usize,
    protected: ProtectedNodes,
}

impl NodeTally {
    /// A tally of these nodes, whose classes have these names.
    pub(super) fn new(own: Vec<String>, counted: Vec<Counted>) -> Self {
        Self { classes: own.len(), own, counted, protected: ProtectedNodes::default() }
    }

    /// The same, which also counts by protected attribute.
    pub(super) fn with_protected(self, protected: ProtectedNodes) -> Self {
        Self { protected, ..self }
    }
}

impl Tally for NodeTally {
    fn begin(&mut self, classes: &[String]) {
        let place: HashMap<&str, u32> = classes.iter().map(String::as_str).zip(0..).collect();
        // The server's list has every class of this client: that was checked before.
        let numbers: Vec<u32> =
            self.own.iter().map(|class| place.get(class.as_str()).copied().unwrap_or(0)).collect();
        self.counted.iter_mut().for_each(|node| node.class = numbers[node.class as usize]);
        (self.own, self.classes) = (classes.to_vec(), classes.len());
    }

    fn nodes(&self) -> u64 {
        self.counted.len() as u64
    }

    fn count(&self, predictions: &[u32]) -> Vec<u64> {
        let classes = self.classes;
        let mut counts = vec![0; GROUPS * classes * classes];
        for Counted { node, class, group } in &self.counted {
            let predicted = predictions[*node] as usize;
            counts[(group * classes + *class as usize) * classes + predicted] += 1;
        }
        counts
    }

    fn by_group(&self, predictions: &[u32], probability: Probability<'_>) -> Vec<GroupCounts> {
        self.protected.count(&self.counted, &self.own, predictions, probability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_counted_by_group_true_and_predicted_class() {
        let counted = [(0, 0, 0), (2, 1, 2), (3, 1, 2)].map(|(node, class, group)| Counted {
            node,
            class,
            group,
        });
        let mut tally = NodeTally::new(vec!["a".into(), "c".into()], counted.to_vec());
        tally.begin(&["a", "b", "c"].map(str::to_owned));
        assert_eq!(tally.nodes(), 3);
        let counts = tally.count(&[1, 0, 2, 2]);
        assert_eq!((counts.len(), counts.iter().sum::<u64>()), (27, 3));
        // Node 0: heterophilous, a predicted as b. Nodes 2 and 3: group 2, c predicted as c.
        assert_eq!((counts[1], counts[2 * 9 + 2 * 3 + 2]), (1, 2));
    }
}
