//! ⟨(PX)ᵤ, (PX)ᵤ'⟩ for nodes u, u' that send to the same node.

use super::super::Network;
use boostfgl_nn::{Csr, Matrix, Real};
use rayon::prelude::*;

/// Numbers added side by side in a dot product: fixed, so that digits do not depend on the machine.
const LANES: usize = 16;

/// A sparse row of P X is multiplied at about a quarter of the speed of a dense one.
const SPARSE_PENALTY: usize = 4;

/// The inner products, as they are kept.
pub(super) enum Products<T> {
    /// For each node in turn the lower triangle of its own neighbourhood: for sparse neighbourhoods.
    Triangles { starts: Vec<usize>, values: Vec<T> },
    /// The lower triangle of all nodes that send to any: where neighbourhoods are so dense that they share most pairs.
    Whole { place: Vec<u32>, values: Vec<T> },
    /// Too many to keep: P X, from which they are computed each time.
    Fresh { place: Vec<u32>, rows: Rows<T> },
}

/// Some rows of P X.
pub(super) enum Rows<T> {
    /// Few entries each.
    Sparse(Csr<T>),
    /// Many.
    Dense(Matrix<T>),
}

impl<T: Real> Products<T> {
    /// The products that `nodes` need, in at most `bytes` of memory if they are kept.
    pub(super) fn new(network: &Network<'_, T>, nodes: &[u32], bytes: usize) -> Self {
        let p = network.propagation.csr();
        let mut place = vec![u32::MAX; p.rows()];
        nodes.iter().for_each(|&v| p.row_range(v as usize).for_each(|k| place[p.indices()[k] as usize] = 0));
        let senders: Vec<u32> = (0..p.rows() as u32).filter(|&u| place[u as usize] == 0).collect();
        senders.iter().enumerate().for_each(|(i, &u)| place[u as usize] = i as u32);
        let rows = Rows::new(network, &senders, bytes);

        let mut starts = vec![0];
        for &v in nodes {
            starts.push(starts[starts.len() - 1] + triangle(p.row_range(v as usize).len()));
        }
        let (apart, together) = (starts[nodes.len()], triangle(senders.len()));
        if apart.min(together) * size_of::<T>() > bytes {
            return Self::Fresh { place, rows };
        }
        let width = network.inputs.width();
        if together < apart {
            let row = |scratch: &mut Vec<f64>, a: usize| rows.against(a, 0..=a, scratch);
            let values = (0..senders.len()).into_par_iter().map_init(|| vec![0.0; width], row).collect::<Vec<_>>();
            return Self::Whole { place, values: values.concat() };
        }
        let one =
            |scratch: &mut Vec<f64>, v: &u32| rows.triangle(&p.indices()[p.row_range(*v as usize)], &place, scratch);
        let values = nodes.par_iter().map_init(|| vec![0.0; width], one).collect::<Vec<_>>();
        Self::Triangles { starts, values: values.concat() }
    }

    /// The products among `senders`, all those that send to the node at position `i`, as a lower triangle.
    pub(super) fn of(&self, i: usize, senders: &[u32], scratch: &mut Vec<f64>) -> Vec<T> {
        match self {
            Self::Triangles { starts, values } => values[starts[i]..starts[i + 1]].to_vec(),
            Self::Whole { place, values } => {
                let at = |u: &u32| place[*u as usize] as usize;
                let row = |(a, u): (usize, &u32)| {
                    let row = triangle(at(u));
                    senders[..=a].iter().map(move |w| values[row + at(w)]).collect::<Vec<_>>()
                };
                senders.iter().enumerate().flat_map(row).collect()
            }
            Self::Fresh { place, rows } => rows.triangle(senders, place, scratch),
        }
    }
}

impl<T: Real> Rows<T> {
    /// The rows `nodes` of P X: sparse if that is less work, or if a dense copy would take more than `bytes`.
    fn new(network: &Network<'_, T>, nodes: &[u32], bytes: usize) -> Self {
        let (p, inputs) = (network.propagation.csr(), network.inputs);
        let width = inputs.width();
        let sum = |scratch: &mut Vec<f64>, v: usize| {
            scratch.resize(width, 0.0);
            for k in p.row_range(v) {
                let weight = p.values()[k].f64();
                inputs.visit_row(p.indices()[k] as usize, |column, x| scratch[column] += weight * x.f64());
            }
        };
        let sparse = |scratch: &mut Vec<f64>, &v: &u32| {
            sum(scratch, v as usize);
            let stored: Vec<u32> = (0..width as u32).filter(|&c| scratch[c as usize] != 0.0).collect();
            let values: Vec<T> = stored.iter().map(|&c| T::of(std::mem::take(&mut scratch[c as usize]))).collect();
            (stored, values)
        };
        let rows: Vec<(Vec<u32>, Vec<T>)> = nodes.par_iter().map_init(Vec::new, sparse).collect();
        let stored: usize = rows.iter().map(|(columns, _)| columns.len()).sum();
        let full = nodes.len() * width;
        if stored * SPARSE_PENALTY > full && full * size_of::<T>() <= bytes {
            let mut dense = Matrix::zeros(nodes.len(), width);
            for (i, (columns, values)) in rows.iter().enumerate() {
                let row = dense.row_mut(i);
                columns.iter().zip(values).for_each(|(&c, &x)| row[c as usize] = x);
            }
            return Self::Dense(dense);
        }
        let mut offsets = vec![0];
        let (mut indices, mut values) = (Vec::with_capacity(stored), Vec::with_capacity(stored));
        for (columns, row) in rows {
            indices.extend(columns);
            values.extend(row);
            offsets.push(indices.len());
        }
        Self::Sparse(Csr::new(width, offsets, indices, values))
    }

    /// The lower triangle of the products among `nodes`, where `place` says which row is whose.
    fn triangle(&self, nodes: &[u32], place: &[u32], scratch: &mut Vec<f64>) -> Vec<T> {
        let at = |u: &u32| place[*u as usize] as usize;
        let mut products = Vec::with_capacity(triangle(nodes.len()));
        for (a, u) in nodes.iter().enumerate() {
            products.extend(self.against(at(u), nodes[..=a].iter().map(at), scratch));
        }
        products
    }

    /// The products of row `a` with `others`. `scratch` holds as many zeros as there are features, before and after.
    fn against(&self, a: usize, others: impl Iterator<Item = usize>, scratch: &mut [f64]) -> Vec<T> {
        match self {
            Self::Dense(x) => {
                let row = |r: usize| &x.data()[r * x.stride()..][..x.stride()];
                others.map(|b| dot(row(a), row(b))).collect()
            }
            Self::Sparse(x) => {
                x.row_range(a).for_each(|k| scratch[x.indices()[k] as usize] = x.values()[k].f64());
                let product = |b: usize| {
                    x.row_range(b).map(|k| scratch[x.indices()[k] as usize] * x.values()[k].f64()).sum::<f64>()
                };
                let products = others.map(|b| T::of(product(b))).collect();
                x.row_range(a).for_each(|k| scratch[x.indices()[k] as usize] = 0.0);
                products
            }
        }
    }
}

/// Number of pairs of `n` things, each with itself included.
pub(super) fn triangle(n: usize) -> usize {
    n * (n + 1) / 2
}

/// ⟨a, b⟩.
pub(super) fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    let mut lanes = [T::ZERO; LANES];
    let (left, right) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = left.remainder().iter().zip(right.remainder());
    let rest = rest.fold(T::ZERO, |sum, (&x, &y)| sum + x * y);
    for (x, y) in left.zip(right) {
        for i in 0..LANES {
            lanes[i] += x[i] * y[i];
        }
    }
    lanes.into_iter().fold(rest, |sum, lane| sum + lane)
}
