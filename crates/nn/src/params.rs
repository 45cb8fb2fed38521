//! The parameters of a model: a list of named matrices.

use crate::kernels::reduce::{inner_product, squared_distance, weighted_sum};
use crate::{Matrix, Pool, Real};
use boostfgl_graph::Stream;
use std::sync::Arc;

/// Name and shape of one parameter tensor. Biases have one row.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorShape {
    /// The name in files, such as `layer1.weight`.
    pub name: String,
    /// Rows: fan-in of a weight matrix, 1 for a bias.
    pub rows: usize,
    /// Columns: fan-out.
    pub columns: usize,
    /// Not derived from the shape: a weight matrix may have one row too.
    start: Start,
}

/// The initialisation of a tensor.
#[derive(Clone, Debug, PartialEq)]
enum Start {
    Glorot,
    Zero,
    Given(Arc<[f64]>),
}

impl TensorShape {
    /// A weight matrix, initialised by Glorot's rule.
    pub fn weight(name: impl Into<String>, rows: usize, columns: usize) -> Self {
        Self { name: name.into(), rows, columns, start: Start::Glorot }
    }

    /// A bias, initialised to zero.
    pub fn bias(name: impl Into<String>, columns: usize) -> Self {
        Self { name: name.into(), rows: 1, columns, start: Start::Zero }
    }

    /// A row of numbers that is initialised to these values for every seed.
    pub fn starting_at(name: impl Into<String>, values: &[f64]) -> Self {
        Self {
            name: name.into(),
            rows: 1,
            columns: values.len(),
            start: Start::Given(values.into()),
        }
    }

    /// Whether this is anything but a weight matrix.
    pub fn is_bias(&self) -> bool {
        self.start != Start::Glorot
    }

    /// The initial numbers of tensor `i` of a model.
    fn initial<T: Real>(&self, seed: u64, i: usize) -> Matrix<T> {
        let mut tensor = Matrix::zeros(self.rows, self.columns);
        match &self.start {
            Start::Glorot => {
                let bound = libm::sqrt(6.0 / (self.rows + self.columns) as f64);
                // One stream per tensor: a tensor does not change when another one is added.
                let mut stream = Stream::new(seed, "init", &[i as u64]);
                for r in 0..self.rows {
                    for x in tensor.row_mut(r) {
                        *x = T::of(bound * (2.0 * stream.unit() - 1.0));
                    }
                }
            }
            Start::Zero => {}
            Start::Given(values) => {
                for (x, value) in tensor.row_mut(0).iter_mut().zip(&**values) {
                    *x = T::of(*value);
                }
            }
        }
        tensor
    }
}

/// The parameters θ of a model. Two are equal if every number is.
#[derive(Clone, Debug)]
pub struct Params<T> {
    shapes: Arc<[TensorShape]>,
    tensors: Vec<Matrix<T>>,
}

impl<T: Real> Params<T> {
    /// Initialises every tensor by its shape: weights Glorot-uniform, U(−a, a) with a = √(6 /
    /// (fan-in + fan-out)), from `seed`, biases 0.
    pub fn glorot(shapes: &[TensorShape], seed: u64) -> Self {
        let tensors = shapes.iter().enumerate().map(|(i, shape)| shape.initial(seed, i));
        Self { shapes: shapes.into(), tensors: tensors.collect() }
    }

    /// Parameters from tensors of the given shapes.
    ///
    /// # Panics
    /// If their shapes differ.
    pub fn from_tensors(shapes: &[TensorShape], tensors: Vec<Matrix<T>>) -> Self {
        assert_eq!(shapes.len(), tensors.len(), "one tensor per shape");
        for (shape, tensor) in shapes.iter().zip(&tensors) {
            assert_eq!(
                (shape.rows, shape.columns),
                (tensor.rows(), tensor.columns()),
                "shape of {}",
                shape.name
            );
        }
        Self { shapes: shapes.into(), tensors }
    }

    /// The tensors, in the order of [`Params::shapes`].
    pub fn into_tensors(self) -> Vec<Matrix<T>> {
        self.tensors
    }

    /// A model of the same shapes in buffers from `pool`, with unspecified numbers.
    #[must_use]
    pub fn same_shape(&self, pool: &Pool<T>) -> Self {
        let tensors = self.shapes.iter().map(|s| pool.take(s.rows, s.columns)).collect();
        Self { shapes: Arc::clone(&self.shapes), tensors }
    }

    /// Names and shapes.
    pub fn shapes(&self) -> &[TensorShape] {
        &self.shapes
    }

    /// The tensors, in the order of [`Params::shapes`].
    pub fn tensors(&self) -> &[Matrix<T>] {
        &self.tensors
    }

    /// The tensors, in the order of [`Params::shapes`].
    pub fn tensors_mut(&mut self) -> &mut [Matrix<T>] {
        &mut self.tensors
    }

    /// Number of parameters P.
    pub fn count(&self) -> usize {
        self.shapes.iter().map(|s| s.rows * s.columns).sum()
    }

    /// ⟨θ, θ'⟩ over all tensors.
    pub fn dot(&self, other: &Self) -> f64 {
        self.tensors
            .iter()
            .zip(&other.tensors)
            .map(|(a, b)| inner_product(a.data(), b.data()))
            .sum()
    }

    /// ‖θ − θ'‖₂ over all tensors.
    pub fn distance(&self, other: &Self) -> f64 {
        libm::sqrt(self.tensor_distances(other).iter().map(|d| d * d).sum())
    }

    /// ‖θ − θ'‖₂ of each tensor.
    pub fn tensor_distances(&self, other: &Self) -> Vec<f64> {
        let pairs = self.tensors.iter().zip(&other.tensors);
        pairs.map(|(a, b)| libm::sqrt(squared_distance(a.data(), b.data()))).collect()
    }

    /// θ ← Σₖ wₖ θₖ, tensor by tensor, where `weights(tensor)` gives one weight per model.
    ///
    /// # Panics
    /// If the models differ in shape or the number of weights is wrong.
    pub fn set_weighted_sum(&mut self, models: &[&Self], weights: impl Fn(usize) -> Vec<f64>) {
        for (i, tensor) in self.tensors.iter_mut().enumerate() {
            let parts: Vec<&[T]> = models.iter().map(|m| m.tensors[i].data()).collect();
            weighted_sum(&parts, &weights(i), tensor.data_mut());
        }
    }

    /// Copies the numbers of a model of the same shape.
    pub fn copy_from(&mut self, other: &Self) {
        for (to, from) in self.tensors.iter_mut().zip(&other.tensors) {
            to.copy_from(from);
        }
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        self.tensors.iter().all(Matrix::is_finite)
    }

    /// Passes the little-endian bytes of every tensor, without padding, to `consume`; for digests.
    pub fn feed(&self, mut consume: impl FnMut(&[u8])) {
        for tensor in &self.tensors {
            // Long pieces are hashed several times faster than rows.
            if tensor.stride() == tensor.columns() {
                consume(bytemuck::cast_slice(tensor.data()));
                continue;
            }
            for r in 0..tensor.rows() {
                consume(bytemuck::cast_slice(tensor.row(r)));
            }
        }
    }
}

impl<T: Real> PartialEq for Params<T> {
    fn eq(&self, other: &Self) -> bool {
        self.shapes == other.shapes && self.tensors == other.tensors
    }
}
