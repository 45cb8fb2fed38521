//! The list of all runs and comparisons.

use crate::date;
use crate::html::{self, Address, Text};
use crate::library::{Kind, Library, ListRow, Listing};

/// The rows of the list, which a live page replaces.
pub(crate) fn rows(listing: &Listing) -> String {
    listing.runs.iter().map(|run| row(run)).collect()
}

/// The whole page; `filter` is the text of the filter box.
pub(crate) fn page(library: &Library, filter: &str) -> String {
    let mut listing = library.list();
    let all = rows(&listing);
    let mark = html::mark(&all);
    let count = listing.runs.len();
    listing.runs.retain(|run| matches(run, filter));
    let rows = if listing.runs.len() == count { all } else { rows(&listing) };
    let notes: String = listing.notes.iter().map(|note| format!("<p>{}</p>", Text(note))).collect();
    let main = format!(
        "<h1>Runs</h1>\
         <form role=\"search\" action=\"/\" method=\"get\" class=\"serve-search\"><label \
         for=\"filter\">Filter</label> \
         <input id=\"filter\" name=\"q\" type=\"search\" value=\"{filter}\" autocomplete=\"off\" \
         placeholder=\"name, dataset, method, state\"> <output id=\"shown\" \
         for=\"filter\">{count} runs</output></form>\
         <form action=\"/compare\" method=\"get\"><p><button id=\"compare\">Compare</button> the \
         ticked runs</p>\
         <div class=\"serve-wide\"><table class=\"serve-runs\"><thead><tr><th scope=\"col\">\
         <span class=\"serve-unseen\">Compare</span></th><th scope=\"col\">Run</th><th \
         scope=\"col\">Dataset</th>\
         <th scope=\"col\">Method</th><th scope=\"col\">State</th><th scope=\"col\">Rounds</th>\
         <th scope=\"col\">Accuracy&nbsp;%</th><th scope=\"col\">Hete-min-F1&nbsp;%</th><th \
         scope=\"col\">Last change</th>\
         </tr></thead><tbody data-events=\"/events/list\" \
         data-mark=\"{mark}\">{rows}</tbody></table></div></form>\
         {EMPTY}{notes}",
        filter = Text(filter),
    );
    html::page("Runs", &main)
}

/// Shown by the style sheet while the table has no rows.
const EMPTY: &str =
    "<p class=\"serve-empty\">There is no run to show. <code>boostfgl run</code> makes one.</p>";

/// Whether one of the text columns of a row contains the text of the filter.
fn matches(run: &ListRow, filter: &str) -> bool {
    let dataset = run.dataset.as_deref().unwrap_or_default();
    let text = [&run.name, dataset, &run.label, run.status().name()].join(" ").to_lowercase();
    text.contains(&filter.trim().to_lowercase())
}

fn row(run: &ListRow) -> String {
    let name = if run.name.is_empty() { "." } else { &run.name };
    let status = run.status();
    let [accuracy, hete_min] =
        run.scores.map_or([String::new(), String::new()], |both| both.map(score));
    let cells = format!(
        "<td><input type=\"checkbox\" name=\"run\" value=\"{value}\" aria-label=\"Compare \
         {shown}\"></td>\
         <th scope=\"row\"><a \
         href=\"/run/{address}\">{shown}</a>{problems}</th><td>{dataset}</td><td>{label}</td>\
         <td class=\"serve-{state}\" title=\"{meaning}\">{state}</td><td>{progress}</td>\
         <td class=\"serve-number\">{accuracy}</td><td \
         class=\"serve-number\">{hete_min}</td><td>{changed}</td>",
        value = Text(&run.name),
        shown = Text(name),
        address = Address(&run.name),
        problems = first_problem(&run.problems),
        dataset = Text(run.dataset.as_deref().unwrap_or("–")),
        label = Text(&run.label),
        state = status.name(),
        meaning = status.meaning(),
        progress = done(run),
        changed = date::html(run.changed),
    );
    format!(
        "<tr data-run=\"{}\" data-mark=\"{}\">{cells}</tr>",
        Text(&run.name),
        html::mark(&cells)
    )
}

fn first_problem(problems: &[String]) -> String {
    let Some(first) = problems.first() else { return String::new() };
    let more = if problems.len() > 1 {
        format!(" (and {} more)", problems.len() - 1)
    } else {
        String::new()
    };
    format!("<small class=\"serve-problem\">{}{more}</small>", Text(first))
}

/// The progress: rounds of a run, cells of a comparison.
fn done(run: &ListRow) -> String {
    match (run.kind, run.rounds) {
        (Kind::Comparison, (done, Some(total))) => {
            format!("<span class=\"serve-number\">{done} of {total} cells</span>")
        }
        (Kind::Comparison, _) => String::new(),
        (Kind::Run, rounds) => progress(rounds),
    }
}

/// Rounds done of all rounds, as a bar and in numbers.
pub(crate) fn progress((done, total): (usize, Option<usize>)) -> String {
    match total.filter(|total| *total > 0) {
        Some(total) => format!(
            "<progress max=\"{total}\" value=\"{}\" aria-label=\"Rounds\"></progress> \
             <span class=\"serve-number\">{done} of {total}</span>",
            done.min(total)
        ),
        None => format!("<span class=\"serve-number\">{done}</span>"),
    }
}

fn score((mean, std): (Option<f64>, Option<f64>)) -> String {
    match (mean, std) {
        (Some(mean), Some(std)) => format!("{mean:.2} ± {std:.2}"),
        (Some(mean), None) => format!("{mean:.2}"),
        (None, _) => "–".to_owned(),
    }
}
