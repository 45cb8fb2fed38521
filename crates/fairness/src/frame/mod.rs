//! Any metric × any grouping of the nodes: who fares how, how far apart groups are, and who fares worst.
//!
//! * [`Grouping`] — how nodes are divided, read from text: `minority`, `degree:4`, `column:NAME`, `minority*client`.
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

use crate::statistics::Interval;
use crate::{Error, Result};
use division::Division;
use metric::Resolved;
use sample::{Sample, percentiles};

/// How often nodes are drawn anew unless asked otherwise.
pub const DRAWS: usize = 1000;
/// The most draws: more would only cost.
pub const MOST_DRAWS: usize = 100_000;
/// The most groups of a grouping: with more, each has too few nodes to say anything.
pub const MOST_GROUPS: usize = 1000;

/// One metric on every group of one grouping.
///
/// **Groups.** Rows are in the order of the grouping. A group without judged nodes is a row with 0 nodes and no value,
/// and never the worst. Nodes in no group (an empty field of a column) count in `overall` alone.
///
/// **Intervals** are 95 % percentile bootstrap intervals over nodes (Efron 1979): within each group as many nodes as it
/// has are drawn with replacement, and the metric is computed anew; the difference max − min is taken anew in each draw,
/// too. They say what another sample of test nodes might have given with the same model, not what another seed would.
/// Three things to know: a group of which all nodes are right (or all wrong) has an interval without width, however
/// small it is; a group of one node has none; and max − min over many small groups is pushed up by noise, in the draws
/// more than in the value itself. Draws in which a metric has no value (recall without a node of the class) are left
/// out. The draws depend on the counts alone, so the same predictions give the same digits.
///
/// ```
/// use boostfgl_fairness::{Facts, FrameMetric, Grouping, MetricFrame};
/// use boostfgl_graph::Labels;
///
/// let truth = Labels::from_integers(&[0, 0, 1, 1], 2)?;
/// let facts = Facts {
///     truth: &truth,
///     prediction: &[0, 0, 1, 0],
///     nodes: &[0, 1, 2, 3],
///     client: &[0, 0, 0, 1],
///     minority: &[false, false, true, true],
///     heterophilous: &[false, true, true, false],
///     degree: &[1, 2, 2, 1],
///     columns: &[],
/// };
/// let frame = MetricFrame::new(&facts, &Grouping::parse("minority")?, &FrameMetric::Accuracy, 1000)?;
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
    /// Number of judged nodes.
    pub nodes: usize,
    /// The value on all judged nodes.
    pub overall: Option<f64>,
    /// Its interval.
    pub overall_interval: Option<Interval>,
    /// One row per group.
    pub rows: Vec<FrameRow>,
    /// max − min over the groups that have a value; `None` for fewer than two, since one has nothing to differ from.
    pub difference: Option<f64>,
    /// Its interval.
    pub difference_interval: Option<Interval>,
    /// min / max over the same groups; `None` also if max is 0.
    pub ratio: Option<f64>,
    /// The group with the smallest value, or the largest for `error`; the first of equals.
    pub worst: Option<WorstGroup>,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameRow {
    /// Its name, such as `minority`, `degree=1–2` or `minority × client=3`.
    pub group: String,
    /// Its number of judged nodes.
    pub nodes: usize,
    /// The metric on them; `None` without nodes (of the class, for recall).
    pub value: Option<f64>,
    /// Its interval; `None` for fewer than two nodes, since one says nothing about spread.
    pub interval: Option<Interval>,
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
    /// Measures one metric; without intervals if `draws` is 0.
    ///
    /// # Errors
    /// As [`MetricFrame::measure`].
    pub fn new(facts: &Facts<'_>, grouping: &Grouping, metric: &FrameMetric, draws: usize) -> Result<Self> {
        let mut frames = Self::measure(facts, grouping, std::slice::from_ref(metric), draws)?;
        let Some(frame) = frames.pop() else { unreachable!("one metric, one frame") };
        Ok(frame)
    }

    /// Measures several metrics on the same groups and the same draws, which costs little more than one. Time
    /// O(draws · (nodes + groups · C)).
    ///
    /// # Errors
    /// If the facts do not fit together; if the grouping names a column that the data does not have or makes more than
    /// [`MOST_GROUPS`] groups; if a metric is about a class that does not exist; if there are more than
    /// [`MOST_DRAWS`] draws.
    pub fn measure(facts: &Facts<'_>, grouping: &Grouping, metrics: &[FrameMetric], draws: usize) -> Result<Vec<Self>> {
        if draws > MOST_DRAWS {
            return Err(Error::asked("draws of the bootstrap", format!("at most {MOST_DRAWS}"), &draws));
        }
        facts.check()?;
        let names = facts.truth.names();
        let resolved = metrics.iter().map(|metric| metric.resolve(names)).collect::<Result<Vec<_>>>()?;
        let division = Division::new(grouping, facts)?;
        let mut pairs = vec![Vec::new(); division.names.len()];
        for (v, truth, prediction) in facts.judged() {
            if let Some(group) = division.of_node[v] {
                pairs[group as usize].push((truth, prediction));
            }
        }
        // Streams 1, 2, … are the groups'; what all nodes together draw does not depend on the grouping.
        let classes = facts.truth.classes();
        let measured = |(stream, pairs)| Measured::new(&Sample::new(classes, pairs), &resolved, draws, stream);
        let groups = (1..).zip(pairs).map(measured).collect();
        let all = measured((0, facts.judged().map(|(_, truth, prediction)| (truth, prediction)).collect()));
        let table = Measurements { names: division.names, groups, all };
        Ok(metrics.iter().enumerate().map(|(at, metric)| table.frame(at, metric, grouping)).collect())
    }
}

/// Every metric on every group.
struct Measurements {
    names: Vec<String>,
    groups: Vec<Measured>,
    all: Measured,
}

impl Measurements {
    /// The frame of the metric at position `at`.
    fn frame(&self, at: usize, metric: &FrameMetric, grouping: &Grouping) -> MetricFrame {
        let row = |(name, group): (&String, &Measured)| FrameRow {
            group: name.clone(),
            nodes: group.nodes,
            value: group.values[at],
            interval: group.interval(at),
        };
        let rows: Vec<FrameRow> = self.names.iter().zip(&self.groups).map(row).collect();
        let ends = extremes(rows.iter().map(|row| row.value));
        MetricFrame {
            metric: metric.clone(),
            grouping: grouping.clone(),
            nodes: self.all.nodes,
            overall: self.all.values[at],
            overall_interval: self.all.interval(at),
            difference: ends.map(|(least, most)| most - least),
            difference_interval: self.difference_interval(at),
            ratio: ends.filter(|(_, most)| *most > 0.0).map(|(least, most)| least / most),
            worst: worst(metric, rows.iter().map(|row| (&row.group, row.value))),
            rows,
        }
    }

    /// The interval of max − min, taken anew in each draw.
    fn difference_interval(&self, at: usize) -> Option<Interval> {
        // If any group has nodes, so have all nodes together, and as many draws.
        let draws = self.all.draws[at].len();
        let drawn = |draw: usize| self.groups.iter().map(move |group| group.draws[at].get(draw).copied().flatten());
        percentiles((0..draws).map(|draw| extremes(drawn(draw)).map(|(least, most)| most - least)))
    }
}

/// A group with its values and draws, one per metric.
struct Measured {
    nodes: usize,
    values: Vec<Option<f64>>,
    draws: Vec<Vec<Option<f64>>>,
}

impl Measured {
    fn new(sample: &Sample, metrics: &[Resolved], draws: usize, stream: u64) -> Self {
        let mut stream = Stream::new(0, "bootstrap of a frame", &[stream]);
        let draws = if sample.len() == 0 { 0 } else { draws };
        Self {
            nodes: sample.len(),
            values: sample.values(metrics),
            draws: sample.resample(metrics, draws, &mut stream),
        }
    }

    fn interval(&self, metric: usize) -> Option<Interval> {
        percentiles(self.draws[metric].iter().copied()).filter(|_| self.nodes > 1)
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
fn worst<'a>(metric: &FrameMetric, values: impl Iterator<Item = (&'a String, Option<f64>)>) -> Option<WorstGroup> {
    let known = values.filter_map(|(group, value)| Some((group, value?)));
    let worse = |a: f64, b: f64| if metric.larger_is_better() { a < b } else { a > b };
    let (group, value) = known.reduce(|found, next| if worse(next.1, found.1) { next } else { found })?;
    Some(WorstGroup { group: group.clone(), value })
}
