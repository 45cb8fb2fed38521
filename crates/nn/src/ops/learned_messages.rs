//! Learnable message passing with signed weights: y = ½(softmax(pos·e) − softmax(neg·e) + e).
//!
//! r = β·1[S > threshold] + (1 − β)·cos(softmax e), zero diagonal, over all pairs of candidates; with m its mean and max its
//! largest entry, f = (r − m)/(max − m) where r > m, −r/m elsewhere, and 1 on the diagonal; pos = PReLU(f), neg = PReLU(−f).
//! The gradient goes through r, m, max and the slope of PReLU. O(pairs · C) time, O(n · C) memory.

use crate::alike::{Alike, Bits};
use crate::kernels::messages::{self, Back, Compared, Fixed, Scale};
use crate::tape::{Backward, Operation};
use crate::{Matrix, Pool, Real, Tape, Var, softmax_rows};
use rayon::prelude::*;

/// Rows per task.
const ROWS: usize = 32;

/// Which pairs of nodes are compared, and which of them are alike from the start. The relation must be symmetric, and
/// every node is a candidate of its own.
#[derive(Clone, Debug)]
pub struct Candidates<T> {
    order: Vec<u32>,
    /// Of the node at each place of the order.
    ranges: Vec<(u32, u32)>,
    /// Which of the places in the range of each place are alike to it. Every place is alike to itself.
    alike: Bits,
    classes: usize,
    number: std::marker::PhantomData<T>,
}

impl<T: Real> Candidates<T> {
    /// All pairs of rows of `x`; those with cosines above `threshold` are alike.
    pub fn all(x: &Matrix<T>, threshold: f64) -> Self {
        let n = x.rows() as u32;
        Self::within(x, threshold, (0..n).collect(), &vec![(0, n); n as usize])
    }

    /// Pairs of which one stands, in `order`, within the range of the other.
    ///
    /// # Panics
    /// If there is not one place in the order and one range per row.
    pub fn within(x: &Matrix<T>, threshold: f64, order: Vec<u32>, ranges: &[(u32, u32)]) -> Self {
        assert_eq!((order.len(), ranges.len()), (x.rows(), x.rows()), "a place and a range per row");
        let mut directions = x.clone();
        normalise(&mut directions);
        let mut lines = Matrix::zeros(x.columns(), x.rows());
        transpose(&directions, &order, &mut lines);
        let ranges: Vec<(u32, u32)> = order.iter().map(|&v| ranges[v as usize]).collect();
        let mut alike = Bits::zeros(ranges.iter().map(|(from, to)| *from as usize..*to as usize));
        let compared = Fixed { ranges: &ranges, lines: lines.data(), stride: lines.stride(), threshold: T::of(threshold) };
        let mut rows = alike.rows_mut();
        rows.par_chunks_mut(ROWS).enumerate().for_each(|(c, rows)| messages::alike(compared, c * ROWS, rows));
        Self { order, ranges, alike, classes: x.columns(), number: std::marker::PhantomData }
    }

    /// Number of pairs (i, j), those with i = j included.
    pub fn pairs(&self) -> usize {
        self.ranges.iter().map(|(from, to)| (to - from) as usize).sum()
    }

    /// The other nodes that each node is alike to, increasing.
    pub fn lists(&self) -> Vec<Vec<u32>> {
        let mut out = vec![Vec::new(); self.order.len()];
        for (place, &v) in self.order.iter().enumerate() {
            let others = self.alike.ones(place).filter(|&at| at as usize != place);
            let mut nodes: Vec<u32> = others.map(|at| self.order[at as usize]).collect();
            nodes.sort_unstable();
            out[v as usize] = nodes;
        }
        out
    }

    /// Who is alike to whom.
    pub fn alike(&self) -> Alike {
        Alike::new(&self.alike, &self.order)
    }

    fn compared<'m>(&'m self, learnt: &'m Matrix<T>, beta: f64) -> Compared<'m, T> {
        Compared {
            ranges: &self.ranges,
            classes: self.classes,
            stride: learnt.stride(),
            alike: &self.alike,
            learnt: learnt.data(),
            beta: T::of(beta),
        }
    }

    /// A matrix with a row per node as the kernels like it: a line per column, a place per node.
    fn lines(&self, x: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
        let mut out = pool.take(x.columns(), x.rows());
        transpose(x, &self.order, &mut out);
        out
    }
}

impl<'a, T: Real> Tape<'a, T> {
    /// ½(softmax(pos·e) − softmax(neg·e) + e) with a 1 × 1 `slope` of PReLU.
    ///
    /// # Panics
    /// If e does not have the shape of what the candidates were made from.
    pub fn learned_messages(&mut self, e: Var, slope: Var, candidates: &'a Candidates<T>, beta: f64) -> Var {
        let pool = self.pool();
        let values = self.value(e);
        let shape = (candidates.order.len(), candidates.classes);
        assert_eq!((values.rows(), values.columns()), shape, "shape of the candidates");
        let mut directions = copy(values, pool);
        softmax_rows(&mut directions);
        let lengths = normalise(&mut directions);
        let learnt = candidates.lines(&directions, pool);
        let pairs = candidates.compared(&learnt, beta);
        let (scale, top) = extent(pairs, self.value(slope).row(0)[0], candidates.pairs());
        let lines = candidates.lines(values, pool);
        let [mut positive, mut negative] = gather(candidates, pairs, scale, &lines, &lines, pool);
        pool.put(lines);
        softmax_rows(&mut positive);
        softmax_rows(&mut negative);
        let mut out = copy(values, pool);
        let half = T::of(0.5);
        let sums = positive.data().iter().zip(negative.data());
        out.data_mut().iter_mut().zip(sums).for_each(|(y, (p, n))| *y = half * (*p - *n + *y));
        let operation =
            Messages { e, slope, candidates, beta, directions, learnt, lengths, scale, top, positive, negative };
        self.record(&[e, slope], out, operation)
    }
}

struct Messages<'a, T> {
    e: Var,
    slope: Var,
    candidates: &'a Candidates<T>,
    beta: f64,
    /// softmax(e), divided by its lengths.
    directions: Matrix<T>,
    /// The same in lines.
    learnt: Matrix<T>,
    lengths: Vec<f64>,
    scale: Scale<T>,
    /// The places of a pair with the largest similarity.
    top: (usize, usize),
    /// softmax(pos·e) and softmax(neg·e).
    positive: Matrix<T>,
    negative: Matrix<T>,
}

impl<T: Real> Operation<T> for Messages<'_, T> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let pool = to.pool();
        let candidates = self.candidates;
        let pairs = candidates.compared(&self.learnt, self.beta);
        let positive = in_lines(candidates, through_softmax(&self.positive, &gradient, 0.5, pool), pool);
        let negative = in_lines(candidates, through_softmax(&self.negative, &gradient, -0.5, pool), pool);
        let values = candidates.lines(to.value(self.e), pool);
        let back = Back { positive: positive.data(), negative: negative.data(), values: values.data() };
        let [to_mean, to_largest, to_slope] = slopes(pairs, self.scale, back);
        let all = T::of(to_mean / candidates.pairs() as f64);
        let mut to_directions = turn(candidates, pairs, self.scale, back, all, pool);
        let (i, j) = (candidates.order[self.top.0] as usize, candidates.order[self.top.1] as usize);
        if i != j {
            let weight = T::of((1.0 - self.beta) * to_largest);
            for (to, from) in [(i, j), (j, i)] {
                let pulled = to_directions.row_mut(to).iter_mut().zip(self.directions.row(from));
                pulled.for_each(|(g, u)| *g += weight * *u);
            }
        }
        let [mut out, rest] = gather(candidates, pairs, self.scale, &positive, &negative, pool);
        out.data_mut().iter_mut().zip(rest.data()).for_each(|(out, x)| *out += *x);
        let half = T::of(0.5);
        out.data_mut().iter_mut().zip(gradient.data()).for_each(|(out, g)| *out += half * *g);
        through_direction(&self.directions, &self.lengths, &to_directions, &mut out);
        to.add(self.e, out);
        if to.wants(self.slope) {
            let mut slope = pool.take(1, 1);
            slope.row_mut(0)[0] = T::of(to_slope);
            to.add(self.slope, slope);
        }
        let held = [self.directions, self.learnt, self.positive, self.negative];
        let made = [positive, negative, values, to_directions, rest, gradient];
        held.into_iter().chain(made).for_each(|matrix| pool.put(matrix));
    }
}

/// Mean and largest similarity, and the places of a pair with the largest. Rows are added in their order.
fn extent<T: Real>(pairs: Compared<'_, T>, slope: T, count: usize) -> (Scale<T>, (usize, usize)) {
    let mut rows = vec![(0.0, T::ZERO); pairs.ranges.len()];
    rows.par_chunks_mut(ROWS).enumerate().for_each(|(c, rows)| messages::extents(pairs, c * ROWS, rows));
    let mean = rows.iter().map(|(sum, _)| sum).sum::<f64>() / count.max(1) as f64;
    let at = (0..rows.len()).fold(0, |best, i| if rows[i].1 > rows[best].1 { i } else { best });
    let largest = rows[at].1;
    let mut partners = Vec::new();
    messages::equal_to(pairs, largest, at, &mut partners);
    let partner = partners.first().map_or(at, |&j| j as usize);
    (Scale { mean: T::of(mean), largest, slope }, (at, partner))
}

fn slopes<T: Real>(pairs: Compared<'_, T>, scale: Scale<T>, back: Back<'_, T>) -> [f64; 3] {
    let mut rows = vec![[0.0; 3]; pairs.ranges.len()];
    rows.par_chunks_mut(ROWS).enumerate().for_each(|(c, rows)| messages::slopes(pairs, scale, back, c * ROWS, rows));
    rows.iter().fold([0.0; 3], |sum, row| std::array::from_fn(|k| sum[k] + row[k]))
}

/// Gradient with respect to the learnt unit vectors, a row per node.
fn turn<T: Real>(
    candidates: &Candidates<T>,
    pairs: Compared<'_, T>,
    scale: Scale<T>,
    back: Back<'_, T>,
    all: T,
    pool: &Pool<T>,
) -> Matrix<T> {
    let classes = pairs.classes;
    let mut rows = vec![T::ZERO; candidates.order.len() * classes];
    rows.par_chunks_mut(ROWS * classes).enumerate().for_each(|(c, rows)| {
        messages::turn(pairs, scale, back, all, c * ROWS, rows);
    });
    let mut out = pool.take(candidates.order.len(), classes);
    for (row, &v) in rows.chunks_exact(classes).zip(&candidates.order) {
        out.row_mut(v as usize).copy_from_slice(row);
    }
    out
}

/// Both sums over the candidates of every node, from lines, with a row per node.
fn gather<T: Real>(
    candidates: &Candidates<T>,
    pairs: Compared<'_, T>,
    scale: Scale<T>,
    a: &Matrix<T>,
    b: &Matrix<T>,
    pool: &Pool<T>,
) -> [Matrix<T>; 2] {
    let classes = pairs.classes;
    let mut rows = vec![T::ZERO; candidates.order.len() * 2 * classes];
    rows.par_chunks_mut(ROWS * 2 * classes).enumerate().for_each(|(c, rows)| {
        messages::gather(pairs, scale, a.data(), b.data(), c * ROWS, rows);
    });
    let mut out = [0, 1].map(|_| pool.take(candidates.order.len(), classes));
    for (row, &v) in rows.chunks_exact(2 * classes).zip(&candidates.order) {
        let (positive, negative) = row.split_at(classes);
        out[0].row_mut(v as usize).copy_from_slice(positive);
        out[1].row_mut(v as usize).copy_from_slice(negative);
    }
    out
}

/// [`Candidates::lines`] of a matrix that is not needed any more.
fn in_lines<T: Real>(candidates: &Candidates<T>, x: Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
    let lines = candidates.lines(&x, pool);
    pool.put(x);
    lines
}

/// out[c][place] = x[order[place]][c].
fn transpose<T: Real>(x: &Matrix<T>, order: &[u32], out: &mut Matrix<T>) {
    for (place, &v) in order.iter().enumerate() {
        for (c, value) in x.row(v as usize).iter().enumerate() {
            out.row_mut(c)[place] = *value;
        }
    }
}

/// factor · p ⊙ (g − ⟨g, p⟩), row by row.
fn through_softmax<T: Real>(p: &Matrix<T>, g: &Matrix<T>, factor: f64, pool: &Pool<T>) -> Matrix<T> {
    let mut out = copy(g, pool);
    for r in 0..out.rows() {
        let p = p.row(r);
        let along = p.iter().zip(out.row(r)).map(|(p, g)| p.f64() * g.f64()).sum::<f64>();
        out.row_mut(r).iter_mut().zip(p).for_each(|(g, p)| *g = T::of(factor * p.f64() * (g.f64() - along)));
    }
    out
}

/// Adds to `out` the gradient through u = softmax(e)/‖softmax(e)‖.
fn through_direction<T: Real>(u: &Matrix<T>, lengths: &[f64], to_u: &Matrix<T>, out: &mut Matrix<T>) {
    for (r, length) in lengths.iter().enumerate() {
        let (u, to_u) = (u.row(r), to_u.row(r));
        let along = u.iter().zip(to_u).map(|(u, g)| u.f64() * g.f64()).sum::<f64>();
        let to_p: Vec<f64> = u.iter().zip(to_u).map(|(u, g)| (g.f64() - u.f64() * along) / length).collect();
        let mean: f64 = u.iter().zip(&to_p).map(|(u, g)| u.f64() * length * g).sum();
        let pairs = u.iter().zip(&to_p);
        out.row_mut(r).iter_mut().zip(pairs).for_each(|(out, (u, g))| *out += T::of(u.f64() * length * (g - mean)));
    }
}

/// Divides rows by their lengths, which are returned; a row of zeros stays.
fn normalise<T: Real>(x: &mut Matrix<T>) -> Vec<f64> {
    let rows = 0..x.rows();
    let one = |r: usize| {
        let row = x.row_mut(r);
        let length = libm::sqrt(row.iter().map(|x| x.f64() * x.f64()).sum());
        if length > 0.0 {
            row.iter_mut().for_each(|x| *x = T::of(x.f64() / length));
        }
        length
    };
    rows.map(one).collect()
}

fn copy<T: Real>(x: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
    let mut out = pool.take(x.rows(), x.columns());
    out.copy_from(x);
    out
}
