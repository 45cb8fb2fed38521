//! Dropout masks that are a function of (key, node, column), not of the order of evaluation.

use crate::Real;

/// Dropout for one forward pass: the probability and the key of the pass.
///
/// The key is drawn from (seed, client, round, epoch). Layer, node and column are mixed in here, so
/// that a mask does not depend on which rows are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    probability: f64,
    key: u64,
}

impl Dropout {
    /// Drops with `probability` in [0, 1), scaling what is kept by 1 / (1 − probability).
    ///
    /// # Panics
    /// If the probability is outside [0, 1).
    pub fn new(probability: f64, key: u64) -> Self {
        assert!((0.0..1.0).contains(&probability), "dropout probability {probability}");
        Self { probability, key }
    }

    /// No dropout: evaluation.
    pub fn off() -> Self {
        Self { probability: 0.0, key: 0 }
    }

    /// The mask of hidden layer `layer`.
    pub(crate) fn mask<T: Real>(&self, layer: usize) -> Mask<T> {
        let key = mix64(self.key ^ mix64(layer as u64));
        Mask {
            low: key as u32,
            high: (key >> 32) as u32,
            // 2³²·p: a hash is below it with probability p.
            threshold: (self.probability * 4_294_967_296.0) as u32,
            scale: T::of(1.0 / (1.0 - self.probability)),
        }
    }
}

/// The mask of one layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mask<T> {
    low: u32,
    high: u32,
    threshold: u32,
    pub(crate) scale: T,
}

impl<T> Mask<T> {
    /// The counter of a node's row.
    #[inline(always)]
    pub(crate) fn row(&self, node: u32) -> u32 {
        mix32(node ^ self.high)
    }

    /// Whether nothing is dropped, so that the mask need not be computed.
    #[inline(always)]
    pub(crate) fn keeps_everything(&self) -> bool {
        self.threshold == 0
    }

    /// Whether a column of that row survives.
    #[inline(always)]
    pub(crate) fn keeps(&self, row: u32, column: u32) -> bool {
        mix32(row.wrapping_add(column.wrapping_mul(0x9e37_79b9)) ^ self.low) >= self.threshold
    }
}

/// A bijection on 32 bits with full avalanche (the "lowbias32" constants by Chris Wellons).
#[inline(always)]
fn mix32(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7feb_352d);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// The finaliser of SplitMix64.
pub(crate) fn mix64(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(dropout: Dropout, layer: usize) -> Vec<bool> {
        let mask = dropout.mask::<f32>(layer);
        (0..400u32)
            .flat_map(|v| (0..256).map(move |c| (v, c)))
            .map(|(v, c)| mask.keeps(mask.row(v), c))
            .collect()
    }

    #[test]
    fn the_share_of_kept_numbers_is_right_overall_and_in_every_row() {
        for p in [0.0, 0.1, 0.5, 0.9] {
            let kept = kept(Dropout::new(p, 12), 0);
            let share = kept.iter().filter(|k| **k).count() as f64 / kept.len() as f64;
            assert!((share - (1.0 - p)).abs() < 0.01, "{p}: kept {share}");
            let worst = kept
                .chunks(256)
                .map(|row| row.iter().filter(|k| **k).count() as f64 / 256.0 - (1.0 - p));
            assert!(worst.fold(0.0, |a: f64, d| a.max(d.abs())) < 0.15, "a row deviates");
        }
    }

    #[test]
    fn masks_of_different_keys_and_layers_are_independent() {
        let base = kept(Dropout::new(0.5, 1), 0);
        for other in [kept(Dropout::new(0.5, 2), 0), kept(Dropout::new(0.5, 1), 1)] {
            let agree =
                base.iter().zip(&other).filter(|(a, b)| a == b).count() as f64 / base.len() as f64;
            assert!((agree - 0.5).abs() < 0.01, "agreement {agree}");
        }
    }
}
