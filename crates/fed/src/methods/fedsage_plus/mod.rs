//! FedSage+ (Zhang et al., NeurIPS 2021): every client mends its graph with generated neighbours
//! before the rounds.
//!
//! An edge between nodes of two clients is lost to both. Each client hides some of its validation
//! nodes and learns, from the neighbours that are thereby lost, to predict how many neighbours a
//! node misses and what their features are (`neighgen`). Then it adds such neighbours to its graph, and the
//! rounds are FedAvg on the mended graphs with equal weights, which on its own is *FedSage*:
//! `max_neighbours = 0` is that. The classifier is the configured backbone; `backbone = "sage"` is
//! the original's.
//!
//! *Phase A*, local (`training`): `gen_epochs` epochs of λ_d L_d + λ_f L_f + λ_c L_c over the
//! training nodes, with n the number of hidden neighbours and ñ the predicted one,
//!
//! L_d = mean smoothL1(ñ − n), L_f = (1/(n_tr·p)) Σ over used slots of min_u (1/d)‖x̃ − x_u‖², L_c
//! = CE on the mended graph.
//!
//! *Phase B*, federated: `gen_epochs` epochs of the feature generator alone, with L_f also against
//! neighbours drawn at random from every other client, all divided by K. A client sends the
//! features that it generated for its training nodes; each other client returns the gradient of its
//! greedy loss with respect to them, which the chain rule takes on to the generator. In the paper
//! the generator itself travels, P_f = 128·256 + 256 + 256·2048 + 2048 + 2048·p·d + p·d numbers
//! (15.2 M for Cora) with n_k^L·128 codes, and a gradient of P_f numbers comes back from each peer.
//! Both give the same gradient.
//!
//! *Phase C*: the rounds.

mod demand;
mod impaired;
mod losses;
mod neighgen;
mod passes;
mod slot;
#[cfg(test)]
mod tests;
mod training;

use super::fedavg::{Averaging, Weighing};
use super::{MethodContext, MethodInfo, Sizes};
use crate::client_rule::{ClientContext, PreparationHooks, TrainingHooks, Upload, default_hooks};
use crate::config::{WIDEST, above_zero, at_most, not_negative, steps, width};
use crate::local_data::LocalData;
use crate::screen::Form;
use crate::{Error, Result};
use boostfgl_nn::{Params, Real};
use boostfgl_protocol::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use training::GeneratorTraining;

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "fedsage-plus",
    summary: "FedAvg with equal weights on graphs mended by a learnt generator of neighbours",
    paper: "Zhang et al., Subgraph Federated Learning with Missing Neighbor Generation, NeurIPS \
        2021",
    equations: "hide:      half of the validation nodes; n_v = hidden neighbours of v\n\
                generator: z = Enc(X), count = relu(w z + b), x_j = tanh(W3_j dropout(relu(W2 \
                relu(W1 (z + noise))))), j < p\n\
                phase A:   l_d mean smoothL1(count - n) + l_f mean_{v,j} min_u |x_j - x_u|^2/d + \
                l_c CE(mended graph)\n\
                phase B:   (1/K) (l_f L_f + l_c L_c + l_f sum_{other clients} L_f against their \
                neighbours), generator only\n\
                mend:      v gets min(p, int(count_v)) generated neighbours, edges both ways\n\
                phase C:   CE on the mended graph; server: theta = (1/|S|) sum_k theta_k",
    wire: "up P, down P; before round 1, in each of gen_epochs exchanges: up the generated \
        features of training nodes and\n\
           a gradient of the same size to every other client, down what the others send",
    departures: "The gradient of the cross-client loss is taken through the generated features \
        instead of through the generator\n\
                 sent to the peer: same gradient, smaller message. Either lets a client that \
                 solves for it infer features of\n\
                 its peers; the released code simply reads them. The classifier is the shared \
                 backbone, full batch, evaluated on\n\
                 the client's mended graph (released code: sampled SAGE 64-32 evaluated on the \
                 global graph; backbone = \"sage\" is\n\
                 the nearest). Hidden nodes come from the run's validation nodes, not from a \
                 60/20/20 split of its own.\n\
                 Peers match against all p drawn neighbours; the released code looks at the first \
                 n_v of them only.\n\
                 Weights begin by Glorot's rule. Not reproduced: the ReLU on the released \
                 classifier's logits; dropout while\n\
                 mending; generated edges in one direction only (OpenFGL), along which no feature \
                 reaches a real node; an\n\
                 endless loop where a client has no edge. Under topology boosting edges of \
                 generated nodes get the mean score\n\
                 of the real ones; node weights act in phase C only, trust has no place in phases \
                 A and B.",
    network: |plan| {
        (plan.hops == 0)
            .then_some("it adds neighbours to the graph, and this network passes no messages")
    },
    noise: Some("its generator passes messages of its own, which would have none"),
    exchanges,
    extra_bytes,
    ..MethodInfo::PLAIN
};

/// Settings of FedSage+ (`[methods.fedsage-plus]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Most neighbours p that are generated for a node, at most 1000000; 0 leaves graphs as they
    /// are, which is FedSage.
    pub max_neighbours: usize,
    /// Share of the validation nodes that is hidden to learn from, in [0, 1].
    pub hide: f64,
    /// Epochs of the local and of the federated phase, each; at least 1.
    pub gen_epochs: usize,
    /// Hidden width of encoder and local classifier, 1 to 1000000.
    pub hidden: usize,
    /// Width of a node's code z, 1 to 1000000.
    pub latent: usize,
    /// Width of the generator's first layer, 1 to 1000000.
    pub narrow: usize,
    /// Width of the generator's second layer, 1 to 1000000.
    pub wide: usize,
    /// Dropout probability while the generator is trained, in [0, 1).
    pub dropout: f64,
    /// Adam's learning rate before the rounds, above 0.
    pub learning_rate: f64,
    /// Weight decay before the rounds, at least 0.
    pub weight_decay: f64,
    /// Weight λd of the degree loss, at least 0.
    pub lambda_degree: f64,
    /// Weight λf of the feature loss, at least 0.
    pub lambda_feature: f64,
    /// Weight λc of the classification loss, at least 0.
    pub lambda_class: f64,
    /// How a predicted count becomes whole when the graph is mended: truncate, as while training
    /// and in the released code, or round.
    pub count: Count,
}

/// How a predicted count becomes whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Count {
    /// Down to the next whole number.
    Truncate,
    /// To the nearest whole number.
    Round,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_neighbours: 5,
            hide: 0.5,
            gen_epochs: 20,
            hidden: 32,
            latent: 128,
            narrow: 256,
            wide: 2048,
            dropout: 0.5,
            learning_rate: 1e-3,
            weight_decay: 1e-4,
            lambda_degree: 1.0,
            lambda_feature: 1.0,
            lambda_class: 1.0,
            count: Count::Truncate,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        at_most("methods.fedsage-plus.max_neighbours", WIDEST, self.max_neighbours)?;
        steps("methods.fedsage-plus.gen_epochs", 1, self.gen_epochs)?;
        width("methods.fedsage-plus.hidden", self.hidden)?;
        width("methods.fedsage-plus.latent", self.latent)?;
        width("methods.fedsage-plus.narrow", self.narrow)?;
        width("methods.fedsage-plus.wide", self.wide)?;
        not_negative("methods.fedsage-plus.weight_decay", self.weight_decay)?;
        not_negative("methods.fedsage-plus.lambda_degree", self.lambda_degree)?;
        not_negative("methods.fedsage-plus.lambda_feature", self.lambda_feature)?;
        not_negative("methods.fedsage-plus.lambda_class", self.lambda_class)?;
        if !(0.0..=1.0).contains(&self.hide) {
            return Err(Error::setting(
                "methods.fedsage-plus.hide",
                "a number from 0 to 1",
                self.hide,
            ));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::setting(
                "methods.fedsage-plus.dropout",
                "at least 0 and below 1",
                self.dropout,
            ));
        }
        above_zero("methods.fedsage-plus.learning_rate", self.learning_rate)?;
        Ok(())
    }
}

/// A client without others trains its generator alone.
fn exchanges(configs: &super::MethodConfigs, clients: usize) -> usize {
    let Config { max_neighbours, gen_epochs, .. } = configs.fedsage_plus;
    if max_neighbours > 0 && clients > 1 { gen_epochs } else { 0 }
}

/// Generators with gradients and moments, if every slot is used, and what they generate, there and
/// back.
fn extra_bytes(sizes: &Sizes, configs: &super::MethodConfigs) -> f64 {
    let Config { max_neighbours, latent, narrow, wide, .. } = configs.fedsage_plus;
    let [p, latent, narrow, wide] = [max_neighbours, latent, narrow, wide].map(|size| size as f64);
    let generator = latent * narrow + narrow * wide + wide * p * sizes.features;
    let activations = 2.0 * wide + 4.0 * p * sizes.features;
    4.0 * sizes.nodes.iter().map(|n| 4.0 * generator + n * activations).sum::<f64>()
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> Averaging<T> {
    Averaging::new(context, Weighing::Equal)
}

pub(super) fn client<T: Real>(context: &MethodContext<'_, T>, _: &LocalData<T>) -> Mending<T> {
    let config = context.setup.methods.fedsage_plus.clone();
    Mending { config, training: None }
}

/// A client that mends its graph before the first round.
pub(super) struct Mending<T> {
    config: Config,
    /// Dropped once the graph is mended.
    training: Option<GeneratorTraining<T>>,
}

impl<T: Real> Mending<T> {
    /// The generator, which is trained locally on first use.
    fn training(&mut self, context: &ClientContext<'_, T>) -> &mut GeneratorTraining<T> {
        let Self { config, training, .. } = self;
        training.get_or_insert_with(|| GeneratorTraining::new(config, context))
    }

    fn mends(&self) -> bool {
        self.config.max_neighbours > 0
    }
}

default_hooks!(Mending<T>: PersonalModel, RuleState);

impl<T: Real> PreparationHooks<T> for Mending<T> {
    fn question(&mut self, context: &ClientContext<'_, T>, _: usize) -> Result<Option<Message<T>>> {
        // A client that generates nothing sends an empty question. The number of answers is still
        // needed for the factor 1/K.
        let question = self.training(context).question(context);
        if question.is_finite() { Ok(Some(question)) } else { Err(context.diverged("generator")) }
    }

    fn answer(
        &self,
        context: &ClientContext<'_, T>,
        number: usize,
        asker: usize,
        question: &Message<T>,
    ) -> Result<Message<T>> {
        training::answer(&self.config, context, (number, asker), question)
    }

    fn answer_form(&self, question: &Message<T>) -> Form {
        Form::message()
            .tensors(question.tensors.iter().map(|rows| (rows.rows(), rows.columns())).collect())
    }

    fn receive_answers(
        &mut self,
        context: &ClientContext<'_, T>,
        _: usize,
        answers: &[(usize, Message<T>)],
    ) -> Result<()> {
        self.training(context).federated_epoch(context, answers);
        Ok(())
    }

    fn finish_preparation(
        &mut self,
        context: &ClientContext<'_, T>,
    ) -> Result<Option<LocalData<T>>> {
        if !self.mends() {
            return Ok(None);
        }
        let training = self.training(context);
        // A client without others has no exchanges, and trains the remaining epochs alone.
        while training.epochs_left() > 0 {
            training.federated_epoch(context, &[]);
        }
        let (features, owners) = training.neighbours(context)?;
        self.training = None;
        Ok((!owners.is_empty()).then(|| context.data().extended(&owners, &features)))
    }
}

impl<T: Real> TrainingHooks<T> for Mending<T> {
    fn refused(&mut self, _: bool) {
        // A preparation that failed is not continued.
        self.training = None;
    }

    fn finish(&mut self, _: &ClientContext<'_, T>, _: &Params<T>) -> Result<Upload<T>> {
        Ok(Upload::with(Message::default()))
    }
}
