//! What differs between the runs that are compared, apart from their methods.

use super::RunGroup;
use crate::markup::Markup;

/// Why the pairs are fair although the runs differ.
const FAIR: &str = "Data, partition, split and seeds are the same, so that differences are between \
    pairs.";

pub(super) fn section(runs: &RunGroup) -> Option<String> {
    let sentence = sentence(runs)?;
    let mut page = Markup::default();
    page.text("p", &[], &sentence);
    let keys = runs.differing.iter().map(|one| one.key.clone());
    let head: Vec<String> = std::iter::once("run".to_owned()).chain(keys).collect();
    let mut rows = Vec::new();
    for (at, label) in runs.labels().iter().enumerate() {
        let values = runs.differing.iter().map(|one| one.values.get(at).cloned().flatten());
        let values = values.map(|value| value.unwrap_or_else(|| "not set".to_owned()));
        rows.push(std::iter::once(label.clone()).chain(values).collect());
    }
    page.table(&head, &rows);
    Some(page.finish())
}

/// What the runs differ in, in a sentence; `None` if they differ in nothing but their methods.
pub(super) fn sentence(runs: &RunGroup) -> Option<String> {
    let keys: Vec<&str> = runs.differing.iter().map(|one| one.key.as_str()).collect();
    let keys = match keys.split_last()? {
        (only, []) => (*only).to_owned(),
        (last, others) => format!("{} and {last}", others.join(", ")),
    };
    Some(format!("The runs differ in {keys}. {FAIR}"))
}
