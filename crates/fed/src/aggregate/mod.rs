//! Combining the updates of a round: weights of a mean, and robust rules, one file each.

mod bulyan;
mod coordinates;
mod distances;
mod geometric_median;
mod krum;
mod median;
mod norm_bounded;
mod rule;
#[cfg(test)]
mod tests;
mod trimmed_mean;

pub use rule::{Config, Rule, is_default};

use crate::boost::{ServerBoosts, Summary};
use crate::{Error, Result};
use boostfgl_nn::{Params, Real};
use boostfgl_protocol::Message;

/// The update of one client in one round, as the server receives it.
#[derive(Clone, Copy, Debug)]
pub struct Contribution<'a, T> {
    /// Which client.
    pub client: usize,
    /// Its model after local training, θₖ, if the method sends it.
    pub model: Option<&'a Params<T>>,
    /// What it sends in addition to the model.
    pub message: &'a Message<T>,
    /// ‖Δθₖ‖₂, how far it moved from the model it started the round from.
    pub norm: f64,
    /// The same for each tensor.
    pub tensor_norms: &'a [f64],
    /// Its size: the weight it has in a plain average.
    pub size: f64,
    /// Its fairness summary, if a boost asks for one.
    pub summary: Option<Summary>,
}

impl<'a, T: Real> Contribution<'a, T> {
    /// The model of a client whose method sends it.
    ///
    /// # Panics
    /// If it did not.
    pub fn params(&self) -> &'a Params<T> {
        match self.model {
            Some(params) => params,
            None => unreachable!("clients of this method send their model"),
        }
    }
}

/// How the models of some clients are combined into one: a weight per client, or per client and
/// tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// Σ = 1 over clients; one list per tensor, or a single list for all tensors.
    weights: Vec<Vec<f64>>,
    trust: Option<Vec<f64>>,
}

impl Combination {
    /// Weights wₖ = baseₖ / Σ baseⱼ, where boosts may change base before; model boosting makes it
    /// baseₖ·τₖ.
    ///
    /// # Errors
    /// If there is no client, a base weight is negative or not finite, all are 0, or a boost cannot
    /// weigh the updates.
    pub fn new<T: Real>(
        updates: &[Contribution<'_, T>],
        base: &[f64],
        boosts: ServerBoosts<'_, T>,
    ) -> Result<Self> {
        if updates.is_empty() {
            return Err(Error::NothingToTrain);
        }
        if let Some(bad) = base.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::setting("client weight", "a finite number of at least 0", bad));
        }
        if base.iter().all(|w| *w == 0.0) {
            return Err(Error::setting("client weight", "a number above 0 for some client", 0));
        }
        let Some((boost, evidence)) = boosts.weigher_of(updates) else {
            return Ok(Self { weights: vec![normalised(base.to_vec())?], trust: None });
        };
        // One list of weights stands for all tensors if trust is the same for each.
        let tensors: Vec<Option<usize>> = match boost.differs_per_tensor() {
            false => vec![None],
            true => (0..evidence.tensors()).map(Some).collect(),
        };
        let tensors = if tensors.is_empty() { vec![None] } else { tensors };
        let weights = tensors
            .into_iter()
            .map(|tensor| normalised(boost.client_weights(&evidence, tensor, base)?))
            .collect::<Result<_>>()?;
        Ok(Self { weights, trust: boost.client_trust(&evidence)? })
    }

    /// Given weights, one per client, which need not be a distribution.
    pub fn of_weights(weights: Vec<f64>) -> Self {
        Self { weights: vec![weights], trust: None }
    }

    /// One combination of `clients` clients from those of groups of them: group `g` holds the
    /// clients `groups[g].0`, which its combination weighs among each other, and has the share
    /// `shares[g]` of the whole.
    pub fn of_groups(clients: usize, groups: &[(Vec<usize>, Self)], shares: &[f64]) -> Self {
        let tensors = groups.iter().map(|(_, within)| within.weights.len()).max().unwrap_or(1);
        let mut weights = vec![vec![0.0; clients]; tensors];
        let mut trust = vec![0.0; clients];
        for ((members, within), share) in groups.iter().zip(shares) {
            for (t, weights) in weights.iter_mut().enumerate() {
                members.iter().zip(within.weights(t)).for_each(|(&k, w)| weights[k] = share * w);
            }
            members.iter().zip(within.trust.iter().flatten()).for_each(|(&k, t)| trust[k] = *t);
        }
        let has_trust = groups.iter().all(|(_, within)| within.trust.is_some());
        Self { weights, trust: has_trust.then_some(trust) }
    }

    /// The weights for one tensor.
    pub fn weights(&self, tensor: usize) -> &[f64] {
        &self.weights[tensor.min(self.weights.len() - 1)]
    }

    /// One weight per client: the whole model's, or the mean over tensors.
    pub fn mean_weights(&self) -> Vec<f64> {
        let (clients, count) = (self.weights[0].len(), self.weights.len() as f64);
        (0..clients).map(|k| self.weights.iter().map(|w| w[k]).sum::<f64>() / count).collect()
    }

    /// The trust in each client's whole update, under model boosting.
    pub fn trust(&self) -> Option<&[f64]> {
        self.trust.as_deref()
    }

    /// target ← Σₖ wₖ θₖ, in the order of `updates`.
    pub fn apply<T: Real>(&self, updates: &[Contribution<'_, T>], target: &mut Params<T>) {
        let models: Vec<&Params<T>> = updates.iter().map(Contribution::params).collect();
        target.set_weighted_sum(&models, |tensor| self.weights(tensor).to_vec());
    }

    /// Like [`Combination::apply`], by the rule `how` of the run. `target` is the model that the
    /// clients started from and becomes the combined one. Returns the weights of the clients in it:
    /// 0 for those that the rule left out.
    ///
    /// # Errors
    /// If there are too few updates for the rule to outvote f bad ones.
    pub fn combine<T: Real>(
        self,
        updates: &[Contribution<'_, T>],
        how: Config,
        target: &mut Params<T>,
    ) -> Result<Self> {
        how.check(updates.len())?;
        let models: Vec<&Params<T>> = updates.iter().map(Contribution::params).collect();
        let f = how.byzantine;
        // Rules by coordinate write the target themselves; the others give weights of whole models,
        // which are applied below.
        let weights = match how.rule {
            Rule::Mean => {
                self.apply(updates, target);
                return Ok(self);
            }
            Rule::Median => vec![median::combine(&models, target)],
            Rule::TrimmedMean => vec![trimmed_mean::combine(&models, f, target)],
            Rule::Bulyan => vec![bulyan::combine(&models, &distances::squared(&models), f, target)],
            Rule::Krum => self.restricted_to(&krum::chosen(&distances::squared(&models), f, 1))?,
            Rule::MultiKrum => self.restricted_to(&krum::chosen(
                &distances::squared(&models),
                f,
                models.len() - f,
            ))?,
            Rule::GeometricMedian => vec![geometric_median::weights(&distances::squared(&models))],
            Rule::NormBounded => return Ok(self.bounded(updates, target)),
        };
        let combined = Self { weights, ..self };
        if matches!(how.rule, Rule::Krum | Rule::MultiKrum | Rule::GeometricMedian) {
            combined.apply(updates, target);
        }
        Ok(combined)
    }

    /// The weights restricted to the chosen clients; equal weights if all of theirs are 0.
    fn restricted_to(&self, chosen: &[bool]) -> Result<Vec<Vec<f64>>> {
        self.weights.iter().map(|weights| restricted(weights, chosen)).collect()
    }

    /// target ← θ + Σₖ wₖ cₖ (θₖ − θ), where cₖ shortens long updates. Reports wₖ cₖ, normalised.
    fn bounded<T: Real>(self, updates: &[Contribution<'_, T>], target: &mut Params<T>) -> Self {
        let cuts = norm_bounded::cuts(&updates.iter().map(|u| u.norm).collect::<Vec<f64>>());
        let weights: Vec<Vec<f64>> = self
            .weights
            .iter()
            .map(|weights| weights.iter().zip(&cuts).map(|(w, c)| w * c).collect())
            .collect();
        let before = target.clone();
        let models: Vec<&Params<T>> =
            updates.iter().map(Contribution::params).chain([&before]).collect();
        // θ + Σ wₖcₖ(θₖ − θ) = Σ wₖcₖ θₖ + (1 − Σ wₖcₖ) θ: one weighted sum with θ as one more
        // model.
        target.set_weighted_sum(&models, |tensor| {
            let mut parts = weights[tensor.min(weights.len() - 1)].clone();
            parts.push(1.0 - parts.iter().sum::<f64>());
            parts
        });
        // If every update was shortened to nothing, the model stays and no client has a weight.
        let reported = weights
            .into_iter()
            .map(|weights| normalised(weights).unwrap_or_else(|_| vec![0.0; updates.len()]))
            .collect();
        Self { weights: reported, ..self }
    }
}

/// The weights of the chosen clients, normalised; equal weights if all of theirs are 0.
///
/// # Errors
/// If no client is chosen.
fn restricted(weights: &[f64], chosen: &[bool]) -> Result<Vec<f64>> {
    let kept: Vec<f64> =
        weights.iter().zip(chosen).map(|(w, c)| if *c { *w } else { 0.0 }).collect();
    match kept.iter().any(|w| *w > 0.0) {
        true => normalised(kept),
        false => normalised(chosen.iter().map(|c| f64::from(u8::from(*c))).collect()),
    }
}

/// The same weights with sum 1.
///
/// # Errors
/// If their sum is 0, also by underflow of products with trust.
fn normalised(mut weights: Vec<f64>) -> Result<Vec<f64>> {
    let sum: f64 = weights.iter().sum();
    if !(sum.is_finite() && sum > 0.0) {
        return Err(Error::setting("client weight", "a sum above 0", sum));
    }
    weights.iter_mut().for_each(|w| *w /= sum);
    Ok(weights)
}
