//! Kernels of learnt messages: from the cosines of a row segment to similarities, weights and
//! gradients.
//!
//! Nothing n × n is stored. A segment is one node (a row) with up to [`CHUNK`] consecutive
//! positions. The first position is a multiple of 64, so that eight positions correspond to one
//! byte of the similarity bits.

use super::dispatch;
use crate::Real;
use crate::similarity_relation::Bits;

/// Rows of a tile.
pub(crate) const TILE: usize = 64;
/// Positions of a tile, and the length of its rows. Four such tiles fit the second-level cache.
pub(crate) const CHUNK: usize = 256;
/// Positions per vector: one byte of the similarity bits.
const W: usize = 8;

/// The term β·[similar] of eight positions, for every value of their byte of similarity bits.
pub(crate) type Shares<T> = [[T; W]; 256];

/// The table of β·[similar]: a lookup per byte instead of eight shifts and selections.
pub(crate) fn shares<T: Real>(beta: T) -> Shares<T> {
    std::array::from_fn(|byte| {
        std::array::from_fn(|l| if (byte >> l) & 1 == 1 { beta } else { T::ZERO })
    })
}

/// The constants that turn a similarity into a weight: β and 1 − β, mean and largest similarity,
/// and the slope q of PReLU.
#[derive(Clone, Copy)]
pub(crate) struct Scale<'a, T> {
    pub(crate) shares: &'a Shares<T>,
    pub(crate) learnt: T,
    pub(crate) mean: T,
    pub(crate) largest: T,
    pub(crate) slope: T,
}

/// One node and some consecutive positions.
#[derive(Clone, Copy)]
pub(crate) struct RowSegment<'a> {
    /// The position of the node.
    pub(crate) own: usize,
    /// The first position.
    pub(crate) first: usize,
    /// Number of positions.
    pub(crate) length: usize,
    /// The candidates of the node.
    pub(crate) range: (u32, u32),
    pub(crate) similar: &'a Bits,
}

impl RowSegment<'_> {
    /// The part of the segment that belongs to candidates of the node.
    #[inline(always)]
    pub(crate) fn inside(&self) -> std::ops::Range<usize> {
        self.offset(self.range.0)..self.offset(self.range.1)
    }

    /// The offset of a position from the start of the segment, clamped to the segment.
    #[inline(always)]
    fn offset(&self, position: u32) -> usize {
        (position as usize).clamp(self.first, self.first + self.length) - self.first
    }

    /// The index of the node itself, if it lies in the segment.
    #[inline(always)]
    fn diagonal(&self) -> Option<usize> {
        self.own.checked_sub(self.first).filter(|at| *at < self.length)
    }
}

impl<T: Real> Scale<'_, T> {
    /// r = β·[similar] + (1 − β)·cosine for the cosines of a segment.
    #[inline(always)]
    fn blend(&self, segment: RowSegment<'_>, row: &mut [T]) {
        let (first, words) = segment.similar.row(segment.own);
        for (k, lanes) in row.as_chunks_mut::<W>().0.iter_mut().enumerate() {
            // Rows of the relation store only the words around their candidates.
            let at = segment.first / 64 + k / W;
            let word = at.checked_sub(first).and_then(|at| words.get(at)).copied().unwrap_or(0);
            let shares = &self.shares[(word >> (k % W * W)) as usize & 255];
            for l in 0..W {
                lanes[l] = self.learnt.mul_add(lanes[l], shares[l]);
            }
        }
    }

    /// ∂f/∂r above and below the mean: f = (r − m)/(max − m) and −r/m.
    #[inline(always)]
    fn steepness(&self) -> (T, T) {
        // Where a range is empty the slope is 0, instead of a division by 0.
        let range = self.largest - self.mean;
        let above = if range > T::ZERO { T::ONE / range } else { T::ZERO };
        let below = if self.mean > T::ZERO { -(T::ONE / self.mean) } else { T::ZERO };
        (above, below)
    }

    /// The slopes of PReLU at f and at −f.
    #[inline(always)]
    fn slopes(&self, f: [T; W]) -> ([T; W], [T; W]) {
        let (mut up, mut down) = ([T::ZERO; W], [T::ZERO; W]);
        for l in 0..W {
            up[l] = if f[l] > T::ZERO { T::ONE } else { self.slope };
        }
        for l in 0..W {
            down[l] = if f[l] < T::ZERO { T::ONE } else { self.slope };
        }
        (up, down)
    }

    /// f of similarities, and ∂f/∂r, which is `above` or `below`: f is linear on either side of the
    /// mean, so one multiplication by the slope computes it.
    #[inline(always)]
    fn levels(&self, r: [T; W], above: T, below: T) -> ([T; W], [T; W]) {
        let (mut f, mut steep) = ([T::ZERO; W], [T::ZERO; W]);
        for l in 0..W {
            let high = r[l] > self.mean;
            steep[l] = if high { above } else { below };
            let from = if high { self.mean } else { T::ZERO };
            f[l] = (r[l] - from) * steep[l];
        }
        (f, steep)
    }
}

/// Sets the numbers of other nodes than candidates to 0, and the number of the node itself to
/// `own`.
#[inline(always)]
fn confine<T: Real>(segment: RowSegment<'_>, row: &mut [T], own: T) {
    let inside = segment.inside();
    row[..inside.start].fill(T::ZERO);
    row[inside.end..].fill(T::ZERO);
    if let Some(at) = segment.diagonal() {
        row[at] = own;
    }
}

dispatch! {
    /// Turns cosines into similarities, 0 outside the candidates and for the node itself, and finds
    /// the largest.
    fn similarities<T: Real>(scale: Scale<'_, T>, segment: RowSegment<'_>, row: &mut [T], largest: &mut T) {
        scale.blend(segment, row);
        confine(segment, row, T::ZERO);
        let mut lanes = [T::ZERO; W];
        for row in row.as_chunks::<W>().0 {
            for l in 0..W {
                lanes[l] = if row[l] > lanes[l] { row[l] } else { lanes[l] };
            }
        }
        *largest = lanes.iter().fold(T::ZERO, |a, b| if *b > a { *b } else { a });
    }
}

dispatch! {
    /// Turns cosines into PReLU(f) in `positive` and PReLU(−f) in `negative`. f of a node with
    /// itself is 1.
    fn weights<T: Real>(scale: Scale<'_, T>, segment: RowSegment<'_>, positive: &mut [T], negative: &mut [T]) {
        let (above, below) = scale.steepness();
        scale.blend(segment, positive);
        for (p, n) in positive.as_chunks_mut::<W>().0.iter_mut().zip(negative.as_chunks_mut::<W>().0) {
            let (f, _) = scale.levels(*p, above, below);
            for l in 0..W {
                p[l] = if f[l] > T::ZERO { f[l] } else { scale.slope * f[l] };
                n[l] = -(if f[l] < T::ZERO { f[l] } else { scale.slope * f[l] });
            }
        }
        confine(segment, positive, T::ONE);
        confine(segment, negative, -scale.slope);
    }
}

/// The rows of a tile in the backward pass.
pub(crate) struct Back<'a, T> {
    /// Cosines, which become PReLU(f).
    pub(crate) positive: &'a mut [T],
    /// Gradients with respect to PReLU(f), which become those with respect to the cosines.
    pub(crate) to_positive: &'a mut [T],
    /// Gradients with respect to PReLU(−f), which become PReLU(−f).
    pub(crate) to_negative: &'a mut [T],
}

dispatch! {
    /// The gradient of f. ∂/∂m, ∂/∂max and ∂/∂q are added to `sums`.
    ///
    /// The three rows are overwritten: cosines become PReLU(f), the two gradients become that with
    /// respect to the cosines and PReLU(−f). Nothing else of the tile has to be stored.
    fn back<T: Real>(scale: Scale<'_, T>, segment: RowSegment<'_>, row: Back<'_, T>, sums: &mut [f64; 3]) {
        let Back { positive, to_positive, to_negative } = row;
        let (above, below) = scale.steepness();
        // Read before `confine` clears the diagonal below.
        let own = segment.diagonal().map_or(T::ZERO, |at| to_negative[at]);
        scale.blend(segment, positive);
        confine(segment, to_positive, T::ZERO);
        confine(segment, to_negative, T::ZERO);
        let mut totals = [[T::ZERO; W]; 3];
        let to = to_positive.as_chunks_mut::<W>().0.iter_mut().zip(to_negative.as_chunks_mut::<W>().0);
        for (r, (p, n)) in positive.as_chunks_mut::<W>().0.iter_mut().zip(to) {
            // Local copies, a loop per quantity, and selections instead of branches: each loop
            // vectorises.
            let (to_p, to_n, (f, steep)) = (*p, *n, scale.levels(*r, above, below));
            let (up, down) = scale.slopes(f);
            let (mut to_f, mut high, mut to_slope) = ([T::ZERO; W], [T::ZERO; W], [T::ZERO; W]);
            for l in 0..W {
                to_f[l] = to_p[l] * up[l] - to_n[l] * down[l];
            }
            for l in 0..W {
                high[l] = if steep[l] > T::ZERO { T::ONE } else { T::ZERO };
            }
            for l in 0..W {
                let (above, below) = (-to_n[l], to_p[l]);
                to_slope[l] = if f[l] > T::ZERO { above } else { below };
            }
            // f = (r − m)/(max − m): ∂f/∂m = (f − 1)/(max − m), ∂f/∂max = −f/(max − m); f = −r/m:
            // ∂f/∂m = −f/m.
            for l in 0..W {
                let to_r = to_f[l] * steep[l];
                totals[0][l] = to_r.mul_add(f[l] - high[l], totals[0][l]);
                totals[1][l] = to_r.mul_add(-(f[l] * high[l]), totals[1][l]);
                totals[2][l] = to_slope[l].mul_add(f[l], totals[2][l]);
                p[l] = scale.learnt * to_r;
            }
            for l in 0..W {
                r[l] = up[l] * f[l];
                n[l] = -(down[l] * f[l]);
            }
        }
        confine(segment, positive, T::ONE);
        confine(segment, to_negative, -scale.slope);
        // Over a row in T, over all rows in f64: the sums run over n² numbers.
        for (sum, total) in sums.iter_mut().zip(totals) {
            *sum += total.iter().map(|x| x.f64()).sum::<f64>();
        }
        // The node itself: PReLU(−1) = −q.
        sums[2] -= own.f64();
    }
}

/// Unit vectors whose similarity does not change, and the candidates of each.
#[derive(Clone, Copy)]
pub(crate) struct FixedDirections<'a, T> {
    pub(crate) ranges: &'a [(u32, u32)],
    /// One line per component: the same component of consecutive positions is one vector load.
    pub(crate) lines: &'a [T],
    pub(crate) stride: usize,
    /// Two nodes are similar above this cosine.
    pub(crate) threshold: T,
}

dispatch! {
    /// Sets the bits of the candidates of each position whose cosine lies above the threshold, and
    /// the bit of the position itself.
    fn mark_similar<T: Real>(fixed: FixedDirections<'_, T>, first: usize, out: &mut [(usize, &mut [u64])]) {
        let FixedDirections { ranges, lines, stride, threshold } = fixed;
        for (i, (start, words)) in (first..).zip(out) {
            let (from, to) = (ranges[i].0 as usize, ranges[i].1 as usize);
            for block in (from / W * W..to).step_by(W) {
                let mut dots = [T::ZERO; W];
                for line in lines.chunks_exact(stride) {
                    let (own, line) = (line[i], &line[block..][..W]);
                    for l in 0..W {
                        dots[l] = own.mul_add(line[l], dots[l]);
                    }
                }
                let mut bits = 0;
                for (l, dot) in dots.iter().enumerate() {
                    let inside = block + l >= from && block + l < to;
                    bits |= u64::from((inside && *dot > threshold) || block + l == i) << l;
                }
                words[block / 64 - *start] |= bits << (block % 64);
            }
        }
    }
}
