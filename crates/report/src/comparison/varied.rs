//! What was varied in a comparison, and the scores at every combination of values.

use super::analysis::{metrics, values};
use super::{BlockRow, Comparison};
use crate::name;
use crate::text_table::csv_line;
use boostfgl_fairness::{mean, sample_std};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The values of the keys that were varied, by key.
pub type VariedSettings = BTreeMap<String, String>;

/// What was varied in a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Varied {
    /// The keys, in the order in which they were given.
    pub keys: Vec<String>,
    /// Per block the dataset and the values that it has on its own: those of keys that make other
    /// partitions, splits or groups, whose runs are no pairs.
    pub blocks: Vec<(String, VariedSettings)>,
}

impl Varied {
    /// Whether nothing was varied.
    pub fn is_none(&self) -> bool {
        self.keys.is_empty()
    }
}

/// A method on a dataset at one combination of values.
#[derive(Clone, Debug)]
pub(crate) struct Spot<'a> {
    pub(crate) dataset: &'a str,
    /// The method with its boosts.
    pub(crate) method: String,
    /// Keys without an effect on the method are missing.
    pub(crate) settings: VariedSettings,
    pub(crate) row: &'a BlockRow,
}

impl Spot<'_> {
    /// The value of a key, or nothing where it has no effect on the method.
    pub(crate) fn value(&self, key: &str) -> &str {
        self.settings.get(key).map_or("", String::as_str)
    }
}

impl Comparison {
    /// Every method on every dataset at every combination of values; empty if nothing was varied.
    pub(crate) fn spots(&self) -> Vec<Spot<'_>> {
        let mut spots = Vec::new();
        for (block, (dataset, own)) in self.datasets.iter().zip(&self.varied.blocks) {
            for (row, contender) in block.rows.iter().zip(&self.methods) {
                let settings = own.iter().chain(&contender.settings);
                spots.push(Spot {
                    dataset,
                    method: name::label(&contender.method, &contender.boost),
                    settings: settings.map(|(key, value)| (key.clone(), value.clone())).collect(),
                    row,
                });
            }
        }
        spots
    }

    /// One record per dataset, method, combination of values and metric: number of seeds, mean and
    /// standard deviation. `None` if nothing was varied. A value is empty where its key has no
    /// effect on the method.
    pub fn varied_csv(&self) -> Option<String> {
        if self.varied.is_none() {
            return None;
        }
        let keys = &self.varied.keys;
        let mut head = vec!["dataset".to_owned(), "method".to_owned()];
        head.extend(keys.iter().cloned());
        head.extend(["metric", "reading", "seeds", "mean", "std"].map(str::to_owned));
        let mut text = csv_line(&head);
        for spot in self.spots() {
            for column in metrics() {
                let known: Vec<f64> =
                    values(column, &spot.row.cells).into_iter().flatten().collect();
                let mut record = vec![spot.dataset.to_owned(), spot.method.clone()];
                record.extend(keys.iter().map(|key| spot.value(key).to_owned()));
                record.extend([column.key.to_owned(), column.unit.to_owned()]);
                record.push(known.len().to_string());
                for number in [mean(&known), sample_std(&known)] {
                    record.push(number.map(|x| x.to_string()).unwrap_or_default());
                }
                text.push_str(&csv_line(&record));
            }
        }
        Some(text)
    }
}
