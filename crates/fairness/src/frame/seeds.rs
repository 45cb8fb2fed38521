//! The same frame over several seeds.

use serde::{Deserialize, Serialize};

use super::{FrameMetric, Grouping, MetricFrame, WorstGroup, worst};
use crate::{Error, Result, mean, sample_std};

/// Frames of one metric and grouping, seed by seed, and their mean and spread.
///
/// Intervals are about test nodes and the spread is about seeds: two different doubts, which are not mixed. Each seed
/// keeps its intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedFrames {
    /// What is measured.
    pub metric: FrameMetric,
    /// How nodes are divided.
    pub grouping: Grouping,
    /// The value on all judged nodes.
    pub overall: Spread,
    /// One row per group that any seed has, in the order of the first seed that has it.
    pub rows: Vec<SeedRow>,
    /// The differences of the seeds. Their mean is at least the difference of the mean values.
    pub difference: Spread,
    /// The ratios of the seeds.
    pub ratio: Spread,
    /// The group whose mean is worst.
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
    /// Its number of judged nodes, seed by seed.
    pub nodes: Vec<usize>,
    /// Its value.
    pub value: Spread,
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

impl SeedFrames {
    /// Joins the frames of seeds.
    ///
    /// # Errors
    /// If there is none, or they differ in metric or grouping.
    pub fn new(seeds: Vec<SeedFrame>) -> Result<Self> {
        let Some(SeedFrame { frame: first, .. }) = seeds.first() else {
            return Err(Error::inconsistent("frames", "at least one seed", &"none"));
        };
        let (metric, grouping) = (first.metric.clone(), first.grouping.clone());
        if let Some(other) = seeds.iter().find(|s| s.frame.metric != metric || s.frame.grouping != grouping) {
            let found = format!("{} by {}", other.frame.metric, other.frame.grouping);
            return Err(Error::inconsistent("frames", format!("{metric} by {grouping} for every seed"), &found));
        }
        let mut names: Vec<&String> = Vec::new();
        for row in seeds.iter().flat_map(|seed| &seed.frame.rows) {
            if !names.contains(&&row.group) {
                names.push(&row.group);
            }
        }
        let row = |name: &String| {
            let found = || seeds.iter().map(|seed| seed.frame.rows.iter().find(|row| row.group == *name));
            SeedRow {
                group: name.clone(),
                nodes: found().map(|row| row.map_or(0, |row| row.nodes)).collect(),
                value: Spread::of(found().map(|row| row?.value)),
            }
        };
        let rows: Vec<SeedRow> = names.into_iter().map(row).collect();
        let over = |pick: fn(&MetricFrame) -> Option<f64>| Spread::of(seeds.iter().map(|seed| pick(&seed.frame)));
        Ok(Self {
            overall: over(|frame| frame.overall),
            difference: over(|frame| frame.difference),
            ratio: over(|frame| frame.ratio),
            worst: worst(&metric, rows.iter().map(|row| (&row.group, row.value.mean))),
            metric,
            grouping,
            rows,
            seeds,
        })
    }
}
