//! What noise in messages costs.

use super::gather::over_setting;
use crate::Results;
use crate::chart::Chart;
use boostfgl_fairness::{HEADLINES, Headline};

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let charts = |headline: &Headline| {
        let name = headline.title;
        let (title, y) = (format!("{name} under noise in messages"), format!("{name}, %"));
        over_setting(
            results,
            "model.message_noise",
            headline.key,
            [&title, "noise σ, in units of the messages' RMS", &y],
        )
    };
    [&HEADLINES.overall_f1, &HEADLINES.hete_min_f1].into_iter().flat_map(charts).collect()
}
