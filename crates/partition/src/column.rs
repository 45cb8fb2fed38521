//! Partition by a column of the data: every organisation has its own nodes.

use boostfgl_graph::{Graph, GroupColumn, nearest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Partitioner, Result};

/// Partitioner `column`: the values of a `group:NAME` column are the clients, in their order
/// (`column:bank` is short for `column` with the key `column = "bank"`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Column {
    /// The name of the group:NAME column whose values are the clients, with partitioner = "column".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

impl Column {
    /// The name, which has to be set.
    fn name_of_column(&self) -> Result<&str> {
        self.column.as_deref().ok_or_else(|| Error::Setting {
            key: "partition.column",
            expected: "the name of a group column of the data",
            found: "none".into(),
        })
    }

    /// The column of a graph.
    fn of<'g>(&self, graph: &'g Graph) -> Result<&'g GroupColumn> {
        let name = self.name_of_column()?;
        let columns = graph.group_columns();
        columns.iter().find(|column| column.name == name).ok_or_else(|| Error::NoColumn {
            graph: graph.name().to_owned(),
            name: name.to_owned(),
            suggestion: nearest(name, columns.iter().map(|column| column.name.as_str()))
                .map(str::to_owned),
        })
    }
}

impl Partitioner for Column {
    fn name(&self) -> &'static str {
        "column"
    }

    fn summary(&self) -> &'static str {
        "the values of a group:NAME column of the data, one client each"
    }

    fn check_chosen(&self) -> Result<()> {
        self.name_of_column().map(|_| ())
    }

    fn clients(&self, graph: &Graph, _asked: usize) -> Result<usize> {
        Ok(self.of(graph)?.values.len())
    }

    fn assign(&self, graph: &Graph, clients: usize, _seed: u64) -> Result<Vec<u32>> {
        let column = self.of(graph)?;
        let found = column.values.len();
        if found != clients || found == 0 {
            let what = format!("group column `{}`", column.name);
            let expected = format!("{} values, one for each client", clients.max(1));
            let error = boostfgl_graph::Error::inconsistent(what, expected, found.to_string());
            return Err(error.into());
        }
        let nodes = column.of_node.iter().enumerate();
        let client = nodes.map(|(v, value)| value.ok_or_else(|| without_value(graph, column, v)));
        client.collect()
    }
}

/// The error for a node that belongs to no client.
fn without_value(graph: &Graph, column: &GroupColumn, v: usize) -> Error {
    let missing = column.of_node.iter().filter(|value| value.is_none()).count();
    let what = format!("group column `{}`", column.name);
    let found = format!("none for {missing} of {} nodes, first `{}`", graph.len(), graph.id(v));
    boostfgl_graph::Error::inconsistent(what, "a value for every node", found).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Partition, PartitionConfig, SplitRule};
    use boostfgl_graph::{Adjacency, Features, Labels};

    fn graph(banks: &[&str]) -> Graph {
        let n = banks.len();
        let (adjacency, _) = Adjacency::from_edges(n, &[], None, false).unwrap();
        let labels = Labels::from_integers(&vec![0; n], 1).unwrap();
        let features = Features::dense(n, 1, vec![0.0; n]).unwrap();
        Graph::new("accounts", adjacency, features, labels)
            .unwrap()
            .with_group_columns(vec![GroupColumn::from_texts("bank", banks)])
            .unwrap()
    }

    fn by(column: &str) -> Column {
        Column { column: Some(column.to_owned()) }
    }

    #[test]
    fn the_values_of_a_column_are_the_clients() {
        let graph = graph(&["south", "north", "south", "west"]);
        assert_eq!(by("bank").clients(&graph, 5).unwrap(), 3);
        let partition = Partition::draw(&graph, &by("bank"), 3, &SplitRule::default(), 0).unwrap();
        assert_eq!(partition.assignment(), [1, 0, 1, 2]);
    }

    #[test]
    fn a_short_form_names_partitioner_and_column() {
        let config: PartitionConfig =
            serde_json::from_str(r#"{"partitioner": "column:bank"}"#).unwrap();
        assert_eq!(config.partitioner, "column");
        assert_eq!(config.settings::<Column>(), Some(&by("bank")));
        assert_eq!(config.resolved(&graph(&["a", "b"])).unwrap().clients, 2);
        let unknown: Result<PartitionConfig, _> =
            serde_json::from_str(r#"{"partitioner": "louvain:bank"}"#);
        assert!(unknown.unwrap_err().to_string().contains("`louvain:bank`"));
    }

    #[test]
    fn missing_columns_and_values_are_named() {
        let message = |error: Error| error.to_string();
        assert_eq!(
            message(by("bnak").clients(&graph(&["a"]), 5).unwrap_err()),
            "accounts has no group column `bnak` (did you mean `bank`?)"
        );
        assert_eq!(
            message(by("bank").assign(&graph(&["a", "", ""]), 1, 0).unwrap_err()),
            "group column `bank`: expected a value for every node, found none for 2 of 3 nodes, \
             first `1`"
        );
        assert_eq!(
            message(by("bank").assign(&graph(&["", ""]), 0, 0).unwrap_err()),
            "group column `bank`: expected 1 values, one for each client, found 0"
        );
        assert_eq!(
            message(Column::default().check_chosen().unwrap_err()),
            "partition.column: expected the name of a group column of the data, found none"
        );
    }
}
