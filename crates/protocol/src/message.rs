//! What a method sends in addition to a model.

use boostfgl_nn::{Matrix, Real, StateVisitor, Stateful};

/// What is sent in addition to a model. Each method documents the order of the parts.
#[derive(Clone, Debug)]
pub struct Message<T> {
    /// Whole matrices.
    pub tensors: Vec<Matrix<T>>,
    /// Single numbers, 8 bytes each.
    pub numbers: Vec<f64>,
    /// Some entries of something large: where (4 bytes), and what.
    pub entries: Vec<(u32, T)>,
}

impl<T> Default for Message<T> {
    fn default() -> Self {
        Self { tensors: Vec::new(), numbers: Vec::new(), entries: Vec::new() }
    }
}

impl<T: Real> Message<T> {
    /// A message of single numbers.
    pub fn numbers(numbers: Vec<f64>) -> Self {
        Self { numbers, ..Self::default() }
    }

    /// A message of matrices.
    pub fn tensors(tensors: Vec<Matrix<T>>) -> Self {
        Self { tensors, ..Self::default() }
    }

    /// How many numbers it holds, positions included.
    pub fn count(&self) -> usize {
        let dense = self.tensors.iter().map(|t| t.rows() * t.columns()).sum::<usize>();
        dense + self.numbers.len() + 2 * self.entries.len()
    }

    /// Whether it has no part.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty() && self.numbers.is_empty() && self.entries.is_empty()
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        self.tensors.iter().all(Matrix::is_finite)
            && self.numbers.iter().all(|x| x.is_finite())
            // No early exit: it would keep the compiler from checking several entries at once.
            && self.entries.iter().fold(true, |finite, (_, x)| finite & x.is_finite())
    }
}

impl<T: Real> PartialEq for Message<T> {
    fn eq(&self, other: &Self) -> bool {
        self.tensors == other.tensors
            && self.numbers == other.numbers
            && self.entries == other.entries
    }
}

/// Restoring replaces whatever the message contained before.
impl<T: Real> Stateful for Message<T> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        let mut tensors = self.tensors.len();
        visitor.visit("tensors", &mut tensors)?;
        self.tensors.truncate(tensors);
        for t in 0..tensors {
            if t == self.tensors.len() {
                self.tensors.push(Matrix::zeros(0, 0));
            }
            visitor.table(&t.to_string(), &mut self.tensors[t])?;
        }
        visitor.visit("numbers", &mut self.numbers)?;
        let (mut places, mut values): (Vec<u32>, Vec<f64>) =
            self.entries.iter().map(|(at, x)| (*at, x.f64())).unzip();
        visitor.visit("places", &mut places)?;
        visitor.visit("values", &mut values)?;
        self.entries = places.into_iter().zip(values.into_iter().map(T::of)).collect();
        Ok(())
    }
}

impl<T: Real> Message<T> {
    /// Like [`Stateful::visit`] for a message whose tensors always have their present shapes.
    ///
    /// # Errors
    /// As [`Stateful::visit`], and if a restored message has other shapes.
    pub fn visit_shaped(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        let (shapes, numbers) = (self.shapes(), self.numbers.len());
        self.visit(visitor)?;
        self.hold(&shapes, numbers, visitor)
    }

    /// Fails unless a restored message has tensors of these shapes and nothing else.
    ///
    /// # Errors
    /// If it has not.
    pub fn hold_shapes(
        &self,
        shapes: &[(usize, usize)],
        visitor: &StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        self.hold(shapes, 0, visitor)
    }

    /// Fails unless a restored message has tensors of these shapes and this many numbers.
    ///
    /// # Errors
    /// If it has not.
    pub fn hold(
        &self,
        shapes: &[(usize, usize)],
        numbers: usize,
        visitor: &StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        if self.shapes() == shapes && self.numbers.len() == numbers {
            return Ok(());
        }
        let found = describe(&self.shapes(), self.numbers.len());
        Err(visitor.mismatch(describe(shapes, numbers), found))
    }

    fn shapes(&self) -> Vec<(usize, usize)> {
        self.tensors.iter().map(|tensor| (tensor.rows(), tensor.columns())).collect()
    }
}

/// The form of a message, for errors.
fn describe(shapes: &[(usize, usize)], numbers: usize) -> String {
    format!("tensors {shapes:?} and {numbers} numbers")
}
