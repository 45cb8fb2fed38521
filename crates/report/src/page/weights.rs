//! The weight, trust and update size of clients over rounds.

use super::RunGroup;
use crate::chart::{Line, Lines};
use crate::{ClientRecord, RunView};
use boostfgl_fed::ClientName;
use std::collections::BTreeMap;

/// A number of a client in a round.
type Pick = fn(&ClientRecord) -> Option<f64>;

/// The most clients in a chart.
const MOST: usize = 16;

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let mut charts = String::new();
    for (view, label) in runs.views.iter().zip(runs.labels()) {
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

/// The chart of one value of the clients under the first seed. Every seed has its own partition, so
/// a mean over seeds would mix unrelated clients.
fn chart(view: &RunView, title: &str, y: &str, pick: Pick) -> Option<String> {
    let rounds = view.rounds.as_ref()?;
    let seed = rounds.rounds.first()?.seed;
    let mut clients: BTreeMap<usize, (ClientName, Vec<[f64; 4]>)> = BTreeMap::new();
    let mut total = 0;
    for round in rounds.rounds.iter().filter(|round| round.seed == seed) {
        for client in &round.clients {
            total = total.max(client.client + 1);
            if let Some(value) =
                pick(client).filter(|value| value.is_finite() && client.client < MOST)
            {
                let name = ClientName::new(client.client, client.name.clone());
                let (_, points) = clients.entry(client.client).or_insert((name, Vec::new()));
                points.push([round.round as f64, value, value, value]);
            }
        }
    }
    if clients.is_empty() {
        return None;
    }
    let lines = clients
        .into_values()
        .map(|(client, points)| Line { name: client.to_string(), points })
        .collect();
    let some =
        if total > MOST { format!(", first {MOST} of {total} clients") } else { String::new() };
    let title = format!("{title}, seed {seed}{some}");
    Some(Lines { title, x: "round".into(), y: y.into(), lines, ..Lines::default() }.chart().html())
}
