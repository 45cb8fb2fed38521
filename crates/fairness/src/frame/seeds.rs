//! The same frame over several seeds.

use serde::{Deserialize, Serialize};

use super::{FrameMetric, FrameRow, Grouping, MetricFrame, WorstGroup, extremes, ratio, worst};
use crate::{Error, Result, mean, sample_std};

/// Frames of one metric and grouping, seed by seed, and their mean and spread.
///
/// Intervals cover the sampling of test nodes, the spread covers seeds: two sources of uncertainty,
/// which are not mixed. Each seed keeps its intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedFrames {
    /// What is measured.
    pub metric: FrameMetric,
    /// How nodes are divided.
    pub grouping: Grouping,
    /// The value on all evaluated nodes.
    pub overall: Spread,
    /// One row per group that any seed has, in the order of the first seed that has it.
    pub rows: Vec<SeedRow>,
    /// Groups of fewer counted cases are small.
    pub min_group: usize,
    /// The differences of the seeds, without groups that are small under any of them. Their mean is
    /// at least the difference of the mean values.
    pub difference: Spread,
    /// The ratios of the seeds, without the same groups.
    pub ratio: Spread,
    /// The group whose mean is worst, of those that are not small.
    pub worst: Option<WorstGroup>,
    /// The frames themselves.
    pub seeds: Vec<SeedFrame>,
}

/// The frame of one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedFrame {
    /// The seed.
    pub seed: u64,
    /// Its frame.
    pub frame: MetricFrame,
}

/// One group over seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedRow {
    /// Its name.
    pub group: String,
    /// Its number of evaluated nodes, seed by seed.
    pub nodes: Vec<usize>,
    /// How many of them the metric counts, seed by seed.
    pub counted: Vec<usize>,
    /// Its value.
    pub value: Spread,
    /// Whether it is small under any seed that has a value of it.
    pub small: bool,
}

/// Mean and sample standard deviation over the seeds that have a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The mean; `None` if no seed has a value.
    pub mean: Option<f64>,
    /// The standard deviation with n − 1; `None` for fewer than two values.
    pub std: Option<f64>,
}

impl Spread {
    fn of(values: impl Iterator<Item = Option<f64>>) -> Self {
        let known: Vec<f64> = values.flatten().collect();
        Self { mean: mean(&known), std: sample_std(&known) }
    }
}

impl SeedRow {
    /// The group called `name`; a seed without it has 0 nodes and no value.
    fn over_seeds(name: &str, seeds: &[SeedFrame]) -> Self {
        let found: Vec<Option<&FrameRow>> =
            seeds.iter().map(|seed| seed.frame.rows.iter().find(|row| row.group == name)).collect();
        Self {
            group: name.to_owned(),
            nodes: found.iter().map(|row| row.map_or(0, |row| row.nodes)).collect(),
            counted: found.iter().map(|row| row.map_or(0, |row| row.counted)).collect(),
            value: Spread::of(found.iter().map(|row| row.as_ref()?.value)),
            small: found.iter().flatten().any(|row| row.small && row.value.is_some()),
        }
    }
}

impl MetricFrame {
    /// The smallest and the largest value of the groups that are not small over all seeds.
    fn extremes_of_ranked(&self, rows: &[SeedRow]) -> Option<(f64, f64)> {
        let ranked = self
            .rows
            .iter()
            .filter(|row| rows.iter().any(|known| known.group == row.group && !known.small));
        extremes(ranked.map(|row| row.value))
    }
}

impl SeedFrames {
    /// Joins the frames of seeds.
    ///
    /// # Errors
    /// If there is none, or they differ in metric or grouping.
    pub fn new(seeds: Vec<SeedFrame>) -> Result<Self> {
        let Some(SeedFrame { frame: first, .. }) = seeds.first() else {
            return Err(Error::inconsistent("frames", "at least one seed", &"none"));
        };
        let (metric, grouping, min_group) =
            (first.metric.clone(), first.grouping.clone(), first.min_group);
        if let Some(other) =
            seeds.iter().find(|s| s.frame.metric != metric || s.frame.grouping != grouping)
        {
            let found = format!("{} by {}", other.frame.metric, other.frame.grouping);
            return Err(Error::inconsistent(
                "frames",
                format!("{metric} by {grouping} for every seed"),
                &found,
            ));
        }
        let mut names: Vec<&String> = Vec::new();
        for row in seeds.iter().flat_map(|seed| &seed.frame.rows) {
            if !names.contains(&&row.group) {
                names.push(&row.group);
            }
        }
        let rows: Vec<SeedRow> =
            names.into_iter().map(|name| SeedRow::over_seeds(name, &seeds)).collect();
        // The groups that are small under one seed are left out under all, so that the differences
        // of all seeds are between the same groups.
        let ends: Vec<Option<(f64, f64)>> =
            seeds.iter().map(|seed| seed.frame.extremes_of_ranked(&rows)).collect();
        Ok(Self {
            overall: Spread::of(seeds.iter().map(|seed| seed.frame.overall)),
            difference: Spread::of(ends.iter().map(|ends| ends.map(|(least, most)| most - least))),
            ratio: Spread::of(ends.iter().map(|ends| ends.and_then(ratio))),
            worst: worst(
                &metric,
                rows.iter().filter(|row| !row.small).map(|row| (&row.group, row.value.mean)),
            ),
            metric,
            grouping,
            min_group,
            rows,
            seeds,
        })
    }
}
