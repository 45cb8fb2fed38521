//! One attribute over the seeds of a run.

use super::rate::Rate;
use crate::Summary;
use crate::table::range;
use boostfgl_fairness::protected::thresholds::{ThresholdScores, Treatment};
use boostfgl_fairness::protected::{
    AttributeScores, Disparities, Disparity, FairnessScores, GroupRates, PositiveClass, Share,
};

/// One protected attribute of a run, or all test nodes alone where the data have none.
pub(crate) struct AttributeView {
    /// The name of the attribute; `None` for all test nodes alone.
    pub(crate) name: Option<String>,
    /// The positive class.
    pub(crate) class: String,
    /// How it was chosen.
    pub(crate) positive: PositiveClass,
    /// The seeds that are shown, of how many.
    pub(crate) seeds: (usize, usize),
    /// Why there are no groups.
    pub(crate) note: Option<String>,
    /// All test nodes, then every group.
    pub(crate) groups: Vec<GroupView>,
    /// The measures that compare groups, in order.
    pub(crate) disparities: Vec<DisparityView>,
    /// The group with the smallest accuracy.
    pub(crate) worst: Option<(String, Rate)>,
    /// Groups that are not compared, with the reasons, under the first seed.
    pub(crate) left_out: Vec<String>,
    /// One-vs-rest, per class the differences of demographic parity and equalised odds.
    pub(crate) classes: Vec<(String, [Rate; 2])>,
    pub(crate) thresholds: Option<ThresholdView>,
}

/// One comparison of groups.
pub(crate) struct DisparityView {
    pub(crate) name: &'static str,
    pub(crate) difference: Rate,
    pub(crate) ratio: Rate,
    /// The groups with the smallest and the largest rate, in the mean over seeds; `None` if all are
    /// alike.
    pub(crate) ends: Option<[String; 2]>,
}

/// One group.
pub(crate) struct GroupView {
    pub(crate) name: String,
    pub(crate) nodes: String,
    pub(crate) positives: String,
    /// Selection rate, true and false positive rate, precision, accuracy.
    pub(crate) shares: [Rate; 5],
    pub(crate) entropy: Rate,
    /// AUC, average precision, calibration error; `None` where probabilities were not kept.
    pub(crate) scores: Option<[Rate; 3]>,
    /// By how much these may be off, where they come from histograms.
    binning: Option<[f64; 3]>,
}

/// The effect of thresholds.
pub(crate) struct ThresholdView {
    pub(crate) rule: &'static str,
    /// Per group its thresholds, or why it has none.
    pub(crate) groups: Vec<(String, String)>,
    /// Name, before, after.
    pub(crate) effects: Vec<(&'static str, Rate, Rate)>,
}

/// The measures of a treatment, the cost first.
type Effect = (&'static str, fn(&Treatment) -> Option<f64>);

const EFFECTS: [Effect; 7] = [
    ("accuracy", |t| t.accuracy.value),
    ("precision", |t| t.precision.value),
    ("recall", |t| t.true_positive_rate.value),
    ("selection rate", |t| t.selection_rate.value),
    ("demographic-parity difference", |t| t.demographic_parity_difference),
    ("recall difference", |t| t.true_positive_rate_difference),
    ("equalised-odds difference", |t| t.equalised_odds_difference),
];

impl AttributeView {
    /// The attributes of a run, in order; empty if it has no rates by group.
    pub(crate) fn all(summary: &Summary) -> Vec<Self> {
        let seeds: Vec<&FairnessScores> =
            summary.seeds.iter().filter_map(|seed| seed.details.fairness.as_ref()).collect();
        let Some(first) = seeds.first() else { return Vec::new() };
        if first.attributes.is_empty() {
            return Self::alone(&seeds).into_iter().collect();
        }
        first.attributes.iter().map(|attribute| Self::of(attribute, &seeds)).collect()
    }

    /// All test nodes, where the data have no group column.
    fn alone(seeds: &[&FairnessScores]) -> Option<Self> {
        let class = seeds.first()?.shown_class()?.class.clone();
        let groups = vec![all_nodes(seeds, &class)];
        Some(Self::empty(None, class, seeds, groups))
    }

    fn empty(
        name: Option<String>,
        class: String,
        seeds: &[&FairnessScores],
        groups: Vec<GroupView>,
    ) -> Self {
        Self {
            name,
            class,
            positive: seeds.first().map_or(PositiveClass::OneVsRest, |seed| seed.positive),
            seeds: (seeds.len(), seeds.len()),
            note: None,
            groups,
            disparities: Vec::new(),
            worst: None,
            left_out: Vec::new(),
            classes: Vec::new(),
            thresholds: None,
        }
    }

    /// One attribute. Where seeds differ in the class that is furthest apart, those are shown that
    /// have the class of the first.
    fn of(first: &AttributeScores, seeds: &[&FairnessScores]) -> Self {
        let shown: Vec<&FairnessScores> =
            seeds.iter().copied().filter(|scores| has_class(scores, first)).collect();
        let found: Vec<&AttributeScores> = shown
            .iter()
            .flat_map(|scores| &scores.attributes)
            .filter(|other| other.name == first.name)
            .collect();
        let class = first.class.clone();
        let mut groups = vec![all_nodes(&shown, &class)];
        groups.extend(first.groups.iter().map(|group| {
            let rates = found.iter().flat_map(|scores| &scores.groups);
            GroupView::of(&rates.filter(|other| other.group == group.group).collect::<Vec<_>>())
        }));
        Self {
            seeds: (shown.len(), seeds.len()),
            note: first.note.clone(),
            disparities: disparities(&found, &groups[1..]),
            worst: worst(&found, &groups[1..]),
            left_out: left_out(first),
            classes: classes(first, &found),
            thresholds: ThresholdView::of(&found),
            ..Self::empty(Some(first.name.clone()), class, &shown, groups)
        }
    }

    /// By how much metrics of scores may be off, in a sentence; `None` where they are exact.
    pub(crate) fn binning(&self) -> Option<String> {
        let errors = self.groups.iter().filter_map(|group| group.binning);
        let [auc, precision, calibration] = errors.reduce(larger)?;
        Some(format!(
            "AUC, AP and ECE are from histograms of 256 bins that clients sent: they are off by \
             at most {auc:.4}, {precision:.4} and {calibration:.4}."
        ))
    }

    /// How the positive class was chosen, in a sentence.
    pub(crate) fn positive_class(&self) -> String {
        let class = &self.class;
        match (self.positive, &self.name) {
            (PositiveClass::Configured, _) => format!("Positive class: `{class}`."),
            (PositiveClass::LastOfTwo, _) => format!(
                "Positive class: `{class}`, the last of two; evaluation.positive chooses another."
            ),
            (PositiveClass::OneVsRest, None) => format!(
                "Positive class: `{class}`, the class with the smallest recall; \
                 evaluation.positive chooses one."
            ),
            (PositiveClass::OneVsRest, Some(_)) => format!(
                "Positive class: `{class}`, for which groups are furthest apart; \
                 evaluation.positive chooses one."
            ),
        }
    }
}

/// Whether the positive class of an attribute is that of `first`.
fn has_class(scores: &FairnessScores, first: &AttributeScores) -> bool {
    let own = scores.attributes.iter().find(|other| other.name == first.name);
    own.is_some_and(|own| own.class == first.class)
}

/// All test nodes with this class as the positive one.
fn all_nodes(seeds: &[&FairnessScores], class: &str) -> GroupView {
    let classes = seeds.iter().flat_map(|scores| &scores.classes);
    let rates: Vec<&GroupRates> =
        classes.filter(|found| found.class == class).map(|found| &found.rates).collect();
    GroupView { name: "all".to_owned(), ..GroupView::of(&rates) }
}

impl GroupView {
    /// One group under each seed.
    fn of(seeds: &[&GroupRates]) -> Self {
        let shares: [fn(&GroupRates) -> Share; 5] = [
            |group| group.selection_rate,
            |group| group.true_positive_rate,
            |group| group.false_positive_rate,
            |group| group.precision,
            |group| group.accuracy,
        ];
        let scored: Vec<_> = seeds.iter().filter_map(|group| group.scores).collect();
        let errors = scored.iter().filter_map(|scores| scores.error);
        let errors = errors.map(|error| {
            [error.auc, error.average_precision, error.calibration_error]
                .map(Option::unwrap_or_default)
        });
        Self {
            name: seeds.first().map_or_else(String::new, |group| group.group.clone()),
            nodes: range(seeds.iter().map(|group| group.nodes as usize)),
            positives: range(seeds.iter().map(|group| group.positives as usize)),
            shares: shares.map(|share| Rate::of_shares(seeds.iter().map(|group| share(group)))),
            entropy: Rate::of(seeds.iter().map(|group| group.generalised_entropy)),
            binning: errors.reduce(larger),
            scores: (!scored.is_empty()).then(|| {
                [
                    Rate::of(scored.iter().map(|scores| scores.auc)),
                    Rate::of(scored.iter().map(|scores| scores.average_precision)),
                    Rate::of(scored.iter().map(|scores| scores.calibration_error)),
                ]
            }),
        }
    }
}

/// The larger of each pair.
fn larger(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0].max(b[0]), a[1].max(b[1]), a[2].max(b[2])]
}

/// Demographic parity, its parts and equalised odds.
fn disparities(found: &[&AttributeScores], groups: &[GroupView]) -> Vec<DisparityView> {
    let parts: [Part; 3] = [
        ("demographic parity", "selection_rate", |all| &all.demographic_parity),
        ("recall (equal opportunity)", "true_positive_rate", |all| &all.true_positive_rate),
        ("false positive rate", "false_positive_rate", |all| &all.false_positive_rate),
    ];
    let mut views: Vec<DisparityView> = Vec::with_capacity(parts.len() + 1);
    for (at, (name, rate, part)) in parts.into_iter().enumerate() {
        let parts: Vec<&Disparity> = found.iter().map(|scores| part(&scores.disparities)).collect();
        let compared = groups.iter().filter(|group| !is_left_out(&group.name, rate, found));
        let means = compared.filter_map(|group| Some((&group.name, group.shares[at].mean?)));
        views.push(DisparityView {
            name,
            difference: Rate::of(parts.iter().map(|part| part.difference)),
            ratio: Rate::of(parts.iter().map(|part| part.ratio)),
            ends: ends(means),
        });
    }
    let odds = found.iter().map(|scores| scores.disparities.equalised_odds);
    let equalised_odds = DisparityView {
        name: "equalised odds",
        difference: Rate::of(odds.clone().map(|odds| odds.difference)),
        ratio: Rate::of(odds.map(|odds| odds.ratio)),
        ends: None,
    };
    views.insert(1, equalised_odds);
    views
}

/// A comparison: its name, the name of its rate in files, and the rate.
type Part = (&'static str, &'static str, fn(&Disparities) -> &Disparity);

/// Whether a group is not compared under some seed.
fn is_left_out(group: &str, rate: &str, found: &[&AttributeScores]) -> bool {
    let mut out = found.iter().flat_map(|scores| &scores.disparities.left_out);
    out.any(|out| out.group == group && out.rate == rate)
}

/// The first of the smallest and the first of the largest, if they differ.
fn ends<'a>(means: impl Iterator<Item = (&'a String, f64)> + Clone) -> Option<[String; 2]> {
    let low = means.clone().reduce(|a, b| if b.1 < a.1 { b } else { a })?;
    let high = means.reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    (low.1 < high.1).then(|| [low.0.clone(), high.0.clone()])
}

/// The group with the smallest mean accuracy, of those that have enough test nodes under every seed.
fn worst(found: &[&AttributeScores], groups: &[GroupView]) -> Option<(String, Rate)> {
    let large = groups.iter().filter(|group| !is_left_out(&group.name, "selection_rate", found));
    let known = large.filter(|group| group.shares[4].mean.is_some());
    let worst = known.reduce(|a, b| if b.shares[4].mean < a.shares[4].mean { b } else { a })?;
    Some((worst.name.clone(), worst.shares[4]))
}

/// Groups that are not compared, with the reasons; a reason that holds for several rates once.
fn left_out(first: &AttributeScores) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for out in &first.disparities.left_out {
        let sentence = format!("{}: {}", out.group, out.reason);
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

/// One-vs-rest, the differences of every class.
fn classes(first: &AttributeScores, found: &[&AttributeScores]) -> Vec<(String, [Rate; 2])> {
    let mut views = Vec::with_capacity(first.classes.len());
    for (at, class) in first.classes.iter().enumerate() {
        let seeds = found.iter().filter_map(|scores| scores.classes.get(at));
        let parity = Rate::of(seeds.clone().map(|class| class.demographic_parity_difference));
        let odds = Rate::of(seeds.map(|class| class.equalised_odds_difference));
        views.push((class.class.clone(), [parity, odds]));
    }
    views
}

impl ThresholdView {
    /// The effect over seeds; `None` without thresholds.
    fn of(found: &[&AttributeScores]) -> Option<Self> {
        let seeds: Vec<&ThresholdScores> =
            found.iter().filter_map(|scores| scores.thresholds.as_ref()).collect();
        let first = seeds.first()?;
        let groups = first.groups.iter().enumerate().map(|(at, group)| {
            let of_seeds = seeds.iter().filter_map(|seed| seed.groups.get(at));
            let threshold = Rate::of(of_seeds.map(|group| group.threshold));
            let reason = group.reason.as_ref().filter(|_| threshold.mean.is_none());
            let shown = reason.map_or_else(|| threshold.fraction(), |why| format!("none: {why}"));
            (group.group.clone(), shown)
        });
        let effects = EFFECTS.map(|(name, value)| {
            let before = Rate::of(seeds.iter().map(|seed| value(&seed.before)));
            let after = Rate::of(seeds.iter().map(|seed| value(&seed.after)));
            (name, before, after)
        });
        Some(Self { rule: first.rule.name(), groups: groups.collect(), effects: effects.into() })
    }

    /// The change of the mean accuracy, in percentage points.
    pub(crate) fn accuracy_change(&self) -> Option<f64> {
        let (_, before, after) = self.effects.first()?;
        Some(100.0 * (after.mean? - before.mean?))
    }
}
