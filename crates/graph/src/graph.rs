//! One attributed graph.

use std::collections::HashMap;

use crate::{Adjacency, Error, Features, GroupColumn, Labels, Result, Split};

/// A graph 𝒢 = (𝒱, ℰ, X, Y): topology, features, labels and, where published, a split.
///
/// Nodes are 0..n inside the program; [`Graph::id`] gives the name a node had in its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    name: String,
    adjacency: Adjacency,
    features: Features,
    labels: Labels,
    split: Option<Split>,
    ids: NodeIds,
    group_columns: Vec<GroupColumn>,
}

/// What nodes were called in the source.
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
    /// If the parts speak of different numbers of nodes, or there is no node.
    pub fn new(name: impl Into<String>, adjacency: Adjacency, features: Features, labels: Labels) -> Result<Self> {
        let (name, ids) = (name.into(), NodeIds::Position);
        let graph = Self { name, adjacency, features, labels, split: None, ids, group_columns: Vec::new() };
        if graph.is_empty() {
            return Err(Error::inconsistent(graph.name, "at least one node", "none"));
        }
        graph.check_rows("features", graph.features.rows())?;
        graph.check_rows("labels", graph.labels.len())?;
        Ok(graph)
    }

    /// Adds the published split.
    ///
    /// # Errors
    /// If it is not about as many nodes.
    pub fn with_split(mut self, split: Split) -> Result<Self> {
        self.check_rows("split", split.roles().len())?;
        self.split = Some(split);
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
                return Err(Error::inconsistent(format!("node ids of {}", self.name), "every id once", found));
            }
        }
        self.ids = NodeIds::Named(ids);
        Ok(self)
    }

    /// Adds groupings of the nodes, in place of those it had.
    ///
    /// # Errors
    /// If a column is not about as many nodes, has no name, the name of another, or refers to a value it does not have.
    pub fn with_group_columns(mut self, columns: Vec<GroupColumn>) -> Result<Self> {
        columns.iter().try_for_each(|column| column.check(self.len()))?;
        GroupColumn::check_names(&columns)?;
        self.group_columns = columns;
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
        self
    }

    fn check_rows(&self, what: &str, rows: usize) -> Result<()> {
        if rows == self.len() {
            return Ok(());
        }
        let what = format!("{} of {}", what, self.name);
        Err(Error::inconsistent(what, format!("{} rows, one per node", self.len()), rows.to_string()))
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

    /// The published split, if the source has one.
    pub fn split(&self) -> Option<&Split> {
        self.split.as_ref()
    }

    /// What nodes were called in the source.
    pub fn ids(&self) -> &NodeIds {
        &self.ids
    }

    /// What node `v` was called in the source.
    pub fn id(&self, v: usize) -> String {
        match &self.ids {
            NodeIds::Position => v.to_string(),
            NodeIds::Named(names) => names[v].clone(),
        }
    }

    /// Groupings of the nodes that came with the data: for judging, never for training.
    pub fn group_columns(&self) -> &[GroupColumn] {
        &self.group_columns
    }

    /// The subgraph on `nodes` (strictly increasing), numbered in that order. Classes stay the global ones;
    /// nodes without a name of their own are known by their new position. Group columns stay behind: what a client
    /// trains on must not hold them.
    pub fn induced(&self, nodes: &[u32]) -> Self {
        Self {
            name: self.name.clone(),
            adjacency: self.adjacency.induced(nodes),
            features: self.features.select(nodes),
            labels: self.labels.select(nodes),
            split: self.split.as_ref().map(|split| split.select(nodes)),
            ids: match &self.ids {
                NodeIds::Position => NodeIds::Position,
                NodeIds::Named(names) => NodeIds::Named(nodes.iter().map(|&v| names[v as usize].clone()).collect()),
            },
            group_columns: Vec::new(),
        }
    }
}
