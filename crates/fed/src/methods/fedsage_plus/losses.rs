//! Losses of the generator: the number of neighbours, and the distance of their features to real
//! ones.

use boostfgl_nn::{Inputs, Matrix, Pool, Real};

/// Degree loss L_d: the mean over `rows` of smoothL1(ñ − n), with smoothL1(e) = ½e² for |e| < 1 and
/// |e| − ½ beyond, and its gradient with respect to ñ, a column of `predicted`, times `factor`.
pub(super) fn degree<T: Real>(
    predicted: &Matrix<T>,
    rows: &[u32],
    truth: impl Fn(usize) -> usize,
    factor: f64,
    pool: &Pool<T>,
) -> (f64, Matrix<T>) {
    let mut gradient = pool.take(predicted.rows(), 1);
    gradient.data_mut().fill(T::ZERO);
    let scale = factor / rows.len().max(1) as f64;
    let mut total = 0.0;
    for (i, &r) in rows.iter().enumerate() {
        let error = predicted.row(r as usize)[0].f64() - truth(i) as f64;
        total += if error.abs() < 1.0 { 0.5 * error * error } else { error.abs() - 0.5 };
        gradient.row_mut(r as usize)[0] = T::of(scale * error.clamp(-1.0, 1.0));
    }
    (total * scale, gradient)
}

/// Greedy matching of generated features with real ones:
/// ℓ = min over candidates u of (1/d)‖x̃ − x_u‖², and 0 without candidates.
#[derive(Debug)]
pub(super) struct Matcher<T> {
    nearest: Vec<T>,
    candidate: Vec<T>,
}

impl<T: Real> Matcher<T> {
    /// For rows of `width` features.
    pub(super) fn new(width: usize) -> Self {
        Self { nearest: vec![T::ZERO; width], candidate: vec![T::ZERO; width] }
    }

    /// ℓ of one generated row against the nodes `candidates`; adds `factor`·∂ℓ/∂x̃ to `gradient`.
    /// Among equally near candidates the first counts.
    pub(super) fn pull(
        &mut self,
        row: &[T],
        candidates: &[u32],
        inputs: &Inputs<T>,
        factor: T,
        gradient: &mut [T],
    ) -> f64 {
        // Two buffers are swapped, so that the nearest candidate is never copied.
        let mut least: Option<T> = None;
        for &u in candidates {
            inputs.write_row(u as usize, &mut self.candidate);
            let distance = squared_distance(row, &self.candidate);
            if least.is_none_or(|least| distance < least) {
                least = Some(distance);
                std::mem::swap(&mut self.nearest, &mut self.candidate);
            }
        }
        let Some(least) = least else { return 0.0 };
        // Where two candidates are equally near, the minimum has no derivative; the first one's is
        // taken.
        let width = row.len() as f64;
        let slope = factor * T::of(2.0 / width);
        for ((g, x), t) in gradient.iter_mut().zip(row).zip(&self.nearest) {
            *g += slope * (*x - *t);
        }
        least.f64() / width
    }
}

/// ‖a − b‖², in eight independent sums, so that the compiler can vectorise it.
fn squared_distance<T: Real>(a: &[T], b: &[T]) -> T {
    let mut lanes = [T::ZERO; 8];
    for (a, b) in a.chunks(8).zip(b.chunks(8)) {
        for (lane, (a, b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            let difference = *a - *b;
            *lane += difference * difference;
        }
    }
    lanes.iter().fold(T::ZERO, |sum, x| sum + *x)
}
