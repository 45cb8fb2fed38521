//! Details of a run besides its metrics: both rounds that papers report, training budget, split and
//! minority classes.

use boostfgl_fairness::protected::FairnessScores;
use boostfgl_fairness::{Percent, Scores, Warning};
use serde::{Deserialize, Serialize};

/// The details of one seed, whichever round is reported. Files of earlier versions have none of
/// them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeedDetails {
    /// Accuracy of the reported round on validation nodes in percent, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub val_accuracy: Option<f64>,
    /// Macro-F1 of the reported round on validation nodes in percent; left out where predictions
    /// stay with the clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub val_macro_f1: Option<f64>,
    /// The last round and its scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<RoundScores>,
    /// The round with the best validation accuracy and its scores; `None` without validation nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_val: Option<RoundScores>,
    /// The training budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// Which split was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitUsed>,
    /// The minority classes and how many nodes they have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minority: Option<MinorityUsed>,
    /// Which neighbours the homophily of a node is taken among; left out for the whole graph.
    #[serde(default, skip_serializing_if = "Neighbours::are_all")]
    pub homophily: Neighbours,
    /// The clients, where they have names and graphs of their own; left out otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientSummary>,
    /// Rates of the positive class by protected attribute, as fractions of 1; left out where the
    /// data have no group column and no positive class is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<FairnessScores>,
    /// Warnings, such as a collapsed model; left out without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// The neighbours among which homophily is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Neighbours {
    /// Those in the whole graph.
    #[default]
    Global,
    /// Those in the client's own graph.
    Local,
}

impl Neighbours {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    fn are_all(&self) -> bool {
        *self == Self::Global
    }
}

/// What a client said about itself when it joined, and how well the reported model works for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientSummary {
    /// Its name.
    pub name: String,
    /// Its nodes.
    pub nodes: usize,
    /// Its arcs: every edge in both directions.
    pub arcs: usize,
    /// Its training nodes.
    pub train: usize,
    /// Its validation nodes.
    pub val: usize,
    /// Its test nodes.
    pub test: usize,
    /// The headline metrics on its test nodes.
    #[serde(flatten)]
    pub scores: Percent<Scores>,
}

/// The scores of the model of one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundScores {
    /// The number of the round, from 1.
    pub round: usize,
    /// Its accuracy on validation nodes in percent, if there are any.
    pub val_accuracy: Option<f64>,
    /// Its macro-F1 on validation nodes in percent; left out where predictions stay with the
    /// clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub val_macro_f1: Option<f64>,
    /// The headline metrics in their three readings.
    #[serde(flatten)]
    pub scores: Percent<Scores>,
}

/// The training budget of a method. Methods differ: AdaFGL adds rounds of its own after those that
/// are configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// The configured rounds.
    pub rounds: usize,
    /// Local epochs in each of them.
    pub epochs: usize,
    /// Rounds that the method added, of one epoch each.
    pub added_rounds: usize,
}

impl SeedDetails {
    /// Takes the validation scores of the reported round from those of the recorded rounds.
    #[must_use]
    pub fn with_validation_of(mut self, round: usize) -> Self {
        let mut recorded = self.last.iter().chain(&self.best_val);
        if let Some(found) = recorded.find(|recorded| recorded.round == round) {
            (self.val_accuracy, self.val_macro_f1) = (found.val_accuracy, found.val_macro_f1);
        }
        self
    }
}

impl Budget {
    /// As tables show it: `50×1`, or `50×1+50` with added rounds.
    pub fn shown(&self) -> String {
        let Self { rounds, epochs, added_rounds } = self;
        match added_rounds {
            0 => format!("{rounds}×{epochs}"),
            added => format!("{rounds}×{epochs}+{added}"),
        }
    }
}

/// The origin of the split, and the number of nodes in each part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitUsed {
    /// Its origin.
    pub source: SplitOrigin,
    /// Which of the splits that come with the data; left out for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<StoredSplit>,
    /// Training nodes.
    pub train: usize,
    /// Validation nodes.
    pub val: usize,
    /// Test nodes.
    pub test: usize,
}

/// One of several splits that come with the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSplit {
    /// Its number, from 0: seed s uses number s mod k.
    pub number: usize,
    /// The number of splits, k.
    pub of: usize,
}

/// The origin of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitOrigin {
    /// From the data.
    Data,
    /// From a partition file.
    PartitionStats,
    /// Drawn by shares, per client and class.
    Shares,
}

impl SplitOrigin {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "of the data",
            Self::PartitionStats => "of the partition file",
            Self::Shares => "drawn by shares per client and class",
        }
    }
}

/// The minority classes of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinorityUsed {
    /// Their names.
    pub classes: Vec<String>,
    /// Their training nodes.
    pub train: usize,
    /// Their test nodes.
    pub test: usize,
}
