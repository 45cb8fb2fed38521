//! One attributed graph.

use std::collections::{HashMap, HashSet};

use crate::{Adjacency, Error, Features, GroupColumn, Labels, Preparation, Result, Split};

/// A graph 𝒢 = (𝒱, ℰ, X, Y): topology, features, labels and the splits that come with it.
///
/// Nodes are 0..n inside the program; [`Graph::id`] gives the name a node had in its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    name: String,
    adjacency: Adjacency,
    features: Features,
    labels: Labels,
    splits: Vec<Split>,
    ids: NodeIds,
    group_columns: Vec<GroupColumn>,
    feature_names: Vec<String>,
    preparation: Option<Preparation>,
}

/// The names of nodes in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeIds {
    /// Their position.
    Position,
    /// Any strings, one per node.
    Named(Vec<String>),
}

impl Graph {
    /// Puts a graph together from parts about the same nodes.
    ///
    /// # Errors
    /// If the parts have different numbers of nodes, or there is no node.
    pub fn new(
        name: impl Into<String>,
        adjacency: Adjacency,
        features: Features,
        labels: Labels,
    ) -> Result<Self> {
        let (name, ids) = (name.into(), NodeIds::Position);
        let graph = Self {
            name,
            adjacency,
            features,
            labels,
            splits: Vec::new(),
            ids,
            group_columns: Vec::new(),
            feature_names: Vec::new(),
            preparation: None,
        };
        if graph.is_empty() {
            return Err(Error::inconsistent(graph.name, "at least one node", "none"));
        }
        graph.check_rows("features", graph.features.rows())?;
        graph.check_rows("labels", graph.labels.len())?;
        Ok(graph)
    }

    /// Adds the split that comes with the data, in place of those it had.
    ///
    /// # Errors
    /// If it is not about as many nodes.
    pub fn with_split(self, split: Split) -> Result<Self> {
        self.with_splits(vec![split])
    }

    /// Adds the splits that come with the data, in place of those it had.
    ///
    /// # Errors
    /// If one is not about as many nodes.
    pub fn with_splits(mut self, splits: Vec<Split>) -> Result<Self> {
        splits.iter().try_for_each(|split| self.check_rows("split", split.roles().len()))?;
        self.splits = splits;
        Ok(self)
    }

    /// Adds the names that nodes had in the source.
    ///
    /// # Errors
    /// If there are not as many names as nodes, or two nodes have the same.
    pub fn with_ids(mut self, ids: Vec<String>) -> Result<Self> {
        self.check_rows("node ids", ids.len())?;
        let mut first_of = HashMap::with_capacity(ids.len());
        for (v, id) in ids.iter().enumerate() {
            if let Some(first) = first_of.insert(id, v) {
                let found = format!("`{id}` for nodes {first} and {v}");
                return Err(Error::inconsistent(
                    format!("node ids of {}", self.name),
                    "every id once",
                    found,
                ));
            }
        }
        self.ids = NodeIds::Named(ids);
        Ok(self)
    }

    /// Adds groupings of the nodes, in place of those it had.
    ///
    /// # Errors
    /// If a column is not about as many nodes, has no name, the name of another, or refers to a
    /// value it does not have.
    pub fn with_group_columns(mut self, columns: Vec<GroupColumn>) -> Result<Self> {
        columns.iter().try_for_each(|column| column.check(self.len()))?;
        GroupColumn::check_names(&columns)?;
        self.group_columns = columns;
        Ok(self)
    }

    /// Adds the names that the feature columns have in the source.
    ///
    /// # Errors
    /// If there are not as many names as columns, or two columns have the same.
    pub fn with_feature_names(mut self, names: Vec<String>) -> Result<Self> {
        let (columns, what) = (self.features.columns(), format!("feature names of {}", self.name));
        if names.len() != columns {
            let expected = format!("{columns} names, one per column");
            return Err(Error::inconsistent(what, expected, names.len().to_string()));
        }
        let mut known = HashSet::with_capacity(names.len());
        if let Some(twice) = names.iter().find(|name| !known.insert(name.as_str())) {
            return Err(Error::inconsistent(what, "every name once", format!("`{twice}` twice")));
        }
        self.feature_names = names;
        Ok(self)
    }

    /// Adds how the feature columns are to be prepared, in place of what was there.
    ///
    /// # Errors
    /// If it is about another number of columns or about nodes that do not exist, or a cell whose
    /// value is missing holds another number than 0.
    pub fn with_preparation(mut self, preparation: Preparation) -> Result<Self> {
        let columns = self.features.columns();
        if preparation.columns().len() != columns {
            let what = format!("preparation of {}", self.name);
            let expected = format!("{columns} columns, as the features have");
            let found = preparation.columns().len().to_string();
            return Err(Error::inconsistent(what, expected, found));
        }
        for &(node, column) in preparation.missing() {
            if node as usize >= self.len() {
                let what = format!("missing values of {}", self.name);
                let expected = format!("nodes below {}", self.len());
                return Err(Error::inconsistent(what, expected, format!("node {node}")));
            }
            let value = self.features.get(node as usize, column as usize);
            if value != 0.0 {
                let what = format!("feature {column} of node {node} in {}", self.name);
                let expected = "0, since its value is missing";
                return Err(Error::inconsistent(what, expected, value.to_string()));
            }
        }
        self.preparation = Some(preparation);
        Ok(self)
    }

    /// The same graph with other features, of columns without names and without a preparation.
    ///
    /// # Errors
    /// If they are not about as many nodes.
    pub fn with_features(mut self, features: Features) -> Result<Self> {
        self.check_rows("features", features.rows())?;
        (self.features, self.feature_names) = (features, Vec::new());
        self.preparation = None;
        Ok(self)
    }

    /// The same graph with other labels.
    ///
    /// # Errors
    /// If they are not about as many nodes.
    pub fn with_labels(mut self, labels: Labels) -> Result<Self> {
        self.check_rows("labels", labels.len())?;
        self.labels = labels;
        Ok(self)
    }

    /// The same graph under another name.
    pub fn renamed(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same graph with features scaled.
    pub fn scaled(mut self, scaling: crate::Scaling) -> Self {
        self.features.scale(scaling);
        if scaling == crate::Scaling::Standard {
            let columns = self.features.columns();
            let known = self.preparation.take();
            self.preparation = Some(Preparation::standardising(columns, known));
        }
        self
    }

    /// The same graph with its feature columns, their names and preparation in another order: the
    /// new column i is the old one `order[i]`.
    ///
    /// # Panics
    /// If `order` is not a permutation of the columns.
    #[must_use]
    pub fn arranged(mut self, order: &[usize]) -> Self {
        self.features = self.features.arranged(order);
        if !self.feature_names.is_empty() {
            self.feature_names = order.iter().map(|&at| self.feature_names[at].clone()).collect();
        }
        self.preparation = self.preparation.map(|preparation| preparation.arranged(order));
        self
    }

    /// The same graph with its features stored as sparse rows, or as a dense matrix.
    #[must_use]
    pub fn stored(mut self, sparse: bool) -> Self {
        self.features = self.features.stored(sparse);
        self
    }

    /// Number of features that a model sees: the columns, and one more for each whose missing values
    /// are indicated.
    pub fn width(&self) -> usize {
        self.features.columns() + self.preparation.as_ref().map_or(0, Preparation::indicators)
    }

    fn check_rows(&self, what: &str, rows: usize) -> Result<()> {
        if rows == self.len() {
            return Ok(());
        }
        let what = format!("{} of {}", what, self.name);
        Err(Error::inconsistent(
            what,
            format!("{} rows, one per node", self.len()),
            rows.to_string(),
        ))
    }

    /// The name of the dataset.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of nodes n.
    pub fn len(&self) -> usize {
        self.adjacency.len()
    }

    /// Whether there is no node at all; never true for a graph made by [`Graph::new`].
    pub fn is_empty(&self) -> bool {
        self.adjacency.is_empty()
    }

    /// Number of classes C.
    pub fn classes(&self) -> usize {
        self.labels.classes()
    }

    /// The edges.
    pub fn adjacency(&self) -> &Adjacency {
        &self.adjacency
    }

    /// The features X.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The labels Y.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The splits that come with the data; none if the source has none.
    pub fn splits(&self) -> &[Split] {
        &self.splits
    }

    /// The first of the splits that come with the data.
    pub fn split(&self) -> Option<&Split> {
        self.splits.first()
    }

    /// The split that comes with the data for a run of this seed: of k stored splits number s mod
    /// k.
    pub fn split_of_seed(&self, seed: u64) -> Option<&Split> {
        let count = u64::try_from(self.splits.len()).ok().filter(|&count| count > 0)?;
        self.splits.get((seed % count) as usize)
    }

    /// The names of nodes in the source.
    pub fn ids(&self) -> &NodeIds {
        &self.ids
    }

    /// The name of node `v` in the source.
    pub fn id(&self, v: usize) -> String {
        match &self.ids {
            NodeIds::Position => v.to_string(),
            NodeIds::Named(names) => names[v].clone(),
        }
    }

    /// The names of the feature columns in the source; empty if it has none.
    pub fn feature_names(&self) -> &[String] {
        &self.feature_names
    }

    /// How the feature columns are to be prepared on each client, if the data say so.
    pub fn preparation(&self) -> Option<&Preparation> {
        self.preparation.as_ref()
    }

    /// Groupings of the nodes that came with the data: for evaluation, never for training.
    pub fn group_columns(&self) -> &[GroupColumn] {
        &self.group_columns
    }

    /// The subgraph on `nodes` (strictly increasing), numbered in that order. Classes stay the
    /// global ones; nodes without a name of their own are named by their new position. Group
    /// columns are left out: the training data of a client must not contain them.
    pub fn induced(&self, nodes: &[u32]) -> Self {
        Self {
            name: self.name.clone(),
            adjacency: self.adjacency.induced(nodes),
            features: self.features.select(nodes),
            labels: self.labels.select(nodes),
            splits: self.splits.iter().map(|split| split.select(nodes)).collect(),
            ids: match &self.ids {
                NodeIds::Position => NodeIds::Position,
                NodeIds::Named(names) => {
                    NodeIds::Named(nodes.iter().map(|&v| names[v as usize].clone()).collect())
                }
            },
            group_columns: Vec::new(),
            feature_names: self.feature_names.clone(),
            preparation: self.preparation.as_ref().map(|preparation| preparation.select(nodes)),
        }
    }
}
