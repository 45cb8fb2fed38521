//! The numbers of largest magnitude in a long vector.

use super::dispatch;
use crate::Real;

/// Size of the sample of magnitudes that estimates the threshold.
pub(crate) const SAMPLE: usize = 4096;

/// Numbers whose magnitudes are compared at once, one bit of a word each.
const WORD: usize = 64;

/// The `count` numbers of largest magnitude with their positions, in the order of positions; ties
/// go to the first.
///
/// Time O(P): a sample brackets the threshold between two magnitudes, one pass collects the numbers
/// that are not below the bracket, and a selection runs over the few inside it. NaN counts as
/// larger than any number.
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
    let sample = numbers.iter().step_by(numbers.len().div_ceil(SAMPLE)).map(|x| x.abs()).collect();
    let mut selection = Selection::new(sample, numbers.len(), count);
    selection.extend(numbers);
    selection.finish().unwrap_or_else(|| largest_by_selection(numbers, count))
}

/// The largest of numbers that are given piece by piece, see [`largest`].
pub(crate) struct Selection<T> {
    count: usize,
    /// The bracket: with high probability the threshold lies between these magnitudes.
    low: T,
    high: T,
    /// Number of numbers so far.
    seen: usize,
    /// Those of them that are not below `low`.
    entries: Vec<(u32, T)>,
}

impl<T: Real> Selection<T> {
    /// For the `count` largest of `total` numbers, some of whose magnitudes are `sample`.
    pub(crate) fn new(sample: Vec<T>, total: usize, count: usize) -> Self {
        let share = count as f64 / total as f64;
        let (low, high) = bracket(sample, share);
        // One allocation in nearly all cases: the expected count and a margin above the bracket's.
        let room = (1.25 * share * total as f64) as usize + 4 * WORD;
        Self { count, low, high, seen: 0, entries: Vec::with_capacity(room.min(total)) }
    }

    /// Adds the next numbers.
    pub(crate) fn extend(&mut self, numbers: &[T]) {
        sift(numbers, self.seen as u32, self.low, &mut self.entries);
        self.seen += numbers.len();
    }

    /// The largest, in the order of positions; `None` if the threshold is outside the bracket.
    pub(crate) fn finish(mut self) -> Option<Vec<(u32, T)>> {
        let mut between = Vec::with_capacity(self.entries.len() / 2);
        split(&self.entries, self.high, &mut between);
        let above = self.entries.len() - between.len();
        let wanted =
            self.count.checked_sub(above).filter(|wanted| (1..=between.len()).contains(wanted))?;
        let (larger, &mut threshold, _) = between.select_nth_unstable_by(wanted - 1, descending);
        // Selection may leave equal magnitudes on either side of the threshold. Ties are therefore
        // counted and resolved by position.
        let equals = wanted - larger.iter().filter(|x| **x > threshold).count();
        let ties = between.iter().filter(|x| **x == threshold).count();
        if ties == equals {
            retain_from(&mut self.entries, threshold);
        } else {
            retain_from_with_ties(&mut self.entries, threshold, equals);
        }
        self.entries.truncate(self.count);
        Some(self.entries)
    }
}

/// Two magnitudes between which the threshold of the largest `share` lies: three standard
/// deviations of the binomial rank on either side of the estimate.
fn bracket<T: Real>(mut sample: Vec<T>, share: f64) -> (T, T) {
    let length = sample.len() as f64;
    let (expected, margin) =
        (share * length, 3.0 * libm::sqrt(share * (1.0 - share) * length) + 2.0);
    // The extremes of a sample are not those of the vector: there the bracket is open.
    let (mut low, mut high) = (T::ZERO, T::of(f64::INFINITY));
    if expected >= margin {
        high = of_rank(&mut sample, expected - margin);
    }
    if expected + margin < length {
        low = of_rank(&mut sample, expected + margin);
    }
    (low, high)
}

/// The magnitude of this rank, counted from the largest; the sample is reordered.
fn of_rank<T: Real>(sample: &mut [T], rank: f64) -> T {
    *sample.select_nth_unstable_by(rank as usize, descending).1
}

/// Orders magnitudes from the largest to the smallest, NaN first.
fn descending<T: Real>(a: &T, b: &T) -> std::cmp::Ordering {
    b.f64().total_cmp(&a.f64())
}

dispatch! {
    /// Appends the numbers whose magnitude is not below `low`, with their positions from `first`
    /// on.
    ///
    /// The comparisons of a word are made first, without branches; only then are the set bits
    /// visited. A branch per number would be mispredicted about as often as a number is chosen.
    fn sift<T: Real>(numbers: &[T], first: u32, low: T, out: &mut Vec<(u32, T)>) {
        let mut buffer = [(0, T::ZERO); WORD];
        for (word, numbers) in numbers.chunks(WORD).enumerate() {
            let mut flags = [0u8; WORD];
            for (flag, x) in flags.iter_mut().zip(numbers) {
                // Not `>=`: NaN compares false with everything and has to be chosen.
                *flag = 1 - u8::from(x.abs() < low);
            }
            let (mut chosen, start) = (bits(&flags), first + (word * WORD) as u32);
            let mut found = 0;
            while chosen != 0 {
                let i = chosen.trailing_zeros();
                // `% WORD` changes nothing and lets the compiler drop the bounds check.
                buffer[found % WORD] = (start + i, numbers[i as usize]);
                found += 1;
                chosen &= chosen - 1;
            }
            out.extend_from_slice(&buffer[..found]);
        }
    }
}

/// Flag i, 0 or 1, as bit i.
#[inline(always)]
fn bits(flags: &[u8; WORD]) -> u64 {
    let (bytes, _) = flags.as_chunks::<8>();
    bytes.iter().enumerate().fold(0, |all, (i, eight)| all | bits_of_eight(*eight) << (8 * i))
}

/// Flag i of eight, 0 or 1, as bit i.
#[inline(always)]
fn bits_of_eight(flags: [u8; 8]) -> u64 {
    // The product moves bit 0 of byte i to bit 56 + i. No two of the 64 partial products have the
    // same place, so that nothing carries.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    u64::from_le_bytes(flags).wrapping_mul(GATHER) >> 56
}

dispatch! {
    /// Collects the magnitudes up to `high`, without branches: every magnitude is written, and the
    /// position advances only if it belongs.
    fn split<T: Real>(entries: &[(u32, T)], high: T, between: &mut Vec<T>) {
        let mut buffer = [T::ZERO; WORD];
        for entries in entries.chunks(WORD) {
            let mut found = 0;
            for (_, x) in entries {
                buffer[found % WORD] = x.abs();
                found += usize::from(x.abs() <= high);
            }
            between.extend_from_slice(&buffer[..found]);
        }
    }
}

dispatch! {
    /// Moves the entries that are not below the threshold to the front, in their order.
    fn retain_from<T: Real>(entries: &mut [(u32, T)], threshold: T) {
        let mut at = 0;
        for i in 0..entries.len() {
            let entry = entries[i];
            entries[at] = entry;
            at += 1 - usize::from(entry.1.abs() < threshold);
        }
    }
}

dispatch! {
    /// Moves the entries above the threshold and the first `equals` equal to it to the front, in
    /// their order.
    fn retain_from_with_ties<T: Real>(entries: &mut [(u32, T)], threshold: T, equals: usize) {
        let (mut at, mut equals) = (0, equals);
        for i in 0..entries.len() {
            let entry = entries[i];
            let size = entry.1.abs();
            entries[at] = entry;
            let equal = usize::from(size == threshold).min(equals);
            equals -= equal;
            // Not `>`: NaN has to count as above.
            at += 1 - usize::from(size <= threshold) + equal;
        }
    }
}

/// The same by selecting among all positions: for vectors with many ties or NaN, where the bracket
/// fails.
fn largest_by_selection<T: Real>(numbers: &[T], count: usize) -> Vec<(u32, T)> {
    let mut places: Vec<u32> = (0..numbers.len() as u32).collect();
    places.select_nth_unstable_by(count - 1, |&a, &b| {
        magnitude(numbers, b).total_cmp(&magnitude(numbers, a)).then(a.cmp(&b))
    });
    places.truncate(count);
    places.sort_unstable();
    places.into_iter().map(|place| (place, numbers[place as usize])).collect()
}

#[inline]
fn magnitude<T: Real>(numbers: &[T], place: u32) -> f64 {
    numbers[place as usize].f64().abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same_as_sorting(numbers: &[f32], count: usize) {
        let bits = |found: Vec<(u32, f32)>| {
            found.into_iter().map(|(i, x)| (i, x.to_bits())).collect::<Vec<_>>()
        };
        let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
        order.sort_by(|a, b| numbers[*b as usize].abs().total_cmp(&numbers[*a as usize].abs()));
        order.truncate(count);
        order.sort_unstable();
        let sorted = order.into_iter().map(|i| (i, numbers[i as usize])).collect();
        assert_eq!(bits(largest(numbers, count)), bits(sorted), "{count} of {}", numbers.len());
    }

    proptest! {
        /// Exactly as many are kept, none smaller than one that is dropped, of equals the first;
        /// short vectors.
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

    /// Vectors whose sample misleads, with many ties, and with NaN.
    #[test]
    fn odd_vectors_are_sorted_out() {
        let stride = 20_000usize.div_ceil(SAMPLE);
        let mut numbers: Vec<f32> =
            (0..20_000).map(|i| if i % stride == 0 { 9.0 } else { i as f32 * 1e-5 }).collect();
        for count in [1, 500, 1_001, 6_000, 20_000] {
            same_as_sorting(&numbers, count);
        }
        let plateau: Vec<f32> =
            (0..20_000).map(|i| if i % 9 == 0 { i as f32 } else { -1.5 }).collect();
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
