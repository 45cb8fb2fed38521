//! AFL, agnostic federated learning (Mohri, Sivek and Suresh, ICML 2019): minimises the loss of the
//! worst mixture of clients.
//!
//! Minimax over mixture weights λ on the simplex, 1/K at first. A round: θ ← Σₖ λₖ θₖ, then
//! λ ← Π(λ + γ L) with Lₖ the loss of the received model and Π the projection on the simplex. The
//! evaluated model is the running mean of the iterates, which is what the guarantee is about.
//!
//! With plain SGD and one local step, Σ λₖ θₖ = θ − η Σ λₖ gₖ is exactly the paper's step with γ_w
//! = η.

use super::{MethodContext, MethodInfo, Round, SenderFacts, ServerRule};
use crate::Result;
use crate::aggregate::{Combination, Contribution};
use crate::boost::{Boost, ServerBoosts};
use crate::config::not_negative;
use crate::screen::Form;
use boostfgl_nn::{Params, Real, StateVisitor};
use boostfgl_protocol::Model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use super::qffl::client;

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "afl",
    summary: "agnostic: minimises the loss of the worst mixture of clients",
    paper: "Mohri, Sivek and Suresh, Agnostic Federated Learning, ICML 2019",
    equations: "client k:  L_k = mean CE of the received model on its training nodes; theta_k as \
        in FedAvg\n\
                server:    theta = sum_k lambda_k theta_k; lambda = projection on the simplex of \
                (lambda + gamma L)\n\
                evaluated: the mean of theta over all rounds so far",
    wire: "up P + 1 (model, loss), down P",
    evaluated: "the running mean of the global models, on every client's local graph",
    departures: "Clients send what E local steps made of the model instead of one gradient (the \
        pseudo-gradient of easyFL);\n\
                 with optimizer = sgd and E = 1 it is the paper's step. Under partial \
                 participation lambda is renormalised\n\
                 over the participants. The projection is the exact one: fair_flearn's is off by \
                 one and leaves the simplex.",
    refuses: |boost| {
        (boost == Boost::Model).then_some(
            "its weights solve a minimax problem, and trust on top would break what they guarantee",
        )
    },
    extra_bytes: |sizes, _| 4.0 * sizes.parameters,
    outvotes: super::lives_by_weights,
    ..MethodInfo::PLAIN
};

/// Settings of AFL (`[methods.afl]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Rate γ at which the mixture moves towards clients with a large loss, at least 0.
    pub gamma: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { gamma: 0.01 }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        not_negative("methods.afl.gamma", self.gamma)
    }
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> Agnostic<T> {
    let members: Vec<usize> = (0..context.clients).filter(|&k| context.able[k]).collect();
    let lambda = vec![1.0 / members.len() as f64; members.len()];
    let [global, mean] = [0, 1].map(|slot| Model::new(slot, context.initial.clone()));
    let next = context.initial.clone();
    let (gamma, classes) = (context.setup.methods.afl.gamma, context.classes);
    Agnostic { gamma, classes, members, lambda, global, mean, next, rounds: 0 }
}

/// A server with a mixture of clients and the running mean of its global models.
pub(super) struct Agnostic<T> {
    gamma: f64,
    /// Number of classes C.
    classes: usize,
    /// The clients that can take part, increasing, and the share of each in the mixture.
    members: Vec<usize>,
    lambda: Vec<f64>,
    global: Model<T>,
    mean: Model<T>,
    next: Params<T>,
    rounds: usize,
}

impl<T: Real> ServerRule<T> for Agnostic<T> {
    fn start(&self, _: usize) -> Option<&Model<T>> {
        Some(&self.global)
    }

    fn evaluated(&self, _: usize) -> Option<&Model<T>> {
        Some(&self.mean)
    }

    fn form(&self, _: &SenderFacts<'_, T>) -> Form {
        super::qffl::loss_form(self.classes)
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        let places: Vec<usize> =
            updates.iter().filter_map(|u| self.members.binary_search(&u.client).ok()).collect();
        let mut shares: Vec<f64> = places.iter().map(|&place| self.lambda[place]).collect();
        if shares.iter().all(|share| *share == 0.0) {
            // All participants have mixture weight 0, so that no mean is defined: they count
            // equally.
            shares.fill(1.0);
        }
        let combination = Combination::new(updates, &shares, ServerBoosts::none())?;
        let combination = combination.combine(updates, round.aggregation, self.global.edit())?;
        for (update, &place) in updates.iter().zip(&places) {
            self.lambda[place] += self.gamma * update.message.numbers[0];
        }
        project(&mut self.lambda);
        // The running mean of all global models so far: the guarantee is about it, not about the
        // last one.
        self.rounds += 1;
        let share = 1.0 / self.rounds as f64;
        self.next.set_weighted_sum(&[self.mean.params(), self.global.params()], |_| {
            vec![1.0 - share, share]
        });
        std::mem::swap(self.mean.edit(), &mut self.next);
        Ok(Some(combination))
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("global", &mut self.global)?;
        visitor.visit("mean", &mut self.mean)?;
        visitor.visit("lambda", &mut self.lambda[..])?;
        visitor.visit("rounds", &mut self.rounds)
    }

    fn models(&self) -> Vec<&Params<T>> {
        vec![&self.mean]
    }
}

/// The nearest point of the probability simplex (Duchi et al., ICML 2008).
///
/// With u the numbers in decreasing order and ρ the last j with uⱼ + (1 − Σ_{i≤j} uᵢ)/j > 0, every
/// number is moved by (1 − Σ_{i≤ρ} uᵢ)/ρ and cut off at 0.
fn project(point: &mut [f64]) {
    let mut sorted = point.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (j, u) in sorted.iter().enumerate() {
        sum += u;
        let candidate = (1.0 - sum) / (j + 1) as f64;
        if u + candidate > 0.0 {
            shift = candidate;
        }
    }
    point.iter_mut().for_each(|x| *x = (*x + shift).max(0.0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn projection_of_a_vector_that_an_off_by_one_error_gets_wrong() {
        let mut point = [0.9, 0.3, 0.08];
        project(&mut point);
        assert!(point.iter().zip([0.8, 0.2, 0.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{point:?}");
    }

    proptest! {
        #[test]
        fn projection_is_the_nearest_point_of_the_simplex_and_idempotent(point in prop::collection::vec(-2.0f64..3.0, 1..9)) {
            let mut once = point.clone();
            project(&mut once);
            prop_assert!(once.iter().all(|x| *x >= 0.0));
            prop_assert!((once.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let mut twice = once.clone();
            project(&mut twice);
            prop_assert!(once.iter().zip(&twice).all(|(a, b)| (a - b).abs() < 1e-12));
            // Nearer than every corner and the centre.
            let distance = |to: &[f64]| point.iter().zip(to).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
            let middle = vec![1.0 / point.len() as f64; point.len()];
            prop_assert!(distance(&once) <= distance(&middle) + 1e-12);
            for corner in 0..point.len() {
                let corner: Vec<f64> = (0..point.len()).map(|i| f64::from(u8::from(i == corner))).collect();
                prop_assert!(distance(&once) <= distance(&corner) + 1e-12);
            }
        }
    }
}
