//! Whose update counted how much, round by round.

use super::Family;
use crate::chart::{Line, Lines};
use crate::{RoundClient, RunView};
use std::collections::BTreeMap;

/// A number of a client in a round.
type Pick = fn(&RoundClient) -> Option<f64>;

/// Number by client, then by round.
type ByClient = BTreeMap<usize, BTreeMap<usize, Vec<f64>>>;

/// More clients than this make no picture that can be read.
const MOST: usize = 16;

pub(super) fn section(family: &Family) -> Option<String> {
    let mut charts = String::new();
    for (view, label) in family.views.iter().zip(family.labels()) {
        let shown: [(&str, &str, Pick); 4] = [
            ("weights in the aggregation", "weight", |client| client.weight),
            ("trust", "trust τ", |client| client.trust),
            ("gap between majority and minority", "gap", |client| client.gap),
            ("size of updates", "‖Δθ‖", |client| Some(client.update_norm)),
        ];
        for (what, y, pick) in shown {
            charts.push_str(&chart(view, &format!("{label}: {what}"), y, pick).unwrap_or_default());
        }
    }
    (!charts.is_empty()).then(|| format!("<div class=\"charts\">{charts}</div>"))
}

fn chart(view: &RunView, title: &str, y: &str, pick: Pick) -> Option<String> {
    let rounds = view.rounds.as_ref()?;
    let mut clients: ByClient = BTreeMap::new();
    for round in &rounds.rounds {
        for client in &round.clients {
            if let Some(value) = pick(client).filter(|value| value.is_finite()) {
                clients.entry(client.client).or_default().entry(round.round).or_default().push(value);
            }
        }
    }
    let seeds = rounds.seeds().len();
    if clients.is_empty() {
        return None;
    }
    let of = clients.len();
    let line = |(client, rounds): (usize, BTreeMap<usize, Vec<f64>>)| {
        Line::of(format!("client {client}"), rounds.into_iter().map(|(round, values)| (round as f64, values)))
    };
    let lines = clients.into_iter().take(MOST).map(line).collect();
    let band = if seeds > 1 { format!("± one standard deviation over {seeds} seeds") } else { String::new() };
    let title = if of > MOST { format!("{title}, first {MOST} of {of} clients") } else { title.to_owned() };
    Some(Lines { title, x: "round".into(), y: y.into(), band, lines, mark: None }.chart().html())
}
