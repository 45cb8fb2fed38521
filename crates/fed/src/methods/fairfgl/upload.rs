//! Sparse uploads: the entries of an update that moved most.

use boostfgl_nn::{Params, Real};

/// How many of `count` numbers a share ρ keeps: ⌈ρP⌉. Products that are whole up to rounding stay so.
pub(super) fn kept(share: f64, count: usize) -> usize {
    ((share * count as f64 - 1e-9).ceil().max(1.0) as usize).min(count)
}

/// Δ = `to` − `from`, tensor by tensor and row by row, without padding.
pub(super) fn difference<T: Real>(to: &Params<T>, from: &Params<T>) -> Vec<T> {
    let mut out = Vec::with_capacity(to.count());
    for (to, from) in to.tensors().iter().zip(from.tensors()) {
        for r in 0..to.rows() {
            out.extend(to.row(r).iter().zip(from.row(r)).map(|(to, from)| *to - *from));
        }
    }
    out
}

/// The `count` numbers of largest |Δ| with their places, in the order of places; of equals the first are kept.
///
/// Time O(P): one histogram finds the few candidates around the threshold, and only those are sorted out.
pub(super) fn largest<T: Real>(delta: &[T], count: usize) -> Vec<(u32, T)> {
    if count == 0 {
        return Vec::new();
    }
    let (threshold, mut equals) = threshold(delta, count);
    // Every number is written, and the place moves on if it is kept: whether it is, no CPU could foresee.
    let mut out = vec![(0, T::ZERO); count + 1];
    let mut at = 0;
    for (i, x) in delta.iter().enumerate() {
        let key = key(*x);
        out[at] = (i as u32, *x);
        let equal = usize::from(key == threshold).min(equals);
        equals -= equal;
        at += usize::from(key > threshold) + equal;
    }
    out.truncate(count);
    out
}

/// The key of the `count`-th largest magnitude, and how many numbers with exactly that key are among the `count`.
fn threshold<T: Real>(delta: &[T], count: usize) -> (u64, usize) {
    let mut histogram = vec![0usize; 1 << 16];
    delta.iter().for_each(|x| histogram[bucket(key(*x))] += 1);
    let (mut above, mut at) = (0, histogram.len() - 1);
    while above + histogram[at] < count {
        above += histogram[at];
        at -= 1;
    }
    let mut candidates: Vec<u64> = delta.iter().map(|x| key(*x)).filter(|key| bucket(*key) == at).collect();
    let wanted = count - above;
    let place = candidates.len() - wanted;
    let (_, &mut threshold, larger) = candidates.select_nth_unstable(place);
    (threshold, wanted - larger.iter().filter(|key| **key > threshold).count())
}

/// Magnitudes as integers of the same order: the bits of a float that is not negative grow with it.
#[inline]
fn key<T: Real>(x: T) -> u64 {
    x.f64().abs().to_bits()
}

/// Exponent and the first bits of the fraction.
#[inline]
fn bucket(key: u64) -> usize {
    (key >> 48) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Exactly ⌈ρP⌉ are kept, none smaller than one that is dropped, of equals the first.
        #[test]
        fn the_largest_are_kept(
            numbers in prop::collection::vec(prop_oneof![-1.0f32..1.0, Just(0.25), Just(-0.25), Just(0.0)], 1..200),
            share in 0.001f64..=1.0,
        ) {
            let count = kept(share, numbers.len());
            prop_assert_eq!(count, (share * numbers.len() as f64 - 1e-9).ceil() as usize);
            let found = largest(&numbers, count);
            let mut order: Vec<usize> = (0..numbers.len()).collect();
            order.sort_by(|&a, &b| numbers[b].abs().total_cmp(&numbers[a].abs()).then(a.cmp(&b)));
            let mut expected: Vec<(u32, f32)> = order[..count].iter().map(|&i| (i as u32, numbers[i])).collect();
            expected.sort_by_key(|(i, _)| *i);
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn whole_shares_are_not_rounded_up() {
        assert_eq!([kept(0.3, 10), kept(0.3, 11), kept(1.0, 7), kept(1e-9, 7)], [3, 4, 7, 1]);
    }
}
