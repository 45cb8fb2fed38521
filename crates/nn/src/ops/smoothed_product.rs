//! Smoothed features times weights: y = [X ‖ ÂX ‖ … ‖ ÂᵏX]·W, without forming the smoothed features.
//!
//! With W cut into k + 1 blocks of d rows, y = XW₀ + Â(XW₁ + Â(XW₂ + …)): k products with Â on as many columns as W has, and
//! k + 1 products with X, which stays sparse if it is. Back: Gⱼ₊₁ = ÂᵀGⱼ, ∂Wⱼ = XᵀGⱼ.

use crate::inputs::FeatureMatrix;
use crate::kernels::{gemm, spmm::spmm};
use crate::tape::{Backward, Operation};
use crate::{Csr, Inputs, Matrix, Pool, Real, Tape, Var};

/// Features and what they are smoothed by.
#[derive(Clone, Debug)]
pub struct Smoothing<T> {
    features: FeatureMatrix<T>,
    /// Xᵀ, where X is sparse.
    transpose: Option<Csr<T>>,
    /// Â and Âᵀ.
    operator: Csr<T>,
    back: Csr<T>,
    steps: usize,
    width: usize,
}

impl<T: Real> Smoothing<T> {
    /// The features of `inputs`, smoothed up to `steps` times by `operator`.
    ///
    /// # Panics
    /// If the operator is not square over the nodes.
    pub fn new(inputs: &Inputs<T>, operator: Csr<T>, steps: usize) -> Self {
        assert_eq!((operator.rows(), operator.columns()), (inputs.nodes(), inputs.nodes()), "an operator on the nodes");
        let features = inputs.features_together();
        let transpose = match &features {
            FeatureMatrix::Sparse(x) => Some(x.transpose_of(None).0),
            FeatureMatrix::Dense(_) => None,
        };
        Self { features, transpose, back: operator.transpose_of(None).0, operator, steps, width: inputs.width() }
    }

    /// The same features and operator, smoothed another number of times.
    #[must_use]
    pub fn steps(self, steps: usize) -> Self {
        Self { steps, ..self }
    }

    /// Number of columns of the smoothed features, (k + 1)·d.
    pub fn width(&self) -> usize {
        (self.steps + 1) * self.width
    }

    /// X·W of block `j` of W.
    fn project(&self, weights: &Matrix<T>, j: usize, pool: &Pool<T>) -> Matrix<T> {
        let stride = weights.stride();
        let block = &weights.data()[j * self.width * stride..(j + 1) * self.width * stride];
        match &self.features {
            FeatureMatrix::Sparse(x) => {
                let mut out = pool.take(x.rows(), weights.columns());
                spmm(x, None, block, out.data_mut(), stride);
                out
            }
            FeatureMatrix::Dense(x) => {
                let mut part = pool.take(self.width, weights.columns());
                part.data_mut().copy_from_slice(block);
                let mut out = pool.take(x.rows(), weights.columns());
                gemm::multiply(x, &part, &mut out);
                pool.put(part);
                out
            }
        }
    }

    /// Xᵀ·G into block `j` of the gradient of W.
    fn collect(&self, gradient: &Matrix<T>, j: usize, out: &mut Matrix<T>, pool: &Pool<T>) {
        let stride = out.stride();
        let block = j * self.width * stride..(j + 1) * self.width * stride;
        match (&self.features, &self.transpose) {
            (FeatureMatrix::Dense(x), _) => {
                let mut part = pool.take(self.width, gradient.columns());
                gemm::transposed_multiply(x, gradient, &mut part);
                out.data_mut()[block].copy_from_slice(part.data());
                pool.put(part);
            }
            (_, Some(transpose)) => spmm(transpose, None, gradient.data(), &mut out.data_mut()[block], stride),
            (FeatureMatrix::Sparse(_), None) => unreachable!("sparse features come with their transpose"),
        }
    }
}

impl<'a, T: Real> Tape<'a, T> {
    /// [X ‖ ÂX ‖ … ‖ ÂᵏX]·W for all nodes.
    ///
    /// # Panics
    /// If W does not have [`Smoothing::width`] rows.
    pub fn smoothed_product(&mut self, smoothing: &'a Smoothing<T>, weights: Var) -> Var {
        let (pool, w) = (self.pool(), self.value(weights));
        assert_eq!(w.rows(), smoothing.width(), "one row of weights per smoothed feature");
        let mut out = smoothing.project(w, smoothing.steps, pool);
        for j in (0..smoothing.steps).rev() {
            let mut next = smoothing.project(w, j, pool);
            let passed = apply(&smoothing.operator, &out, pool);
            next.data_mut().iter_mut().zip(passed.data()).for_each(|(x, y)| *x += *y);
            pool.put(passed);
            pool.put(std::mem::replace(&mut out, next));
        }
        self.record(&[weights], out, SmoothedProduct { smoothing, weights })
    }
}

fn apply<T: Real>(operator: &Csr<T>, x: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
    let mut out = pool.take(operator.rows(), x.columns());
    let stride = out.stride();
    spmm(operator, None, x.data(), out.data_mut(), stride);
    out
}

struct SmoothedProduct<'a, T> {
    smoothing: &'a Smoothing<T>,
    weights: Var,
}

impl<T: Real> Operation<T> for SmoothedProduct<'_, T> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let pool = to.pool();
        let mut out = pool.take(self.smoothing.width(), gradient.columns());
        let mut gradient = gradient;
        for j in 0..=self.smoothing.steps {
            if j > 0 {
                let passed = apply(&self.smoothing.back, &gradient, pool);
                pool.put(std::mem::replace(&mut gradient, passed));
            }
            self.smoothing.collect(&gradient, j, &mut out, pool);
        }
        to.add(self.weights, out);
        to.recycle(gradient);
    }
}
