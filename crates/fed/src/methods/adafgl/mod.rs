//! AdaFGL (Li et al., ICDE 2024): FedAvg first, then every client trains personal modules on a
//! topology that is extended by the global model's predictions. Nothing is sent in the second step.
//!
//! * Step 1, the configured T rounds: FedAvg, bit for bit.
//! * The switch: the final global model goes down once; P̂ = softmax(f_θ(G)) is frozen, the
//!   topology is mixed with the pairs of nodes that have similar P̂ (`topology.rs`), and half of the
//!   training labels measure how homophilous the client is (`confidence.rs`).
//! * Step 2, `personal_epochs` further rounds of one local epoch (`modules.rs`): a homophilous
//!   module, CE(Z) + MSE(Z, P̂) with output ½(softmax Z + softmax P̂); a heterophilous one, three
//!   heads with CE each and the mean of their softmaxes as output. Prediction is HCS·homophilous +
//!   (1 − HCS)·heterophilous.
//!
//! # Cost
//!
//! X̃ = [X ‖ ÂX ‖ Â²X ‖ Â³X] is never formed: X̃W = XW₀ + Â(XW₁ + Â(XW₂ + ÂXW₃)) takes 4·nnz(X)
//! multiply-adds per hidden unit and three products with Â. Â = D̃^{-1/2}(a(A + I) + (1 −
//! a)B)D̃^{-1/2}, where the similarity relation B has up to n² ones. Nodes that are similar to the same
//! nodes have the same row, so that rows of B are stored as differences from each other. A product
//! takes as many additions as there are differences, which are few where predictions are certain.
//! Finding them takes at most O(n³/64) word operations at the switch, and B takes n²/8 bytes. The
//! evaluation after an epoch and the next training step share X̃W.
//!
//! Learnt messages take O(n²C) time in an evaluation and O(n·n_L·C) in a training step with n_L
//! labelled nodes, as only their rows enter the loss, plus the search for the largest similarity.
//! They take O(nC) memory, as similarities are computed again when they are needed.

pub mod confidence;
mod modules;
pub mod topology;

use super::fedavg::Averaging;
use super::{EvaluatedModel, MethodContext, MethodInfo, Round, SenderFacts, ServerRule};
use crate::aggregate::{Combination, Contribution};
use crate::client_rule::{
    ClientContext, PersonalModel, RuleState, StateContext, TrainingHooks, Upload, default_hooks,
};
use crate::config::{above_zero, at_least_one, at_most, not_negative, steps, width};
use crate::local_data::LocalData;
use crate::screen::Form;
use crate::{Error, Result};
use boostfgl_graph::stream::key64;
use boostfgl_nn::backbones::Supervised;
use boostfgl_nn::ops::Smoothing;
use boostfgl_nn::optim::AdamConfig;
use boostfgl_nn::{Dropout, Matrix, Params, Propagation, Real, StateVisitor, softmax_rows};
use boostfgl_protocol::Model;
use modules::{Module, ModuleInputs, blend};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "adafgl",
    summary: "FedAvg, then personal modules for homophilous and heterophilous neighbourhoods",
    paper: "Li et al., AdaFGL: A New Paradigm for Federated Node Classification with Topology \
        Heterogeneity, ICDE 2024",
    equations: "step 1:    FedAvg for T rounds\n\
                step 2:    Phat = softmax f(G),  S_ij = cos(softmax Phat_i, softmax Phat_j),  Atil = a A + (1-a) [S > threshold]\n\
                \x20          Xtil = [X | Ah X | Ah^2 X | Ah^3 X],  Ah = D^-1/2 (Atil + I) D^-1/2\n\
                \x20          homophilous:   Z = MLP(Xtil), CE(Z) + MSE(Z, Phat), output (softmax \
                Z + softmax Phat)/2\n\
                \x20          heterophilous: CE of MLP(X), of MLP(Xtil), and of (softmax(pos E) - \
                softmax(neg E) + E)/2, E = MLP(Xtil)\n\
                \x20          Y = HCS homophilous + (1 - HCS) heterophilous",
    wire: "step 1: up P + 1 (model, size), down P; down P once at the switch; then nothing",
    evaluated: "each client's combined output; the global model until a client has personal \
        modules",
    departures: "The last global model is extended, as in the paper; public code takes the one \
        with the best validation.\n\
                 Default a = 0.05 and beta = 0.2 as in the official code (OpenFGL: 0.5 and 0); \
                 outputs are combined softly, as in the paper\n\
                 (combination = \"hard\" switches at HCS >= switch, as the official code does). \
                 50 personal epochs by default, 200 published.\n\
                 One slope of PReLU serves both signs of the learnt messages; each hidden layer \
                 of a module has a slope of its own (OpenFGL:\n\
                 one per module). Modules are drawn by Glorot's rule with gain 1 (OpenFGL: sqrt \
                 2). HCS is 1/2 for a client with a single training node.\n\
                 Above similarity_cap nodes a client compares a node only with up to that many of \
                 the same predicted class, nearest in\n\
                 confidence: without the cap memory is quadratic, with it this is another method \
                 than the published one.\n\
                 Under topology boosting the weights of A inside Atil are multiplied by how much \
                 boosting changed each message at the\n\
                 switch; the learnt, signed messages are left alone. In step 2 the node weights \
                 go on from the global model's difficulties.",
    evaluated_model: EvaluatedModel::Personal,
    noise: Some("its personal modules pass messages of their own, which would have none"),
    further_rounds: |configs| configs.adafgl.personal_epochs,
    extra_bytes: |sizes, configs| {
        let Config { hidden, steps, similarity_cap, .. } = configs.adafgl;
        let (hidden, steps, cap) = (hidden as f64, steps as f64, similarity_cap as f64);
        // The similarity relation: a bit per pair, and at most as much again for the differences
        // between rows.
        let pairs: f64 = sizes.nodes.iter().map(|n| n * n.min(cap)).sum();
        // Parameters, two moments, gradient and last step.
        let smoothed = (3.0 * (steps + 1.0) + 1.0) * sizes.features * hidden;
        let module = smoothed + 3.0 * hidden * hidden + 4.0 * hidden * sizes.classes;
        let activations = sizes.all_nodes() * (12.0 * hidden + 16.0 * sizes.classes);
        pairs / 4.0 + 20.0 * sizes.clients() * module + 4.0 * activations
    },
    ..MethodInfo::PLAIN
};

/// After more steps the features of a connected graph are all the same.
const MOST_STEPS: usize = 1000;

/// Settings of AdaFGL (`[methods.adafgl]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Further rounds, of one local epoch each, that train the personal modules; 0 is FedAvg.
    /// Published: 200.
    pub personal_epochs: usize,
    /// Hidden width of the modules, 1 to 1000000.
    pub hidden: usize,
    /// Share a of the graph's own edges in the optimised topology, from 0 to 1.
    pub a: f64,
    /// Share β of the predictions' similarity in the learnt messages, from 0 to 1.
    pub beta: f64,
    /// Cosine above which two nodes count as similar, from 0 to 1.
    pub threshold: f64,
    /// How often features are smoothed, at most 1000; every step has its own parameters.
    pub steps: usize,
    /// How the two outputs are combined.
    pub combination: Blend,
    /// The least homophily confidence at which a hard combination is homophilous, from 0 to 1.
    pub switch: f64,
    /// Nodes of a client up to which all pairs are compared, at least 1.
    pub similarity_cap: usize,
    /// Dropout of the modules, at least 0 and below 1.
    pub dropout: f64,
    /// Learning rate of the modules, above 0.
    pub learning_rate: f64,
    /// Weight decay of the modules, at least 0.
    pub weight_decay: f64,
}

/// How the two outputs are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Blend {
    /// Weighted by the homophily confidence score, as in the paper.
    Soft,
    /// One or the other, as in the official code.
    Hard,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            personal_epochs: 50,
            hidden: 64,
            a: 0.05,
            beta: 0.2,
            threshold: 0.999,
            steps: 3,
            combination: Blend::Soft,
            switch: 0.9,
            similarity_cap: 8192,
            dropout: 0.5,
            learning_rate: 1e-2,
            weight_decay: 5e-4,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        steps("methods.adafgl.personal_epochs", 0, self.personal_epochs)?;
        width("methods.adafgl.hidden", self.hidden)?;
        at_most("methods.adafgl.steps", MOST_STEPS, self.steps)?;
        at_least_one("methods.adafgl.similarity_cap", self.similarity_cap)?;
        share("methods.adafgl.a", self.a)?;
        share("methods.adafgl.beta", self.beta)?;
        share("methods.adafgl.threshold", self.threshold)?;
        share("methods.adafgl.switch", self.switch)?;
        not_negative("methods.adafgl.weight_decay", self.weight_decay)?;
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::setting(
                "methods.adafgl.dropout",
                "at least 0 and below 1",
                self.dropout,
            ));
        }
        above_zero("methods.adafgl.learning_rate", self.learning_rate)?;
        Ok(())
    }

    /// The weight of the homophilous output of a client with this confidence.
    fn homophilous_share(&self, confidence: f64) -> f64 {
        match self.combination {
            Blend::Soft => confidence,
            Blend::Hard => f64::from(u8::from(confidence >= self.switch)),
        }
    }
}

fn share(key: &'static str, value: f64) -> Result<()> {
    if (0.0..=1.0).contains(&value) {
        Ok(())
    } else {
        Err(Error::setting(key, "a number from 0 to 1", value))
    }
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> Releasing<T> {
    Releasing {
        averaging: super::fedavg::server(context),
        rounds: context.setup.protocol.rounds,
        done: 0,
        informed: vec![false; context.clients],
    }
}

/// A server that averages for T rounds and then sends each client the last global model once.
pub(super) struct Releasing<T> {
    averaging: Averaging<T>,
    rounds: usize,
    done: usize,
    /// Which clients have the last global model.
    informed: Vec<bool>,
}

impl<T: Real> ServerRule<T> for Releasing<T> {
    fn start(&self, client: usize) -> Option<&Model<T>> {
        // A client that has the last global model continues from its own copy.
        let finished = self.done >= self.rounds && self.informed[client];
        (!finished).then_some(&self.averaging.global)
    }

    fn evaluated(&self, _: usize) -> Option<&Model<T>> {
        Some(&self.averaging.global)
    }

    fn form(&self, turn: &SenderFacts<'_, T>) -> Form {
        if turn.done < self.rounds { Form::model() } else { Form::message() }
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        self.done = round.done + 1;
        if round.done < self.rounds {
            return self.averaging.aggregate(updates, round);
        }
        updates.iter().for_each(|update| self.informed[update.client] = true);
        Ok(None)
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        self.averaging.visit(visitor)?;
        visitor.visit("done", &mut self.done)?;
        let informed = self.informed.iter_mut().enumerate();
        informed.into_iter().try_for_each(|(k, informed)| visitor.visit(&k.to_string(), informed))
    }

    fn models(&self) -> Vec<&Params<T>> {
        self.averaging.models()
    }
}

pub(super) fn client<T: Real>(context: &MethodContext<'_, T>, _: &LocalData<T>) -> Personal<T> {
    Personal { config: context.setup.methods.adafgl.clone(), personal: None, moved: None }
}

/// A client that trains personal modules after the last round of FedAvg.
pub(super) struct Personal<T: Real> {
    config: Config,
    personal: Option<PersonalModules<T>>,
    /// How far the modules moved in this round.
    moved: Option<Vec<f64>>,
}

/// A client's personal modules and their inputs. A module that the prediction would not use is
/// absent.
struct PersonalModules<T: Real> {
    inputs: ModuleInputs<T>,
    homophilous: Option<Module<T>>,
    heterophilous: Option<Module<T>>,
    /// Weight of the homophilous output.
    share: f64,
    /// The weight of every arc at the switch, which `inputs` was made from.
    edges: Vec<f64>,
}

/// What is fixed at the switch. Everything else in [`ModuleInputs`] follows from it.
struct Switch<T> {
    /// P̂.
    predicted: Matrix<T>,
    edges: Vec<f64>,
    share: f64,
}

default_hooks!(Personal<T>: PreparationHooks);

impl<T: Real> TrainingHooks<T> for Personal<T> {
    fn train(
        &mut self,
        context: &ClientContext<'_, T>,
        local: &mut Params<T>,
    ) -> Result<Option<f64>> {
        if context.rounds_done() < context.rounds() {
            return Ok(None);
        }
        let Self { config, personal, moved } = self;
        let personal = personal.get_or_insert_with(|| {
            // From here on the client's own backbone is the last global one.
            local.copy_from(context.start());
            PersonalModules::new(config, context)
        });
        let (loss, distances) = personal.epoch(config, context);
        *moved = Some(distances);
        Ok(Some(loss))
    }

    fn finish(&mut self, _: &ClientContext<'_, T>, _: &Params<T>) -> Result<Upload<T>> {
        Ok(match self.moved.take() {
            Some(moved) => Upload { moved: Some(moved), ..Upload::nothing() },
            None => Upload::model(),
        })
    }

    fn refused(&mut self, numeric: bool) {
        self.moved = None;
        // Modules that overflowed are made again in the next round.
        if numeric && self.personal.as_ref().is_some_and(|personal| !personal.is_finite()) {
            self.personal = None;
        }
    }
}

impl<T: Real> PersonalModel<T> for Personal<T> {
    fn predict(&mut self, context: &ClientContext<'_, T>) -> Result<Option<Matrix<T>>> {
        Ok(self.personal.as_mut().and_then(|personal| personal.predict(context)))
    }
}

impl<T: Real> RuleState<T> for Personal<T> {
    fn visit(
        &mut self,
        context: &StateContext<'_, T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        let mut switched = self.personal.is_some();
        visitor.visit("switched", &mut switched)?;
        if switched && self.personal.is_none() {
            // Operator and candidates are large and follow from these three, which alone are saved.
            let data = context.data;
            let (mut predicted, mut edges) =
                (Matrix::zeros(data.len(), data.classes()), Vec::new());
            let mut share = 0.0;
            visit_switch(&mut predicted, &mut edges, &mut share, visitor)?;
            if edges.len() != data.adjacency().arcs() || !(0.0..=1.0).contains(&share) {
                let expected = format!("{} edges and a share from 0 to 1", data.adjacency().arcs());
                return Err(
                    visitor.mismatch(expected, format!("{} edges and {share}", edges.len()))
                );
            }
            self.personal = Some(PersonalModules::from_switch(
                &self.config,
                data,
                context.seed,
                Switch { predicted, edges, share },
            ));
        } else if let Some(PersonalModules { inputs, edges, share, .. }) = &mut self.personal {
            visit_switch(&mut inputs.predicted, edges, share, visitor)?;
        }
        let modules = self
            .personal
            .as_mut()
            .map(|personal| [personal.homophilous.as_mut(), personal.heterophilous.as_mut()]);
        let modules = modules.into_iter().flatten().enumerate();
        modules.into_iter().try_for_each(|(i, module)| match module {
            Some(module) => visitor.within(&i.to_string(), |visitor| module.visit(visitor)),
            None => Ok(()),
        })
    }
}

fn visit_switch<T: Real>(
    predicted: &mut Matrix<T>,
    edges: &mut Vec<f64>,
    share: &mut f64,
    visitor: &mut StateVisitor<'_>,
) -> boostfgl_nn::Result<()> {
    visitor.visit("predicted", predicted)?;
    visitor.visit("edges", edges)?;
    visitor.visit("share", share)
}

impl<T: Real> PersonalModules<T> {
    /// The switch: predicts with the global model, extends the topology and makes the modules.
    fn new(config: &Config, context: &ClientContext<'_, T>) -> Self {
        let mut predicted = context.start_logits();
        softmax_rows(&mut predicted);
        let (adjacency, plain) =
            (context.data().adjacency(), context.data().inputs().propagation());
        let edges = topology::edge_weights(adjacency, plain, context.whole().first_propagation());
        let share = config.homophilous_share(homophily(context));
        Self::from_switch(
            config,
            context.data(),
            context.seed(),
            Switch { predicted, edges, share },
        )
    }

    /// What follows from what was seen at the switch.
    fn from_switch(config: &Config, data: &LocalData<T>, seed: u64, switch: Switch<T>) -> Self {
        let Switch { predicted, edges, share } = switch;
        let candidates = topology::candidates(&predicted, config.threshold, config.similarity_cap);
        let operator =
            topology::operator(data.adjacency(), &edges, candidates.relation(), config.a);
        let smooth = Smoothing::new(data.inputs(), operator, config.steps);
        let nodes = (0..data.len() as u32).collect();
        let inputs = ModuleInputs {
            plain: smooth.clone().steps(0),
            smooth,
            candidates,
            predicted,
            nodes,
            beta: config.beta,
        };
        let client = [data.id() as u64];
        let (rate, weight_decay) = (config.learning_rate, config.weight_decay);
        let adam = AdamConfig { rate, weight_decay, ..AdamConfig::default() };
        // The weight of a module with no share would be 0: it is not trained.
        let homophilous = (share > 0.0).then(|| {
            let key = key64(seed, "adafgl homophilous", &client);
            Module::homophilous(&inputs, config.hidden, key, adam)
        });
        let heterophilous = (share < 1.0).then(|| {
            let key = key64(seed, "adafgl heterophilous", &client);
            Module::heterophilous(&inputs, config.hidden, key, adam)
        });
        Self { inputs, edges, homophilous, heterophilous, share }
    }

    /// One epoch of each module: the sum of their losses, and how far each tensor moved.
    fn epoch(&mut self, config: &Config, context: &ClientContext<'_, T>) -> (f64, Vec<f64>) {
        let labelled = Supervised { loss: context.loss(), rows: Some(context.data().training()) };
        // A key per module: whether the other one exists does not change its dropout masks.
        let dropout = [0, 1]
            .map(|number| Dropout::new(config.dropout, context.key("adafgl dropout", number)));
        let (inputs, pool) = (&self.inputs, context.pool());
        let (mut loss, mut moved) = (0.0, Vec::new());
        if let Some(module) = &mut self.homophilous {
            let (value, distances) = module.step(
                |params, products| {
                    inputs.homophilous_loss(params, products, labelled, dropout[0], pool)
                },
                pool,
            );
            loss += value;
            moved.extend(distances);
        }
        if let Some(module) = &mut self.heterophilous {
            let (value, distances) = module.step(
                |params, products| {
                    inputs.heterophilous_loss(params, products, labelled, dropout[1], pool)
                },
                pool,
            );
            loss += value;
            moved.extend(distances);
        }
        (loss, moved)
    }

    fn is_finite(&self) -> bool {
        self.homophilous.iter().chain(&self.heterophilous).all(Module::is_finite)
    }

    fn predict(&mut self, context: &ClientContext<'_, T>) -> Option<Matrix<T>> {
        let (inputs, pool) = (&self.inputs, context.pool());
        let mut parts = Vec::new();
        if let Some(module) = &mut self.homophilous {
            let half = self.share / 2.0;
            parts.push((half, inputs.homophilous(module, pool)));
            parts.push((half, inputs.predicted.clone()));
        }
        if let Some(module) = &mut self.heterophilous {
            let third = (1.0 - self.share) / 3.0;
            parts.extend(inputs.heterophilous(module, pool).map(|head| (third, head)));
        }
        blend(parts, pool)
    }
}

/// HCS of a client, from its training labels.
fn homophily<T: Real>(context: &ClientContext<'_, T>) -> f64 {
    let data = context.data();
    let labelled = data
        .training()
        .iter()
        .filter_map(|&v| data.training_label(v as usize).map(|label| (v, label)))
        .collect();
    let (kept, hidden) = confidence::halves(labelled, context.seed(), data.id());
    // GCN's operator on every backbone, so that scores of different networks are comparable.
    confidence::confidence(&Propagation::<T>::gcn(data.adjacency()), data.classes(), &kept, &hidden)
}
