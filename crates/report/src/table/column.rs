//! The columns of a table of runs.

use super::Row;
use boostfgl_fairness::{HEADLINES, Headline, Parameter, Percent, Reading, Scores};
use std::sync::LazyLock;

/// One column: what it shows and what that means.
pub(crate) struct Column {
    /// Its name in CSV.
    pub(crate) key: &'static str,
    /// Its heading.
    pub(crate) title: &'static str,
    /// The reading or unit under the heading.
    pub(crate) unit: &'static str,
    /// One line of explanation.
    pub(crate) meaning: &'static str,
    shown: Shown,
}

/// What a column shows.
enum Shown {
    /// A metric in one reading: the largest value is the best.
    Metric(&'static Headline, Reading),
    /// Time or traffic: shown on request, without deviation, and the smallest value is the best.
    Cost(fn(&Row) -> Option<f64>),
    /// Rounds × epochs: shown with the costs, not ranked.
    Budget,
}

impl Column {
    /// Whether it shows a cost of a run rather than a metric.
    pub(crate) fn is_cost(&self) -> bool {
        matches!(self.shown, Shown::Cost(_) | Shown::Budget)
    }

    /// Whether it shows text, which has no mean and no rank.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.shown, Shown::Budget)
    }

    /// The metric of this column among scores; `None` for a cost, and for a group without nodes.
    pub(crate) fn pick(&self, scores: &Percent<Scores>) -> Option<f64> {
        match self.shown {
            Shown::Metric(headline, reading) => scores.0.get(headline).get(reading),
            Shown::Cost(_) | Shown::Budget => None,
        }
    }

    /// The mean over seeds; `None` without a value.
    pub(super) fn mean(&self, row: &Row) -> Option<f64> {
        match self.shown {
            Shown::Metric(..) => self.pick(&row.mean),
            Shown::Cost(cost) => cost(row),
            Shown::Budget => None,
        }
    }

    /// The standard deviation over seeds; `None` without a value and for a cost.
    pub(super) fn std(&self, row: &Row) -> Option<f64> {
        self.pick(&row.std)
    }

    /// The mean as printed; `None` without a value.
    pub(super) fn printed(&self, row: &Row) -> Option<String> {
        let mean = self.mean(row)?;
        // Decimals of large costs are noise and take space.
        Some(if self.is_cost() && mean >= 1000.0 {
            format!("{mean:.0}")
        } else {
            format!("{mean:.1}")
        })
    }
}

/// The headline metrics, then the costs.
pub(crate) static COLUMNS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let mut columns = Vec::new();
    for headline in HEADLINES.iter() {
        columns.push(metric(headline, Reading::Pooled, headline.meaning));
        columns.extend(headline.present.map(|text| metric(headline, Reading::Present, text)));
    }
    columns.extend(COSTS);
    columns
});

const COSTS: [Column; 3] = [
    Column {
        key: "rounds",
        title: "Rounds",
        unit: "×E",
        meaning: "rounds × local epochs of each, + rounds that the method adds",
        shown: Shown::Budget,
    },
    Column {
        key: "seconds",
        title: "Time",
        unit: "s",
        meaning: "wall-clock seconds per seed",
        shown: Shown::Cost(|row| row.seconds),
    },
    Column {
        key: "mib_up",
        title: "Up",
        unit: "MiB",
        meaning: "MiB that clients send to the server per seed",
        shown: Shown::Cost(|row| row.mib_up),
    },
];

/// The readings that [`COLUMNS`] leaves out. A metric that is no average over classes has no
/// reading over present classes of its own.
pub(super) static OTHER_READINGS: LazyLock<Vec<Column>> = LazyLock::new(|| {
    let mut columns = Vec::new();
    for headline in HEADLINES.iter() {
        if headline.metric.parameter() == Parameter::Average && headline.present.is_none() {
            let meaning = "averaged over the classes present among the nodes";
            columns.push(metric(headline, Reading::Present, meaning));
        }
        let meaning = "mean over clients, weighted by their number of nodes";
        columns.push(metric(headline, Reading::Client, meaning));
    }
    columns
});

/// The column of one reading of a headline metric.
fn metric(headline: &'static Headline, reading: Reading, meaning: &'static str) -> Column {
    Column {
        key: headline.column(reading),
        title: headline.title,
        unit: reading.name(),
        meaning,
        shown: Shown::Metric(headline, reading),
    }
}
