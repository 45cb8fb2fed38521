//! Fed-PUB (Baek et al., ICML 2023): personal models from clients that behave alike, under personal
//! sparse masks.
//!
//! A client multiplies its weights by a mask m of the same shapes, 1 at first and never sent, and
//! minimises CE + λ₁‖m‖₁ + λ₂ Σ_tensors ‖θ − θ̄‖₂ (from its second round on), θ̄ the model it
//! received. What is evaluated is θ∘m with entries
//! |m| < λ₁ set to 0.
//!
//! After training it sends its functional embedding: the mean over a random proxy graph that all
//! share (blocks of nodes, features N(0, 1)) of what goes into the last activation of its evaluated
//! model. The server gives client i Σⱼ aᵢⱼ θⱼ with aᵢⱼ = softmax over j of τ·cos(embᵢ, embⱼ).
//!
//! The published network is two convolutions and a linear classifier; its embedding is the second
//! convolution's output before the ReLU that stands in front of the classifier. The shared networks
//! have no such third layer, so here it is the same place in them: what the last layer reads,
//! before its ReLU. After the ReLU no coordinate is negative, all cosines are near 1 and every
//! client gets about the same mean.

use super::fedgta::cosine;
use super::{
    EvaluatedModel, MethodContext, MethodInfo, Round, SenderFacts, ServerRule, needs_hidden,
};
use crate::aggregate::{Combination, Contribution};
use crate::client_rule::{
    ClientContext, PersonalModel, RuleState, StateContext, TrainingHooks, Upload, default_hooks,
};
use crate::config::{WIDEST, not_negative, width};
use crate::local_data::LocalData;
use crate::screen::{Form, Part};
use crate::{Error, Result};
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Stream};
use boostfgl_nn::backbones::{Backbone, Pass};
use boostfgl_nn::optim::{Adam, AdamConfig, Optimizer as _};
use boostfgl_nn::{Inputs, Matrix, Params, Real, StateVisitor, View};
use boostfgl_protocol::{Message, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "fedpub",
    summary: "personal models: functional similarity on a proxy graph, personal sparse masks",
    paper: "Baek et al., Personalized Subgraph Federated Learning, ICML 2023",
    equations: "client k:  weights theta*m; CE + lambda1 |m|_1 + lambda2 sum_tensors |theta - \
        theta_received|_2\n\
                \x20          e_k = mean over a shared random proxy graph of the hidden layer \
                before its ReLU\n\
                server:    a_ij = softmax_j(tau cos(e_i, e_j));  theta_i = sum_j a_ij theta_j",
    wire: "up P + h (model, functional embedding), down P (personal); masks never travel",
    evaluated: "each client's personal model under its mask, on its local graph",
    departures: "In the official code and in OpenFGL both penalties are computed on detached \
        tensors and give no gradient; here\n\
                 they do. The published network is two convolutions and a linear classifier, and \
                 its embedding is the second\n\
                 convolution's output before the ReLU; the shared networks have no third layer, \
                 so the embedding is what their\n\
                 last layer reads, before its ReLU (in h2gcn before messages, too). Masks cover \
                 weights, not biases.",
    evaluated_model: EvaluatedModel::Personal,
    network: needs_hidden,
    extra_bytes: |sizes, configs| {
        let proxy = configs.fedpub.proxy_blocks as f64 * configs.fedpub.proxy_nodes as f64;
        // Both directions of an edge, in a list, in the graph and in the operator made of it.
        let arcs = proxy * configs.fedpub.proxy_nodes as f64 * configs.fedpub.proxy_density;
        sizes.clients()
            * (4.0 * (6.0 * sizes.parameters + 2.0 * proxy * sizes.features) + 24.0 * arcs)
    },
    single_updates: Some(
        "every client gets a mean of its own, weighted by the similarity of updates",
    ),
    outvotes: |_| Some("every client gets a mean of its own, weighted by similarity"),
    ..MethodInfo::PLAIN
};

/// Every client draws every pair of nodes within a block, so that their number is limited.
const MOST_PAIRS: u64 = 1_000_000_000;

/// Settings of Fed-PUB (`[methods.fedpub]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Sharpness τ of the similarity weights, at least 0; with 0 all clients weigh the same.
    pub tau: f64,
    /// Strength λ₁ of the masks' sparsity, and the size below which a mask entry is evaluated as 0;
    /// at least 0.
    pub lambda1: f64,
    /// Strength λ₂ of the pull towards the received model, at least 0.
    pub lambda2: f64,
    /// Whether masks are trained; if not they stay 1.
    pub train_masks: bool,
    /// Blocks of the proxy graph, at least 1; at most 1000000 nodes in all of them.
    pub proxy_blocks: usize,
    /// Nodes of each block, at least 1; at most 1000000000 pairs of them in all blocks.
    pub proxy_nodes: usize,
    /// Probability of an edge inside a block, from 0 to 1.
    pub proxy_density: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tau: 10.0,
            lambda1: 1e-3,
            lambda2: 1e-3,
            train_masks: true,
            proxy_blocks: 5,
            proxy_nodes: 100,
            proxy_density: 0.1,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        not_negative("methods.fedpub.tau", self.tau)?;
        not_negative("methods.fedpub.lambda1", self.lambda1)?;
        not_negative("methods.fedpub.lambda2", self.lambda2)?;
        width("methods.fedpub.proxy_blocks", self.proxy_blocks)?;
        width("methods.fedpub.proxy_nodes", self.proxy_nodes)?;
        if self.proxy_blocks * self.proxy_nodes > WIDEST {
            let expected = format!("at most {WIDEST} nodes in all {} blocks", self.proxy_blocks);
            return Err(Error::setting("methods.fedpub.proxy_nodes", expected, self.proxy_nodes));
        }
        if self.proxy_blocks as u64 * (self.proxy_nodes as u64).pow(2) > MOST_PAIRS {
            let expected = format!(
                "at most {MOST_PAIRS} pairs of nodes within all {} blocks",
                self.proxy_blocks
            );
            return Err(Error::setting("methods.fedpub.proxy_nodes", expected, self.proxy_nodes));
        }
        if !(0.0..=1.0).contains(&self.proxy_density) {
            return Err(Error::setting(
                "methods.fedpub.proxy_density",
                "a number from 0 to 1",
                self.proxy_density,
            ));
        }
        Ok(())
    }
}

pub(super) fn client<T: Real>(context: &MethodContext<'_, T>, _: &LocalData<T>) -> Masked<T> {
    let config = context.setup.methods.fedpub.clone();
    let mut mask = context.initial.clone();
    mask.tensors_mut().iter_mut().for_each(ones);
    let rate = context.setup.optimizer.learning_rate;
    let optimizer = Adam::new(AdamConfig { rate, weight_decay: 0.0, ..AdamConfig::default() });
    let proxy = proxy(&config, context.setup.seed, context.features, context.backbone);
    let effective = context.initial.clone();
    Masked { config, mask, optimizer, effective, proxy, rounds: 0 }
}

/// Sets a mask to 1, and its padding to 0: a mask that overflowed may have left NaN there.
fn ones<T: Real>(tensor: &mut Matrix<T>) {
    tensor.data_mut().fill(T::ZERO);
    (0..tensor.rows()).for_each(|r| tensor.row_mut(r).fill(T::ONE));
}

/// The proxy graph, the same for every client under one seed.
fn proxy<T: Real>(config: &Config, seed: u64, width: usize, backbone: &dyn Backbone<T>) -> View<T> {
    let (size, nodes) = (config.proxy_nodes, config.proxy_blocks * config.proxy_nodes);
    let mut stream = Stream::new(seed, "proxy edges", &[]);
    let mut edges = Vec::new();
    for block in 0..config.proxy_blocks {
        let first = block * size;
        for u in first..first + size {
            for v in u + 1..first + size {
                if stream.unit() < config.proxy_density {
                    edges.push((u as u32, v as u32));
                }
            }
        }
    }
    let mut stream = Stream::new(seed, "proxy features", &[]);
    let features: Vec<f32> = (0..nodes * width).map(|_| stream.normal() as f32).collect();
    let graph = Adjacency::from_edges(nodes, &edges, None, false).and_then(|(adjacency, _)| {
        let labels = Labels::from_integers(&vec![-1; nodes], 1)?;
        Graph::new("proxy", adjacency, Features::dense(nodes, width, features)?, labels)
    });
    match graph {
        Ok(graph) => {
            let mut inputs = Inputs::new(&graph);
            inputs.set_operator(graph.adjacency(), backbone.plan().operator);
            View::whole(&inputs, backbone.plan())
        }
        Err(error) => unreachable!("a graph made here is sound: {error}"),
    }
}

/// A client with a personal mask.
pub(super) struct Masked<T> {
    config: Config,
    mask: Params<T>,
    optimizer: Adam<T>,
    /// θ∘m.
    effective: Params<T>,
    proxy: View<T>,
    /// The number of rounds in which this client took part.
    rounds: usize,
}

impl<T: Real> Masked<T> {
    /// θ∘m, with entries of m below `least` set to 0.
    fn apply(&self, model: &Params<T>, least: f64, out: &mut Params<T>) {
        let least = T::of(least);
        let masks = self.mask.tensors().iter().zip(self.mask.shapes());
        for ((out, (mask, shape)), weights) in
            out.tensors_mut().iter_mut().zip(masks).zip(model.tensors())
        {
            let numbers = mask.data().iter().zip(weights.data());
            for (out, (&m, &w)) in out.data_mut().iter_mut().zip(numbers) {
                *out = match shape.is_bias() {
                    true => w,
                    false if m < least && -m < least => T::ZERO,
                    false => m * w,
                };
            }
        }
    }

    /// The mean over the proxy graph of what goes into the last activation.
    fn embedding(&self, model: &Params<T>, context: &ClientContext<'_, T>) -> Vec<f64> {
        let Some(before) =
            Pass::new(context.backbone(), &self.proxy, context.pool()).before_activation(model)
        else {
            unreachable!("networks without a hidden layer are refused")
        };
        let mut mean = vec![0.0; before.columns()];
        for v in 0..before.rows() {
            mean.iter_mut()
                .zip(before.row(v))
                .for_each(|(mean, x)| *mean += x.f64() / before.rows() as f64);
        }
        context.pool().put(before);
        mean
    }
}

default_hooks!(Masked<T>: PreparationHooks);

impl<T: Real> TrainingHooks<T> for Masked<T> {
    fn reparametrise(&mut self, _: &ClientContext<'_, T>, model: &Params<T>) {
        // Taken out while `apply` borrows the mask, and set again below.
        let mut effective =
            std::mem::replace(&mut self.effective, Params::from_tensors(&[], Vec::new()));
        self.apply(model, 0.0, &mut effective);
        self.effective = effective;
    }

    fn effective(&self) -> Option<&Params<T>> {
        Some(&self.effective)
    }

    fn adjust(
        &mut self,
        context: &ClientContext<'_, T>,
        model: &Params<T>,
        gradients: &mut [Matrix<T>],
    ) {
        // ∂L/∂m = ∂L/∂(θ∘m)∘θ + λ₁ sign(m), taken before the gradients become those of θ.
        let sparsity = T::of(self.config.lambda1);
        let mut mask_gradients = Vec::new();
        let tensors = model.tensors().iter().zip(self.mask.tensors()).zip(self.mask.shapes());
        for (gradient, ((weights, mask), shape)) in gradients.iter_mut().zip(tensors) {
            let mut mask_gradient = context.pool().take(gradient.rows(), gradient.columns());
            mask_gradient.data_mut().fill(T::ZERO);
            if !shape.is_bias() {
                let numbers = mask_gradient.data_mut().iter_mut().zip(gradient.data_mut());
                for ((by_mask, g), (w, m)) in numbers.zip(weights.data().iter().zip(mask.data())) {
                    let sign = if *m > T::ZERO { sparsity } else { -sparsity };
                    *by_mask = *g * *w + if *m == T::ZERO { T::ZERO } else { sign };
                    *g = *g * *m;
                }
            }
            mask_gradients.push(mask_gradient);
        }
        if self.config.train_masks {
            self.optimizer.step(&mut self.mask, &mask_gradients);
        }
        mask_gradients.into_iter().for_each(|g| context.pool().put(g));
        if self.rounds > 0 && self.config.lambda2 > 0.0 {
            pull(model, context.start(), self.config.lambda2, gradients);
        }
    }

    fn finish(&mut self, context: &ClientContext<'_, T>, local: &Params<T>) -> Result<Upload<T>> {
        self.rounds += 1;
        let Some(deployed) = self.deploy(local) else { unreachable!("masks always apply") };
        Ok(Upload::with(Message::numbers(self.embedding(&deployed, context))))
    }

    fn refused(&mut self, numeric: bool) {
        if numeric {
            self.optimizer.reset();
        }
        if !self.mask.is_finite() {
            self.mask.tensors_mut().iter_mut().for_each(ones);
        }
    }
}

impl<T: Real> PersonalModel<T> for Masked<T> {
    fn deploy(&mut self, model: &Params<T>) -> Option<Params<T>> {
        let mut deployed = model.clone();
        self.apply(model, self.config.lambda1, &mut deployed);
        Some(deployed)
    }
}

impl<T: Real> RuleState<T> for Masked<T> {
    fn visit(
        &mut self,
        _: &StateContext<'_, T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        visitor.visit("mask", &mut self.mask)?;
        let mask = &self.mask;
        visitor.within("optimizer", |visitor| self.optimizer.visit(mask, visitor))?;
        visitor.visit("rounds", &mut self.rounds)
    }
}

/// Adds λ₂ (θ − θ̄)/‖θ − θ̄‖ to the gradient of each tensor; nothing where they are equal.
fn pull<T: Real>(model: &Params<T>, towards: &Params<T>, lambda: f64, gradients: &mut [Matrix<T>]) {
    let distances = model.tensor_distances(towards);
    let tensors = model.tensors().iter().zip(towards.tensors()).zip(distances);
    for (gradient, ((now, target), distance)) in
        gradients.iter_mut().zip(tensors).filter(|(_, (_, d))| *d > 0.0)
    {
        let scale = T::of(lambda / distance);
        let numbers = now.data().iter().zip(target.data());
        gradient
            .data_mut()
            .iter_mut()
            .zip(numbers)
            .for_each(|(g, (now, target))| *g += scale * (*now - *target));
    }
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> Functional<T> {
    Functional {
        tau: context.setup.methods.fedpub.tau,
        width: context.activated_width(),
        models: (0..context.clients as u32)
            .map(|k| Model::new(k, context.initial.clone()))
            .collect(),
    }
}

/// Within this bound, products of two inner products stay finite in double precision.
const LARGEST: f64 = f32::MAX as f64;

/// One model per client, from the clients with similar functional embeddings.
pub(super) struct Functional<T> {
    tau: f64,
    /// The width of the embedding.
    width: usize,
    models: Vec<Model<T>>,
}

impl<T: Real> ServerRule<T> for Functional<T> {
    fn start(&self, client: usize) -> Option<&Model<T>> {
        Some(&self.models[client])
    }

    fn form(&self, _: &SenderFacts<'_, T>) -> Form {
        Form::model().with(Part::new("number of the embedding", self.width, -LARGEST..=LARGEST))
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        let mut influence = vec![0.0; updates.len()];
        for target in updates {
            let similarities =
                updates.iter().map(|u| cosine(&target.message.numbers, &u.message.numbers));
            // The cosine is at most 1, so that no exponential overflows.
            let weights: Vec<f64> =
                similarities.map(|similarity| Real::exp(self.tau * (similarity - 1.0))).collect();
            let combination = Combination::new(updates, &weights, round.boost)?;
            combination.apply(updates, self.models[target.client].edit());
            let mean =
                combination.mean_weights().into_iter().map(|weight| weight / updates.len() as f64);
            influence.iter_mut().zip(mean).for_each(|(sum, weight)| *sum += weight);
        }
        Ok(Some(Combination::of_weights(influence)))
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        let models = self.models.iter_mut().enumerate();
        models.into_iter().try_for_each(|(k, model)| visitor.visit(&k.to_string(), model))
    }

    fn models(&self) -> Vec<&Params<T>> {
        self.models.iter().map(Model::params).collect()
    }
}
