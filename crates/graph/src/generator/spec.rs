//! The specification of a generated graph.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The numbers that describe a generated graph; the [module](super) gives the formulas.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Number of nodes n.
    pub nodes: usize,
    /// Number of distinct undirected edges m, met exactly.
    pub edges: usize,
    /// Number of classes C.
    pub classes: usize,
    /// Exponent a of the class shares n_c ∝ (c + 1)^−a; 0 makes classes equal.
    pub imbalance: f64,
    /// Communities per class.
    pub communities: usize,
    /// Edge homophily h, met up to rounding.
    pub homophily: f64,
    /// Share of a regular node's same-class edges that stay in its community.
    pub locality: f64,
    /// Share π of nodes that live in heterophilous pockets.
    pub pockets: f64,
    /// Nodes per pocket, about.
    pub pocket_size: usize,
    /// Mean homophily ρ of nodes in pockets.
    pub pocket_homophily: f64,
    /// Exponent γ > 2 of the degree distribution's tail.
    pub degree_exponent: f64,
    /// Largest expected degree.
    pub max_degree: usize,
    /// How far communities drift towards the words or the centre of a second class: δ is uniform in
    /// [0, drift], and the full drift in pockets.
    pub drift: f64,
    /// The features of nodes.
    pub features: FeatureSpec,
}

/// The dependence of features on the class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum FeatureSpec {
    /// Bags of words with values 1. Every class prefers d / C words, chosen at random for each
    /// class, so that classes share some. A node has between ½ and 1½ of `per_node` distinct words;
    /// each is drawn with probability `signal` uniformly from its class's words (with probability δ
    /// from the second class's) and otherwise from all words by Zipf's law, P(word of rank r) ∝ 1 /
    /// r.
    Sparse {
        /// Number of words d.
        columns: usize,
        /// Mean number of words per node.
        per_node: usize,
        /// Share of words drawn from those that the class prefers.
        signal: f64,
    },
    /// x_v = signal · ((1 − δ) μ_c + δ μ_s) + ε, with centres μ and noise ε standard normal in d
    /// dimensions, c the class and s the second class.
    Dense {
        /// Number of dimensions d.
        columns: usize,
        /// Length of the class centres against the noise.
        signal: f64,
    },
}

impl Spec {
    /// Checks that the numbers make sense together.
    ///
    /// # Errors
    /// Names the first field that does not, and what it should be.
    pub fn check(&self) -> Result<()> {
        let pairs = self.nodes as f64 * (self.nodes as f64 - 1.0) / 2.0;
        let nodes = (1..=u32::MAX as usize - 1).contains(&self.nodes);
        require("nodes", nodes, "between 1 and 2^32 - 2", self.nodes)?;
        require(
            "edges",
            self.edges as f64 <= pairs / 2.0,
            "at most half of all pairs",
            self.edges,
        )?;
        require(
            "classes",
            (1..=self.nodes).contains(&self.classes),
            "between 1 and the number of nodes",
            self.classes,
        )?;
        require(
            "imbalance",
            (0.0..=10.0).contains(&self.imbalance),
            "between 0 and 10",
            self.imbalance,
        )?;
        require("communities", self.communities > 0, "at least 1", self.communities)?;
        require("pocket_size", self.pocket_size > 1, "at least 2", self.pocket_size)?;
        for (field, share) in [
            ("homophily", self.homophily),
            ("locality", self.locality),
            ("pockets", self.pockets),
            ("pocket_homophily", self.pocket_homophily),
            ("drift", self.drift),
        ] {
            require(field, (0.0..=1.0).contains(&share), "between 0 and 1", share)?;
        }
        let gamma = self.degree_exponent;
        require("degree_exponent", gamma > 2.0 && gamma.is_finite(), "above 2", gamma)?;
        require("max_degree", self.max_degree > 0, "at least 1", self.max_degree)?;

        let mix = self.mix();
        let room = "small enough that pockets alone do not exceed the edges between classes, (1 - \
            homophily)";
        require("pockets", mix.regular_other >= 0.0, room, self.pockets)?;
        let room =
            "small enough that pockets alone do not exceed the edges inside classes, homophily";
        require("pockets", mix.regular_same >= 0.0, room, self.pockets)?;
        self.features.check(self.classes)
    }

    /// The numbers of edges of each kind, as fractions of m (see the table of the [module](super)).
    pub(super) fn mix(&self) -> Mix {
        let pocket_other = self.pockets * (1.0 - self.pocket_homophily);
        let pocket_same = 2.0 * self.pockets * self.pocket_homophily;
        Mix {
            pocket_other,
            pocket_same,
            regular_other: (1.0 - self.homophily) - pocket_other,
            regular_same: self.homophily - pocket_same,
        }
    }
}

/// Shares of the four kinds of edges; they sum to 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    pub(super) pocket_other: f64,
    pub(super) pocket_same: f64,
    pub(super) regular_other: f64,
    pub(super) regular_same: f64,
}

impl FeatureSpec {
    /// Number of columns d.
    pub fn columns(&self) -> usize {
        match *self {
            Self::Sparse { columns, .. } | Self::Dense { columns, .. } => columns,
        }
    }

    /// Checks the numbers for `classes` classes.
    ///
    /// # Errors
    /// Names the first field that makes no sense, and what it should be.
    pub fn check(&self, classes: usize) -> Result<()> {
        match *self {
            Self::Sparse { columns, per_node, signal } => {
                require(
                    "features.columns",
                    columns >= classes.max(1),
                    "at least one per class",
                    columns,
                )?;
                // Rows are filled by drawing until enough distinct words are found, which is slow
                // if they need most of them.
                let fits = (1..=columns / 4).contains(&per_node);
                require(
                    "features.per_node",
                    fits,
                    "between 1 and a quarter of the columns",
                    per_node,
                )?;
                require("features.signal", (0.0..=1.0).contains(&signal), "between 0 and 1", signal)
            }
            Self::Dense { columns, signal } => {
                let fits = columns <= u32::MAX as usize;
                require("features.columns", fits, "fewer than 2^32", columns)?;
                let fits = (0.0..=1e6).contains(&signal);
                require("features.signal", fits, "between 0 and 1000000", signal)
            }
        }
    }
}

fn require(field: &str, holds: bool, expected: &str, found: impl Display) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::inconsistent(format!("generator spec, {field}"), expected, format!("{found}")))
}
