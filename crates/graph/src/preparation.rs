//! How feature columns are prepared before training, and which cells have no value.

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// What stands in for a missing value of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The mean of the values that are there.
    #[default]
    Mean,
    /// 0, before the column is standardised.
    Zero,
    /// The mean, and a further column of 0 and 1 that says whether the value was missing.
    Indicator,
}

impl Missing {
    /// Every policy.
    pub const ALL: [Self; 3] = [Self::Mean, Self::Zero, Self::Indicator];

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Zero => "zero",
            Self::Indicator => "indicator",
        }
    }

    /// The policy of that name.
    ///
    /// # Errors
    /// If there is none; the nearest name is suggested.
    ///
    /// ```
    /// use boostfgl_graph::Missing;
    ///
    /// assert_eq!(Missing::from_name("zero")?, Missing::Zero);
    /// let error = Missing::from_name("men").unwrap_err().to_string();
    /// assert_eq!(error, "unknown policy for missing values `men` (did you mean `mean`?)");
    /// # Ok::<(), boostfgl_graph::Error>(())
    /// ```
    pub fn from_name(name: &str) -> Result<Self> {
        let named = Self::ALL.into_iter().find(|policy| policy.name() == name);
        named.ok_or_else(|| {
            Error::unknown("policy for missing values", name, Self::ALL.map(Self::name))
        })
    }
}

/// How one feature column is prepared on each client's own training nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnPreparation {
    /// What stands in for a missing value.
    pub missing: Missing,
    /// Whether the mean is subtracted and the rest divided by the standard deviation.
    pub standardise: bool,
}

/// The preparation of all feature columns of a graph, and the cells that have no value.
///
/// It says what is to be done; nothing has been done yet. Where a value is missing, the features of
/// the graph hold 0.
///
/// ```
/// use boostfgl_graph::{ColumnPreparation, Missing, Preparation};
///
/// let age = ColumnPreparation { missing: Missing::Indicator, standardise: true };
/// let columns = vec![age, ColumnPreparation::default()];
/// let preparation = Preparation::new(columns, vec![(4, 0), (2, 1), (2, 0)])?;
/// assert_eq!(preparation.missing(), [(2, 0), (2, 1), (4, 0)]);
/// assert_eq!(preparation.select(&[4, 5]).missing(), [(0, 0)]);
/// # Ok::<(), boostfgl_graph::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preparation {
    columns: Vec<ColumnPreparation>,
    /// Node and column, sorted.
    missing: Vec<(u32, u32)>,
}

impl Preparation {
    /// The preparation of these columns, where the cells `missing` (node, column) have no value;
    /// their order is free.
    ///
    /// # Errors
    /// If a cell is in no column or is given twice.
    pub fn new(columns: Vec<ColumnPreparation>, mut missing: Vec<(u32, u32)>) -> Result<Self> {
        let what = "missing values";
        if let Some((node, column)) =
            missing.iter().find(|(_, column)| *column as usize >= columns.len())
        {
            let expected = format!("columns below {}", columns.len());
            let found = format!("column {column} for node {node}");
            return Err(Error::inconsistent(what, expected, found));
        }
        missing.sort_unstable();
        if let Some(pair) = missing.windows(2).find(|pair| pair[0] == pair[1]) {
            let found = format!("column {} of node {} twice", pair[0].1, pair[0].0);
            return Err(Error::inconsistent(what, "every cell once", found));
        }
        Ok(Self { columns, missing })
    }

    /// The preparation that leaves so many columns as they are, without missing values.
    pub fn plain(columns: usize) -> Self {
        Self { columns: vec![ColumnPreparation::default(); columns], missing: Vec::new() }
    }

    /// The preparation that standardises all of so many columns, and is as `known` otherwise.
    pub(crate) fn standardising(columns: usize, known: Option<Self>) -> Self {
        let mut all = known.unwrap_or_else(|| Self::plain(columns));
        all.columns.iter_mut().for_each(|column| column.standardise = true);
        all
    }

    /// How each feature column is prepared.
    pub fn columns(&self) -> &[ColumnPreparation] {
        &self.columns
    }

    /// How many columns have a further one that says that a value is missing.
    pub fn indicators(&self) -> usize {
        self.columns.iter().filter(|column| column.missing == Missing::Indicator).count()
    }

    /// The preparation of columns in another order: the new column i is the old one `order[i]`.
    #[must_use]
    pub fn arranged(&self, order: &[usize]) -> Self {
        let mut place = vec![None; self.columns.len()];
        (0u32..).zip(order).for_each(|(new, old)| place[*old] = Some(new));
        let moved = self.missing.iter().filter_map(|(v, old)| Some((*v, place[*old as usize]?)));
        let mut missing: Vec<(u32, u32)> = moved.collect();
        missing.sort_unstable();
        Self { columns: order.iter().map(|&at| self.columns[at]).collect(), missing }
    }

    /// The cells without a value: node and column, sorted.
    pub fn missing(&self) -> &[(u32, u32)] {
        &self.missing
    }

    /// The cells of node `v` without a value.
    pub fn missing_of(&self, v: u32) -> &[(u32, u32)] {
        let start = self.missing.partition_point(|(node, _)| *node < v);
        let rest = &self.missing[start..];
        &rest[..rest.partition_point(|(node, _)| *node == v)]
    }

    /// The preparation of the rows of `nodes`, in that order.
    #[must_use]
    pub fn select(&self, nodes: &[u32]) -> Self {
        let rows = (0u32..)
            .zip(nodes)
            .flat_map(|(row, &v)| self.missing_of(v).iter().map(move |&(_, column)| (row, column)));
        Self { columns: self.columns.clone(), missing: rows.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, Features, Graph, Labels, Scaling};
    use proptest::prelude::*;

    const PLAIN: ColumnPreparation =
        ColumnPreparation { missing: Missing::Mean, standardise: false };

    fn reason(columns: usize, missing: &[(u32, u32)]) -> String {
        Preparation::new(vec![PLAIN; columns], missing.to_vec()).unwrap_err().to_string()
    }

    /// Three nodes with two columns; node 1 lacks the second value.
    fn graph(values: [f32; 6]) -> Graph {
        let (adjacency, _) = Adjacency::from_edges(3, &[(0, 1), (1, 2)], None, false).unwrap();
        let labels = Labels::from_integers(&[0, 1, 0], 2).unwrap();
        let features = Features::dense(3, 2, values.to_vec()).unwrap();
        Graph::new("g", adjacency, features, labels).unwrap()
    }

    const VALUES: [f32; 6] = [1.0, 2.0, 3.0, 0.0, 5.0, 6.0];

    fn prepared() -> Graph {
        let columns = vec![PLAIN, ColumnPreparation { standardise: true, ..PLAIN }];
        graph(VALUES).with_preparation(Preparation::new(columns, vec![(1, 1)]).unwrap()).unwrap()
    }

    #[test]
    fn the_default_is_the_mean_without_standardisation() {
        assert_eq!(ColumnPreparation::default(), PLAIN);
    }

    #[test]
    fn cells_outside_or_given_twice_are_refused() {
        assert_eq!(
            reason(2, &[(7, 2)]),
            "missing values: expected columns below 2, found column 2 for node 7"
        );
        assert_eq!(
            reason(2, &[(1, 1), (0, 0), (1, 1)]),
            "missing values: expected every cell once, found column 1 of node 1 twice"
        );
        assert!(Preparation::new(Vec::new(), Vec::new()).is_ok());
    }

    #[test]
    fn a_preparation_must_fit_its_graph() {
        let with = |columns: usize, missing: &[(u32, u32)]| {
            let preparation = Preparation::new(vec![PLAIN; columns], missing.to_vec()).unwrap();
            graph(VALUES).with_preparation(preparation).unwrap_err().to_string()
        };
        assert_eq!(
            with(3, &[]),
            "preparation of g: expected 2 columns, as the features have, found 3"
        );
        assert_eq!(
            with(2, &[(1, 1), (3, 0)]),
            "missing values of g: expected nodes below 3, found node 3"
        );
        assert_eq!(
            with(2, &[(0, 1), (1, 1)]),
            "feature 1 of node 0 in g: expected 0, since its value is missing, found 2"
        );
    }

    #[test]
    fn columns_move_with_their_names_preparation_and_missing_values() {
        let named = ["a", "b"].map(str::to_owned).to_vec();
        let graph = prepared().with_feature_names(named).unwrap().arranged(&[1, 0]);
        let found = graph.preparation().unwrap();
        assert_eq!((found.missing(), found.columns()[0].standardise), (&[(1, 0)][..], true));
        assert_eq!((graph.feature_names()[0].as_str(), graph.features().get(0, 0)), ("b", 2.0));
        assert_eq!(graph.stored(true).preparation().unwrap().missing(), [(1, 0)]);
    }

    #[test]
    fn subgraphs_and_scaled_graphs_keep_it_and_other_features_drop_it() {
        let graph = prepared();
        let kept = graph.preparation().unwrap().clone();
        assert_eq!(graph.clone().scaled(Scaling::Binary).preparation(), Some(&kept));
        let inner = graph.induced(&[1, 2]);
        assert_eq!(inner.preparation().unwrap().missing(), [(0, 1)]);
        assert_eq!(inner.preparation().unwrap().columns(), kept.columns());
        let features = graph.features().clone();
        assert_eq!(graph.with_features(features).unwrap().preparation(), None);
    }

    #[test]
    fn sparse_features_are_checked_too() {
        let sparse = |values| {
            let graph = graph(values);
            let features = graph.features().clone().stored(true);
            let preparation = Preparation::new(vec![PLAIN; 2], vec![(1, 1)]).unwrap();
            graph.with_features(features).unwrap().with_preparation(preparation)
        };
        assert!(sparse(VALUES).is_ok());
        assert!(sparse([1.0; 6]).is_err());
    }

    proptest! {
        #[test]
        fn selected_rows_lack_the_values_that_their_nodes_lack(
            cells in prop::collection::btree_set((0u32..9, 0u32..4), 0..20),
            nodes in prop::collection::vec(0u32..9, 0..12),
        ) {
            let missing: Vec<(u32, u32)> = cells.iter().copied().collect();
            let preparation = Preparation::new(vec![PLAIN; 4], missing).unwrap();
            let selected = preparation.select(&nodes);
            let expected: Vec<(u32, u32)> = (0u32..).zip(&nodes).flat_map(|(row, v)| {
                (0..4).filter(|c| cells.contains(&(*v, *c))).map(move |c| (row, c))
            }).collect();
            prop_assert_eq!(selected.missing(), expected);
        }
    }
}
