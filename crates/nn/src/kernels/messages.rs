//! Passes over all pairs of candidates of learnable message passing, row by row. Nothing n × n is stored: what a pair says is
//! computed again whenever it is needed.
//!
//! Nodes stand in an order in which the candidates of each are neighbours, and matrices are transposed, one line per class:
//! so `W` candidates of a node are handled side by side.

use super::dispatch;
use crate::Real;
use crate::alike::Bits;

/// Candidates handled side by side. Lines are padded to a multiple of it.
const W: usize = 8;

/// Who is compared with whom, and by what.
#[derive(Clone, Copy)]
pub(crate) struct Compared<'a, T> {
    /// Where the candidates of each node stand.
    pub(crate) ranges: &'a [(u32, u32)],
    /// Number of lines of all matrices.
    pub(crate) classes: usize,
    /// Length of their lines.
    pub(crate) stride: usize,
    /// Which places are alike.
    pub(crate) alike: &'a Bits,
    /// Unit columns whose similarity is learnt.
    pub(crate) learnt: &'a [T],
    /// Share β of being alike.
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
    /// The first places of the blocks of `W` that hold the candidates of node `i`.
    #[inline(always)]
    fn blocks(&self, i: usize) -> std::iter::StepBy<std::ops::Range<usize>> {
        let (from, to) = self.ranges[i];
        (from as usize / W * W..to as usize).step_by(W)
    }

    /// Which of the block are candidates of `i`, other than `i` itself.
    #[inline(always)]
    fn others(&self, i: usize, block: usize) -> [bool; W] {
        let (from, to) = self.ranges[i];
        std::array::from_fn(|l| block + l >= from as usize && block + l < to as usize && block + l != i)
    }

    /// ⟨column `i` of a, each column of the block of b⟩.
    #[inline(always)]
    fn dots(&self, a: &[T], i: usize, b: &[T], block: usize) -> [T; W] {
        let mut sums = [T::ZERO; W];
        for c in 0..self.classes {
            let (own, line) = (a[c * self.stride + i], &b[c * self.stride + block..][..W]);
            for l in 0..W {
                sums[l] = own.mul_add(line[l], sums[l]);
            }
        }
        sums
    }

    /// r of each pair of the block: β·[alike] + (1 − β)·learnt.
    #[inline(always)]
    fn similarities(&self, i: usize, block: usize) -> [T; W] {
        let (first, words) = self.alike.row(i);
        let alike = words[block / 64 - first] >> (block % 64);
        let mut r = self.dots(self.learnt, i, self.learnt, block);
        for l in 0..W {
            let close = if (alike >> l) & 1 == 1 { self.beta } else { T::ZERO };
            r[l] = (T::ONE - self.beta).mul_add(r[l], close);
        }
        r
    }
}

impl<T: Real> Scale<T> {
    /// ∂f/∂r above and below the mean: f = (r − m)/(max − m) and −r/m.
    #[inline(always)]
    fn steepness(&self) -> (T, T) {
        let range = self.largest - self.mean;
        let above = if range > T::ZERO { T::ONE / range } else { T::ZERO };
        let below = if self.mean > T::ZERO { -(T::ONE / self.mean) } else { T::ZERO };
        (above, below)
    }

    /// f of similarities, and ∂f/∂r.
    #[inline(always)]
    fn weights(&self, r: [T; W]) -> ([T; W], [T; W]) {
        let (above, below) = self.steepness();
        let (mut f, mut steep) = ([T::ZERO; W], [T::ZERO; W]);
        for l in 0..W {
            let high = r[l] > self.mean;
            steep[l] = if high { above } else { below };
            let from = if high { self.mean } else { T::ZERO };
            f[l] = (r[l] - from) * steep[l];
        }
        (f, steep)
    }

    /// PReLU(f), PReLU(−f) and the slopes of both.
    #[inline(always)]
    fn prelus(&self, f: T) -> ([T; 2], [T; 2]) {
        let up = if f > T::ZERO { T::ONE } else { self.slope };
        let down = if f < T::ZERO { T::ONE } else { self.slope };
        ([up * f, -(down * f)], [up, down])
    }
}

dispatch! {
    /// Sum and largest of the similarities of each row.
    fn extents<T: Real>(pairs: Compared<'_, T>, first: usize, out: &mut [(f64, T)]) {
        for (i, out) in (first..).zip(out) {
            let (mut sums, mut largest) = ([T::ZERO; W], [T::ZERO; W]);
            for block in pairs.blocks(i) {
                let (r, counts) = (pairs.similarities(i, block), pairs.others(i, block));
                for l in 0..W {
                    let r = if counts[l] { r[l] } else { T::ZERO };
                    sums[l] += r;
                    largest[l] = if r > largest[l] { r } else { largest[l] };
                }
            }
            *out = (sums.iter().map(|x| x.f64()).sum(), largest.iter().fold(T::ZERO, |a, b| if *b > a { *b } else { a }));
        }
    }
}

dispatch! {
    /// Σⱼ PReLU(fᵢⱼ)·aⱼ and Σⱼ PReLU(−fᵢⱼ)·bⱼ of each row, side by side in `out`. f of a node with itself is 1. As f is
    /// symmetric this is the way there and the way back.
    fn gather<T: Real>(pairs: Compared<'_, T>, scale: Scale<T>, a: &[T], b: &[T], first: usize, out: &mut [T]) {
        let classes = pairs.classes;
        let mut sums = vec![[T::ZERO; W]; 2 * classes];
        for (i, out) in (first..).zip(out.chunks_exact_mut(2 * classes)) {
            sums.fill([T::ZERO; W]);
            for block in pairs.blocks(i) {
                let (f, _) = scale.weights(pairs.similarities(i, block));
                let counts = pairs.others(i, block);
                let mut weights = [[T::ZERO; W]; 2];
                for l in 0..W {
                    let f = if block + l == i { T::ONE } else if counts[l] { f[l] } else { T::ZERO };
                    let (both, _) = scale.prelus(f);
                    (weights[0][l], weights[1][l]) = (both[0], both[1]);
                }
                for (side, values) in [a, b].into_iter().enumerate() {
                    for c in 0..classes {
                        let line = &values[c * pairs.stride + block..][..W];
                        let sum = &mut sums[side * classes + c];
                        for l in 0..W {
                            sum[l] = weights[side][l].mul_add(line[l], sum[l]);
                        }
                    }
                }
            }
            for (out, sum) in out.iter_mut().zip(&sums) {
                *out = sum.iter().fold(T::ZERO, |total, x| total + *x);
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

dispatch! {
    /// ∂/∂m, ∂/∂max and ∂/∂q, added up in each row.
    fn slopes<T: Real>(pairs: Compared<'_, T>, scale: Scale<T>, back: Back<'_, T>, first: usize, out: &mut [[f64; 3]]) {
        let (above, below) = scale.steepness();
        for (i, out) in (first..).zip(out) {
            let mut sums = [[T::ZERO; W]; 3];
            for block in pairs.blocks(i) {
                let r = pairs.similarities(i, block);
                let (f, _) = scale.weights(r);
                let counts = pairs.others(i, block);
                let positive = pairs.dots(back.positive, i, back.values, block);
                let negative = pairs.dots(back.negative, i, back.values, block);
                for l in 0..W {
                    let own = block + l == i;
                    let counted = if counts[l] { f[l] } else { T::ZERO };
                    let weight = if own { T::ONE } else { counted };
                    let (_, slopes) = scale.prelus(weight);
                    let to_f = if counts[l] { positive[l] * slopes[0] - negative[l] * slopes[1] } else { T::ZERO };
                    let high = r[l] > scale.mean;
                    // f = (r − m)/(max − m): ∂f/∂m = (f − 1)/(max − m), ∂f/∂max = −f/(max − m); f = −r/m: ∂f/∂m = −f/m.
                    let to_mean = if high { (f[l] - T::ONE) * above } else { f[l] * below };
                    let to_largest = if high { -(f[l] * above) } else { T::ZERO };
                    sums[0][l] = to_f.mul_add(to_mean, sums[0][l]);
                    sums[1][l] = to_f.mul_add(to_largest, sums[1][l]);
                    let to_slope = if weight > T::ZERO { -negative[l] } else { positive[l] };
                    sums[2][l] = to_slope.mul_add(weight, sums[2][l]);
                }
            }
            *out = sums.map(|sum| sum.iter().map(|x| x.f64()).sum());
        }
    }
}

dispatch! {
    /// Gradient with respect to the learnt unit columns, a row for each. `all` is what reaches every pair through the mean.
    fn turn<T: Real>(pairs: Compared<'_, T>, scale: Scale<T>, back: Back<'_, T>, all: T, first: usize, out: &mut [T]) {
        let (share, classes) = (T::ONE - pairs.beta, pairs.classes);
        let mut sums = vec![[T::ZERO; W]; classes];
        for (i, out) in (first..).zip(out.chunks_exact_mut(classes)) {
            sums.fill([T::ZERO; W]);
            for block in pairs.blocks(i) {
                let (f, steep) = scale.weights(pairs.similarities(i, block));
                let counts = pairs.others(i, block);
                // The pair stands in the matrix twice. (Spelled out: a closure would not be compiled for the CPU's level.)
                let positive_there = pairs.dots(back.positive, i, back.values, block);
                let negative_there = pairs.dots(back.negative, i, back.values, block);
                let positive_back = pairs.dots(back.values, i, back.positive, block);
                let negative_back = pairs.dots(back.values, i, back.negative, block);
                let mut weights = [T::ZERO; W];
                for l in 0..W {
                    let (_, slopes) = scale.prelus(f[l]);
                    let to_positive = positive_there[l] + positive_back[l];
                    let to_negative = negative_there[l] + negative_back[l];
                    let to_f = to_positive * slopes[0] - to_negative * slopes[1];
                    let weight = share * to_f.mul_add(steep[l], all + all);
                    weights[l] = if counts[l] { weight } else { T::ZERO };
                }
                for (c, sum) in sums.iter_mut().enumerate().take(classes) {
                    let line = &pairs.learnt[c * pairs.stride + block..][..W];
                    for l in 0..W {
                        sum[l] = weights[l].mul_add(line[l], sum[l]);
                    }
                }
            }
            for (out, sum) in out.iter_mut().zip(&sums) {
                *out = sum.iter().fold(T::ZERO, |total, x| total + *x);
            }
        }
    }
}

dispatch! {
    /// The places of the candidates of each row with a similarity of exactly `r`, itself left out.
    fn equal_to<T: Real>(pairs: Compared<'_, T>, r: T, i: usize, out: &mut Vec<u32>) {
        for block in pairs.blocks(i) {
            let (found, counts) = (pairs.similarities(i, block), pairs.others(i, block));
            out.extend((0..W).filter(|&l| counts[l] && found[l] == r).map(|l| (block + l) as u32));
        }
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
    /// Sets the bits of those in the range of each place whose similarity lies above the threshold, and of the place itself.
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
                for l in 0..W {
                    let inside = block + l >= from && block + l < to;
                    bits |= u64::from((inside && dots[l] > threshold) || block + l == i) << l;
                }
                words[block / 64 - *start] |= bits << (block % 64);
            }
        }
    }
}
