//! FedAvgM (Hsu, Qi and Brown, Measuring the Effects of Non-Identical Data Distribution for
//! Federated Visual Classification, 2019): FedAvg with momentum on the server.
//!
//! With Δ = Σₖ (nₖ / Σⱼ nⱼ)(θₖ − θ) the server keeps v ← βv + Δ and moves θ ← θ + v. As v is the
//! last step of the server, this is
//!
//! θₜ₊₁ = Σₖ (nₖ / Σⱼ nⱼ) θₖ + β (θₜ − θₜ₋₁), with θ₋₁ = θ₀,
//!
//! which is how it is computed: β = 0 is FedAvg bit for bit. Clients and messages are FedAvg's. The
//! paper also has a server learning rate, which is 1 here.

use boostfgl_fed::methods::{MethodContext, MethodInfo, MethodPlugin, Round, ServerRule};
use boostfgl_fed::{
    ClientRule, Combination, Contribution, Error, LocalData, Model, Result, default_hooks,
};
use boostfgl_nn::{Params, Real, StateVisitor};

/// The description of the method.
pub static INFO: MethodInfo = MethodInfo {
    name: "fedavgm",
    summary: "FedAvg with momentum on the server",
    paper: "Hsu et al., Measuring the Effects of Non-Identical Data Distribution for Federated \
        Visual Classification, 2019",
    equations: "client k:  E full-batch steps on CE, from theta\n\
                server:    v = beta v + sum_k (n_k / sum_j n_j) (theta_k - theta);  theta = theta \
        + v",
    wire: "up P + 1 (model, size), down P",
    departures: "The server's learning rate is 1.",
    // The model before the last step.
    extra_bytes: |sizes, _| 4.0 * sizes.parameters,
    ..MethodInfo::PLAIN
};

/// FedAvg with momentum on the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FedAvgM {
    /// Momentum β, at least 0 and below 1.
    pub momentum: f64,
}

impl<T: Real> MethodPlugin<T> for FedAvgM {
    fn info(&self) -> &'static MethodInfo {
        &INFO
    }

    fn check(&self) -> Result<()> {
        match self.momentum {
            0.0..1.0 => Ok(()),
            other => Err(Error::setting("fedavgm.momentum", "at least 0 and below 1", other)),
        }
    }

    fn settings(&self) -> String {
        format!("{self:?}")
    }

    fn server(&self, context: &MethodContext<'_, T>) -> Box<dyn ServerRule<T>> {
        Box::new(Heavy {
            momentum: T::of(self.momentum),
            global: Model::new(0, context.initial.clone()),
            previous: context.initial.clone(),
        })
    }

    fn client(&self, _: &MethodContext<'_, T>, _: &LocalData<T>) -> Box<dyn ClientRule<T>> {
        Box::new(Plain)
    }
}

/// FedAvg's client.
struct Plain;

default_hooks!(Plain: PreparationHooks, TrainingHooks, PersonalModel, RuleState);

/// The server: a model with inertia.
struct Heavy<T> {
    /// β.
    momentum: T,
    /// θₜ.
    global: Model<T>,
    /// θₜ₋₁.
    previous: Params<T>,
}

impl<T: Real> ServerRule<T> for Heavy<T> {
    fn start(&self, _client: usize) -> Option<&Model<T>> {
        Some(&self.global)
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        let sizes: Vec<f64> = updates.iter().map(|update| update.size).collect();
        let combination = Combination::new(updates, &sizes, round.boost)?;
        let before = self.global.params().clone();
        let global = self.global.edit();
        let combination = combination.combine(updates, round.aggregation, global)?;
        // Adding 0 could still turn −0 into +0, and β = 0 must give FedAvg bit for bit.
        if self.momentum != T::ZERO {
            add_step(global, self.momentum, &before, &self.previous);
        }
        self.previous = before;
        Ok(Some(combination))
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("global", &mut self.global)?;
        visitor.visit("previous", &mut self.previous)
    }

    fn models(&self) -> Vec<&Params<T>> {
        vec![&self.global]
    }
}

/// model ← model + β (to − from).
fn add_step<T: Real>(model: &mut Params<T>, momentum: T, to: &Params<T>, from: &Params<T>) {
    let steps = to.tensors().iter().zip(from.tensors());
    for (tensor, (to, from)) in model.tensors_mut().iter_mut().zip(steps) {
        let numbers = to.data().iter().zip(from.data());
        for (number, (to, from)) in tensor.data_mut().iter_mut().zip(numbers) {
            *number += momentum * (*to - *from);
        }
    }
}
