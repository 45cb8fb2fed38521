//! Rules that treat each coordinate by itself: the mean of a window of its sorted values.

use boostfgl_nn::{Params, Real};
use rayon::prelude::*;
use std::ops::Range;

/// Rows of a tensor that one task takes: fixed, so that no sum depends on the number of threads.
const ROWS: usize = 16;

/// target ← for every coordinate the mean of the sorted values that `window` chooses. Returns the
/// share that each model has in the result: at every coordinate, those whose value lies in the
/// window share it equally.
pub(super) fn windowed<T: Real>(
    models: &[&Params<T>],
    target: &mut Params<T>,
    window: impl Fn(&[f64]) -> Range<usize> + Sync,
) -> Vec<f64> {
    let (count, mut shares) = (target.count(), vec![0.0; models.len()]);
    for (t, tensor) in target.tensors_mut().iter_mut().enumerate() {
        let (columns, stride) = (tensor.columns(), tensor.stride());
        let parts: Vec<Vec<f64>> = tensor
            .data_mut()
            .par_chunks_mut((ROWS * stride).max(1))
            .enumerate()
            .map(|(chunk, rows)| {
                let mut places = Places::new(models.len());
                for (r, row) in rows.chunks_mut(stride.max(1)).enumerate() {
                    let sources: Vec<&[T]> =
                        models.iter().map(|m| m.tensors()[t].row(chunk * ROWS + r)).collect();
                    for (lanes, out) in row[..columns].chunks_mut(LANES).enumerate() {
                        places.choose(&sources, lanes * LANES, out, &window);
                    }
                }
                places.shares.iter().map(|lanes| lanes.iter().sum()).collect()
            })
            .collect();
        // In the order of the tasks, so that the sum does not depend on the number of threads.
        for part in parts {
            shares.iter_mut().zip(part).for_each(|(sum, share)| *sum += share);
        }
    }
    shares.iter_mut().for_each(|share| *share /= count.max(1) as f64);
    shares
}

/// Coordinates that are processed together, so that the compiler can vectorise over them.
const LANES: usize = 8;

/// Up to this number of models, lanes are sorted together by odd-even transposition. Above it, its
/// n² comparisons cost more than vectorisation saves.
const FEW: usize = 32;

/// The values of [`LANES`] coordinates of all models.
struct Places<T> {
    values: Vec<[T; LANES]>,
    sorted: Vec<[T; LANES]>,
    column: Vec<f64>,
    shares: Vec<[f64; LANES]>,
}

impl<T: Real> Places<T> {
    fn new(models: usize) -> Self {
        let zeros = vec![[T::ZERO; LANES]; models];
        Self {
            values: zeros.clone(),
            sorted: zeros,
            column: Vec::with_capacity(models),
            shares: vec![[0.0; LANES]; models],
        }
    }

    /// out ← the means of the windows of the coordinates from `at` on.
    fn choose(
        &mut self,
        sources: &[&[T]],
        at: usize,
        out: &mut [T],
        window: impl Fn(&[f64]) -> Range<usize>,
    ) {
        for (values, source) in self.values.iter_mut().zip(sources) {
            values[..out.len()].copy_from_slice(&source[at..at + out.len()]);
        }
        self.sorted.clone_from(&self.values);
        sort(&mut self.sorted);
        let mut ends = [[T::ZERO; LANES]; 2];
        for (lane, out) in out.iter_mut().enumerate() {
            self.column.clear();
            self.column.extend(self.sorted.iter().map(|values| values[lane].f64()));
            let chosen = &self.column[window(&self.column)];
            let (first, last) = (chosen[0], chosen[chosen.len() - 1]);
            // The mean of equal values is that value to the bit; a sum and a division may not be.
            *out = T::of(if first == last {
                first
            } else {
                chosen.iter().sum::<f64>() / chosen.len() as f64
            });
            (ends[0][lane], ends[1][lane]) = (T::of(first), T::of(last));
        }
        self.share(ends, out.len());
    }

    /// Divides each coordinate equally among all models whose value lies between the ends of the
    /// window. Models with equal values get equal shares, though sorting put only some inside.
    fn share(&mut self, ends: [[T; LANES]; 2], lanes: usize) {
        let mut counts = [0.0; LANES];
        for values in &self.values {
            for (lane, count) in counts.iter_mut().enumerate() {
                *count += if is_inside(values, &ends, lane) { 1.0 } else { 0.0 };
            }
        }
        let mut each = [0.0; LANES];
        each[..lanes].iter_mut().zip(counts).for_each(|(each, count)| *each = 1.0 / count);
        for (values, sums) in self.values.iter().zip(&mut self.shares) {
            for (lane, sum) in sums.iter_mut().enumerate() {
                *sum += if is_inside(values, &ends, lane) { each[lane] } else { 0.0 };
            }
        }
    }
}

/// Whether the value in `lane` lies between the two ends of that lane's window.
#[inline]
fn is_inside<T: Real>(values: &[T; LANES], ends: &[[T; LANES]; 2], lane: usize) -> bool {
    ends[0][lane] <= values[lane] && values[lane] <= ends[1][lane]
}

/// Sorts every lane.
fn sort<T: Real>(values: &mut [[T; LANES]]) {
    if values.len() > FEW {
        return (0..LANES).for_each(|lane| {
            let mut column: Vec<T> = values.iter().map(|values| values[lane]).collect();
            column.sort_unstable_by(|a, b| a.f64().total_cmp(&b.f64()));
            values.iter_mut().zip(column).for_each(|(values, x)| values[lane] = x);
        });
    }
    // Odd-even transposition sorts n values in n passes over neighbouring pairs, without branches.
    for pass in 0..values.len() {
        for pair in values[pass % 2..].chunks_exact_mut(2) {
            let (low, high) = (pair[0], pair[1]);
            for lane in 0..LANES {
                let swap = high[lane] < low[lane];
                pair[0][lane] = if swap { high[lane] } else { low[lane] };
                pair[1][lane] = if swap { low[lane] } else { high[lane] };
            }
        }
    }
}

/// The middle one or two of `count` places.
pub(super) fn middle(count: usize) -> Range<usize> {
    (count - 1) / 2..count / 2 + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_nn::{Matrix, TensorShape};
    use proptest::prelude::*;

    /// More rows than a task takes and more columns than lanes: every coordinate is the median of
    /// its own values.
    #[test]
    fn every_coordinate_of_a_large_tensor_is_combined_separately() {
        let (rows, columns) = (2 * ROWS + 5, LANES + 3);
        let value =
            |model: usize, at: usize| ((at * 31 + model * 17 + at * at * model) % 97) as f64;
        let model = |of: &dyn Fn(usize) -> f64| {
            let values: Vec<f64> = (0..rows * columns).map(of).collect();
            let shape = TensorShape::weight("w", rows, columns);
            Params::from_tensors(&[shape], vec![Matrix::from_rows(rows, columns, &values)])
        };
        let models: Vec<Params<f64>> = (0..3).map(|k| model(&|at| value(k, at))).collect();
        let mut target = model(&|_| 0.0);
        let shares = windowed(&models.iter().collect::<Vec<_>>(), &mut target, |sorted| {
            middle(sorted.len())
        });
        let mut expected = [0.0; 3];
        for (at, found) in target.tensors()[0].to_vec().into_iter().enumerate() {
            let mut values = [0, 1, 2].map(|k| value(k, at));
            let equal = |x: f64| (0..3).filter(move |&k| value(k, at) == x);
            values.sort_unstable_by(f64::total_cmp);
            assert_eq!(found, values[1], "coordinate {at}");
            let share = 1.0 / (equal(values[1]).count() * rows * columns) as f64;
            equal(values[1]).for_each(|k| expected[k] += share);
        }
        assert!(
            shares.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12),
            "{shares:?}"
        );
    }

    proptest! {
        /// Few and many models, by either way of sorting.
        #[test]
        fn every_lane_is_sorted(
            values in prop::collection::vec(prop::array::uniform8(-3i8..4), 1..2 * FEW),
        ) {
            let mut sorted: Vec<[f64; LANES]> =
                values.iter().map(|lanes| lanes.map(f64::from)).collect();
            sort(&mut sorted);
            for lane in 0..LANES {
                let mut expected: Vec<f64> =
                    values.iter().map(|lanes| f64::from(lanes[lane])).collect();
                expected.sort_unstable_by(f64::total_cmp);
                prop_assert!(sorted.iter().map(|lanes| lanes[lane]).eq(expected));
            }
        }
    }
}
