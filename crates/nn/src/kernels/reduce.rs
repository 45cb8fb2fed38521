//! Sums over long vectors: norms of updates, weighted means of models, inner products.

use super::dispatch;
use crate::parallel::over_pieces;
use crate::{Matrix, Real};

/// Running sums of a long sum: number i goes to sum i mod 16. A fixed count makes the digits
/// independent of the CPU's vector width.
const LANES: usize = 16;

/// Numbers of a running sum that stays in the first-level cache.
const BLOCK: usize = 2048;

/// ‖a − b‖² accumulated in `f64`.
pub fn squared_distance<T: Real>(a: &[T], b: &[T]) -> f64 {
    assert_eq!(a.len(), b.len(), "vectors of the same length");
    let mut distance = SquaredDistance::default();
    distance.add(a, b);
    distance.sum()
}

/// ‖a − b‖² of vectors that are given piece by piece. The digits are those of [`squared_distance`]
/// if the length of every piece but the last is a multiple of [`LANES`].
#[derive(Default)]
pub(crate) struct SquaredDistance([f64; LANES]);

impl SquaredDistance {
    /// Adds the next numbers of both vectors.
    pub(crate) fn add<T: Real>(&mut self, a: &[T], b: &[T]) {
        squared_differences(a, b, &mut self.0);
    }

    pub(crate) fn sum(&self) -> f64 {
        self.0.iter().sum()
    }
}

/// Whether every number is finite.
pub(crate) fn all_finite<T: Real>(numbers: &[T]) -> bool {
    let mut finite = true;
    check_finite(numbers, &mut finite);
    finite
}

dispatch! {
    /// Clears `finite` if a number is infinite or NaN.
    fn check_finite<T: Real>(numbers: &[T], finite: &mut bool) {
        // A fold over all numbers instead of `all`: stopping early would prevent vectorisation.
        *finite &= numbers.iter().fold(true, |finite, x| finite & x.is_finite());
    }
}

/// ⟨a, b⟩ accumulated in `f64`.
pub(crate) fn inner_product<T: Real>(a: &[T], b: &[T]) -> f64 {
    assert_eq!(a.len(), b.len(), "vectors of the same length");
    let mut lanes = [0f64; LANES];
    products(a, b, &mut lanes);
    lanes.iter().sum()
}

/// Adds ⟨vᵢ, vⱼ⟩ to `sums[i][j]` for all j ≤ i. The vectors are pieces of long ones: within a piece
/// the sum is of type `T`, over pieces it is an `f64`.
///
/// # Panics
/// If the vectors differ in length or there are fewer sums than pairs.
pub fn add_inner_products<T: Real>(vectors: &[&[T]], sums: &mut [Vec<f64>]) {
    assert!(vectors.windows(2).all(|w| w[0].len() == w[1].len()), "vectors of the same length");
    for (i, (vector, sums)) in vectors.iter().zip(sums).enumerate() {
        dots_of_pieces(vector, &vectors[..=i], sums);
    }
}

/// ⟨a, row⟩ for each of the rows `rows` of a matrix, in their order. `a` is padded as the rows are.
///
/// # Panics
/// If `a` does not have the length of a padded row, there is no such row, or `out` has another
/// length than `rows`.
pub fn row_dots<T: Real>(a: &[T], matrix: &Matrix<T>, rows: &[u32], out: &mut [T]) {
    assert_eq!(
        (a.len(), out.len()),
        (matrix.stride(), rows.len()),
        "one padded row, one number per row"
    );
    dots_of_rows(a, matrix.data(), rows, out);
}

/// out = Σᵢ weightᵢ · vectorᵢ, in the order given.
pub fn weighted_sum<T: Real>(vectors: &[&[T]], weights: &[f64], out: &mut [T]) {
    assert!(
        !vectors.is_empty() && vectors.len() == weights.len(),
        "one weight per vector, at least one"
    );
    over_pieces([out], |start, [out]| {
        // Block by block, so that the running sum stays in the cache while the vectors stream past.
        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
            let first = start + block * BLOCK;
            for (i, (vector, weight)) in vectors.iter().zip(weights).enumerate() {
                let part = &vector[first..first + out.len()];
                if i == 0 {
                    scale(out, part, T::of(*weight));
                } else {
                    add_scaled(out, part, T::of(*weight));
                }
            }
        }
    });
}

/// The mean of several vectors as newest + Σ (vectorᵢ − newest) / count, the newest being the last.
/// In this form the mean of equal vectors is exact: a sum divided by the count may round.
///
/// # Panics
/// If there is no vector, or their lengths differ from that of `out`.
pub fn mean_of<T: Real>(vectors: &[&[T]], out: &mut [T]) {
    let [others @ .., newest] = vectors else { panic!("at least one vector") };
    assert!(vectors.iter().all(|v| v.len() == out.len()), "vectors of the same length");
    let share = T::of(1.0 / vectors.len() as f64);
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let range = block * BLOCK..block * BLOCK + out.len();
        let newest = &newest[range.clone()];
        match others.split_first() {
            Some((first, _)) => differences(out, &first[range.clone()], newest),
            None => out.fill(T::ZERO),
        }
        others.iter().skip(1).for_each(|other| add_differences(out, &other[range.clone()], newest));
        shift_scaled(out, newest, share);
    }
}

dispatch! {
    /// out = a − b.
    fn differences<T: Real>(out: &mut [T], a: &[T], b: &[T]) {
        for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
            *out = *a - *b;
        }
    }
}

dispatch! {
    /// out += a − b.
    fn add_differences<T: Real>(out: &mut [T], a: &[T], b: &[T]) {
        for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
            *out += *a - *b;
        }
    }
}

dispatch! {
    /// out = x + share · out.
    fn shift_scaled<T: Real>(out: &mut [T], x: &[T], share: T) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = *x + share * *out;
        }
    }
}

dispatch! {
    fn squared_differences<T: Real>(a: &[T], b: &[T], lanes: &mut [f64; LANES]) {
        let whole = a.len() / LANES * LANES;
        for (a, b) in a[..whole].chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
            for i in 0..LANES {
                let difference = a[i].f64() - b[i].f64();
                lanes[i] = difference.mul_add(difference, lanes[i]);
            }
        }
        // The tail continues the same lanes, so that pieces of whole lanes give the same digits as
        // one long vector.
        for i in whole..a.len() {
            let difference = a[i].f64() - b[i].f64();
            lanes[i - whole] = difference.mul_add(difference, lanes[i - whole]);
        }
    }
}

dispatch! {
    fn dots_of_rows<T: Real>(a: &[T], data: &[T], rows: &[u32], out: &mut [T]) {
        let (whole, rest) = a.as_chunks::<LANES>();
        for (out, &r) in out.iter_mut().zip(rows) {
            let row = &data[r as usize * a.len()..][..a.len()];
            let mut lanes = [T::ZERO; LANES];
            for (a, b) in whole.iter().zip(row.as_chunks::<LANES>().0) {
                for i in 0..LANES {
                    lanes[i] = a[i].mul_add(b[i], lanes[i]);
                }
            }
            for (lane, (a, b)) in lanes.iter_mut().zip(rest.iter().zip(&row[a.len() - rest.len()..])) {
                *lane = a.mul_add(*b, *lane);
            }
            *out = lanes.into_iter().fold(T::ZERO, |sum, lane| sum + lane);
        }
    }
}

dispatch! {
    fn dots_of_pieces<T: Real>(a: &[T], others: &[&[T]], sums: &mut [f64]) {
        // `f32` within a piece is twice as fast as `f64`; the error does not grow with the length
        // of the whole vector, since pieces are added in `f64`.
        let (whole, rest) = a.as_chunks::<LANES>();
        for (sum, other) in sums.iter_mut().zip(others) {
            let mut lanes = [T::ZERO; LANES];
            let (others, other_rest) = other.as_chunks::<LANES>();
            for (a, b) in whole.iter().zip(others) {
                for i in 0..LANES {
                    lanes[i] = a[i].mul_add(b[i], lanes[i]);
                }
            }
            for (lane, (a, b)) in lanes.iter_mut().zip(rest.iter().zip(other_rest)) {
                *lane = a.mul_add(*b, *lane);
            }
            *sum += lanes.iter().map(|lane| lane.f64()).sum::<f64>();
        }
    }
}

dispatch! {
    fn products<T: Real>(a: &[T], b: &[T], lanes: &mut [f64; LANES]) {
        for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
            for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
                *lane = a.f64().mul_add(b.f64(), *lane);
            }
        }
    }
}

dispatch! {
    /// out = scale · x.
    fn scale<T: Real>(out: &mut [T], x: &[T], scale: T) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = scale * *x;
        }
    }
}

dispatch! {
    /// out += scale · x.
    fn add_scaled<T: Real>(out: &mut [T], x: &[T], scale: T) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = scale.mul_add(*x, *out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With small integers every order of addition gives the same sum; 5 columns are fewer than the
    /// lanes, 40 more than twice as many.
    #[test]
    fn dots_of_chosen_rows() {
        for columns in [5, 16, 40] {
            let values: Vec<f32> = (0..3 * columns).map(|i| (i % 7) as f32 - 3.0).collect();
            let matrix = Matrix::from_rows(3, columns, &values);
            let plain = |a: usize, b: usize| {
                matrix.row(a).iter().zip(matrix.row(b)).map(|(x, y)| x * y).sum::<f32>()
            };
            let mut out = [9.0; 2];
            row_dots(
                &matrix.data()[matrix.stride()..][..matrix.stride()],
                &matrix,
                &[2, 1],
                &mut out,
            );
            assert_eq!(out, [plain(1, 2), plain(1, 1)]);
        }
    }

    #[test]
    fn a_number_that_is_not_finite_is_found_at_every_place() {
        for length in 0..40 {
            let mut numbers = vec![f32::MAX; length];
            assert!(all_finite(&numbers));
            for place in 0..length {
                for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                    numbers[place] = bad;
                    assert!(!all_finite(&numbers), "{bad} at {place} of {length}");
                }
                numbers[place] = -0.0;
            }
        }
    }

    #[test]
    fn inner_products_of_all_pairs() {
        let vector =
            |i: usize| (0..37).map(|x| ((x * (i + 2)) % 5) as f32 - 2.0).collect::<Vec<_>>();
        let vectors: Vec<Vec<f32>> = (0..3).map(vector).collect();
        let mut sums = vec![vec![10.0; 3]; 3];
        add_inner_products(&vectors.iter().map(|v| &v[..]).collect::<Vec<_>>(), &mut sums);
        for i in 0..3 {
            for j in 0..=i {
                let plain: f32 = vectors[i].iter().zip(&vectors[j]).map(|(a, b)| a * b).sum();
                assert_eq!(sums[i][j], 10.0 + f64::from(plain));
            }
        }
        assert_eq!(sums[0][1], 10.0, "each pair once");
    }

    #[test]
    fn sums_agree_with_plain_ones() {
        let a: Vec<f32> = (0..1003).map(|i| (i % 13) as f32 * 0.5).collect();
        let b: Vec<f32> = (0..1003).map(|i| (i % 7) as f32).collect();
        let plain: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(a - b).powi(2)).sum();
        assert!((squared_distance(&a, &b) - plain).abs() < 1e-9 * plain);
        let plain: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        assert!((inner_product(&a, &b) - plain).abs() < 1e-9 * plain);
        let mut out = vec![9.0; 1003];
        weighted_sum(&[&a, &b], &[0.25, 0.75], &mut out);
        assert!(
            out.iter()
                .zip(a.iter().zip(&b))
                .all(|(o, (a, b))| (o - (0.25 * a + 0.75 * b)).abs() < 1e-6)
        );
    }

    /// One model with weight 1 comes back bit for bit: FedAvg over one client is training on it.
    #[test]
    fn a_single_weight_of_one_is_the_identity() {
        let a: Vec<f32> = (0..100).map(|i| 0.1 / (1.0 + i as f32)).collect();
        let mut out = vec![0.0; 100];
        weighted_sum(&[&a], &[1.0], &mut out);
        assert_eq!(out, a);
    }
}
