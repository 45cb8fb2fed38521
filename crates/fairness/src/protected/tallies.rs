//! Rates by protected attribute from what clients counted: for clients whose nodes stay with them.

use std::collections::BTreeMap;

use boostfgl_graph::in_order;

use super::audit::{MOST_VALUES, too_many, worst_group};
use super::scores::ALL;
use super::{
    AttributeScores, BinaryCounts, ClassRates, Disparities, FairnessScores, GroupRates,
    PositiveClass,
};
use crate::frame::MIN_GROUP;
use crate::scored::ScoreHistogram;

/// The test nodes of one client that have one value of an attribute, with one class as the positive
/// one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupTally {
    /// The attribute; `None` for all test nodes.
    pub attribute: Option<String>,
    /// Its value; `None` for nodes without one.
    pub value: Option<String>,
    /// Nodes predicted right, over all classes.
    pub right: u64,
    /// The positive class against all others.
    pub counts: BinaryCounts,
    /// The probabilities of the positive class.
    pub scores: ScoreHistogram,
}

impl GroupTally {
    /// Counts one more node.
    pub fn add(&mut self, is_positive: bool, is_selected: bool, is_right: bool, score: f64) {
        self.counts.add(is_positive, is_selected);
        self.right += u64::from(is_right);
        self.scores.add(is_positive, score);
    }

    /// Adds the same group of another client.
    fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.right = self.right.saturating_add(other.right);
        self.scores.merge(&other.scores);
    }

    fn rates(&self, name: impl Into<String>) -> GroupRates {
        GroupRates::new(name, &self.counts, self.right, Some(self.scores.metrics()))
    }
}

impl FairnessScores {
    /// The rates of the positive class from what all clients counted. Attributes are in the order of
    /// their names, values by number if all are integers and by letter otherwise.
    ///
    /// ```
    /// use boostfgl_fairness::protected::{FairnessScores, GroupTally};
    ///
    /// let mut women = GroupTally {
    ///     attribute: Some("sex".into()),
    ///     value: Some("f".into()),
    ///     ..GroupTally::default()
    /// };
    /// women.add(true, true, true, 0.75);
    /// let found = FairnessScores::of_tallies("fraud", [women.clone(), women]);
    /// let group = &found.attributes[0].groups[0];
    /// assert_eq!((&group.group[..], group.nodes, group.precision.value), ("sex=f", 2, Some(1.0)));
    /// ```
    pub fn of_tallies(positive: &str, tallies: impl IntoIterator<Item = GroupTally>) -> Self {
        let mut all = GroupTally::default();
        let mut attributes: BTreeMap<String, BTreeMap<Option<String>, GroupTally>> =
            BTreeMap::new();
        for tally in tallies {
            match tally.attribute.clone() {
                None => all.merge(&tally),
                Some(attribute) => {
                    let groups = attributes.entry(attribute).or_default();
                    groups.entry(tally.value.clone()).or_default().merge(&tally);
                }
            }
        }
        let attributes =
            attributes.into_iter().map(|(name, groups)| attribute(name, positive, &groups));
        Self {
            positive: PositiveClass::Configured,
            min_group: MIN_GROUP as u64,
            classes: vec![ClassRates { class: positive.to_owned(), rates: all.rates(ALL) }],
            attributes: attributes.collect(),
        }
    }
}

/// The groups of one attribute by value.
fn attribute(
    name: String,
    class: &str,
    groups: &BTreeMap<Option<String>, GroupTally>,
) -> AttributeScores {
    let class = class.to_owned();
    let values = in_order(groups.keys().flatten());
    if values.len() > MOST_VALUES {
        let note = Some(too_many(values.len()));
        return AttributeScores { name, class, note, ..AttributeScores::default() };
    }
    let mut rates = Vec::with_capacity(groups.len());
    for value in &values {
        if let Some(tally) = groups.get(&Some(value.clone())) {
            rates.push(tally.rates(format!("{name}={value}")));
        }
    }
    if let Some(tally) = groups.get(&None) {
        // Nodes whose value is the text `unknown` are another group than those without a value.
        let is_taken = values.iter().any(|value| value == "unknown");
        let more = if is_taken { " (no value)" } else { "" };
        rates.push(tally.rates(format!("{name}=unknown{more}")));
    }
    AttributeScores {
        name,
        class,
        worst_group: worst_group(&rates, MIN_GROUP as u64),
        disparities: Disparities::new(&rates, MIN_GROUP as u64),
        groups: rates,
        ..AttributeScores::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Facts;
    use crate::protected::Audit;
    use boostfgl_graph::{GroupColumn, Labels};

    /// Counts of two clients give what one place with all nodes gives, but for the errors of
    /// binning, which are within their bounds.
    #[test]
    fn tallies_of_clients_give_what_nodes_give() {
        let n = 200u32;
        let mix = |v: u32, salt: u64| {
            boostfgl_graph::Stream::new(salt, "test", &[u64::from(v)]).next_u32()
        };
        let labels: Vec<u32> = (0..n).map(|v| u32::from(mix(v, 1) % 3 == 0)).collect();
        let score: Vec<f32> = (0..n)
            .map(|v| (mix(v, 2) % 1000) as f32 / 1000.0 * 0.7 + labels[v as usize] as f32 * 0.3)
            .collect();
        let prediction: Vec<u32> = score.iter().map(|s| u32::from(*s > 0.5)).collect();
        let text: Vec<&str> = (0..n).map(|v| ["9", "10", ""][mix(v, 3) as usize % 3]).collect();
        let columns = [GroupColumn::from_texts("age", &text)];
        let names = ["ok", "fraud"].map(str::to_owned).to_vec();
        let truth = Labels::new(labels.iter().copied().map(Some), names).unwrap();
        let nodes: Vec<u32> = (0..n).collect();
        let size = n as usize;
        let facts = Facts {
            truth: &truth,
            prediction: &prediction,
            nodes: &nodes,
            client: &vec![0; size],
            minority: &vec![None; size],
            heterophilous: &vec![false; size],
            homophily_unknown: &vec![false; size],
            degree: &vec![1; size],
            columns: &columns,
        };
        let probabilities: Vec<f32> = score.iter().flat_map(|s| [1.0 - s, *s]).collect();
        let audit =
            Audit { positive: Some(1), probabilities: Some(&probabilities), ..Audit::new(facts) };
        let exact = audit.answer().unwrap();
        let mut tallies: BTreeMap<(u32, bool, &str), GroupTally> = BTreeMap::new();
        for v in 0..size {
            let client = v as u32 % 2;
            for (key, attribute) in
                [((client, false, ""), None), ((client, true, text[v]), Some("age"))]
            {
                let tally = tallies.entry(key).or_insert_with(|| GroupTally {
                    attribute: attribute.map(str::to_owned),
                    value: Some(key.2).filter(|text| !text.is_empty()).map(str::to_owned),
                    ..GroupTally::default()
                });
                let (truth, predicted) = (labels[v], prediction[v]);
                let score = f64::from(score[v]);
                tally.add(truth == 1, predicted == 1, truth == predicted, score);
            }
        }
        let found = FairnessScores::of_tallies("fraud", tallies.into_values());
        let groups: Vec<&str> =
            found.attributes[0].groups.iter().map(|group| &group.group[..]).collect();
        assert_eq!(groups, ["age=9", "age=10", "age=unknown"]);
        assert_eq!(found.attributes[0].disparities, exact.attributes[0].disparities);
        assert_eq!(found.attributes[0].worst_group, exact.attributes[0].worst_group);
        let pairs = found.attributes[0].groups.iter().zip(&exact.attributes[0].groups);
        for (found, exact) in pairs.chain([(&found.classes[0].rates, &exact.classes[0].rates)]) {
            let (binned, all) = (found.scores.unwrap(), exact.scores.unwrap());
            let bound = binned.error.unwrap();
            assert_eq!(
                GroupRates { scores: None, ..found.clone() },
                GroupRates { scores: None, ..exact.clone() }
            );
            for (binned, exact, bound) in [
                (binned.auc, all.auc, bound.auc),
                (binned.average_precision, all.average_precision, bound.average_precision),
                (binned.calibration_error, all.calibration_error, bound.calibration_error),
            ] {
                let off = (binned.unwrap() - exact.unwrap()).abs();
                assert!(off <= bound.unwrap() + 1e-12, "off by {off}, bound {bound:?}");
                assert!(bound.unwrap() < 0.05, "a bound that says something: {bound:?}");
            }
        }
    }

    #[test]
    fn columns_of_names_are_named_and_not_compared() {
        let tallies = (0..=MOST_VALUES).map(|at| GroupTally {
            attribute: Some("id".to_owned()),
            value: Some(at.to_string()),
            ..GroupTally::default()
        });
        let found = FairnessScores::of_tallies("fraud", tallies);
        assert!(found.attributes[0].groups.is_empty() && found.attributes[0].note.is_some());
        assert_eq!(found.classes[0].rates.nodes, 0);
    }
}
