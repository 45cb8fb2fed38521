//! How groups of nodes and clients fared, with how sure that is, from the predictions of a run.

use crate::{RunView, SeedPredictions};
use boostfgl_fairness::frame::{FrameOptions, FrameRow};
use boostfgl_fairness::{Facts, FrameMetric, Grouping, MetricFrame, mean, sample_std};
use boostfgl_graph::{Labels, Role};
use std::collections::BTreeMap;

/// Draws of the bootstrap over all that is drawn, and the most and least per interval. A report may
/// cost a few percent of its run and no more: where fewer draws than the least would remain,
/// macro-F1 has no intervals.
const DRAWN: usize = 60_000_000;
const MOST: usize = 200;
const LEAST: usize = 60;

/// The groupings that are measured.
const GROUPINGS: [&str; 3] = ["heterophilous", "minority", "minority*heterophilous"];

/// The groups of them that are shown: how, and what they are called there.
const GROUPS: [(&str, &str); 6] = [
    ("homophilous", "homophilous"),
    ("heterophilous", "heterophilous"),
    (UNKNOWN, "homophily=unknown"),
    ("majority classes", "majority"),
    ("minority classes", "minority"),
    ("heterophilous minority", "minority × heterophilous"),
];

/// What all nodes together are called.
pub(super) const ALL: &str = "all test nodes";

/// What nodes are called of which nothing says whether they are heterophilous. Where there are
/// none, the group is not shown.
pub(super) const UNKNOWN: &str = "of unknown homophily";

/// Groups and clients of one run.
#[derive(Debug)]
pub(super) struct GroupScores {
    pub(super) groups: Vec<GroupScore>,
    pub(super) clients: Vec<GroupScore>,
}

/// How one group fared. Percent.
#[derive(Debug, Default)]
pub(super) struct GroupScore {
    pub(super) name: String,
    /// Test nodes, the mean over seeds.
    pub(super) nodes: f64,
    /// The fewest test nodes that accuracy counts under a seed that has any.
    least: Option<usize>,
    pub(super) accuracy: Known,
    pub(super) macro_f1: Known,
}

/// A number under each seed.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) seeds: BTreeMap<u64, f64>,
    /// Ends of the seeds' intervals.
    lows: Vec<f64>,
    highs: Vec<f64>,
}

impl Known {
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

    /// `81.2 ± 0.4`.
    pub(super) fn shown(&self) -> String {
        match (self.mean(), self.std()) {
            (mean, _) if !mean.is_finite() => "–".to_owned(),
            (mean, None) => format!("{mean:.1}"),
            (mean, Some(std)) => format!("{mean:.1} ± {std:.1}"),
        }
    }
}

impl GroupScores {
    /// Evaluates the predictions of a run; `None` if there are none, or they make no sense.
    pub(super) fn of(view: &RunView) -> Option<Self> {
        let predictions =
            view.predictions.as_ref().filter(|predictions| !predictions.seeds.is_empty())?;
        let test =
            |seed: &SeedPredictions| seed.rows.iter().filter(|row| row.split == Role::Test).count();
        // All nodes, the two halves of three groupings, and the clients, for every seed.
        let nodes: usize = predictions.seeds.iter().map(test).sum::<usize>() * 8;
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
                if let Some(place) = GROUPS.iter().position(|(_, name)| *name == accuracy.group) {
                    self.groups[place + 1].add(seed.seed, accuracy, f1);
                }
            }
        }
        // There may be more clients than a frame has groups; the rest is still worth showing.
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

impl GroupScore {
    fn add(&mut self, seed: u64, accuracy: &FrameRow, macro_f1: &FrameRow) {
        self.nodes += accuracy.nodes as f64;
        if accuracy.counted > 0 {
            self.least =
                Some(self.least.map_or(accuracy.counted, |least| least.min(accuracy.counted)));
        }
        self.accuracy.add(seed, accuracy);
        self.macro_f1.add(seed, macro_f1);
    }

    /// Whether it has too few test nodes to be ranked, under any seed that has some of them.
    pub(super) fn is_small(&self, min_group: usize) -> bool {
        self.least.is_none_or(|least| least < min_group)
    }

    /// Its name, with what is to be known of its size.
    pub(super) fn named(&self, min_group: usize) -> String {
        match self.least {
            None => format!("{} (no such node)", self.name),
            Some(least) if least < min_group => format!("{} (too small to rank)", self.name),
            Some(_) => self.name.clone(),
        }
    }
}

/// All nodes together as a row.
fn overall(frame: &MetricFrame) -> FrameRow {
    let (nodes, counted, value, interval) =
        (frame.nodes, frame.counted, frame.overall, frame.overall_interval);
    FrameRow { group: ALL.to_owned(), nodes, counted, value, interval, small: false }
}

/// Accuracy and macro-F1 by a grouping.
fn measure(facts: &Facts<'_>, grouping: &str, draws: usize) -> Option<Vec<MetricFrame>> {
    let metrics = [FrameMetric::accuracy(), FrameMetric::macro_f1()];
    // What is too small is decided where it is shown.
    let options = FrameOptions { draws, ..FrameOptions::default() };
    MetricFrame::measure(facts, &Grouping::parse(grouping).ok()?, &metrics, options).ok()
}

/// The test nodes of one seed as frames want them.
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
    fn of(seed: &SeedPredictions, classes: Option<&[String]>) -> Option<Self> {
        let rows: Vec<_> = seed.rows.iter().filter(|row| row.split == Role::Test).collect();
        let mut names: Vec<String> = classes.unwrap_or_default().to_vec();
        let mut number: BTreeMap<String, u32> =
            (0..).zip(&names).map(|(class, name)| (name.clone(), class)).collect();
        let mut class = |name: &str| {
            *number.entry(name.to_owned()).or_insert_with(|| {
                names.push(name.to_owned());
                names.len() as u32 - 1
            })
        };
        let truth: Vec<Option<u32>> =
            rows.iter().map(|row| row.label.as_deref().map(&mut class)).collect();
        let prediction = rows.iter().map(|row| class(&row.prediction)).collect();
        Some(Self {
            truth: Labels::new(truth, names).ok()?,
            prediction,
            nodes: (0..rows.len() as u32).collect(),
            client: rows.iter().map(|row| row.client).collect(),
            minority: rows.iter().map(|row| row.minority).collect(),
            heterophilous: rows.iter().map(|row| row.heterophilous == Some(true)).collect(),
            homophily_unknown: rows.iter().map(|row| row.heterophilous.is_none()).collect(),
            // Nothing here is grouped by degree, which predictions do not hold.
            degree: vec![0; rows.len()],
        })
    }

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
