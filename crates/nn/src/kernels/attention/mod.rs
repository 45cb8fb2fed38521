//! Attention over the arcs of a graph, several heads side by side.
//!
//! A row of representations holds its heads one after the other. Numbers that belong to an arc and
//! a head lie arc by arc, `arcs[k · H + h]`, in the order of the propagation matrix: O(arcs ·
//! heads) memory, never O(arcs · width). Numbers that belong to a node and a head are a [`Matrix`]
//! with at most [`LANES`] columns.

use super::dispatch;
use crate::{Csr, Matrix, Real, parallel};
use std::ops::Range;

/// The most heads there can be, and the stride of a matrix with one column per head.
pub(crate) const LANES: usize = 8;

/// LeakyReLU's slope below zero.
const SLOPE: f64 = 0.2;

/// How the columns of a representation are shared out among heads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads {
    pub(crate) count: usize,
    /// Columns of a head; with a single head the padding too, which is zero.
    width: usize,
    stride: usize,
}

impl Heads {
    /// The heads of representations `z` under attention vectors `a`, one row each.
    ///
    /// # Panics
    /// If the shapes do not fit, or there are neither 1, 2, 4 nor 8 heads.
    pub(crate) fn of<T: Real>(z: &Matrix<T>, a: &Matrix<T>) -> Self {
        assert_eq!(z.columns(), a.rows() * a.columns(), "columns of all heads");
        assert!([1, 2, 4, LANES].contains(&a.rows()), "1, 2, 4 or 8 heads, not {}", a.rows());
        let width = if a.rows() == 1 { z.stride() } else { a.columns() };
        Self { count: a.rows(), width, stride: z.stride() }
    }

    fn columns(self, h: usize) -> Range<usize> {
        h * self.width..(h + 1) * self.width
    }
}

/// Numbers per arc and head, read along the rows of `pattern`.
#[derive(Clone, Copy)]
pub(crate) struct Arcs<'a, T> {
    pub(crate) pattern: &'a Csr<T>,
    /// For each entry of the pattern the arc it stands for; `None` if they are in the same order.
    pub(crate) from: Option<&'a [u32]>,
    pub(crate) values: &'a [T],
}

impl<T: Real> Arcs<'_, T> {
    /// The numbers of the arc at position `k` of the pattern.
    #[inline(always)]
    fn at(&self, k: usize, heads: usize) -> &[T] {
        let arc = self.from.map_or(k, |from| from[k] as usize);
        &self.values[arc * heads..(arc + 1) * heads]
    }
}

/// What a softmax over arcs was made of and what it gave.
#[derive(Clone, Copy)]
pub(crate) struct Attended<'a, T> {
    /// sᵤ of every source and head.
    pub(crate) source: &'a Matrix<T>,
    /// tᵥ of every target and head.
    pub(crate) target: &'a Matrix<T>,
    /// αᵤᵥ of every arc and head.
    pub(crate) weights: &'a [T],
}

/// out[i, h] = ⟨z[rows[i]]ʰ, aʰ⟩, for all rows if `None`.
pub(crate) fn scores<T: Real>(
    z: &Matrix<T>,
    a: &Matrix<T>,
    rows: Option<&[u32]>,
    out: &mut Matrix<T>,
) {
    let (heads, work) = (Heads::of(z, a), out.rows() * z.stride());
    parallel::over_rows(out.data_mut(), LANES, work, |range, out| {
        head_dots(z.data(), heads, a, rows, range, out);
    });
}

/// αᵤᵥ = Pᵥᵤ·exp(e) / Σ Pᵥᵤ·exp(e) over the arcs into v, e = LeakyReLU(sᵤ + tᵥ); all 0 if every Pᵥᵤ
/// is.
pub(crate) fn weights<T: Real>(
    p: &Csr<T>,
    source: &Matrix<T>,
    target: &Matrix<T>,
    heads: Heads,
    out: &mut [T],
) {
    over_arcs(p, heads, out, |range, out| match heads.count {
        1 => soften::<T, 1>(p, range, source.data(), target.data(), out),
        2 => soften::<T, 2>(p, range, source.data(), target.data(), out),
        4 => soften::<T, 4>(p, range, source.data(), target.data(), out),
        _ => soften::<T, LANES>(p, range, source.data(), target.data(), out),
    });
}

/// out[v]ʰ = Σ over the entries (v, u) of the pattern of arcʰ · z[u]ʰ.
pub(crate) fn gather<T: Real>(arcs: Arcs<'_, T>, z: &Matrix<T>, heads: Heads, out: &mut Matrix<T>) {
    let (stride, work) = (heads.stride, arcs.pattern.non_zeros() * heads.stride);
    let lanes = [16, 8, 4, 2]
        .into_iter()
        .find(|w| heads.width.is_multiple_of(*w) && stride.is_multiple_of(*w));
    parallel::over_rows(out.data_mut(), stride, work, |range, out| match lanes {
        Some(16) => gather_rows::<T, 16>(arcs, range, z.data(), heads, out),
        Some(8) => gather_rows::<T, 8>(arcs, range, z.data(), heads, out),
        Some(4) => gather_rows::<T, 4>(arcs, range, z.data(), heads, out),
        Some(2) => gather_rows::<T, 2>(arcs, range, z.data(), heads, out),
        _ => gather_rows::<T, 1>(arcs, range, z.data(), heads, out),
    });
}

/// ∂(sᵤ + tᵥ) of every arc and head, given the gradient of the gathered rows: with a = ⟨gᵥʰ, zᵤʰ⟩
/// and ā its mean under α, it is α·(a − ā)·LeakyReLU'(sᵤ + tᵥ).
pub(crate) fn arc_gradients<T: Real>(
    p: &Csr<T>,
    attended: Attended<'_, T>,
    gradient: &Matrix<T>,
    z: &Matrix<T>,
    heads: Heads,
    out: &mut [T],
) {
    over_arcs(p, heads, out, |range, out| match heads.count {
        1 => unsoften::<T, 1>(p, range, attended, gradient, z, heads, out),
        2 => unsoften::<T, 2>(p, range, attended, gradient, z, heads, out),
        4 => unsoften::<T, 4>(p, range, attended, gradient, z, heads, out),
        _ => unsoften::<T, LANES>(p, range, attended, gradient, z, heads, out),
    });
}

/// out[v, h] = Σ over the entries of row v of the pattern.
pub(crate) fn sum_arcs<T: Real>(arcs: Arcs<'_, T>, heads: Heads, out: &mut Matrix<T>) {
    let work = arcs.pattern.non_zeros() * heads.count;
    parallel::over_rows(out.data_mut(), LANES, work, |range, out| {
        sum_rows(arcs, range, heads.count, out)
    });
}

/// out[i]ʰ += scores[i, h] · aʰ.
pub(crate) fn add_outer<T: Real>(scores: &Matrix<T>, a: &Matrix<T>, out: &mut Matrix<T>) {
    let (heads, work) = (Heads::of(out, a), out.data().len());
    parallel::over_rows(out.data_mut(), heads.stride, work, |rows, out| {
        add_outer_rows(&scores.data()[rows.start * LANES..rows.end * LANES], a, heads, out);
    });
}

/// out ʰ = Σᵢ scores[i, h] · z[i]ʰ.
pub(crate) fn outer_sum<T: Real>(scores: &Matrix<T>, z: &Matrix<T>, out: &mut Matrix<T>) {
    let (heads, stride) = (Heads::of(z, out), out.stride());
    parallel::partial_sums(z.rows(), out.data_mut(), |rows, out| {
        let (scores, z) = (
            &scores.data()[rows.start * LANES..rows.end * LANES],
            &z.data()[rows.start * heads.stride..],
        );
        outer_sum_rows(scores, z, heads, stride, out);
    });
}

/// Calls `piece(rows, out)` for pieces of the numbers of all arcs.
fn over_arcs<T: Real>(
    p: &Csr<T>,
    heads: Heads,
    out: &mut [T],
    piece: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let end = |row: usize| p.row_range(row).end * heads.count;
    // An exponential or a product of two rows for each number.
    let work = out.len() * heads.width.max(16);
    parallel::over_segments(out, p.rows(), end, work, piece);
}

/// ⟨a, b⟩ by eight running sums, whatever the CPU, so that the digits are the same on all.
#[inline(always)]
fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut lanes = [T::ZERO; 8];
    for (a, b) in a.iter().zip(b) {
        for i in 0..8 {
            lanes[i] = a[i].mul_add(b[i], lanes[i]);
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let mut sum = ((a + b) + (c + d)) + ((e + f) + (g + h));
    for (a, b) in a_rest.iter().zip(b_rest) {
        sum = a.mul_add(*b, sum);
    }
    sum
}

dispatch! {
    fn head_dots<T: Real>(
        z: &[T],
        heads: Heads,
        a: &Matrix<T>,
        rows: Option<&[u32]>,
        range: Range<usize>,
        out: &mut [T],
    ) {
        let vectors = a.data();
        let from = if heads.count == 1 { heads.width } else { a.stride() };
        for (i, out) in range.zip(out.chunks_exact_mut(LANES)) {
            let row = rows.map_or(i, |rows| rows[i] as usize);
            let z = &z[row * heads.stride..(row + 1) * heads.stride];
            for h in 0..heads.count {
                out[h] = dot(&z[heads.columns(h)], &vectors[h * from..h * from + heads.width]);
            }
        }
    }
}

dispatch! {
    fn soften<T: Real, const H: usize>(
        p: &Csr<T>,
        range: Range<usize>,
        source: &[T],
        target: &[T],
        out: &mut [T],
    ) {
        let ((source, _), (target, _)) = (source.as_chunks::<LANES>(), target.as_chunks::<LANES>());
        let (mut rest, _) = out.as_chunks_mut::<H>();
        for v in range {
            let row = p.row_range(v);
            let (priors, senders) = (&p.values()[row.clone()], &p.indices()[row.clone()]);
            let (arcs, after) = rest.split_at_mut(row.len());
            rest = after;
            // The largest exponent of each head among arcs that count, so that nothing overflows.
            let (mut largest, mut counts) = ([T::ZERO; H], false);
            for ((e, &u), &prior) in arcs.iter_mut().zip(senders).zip(priors) {
                for h in 0..H {
                    e[h] = leaky(source[u as usize][h] + target[v][h]);
                }
                if prior > T::ZERO {
                    for h in 0..H {
                        largest[h] = if !counts || e[h] > largest[h] { e[h] } else { largest[h] };
                    }
                    counts = true;
                }
            }
            let mut sum = [T::ZERO; H];
            for (e, &prior) in arcs.iter_mut().zip(priors) {
                for h in 0..H {
                    let tilted = prior * (e[h] - largest[h]).exp();
                    e[h] = if prior > T::ZERO { tilted } else { T::ZERO };
                    sum[h] += e[h];
                }
            }
            let share = sum.map(|sum| if counts { T::ONE / sum } else { T::ZERO });
            for e in arcs {
                for h in 0..H {
                    e[h] = e[h] * share[h];
                }
            }
        }
    }
}

/// LeakyReLU.
#[inline(always)]
fn leaky<T: Real>(x: T) -> T {
    if x > T::ZERO { x } else { T::of(SLOPE) * x }
}

dispatch! {
    fn gather_rows<T: Real, const W: usize>(
        arcs: Arcs<'_, T>,
        range: Range<usize>,
        z: &[T],
        heads: Heads,
        out: &mut [T],
    ) {
        let (z, _) = z.as_chunks::<W>();
        let (out, _) = out.as_chunks_mut::<W>();
        let (per_row, per_head) = (heads.stride / W, heads.width / W);
        for (v, out) in range.zip(out.chunks_exact_mut(per_row)) {
            out.fill([T::ZERO; W]);
            for k in arcs.pattern.row_range(v) {
                let u = arcs.pattern.indices()[k] as usize;
                let z = &z[u * per_row..(u + 1) * per_row];
                let pairs = out.chunks_exact_mut(per_head).zip(z.chunks_exact(per_head));
                for ((out, z), &weight) in pairs.zip(arcs.at(k, heads.count)) {
                    for (out, z) in out.iter_mut().zip(z) {
                        for c in 0..W {
                            out[c] = weight.mul_add(z[c], out[c]);
                        }
                    }
                }
            }
        }
    }
}

dispatch! {
    fn unsoften<T: Real, const H: usize>(
        p: &Csr<T>,
        range: Range<usize>,
        attended: Attended<'_, T>,
        gradient: &Matrix<T>,
        z: &Matrix<T>,
        heads: Heads,
        out: &mut [T],
    ) {
        let (weights, _) = attended.weights.as_chunks::<H>();
        let (source, _) = attended.source.data().as_chunks::<LANES>();
        let (target, _) = attended.target.data().as_chunks::<LANES>();
        let (mut rest, _) = out.as_chunks_mut::<H>();
        let (z, slope) = (z.data(), T::of(SLOPE));
        for v in range {
            let row = p.row_range(v);
            let (weights, senders) = (&weights[row.clone()], &p.indices()[row.clone()]);
            let (arcs, after) = rest.split_at_mut(row.len());
            rest = after;
            let own = &gradient.data()[v * heads.stride..(v + 1) * heads.stride];
            let mut mean = [T::ZERO; H];
            for ((a, &u), weight) in arcs.iter_mut().zip(senders).zip(weights) {
                let z = &z[u as usize * heads.stride..(u as usize + 1) * heads.stride];
                for h in 0..H {
                    a[h] = dot(&own[heads.columns(h)], &z[heads.columns(h)]);
                    mean[h] = weight[h].mul_add(a[h], mean[h]);
                }
            }
            for ((a, &u), weight) in arcs.iter_mut().zip(senders).zip(weights) {
                for h in 0..H {
                    let rises = source[u as usize][h] + target[v][h] > T::ZERO;
                    let change = weight[h] * (a[h] - mean[h]);
                    a[h] = if rises { change } else { slope * change };
                }
            }
        }
    }
}

dispatch! {
    fn sum_rows<T: Real>(arcs: Arcs<'_, T>, range: Range<usize>, heads: usize, out: &mut [T]) {
        for (v, out) in range.zip(out.chunks_exact_mut(LANES)) {
            out.fill(T::ZERO);
            for k in arcs.pattern.row_range(v) {
                for (sum, x) in out.iter_mut().zip(arcs.at(k, heads)) {
                    *sum += *x;
                }
            }
        }
    }
}

dispatch! {
    fn add_outer_rows<T: Real>(scores: &[T], a: &Matrix<T>, heads: Heads, out: &mut [T]) {
        for (out, scores) in out.chunks_exact_mut(heads.stride).zip(scores.chunks_exact(LANES)) {
            for h in 0..heads.count {
                for (out, a) in out[heads.columns(h)].iter_mut().zip(a.row(h)) {
                    *out = scores[h].mul_add(*a, *out);
                }
            }
        }
    }
}

dispatch! {
    fn outer_sum_rows<T: Real>(scores: &[T], z: &[T], heads: Heads, stride: usize, out: &mut [T]) {
        out.fill(T::ZERO);
        for (z, scores) in z.chunks_exact(heads.stride).zip(scores.chunks_exact(LANES)) {
            for (h, out) in out.chunks_exact_mut(stride).enumerate() {
                for (sum, z) in out.iter_mut().zip(&z[heads.columns(h)]) {
                    *sum = scores[h].mul_add(*z, *sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    fn matrix(rows: usize, columns: usize, salt: usize) -> Matrix<f32> {
        let values: Vec<f32> =
            (0..rows * columns).map(|i| ((i * 29 + salt) % 23) as f32 * 0.17 - 1.9).collect();
        Matrix::from_rows(rows, columns, &values)
    }

    /// Every kernel on a small graph with a prior of 0 and a row without any prior.
    fn everything(heads: usize, width: usize) -> Vec<f32> {
        let entries: Vec<(usize, u32, f32)> =
            (0..40).map(|i| ((i * 7) % 9, ((i * 5) % 11) as u32, (i % 4) as f32 * 0.5)).collect();
        let p = Csr::from_entries(10, 11, &entries);
        let (z, a, g) =
            (matrix(11, heads * width, 3), matrix(heads, width, 8), matrix(10, heads * width, 5));
        let shape = Heads::of(&z, &a);
        let (mut source, mut target) = (Matrix::zeros(11, heads), Matrix::zeros(10, heads));
        scores(&z, &a, None, &mut source);
        scores(&z, &a, Some(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), &mut target);
        let mut alpha = vec![0.0; p.non_zeros() * heads];
        weights(&p, &source, &target, shape, &mut alpha);
        let mut out = Matrix::zeros(10, heads * width);
        gather(Arcs { pattern: &p, from: None, values: &alpha }, &z, shape, &mut out);
        let mut back = vec![0.0; alpha.len()];
        let attended = Attended { source: &source, target: &target, weights: &alpha };
        arc_gradients(&p, attended, &g, &z, shape, &mut back);
        for v in 0..10 {
            let sum: f32 = p.row_range(v).map(|k| alpha[k * heads]).sum();
            let prior: f32 = p.row_range(v).map(|k| p.values()[k]).sum();
            assert!(
                (sum - if prior > 0.0 { 1.0 } else { 0.0 }).abs() < 1e-6,
                "row {v} sums to {sum}"
            );
        }
        assert!(
            alpha
                .iter()
                .step_by(heads)
                .zip(p.values())
                .all(|(alpha, prior)| *prior > 0.0 || *alpha == 0.0)
        );
        [alpha, out.to_vec(), back].concat()
    }

    #[test]
    fn all_levels_give_the_same_digits() {
        for (heads, width) in [(1, 7), (1, 40), (2, 3), (4, 16), (8, 1), (8, 8), (8, 24)] {
            let results: Vec<Vec<f32>> = Level::available()
                .into_iter()
                .map(|level| {
                    level.install();
                    everything(heads, width)
                })
                .collect();
            Level::best().install();
            assert!(results.iter().all(|r| *r == results[0]), "{heads} heads of width {width}");
            assert!(results[0].iter().all(|x| x.is_finite()));
        }
    }
}
