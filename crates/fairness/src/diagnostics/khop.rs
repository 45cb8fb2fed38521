//! Error by distance: does error spread from disadvantaged nodes?
//!
//! The distance of a node is the number of hops to the nearest disadvantaged node within its
//! client's graph; the error at k hops is the share of test nodes at that distance that are
//! predicted wrongly. Disadvantaged nodes of every split count as such; nodes that a method
//! generated carry paths, and are neither disadvantaged nor evaluated.

use super::{Diagnosis, Diagnostic, Settings, Subject, findings};
use crate::Group;
use boostfgl_fed::{Inspected, Inspection};
use boostfgl_graph::{Adjacency, Role};
use boostfgl_nn::{Real, StateVisitor};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The groups that distances are counted from.
const FROM: [Group; 3] = [Group::Minority, Group::Heterophilous, Group::HeteMin];

/// Evaluated nodes at one distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// How many evaluated nodes there are.
    pub nodes: usize,
    /// How many of them are predicted wrongly.
    pub errors: usize,
}

impl Hop {
    /// The share that is predicted wrongly; `None` without nodes.
    pub fn error(self) -> Option<f64> {
        (self.nodes > 0).then(|| self.errors as f64 / self.nodes as f64)
    }

    /// The nodes of several distances together.
    fn pooled<'a>(hops: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for hop in hops {
            sum.nodes += hop.nodes;
            sum.errors += hop.errors;
        }
        sum
    }
}

/// Errors by distance from one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KhopCurve {
    /// The group that distances are counted from: `minority`, `heterophilous` or `hete_min`.
    pub from: String,
    /// At 0, 1, 2 … hops.
    pub hops: Vec<Hop>,
    /// Evaluated nodes that no path joins to the group.
    pub unreachable: Hop,
}

impl KhopCurve {
    /// The error at `hop` hops; `None` if no evaluated node is there.
    pub fn error(&self, hop: usize) -> Option<f64> {
        self.hops.get(hop).and_then(|hop| hop.error())
    }

    /// The error of all nodes that are at least `hop` hops away and joined to the group by a path.
    pub fn error_from(&self, hop: usize) -> Option<f64> {
        Hop::pooled(self.hops.iter().skip(hop)).error()
    }

    /// Error outside the group over error in it: (error at ≥ 1 hop) / (error at 0 hops). Near 1,
    /// the nodes around the group are predicted as badly as the group itself; `None` if no node is
    /// evaluated on one side or the group has no error.
    pub fn amplification(&self) -> Option<f64> {
        let (inside, outside) = (self.error(0)?, self.error_from(1)?);
        (inside > 0.0).then(|| outside / inside)
    }

    /// The excess error of neighbours of the group over nodes further away: (error at 1 hop) −
    /// (error at ≥ 2 hops).
    pub fn slope(&self) -> Option<f64> {
        Some(self.error(1)? - self.error_from(2)?)
    }

    /// Counts one evaluated node.
    fn count(&mut self, distance: Option<u32>, wrong: bool) {
        let hop = match distance.map(|hops| hops as usize) {
            None => &mut self.unreachable,
            Some(at) => {
                self.hops.resize(self.hops.len().max(at + 1), Hop::default());
                &mut self.hops[at]
            }
        };
        hop.nodes += 1;
        hop.errors += usize::from(wrong);
    }
}

/// Errors by distance at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Khop {
    /// The round whose predictions were evaluated.
    pub round: usize,
    /// From each group.
    pub curves: Vec<KhopCurve>,
}

impl Khop {
    /// The curve from the group of that name.
    pub fn curve(&self, from: &str) -> Option<&KhopCurve> {
        self.curves.iter().find(|curve| curve.from == from)
    }

    /// The error at `hop` hops from the group of that name; `None` if no evaluated node is there.
    pub fn error(&self, from: &str, hop: usize) -> Option<f64> {
        self.curve(from)?.error(hop)
    }
}

/// The number of hops from the nearest of `seeds` to every node; `None` if no path leads there.
/// Time O(n + m).
///
/// A hop goes from a node to its [neighbours](Adjacency::neighbours) as they are stored: in a
/// directed graph to those that send to it. Seeds that do not exist are passed over.
///
/// ```
/// use boostfgl_fairness::diagnostics::khop::distances;
/// let (path, _) = boostfgl_graph::Adjacency::from_edges(4, &[(0, 1), (1, 2)], None, false)?;
/// assert_eq!(distances(&path, [0].into_iter()), [Some(0), Some(1), Some(2), None]);
/// # Ok::<(), boostfgl_graph::Error>(())
/// ```
pub fn distances(adjacency: &Adjacency, seeds: impl Iterator<Item = usize>) -> Vec<Option<u32>> {
    let mut distances = vec![None; adjacency.len()];
    let mut queue = VecDeque::new();
    for seed in seeds.filter(|&seed| seed < adjacency.len()) {
        if distances[seed].replace(0).is_none() {
            queue.push_back((seed, 0));
        }
    }
    while let Some((v, hops)) = queue.pop_front() {
        for &u in adjacency.neighbours(v) {
            let distance = &mut distances[u as usize];
            if distance.is_none() {
                *distance = Some(hops + 1);
                queue.push_back((u as usize, hops + 1));
            }
        }
    }
    distances
}

/// A node that is evaluated.
#[derive(Serialize, Deserialize)]
struct Evaluated {
    /// As the graph that was divided numbers it.
    node: usize,
    label: u32,
    /// Hops from each group of [`FROM`].
    distances: [Option<u32>; 3],
}

/// The evaluated nodes of one client.
fn evaluated<T: Real>(client: &Inspected<'_, T>, subject: &Subject<'_>) -> Vec<Evaluated> {
    let nodes = client.data.nodes();
    let from = FROM.map(|group| distances(client.data.adjacency(), members(nodes, group, subject)));
    let mut found = Vec::new();
    for (i, node) in nodes.iter().map(|&v| v as usize).enumerate() {
        if let Some(label) = subject.labels.get(node)
            && subject.roles[node] == Role::Test
        {
            let distances = from.each_ref().map(|distances| distances[i]);
            found.push(Evaluated { node, label, distances });
        }
    }
    found
}

/// The positions of those of a client's nodes that are in the group.
fn members(nodes: &[u32], group: Group, subject: &Subject<'_>) -> impl Iterator<Item = usize> {
    let nodes = nodes.iter().map(|&v| v as usize).enumerate();
    nodes
        .filter(move |&(_, v)| group.contains(subject.minority[v], subject.heterophilous[v]))
        .map(|(i, _)| i)
}

/// Watches a run for it.
#[derive(Default)]
pub(super) struct Watch {
    /// Local graphs do not change along a run, so distances are counted once.
    evaluated: Option<Vec<Evaluated>>,
    last: Option<Khop>,
}

impl Watch {
    pub(super) fn new(_settings: Settings) -> Self {
        Self::default()
    }
}

impl<T: Real> Diagnostic<T> for Watch {
    fn inspect(&mut self, inspection: &Inspection<'_, T>, subject: &Subject<'_>) {
        let clients = &inspection.clients;
        self.evaluated.get_or_insert_with(|| {
            clients.iter().flat_map(|client| evaluated(client, subject)).collect()
        });
    }

    fn predictions(&mut self, round: usize, predictions: &[u32], _subject: &Subject<'_>) {
        let Some(evaluated) = &self.evaluated else { return };
        let mut curves = FROM.map(|group| KhopCurve {
            from: group.name().to_owned(),
            hops: Vec::new(),
            unreachable: Hop::default(),
        });
        for Evaluated { node, label, distances } in evaluated {
            let wrong = predictions.get(*node) != Some(label);
            for (curve, distance) in curves.iter_mut().zip(distances) {
                curve.count(*distance, wrong);
            }
        }
        self.last = Some(Khop { round, curves: curves.into() });
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        // Rounds that a method adds are not inspected: distances must be known by then.
        visitor.within("judged", |visitor| findings(visitor, &mut self.evaluated))?;
        visitor.within("last", |visitor| findings(visitor, &mut self.last))
    }

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, diagnosis: &mut Diagnosis) {
        diagnosis.khop = self.last;
    }
}
