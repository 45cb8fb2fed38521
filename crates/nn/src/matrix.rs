//! Dense matrices in the layout of the kernels.

use crate::Real;

/// A row-major matrix whose rows start on a cache line or half of one.
///
/// Rows are padded to a multiple of 16 numbers (8 if there are at most 8 columns) so that kernels
/// need no tails. The padding is always zero, so that sums may run over whole rows. The buffer is
/// 64-byte aligned.
///
/// ```
/// let m = boostfgl_nn::Matrix::<f32>::from_rows(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
/// assert_eq!(m.row(1), [4.0, 5.0, 6.0]);
/// assert_eq!(m.stride(), 8);
/// ```
#[derive(Debug)]
pub struct Matrix<T> {
    rows: usize,
    columns: usize,
    stride: usize,
    /// At least as many as the numbers need.
    lines: Vec<Line>,
    number: std::marker::PhantomData<T>,
}

/// One cache line. A vector of these is aligned memory without `unsafe`.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Line([u8; 64]);

const EMPTY: Line = Line([0; 64]);

impl<T: Real> Matrix<T> {
    /// All zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        let mut matrix = Self {
            rows: 0,
            columns: 0,
            stride: 0,
            lines: Vec::new(),
            number: std::marker::PhantomData,
        };
        matrix.reshape(rows, columns);
        matrix
    }

    /// From row-major values without padding.
    ///
    /// # Panics
    /// If there are not `rows * columns` values.
    pub fn from_rows(rows: usize, columns: usize, values: &[T]) -> Self {
        assert_eq!(values.len(), rows * columns, "a {rows} x {columns} matrix");
        let mut matrix = Self::zeros(rows, columns);
        for (r, row) in values.chunks_exact(columns.max(1)).enumerate() {
            matrix.row_mut(r).copy_from_slice(row);
        }
        matrix
    }

    /// From the row-major values in the memory of another matrix, whose rows need no padding;
    /// `None` if rows of this width do, or there are too few or too many bytes.
    pub fn from_plain_bytes(rows: usize, columns: usize, bytes: &[u8]) -> Option<Self> {
        let expected = rows * columns * size_of::<T>();
        if stride(columns) != columns || bytes.len() != expected {
            return None;
        }
        // Copied line by line: a buffer of zeros would be written twice.
        let whole = bytes.chunks_exact(size_of::<Line>());
        let mut last = EMPTY;
        last.0[..whole.remainder().len()].copy_from_slice(whole.remainder());
        let has_last = !whole.remainder().is_empty();
        let mut lines = Vec::with_capacity(whole.len() + usize::from(has_last));
        lines.extend(whole.map(|line| {
            let mut copy = EMPTY;
            copy.0.copy_from_slice(line);
            copy
        }));
        lines.extend(has_last.then_some(last));
        let number = std::marker::PhantomData;
        Some(Self { rows, columns, stride: columns, lines, number })
    }

    /// Changes the shape and reuses the buffer. Values are unspecified afterwards, except that
    /// padding is zero.
    pub(crate) fn reshape(&mut self, rows: usize, columns: usize) {
        let stride = stride(columns);
        let lines = (rows * stride * size_of::<T>()).div_ceil(size_of::<Line>());
        if lines > self.lines.len() {
            self.lines.resize(lines, EMPTY);
        }
        (self.rows, self.columns, self.stride) = (rows, columns, stride);
        // Also where the shape is the same: numbers that overflowed leave NaN in the padding
        // (0 · ∞), and the next user of the buffer may be another client.
        if columns != stride {
            self.clear_padding();
        }
    }

    pub(crate) fn clear_padding(&mut self) {
        let (columns, stride) = (self.columns, self.stride);
        for row in self.data_mut().chunks_exact_mut(stride) {
            row[columns..].fill(T::ZERO);
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns, without padding.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Distance from one row to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }

    /// All numbers, with padding.
    pub fn data(&self) -> &[T] {
        &bytemuck::cast_slice(&self.lines)[..self.rows * self.stride]
    }

    /// All numbers, with padding, which has to stay zero.
    pub fn data_mut(&mut self) -> &mut [T] {
        let length = self.rows * self.stride;
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..length]
    }

    /// Row `r`, without padding.
    pub fn row(&self, r: usize) -> &[T] {
        &self.data()[r * self.stride..][..self.columns]
    }

    /// Row `r`, without padding.
    pub fn row_mut(&mut self, r: usize) -> &mut [T] {
        let (stride, columns) = (self.stride, self.columns);
        &mut self.data_mut()[r * stride..][..columns]
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        crate::kernels::reduce::all_finite(self.data())
    }

    /// Copies the numbers of a matrix of the same shape.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn copy_from(&mut self, other: &Self) {
        assert_eq!((self.rows, self.columns), (other.rows, other.columns), "shapes");
        self.data_mut().copy_from_slice(other.data());
    }

    /// A matrix of the rows `rows`, in that order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn rows_at(&self, rows: &[u32]) -> Self {
        let mut out = Self::zeros(rows.len(), self.columns);
        for (i, &r) in rows.iter().enumerate() {
            out.row_mut(i).copy_from_slice(self.row(r as usize));
        }
        out
    }

    /// These rows, followed by those of `below`.
    ///
    /// # Panics
    /// If the widths differ.
    pub(crate) fn followed_by(&self, below: &Self) -> Self {
        assert_eq!(self.columns, below.columns, "rows of the same width");
        let mut out = Self::zeros(self.rows + below.rows, self.columns);
        let (own, rest) = out.data_mut().split_at_mut(self.data().len());
        own.copy_from_slice(self.data());
        rest.copy_from_slice(below.data());
        out
    }

    /// The numbers without padding, row by row.
    pub fn to_vec(&self) -> Vec<T> {
        (0..self.rows).flat_map(|r| self.row(r)).copied().collect()
    }
}

impl<T> Clone for Matrix<T> {
    /// Copies the numbers, not the spare capacity of the buffer.
    fn clone(&self) -> Self {
        let used = (self.rows * self.stride * size_of::<T>()).div_ceil(size_of::<Line>());
        Self { lines: self.lines[..used].to_vec(), ..*self }
    }
}

impl<T: Real> PartialEq for Matrix<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.rows, self.columns) == (other.rows, other.columns) && self.data() == other.data()
    }
}

/// Row length with padding.
fn stride(columns: usize) -> usize {
    if columns <= 8 { 8 } else { columns.next_multiple_of(16) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned_and_padding_is_zero() {
        let mut m = Matrix::<f32>::from_rows(3, 20, &[1.0; 60]);
        assert_eq!(m.stride(), 32);
        assert_eq!(m.data().as_ptr() as usize % 64, 0);
        assert_eq!(m.data().iter().sum::<f32>(), 60.0);
        m.reshape(2, 17);
        assert!(m.data().chunks(32).all(|row| row[17..].iter().all(|x| *x == 0.0)));
    }

    /// Old numbers must not become padding when the buffer shrinks and grows again.
    #[test]
    fn padding_is_zero_after_any_change_of_shape() {
        let mut m = Matrix::<f32>::from_rows(40, 8, &[1.0; 320]);
        for (rows, columns) in [(3, 7), (40, 7), (2, 17), (10, 17), (5, 20), (40, 3)] {
            m.reshape(rows, columns);
            let stride = m.stride();
            assert!(
                m.data().chunks(stride).all(|row| row[columns..].iter().all(|x| *x == 0.0)),
                "{rows} x {columns}"
            );
            (0..rows).for_each(|r| m.row_mut(r).fill(1.0));
            assert_eq!(m.clone(), m);
        }
    }
}
