//! The server's side of a boost: how much the update of each client counts.

use crate::Result;
use crate::aggregate::Contribution;
use boostfgl_nn::{Real, StateVisitor};

/// The server's side of a boost.
pub trait ServerBoost<T: Real>: Send + Sync {
    /// Weights of the clients before normalisation, from the weights `base` that the method, or an
    /// earlier boost, gives them. They are asked for once for the whole model, with `tensor`
    /// `None`, or once per tensor if a boost [differs per tensor](ServerBoost::differs_per_tensor).
    ///
    /// # Errors
    /// If an update lacks something that the weights depend on.
    fn client_weights(
        &self,
        evidence: &Evidence<'_, T>,
        tensor: Option<usize>,
        base: &[f64],
    ) -> Result<Vec<f64>>;

    /// Whether weights differ from tensor to tensor.
    fn differs_per_tensor(&self) -> bool {
        false
    }

    /// The trust in each client's whole update that records show. The first boost that gives one
    /// decides.
    ///
    /// # Errors
    /// As [`ServerBoost::client_weights`].
    fn client_trust(&self, _evidence: &Evidence<'_, T>) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }

    /// Saves or restores the state that the boost keeps between rounds.
    ///
    /// # Errors
    /// As [`Stateful::visit`](boostfgl_nn::Stateful::visit).
    fn visit(&mut self, _visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        Ok(())
    }
}

/// The updates of a round as far as boosts may use them.
pub struct Evidence<'a, T> {
    updates: &'a [Contribution<'a, T>],
    hidden: Hidden,
}

/// What boosts may not use.
#[derive(Clone, Copy, Debug, Default)]
struct Hidden {
    gap: bool,
    norm: bool,
}

impl<'a, T: Real> Evidence<'a, T> {
    /// The updates.
    pub fn updates(&self) -> &'a [Contribution<'a, T>] {
        self.updates
    }

    /// The norm of each client's update: of one tensor, or of the whole model. 0 if the method
    /// hides norms.
    pub fn norms(&self, tensor: Option<usize>) -> Vec<f64> {
        let updates = self.updates.iter();
        match (self.hidden.norm, tensor) {
            (true, _) => vec![0.0; self.updates.len()],
            (false, Some(tensor)) => updates.map(|update| update.tensor_norms[tensor]).collect(),
            (false, None) => updates.map(|update| update.norm).collect(),
        }
    }

    /// For how many tensors every client has a norm; none if the method hides norms. Where the
    /// server cannot measure them they are claims, whose number nothing else checks.
    pub(crate) fn tensors(&self) -> usize {
        let counts = self.updates.iter().map(|update| update.tensor_norms.len());
        if self.hidden.norm { 0 } else { counts.min().unwrap_or(0) }
    }

    /// The fairness gap of each client; `None` if one did not send it. 0 if the method hides gaps.
    pub fn gaps(&self) -> Option<Vec<f64>> {
        let summaries = self.updates.iter().map(|update| update.summary);
        summaries
            .map(|summary| summary.map(|sent| if self.hidden.gap { 0.0 } else { sent.gap }))
            .collect()
    }
}

/// The server boosts of a round, for [`Combination::new`](crate::Combination::new).
///
/// A method hides what would be counted twice or has no meaning in it: FairFed hides gaps, since
/// its own weights follow from them, and FedProto hides norms, since its clients send no model.
#[derive(Clone, Copy)]
pub struct ServerBoosts<'a, T: Real> {
    boost: Option<&'a dyn ServerBoost<T>>,
    hidden: Hidden,
}

impl<'a, T: Real> ServerBoosts<'a, T> {
    /// No boost: clients have the weights that the method gives them.
    pub fn none() -> Self {
        Self { boost: None, hidden: Hidden::default() }
    }

    /// One boost.
    pub fn only(boost: &'a dyn ServerBoost<T>) -> Self {
        Self { boost: Some(boost), hidden: Hidden::default() }
    }

    /// The same without use of the fairness gap.
    #[must_use]
    pub fn without_gap(self) -> Self {
        Self { hidden: Hidden { gap: true, ..self.hidden }, ..self }
    }

    /// The same without use of the update norm.
    #[must_use]
    pub fn without_norm(self) -> Self {
        Self { hidden: Hidden { norm: true, ..self.hidden }, ..self }
    }

    /// The boost that weighs updates, if there is one, and the evidence that it may use.
    pub(crate) fn weigher_of<'u>(
        &self,
        updates: &'u [Contribution<'u, T>],
    ) -> Option<(&'a dyn ServerBoost<T>, Evidence<'u, T>)> {
        self.boost.map(|boost| (boost, Evidence { updates, hidden: self.hidden }))
    }
}

/// Several boosts as one: each starts from the weights that the one before it gives.
pub(crate) struct Stacked<T>(Vec<Box<dyn ServerBoost<T>>>);

impl<T: Real> Stacked<T> {
    pub(crate) fn new(boosts: Vec<Box<dyn ServerBoost<T>>>) -> Self {
        Self(boosts)
    }

    /// The boosts of a round; none if nothing is stacked.
    pub(crate) fn boosts(&self) -> ServerBoosts<'_, T> {
        if self.0.is_empty() { ServerBoosts::none() } else { ServerBoosts::only(self) }
    }
}

impl<T: Real> ServerBoost<T> for Stacked<T> {
    fn client_weights(
        &self,
        evidence: &Evidence<'_, T>,
        tensor: Option<usize>,
        base: &[f64],
    ) -> Result<Vec<f64>> {
        let mut weights = base.to_vec();
        for boost in &self.0 {
            weights = boost.client_weights(evidence, tensor, &weights)?;
        }
        Ok(weights)
    }

    fn differs_per_tensor(&self) -> bool {
        self.0.iter().any(|boost| boost.differs_per_tensor())
    }

    fn client_trust(&self, evidence: &Evidence<'_, T>) -> Result<Option<Vec<f64>>> {
        for boost in &self.0 {
            if let Some(trust) = boost.client_trust(evidence)? {
                return Ok(Some(trust));
            }
        }
        Ok(None)
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        self.0.iter_mut().try_for_each(|boost| boost.visit(visitor))
    }
}
