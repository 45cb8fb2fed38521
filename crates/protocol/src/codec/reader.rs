//! Reading bytes that come from a network.

use super::Limits;
use crate::{Error, Model, Result, Version};
use boostfgl_nn::{Matrix, Real};
use std::fmt;

/// Reads values in their encoding.
pub(super) struct Reader<'a, T: Real> {
    bytes: &'a [u8],
    at: usize,
    pub(super) limits: Limits<'a>,
    /// Models that were read in full.
    models: Vec<Model<T>>,
}

impl<'a, T: Real> Reader<'a, T> {
    pub(super) fn new(bytes: &'a [u8], limits: Limits<'a>) -> Self {
        Self { bytes, at: 0, limits, models: Vec::new() }
    }

    /// Bytes that were not read yet.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The error for what was just read or is to be read now.
    pub(super) fn malformed(&self, expected: impl Into<String>, found: impl fmt::Display) -> Error {
        Error::Malformed {
            length: self.bytes.len(),
            at: self.at,
            expected: expected.into(),
            found: format!("{found}"),
        }
    }

    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some(taken) = self.bytes.get(self.at..).and_then(|rest| rest.get(..count)) else {
            return Err(
                self.malformed(format!("{count} more bytes"), format!("{} bytes", self.left()))
            );
        };
        self.at += count;
        Ok(taken)
    }

    /// The next bytes, which must be these.
    pub(super) fn expect(&mut self, expected: &[u8], what: &str) -> Result<()> {
        let found = self.take(expected.len())?;
        if found == expected {
            return Ok(());
        }
        self.at -= expected.len();
        Err(self.malformed(what, format!("{found:02x?}")))
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn bool(&mut self) -> Result<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.malformed("0 or 1", other)),
        }
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(super) fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// The length of a list whose elements have at least `width` bytes each.
    pub(super) fn length(&mut self, width: usize) -> Result<usize> {
        let length = self.u32()? as usize;
        match length.checked_mul(width) {
            Some(bytes) if bytes <= self.left() => Ok(length),
            _ => Err(self.malformed(
                format!("a list that fits the {} bytes that are left", self.left()),
                format!("{length} elements of at least {width} bytes"),
            )),
        }
    }

    pub(super) fn text(&mut self) -> Result<String> {
        let length = self.length(1)?;
        let bytes = self.take(length)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(error) => Err(self.malformed("UTF-8", error)),
        }
    }

    /// Fills `numbers` from their little-endian bytes.
    pub(super) fn plain<N: bytemuck::Pod>(&mut self, numbers: &mut [N]) -> Result<()> {
        let to: &mut [u8] = bytemuck::cast_slice_mut(numbers);
        to.copy_from_slice(self.take(to.len())?);
        if cfg!(target_endian = "big") {
            to.chunks_exact_mut(size_of::<N>()).for_each(<[u8]>::reverse);
        }
        Ok(())
    }

    /// A matrix whose rows are stored without padding; `None`, and nothing is read, if they are not.
    pub(super) fn plain_matrix(
        &mut self,
        rows: usize,
        columns: usize,
    ) -> Result<Option<Matrix<T>>> {
        if cfg!(target_endian = "big") {
            return Ok(None);
        }
        let before = self.at;
        let bytes = self.take(rows * columns * size_of::<T>())?;
        let matrix = Matrix::from_plain_bytes(rows, columns, bytes);
        if matrix.is_none() {
            self.at = before;
        }
        Ok(matrix)
    }

    /// An earlier model of this frame.
    pub(super) fn model(&self, version: Version) -> Option<&Model<T>> {
        self.models.iter().find(|model| model.version() == version)
    }

    pub(super) fn add_model(&mut self, model: Model<T>) {
        self.models.push(model);
    }

    /// Fails unless all bytes were read.
    pub(super) fn end(&self) -> Result<()> {
        match self.left() {
            0 => Ok(()),
            left => Err(self.malformed("the end", format!("{left} more bytes"))),
        }
    }
}
