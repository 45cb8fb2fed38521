//! FedAvg (McMahan et al., AISTATS 2017): the size-weighted mean of what clients trained.
//!
//! θ ← Σₖ (nₖ / Σⱼ nⱼ) θₖ over the participants of the round. nₖ counts all local nodes, or
//! training nodes with `client_weight = "labelled"`. The mean is taken of models, not of
//! differences, so that one client alone gives exactly the model it trained.

use super::{MethodContext, MethodInfo, Round, ServerRule};
use crate::Result;
use crate::aggregate::{Combination, Contribution};
use crate::client_rule::Plain;
use crate::local_data::LocalData;
use boostfgl_nn::{Params, Real, StateVisitor};
use boostfgl_protocol::Model;

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "fedavg",
    summary: "size-weighted mean of the clients' models",
    paper: "McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized \
        Data, AISTATS 2017",
    equations: "client k:  theta_k = E full-batch steps on (1/n_k^L) sum_v CE_v, from theta\n\
                server:    theta = sum_k (n_k / sum_j n_j) theta_k",
    wire: "up P + 1 (model, size), down P",
    ..MethodInfo::PLAIN
};

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> Averaging<T> {
    Averaging::new(context, Weighing::Size)
}

pub(super) fn client<T: Real>(_: &MethodContext<'_, T>, _: &LocalData<T>) -> Plain {
    Plain
}

/// How the mean weighs clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weighing {
    /// By their sizes.
    Size,
    /// All equally.
    Equal,
}

/// One global model, the weighted mean of the round's models.
pub(super) struct Averaging<T> {
    pub(super) global: Model<T>,
    weighing: Weighing,
}

impl<T: Real> Averaging<T> {
    pub(super) fn new(context: &MethodContext<'_, T>, weighing: Weighing) -> Self {
        Self { global: Model::new(0, context.initial.clone()), weighing }
    }
}

impl<T: Real> ServerRule<T> for Averaging<T> {
    fn start(&self, _: usize) -> Option<&Model<T>> {
        Some(&self.global)
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        let weights: Vec<f64> = match self.weighing {
            Weighing::Size => updates.iter().map(|update| update.size).collect(),
            Weighing::Equal => vec![1.0; updates.len()],
        };
        let combination = Combination::new(updates, &weights, round.boost)?;
        let combination = combination.combine(updates, round.aggregation, self.global.edit())?;
        Ok(Some(combination))
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("global", &mut self.global)
    }

    fn models(&self) -> Vec<&Params<T>> {
        vec![&self.global]
    }
}
