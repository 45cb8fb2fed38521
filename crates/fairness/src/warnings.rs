//! Warnings about runs that ended without an error and yet failed: a model that predicts one class
//! only, a loss that did not fall, a client below the majority-class baseline.
//!
//! Each check is a function of plain arguments that gives no, one or several [`Warning`]s. The text
//! of a warning names the class or client and what was found, and where it helps what to do.

use boostfgl_graph::Features;
use serde::{Deserialize, Serialize};

use crate::statistics::wilson;
use crate::{ClassCounts, Confusion};

/// Something that is wrong with a run though it ended without an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Its kind.
    pub kind: WarningKind,
    /// Its subject: a class, a client, a column; empty for the run as a whole.
    pub subject: String,
    /// One sentence without a full stop; of the first seed, if there are several.
    pub text: String,
    /// The seeds it was found under.
    pub seeds: Vec<u64>,
}

/// The kinds of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// Every test node is predicted to be of one class.
    OneClass,
    /// A class with test nodes is never predicted, or never rightly.
    NeverPredicted,
    /// The positive class of the configuration is never predicted.
    PositiveNeverPredicted,
    /// The training loss is larger at the end than at the start, or no number.
    Diverged,
    /// The training loss is not smaller at the end than at the start.
    LossDidNotFall,
    /// A client's model is right less often than its most common training class.
    WorseThanGuessing,
    /// A client has no training node.
    NoTrainingNode,
    /// There is no labelled test node.
    NoTestNode,
    /// No training label is in the minority, or none in the majority.
    NoMinority,
    /// Feature columns differ by orders of magnitude.
    FeatureScales,
}

impl WarningKind {
    /// Whether a model with this warning is no better than a constant prediction: its metrics are
    /// not ranked.
    pub fn is_collapse(self) -> bool {
        matches!(self, Self::OneClass | Self::Diverged)
    }
}

impl Warning {
    /// A warning about `subject`, found under `seed`.
    pub fn new(
        kind: WarningKind,
        subject: impl Into<String>,
        text: impl Into<String>,
        seed: u64,
    ) -> Self {
        Self { kind, subject: subject.into(), text: text.into(), seeds: vec![seed] }
    }

    /// The sentence, with the seeds it is about where these are not all of `of`.
    pub fn sentence(&self, of: usize) -> String {
        let Self { text, seeds, .. } = self;
        match &seeds[..] {
            [] => text.clone(),
            _ if of == 1 => text.clone(),
            [first] => format!("{text} (seed {first})"),
            [first, ..] if seeds.len() == of => {
                format!("{text} (seed {first}; alike in all {of} seeds)")
            }
            [first, ..] => format!("{text} (seed {first}; alike in {} of {of} seeds)", seeds.len()),
        }
    }
}

/// Warnings of several seeds, those about the same thing as one. The order is that of the kinds.
pub fn merge(seeds: impl IntoIterator<Item = Warning>) -> Vec<Warning> {
    let mut merged: Vec<Warning> = Vec::new();
    for warning in seeds {
        match merged
            .iter_mut()
            .find(|known| (known.kind, &known.subject) == (warning.kind, &warning.subject))
        {
            Some(known) => known.seeds.extend(warning.seeds),
            None => merged.push(warning),
        }
    }
    merged.sort_by_key(|warning| warning.kind);
    merged
}

/// Classes that a model does not find, from its confusion matrix on the test nodes.
pub fn unpredicted(confusion: &Confusion, names: &[String], seed: u64) -> Vec<Warning> {
    let counts = confusion.per_class();
    let predicted: Vec<usize> =
        (0..names.len()).filter(|&class| counts[class].predicted > 0).collect();
    let present: Vec<usize> = (0..names.len()).filter(|&class| counts[class].truth > 0).collect();
    match &predicted[..] {
        [] => vec![Warning::new(
            WarningKind::NoTestNode,
            "",
            "there is no labelled test node to judge by",
            seed,
        )],
        [one] if present.len() > 1 => {
            let missed: u64 = present
                .iter()
                .filter(|class| *class != one)
                .map(|&class| counts[class].truth)
                .sum();
            let text = format!(
                "one class only is predicted, `{}`: none of the {missed} test nodes of other \
                 classes is found",
                names[*one]
            );
            vec![Warning::new(WarningKind::OneClass, "", text, seed)]
        }
        _ => present
            .iter()
            .filter_map(|&class| never_found(&counts[class], &names[class], seed))
            .collect(),
    }
}

/// A class that is never predicted, or of whose test nodes, ten or more, not one is right.
fn never_found(counts: &ClassCounts, name: &str, seed: u64) -> Option<Warning> {
    let ClassCounts { truth, predicted, hits } = *counts;
    let text = match (predicted, hits) {
        (0, _) => format!("`{name}` is never predicted: none of its {truth} test nodes is found"),
        (wrong, 0) if truth >= FEWEST as u64 => {
            format!(
                "`{name}` is never found: all {wrong} predictions of it are wrong, and its \
                 {truth} test nodes are missed"
            )
        }
        _ => return None,
    };
    Some(Warning::new(WarningKind::NeverPredicted, name, text, seed))
}

/// A positive class that is never predicted: every rate that fairness is measured by is then 0.
/// Replaces a warning of [`unpredicted`] about the same class in `found`.
pub fn positive_unpredicted(
    confusion: &Confusion,
    class: usize,
    name: &str,
    seed: u64,
    found: &mut Vec<Warning>,
) {
    let Some(counts) = confusion.per_class().get(class).copied() else { return };
    if counts.predicted > 0 || confusion.total() == 0 {
        return;
    }
    found.retain(|known| (known.kind, &*known.subject) != (WarningKind::NeverPredicted, name));
    let text = format!(
        "the positive class `{name}` is never predicted: selection rate and recall are 0 for every \
         group, which is no sign of fairness, and none of its {} test nodes is found",
        counts.truth
    );
    found.push(Warning::new(WarningKind::PositiveNeverPredicted, name, text, seed));
}

/// A training loss that did not fall or rose, from the loss of every round.
///
/// The end is the mean over the last tenth of the rounds, at least one: a single round is noisy
/// under dropout.
pub fn training_loss(losses: &[f64], seed: u64) -> Option<Warning> {
    let (&first, later) = losses.split_first()?;
    let tail = &later[later.len() - later.len().min((losses.len() / 10).max(1))..];
    if tail.is_empty() {
        return None;
    }
    let end = tail.iter().sum::<f64>() / tail.len() as f64;
    let from_to = format!("from {first:.3} in round 1 to {end:.3} at the end");
    if !end.is_finite() || end > RISEN * first {
        let text = format!(
            "training diverged, its loss rose {from_to}: lower optimizer.learning_rate or scale \
             features"
        );
        return Some(Warning::new(WarningKind::Diverged, "", text, seed));
    }
    (end >= FALLEN * first).then(|| {
        let text = format!("the training loss did not fall: {from_to}");
        Warning::new(WarningKind::LossDidNotFall, "", text, seed)
    })
}

/// A loss above this multiple of the first has risen.
const RISEN: f64 = 1.5;

/// A loss of at least this multiple of the first has not fallen.
const FALLEN: f64 = 0.99;

/// The test nodes that a client's model gets right, and those that a constant prediction would.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientGuess<'a> {
    /// The client, by its name or number.
    pub client: String,
    /// Its test nodes.
    pub nodes: usize,
    /// How many of them the model gets right.
    pub right: usize,
    /// Its most common training class.
    pub class: &'a str,
    /// How many of its test nodes are of that class.
    pub guessed: usize,
}

/// A client whose model is right less often than always answering its most common training class
/// (the majority-class baseline), by more than chance in its test nodes: the upper end of Wilson's
/// 95 % interval is below the baseline. Clients with fewer than ten test nodes are passed over.
pub fn worse_than_guessing(found: &ClientGuess<'_>, seed: u64) -> Option<Warning> {
    let ClientGuess { ref client, nodes, right, class, guessed } = *found;
    let upper = wilson(right as u64, nodes as u64).map_or(1.0, |interval| interval.hi);
    (nodes >= FEWEST && upper < guessed as f64 / nodes as f64).then(|| {
        let text = format!(
            "client {client} is below the majority-class baseline: {:.1} % of its {nodes} test \
             nodes are right, always \
             answering `{class}` has {:.1} %",
            percent_of(right, nodes),
            percent_of(guessed, nodes)
        );
        Warning::new(WarningKind::WorseThanGuessing, client.to_string(), text, seed)
    })
}

fn percent_of(count: usize, all: usize) -> f64 {
    100.0 * count as f64 / all as f64
}

/// With fewer test nodes than this there is no warning.
const FEWEST: usize = 10;

/// Columns of the features whose largest numbers differ by at least three orders of magnitude.
/// Columns of zeros are passed over. Time O(stored numbers).
pub fn feature_scales(features: &Features, seed: u64) -> Option<Warning> {
    let largest = largest_of_columns(features);
    let used = largest.into_iter().enumerate().filter(|(_, x)| *x > 0.0 && x.is_finite());
    let (small, least) = used.clone().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (large, most) = used.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let orders = libm::log10(most / least);
    (orders >= ORDERS).then(|| {
        let text = format!(
            "feature columns differ by {orders:.0} orders of magnitude: column {} goes up to \
             {most:.3e}, column {} up to \
             {least:.3e}, and the larger one drowns the other; bring them to one scale first",
            large + 1,
            small + 1
        );
        Warning::new(WarningKind::FeatureScales, "", text, seed)
    })
}

/// From this many orders of magnitude on columns differ too much.
const ORDERS: f64 = 3.0;

/// max |x| of every column.
fn largest_of_columns(features: &Features) -> Vec<f64> {
    let mut largest = vec![0.0f64; features.columns()];
    match features {
        Features::Dense { columns, values, .. } => {
            for row in values.chunks_exact((*columns).max(1)) {
                largest
                    .iter_mut()
                    .zip(row)
                    .for_each(|(most, x)| *most = most.max(f64::from(x.abs())));
            }
        }
        Features::Sparse(rows) => {
            for (column, x) in rows.indices().iter().zip(rows.values()) {
                let most = &mut largest[*column as usize];
                *most = most.max(f64::from(x.abs()));
            }
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["ok", "fraud", "unsure"].map(str::to_owned).to_vec()
    }

    fn confusion(pairs: &[(u32, u32)]) -> Confusion {
        Confusion::from_pairs(3, pairs.iter().copied()).unwrap()
    }

    #[test]
    fn a_model_that_finds_no_fraud_is_named() {
        let found = unpredicted(&confusion(&[(0, 0), (0, 0), (1, 0), (1, 0)]), &names(), 3);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].kind, &found[0].seeds[..]), (WarningKind::OneClass, &[3][..]));
        assert_eq!(
            found[0].text,
            "one class only is predicted, `ok`: none of the 2 test nodes of other classes is found"
        );
    }

    #[test]
    fn a_class_that_is_never_predicted_is_named() {
        let found = unpredicted(&confusion(&[(0, 0), (1, 0), (2, 2), (1, 2)]), &names(), 0);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].text, "`fraud` is never predicted: none of its 2 test nodes is found");
        assert_eq!(
            (found[0].kind, found[0].subject.as_str()),
            (WarningKind::NeverPredicted, "fraud")
        );
        // Predicted once, and wrongly: of ten nodes not one is found.
        let missed: Vec<(u32, u32)> = (0..10).map(|_| (1, 0)).chain([(0, 0), (0, 1)]).collect();
        let found = unpredicted(&confusion(&missed), &names(), 0);
        assert_eq!(
            found[0].text,
            "`fraud` is never found: all 1 predictions of it are wrong, and its 10 test nodes are \
             missed"
        );
        // A class without a test node need not be predicted, and one class among the truth is no
        // collapse.
        assert!(unpredicted(&confusion(&[(0, 0), (1, 1)]), &names(), 0).is_empty());
        assert!(unpredicted(&confusion(&[(0, 0), (0, 0)]), &names(), 0).is_empty());
        assert_eq!(unpredicted(&confusion(&[]), &names(), 0)[0].kind, WarningKind::NoTestNode);
    }

    #[test]
    fn a_positive_class_that_is_never_predicted_has_a_warning_of_its_own() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let pairs = |last| Confusion::from_pairs(3, [(0, 0), (1, 1), (2, last)]).unwrap();
        let check = |confusion: &Confusion| {
            let mut found = unpredicted(confusion, &names, 0);
            positive_unpredicted(confusion, 2, "c", 0, &mut found);
            found
        };
        let found = check(&pairs(0));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].kind, WarningKind::PositiveNeverPredicted);
        assert!(found[0].text.ends_with("none of its 1 test nodes is found"), "{}", found[0].text);
        assert!(check(&pairs(2)).is_empty());
        assert_eq!(check(&Confusion::new(3))[0].kind, WarningKind::NoTestNode);
    }

    #[test]
    fn losses_are_compared_at_both_ends() {
        let kind = |losses: &[f64]| training_loss(losses, 0).map(|warning| warning.kind);
        assert_eq!(kind(&[1.0, 0.9, 0.5]), None);
        assert_eq!(kind(&[1.0, 0.3, 1.0]), Some(WarningKind::LossDidNotFall));
        assert_eq!(kind(&[1.0, 0.9, 3.0]), Some(WarningKind::Diverged));
        assert_eq!(kind(&[1.0, f64::NAN]), Some(WarningKind::Diverged));
        assert_eq!((kind(&[1.0]), kind(&[])), (None, None));
        // The last tenth of twenty rounds is two: one bad round does not decide.
        let mut losses = vec![1.0; 20];
        (losses[18], losses[19]) = (0.2, 1.1);
        assert_eq!(kind(&losses), None);
    }

    #[test]
    fn a_client_that_should_guess_is_named() {
        // Wilson's interval of 8 of 20 goes up to 0.613 (by its formula).
        let client =
            ClientGuess { client: "3".into(), nodes: 20, right: 8, class: "ok", guessed: 13 };
        assert_eq!(
            worse_than_guessing(&client, 0).unwrap().text,
            "client 3 is below the majority-class baseline: 40.0 % of its 20 test nodes are \
             right, always answering `ok` has \
             65.0 %"
        );
        assert!(
            worse_than_guessing(&ClientGuess { guessed: 12, ..client.clone() }, 0).is_none(),
            "within chance"
        );
        assert!(
            worse_than_guessing(&ClientGuess { nodes: 9, right: 0, guessed: 9, ..client }, 0)
                .is_none()
        );
    }

    #[test]
    fn scales_of_columns_are_compared() {
        let columns = |values: Vec<f32>| Features::dense(2, 3, values).unwrap();
        let money = columns(vec![52_000.0, 0.5, 0.0, 180_000.0, 0.2, 0.0]);
        let text = feature_scales(&money, 0).unwrap().text;
        assert!(
            text.contains(
                "by 6 orders of magnitude: column 1 goes up to 1.800e5, column 2 up to 5.000e-1"
            ),
            "{text}"
        );
        assert!(feature_scales(&columns(vec![1.0, 0.01, 5.0, -9.0, 0.0, 0.0]), 0).is_none());
    }

    #[test]
    fn warnings_of_several_seeds_are_merged() {
        let warning =
            |subject: &str, seed| Warning::new(WarningKind::NeverPredicted, subject, subject, seed);
        let collapse = Warning::new(WarningKind::OneClass, "", "one class", 1);
        let merged =
            merge([warning("a", 0), warning("b", 0), collapse, warning("a", 1), warning("a", 2)]);
        let sentences: Vec<String> = merged.iter().map(|warning| warning.sentence(3)).collect();
        assert_eq!(
            sentences,
            ["one class (seed 1)", "a (seed 0; alike in all 3 seeds)", "b (seed 0)"]
        );
        assert_eq!(warning("a", 7).sentence(1), "a");
    }
}
