//! A model on a client's graph, with the messages it is trained with.

use boostfgl_fed::{Inspected, Inspection};
use boostfgl_graph::Adjacency;
use boostfgl_nn::backbones::Backbone;
use boostfgl_nn::{Inputs, Params, Propagation, Real};

/// What computes logits on one client.
#[derive(Clone, Copy)]
pub struct Network<'a, T: Real> {
    /// The architecture.
    pub backbone: &'a dyn Backbone<T>,
    /// Whether it is relu(P X W₁ + b₁), P H W₂ + b₂: for that one there are faster ways than the
    /// tape's.
    pub two_layer_gcn: bool,
    /// The parameters.
    pub params: &'a Params<T>,
    /// The local edges.
    pub adjacency: &'a Adjacency,
    /// The local features.
    pub inputs: &'a Inputs<T>,
    /// The messages: plain, or boosted.
    pub propagation: &'a Propagation<T>,
}

impl<'a, T: Real> Network<'a, T> {
    /// The network of a client with these parameters.
    pub fn of(
        inspection: &'a Inspection<'a, T>,
        client: &'a Inspected<'a, T>,
        params: &'a Params<T>,
    ) -> Self {
        Self {
            backbone: inspection.backbone,
            two_layer_gcn: inspection.model.backbone == "gcn" && inspection.model.layers == 2,
            params,
            adjacency: client.data.adjacency(),
            inputs: client.data.inputs(),
            propagation: client.propagation,
        }
    }
}
