//! The context from which both sides of a method are made.

use crate::Setup;
use boostfgl_graph::{Adjacency, Features, Graph, Labels};
use boostfgl_nn::backbones::{Backbone, Pass};
use boostfgl_nn::{Inputs, Params, Pool, Real, View};

/// What both sides of a method are made from. Of the clients' data it contains only sizes.
pub struct MethodContext<'a, T: Real> {
    /// The settings of the run.
    pub setup: &'a Setup,
    /// The model that all clients start from.
    pub initial: &'a Params<T>,
    /// The network.
    pub backbone: &'a dyn Backbone<T>,
    /// Number of clients K.
    pub clients: usize,
    /// Which of them have training nodes; the others never take part.
    pub able: Vec<bool>,
    /// Number of features d.
    pub features: usize,
    /// Number of classes C.
    pub classes: usize,
}

impl<T: Real> MethodContext<'_, T> {
    /// The width of the network's hidden representation, which a pass over a graph of one node
    /// shows; 0 if it has none.
    pub fn hidden_width(&self) -> usize {
        self.pass_over_one_node(|pass| {
            pass.inspect(self.initial).1.map_or(0, |hidden| hidden.columns())
        })
    }

    /// The width of what goes into the network's last activation; 0 if it has none.
    pub fn activated_width(&self) -> usize {
        self.pass_over_one_node(|pass| {
            pass.before_activation(self.initial).map_or(0, |before| before.columns())
        })
    }

    /// A pass over a graph of one node.
    fn pass_over_one_node<R>(&self, look: impl FnOnce(Pass<'_, T>) -> R) -> R {
        let graph = Adjacency::from_edges(1, &[], None, false).and_then(|(adjacency, _)| {
            let features = Features::dense(1, self.features, vec![0.0; self.features])?;
            Graph::new("one node", adjacency, features, Labels::from_integers(&[-1], 1)?)
        });
        let graph = match graph {
            Ok(graph) => graph,
            Err(error) => unreachable!("a graph made here is sound: {error}"),
        };
        let mut inputs = Inputs::new(&graph);
        inputs.set_operator(graph.adjacency(), self.backbone.plan().operator);
        let (view, pool) = (View::whole(&inputs, self.backbone.plan()), Pool::new());
        look(Pass::new(self.backbone, &view, &pool))
    }
}
