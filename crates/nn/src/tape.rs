//! A small reverse-mode tape over 2-D matrices.
//!
//! Operations are recorded as they run; [`Tape::backward`] walks them in reverse. Each operation is
//! one file in [`crate::ops`]. Buffers come from a [`Pool`] and go back to it, so that a training
//! step allocates nothing after the first.

use crate::{Matrix, MessageNoise, Real};
use std::cell::RefCell;

/// A value on a tape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Var(usize);

/// Buffers for reuse. One pool per client; not shared between threads.
#[derive(Debug, Default)]
pub struct Pool<T>(RefCell<Vec<Matrix<T>>>);

impl<T: Real> Pool<T> {
    /// An empty pool.
    pub fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    /// A matrix of that shape; values are unspecified, padding is zero.
    pub fn take(&self, rows: usize, columns: usize) -> Matrix<T> {
        let mut free = self.0.borrow_mut();
        let wanted = rows * columns * size_of::<T>();
        // The smallest that fits: a large buffer stays free for a large matrix.
        let fits =
            (0..free.len()).filter(|&i| free[i].bytes() >= wanted).min_by_key(|&i| free[i].bytes());
        let mut matrix = match fits {
            Some(i) => free.swap_remove(i),
            None => Matrix::zeros(0, 0),
        };
        matrix.reshape(rows, columns);
        matrix
    }

    /// Returns a buffer to the pool.
    pub fn put(&self, matrix: Matrix<T>) {
        self.0.borrow_mut().push(matrix);
    }
}

/// The backward pass of an operation.
pub(crate) trait Operation<T: Real> {
    /// `gradient` is ∂loss/∂output; adds ∂loss/∂input for each input that needs it.
    ///
    /// Operation and gradient are given by value: both are used once, and their buffers can become
    /// gradients of the inputs or return to the pool.
    fn backward(self: Box<Self>, output: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>);
}

/// A record of operations on matrices.
pub struct Tape<'a, T: Real> {
    pool: &'a Pool<T>,
    values: Vec<Value<'a, T>>,
    operations: Vec<Option<Box<dyn Operation<T> + 'a>>>,
    differentiable: Vec<bool>,
    cached: bool,
    features: Option<Var>,
    noise: MessageNoise,
    pre_activation: PreActivation<T>,
}

/// Whether the input of the last activation is saved; activations otherwise overwrite it.
enum PreActivation<T> {
    Overwritten,
    Saved(Option<Matrix<T>>),
}

enum Value<'a, T> {
    Borrowed(&'a Matrix<T>),
    Owned(Matrix<T>),
    /// The buffer was reused: overwritten in place by a later operation, or released.
    Gone,
}

impl<'a, T: Real> Tape<'a, T> {
    /// An empty tape that draws its buffers from `pool`.
    pub fn new(pool: &'a Pool<T>) -> Self {
        Self {
            pool,
            values: Vec::new(),
            operations: Vec::new(),
            differentiable: Vec::new(),
            cached: false,
            features: None,
            noise: MessageNoise::off(),
            pre_activation: PreActivation::Overwritten,
        }
    }

    /// Saves the input of the last activation, for [`Tape::take_pre_activation`].
    #[must_use]
    pub(crate) fn saving_pre_activation(self) -> Self {
        let mut tape = self;
        tape.pre_activation = PreActivation::Saved(None);
        tape
    }

    pub(crate) fn saves_pre_activation(&self) -> bool {
        matches!(self.pre_activation, PreActivation::Saved(_))
    }

    /// Saves the input of an activation, replacing that of an earlier one.
    pub(crate) fn save_pre_activation(&mut self, input: Matrix<T>) {
        if let PreActivation::Saved(Some(earlier)) =
            std::mem::replace(&mut self.pre_activation, PreActivation::Saved(Some(input)))
        {
            self.pool.put(earlier);
        }
    }

    /// The input of the last activation, if there was one and the tape saves it.
    pub(crate) fn take_pre_activation(&mut self) -> Option<Matrix<T>> {
        match &mut self.pre_activation {
            PreActivation::Saved(input) => input.take(),
            PreActivation::Overwritten => None,
        }
    }

    /// Whether operations may use results that a view has cached.
    #[must_use]
    pub fn using_cache(self, cached: bool) -> Self {
        let mut tape = self;
        tape.cached = cached;
        tape
    }

    pub(crate) fn cached(&self) -> bool {
        self.cached
    }

    /// Adds noise to the messages that networks aggregate on this tape.
    #[must_use]
    pub fn noisy(self, noise: MessageNoise) -> Self {
        let mut tape = self;
        tape.noise = noise;
        tape
    }

    pub(crate) fn noise(&self) -> MessageNoise {
        self.noise
    }

    /// Sets the features that views of [given features](crate::View::of_given_features) read, one
    /// row per node.
    pub fn give_features(&mut self, features: Var) {
        self.features = Some(features);
    }

    /// The features set by [`Tape::give_features`].
    ///
    /// # Panics
    /// If none were set.
    pub(crate) fn given_features(&self) -> Var {
        match self.features {
            Some(features) => features,
            None => panic!("a view of given features needs `Tape::give_features` first"),
        }
    }

    /// A value whose gradient is computed: a parameter.
    pub fn parameter(&mut self, matrix: &'a Matrix<T>) -> Var {
        self.push(Value::Borrowed(matrix), None, true)
    }

    /// A value without a gradient.
    pub fn constant(&mut self, matrix: &'a Matrix<T>) -> Var {
        self.push(Value::Borrowed(matrix), None, false)
    }

    /// The matrix behind `var`.
    ///
    /// # Panics
    /// If its buffer has been overwritten or released.
    pub fn value(&self, var: Var) -> &Matrix<T> {
        value(&self.values, var)
    }

    /// Returns the buffer of `var` to the pool early. Only for values that no backward pass reads.
    pub fn release(&mut self, var: Var) {
        if let Value::Owned(matrix) = std::mem::replace(&mut self.values[var.0], Value::Gone) {
            self.pool.put(matrix);
        }
    }

    /// Takes the matrix behind `var` off the tape.
    ///
    /// # Panics
    /// If its buffer has been overwritten or released.
    pub fn take(&mut self, var: Var) -> Matrix<T> {
        match std::mem::replace(&mut self.values[var.0], Value::Gone) {
            Value::Owned(matrix) => matrix,
            Value::Borrowed(matrix) => matrix.clone(),
            Value::Gone => panic!("the value of {var:?} is gone"),
        }
    }

    /// Buffers for results.
    pub(crate) fn pool(&self) -> &'a Pool<T> {
        self.pool
    }

    /// Whether a gradient can flow back to `var`.
    pub(crate) fn is_differentiable(&self, var: Var) -> bool {
        self.differentiable[var.0]
    }

    /// Records a result without differentiable inputs.
    pub(crate) fn computed(&mut self, result: Matrix<T>) -> Var {
        self.push(Value::Owned(result), None, false)
    }

    /// Records the result of an operation on `inputs`. Without a differentiable input the operation
    /// is dropped.
    pub(crate) fn record(
        &mut self,
        inputs: &[Var],
        result: Matrix<T>,
        operation: impl Operation<T> + 'a,
    ) -> Var {
        // So a pass over constants alone, as for evaluation, stores nothing for a backward pass.
        let differentiable = inputs.iter().any(|input| self.differentiable[input.0]);
        let operation: Option<Box<dyn Operation<T> + 'a>> =
            if differentiable { Some(Box::new(operation)) } else { None };
        self.push(Value::Owned(result), operation, differentiable)
    }

    fn push(
        &mut self,
        value: Value<'a, T>,
        operation: Option<Box<dyn Operation<T> + 'a>>,
        differentiable: bool,
    ) -> Var {
        self.values.push(value);
        self.operations.push(operation);
        self.differentiable.push(differentiable);
        Var(self.values.len() - 1)
    }

    /// Gradients of the 1 × 1 value `loss` with respect to `parameters`, in that order.
    ///
    /// A parameter that does not reach the loss gets zeros.
    ///
    /// # Panics
    /// If `loss` is not 1 × 1.
    pub fn backward(self, loss: Var, parameters: &[Var]) -> Vec<Matrix<T>> {
        assert_eq!(
            (self.value(loss).rows(), self.value(loss).columns()),
            (1, 1),
            "a loss is one number"
        );
        let mut seed = self.pool.take(1, 1);
        seed.row_mut(0)[0] = T::ONE;
        self.backward_from(vec![(loss, seed)], parameters)
    }

    /// Gradients of a loss that is given by its gradients: `seeds` holds ∂loss/∂value for some
    /// values of the tape. Returns ∂loss/∂parameter for `parameters`, in that order.
    ///
    /// A loss term thus need not be an operation of the tape: its gradient with respect to a value
    /// is enough. A parameter that reaches no seed gets zeros.
    pub fn backward_from(
        mut self,
        seeds: Vec<(Var, Matrix<T>)>,
        parameters: &[Var],
    ) -> Vec<Matrix<T>> {
        let mut gradients: Vec<Option<Matrix<T>>> = (0..self.values.len()).map(|_| None).collect();
        // Values after the last seed do not contribute to the loss.
        let last = seeds.iter().map(|(at, _)| at.0 + 1).max().unwrap_or(0);
        for (at, seed) in seeds {
            let mut to = Backward {
                pool: self.pool,
                values: &self.values,
                differentiable: &self.differentiable,
                gradients: &mut gradients,
            };
            to.add(at, seed);
        }
        // Values are recorded after their inputs. In reverse order the gradient of a value is
        // therefore complete when its operation is reached.
        for at in (0..last).rev() {
            let Some(operation) = self.operations[at].take() else { continue };
            let Some(gradient) = gradients[at].take() else { continue };
            let mut to = Backward {
                pool: self.pool,
                values: &self.values,
                differentiable: &self.differentiable,
                gradients: &mut gradients,
            };
            operation.backward(Var(at), gradient, &mut to);
        }
        parameters
            .iter()
            .map(|&p| {
                gradients[p.0]
                    .take()
                    .unwrap_or_else(|| Matrix::zeros(self.value(p).rows(), self.value(p).columns()))
            })
            .collect()
    }
}

impl<T: Real> Drop for Tape<'_, T> {
    fn drop(&mut self) {
        for value in self.values.drain(..) {
            if let Value::Owned(matrix) = value {
                self.pool.put(matrix);
            }
        }
    }
}

/// The state of a backward pass that an operation can use.
pub(crate) struct Backward<'t, 'a, T: Real> {
    pool: &'a Pool<T>,
    values: &'t [Value<'a, T>],
    differentiable: &'t [bool],
    gradients: &'t mut [Option<Matrix<T>>],
}

impl<'a, T: Real> Backward<'_, 'a, T> {
    /// Whether the gradient of `var` has to be computed.
    pub(crate) fn needs_gradient(&self, var: Var) -> bool {
        self.differentiable[var.0]
    }

    /// The matrix behind `var`.
    pub(crate) fn value(&self, var: Var) -> &Matrix<T> {
        value(self.values, var)
    }

    /// Buffers for gradients.
    pub(crate) fn pool(&self) -> &'a Pool<T> {
        self.pool
    }

    /// Adds to the gradient of `var`.
    pub(crate) fn add(&mut self, var: Var, gradient: Matrix<T>) {
        match &mut self.gradients[var.0] {
            // Most values have one use: the buffer of its gradient is kept, without a copy or sum.
            slot @ None => *slot = Some(gradient),
            Some(sum) => {
                assert_eq!(
                    (sum.rows(), sum.columns()),
                    (gradient.rows(), gradient.columns()),
                    "shapes of gradients"
                );
                for (sum, x) in sum.data_mut().iter_mut().zip(gradient.data()) {
                    *sum += *x;
                }
                self.pool.put(gradient);
            }
        }
    }

    /// Returns the buffer of a gradient that is no longer needed.
    pub(crate) fn recycle(&self, gradient: Matrix<T>) {
        self.pool.put(gradient);
    }
}

fn value<'v, T: Real>(values: &'v [Value<'_, T>], var: Var) -> &'v Matrix<T> {
    match &values[var.0] {
        Value::Borrowed(matrix) => matrix,
        Value::Owned(matrix) => matrix,
        Value::Gone => panic!("the value of {var:?} is gone"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that overflowed in one client must not reach the next user of the buffer.
    #[test]
    fn padding_of_a_reused_buffer_is_zero() {
        let pool = Pool::<f32>::new();
        for (rows, columns) in [(4, 7), (3, 7), (4, 7), (2, 5)] {
            let mut matrix = pool.take(rows, columns);
            let stride = matrix.stride();
            assert!(
                matrix
                    .data()
                    .chunks_exact(stride)
                    .all(|row| row[columns..].iter().all(|x| *x == 0.0))
            );
            matrix.data_mut().fill(f32::NAN);
            pool.put(matrix);
        }
    }
}
