//! MOON (Li, He and Song, CVPR 2021): a contrastive loss pulls the representation towards the global
//! model's and away from that of the client's previous model.
//!
//! Local objective CE + μ·L_con with, for every node, z under the model in training, z_g under the
//! received model and z_p under the model this client last trained, both frozen and without
//! dropout:
//!
//! L_con = mean_v −log( e^{cos(z, z_g)/τ} / (e^{cos(z, z_g)/τ} + e^{cos(z, z_p)/τ}) ).
//!
//! In a client's first round there is no z_p, and L_con is 0. With one full-batch epoch and no
//! dropout z = z_g at the only step, so that only the repulsion acts: MOON is then near FedAvg by
//! construction.
//!
//! The previous *model* is stored, not its embedding: under topology boosting the propagation changes
//! every round, and all three representations must be made with the same one.

use super::{MethodContext, MethodInfo, needs_hidden};
use crate::client_rule::{
    ClientContext, RuleState, StateContext, TrainingHooks, Upload, default_hooks,
};
use crate::config::{not_negative, single};
use crate::local_data::LocalData;
use crate::{Error, Result};
use boostfgl_nn::backbones::Extra;
use boostfgl_nn::{Matrix, Params, Reach, Real, StateVisitor, extra_losses};
use boostfgl_protocol::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use super::fedavg::server;

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "moon",
    summary: "FedAvg with a contrast between global, local and previous representations",
    paper: "Li, He and Song, Model-Contrastive Federated Learning, CVPR 2021",
    equations: "client k:  CE + mu L_con, L_con = mean_v -log( e^{cos(z,zg)/tau} / \
        (e^{cos(z,zg)/tau} + e^{cos(z,zp)/tau}) )\n\
                \x20          z, zg, zp: hidden layer under the local, the received and the \
                client's previous model\n\
                server:    theta = sum_k (n_k / sum_j n_j) theta_k",
    wire: "up P + 1 (model, size), down P",
    departures: "The original contrasts the output of a projection head on labelled images; as in \
        OpenFGL, z is the shared\n\
                 network's hidden layer (after dropout), over all local nodes (contrast_nodes = \"all\" | \"training\").\n\
                 The original resets its optimiser every round; here optimizer_state decides, as \
                 for every method.",
    network: needs_hidden,
    extra_bytes: |sizes, _| {
        4.0 * (sizes.clients() * sizes.parameters + 2.0 * sizes.all_nodes() * sizes.hidden)
    },
    ..MethodInfo::PLAIN
};

/// Settings of MOON (`[methods.moon]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Strength μ of the contrast, at least 0.
    pub mu: f64,
    /// Temperature τ of the contrast, at least 0.01.
    pub tau: f64,
    /// Which nodes are contrasted: all local nodes, or the training nodes.
    pub contrast_nodes: ContrastNodes,
}

/// Which nodes are contrasted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContrastNodes {
    /// All local nodes, as OpenFGL does.
    All,
    /// Training nodes, as the original does.
    Training,
}

impl Default for Config {
    fn default() -> Self {
        Self { mu: 1.0, tau: 0.5, contrast_nodes: ContrastNodes::All }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        not_negative("methods.moon.mu", self.mu)?;
        if !self.tau.is_finite() || self.tau < 0.01 {
            return Err(Error::setting("methods.moon.tau", "a number of at least 0.01", self.tau));
        }
        single("methods.moon.tau", self.tau)
    }
}

pub(super) fn client<T: Real>(context: &MethodContext<'_, T>, _: &LocalData<T>) -> Contrast<T> {
    Contrast { config: context.setup.methods.moon.clone(), previous: None, frozen: None }
}

/// A client that stores the model it last trained.
pub(super) struct Contrast<T> {
    config: Config,
    previous: Option<Params<T>>,
    /// z_g and z_p of this round, one row per node that is contrasted.
    frozen: Option<(Matrix<T>, Matrix<T>)>,
}

impl<T: Real> Contrast<T> {
    fn acts(&self) -> bool {
        self.config.mu > 0.0
    }
}

default_hooks!(Contrast<T>: PreparationHooks, PersonalModel);

impl<T: Real> TrainingHooks<T> for Contrast<T> {
    fn reach(&self) -> Reach {
        match self.config.contrast_nodes {
            ContrastNodes::All if self.acts() => Reach::Hidden,
            _ => Reach::Output,
        }
    }

    fn inspects_start(&self) -> bool {
        self.acts()
    }

    fn begin(&mut self, context: &ClientContext<'_, T>, _: Option<&Message<T>>) -> Result<()> {
        let Some(previous) = self.previous.as_ref().filter(|_| self.acts()) else { return Ok(()) };
        let near = representation(context, context.inspect_start());
        let pair = near.zip(representation(context, context.inspect(previous)));
        self.frozen = match self.config.contrast_nodes {
            ContrastNodes::All => pair,
            ContrastNodes::Training => pair.map(|(near, far)| {
                let rows = context.data().training();
                (near.rows_at(rows), far.rows_at(rows))
            }),
        };
        Ok(())
    }

    fn extra(
        &self,
        context: &ClientContext<'_, T>,
        _: &Matrix<T>,
        hidden: Option<&Matrix<T>>,
    ) -> Extra<T> {
        let (Some((near, far)), Some(z)) = (&self.frozen, hidden) else { return Extra::default() };
        let (value, gradient) = match self.config.contrast_nodes {
            ContrastNodes::All => {
                extra_losses::contrast(z, near, &[far], self.config.tau, context.pool())
            }
            ContrastNodes::Training => {
                let rows = context.hidden_rows(context.data().training());
                let (value, some) = extra_losses::contrast(
                    &z.rows_at(&rows),
                    near,
                    &[far],
                    self.config.tau,
                    context.pool(),
                );
                let mut gradient = context.pool().take(z.rows(), z.columns());
                gradient.data_mut().fill(T::ZERO);
                rows.iter()
                    .enumerate()
                    .for_each(|(i, &r)| gradient.row_mut(r as usize).copy_from_slice(some.row(i)));
                (value, gradient)
            }
        };
        let mut gradient = gradient;
        extra_losses::scale(&mut gradient, self.config.mu);
        Extra { value: self.config.mu * value, hidden: Some(gradient), ..Extra::default() }
    }

    fn finish(&mut self, context: &ClientContext<'_, T>, local: &Params<T>) -> Result<Upload<T>> {
        if let Some((near, far)) = self.frozen.take() {
            context.pool().put(near);
            context.pool().put(far);
        }
        if self.acts() {
            match &mut self.previous {
                Some(previous) => previous.copy_from(local),
                None => self.previous = Some(local.clone()),
            }
        }
        Ok(Upload::model())
    }

    fn refused(&mut self, _: bool) {
        self.frozen = None;
    }
}

impl<T: Real> RuleState<T> for Contrast<T> {
    fn visit(
        &mut self,
        context: &StateContext<'_, T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        visitor.option("previous", &mut self.previous, || context.local.clone())
    }
}

/// The hidden representation among the outputs of a model.
fn representation<T: Real>(
    context: &ClientContext<'_, T>,
    (logits, hidden): (Matrix<T>, Option<Matrix<T>>),
) -> Option<Matrix<T>> {
    context.pool().put(logits);
    hidden
}
