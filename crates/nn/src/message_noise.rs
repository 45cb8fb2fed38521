//! Gaussian noise on messages that is a function of (key, layer, node, column), not of the order of
//! evaluation.

use crate::dropout::mix64;
use crate::kernels::reduce::inner_product;
use crate::{Matrix, Real, parallel};

/// Noise on the messages of one forward pass: its strength σ relative to the messages, and the key
/// of the pass.
///
/// Where a layer aggregates messages M = P·Z, networks continue with
///
/// ```text
/// M + σ·ρ·G,   ρ = √(mean of M²) over all entries,   G ~ N(0, 1) for every entry
/// ```
///
/// with ρ and G constants in the backward pass. Z is what nodes send: with noise, networks always
/// multiply by the weights of a layer before they propagate, whichever side is narrower, and never
/// reuse P·X of an earlier pass.
///
/// G of a node does not depend on which other rows are computed. ρ is taken over the rows that are,
/// so a restricted view has noise of nearly the same scale, and a view of all nodes
/// ([`Reach::Everything`](crate::Reach)) has exactly the noise of
/// [`View::whole`](crate::View::whole).
///
/// This simulates the noise of a differentially private propagation. It **is not** differential
/// privacy: nothing is clipped, the scale depends on the data, and no budget is accounted for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MessageNoise {
    sigma: f64,
    /// Whether σ is relative to the root mean square of the messages.
    relative: bool,
    key: u64,
}

impl MessageNoise {
    /// Noise of standard deviation `sigma` times the root mean square of the messages; the key is
    /// drawn from (seed, client, round, pass).
    ///
    /// # Panics
    /// If σ is negative or not finite.
    pub fn new(sigma: f64, key: u64) -> Self {
        assert!(sigma.is_finite() && sigma >= 0.0, "strength of message noise {sigma}");
        Self { sigma, relative: true, key }
    }

    /// Noise of standard deviation `deviation`, independent of the messages: ρ = 1. The gradient of
    /// the tape is then the exact gradient of the noisy loss.
    ///
    /// # Panics
    /// If the deviation is negative or not finite.
    pub fn absolute(deviation: f64, key: u64) -> Self {
        Self { relative: false, ..Self::new(deviation, key) }
    }

    /// No noise: messages stay as they are, bit for bit.
    pub fn off() -> Self {
        Self { sigma: 0.0, relative: true, key: 0 }
    }

    /// Whether messages stay as they are.
    pub fn is_off(&self) -> bool {
        self.sigma == 0.0
    }

    /// Adds the noise of aggregation `layer` to messages whose rows belong to `nodes`.
    ///
    /// # Panics
    /// If there is not one node per row.
    pub fn add_to<T: Real>(&self, messages: &mut Matrix<T>, nodes: &[u32], layer: usize) {
        if self.is_off() {
            return;
        }
        assert_eq!(nodes.len(), messages.rows(), "one node per row of messages");
        let (columns, stride) = (messages.columns(), messages.stride());
        let scale =
            if self.relative { self.sigma * root_mean_square(messages) } else { self.sigma };
        // One key per layer and row: a node gets the same draws whatever other rows are computed,
        // and on any thread.
        let (key, work) =
            (mix64(self.key ^ mix64(layer as u64)), messages.data().len() * PER_NUMBER);
        parallel::over_rows(messages.data_mut(), stride, work, |rows, chunk| {
            for (row, &node) in chunk.chunks_exact_mut(stride).zip(&nodes[rows]) {
                add_to_row(&mut row[..columns], mix64(key ^ mix64(u64::from(node))), T::of(scale));
            }
        });
    }
}

/// √(mean of x²), accumulated in `f64`. Padding is 0 and adds nothing.
fn root_mean_square<T: Real>(x: &Matrix<T>) -> f64 {
    (inner_product(x.data(), x.data()) / (x.rows() * x.columns()).max(1) as f64).sqrt()
}

/// The cost of one draw, in multiply-adds.
const PER_NUMBER: usize = 32;

/// Adds scale · N(0, 1) to each entry: a Box–Muller pair for every two columns, from 64 bits of a
/// counter.
fn add_to_row<T: Real>(row: &mut [T], key: u64, scale: T) {
    for (counter, pair) in row.chunks_mut(2).enumerate() {
        let draws = normal_pair(mix64(
            key.wrapping_add((counter as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        ));
        for (x, draw) in pair.iter_mut().zip(draws) {
            *x = scale.mul_add(T::of(f64::from(draw)), *x);
        }
    }
}

/// Two independent standard normal numbers from 64 random bits, up to 6.8 in absolute value.
fn normal_pair(bits: u64) -> [f32; 2] {
    const UNIT: f32 = 1.0 / 4_294_967_296.0;
    let (high, low) = ((bits >> 32) as u32, bits as u32);
    // +½: the argument is never 0, whose logarithm is infinite. It can round up to 1, and the
    // maximum turns a −0 of its logarithm into 0.
    let radius = (-2.0 * libm::logf((high as f32 + 0.5) * UNIT)).max(0.0).sqrt();
    let (sin, cos) = libm::sincosf(std::f32::consts::TAU * (low as f32 * UNIT));
    [radius * cos, radius * sin]
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: usize = 500;
    const COLUMNS: usize = 101;

    fn nodes() -> Vec<u32> {
        (0..ROWS as u32).collect()
    }

    /// The noise alone, on messages that are all 2.
    fn drawn(noise: MessageNoise, layer: usize) -> Vec<f64> {
        let mut messages = Matrix::<f64>::from_rows(ROWS, COLUMNS, &[2.0; ROWS * COLUMNS]);
        noise.add_to(&mut messages, &nodes(), layer);
        messages.to_vec().into_iter().map(|x| x - 2.0).collect()
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    fn correlation(a: &[f64], b: &[f64]) -> f64 {
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    /// Moments of N(0, (σρ)²) with ρ = 2: mean 0, variance within 5 %, 68.3 % within one deviation,
    /// kurtosis 3.
    #[test]
    fn draws_have_the_moments_of_a_normal_distribution() {
        for sigma in [0.1, 1.0, 30.0] {
            let noise: Vec<f64> =
                drawn(MessageNoise::new(sigma, 9), 1).iter().map(|x| x / (2.0 * sigma)).collect();
            let mean_of = |f: &dyn Fn(f64) -> f64| {
                noise.iter().map(|x| f(*x)).sum::<f64>() / noise.len() as f64
            };
            assert!(mean_of(&|x| x).abs() < 0.03, "mean {}", mean_of(&|x| x));
            let variance = mean_of(&|x| x * x);
            assert!((variance - 1.0).abs() < 0.05, "variance {variance}");
            assert!(
                (mean_of(&|x| x.powi(4)) - 3.0).abs() < 0.3,
                "kurtosis {}",
                mean_of(&|x| x.powi(4))
            );
            let within = mean_of(&|x| f64::from(u8::from(x.abs() < 1.0)));
            assert!((within - 0.6827).abs() < 0.01, "{within} within one deviation");
        }
    }

    #[test]
    fn draws_of_different_keys_layers_rows_and_columns_are_uncorrelated() {
        let base = drawn(MessageNoise::new(0.5, 1), 0);
        for other in [drawn(MessageNoise::new(0.5, 2), 0), drawn(MessageNoise::new(0.5, 1), 1)] {
            assert!(correlation(&base, &other).abs() < 0.03);
        }
        for apart in [1, 2, COLUMNS] {
            assert!(
                correlation(&base[apart..], &base[..base.len() - apart]).abs() < 0.03,
                "{apart} apart"
            );
        }
    }

    /// The messages are constant here, so that the scale does not depend on the rows.
    #[test]
    fn the_draws_of_a_node_do_not_depend_on_the_other_rows() {
        let (noise, all) = (MessageNoise::new(0.5, 3), drawn(MessageNoise::new(0.5, 3), 2));
        let picked = [4u32, 17, 400];
        let mut few = Matrix::<f64>::from_rows(3, COLUMNS, &[2.0; 3 * COLUMNS]);
        noise.add_to(&mut few, &picked, 2);
        for (i, &v) in picked.iter().enumerate() {
            let expected = &all[v as usize * COLUMNS..][..COLUMNS];
            assert!(few.row(i).iter().zip(expected).all(|(x, e)| x - 2.0 == *e), "node {v}");
        }
    }

    #[test]
    fn strength_zero_and_zero_messages_change_nothing() {
        for (noise, value) in [
            (MessageNoise::off(), 0.1f32),
            (MessageNoise::new(0.0, 7), 0.1),
            (MessageNoise::new(3.0, 7), 0.0),
        ] {
            let before = Matrix::from_rows(ROWS, COLUMNS, &[value; ROWS * COLUMNS]);
            let mut after = before.clone();
            noise.add_to(&mut after, &nodes(), 0);
            assert_eq!(before, after);
        }
        let mut none = Matrix::<f32>::zeros(0, 5);
        MessageNoise::new(1.0, 0).add_to(&mut none, &[], 0);
    }

    #[test]
    fn extreme_bits_give_finite_numbers() {
        for bits in [0, u64::MAX, u64::from(u32::MAX), u64::from(u32::MAX) << 32] {
            assert!(
                normal_pair(bits).iter().all(|x| x.abs() < 6.9),
                "{bits:x}: {:?}",
                normal_pair(bits)
            );
        }
    }
}
