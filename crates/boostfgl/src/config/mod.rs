//! The configuration: every key, its default, its meaning, and the source of each value.
//!
//! Values come in layers, later ones winning: the program's defaults, the dataset's protocol, a
//! TOML file, flags, `--set key=value`. Unknown keys are errors that name the nearest known one.
//! [`Config::checked`] checks every range, and only a [`Checked`] configuration can run.

mod changed;
mod checked;
mod dotted;
mod keys;
mod layers;
mod lines;
mod lookup;
mod renamed;

pub use checked::Checked;
pub use keys::{Key, keys, values};
pub use layers::{Layers, Source, without_effect};

use crate::{Error, Result};
use boostfgl_fed::boost::{Boost, BoostConfig};
use boostfgl_fed::config::{Loss, Model, Optimizer, Protocol, Transport};
use boostfgl_fed::methods::{self, MethodConfigs, MethodInfo};
use boostfgl_fed::{aggregate, attack, screen};
use boostfgl_graph::groups::MinorityRule;
use boostfgl_graph::{Graph, Scaling};
use boostfgl_partition::{PartitionConfig, Ratios, SplitRule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The whole configuration of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The dataset: a catalogue name, a path, or generate:PRESET.
    pub dataset: String,
    /// Folders of clients that have their own graphs, or one folder with a folder for each. With
    /// them `dataset` is only the name in tables and of the protocol.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub client_data: Vec<PathBuf>,
    /// The federated method; `boostfgl methods` lists them.
    pub method: String,
    /// The boosts that are on: node, topology, model. Left out, the method decides (boostfgl: all,
    /// others: none).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boosts: Option<Vec<Boost>>,
    /// The name of the run in tables, reports and `serve`; it has no other effect. Left out, it is
    /// made of what was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The seeds; each gives one run with its own partition, split and initial model.
    pub seeds: Vec<u64>,
    /// Compute dense products in one fixed order, so that digits are the same on every CPU; takes
    /// longer.
    #[serde(skip_serializing_if = "is_false")]
    pub portable: bool,
    /// in-process or loopback: how messages cross between server and clients. loopback encodes and
    /// decodes every one of them, as between machines; it changes no digit.
    #[serde(skip_serializing_if = "is_in_process")]
    pub transport: Transport,
    /// How features enter.
    pub data: DataSection,
    /// How the graph is divided among clients.
    pub partition: PartitionConfig,
    /// How each client's nodes are divided into training, validation and test nodes.
    pub split: SplitSection,
    /// The supervised loss.
    #[serde(skip_serializing_if = "is_default")]
    pub loss: Loss,
    /// The network.
    pub model: Model,
    /// The local optimiser.
    pub optimizer: Optimizer,
    /// The protocol of the rounds.
    pub fed: Protocol,
    /// Settings of the boosts.
    pub boost: BoostConfig,
    /// Which updates the server accepts.
    #[serde(skip_serializing_if = "screen::is_default")]
    pub screen: screen::Config,
    /// How models are combined, whatever the method.
    #[serde(skip_serializing_if = "aggregate::is_default")]
    pub aggregation: aggregate::Config,
    /// Simulated malicious clients, for tests and experiments.
    #[serde(skip_serializing_if = "attack::is_default")]
    pub attack: attack::Config,
    /// The groups that fairness is measured on.
    pub groups: GroupSection,
    /// What is kept of the reported round.
    #[serde(skip_serializing_if = "is_default")]
    pub evaluation: EvaluationSection,
    /// Settings of the methods; those of methods that are not selected have no effect.
    pub methods: MethodConfigs,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            dataset: "demo".into(),
            client_data: Vec::new(),
            method: "fedavg".into(),
            boosts: None,
            name: None,
            seeds: (0..5).collect(),
            portable: false,
            transport: Transport::default(),
            data: DataSection::default(),
            partition: PartitionConfig::default(),
            split: SplitSection::default(),
            loss: Loss::default(),
            model: Model::default(),
            optimizer: Optimizer::default(),
            fed: Protocol::default(),
            boost: BoostConfig::default(),
            screen: screen::Config::default(),
            aggregation: aggregate::Config::default(),
            attack: attack::Config::default(),
            groups: GroupSection::default(),
            evaluation: EvaluationSection::default(),
            methods: MethodConfigs::default(),
        }
    }
}

/// Leaves a key out of files at its default, so that files written before it existed stay the same.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// The same for a section.
fn is_default<S: Default + PartialEq>(section: &S) -> bool {
    *section == S::default()
}

/// The same for the transport.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_in_process(value: &Transport) -> bool {
    *value == Transport::InProcess
}

/// How features enter (`[data]`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DataSection {
    /// raw: as published; row-normalised: each row divided by its sum; binary: 1 where not 0.
    #[schemars(with = "String")]
    pub features: Scaling,
}

/// How nodes are divided into training, validation and test nodes (`[split]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SplitSection {
    /// Where roles come from: file (the split that comes with the data; of k stored ones seed s
    /// takes number s mod k), shares (drawn per client and class), or auto (file for data given by
    /// a path that have a split, shares otherwise).
    pub source: SplitSource,
    /// Share of training nodes.
    pub train: f64,
    /// Share of validation nodes.
    pub val: f64,
    /// Share of test nodes. The three sum to at most 1; what is left over is not used.
    pub test: f64,
}

/// Where the roles of nodes come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SplitSource {
    /// From the data if they are the user's own and have a split; by shares otherwise.
    #[default]
    Auto,
    /// From the data.
    File,
    /// Drawn by shares, per client and class.
    Shares,
}

impl Default for SplitSection {
    fn default() -> Self {
        Self { source: SplitSource::Auto, train: 0.2, val: 0.4, test: 0.4 }
    }
}

impl SplitSection {
    /// Checks the shares, also where the split of the data is used in their place.
    ///
    /// # Errors
    /// If the shares are not shares.
    pub fn check(&self) -> Result<()> {
        Ratios::new(self.train, self.val, self.test)?;
        Ok(())
    }

    /// The rule of these settings for `graph`, which is the user's own (given by a path) or a known
    /// dataset.
    ///
    /// # Errors
    /// If the shares are not shares.
    pub fn rule(&self, graph: &Graph, own: bool) -> Result<SplitRule> {
        match self.source {
            SplitSource::File => return Ok(SplitRule::Published),
            SplitSource::Auto if own && graph.split().is_some() => return Ok(SplitRule::Published),
            SplitSource::Auto | SplitSource::Shares => {}
        }
        Ok(SplitRule::Ratios(Ratios::new(self.train, self.val, self.test)?))
    }
}

/// The groups that fairness is measured on (`[groups]`). Training never sees them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GroupSection {
    /// Minority classes: 0.5 (the smallest classes that together hold at least this share of the
    /// training labels, above 0 and at most 1; the largest class never is one), "smallest:N" (the N
    /// smallest), or a list of class names.
    #[schemars(with = "String")]
    pub minority: MinorityRule,
    /// A node is heterophilous if at most this share of its neighbours has its class, in [0, 1].
    pub homophily_threshold: f64,
    /// Whether neighbours are those in the global graph, before partition, or in the client's.
    pub homophily_graph: HomophilyGraph,
}

impl Default for GroupSection {
    fn default() -> Self {
        Self {
            minority: MinorityRule::Ratio(0.5),
            homophily_threshold: 0.5,
            homophily_graph: HomophilyGraph::Global,
        }
    }
}

/// What is kept of the reported round (`[evaluation]`). It changes no digit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluationSection {
    /// Whether predictions come with the probability of every class.
    pub probabilities: bool,
}

/// Which graph a node's neighbours are counted in, for its homophily.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HomophilyGraph {
    /// The whole graph.
    Global,
    /// The client's graph.
    Local,
}

impl Config {
    /// The method's entry in the table.
    ///
    /// # Errors
    /// If the name is unknown.
    pub fn method(&self) -> Result<&'static MethodInfo> {
        Ok(methods::find(&self.method)?)
    }

    /// Refuses clients that have graphs of their own, where one graph is needed.
    ///
    /// # Errors
    /// Names the command for them.
    pub fn check_one_graph(&self) -> Result<()> {
        if self.client_data.is_empty() {
            return Ok(());
        }
        let reason = "expected one graph that is divided among clients, found clients with graphs \
            of their own";
        let advice = "`boostfgl run --client-data DIR` trains on them; their predictions are in \
            clients/NAME/predictions.csv of the run.";
        Err(Error::usage("client_data", reason, advice))
    }

    /// The boosts that are on.
    ///
    /// # Errors
    /// If the method is unknown.
    pub fn active_boosts(&self) -> Result<Vec<Boost>> {
        let mut boosts = match &self.boosts {
            Some(boosts) => boosts.clone(),
            None => self.method()?.boosts.to_vec(),
        };
        boosts.sort_unstable();
        boosts.dedup();
        Ok(boosts)
    }

    /// The configuration as TOML: `boostfgl run --config` of it gives the same digits. Settings of
    /// methods that are not selected are left out, as they have no effect.
    pub fn to_toml(&self) -> String {
        // Every field is a number, a string, a list or a table, which TOML can hold.
        let mut table =
            toml::Table::try_from(self).expect("a configuration is representable as TOML");
        if let Some(toml::Value::Table(methods)) = table.get_mut("methods") {
            methods.retain(|name, _| *name == self.method);
            if methods.is_empty() {
                table.remove("methods");
            }
        }
        toml::to_string(&table).expect("a table is representable as TOML")
    }
}
