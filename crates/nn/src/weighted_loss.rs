//! Labels and weights of the supervised nodes.

use crate::Real;

/// How per-node losses become one number. The paper's equation of the node loss is a sum; with a
/// mean, λₙ = 0 equals FedAvg.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum Reduction {
    /// (1 / n) Σ αᵥ ℓᵥ, n the number of rows: the default.
    #[default]
    Mean,
    /// Σ αᵥ ℓᵥ, as the equation is printed.
    Sum,
    /// Σ αᵥ ℓᵥ / Σ αᵥ.
    WeightedMean,
}

/// Labels and weights of the rows a loss is taken over.
#[derive(Clone, Debug)]
pub struct WeightedLoss<T> {
    labels: Vec<u32>,
    weights: Vec<T>,
    reduction: Reduction,
}

impl<T: Real> WeightedLoss<T> {
    /// Every row with weight 1.
    pub fn new(labels: Vec<u32>, reduction: Reduction) -> Self {
        let mut loss = Self { weights: vec![T::ZERO; labels.len()], labels, reduction };
        let ones = vec![T::ONE; loss.labels.len()];
        loss.set_node_weights(&ones);
        loss
    }

    /// Sets the node weights αᵥ.
    ///
    /// # Panics
    /// If there is not one per row.
    pub fn set_node_weights(&mut self, alpha: &[T]) {
        assert_eq!(alpha.len(), self.labels.len(), "one weight per labelled node");
        let scale = match self.reduction {
            Reduction::Sum => T::ONE,
            Reduction::Mean => T::of(1.0 / alpha.len().max(1) as f64),
            Reduction::WeightedMean => T::of(1.0 / alpha.iter().map(|a| a.f64()).sum::<f64>()),
        };
        for (weight, a) in self.weights.iter_mut().zip(alpha) {
            *weight = *a * scale;
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether nothing is supervised.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The label of each row.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    pub(crate) fn weights(&self) -> &[T] {
        &self.weights
    }
}
