//! `boostfgl data check`: what is unusual about a graph, as a table.

use crate::output::thousands;
use anyhow::Result;
use boostfgl::Error;
use boostfgl::datasets::health::{Health, percent};
use boostfgl::datasets::readers::{self, Format, csv_tables};
use std::fmt::Write as _;
use std::path::Path;

/// Reads a path and looks at what it holds.
pub(super) fn of_path(path: &Path) -> Result<Health> {
    let format = readers::detect(path).map_err(Error::from)?;
    if format != Format::Csv {
        let graph = readers::read(path, Some(format)).map_err(Error::from)?;
        return Ok(Health::of(&graph, None));
    }
    let read = csv_tables::read_counted(path, csv_tables::CsvOptions::default());
    let (graph, counts) = read.map_err(Error::from)?;
    Ok(Health::of(&graph, Some(counts)))
}

/// The table.
pub(super) fn described(name: &str, health: &Health) -> String {
    let [nodes, edges] = [health.nodes, health.edges].map(thousands);
    let mut text = format!("{name}: readable, {nodes} nodes, {edges} edges\n\n");
    for (name, value) in rows(health) {
        let _ = writeln!(text, "  {name:<18} {value}");
    }
    text.push_str("  classes\n");
    for class in &health.classes {
        let (count, share) = (thousands(class.count), percent(class.share));
        let _ = writeln!(text, "    {:<20} {count:>9}  {share:>8}", class.name);
    }
    if !health.hints.is_empty() {
        text.push('\n');
    }
    for hint in &health.hints {
        let _ = writeln!(text, "hint: {hint}");
    }
    text
}

fn rows(health: &Health) -> Vec<(&'static str, String)> {
    let unknown = || "not known for this format".to_owned();
    let hubs = health.hubs.iter().map(|hub| format!("{} ({})", hub.node, thousands(hub.degree)));
    let missing =
        health.missing.iter().map(|column| format!("{} ({})", column.name, percent(column.share)));
    let scales = health.scales.as_ref().map(|scales| {
        let [small, large] =
            scales.each_ref().map(|scale| format!("{:.3e} ({})", scale.deviation, scale.feature));
        format!("{small} to {large}")
    });
    let homophily = health.edge_homophily.map(|share| format!("{share:.3} by edge"));
    vec![
        ("merged duplicates", health.merged_duplicates.map_or_else(unknown, thousands)),
        ("dropped loops", health.dropped_loops.map_or_else(unknown, thousands)),
        ("isolated nodes", thousands(health.isolated)),
        ("most neighbours", listed(&hubs.collect::<Vec<_>>())),
        ("features", thousands(health.features)),
        ("constant features", listed(&health.constant)),
        ("deviations", scales.unwrap_or_else(|| "–".to_owned())),
        ("missing values", listed(&missing.collect::<Vec<_>>())),
        ("homophily", homophily.unwrap_or_else(|| "–".to_owned())),
        ("unlabelled", thousands(health.unlabelled)),
    ]
}

/// The first names, and how many more there are.
fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let more = names.len().saturating_sub(LISTED);
    let first: Vec<&str> = names.iter().take(LISTED).map(String::as_str).collect();
    let more = if more > 0 { format!(" and {} more", thousands(more)) } else { String::new() };
    format!("{}{more}", first.join(", "))
}

/// The most names on a line.
const LISTED: usize = 8;
