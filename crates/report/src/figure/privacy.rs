//! Scores under noise in messages.

use super::gather::over_setting;
use crate::Results;
use crate::chart::Chart;
use boostfgl_fairness::HEADLINES;

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let mut charts = Vec::new();
    for headline in [&HEADLINES.overall_f1, &HEADLINES.hete_min_f1] {
        let name = headline.title;
        let about = [
            &format!("{name} under noise in messages"),
            "noise σ, in units of the messages' RMS",
            &format!("{name}, %"),
        ];
        charts.extend(over_setting(results, "model.message_noise", headline.key, about));
    }
    charts
}
