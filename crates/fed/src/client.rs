//! One client: its data never leave it, its model does.

use crate::boost::model::{Config as ModelBoostConfig, GapMinority};
use crate::boost::{Boost, BoostConfig, Difficulty, NodeBoost, Summary, TopologyBoost};
use crate::config::{ClientWeight, LossReduction, Optimizer as OptimizerConfig, OptimizerState};
use crate::{Error, Result};
use boostfgl_graph::groups::minority_classes;
use boostfgl_graph::stream::key64;
use boostfgl_graph::{Adjacency, Role};
use boostfgl_nn::backbones::{Backbone, gradients, logits};
use boostfgl_nn::optim::Optimizer;
use boostfgl_nn::{Dropout, Inputs, Matrix, Params, Pool, Real, View, WeightedLoss, softmax_rows};
use boostfgl_partition::ClientGraph;
use std::sync::Arc;

/// What a client has: its graph as the kernels like it, and who is trained on, chosen by and judged by.
#[derive(Debug)]
pub struct LocalData<T> {
    id: usize,
    nodes: Vec<u32>,
    adjacency: Adjacency,
    inputs: Inputs<T>,
    /// Label of training nodes; nothing else may reach training.
    training_label: Vec<Option<u32>>,
    training: Vec<u32>,
    validation: Vec<(u32, u32)>,
    classes: usize,
}

impl<T: Real> LocalData<T> {
    /// Converts a client's graph.
    pub fn new(client: &ClientGraph) -> Self {
        Self::with_inputs(client, Inputs::new(&client.graph))
    }

    /// Like [`LocalData::new`] with features given apart.
    pub fn with_inputs(client: &ClientGraph, inputs: Inputs<T>) -> Self {
        let label = |v: usize, role: Role| client.graph.labels().get(v).filter(|_| client.split.role(v) == role);
        let nodes = 0..client.graph.len();
        Self {
            id: client.id,
            nodes: client.nodes.clone(),
            adjacency: client.graph.adjacency().clone(),
            inputs,
            training_label: nodes.clone().map(|v| label(v, Role::Train)).collect(),
            training: nodes.clone().filter(|&v| label(v, Role::Train).is_some()).map(|v| v as u32).collect(),
            validation: nodes.filter_map(|v| label(v, Role::Val).map(|y| (v as u32, y))).collect(),
            classes: client.graph.classes(),
        }
    }

    /// Number of training nodes of each class.
    pub(crate) fn training_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes];
        for y in self.training_label.iter().flatten() {
            counts[*y as usize] += 1;
        }
        counts
    }

    pub(crate) fn width(&self) -> usize {
        self.inputs.width()
    }

    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    pub(crate) fn training_nodes(&self) -> usize {
        self.training.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }
}

/// What every client of a run is told.
pub(crate) struct Instructions<'a> {
    pub(crate) seed: u64,
    pub(crate) epochs: usize,
    pub(crate) dropout: f64,
    pub(crate) loss: LossReduction,
    pub(crate) optimizer: &'a OptimizerConfig,
    pub(crate) boost: &'a BoostConfig,
    pub(crate) boosts: &'a [Boost],
    pub(crate) client_weight: ClientWeight,
    pub(crate) minority_ratio: f64,
}

/// A client between rounds.
pub(crate) struct Client<T: Real> {
    data: LocalData<T>,
    training: View<T>,
    whole: View<T>,
    boosted_whole: Option<View<T>>,
    loss: WeightedLoss<T>,
    optimizer: Box<dyn Optimizer<T>>,
    local: Params<T>,
    difficulty: Option<Difficulty<T>>,
    node: Option<NodeBoost>,
    topology: Option<TopologyBoost>,
    summarises: bool,
    minority: Vec<bool>,
    /// What is known of the model that the next round starts from, if it was judged after the last.
    known: Option<Known<T>>,
}

/// What has been computed with one model on the local graph.
struct Known<T> {
    /// Which model: the number of rounds done when it was made.
    rounds_done: usize,
    /// X·W of the first layer, where features are sparse.
    first: Option<Arc<Matrix<T>>>,
    scoring: Option<Scoring<T>>,
}

/// What a model thinks of the local nodes, by plain propagation.
struct Scoring<T> {
    probabilities: Matrix<T>,
    /// hᵤᵥ of every arc, under topology boosting.
    heterophily: Vec<T>,
}

/// What local training left behind.
pub(crate) struct Trained {
    pub(crate) loss: f64,
    pub(crate) norm: f64,
    pub(crate) tensor_norms: Vec<f64>,
    pub(crate) summary: Option<Summary>,
}

impl<T: Real> Client<T> {
    pub(crate) fn new(
        data: LocalData<T>,
        backbone: &dyn Backbone<T>,
        initial: &Params<T>,
        told: &Instructions<'_>,
        global_counts: &[usize],
    ) -> Self {
        let on = |boost: Boost| told.boosts.contains(&boost);
        let plan = backbone.plan();
        let labels = data.training.iter().filter_map(|&v| data.training_label[v as usize]).collect();
        let topology = on(Boost::Topology).then(|| TopologyBoost::new(&told.boost.topology));
        let boosts_evaluation = topology.as_ref().is_some_and(TopologyBoost::boosts_evaluation);
        let scores = on(Boost::Node) || on(Boost::Topology) || on(Boost::Model);
        Self {
            training: View::training(&data.inputs, data.training.clone(), plan),
            whole: View::whole(&data.inputs, plan),
            boosted_whole: boosts_evaluation.then(|| View::whole(&data.inputs, plan)),
            loss: WeightedLoss::new(labels, told.loss.into()),
            optimizer: told.optimizer.build(),
            local: initial.clone(),
            difficulty: scores.then(|| Difficulty::new(data.len(), told.boost.node.mu)),
            node: on(Boost::Node).then(|| NodeBoost::new(&told.boost.node)),
            topology,
            summarises: on(Boost::Model),
            minority: gap_minority(&told.boost.model, &data, global_counts, told.minority_ratio),
            known: None,
            data,
        }
    }

    pub(crate) fn data(&self) -> &LocalData<T> {
        &self.data
    }

    /// The model after local training.
    pub(crate) fn local(&self) -> &Params<T> {
        &self.local
    }

    /// The weight in a plain average.
    pub(crate) fn size(&self, weight: ClientWeight) -> f64 {
        match weight {
            ClientWeight::Nodes => self.data.len() as f64,
            ClientWeight::Labelled => self.data.training.len() as f64,
        }
    }

    /// One round of local work from `start`, the model that `rounds_done` rounds have made.
    pub(crate) fn train(
        &mut self,
        backbone: &dyn Backbone<T>,
        start: &Params<T>,
        rounds_done: usize,
        told: &Instructions<'_>,
        pool: &Pool<T>,
    ) -> Result<Trained> {
        if self.known.as_ref().is_none_or(|known| known.rounds_done != rounds_done) {
            self.know(start, rounds_done, pool);
        }
        self.boost(backbone, start, pool);
        if told.optimizer.optimizer_state == OptimizerState::Reset {
            self.optimizer.reset();
        }
        let mut last = 0.0;
        for epoch in 0..told.epochs {
            let path = [self.data.id as u64, rounds_done as u64, epoch as u64];
            let dropout = Dropout::new(told.dropout, key64(told.seed, "dropout", &path));
            let model = if epoch == 0 { start } else { &self.local };
            let (loss, gradients) = gradients(backbone, model, &self.training, &self.loss, dropout, pool);
            match epoch {
                0 => self.optimizer.step_from(start, &mut self.local, &gradients),
                _ => self.optimizer.step(&mut self.local, &gradients),
            }
            gradients.into_iter().for_each(|g| pool.put(g));
            // The weights have moved on.
            self.training.remember(None);
            last = loss;
        }
        let tensor_norms = self.local.tensor_distances(start);
        let norm = tensor_norms.iter().map(|d| d * d).sum::<f64>().sqrt();
        let diverged = |what| Error::Diverged { client: self.data.id, round: rounds_done + 1, what };
        if !last.is_finite() {
            return Err(diverged("loss"));
        }
        // The start was finite, so the distance from it is finite exactly if the model is.
        if !norm.is_finite() {
            return Err(diverged("model"));
        }
        let summary = self.summarises.then(|| self.summarise(backbone, pool));
        Ok(Trained { loss: last, norm, tensor_norms, summary })
    }

    /// Begins to know a model: its first product serves every pass over the local graph until the weights move.
    fn know(&mut self, model: &Params<T>, rounds_done: usize, pool: &Pool<T>) {
        self.forget(pool);
        let first = self.whole.project(&model.tensors()[0], pool).map(Arc::new);
        self.training.remember(first.clone());
        self.whole.remember(first.clone());
        if let Some(view) = &mut self.boosted_whole {
            view.remember(first.clone());
        }
        self.known = Some(Known { rounds_done, first, scoring: None });
    }

    fn forget(&mut self, pool: &Pool<T>) {
        self.training.remember(None);
        self.whole.remember(None);
        if let Some(view) = &mut self.boosted_whole {
            view.remember(None);
        }
        if let Some(known) = self.known.take() {
            known.first.and_then(Arc::into_inner).into_iter().for_each(|m| pool.put(m));
            known.scoring.into_iter().for_each(|s| pool.put(s.probabilities));
        }
    }

    /// Moves difficulties by one round and sets node weights and propagation for it.
    fn boost(&mut self, backbone: &dyn Backbone<T>, start: &Params<T>, pool: &Pool<T>) {
        if self.difficulty.is_none() {
            return;
        }
        self.score(backbone, start, pool);
        let scoring = self.known.as_ref().and_then(|known| known.scoring.as_ref());
        let (Some(difficulty), Some(scoring)) = (&mut self.difficulty, scoring) else { return };
        difficulty.update(&scoring.probabilities, |v| self.data.training_label[v]);
        if let Some(node) = &self.node {
            let weight = |v: &u32| node.weight(difficulty.mean()[*v as usize]);
            self.loss.set_node_weights(&self.data.training.iter().map(weight).collect::<Vec<_>>());
        }
        if let Some(topology) = &self.topology {
            let plain = self.data.inputs.propagation();
            let boosted = topology.propagation(&self.data.adjacency, plain, &scoring.heterophily, difficulty.mean());
            self.training.set_propagation(&boosted);
        }
    }

    /// Predicts with the model that is known by plain propagation, once.
    fn score(&mut self, backbone: &dyn Backbone<T>, model: &Params<T>, pool: &Pool<T>) {
        let Some(known) = &mut self.known else { return };
        if known.scoring.is_some() {
            return;
        }
        let mut probabilities = logits(backbone, model, &self.whole, pool);
        softmax_rows(&mut probabilities);
        let heterophily = match self.topology {
            Some(_) => {
                TopologyBoost::heterophily(&self.data.adjacency, &probabilities, |v| self.data.training_label[v])
            }
            None => Vec::new(),
        };
        known.scoring = Some(Scoring { probabilities, heterophily });
    }

    /// Gap between majority and minority on training nodes, under the local model and the training propagation.
    fn summarise(&self, backbone: &dyn Backbone<T>, pool: &Pool<T>) -> Summary {
        let out = logits(backbone, &self.local, &self.training, pool);
        // [majority, minority] counts of hits and nodes, and the minority's difficulty.
        let (mut hits, mut total, mut difficulty) = ([0usize; 2], [0usize; 2], 0.0);
        for (row, &v) in self.data.training.iter().enumerate() {
            let Some(label) = self.data.training_label[v as usize] else { continue };
            let group = usize::from(self.minority[label as usize]);
            total[group] += 1;
            hits[group] += usize::from(argmax(out.row(row)) == label);
            if group == 1 {
                difficulty += self.difficulty.as_ref().map_or(0.0, |d| d.mean()[v as usize].f64());
            }
        }
        pool.put(out);
        let accuracy = |g: usize| hits[g] as f64 / total[g] as f64;
        let gap = if total.contains(&0) { 0.0 } else { (accuracy(0) - accuracy(1)).max(0.0) };
        Summary { gap, minority_difficulty: if total[1] == 0 { 0.0 } else { difficulty / total[1] as f64 } }
    }

    /// The predicted class of every local node under `model`, which `rounds_done` rounds have made. `starts_next` says
    /// that the next round starts from the same model, so that what is learnt about it may be kept.
    pub(crate) fn predict(
        &mut self,
        backbone: &dyn Backbone<T>,
        model: &Params<T>,
        rounds_done: usize,
        starts_next: bool,
        pool: &Pool<T>,
    ) -> Vec<u32> {
        self.know(model, rounds_done, pool);
        if self.boosted_whole.is_some() {
            self.score(backbone, model, pool);
        }
        let scoring = self.known.as_ref().and_then(|known| known.scoring.as_ref());
        let view = match (&mut self.boosted_whole, &self.topology, scoring, &self.difficulty) {
            (Some(view), Some(topology), Some(scoring), Some(difficulty)) => {
                let (adjacency, plain) = (&self.data.adjacency, self.data.inputs.propagation());
                view.set_propagation(&topology.propagation(adjacency, plain, &scoring.heterophily, difficulty.mean()));
                &*view
            }
            _ => &self.whole,
        };
        let out = logits(backbone, model, view, pool);
        let predictions = (0..out.rows()).map(|v| argmax(out.row(v))).collect();
        pool.put(out);
        if !starts_next {
            self.forget(pool);
        }
        predictions
    }

    /// How many validation nodes `predictions` gets right, and how many there are.
    pub(crate) fn validate(&self, predictions: &[u32]) -> (usize, usize) {
        let hits = self.data.validation.iter().filter(|(v, y)| predictions[*v as usize] == *y).count();
        (hits, self.data.validation.len())
    }

    /// Global ids of the local nodes.
    pub(crate) fn nodes(&self) -> &[u32] {
        &self.data.nodes
    }
}

/// Which classes count as minority in the client's gap.
fn gap_minority<T: Real>(
    config: &ModelBoostConfig,
    data: &LocalData<T>,
    global_counts: &[usize],
    ratio: f64,
) -> Vec<bool> {
    match config.gap_minority {
        GapMinority::Global => minority_classes(global_counts, ratio),
        GapMinority::Local => minority_classes(&data.training_counts(), ratio),
    }
}

/// The first of the largest.
fn argmax<T: Real>(row: &[T]) -> u32 {
    let mut best = 0;
    for (c, x) in row.iter().enumerate() {
        if *x > row[best] {
            best = c;
        }
    }
    best as u32
}
