//! Central: one place holds the whole graph, cross-client edges included. The reference without
//! federation.

use super::{Layout, MethodInfo};

pub(super) use super::isolated::{client, server};

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "central",
    summary: "one model on the whole graph, no federation: the reference",
    equations: "theta = T * E full-batch steps on (1/n^L) sum_v CE_v over the whole graph",
    wire: "nothing per round (the data themselves would have to move)",
    evaluated: "the model, on the whole graph",
    layout: Layout::Whole,
    refuses: super::isolated::nothing_is_combined,
    outvotes: |_| Some("nothing is combined"),
    ..MethodInfo::PLAIN
};
