//! Frames of every evaluated round, measured during the run: the predictions of all rounds would be
//! too large to store.

use super::{EvaluatedNodes, Inquiry, join, test_nodes};
use crate::{Error, Progress, Result};
use boostfgl_fairness::{Evaluation, MetricFrame};
use boostfgl_fed::RoundRecord;
use boostfgl_graph::Graph;
use boostfgl_graph::groups::Groups;
use boostfgl_partition::Partition;
use boostfgl_report::{GroupCurves, RoundFrames};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Forwards all calls to another [`Progress`], and measures groups after every evaluated round if
/// the inquiry requires it.
pub(super) struct RoundFrameProgress<'a> {
    progress: &'a mut dyn Progress,
    graph: &'a Graph,
    degree: &'a [usize],
    inquiry: &'a Inquiry,
    seed: Option<CurrentSeed>,
    /// By round, the frames of the seeds.
    rounds: BTreeMap<usize, Vec<(u64, Vec<MetricFrame>)>>,
    /// The first error; [`RoundFrameProgress::curves`] returns it.
    failed: Option<Error>,
}

/// The current seed.
struct CurrentSeed {
    seed: u64,
    partition: Arc<Partition>,
    groups: Groups,
    test: Vec<u32>,
}

impl<'a> RoundFrameProgress<'a> {
    pub(super) fn new(
        progress: &'a mut dyn Progress,
        graph: &'a Graph,
        degree: &'a [usize],
        inquiry: &'a Inquiry,
    ) -> Self {
        Self { progress, graph, degree, inquiry, seed: None, rounds: BTreeMap::new(), failed: None }
    }

    /// The curves of each metric and grouping.
    ///
    /// # Errors
    /// The first error of any round.
    pub(super) fn curves(self) -> Result<Vec<GroupCurves>> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let mut curves: Vec<GroupCurves> = Vec::new();
        for (round, seeds) in self.rounds {
            for (at, frames) in join(seeds)?.into_iter().enumerate() {
                if curves.len() == at {
                    let (metric, grouping) = (frames.metric.clone(), frames.grouping.clone());
                    curves.push(GroupCurves { metric, grouping, rounds: Vec::new() });
                }
                curves[at].rounds.push(RoundFrames { round, frames });
            }
        }
        Ok(curves)
    }

    fn measure(&mut self, record: &RoundRecord<'_>) -> Result<()> {
        let (Some(seed), Some(predictions)) = (&self.seed, record.predictions) else {
            return Ok(());
        };
        let nodes =
            EvaluatedNodes { partition: &seed.partition, groups: &seed.groups, nodes: &seed.test };
        let frames = self.inquiry.measure(
            &nodes.facts(self.graph, self.degree, predictions),
            self.inquiry.without_draws(),
        )?;
        self.rounds.entry(record.round).or_default().push((seed.seed, frames));
        Ok(())
    }
}

impl Progress for RoundFrameProgress<'_> {
    fn seed(&mut self, index: usize, of: usize, seed: u64) {
        self.progress.seed(index, of, seed);
    }

    fn divided(&mut self, seed: u64, partition: &Arc<Partition>, groups: &Groups) {
        self.progress.divided(seed, partition, groups);
        self.seed = self.inquiry.per_round.then(|| CurrentSeed {
            seed,
            partition: Arc::clone(partition),
            groups: groups.clone(),
            test: test_nodes(partition),
        });
    }

    fn preparing(&mut self, done: usize, of: usize) {
        self.progress.preparing(done, of);
    }

    fn round(&mut self, record: &RoundRecord<'_>, evaluation: Option<&Evaluation>) {
        self.progress.round(record, evaluation);
        let measured = self.measure(record);
        self.failed = self.failed.take().or(measured.err());
    }
}
