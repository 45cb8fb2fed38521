//! What both sides learn of each other before the first round.

/// What a client says about itself when it joins. It is taken once: nothing that the client does
/// later changes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Enrolment {
    /// Its name in tables and messages; empty if it has a number only.
    pub name: String,
    /// Its nodes.
    pub nodes: u64,
    /// Its nodes that are trained on.
    pub training: u64,
    /// Its nodes for validation, with a label.
    pub validation: u64,
    /// Its nodes for testing, with a label.
    pub test: u64,
    /// Its arcs: every edge in both directions.
    pub arcs: u64,
    /// Its features and classes.
    pub schema: Schema,
    /// BLAKE3 of the settings of the run, which must be those of the server.
    pub settings: [u8; 32],
    /// Training nodes of each class of its schema, if a boost needs those of all clients; otherwise
    /// empty.
    pub class_counts: Vec<u64>,
    /// Count, mean and Σ (x − mean)² of every feature column on its training nodes, if features are
    /// standardised with the moments of all clients; otherwise empty.
    pub moments: Vec<f64>,
    /// The training nodes of each class, from which the server learns which classes are in the minority when it evaluates;
    /// empty in a simulation, where the whole graph tells.
    pub group_counts: Vec<u64>,
}

/// The features and classes of a client's nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// Number of features d.
    pub features: u32,
    /// Names of the features, in order; empty if they have none.
    pub columns: Vec<String>,
    /// Names of the classes, in order.
    pub classes: Vec<String>,
    /// Whether this order of classes is prescribed, so that all clients must have the same one.
    /// Otherwise these are the classes that the client happens to have, and the server puts those
    /// of all clients in order.
    pub is_fixed: bool,
    /// Name of the file that has them, for messages; may be empty.
    pub file: String,
}

/// What a client learns of the federation once all have joined.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roster {
    /// The number of this client, from 0.
    pub client: u32,
    /// Which clients have something to train on; the others never take part.
    pub able: Vec<bool>,
    /// Names of the classes of all clients, in the order of the run.
    pub classes: Vec<String>,
    /// Training nodes of each class, of all clients together, if the settings need them.
    pub class_counts: Vec<u64>,
    /// Count, mean and Σ (x − mean)² of every feature column, of all clients together, if the
    /// settings need them.
    pub moments: Vec<f64>,
}
