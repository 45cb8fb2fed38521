//! FedSpray (Fu et al., KDD 2024): personal GNNs that learn from soft targets of shared modules.
//!
//! Clients never share their GNN. They share an encoder of features, two heads and one structure
//! proxy per class (see `modules`), and every client has a proxy σᵥ of each training node. One
//! round of a client, from received modules and class proxies S:
//!
//! 1. p₂ = softmax(q₂(x)) of all nodes;
//! 2. the reliable nodes R are the training nodes and those with max p₂ > threshold;
//! 3. the proxy of a node without training label is Σ_c p₂[v, c] S_c, training nodes keep their
//!    own;
//! 4. the teacher is T = q(x, proxy);
//! 5. the GNN: E epochs on CE + λ₁ · mean over R of KL(softmax T ‖ softmax GNN);
//! 6. modules and training proxies: epochs on CE(q₂) + mean KL(softmax GNN ‖ softmax q(x, σ)) over
//!    training nodes, with the GNN of step 5, without dropout;
//! 7. modules go up, with the mean proxy of the training nodes of each class (0 for a class without
//!    any).
//!
//! The server averages modules by labelled nodes, and proxies by the share ρ_{k,c} of class c in
//! client k's training nodes. Both follow from the class counts, which a client sends once. Proxies
//! of other nodes exist only inside step 4: nothing else reads them, so that a client stores no more
//! than n^L · s numbers.
//!
//! Decisions: GNN and modules are drawn by Glorot's rule (public code draws weights of the GNN
//! uniformly from [0, 1], those of modules from ±1/√outputs); a class that no participant has keeps
//! its proxy; the proxies' optimiser has no weight decay, that of the modules has the run's
//! settings.

mod modules;
mod server;

use self::modules::{FeatureViews, HEAD1, HEAD2, Teacher, shapes};
use self::server::Sharing;
use super::{EvaluatedModel, MethodContext, MethodInfo};
use crate::client_rule::{
    BroadcastForm, ClientContext, RuleState, StateContext, TrainingHooks, Upload, default_hooks,
};
use crate::config::{OptimizerState, above_zero, not_negative, steps, width};
use crate::local_data::LocalData;
use crate::screen::Form;
use crate::{Error, Result};
use boostfgl_nn::backbones::Extra;
use boostfgl_nn::optim::{Adam, AdamConfig, Optimizer};
use boostfgl_nn::{
    Matrix, Params, Reach, Real, StateVisitor, TensorShape, extra_losses, softmax_rows,
};
use boostfgl_protocol::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "fedspray",
    summary: "personal GNNs taught by a shared feature encoder and class-wise structure proxies",
    paper: "Fu et al., Federated Graph Learning with Structure Proxy Alignment, KDD 2024",
    equations: "modules:   e(x) = relu(W x + b); q(x,sigma) = W1 (e(x) + sigma) + b1; q2(x) = W2 \
        e(x) + b2; p2 = softmax q2\n\
                targets:   T = q(x, sigma_v), sigma_v = sum_c p2[v,c] S_c for nodes without \
                training label, else v's own\n\
                reliable:  R = training nodes and all with max p2 > threshold\n\
                client k:  GNN:      CE + lambda mean_{v in R} KL(softmax T || softmax GNN)\n\
                \x20          modules:  CE(q2) + mean_{v in training} KL(softmax GNN || softmax \
                q), GNN fixed\n\
                server:    modules = sum_k (n_k^L / sum_j n_j^L) modules_k\n\
                \x20          S_c = sum_k rho_kc S_kc / sum_k rho_kc, S_kc the mean proxy, rho_kc \
                the share of class c",
    wire: "up and down (d + 1)s + 2(s + 1)C + C s (encoder, heads, class proxies); up once C \
        (training nodes per class)",
    evaluated: "each client's own GNN, on its local graph",
    departures: "Not reproduced from public code: head 2 starts from the averaged head 1 \
        (head2_start = \"head1\" does that; here\n\
                 it starts from the averaged head 2), weights of the GNN drawn uniformly from \
                 [0, 1] and of the modules from\n\
                 +-1/sqrt(outputs) (here Glorot's rule for both), and no weight decay of the \
                 modules (here optimizer.* decides).\n\
                 Its authors report the round with the best validation loss. That matters: where \
                 R grows while the teacher is\n\
                 often wrong, accuracy falls later on (Cora: from about round 20; last round \
                 71.8, best validation round 80.3,\n\
                 isolated training 80.4, seeds 0 to 4). fed.report = \"best-val\" reports the \
                 best round. Public code prints lambda = 5 and passes 1, the default here.\n\
                 The paper's text has class-wise local proxies; as in public code they belong to \
                 training nodes. Means weigh\n\
                 modules by labelled nodes under every fed.client_weight. A class that no \
                 participant has keeps its proxy.",
    evaluated_model: EvaluatedModel::Personal,
    extra_bytes: |sizes, configs| {
        let (s, classes) = (configs.fedspray.width as f64, sizes.classes);
        let modules = (sizes.features + 1.0) * s + 2.0 * (s + 1.0) * classes;
        // Modules as received, as trained, their gradient and two moments; proxies alike; features
        // encoded; targets.
        4.0 * (sizes.clients() * 5.0 * modules + sizes.all_nodes() * (6.0 * s + 2.0 * classes))
    },
    single_updates: Some("modules and proxies are weighted class by class"),
    outvotes: |_| Some("modules and proxies are combined class by class, not models"),
    ..MethodInfo::PLAIN
};

/// Settings of FedSpray (`[methods.fedspray]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Strength λ₁ of the soft targets in the GNN's loss, at least 0. With 0 every GNN trains as if
    /// alone.
    pub lambda: f64,
    /// A node without training label is reliable if features alone give a class more than this
    /// probability; 0 to 1.
    pub threshold: f64,
    /// Width s of encoder and proxies, 1 to 1000000.
    pub width: usize,
    /// Epochs of modules and proxies per round; 0 means as many as fed.epochs.
    pub proxy_epochs: usize,
    /// Learning rate of the proxies, above 0.
    pub proxy_rate: f64,
    /// What head 2 starts a round from: the received head 2, or the received head 1 as in public
    /// code.
    pub head2_start: Head2Start,
}

/// What head 2 starts a round from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Head2Start {
    /// The received head 2.
    Own,
    /// The received head 1, as in public code.
    Head1,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            lambda: 1.0,
            threshold: 0.7,
            width: 64,
            proxy_epochs: 0,
            proxy_rate: 0.02,
            head2_start: Head2Start::Own,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        not_negative("methods.fedspray.lambda", self.lambda)?;
        if !(0.0..=1.0).contains(&self.threshold) {
            return Err(Error::setting(
                "methods.fedspray.threshold",
                "a number from 0 to 1",
                self.threshold,
            ));
        }
        width("methods.fedspray.width", self.width)?;
        steps("methods.fedspray.proxy_epochs", 0, self.proxy_epochs)?;
        above_zero("methods.fedspray.proxy_rate", self.proxy_rate)?;
        Ok(())
    }
}

/// Every coordinate of a training node's proxy before its first round.
const FIRST_PROXY: f64 = 0.1;

fn set_first_proxies<T: Real>(proxies: &mut Matrix<T>) {
    // Padding first: proxies that overflowed may have left NaN there.
    proxies.data_mut().fill(T::ZERO);
    (0..proxies.rows()).for_each(|i| proxies.row_mut(i).fill(T::of(FIRST_PROXY)));
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> Sharing<T> {
    Sharing::new(context)
}

pub(super) fn client<T: Real>(context: &MethodContext<'_, T>, data: &LocalData<T>) -> Learner<T> {
    let config = context.setup.methods.fedspray.clone();
    let shapes = shapes(context.features, config.width, context.classes);
    let zeros = shapes.iter().map(|s| Matrix::zeros(s.rows, s.columns)).collect();
    let received = Params::from_tensors(&shapes, zeros);
    let mut proxies = Matrix::zeros(data.training().len(), config.width);
    set_first_proxies(&mut proxies);
    let shape = TensorShape::weight("proxies", proxies.rows(), config.width);
    Learner {
        views: FeatureViews::new(data),
        modules: received.clone(),
        received,
        optimizer: context.setup.optimizer.build(),
        proxies: Params::from_tensors(&[shape], vec![proxies]),
        proxy_optimizer: Adam::new(AdamConfig {
            rate: config.proxy_rate,
            weight_decay: 0.0,
            ..AdamConfig::default()
        }),
        teacher: None,
        sent_counts: false,
        config,
    }
}

/// A client that trains its own GNN and the shared modules.
pub(super) struct Learner<T: Real> {
    config: Config,
    views: FeatureViews<T>,
    /// The modules that this round started from.
    received: Params<T>,
    modules: Params<T>,
    optimizer: Box<dyn Optimizer<T>>,
    /// σᵥ of the training nodes, in their order.
    proxies: Params<T>,
    proxy_optimizer: Adam<T>,
    teacher: Option<Teacher<T>>,
    /// Whether the server has received the class counts.
    sent_counts: bool,
}

impl<T: Real> Learner<T> {
    fn is_taught(&self) -> bool {
        self.config.lambda > 0.0
    }

    /// Step 6, against the distributions `gnn` of the training nodes.
    fn train_modules(&mut self, context: &ClientContext<'_, T>, gnn: &Matrix<T>) -> Result<()> {
        if context.settings.optimizer.optimizer_state == OptimizerState::Reset {
            self.optimizer.reset();
            self.proxy_optimizer.reset();
        }
        self.modules.copy_from(&self.received);
        if self.config.head2_start == Head2Start::Head1 {
            let (first, second) = self.modules.tensors_mut().split_at_mut(HEAD2);
            second.iter_mut().zip(&first[HEAD1..]).for_each(|(to, from)| to.copy_from(from));
        }
        let epochs =
            if self.config.proxy_epochs == 0 { context.epochs() } else { self.config.proxy_epochs };
        for _ in 0..epochs {
            let own = &self.proxies.tensors()[0];
            let (value, mut gradients) =
                self.views.gradients(&self.modules, own, context.loss(), gnn, context.pool());
            if !value.is_finite() {
                return Err(context.diverged("loss of the shared modules"));
            }
            // Proxies come after the modules and have an optimiser of their own.
            let own = gradients.split_off(self.modules.tensors().len());
            self.optimizer.step(&mut self.modules, &gradients);
            self.proxy_optimizer.step(&mut self.proxies, &own);
            gradients.into_iter().chain(own).for_each(|g| context.pool().put(g));
        }
        Ok(())
    }

    /// The mean proxy of the training nodes of each class; 0 for a class without any.
    fn class_means(&self, data: &LocalData<T>) -> Matrix<T> {
        let (proxies, counts) = (&self.proxies.tensors()[0], data.training_counts());
        let mut means = Matrix::zeros(counts.len(), proxies.columns());
        for (i, &v) in data.training().iter().enumerate() {
            let Some(class) = data.training_label(v as usize) else { continue };
            let share = T::of(1.0 / counts[class as usize] as f64);
            let mean = means.row_mut(class as usize);
            mean.iter_mut().zip(proxies.row(i)).for_each(|(mean, x)| *mean += share * *x);
        }
        means
    }
}

default_hooks!(Learner<T>: PreparationHooks, PersonalModel);

impl<T: Real> TrainingHooks<T> for Learner<T> {
    fn reach(&self) -> Reach {
        if self.is_taught() { Reach::Everything } else { Reach::Output }
    }

    fn broadcast_form(&self, context: &ClientContext<'_, T>) -> BroadcastForm {
        let modules = self.received.shapes().iter().map(|shape| (shape.rows, shape.columns));
        let proxies = (context.data().classes(), self.config.width);
        BroadcastForm::Always(Form::message().tensors(modules.chain([proxies]).collect()))
    }

    fn begin(
        &mut self,
        context: &ClientContext<'_, T>,
        message: Option<&Message<T>>,
    ) -> Result<()> {
        let Some((class_proxies, modules)) =
            message.and_then(|message| message.tensors.split_last())
        else {
            return Ok(());
        };
        self.received
            .tensors_mut()
            .iter_mut()
            .zip(modules)
            .for_each(|(to, from)| to.copy_from(from));
        if self.is_taught() {
            let (own, threshold) = (&self.proxies.tensors()[0], self.config.threshold);
            self.teacher = Some(self.views.teach(
                &self.received,
                class_proxies,
                own,
                threshold,
                context.pool(),
            ));
        }
        Ok(())
    }

    fn extra(
        &self,
        context: &ClientContext<'_, T>,
        logits: &Matrix<T>,
        _: Option<&Matrix<T>>,
    ) -> Extra<T> {
        let Some(teacher) = &self.teacher else { return Extra::default() };
        let (value, mut gradient) =
            extra_losses::divergence(&teacher.targets, logits, &teacher.reliable, context.pool());
        extra_losses::scale(&mut gradient, self.config.lambda);
        Extra { value: self.config.lambda * value, logits: Some(gradient), ..Extra::default() }
    }

    fn refused(&mut self, numeric: bool) {
        self.sent_counts = false;
        if numeric {
            self.optimizer.reset();
            self.proxy_optimizer.reset();
        }
        if !self.proxies.is_finite() {
            self.proxies.tensors_mut().iter_mut().for_each(set_first_proxies);
        }
    }

    fn finish(&mut self, context: &ClientContext<'_, T>, local: &Params<T>) -> Result<Upload<T>> {
        if let Some(teacher) = self.teacher.take() {
            context.pool().put(teacher.targets);
        }
        // The GNN of step 5, without dropout, is the teacher of step 6.
        let all = context.logits(local);
        let mut gnn = all.rows_at(context.data().training());
        context.pool().put(all);
        softmax_rows(&mut gnn);
        self.train_modules(context, &gnn)?;
        let mut message = Message::tensors(self.modules.tensors().to_vec());
        message.tensors.push(self.class_means(context.data()));
        // Counts never change, so that they are sent once.
        if !std::mem::replace(&mut self.sent_counts, true) {
            message.numbers = context.data().training_counts().iter().map(|&n| n as f64).collect();
        }
        Ok(Upload {
            moved: Some(self.modules.tensor_distances(&self.received)),
            ..Upload::only(message)
        })
    }
}

impl<T: Real> RuleState<T> for Learner<T> {
    fn visit(
        &mut self,
        _: &StateContext<'_, T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        visitor.visit("proxies", &mut self.proxies)?;
        let (modules, proxies) = (&self.modules, &self.proxies);
        visitor.within("optimizer", |visitor| self.optimizer.visit(modules, visitor))?;
        visitor
            .within("proxy optimizer", |visitor| self.proxy_optimizer.visit(proxies, visitor))?;
        visitor.visit("introduced", &mut self.sent_counts)
    }
}
