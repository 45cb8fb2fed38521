//! What a tile of similarities says: passes over stretches of rows whose products with unit vectors
//! are there already.
//!
//! Nothing n × n is stored. A stretch is one node (a row) with up to [`CHUNK`] places in a row, the
//! first of which is a multiple of 64: so eight of them at a time meet one byte of the bits that
//! say who is alike.

use super::dispatch;
use crate::Real;
use crate::similarity_relation::Bits;

/// Rows of a tile.
pub(crate) const TILE: usize = 64;
/// Places of a tile, and the length of its rows. A tile of four matrices fits the second-level
/// cache.
pub(crate) const CHUNK: usize = 256;
/// Places handled side by side: a byte of bits.
const W: usize = 8;

/// The share of being alike in the similarity of eight places, for every byte that says who of them
/// is.
pub(crate) type Shares<T> = [[T; W]; 256];

/// β for those who are alike.
pub(crate) fn shares<T: Real>(beta: T) -> Shares<T> {
    std::array::from_fn(|byte| {
        std::array::from_fn(|l| if (byte >> l) & 1 == 1 { beta } else { T::ZERO })
    })
}

/// How a similarity becomes a weight: β and 1 − β, mean and largest similarity, and the slope q of
/// PReLU.
#[derive(Clone, Copy)]
pub(crate) struct Scale<'a, T> {
    pub(crate) shares: &'a Shares<T>,
    pub(crate) learnt: T,
    pub(crate) mean: T,
    pub(crate) largest: T,
    pub(crate) slope: T,
}

/// One node and some places in a row.
#[derive(Clone, Copy)]
pub(crate) struct Stretch<'a> {
    /// The place of the node.
    pub(crate) own: usize,
    /// The first place.
    pub(crate) first: usize,
    /// Number of places.
    pub(crate) length: usize,
    /// The candidates of the node.
    pub(crate) range: (u32, u32),
    pub(crate) alike: &'a Bits,
}

impl Stretch<'_> {
    /// Which numbers of the stretch belong to candidates of the node.
    #[inline(always)]
    pub(crate) fn inside(&self) -> std::ops::Range<usize> {
        let at =
            |place: u32| (place as usize).clamp(self.first, self.first + self.length) - self.first;
        at(self.range.0)..at(self.range.1)
    }

    /// The number that belongs to the node itself.
    #[inline(always)]
    fn diagonal(&self) -> Option<usize> {
        self.own.checked_sub(self.first).filter(|at| *at < self.length)
    }
}

impl<T: Real> Scale<'_, T> {
    /// r = β·[alike] + (1 − β)·cosine for the cosines of a stretch.
    #[inline(always)]
    fn blend(&self, stretch: Stretch<'_>, row: &mut [T]) {
        let (first, words) = stretch.alike.row(stretch.own);
        for (k, lanes) in row.as_chunks_mut::<W>().0.iter_mut().enumerate() {
            let at = stretch.first / 64 + k / W;
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

    /// f of similarities, and ∂f/∂r, which is `above` or `below`.
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

/// Sets what candidates of the node do not hold to 0, and what the node itself holds to `own`.
#[inline(always)]
fn confine<T: Real>(stretch: Stretch<'_>, row: &mut [T], own: T) {
    let inside = stretch.inside();
    row[..inside.start].fill(T::ZERO);
    row[inside.end..].fill(T::ZERO);
    if let Some(at) = stretch.diagonal() {
        row[at] = own;
    }
}

dispatch! {
    /// Turns cosines into similarities, 0 outside the candidates and for the node itself, and finds
    /// the largest.
    fn similarities<T: Real>(scale: Scale<'_, T>, stretch: Stretch<'_>, row: &mut [T], largest: &mut T) {
        scale.blend(stretch, row);
        confine(stretch, row, T::ZERO);
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
    fn weights<T: Real>(scale: Scale<'_, T>, stretch: Stretch<'_>, positive: &mut [T], negative: &mut [T]) {
        let (above, below) = scale.steepness();
        scale.blend(stretch, positive);
        for (p, n) in positive.as_chunks_mut::<W>().0.iter_mut().zip(negative.as_chunks_mut::<W>().0) {
            let (f, _) = scale.levels(*p, above, below);
            for l in 0..W {
                p[l] = if f[l] > T::ZERO { f[l] } else { scale.slope * f[l] };
                n[l] = -(if f[l] < T::ZERO { f[l] } else { scale.slope * f[l] });
            }
        }
        confine(stretch, positive, T::ONE);
        confine(stretch, negative, -scale.slope);
    }
}

/// The rows of a tile on the way back.
pub(crate) struct Back<'a, T> {
    /// Cosines, which become PReLU(f).
    pub(crate) positive: &'a mut [T],
    /// Gradients with respect to PReLU(f), which become those with respect to the cosines.
    pub(crate) to_positive: &'a mut [T],
    /// Gradients with respect to PReLU(−f), which become PReLU(−f).
    pub(crate) to_negative: &'a mut [T],
}

dispatch! {
    /// The way back through f. ∂/∂m, ∂/∂max and ∂/∂q are added to `sums`.
    fn back<T: Real>(scale: Scale<'_, T>, stretch: Stretch<'_>, row: Back<'_, T>, sums: &mut [f64; 3]) {
        let Back { positive, to_positive, to_negative } = row;
        let (above, below) = scale.steepness();
        let own = stretch.diagonal().map_or(T::ZERO, |at| to_negative[at]);
        scale.blend(stretch, positive);
        confine(stretch, to_positive, T::ZERO);
        confine(stretch, to_negative, T::ZERO);
        let mut totals = [[T::ZERO; W]; 3];
        let to = to_positive.as_chunks_mut::<W>().0.iter_mut().zip(to_negative.as_chunks_mut::<W>().0);
        for (r, (p, n)) in positive.as_chunks_mut::<W>().0.iter_mut().zip(to) {
            // Copies, and a loop for each quantity: so that every lane is computed, none is
            // branched around.
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
        confine(stretch, positive, T::ONE);
        confine(stretch, to_negative, -scale.slope);
        for (sum, total) in sums.iter_mut().zip(totals) {
            *sum += total.iter().map(|x| x.f64()).sum::<f64>();
        }
        // The node itself: PReLU(−1) = −q.
        sums[2] -= own.f64();
    }
}

/// Unit columns whose similarity does not change, and who is compared.
#[derive(Clone, Copy)]
pub(crate) struct Fixed<'a, T> {
    pub(crate) ranges: &'a [(u32, u32)],
    /// A line per component.
    pub(crate) lines: &'a [T],
    pub(crate) stride: usize,
    /// Above which two are alike.
    pub(crate) threshold: T,
}

dispatch! {
    /// Sets the bits of those in the range of each place whose similarity lies above the threshold,
    /// and of the place itself.
    fn alike<T: Real>(fixed: Fixed<'_, T>, first: usize, out: &mut [(usize, &mut [u64])]) {
        let Fixed { ranges, lines, stride, threshold } = fixed;
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
