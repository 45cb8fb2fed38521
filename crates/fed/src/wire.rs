//! What crosses the wire beside a model, and how many bytes that is. Numbers cross as `f32`,
//! positions as `u32`.

use boostfgl_nn::{Matrix, Params, Real, StateVisitor, Stateful};

/// Bytes of one number or position.
const NUMBER: u64 = 4;

/// Bytes of `count` numbers.
pub(crate) fn bytes(count: usize) -> u64 {
    count as u64 * NUMBER
}

/// What is said beside a model. Each method documents the order of what it puts in.
#[derive(Clone, Debug)]
pub struct Message<T> {
    /// Whole matrices.
    pub tensors: Vec<Matrix<T>>,
    /// Single numbers.
    pub numbers: Vec<f64>,
    /// Some entries of something large: where, and what. Each counts as two numbers.
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

    /// Whether every number is finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.tensors.iter().all(|t| t.data().iter().all(|x| x.is_finite()))
            && self.numbers.iter().all(|x| x.is_finite())
            // All are looked at: to stop at the first would keep the compiler from looking at
            // several at once.
            && self.entries.iter().fold(true, |finite, (_, x)| finite & x.is_finite())
    }
}

/// Any message. What is written of one is read into one whatever it held before.
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
    /// Like [`Stateful::visit`] for a message whose tensors always have the shapes that they have now.
    pub(crate) fn visit_shaped(
        &mut self,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        let (shapes, numbers) = (self.shapes(), self.numbers.len());
        self.visit(visitor)?;
        self.hold(&shapes, numbers, visitor)
    }

    /// Fails unless a message that was put back has tensors of these shapes and nothing else.
    pub(crate) fn hold_shapes(
        &self,
        shapes: &[(usize, usize)],
        visitor: &StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        self.hold(shapes, 0, visitor)
    }

    /// The same for a message with so many numbers.
    pub(crate) fn hold(
        &self,
        shapes: &[(usize, usize)],
        numbers: usize,
        visitor: &StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        if self.shapes() == shapes && self.numbers.len() == numbers {
            return Ok(());
        }
        let say = |shapes: &[(usize, usize)], numbers: usize| {
            format!("tensors {shapes:?} and {numbers} numbers")
        };
        Err(visitor.mismatch(say(shapes, numbers), say(&self.shapes(), self.numbers.len())))
    }

    fn shapes(&self) -> Vec<(usize, usize)> {
        self.tensors.iter().map(|tensor| (tensor.rows(), tensor.columns())).collect()
    }
}

/// How many numbers go down: a model, if any, and a message.
pub(crate) fn count_down<T: Real>(
    model: Option<&Params<T>>,
    message: Option<&Message<T>>,
) -> usize {
    model.map_or(0, Params::count) + message.map_or(0, Message::count)
}
