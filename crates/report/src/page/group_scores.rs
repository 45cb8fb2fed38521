//! Scores of groups of nodes and of clients with intervals, from the predictions of a run.

use crate::{RunView, SeedPredictions};
use boostfgl_fairness::frame::{FrameOptions, FrameRow};
use boostfgl_fairness::{Facts, FrameMetric, Grouping, MetricFrame, mean, sample_std};
use boostfgl_graph::{Labels, Role};
use std::collections::BTreeMap;

/// The budget of the bootstrap in drawn nodes, over all intervals together. It keeps the cost of a
/// report at a few percent of that of its run.
const DRAWN: usize = 60_000_000;
/// The most bootstrap draws per interval.
const MOST: usize = 200;
/// The fewest bootstrap draws per interval. If the budget does not suffice for them, macro-F1 has
/// no intervals.
const LEAST: usize = 60;

/// The groupings that are measured.
const GROUPINGS: [&str; 3] = ["heterophilous", "minority", "minority*heterophilous"];

/// The groups that are shown: their name in the report and their name in a frame.
const GROUPS: [(&str, &str); 6] = [
    ("homophilous", "homophilous"),
    ("heterophilous", "heterophilous"),
    (UNKNOWN, "homophily=unknown"),
    ("majority classes", "majority"),
    ("minority classes", "minority"),
    ("heterophilous minority", "minority × heterophilous"),
];

/// The name of all nodes together.
pub(super) const ALL: &str = "all test nodes";

/// The name of the nodes whose homophily is not known. The group is shown only if it has nodes.
pub(super) const UNKNOWN: &str = "of unknown homophily";

/// Groups and clients of one run.
#[derive(Debug)]
pub(super) struct GroupScores {
    pub(super) groups: Vec<GroupScore>,
    pub(super) clients: Vec<GroupScore>,
}

/// The scores of one group, in percent.
#[derive(Debug, Default)]
pub(super) struct GroupScore {
    pub(super) name: String,
    /// The number of test nodes, averaged over seeds.
    pub(super) nodes: f64,
    /// The fewest test nodes counted under a seed, among the seeds that have any.
    least: Option<usize>,
    pub(super) accuracy: SeedScores,
    pub(super) macro_f1: SeedScores,
}

/// A score under each seed.
#[derive(Debug, Default)]
pub(super) struct SeedScores {
    pub(super) seeds: BTreeMap<u64, f64>,
    /// The lower ends of the seeds' intervals.
    lows: Vec<f64>,
    /// The upper ends of the seeds' intervals.
    highs: Vec<f64>,
}

impl SeedScores {
    /// Adds the score under one seed, if it has a value.
    fn add(&mut self, seed: u64, row: &FrameRow) {
        let Some(value) = row.value else { return };
        self.seeds.insert(seed, 100.0 * value);
        if let Some(interval) = row.interval {
            self.lows.push(100.0 * interval.lo);
            self.highs.push(100.0 * interval.hi);
        }
    }

    fn values(&self) -> Vec<f64> {
        self.seeds.values().copied().collect()
    }

    pub(super) fn mean(&self) -> f64 {
        mean(&self.values()).unwrap_or(f64::NAN)
    }

    pub(super) fn std(&self) -> Option<f64> {
        sample_std(&self.values())
    }

    /// The mean of the seeds' intervals over nodes; `None` if a seed with a value has none.
    pub(super) fn interval(&self) -> Option<[f64; 2]> {
        let ends = mean(&self.lows).zip(mean(&self.highs));
        ends.filter(|_| self.lows.len() == self.seeds.len()).map(|(low, high)| [low, high])
    }

    /// Mean and standard deviation, such as `81.2 ± 0.4`.
    pub(super) fn shown(&self) -> String {
        match (self.mean(), self.std()) {
            (mean, _) if !mean.is_finite() => "–".to_owned(),
            (mean, None) => format!("{mean:.1}"),
            (mean, Some(std)) => format!("{mean:.1} ± {std:.1}"),
        }
    }
}

impl GroupScores {
    /// Evaluates the predictions of a run; `None` if there are none, or they are not valid.
    pub(super) fn of(view: &RunView) -> Option<Self> {
        let predictions =
            view.predictions.as_ref().filter(|predictions| !predictions.seeds.is_empty())?;
        // For every seed each node is drawn eight times: among all nodes, twice in each of the
        // three groupings, and for its client.
        let nodes: usize = predictions.seeds.iter().map(test_nodes).sum::<usize>() * 8;
        let draws =
            Some((DRAWN / nodes.max(1)).min(MOST)).filter(|draws| *draws >= LEAST).unwrap_or(0);
        let classes = view
            .partition
            .as_ref()
            .and_then(|known| Some(known.seeds.first()?.description.classes.clone()));
        let mut group_scores = Self { groups: Vec::new(), clients: Vec::new() };
        group_scores.groups.push(GroupScore { name: ALL.to_owned(), ..GroupScore::default() });
        group_scores.groups.extend(
            GROUPS.map(|(name, _)| GroupScore { name: name.to_owned(), ..GroupScore::default() }),
        );
        for seed in &predictions.seeds {
            group_scores.seed(seed, classes.as_deref(), draws)?;
        }
        group_scores.groups.retain(|group| group.name != UNKNOWN || group.least.is_some());
        for group in group_scores.groups.iter_mut().chain(&mut group_scores.clients) {
            group.nodes /= predictions.seeds.len() as f64;
        }
        Some(group_scores)
    }

    /// Adds the scores under one seed; `None` if its predictions are not valid.
    fn seed(
        &mut self,
        seed: &SeedPredictions,
        classes: Option<&[String]>,
        draws: usize,
    ) -> Option<()> {
        let answers = Answers::of(seed, classes)?;
        let facts = answers.facts();
        for (at, grouping) in GROUPINGS.into_iter().enumerate() {
            let frames = measure(&facts, grouping, draws)?;
            if at == 0 {
                self.groups[0].add(seed.seed, &overall(&frames[0]), &overall(&frames[1]));
            }
            for (accuracy, f1) in frames[0].rows.iter().zip(&frames[1].rows) {
                // The first group is that of all nodes.
                if let Some(at) = GROUPS.iter().position(|(_, name)| *name == accuracy.group) {
                    self.groups[at + 1].add(seed.seed, accuracy, f1);
                }
            }
        }
        // With more clients than a frame may have groups, only the groups of nodes are shown.
        let Some(frames) = measure(&facts, "client", draws) else { return Some(()) };
        for (accuracy, f1) in frames[0].rows.iter().zip(&frames[1].rows) {
            let name = accuracy.group.replace('=', " ");
            let at =
                self.clients.iter().position(|client| client.name == name).unwrap_or_else(|| {
                    self.clients.push(GroupScore { name, ..GroupScore::default() });
                    self.clients.len() - 1
                });
            self.clients[at].add(seed.seed, accuracy, f1);
        }
        Some(())
    }
}

/// The number of test nodes of one seed.
fn test_nodes(seed: &SeedPredictions) -> usize {
    seed.rows.iter().filter(|row| row.split == Role::Test).count()
}

impl GroupScore {
    /// Adds the scores under one seed.
    fn add(&mut self, seed: u64, accuracy: &FrameRow, macro_f1: &FrameRow) {
        self.nodes += accuracy.nodes as f64;
        if accuracy.counted > 0 {
            self.least =
                Some(self.least.map_or(accuracy.counted, |least| least.min(accuracy.counted)));
        }
        self.accuracy.add(seed, accuracy);
        self.macro_f1.add(seed, macro_f1);
    }

    /// Whether any seed with nodes of the group has too few of them to rank it.
    pub(super) fn is_small(&self, min_group: usize) -> bool {
        self.least.is_none_or(|least| least < min_group)
    }

    /// Its name, with a remark if it is small or empty.
    pub(super) fn named(&self, min_group: usize) -> String {
        match self.least {
            None => format!("{} (no such node)", self.name),
            Some(least) if least < min_group => format!("{} (too small to rank)", self.name),
            Some(_) => self.name.clone(),
        }
    }
}

/// The scores of all nodes together as a row of the frame.
fn overall(frame: &MetricFrame) -> FrameRow {
    let (nodes, counted, value, interval) =
        (frame.nodes, frame.counted, frame.overall, frame.overall_interval);
    FrameRow { group: ALL.to_owned(), nodes, counted, value, interval, small: false }
}

/// Accuracy and macro-F1 by a grouping.
fn measure(facts: &Facts<'_>, grouping: &str, draws: usize) -> Option<Vec<MetricFrame>> {
    let metrics = [FrameMetric::accuracy(), FrameMetric::macro_f1()];
    // Small groups are marked by the report, which has its own limit.
    let options = FrameOptions { draws, ..FrameOptions::default() };
    MetricFrame::measure(facts, &Grouping::parse(grouping).ok()?, &metrics, options).ok()
}

/// The test nodes of one seed, column by column, as frames take them.
struct Answers {
    truth: Labels,
    prediction: Vec<u32>,
    nodes: Vec<u32>,
    client: Vec<u32>,
    minority: Vec<Option<bool>>,
    heterophilous: Vec<bool>,
    homophily_unknown: Vec<bool>,
    degree: Vec<usize>,
}

impl Answers {
    /// The test nodes of one seed; `None` if their labels are not valid.
    fn of(seed: &SeedPredictions, classes: Option<&[String]>) -> Option<Self> {
        let rows: Vec<_> = seed.rows.iter().filter(|row| row.split == Role::Test).collect();
        let mut classes = ClassNumbers::new(classes.unwrap_or_default());
        let truth: Vec<Option<u32>> = rows
            .iter()
            .map(|row| row.label.as_deref().map(|label| classes.number(label)))
            .collect();
        let prediction = rows.iter().map(|row| classes.number(&row.prediction)).collect();
        Some(Self {
            truth: Labels::new(truth, classes.names).ok()?,
            prediction,
            nodes: (0..rows.len() as u32).collect(),
            client: rows.iter().map(|row| row.client).collect(),
            minority: rows.iter().map(|row| row.minority).collect(),
            heterophilous: rows.iter().map(|row| row.heterophilous == Some(true)).collect(),
            homophily_unknown: rows.iter().map(|row| row.heterophilous.is_none()).collect(),
            // Predictions have no degrees, and no grouping here uses them.
            degree: vec![0; rows.len()],
        })
    }

    /// The columns as a frame takes them.
    fn facts(&self) -> Facts<'_> {
        Facts {
            truth: &self.truth,
            prediction: &self.prediction,
            nodes: &self.nodes,
            client: &self.client,
            minority: &self.minority,
            heterophilous: &self.heterophilous,
            homophily_unknown: &self.homophily_unknown,
            degree: &self.degree,
            columns: &[],
        }
    }
}

/// The numbers of classes by name. Names that the partition does not list are appended.
struct ClassNumbers {
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl ClassNumbers {
    /// Numbers these names in their order.
    fn new(names: &[String]) -> Self {
        let numbers = (0..).zip(names).map(|(number, name)| (name.clone(), number)).collect();
        Self { names: names.to_vec(), numbers }
    }

    /// The number of a class, which is new if its name is.
    fn number(&mut self, name: &str) -> u32 {
        *self.numbers.entry(name.to_owned()).or_insert_with(|| {
            self.names.push(name.to_owned());
            self.names.len() as u32 - 1
        })
    }
}
