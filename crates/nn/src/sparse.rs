//! Sparse matrices in compressed rows, with shareable patterns.

use crate::{Matrix, Real};
use std::ops::Range;
use std::sync::Arc;

/// A sparse matrix in compressed rows. Cloning shares the pattern; only the values are copied.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<T> {
    shape: Arc<Shape>,
    values: Vec<T>,
}

#[derive(Debug, PartialEq)]
struct Shape {
    columns: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
}

impl<T: Real> Csr<T> {
    /// A matrix from its three arrays.
    ///
    /// # Panics
    /// If they do not form a matrix: offsets must rise from 0 to the number of indices, indices lie
    /// below `columns`, and there is one value per index.
    pub fn new(columns: usize, offsets: Vec<usize>, indices: Vec<u32>, values: Vec<T>) -> Self {
        assert_eq!(offsets.first(), Some(&0), "offsets start at 0");
        assert_eq!(offsets.last(), Some(&indices.len()), "offsets end at the number of indices");
        assert!(offsets.windows(2).all(|w| w[0] <= w[1]), "offsets rise");
        assert!(indices.iter().all(|&c| (c as usize) < columns), "indices lie below {columns}");
        assert_eq!(indices.len(), values.len(), "one value per index");
        Self { shape: Arc::new(Shape { columns, offsets, indices }), values }
    }

    /// From `(row, column, value)` entries in any order; duplicate entries stay separate.
    #[cfg(test)]
    pub(crate) fn from_entries(rows: usize, columns: usize, entries: &[(usize, u32, T)]) -> Self {
        let mut sorted = entries.to_vec();
        sorted.sort_by_key(|(row, column, _)| (*row, *column));
        let mut offsets = vec![0; rows + 1];
        for (row, _, _) in &sorted {
            offsets[row + 1] += 1;
        }
        for r in 0..rows {
            offsets[r + 1] += offsets[r];
        }
        let indices = sorted.iter().map(|(_, column, _)| *column).collect();
        Self::new(columns, offsets, indices, sorted.iter().map(|(_, _, value)| *value).collect())
    }

    /// The same pattern with other values.
    ///
    /// # Panics
    /// If there is not one value per stored entry.
    pub fn with_values(&self, values: Vec<T>) -> Self {
        assert_eq!(values.len(), self.non_zeros(), "one value per entry");
        Self { shape: Arc::clone(&self.shape), values }
    }

    /// The same rows followed by those of `dense`, all of whose numbers are stored.
    ///
    /// # Panics
    /// If the widths differ.
    #[must_use]
    pub fn with_dense_rows(&self, dense: &Matrix<T>) -> Self {
        assert_eq!(dense.columns(), self.columns(), "rows of the same width");
        let Shape { columns, offsets, indices } = &*self.shape;
        let (mut offsets, mut indices, mut values) =
            (offsets.clone(), indices.clone(), self.values.clone());
        for r in 0..dense.rows() {
            indices.extend(0..*columns as u32);
            values.extend_from_slice(dense.row(r));
            offsets.push(indices.len());
        }
        Self { shape: Arc::new(Shape { columns: *columns, offsets, indices }), values }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.shape.offsets.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.shape.columns
    }

    /// Number of stored entries.
    pub fn non_zeros(&self) -> usize {
        self.shape.indices.len()
    }

    /// The range of row `r` in [`Csr::indices`] and [`Csr::values`].
    #[inline(always)]
    pub fn row_range(&self, r: usize) -> Range<usize> {
        self.shape.offsets[r]..self.shape.offsets[r + 1]
    }

    /// Column indices of all rows, one after the other.
    #[inline(always)]
    pub fn indices(&self) -> &[u32] {
        &self.shape.indices
    }

    /// Values, aligned with [`Csr::indices`].
    #[inline(always)]
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// out = self · x, for an x with as many rows as this has columns.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn multiply(&self, x: &Matrix<T>, out: &mut Matrix<T>) {
        assert_eq!(
            (x.rows(), out.rows(), x.columns()),
            (self.columns(), self.rows(), out.columns()),
            "shapes of a · x"
        );
        let stride = out.stride();
        crate::kernels::spmm::spmm(self, None, x.data(), out.data_mut(), stride);
    }

    pub(crate) fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The transpose of the rows `rows` (all if `None`), and for each of its entries the position
    /// of the entry it was copied from.
    pub(crate) fn transpose_of(&self, rows: Option<&[u32]>) -> (Self, Vec<u32>) {
        let count = rows.map_or(self.rows(), <[u32]>::len);
        let mut offsets = vec![0usize; self.columns() + 1];
        for i in 0..count {
            for k in self.row_range(rows.map_or(i, |rows| rows[i] as usize)) {
                offsets[self.shape.indices[k] as usize + 1] += 1;
            }
        }
        for c in 0..self.columns() {
            offsets[c + 1] += offsets[c];
        }
        // A counting sort by column. Rows are visited in order, so the rows of the transpose are
        // sorted too, and sums over them have a fixed order.
        let mut next = offsets.clone();
        let mut indices = vec![0u32; offsets[self.columns()]];
        let mut from = vec![0u32; indices.len()];
        for i in 0..count {
            for k in self.row_range(rows.map_or(i, |rows| rows[i] as usize)) {
                let at = &mut next[self.shape.indices[k] as usize];
                indices[*at] = i as u32;
                from[*at] = k as u32;
                *at += 1;
            }
        }
        let values = from.iter().map(|&k| self.values[k as usize]).collect();
        (Self { shape: Arc::new(Shape { columns: count, offsets, indices }), values }, from)
    }

    /// The submatrix of `rows` and `columns` (both increasing), and for each of its entries the
    /// position of the entry it was copied from.
    pub(crate) fn restricted(&self, rows: &[u32], columns: &[u32]) -> (Self, Vec<u32>) {
        let mut new_column = vec![u32::MAX; self.columns()];
        for (i, &c) in columns.iter().enumerate() {
            new_column[c as usize] = i as u32;
        }
        let mut offsets = Vec::with_capacity(rows.len() + 1);
        offsets.push(0);
        let (mut indices, mut from) = (Vec::new(), Vec::new());
        for &r in rows {
            for k in self.row_range(r as usize) {
                let column = new_column[self.shape.indices[k] as usize];
                if column != u32::MAX {
                    indices.push(column);
                    from.push(k as u32);
                }
            }
            offsets.push(indices.len());
        }
        let values = from.iter().map(|&k| self.values[k as usize]).collect();
        (Self { shape: Arc::new(Shape { columns: columns.len(), offsets, indices }), values }, from)
    }

    /// The columns of all entries of `rows`, in increasing order.
    pub(crate) fn columns_of(&self, rows: &[u32]) -> Vec<u32> {
        let mut seen = vec![false; self.columns()];
        for &r in rows {
            for k in self.row_range(r as usize) {
                seen[self.shape.indices[k] as usize] = true;
            }
        }
        (0..self.columns() as u32).filter(|&c| seen[c as usize]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries() -> impl Strategy<Value = Vec<(usize, u32, f64)>> {
        prop::collection::btree_map((0usize..9, 0u32..7), -3.0..3.0, 0..40)
            .prop_map(|map| map.into_iter().map(|((r, c), x)| (r, c, x)).collect())
    }

    fn listed(a: &Csr<f64>) -> Vec<(usize, u32, f64)> {
        (0..a.rows())
            .flat_map(|r| a.row_range(r).map(move |k| (r, a.indices()[k], a.values()[k])))
            .collect()
    }

    proptest! {
        #[test]
        fn transposing_swaps_rows_and_columns(entries in entries()) {
            let a = Csr::from_entries(9, 7, &entries);
            let (t, from) = a.transpose_of(None);
            let mut back: Vec<_> = listed(&t).into_iter().map(|(r, c, x)| (c as usize, r as u32, x)).collect();
            back.sort_by_key(|(r, c, _)| (*r, *c));
            prop_assert_eq!(back, entries);
            prop_assert!(from.iter().zip(t.values()).all(|(&k, x)| a.values()[k as usize] == *x));
        }

        #[test]
        fn restriction_contains_exactly_the_entries_of_its_rows(entries in entries()) {
            let a = Csr::from_entries(9, 7, &entries);
            let rows = [1u32, 4, 8];
            let columns = a.columns_of(&rows);
            let (b, _) = a.restricted(&rows, &columns);
            let back: Vec<_> = listed(&b).into_iter().map(|(r, c, x)| (rows[r] as usize, columns[c as usize], x)).collect();
            let expected: Vec<_> = entries.into_iter().filter(|(r, _, _)| rows.contains(&(*r as u32))).collect();
            prop_assert_eq!(back, expected);
        }
    }
}
