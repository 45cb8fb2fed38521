//! Error by distance from disadvantaged nodes.

use super::gather::curves;
use crate::Results;
use crate::chart::Chart;

pub(super) fn draw(results: &Results) -> Vec<Chart> {
    let from = [
        ("minority", "minority nodes"),
        ("heterophilous", "heterophilous nodes"),
        ("hete_min", "heterophilous minority nodes"),
    ];
    let chart = |(key, name): (&str, &str)| {
        let title = format!("Error by distance from {name}");
        curves(
            results,
            &format!("error.{key}"),
            [&title, "hops", "test nodes predicted wrongly, %"],
            0.0,
            None,
        )
    };
    from.into_iter().flat_map(chart).collect()
}
