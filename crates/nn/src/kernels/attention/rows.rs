//! The inner loops of attention, on some rows of a graph at a time.

use super::{Arcs, Attended, Heads, LANES, SLOPE};
use crate::kernels::dispatch;
use crate::{Csr, Matrix, Real};
use std::ops::Range;

/// ⟨a, b⟩ by eight running sums and one fixed way to add them up: the same digits on every CPU.
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
    /// See [`scores`](super::scores).
    fn head_dots<T: Real>(
        z: &[T],
        heads: Heads,
        a: &Matrix<T>,
        rows: Option<&[u32]>,
        range: Range<usize>,
        out: &mut [T],
    ) {
        // A single head spans the whole padded row, see `Heads::width`.
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
    /// See [`weights`](super::weights).
    fn softmax_of_arcs<T: Real, const H: usize>(
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
            // The largest exponent of each head, so that nothing overflows. Only arcs with a prior
            // count: a larger exponent without one could make all others underflow.
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
                    // Selected after the product: an arc without a prior may have an exponent above
                    // the largest, and 0 · ∞ would be NaN.
                    let tilted = prior * (e[h] - largest[h]).exp();
                    e[h] = if prior > T::ZERO { tilted } else { T::ZERO };
                    sum[h] += e[h];
                }
            }
            // The arc with the largest exponent adds its prior times e⁰ > 0: the sum is 0 only if
            // no arc has a prior.
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
    /// See [`gather`](super::gather).
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
    /// See [`arc_gradients`](super::arc_gradients).
    fn softmax_gradient_of_arcs<T: Real, const H: usize>(
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
            // Two passes over the arcs of a row: the mean ā has to be complete before α·(a − ā).
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
                    // LeakyReLU' needs the sign of sᵤ + tᵥ only: added again rather than stored per
                    // arc.
                    let rises = source[u as usize][h] + target[v][h] > T::ZERO;
                    let change = weight[h] * (a[h] - mean[h]);
                    a[h] = if rises { change } else { slope * change };
                }
            }
        }
    }
}

dispatch! {
    /// See [`sum_arcs`](super::sum_arcs).
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
    /// See [`add_outer`](super::add_outer).
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
    /// See [`outer_sum`](super::outer_sum).
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
