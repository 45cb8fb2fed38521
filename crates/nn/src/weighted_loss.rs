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
    /// The weight of each row's class; empty if all count the same.
    class_weights: Vec<T>,
    /// γ of the focal loss; 0 is cross-entropy.
    focal: f64,
    reduction: Reduction,
}

impl<T: Real> WeightedLoss<T> {
    /// Every row with weight 1.
    pub fn new(labels: Vec<u32>, reduction: Reduction) -> Self {
        let weights = vec![T::ZERO; labels.len()];
        let mut loss = Self { labels, weights, class_weights: Vec::new(), focal: 0.0, reduction };
        let ones = vec![T::ONE; loss.labels.len()];
        loss.set_node_weights(&ones);
        loss
    }

    /// The same with rows weighted by the inverse share of their class among the rows:
    /// n / (C·n_c), C the number of classes that are present. Their mean is 1.
    ///
    /// ```
    /// use boostfgl_nn::{Reduction, WeightedLoss};
    ///
    /// // Three rows of class 0 and one of class 2: 4 / (2·3) and 4 / (2·1).
    /// let loss = WeightedLoss::<f64>::new(vec![0, 0, 2, 0], Reduction::Sum).balanced();
    /// assert_eq!(loss.row_weights(), [2.0 / 3.0, 2.0 / 3.0, 2.0, 2.0 / 3.0]);
    /// ```
    #[must_use]
    pub fn balanced(mut self) -> Self {
        let classes = self.labels.iter().max().map_or(0, |most| *most as usize + 1);
        let mut counts = vec![0usize; classes];
        self.labels.iter().for_each(|y| counts[*y as usize] += 1);
        let present = counts.iter().filter(|count| **count > 0).count();
        let rows = self.labels.len() as f64;
        let weights = self.labels.iter().map(|y| {
            let own = counts[*y as usize] as f64;
            T::of(rows / (present as f64 * own))
        });
        self.class_weights = weights.collect();
        let ones = vec![T::ONE; self.labels.len()];
        self.set_node_weights(&ones);
        self
    }

    /// The same as the focal loss (1 − p)^γ·CE, p the probability of the row's own class: rows that
    /// are right already count less. γ = 0 is cross-entropy.
    #[must_use]
    pub fn focal(self, gamma: f64) -> Self {
        Self { focal: gamma, ..self }
    }

    /// Sets the node weights αᵥ, by which the weights of classes are multiplied.
    ///
    /// # Panics
    /// If there is not one per row.
    pub fn set_node_weights(&mut self, alpha: &[T]) {
        assert_eq!(alpha.len(), self.labels.len(), "one weight per labelled node");
        let class = self.class_weights.iter().copied().chain(std::iter::repeat(T::ONE));
        let products = alpha.iter().zip(class).map(|(a, class)| *a * class);
        let scale = match self.reduction {
            Reduction::Sum => T::ONE,
            Reduction::Mean => T::of(1.0 / alpha.len().max(1) as f64),
            Reduction::WeightedMean => T::of(1.0 / products.clone().map(Real::f64).sum::<f64>()),
        };
        for (weight, product) in self.weights.iter_mut().zip(products) {
            *weight = product * scale;
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

    /// The weight of each row in the loss.
    pub fn row_weights(&self) -> &[T] {
        &self.weights
    }

    /// γ of the focal loss; 0 is cross-entropy.
    pub(crate) fn gamma(&self) -> f64 {
        self.focal
    }
}
