//! Passes over the arcs of a graph, grouped by target node, for topology boosting.

use super::dispatch;
use crate::{Matrix, Real};

/// ⟨pᵤ, pᵥ⟩ for every arc u → v of a graph in compressed rows.
///
/// # Panics
/// If the arrays do not describe a graph on the rows of `p`.
pub fn arc_dots<T: Real>(p: &Matrix<T>, offsets: &[usize], sources: &[u32]) -> Vec<T> {
    assert_eq!(offsets.len(), p.rows() + 1, "one row per node");
    let mut out = vec![T::ZERO; sources.len()];
    dots(p.data(), p.stride(), offsets, sources, &mut out);
    out
}

/// exp(tilt·sᵤᵥ) of every arc, shifted by the largest exponent of its target so that nothing
/// overflows.
#[derive(Clone, Debug)]
pub struct Tilted<T> {
    /// One number per arc.
    pub arcs: Vec<T>,
    /// The number of the target itself, if it takes part; otherwise 0.
    pub own: Vec<T>,
    /// The sum for each target, including the number of the target itself.
    pub sums: Vec<T>,
}

/// Tilts the scores of all arcs exponentially. `own` holds scores of the targets themselves, empty
/// if they do not take part; `kept` is 1 for arcs that take part and 0 for others, empty if all do.
///
/// # Panics
/// If the lengths do not fit.
pub fn tilt<T: Real>(
    offsets: &[usize],
    scores: Vec<T>,
    own: &[T],
    kept: &[T],
    tilt: T,
) -> Tilted<T> {
    let nodes = offsets.len() - 1;
    assert!(own.is_empty() || own.len() == nodes, "one own score per node, or none");
    assert!(kept.is_empty() || kept.len() == scores.len(), "one mark per arc, or none");
    let mut tilted = Tilted { arcs: scores, own: vec![T::ZERO; nodes], sums: vec![T::ZERO; nodes] };
    let Tilted { arcs, own: owns, sums } = &mut tilted;
    tilt_rows(offsets, arcs, own, kept, tilt, owns, sums);
    tilted
}

dispatch! {
    fn dots<T: Real>(p: &[T], stride: usize, offsets: &[usize], sources: &[u32], out: &mut [T]) {
        for (v, row) in offsets.windows(2).enumerate() {
            let own = &p[v * stride..(v + 1) * stride];
            for arc in row[0]..row[1] {
                let u = sources[arc] as usize;
                // Eight running sums and one fixed way to add them up: the same digits on every
                // CPU. Rows are padded with zeros to a multiple of eight.
                let mut lanes = [T::ZERO; 8];
                for (a, b) in own.chunks_exact(8).zip(p[u * stride..(u + 1) * stride].chunks_exact(8)) {
                    for i in 0..8 {
                        lanes[i] = a[i].mul_add(b[i], lanes[i]);
                    }
                }
                let [a, b, c, d, e, f, g, h] = lanes;
                out[arc] = ((a + b) + (c + d)) + ((e + f) + (g + h));
            }
        }
    }
}

dispatch! {
    fn tilt_rows<T: Real>(
        offsets: &[usize],
        arcs: &mut [T],
        own: &[T],
        kept: &[T],
        tilt: T,
        owns: &mut [T],
        sums: &mut [T],
    ) {
        for (v, row) in offsets.windows(2).enumerate() {
            let range = row[0]..row[1];
            let segment = &mut arcs[range.clone()];
            // The shift is the largest exponent among numbers that take part. A larger one of an
            // arc that was left out could make all others underflow to 0.
            let mut shift = if own.is_empty() { None } else { Some(tilt * own[v]) };
            for (i, s) in segment.iter_mut().enumerate() {
                *s = tilt * *s;
                let counts = kept.is_empty() || kept[range.start + i] > T::ZERO;
                if counts && shift.is_none_or(|shift| *s > shift) {
                    shift = Some(*s);
                }
            }
            let shift = shift.unwrap_or(T::ZERO);
            // A loop without conditions, so that the exponentials vectorise; arcs that were left
            // out are multiplied by 0 afterwards.
            for s in &mut *segment {
                *s = (*s - shift).exp();
            }
            if !kept.is_empty() {
                for (s, kept) in segment.iter_mut().zip(&kept[range]) {
                    *s = *s * *kept;
                }
            }
            let mut sum = T::ZERO;
            if !own.is_empty() {
                owns[v] = (tilt * own[v] - shift).exp();
                sum = owns[v];
            }
            for s in &*segment {
                sum += *s;
            }
            sums[v] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_and_tilts_agree_with_plain_sums() {
        let p = Matrix::from_rows(3, 2, &[0.5f64, 0.5, 0.25, 0.75, 1.0, 0.0]);
        let (offsets, sources) = ([0usize, 2, 3, 3], [1u32, 2, 0]);
        assert_eq!(arc_dots(&p, &offsets, &sources), [0.5, 0.5, 0.5]);
        let t = tilt(&offsets, vec![1.0, 2.0, 3.0], &[], &[], 0.5);
        assert!((t.arcs[0] / t.arcs[1] - libm::exp(-0.5)).abs() < 1e-15);
        assert_eq!((t.sums[1], t.sums[2]), (1.0, 0.0));
        let pruned = tilt(&offsets, vec![1.0, 2.0, 3.0], &[0.0, 0.0, 7.0], &[1.0, 0.0, 0.0], 0.5);
        assert_eq!((pruned.arcs[1], pruned.arcs[2]), (0.0, 0.0));
        assert!((pruned.own[0] / pruned.arcs[0] - libm::exp(-0.5)).abs() < 1e-15);
        assert_eq!(pruned.sums[2], 1.0);
    }
}
