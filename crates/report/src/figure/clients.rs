//! What more clients cost.

use super::gather::over_setting;
use crate::Results;
use crate::chart::Chart;
use boostfgl_fairness::{HEADLINES, Headline};

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let charts = |headline: &Headline| {
        let name = headline.title;
        let (title, y) = (format!("{name} by number of clients"), format!("{name}, %"));
        over_setting(results, "partition.clients", headline.key, [&title, "clients K", &y])
    };
    [&HEADLINES.overall_f1, &HEADLINES.hete_min_f1].into_iter().flat_map(charts).collect()
}
