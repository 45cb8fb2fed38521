//! The four metrics of all methods.

use super::gather::{marks, named};
use crate::Results;
use crate::chart::Chart;

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let columns = named(&[
        ("accuracy", "Accuracy"),
        ("overall_f1", "Overall-F1"),
        ("hete_f1", "Hete-F1"),
        ("hete_min_f1", "Hete-min-F1"),
    ]);
    marks(results, "The four metrics", "percent, pooled", &columns, None)
}
