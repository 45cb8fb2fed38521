//! The numbers of largest magnitude in a long vector.

use super::dispatch;
use crate::Real;

/// How many magnitudes are looked at to guess where the threshold lies.
const SAMPLE: usize = 1024;

/// The `count` numbers of largest magnitude with their places, in the order of places; of equals the first are kept.
///
/// Time O(P) in three passes: a sample tells between which two magnitudes the threshold lies, the few numbers between
/// them are sorted out, and what is above is gathered. NaN counts as larger than any number.
///
/// ```
/// let found = boostfgl_nn::largest(&[0.5f32, -2.0, 1.0, -1.0], 2);
/// assert_eq!(found, [(1, -2.0), (2, 1.0)]);
/// ```
pub fn largest<T: Real>(numbers: &[T], count: usize) -> Vec<(u32, T)> {
    let count = count.min(numbers.len());
    if count == 0 {
        return Vec::new();
    }
    let mut out = vec![(0, T::ZERO); count + 1];
    let mut found = 0;
    if let Some((threshold, equals)) = threshold(numbers, count) {
        gather(numbers, threshold, equals, &mut out, &mut found);
    }
    if found != count {
        return by_places(numbers, count);
    }
    out.truncate(count);
    out
}

/// The `count`-th largest magnitude, and how many numbers of exactly that magnitude are among the `count`. `None` if
/// the sample misled.
fn threshold<T: Real>(numbers: &[T], count: usize) -> Option<(T, usize)> {
    let (low, high) = bracket(numbers, count);
    let (mut above, mut between) = (0, 0);
    // Twice the share of the sample that lies between, or all of a short vector.
    let mut candidates = vec![T::ZERO; (numbers.len() / 4).max(4 * SAMPLE) + 1];
    split(numbers, low, high, &mut above, &mut candidates, &mut between);
    let fits = between < candidates.len();
    let wanted = count.checked_sub(above).filter(|wanted| fits && (1..=between).contains(wanted))?;
    let candidates = &mut candidates[..between];
    let descending = |a: &T, b: &T| b.f64().total_cmp(&a.f64());
    let (larger, &mut threshold, _) = candidates.select_nth_unstable_by(wanted - 1, descending);
    Some((threshold, wanted - larger.iter().filter(|x| **x > threshold).count()))
}

/// Two magnitudes, the threshold being between them unless the sample is odd: three standard deviations either side.
fn bracket<T: Real>(numbers: &[T], count: usize) -> (T, T) {
    let mut sample: Vec<T> = numbers.iter().step_by(numbers.len().div_ceil(SAMPLE)).map(|x| x.abs()).collect();
    sample.sort_unstable_by(|a, b| b.f64().total_cmp(&a.f64()));
    let share = count as f64 / numbers.len() as f64;
    let expected = share * sample.len() as f64;
    let margin = 3.0 * libm::sqrt(expected * (1.0 - share)) + 2.0;
    let at = |rank: f64| sample[(rank.max(0.0) as usize).min(sample.len() - 1)];
    // The ends of the sample are not the ends of the vector.
    let high = if expected < margin { T::of(f64::INFINITY) } else { at(expected - margin) };
    let low = if expected + margin >= sample.len() as f64 { T::ZERO } else { at(expected + margin) };
    (low, high)
}

dispatch! {
    /// Counts the magnitudes above `high`, and collects those from `low` to `high` as far as there is room. Every one is
    /// written, and the place moves on if it is between: whether it is, no CPU could foresee.
    fn split<T: Real>(
        numbers: &[T],
        low: T,
        high: T,
        above: &mut usize,
        candidates: &mut [T],
        between: &mut usize,
    ) {
        let (mut larger, mut at, last) = (0, 0, candidates.len() - 1);
        for x in numbers {
            let size = x.abs();
            candidates[at.min(last)] = size;
            // What is not at most `high` is above it: NaN too, which then is missing when all are gathered.
            larger += 1 - usize::from(size <= high);
            at += usize::from((size >= low) & (size <= high));
        }
        (*above, *between) = (larger, at);
    }
}

dispatch! {
    /// Writes what is above the threshold, and the first `equals` at it; `found` says how many that are. Magnitudes
    /// beyond the length of `out` are not written.
    fn gather<T: Real>(numbers: &[T], threshold: T, equals: usize, out: &mut [(u32, T)], found: &mut usize) {
        let (mut at, mut equals, last) = (0, equals, out.len() - 1);
        for (i, x) in numbers.iter().enumerate() {
            let size = x.abs();
            out[at.min(last)] = (i as u32, *x);
            let equal = usize::from(size == threshold).min(equals);
            equals -= equal;
            at += usize::from(size > threshold) + equal;
        }
        *found = at;
    }
}

/// The same by choosing among places: for vectors with a NaN or many equals, and where the sample misled.
fn by_places<T: Real>(numbers: &[T], count: usize) -> Vec<(u32, T)> {
    let size = |place: &u32| numbers[*place as usize].f64().abs();
    let mut places: Vec<u32> = (0..numbers.len() as u32).collect();
    places.select_nth_unstable_by(count - 1, |a, b| size(b).total_cmp(&size(a)).then(a.cmp(b)));
    places.truncate(count);
    places.sort_unstable();
    places.into_iter().map(|place| (place, numbers[place as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same_as_sorting(numbers: &[f32], count: usize) {
        let bits = |found: Vec<(u32, f32)>| found.into_iter().map(|(i, x)| (i, x.to_bits())).collect::<Vec<_>>();
        let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
        order.sort_by(|a, b| numbers[*b as usize].abs().total_cmp(&numbers[*a as usize].abs()));
        order.truncate(count);
        order.sort_unstable();
        let sorted = order.into_iter().map(|i| (i, numbers[i as usize])).collect();
        assert_eq!(bits(largest(numbers, count)), bits(sorted), "{count} of {}", numbers.len());
    }

    proptest! {
        /// Exactly as many are kept, none smaller than one that is dropped, of equals the first; short vectors.
        #[test]
        fn the_largest_are_kept(
            numbers in prop::collection::vec(prop_oneof![-1.0f32..1.0, Just(0.25), Just(-0.25), Just(0.0)], 1..200),
            share in 0.0f64..=1.0,
        ) {
            same_as_sorting(&numbers, (share * numbers.len() as f64) as usize);
        }

        /// The same on vectors of which only a sample is looked at first.
        #[test]
        fn a_sample_finds_the_same(seed in 0u32..1000, length in 5_000usize..20_000, share in 0.0f64..=1.0) {
            let wave = |i: usize| libm::sinf((i as u32).wrapping_mul(2_654_435_761).wrapping_add(seed) as f32);
            let numbers: Vec<f32> = (0..length).map(|i| if i % 5 == 0 { 0.5 } else { wave(i) }).collect();
            same_as_sorting(&numbers, (share * length as f64) as usize);
        }
    }

    /// A vector whose sample says nothing of the rest, and one with what is not a number.
    #[test]
    fn odd_vectors_are_sorted_out() {
        let stride = 20_000usize.div_ceil(SAMPLE);
        let mut numbers: Vec<f32> = (0..20_000).map(|i| if i % stride == 0 { 9.0 } else { i as f32 * 1e-5 }).collect();
        for count in [1, 500, 1_001, 6_000, 20_000] {
            same_as_sorting(&numbers, count);
        }
        let plateau: Vec<f32> = (0..20_000).map(|i| if i % 9 == 0 { i as f32 } else { -1.5 }).collect();
        for count in [1, 2_000, 6_000] {
            same_as_sorting(&plateau, count);
        }
        numbers[77] = f32::NAN;
        numbers[78] = f32::INFINITY;
        for count in [1, 2, 3, 6_000] {
            same_as_sorting(&numbers, count);
        }
    }
}
