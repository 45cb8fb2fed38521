//! Error by distance: does error spread from disadvantaged nodes?
//!
//! The distance of a node is the number of hops to the nearest disadvantaged node within its client's graph; the error
//! at k hops is the share of test nodes at that distance that are predicted wrongly.

use super::{Diagnosis, Diagnostic, Subject};
use boostfgl_fed::Inspection;
use boostfgl_graph::Adjacency;
use boostfgl_nn::Real;
use serde::{Deserialize, Serialize};

/// Judged nodes at one distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// How many judged nodes there are.
    pub nodes: usize,
    /// How many of them are predicted wrongly.
    pub errors: usize,
}

/// Errors by distance from one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KhopCurve {
    /// The group that distances are counted from: `minority`, `heterophilous` or `hete_min`.
    pub from: String,
    /// At 0, 1, 2 … hops.
    pub hops: Vec<Hop>,
    /// Judged nodes that no path joins to the group.
    pub unreachable: Hop,
}

/// Errors by distance at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Khop {
    /// The round whose predictions were judged.
    pub round: usize,
    /// From each group.
    pub curves: Vec<KhopCurve>,
}

/// Watches a run for it.
#[derive(Default)]
pub(super) struct Watch {}

impl<T: Real> Diagnostic<T> for Watch {
    fn inspect(&mut self, _inspection: &Inspection<'_, T>, _subject: &Subject<'_>) {}

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, _diagnosis: &mut Diagnosis) {}
}
