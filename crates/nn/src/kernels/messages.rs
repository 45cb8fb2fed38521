//! Passes over all pairs of candidates of learnable message passing, row by row. Nothing n × n is stored: what a pair says is
//! computed again whenever it is needed.

use super::dispatch;
use crate::Real;

/// Numbers multiplied side by side. Rows are padded to a multiple of it.
const LANES: usize = 8;

/// Who is compared with whom, and by what.
#[derive(Clone, Copy)]
pub(crate) struct Compared<'a, T> {
    /// Nodes, such that the candidates of each stand side by side.
    pub(crate) order: &'a [u32],
    /// Where in `order` the candidates of each node stand.
    pub(crate) ranges: &'a [(u32, u32)],
    /// Row length of all matrices.
    pub(crate) stride: usize,
    /// Unit rows whose similarity does not change.
    pub(crate) fixed: &'a [T],
    /// Unit rows whose similarity is learnt.
    pub(crate) learnt: &'a [T],
    /// Above which a fixed similarity counts, as 1.
    pub(crate) threshold: T,
    /// Share β of the fixed one.
    pub(crate) beta: T,
}

/// Mean and largest similarity, and the slope q of PReLU.
#[derive(Clone, Copy)]
pub(crate) struct Scale<T> {
    pub(crate) mean: T,
    pub(crate) largest: T,
    pub(crate) slope: T,
}

impl<T: Real> Compared<'_, T> {
    #[inline(always)]
    fn row<'m>(&self, matrix: &'m [T], i: usize) -> &'m [T] {
        &matrix[i * self.stride..(i + 1) * self.stride]
    }

    #[inline(always)]
    fn candidates(&self, i: usize) -> &[u32] {
        &self.order[self.ranges[i].0 as usize..self.ranges[i].1 as usize]
    }

    /// r of a pair: β·1[fixed > threshold] + (1 − β)·learnt, 0 on the diagonal.
    #[inline(always)]
    pub(crate) fn similarity(&self, i: usize, j: usize) -> T {
        if i == j {
            return T::ZERO;
        }
        let close = dot(self.row(self.fixed, i), self.row(self.fixed, j)) > self.threshold;
        let learnt = (T::ONE - self.beta) * dot(self.row(self.learnt, i), self.row(self.learnt, j));
        if close { learnt + self.beta } else { learnt }
    }
}

impl<T: Real> Scale<T> {
    /// The signed weight of a pair: (r − m)/(max − m) above the mean, −r/m below it, 1 on the diagonal.
    #[inline(always)]
    fn weight(&self, r: T, own: bool) -> T {
        if own {
            T::ONE
        } else if r > self.mean {
            (r - self.mean) / (self.largest - self.mean)
        } else if self.mean > T::ZERO {
            -(r / self.mean)
        } else {
            T::ZERO
        }
    }

    /// PReLU and its slope at f.
    #[inline(always)]
    fn prelu(&self, f: T) -> (T, T) {
        if f > T::ZERO { (f, T::ONE) } else { (self.slope * f, self.slope) }
    }
}

dispatch! {
    /// Sum and largest of the similarities of each row of `rows`.
    fn extents<T: Real>(pairs: Compared<'_, T>, first: usize, out: &mut [(f64, T)]) {
        for (i, out) in (first..).zip(out) {
            let (mut sum, mut largest) = (0.0, T::ZERO);
            for &j in pairs.candidates(i) {
                let r = pairs.similarity(i, j as usize);
                sum += r.f64();
                largest = if r > largest { r } else { largest };
            }
            *out = (sum, largest);
        }
    }
}

dispatch! {
    /// Σⱼ PReLU(fᵢⱼ)·aⱼ + PReLU(−fᵢⱼ)·bⱼ into rows of `out`. As f is symmetric this is the way there and the way back.
    fn gather<T: Real>(pairs: Compared<'_, T>, scale: Scale<T>, a: &[T], b: &[T], first: usize, out: &mut [T]) {
        out.fill(T::ZERO);
        for (i, out) in (first..).zip(out.chunks_exact_mut(pairs.stride)) {
            for &j in pairs.candidates(i) {
                let j = j as usize;
                let f = scale.weight(pairs.similarity(i, j), i == j);
                let (positive, negative) = (scale.prelu(f).0, scale.prelu(-f).0);
                let (a, b) = (pairs.row(a, j), pairs.row(b, j));
                for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
                    *out = positive.mul_add(*a, negative.mul_add(*b, *out));
                }
            }
        }
    }
}

/// What goes back: gradients with respect to both sums, and what was summed.
#[derive(Clone, Copy)]
pub(crate) struct Back<'a, T> {
    pub(crate) positive: &'a [T],
    pub(crate) negative: &'a [T],
    pub(crate) values: &'a [T],
}

impl<T: Real> Back<'_, T> {
    /// ∂/∂f of the pair (i, j), and ∂/∂q.
    #[inline(always)]
    fn of(&self, pairs: &Compared<'_, T>, scale: &Scale<T>, f: T, i: usize, j: usize) -> (T, T) {
        let value = pairs.row(self.values, j);
        let to_positive = dot(pairs.row(self.positive, i), value);
        let to_negative = dot(pairs.row(self.negative, i), value);
        let to_f = to_positive * scale.prelu(f).1 - to_negative * scale.prelu(-f).1;
        let to_slope = if f > T::ZERO { -(to_negative * f) } else { to_positive * f };
        (to_f, to_slope)
    }
}

dispatch! {
    /// ∂/∂m, ∂/∂max and ∂/∂q, added up in each row.
    fn slopes<T: Real>(pairs: Compared<'_, T>, scale: Scale<T>, back: Back<'_, T>, first: usize, out: &mut [[f64; 3]]) {
        let range = scale.largest - scale.mean;
        for (i, out) in (first..).zip(out) {
            *out = [0.0; 3];
            for &j in pairs.candidates(i) {
                let j = j as usize;
                let r = pairs.similarity(i, j);
                let f = scale.weight(r, i == j);
                let (to_f, to_slope) = back.of(&pairs, &scale, f, i, j);
                out[2] += to_slope.f64();
                if i == j {
                    continue;
                }
                if r > scale.mean {
                    out[0] += (to_f * (f - T::ONE) / range).f64();
                    out[1] -= (to_f * f / range).f64();
                } else if scale.mean > T::ZERO {
                    out[0] -= (to_f * f / scale.mean).f64();
                }
            }
        }
    }
}

dispatch! {
    /// Gradient with respect to the learnt unit rows. `all` is what reaches every pair through the mean.
    fn turn<T: Real>(pairs: Compared<'_, T>, scale: Scale<T>, back: Back<'_, T>, all: T, first: usize, out: &mut [T]) {
        out.fill(T::ZERO);
        let share = T::ONE - pairs.beta;
        for (i, out) in (first..).zip(out.chunks_exact_mut(pairs.stride)) {
            for &j in pairs.candidates(i) {
                let j = j as usize;
                if i == j {
                    continue;
                }
                let r = pairs.similarity(i, j);
                let f = scale.weight(r, false);
                // The pair stands in the matrix twice.
                let to_f = back.of(&pairs, &scale, f, i, j).0 + back.of(&pairs, &scale, f, j, i).0;
                let steepness = if r > scale.mean {
                    T::ONE / (scale.largest - scale.mean)
                } else if scale.mean > T::ZERO {
                    -(T::ONE / scale.mean)
                } else {
                    T::ZERO
                };
                let weight = share * (to_f * steepness + all + all);
                for (out, u) in out.iter_mut().zip(pairs.row(pairs.learnt, j)) {
                    *out = weight.mul_add(*u, *out);
                }
            }
        }
    }
}

/// ⟨a, b⟩, the same digits for ⟨b, a⟩.
#[inline(always)]
fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let mut lanes = [T::ZERO; LANES];
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for l in 0..LANES {
            lanes[l] = a[l].mul_add(b[l], lanes[l]);
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

dispatch! {
    /// Which candidates of each row have a fixed similarity above the threshold.
    fn alike<T: Real>(pairs: Compared<'_, T>, first: usize, out: &mut [Vec<u32>]) {
        for (i, out) in (first..).zip(out) {
            let own = pairs.row(pairs.fixed, i);
            let close = |j: &&u32| **j as usize != i && dot(own, pairs.row(pairs.fixed, **j as usize)) > pairs.threshold;
            out.extend(pairs.candidates(i).iter().filter(close));
        }
    }
}
