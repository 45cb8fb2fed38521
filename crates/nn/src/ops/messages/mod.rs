//! Learnable message passing with signed weights: y = ½(softmax(pos·e) − softmax(neg·e) + e).
//!
//! r = β·1[S > threshold] + (1 − β)·cos(softmax e), zero diagonal, over all pairs of candidates;
//! with m its mean and max its largest entry, f = (r − m)/(max − m) where r > m, −r/m elsewhere,
//! and 1 on the diagonal; pos = PReLU(f), neg = PReLU(−f). The gradient goes through r, m, max and
//! the slope of PReLU.
//!
//! Only the requested rows are computed, in O(rows · n · C) time and O(n · C) memory. In addition
//! the search for max visits every pair once. m needs no pass over pairs, since Σⱼ⟨uᵢ, uⱼ⟩ = ⟨uᵢ,
//! Σⱼuⱼ⟩, and neither does the gradient through m.

mod candidates;
mod tiles;

pub use candidates::Candidates;

use crate::kernels::messages::{Scale, Shares, shares};
use crate::tape::{Backward, Operation};
use crate::{Matrix, Pool, Real, Tape, Var, softmax_rows};
use tiles::{InputGradients, OutputGradients, Pairs, Receivers};

impl<'a, T: Real> Tape<'a, T> {
    /// ½(softmax(pos·e) − softmax(neg·e) + e) with a 1 × 1 `slope` of PReLU, for the nodes `rows`
    /// in that order, or for all.
    ///
    /// # Panics
    /// If e does not have one row per candidate and one column per class.
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
        let requested = RequestedRows::new(candidates, rows);
        let mut directions = pick(values, &candidates.order, pool);
        softmax_rows(&mut directions);
        let lengths = normalise(&mut directions);
        let receiver_directions = pick(&directions, &requested.places, pool);
        let shares = Box::new(shares(T::of(beta)));
        let pairs = Pairs { candidates, directions: &directions };
        let mean = T::of(pairs.mean(beta));
        let mut measure = Measure { shares, beta, mean, largest: T::ZERO, slope: q };
        let (largest, top) = pairs.largest(measure.scale());
        measure.largest = largest;
        let by_place = pick(values, &candidates.order, pool);
        let mut sums = [0, 1].map(|_| zeros(requested.places.len(), values.columns(), pool));
        let [positive, negative] = &mut sums;
        let receivers = Receivers { places: &requested.places, directions: &receiver_directions };
        pairs.gather(&receivers, measure.scale(), &by_place, [positive, negative]);
        pool.put(by_place);
        sums.iter_mut().for_each(softmax_rows);
        let out = requested.combine(values, &sums, pool);
        let operation = Messages {
            e,
            slope,
            candidates,
            requested,
            directions,
            receiver_directions,
            lengths,
            measure,
            top,
            sums,
        };
        self.record(&[e, slope], out, operation)
    }
}

/// The rows to compute.
struct RequestedRows {
    /// Their nodes, in the requested order.
    nodes: Vec<u32>,
    /// Their places, increasing: neighbouring receivers share most of their candidates.
    places: Vec<u32>,
    /// The index in `nodes` of the node at each of these places.
    numbers: Vec<u32>,
}

impl RequestedRows {
    fn new(candidates: &Candidates, rows: Option<&[u32]>) -> Self {
        let nodes =
            rows.map_or_else(|| (0..candidates.order.len() as u32).collect(), <[u32]>::to_vec);
        let places: Vec<u32> = nodes.iter().map(|&v| candidates.places[v as usize]).collect();
        let mut numbers: Vec<u32> = (0..nodes.len() as u32).collect();
        numbers.sort_by_key(|&number| places[number as usize]);
        let places = numbers.iter().map(|&number| places[number as usize]).collect();
        Self { places, numbers, nodes }
    }

    /// ½(positive − negative + e), in the requested order.
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

/// The quantities that turn cosines into weights.
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
    requested: RequestedRows,
    /// The unit vectors softmax(e)/‖softmax(e)‖ by place.
    directions: Matrix<T>,
    /// The same of the receivers.
    receiver_directions: Matrix<T>,
    lengths: Vec<f64>,
    measure: Measure<T>,
    /// The places of a pair with the largest similarity.
    top: (usize, usize),
    /// softmax(pos·e) and softmax(neg·e) of the receivers.
    sums: [Matrix<T>; 2],
}

impl<T: Real> Operation<T> for Messages<'_, T> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let pool = to.pool();
        let e = pick(to.value(self.e), &self.candidates.order, pool);
        let mut own = pick(&gradient, &self.requested.numbers, pool);
        let positive = through_softmax(&self.sums[0], &own, 0.5, pool);
        let negative = through_softmax(&self.sums[1], &own, -0.5, pool);
        let pairs = Pairs { candidates: self.candidates, directions: &self.directions };
        let receivers =
            Receivers { places: &self.requested.places, directions: &self.receiver_directions };
        let [to_directions, to_e] = [0, 1].map(|_| zeros(e.rows(), e.columns(), pool));
        let mut back = InputGradients { to_scale: [0.0; 3], to_directions, to_e };
        let gradients = OutputGradients { positive: &positive, negative: &negative, e: &e };
        pairs.back(&receivers, self.measure.scale(), gradients, &mut back);
        self.through_scale(pairs, &mut back);
        let InputGradients { to_scale: [_, _, to_slope], to_directions, mut to_e } = back;
        for (i, &place) in self.requested.places.iter().enumerate() {
            let half = T::of(0.5);
            to_e.row_mut(place as usize)
                .iter_mut()
                .zip(own.row_mut(i))
                .for_each(|(out, g)| *out += half * *g);
        }
        through_direction(&self.directions, &self.lengths, &to_directions, &mut to_e);
        to.add(self.e, pick(&to_e, &self.candidates.places, pool));
        if to.needs_gradient(self.slope) {
            let mut slope = pool.take(1, 1);
            slope.row_mut(0)[0] = T::of(to_slope);
            to.add(self.slope, slope);
        }
        let [positive_sum, negative_sum] = self.sums;
        let held = [self.directions, self.receiver_directions, positive_sum, negative_sum];
        let made = [positive, negative, e, own, to_directions, to_e, gradient];
        held.into_iter().chain(made).for_each(|matrix| pool.put(matrix));
    }
}

impl<T: Real> Messages<'_, T> {
    /// Adds the gradient of the unit vectors through the mean and the largest similarity.
    fn through_scale(&self, pairs: Pairs<'_, T>, back: &mut InputGradients<T>) {
        let share = 1.0 - self.measure.beta;
        let [to_mean, to_largest, _] = back.to_scale;
        // m = (1/pairs)·Σᵢⱼ rᵢⱼ contains every pair twice: ∂m/∂uᵢ = 2(1 − β)/pairs · Σⱼ uⱼ.
        let all = 2.0 * share * to_mean / self.candidates.pairs() as f64;
        for (place, around) in pairs.around().chunks_exact(self.candidates.classes).enumerate() {
            let row = back.to_directions.row_mut(place).iter_mut().zip(around);
            row.for_each(|(to, sum)| *to += T::of(all * sum));
        }
        // The maximum passes its gradient to the one pair that has it; (0, 0) means there is none.
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

/// Adds the gradient through u = p/‖p‖, p = softmax(e), to `out`: ∂p = (∂u − u⟨u, ∂u⟩)/‖p‖ and ∂e =
/// p ⊙ (∂p − ⟨p, ∂p⟩).
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

/// Divides rows by their lengths and returns the lengths; rows of zeros are unchanged.
fn normalise<T: Real>(x: &mut Matrix<T>) -> Vec<f64> {
    (0..x.rows()).map(|r| normalise_row(x.row_mut(r))).collect()
}

fn normalise_row<T: Real>(row: &mut [T]) -> f64 {
    let length = libm::sqrt(row.iter().map(|x| x.f64() * x.f64()).sum());
    if length > 0.0 {
        row.iter_mut().for_each(|x| *x = T::of(x.f64() / length));
    }
    length
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
