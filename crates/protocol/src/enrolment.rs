//! What both sides learn of each other before the first round.

/// What a client says about itself when it joins. It is taken once: nothing that the client does
/// later changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enrolment {
    /// Its nodes.
    pub nodes: u64,
    /// Its nodes that are trained on.
    pub training: u64,
    /// Its nodes for validation.
    pub validation: u64,
    /// Its arcs: every edge in both directions.
    pub arcs: u64,
    /// Number of features d.
    pub features: u32,
    /// Number of classes C.
    pub classes: u32,
    /// BLAKE3 of the settings of the run, which must be those of the server.
    pub settings: [u8; 32],
    /// Training nodes of each class, if the settings need those of all clients; otherwise empty.
    pub class_counts: Vec<u64>,
}

/// What a client learns of the federation once all have joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roster {
    /// The number of this client, from 0.
    pub client: u32,
    /// Which clients have something to train on; the others never take part.
    pub able: Vec<bool>,
    /// Training nodes of each class, of all clients together, if the settings need them.
    pub class_counts: Vec<u64>,
}
