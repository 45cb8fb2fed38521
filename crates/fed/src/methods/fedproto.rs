//! FedProto (Tan et al., AAAI 2022): clients exchange class prototypes and no parameters.
//!
//! Local objective CE + λ · mean over training nodes v of MSE(hᵥ, p_{yᵥ}), hᵥ the hidden
//! representation and p the global prototypes of the last round. After training a client sends the
//! mean hidden vector (without dropout) of its training nodes of each class, and their number; the
//! server averages each class over the clients that own it. No parameter is ever sent; each client
//! keeps its own model. Before the first exchange there is no prototype and no term.
//!
//! A class may have no prototype yet because its owners have not taken part. The server therefore
//! sends with the prototypes which of them exist (a number per class). Nodes of other classes have
//! no term; the mean is over all training nodes.

use super::isolated::NoServer;
use super::{
    EvaluatedModel, MethodContext, MethodInfo, Round, SenderFacts, ServerRule, needs_hidden,
};
use crate::Result;
use crate::aggregate::{Combination, Contribution};
use crate::client_rule::{BroadcastForm, ClientContext, TrainingHooks, Upload, default_hooks};
use crate::config::not_negative;
use crate::local_data::LocalData;
use crate::screen::{Form, Part};
use boostfgl_nn::backbones::Extra;
use boostfgl_nn::{Matrix, Params, Real, StateVisitor, extra_losses};
use boostfgl_protocol::{Message, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "fedproto",
    summary: "only class prototypes are shared; every client keeps its own model",
    paper: "Tan et al., FedProto: Federated Prototype Learning across Heterogeneous Clients, AAAI \
        2022",
    equations: "client k:  CE + lambda mean_v |h_v - p_{y_v}|^2 / h, over training nodes (0 for \
        classes without p_c yet)\n\
                \x20          p_kc = mean of h_v over its class c\n\
                server:    p_c = sum_k n_kc p_kc / sum_k n_kc over the clients that own class c",
    wire: "up C h + C (prototypes, counts), from the second round on down C h + C (prototypes, \
        which of them exist);\n\
           no parameter travels",
    evaluated: "each client's own model, on its local graph",
    departures: "Prototypes come from a pass without dropout after training, not from the last \
        training pass. Classes are\n\
                 averaged over their owners only: OpenFGL counts missing classes as zero vectors, \
                 which shrinks the\n\
                 prototypes of rare classes. fedproto.prototype_weight = \"uniform\" is the \
                 official code's mean.\n\
                 Under model boosting the update norm has no effect (lambda_s): no parameter is \
                 combined.",
    evaluated_model: EvaluatedModel::Personal,
    network: needs_hidden,
    single_updates: Some("prototypes are weighted class by class"),
    outvotes: |_| Some("prototypes are combined, not models"),
    ..MethodInfo::PLAIN
};

/// Settings of FedProto (`[methods.fedproto]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Strength λ of the pull towards prototypes, at least 0.
    pub lambda: f64,
    /// How a class's prototypes are averaged over its owners: by their training nodes of the class,
    /// or alike.
    pub prototype_weight: PrototypeWeight,
}

/// How a class's prototypes are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrototypeWeight {
    /// By the number of training nodes of the class (the paper).
    Counts,
    /// Every owner alike (the official code).
    Uniform,
}

impl PrototypeWeight {
    /// The weight of a client with `count` training nodes of the class.
    fn weigh(self, count: f64) -> f64 {
        match self {
            Self::Counts => count,
            Self::Uniform => count.min(1.0),
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { lambda: 1.0, prototype_weight: PrototypeWeight::Counts }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        not_negative("methods.fedproto.lambda", self.lambda)
    }
}

pub(super) fn client<T: Real>(context: &MethodContext<'_, T>, _: &LocalData<T>) -> Prototyped<T> {
    let (lambda, width) = (context.setup.methods.fedproto.lambda, context.hidden_width());
    Prototyped { lambda, width, received: None }
}

/// A client whose hidden representation is pulled towards the global prototypes.
pub(super) struct Prototyped<T> {
    lambda: f64,
    /// The width of the hidden representation.
    width: usize,
    /// The server's message, see [`Prototypes`].
    received: Option<Message<T>>,
}

impl<T: Real> Prototyped<T> {
    /// The global prototype of a class, if there is one yet.
    fn prototype(&self, class: usize) -> Option<&[T]> {
        self.received
            .as_ref()
            .filter(|received| received.numbers[class] > 0.0)
            .map(|received| received.tensors[0].row(class))
    }
}

default_hooks!(Prototyped<T>: PreparationHooks, PersonalModel, RuleState);

impl<T: Real> TrainingHooks<T> for Prototyped<T> {
    fn broadcast_form(&self, context: &ClientContext<'_, T>) -> BroadcastForm {
        let classes = context.data().classes();
        let marks = Part::whole("mark of a prototype", classes, 0.0..=1.0);
        BroadcastForm::Sometimes(Form::message().tensors(vec![(classes, self.width)]).with(marks))
    }

    fn begin(&mut self, _: &ClientContext<'_, T>, message: Option<&Message<T>>) -> Result<()> {
        self.received = message.cloned();
        Ok(())
    }

    fn extra(
        &self,
        context: &ClientContext<'_, T>,
        _: &Matrix<T>,
        hidden: Option<&Matrix<T>>,
    ) -> Extra<T> {
        let Some(hidden) = hidden.filter(|_| self.lambda > 0.0 && self.received.is_some()) else {
            return Extra::default();
        };
        let training = context.data().training();
        let rows = context.hidden_rows(training);
        let pairs: Vec<(u32, &[T])> = rows
            .into_iter()
            .zip(training)
            .filter_map(|(row, &v)| {
                let label = context.data().training_label(v as usize)?;
                Some((row, self.prototype(label as usize)?))
            })
            .collect();
        let (value, mut gradient) = extra_losses::squared_error(hidden, &pairs, context.pool());
        // The mean is over all training nodes: those of a class without a prototype add 0.
        let strength = self.lambda * (pairs.len() as f64 / training.len().max(1) as f64);
        extra_losses::scale(&mut gradient, strength);
        Extra { value: strength * value, hidden: Some(gradient), ..Extra::default() }
    }

    fn finish(&mut self, context: &ClientContext<'_, T>, local: &Params<T>) -> Result<Upload<T>> {
        let (logits, hidden) = context.inspect(local);
        context.pool().put(logits);
        let Some(hidden) = hidden else {
            unreachable!("networks without a hidden layer are refused")
        };
        let counts = context.data().training_counts();
        let mut sums = vec![vec![0.0; hidden.columns()]; counts.len()];
        for &v in context.data().training() {
            let Some(label) = context.data().training_label(v as usize) else { continue };
            sums[label as usize]
                .iter_mut()
                .zip(hidden.row(v as usize))
                .for_each(|(sum, x)| *sum += x.f64());
        }
        let mut own = Matrix::zeros(counts.len(), hidden.columns());
        for (c, sum) in sums.iter().enumerate() {
            own.row_mut(c)
                .iter_mut()
                .zip(sum)
                .for_each(|(p, sum)| *p = T::of(sum / counts[c].max(1) as f64));
        }
        context.pool().put(hidden);
        let numbers = counts.iter().map(|count| *count as f64).collect();
        Ok(Upload::only(Message { tensors: vec![own], numbers, entries: Vec::new() }))
    }
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> Prototypes<T> {
    let shape = (context.classes, context.hidden_width());
    Prototypes { weight: context.setup.methods.fedproto.prototype_weight, shape, global: None }
}

/// The global prototypes.
pub(super) struct Prototypes<T> {
    weight: PrototypeWeight,
    /// Classes and the width of the hidden representation.
    shape: (usize, usize),
    /// The message to all clients: a prototype per class, and 1 for each class that has one, 0 for
    /// the others.
    global: Option<Arc<Message<T>>>,
}

impl<T: Real> ServerRule<T> for Prototypes<T> {
    fn start(&self, client: usize) -> Option<&Model<T>> {
        NoServer.start(client)
    }

    fn tell(&self, _: usize) -> Option<&Arc<Message<T>>> {
        self.global.as_ref()
    }

    fn form(&self, turn: &SenderFacts<'_, T>) -> Form {
        let counts = Part::whole("count of training nodes", self.shape.0, 0.0..=turn.labelled);
        let form = Form::message().tensors(vec![self.shape]).with(counts);
        form.adding_up("counts of training nodes", 0..self.shape.0, turn.labelled..=turn.labelled)
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        let boosts = round.boost.without_norm();
        let trusted = Combination::new(updates, &vec![1.0; updates.len()], boosts)?.mean_weights();
        let (classes, width) = self.shape;
        let mut global = match self.global.take() {
            Some(global) => Arc::unwrap_or_clone(global),
            None => Message {
                numbers: vec![0.0; classes],
                ..Message::tensors(vec![Matrix::zeros(classes, width)])
            },
        };
        for c in 0..classes {
            let weights: Vec<f64> = updates
                .iter()
                .zip(&trusted)
                .map(|(u, trust)| self.weight.weigh(u.message.numbers[c]) * trust)
                .collect();
            let sum: f64 = weights.iter().sum();
            // A class that no participant owns keeps its prototype.
            if sum > 0.0 {
                for j in 0..width {
                    let parts = updates
                        .iter()
                        .zip(&weights)
                        .map(|(u, w)| w * u.message.tensors[0].row(c)[j].f64());
                    global.tensors[0].row_mut(c)[j] = T::of(parts.sum::<f64>() / sum);
                }
                global.numbers[c] = 1.0;
            }
        }
        self.global = Some(Arc::new(global));
        Ok(None)
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.option("global", &mut self.global, Arc::default)?;
        match &self.global {
            Some(global) => global.hold(&[self.shape], self.shape.0, visitor),
            None => Ok(()),
        }
    }

    fn models(&self) -> Vec<&Params<T>> {
        Vec::new()
    }
}
