//! Rules that look at one coordinate at a time: the mean of a window of its sorted values.

use boostfgl_nn::{Params, Real};
use rayon::prelude::*;
use std::ops::Range;

/// Rows of a tensor that one task takes: fixed, so that no sum depends on the number of threads.
const ROWS: usize = 16;

/// target ← for every coordinate the mean of the sorted values that `window` chooses. Returns the share that each model
/// has in the result: at every coordinate, those whose value lies in the window share it equally.
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
                let mut place = Place::new(models.len());
                for (r, row) in rows.chunks_mut(stride.max(1)).enumerate() {
                    let sources: Vec<&[T]> = models.iter().map(|m| m.tensors()[t].row(chunk * ROWS + r)).collect();
                    for (c, out) in row[..columns].iter_mut().enumerate() {
                        *out = T::of(place.choose(sources.iter().map(|source| source[c].f64()), &window));
                    }
                }
                place.shares
            })
            .collect();
        for part in parts {
            shares.iter_mut().zip(part).for_each(|(sum, share)| *sum += share);
        }
    }
    shares.iter_mut().for_each(|share| *share /= count.max(1) as f64);
    shares
}

/// One coordinate of all models.
struct Place {
    values: Vec<f64>,
    sorted: Vec<f64>,
    shares: Vec<f64>,
}

impl Place {
    fn new(models: usize) -> Self {
        Self { values: Vec::with_capacity(models), sorted: Vec::with_capacity(models), shares: vec![0.0; models] }
    }

    fn choose(&mut self, values: impl Iterator<Item = f64>, window: impl Fn(&[f64]) -> Range<usize>) -> f64 {
        self.values.clear();
        self.values.extend(values);
        self.sorted.clone_from(&self.values);
        self.sorted.sort_unstable_by(f64::total_cmp);
        let chosen = &self.sorted[window(&self.sorted)];
        let (first, last) = (chosen[0], chosen[chosen.len() - 1]);
        // Equal values are told apart by nobody: they share.
        let inside = |x: &f64| (first..=last).contains(x);
        let share = 1.0 / self.values.iter().filter(|x| inside(x)).count() as f64;
        self.shares.iter_mut().zip(&self.values).filter(|(_, x)| inside(x)).for_each(|(sum, _)| *sum += share);
        // Of equal values the mean is the value, to the last bit.
        if first == last { first } else { chosen.iter().sum::<f64>() / chosen.len() as f64 }
    }
}

/// The middle one or two of `count` places.
pub(super) fn middle(count: usize) -> Range<usize> {
    (count - 1) / 2..count / 2 + 1
}
