//! A value over seeds.

use boostfgl_fairness::protected::Share;
use boostfgl_fairness::{mean, sample_std};

/// Mean and standard deviation over the seeds that have a value, as fractions of 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rate {
    pub(crate) mean: Option<f64>,
    std: Option<f64>,
    /// The mean of the seeds' intervals over nodes; `None` if a seed with a value has none.
    interval: Option<[f64; 2]>,
}

impl Rate {
    /// The values of seeds.
    pub(crate) fn of(values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let known: Vec<f64> = values.into_iter().flatten().collect();
        Self { mean: mean(&known), std: sample_std(&known), interval: None }
    }

    /// The shares of seeds, which have intervals.
    pub(crate) fn of_shares(shares: impl Iterator<Item = Share> + Clone) -> Self {
        let ends = shares.clone().filter_map(|share| share.interval);
        let (lows, highs): (Vec<f64>, Vec<f64>) = ends.map(|ends| (ends.lo, ends.hi)).unzip();
        let interval = mean(&lows).zip(mean(&highs)).map(|(low, high)| [low, high]);
        Self { interval, ..Self::of(shares.map(|share| share.value)) }
    }

    /// In percent, such as `81.2` or `81.2 ± 0.4`; `–` without a value.
    pub(crate) fn percent(&self) -> String {
        self.shown(100.0, 1)
    }

    /// Without the spread over seeds.
    pub(crate) fn without_spread(self) -> Self {
        Self { std: None, ..self }
    }

    /// In percent with the interval, such as `81.2 [78.0, 84.1]`.
    pub(crate) fn with_interval(&self) -> String {
        match self.interval {
            Some([low, high]) => {
                format!("{} [{:.1}, {:.1}]", self.percent(), 100.0 * low, 100.0 * high)
            }
            None => self.percent(),
        }
    }

    /// As a fraction of 1, such as `0.812`.
    pub(crate) fn fraction(&self) -> String {
        self.shown(1.0, 3)
    }

    fn shown(&self, scale: f64, digits: usize) -> String {
        match (self.mean, self.std) {
            (None, _) => "–".to_owned(),
            (Some(mean), None) => format!("{:.digits$}", scale * mean),
            (Some(mean), Some(std)) => {
                format!("{:.digits$} ± {:.digits$}", scale * mean, scale * std)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_averaged_and_gaps_are_left_out() {
        let rate = Rate::of([Some(0.5), None, Some(0.7)]);
        assert_eq!(
            (rate.percent(), rate.fraction()),
            ("60.0 ± 14.1".into(), "0.600 ± 0.141".into())
        );
        assert_eq!(
            (Rate::of([None]).percent(), Rate::of([Some(1.0)]).fraction()),
            ("–".into(), "1.000".into())
        );
        // Wilson's interval of 1 of 1 begins at 0.2065.
        let one = Rate::of_shares([Share::new((1, 1))].into_iter());
        assert_eq!(one.with_interval(), "100.0 [20.7, 100.0]");
    }
}
