//! Datasets under other partitions, splits or groups: blocks of a grid, inside of which runs are
//! pairs.

use super::Axes;
use crate::config::Assignment;
use crate::{Experiment, Result};
use boostfgl_report::VariedSettings;

/// Datasets, each under every combination of the keys that make other pairs.
pub struct Blocks {
    /// One per dataset and combination.
    pub experiments: Vec<Experiment>,
    /// The combination of each in words; empty without any.
    pub variants: Vec<String>,
    /// The dataset and the combination of each.
    pub settings: Vec<(String, VariedSettings)>,
}

impl Blocks {
    /// Every dataset under every combination of values.
    ///
    /// # Errors
    /// If a value has the wrong type or is out of range.
    pub fn new(datasets: &[Experiment], axes: &Axes) -> Result<Self> {
        let mut blocks =
            Self { experiments: Vec::new(), variants: Vec::new(), settings: Vec::new() };
        for dataset in datasets {
            for settings in axes.combinations() {
                let experiment = match settings.as_slice() {
                    [] => dataset.clone(),
                    settings => dataset.with_settings(settings)?,
                };
                let named: Vec<String> = settings.iter().map(Assignment::named).collect();
                let values =
                    settings.iter().map(|setting| (setting.key().to_owned(), setting.shown()));
                let name = experiment.graph().name().to_owned();
                blocks.experiments.push(experiment);
                blocks.variants.push(named.join(", "));
                blocks.settings.push((name, values.collect()));
            }
        }
        Ok(blocks)
    }
}
