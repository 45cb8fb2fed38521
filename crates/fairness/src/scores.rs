//! The headline metrics, each in three readings.

use crate::PerHeadline;
use serde::{Deserialize, Serialize};

/// One metric on one set of nodes, read in three ways. Each is `None` if the set is empty.
///
/// Papers mean different things by "macro-F1 on the heterophilous nodes", and the values differ by
/// a factor of two and more; so all are computed, stored and shown under their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Readings {
    /// One value over the nodes of all clients together and all C classes: the headline.
    pub pooled: Option<f64>,
    /// The same over the classes present in the set; for accuracy the same number as `pooled`.
    pub present: Option<f64>,
    /// The mean over clients, weighted by their number of nodes, of the value over all C classes on
    /// the client's part of the set. Clients with no node in the set are left out and the other
    /// weights grow to sum to one.
    pub client: Option<f64>,
}

/// One of the three readings of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// See [`Readings::pooled`].
    Pooled,
    /// See [`Readings::present`].
    Present,
    /// See [`Readings::client`].
    Client,
}

impl Reading {
    /// Every reading, in the order of files.
    pub const ALL: [Self; 3] = [Self::Pooled, Self::Present, Self::Client];

    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pooled => "pooled",
            Self::Present => "present",
            Self::Client => "client",
        }
    }
}

impl Readings {
    /// The value that `make` gives for each reading.
    pub fn from_fn(mut make: impl FnMut(Reading) -> Option<f64>) -> Self {
        Self {
            pooled: make(Reading::Pooled),
            present: make(Reading::Present),
            client: make(Reading::Client),
        }
    }

    /// The value in one reading.
    pub fn get(&self, reading: Reading) -> Option<f64> {
        match reading {
            Reading::Pooled => self.pooled,
            Reading::Present => self.present,
            Reading::Client => self.client,
        }
    }

    /// Each reading there is, changed by `change`.
    pub fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self::from_fn(|reading| self.get(reading).map(&change))
    }
}

/// The headline metrics, as fractions of 1.
///
/// Files and tables show percent: see [`Scores::percent`].
pub type Scores = PerHeadline<Readings>;

impl Scores {
    /// Each value there is, changed by `change`.
    pub fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self::from_fn(|headline| self.get(headline).map(&change))
    }

    /// The pooled readings.
    pub fn pooled(&self) -> PerHeadline<Option<f64>> {
        PerHeadline::from_fn(|headline| self.get(headline).pooled)
    }

    /// The same in percent, as files hold it.
    ///
    /// ```
    /// use boostfgl_fairness::{Readings, Scores};
    ///
    /// let half = Readings { pooled: Some(0.5), ..Readings::default() };
    /// let scores = Scores { accuracy: half, ..Scores::default() };
    /// assert_eq!(scores.percent().0.accuracy.pooled, Some(50.0));
    /// ```
    pub fn percent(self) -> Percent<Self> {
        Percent(self.map(percent))
    }
}

/// A fraction of 1 in percent.
pub(crate) fn percent(fraction: f64) -> f64 {
    100.0 * fraction
}

/// Values in percent instead of fractions of 1. Files hold the inner value; the type keeps the
/// units apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Percent<T>(pub T);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_of_nothing_is_null() {
        let readings = Readings { pooled: Some(0.25), present: Some(1.0), client: None };
        let scores = Scores { accuracy: readings, ..Scores::default() };
        let json = serde_json::to_value(scores.percent()).unwrap();
        assert_eq!(
            json["accuracy"],
            serde_json::json!({"pooled": 25.0, "present": 100.0, "client": null})
        );
        assert_eq!(json["hete_f1"]["pooled"], serde_json::Value::Null);
        assert_eq!(serde_json::from_value::<Percent<Scores>>(json).unwrap(), scores.percent());
    }
}
