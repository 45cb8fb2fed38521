//! The learning curve and the diagnostics of one run or cell.

use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind};
use boostfgl_fairness::{PerHeadline, Scores};
use serde::{Deserialize, Serialize};

/// The learning curve of one run and the results of its diagnostics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// The diagnostics that observed the run, by name.
    pub diagnostics: Vec<String>,
    /// The evaluated rounds.
    pub curve: Vec<Point>,
    /// Their results.
    pub diagnosis: Diagnosis,
    /// How often the hardest client was silenced, if that was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardest: Option<Hardest>,
}

/// The weight of the hardest client of every round: among the benign clients whose updates
/// arrived, the one with the largest training loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hardest {
    /// Rounds in which clients had weights.
    pub rounds: usize,
    /// Rounds in which its weight was below a tenth of an equal share.
    pub silenced: usize,
    /// The sum over these rounds of its weight as a multiple of an equal share.
    pub weight: f64,
}

impl Hardest {
    /// A client whose weight is below this multiple of an equal share is silenced.
    pub const SILENCED: f64 = 0.1;

    /// Adds a round in which the hardest client had this multiple of an equal share.
    pub fn round(&mut self, weight: f64) {
        self.rounds += 1;
        self.silenced += usize::from(weight < Self::SILENCED);
        self.weight += weight;
    }
}

/// One evaluated round: the pooled scores in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its number, from 1.
    pub round: usize,
    /// Training loss.
    pub loss: f64,
    /// The headline metrics.
    #[serde(flatten)]
    pub scores: PerHeadline<Option<f64>>,
}

impl Detail {
    /// Whether all of `wanted` observed the run.
    pub fn covers(&self, wanted: &[DiagnosticKind]) -> bool {
        wanted.iter().all(|kind| self.diagnostics.iter().any(|name| name == kind.name()))
    }
}

impl Point {
    /// A round with its scores in percent.
    pub fn new(round: usize, loss: f64, scores: &Scores) -> Self {
        Self { round, loss, scores: scores.pooled() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_of_a_point_is_stable() {
        let scores =
            PerHeadline { accuracy: Some(81.5), hete_f1: Some(40.0), ..Default::default() };
        let point = Point { round: 3, loss: 0.1, scores };
        let text = r#"{"round":3,"loss":0.1,"accuracy":81.5,"overall_f1":null,"#.to_owned()
            + r#""hete_f1":40.0,"hete_min_f1":null}"#;
        assert_eq!(serde_json::to_string(&point).unwrap(), text);
        assert_eq!(serde_json::from_str::<Point>(&text).unwrap(), point);
        let whole = r#"{"round":3,"loss":1,"accuracy":81}"#;
        assert_eq!(serde_json::from_str::<Point>(whole).unwrap().scores.accuracy, Some(81.0));
    }
}
