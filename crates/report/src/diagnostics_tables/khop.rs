//! Error by distance from disadvantaged nodes.

use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::diagnostics::khop::{Hop, Khop, KhopCurve};

use super::number::{percent, spread};
use super::{line, notes, per_seed, question};
use crate::table::range;
use crate::text_table::{Line, TextTable};

/// Nodes at this distance or further share a row: there are few of them.
const FAR: usize = 6;

/// Error and number of nodes by hops from each group.
pub(super) fn tables(found: &[&Khop]) -> Vec<TextTable> {
    let from: Vec<&str> = found
        .first()
        .into_iter()
        .flat_map(|khop| &khop.curves)
        .map(|curve| curve.from.as_str())
        .collect();
    let hops =
        found.iter().flat_map(|khop| &khop.curves).map(|curve| curve.hops.len()).max().unwrap_or(0);
    let mut rows: Vec<Line> = (0..hops.min(FAR))
        .map(|hop| {
            row(found, &from, &hop_name(hop), |curve| {
                curve.hops.get(hop).copied().unwrap_or_default()
            })
        })
        .collect();
    if hops > FAR {
        rows.push(row(found, &from, &format!("{FAR} or more"), |curve| {
            pooled(curve.hops.iter().skip(FAR))
        }));
    }
    rows.push(row(found, &from, "no path", |curve| curve.unreachable));
    let mut notes = notes(&[
        "Error of test nodes by the hops from each to the nearest node of the group, within its \
         client. If it",
        "falls with distance, error sits around the group; outside / inside near 1: it does not \
         stay there.",
    ]);
    notes.extend(from.iter().map(|name| summary(found, name)));
    let columns = from.iter().flat_map(|name| {
        [["Nodes".to_owned(), String::new()], [format!("from {name}"), "error %".to_owned()]]
    });
    Vec::from([TextTable {
        title: question(DiagnosticKind::Khop),
        labels: "Distance",
        columns: columns.collect(),
        rows,
        notes,
    }])
}

fn hop_name(hop: usize) -> String {
    match hop {
        0 => "in the group".to_owned(),
        1 => "1 hop".to_owned(),
        hops => format!("{hops} hops"),
    }
}

/// One distance: nodes and error for each group.
fn row(found: &[&Khop], from: &[&str], label: &str, pick: impl Fn(&KhopCurve) -> Hop) -> Line {
    let mut cells = Vec::with_capacity(2 * from.len());
    for name in from {
        let hops: Vec<Hop> =
            found.iter().map(|khop| khop.curve(name).map(&pick).unwrap_or_default()).collect();
        let error: Vec<Option<f64>> = hops.iter().map(|hop| hop.error()).collect();
        cells.extend([range(hops.iter().map(|hop| hop.nodes)), percent(&error)]);
    }
    line(label, cells)
}

/// The nodes and errors of several distances together.
fn pooled<'a>(hops: impl Iterator<Item = &'a Hop>) -> Hop {
    hops.fold(Hop::default(), |a, b| Hop { nodes: a.nodes + b.nodes, errors: a.errors + b.errors })
}

/// Amplification and slope of the error for one group, in words.
fn summary(found: &[&Khop], name: &str) -> String {
    let curves: Vec<Option<&KhopCurve>> = found.iter().map(|khop| khop.curve(name)).collect();
    let ratio = spread(&per_seed(&curves, KhopCurve::amplification), 2);
    let slope = spread(&per_seed(&curves, |curve| curve.slope().map(|x| 100.0 * x)), 1);
    format!("{name}: error outside / inside {ratio}; at 1 hop minus further away {slope} points.")
}
