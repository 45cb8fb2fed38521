//! A partitioner from outside the crate: one file, one registration, and it works from
//! configuration to client graphs.

use boostfgl_graph::{Adjacency, Features, Graph, Labels};
use boostfgl_partition::{
    Error, Partition, PartitionConfig, Partitioner, Registry, Result, SplitRule,
};
use schemars::JsonSchema;
use serde::de::DeserializeSeed;
use serde::{Deserialize, Serialize};

/// Gives blocks of consecutive nodes to the clients in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Stripes {
    /// Nodes per block, at least 1.
    width: usize,
}

impl Default for Stripes {
    fn default() -> Self {
        Self { width: 1 }
    }
}

impl Partitioner for Stripes {
    fn name(&self) -> &'static str {
        "stripes"
    }

    fn summary(&self) -> &'static str {
        "blocks of consecutive nodes in turn"
    }

    fn check(&self) -> Result<()> {
        match self.width {
            0 => Err(Error::Setting {
                key: "partition.width",
                expected: "at least 1",
                found: "0".into(),
            }),
            _ => Ok(()),
        }
    }

    fn assign(&self, graph: &Graph, clients: usize, _seed: u64) -> Result<Vec<u32>> {
        Ok((0..graph.len()).map(|v| (v / self.width % clients) as u32).collect())
    }
}

fn ring(nodes: usize) -> Graph {
    let edges: Vec<(u32, u32)> = (0..nodes).map(|v| (v as u32, ((v + 1) % nodes) as u32)).collect();
    let (adjacency, _) = Adjacency::from_edges(nodes, &edges, None, false).unwrap();
    let features = Features::dense(nodes, 1, vec![0.0; nodes]).unwrap();
    let labels = Labels::from_integers(&vec![0; nodes], 1).unwrap();
    Graph::new("ring", adjacency, features, labels).unwrap()
}

/// Reads `[partition]` with the partitioners of the crate and the new one.
fn configuration(toml: &str) -> Result<PartitionConfig, toml::de::Error> {
    let table: toml::Table = toml::from_str(toml)?;
    Registry::builtin().with(Stripes::default()).deserialize(table)
}

#[test]
fn a_registered_partitioner_is_chosen_by_name_and_cuts_a_graph() {
    let config =
        configuration("partitioner = \"stripes\"\nclients = 2\nwidth = 3\nalpha = 0.5").unwrap();
    config.check().unwrap();
    let partition = config.draw(&ring(12), &SplitRule::default(), 0).unwrap();
    assert_eq!(partition.assignment(), [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]);
    // The ring is cut at each of the four block boundaries.
    assert_eq!(partition.lost_edges(&ring(12)), 4);
    assert_eq!(partition.client_graphs(&ring(12)).len(), 2);
    let direct = Partition::draw(&ring(12), &Stripes { width: 3 }, 2, &SplitRule::default(), 0);
    assert_eq!(direct.unwrap(), partition);
}

#[test]
fn its_keys_are_written_and_read_back_with_those_of_the_others() {
    let config = configuration("partitioner = \"stripes\"\nwidth = 3\ndelta = 7").unwrap();
    let written = toml::to_string(&config).unwrap();
    assert!(written.contains("width = 3") && written.contains("delta = 7"), "{written}");
    assert_eq!(configuration(&written).unwrap(), config);
    assert_eq!(config.settings(), Some(&Stripes { width: 3 }));
}

#[test]
fn its_mistakes_are_refused_and_its_name_is_suggested() {
    let message = |toml: &str| configuration(toml).unwrap().check().unwrap_err().to_string();
    // Checked even if another partitioner is chosen.
    assert_eq!(message("width = 0"), "partition.width: expected at least 1, found 0");
    assert_eq!(
        message("partitioner = \"stripe\""),
        "unknown partitioner `stripe` (did you mean `stripes`?)"
    );
    assert!(configuration("widht = 3").unwrap_err().to_string().contains("widht"));
    let names: Vec<String> = Registry::builtin()
        .with(Stripes::default())
        .iter()
        .map(|known| known.name().to_owned())
        .collect();
    assert_eq!(names, ["louvain", "label-skew", "random", "column", "file", "stripes"]);
}
