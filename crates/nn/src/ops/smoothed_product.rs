//! Smoothed features times weights: y = [X ‖ ÂX ‖ … ‖ ÂᵏX]·W, without forming the smoothed
//! features.
//!
//! With W cut into k + 1 blocks of d rows, y = XW₀ + Â(XW₁ + Â(XW₂ + …)): k products with Â on as
//! many columns as W has, and k + 1 products with X, which stays sparse if it is. Back: Gⱼ₊₁ =
//! ÂᵀGⱼ, ∂Wⱼ = XᵀGⱼ.

use crate::inputs::FeatureMatrix;
use crate::kernels::{gemm, spmm::spmm};
use crate::tape::{Backward, Operation};
use crate::{Csr, Inputs, Matrix, Pool, Real, SmoothingOperator, Tape, Var};
use std::sync::Arc;

/// Features and the operator that smooths them. Cloning shares both.
#[derive(Clone, Debug)]
pub struct Smoothing<T> {
    source: Arc<Source<T>>,
    steps: usize,
}

#[derive(Debug)]
struct Source<T> {
    features: Features<T>,
    operator: SmoothingOperator<T>,
    /// Number of features.
    width: usize,
}

/// Features in the form of both products, X·W and Xᵀ·G.
#[derive(Debug)]
enum Features<T> {
    Sparse { x: Arc<Csr<T>>, transpose: Csr<T> },
    Dense(Arc<Matrix<T>>),
}

impl<T: Real> Smoothing<T> {
    /// The features of `inputs`, smoothed up to `steps` times by `operator`.
    ///
    /// # Panics
    /// If the operator is not square over the nodes.
    pub fn new(
        inputs: &Inputs<T>,
        operator: impl Into<SmoothingOperator<T>>,
        steps: usize,
    ) -> Self {
        let operator = operator.into();
        assert_eq!(operator.len(), inputs.nodes(), "an operator on the nodes");
        let features = match inputs.features_together() {
            FeatureMatrix::Sparse(x) => Features::Sparse { transpose: x.transpose_of(None).0, x },
            FeatureMatrix::Dense(x) => Features::Dense(x),
        };
        Self { source: Arc::new(Source { features, operator, width: inputs.width() }), steps }
    }

    /// The same features and operator, smoothed another number of times.
    #[must_use]
    pub fn steps(self, steps: usize) -> Self {
        Self { steps, ..self }
    }

    /// Number of columns of the smoothed features, (k + 1)·d.
    pub fn width(&self) -> usize {
        (self.steps + 1) * self.source.width
    }

    /// [X ‖ ÂX ‖ … ‖ ÂᵏX]·W for all nodes.
    ///
    /// # Panics
    /// If W does not have [`Smoothing::width`] rows.
    pub fn product(&self, weights: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
        assert_eq!(weights.rows(), self.width(), "one row of weights per smoothed feature");
        // Horner's scheme, from the highest power of Â inwards.
        let mut out = self.source.project(weights, self.steps, pool);
        for j in (0..self.steps).rev() {
            let mut next = self.source.project(weights, j, pool);
            let passed = self.source.operator.product(&out, pool);
            next.data_mut().iter_mut().zip(passed.data()).for_each(|(x, y)| *x += *y);
            pool.put(passed);
            pool.put(std::mem::replace(&mut out, next));
        }
        out
    }
}

impl<T: Real> Source<T> {
    /// X·W of block `j` of W.
    fn project(&self, weights: &Matrix<T>, j: usize, pool: &Pool<T>) -> Matrix<T> {
        let stride = weights.stride();
        let block = &weights.data()[j * self.width * stride..(j + 1) * self.width * stride];
        match &self.features {
            Features::Sparse { x, .. } => {
                let mut out = pool.take(x.rows(), weights.columns());
                spmm(x, None, block, out.data_mut(), stride);
                out
            }
            Features::Dense(x) => {
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
        match &self.features {
            Features::Dense(x) => {
                let mut part = pool.take(self.width, gradient.columns());
                gemm::transposed_multiply(x, gradient, &mut part);
                out.data_mut()[block].copy_from_slice(part.data());
                pool.put(part);
            }
            Features::Sparse { transpose, .. } => {
                spmm(transpose, None, gradient.data(), &mut out.data_mut()[block], stride)
            }
        }
    }
}

impl<'a, T: Real> Tape<'a, T> {
    /// [X ‖ ÂX ‖ … ‖ ÂᵏX]·W for all nodes; `cached` is the [product](Smoothing::product), if it was
    /// computed before.
    ///
    /// # Panics
    /// If W does not have [`Smoothing::width`] rows.
    pub fn smoothed_product(
        &mut self,
        smoothing: &'a Smoothing<T>,
        weights: Var,
        cached: Option<Matrix<T>>,
    ) -> Var {
        let out = cached.unwrap_or_else(|| smoothing.product(self.value(weights), self.pool()));
        self.record(&[weights], out, SmoothedProduct { smoothing, weights })
    }
}

struct SmoothedProduct<'a, T> {
    smoothing: &'a Smoothing<T>,
    weights: Var,
}

impl<T: Real> Operation<T> for SmoothedProduct<'_, T> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let pool = to.pool();
        let mut out = pool.take(self.smoothing.width(), gradient.columns());
        let (mut gradient, source) = (gradient, &*self.smoothing.source);
        // Gⱼ = (Âᵀ)ʲ·g, one power per step: block j of ∂W is Xᵀ·Gⱼ.
        for j in 0..=self.smoothing.steps {
            if j > 0 {
                let passed = source.operator.transposed_product(&gradient, pool);
                pool.put(std::mem::replace(&mut gradient, passed));
            }
            source.collect(&gradient, j, &mut out, pool);
        }
        to.add(self.weights, out);
        to.recycle(gradient);
    }
}
