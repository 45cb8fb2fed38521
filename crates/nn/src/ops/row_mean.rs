//! The mean over a node and its neighbours: y = D̃⁻¹(A + I)·x, ∂x = its transpose times g.

use crate::kernels::spmm::spmm;
use crate::tape::{Backward, Operation};
use crate::{Csr, Matrix, Propagation, Real, Tape, Var};
use boostfgl_graph::Adjacency;

/// The operator D̃⁻¹(A + I) of a graph and its transpose, independent of any [`View`](crate::View).
#[derive(Debug)]
pub struct RowMean<T> {
    matrix: Csr<T>,
    transpose: Csr<T>,
}

impl<T: Real> RowMean<T> {
    /// The mean over every node and its in-neighbours. Edge weights, if the graph has them, replace
    /// the ones of A.
    ///
    /// ```
    /// use boostfgl_nn::{Matrix, Pool, RowMean, Tape};
    /// let (path, _) = boostfgl_graph::Adjacency::from_edges(3, &[(0, 1), (1, 2)], None, false)?;
    /// let (mean, pool, x) = (RowMean::of(&path), Pool::new(), Matrix::from_rows(3, 1, &[1.0f64, 2.0, 6.0]));
    /// let mut tape = Tape::new(&pool);
    /// let x = tape.constant(&x);
    /// let y = tape.row_mean(&mean, x);
    /// assert_eq!(tape.value(y).to_vec(), [1.5, 3.0, 4.0]);
    /// # Ok::<(), boostfgl_graph::Error>(())
    /// ```
    pub fn of(adjacency: &Adjacency) -> Self {
        let matrix = Propagation::row_mean(adjacency).csr().clone();
        Self { transpose: matrix.transpose_of(None).0, matrix }
    }
}

impl<'a, T: Real> Tape<'a, T> {
    /// The mean of x over every node and its neighbours.
    ///
    /// # Panics
    /// If x does not have a row per node.
    pub fn row_mean(&mut self, mean: &'a RowMean<T>, x: Var) -> Var {
        let input = self.value(x);
        assert_eq!(input.rows(), mean.matrix.columns(), "a row per node");
        let mut out = self.pool().take(mean.matrix.rows(), input.columns());
        let stride = out.stride();
        spmm(&mean.matrix, None, input.data(), out.data_mut(), stride);
        self.record(&[x], out, Mean { transpose: &mean.transpose, x })
    }
}

struct Mean<'a, T> {
    transpose: &'a Csr<T>,
    x: Var,
}

impl<T: Real> Operation<T> for Mean<'_, T> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let mut out = to.pool().take(self.transpose.rows(), gradient.columns());
        let stride = out.stride();
        spmm(self.transpose, None, gradient.data(), out.data_mut(), stride);
        to.add(self.x, out);
        to.recycle(gradient);
    }
}
