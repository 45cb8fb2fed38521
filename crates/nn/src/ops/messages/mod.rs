//! Learnable message passing with signed weights: y = ½(softmax(pos·e) − softmax(neg·e) + e).
//!
//! r = β·1[S > threshold] + (1 − β)·cos(softmax e), zero diagonal, over all pairs of candidates;
//! with m its mean and max its largest entry, f = (r − m)/(max − m) where r > m, −r/m elsewhere,
//! and 1 on the diagonal; pos = PReLU(f), neg = PReLU(−f). The gradient goes through r, m, max and
//! the slope of PReLU.
//!
//! Only the rows that are asked for are computed, in O(rows · n · C) time and O(n · C) memory,
//! beside the search for max, which looks at every pair once. m needs no pass over pairs, as Σⱼ⟨uᵢ,
//! uⱼ⟩ = ⟨uᵢ, Σⱼuⱼ⟩, and neither does the gradient that goes through it.

mod candidates;
mod tiles;

pub use candidates::Candidates;

use crate::kernels::messages::{Scale, Shares, shares};
use crate::tape::{Backward, Operation};
use crate::{Matrix, Pool, Real, Tape, Var, softmax_rows};
use tiles::{Gradients, Judged, Pairs, Returned};

impl<'a, T: Real> Tape<'a, T> {
    /// ½(softmax(pos·e) − softmax(neg·e) + e) with a 1 × 1 `slope` of PReLU: of the nodes `rows` in
    /// that order, or of all.
    ///
    /// # Panics
    /// If e does not have the shape of what the candidates were made from.
    pub fn learned_messages(
        &mut self,
        e: Var,
        slope: Var,
        candidates: &'a Candidates,
        beta: f64,
        rows: Option<&[u32]>,
    ) -> Var {
        let (pool, values, q) = (self.pool(), self.value(e), self.value(slope).row(0)[0]);
        let shape = (candidates.order.len(), candidates.classes);
        assert_eq!((values.rows(), values.columns()), shape, "shape of the candidates");
        let asked = Asked::new(candidates, rows);
        let mut directions = pick(values, &candidates.order, pool);
        softmax_rows(&mut directions);
        let lengths = normalise(&mut directions);
        let judged = pick(&directions, &asked.places, pool);
        let shares = Box::new(shares(T::of(beta)));
        let pairs = Pairs { candidates, directions: &directions };
        let mean = T::of(pairs.mean(beta));
        let mut measure = Measure { shares, beta, mean, largest: T::ZERO, slope: q };
        let (largest, top) = pairs.largest(measure.scale());
        measure.largest = largest;
        let by_place = pick(values, &candidates.order, pool);
        let mut sums = [0, 1].map(|_| zeros(asked.places.len(), values.columns(), pool));
        let [positive, negative] = &mut sums;
        let who = Judged { places: &asked.places, directions: &judged };
        pairs.gather(&who, measure.scale(), &by_place, [positive, negative]);
        pool.put(by_place);
        sums.iter_mut().for_each(softmax_rows);
        let out = asked.combine(values, &sums, pool);
        let operation = Messages {
            e,
            slope,
            candidates,
            asked,
            directions,
            judged,
            lengths,
            measure,
            top,
            sums,
        };
        self.record(&[e, slope], out, operation)
    }
}

/// Which rows are computed.
struct Asked {
    /// Their nodes, in the order they were asked for.
    nodes: Vec<u32>,
    /// Their places, increasing.
    places: Vec<u32>,
    /// Which of the nodes stands at each of these places.
    numbers: Vec<u32>,
}

impl Asked {
    fn new(candidates: &Candidates, rows: Option<&[u32]>) -> Self {
        let nodes =
            rows.map_or_else(|| (0..candidates.order.len() as u32).collect(), <[u32]>::to_vec);
        let mut numbers: Vec<u32> = (0..nodes.len() as u32).collect();
        let place = |number: u32| candidates.places[nodes[number as usize] as usize];
        numbers.sort_by_key(|&number| place(number));
        Self { places: numbers.iter().map(|&number| place(number)).collect(), numbers, nodes }
    }

    /// ½(positive − negative + e), in the order that was asked for.
    fn combine<T: Real>(&self, e: &Matrix<T>, sums: &[Matrix<T>; 2], pool: &Pool<T>) -> Matrix<T> {
        let mut out = pick(e, &self.nodes, pool);
        let half = T::of(0.5);
        for (i, &number) in self.numbers.iter().enumerate() {
            let both = sums[0].row(i).iter().zip(sums[1].row(i));
            let row = out.row_mut(number as usize).iter_mut().zip(both);
            row.for_each(|(y, (p, n))| *y = half * (*p - *n + *y));
        }
        out
    }
}

/// What similarities are measured by.
struct Measure<T> {
    shares: Box<Shares<T>>,
    beta: f64,
    mean: T,
    largest: T,
    slope: T,
}

impl<T: Real> Measure<T> {
    fn scale(&self) -> Scale<'_, T> {
        let Self { shares, beta, mean, largest, slope } = self;
        Scale { shares, learnt: T::of(1.0 - beta), mean: *mean, largest: *largest, slope: *slope }
    }
}

struct Messages<'a, T> {
    e: Var,
    slope: Var,
    candidates: &'a Candidates,
    asked: Asked,
    /// softmax(e) divided by its lengths: by place, and of those who are judged.
    directions: Matrix<T>,
    judged: Matrix<T>,
    lengths: Vec<f64>,
    measure: Measure<T>,
    /// The places of a pair with the largest similarity.
    top: (usize, usize),
    /// softmax(pos·e) and softmax(neg·e) of those who are judged.
    sums: [Matrix<T>; 2],
}

impl<T: Real> Operation<T> for Messages<'_, T> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let pool = to.pool();
        let e = pick(to.value(self.e), &self.candidates.order, pool);
        let mut own = pick(&gradient, &self.asked.numbers, pool);
        let positive = through_softmax(&self.sums[0], &own, 0.5, pool);
        let negative = through_softmax(&self.sums[1], &own, -0.5, pool);
        let pairs = Pairs { candidates: self.candidates, directions: &self.directions };
        let who = Judged { places: &self.asked.places, directions: &self.judged };
        let [to_directions, to_e] = [0, 1].map(|_| zeros(e.rows(), e.columns(), pool));
        let mut back = Returned { to_scale: [0.0; 3], to_directions, to_e };
        let gradients = Gradients { positive: &positive, negative: &negative, e: &e };
        pairs.back(&who, self.measure.scale(), gradients, &mut back);
        self.through_scale(pairs, &mut back);
        let Returned { to_scale: [_, _, to_slope], to_directions, mut to_e } = back;
        for (i, &place) in self.asked.places.iter().enumerate() {
            let half = T::of(0.5);
            to_e.row_mut(place as usize)
                .iter_mut()
                .zip(own.row_mut(i))
                .for_each(|(out, g)| *out += half * *g);
        }
        through_direction(&self.directions, &self.lengths, &to_directions, &mut to_e);
        to.add(self.e, pick(&to_e, &self.candidates.places, pool));
        if to.wants(self.slope) {
            let mut slope = pool.take(1, 1);
            slope.row_mut(0)[0] = T::of(to_slope);
            to.add(self.slope, slope);
        }
        let [one, other] = self.sums;
        let held = [self.directions, self.judged, one, other];
        let made = [positive, negative, e, own, to_directions, to_e, gradient];
        held.into_iter().chain(made).for_each(|matrix| pool.put(matrix));
    }
}

impl<T: Real> Messages<'_, T> {
    /// Adds what reaches unit vectors through the mean and the largest similarity.
    fn through_scale(&self, pairs: Pairs<'_, T>, back: &mut Returned<T>) {
        let share = 1.0 - self.measure.beta;
        let [to_mean, to_largest, _] = back.to_scale;
        // A pair stands in the matrix twice.
        let all = 2.0 * share * to_mean / self.candidates.pairs() as f64;
        for (place, around) in pairs.around().chunks_exact(self.candidates.classes).enumerate() {
            let row = back.to_directions.row_mut(place).iter_mut().zip(around);
            row.for_each(|(to, sum)| *to += T::of(all * sum));
        }
        let (i, j) = self.top;
        if i != j {
            for (to, from) in [(i, j), (j, i)] {
                let pulled =
                    back.to_directions.row_mut(to).iter_mut().zip(self.directions.row(from));
                pulled.for_each(|(g, u)| *g += T::of(share * to_largest) * *u);
            }
        }
    }
}

/// factor · p ⊙ (g − ⟨g, p⟩), row by row.
fn through_softmax<T: Real>(
    p: &Matrix<T>,
    g: &Matrix<T>,
    factor: f64,
    pool: &Pool<T>,
) -> Matrix<T> {
    let mut out = pool.take(g.rows(), g.columns());
    for r in 0..out.rows() {
        let (p, g) = (p.row(r), g.row(r));
        let along = p.iter().zip(g).map(|(p, g)| p.f64() * g.f64()).sum::<f64>();
        let pairs = p.iter().zip(g);
        out.row_mut(r)
            .iter_mut()
            .zip(pairs)
            .for_each(|(out, (p, g))| *out = T::of(factor * p.f64() * (g.f64() - along)));
    }
    out
}

/// Adds to `out` the gradient through u = softmax(e)/‖softmax(e)‖.
fn through_direction<T: Real>(
    u: &Matrix<T>,
    lengths: &[f64],
    to_u: &Matrix<T>,
    out: &mut Matrix<T>,
) {
    for (r, length) in lengths.iter().enumerate() {
        let (u, to_u) = (u.row(r), to_u.row(r));
        let along = u.iter().zip(to_u).map(|(u, g)| u.f64() * g.f64()).sum::<f64>();
        let to_p: Vec<f64> =
            u.iter().zip(to_u).map(|(u, g)| (g.f64() - u.f64() * along) / length).collect();
        let mean: f64 = u.iter().zip(&to_p).map(|(u, g)| u.f64() * length * g).sum();
        let pairs = u.iter().zip(&to_p);
        out.row_mut(r)
            .iter_mut()
            .zip(pairs)
            .for_each(|(out, (u, g))| *out += T::of(u.f64() * length * (g - mean)));
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

/// The rows `rows` of x, in that order.
fn pick<T: Real>(x: &Matrix<T>, rows: &[u32], pool: &Pool<T>) -> Matrix<T> {
    let mut out = pool.take(rows.len(), x.columns());
    for (i, &r) in rows.iter().enumerate() {
        out.row_mut(i).copy_from_slice(x.row(r as usize));
    }
    out
}

fn zeros<T: Real>(rows: usize, columns: usize, pool: &Pool<T>) -> Matrix<T> {
    let mut out = pool.take(rows, columns);
    out.data_mut().fill(T::ZERO);
    out
}
