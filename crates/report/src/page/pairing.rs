//! Which runs may be compared in pairs, and what differs between those that may.
//!
//! A pair is fair if both runs have the same data, partition, split, groups and seed. All other
//! settings, such as a learning rate or a backbone, are what is compared: they are named.

use crate::{RunView, Settings};
use std::collections::{BTreeMap, BTreeSet};

/// Keys, and sections of keys, that decide what a pair is made of.
const OF_PAIRS: [&str; 5] = ["dataset", "client_data", "partition.", "split.", "groups."];

/// Keys by which methods differ. A label or a folder names them already.
const OF_METHODS: [&str; 6] = ["name", "method", "boosts", "boost.", "methods.", "seeds"];

/// A setting in which runs that are compared differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Differing {
    /// Its key, such as `optimizer.learning_rate`.
    pub(super) key: String,
    /// Its value in every run; `None` for a run without a configuration or without the key.
    pub(super) values: Vec<Option<String>>,
}

/// What makes pairs of a run and a group of runs unfair; empty if it may join them.
pub(super) fn objections(group: &[RunView], view: &RunView) -> Vec<String> {
    let Some(first) = group.first() else { return Vec::new() };
    let mut found = data(first, view);
    let none = Settings::default();
    let [ours, theirs] = [first, view].map(|run| run.settings.as_ref().unwrap_or(&none));
    for (key, _, value) in ours.differences(theirs) {
        if is_among(&OF_PAIRS, key) {
            let value = if value.is_empty() { "not set" } else { value };
            found.push(format!("{key} = {value}"));
        }
    }
    // A partition file may have changed between two runs that name it.
    if found.is_empty() {
        found.extend(partition(first, view));
    }
    found.extend(seeds_apart(group, view));
    found
}

/// Other data under the same name, by their fingerprint.
fn data(ours: &RunView, theirs: &RunView) -> Vec<String> {
    match (fingerprint(ours), fingerprint(theirs)) {
        (Some(ours), Some(theirs)) if ours != theirs => {
            let start: String = theirs.chars().take(12).collect();
            vec![format!("data of fingerprint {start}…")]
        }
        _ => Vec::new(),
    }
}

/// The first seed under which the graph was divided in another way.
fn partition(ours: &RunView, theirs: &RunView) -> Option<String> {
    let (ours, theirs) = (ours.partition.as_ref()?, theirs.partition.as_ref()?);
    let other = theirs.seeds.iter().find(|one| {
        let same = ours.seeds.iter().find(|other| other.seed == one.seed);
        same.is_some_and(|same| same.description != one.description)
    })?;
    Some(format!("another partition under seed {}", other.seed))
}

/// A run that shares no seed with all runs of a group.
fn seeds_apart(group: &[RunView], view: &RunView) -> Option<String> {
    let own = seeds(view);
    let mut shared = own.clone();
    for other in group {
        let theirs = seeds(other);
        // Without a summary and a configuration nothing is known, and nothing is compared.
        if !theirs.is_empty() {
            shared.retain(|seed| theirs.contains(seed));
        }
    }
    let list: Vec<&str> = own.iter().map(String::as_str).collect();
    (shared.is_empty() && !own.is_empty()).then(|| format!("seeds = {}", list.join(", ")))
}

/// The seeds of a run, finished or not.
fn seeds(view: &RunView) -> BTreeSet<String> {
    if let Some(summary) = &view.summary {
        return summary.seeds.iter().map(|seed| seed.seed.to_string()).collect();
    }
    let list = view.settings.as_ref().and_then(|settings| settings.get("seeds")).unwrap_or("");
    let numbers = list.trim_matches(['[', ']']).split(',').map(str::trim);
    numbers.filter(|number| !number.is_empty()).map(str::to_owned).collect()
}

/// The fingerprint of the data of a finished run.
fn fingerprint(view: &RunView) -> Option<&str> {
    Some(&view.summary.as_ref()?.data.as_ref()?.whole)
}

/// Whether a key is one of a list or in a section of it.
fn is_among(list: &[&str], key: &str) -> bool {
    list.iter().any(|own| key == *own || (own.ends_with('.') && key.starts_with(own)))
}

/// The settings in which runs of one group differ, apart from what methods differ in anyway.
pub(super) fn differing(views: &[RunView]) -> Vec<Differing> {
    let configured: Vec<&Settings> =
        views.iter().filter_map(|view| view.settings.as_ref()).collect();
    let Some((first, others)) = configured.split_first() else { return Vec::new() };
    let keys: BTreeSet<&str> = others
        .iter()
        .flat_map(|other| first.differences(other))
        .map(|(key, _, _)| key)
        .filter(|key| !is_among(&OF_METHODS, key))
        .collect();
    keys.into_iter()
        .map(|key| Differing {
            key: key.to_owned(),
            values: views.iter().map(|view| value(view, key)).collect(),
        })
        .collect()
}

/// The value of a key in the configuration of a run, without quotes.
fn value(view: &RunView, key: &str) -> Option<String> {
    view.settings.as_ref()?.get(key).map(str::to_owned)
}

/// Per run, what distinguishes it from the others: `learning_rate=0.02`.
pub(super) fn distinctions(differing: &[Differing], runs: usize) -> Vec<Vec<String>> {
    let short = short_keys(differing);
    let mut all = vec![Vec::new(); runs];
    for (one, key) in differing.iter().zip(short) {
        for (own, value) in all.iter_mut().zip(&one.values) {
            own.extend(value.as_ref().map(|value| format!("{key}={value}")));
        }
    }
    all
}

/// The last part of every key, or all of it where two keys end alike.
fn short_keys(differing: &[Differing]) -> Vec<&str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for one in differing {
        *counts.entry(last(&one.key)).or_default() += 1;
    }
    differing
        .iter()
        .map(|one| if counts[last(&one.key)] == 1 { last(&one.key) } else { &one.key[..] })
        .collect()
}

/// The part of a key after its last dot.
fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differing_in(key: &str, values: [Option<&str>; 2]) -> Differing {
        let values = values.map(|value| value.map(str::to_owned)).to_vec();
        Differing { key: key.to_owned(), values }
    }

    #[test]
    fn keys_of_pairs_and_of_methods_are_found_with_their_sections() {
        for key in ["partition.clients", "split.train", "dataset", "groups.minority"] {
            assert!(is_among(&OF_PAIRS, key), "{key}");
        }
        for key in ["optimizer.learning_rate", "model.backbone", "fed.rounds", "datasets"] {
            assert!(!is_among(&OF_PAIRS, key) && !is_among(&OF_METHODS, key), "{key}");
        }
        assert!(is_among(&OF_METHODS, "methods.fedprox.mu"));
    }

    #[test]
    fn runs_are_distinguished_by_short_keys_that_stay_distinct() {
        let rate = differing_in("optimizer.learning_rate", [Some("0.01"), Some("0.02")]);
        let [a, b] = ["screen.clip", "attack.clip"].map(|key| differing_in(key, [Some("1"), None]));
        assert_eq!(
            distinctions(&[rate, a, b], 2),
            [
                vec!["learning_rate=0.01", "screen.clip=1", "attack.clip=1"],
                vec!["learning_rate=0.02"]
            ]
        );
    }
}
