//! The clients of runs whose clients have names and graphs of their own: what each of them has, and
//! how well the model works for it.

use crate::text_table::{Line, Mark, Marked, TextTable};
use crate::{ClientSummary, Style, Summary};
use boostfgl_fairness::mean;

/// A table with one row per client: its nodes, and the scores of each run on its test nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientTable {
    /// The names and sizes.
    clients: Vec<ClientSummary>,
    /// Per run its label, and per client accuracy and macro-F1 in percent, mean over seeds.
    runs: Vec<(String, Vec<[Option<f64>; 2]>)>,
}

impl ClientTable {
    /// The table of these runs; `None` if their clients have no names, or are not the same.
    pub fn of(runs: &[(&str, &Summary)]) -> Option<Self> {
        let clients = runs.first()?.1.seeds.first()?.details.clients.clone();
        let names = |clients: &[ClientSummary]| -> Vec<String> {
            clients.iter().map(|client| client.name.clone()).collect()
        };
        let known = names(&clients);
        let mut seeds = runs.iter().flat_map(|(_, summary)| &summary.seeds);
        if clients.is_empty() || seeds.any(|seed| names(&seed.details.clients) != known) {
            return None;
        }
        let runs = runs.iter().map(|(label, summary)| {
            let scores = (0..clients.len()).map(|k| mean_scores(summary, k)).collect();
            ((*label).to_owned(), scores)
        });
        Some(Self { runs: runs.collect(), clients })
    }

    /// The headings of the columns, with their units.
    fn columns(&self) -> Vec<[String; 2]> {
        let sizes =
            ["nodes", "edges", "training", "test"].map(|title| [title.to_owned(), String::new()]);
        let several = self.runs.len() > 1;
        let scores = self.runs.iter().flat_map(|(label, _)| {
            ["Accuracy", "Macro-F1"].map(|title| {
                let unit = if several { label.clone() } else { "%".to_owned() };
                [title.to_owned(), unit]
            })
        });
        sizes.into_iter().chain(scores).collect()
    }

    /// The cells of one client; the worst score of a column is marked.
    fn cells(&self, k: usize) -> Vec<Marked> {
        let client = &self.clients[k];
        let sizes = [client.nodes, client.arcs / 2, client.train, client.test];
        let mut cells: Vec<Marked> =
            sizes.iter().map(|size| Marked::plain(size.to_string())).collect();
        for (_, scores) in &self.runs {
            for metric in 0..2 {
                let values = scores.iter().filter_map(|client| client[metric]);
                let worst = values.min_by(f64::total_cmp).filter(|_| scores.len() > 1);
                cells.push(match scores[k][metric] {
                    None => Marked::plain("no such node"),
                    Some(value) => {
                        let mark = if Some(value) == worst { Mark::Worst } else { Mark::Plain };
                        Marked { text: format!("{value:.1}"), mark }
                    }
                });
            }
        }
        cells
    }

    /// The table for a terminal.
    pub fn text(&self, style: Style) -> String {
        let lines = (0..self.clients.len())
            .map(|k| Line { label: self.clients[k].name.clone(), cells: vec![self.cells(k)] });
        let table = TextTable {
            title: "Clients, each with its own graph".to_owned(),
            labels: "Client",
            columns: self.columns(),
            rows: lines.collect(),
            notes: vec![NOTE.to_owned()],
        };
        table.text(style)
    }

    /// Headings and rows, for a page.
    pub(crate) fn rows(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let headings = self.columns().into_iter().map(|[title, unit]| match unit.as_str() {
            "" => title,
            unit => format!("{title}, {unit}"),
        });
        let rows = (0..self.clients.len()).map(|k| {
            let cells = self.cells(k).into_iter().map(|cell| cell.text);
            std::iter::once(self.clients[k].name.clone()).chain(cells).collect()
        });
        (std::iter::once("client".to_owned()).chain(headings).collect(), rows.collect())
    }
}

/// What the columns mean.
pub(crate) const NOTE: &str = "Scores are of each client's own test nodes, from counts that it sent; macro-F1 over all classes.";

/// Accuracy and macro-F1 of a client in percent, mean over seeds.
fn mean_scores(summary: &Summary, k: usize) -> [Option<f64>; 2] {
    let scores = || summary.seeds.iter().map(|seed| seed.details.clients[k].scores.0);
    let accuracy: Vec<f64> = scores().filter_map(|scores| scores.accuracy.pooled).collect();
    let f1: Vec<f64> = scores().filter_map(|scores| scores.overall_f1.pooled).collect();
    [mean(&accuracy), mean(&f1)]
}
