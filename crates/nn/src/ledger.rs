//! What must survive a stop, written down and read back by the same code.
//!
//! Whoever has state says once, in [`Keep::keep`], what belongs to it. A [`Ledger`] that saves
//! takes it down; one that restores puts it back. Saving and restoring so cannot fall apart: there
//! is one list, and every entry has a name, a kind and a size that are checked when it is read.
//!
//! ```
//! use boostfgl_nn::{Keep, Ledger, Result};
//!
//! #[derive(Default, Debug, PartialEq)]
//! struct Counter {
//!     rounds: usize,
//!     losses: Vec<f64>,
//! }
//!
//! impl Keep for Counter {
//!     fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
//!         ledger.keep("rounds", &mut self.rounds)?;
//!         ledger.keep("losses", &mut self.losses)
//!     }
//! }
//!
//! let mut counter = Counter { rounds: 3, losses: vec![0.5, 0.25] };
//! let mut bytes = Vec::new();
//! Ledger::saving(&mut bytes).keep("counter", &mut counter)?;
//!
//! let mut other = Counter::default();
//! Ledger::restoring(&bytes).keep("counter", &mut other)?;
//! assert_eq!(other, counter);
//!
//! let error = Ledger::restoring(&bytes[..9]).keep("counter", &mut other).unwrap_err();
//! assert!(error.to_string().starts_with("counter: "), "{error}");
//! # Ok::<(), boostfgl_nn::Error>(())
//! ```

use crate::{Error, Matrix, Params, Real, Result};
use std::io::Write;

/// Something whose state a [`Ledger`] can take down and put back.
pub trait Keep {
    /// Names every part of the state, in the same order whether it is saved or restored.
    ///
    /// # Errors
    /// If it cannot be written, or what is read is not such a state. What was restored halfway is
    /// then of no use.
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()>;
}

/// Takes state down, or puts it back.
pub struct Ledger<'a> {
    way: Way<'a>,
    /// Where we are, for messages.
    place: Vec<String>,
}

enum Way<'a> {
    Saving(&'a mut dyn Write),
    /// What is still to be read.
    Restoring(&'a [u8]),
}

impl<'a> Ledger<'a> {
    /// A ledger that writes to `to`.
    pub fn saving(to: &'a mut dyn Write) -> Self {
        Self { way: Way::Saving(to), place: Vec::new() }
    }

    /// A ledger that reads what an earlier one has written.
    pub fn restoring(from: &'a [u8]) -> Self {
        Self { way: Way::Restoring(from), place: Vec::new() }
    }

    /// Whether it puts back.
    pub fn restores(&self) -> bool {
        matches!(self.way, Way::Restoring(_))
    }

    /// Bytes that nobody has read yet; 0 while saving.
    pub fn unread(&self) -> usize {
        match &self.way {
            Way::Saving(_) => 0,
            Way::Restoring(rest) => rest.len(),
        }
    }

    /// One part of a state, under its name.
    ///
    /// # Errors
    /// As [`Keep::keep`].
    pub fn keep(&mut self, name: &str, what: &mut (impl Keep + ?Sized)) -> Result<()> {
        self.within(name, |ledger| what.keep(ledger))
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
    /// As [`Keep::keep`].
    pub fn option<K: Keep>(
        &mut self,
        name: &str,
        what: &mut Option<K>,
        blank: impl FnOnce() -> K,
    ) -> Result<()> {
        self.within(name, |ledger| {
            let mut there = what.is_some();
            there.keep(ledger)?;
            match (there, ledger.restores()) {
                (false, true) => *what = None,
                (true, true) => *what = Some(blank()),
                (_, false) => {}
            }
            what.iter_mut().try_for_each(|part| part.keep(ledger))
        })
    }

    /// As many parts as there happen to be; `blank` makes one to be restored.
    ///
    /// # Errors
    /// As [`Keep::keep`].
    pub fn each<K: Keep>(
        &mut self,
        name: &str,
        what: &mut Vec<K>,
        mut blank: impl FnMut() -> K,
    ) -> Result<()> {
        self.within(name, |ledger| {
            let mut count = what.len();
            count.keep(ledger)?;
            if !ledger.restores() {
                return what.iter_mut().try_for_each(|part| part.keep(ledger));
            }
            what.clear();
            for _ in 0..count {
                // Every part takes at least a byte, so that a wrong count ends with the file, not
                // with the memory.
                if ledger.unread() == 0 {
                    return Err(ledger
                        .unlike(format!("{count} parts"), format!("{} and the end", what.len())));
                }
                let mut part = blank();
                part.keep(ledger)?;
                what.push(part);
            }
            Ok(())
        })
    }

    /// A matrix of any shape.
    ///
    /// # Errors
    /// As [`Keep::keep`].
    pub fn table<T: Real>(&mut self, name: &str, what: &mut Matrix<T>) -> Result<()> {
        self.within(name, |ledger| {
            let (mut rows, mut columns) = (what.rows(), what.columns());
            rows.keep(ledger)?;
            columns.keep(ledger)?;
            if ledger.restores() {
                let room = ledger.unread() / size_of::<T>();
                let taken = rows.checked_mul(columns.max(1));
                if taken.is_none_or(|count| count > room) {
                    return Err(ledger.unlike(
                        format!("at most {room} numbers"),
                        format!("{rows} rows of {columns}"),
                    ));
                }
                *what = Matrix::zeros(rows, columns);
            }
            what.keep(ledger)
        })
    }

    /// One tensor for each of a model's, or none at all.
    ///
    /// # Errors
    /// As [`Keep::keep`].
    pub fn tensors_like<T: Real>(
        &mut self,
        name: &str,
        what: &mut Vec<Matrix<T>>,
        model: &Params<T>,
    ) -> Result<()> {
        self.within(name, |ledger| {
            let mut there = !what.is_empty();
            there.keep(ledger)?;
            if ledger.restores() {
                let zeros = model.tensors().iter().map(|t| Matrix::zeros(t.rows(), t.columns()));
                *what = if there { zeros.collect() } else { Vec::new() };
            }
            what.iter_mut()
                .enumerate()
                .try_for_each(|(t, tensor)| ledger.keep(&t.to_string(), tensor))
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
            Way::Saving(to) => to.write_all(bytes).map_err(Error::Saving),
            Way::Restoring(rest) => match rest.split_at_checked(bytes.len()) {
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

impl Keep for u64 {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
        ledger.kind(b'u')?;
        let mut bytes = self.to_le_bytes();
        ledger.raw(&mut bytes)?;
        *self = Self::from_le_bytes(bytes);
        Ok(())
    }
}

impl Keep for usize {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
        let mut wide = *self as u64;
        wide.keep(ledger)?;
        *self = Self::try_from(wide).map_err(|_| ledger.unlike("a count", wide.to_string()))?;
        Ok(())
    }
}

impl Keep for bool {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
        ledger.kind(b'b')?;
        let mut byte = [u8::from(*self)];
        ledger.raw(&mut byte)?;
        match byte[0] {
            0 | 1 => *self = byte[0] == 1,
            other => return Err(ledger.unlike("0 or 1", other.to_string())),
        }
        Ok(())
    }
}

impl Keep for f64 {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
        ledger.kind(b'f')?;
        let mut bytes = self.to_le_bytes();
        ledger.raw(&mut bytes)?;
        *self = Self::from_le_bytes(bytes);
        Ok(())
    }
}

impl Keep for String {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
        ledger.text(b's', self)
    }
}

impl Keep for Vec<f64> {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
        ledger.numbers(b'F', self)
    }
}

impl Keep for Vec<u32> {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
        ledger.numbers(b'U', self)
    }
}

impl Keep for Vec<usize> {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
        let mut wide: Vec<u64> = self.iter().map(|&count| count as u64).collect();
        ledger.numbers(b'C', &mut wide)?;
        let narrow = |count: u64| {
            usize::try_from(count).map_err(|_| ledger.unlike("a count", count.to_string()))
        };
        *self = wide.into_iter().map(narrow).collect::<Result<_>>()?;
        Ok(())
    }
}

/// Numbers of a model's type, as many as there are now.
impl<T: Real> Keep for [T] {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
        let mut shape = [self.len() as u64, 1, size_of::<T>() as u64];
        expect_shape(ledger, &mut shape)?;
        ledger.raw(bytemuck::cast_slice_mut(self))
    }
}

/// A matrix of the shape that it has now.
impl<T: Real> Keep for Matrix<T> {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
        let mut shape = [self.rows() as u64, self.columns() as u64, size_of::<T>() as u64];
        expect_shape(ledger, &mut shape)?;
        if self.columns() == self.stride() {
            return ledger.raw(bytemuck::cast_slice_mut(self.data_mut()));
        }
        (0..self.rows()).try_for_each(|r| ledger.raw(bytemuck::cast_slice_mut(self.row_mut(r))))
    }
}

/// Rows, columns and bytes per number; what stands must be what is expected.
fn expect_shape(ledger: &mut Ledger<'_>, shape: &mut [u64; 3]) -> Result<()> {
    let expected = *shape;
    ledger.kind(b'm')?;
    ledger.raw(bytemuck::cast_slice_mut(shape))?;
    let say =
        |[rows, columns, bytes]: [u64; 3]| format!("{rows} x {columns} numbers of {bytes} bytes");
    if *shape == expected { Ok(()) } else { Err(ledger.unlike(say(expected), say(*shape))) }
}

/// A model of the shapes that it has now.
impl<T: Real> Keep for Params<T> {
    fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
        let names: Vec<String> = self.shapes().iter().map(|shape| shape.name.clone()).collect();
        names
            .iter()
            .zip(self.tensors_mut())
            .try_for_each(|(name, tensor)| ledger.keep(name, tensor))
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

    impl Keep for State {
        fn keep(&mut self, ledger: &mut Ledger<'_>) -> Result<()> {
            ledger.keep("round", &mut self.round)?;
            ledger.option("known", &mut self.known, || Matrix::zeros(2, 2))?;
            ledger.each("models", &mut self.models, || model(0.0))?;
            ledger.keep("losses", &mut self.losses)?;
            ledger.keep("name", &mut self.name)?;
            ledger.keep("places", &mut self.places)
        }
    }

    fn saved(state: &mut State) -> Vec<u8> {
        let mut bytes = Vec::new();
        state.keep(&mut Ledger::saving(&mut bytes)).unwrap();
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
            let mut ledger = Ledger::restoring(&bytes);
            restored.keep(&mut ledger).unwrap();
            prop_assert_eq!(ledger.unread(), 0);
            // Bits, not numbers: a NaN is not equal to itself.
            prop_assert_eq!(saved(&mut restored), bytes);
        }

        /// No file makes it panic, or take more memory than the file is long.
        #[test]
        fn nonsense_is_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut state = State::default();
            prop_assert!(state.keep(&mut Ledger::restoring(&bytes)).is_err());
        }
    }

    #[test]
    fn every_cut_and_every_other_shape_is_named() {
        let mut state = State { models: vec![model(1.0)], losses: vec![1.0], ..State::default() };
        let bytes = saved(&mut state);
        for length in 0..bytes.len() {
            assert!(
                State::default().keep(&mut Ledger::restoring(&bytes[..length])).is_err(),
                "cut at {length}"
            );
        }
        let mut one = Vec::new();
        Ledger::saving(&mut one).keep("w", &mut Matrix::<f32>::zeros(2, 3)).unwrap();
        let error = Ledger::restoring(&one).keep("w", &mut Matrix::<f64>::zeros(2, 3)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "w: expected 2 x 3 numbers of 8 bytes, found 2 x 3 numbers of 4 bytes"
        );
        let error = Ledger::restoring(&one).keep("v", &mut Matrix::<f32>::zeros(2, 3)).unwrap_err();
        assert_eq!(error.to_string(), "v: expected `v`, found `w`");
    }

    #[test]
    fn a_claim_of_many_rows_takes_no_memory() {
        let mut bytes = Vec::new();
        let mut ledger = Ledger::saving(&mut bytes);
        ledger
            .within("table", |ledger| {
                (u64::MAX / 2).keep(ledger)?;
                0u64.keep(ledger)
            })
            .unwrap();
        let error =
            Ledger::restoring(&bytes).table("table", &mut Matrix::<f32>::zeros(0, 3)).unwrap_err();
        assert!(
            error.to_string().starts_with("table: expected at most 0 numbers, found "),
            "{error}"
        );
    }
}
