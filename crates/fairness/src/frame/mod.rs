//! Any metric × any grouping of the nodes: who fares how, how far apart groups are, and who fares
//! worst.
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

use boostfgl_graph::Stream;
use serde::{Deserialize, Serialize};

use crate::statistics::{Interval, newcombe, wilson};
use crate::{Error, Result};
use division::Division;
use metric::Resolved;
use sample::{Sample, percentiles};

/// How often nodes are drawn anew unless asked otherwise.
pub const DRAWS: usize = 1000;
/// Groups of fewer counted cases are not ranked unless asked otherwise.
pub const MIN_GROUP: usize = 10;
/// The most draws: more would only cost.
pub const MOST_DRAWS: usize = 100_000;
/// The most groups of a grouping: with more, each has too few nodes to say anything.
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
/// **Groups.** Rows are in the order of the grouping. A group without evaluated nodes is a row with 0
/// nodes and no value, and never the worst. Evaluated nodes without a value of an attribute (an empty
/// field of a column, no neighbour with a label) are a group of their own, called `unknown`. Groups
/// with fewer counted cases than [`FrameOptions::min_group`] are marked as small: they are shown,
/// but never the worst, and difference and ratio are taken without them.
///
/// **Intervals** say what another sample of test nodes might have given with the same model, not
/// what another seed would. Of shares (accuracy, error, recall) they are Wilson's, over the cases
/// that the metric counts ([`FrameRow::counted`]: of recall the nodes of the class, not the group),
/// so that no interval is a point because all cases were right. The difference of two shares has
/// Newcombe's, between the groups with the largest and the smallest value, without what lies below
/// 0; over many groups both are extremes of noise, too, and the interval does not know that.
///
/// Macro-F1 is no share. Its intervals are 95 % percentile bootstrap intervals over nodes (Efron
/// 1979): within each group as many nodes as it has are drawn with replacement, and the metric is
/// computed anew; the difference max − min is taken anew in each draw, too. Where all draws agree
/// (all nodes right, or one node) the bootstrap knows nothing about spread and there is no
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

/// The group that fares worst.
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
        // Streams 1, 2, … are the groups'; what all nodes together draw does not depend on the
        // grouping.
        let classes = facts.truth.classes();
        let measured =
            |(stream, pairs)| Measured::new(&Sample::new(classes, pairs), &resolved, draws, stream);
        let groups = (1..).zip(pairs).map(measured).collect();
        let all = measured((
            0,
            facts.evaluated().map(|(_, truth, prediction)| (truth, prediction)).collect(),
        ));
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
        let row = |(name, group): (&String, &Measured)| FrameRow {
            group: name.clone(),
            nodes: group.nodes,
            counted: group.counted[at],
            value: group.values[at],
            interval: group.interval(at),
            small: group.counted[at] < self.min_group,
        };
        let rows: Vec<FrameRow> = self.names.iter().zip(&self.groups).map(row).collect();
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
            ratio: ends.filter(|(_, most)| *most > 0.0).map(|(least, most)| least / most),
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
        let by_share = |a: &&(u64, u64), b: &&(u64, u64)| {
            // a/b against c/d as a·d against c·b: no rounding makes the wrong group the largest.
            (u128::from(a.0) * u128::from(b.1)).cmp(&(u128::from(b.0) * u128::from(a.1)))
        };
        if let (Some(most), Some(least)) =
            (shares.iter().max_by(by_share), shares.iter().min_by(by_share))
        {
            return newcombe(*most, *least)
                .map(|found| Interval { lo: found.lo.max(0.0), hi: found.hi.min(1.0) });
        }
        // If any group has nodes, so have all nodes together, and as many draws.
        let draws = self.all.draws[at].len();
        let drawn = |draw: usize| {
            ranked.iter().map(move |group| group.draws[at].get(draw).copied().flatten())
        };
        percentiles((0..draws).map(|draw| extremes(drawn(draw)).map(|(least, most)| most - least)))
    }
}

/// A group with its values and draws, one per metric.
struct Measured {
    nodes: usize,
    /// How many nodes each metric counts.
    counted: Vec<usize>,
    /// Hits and cases of those that are shares of at least one case.
    shares: Vec<Option<(u64, u64)>>,
    values: Vec<Option<f64>>,
    /// None of shares.
    draws: Vec<Vec<Option<f64>>>,
}

impl Measured {
    fn new(sample: &Sample, metrics: &[Resolved], draws: usize, stream: u64) -> Self {
        let mut stream = Stream::new(0, "bootstrap of a frame", &[stream]);
        let classes = sample.classes();
        let shares: Vec<Option<(u64, u64)>> =
            metrics.iter().map(|metric| metric.share(&classes)).collect();
        // Shares have exact intervals; only the other metrics are bootstrapped.
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

    fn interval(&self, metric: usize) -> Option<Interval> {
        match self.shares[metric] {
            Some((hits, cases)) => wilson(hits, cases),
            None => percentiles(self.draws[metric].iter().copied()),
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

/// Who fares worst by `metric`; the first of equals.
fn worst<'a>(
    metric: &FrameMetric,
    values: impl Iterator<Item = (&'a String, Option<f64>)>,
) -> Option<WorstGroup> {
    let known = values.filter_map(|(group, value)| Some((group, value?)));
    let worse = |a: f64, b: f64| if metric.larger_is_better() { a < b } else { a > b };
    let (group, value) =
        known.reduce(|found, next| if worse(next.1, found.1) { next } else { found })?;
    Some(WorstGroup { group: group.clone(), value })
}
