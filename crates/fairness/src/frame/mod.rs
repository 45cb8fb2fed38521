//! Any metric × any grouping of the nodes: the value of each group, how far apart the groups are,
//! and which is worst.
//!
//! * [`Grouping`] — how nodes are divided, read from text: `minority`, `degree:4`, `column:NAME`,
//!   `minority*client`.
//! * [`FrameMetric`] — what is measured, by name: `accuracy`, `error`, `macro_f1`, `recall:CLASS`.
//! * [`Facts`] — the predictions, and everything by which nodes can be grouped.
//! * [`MetricFrame`] — the answer for one seed, as fractions of 1; [`SeedFrames`] — for several.

mod division;
mod facts;
mod grouping;
mod metric;
mod sample;
mod seeds;

pub use facts::Facts;
pub use grouping::{Attribute, Grouping};
pub use metric::FrameMetric;
pub use seeds::{SeedFrame, SeedFrames, SeedRow, Spread};

use std::cmp::Ordering;

use boostfgl_graph::Stream;
use serde::{Deserialize, Serialize};

use crate::statistics::{Interval, newcombe, wilson};
use crate::{Error, Result};
pub(crate) use division::Division;
use metric::Resolved;
use sample::{Sample, percentiles};

/// How often nodes are drawn anew unless asked otherwise.
pub const DRAWS: usize = 1000;
/// Groups of fewer counted cases are not ranked unless asked otherwise.
pub const MIN_GROUP: usize = 10;
/// The most draws: more would only cost.
pub const MOST_DRAWS: usize = 100_000;
/// The most groups of a grouping: with more, each has too few nodes for a useful interval.
pub const MOST_GROUPS: usize = 1000;

/// How a frame is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameOptions {
    /// How often nodes are drawn anew for the intervals of metrics that are no shares; 0 for none
    /// of these.
    pub draws: usize,
    /// Groups of fewer counted cases are shown, but not ranked: never worst, and not in difference
    /// and ratio.
    pub min_group: usize,
}

impl Default for FrameOptions {
    fn default() -> Self {
        Self { draws: DRAWS, min_group: MIN_GROUP }
    }
}

impl FrameOptions {
    /// Without any bootstrap.
    pub fn without_draws() -> Self {
        Self { draws: 0, ..Self::default() }
    }
}

/// One metric on every group of one grouping.
///
/// **Groups.** Rows are in the order of the grouping. A group without evaluated nodes is a row with
/// 0 nodes and no value, and never the worst. Evaluated nodes without a value of an attribute (an
/// empty field of a column, no neighbour with a label) are a group of their own, called `unknown`.
/// Groups with fewer counted cases than [`FrameOptions::min_group`] are marked as small: they are
/// shown, but never the worst, and difference and ratio are taken without them.
///
/// **Intervals** cover the sampling of test nodes under the same model, not the choice of the seed.
/// Of shares (accuracy, error, recall) they are Wilson's, over the cases that the metric counts
/// ([`FrameRow::counted`]: of recall the nodes of the class, not the group), so that no interval is
/// a point because all cases were right. The difference of two shares has Newcombe's, between the
/// groups with the largest and the smallest value, without what lies below 0; over many groups both
/// are extremes of noise, too, and the interval does not account for it.
///
/// Macro-F1 is no share. Its intervals are 95 % percentile bootstrap intervals over nodes (Efron
/// 1979): within each group as many nodes as it has are drawn with replacement, and the metric is
/// computed anew; the difference max − min is taken anew in each draw, too. Where all draws agree
/// (all nodes right, or one node) the bootstrap has no spread to estimate and there is no
/// interval. The draws depend on the counts alone, so the same predictions give the same digits.
///
/// ```
/// use boostfgl_fairness::frame::FrameOptions;
/// use boostfgl_fairness::{Facts, FrameMetric, Grouping, MetricFrame};
/// use boostfgl_graph::Labels;
///
/// let truth = Labels::from_integers(&[0, 0, 1, 1], 2)?;
/// let facts = Facts {
///     truth: &truth,
///     prediction: &[0, 0, 1, 0],
///     nodes: &[0, 1, 2, 3],
///     client: &[0, 0, 0, 1],
///     minority: &[false, false, true, true].map(Some),
///     heterophilous: &[false, true, true, false],
///     homophily_unknown: &[false; 4],
///     degree: &[1, 2, 2, 1],
///     columns: &[],
/// };
/// let options = FrameOptions { min_group: 1, ..FrameOptions::default() };
/// let frame = MetricFrame::new(&facts, &Grouping::parse("minority")?, &FrameMetric::accuracy(), options)?;
/// assert_eq!((frame.overall, frame.difference, frame.ratio), (Some(0.75), Some(0.5), Some(0.5)));
/// assert_eq!(frame.worst.unwrap().group, "minority");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricFrame {
    /// What is measured.
    pub metric: FrameMetric,
    /// How nodes are divided.
    pub grouping: Grouping,
    /// Groups of fewer counted cases are small.
    pub min_group: usize,
    /// Number of evaluated nodes.
    pub nodes: usize,
    /// How many of them the metric counts.
    pub counted: usize,
    /// The value on all evaluated nodes.
    pub overall: Option<f64>,
    /// Its interval.
    pub overall_interval: Option<Interval>,
    /// One row per group.
    pub rows: Vec<FrameRow>,
    /// max − min over the groups that have a value and are not small; `None` for fewer than two,
    /// since one has nothing to differ from.
    pub difference: Option<f64>,
    /// Its interval.
    pub difference_interval: Option<Interval>,
    /// min / max over the same groups; `None` also if max is 0.
    pub ratio: Option<f64>,
    /// The group with the smallest value, or the largest for `error`, of those that are not small;
    /// the first of equals.
    pub worst: Option<WorstGroup>,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameRow {
    /// Its name, such as `minority`, `degree=1–2` or `minority × client=3`.
    pub group: String,
    /// Its number of evaluated nodes.
    pub nodes: usize,
    /// How many of them the metric counts, its denominator: the nodes of the class for recall, all
    /// for the others.
    pub counted: usize,
    /// The metric on them; `None` without a counted node.
    pub value: Option<f64>,
    /// Its interval; `None` where nothing is known about spread.
    pub interval: Option<Interval>,
    /// Whether it counts too few cases to be ranked.
    pub small: bool,
}

/// The group with the worst value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstGroup {
    /// Its name.
    pub group: String,
    /// Its value.
    pub value: f64,
}

impl MetricFrame {
    /// Measures one metric.
    ///
    /// # Errors
    /// As [`MetricFrame::measure`].
    pub fn new(
        facts: &Facts<'_>,
        grouping: &Grouping,
        metric: &FrameMetric,
        options: FrameOptions,
    ) -> Result<Self> {
        let mut frames = Self::measure(facts, grouping, std::slice::from_ref(metric), options)?;
        let Some(frame) = frames.pop() else { unreachable!("one metric, one frame") };
        Ok(frame)
    }

    /// Measures several metrics on the same groups and the same draws, which costs little more than
    /// one. Time O(draws · (nodes + groups · C)).
    ///
    /// # Errors
    /// If the facts do not fit together; if the grouping names a column that the data does not have
    /// or makes more than [`MOST_GROUPS`] groups; if a metric is about a class that does not exist;
    /// if there are more than [`MOST_DRAWS`] draws.
    pub fn measure(
        facts: &Facts<'_>,
        grouping: &Grouping,
        metrics: &[FrameMetric],
        options: FrameOptions,
    ) -> Result<Vec<Self>> {
        let draws = options.draws;
        if draws > MOST_DRAWS {
            return Err(Error::asked(
                "draws of the bootstrap",
                format!("at most {MOST_DRAWS}"),
                &draws,
            ));
        }
        facts.check()?;
        let names = facts.truth.names();
        let resolved =
            metrics.iter().map(|metric| metric.resolve(names)).collect::<Result<Vec<_>>>()?;
        let division = Division::new(grouping, facts)?;
        let mut pairs = vec![Vec::new(); division.names.len()];
        for (v, truth, prediction) in facts.evaluated() {
            if let Some(group) = division.of_node[v] {
                pairs[group as usize].push((truth, prediction));
            }
        }
        // The groups have the streams 1, 2, … and all nodes together stream 0, so that the draws of
        // all nodes do not depend on the grouping.
        let classes = facts.truth.classes();
        let groups = (1..)
            .zip(pairs)
            .map(|(i, pairs)| Measured::new(&Sample::new(classes, pairs), &resolved, draws, i))
            .collect();
        let pairs = facts.evaluated().map(|(_, truth, prediction)| (truth, prediction)).collect();
        let all = Measured::new(&Sample::new(classes, pairs), &resolved, draws, 0);
        let table =
            Measurements { names: division.names, groups, all, min_group: options.min_group };
        Ok(metrics
            .iter()
            .enumerate()
            .map(|(at, metric)| table.frame(at, metric, grouping))
            .collect())
    }
}

/// Every metric on every group.
struct Measurements {
    names: Vec<String>,
    groups: Vec<Measured>,
    all: Measured,
    min_group: usize,
}

impl Measurements {
    /// The frame of the metric at position `at`.
    fn frame(&self, at: usize, metric: &FrameMetric, grouping: &Grouping) -> MetricFrame {
        let rows: Vec<FrameRow> = self
            .names
            .iter()
            .zip(&self.groups)
            .map(|(name, group)| group.row(at, name, self.min_group))
            .collect();
        let ends = extremes(rows.iter().map(|row| row.value.filter(|_| !row.small)));
        MetricFrame {
            metric: metric.clone(),
            grouping: grouping.clone(),
            min_group: self.min_group,
            nodes: self.all.nodes,
            counted: self.all.counted[at],
            overall: self.all.values[at],
            overall_interval: self.all.interval(at),
            difference: ends.map(|(least, most)| most - least),
            difference_interval: ends.and_then(|_| self.difference_interval(at)),
            ratio: ends.and_then(ratio),
            worst: worst(
                metric,
                rows.iter().filter(|row| !row.small).map(|row| (&row.group, row.value)),
            ),
            rows,
        }
    }

    /// The interval of max − min over the groups that are ranked.
    fn difference_interval(&self, at: usize) -> Option<Interval> {
        let ranked: Vec<&Measured> =
            self.groups.iter().filter(|group| group.counted[at] >= self.min_group).collect();
        let shares: Vec<(u64, u64)> = ranked.iter().filter_map(|group| group.shares[at]).collect();
        let most = shares.iter().copied().max_by(compare_shares);
        let least = shares.iter().copied().min_by(compare_shares);
        if let (Some(most), Some(least)) = (most, least) {
            // max − min is never negative, but Newcombe's interval takes the two groups as given and
            // may reach below 0.
            return newcombe(most, least)
                .map(|found| Interval { lo: found.lo.max(0.0), hi: found.hi.min(1.0) });
        }
        // If any group has nodes, all nodes together have some, and the same number of draws.
        let draws = self.all.draws[at].len();
        percentiles((0..draws).map(|draw| difference_of_draw(&ranked, at, draw)))
    }
}

/// Compares two shares `(hits, cases)` as a·d with c·b for a/b and c/d: exact, so that no rounding
/// makes the wrong group the largest.
fn compare_shares(a: &(u64, u64), b: &(u64, u64)) -> Ordering {
    (u128::from(a.0) * u128::from(b.1)).cmp(&(u128::from(b.0) * u128::from(a.1)))
}

/// max − min of the metric at position `at` over groups in one draw.
fn difference_of_draw(groups: &[&Measured], at: usize, draw: usize) -> Option<f64> {
    let values = groups.iter().map(|group| group.draws[at].get(draw).copied().flatten());
    extremes(values).map(|(least, most)| most - least)
}

/// A group with its values and draws, one per metric.
struct Measured {
    nodes: usize,
    /// How many nodes each metric counts.
    counted: Vec<usize>,
    /// Hits and cases of those that are shares of at least one case.
    shares: Vec<Option<(u64, u64)>>,
    values: Vec<Option<f64>>,
    /// The metric in each draw; none of shares, which have Wilson's intervals.
    draws: Vec<Vec<Option<f64>>>,
}

impl Measured {
    fn new(sample: &Sample, metrics: &[Resolved], draws: usize, stream: u64) -> Self {
        let mut stream = Stream::new(0, "bootstrap of a frame", &[stream]);
        let classes = sample.classes();
        let shares: Vec<Option<(u64, u64)>> =
            metrics.iter().map(|metric| metric.share(&classes)).collect();
        // Shares have Wilson's intervals; only the other metrics are bootstrapped.
        let drawn: Vec<Resolved> = metrics
            .iter()
            .zip(&shares)
            .filter(|(_, share)| share.is_none())
            .map(|(m, _)| m.clone())
            .collect();
        let draws = if sample.len() == 0 || drawn.is_empty() { 0 } else { draws };
        let mut found = sample.resample(&drawn, draws, &mut stream).into_iter();
        let draws = shares.iter().map(|share| match share {
            Some(_) => Vec::new(),
            None => found.next().unwrap_or_default(),
        });
        Self {
            nodes: sample.len(),
            counted: shares
                .iter()
                .map(|share| share.map_or(sample.len(), |(_, cases)| cases as usize))
                .collect(),
            values: metrics.iter().map(|metric| metric.value(&classes)).collect(),
            draws: draws.collect(),
            shares: shares.iter().map(|share| share.filter(|(_, cases)| *cases > 0)).collect(),
        }
    }

    /// The row of the group called `name`, of the metric at position `at`.
    fn row(&self, at: usize, name: &str, min_group: usize) -> FrameRow {
        FrameRow {
            group: name.to_owned(),
            nodes: self.nodes,
            counted: self.counted[at],
            value: self.values[at],
            interval: self.interval(at),
            small: self.counted[at] < min_group,
        }
    }

    /// The interval of the metric at position `at`.
    fn interval(&self, at: usize) -> Option<Interval> {
        match self.shares[at] {
            Some((hits, cases)) => wilson(hits, cases),
            None => percentiles(self.draws[at].iter().copied()),
        }
    }
}

/// The smallest and the largest of the values there are, if there are two.
fn extremes(values: impl Iterator<Item = Option<f64>>) -> Option<(f64, f64)> {
    let mut known = values.flatten().peekable();
    let first = known.next()?;
    known.peek()?;
    Some(known.fold((first, first), |(least, most), x| (least.min(x), most.max(x))))
}

/// min / max; `None` if the largest value is 0.
fn ratio((least, most): (f64, f64)) -> Option<f64> {
    (most > 0.0).then(|| least / most)
}

/// The group with the worst value by `metric`; the first of equals.
fn worst<'a>(
    metric: &FrameMetric,
    values: impl Iterator<Item = (&'a String, Option<f64>)>,
) -> Option<WorstGroup> {
    let known = values.filter_map(|(group, value)| Some((group, value?)));
    let (group, value) =
        known.reduce(|found, next| if metric.is_worse(next.1, found.1) { next } else { found })?;
    Some(WorstGroup { group: group.clone(), value })
}
