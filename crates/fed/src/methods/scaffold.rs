//! SCAFFOLD (Karimireddy et al., ICML 2020): control variates against client drift.
//!
//! The server holds a control c and every client a control cₖ, all 0 at first. A local step uses g − cₖ + c.
//! Afterwards cₖ⁺ is the gradient at the received model (the paper's option I; the first step has
//! just computed it), or, after τ steps of rate η, cₖ − c + (θ_g − θₖ)/(τη) (option II). The server
//! adds (1/K) Σ (cₖ⁺ − cₖ) over the participants to c.
//!
//! Option II estimates a gradient only under plain SGD; with Adam it is merely a direction, and of
//! another size.

use super::{MethodContext, MethodInfo, Round, SenderFacts, ServerRule, fedavg};
use crate::Result;
use crate::aggregate::{Combination, Contribution};
use crate::client_rule::{
    BroadcastForm, ClientContext, RuleState, StateContext, TrainingHooks, Upload, default_hooks,
};
use crate::local_data::LocalData;
use crate::screen::Form;
use boostfgl_nn::{Matrix, Params, Real, StateVisitor};
use boostfgl_protocol::{Message, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "scaffold",
    summary: "FedAvg with control variates that correct client drift",
    paper: "Karimireddy et al., SCAFFOLD: Stochastic Controlled Averaging for Federated Learning, \
        ICML 2020",
    equations: "client k:  steps on g - c_k + c;  c_k' = g(theta), or c_k - c + (theta - \
        theta_k)/(tau eta) (tau steps)\n\
                server:    theta = sum_k (n_k / sum_j n_j) theta_k;  c = c + (1/K) sum_k (c_k' - \
                c_k)",
    wire: "up 2P (model, change of control), down 2P (model, control)",
    departures: "The default control is the paper's option I, the gradient at the received model, \
        which holds for any\n\
                 optimiser; option II (control = \"difference\", as in OpenFGL and easyFL) \
                 assumes plain SGD and with Adam is\n\
                 not a gradient at all. Models are averaged by size, as for every method here, \
                 with server rate 1.\n\
                 OpenFGL replaces c by the mean over participants, which is wrong under partial \
                 participation.",
    extra_bytes: |sizes, _| 4.0 * (3.0 * sizes.clients() + 2.0) * sizes.parameters,
    outvotes: |_| Some("the control variates of the clients would still be averaged plainly"),
    ..MethodInfo::PLAIN
};

/// Settings of SCAFFOLD (`[methods.scaffold]`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// A client's control: the gradient at the received model, or the difference of models over the
    /// steps (SGD only).
    pub control: Control,
}

/// What a client's control is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// The gradient at the received model (option I).
    Gradient,
    /// cₖ − c + (θ_g − θₖ)/(τη) (option II).
    Difference,
}

impl Default for Config {
    fn default() -> Self {
        Self { control: Control::Gradient }
    }
}

impl Config {
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "every method's settings are checked alike"
    )]
    pub(super) fn check(&self) -> Result<()> {
        Ok(())
    }
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> Controlled<T> {
    let control = Arc::new(Message::tensors(zeros_like(context.initial)));
    Controlled {
        averaging: fedavg::server(context),
        control,
        clients: context.able.iter().filter(|able| **able).count(),
    }
}

/// Tensors of zeros with the shapes of a model.
fn zeros_like<T: Real>(model: &Params<T>) -> Vec<Matrix<T>> {
    model.tensors().iter().map(|t| Matrix::zeros(t.rows(), t.columns())).collect()
}

/// FedAvg's server with a control.
pub(super) struct Controlled<T> {
    averaging: fedavg::Averaging<T>,
    control: Arc<Message<T>>,
    /// The number of clients that can take part.
    clients: usize,
}

impl<T: Real> ServerRule<T> for Controlled<T> {
    fn start(&self, client: usize) -> Option<&Model<T>> {
        self.averaging.start(client)
    }

    fn tell(&self, _: usize) -> Option<&Arc<Message<T>>> {
        Some(&self.control)
    }

    fn form(&self, _: &SenderFacts<'_, T>) -> Form {
        let changes =
            self.control.tensors.iter().map(|tensor| (tensor.rows(), tensor.columns())).collect();
        Form::model().tensors(changes)
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        // c must stay the mean of all cₖ, so that trust weighs models only.
        let share = T::of(1.0 / self.clients as f64);
        let control = Arc::make_mut(&mut self.control);
        for update in updates {
            for (c, change) in control.tensors.iter_mut().zip(&update.message.tensors) {
                c.data_mut().iter_mut().zip(change.data()).for_each(|(c, d)| *c += share * *d);
            }
        }
        self.averaging.aggregate(updates, round)
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        self.averaging.visit(visitor)?;
        visitor.within("control", |visitor| Arc::make_mut(&mut self.control).visit_shaped(visitor))
    }

    fn models(&self) -> Vec<&Params<T>> {
        self.averaging.models()
    }
}

pub(super) fn client<T: Real>(context: &MethodContext<'_, T>, _: &LocalData<T>) -> Drifting<T> {
    let control = context.setup.methods.scaffold.control;
    Drifting {
        control,
        own: Vec::new(),
        before: Vec::new(),
        correction: Vec::new(),
        gradient: None,
    }
}

/// A client with a control cₖ.
pub(super) struct Drifting<T> {
    control: Control,
    /// cₖ; empty while it is 0.
    own: Vec<Matrix<T>>,
    /// cₖ before this round. If the server refuses the update, it does not move c, and cₖ must go
    /// back for c to remain the mean of all cₖ.
    before: Vec<Matrix<T>>,
    /// c − cₖ of this round.
    correction: Vec<Matrix<T>>,
    /// The gradient at the received model, under option I.
    gradient: Option<Vec<Matrix<T>>>,
}

default_hooks!(Drifting<T>: PreparationHooks, PersonalModel);

impl<T: Real> TrainingHooks<T> for Drifting<T> {
    fn broadcast_form(&self, context: &ClientContext<'_, T>) -> BroadcastForm {
        let shapes = context.start().shapes().iter().map(|shape| (shape.rows, shape.columns));
        BroadcastForm::Always(Form::message().tensors(shapes.collect()))
    }

    fn begin(
        &mut self,
        context: &ClientContext<'_, T>,
        message: Option<&Message<T>>,
    ) -> Result<()> {
        let control = message.map(|message| message.tensors.clone()).unwrap_or_default();
        if self.own.is_empty() {
            self.own = zeros_like(context.start());
        }
        self.before.clone_from(&self.own);
        self.gradient = None;
        self.correction = control;
        for (correction, own) in self.correction.iter_mut().zip(&self.own) {
            correction.data_mut().iter_mut().zip(own.data()).for_each(|(c, own)| *c -= *own);
        }
        Ok(())
    }

    fn adjust(&mut self, _: &ClientContext<'_, T>, _: &Params<T>, gradients: &mut [Matrix<T>]) {
        // Only at the first step the model is still the received one.
        if self.control == Control::Gradient && self.gradient.is_none() {
            self.gradient = Some(gradients.to_vec());
        }
        for (gradient, correction) in gradients.iter_mut().zip(&self.correction) {
            gradient.data_mut().iter_mut().zip(correction.data()).for_each(|(g, c)| *g += *c);
        }
    }

    fn finish(&mut self, context: &ClientContext<'_, T>, local: &Params<T>) -> Result<Upload<T>> {
        let changes = match self.gradient.take() {
            Some(mut gradient) => {
                for (change, own) in gradient.iter_mut().zip(&mut self.own) {
                    change.data_mut().iter_mut().zip(own.data()).for_each(|(g, own)| *g -= *own);
                    own.data_mut()
                        .iter_mut()
                        .zip(change.data())
                        .for_each(|(own, change)| *own += *change);
                }
                gradient
            }
            None => self.difference(context, local),
        };
        Ok(Upload::with(Message::tensors(changes)))
    }

    fn refused(&mut self, _: bool) {
        self.own.clone_from(&self.before);
    }
}

impl<T: Real> RuleState<T> for Drifting<T> {
    fn visit(
        &mut self,
        context: &StateContext<'_, T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        visitor.tensors_like("own", &mut self.own, context.local)
    }
}

impl<T: Real> Drifting<T> {
    /// cₖ⁺ − cₖ under option II; moves cₖ.
    fn difference(&mut self, context: &ClientContext<'_, T>, local: &Params<T>) -> Vec<Matrix<T>> {
        // −c + (θ_g − θₖ)/(τη) = −(c − cₖ) − cₖ + (θ_g − θₖ)/(τη).
        let rate = T::of(1.0 / (context.epochs() as f64 * context.learning_rate()));
        let mut changes = std::mem::take(&mut self.correction);
        let models = context.start().tensors().iter().zip(local.tensors());
        for ((change, own), (start, end)) in changes.iter_mut().zip(&mut self.own).zip(models) {
            let numbers = change.data_mut().iter_mut().zip(own.data_mut());
            for ((change, own), (start, end)) in numbers.zip(start.data().iter().zip(end.data())) {
                *change = rate * (*start - *end) - *change - *own;
                *own += *change;
            }
        }
        changes
    }
}
