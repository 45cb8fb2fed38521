//! FairFGL (Wu et al., 2025): fairness for minority classes and heterophilous nodes, on client and
//! server.
//!
//! There is no public code, and the published descriptions leave formulas open. What is known: a
//! history model is the mean of the five most recent globals; it is mixed into the local model by a
//! trained weight and teaches it on unlabelled nodes; heterophilous nodes of majority classes are
//! aligned; knowledge of a minority class comes from clients where it is a majority; only the most
//! changed parameters go up; the server reconciles clusters of clients. Everything else is
//! **decided here**, one key each where a choice is sensible:
//!
//! * *History* (`history`): globals that this client received, the current one included; from the
//!   second on there is a history, and before that the client is FedAvg's.
//! * *Mixture* (`alpha`, `alpha_rate`): passes use Ŵ = α·W_hist + (1 − α)·W_local, α = sigmoid(a),
//!   with a number a per parameter, per tensor or one for all, trained by Adam without weight decay
//!   from a = 0 (α = ½).
//! * *Distillation* (`distill`): λ₁ · mean over nodes without training label of KL(softmax z_hist ‖
//!   softmax z).
//! * *Alignment* (`align`, `homophily`): λ₂ · mean of 1 − cos(h_v, μ_{y_v}), see `alignment`.
//! * *Classes*: the rarest classes that hold less than a share `minority_ratio` of a client's
//!   training nodes together are its minority, classes without any are neither, see `experts`.
//! * *Gradient modification* (`modify`): after training a client sends, for each majority class,
//!   the mean gradient of cross-entropy over that class's training nodes with respect to its column
//!   of the last layer, under the model it sends. The server averages over the senders. Before each
//!   step of the next round a client turns the gradient of each minority class's column that way,
//!   keeping its length: g ← (1 − η)g + η(‖g‖/‖ḡ‖)ḡ. The gradient with respect to Ŵ is turned; those
//!   with respect to W_local and a follow from it.
//! * *Upload* (`upload`, `keep`): the ⌈ρP⌉ entries of largest |W − W_g|, each as place and value,
//!   where W is W_local or the mixture Ŵ. With ρ = 1 and W_local the model itself goes up: the same
//!   information in half the numbers, and a mean of models that is FedAvg's to the bit.
//! * *Clusters* (`clusters`, `cluster_trust`): by the cosine of updates as sent; inside a cluster,
//!   per coordinate, the size-weighted mean over those that sent it; clusters count equally.
//! * *Evaluation* (`evaluate`): the global model, or each client's mixture with the history of its last
//!   round.
//!
//! What is trained is Ŵ, while W_local is sent and the mean of those is evaluated by default: a model
//! that the loss never saw. `upload` and `evaluate` choose the mixture instead. The defaults were
//! decided on accuracy on validation nodes, last round, seeds 0 to 4 with everything on. Cora,
//! CiteSeer and Chameleon: 83.4, 70.5 and 54.0; `evaluate = "mixture"` 83.5, 70.4 and 54.6, which is
//! no difference; `upload = "mixture"` 84.2, 71.8 and 50.5, ahead on two and far behind on one.
//!
//! Model boosting weighs clients inside their cluster, by ‖Δ‖ before sparsification, which goes up
//! as a further number (one per tensor under tensor trust): the norm after it would favour clients
//! that moved many parameters a little.

mod alignment;
mod clusters;
mod entries;
mod experts;
mod history;
mod mixture;
mod server;
mod upload;

use self::alignment::Alignment;
use self::experts::{LastLayer, Roles};
use self::history::History;
use self::mixture::Mixture;
use self::server::Reconciling;
use super::{MethodContext, MethodInfo, needs_hidden};
use crate::boost::{Boost, TrustScope};
use crate::client_rule::{
    BroadcastForm, ClientContext, PersonalModel, RuleState, StateContext, TrainingHooks, Upload,
    default_hooks,
};
use crate::config::{OptimizerState, above_zero, not_negative, share, steps};
use crate::local_data::LocalData;
use crate::screen::Form;
use crate::{Error, Result};
use boostfgl_nn::backbones::Extra;
use boostfgl_nn::{
    Matrix, Params, Reach, Real, StateVisitor, TopChanges, extra_losses, softmax_rows, top_changes,
};
use boostfgl_protocol::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "fairfgl",
    summary: "history-preserving clients, experts for minority classes, sparse uploads and \
        clustered means",
    paper: "Wu et al., arXiv 2504.09963; journal version: Toward Fair Federated Graph Learning, \
        TNNLS",
    equations: "history:   W_hist = mean of the last 5 received globals; W^ = alpha W_hist + (1 - \
        alpha) W_local, alpha learnt\n\
                client k:  CE + l1 mean_{v unlabelled} KL(softmax z_hist || softmax z) + l2 \
                mean_v (1 - cos(h_v, mu_{y_v}))\n\
                \x20          v: heterophilous training nodes of majority classes; mu_c: mean of \
                the homophilous ones\n\
                experts:   gbar_c = mean over clients with majority class c of the gradient of \
                c's column of the last layer\n\
                \x20          minority class c:  g_c = (1 - eta) g_c + eta (|g_c|/|gbar_c|) \
                gbar_c\n\
                upload:    the rho P entries of W_local - W (upload = \"mixture\": W^ - W) that \
                moved most\n\
                server:    clusters by cosine; W = W + mean over clusters of the n_k-weighted \
                mean of what members sent",
    wire: "up 2 ceil(rho P) + 1 (places and values, size) + m_k (h + 1) (gradients of m_k \
        majority classes; once the m_k\n\
           class numbers), model boosting + 1 (norm); with rho = 1 and upload = \"local\" P \
           instead of 2 ceil(rho P)\n\
           down P, from the second round on + C (h + 1) (class gradients)",
    departures: "There is no public code. Alignment, gradient modification, the share kept, \
        clustering and all strengths are this\n\
                 project's reading of published descriptions, each behind a key of \
                 methods.fairfgl; the source lists them.\n\
                 The loss trains the mixture W^, while W_local is sent and the mean of those is \
                 evaluated: upload = \"mixture\" and\n\
                 evaluate = \"mixture\" send and evaluate what was trained.",
    network: needs_hidden,
    extra_bytes: |sizes, configs| {
        // Clients share the globals that they received, of which there are at most as many as
        // rounds.
        let received = (configs.fairfgl.history as f64).min(sizes.rounds);
        // Their mean; a, its gradient, two moments and W^; the upload on the client and on the
        // server.
        let models = received + sizes.clients() * (1.0 + 5.0 + 4.0);
        4.0 * (models * sizes.parameters + sizes.all_nodes() * sizes.classes)
    },
    single_updates: Some("updates are clustered by their direction"),
    outvotes: |_| Some("entries are combined within clusters, not whole models"),
    ..MethodInfo::PLAIN
};

/// Settings of FairFGL (`[methods.fairfgl]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The number of received global models in the history model, 1 to 1000000000.
    pub history: usize,
    /// What has its own mixing weight: each parameter, each tensor, the model as a whole, or
    /// nothing (no mixture).
    pub alpha: Alpha,
    /// Learning rate of the mixing weights, above 0.
    pub alpha_rate: f64,
    /// Strength λ₁ of the distillation from the history model, at least 0.
    pub distill: f64,
    /// Strength λ₂ of the alignment of heterophilous majority nodes, at least 0.
    pub align: f64,
    /// A node is homophilous if at least this share of its neighbours has its class; 0 to 1.
    pub homophily: f64,
    /// Minority classes of a client: the rarest classes with training nodes that together hold less
    /// than this share of them; 0 (none) to 1.
    pub minority_ratio: f64,
    /// Share η of the experts' direction in the gradient of a minority class; 0 (no gradient
    /// modification) to 1.
    pub modify: f64,
    /// Share ρ of the parameters that go up, above 0 and at most 1.
    pub keep: f64,
    /// What a client sends: its own weights W_local, or their mixture with the history, which is
    /// what it trains.
    pub upload: UploadedWeights,
    /// How clients are clustered: average linkage to 2 clusters, components of positive cosine, or
    /// one cluster.
    pub clusters: Clusters,
    /// Whether model boosting also weighs clusters, by their mean trust.
    pub cluster_trust: bool,
    /// What is evaluated: the global model, or each client's mixture of it with its history.
    pub evaluate: EvaluatedWeights,
}

/// What has its own mixing weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Alpha {
    /// Nothing is mixed.
    Off,
    /// The model as a whole.
    Scalar,
    /// Each tensor.
    Tensor,
    /// Each parameter.
    Element,
}

/// How clients are clustered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Clusters {
    /// Average linkage of cosines until two are left (one, if all updates have the same direction).
    Linkage,
    /// Connected components of pairs with a positive cosine.
    Components,
    /// All clients together.
    One,
}

/// What a client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UploadedWeights {
    /// W_local.
    Local,
    /// Ŵ; W_local while there is no history.
    Mixture,
}

/// What is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvaluatedWeights {
    /// The global model.
    Global,
    /// Each client's mixture of the global model with its history.
    Mixture,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            history: 5,
            alpha: Alpha::Element,
            alpha_rate: 0.01,
            distill: 1.0,
            align: 1.0,
            homophily: 0.5,
            minority_ratio: 0.5,
            modify: 0.5,
            keep: 0.3,
            upload: UploadedWeights::Local,
            clusters: Clusters::Linkage,
            cluster_trust: false,
            evaluate: EvaluatedWeights::Global,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        steps("methods.fairfgl.history", 1, self.history)?;
        above_zero("methods.fairfgl.alpha_rate", self.alpha_rate)?;
        not_negative("methods.fairfgl.distill", self.distill)?;
        not_negative("methods.fairfgl.align", self.align)?;
        for (key, value) in [
            ("methods.fairfgl.homophily", self.homophily),
            ("methods.fairfgl.minority_ratio", self.minority_ratio),
            ("methods.fairfgl.modify", self.modify),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::setting(key, "a number from 0 to 1", value));
            }
        }
        share("methods.fairfgl.keep", self.keep)
    }

    /// Whether the model itself goes up, in place of entries.
    fn is_lossless(&self) -> bool {
        self.keep >= 1.0 && !self.sends_mixture()
    }

    fn sends_mixture(&self) -> bool {
        self.upload == UploadedWeights::Mixture && self.alpha != Alpha::Off
    }

    fn uses_history(&self) -> bool {
        self.alpha != Alpha::Off || self.distill > 0.0 || self.align > 0.0
    }
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> Reconciling<T> {
    Reconciling::new(context)
}

pub(super) fn client<T: Real>(context: &MethodContext<'_, T>, data: &LocalData<T>) -> Preserver<T> {
    let config = context.setup.methods.fairfgl.clone();
    let trusted = context.setup.boosts.contains(&Boost::Model);
    Preserver {
        roles: Roles::new(data, context.setup.methods.fairfgl.minority_ratio),
        last: LastLayer::find(context.initial.shapes(), context.classes),
        history: History::new(config.history),
        mixture: Mixture::new(&config, context.initial),
        history_targets: None,
        alignment: None,
        directions: None,
        mixes: false,
        mixed: None,
        sent_classes: false,
        norms: trusted.then_some(context.setup.boost.model.trust_scope),
        unlabelled: (0..data.len() as u32)
            .filter(|&v| data.training_label(v as usize).is_none())
            .collect(),
        config,
    }
}

/// A client with a history model, alignment and gradient modification.
pub(super) struct Preserver<T: Real> {
    config: Config,
    roles: Roles,
    last: Option<LastLayer>,
    unlabelled: Vec<u32>,
    history: History<T>,
    mixture: Option<Mixture<T>>,
    /// Whether this round's passes use the mixture: there is a history.
    mixes: bool,
    /// Ŵ, during training.
    mixed: Option<Params<T>>,
    /// softmax z_hist of every local node.
    history_targets: Option<Matrix<T>>,
    alignment: Option<Alignment>,
    /// ḡ_c of every class, as received.
    directions: Option<Matrix<T>>,
    /// Whether the server has received the majority classes.
    sent_classes: bool,
    /// Which norms go up, under model boosting.
    norms: Option<TrustScope>,
}

impl<T: Real> Preserver<T> {
    /// Predictions of the history model: targets for unlabelled nodes and labels for homophily.
    fn predict_with_history(&mut self, context: &ClientContext<'_, T>) {
        let Some(history) =
            self.history.mean().filter(|_| self.config.distill + self.config.align > 0.0)
        else {
            return;
        };
        let mut scores = context.logits(history);
        if self.config.align > 0.0 {
            self.alignment =
                Some(Alignment::new(context, &self.roles, &scores, self.config.homophily));
        }
        if self.config.distill > 0.0 {
            softmax_rows(&mut scores);
            self.history_targets = Some(scores);
        } else {
            context.pool().put(scores);
        }
    }

    /// Ŵ of a model, if there is a history to mix it with.
    fn mixed(&self, model: &Params<T>) -> Option<Params<T>> {
        let (mixture, history, mut mixed) =
            (self.mixture.as_ref()?, self.history.mean()?, model.clone());
        mixture.mix(history, model, &mut mixed);
        Some(mixed)
    }

    /// The entries that go up in place of the model, and the norms that they no longer show.
    fn sparse(&self, context: &ClientContext<'_, T>, local: &Params<T>) -> Upload<T> {
        let TopChanges { entries, distances: moved } =
            top_changes(local, context.start(), upload::kept(self.config.keep, local.count()));
        let numbers = match self.norms {
            None => Vec::new(),
            Some(TrustScope::Model) => vec![libm::sqrt(moved.iter().map(|d| d * d).sum())],
            Some(TrustScope::Tensor) => moved.clone(),
        };
        let message = Message { entries, numbers, ..Message::default() };
        Upload { size: true, moved: Some(moved), ..Upload::only(message) }
    }
}

default_hooks!(Preserver<T>: PreparationHooks);

impl<T: Real> TrainingHooks<T> for Preserver<T> {
    fn reach(&self) -> Reach {
        if self.config.distill > 0.0 { Reach::Everything } else { Reach::Output }
    }

    fn broadcast_form(&self, context: &ClientContext<'_, T>) -> BroadcastForm {
        let shape = self.last.map(|last| (context.data().classes(), last.numbers(context.start())));
        BroadcastForm::Sometimes(Form::message().tensors(shape.into_iter().collect()))
    }

    fn begin(
        &mut self,
        context: &ClientContext<'_, T>,
        message: Option<&Message<T>>,
    ) -> Result<()> {
        if self.last.is_none() && self.config.modify > 0.0 {
            let (what, reason) = (
                "this backbone".into(),
                "its last layer has no weight matrix with a column per class",
            );
            return Err(Error::Refused { method: INFO.name, what, reason });
        }
        if self.config.uses_history() {
            self.history.receive(context.rounds_done(), context.shared_start());
        }
        self.mixes = self.mixture.is_some() && self.history.mean().is_some();
        if context.settings.optimizer.optimizer_state == OptimizerState::Reset {
            self.mixture.iter_mut().for_each(Mixture::reset);
        }
        self.predict_with_history(context);
        self.directions = message.and_then(|message| message.tensors.first()).cloned();
        Ok(())
    }

    fn reparametrise(&mut self, context: &ClientContext<'_, T>, model: &Params<T>) {
        if let (true, Some(mixture), Some(history)) =
            (self.mixes, &self.mixture, self.history.mean())
        {
            mixture.mix(
                history,
                model,
                self.mixed.get_or_insert_with(|| model.same_shape(context.pool())),
            );
        }
    }

    fn effective(&self) -> Option<&Params<T>> {
        self.mixed.as_ref()
    }

    fn extra(
        &self,
        context: &ClientContext<'_, T>,
        logits: &Matrix<T>,
        hidden: Option<&Matrix<T>>,
    ) -> Extra<T> {
        let mut extra = Extra::default();
        if let Some(targets) = &self.history_targets {
            let (value, mut gradient) =
                extra_losses::divergence(targets, logits, &self.unlabelled, context.pool());
            extra_losses::scale(&mut gradient, self.config.distill);
            extra.value += self.config.distill * value;
            extra.logits = Some(gradient);
        }
        let aligned = self
            .alignment
            .as_ref()
            .zip(hidden)
            .and_then(|(a, hidden)| a.loss(hidden, context.pool()));
        if let Some((value, mut gradient)) = aligned {
            extra_losses::scale(&mut gradient, self.config.align);
            extra.value += self.config.align * value;
            extra.hidden = Some(gradient);
        }
        extra
    }

    fn adjust(&mut self, _: &ClientContext<'_, T>, model: &Params<T>, gradients: &mut [Matrix<T>]) {
        if let (Some(last), Some(directions)) = (self.last, &self.directions) {
            last.modify(gradients, directions, &self.roles.minority, self.config.modify);
        }
        if let (true, Some(mixture), Some(history)) =
            (self.mixes, &mut self.mixture, self.history.mean())
        {
            // After the modification: the mixture passes the modified gradient on to W_local and a.
            mixture.step_back(history, model, gradients);
        }
    }

    fn refused(&mut self, numeric: bool) {
        self.sent_classes = false;
        // Left over if the round failed before `finish`.
        (self.history_targets, self.alignment, self.mixed) = (None, None, None);
        self.mixture.iter_mut().filter(|_| numeric).for_each(Mixture::recover);
    }

    fn finish(&mut self, context: &ClientContext<'_, T>, local: &Params<T>) -> Result<Upload<T>> {
        self.history_targets.take().into_iter().for_each(|targets| context.pool().put(targets));
        self.alignment = None;
        self.mixed
            .take()
            .into_iter()
            .flat_map(Params::into_tensors)
            .for_each(|tensor| context.pool().put(tensor));
        let mixed = if self.config.sends_mixture() { self.mixed(local) } else { None };
        let sent = mixed.as_ref().unwrap_or(local);
        let mut upload =
            if self.config.is_lossless() { Upload::model() } else { self.sparse(context, sent) };
        let classes = self.roles.majority_classes();
        if let Some(last) = self.last.filter(|_| self.config.modify > 0.0 && !classes.is_empty()) {
            upload.message.tensors.push(last.class_gradients(context, sent, &classes));
            // Majority classes never change, so that they are sent once.
            if !std::mem::replace(&mut self.sent_classes, true) {
                upload.message.numbers.extend(classes.iter().map(|&class| class as f64));
            }
        }
        Ok(upload)
    }
}

impl<T: Real> PersonalModel<T> for Preserver<T> {
    fn deploy(&mut self, model: &Params<T>) -> Option<Params<T>> {
        if self.config.evaluate == EvaluatedWeights::Global { None } else { self.mixed(model) }
    }
}

impl<T: Real> RuleState<T> for Preserver<T> {
    fn visit(
        &mut self,
        context: &StateContext<'_, T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        visitor.within("history", |visitor| self.history.visit(context.local, visitor))?;
        if let Some(mixture) = &mut self.mixture {
            visitor.within("mixture", |visitor| mixture.visit(visitor))?;
        }
        visitor.visit("introduced", &mut self.sent_classes)
    }
}
