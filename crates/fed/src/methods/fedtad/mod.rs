//! FedTAD (Zhu et al., IJCAI 2024): FedAvg, then data-free distillation on the server, in which
//! each client's model teaches the classes its graph makes it reliable for.
//!
//! * Once, every client measures its class-wise knowledge reliability ([`reliability`]); the server
//!   turns it into shares r_{k,c} = CKR_{k,c} / Σⱼ CKR_{j,c} among the teachers of a round.
//! * After averaging, `repetitions` times: draw noise, let a generator make `pseudo_nodes` labelled
//!   nodes of it, connect them to their nearest neighbours, move the generator to where the
//!   averaged model (the student) and the clients' models (the teachers) disagree, then move the
//!   student towards the teachers (`distil.rs`).
//!
//! Teachers are constants of a repetition: their logits are computed once for all steps of the
//! student.
//!
//! # Cost
//!
//! Features are dense, so that with N pseudo-nodes, d features, hidden width h and K teachers a
//! pass costs 2Ndh operations in its first layer and as many on the way back. A repetition takes
//! 4(K+1)Ndh for the generator's gradient through student and teachers, 8·256·Nd for the generator
//! itself, 2KNdh for the teachers and 4Ndh for each step of the student, and 4N²d for two graphs. With the
//! published N = 100, five repetitions of one and five steps, that is 5 · 2.3 = 11.7 Gflop a round
//! on Cora (d = 1433, h = 256, K = 5), where the clients' own sparse rounds take about 0.1 Gflop:
//! the published method is two orders of magnitude more arithmetic than FedAvg, whatever the
//! implementation. Measured (`boostfgl run cora --method fedtad --seeds 1`, one AVX2 machine): 10.1
//! s of CPU time for 50 rounds, 58 Gflop/s overall, where FedAvg takes 0.4 s. Teachers run in
//! parallel.

mod distil;
mod generator;
mod pseudo;
pub mod reliability;

use super::fedavg::Averaging;
use super::{MethodContext, MethodInfo, Round, SenderFacts, ServerRule};
use crate::aggregate::{Combination, Contribution};
use crate::client_rule::{
    ClientContext, RuleState, StateContext, TrainingHooks, Upload, default_hooks,
};
use crate::config::{WIDEST, above_zero, not_negative, steps, width};
use crate::local_data::LocalData;
use crate::screen::{Form, Part};
use crate::{Error, Result};
use boostfgl_graph::Stream;
use boostfgl_nn::optim::{Adam, AdamConfig, Optimizer};
use boostfgl_nn::{Matrix, Params, Pool, Real, StateVisitor, Tape};
use boostfgl_protocol::{Message, Model};
use distil::{Distillation, Teacher};
use generator::Generator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "fedtad",
    summary: "FedAvg, then data-free distillation weighted by how reliable a client is for each \
        class",
    paper: "Zhu et al., FedTAD: Topology-aware Data-free Knowledge Distillation for Subgraph \
        Federated Learning, IJCAI 2024",
    equations: "client k:  phi_v = (1 + sum_{u in N(v)} cos(e_v, e_u)) / (|N(v)| + 1),  e_v = \
        [x_v | T_vv .. (T^5)_vv],  T = A D^-1\n\
                \x20          CKR_kc = sum of phi_v over training nodes of class c, sent once\n\
                server:    theta = sum_k (n_k / sum_j n_j) theta_k,  r_kc = CKR_kc / sum_j \
                CKR_jc,  w_ki = r_kc(i) / n_c(i)\n\
                generator: min lambda1 sum_ki w_ki CE(t_ki, c_i) - L_dis + lambda2 K exp(-mean_ij \
                |z_i-z_j|^2 |x_i-x_j|)\n\
                student:   min L_dis = sum_ki w_ki KL(softmax t_ki | softmax s_i)",
    wire: "up P (model), and C more (CKR) the first time; down P",
    evaluated: "the global model after distillation, on every client's local graph",
    departures: "L_dis is the paper's divergence between predictions (distance = \"kl\"); the \
        public code takes the mean absolute difference\n\
                 of logits (distance = \"l1\").\n\
                 Topology vectors are the paper's return probabilities; the public code \
                 concatenates node numbers of near-uniform jumps.\n\
                 Public code keeps dropout on when it evaluates and distils; here the server uses \
                 none. OpenFGL normalises CKR over the\n\
                 classes of a client; here, as in the paper, over clients. A class that no \
                 teacher knows weighs 0,\n\
                 and so does one whose training nodes are less alike their neighbours than not (a \
                 sum below 0).\n\
                 The generator's -L_dis is differentiated through student and teachers: the \
                 gradient of the printed objective. Public\n\
                 code and OpenFGL detach the teachers. Teachers are the participants of the \
                 round. Weights of the generator are drawn by Glorot's rule.\n\
                 Trust weighs the average, not the teachers: distillation may undo it.",
    extra_bytes: |sizes, configs| {
        let pseudo_nodes = configs.fedtad.pseudo_nodes as f64;
        let noise = configs.fedtad.noise.min(WIDEST);
        let generator = 4.0
            * generator::parameters(noise, sizes.features as usize, sizes.classes as usize) as f64;
        let features = (sizes.clients() + 4.0) * pseudo_nodes * sizes.features.max(sizes.hidden);
        4.0 * (generator + 3.0 * sizes.parameters + features + 3.0 * pseudo_nodes * pseudo_nodes)
    },
    single_updates: Some("the server also learns from every client's model by itself"),
    outvotes: |_| Some("the server also learns from every client's model by itself"),
    ..MethodInfo::PLAIN
};

/// Settings of FedTAD (`[methods.fedtad]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How often a round draws noise and distils; 0 leaves FedAvg.
    pub repetitions: usize,
    /// Steps of the generator in each repetition.
    pub generator_steps: usize,
    /// Steps of the student in each repetition.
    pub student_steps: usize,
    /// Number of pseudo-nodes, 1 to 1000000.
    pub pseudo_nodes: usize,
    /// Neighbours k of a pseudo-node, itself included, at least 1.
    pub neighbours: usize,
    /// Width of the noise, 1 to 1000000.
    pub noise: usize,
    /// Strength λ₁ of the semantic term, at least 0.
    pub lambda1: f64,
    /// Strength λ₂ of the diversity term, at least 0.
    pub lambda2: f64,
    /// Learning rate of generator and student, above 0.
    pub learning_rate: f64,
    /// Weight decay of generator and student, at least 0.
    pub weight_decay: f64,
    /// What keeps student and teacher apart: the divergence of their predictions, or the distance
    /// of their logits.
    pub distance: Distance,
}

/// How the disagreement of a student and a teacher is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distance {
    /// KL divergence of the student's prediction from the teacher's, as in the paper.
    Kl,
    /// Mean absolute difference of logits, as the public code does.
    L1,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            repetitions: 5,
            generator_steps: 1,
            student_steps: 5,
            pseudo_nodes: 100,
            neighbours: 5,
            noise: 32,
            lambda1: 1.0,
            lambda2: 1.0,
            learning_rate: 1e-3,
            weight_decay: 5e-4,
            distance: Distance::Kl,
        }
    }
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        steps("methods.fedtad.repetitions", 0, self.repetitions)?;
        steps("methods.fedtad.generator_steps", 0, self.generator_steps)?;
        steps("methods.fedtad.student_steps", 0, self.student_steps)?;
        width("methods.fedtad.pseudo_nodes", self.pseudo_nodes)?;
        width("methods.fedtad.neighbours", self.neighbours)?;
        width("methods.fedtad.noise", self.noise)?;
        not_negative("methods.fedtad.lambda1", self.lambda1)?;
        not_negative("methods.fedtad.lambda2", self.lambda2)?;
        not_negative("methods.fedtad.weight_decay", self.weight_decay)?;
        above_zero("methods.fedtad.learning_rate", self.learning_rate)?;
        Ok(())
    }

    fn adam(&self) -> AdamConfig {
        AdamConfig {
            rate: self.learning_rate,
            weight_decay: self.weight_decay,
            ..AdamConfig::default()
        }
    }
}

pub(super) fn client<T: Real>(_: &MethodContext<'_, T>, _: &LocalData<T>) -> Reliable {
    Reliable { sent: false }
}

/// A client that sends its class-wise reliability once.
pub(super) struct Reliable {
    /// Whether the server has received it.
    sent: bool,
}

default_hooks!(Reliable: PreparationHooks, PersonalModel);

impl<T: Real> TrainingHooks<T> for Reliable {
    fn refused(&mut self, _: bool) {
        self.sent = false;
    }

    fn finish(&mut self, context: &ClientContext<'_, T>, _: &Params<T>) -> Result<Upload<T>> {
        if std::mem::replace(&mut self.sent, true) {
            return Ok(Upload::with(Message::default()));
        }
        Ok(Upload::with(Message::numbers(reliability::class_reliability(context.data()))))
    }
}

impl<T: Real> RuleState<T> for Reliable {
    fn visit(
        &mut self,
        _: &StateContext<'_, T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        visitor.visit("told", &mut self.sent)
    }
}

pub(super) fn server<T: Real>(context: &MethodContext<'_, T>) -> Distilling<T> {
    let config = context.setup.methods.fedtad.clone();
    let (seed, adam) = (context.setup.seed, config.adam());
    Distilling {
        averaging: super::fedavg::server(context),
        classes: context.classes,
        reliability: vec![None; context.clients],
        labels: generator::balanced(config.pseudo_nodes, context.classes),
        generator: Generator::new(config.noise, context.features, context.classes, seed, adam),
        optimizer: Adam::new(adam),
        seed,
        config,
    }
}

/// A server that averages, then distils the clients' models into the average.
pub(super) struct Distilling<T: Real> {
    averaging: Averaging<T>,
    config: Config,
    seed: u64,
    /// Number of classes C.
    classes: usize,
    /// CKR of the clients that have taken part so far.
    reliability: Vec<Option<Vec<f64>>>,
    generator: Generator<T>,
    /// The class of each pseudo-node.
    labels: Vec<u32>,
    /// The student's optimiser.
    optimizer: Adam<T>,
}

impl<T: Real> ServerRule<T> for Distilling<T> {
    fn start(&self, client: usize) -> Option<&Model<T>> {
        self.averaging.start(client)
    }

    fn form(&self, turn: &SenderFacts<'_, T>) -> Form {
        // A training node adds at most 1, up to rounding.
        let most = 1.001 * turn.labelled;
        let known = self.reliability[turn.client].is_some();
        let reliability = Part::new("reliability of a class", self.classes, 0.0..=most);
        let form = Form::model().with(reliability.optional_if(known));
        form.adding_up("reliabilities", 0..self.classes, 0.0..=most)
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        for update in updates.iter().filter(|update| !update.message.numbers.is_empty()) {
            self.reliability[update.client] = Some(update.message.numbers.clone());
        }
        let combination = self.averaging.aggregate(updates, round)?;
        self.distil(updates, round);
        match self.averaging.global.is_finite() {
            true => Ok(combination),
            false => Err(Error::ServerDiverged { round: round.done + 1 }),
        }
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        self.averaging.visit(visitor)?;
        visitor.within("generator", |visitor| self.generator.visit(visitor))?;
        let student = &self.averaging.global;
        visitor.within("student", |visitor| self.optimizer.visit(student, visitor))?;
        let known = self.reliability.iter_mut().enumerate();
        known
            .into_iter()
            .try_for_each(|(k, classes)| visitor.option(&k.to_string(), classes, Vec::new))?;
        let classes = self.classes;
        match self.reliability.iter().flatten().find(|sent| sent.len() != classes) {
            Some(sent) => {
                let expected = format!("reliabilities of {classes} classes");
                Err(visitor.mismatch(expected, sent.len().to_string()))
            }
            None => Ok(()),
        }
    }

    fn models(&self) -> Vec<&Params<T>> {
        self.averaging.models()
    }
}

impl<T: Real> Distilling<T> {
    /// Moves generator and student by the repetitions of one round.
    fn distil(&mut self, updates: &[Contribution<'_, T>], round: &Round<'_, T>) {
        let Self { averaging, config, reliability, generator, labels, optimizer, seed, .. } = self;
        let known: Vec<&[f64]> =
            updates.iter().filter_map(|update| reliability[update.client].as_deref()).collect();
        let teachers: Vec<Teacher<'_, T>> = updates
            .iter()
            .zip(distil::shares(&known))
            .map(|(update, share)| Teacher {
                model: update.params(),
                weights: distil::row_weights(&share, labels),
            })
            .collect();
        if teachers.iter().all(|teacher| teacher.weights.iter().all(|weight| *weight == 0.0)) {
            // Without a reliable teacher there is no gradient, but each step would still shrink the
            // student by its weight decay.
            return;
        }
        let distillation =
            Distillation { backbone: round.backbone, config, labels, teachers: &teachers };
        let (pool, student) = (round.pool, averaging.global.edit());
        // One for each teacher: they run in parallel, and a pool is not shared between threads.
        let pools: &mut Vec<Pool<T>> = &mut teachers.iter().map(|_| Pool::new()).collect();
        for repetition in 0..config.repetitions {
            let noise =
                draw(labels.len(), config.noise, *seed, &[round.done as u64, repetition as u64]);
            for _ in 0..config.generator_steps {
                generator_step(&distillation, generator, student, &noise, pool, pools);
            }
            // Generated again, since the last generator step changed the parameters.
            let x = generator.generate(&noise, labels, pool);
            let view = pseudo::view(&x, config.neighbours, round.backbone.plan(), pool);
            // The teachers are fixed, so that one forward pass serves all steps of the student.
            let taught = distillation.teachers_logits(&x, &view, pools);
            for _ in 0..config.student_steps {
                let (_, gradients) = distillation.student_loss(student, &x, &view, &taught, pool);
                optimizer.step(student, &gradients);
                gradients.into_iter().for_each(|g| pool.put(g));
            }
            taught.into_iter().zip(&*pools).for_each(|(logits, pool)| pool.put(logits));
            pool.put(x);
        }
    }
}

/// Moves the generator by one step.
fn generator_step<T: Real>(
    distillation: &Distillation<'_, T>,
    generator: &mut Generator<T>,
    student: &Params<T>,
    noise: &Matrix<T>,
    pool: &Pool<T>,
    pools: &mut [Pool<T>],
) {
    let mut tape = Tape::new(pool);
    let (vars, at) = generator.record(&mut tape, noise, distillation.labels);
    let x = tape.value(at);
    let view = pseudo::view(x, distillation.config.neighbours, distillation.backbone.plan(), pool);
    let (_, to_x) = distillation.generator_loss(student, x, noise, &view, pool, pools);
    let gradients = tape.backward_from(vec![(at, to_x)], &vars);
    generator.step(&gradients);
    gradients.into_iter().for_each(|g| pool.put(g));
}

/// Standard normal noise.
fn draw<T: Real>(rows: usize, columns: usize, seed: u64, path: &[u64]) -> Matrix<T> {
    let mut stream = Stream::new(seed, "fedtad noise", path);
    Matrix::from_rows(
        rows,
        columns,
        &(0..rows * columns).map(|_| T::of(stream.normal())).collect::<Vec<_>>(),
    )
}
