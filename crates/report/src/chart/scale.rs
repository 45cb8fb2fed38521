//! Scales: the mapping from numbers to coordinates.

/// A linear scale between two numbers, with ticks at round ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    /// The coordinates of `low` and `high`.
    from: f64,
    to: f64,
    /// The distance of ticks, if it is fixed.
    step: Option<f64>,
}

impl Scale {
    /// The scale from the least to the greatest of `numbers`; those that are not finite are
    /// ignored. If all are equal, they are in the middle.
    pub(crate) fn over(numbers: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let ends = numbers.filter(|x| x.is_finite()).fold(None, |ends: Option<(f64, f64)>, x| {
            Some(ends.map_or((x, x), |(low, high)| (low.min(x), high.max(x))))
        });
        let (low, high) = match ends {
            None => (0.0, 1.0),
            Some((low, high)) if low == high => {
                let margin = if low == 0.0 { 1.0 } else { low.abs() / 10.0 };
                (low - margin, high + margin)
            }
            Some(ends) => ends,
        };
        Self { low, high, from, to, step: None }
    }

    /// Moves both ends outwards to the next tick.
    pub(crate) fn rounded(self, ticks: usize) -> Self {
        let step = step(self.high - self.low, ticks);
        // The tolerance keeps an end that is a tick up to rounding.
        let (low, high) =
            ((self.low / step + 1e-9).floor() * step, (self.high / step - 1e-9).ceil() * step);
        Self { low, high, step: Some(step), ..self }
    }

    /// Restricts ticks to whole numbers, for rounds and clients.
    pub(crate) fn whole(self, ticks: usize) -> Self {
        Self { step: Some(step(self.high - self.low, ticks).max(1.0)), ..self }
    }

    /// The coordinate of `x`.
    pub(crate) fn at(self, x: f64) -> f64 {
        self.from + (x - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// About `count` round numbers within the scale, increasing.
    pub(crate) fn ticks(self, count: usize) -> Vec<f64> {
        let step = self.step.unwrap_or_else(|| step(self.high - self.low, count));
        let (first, last) = ((self.low / step - 1e-9).ceil(), (self.high / step + 1e-9).floor());
        // Rounding errors around zero would print as -0.
        (0..=(last - first).max(0.0) as usize)
            .map(|i| (first + i as f64) * step)
            .map(|x| if x.abs() < step / 1e6 { 0.0 } else { x })
            .collect()
    }
}

/// A step of 1, 2 or 5 times a power of ten that divides `length` into about `count` parts.
fn step(length: f64, count: usize) -> f64 {
    let raw = length / count.max(1) as f64;
    let power = libm::pow(10.0, libm::log10(raw).floor());
    let leading = raw / power;
    power * [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| leading <= *m * 1.0001).unwrap_or(10.0)
}

/// A tick label with as many decimals as all `ticks` of the scale need.
pub(crate) fn label(x: f64, ticks: &[f64]) -> String {
    let decimals = (0..6).find(|decimals| are_exact(ticks, *decimals)).unwrap_or(6);
    format!("{x:.decimals$}")
}

/// Whether every tick is a decimal number with at most that many decimals, up to rounding.
fn are_exact(ticks: &[f64], decimals: usize) -> bool {
    let unit = libm::pow(10.0, decimals as f64);
    ticks.iter().all(|tick| {
        (tick * unit - (tick * unit).round()).abs() < 1e-6 * (tick * unit).abs().max(1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round() {
        let scale = Scale::over([3.2, 97.0].into_iter(), 0.0, 100.0);
        assert_eq!(scale.ticks(5), [20.0, 40.0, 60.0, 80.0]);
        assert_eq!(scale.rounded(5).ticks(5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(label(20.0, &[0.0, 20.0]), "20");
        assert_eq!(label(0.25, &[0.0, 0.25]), "0.25");
    }

    #[test]
    fn an_empty_or_constant_series_has_a_scale() {
        assert_eq!(Scale::over(std::iter::empty(), 0.0, 10.0).at(0.5), 5.0);
        assert_eq!(Scale::over([f64::NAN, 7.0].into_iter(), 0.0, 10.0).at(7.0), 5.0);
        assert_eq!(Scale::over([0.0].into_iter(), 0.0, 10.0).at(0.0), 5.0);
    }

    proptest! {
        #[test]
        fn the_ends_map_to_the_ends_and_ticks_increase(low in -1e6f64..1e6, length in 1e-6f64..1e6, count in 2usize..10) {
            let scale = Scale::over([low, low + length].into_iter(), 50.0, 10.0);
            prop_assert!((scale.at(low) - 50.0).abs() < 1e-6 && (scale.at(low + length) - 10.0).abs() < 1e-6);
            let ticks = scale.rounded(count).ticks(count);
            // Moving both ends out adds at most a step on either side.
            prop_assert!((2..=2 * count + 4).contains(&ticks.len()), "{:?}", ticks);
            prop_assert!(ticks.windows(2).all(|w| w[0] < w[1]));
        }
    }
}
