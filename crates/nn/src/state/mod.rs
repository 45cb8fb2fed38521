//! Saving and restoring of state, by one list of its parts for both directions.
//!
//! A type names the parts of its state once, in [`Stateful::visit`]. The same [`StateVisitor`] call
//! saves a part or restores it, so that the two directions cannot diverge. Every entry has a name,
//! a kind and a size, which are checked when it is restored.
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

mod values;

use crate::{Error, Matrix, Params, Real, Result};
use std::io::Write;

/// A type whose state a [`StateVisitor`] can save and restore.
pub trait Stateful {
    /// Visits every part of the state, in the same order for saving and restoring.
    ///
    /// # Errors
    /// If it cannot be written, or the bytes are not such a state. A value that was restored partly
    /// must not be used.
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()>;
}

/// Saves state, or restores it.
pub struct StateVisitor<'a> {
    direction: Direction<'a>,
    /// The names of the entries that are being visited, for errors.
    place: Vec<String>,
}

/// The direction of the transfer, and its other end.
enum Direction<'a> {
    Saving(&'a mut dyn Write),
    /// The bytes that are still to be read.
    Restoring(&'a [u8]),
}

impl<'a> StateVisitor<'a> {
    /// A visitor that saves to `to`.
    pub fn saving(to: &'a mut dyn Write) -> Self {
        Self { direction: Direction::Saving(to), place: Vec::new() }
    }

    /// A visitor that restores what an earlier one has saved.
    pub fn restoring(from: &'a [u8]) -> Self {
        Self { direction: Direction::Restoring(from), place: Vec::new() }
    }

    /// Whether this visitor restores.
    pub fn restores(&self) -> bool {
        matches!(self.direction, Direction::Restoring(_))
    }

    /// Number of bytes that are still to be read; 0 while saving.
    pub fn unread(&self) -> usize {
        match &self.direction {
            Direction::Saving(_) => 0,
            Direction::Restoring(rest) => rest.len(),
        }
    }

    /// Saves or restores one part of a state under its name.
    ///
    /// # Errors
    /// As [`Stateful::visit`].
    pub fn visit(&mut self, name: &str, part: &mut (impl Stateful + ?Sized)) -> Result<()> {
        self.within(name, |visitor| part.visit(visitor))
    }

    /// Visits several parts under a common name.
    ///
    /// # Errors
    /// Those of `work`, and if the saved entry has another name.
    pub fn within<R>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        self.place.push(name.to_owned());
        self.name(name)?;
        // After an error the place stays as it is: outer calls return at once, and the error has
        // been built from it.
        let done = work(self)?;
        self.place.pop();
        Ok(done)
    }

    /// Visits a part that may be missing; `blank` makes one to restore into.
    ///
    /// # Errors
    /// As [`Stateful::visit`].
    pub fn option<K: Stateful>(
        &mut self,
        name: &str,
        part: &mut Option<K>,
        blank: impl FnOnce() -> K,
    ) -> Result<()> {
        self.within(name, |visitor| {
            let mut is_present = part.is_some();
            is_present.visit(visitor)?;
            match (is_present, visitor.restores()) {
                (false, true) => *part = None,
                (true, true) => *part = Some(blank()),
                (_, false) => {}
            }
            part.iter_mut().try_for_each(|part| part.visit(visitor))
        })
    }

    /// Visits any number of parts; `blank` makes one to restore into.
    ///
    /// # Errors
    /// As [`Stateful::visit`].
    pub fn each<K: Stateful>(
        &mut self,
        name: &str,
        parts: &mut Vec<K>,
        mut blank: impl FnMut() -> K,
    ) -> Result<()> {
        self.within(name, |visitor| {
            let mut count = parts.len();
            count.visit(visitor)?;
            if !visitor.restores() {
                return parts.iter_mut().try_for_each(|part| part.visit(visitor));
            }
            parts.clear();
            for _ in 0..count {
                // Every part takes at least one byte. A wrong count therefore ends with the bytes,
                // before it can exhaust the memory.
                if visitor.unread() == 0 {
                    let found = format!("{} before the end", parts.len());
                    return Err(visitor.mismatch(format!("{count} parts"), found));
                }
                let mut part = blank();
                part.visit(visitor)?;
                parts.push(part);
            }
            Ok(())
        })
    }

    /// Visits a matrix of any shape.
    ///
    /// # Errors
    /// As [`Stateful::visit`].
    pub fn table<T: Real>(&mut self, name: &str, matrix: &mut Matrix<T>) -> Result<()> {
        self.within(name, |visitor| {
            let (mut rows, mut columns) = (matrix.rows(), matrix.columns());
            rows.visit(visitor)?;
            columns.visit(visitor)?;
            if visitor.restores() {
                // Checked before the allocation. A row without columns counts as one number, since
                // its padding takes memory too.
                let limit = visitor.unread() / size_of::<T>();
                let count = rows.checked_mul(columns.max(1));
                if count.is_none_or(|count| count > limit) {
                    return Err(visitor.mismatch(
                        format!("at most {limit} numbers"),
                        format!("{rows} rows of {columns}"),
                    ));
                }
                *matrix = Matrix::zeros(rows, columns);
            }
            matrix.visit(visitor)
        })
    }

    /// Visits one tensor for each tensor of a model, or none at all.
    ///
    /// # Errors
    /// As [`Stateful::visit`].
    pub fn tensors_like<T: Real>(
        &mut self,
        name: &str,
        tensors: &mut Vec<Matrix<T>>,
        model: &Params<T>,
    ) -> Result<()> {
        self.within(name, |visitor| {
            let mut is_present = !tensors.is_empty();
            is_present.visit(visitor)?;
            if visitor.restores() {
                let zeros = model.tensors().iter().map(|t| Matrix::zeros(t.rows(), t.columns()));
                *tensors = if is_present { zeros.collect() } else { Vec::new() };
            }
            tensors
                .iter_mut()
                .enumerate()
                .try_for_each(|(t, tensor)| visitor.visit(&t.to_string(), tensor))
        })
    }

    /// An error about the entry that is being visited.
    pub fn mismatch(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::State { place: self.place.join("."), expected: expected.into(), found: found.into() }
    }

    /// The name of an entry.
    fn name(&mut self, name: &str) -> Result<()> {
        let mut found = name.to_owned();
        self.text(b'n', &mut found)?;
        if found == name {
            Ok(())
        } else {
            Err(self.mismatch(format!("`{name}`"), format!("`{found}`")))
        }
    }

    fn text(&mut self, kind: u8, text: &mut String) -> Result<()> {
        let mut bytes = std::mem::take(text).into_bytes();
        self.numbers(kind, &mut bytes)?;
        *text =
            String::from_utf8(bytes).map_err(|error| self.mismatch("text", error.to_string()))?;
        Ok(())
    }

    /// The kind of what follows, as one letter.
    fn kind(&mut self, kind: u8) -> Result<()> {
        let mut found = [kind];
        self.raw(&mut found)?;
        if found == [kind] {
            return Ok(());
        }
        Err(self.mismatch(
            format!("an entry of kind `{}`", kind as char),
            format!("`{}`", found[0].escape_ascii()),
        ))
    }

    /// A list of plain numbers.
    fn numbers<N: bytemuck::Pod>(&mut self, kind: u8, numbers: &mut Vec<N>) -> Result<()> {
        self.kind(kind)?;
        let mut count = (numbers.len() as u64).to_le_bytes();
        self.raw(&mut count)?;
        if self.restores() {
            // Checked before the allocation: a damaged count must not exhaust the memory.
            let (count, limit) =
                (u64::from_le_bytes(count), (self.unread() / size_of::<N>()) as u64);
            if count > limit {
                return Err(self.mismatch(format!("at most {limit} numbers"), count.to_string()));
            }
            *numbers = vec![N::zeroed(); count as usize];
        }
        self.raw(bytemuck::cast_slice_mut(numbers))
    }

    /// Plain bytes. Numbers are little-endian, as on every supported system.
    fn raw(&mut self, bytes: &mut [u8]) -> Result<()> {
        match &mut self.direction {
            Direction::Saving(to) => to.write_all(bytes).map_err(Error::Saving),
            Direction::Restoring(rest) => match rest.split_at_checked(bytes.len()) {
                Some((head, tail)) => {
                    bytes.copy_from_slice(head);
                    *rest = tail;
                    Ok(())
                }
                None => {
                    let found = format!("{} before the end", rest.len());
                    Err(self.mismatch(format!("{} bytes", bytes.len()), found))
                }
            },
        }
    }
}

#[cfg(test)]
mod tests;
