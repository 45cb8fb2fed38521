//! The question of an audit, and how it is answered.

use super::grouped::{Evaluated, Grouped, Scores};
use super::scores::ALL;
use super::thresholds::{self, ThresholdRule};
use super::{
    AttributeScores, ClassDisparity, ClassRates, Disparities, FairnessScores, PositiveClass,
};
use crate::frame::{Division, Facts, Grouping, MIN_GROUP, WorstGroup};
use crate::{Error, Result};
use boostfgl_graph::GroupColumn;

/// Attributes with more values than this are named without their groups.
pub const MOST_VALUES: usize = 100;

/// What is asked about a model: rates of the positive class on the test nodes, overall and for the
/// groups of every group column.
///
/// ```
/// use boostfgl_fairness::Facts;
/// use boostfgl_fairness::protected::{Audit, PositiveClass};
/// use boostfgl_graph::{GroupColumn, Labels};
///
/// let truth = Labels::from_integers(&[0, 1, 0, 1], 2)?;
/// let facts = Facts {
///     truth: &truth,
///     prediction: &[0, 1, 1, 0],
///     nodes: &[0, 1, 2, 3],
///     client: &[0; 4],
///     minority: &[None; 4],
///     heterophilous: &[false; 4],
///     homophily_unknown: &[false; 4],
///     degree: &[1; 4],
///     columns: &[GroupColumn::from_texts("sex", &["f", "f", "m", "m"])],
/// };
/// let found = Audit { min_group: 0, ..Audit::new(facts) }.answer()?;
/// assert_eq!(found.positive, PositiveClass::LastOfTwo);
/// let sex = &found.attributes[0];
/// // Of either sex one of two is selected, rightly of f and wrongly of m.
/// assert_eq!(sex.disparities.demographic_parity.difference, Some(0.0));
/// assert_eq!(sex.disparities.equalised_odds.difference, Some(1.0));
/// assert_eq!(sex.worst_group.as_ref().unwrap().group, "sex=m");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Audit<'a> {
    /// Predictions and group columns.
    pub facts: Facts<'a>,
    /// The probability of every class for every node, node by node; without it there are no
    /// metrics of scores and no thresholds.
    pub probabilities: Option<&'a [f32]>,
    /// The positive class; left out, it is the last of two classes, or every class in turn.
    pub positive: Option<u32>,
    /// Groups that count fewer test nodes are shown, but not compared.
    pub min_group: u64,
    /// The rule by which thresholds are chosen for each group.
    pub rule: ThresholdRule,
    /// The validation nodes, on which thresholds are chosen.
    pub validation: &'a [u32],
}

/// The number of the class called `name`.
///
/// # Errors
/// If there is none; the nearest is suggested.
///
/// ```
/// use boostfgl_fairness::protected::positive_class;
///
/// let names = ["ok", "fraud"].map(str::to_owned);
/// assert_eq!(positive_class("fraud", &names)?, 1);
/// let error = positive_class("frud", &names).unwrap_err().to_string();
/// assert_eq!(error, "unknown positive class `frud` (did you mean `fraud`?); there are ok, fraud");
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
pub fn positive_class(name: &str, names: &[String]) -> Result<u32> {
    let found = (0..).zip(names).find(|(_, known)| *known == name);
    let found = found.map(|(class, _)| class);
    found.ok_or_else(|| Error::unknown("positive class", name, names.to_vec()))
}

impl<'a> Audit<'a> {
    /// A question about predictions alone, with the usual positive class.
    pub fn new(facts: Facts<'a>) -> Self {
        Self {
            facts,
            probabilities: None,
            positive: None,
            min_group: MIN_GROUP as u64,
            rule: ThresholdRule::None,
            validation: &[],
        }
    }

    /// Answers the question. Time O(nodes · attributes), and O(nodes · log nodes) per class and
    /// attribute with probabilities.
    ///
    /// # Errors
    /// If parts do not fit together, or the positive class does not exist.
    pub fn answer(&self) -> Result<FairnessScores> {
        self.check()?;
        let names = self.facts.truth.names();
        let nodes = self.evaluated().collect();
        let all = Grouped::new(ALL.to_owned(), nodes, names.len())?;
        let (positive, classes) = self.classes();
        let scores = self.scores();
        let rates = classes.iter().map(|&class| ClassRates {
            class: names[class].clone(),
            rates: all.rates(class, scores.as_ref()),
        });
        let attributes =
            self.facts.columns.iter().map(|column| self.attribute(column, &all, &classes));
        Ok(FairnessScores {
            positive,
            min_group: self.min_group,
            classes: rates.collect(),
            attributes: attributes.collect::<Result<_>>()?,
        })
    }

    /// The classes that are positive, at least one if there is any class.
    fn classes(&self) -> (PositiveClass, Vec<usize>) {
        let classes = self.facts.truth.classes();
        match (self.positive, classes) {
            (Some(class), _) => (PositiveClass::Configured, vec![class as usize]),
            (None, 2) => (PositiveClass::LastOfTwo, vec![1]),
            (None, _) => (PositiveClass::OneVsRest, (0..classes).collect()),
        }
    }

    fn scores(&self) -> Option<Scores<'a>> {
        let classes = self.facts.truth.classes();
        self.probabilities.map(|values| Scores { classes, values })
    }

    fn evaluated(&self) -> impl Iterator<Item = Evaluated> + '_ {
        self.facts.evaluated().map(|(v, truth, prediction)| (v as u32, truth, prediction))
    }

    fn check(&self) -> Result<()> {
        self.facts.check()?;
        let (n, classes) = (self.facts.truth.len(), self.facts.truth.classes());
        if let Some(class) = self.positive.filter(|class| *class as usize >= classes) {
            let expected = format!("a class below {classes}");
            return Err(Error::inconsistent("positive class", expected, &class));
        }
        if let Some(found) = self.probabilities.map(<[f32]>::len).filter(|len| *len != n * classes)
        {
            let expected = format!("{} numbers, {classes} for each of {n} nodes", n * classes);
            return Err(Error::inconsistent("probabilities", expected, &found));
        }
        match self.validation.iter().find(|node| **node as usize >= n) {
            Some(node) => {
                Err(Error::inconsistent("validation node", format!("a node below {n}"), node))
            }
            None => Ok(()),
        }
    }

    /// The groups of one column.
    fn attribute(
        &self,
        column: &GroupColumn,
        all: &Grouped,
        classes: &[usize],
    ) -> Result<AttributeScores> {
        let name = column.name.clone();
        if column.values.len() > MOST_VALUES {
            let note = Some(too_many(column.values.len()));
            return Ok(AttributeScores { name, note, ..AttributeScores::default() });
        }
        let division = Division::new(&Grouping::column(&name), &self.facts)?;
        let groups = self.grouped(&division, all.nodes.iter().copied())?;
        let by_class: Vec<Disparities> =
            classes.iter().map(|&class| self.disparities(&groups, class)).collect();
        let Some(at) = worst_class(&by_class) else {
            return Ok(AttributeScores { name, ..AttributeScores::default() });
        };
        let (class, names) = (classes[at], self.facts.truth.names());
        let scores = self.scores();
        let rates: Vec<_> =
            groups.iter().map(|group| group.rates(class, scores.as_ref())).collect();
        let every = classes.iter().zip(&by_class).map(|(&class, found)| ClassDisparity {
            class: names[class].clone(),
            demographic_parity_difference: found.demographic_parity.difference,
            equalised_odds_difference: found.equalised_odds.difference,
        });
        Ok(AttributeScores {
            name,
            class: names[class].clone(),
            note: None,
            worst_group: worst_group(&rates, self.min_group),
            groups: rates,
            classes: if classes.len() > 1 { every.collect() } else { Vec::new() },
            thresholds: self.thresholds(&division, all, classes)?,
            disparities: by_class.into_iter().nth(at).unwrap_or_default(),
        })
    }

    /// Evaluated nodes by group.
    pub(super) fn grouped(
        &self,
        division: &Division,
        nodes: impl Iterator<Item = Evaluated>,
    ) -> Result<Vec<Grouped>> {
        let mut parts = vec![Vec::new(); division.names.len()];
        for node in nodes {
            if let Some(group) = division.of_node[node.0 as usize] {
                parts[group as usize].push(node);
            }
        }
        let classes = self.facts.truth.classes();
        let parts = division.names.iter().zip(parts);
        parts.map(|(name, nodes)| Grouped::new(name.clone(), nodes, classes)).collect()
    }

    pub(super) fn disparities(&self, groups: &[Grouped], class: usize) -> Disparities {
        let rates: Vec<_> = groups.iter().map(|group| group.rates(class, None)).collect();
        Disparities::new(&rates, self.min_group)
    }

    /// The effect of thresholds by group; `None` if they are off, there are no probabilities, or
    /// more than one class is positive.
    fn thresholds(
        &self,
        division: &Division,
        all: &Grouped,
        classes: &[usize],
    ) -> Result<Option<thresholds::ThresholdScores>> {
        match (self.rule, self.scores(), classes) {
            (ThresholdRule::None, ..) | (_, None, _) => Ok(None),
            (_, Some(scores), &[class]) => {
                let place = thresholds::Place { audit: self, division, scores, class };
                place.evaluate(all).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Why an attribute with this number of values has no groups.
pub(super) fn too_many(values: usize) -> String {
    format!("{values} values, more than the {MOST_VALUES} that are compared")
}

/// The position of the class under which groups are furthest apart; `None` without a class.
fn worst_class(by_class: &[Disparities]) -> Option<usize> {
    let odds = by_class.iter().map(|found| found.equalised_odds.difference);
    let parity = by_class.iter().map(|found| found.demographic_parity.difference);
    largest(odds).or_else(|| largest(parity)).or((!by_class.is_empty()).then_some(0))
}

/// The position of the largest value there is, the first of equals.
fn largest(values: impl Iterator<Item = Option<f64>>) -> Option<usize> {
    let known = values.enumerate().filter_map(|(at, value)| Some((at, value?)));
    known.reduce(|a, b| if b.1 > a.1 { b } else { a }).map(|(at, _)| at)
}

/// The group with the smallest accuracy, the first of equals.
pub(super) fn worst_group(groups: &[super::GroupRates], min_group: u64) -> Option<WorstGroup> {
    let large = groups.iter().filter(|group| group.nodes >= min_group);
    let known = large.filter_map(|group| Some((&group.group, group.accuracy.value?)));
    let (group, value) = known.reduce(|a, b| if b.1 < a.1 { b } else { a })?;
    Some(WorstGroup { group: group.clone(), value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_graph::Labels;

    fn facts<'a>(truth: &'a Labels, columns: &'a [GroupColumn]) -> Facts<'a> {
        Facts {
            truth,
            prediction: &[0, 1, 2, 2, 1, 0],
            nodes: &[0, 1, 2, 3, 4, 5],
            client: &[0; 6],
            minority: &[None; 6],
            heterophilous: &[false; 6],
            homophily_unknown: &[false; 6],
            degree: &[1; 6],
            columns,
        }
    }

    #[test]
    fn of_several_classes_the_one_with_the_largest_difference_is_shown() {
        let truth = Labels::from_integers(&[0, 1, 2, 2, 1, 0], 3).unwrap();
        let columns = [GroupColumn::from_texts("side", &["a", "a", "a", "b", "b", ""])];
        // One node of b is wrong: class 2, predicted as class 1.
        let facts = Facts { prediction: &[0, 1, 2, 1, 1, 0], ..facts(&truth, &columns) };
        let found = Audit { min_group: 0, ..Audit::new(facts) }.answer().unwrap();
        assert_eq!(found.positive, PositiveClass::OneVsRest);
        assert_eq!(found.classes.len(), 3);
        assert_eq!(found.shown_class().unwrap().class, "2", "the smallest recall");
        let side = &found.attributes[0];
        let names: Vec<&str> = side.groups.iter().map(|group| &group.group[..]).collect();
        assert_eq!(names, ["side=a", "side=b", "side=unknown"]);
        // Class 1: its false positive rate is 1 in b and 0 elsewhere. Class 2: its recall is 1 in a
        // and 0 in b. The first of equals is shown.
        let odds: Vec<_> = side.classes.iter().map(|c| c.equalised_odds_difference).collect();
        assert_eq!(odds, [Some(0.0), Some(1.0), Some(1.0)]);
        assert_eq!(side.class, "1");
        assert_eq!(side.groups[1].false_positive_rate.value, Some(1.0));
        assert_eq!(side.disparities.demographic_parity.highest.as_deref(), Some("side=b"));
        let out: Vec<_> =
            side.disparities.left_out.iter().map(|out| (&*out.group, &*out.rate)).collect();
        assert_eq!(out, [("side=unknown", "true_positive_rate")]);
    }

    #[test]
    fn a_column_of_names_is_named_and_not_divided() {
        let n = MOST_VALUES + 1;
        let truth = Labels::from_integers(&vec![0; n], 2).unwrap();
        let texts: Vec<String> = (0..n).map(|v| v.to_string()).collect();
        let columns = [GroupColumn::from_texts("id", &texts)];
        let nodes: Vec<u32> = (0..n as u32).collect();
        let facts = Facts {
            prediction: &vec![0; n],
            nodes: &nodes,
            client: &vec![0; n],
            minority: &vec![None; n],
            heterophilous: &vec![false; n],
            homophily_unknown: &vec![false; n],
            degree: &vec![1; n],
            ..facts(&truth, &columns)
        };
        let found = Audit::new(facts).answer().unwrap();
        let id = &found.attributes[0];
        assert!(id.groups.is_empty());
        assert!(id.note.as_ref().unwrap().starts_with("101 values, more than the 100 "));
    }

    #[test]
    fn parts_that_do_not_fit_are_named() {
        let truth = Labels::from_integers(&[0, 1, 0, 1, 0, 1], 3).unwrap();
        let good = Audit::new(facts(&truth, &[]));
        let reason = |audit: Audit<'_>| audit.answer().unwrap_err().to_string();
        assert_eq!(
            reason(Audit { positive: Some(3), ..good }),
            "positive class: expected a class below 3, found 3"
        );
        assert_eq!(
            reason(Audit { probabilities: Some(&[0.5]), ..good }),
            "probabilities: expected 18 numbers, 3 for each of 6 nodes, found 1"
        );
        assert_eq!(
            reason(Audit { validation: &[6], ..good }),
            "validation node: expected a node below 6, found 6"
        );
    }
}
