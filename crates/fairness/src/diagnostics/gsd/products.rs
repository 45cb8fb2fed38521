//! ⟨(PX)ᵤ, (PX)ᵤ'⟩ for nodes u, u' that send to the same node.

use super::super::Network;
use boostfgl_nn::{Csr, Matrix, Real, row_dots};
use rayon::prelude::*;

/// The cost of a number of a sparse row of P X, in numbers of a dense row.
pub(super) const SPARSE_PENALTY: usize = 8;

/// The inner products, stored in the way that takes the least memory.
pub(super) enum Products<T> {
    /// For each node in turn the lower triangle of its own neighbourhood: for sparse
    /// neighbourhoods.
    Triangles { starts: Vec<usize>, values: Vec<T> },
    /// The lower triangle of all nodes that send to any: where neighbourhoods are so dense that
    /// they share most pairs.
    Whole { place: Vec<u32>, values: Vec<T> },
    /// Too many to store: P X, from which they are computed each time.
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
        nodes.iter().for_each(|&v| {
            p.row_range(v as usize).for_each(|k| place[p.indices()[k] as usize] = 0);
        });
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
            let values = (0..senders.len())
                .into_par_iter()
                .map_init(|| vec![0.0; width], |scratch, a| rows.against(a, 0..=a, scratch))
                .collect::<Vec<_>>();
            return Self::Whole { place, values: values.concat() };
        }
        let values = nodes
            .par_iter()
            .map_init(
                || vec![0.0; width],
                |scratch, v| rows.triangle(&p.indices()[p.row_range(*v as usize)], &place, scratch),
            )
            .collect::<Vec<_>>();
        Self::Triangles { starts, values: values.concat() }
    }

    /// Row `a` of the lower triangle of products among `senders`, all those that send to the node
    /// at position `i`: those of sender `a` with the senders up to itself. A row at a time, because
    /// a hub has many senders and their pairs would not fit. `room` may hold anything, before and
    /// after.
    pub(super) fn row<'r>(
        &'r self,
        (i, a): (usize, usize),
        senders: &[u32],
        scratch: &mut [f64],
        room: &'r mut Vec<T>,
    ) -> &'r [T] {
        match self {
            Self::Triangles { starts, values } => &values[starts[i] + triangle(a)..][..=a],
            Self::Whole { place, values } => {
                let row = triangle(position(place, senders[a]));
                room.clear();
                room.extend(senders[..=a].iter().map(|&w| values[row + position(place, w)]));
                room
            }
            Self::Fresh { place, rows } => {
                let others = senders[..=a].iter().map(|&w| position(place, w));
                *room = rows.against(position(place, senders[a]), others, scratch);
                room
            }
        }
    }
}

impl<T: Real> Rows<T> {
    /// The rows `nodes` of P X: sparse if that is less work, or if a dense copy would take more
    /// than `bytes`.
    fn new(network: &Network<'_, T>, nodes: &[u32], bytes: usize) -> Self {
        let width = network.inputs.width();
        let rows: Vec<(Vec<u32>, Vec<T>)> = nodes
            .par_iter()
            .map_init(|| vec![0.0; width], |scratch, &v| propagated_row(network, v, scratch))
            .collect();
        let stored: usize = rows.iter().map(|(columns, _)| columns.len()).sum();
        let full = nodes.len() * width;
        if stored * SPARSE_PENALTY > full && full * size_of::<T>() <= bytes {
            let mut dense = Matrix::zeros(nodes.len(), width);
            for (i, (columns, values)) in rows.iter().enumerate() {
                let row = dense.row_mut(i);
                columns.iter().zip(values).for_each(|(&c, &x)| row[c as usize] += x);
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

    /// The lower triangle of the products among `nodes`; `place` has the row of each.
    fn triangle(&self, nodes: &[u32], place: &[u32], scratch: &mut [f64]) -> Vec<T> {
        let mut products = Vec::with_capacity(triangle(nodes.len()));
        for (a, &u) in nodes.iter().enumerate() {
            let others = nodes[..=a].iter().map(|&w| position(place, w));
            products.extend(self.against(position(place, u), others, scratch));
        }
        products
    }

    /// The products of row `a` with `others`. `scratch` holds as many zeros as there are features,
    /// before and after.
    fn against(
        &self,
        a: usize,
        others: impl Iterator<Item = usize>,
        scratch: &mut [f64],
    ) -> Vec<T> {
        match self {
            Self::Dense(x) => {
                let others: Vec<u32> = others.map(|b| b as u32).collect();
                let mut products = vec![T::ZERO; others.len()];
                row_dots(&x.data()[a * x.stride()..][..x.stride()], x, &others, &mut products);
                products
            }
            Self::Sparse(x) => {
                // Row a is scattered once, so that each product costs only the entries of the other
                // row, without a search for equal columns.
                x.row_range(a)
                    .for_each(|k| scratch[x.indices()[k] as usize] += x.values()[k].f64());
                let products = others.map(|b| T::of(scattered_dot(x, b, scratch))).collect();
                x.row_range(a).for_each(|k| scratch[x.indices()[k] as usize] = 0.0);
                products
            }
        }
    }
}

/// The row `v` of P X: the columns that are not 0 and their numbers. `scratch` holds as many zeros
/// as there are features, before and after.
fn propagated_row<T: Real>(
    network: &Network<'_, T>,
    v: u32,
    scratch: &mut [f64],
) -> (Vec<u32>, Vec<T>) {
    let p = network.propagation.csr();
    let mut columns: Vec<u32> = Vec::new();
    for k in p.row_range(v as usize) {
        let weight = p.values()[k].f64();
        network.inputs.visit_row(p.indices()[k] as usize, |column, x| {
            let part = weight * x.f64();
            // A sum that passes through 0 lists its column twice; `take` below leaves 0 for the
            // second entry.
            if scratch[column] == 0.0 && part != 0.0 {
                columns.push(column as u32);
            }
            scratch[column] += part;
        });
    }
    let values = columns.iter().map(|&c| T::of(std::mem::take(&mut scratch[c as usize]))).collect();
    (columns, values)
}

/// The product of row `b` with the row that was added to `scratch`.
#[inline]
fn scattered_dot<T: Real>(x: &Csr<T>, b: usize, scratch: &[f64]) -> f64 {
    x.row_range(b).map(|k| scratch[x.indices()[k] as usize] * x.values()[k].f64()).sum()
}

/// The row in which the node `u` is stored.
#[inline]
fn position(place: &[u32], u: u32) -> usize {
    place[u as usize] as usize
}

/// Number of pairs of `n` things, each with itself included.
pub(super) fn triangle(n: usize) -> usize {
    n * (n + 1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_graph::{Adjacency, Features, Graph, Labels};
    use boostfgl_nn::backbones::{Architecture, Backbone, Gcn};
    use boostfgl_nn::{Inputs, Params};

    /// All ways of storing products agree with (P X)(P X)ᵀ, whether neighbourhoods share nodes or
    /// not.
    #[test]
    fn every_way_of_storing_products_gives_the_same_numbers() {
        let clique: Vec<(u32, u32)> = (0..6).flat_map(|v| (0..v).map(move |u| (u, v))).collect();
        let path: Vec<(u32, u32)> = (1..7).map(|v| (v - 1, v)).collect();
        for (edges, shared) in [(clique, true), (path, false)] {
            let (adjacency, _) = Adjacency::from_edges(8, &edges, None, false).unwrap();
            let features = (0..8 * 3).map(|i| [0.0, 1.5, -0.5, 0.0, 2.0][i % 5]).collect();
            let labels = Labels::from_integers(&[0; 8], 2).unwrap();
            let graph =
                Graph::new("small", adjacency, Features::dense(8, 3, features).unwrap(), labels)
                    .unwrap();
            let (backbone, inputs) = (
                Gcn::new(Architecture { inputs: 3, hidden: 2, classes: 2, layers: 2 }),
                Inputs::<f64>::new(&graph),
            );
            let params = Params::glorot(&Backbone::<f64>::shapes(&backbone), 0);
            let network = Network {
                backbone: &backbone,
                two_layer_gcn: true,
                params: &params,
                adjacency: graph.adjacency(),
                inputs: &inputs,
                propagation: inputs.propagation(),
            };
            let nodes: Vec<u32> = (0..8).step_by(if shared { 1 } else { 3 }).collect();
            let (kept, fresh) =
                (Products::new(&network, &nodes, 1 << 20), Products::new(&network, &nodes, 0));
            assert_eq!(matches!(kept, Products::Whole { .. }), shared);
            assert_eq!(matches!(kept, Products::Triangles { .. }), !shared);
            assert!(matches!(fresh, Products::Fresh { rows: Rows::Sparse(_), .. }));
            assert_products(&network, &nodes, [&kept, &fresh]);
        }
    }

    /// Compares the products of every node, sender by sender, with dot products of dense rows.
    fn assert_products(network: &Network<'_, f64>, nodes: &[u32], found: [&Products<f64>; 2]) {
        let p = network.propagation.csr();
        for (i, &v) in nodes.iter().enumerate() {
            let senders = &p.indices()[p.row_range(v as usize)];
            let mut scratch = vec![0.0; 3];
            for (a, &u) in senders.iter().enumerate() {
                let expected: Vec<f64> = senders[..=a]
                    .iter()
                    .map(|&w| {
                        dense_row(network, u)
                            .iter()
                            .zip(dense_row(network, w))
                            .map(|(x, y)| x * y)
                            .sum()
                    })
                    .collect();
                for products in found {
                    let mut room = Vec::new();
                    let row = products.row((i, a), senders, &mut scratch, &mut room);
                    assert_eq!(row.len(), expected.len());
                    assert!(row.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-14));
                }
            }
            assert_eq!(scratch, [0.0; 3]);
        }
    }

    /// The row of u in P X.
    fn dense_row(network: &Network<'_, f64>, u: u32) -> Vec<f64> {
        let p = network.propagation.csr();
        let mut row = vec![0.0; 3];
        for k in p.row_range(u as usize) {
            network.inputs.visit_row(p.indices()[k] as usize, |column, x| {
                row[column] += p.values()[k] * x;
            });
        }
        row
    }
}
