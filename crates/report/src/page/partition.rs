//! The partition: the classes of every client, and the edges lost between clients.

use super::RunGroup;
use crate::SeedPartitionStats;
use crate::chart::{Bars, COLOURS, Ring, Slices};
use crate::markup::Markup;
use boostfgl_partition::Description;
use std::cmp::Reverse;

/// The most clients drawn as pies; more would be too small to read.
const MOST_PIES: usize = 24;
/// The most clients drawn as bars.
const MOST_BARS: usize = 60;

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let partition = runs.views.iter().find_map(|view| view.partition.as_ref())?;
    let first = partition.seeds.first()?;
    let mut page = Markup::default();
    page.text("p", &[], &sentence(first));
    page.raw("<div class=\"charts\">");
    let mix = Mix::of(&first.description);
    if first.description.clients.len() <= MOST_PIES {
        let ring = ring(first, &mix).chart();
        page.raw(
            &ring
                .noted(
                    "A pie is a client, as large as its number of nodes; a line between \
            two is as thick as the number of edges between them, which neither sees.",
                )
                .html(),
        );
    }
    page.raw(&bars(first, &mix).chart().html());
    page.raw("</div>");
    if partition.seeds.len() > 1 {
        let rows: Vec<Vec<String>> = partition.seeds.iter().map(seed_row).collect();
        page.raw("<details><summary>The partitions of all seeds</summary>");
        let head = [
            "seed",
            "clients",
            "edges kept",
            "edges lost",
            "lost, %",
            "modularity",
            "smallest client",
            "largest client",
        ];
        page.table(&head.map(str::to_owned), &rows);
        page.raw("</details>");
    }
    Some(page.finish())
}

/// The share of edges between nodes of different clients, in percent.
fn lost(description: &Description) -> f64 {
    let total = &description.total;
    100.0 * total.lost_edges as f64 / (total.edges + total.lost_edges).max(1) as f64
}

/// Nodes, clients, lost edges and minority classes in a sentence.
fn sentence(division: &SeedPartitionStats) -> String {
    let (description, total) = (&division.description, &division.description.total);
    let names: Vec<&str> = division
        .minority_classes
        .iter()
        .filter_map(|class| Some(&description.classes.get(*class)?[..]))
        .collect();
    let minority = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!(
        "Seed {}: {} nodes over {} clients; {} of {} edges joined nodes of different clients and \
         were lost ({:.1} %). Minority \
         classes: {minority}.",
        division.seed,
        total.nodes,
        description.clients.len(),
        total.lost_edges,
        total.edges + total.lost_edges,
        lost(description)
    )
}

/// The table row of one seed.
fn seed_row(division: &SeedPartitionStats) -> Vec<String> {
    let (description, total) = (&division.description, &division.description.total);
    let sizes = description.clients.iter().map(|client| client.nodes);
    vec![
        division.seed.to_string(),
        description.clients.len().to_string(),
        total.edges.to_string(),
        total.lost_edges.to_string(),
        format!("{:.1}", lost(description)),
        format!("{:.4}", description.modularity),
        sizes.clone().min().unwrap_or(0).to_string(),
        sizes.max().unwrap_or(0).to_string(),
    ]
}

/// The assignment of classes to series. If there are more classes than colours, the largest have a
/// series each and the others share one.
struct Mix {
    series: Vec<String>,
    /// The series of each class.
    of_class: Vec<usize>,
}

impl Mix {
    /// The series of the classes of a partition.
    fn of(description: &Description) -> Self {
        let classes = description.classes.len();
        if classes <= COLOURS {
            let series = description.classes.iter().map(|name| format!("class {name}")).collect();
            return Self { series, of_class: (0..classes).collect() };
        }
        let mut order: Vec<usize> = (0..classes).collect();
        let counts = &description.total.class_counts;
        order.sort_by_key(|&class| (Reverse(counts.get(class).copied().unwrap_or(0)), class));
        let own = COLOURS - 1;
        let mut of_class = vec![own; classes];
        order.iter().take(own).enumerate().for_each(|(at, &class)| of_class[class] = at);
        let mut series: Vec<String> = order
            .iter()
            .take(own)
            .map(|&class| format!("class {}", description.classes[class]))
            .collect();
        series.push(format!("{} other classes", classes - own));
        Self { series, of_class }
    }

    /// The number of nodes of each series, from the number of nodes of each class.
    fn parts(&self, counts: &[usize]) -> Vec<f64> {
        let mut parts = vec![0.0; self.series.len()];
        for (class, count) in counts.iter().enumerate() {
            if let Some(part) = self.of_class.get(class).and_then(|at| parts.get_mut(*at)) {
                *part += *count as f64;
            }
        }
        parts
    }
}

/// The chart of clients and the edges lost between them.
fn ring(division: &SeedPartitionStats, mix: &Mix) -> Ring {
    let clients = division.description.clients.iter().enumerate();
    let pies = clients.map(|(k, client)| Slices {
        name: format!("client {k}"),
        parts: mix.parts(&client.class_counts),
        joined: client.lost_to.iter().map(|(to, edges)| (*to, *edges as f64)).collect(),
    });
    Ring {
        title: format!("Clients, classes and lost edges (seed {})", division.seed),
        series: mix.series.clone(),
        unit: "labelled nodes".to_owned(),
        joint: "lost edges".to_owned(),
        pies: pies.collect(),
    }
}

/// The chart of training nodes by client and class.
fn bars(division: &SeedPartitionStats, mix: &Mix) -> Bars {
    let clients = &division.description.clients;
    let rows = clients
        .iter()
        .enumerate()
        .take(MOST_BARS)
        .map(|(k, client)| (format!("client {k}"), mix.parts(&client.train_class_counts)));
    let some = if clients.len() > MOST_BARS {
        format!(", first {MOST_BARS} of {} clients", clients.len())
    } else {
        String::new()
    };
    Bars {
        title: format!("Training nodes by class (seed {}{some})", division.seed),
        x: "training nodes".to_owned(),
        series: mix.series.clone(),
        rows: rows.collect(),
    }
}
