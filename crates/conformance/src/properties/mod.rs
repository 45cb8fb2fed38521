//! The properties, one file per subject. Each is a function of a suite and panics if it does not
//! hold.

pub mod backbones;
pub mod boosts;
pub mod independence;
pub mod resume;
pub mod two_sides;
pub mod unusual;

use crate::Suite;

/// A property of the suite.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// What holds, in a few words.
    pub name: &'static str,
    /// Panics if it does not hold.
    pub check: fn(&Suite<'_>),
}

macro_rules! properties {
    ($($name:literal => $check:expr),* $(,)?) => {
        /// Every property.
        pub const PROPERTIES: &[Property] = &[$(Property { name: $name, check: $check }),*];
    };
}

properties! {
    "same bits on any number of threads" => independence::any_number_of_threads,
    "validation and test labels never reach training" => independence::evaluation_labels,
    "observers and evaluation change nothing" => independence::observers,
    "evaluation with reweighted edges changes no training" => independence::boosted_evaluation,
    "refused boosts are named with the reason" => |suite| drop(boosts::refused(suite)),
    "strength 0 is the base method" => boosts::strength_zero,
    "every backbone runs or is refused with the reason" => backbones::runs_or_is_refused,
    "a stopped run ends with the same bits" => resume::after_every_round,
    "a stopped run ends with the same bits for any optimiser" => resume::any_optimiser,
    "a stopped run ends with the same bits on every backbone" => resume::every_backbone,
    "a stopped run that scores with its last messages ends with the same bits" =>
        resume::scoring_with_last_messages,
    "one client" => unusual::one_client,
    "a client of one node" => unusual::client_of_one_node,
    "a client without edges" => unusual::client_without_edges,
    "a client without training nodes" => unusual::client_without_training_nodes,
    "a client of one class" => unusual::client_of_one_class,
    "a class without training nodes" => unusual::class_without_training_nodes,
    "clients without common classes" => |suite| {
        unusual::clients_without_common_classes(suite);
    },
    "a graph without edges" => |suite| {
        unusual::graph_without_edges(suite);
    },
    "a graph with one class" => |suite| {
        unusual::graph_with_one_class(suite);
    },
    "a graph without features is refused" => unusual::graph_without_features,
    "a federation without training nodes is refused" => unusual::nothing_to_train,
    "two machines give what a simulation gives" => two_sides::same_digest,
    "both machines resume to the same digest" => two_sides::resumed,
    "loopback gives the same bits and byte counts" => two_sides::loopback,
}

/// The property of that name.
///
/// # Panics
/// If there is none.
pub fn find(name: &str) -> &'static Property {
    let found = PROPERTIES.iter().find(|property| property.name == name);
    found.unwrap_or_else(|| panic!("there is no property `{name}`"))
}
