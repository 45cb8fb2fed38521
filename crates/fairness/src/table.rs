//! Every metric on every group.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metrics::MetricRegistry;
use crate::{ClassCounts, Classes, Confusion, Group, GroupSizes, Metric, Readings, Scores};

/// Every [stored](Metric::stored) metric on every [`Group`], in the order of [`Group::EVERY`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupTable {
    rows: Vec<GroupRow>,
}

/// One group: its size and its metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupRow {
    /// The group.
    pub group: Group,
    /// Its number of evaluated nodes.
    pub size: usize,
    /// The readings of each metric, under its name.
    #[serde(flatten)]
    pub metrics: BTreeMap<String, Readings>,
}

impl GroupTable {
    /// The rows, in the order of [`Group::EVERY`].
    pub fn rows(&self) -> &[GroupRow] {
        &self.rows
    }

    /// The readings of `metric` on `group`; all `None` for a metric the table does not have.
    pub fn readings(&self, group: Group, metric: &str) -> Readings {
        self.row(group).and_then(|row| row.metrics.get(metric)).copied().unwrap_or_default()
    }

    /// The headline metrics.
    pub fn scores(&self) -> Scores {
        Scores::from_fn(|headline| self.readings(headline.group, headline.metric.name()))
    }

    /// How many nodes each group has.
    pub fn sizes(&self) -> GroupSizes {
        GroupSizes {
            all: self.size(Group::All),
            heterophilous: self.size(Group::Heterophilous),
            homophilous: self.size(Group::Homophilous),
            minority: self.size(Group::Minority),
            majority: self.size(Group::Majority),
            hete_min: self.size(Group::HeteMin),
        }
    }

    /// Each value there is, changed by `change`; sizes stay.
    pub(crate) fn map(mut self, change: impl Fn(f64) -> f64) -> Self {
        for readings in self.rows.iter_mut().flat_map(|row| row.metrics.values_mut()) {
            *readings = readings.map(&change);
        }
        self
    }

    /// The table of one owner of nodes. The mean over a single client is that client's value, so
    /// `client` = `pooled`.
    pub(crate) fn of_one(tallies: &[Confusion; 6], metrics: &MetricRegistry) -> Self {
        Self::build(tallies, metrics, |_, _, pooled| pooled)
    }

    /// The table of all clients together, given `tallies` over all of them and each one's weight
    /// and own table.
    pub(crate) fn of_all(
        tallies: &[Confusion; 6],
        metrics: &MetricRegistry,
        clients: &[(f64, Self)],
    ) -> Self {
        Self::build(tallies, metrics, |group, metric, _| {
            let parts = clients
                .iter()
                .map(|(weight, table)| (*weight, table.readings(group, metric).pooled));
            weighted_mean(parts)
        })
    }

    /// Computes the `pooled` and `present` readings; `client` gives the third from group, metric
    /// and pooled reading.
    fn build(
        tallies: &[Confusion; 6],
        metrics: &MetricRegistry,
        client: impl Fn(Group, &str, Option<f64>) -> Option<f64>,
    ) -> Self {
        let mut rows = Vec::with_capacity(tallies.len());
        for (group, tally) in Group::EVERY.into_iter().zip(tallies) {
            let classes = tally.per_class();
            let mut values = BTreeMap::new();
            for metric in metrics.iter().filter(|metric| metric.stored()) {
                let mut readings = readings(&**metric, &classes);
                readings.client = client(group, metric.name(), readings.pooled);
                values.insert(metric.name().to_owned(), readings);
            }
            rows.push(GroupRow { group, size: tally.total() as usize, metrics: values });
        }
        Self { rows }
    }

    /// The number of nodes of a group.
    fn size(&self, group: Group) -> usize {
        self.row(group).map_or(0, |row| row.size)
    }

    fn row(&self, group: Group) -> Option<&GroupRow> {
        self.rows.iter().find(|row| row.group == group)
    }
}

/// The readings of one set of nodes; none over clients.
fn readings(metric: &dyn Metric, classes: &[ClassCounts]) -> Readings {
    Readings {
        pooled: metric.value(classes, Classes::All),
        present: metric.value(classes, Classes::Present),
        client: None,
    }
}

/// Σ w x / Σ w over the parts that have a value; `None` if no weight is left.
fn weighted_mean(parts: impl Iterator<Item = (f64, Option<f64>)>) -> Option<f64> {
    let (sum, weight) = parts
        .filter_map(|(weight, value)| Some((weight, value?)))
        .fold((0.0, 0.0), |(sum, total), (weight, value)| (sum + weight * value, total + weight));
    (weight > 0.0).then(|| sum / weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_without_a_value_do_not_weigh() {
        let parts = [(3.0, Some(1.0)), (100.0, None), (1.0, Some(0.0))];
        assert_eq!(weighted_mean(parts.into_iter()), Some(0.75));
        assert_eq!(weighted_mean([(1.0, None)].into_iter()), None);
        assert_eq!(weighted_mean(std::iter::empty()), None);
    }

    #[test]
    fn a_table_survives_a_file() {
        let tallies = std::array::from_fn(|_| Confusion::from_pairs(2, [(0, 0), (1, 0)]).unwrap());
        let table = GroupTable::of_one(&tallies, &MetricRegistry::builtin());
        let json = serde_json::to_value(&table).unwrap();
        assert_eq!(json[5]["group"], "hete_min");
        assert_eq!(json[5]["accuracy"]["pooled"], 0.5);
        assert_eq!(serde_json::from_value::<GroupTable>(json).unwrap().sizes().hete_min, 2);
    }
}
