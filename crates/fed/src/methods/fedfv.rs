//! FedFV (Wang et al., IJCAI 2021): conflicting client gradients are projected onto each other's
//! normal planes before they are averaged.
//!
//! With gₖ = θ − θₖ and clients ordered by their loss under the received model:
//! 1. the α share with the largest losses keep their gradient; every other gᵢ is taken against the
//!    original gⱼ in that order, and where gᵢ·gⱼ < 0 its part along gⱼ is removed;
//! 2. g = mean gᵢ;
//! 3. clients that are absent now but took part at most τ rounds ago: the sum of those last
//!    gradients that conflict with g is removed from g the same way, the oldest round first;
//! 4. g is stretched to the length of the plain mean, and θ ← θ − g.
//!
//! All of this happens in the span of the gradients, so that only their Gram matrix and one
//! weighted sum touch P numbers.

use super::qffl::{loss_form, step};
use super::{MethodContext, MethodInfo, Round, SenderFacts, ServerRule};
use crate::aggregate::{Combination, Contribution};
use crate::screen::Form;
use crate::{Error, Result};
use boostfgl_nn::{Params, Real, StateVisitor};
use boostfgl_protocol::Model;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use super::qffl::client;

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "fedfv",
    summary: "fair averaging: conflicting client gradients are projected out of each other's way",
    paper: "Wang et al., Federated Learning with Fair Averaging, IJCAI 2021",
    equations: "client k:  F_k = mean CE of the received model on its training nodes; g_k = theta \
        - theta_k\n\
                server:    but for the alpha share with the largest F: g_i = g_i - \
                (g_i.g_j/|g_j|^2) g_j where g_i.g_j < 0\n\
                \x20          g = mean g_i; absent clients of the last tau rounds likewise; theta \
                = theta - g |mean g_k|/|g|",
    wire: "up P + 1 (model, loss), down P",
    departures: "The stage against earlier gradients looks at clients that are absent now, as the \
        paper says; public code also\n\
                 looks at the current ones. Under full participation the stage does nothing. \
                 Exactly opposite gradients\n\
                 leave no direction: the model then stays where it is.",
    extra_bytes: |sizes, _| 4.0 * (2.0 * sizes.clients() + 1.0) * sizes.parameters,
    single_updates: Some("conflicting updates are projected onto each other"),
    outvotes: |_| {
        Some("the server takes a step along projected updates instead of a mean of models")
    },
    ..MethodInfo::PLAIN
};

/// Settings of FedFV (`[methods.fedfv]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Share α of the clients, those with the largest losses, whose gradient is not projected, from
    /// 0 to 1.
    pub alpha: f64,
    /// The number of rounds τ for which the gradients of absent clients still count; 0 for none.
    pub tau: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { alpha: 0.1, tau: 1 }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.alpha) {
            return Ok(());
        }
        Err(Error::setting("methods.fedfv.alpha", "a number from 0 to 1", self.alpha))
    }
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> FairAveraging<T> {
    let config = context.setup.methods.fedfv.clone();
    let global = Model::new(0, context.initial.clone());
    let next = context.initial.clone();
    let last = (0..context.clients).map(|_| None).collect();
    FairAveraging { config, classes: context.classes, global, next, last }
}

/// A server that stores the last gradient of every client.
pub(super) struct FairAveraging<T> {
    config: Config,
    /// Number of classes C.
    classes: usize,
    global: Model<T>,
    next: Params<T>,
    /// The round and the gradient of each client's last participation.
    last: Vec<Option<(usize, Params<T>)>>,
}

impl<T: Real> ServerRule<T> for FairAveraging<T> {
    fn start(&self, _: usize) -> Option<&Model<T>> {
        Some(&self.global)
    }

    fn form(&self, _: &SenderFacts<'_, T>) -> Form {
        loss_form(self.classes)
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        for update in updates {
            let (_, gradient) =
                self.last[update.client].get_or_insert_with(|| (0, update.params().clone()));
            gradient
                .set_weighted_sum(&[self.global.params(), update.params()], |_| vec![1.0, -1.0]);
            self.last[update.client].as_mut().into_iter().for_each(|last| last.0 = round.done);
        }
        let absent = self.absent(updates, round.done);
        let now = updates.iter().map(|u| u.client);
        let gradients: Vec<&Params<T>> = now
            .chain(absent.iter().map(|(k, _)| *k))
            .filter_map(|k| self.last[k].as_ref().map(|last| &last.1))
            .collect();
        let gram = Gram::of(&gradients);
        let losses: Vec<f64> = updates.iter().map(|u| u.message.numbers[0]).collect();
        let trusted = Combination::new(updates, &vec![1.0; updates.len()], round.boost)?;
        let mut mean = gram.mean(&self.config, &losses, &trusted.mean_weights());
        let ages: Vec<usize> = absent.iter().map(|(_, age)| *age).collect();
        gram.avoid_absent(&mut mean, updates.len(), &ages);
        let plain: Vec<f64> = (0..gram.len())
            .map(|i| if i < updates.len() { 1.0 / updates.len() as f64 } else { 0.0 })
            .collect();
        // Projections shorten the mean; without this every conflict would also slow training down.
        let length = gram.norm(&mean);
        let stretch = if length > 0.0 { gram.norm(&plain) / length } else { 0.0 };
        mean.iter_mut().for_each(|c| *c *= stretch);
        step(self.global.edit(), &mut self.next, updates, &mean[..updates.len()]);
        // Only gradients are stored of absent clients, no models: their part is subtracted on its
        // own.
        for ((k, _), pull) in absent.iter().zip(&mean[updates.len()..]) {
            if let Some((_, gradient)) = self.last[*k].as_ref().filter(|_| *pull != 0.0) {
                self.next.set_weighted_sum(&[self.global.params(), gradient], |_| vec![1.0, -pull]);
                std::mem::swap(self.global.edit(), &mut self.next);
            }
        }
        Ok(Some(Combination::of_weights(mean[..updates.len()].to_vec())))
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("global", &mut self.global)?;
        let Self { last, next, .. } = self;
        last.iter_mut().enumerate().try_for_each(|(k, last)| {
            let (mut round, mut gradient) = last.take().unzip();
            visitor.option(&format!("round of {k}"), &mut round, || 0)?;
            visitor.option(&format!("gradient of {k}"), &mut gradient, || next.clone())?;
            *last = round.zip(gradient);
            Ok(())
        })
    }

    fn models(&self) -> Vec<&Params<T>> {
        vec![&self.global]
    }
}

impl<T: Real> FairAveraging<T> {
    /// Clients that are absent now and took part 1 to τ rounds ago, with that age, the oldest
    /// first.
    fn absent(&self, updates: &[Contribution<'_, T>], done: usize) -> Vec<(usize, usize)> {
        let mut absent: Vec<(usize, usize)> = (0..self.last.len())
            .filter(|k| updates.iter().all(|u| u.client != *k))
            .filter_map(|k| self.last[k].as_ref().map(|(round, _)| (k, done - round)))
            .filter(|(_, age)| (1..=self.config.tau).contains(age))
            .collect();
        absent.sort_by_key(|(k, age)| (std::cmp::Reverse(*age), *k));
        absent
    }
}

/// Inner products of gradients. A vector in their span is a list of coefficients.
struct Gram(Vec<Vec<f64>>);

impl Gram {
    fn of<T: Real>(gradients: &[&Params<T>]) -> Self {
        let n = gradients.len();
        let mut products = vec![vec![0.0; n]; n];
        for i in 0..n {
            for j in 0..=i {
                products[i][j] = gradients[i].dot(gradients[j]);
                products[j][i] = products[i][j];
            }
        }
        Self(products)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    /// The product of two vectors, given by their coefficients: aᵀ G b.
    fn dot(&self, a: &[f64], b: &[f64]) -> f64 {
        let rows = self.0.iter().zip(a);
        rows.map(|(row, a)| a * row.iter().zip(b).map(|(g, b)| g * b).sum::<f64>()).sum()
    }

    /// The length of a vector, given by its coefficients.
    fn norm(&self, a: &[f64]) -> f64 {
        libm::sqrt(self.dot(a, a).max(0.0))
    }

    /// The coefficients of gradient `i`.
    fn unit(&self, i: usize) -> Vec<f64> {
        (0..self.len()).map(|j| f64::from(u8::from(i == j))).collect()
    }

    /// Removes from `a` its part along `b` if they conflict.
    fn avoid(&self, a: &mut [f64], b: &[f64]) {
        let (conflict, square) = (self.dot(a, b), self.dot(b, b));
        if conflict < 0.0 && square > 0.0 {
            a.iter_mut().zip(b).for_each(|(a, b)| *a -= conflict / square * b);
        }
    }

    /// Steps 1 and 2: the weighted mean of the current clients' gradients, conflicts among them
    /// removed.
    fn mean(&self, config: &Config, losses: &[f64], weights: &[f64]) -> Vec<f64> {
        let n = losses.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| losses[i].total_cmp(&losses[j]).then(i.cmp(&j)));
        let kept = ((n - 1) as f64 * (1.0 - config.alpha)).ceil() as usize;
        // With α = 0 every gradient is projected; otherwise those from position `kept` on are not.
        let spared = if config.alpha > 0.0 { &order[kept..] } else { &[] };
        let mut mean = vec![0.0; self.len()];
        for (i, weight) in weights.iter().enumerate() {
            let mut own = self.unit(i);
            if !spared.contains(&i) {
                order
                    .iter()
                    .filter(|&&j| j != i)
                    .for_each(|&j| self.avoid(&mut own, &self.unit(j)));
            }
            mean.iter_mut().zip(own).for_each(|(mean, own)| *mean += weight * own);
        }
        mean
    }

    /// Step 3: `ages` are those of the vectors from `first` on, in decreasing order.
    fn avoid_absent(&self, mean: &mut [f64], first: usize, ages: &[usize]) {
        let mut at = 0;
        while at < ages.len() {
            let same = ages[at..].iter().take_while(|age| **age == ages[at]).count();
            let round = first + at..first + at + same;
            let mut sum = vec![0.0; self.len()];
            for i in round.filter(|&i| self.dot(mean, &self.unit(i)) < 0.0) {
                sum[i] = 1.0;
            }
            self.avoid(mean, &sum);
            at += same;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_nn::{Matrix, TensorShape};

    fn gradient(values: [f64; 3]) -> Params<f64> {
        Params::from_tensors(&[TensorShape::bias("g", 3)], vec![Matrix::from_rows(1, 3, &values)])
    }

    fn combined(gradients: &[Params<f64>], coefficients: &[f64]) -> Params<f64> {
        let mut out = gradient([0.0; 3]);
        out.set_weighted_sum(&gradients.iter().collect::<Vec<_>>(), |_| coefficients.to_vec());
        out
    }

    #[test]
    fn after_projection_the_mean_conflicts_with_neither_gradient() {
        let g = [gradient([1.0, 0.2, 0.0]), gradient([-0.5, 1.0, 0.3])];
        let gram = Gram::of(&[&g[0], &g[1]]);
        assert!(g[0].dot(&g[1]) < 0.0);
        let mean = gram.mean(&Config { alpha: 0.0, tau: 0 }, &[1.0, 2.0], &[0.5, 0.5]);
        let mean = combined(&g, &mean);
        assert!(g.iter().all(|g| g.dot(&mean) >= -1e-12));
    }

    #[test]
    fn no_conflict_or_alpha_1_is_the_plain_mean() {
        let g = [gradient([1.0, 0.2, 0.0]), gradient([0.5, 1.0, 0.3])];
        let gram = Gram::of(&[&g[0], &g[1]]);
        assert_eq!(gram.mean(&Config { alpha: 0.0, tau: 0 }, &[1.0, 2.0], &[0.5, 0.5]), [0.5, 0.5]);
        let g = [gradient([1.0, 0.2, 0.0]), gradient([-0.5, 1.0, 0.3])];
        let gram = Gram::of(&[&g[0], &g[1]]);
        assert_eq!(gram.mean(&Config { alpha: 1.0, tau: 0 }, &[1.0, 2.0], &[0.5, 0.5]), [0.5, 0.5]);
    }

    #[test]
    fn the_mean_does_not_conflict_with_an_absent_client() {
        let g = [gradient([1.0, 0.0, 0.0]), gradient([-1.0, 0.5, 0.0])];
        let gram = Gram::of(&[&g[0], &g[1]]);
        let mut mean = vec![1.0, 0.0];
        gram.avoid_absent(&mut mean, 1, &[1]);
        assert!(combined(&g, &mean).dot(&g[1]).abs() < 1e-12);
    }
}
