//! Training nodes with few neighbours weigh more in the local loss.
//!
//! αᵥ = 1 + λ / (1 + deg v). A graph network receives little about a node with few neighbours
//! (Tang et al., Investigating and Mitigating Degree-Related Biases in Graph Convolutional Networks,
//! CIKM 2020). λ = 0 is the base method bit for bit.

use boostfgl_fed::boost::{BoostContext, BoostInfo, BoostPlugin, ClientBoost, Place, ScoredNodes};
use boostfgl_fed::{Error, Result};
use boostfgl_nn::Real;

/// Node weights that fall with the degree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DegreeBoost {
    /// Strength λ, at least 0.
    pub strength: f64,
}

impl DegreeBoost {
    /// αᵥ of a node with this number of neighbours, in [1, 1 + λ].
    pub fn weight(&self, degree: usize) -> f64 {
        1.0 + self.strength / (1.0 + degree as f64)
    }
}

impl<T: Real> BoostPlugin<T> for DegreeBoost {
    fn info(&self) -> BoostInfo {
        BoostInfo {
            name: "degree",
            meaning: "client: nodes with few neighbours weigh more in the local loss",
            acts: &[Place::Loss],
        }
    }

    fn check(&self) -> Result<()> {
        match self.strength {
            0.0..f64::INFINITY => Ok(()),
            other => Err(Error::setting("degree.strength", "a number of at least 0", other)),
        }
    }

    fn settings(&self) -> String {
        format!("{self:?}")
    }

    fn client(&self, _: &BoostContext<'_, T>) -> Option<Box<dyn ClientBoost<T>>> {
        Some(Box::new(*self))
    }
}

impl<T: Real> ClientBoost<T> for DegreeBoost {
    fn node_weights(&self, nodes: &ScoredNodes<'_, T>) -> Option<Vec<T>> {
        let adjacency = nodes.data.adjacency();
        let weight = |&v: &u32| T::of(self.weight(adjacency.degree(v as usize)));
        Some(nodes.data.training().iter().map(weight).collect())
    }
}
