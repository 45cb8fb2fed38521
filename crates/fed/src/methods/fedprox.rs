//! FedProx (Li et al., MLSys 2020): local training that does not stray from the global model.
//!
//! Local objective CE + (μ/2)‖θ − θ_g‖², so that every gradient gets μ(θ − θ_g); everything else is
//! FedAvg. At the first step of a round θ = θ_g and the term is 0: with one full-batch epoch a
//! round FedProx *is* FedAvg, whatever μ.

use super::{MethodContext, MethodInfo};
use crate::Result;
use crate::client_rule::{ClientContext, TrainingHooks, default_hooks};
use crate::config::not_negative;
use crate::local_data::LocalData;
use boostfgl_nn::{Matrix, Params, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use super::fedavg::server;

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "fedprox",
    summary: "FedAvg with a proximal term that keeps clients near the global model",
    paper: "Li et al., Federated Optimization in Heterogeneous Networks, MLSys 2020",
    equations: "client k:  CE + (mu/2) |theta_k - theta|^2, over all parameters\n\
                server:    theta = sum_k (n_k / sum_j n_j) theta_k",
    wire: "up P + 1 (model, size), down P",
    departures: "The paper also allows unequal local work and samples clients by size; here every \
        client does E epochs and the\n\
                 mean is weighted by size. With E = 1 the term's gradient is 0: FedProx is then \
                 FedAvg.",
    ..MethodInfo::PLAIN
};

/// Settings of FedProx (`[methods.fedprox]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Strength μ of the proximal term, at least 0.
    pub mu: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { mu: 1e-3 }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        not_negative("methods.fedprox.mu", self.mu)
    }
}

pub(super) fn client<T: Real>(context: &MethodContext<'_, T>, _: &LocalData<T>) -> Proximal<T> {
    Proximal { mu: T::of(context.setup.methods.fedprox.mu) }
}

/// A client that is drawn back to where it started.
pub(super) struct Proximal<T> {
    mu: T,
}

default_hooks!(Proximal<T>: PreparationHooks, PersonalModel, RuleState);

impl<T: Real> TrainingHooks<T> for Proximal<T> {
    fn adjust(
        &mut self,
        context: &ClientContext<'_, T>,
        model: &Params<T>,
        gradients: &mut [Matrix<T>],
    ) {
        if self.mu == T::ZERO {
            return;
        }
        let pairs = model.tensors().iter().zip(context.start().tensors());
        for (gradient, (now, start)) in gradients.iter_mut().zip(pairs) {
            let context = now.data().iter().zip(start.data());
            gradient
                .data_mut()
                .iter_mut()
                .zip(context)
                .for_each(|(g, (now, start))| *g += self.mu * (*now - *start));
        }
    }
}
