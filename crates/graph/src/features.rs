//! Features of nodes: sparse bags of words or dense vectors.

use crate::{Error, Result};

/// Node features, n rows by d columns.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Mostly zeros: bags of words. Never densified.
    Sparse(SparseRows),
    /// Row-major n × d.
    Dense {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
        /// The values, `rows * columns` of them.
        values: Vec<f32>,
    },
}

/// A sparse matrix in compressed rows, column indices increasing inside a row.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseRows {
    columns: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

/// How features are scaled before training (`features` in the configuration).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// As published.
    #[default]
    Raw,
    /// Every row divided by the sum of its absolute values; an all-zero row stays zero.
    RowNormalised,
    /// 1 where the value is not 0.
    Binary,
}

impl SparseRows {
    /// Checks and copies the three arrays of a CSR matrix. Columns inside a row are sorted, stored
    /// zeros dropped.
    ///
    /// # Errors
    /// If offsets do not start at 0, decrease or do not end at the number of indices; if an index
    /// is ≥ `columns` or occurs twice in a row; if a value is not finite.
    pub fn new(columns: usize, offsets: &[usize], indices: &[u32], values: &[f32]) -> Result<Self> {
        let what = "sparse features";
        if indices.len() != values.len() {
            let found = format!("{} indices, {} values", indices.len(), values.len());
            return Err(Error::inconsistent(what, "as many indices as values", found));
        }
        let rising = offsets.windows(2).all(|w| w[0] <= w[1]);
        if offsets.first() != Some(&0) || offsets.last() != Some(&indices.len()) || !rising {
            return Err(Error::inconsistent(
                what,
                "row offsets rising from 0 to the number of values",
                "other offsets",
            ));
        }
        let mut sorted =
            Self { columns, offsets: vec![0], indices: Vec::new(), values: Vec::new() };
        let mut row: Vec<(u32, f32)> = Vec::new();
        for (v, window) in offsets.windows(2).enumerate() {
            row.clear();
            row.extend((window[0]..window[1]).map(|at| (indices[at], values[at])));
            row.sort_unstable_by_key(|(column, _)| *column);
            check_row(v, columns, &row)?;
            for &(column, value) in row.iter().filter(|(_, value)| *value != 0.0) {
                sorted.indices.push(column);
                sorted.values.push(value);
            }
            sorted.offsets.push(sorted.indices.len());
        }
        Ok(sorted)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Row boundaries, rows + 1 of them.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Column indices of all rows, one after the other.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Values, aligned with [`SparseRows::indices`].
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// The non-zero columns and values of row `v`.
    pub fn row(&self, v: usize) -> (&[u32], &[f32]) {
        let range = self.offsets[v]..self.offsets[v + 1];
        (&self.indices[range.clone()], &self.values[range])
    }
}

fn check_row(v: usize, columns: usize, row: &[(u32, f32)]) -> Result<()> {
    if let Some((column, _)) = row.iter().find(|(column, _)| *column as usize >= columns) {
        let expected = format!("columns below {columns}");
        return Err(Error::inconsistent(
            format!("features of node {v}"),
            expected,
            column.to_string(),
        ));
    }
    if let Some(pair) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let found = format!("column {} twice", pair[0].0);
        return Err(Error::inconsistent(
            format!("features of node {v}"),
            "every column once",
            found,
        ));
    }
    match row.iter().find(|(_, value)| !value.is_finite()) {
        Some((column, value)) => Err(not_finite(v, *column as usize, *value)),
        None => Ok(()),
    }
}

fn not_finite(v: usize, column: usize, value: f32) -> Error {
    Error::inconsistent(
        format!("feature {column} of node {v}"),
        "a finite number",
        value.to_string(),
    )
}

impl Features {
    /// Checks a row-major dense matrix and stores it.
    ///
    /// # Errors
    /// If the length is not `rows * columns` or a value is not finite.
    pub fn dense(rows: usize, columns: usize, values: Vec<f32>) -> Result<Self> {
        if Some(values.len()) != rows.checked_mul(columns) {
            let expected = format!("{rows} x {columns} values");
            return Err(Error::inconsistent("dense features", expected, values.len().to_string()));
        }
        match values.iter().position(|x| !x.is_finite()) {
            Some(at) => Err(not_finite(at / columns, at % columns, values[at])),
            None => Ok(Self::Dense { rows, columns, values }),
        }
    }

    /// Number of nodes.
    pub fn rows(&self) -> usize {
        match self {
            Self::Sparse(matrix) => matrix.rows(),
            Self::Dense { rows, .. } => *rows,
        }
    }

    /// Number of features.
    pub fn columns(&self) -> usize {
        match self {
            Self::Sparse(matrix) => matrix.columns(),
            Self::Dense { columns, .. } => *columns,
        }
    }

    /// The value of node `v` in `column`.
    ///
    /// # Panics
    /// If there is no such node or column.
    pub fn get(&self, v: usize, column: usize) -> f32 {
        assert!(column < self.columns(), "a column below {}", self.columns());
        match self {
            Self::Sparse(matrix) => {
                let (columns, values) = matrix.row(v);
                let at = columns.binary_search_by_key(&column, |column| *column as usize);
                at.map_or(0.0, |at| values[at])
            }
            Self::Dense { columns, values, .. } => values[v * columns + column],
        }
    }

    /// Number of stored values that are not 0.
    pub fn non_zeros(&self) -> usize {
        match self {
            Self::Sparse(matrix) => matrix.values.len(),
            Self::Dense { values, .. } => values.iter().filter(|x| **x != 0.0).count(),
        }
    }

    /// The rows of `nodes`, in that order.
    pub fn select(&self, nodes: &[u32]) -> Self {
        match self {
            Self::Sparse(matrix) => {
                let mut picked = SparseRows {
                    columns: matrix.columns,
                    offsets: vec![0],
                    indices: Vec::new(),
                    values: Vec::new(),
                };
                for &v in nodes {
                    let (indices, values) = matrix.row(v as usize);
                    picked.indices.extend_from_slice(indices);
                    picked.values.extend_from_slice(values);
                    picked.offsets.push(picked.indices.len());
                }
                Self::Sparse(picked)
            }
            Self::Dense { columns, values, .. } => {
                let mut picked = Vec::with_capacity(nodes.len() * columns);
                for &v in nodes {
                    picked.extend_from_slice(&values[v as usize * columns..][..*columns]);
                }
                Self::Dense { rows: nodes.len(), columns: *columns, values: picked }
            }
        }
    }

    /// Scales in place.
    pub fn scale(&mut self, scaling: Scaling) {
        match scaling {
            Scaling::Raw => {}
            Scaling::Binary => {
                for x in self.values_mut() {
                    *x = f32::from(*x != 0.0);
                }
            }
            Scaling::RowNormalised => {
                for v in 0..self.rows() {
                    let row = self.row_values_mut(v);
                    let sum: f64 = row.iter().map(|x| f64::from(x.abs())).sum();
                    if sum > 0.0 {
                        row.iter_mut().for_each(|x| *x = (f64::from(*x) / sum) as f32);
                    }
                }
            }
        }
    }

    /// The same numbers stored as sparse rows, or as a dense matrix.
    #[must_use]
    pub fn stored(self, sparse: bool) -> Self {
        match (self, sparse) {
            (Self::Dense { rows, columns, values }, true) => {
                let (mut offsets, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
                for row in 0..rows {
                    let numbers = (0u32..).zip(&values[row * columns..(row + 1) * columns]);
                    for (column, &x) in numbers.filter(|(_, x)| **x != 0.0) {
                        indices.push(column);
                        stored.push(x);
                    }
                    offsets.push(indices.len());
                }
                Self::Sparse(SparseRows { columns, offsets, indices, values: stored })
            }
            (Self::Sparse(matrix), false) => {
                let (rows, columns) = (matrix.rows(), matrix.columns);
                let mut values = vec![0.0; rows * columns];
                for v in 0..rows {
                    let (at, numbers) = matrix.row(v);
                    at.iter().zip(numbers).for_each(|(&column, &x)| {
                        values[v * columns + column as usize] = x;
                    });
                }
                Self::Dense { rows, columns, values }
            }
            (features, _) => features,
        }
    }

    /// The columns in another order: column j becomes what column `order[j]` was.
    ///
    /// # Panics
    /// If `order` is not a permutation of the columns.
    #[must_use]
    pub fn arranged(self, order: &[usize]) -> Self {
        assert_eq!(order.len(), self.columns(), "one place for every column");
        match self {
            Self::Dense { rows, columns, values } => {
                let row = |v: usize| order.iter().map(move |&column| (v, column));
                let arranged = (0..rows).flat_map(row).map(|(v, c)| values[v * columns + c]);
                Self::Dense { rows, columns, values: arranged.collect() }
            }
            Self::Sparse(mut matrix) => {
                let mut place = vec![u32::MAX; order.len()];
                (0u32..).zip(order).for_each(|(to, &from)| place[from] = to);
                for row in matrix.offsets.windows(2) {
                    let (indices, values) = (&mut matrix.indices, &mut matrix.values);
                    let row = row[0]..row[1];
                    let mut entries: Vec<(u32, f32)> =
                        row.clone().map(|at| (place[indices[at] as usize], values[at])).collect();
                    entries.sort_unstable_by_key(|entry| entry.0);
                    row.zip(entries).for_each(|(at, (column, x))| {
                        (indices[at], values[at]) = (column, x);
                    });
                }
                Self::Sparse(matrix)
            }
        }
    }

    fn values_mut(&mut self) -> &mut [f32] {
        match self {
            Self::Sparse(matrix) => &mut matrix.values,
            Self::Dense { values, .. } => values,
        }
    }

    fn row_values_mut(&mut self, v: usize) -> &mut [f32] {
        match self {
            Self::Sparse(matrix) => &mut matrix.values[matrix.offsets[v]..matrix.offsets[v + 1]],
            Self::Dense { columns, values, .. } => &mut values[v * *columns..(v + 1) * *columns],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse() -> Features {
        Features::Sparse(SparseRows::new(4, &[0, 2, 2, 3], &[3, 1, 0], &[2.0, -6.0, 5.0]).unwrap())
    }

    #[test]
    fn rows_are_sorted_and_scaled() {
        let mut features = sparse();
        features.scale(Scaling::RowNormalised);
        let Features::Sparse(matrix) = &features else { panic!("stays sparse") };
        assert_eq!(matrix.row(0), (&[1, 3][..], &[-0.75, 0.25][..]));
        assert_eq!(matrix.row(1), (&[][..], &[][..]));
        features.scale(Scaling::Binary);
        assert_eq!(features.select(&[2, 0]).non_zeros(), 3);
    }

    #[test]
    fn storage_and_order_of_columns_change_no_number() {
        let dense = sparse().stored(false);
        assert_eq!((dense.get(0, 1), sparse().get(0, 1), sparse().get(1, 1)), (-6.0, -6.0, 0.0));
        let Features::Dense { values, .. } = &dense else { panic!("dense") };
        assert_eq!(values[..], [0.0, -6.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 0.0]);
        assert_eq!(dense.clone().stored(true), sparse());
        assert_eq!(sparse().stored(true), sparse());
        let order = [3, 0, 2, 1];
        let arranged = dense.arranged(&order);
        let Features::Dense { values, .. } = &arranged else { panic!("dense") };
        assert_eq!(values[..], [2.0, 0.0, 0.0, -6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0]);
        assert_eq!(sparse().arranged(&order).stored(false), arranged);
    }

    #[test]
    fn broken_matrices_are_refused() {
        let reason = |offsets: &[usize], indices: &[u32], values: &[f32]| {
            SparseRows::new(2, offsets, indices, values).unwrap_err().to_string()
        };
        assert!(reason(&[0, 1], &[2], &[1.0]).contains("columns below 2"));
        assert!(reason(&[0, 2], &[1, 1], &[1.0, 1.0]).contains("column 1 twice"));
        assert!(reason(&[0, 1], &[0], &[f32::INFINITY]).contains("finite"));
        assert!(reason(&[0, 3], &[0], &[1.0]).contains("offsets"));
        assert!(reason(&[0, 1], &[0], &[]).contains("as many"));
        assert!(Features::dense(2, 2, vec![0.0; 3]).is_err());
        assert!(
            Features::dense(1, 2, vec![0.0, f32::NAN])
                .unwrap_err()
                .to_string()
                .contains("feature 1 of node 0")
        );
    }
}
