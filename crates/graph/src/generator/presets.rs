//! Generated graphs known by name.

use super::spec::{FeatureSpec, Spec};
use crate::{Error, Result};

/// A generated graph known by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// The name, as in `generate:NAME`.
    pub name: &'static str,
    /// A description in one line.
    pub description: &'static str,
    /// The numbers.
    pub spec: Spec,
    /// The default seed of the generator, independent of the seeds of training.
    pub seed: u64,
    /// Shares of training, validation and test nodes in the protocol.
    pub split: [f64; 3],
    /// Learning rate in the protocol.
    pub learning_rate: f64,
}

/// The preset of that name.
///
/// # Errors
/// [`Error::Unknown`] with the nearest name.
pub fn preset(name: &str) -> Result<&'static Preset> {
    PRESETS
        .iter()
        .find(|preset| preset.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| Error::unknown("preset", name, PRESETS.iter().map(|preset| preset.name)))
}

/// What [`plant_features`](super::plant_features) puts on the topology of ogbn-arxiv where the
/// published features are absent. The strength is chosen so that a 2-layer GCN comes near the
/// accuracy it has on the published ones, about 70 %.
pub const PLANTED: FeatureSpec = FeatureSpec::Dense { columns: 128, signal: 0.15 };

/// Every preset. Changing a number here changes published digits.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "demo",
        description: "a small citation-like graph with heterophilous pockets; needs no network",
        spec: Spec {
            nodes: 2_708,
            edges: 5_429,
            classes: 7,
            imbalance: 0.75,
            communities: 15,
            homophily: 0.8,
            locality: 0.9,
            pockets: 0.18,
            pocket_size: 60,
            pocket_homophily: 0.2,
            degree_exponent: 2.8,
            max_degree: 120,
            drift: 0.7,
            features: FeatureSpec::Sparse { columns: 1_433, per_node: 18, signal: 0.53 },
        },
        seed: 0,
        split: [0.2, 0.4, 0.4],
        learning_rate: 1e-2,
    },
    Preset {
        name: "cora-like",
        description: "the size, classes and homophily of Cora",
        spec: Spec {
            nodes: 2_708,
            edges: 5_278,
            classes: 7,
            imbalance: 0.75,
            communities: 15,
            homophily: 0.81,
            locality: 0.9,
            pockets: 0.15,
            pocket_size: 40,
            pocket_homophily: 0.3,
            degree_exponent: 2.8,
            max_degree: 168,
            drift: 0.7,
            features: FeatureSpec::Sparse { columns: 1_433, per_node: 18, signal: 0.53 },
        },
        seed: 0,
        split: [0.2, 0.4, 0.4],
        learning_rate: 1e-2,
    },
    Preset {
        name: "arxiv-like",
        description: "the size, classes and homophily of ogbn-arxiv",
        spec: Spec {
            nodes: 169_343,
            edges: 1_157_799,
            classes: 40,
            imbalance: 1.0,
            communities: 8,
            homophily: 0.654,
            locality: 0.7,
            pockets: 0.15,
            pocket_size: 200,
            pocket_homophily: 0.2,
            degree_exponent: 2.5,
            max_degree: 10_000,
            drift: 0.6,
            features: FeatureSpec::Dense { columns: 128, signal: 0.2 },
        },
        seed: 0,
        split: [0.6, 0.2, 0.2],
        learning_rate: 5e-3,
    },
    Preset {
        name: "products-like",
        description: "the size and classes of ogbn-products; takes minutes and gigabytes",
        spec: Spec {
            nodes: 2_449_029,
            edges: 61_859_140,
            classes: 47,
            imbalance: 1.2,
            communities: 40,
            homophily: 0.808,
            locality: 0.8,
            pockets: 0.1,
            pocket_size: 500,
            pocket_homophily: 0.2,
            degree_exponent: 2.6,
            max_degree: 10_000,
            drift: 0.6,
            features: FeatureSpec::Dense { columns: 100, signal: 0.2 },
        },
        seed: 0,
        split: [0.1, 0.05, 0.85],
        learning_rate: 5e-3,
    },
];
