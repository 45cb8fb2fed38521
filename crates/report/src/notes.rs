//! The notes below every table: reported round, split, minority classes, and warnings about finished
//! runs.

use boostfgl_fairness::{Warning, mean, sample_std, warnings};

use crate::table::range;
use crate::text_table::{WIDTH, width};
use crate::{MinorityUsed, Neighbours, RoundScores, SeedDetails, SplitUsed};

/// The heading of the line on minority classes.
pub(crate) const MINORITY: &str = "Minority classes";

/// One run: its label, and per seed the reported round and the details.
#[derive(Clone, Debug)]
pub(crate) struct NotedRun<'a> {
    pub(crate) label: &'a str,
    pub(crate) seeds: Vec<(usize, &'a SeedDetails)>,
}

impl NotedRun<'_> {
    /// Rounds × epochs, if they are known and were the same under every seed.
    pub(crate) fn budget(&self) -> Option<String> {
        let mut shown = self.seeds.iter().filter_map(|(_, details)| Some(details.budget?.shown()));
        let first = shown.next()?;
        Some(if shown.all(|other| other == first) { first } else { "varies".to_owned() })
    }

    /// Which round is shown; `None` where that was not recorded.
    pub(crate) fn shown(&self) -> Option<ShownRound> {
        let recorded = self.seeds.iter().all(|(_, details)| details.last.is_some());
        match (self.reports(|details| &details.last), self.reports(|details| &details.best_val)) {
            _ if !recorded || self.seeds.is_empty() => None,
            (true, true) => Some(ShownRound::Both),
            (true, false) => Some(ShownRound::Last),
            (false, _) => Some(ShownRound::BestVal),
        }
    }

    /// Whether the reported round of every seed is this one.
    fn reports(&self, round: fn(&SeedDetails) -> &Option<RoundScores>) -> bool {
        self.seeds.iter().all(|(reported, details)| {
            round(details).as_ref().is_some_and(|scores| scores.round == *reported)
        })
    }

    /// The warnings of all seeds.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        warnings::merge(self.seeds.iter().flat_map(|(_, details)| details.warnings.iter().cloned()))
    }

    /// Whether its model predicts one class for every node, or diverged, under some seed: then its
    /// metrics are not ranked.
    pub(crate) fn collapsed(&self) -> bool {
        self.seeds
            .iter()
            .any(|(_, details)| details.warnings.iter().any(|warning| warning.kind.is_collapse()))
    }
}

/// `Split, Minority classes, Round`: a name and its parts, for those that are known.
pub(crate) fn about(runs: &[NotedRun<'_>]) -> Vec<(&'static str, Vec<String>)> {
    let all: Vec<&SeedDetails> =
        runs.iter().flat_map(|run| run.seeds.iter().map(|(_, details)| *details)).collect();
    let parts = [
        (MINORITY, minority(&all)),
        ("Homophily", homophily(&all)),
        ("Split", split(&all)),
        ("Round", round(runs)),
    ];
    parts.into_iter().filter(|(_, parts)| !parts.is_empty()).collect()
}

/// The warnings of all runs, one sentence each, beginning with the labels of the affected runs.
pub(crate) fn warned(runs: &[NotedRun<'_>]) -> Vec<String> {
    let mut found: Vec<(Vec<&str>, String)> = Vec::new();
    for run in runs {
        for warning in run.warnings() {
            let sentence = warning.sentence(run.seeds.len());
            match found.iter_mut().find(|(_, known)| *known == sentence) {
                Some((labels, _)) => labels.push(run.label),
                None => found.push((vec![run.label], sentence)),
            }
        }
    }
    found
        .into_iter()
        .map(|(labels, sentence)| format!("{}: {sentence}.", labels.join(", ")))
        .collect()
}

/// The first warnings, and the number of the others.
pub(crate) fn shortened(mut warned: Vec<String>) -> Vec<String> {
    let more = warned.len().saturating_sub(MOST_WARNINGS);
    warned.truncate(MOST_WARNINGS);
    if more > 0 {
        warned.push(format!("{more} more warnings are in summary.json and in the report."));
    }
    warned
}

/// More warnings than this are counted, not listed, below a table.
const MOST_WARNINGS: usize = 8;

/// The note on runs that are not ranked; `None` if all are ranked.
pub(crate) fn not_ranked(runs: &[NotedRun<'_>]) -> Option<String> {
    let collapsed: Vec<&str> =
        runs.iter().filter(|run| run.collapsed()).map(|run| run.label).collect();
    (!collapsed.is_empty()).then(|| {
        format!(
            "{}: a model that predicts one class for every node, or whose training diverged, says \
             how common a class is, \
             not what was learned.",
            collapsed.join(", ")
        )
    })
}

/// A name and a list of parts on lines of at most 100 columns, broken between parts.
pub(crate) fn listed(name: &str, parts: &[String], indent: usize) -> Vec<String> {
    let mut pieces = parts.to_vec();
    if let Some((_, before_last)) = pieces.split_last_mut() {
        for piece in before_last {
            piece.push(',');
        }
    }
    broken(name, pieces.into_iter(), indent)
}

/// A name and a sentence on lines of at most 100 columns, broken between words.
pub(crate) fn sentence(name: &str, text: &str, indent: usize) -> Vec<String> {
    broken(name, text.split(' ').map(str::to_owned), indent)
}

/// A name and pieces of text on lines of at most 100 columns, broken between pieces.
fn broken(name: &str, pieces: impl Iterator<Item = String>, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = format!("{name:<indent$}");
    let mut begun = false;
    for piece in pieces {
        if begun && width(&line) + 1 + width(&piece) > WIDTH {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            begun = false;
        }
        if begun {
            line.push(' ');
        }
        line.push_str(&piece);
        begun = true;
    }
    lines.push(line);
    lines
}

/// Which neighbours homophily is taken among, where these are not all.
fn homophily(all: &[&SeedDetails]) -> Vec<String> {
    let local = all.iter().filter(|details| details.homophily == Neighbours::Local).count();
    match local {
        0 => Vec::new(),
        _ if local < all.len() => vec!["local in some runs, global in others".to_owned()],
        _ => vec!["local: among the neighbours that a node has in its client's graph".to_owned()],
    }
}

/// The minority classes and their number of test nodes.
fn minority(all: &[&SeedDetails]) -> Vec<String> {
    let known: Vec<&MinorityUsed> =
        all.iter().filter_map(|details| details.minority.as_ref()).collect();
    let Some(first) = known.first() else { return Vec::new() };
    if known.iter().all(|used| used.classes.is_empty()) {
        return vec!["none".to_owned()];
    }
    let nodes = format!("{} test nodes", range(known.iter().map(|used| used.test)));
    let mut names: Vec<&String> = known.iter().flat_map(|used| &used.classes).collect();
    if known.iter().all(|used| used.classes == first.classes) {
        names.truncate(first.classes.len());
    } else {
        names.sort_unstable();
        names.dedup();
    }
    let differ = known.iter().any(|used| used.classes.len() != names.len());
    let differ = if differ { " in some seed" } else { "" };
    let mut parts: Vec<String> =
        names.iter().take(MOST_CLASSES).map(|name| (*name).clone()).collect();
    if names.len() > MOST_CLASSES {
        parts.push(format!("{} more", names.len() - MOST_CLASSES));
    }
    if let Some(last) = parts.last_mut() {
        last.push_str(&format!("{differ} ({nodes})"));
    }
    parts
}

/// The maximum number of class names below a table; the report and summary.json have all of them.
const MOST_CLASSES: usize = 12;

/// The origin of the split and its sizes.
fn split(all: &[&SeedDetails]) -> Vec<String> {
    let known: Vec<&SplitUsed> = all.iter().filter_map(|details| details.split.as_ref()).collect();
    let Some(first) = known.first() else { return Vec::new() };
    let stored = known.iter().filter_map(|split| split.stored);
    let number = match stored.clone().next() {
        Some(stored_split) if stored_split.of > 1 => {
            format!(", number {} of {}", range(stored.map(|split| split.number)), stored_split.of)
        }
        _ => String::new(),
    };
    vec![
        format!(
            "{}{number}: {} training",
            first.source.name(),
            range(known.iter().map(|split| split.train))
        ),
        format!("{} validation", range(known.iter().map(|split| split.val))),
        format!("{} test nodes", range(known.iter().map(|split| split.test))),
    ]
}

/// Which of the two rounds that papers report is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShownRound {
    Last,
    BestVal,
    /// The last, which is the best on validation.
    Both,
}

impl ShownRound {
    fn words(self) -> &'static str {
        match self {
            Self::Last => "the last",
            Self::BestVal => "the best on validation",
            Self::Both => "the last, which is the best on validation",
        }
    }

    /// The accuracy at the round that is not shown.
    fn other(self, details: &SeedDetails) -> Option<f64> {
        let other = match self {
            Self::Last => details.best_val.as_ref(),
            Self::BestVal => details.last.as_ref(),
            Self::Both => None,
        };
        other?.scores.0.accuracy.pooled
    }
}

/// The reported round, run by run if they differ, and the accuracy at the other of the two rounds
/// that papers report.
fn round(runs: &[NotedRun<'_>]) -> Vec<String> {
    let known: Vec<(&NotedRun<'_>, ShownRound)> =
        runs.iter().filter_map(|run| Some((run, run.shown()?))).collect();
    let Some(&(_, first)) = known.first() else { return Vec::new() };
    let alike = known.len() == runs.len() && known.iter().all(|(_, shown)| *shown == first);
    let mut parts: Vec<String> = match alike {
        true => vec![format!("{} ({})", first.words(), reported_rounds(runs))],
        false => known
            .iter()
            .map(|(run, s)| format!("{} {} ({})", run.label, s.words(), reported_rounds([*run])))
            .collect(),
    };
    for (run, shown) in &known {
        let values: Vec<f64> =
            run.seeds.iter().filter_map(|(_, details)| shown.other(details)).collect();
        let Some(mean) = mean(&values) else { continue };
        let other = if *shown == ShownRound::Last { "best validation" } else { "last" };
        let spread = sample_std(&values).map(|std| format!(" ± {std:.1}")).unwrap_or_default();
        parts.push(format!("accuracy of {} at the {other} round {mean:.1}{spread}", run.label));
    }
    parts
}

/// The numbers of the reported rounds: `50`, or `9–50` if they differ.
fn reported_rounds<'a>(runs: impl IntoIterator<Item = &'a NotedRun<'a>>) -> String {
    let rounds: Vec<usize> =
        runs.into_iter().flat_map(|run| &run.seeds).map(|(round, _)| *round).collect();
    range(rounds.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitOrigin;
    use boostfgl_fairness::{Readings, Scores, WarningKind};

    fn scores(round: usize, accuracy: f64) -> Option<RoundScores> {
        let accuracy = Readings { pooled: Some(accuracy), ..Readings::default() };
        let scores = Scores { accuracy, ..Scores::default() }.percent();
        Some(RoundScores { round, val_accuracy: None, val_macro_f1: None, scores })
    }

    fn details(best: f64, classes: &[&str]) -> SeedDetails {
        let classes = classes.iter().map(|&name| name.to_owned()).collect();
        SeedDetails {
            last: scores(50, 0.5),
            best_val: scores(9, best),
            split: Some(SplitUsed {
                source: SplitOrigin::Data,
                stored: None,
                train: 900,
                val: 300,
                test: 338,
            }),
            minority: Some(MinorityUsed { classes, train: 54, test: 20 }),
            ..SeedDetails::default()
        }
    }

    #[test]
    fn notes_have_minority_classes_split_and_round() {
        let (one, two) = (details(0.7, &["fraud"]), details(0.8, &["fraud"]));
        let run = NotedRun { label: "fedavg", seeds: vec![(50, &one), (50, &two)] };
        let lines: Vec<String> =
            about(&[run]).iter().flat_map(|(name, parts)| listed(name, parts, 18)).collect();
        assert_eq!(
            lines,
            [
                "Minority classes  fraud (20 test nodes)",
                "Split             of the data: 900 training, 300 validation, 338 test nodes",
                "Round             the last (50), accuracy of fedavg at the best validation round \
                 75.0 ± 7.1",
            ]
        );
    }

    #[test]
    fn classes_and_rounds_may_differ_between_seeds_and_runs() {
        let (one, two) = (details(0.7, &["a"]), details(0.8, &["a", "b"]));
        let run =
            |first, second| vec![NotedRun { label: "x", seeds: vec![(9, first), (9, second)] }];
        assert_eq!(about(&run(&one, &two))[0].1, ["a", "b in some seed (20 test nodes)"]);
        assert_eq!(about(&run(&one, &two))[2].1[0], "the best on validation (9)");
        // A run that reports another round, and one of an earlier version without that information.
        let last = NotedRun { label: "y", seeds: vec![(50, &one)] };
        let old = SeedDetails::default();
        let mixed =
            [run(&one, &two).remove(0), last, NotedRun { label: "z", seeds: vec![(50, &old)] }];
        assert_eq!(about(&mixed)[2].1[..2], ["x the best on validation (9)", "y the last (50)"]);
        let none = details(0.7, &[]);
        assert_eq!(about(&run(&none, &none))[0].1, ["none"]);
    }

    #[test]
    fn warnings_name_the_run_and_collapse_is_detected() {
        let mut bad = details(0.7, &["fraud"]);
        bad.warnings.push(Warning::new(
            WarningKind::OneClass,
            "",
            "one class only is predicted",
            0,
        ));
        let run = NotedRun { label: "fedavg", seeds: vec![(50, &bad)] };
        assert!(run.collapsed());
        assert_eq!(warned(&[run]), ["fedavg: one class only is predicted."]);
        let many: Vec<String> = (0..11).map(|i| i.to_string()).collect();
        assert_eq!(shortened(many)[8], "3 more warnings are in summary.json and in the report.");
    }
}
