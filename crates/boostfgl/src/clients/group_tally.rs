//! Counting a client's test nodes by protected attribute, on the client, and reading what it sent.

use super::tally::Counted;
use crate::Result;
use boostfgl_fairness::protected::{BinaryCounts, GroupTally, MOST_VALUES};
use boostfgl_fairness::scored::{self, ScoreHistogram};
use boostfgl_fed::Probability;
use boostfgl_graph::GroupColumn;
use boostfgl_protocol::{GroupCounts, SCORE_BINS};

// Both sides cut scores alike.
const _: () = assert!(SCORE_BINS == scored::SCORE_BINS);

/// The protected attributes of a client, and the class that is positive.
#[derive(Clone, Debug, Default)]
pub(super) struct ProtectedNodes {
    /// The positive class, by name; nothing is counted without one.
    pub(super) positive: Option<String>,
    /// Group columns.
    pub(super) columns: Vec<GroupColumn>,
}

impl ProtectedNodes {
    /// The columns that may be sent: a column with a value per node would reveal nodes.
    pub(super) fn new(positive: Option<String>, columns: &[GroupColumn]) -> Self {
        let columns = columns.iter().filter(|column| column.values.len() <= MOST_VALUES);
        Self { positive, columns: columns.cloned().collect() }
    }

    /// All test nodes, and those of every value of every column, where there are any.
    pub(super) fn count(
        &self,
        nodes: &[Counted],
        classes: &[String],
        predictions: &[u32],
        probability: Probability<'_>,
    ) -> Vec<GroupCounts> {
        let names = (0..).zip(classes);
        let positive = self.positive.as_ref();
        let mut found = names.filter(|(_, name)| Some(*name) == positive).map(|(class, _)| class);
        let Some(positive) = found.next() else { return Vec::new() };
        let mut groups = self.empty();
        for Counted { node, class, .. } in nodes {
            let predicted = predictions[*node];
            let score = probability(*node, positive);
            let mut first = 1;
            let mut places = vec![0];
            for column in &self.columns {
                let value = column.of_node[*node].map_or(column.values.len(), |at| at as usize);
                places.push(first + value);
                first += column.values.len() + 1;
            }
            for place in places {
                let (is_positive, is_selected) = (*class == positive, predicted == positive);
                groups[place].add(is_positive, is_selected, *class == predicted, score);
            }
        }
        groups.into_iter().filter(|group| group.counts.nodes() > 0).map(sent).collect()
    }

    /// All nodes, then per column every value and no value.
    fn empty(&self) -> Vec<GroupTally> {
        let mut groups = vec![GroupTally::default()];
        for column in &self.columns {
            let values = column.values.iter().cloned().map(Some).chain([None]);
            groups.extend(values.map(|value| {
                let attribute = Some(column.name.clone());
                GroupTally { attribute, value, ..GroupTally::default() }
            }));
        }
        groups
    }
}

/// A group as it is sent.
fn sent(group: GroupTally) -> GroupCounts {
    let GroupTally { attribute, value, right, counts, scores } = group;
    let BinaryCounts { true_positives, false_positives, false_negatives, true_negatives } = counts;
    let (positives, negatives) = scores.into_counts();
    GroupCounts {
        attribute: attribute.unwrap_or_default(),
        value: value.unwrap_or_default(),
        right,
        outcomes: [true_positives, false_positives, false_negatives, true_negatives],
        positives,
        negatives,
    }
}

/// A name, which is never empty where there is one.
fn named(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// A group as it was received.
///
/// # Errors
/// If a histogram has another number of bins.
pub(super) fn group_tally(group: &GroupCounts) -> Result<GroupTally> {
    let [true_positives, false_positives, false_negatives, true_negatives] = group.outcomes;
    Ok(GroupTally {
        attribute: named(&group.attribute),
        value: named(&group.value),
        right: group.right,
        counts: BinaryCounts { true_positives, false_positives, false_negatives, true_negatives },
        scores: ScoreHistogram::from_counts(group.positives.clone(), group.negatives.clone())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_nodes_are_counted_by_value_and_survive_the_wire() {
        let columns = [GroupColumn::from_texts("sex", &["f", "m", "f", ""])];
        let nodes = [(0, 1), (2, 0), (3, 1)].map(|(node, class)| Counted { node, class, group: 0 });
        let classes = ["ok", "fraud"].map(str::to_owned);
        let of = |positive: Option<&str>| {
            let nodes_of = ProtectedNodes::new(positive.map(str::to_owned), &columns);
            nodes_of.count(&nodes, &classes, &[1, 0, 1, 0], &|node, _| node as f64 / 4.0)
        };
        assert!(of(None).is_empty());
        let found = of(Some("fraud"));
        let names: Vec<(&str, &str)> =
            found.iter().map(|group| (&group.attribute[..], &group.value[..])).collect();
        assert_eq!(names, [("", ""), ("sex", "f"), ("sex", "")], "no test node is of m");
        // All: node 0 found, node 2 wrongly selected, node 3 missed.
        assert_eq!((found[0].outcomes, found[0].right), ([1, 1, 1, 0], 1));
        assert_eq!((found[1].outcomes, found[2].outcomes), ([1, 1, 0, 0], [0, 0, 1, 0]));
        assert_eq!(
            (found[0].positives[0], found[0].positives[192], found[0].negatives[128]),
            (1, 1, 1)
        );
        assert!(found.iter().all(|group| group.is_sound(3)));
        for group in found {
            assert_eq!(sent(group_tally(&group).unwrap()), group);
        }
    }

    #[test]
    fn a_column_with_a_value_per_node_is_not_sent() {
        let texts: Vec<String> = (0..200).map(|v| v.to_string()).collect();
        let columns = [GroupColumn::from_texts("id", &texts)];
        assert!(ProtectedNodes::new(Some("fraud".into()), &columns).columns.is_empty());
    }
}
