//! The answer of an audit, as files hold it.

use serde::{Deserialize, Serialize};

use super::thresholds::ThresholdScores;
use super::{Disparities, GroupRates};
use crate::frame::WorstGroup;

/// The name of all test nodes together.
pub(super) const ALL: &str = "all test nodes";

/// Rates of the positive class, overall and by protected attribute, as fractions of 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FairnessScores {
    /// How the positive class was chosen.
    pub positive: PositiveClass,
    /// Groups that count fewer test nodes are shown, but not compared.
    pub min_group: u64,
    /// Rates on all test nodes: of the positive class, or of every class against all others.
    pub classes: Vec<ClassRates>,
    /// The same by group, for every group column of the data; left out without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<AttributeScores>,
}

/// How the positive class was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PositiveClass {
    /// It was configured.
    Configured,
    /// The data have two classes, of which it is the last in order.
    LastOfTwo,
    /// Every class in turn is positive and all others negative.
    OneVsRest,
}

/// All test nodes, with one class as the positive one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassRates {
    /// The positive class.
    pub class: String,
    /// Its rates; the group is all test nodes.
    #[serde(flatten)]
    pub rates: GroupRates,
}

/// The groups of one protected attribute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttributeScores {
    /// The name of the group column.
    pub name: String,
    /// The positive class of the rates below. One-vs-rest, it is the class with the largest
    /// equalised-odds difference; if no class has one, that with the largest demographic-parity
    /// difference; the first of equals.
    pub class: String,
    /// Why there are no groups; left out if there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The groups, in the order of the column's values.
    pub groups: Vec<GroupRates>,
    /// The group with the smallest accuracy, of those with enough test nodes.
    pub worst_group: Option<WorstGroup>,
    /// How far the groups are apart.
    #[serde(flatten)]
    pub disparities: Disparities,
    /// One-vs-rest, the differences of every class; left out otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassDisparity>,
    /// The effect of other thresholds for each group; left out if these are off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thresholds: Option<ThresholdScores>,
}

/// How far groups are apart with one class as the positive one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassDisparity {
    /// The positive class.
    pub class: String,
    /// Its demographic-parity difference.
    pub demographic_parity_difference: Option<f64>,
    /// Its equalised-odds difference.
    pub equalised_odds_difference: Option<f64>,
}

impl ClassRates {
    fn recall(&self) -> Option<f64> {
        self.rates.true_positive_rate.value
    }
}

impl FairnessScores {
    /// The rates on all test nodes to show first: of the positive class, or one-vs-rest of the
    /// class with the smallest recall, the first of equals.
    pub fn shown_class(&self) -> Option<&ClassRates> {
        let known = self.classes.iter().filter(|class| class.recall().is_some());
        let worst = known.reduce(|a, b| if b.recall() < a.recall() { b } else { a });
        worst.or_else(|| self.classes.first())
    }
}
