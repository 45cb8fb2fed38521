//! The headline metrics of all methods.

use super::gather::marks;
use crate::Results;
use crate::chart::Chart;
use boostfgl_fairness::HEADLINES;

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let columns: Vec<(String, String)> =
        HEADLINES.iter().map(|shown| (shown.key.to_owned(), shown.title.to_owned())).collect();
    marks(results, "The headline metrics", "percent, pooled", &columns, None)
}
