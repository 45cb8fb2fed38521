//! A preparation whose means and deviations are known, and its use on features.

use crate::preparation::{Missing, Preparation};
use crate::{Features, Moments, SparseRows};

/// How one column becomes a feature: (x − shift) / scale, with `fill` for a missing x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedColumn {
    /// What stands in for a missing value.
    pub fill: f32,
    /// What is subtracted.
    pub shift: f32,
    /// What the rest is divided by.
    pub scale: f32,
}

/// A [`Preparation`] with the numbers that were fitted on training nodes.
///
/// ```
/// use boostfgl_graph::{ColumnPreparation, Features, FittedPreparation, Missing, Preparation};
///
/// // Node 2 has no value. Fitted on nodes 0 and 1: mean 2, deviation 1.
/// let column = ColumnPreparation { missing: Missing::Indicator, standardise: true };
/// let preparation = Preparation::new(vec![column], vec![(2, 0)])?;
/// let features = Features::dense(3, 1, vec![1.0, 3.0, 0.0])?;
/// let moments = preparation.moments(&features, [0, 1]);
/// let fitted = FittedPreparation::new(&preparation, &moments);
/// let prepared = fitted.apply(&features, &preparation);
/// assert_eq!(prepared, Features::dense(3, 2, vec![-1.0, 0.0, 1.0, 0.0, 0.0, 1.0])?);
/// assert_eq!(fitted.names(&["age".to_owned()]), ["age", "age is missing"]);
/// # Ok::<(), boostfgl_graph::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FittedPreparation {
    /// One per column of the data.
    pub columns: Vec<FittedColumn>,
    /// The columns that have a further column of 0 and 1 at the end, increasing.
    pub indicators: Vec<u32>,
}

impl Preparation {
    /// The preparation fitted on these training nodes, or on all nodes if there are none: features
    /// are no labels.
    pub fn fit(&self, features: &Features, training: &[u32]) -> FittedPreparation {
        let moments = match training {
            [] => self.moments(features, 0..features.rows() as u32),
            nodes => self.moments(features, nodes.iter().copied()),
        };
        FittedPreparation::new(self, &moments)
    }

    /// The moments of every column over the values that these nodes have.
    pub fn moments(
        &self,
        features: &Features,
        nodes: impl IntoIterator<Item = u32>,
    ) -> Vec<Moments> {
        let mut moments = vec![Moments::default(); features.columns()];
        let mut row = vec![0.0; features.columns()];
        let mut present = vec![true; features.columns()];
        for v in nodes {
            features.write_row(v as usize, &mut row);
            present.fill(true);
            for (_, column) in self.missing_of(v) {
                present[*column as usize] = false;
            }
            for ((moments, x), _) in
                moments.iter_mut().zip(&row).zip(&present).filter(|(_, present)| **present)
            {
                *moments = moments.with(Moments::of([f64::from(*x)]));
            }
        }
        moments
    }
}

impl FittedPreparation {
    /// The preparation with these moments, one per column. A column that is the same everywhere is
    /// divided by 1; one without any value counts as 0.
    pub fn new(preparation: &Preparation, moments: &[Moments]) -> Self {
        let columns = preparation.columns().iter().zip(moments).map(|(column, moments)| {
            let mean = moments.mean as f32;
            let fill = if column.missing == Missing::Zero { 0.0 } else { mean };
            let deviation = moments.deviation() as f32;
            let divides = deviation > 0.0 && deviation.is_finite();
            match column.standardise {
                true => {
                    FittedColumn { fill, shift: mean, scale: if divides { deviation } else { 1.0 } }
                }
                false => FittedColumn { fill, shift: 0.0, scale: 1.0 },
            }
        });
        let indicators = (0u32..)
            .zip(preparation.columns())
            .filter(|(_, column)| column.missing == Missing::Indicator)
            .map(|(number, _)| number);
        Self { columns: columns.collect(), indicators: indicators.collect() }
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.columns.len() + self.indicators.len()
    }

    /// The names of the features, where `names` are those of the columns; none if there are none.
    pub fn names(&self, names: &[String]) -> Vec<String> {
        if names.is_empty() {
            return Vec::new();
        }
        let of_indicators =
            self.indicators.iter().map(|c| format!("{} is missing", names[*c as usize]));
        names.iter().cloned().chain(of_indicators).collect()
    }

    /// The features of these data, of which `preparation` says where values are missing.
    ///
    /// # Panics
    /// If there are other numbers of columns.
    pub fn apply(&self, features: &Features, preparation: &Preparation) -> Features {
        assert_eq!(features.columns(), self.columns.len(), "one fitted column per column");
        let (rows, width) = (features.rows(), self.width());
        let sparse = matches!(features, Features::Sparse(_));
        let mut row = vec![0.0; width];
        let mut dense = Vec::with_capacity(if sparse { 0 } else { rows * width });
        let mut stored = SparseRows::empty(width);
        for v in 0..rows {
            self.write_row(features, preparation, v, &mut row);
            match sparse {
                true => stored.push(&row),
                false => dense.extend_from_slice(&row),
            }
        }
        match sparse {
            // Columns that are shifted have values everywhere: then sparse rows take more.
            true if 4 * stored.values().len() < rows * width => Features::Sparse(stored),
            true => Features::Sparse(stored).stored(false),
            false => Features::Dense { rows, columns: width, values: dense },
        }
    }

    /// The features of one node.
    fn write_row(&self, features: &Features, preparation: &Preparation, v: usize, row: &mut [f32]) {
        let (values, indicators) = row.split_at_mut(self.columns.len());
        features.write_row(v, values);
        indicators.fill(0.0);
        for (_, column) in preparation.missing_of(v as u32) {
            values[*column as usize] = self.columns[*column as usize].fill;
            if let Ok(at) = self.indicators.binary_search(column) {
                indicators[at] = 1.0;
            }
        }
        for (x, column) in values.iter_mut().zip(&self.columns) {
            *x = (*x - column.shift) / column.scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnPreparation;

    const STANDARD: ColumnPreparation =
        ColumnPreparation { missing: Missing::Mean, standardise: true };

    fn fit(columns: &[ColumnPreparation], missing: &[(u32, u32)], x: &Features) -> Features {
        let preparation = Preparation::new(columns.to_vec(), missing.to_vec()).unwrap();
        let moments = preparation.moments(x, 0..x.rows() as u32);
        FittedPreparation::new(&preparation, &moments).apply(x, &preparation)
    }

    #[test]
    fn constant_and_empty_columns_become_zero_and_stay_finite() {
        let x = Features::dense(2, 2, vec![7.0, 0.0, 7.0, 0.0]).unwrap();
        let prepared = fit(&[STANDARD; 2], &[(0, 1), (1, 1)], &x);
        assert_eq!(prepared, Features::dense(2, 2, vec![0.0; 4]).unwrap());
    }

    #[test]
    fn zero_stands_in_before_the_column_is_standardised() {
        let zero = ColumnPreparation { missing: Missing::Zero, standardise: true };
        let x = Features::dense(3, 1, vec![1.0, 3.0, 0.0]).unwrap();
        let prepared = fit(&[zero], &[(2, 0)], &x);
        assert_eq!(prepared, Features::dense(3, 1, vec![-1.0, 1.0, -2.0]).unwrap());
    }

    /// Sparse and dense storage give the same numbers, stored as takes less.
    #[test]
    fn storage_does_not_change_the_numbers() {
        let mut values = vec![0.0; 40];
        (values[3], values[17], values[39]) = (2.0, 1.0, -4.0);
        let dense = Features::dense(4, 10, values).unwrap();
        for (columns, stays_sparse) in
            [([ColumnPreparation::default(); 10], true), ([STANDARD; 10], false)]
        {
            let (a, b) = (
                fit(&columns, &[(1, 0)], &dense),
                fit(&columns, &[(1, 0)], &dense.clone().stored(true)),
            );
            assert_eq!(matches!(b, Features::Sparse(_)), stays_sparse);
            assert_eq!(b.stored(false), a);
        }
    }
}
