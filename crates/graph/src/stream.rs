//! Random numbers that do not depend on the order of draws.
//!
//! Every random decision of the program draws from its own ChaCha stream, keyed by the seed, the
//! purpose and a path of counters such as (client, round, epoch, layer). Threads, resumed runs and
//! extra forward passes therefore never shift other numbers. Sampling is written out here,
//! because the generic distributions of `rand` may change their digits between versions.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// One stream of random numbers.
///
/// ```
/// use boostfgl_graph::Stream;
/// let mut a = Stream::new(7, "split", &[3]);
/// let mut b = Stream::new(7, "split", &[3]);
/// assert_eq!(a.next_u64(), b.next_u64());
/// ```
#[derive(Clone, Debug)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream for `purpose` at `path` under `seed`.
    pub fn new(seed: u64, purpose: &str, path: &[u64]) -> Self {
        Self(ChaCha8Rng::from_seed(key(seed, purpose, path)))
    }

    /// 32 uniform bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 uniform bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n. The bias of the multiply-shift is below n / 2⁶⁴.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "below(0) has no answer");
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// A standard normal number (Box–Muller, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Puts `items` in random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// A 64-bit key for counter-based generators, from the same name space as [`Stream::new`].
pub fn key64(seed: u64, purpose: &str, path: &[u64]) -> u64 {
    let key = key(seed, purpose, path);
    u64::from_le_bytes([key[0], key[1], key[2], key[3], key[4], key[5], key[6], key[7]])
}

fn key(seed: u64, purpose: &str, path: &[u64]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(&(purpose.len() as u64).to_le_bytes());
    hasher.update(purpose.as_bytes());
    for step in path {
        hasher.update(&step.to_le_bytes());
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_purpose_and_path() {
        let first = |seed, purpose, path: &[u64]| Stream::new(seed, purpose, path).next_u64();
        let all = [
            first(0, "a", &[]),
            first(1, "a", &[]),
            first(0, "b", &[]),
            first(0, "a", &[0]),
            first(0, "a", &[0, 0]),
            first(0, "a", &[1]),
        ];
        for (i, x) in all.iter().enumerate() {
            assert!(!all[..i].contains(x), "streams {i} and an earlier one coincide");
        }
    }

    /// Frozen, so that a dependency's update cannot silently change every published digit.
    #[test]
    fn digits_are_frozen() {
        let mut stream = Stream::new(42, "frozen", &[1, 2]);
        assert_eq!(
            [stream.next_u64(), stream.next_u64()],
            [13731750888253347316, 18191682797693536627]
        );
        assert_eq!(key64(42, "frozen", &[1, 2]), 10747044769201640295);
    }

    #[test]
    fn normal_has_the_right_moments() {
        let mut stream = Stream::new(0, "normal", &[]);
        let draws: Vec<f64> = (0..20_000).map(|_| stream.normal()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        assert!(mean.abs() < 0.03, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.04, "variance {variance}");
    }
}
