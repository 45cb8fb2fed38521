//! What noise in messages costs.

use super::gather::over_setting;
use crate::Results;
use crate::chart::Chart;

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let shown = [("overall_f1", "Overall-F1"), ("hete_min_f1", "Hete-min-F1")];
    let charts = |(column, name): (&str, &str)| {
        let (title, y) = (format!("{name} under noise in messages"), format!("{name}, %"));
        over_setting(
            results,
            "model.message_noise",
            column,
            [&title, "noise σ, in units of the messages' RMS", &y],
        )
    };
    shown.into_iter().flat_map(charts).collect()
}
