//! What must survive a stop, written down and read back by the same code.
//!
//! Whoever has state says once, in [`Stateful::visit`], what belongs to it. A [`StateVisitor`] that saves
//! takes it down; one that restores puts it back. Saving and restoring so cannot fall apart: there
//! is one list, and every entry has a name, a kind and a size that are checked when it is read.
//!
//! ```
//! use boostfgl_nn::{Stateful, StateVisitor, Result};
//!
//! #[derive(Default, Debug, PartialEq)]
//! struct Counter {
//!     rounds: usize,
//!     losses: Vec<f64>,
//! }
//!
//! impl Stateful for Counter {
//!     fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
//!         visitor.visit("rounds", &mut self.rounds)?;
//!         visitor.visit("losses", &mut self.losses)
//!     }
//! }
//!
//! let mut counter = Counter { rounds: 3, losses: vec![0.5, 0.25] };
//! let mut bytes = Vec::new();
//! StateVisitor::saving(&mut bytes).visit("counter", &mut counter)?;
//!
//! let mut other = Counter::default();
//! StateVisitor::restoring(&bytes).visit("counter", &mut other)?;
//! assert_eq!(other, counter);
//!
//! let error = StateVisitor::restoring(&bytes[..9]).visit("counter", &mut other).unwrap_err();
//! assert!(error.to_string().starts_with("counter: "), "{error}");
//! # Ok::<(), boostfgl_nn::Error>(())
//! ```

use crate::{Error, Matrix, Params, Real, Result};
use std::io::Write;

/// Something whose state a [`StateVisitor`] can take down and put back.
pub trait Stateful {
    /// Names every part of the state, in the same order whether it is saved or restored.
    ///
    /// # Errors
    /// If it cannot be written, or what is read is not such a state. What was restored halfway is
    /// then of no use.
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()>;
}

/// Takes state down, or puts it back.
pub struct StateVisitor<'a> {
    way: Direction<'a>,
    /// Where we are, for messages.
    place: Vec<String>,
}

enum Direction<'a> {
    Saving(&'a mut dyn Write),
    /// What is still to be read.
    Restoring(&'a [u8]),
}

impl<'a> StateVisitor<'a> {
    /// A visitor that writes to `to`.
    pub fn saving(to: &'a mut dyn Write) -> Self {
        Self { way: Direction::Saving(to), place: Vec::new() }
    }

    /// A visitor that reads what an earlier one has written.
    pub fn restoring(from: &'a [u8]) -> Self {
        Self { way: Direction::Restoring(from), place: Vec::new() }
    }

    /// Whether it puts back.
    pub fn restores(&self) -> bool {
        matches!(self.way, Direction::Restoring(_))
    }

    /// Bytes that nobody has read yet; 0 while saving.
    pub fn unread(&self) -> usize {
        match &self.way {
            Direction::Saving(_) => 0,
            Direction::Restoring(rest) => rest.len(),
        }
    }

    /// One part of a state, under its name.
    ///
    /// # Errors
    /// As [`Stateful::visit`].
    pub fn visit(&mut self, name: &str, what: &mut (impl Stateful + ?Sized)) -> Result<()> {
        self.within(name, |visitor| what.visit(visitor))
    }

    /// Several parts under a common name.
    ///
    /// # Errors
    /// Those of `work`, and if another name stands here.
    pub fn within<R>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        self.place.push(name.to_owned());
        self.name(name)?;
        let done = work(self)?;
        self.place.pop();
        Ok(done)
    }

    /// A part that may be missing; `blank` makes one to be restored.
    ///
    /// # Errors
    /// As [`Stateful::visit`].
    pub fn option<K: Stateful>(
        &mut self,
        name: &str,
        what: &mut Option<K>,
        blank: impl FnOnce() -> K,
    ) -> Result<()> {
        self.within(name, |visitor| {
            let mut there = what.is_some();
            there.visit(visitor)?;
            match (there, visitor.restores()) {
                (false, true) => *what = None,
                (true, true) => *what = Some(blank()),
                (_, false) => {}
            }
            what.iter_mut().try_for_each(|part| part.visit(visitor))
        })
    }

    /// As many parts as there happen to be; `blank` makes one to be restored.
    ///
    /// # Errors
    /// As [`Stateful::visit`].
    pub fn each<K: Stateful>(
        &mut self,
        name: &str,
        what: &mut Vec<K>,
        mut blank: impl FnMut() -> K,
    ) -> Result<()> {
        self.within(name, |visitor| {
            let mut count = what.len();
            count.visit(visitor)?;
            if !visitor.restores() {
                return what.iter_mut().try_for_each(|part| part.visit(visitor));
            }
            what.clear();
            for _ in 0..count {
                // Every part takes at least a byte, so that a wrong count ends with the file, not
                // with the memory.
                if visitor.unread() == 0 {
                    return Err(visitor
                        .unlike(format!("{count} parts"), format!("{} and the end", what.len())));
                }
                let mut part = blank();
                part.visit(visitor)?;
                what.push(part);
            }
            Ok(())
        })
    }

    /// A matrix of any shape.
    ///
    /// # Errors
    /// As [`Stateful::visit`].
    pub fn table<T: Real>(&mut self, name: &str, what: &mut Matrix<T>) -> Result<()> {
        self.within(name, |visitor| {
            let (mut rows, mut columns) = (what.rows(), what.columns());
            rows.visit(visitor)?;
            columns.visit(visitor)?;
            if visitor.restores() {
                let room = visitor.unread() / size_of::<T>();
                let taken = rows.checked_mul(columns.max(1));
                if taken.is_none_or(|count| count > room) {
                    return Err(visitor.unlike(
                        format!("at most {room} numbers"),
                        format!("{rows} rows of {columns}"),
                    ));
                }
                *what = Matrix::zeros(rows, columns);
            }
            what.visit(visitor)
        })
    }

    /// One tensor for each of a model's, or none at all.
    ///
    /// # Errors
    /// As [`Stateful::visit`].
    pub fn tensors_like<T: Real>(
        &mut self,
        name: &str,
        what: &mut Vec<Matrix<T>>,
        model: &Params<T>,
    ) -> Result<()> {
        self.within(name, |visitor| {
            let mut there = !what.is_empty();
            there.visit(visitor)?;
            if visitor.restores() {
                let zeros = model.tensors().iter().map(|t| Matrix::zeros(t.rows(), t.columns()));
                *what = if there { zeros.collect() } else { Vec::new() };
            }
            what.iter_mut()
                .enumerate()
                .try_for_each(|(t, tensor)| visitor.visit(&t.to_string(), tensor))
        })
    }

    /// An error about what stands here.
    pub fn unlike(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::State { place: self.place.join("."), expected: expected.into(), found: found.into() }
    }

    fn name(&mut self, name: &str) -> Result<()> {
        let mut stands = name.to_owned();
        self.text(b'n', &mut stands)?;
        if stands == name {
            Ok(())
        } else {
            Err(self.unlike(format!("`{name}`"), format!("`{stands}`")))
        }
    }

    fn text(&mut self, kind: u8, text: &mut String) -> Result<()> {
        let mut bytes = std::mem::take(text).into_bytes();
        self.numbers(kind, &mut bytes)?;
        *text = String::from_utf8(bytes).map_err(|error| self.unlike("text", error.to_string()))?;
        Ok(())
    }

    /// One letter that says what follows.
    fn kind(&mut self, kind: u8) -> Result<()> {
        let mut stands = [kind];
        self.raw(&mut stands)?;
        if stands == [kind] {
            return Ok(());
        }
        Err(self.unlike(
            format!("an entry of kind `{}`", kind as char),
            format!("`{}`", stands[0].escape_ascii()),
        ))
    }

    /// A list of plain numbers.
    fn numbers<N: bytemuck::Pod>(&mut self, kind: u8, numbers: &mut Vec<N>) -> Result<()> {
        self.kind(kind)?;
        let mut count = (numbers.len() as u64).to_le_bytes();
        self.raw(&mut count)?;
        if self.restores() {
            let (count, room) =
                (u64::from_le_bytes(count), (self.unread() / size_of::<N>()) as u64);
            if count > room {
                return Err(self.unlike(format!("at most {room} numbers"), count.to_string()));
            }
            *numbers = vec![N::zeroed(); count as usize];
        }
        self.raw(bytemuck::cast_slice_mut(numbers))
    }

    /// Bytes as they are. Numbers are little-endian, as on every system that this program is built
    /// for.
    fn raw(&mut self, bytes: &mut [u8]) -> Result<()> {
        match &mut self.way {
            Direction::Saving(to) => to.write_all(bytes).map_err(Error::Saving),
            Direction::Restoring(rest) => match rest.split_at_checked(bytes.len()) {
                Some((head, tail)) => {
                    bytes.copy_from_slice(head);
                    *rest = tail;
                    Ok(())
                }
                None => {
                    let found = format!("{} before the end", rest.len());
                    Err(self.unlike(format!("{} bytes", bytes.len()), found))
                }
            },
        }
    }
}

impl Stateful for u64 {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.kind(b'u')?;
        let mut bytes = self.to_le_bytes();
        visitor.raw(&mut bytes)?;
        *self = Self::from_le_bytes(bytes);
        Ok(())
    }
}

impl Stateful for usize {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        let mut wide = *self as u64;
        wide.visit(visitor)?;
        *self = Self::try_from(wide).map_err(|_| visitor.unlike("a count", wide.to_string()))?;
        Ok(())
    }
}

impl Stateful for bool {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.kind(b'b')?;
        let mut byte = [u8::from(*self)];
        visitor.raw(&mut byte)?;
        match byte[0] {
            0 | 1 => *self = byte[0] == 1,
            other => return Err(visitor.unlike("0 or 1", other.to_string())),
        }
        Ok(())
    }
}

impl Stateful for f64 {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.kind(b'f')?;
        let mut bytes = self.to_le_bytes();
        visitor.raw(&mut bytes)?;
        *self = Self::from_le_bytes(bytes);
        Ok(())
    }
}

impl Stateful for String {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.text(b's', self)
    }
}

impl Stateful for Vec<f64> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.numbers(b'F', self)
    }
}

impl Stateful for Vec<u32> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.numbers(b'U', self)
    }
}

impl Stateful for Vec<usize> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        let mut wide: Vec<u64> = self.iter().map(|&count| count as u64).collect();
        visitor.numbers(b'C', &mut wide)?;
        let narrow = |count: u64| {
            usize::try_from(count).map_err(|_| visitor.unlike("a count", count.to_string()))
        };
        *self = wide.into_iter().map(narrow).collect::<Result<_>>()?;
        Ok(())
    }
}

/// Numbers of a model's type, as many as there are now.
impl<T: Real> Stateful for [T] {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        let mut shape = [self.len() as u64, 1, size_of::<T>() as u64];
        expect_shape(visitor, &mut shape)?;
        visitor.raw(bytemuck::cast_slice_mut(self))
    }
}

/// A matrix of the shape that it has now.
impl<T: Real> Stateful for Matrix<T> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        let mut shape = [self.rows() as u64, self.columns() as u64, size_of::<T>() as u64];
        expect_shape(visitor, &mut shape)?;
        if self.columns() == self.stride() {
            return visitor.raw(bytemuck::cast_slice_mut(self.data_mut()));
        }
        (0..self.rows()).try_for_each(|r| visitor.raw(bytemuck::cast_slice_mut(self.row_mut(r))))
    }
}

/// Rows, columns and bytes per number; what stands must be what is expected.
fn expect_shape(visitor: &mut StateVisitor<'_>, shape: &mut [u64; 3]) -> Result<()> {
    let expected = *shape;
    visitor.kind(b'm')?;
    visitor.raw(bytemuck::cast_slice_mut(shape))?;
    let say =
        |[rows, columns, bytes]: [u64; 3]| format!("{rows} x {columns} numbers of {bytes} bytes");
    if *shape == expected { Ok(()) } else { Err(visitor.unlike(say(expected), say(*shape))) }
}

/// A model of the shapes that it has now.
impl<T: Real> Stateful for Params<T> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        let names: Vec<String> = self.shapes().iter().map(|shape| shape.name.clone()).collect();
        names
            .iter()
            .zip(self.tensors_mut())
            .try_for_each(|(name, tensor)| visitor.visit(name, tensor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TensorShape;
    use proptest::prelude::*;

    #[derive(Debug, Default, PartialEq)]
    struct State {
        round: u64,
        known: Option<Matrix<f32>>,
        models: Vec<Params<f32>>,
        losses: Vec<f64>,
        name: String,
        places: Vec<usize>,
    }

    fn model(x: f32) -> Params<f32> {
        let shapes = [TensorShape::weight("w", 2, 3), TensorShape::bias("b", 2)];
        let tensors = vec![
            Matrix::from_rows(2, 3, &[x, 2.0, 3.0, 4.0, 5.0, -x]),
            Matrix::from_rows(1, 2, &[x, x]),
        ];
        Params::from_tensors(&shapes, tensors)
    }

    impl Stateful for State {
        fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
            visitor.visit("round", &mut self.round)?;
            visitor.option("known", &mut self.known, || Matrix::zeros(2, 2))?;
            visitor.each("models", &mut self.models, || model(0.0))?;
            visitor.visit("losses", &mut self.losses)?;
            visitor.visit("name", &mut self.name)?;
            visitor.visit("places", &mut self.places)
        }
    }

    fn saved(state: &mut State) -> Vec<u8> {
        let mut bytes = Vec::new();
        state.visit(&mut StateVisitor::saving(&mut bytes)).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn what_is_saved_is_restored_to_the_bit(
            round in any::<u64>(),
            known in prop::option::of(prop::array::uniform4(any::<f32>())),
            models in prop::collection::vec(any::<f32>(), 0..4),
            losses in prop::collection::vec(any::<f64>(), 0..9),
            name in ".{0,9}",
            places in prop::collection::vec(any::<usize>(), 0..5),
        ) {
            let known = known.map(|x| Matrix::from_rows(2, 2, &x));
            let models = models.into_iter().map(model).collect();
            let mut state = State { round, known, models, losses, name, places };
            let bytes = saved(&mut state);
            let mut restored = State { losses: vec![9.0], ..State::default() };
            let mut visitor = StateVisitor::restoring(&bytes);
            restored.visit(&mut visitor).unwrap();
            prop_assert_eq!(visitor.unread(), 0);
            // Bits, not numbers: a NaN is not equal to itself.
            prop_assert_eq!(saved(&mut restored), bytes);
        }

        /// No file makes it panic, or take more memory than the file is long.
        #[test]
        fn nonsense_is_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut state = State::default();
            prop_assert!(state.visit(&mut StateVisitor::restoring(&bytes)).is_err());
        }
    }

    #[test]
    fn every_cut_and_every_other_shape_is_named() {
        let mut state = State { models: vec![model(1.0)], losses: vec![1.0], ..State::default() };
        let bytes = saved(&mut state);
        for length in 0..bytes.len() {
            assert!(
                State::default().visit(&mut StateVisitor::restoring(&bytes[..length])).is_err(),
                "cut at {length}"
            );
        }
        let mut one = Vec::new();
        StateVisitor::saving(&mut one).visit("w", &mut Matrix::<f32>::zeros(2, 3)).unwrap();
        let error =
            StateVisitor::restoring(&one).visit("w", &mut Matrix::<f64>::zeros(2, 3)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "w: expected 2 x 3 numbers of 8 bytes, found 2 x 3 numbers of 4 bytes"
        );
        let error =
            StateVisitor::restoring(&one).visit("v", &mut Matrix::<f32>::zeros(2, 3)).unwrap_err();
        assert_eq!(error.to_string(), "v: expected `v`, found `w`");
    }

    #[test]
    fn a_claim_of_many_rows_takes_no_memory() {
        let mut bytes = Vec::new();
        let mut visitor = StateVisitor::saving(&mut bytes);
        visitor
            .within("table", |visitor| {
                (u64::MAX / 2).visit(visitor)?;
                0u64.visit(visitor)
            })
            .unwrap();
        let error = StateVisitor::restoring(&bytes)
            .table("table", &mut Matrix::<f32>::zeros(0, 3))
            .unwrap_err();
        assert!(
            error.to_string().starts_with("table: expected at most 0 numbers, found "),
            "{error}"
        );
    }
}
