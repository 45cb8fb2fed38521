//! One client: its data never leave it, its model does.

use crate::Result;
use crate::boost::model::{Config as ModelBoostConfig, GapMinority};
use crate::boost::{Boost, BoostConfig, Difficulty, NodeBoost, Summary, TopologyBoost};
use crate::client_rule::{ClientContext, ClientRule, StateContext, Upload, positions};
use crate::config::{ClientWeight, LossReduction, Optimizer as OptimizerConfig, OptimizerState};
use crate::local_data::LocalData;
use crate::noise::Occasion;
use crate::wire::Message;
use boostfgl_graph::groups::minority_classes;
use boostfgl_nn::backbones::{Backbone, Pass, Supervised};
use boostfgl_nn::optim::Optimizer;
use boostfgl_nn::{
    Matrix, Params, Pool, Propagation, Reach, Real, StateVisitor, View, WeightedLoss, softmax_rows,
};
use std::sync::Arc;

/// What every client of a run is settings.
pub(crate) struct ClientSettings<'a> {
    pub(crate) seed: u64,
    pub(crate) rounds: usize,
    pub(crate) epochs: usize,
    pub(crate) dropout: f64,
    pub(crate) message_noise: f64,
    pub(crate) loss: LossReduction,
    pub(crate) optimizer: &'a OptimizerConfig,
    pub(crate) boost: &'a BoostConfig,
    pub(crate) boosts: &'a [Boost],
}

/// A client between rounds.
pub(crate) struct Client<T: Real> {
    data: LocalData<T>,
    rule: Box<dyn ClientRule<T>>,
    training: View<T>,
    /// Rows of the training nodes among those of the training view, if they are not all.
    rows: Option<Vec<u32>>,
    whole: View<T>,
    boosted_whole: Option<View<T>>,
    loss: WeightedLoss<T>,
    optimizer: Box<dyn Optimizer<T>>,
    local: Params<T>,
    /// Where a round started that the server gave no model for.
    origin: Option<Params<T>>,
    difficulty: Option<Difficulty<T>>,
    node: Option<NodeBoost>,
    topology: Option<TopologyBoost>,
    summarises: bool,
    /// Per class, whether it is a minority class in the gap; `None` for a class without a counted
    /// node.
    minority: Vec<Option<bool>>,
    /// What is known of the model that the next round starts from, if it was judged after the last.
    known: Option<Known<T>>,
    /// αᵥ of the training nodes in this round, under node boosting.
    node_weights: Option<Vec<T>>,
    /// Whether boosted propagations are kept for observers.
    inspected: bool,
    /// The boosted propagation of the last round that the client took part in, if anything may ask
    /// for it.
    boosted: Option<Propagation<T>>,
}

/// What has been computed with one model on the local graph.
struct Known<T> {
    /// Which model: the number of rounds done when it was made.
    rounds_done: usize,
    /// X·W of the first layer, where features are sparse.
    first: Option<Arc<Matrix<T>>>,
    /// Logits and hidden representation by plain propagation.
    seen: Option<(Matrix<T>, Option<Matrix<T>>)>,
    scoring: Option<Scoring<T>>,
}

/// What a model thinks of the local nodes, by the propagation that scores.
struct Scoring<T> {
    probabilities: Matrix<T>,
    /// hᵤᵥ of every arc, under topology boosting.
    heterophily: Vec<T>,
}

/// What local training left behind.
pub(crate) struct Trained<T> {
    pub(crate) loss: f64,
    pub(crate) norm: f64,
    pub(crate) tensor_norms: Vec<f64>,
    pub(crate) summary: Option<Summary>,
    pub(crate) upload: Upload<T>,
}

impl<T: Real> Client<T> {
    pub(crate) fn new(
        mut data: LocalData<T>,
        rule: Box<dyn ClientRule<T>>,
        backbone: &dyn Backbone<T>,
        initial: &Params<T>,
        settings: &ClientSettings<'_>,
        global_counts: &[usize],
    ) -> Self {
        let on = |boost: Boost| settings.boosts.contains(&boost);
        let plan = backbone.plan();
        data.set_operator(plan.operator);
        let labels =
            data.training.iter().filter_map(|&v| data.training_label[v as usize]).collect();
        let topology = on(Boost::Topology)
            .then(|| TopologyBoost::new(&settings.boost.topology).on_own(data.own));
        let scores = on(Boost::Node) || on(Boost::Topology) || on(Boost::Model);
        // Noise is measured by the messages of all nodes, whoever is trained on.
        let reach = if settings.message_noise > 0.0 { Reach::Everything } else { rule.reach() };
        let training = View::reaching(&data.inputs, data.training.clone(), reach, plan);
        Self {
            rows: (training.nodes() != data.training)
                .then(|| positions(&data.training, training.nodes())),
            training,
            whole: View::whole(&data.inputs, plan),
            boosted_whole: topology.is_some().then(|| View::whole(&data.inputs, plan)),
            loss: WeightedLoss::new(labels, settings.loss.into()),
            optimizer: settings.optimizer.build(),
            local: initial.clone(),
            origin: None,
            difficulty: scores.then(|| Difficulty::new(data.len(), settings.boost.node.mu)),
            node: on(Boost::Node).then(|| NodeBoost::new(&settings.boost.node)),
            topology,
            summarises: on(Boost::Model),
            minority: gap_minority(&settings.boost.model, &data, global_counts),
            known: None,
            node_weights: None,
            inspected: false,
            boosted: None,
            rule,
            data,
        }
    }

    /// From now on keeps what observers may look at and training itself does not need.
    pub(crate) fn keep_for_inspection(&mut self) {
        self.inspected = true;
    }

    /// The parameters that compute in place of `model`, or of the client's own without one, if they
    /// differ from it.
    pub(crate) fn deployed(&mut self, model: Option<&Params<T>>) -> Option<Params<T>> {
        self.rule.deploy(model.unwrap_or(&self.local))
    }

    /// The node weights αᵥ of this round's training, under node boosting.
    pub(crate) fn node_weights(&self) -> Option<&[T]> {
        self.node_weights.as_deref()
    }

    /// The messages of this round's training.
    pub(crate) fn propagation(&self) -> &Propagation<T> {
        self.boosted.as_ref().unwrap_or(self.data.inputs.propagation())
    }

    pub(crate) fn data(&self) -> &LocalData<T> {
        &self.data
    }

    /// The model after local training.
    pub(crate) fn local(&self) -> &Params<T> {
        &self.local
    }

    /// The model that the round started from: `given`, or the client's own.
    pub(crate) fn started_from<'a>(
        &'a self,
        given: Option<&'a Params<T>>,
    ) -> Option<&'a Params<T>> {
        given.or(self.origin.as_ref())
    }

    /// Goes back to where the round started, because what came of it was not used; `afresh` if the
    /// optimiser may have been spoilt.
    pub(crate) fn recover(&mut self, given: Option<&Params<T>>, afresh: bool) {
        let Self { local, origin, optimizer, training, rule, .. } = self;
        given.or(origin.as_ref()).into_iter().for_each(|start| local.copy_from(start));
        training.cache_product(None);
        rule.refused(afresh);
        if afresh {
            optimizer.reset();
        }
    }

    /// The weight in a plain average.
    pub(crate) fn size(&self, weight: ClientWeight) -> f64 {
        match weight {
            ClientWeight::Nodes => self.data.own as f64,
            ClientWeight::Labelled => self.data.training.len() as f64,
        }
    }

    /// How many exchanges come before the first round.
    pub(crate) fn exchanges(&self) -> usize {
        self.rule.exchanges()
    }

    /// Lets the rule work at its context before the first round.
    pub(crate) fn prepare<R>(
        &mut self,
        backbone: &dyn Backbone<T>,
        settings: &ClientSettings<'_>,
        pool: &Pool<T>,
        work: impl FnOnce(&mut dyn ClientRule<T>, &ClientContext<'_, T>) -> R,
    ) -> R {
        let context = ClientContext {
            data: &self.data,
            backbone,
            training: &self.training,
            whole: &self.whole,
            loss: &self.loss,
            rows: self.rows.as_deref(),
            pool,
            settings,
            start: &self.local,
            seen: None,
            cached: false,
            rounds_done: 0,
        };
        work(&mut *self.rule, &context)
    }

    /// Takes over another graph, whose first nodes are those of the old one.
    pub(crate) fn adopt(
        self,
        data: LocalData<T>,
        backbone: &dyn Backbone<T>,
        settings: &ClientSettings<'_>,
        global_counts: &[usize],
    ) -> Self {
        Self::new(data, self.rule, backbone, &self.local, settings, global_counts)
    }

    /// Takes down the nodes that a method made up, or makes them again.
    pub(crate) fn visit_graph(
        self,
        backbone: &dyn Backbone<T>,
        settings: &ClientSettings<'_>,
        global_counts: &[usize],
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<Self> {
        let mut owners = self.data.owners();
        visitor.visit("owners of made-up nodes", &mut owners)?;
        let (width, own) = (self.data.width(), self.data.own);
        if !visitor.restores() {
            // Row by row: all of them together may be larger than everything else.
            let mut row = vec![T::ZERO; width];
            for v in own..self.data.len() {
                self.data.inputs.write_row(v, &mut row);
                visitor.visit("features", &mut row[..])?;
            }
            return Ok(self);
        }
        let room = visitor.unread() / size_of::<T>();
        if owners.len() * width > room || owners.iter().any(|&v| v as usize >= own) {
            let expected = format!("neighbours of {own} own nodes, with {width} features each");
            return Err(
                visitor.mismatch(expected, format!("{} others, and {room} numbers", owners.len()))
            );
        }
        let mut features = Matrix::zeros(owners.len(), width);
        (0..owners.len()).try_for_each(|i| visitor.visit("features", features.row_mut(i)))?;
        if owners.is_empty() {
            return Ok(self);
        }
        let data = self.data.extended(&owners, &features);
        Ok(self.adopt(data, backbone, settings, global_counts))
    }

    /// Takes down what the client remembers from round to round, or puts it back.
    pub(crate) fn visit(
        &mut self,
        settings: &ClientSettings<'_>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        visitor.visit("model", &mut self.local)?;
        if settings.optimizer.optimizer_state == OptimizerState::Keep {
            visitor.within("optimizer", |visitor| self.optimizer.visit(&self.local, visitor))?;
        }
        if let Some(difficulty) = &mut self.difficulty {
            visitor.visit("difficulty", difficulty)?;
        }
        self.visit_boosted(visitor)?;
        let Self { rule, data, local, .. } = self;
        visitor.within("rule", |visitor| {
            rule.visit(&StateContext { data, local, seed: settings.seed }, visitor)
        })
    }

    /// The propagation of the last round is state where it scores the next one.
    fn visit_boosted(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        if !self.topology.as_ref().is_some_and(TopologyBoost::boosts_scoring) {
            return Ok(());
        }
        let mut there = self.boosted.is_some();
        visitor.visit("scores with the last propagation", &mut there)?;
        if !there {
            self.boosted = None;
            return Ok(());
        }
        let plain = self.data.inputs.propagation();
        let mut values = self.boosted.as_ref().unwrap_or(plain).csr().values().to_vec();
        visitor.visit("last propagation", &mut values[..])?;
        self.boosted = Some(plain.with_values(values));
        Ok(())
    }

    /// One round of local work from `start`, the model that `rounds_done` rounds have made, or from
    /// the client's own.
    pub(crate) fn train(
        &mut self,
        backbone: &dyn Backbone<T>,
        start: Option<&Params<T>>,
        heard: Option<&Message<T>>,
        rounds_done: usize,
        settings: &ClientSettings<'_>,
        pool: &Pool<T>,
    ) -> Result<Trained<T>> {
        let origin = match start {
            Some(_) => None,
            None => {
                let mut origin = self.origin.take().unwrap_or_else(|| self.local.clone());
                origin.copy_from(&self.local);
                Some(origin)
            }
        };
        let Some(start) = start.or(origin.as_ref()) else {
            unreachable!("one of the two is there")
        };
        let trained = self.train_from(backbone, start, heard, rounds_done, settings, pool);
        self.origin = origin;
        trained
    }

    fn train_from(
        &mut self,
        backbone: &dyn Backbone<T>,
        start: &Params<T>,
        heard: Option<&Message<T>>,
        rounds_done: usize,
        settings: &ClientSettings<'_>,
        pool: &Pool<T>,
    ) -> Result<Trained<T>> {
        // Difficulties are those of the model that would be judged.
        let deployed = self.rule.deploy(start);
        if deployed.is_some()
            || self.known.as_ref().is_none_or(|known| known.rounds_done != rounds_done)
        {
            self.know(deployed.as_ref().unwrap_or(start), rounds_done, pool);
        }
        self.boost(backbone, deployed.as_ref().unwrap_or(start), settings, pool);
        if settings.optimizer.optimizer_state == OptimizerState::Reset {
            self.optimizer.reset();
        }
        let Self {
            data,
            rule,
            training,
            rows,
            whole,
            boosted_whole,
            loss,
            optimizer,
            local,
            known,
            ..
        } = self;
        let boosted = boosted_whole.is_some();
        let cached = deployed.is_none();
        let context = ClientContext {
            data,
            backbone,
            training,
            whole: boosted_whole.as_ref().unwrap_or(whole),
            loss,
            rows: rows.as_deref(),
            pool,
            settings,
            start,
            seen: known
                .as_ref()
                .filter(|_| cached && !boosted)
                .and_then(|known| known.seen.as_ref()),
            cached,
            rounds_done,
        };
        rule.begin(&context, heard)?;
        let last = match rule.train(&context, local)? {
            Some(loss) => loss,
            None => epochs(&mut **rule, &context, &mut **optimizer, local),
        };
        if !last.is_finite() {
            return Err(context.diverged("loss"));
        }
        let length = |norms: &[f64]| norms.iter().map(|d| d * d).sum::<f64>().sqrt();
        // The start was finite, so the distance from it is finite exactly if the model is. A rule
        // must not come to remember one that is not: the client would never recover.
        let moved = local.tensor_distances(start);
        if !length(&moved).is_finite() {
            return Err(context.diverged("model"));
        }
        let upload = rule.finish(&context, local)?;
        let tensor_norms = upload.moved.clone().unwrap_or(moved);
        let norm = length(&tensor_norms);
        if !norm.is_finite() {
            return Err(context.diverged("model"));
        }
        if !upload.message.is_finite() {
            return Err(context.diverged("message"));
        }
        // The weights have moved on.
        self.training.cache_product(None);
        let summary =
            self.summarises.then(|| self.summarise(backbone, rounds_done, settings, pool));
        Ok(Trained { loss: last, norm, tensor_norms, summary, upload })
    }

    /// Begins to know a model: its first product serves every pass over the local graph until the
    /// weights move.
    fn know(&mut self, model: &Params<T>, rounds_done: usize, pool: &Pool<T>) {
        self.forget(pool);
        let first = self.whole.project(&model.tensors()[0], pool).map(Arc::new);
        self.training.cache_product(first.clone());
        self.whole.cache_product(first.clone());
        if let Some(view) = &mut self.boosted_whole {
            view.cache_product(first.clone());
        }
        self.known = Some(Known { rounds_done, first, seen: None, scoring: None });
    }

    fn forget(&mut self, pool: &Pool<T>) {
        self.training.cache_product(None);
        self.whole.cache_product(None);
        if let Some(view) = &mut self.boosted_whole {
            view.cache_product(None);
        }
        if let Some(known) = self.known.take() {
            known.first.and_then(Arc::into_inner).into_iter().for_each(|m| pool.put(m));
            known.scoring.into_iter().for_each(|s| pool.put(s.probabilities));
            if let Some((logits, hidden)) = known.seen {
                pool.put(logits);
                hidden.into_iter().for_each(|hidden| pool.put(hidden));
            }
        }
    }

    /// Moves difficulties by one round and sets node weights and propagation for it.
    fn boost(
        &mut self,
        backbone: &dyn Backbone<T>,
        start: &Params<T>,
        settings: &ClientSettings<'_>,
        pool: &Pool<T>,
    ) {
        if self.difficulty.is_none() {
            return;
        }
        self.score(backbone, start, settings, pool);
        let scoring = self.known.as_ref().and_then(|known| known.scoring.as_ref());
        let (Some(difficulty), Some(scoring)) = (&mut self.difficulty, scoring) else { return };
        difficulty.update(&scoring.probabilities, |v| self.data.training_label[v]);
        if let Some(node) = &self.node {
            let weight = |v: &u32| node.weight(difficulty.mean()[*v as usize]);
            let weights: Vec<T> = self.data.training.iter().map(weight).collect();
            self.loss.set_node_weights(&weights);
            self.node_weights = Some(weights);
        }
        if let Some(topology) = &self.topology {
            let plain = self.data.inputs.propagation();
            let boosted = topology.propagation(
                &self.data.adjacency,
                plain,
                &scoring.heterophily,
                difficulty.mean(),
            );
            self.training.set_propagation(&boosted);
            if let Some(view) = &mut self.boosted_whole {
                view.set_propagation(&boosted);
            }
            self.boosted = (self.inspected || topology.boosts_scoring()).then_some(boosted);
        }
    }

    /// Predicts with the model that is known, once: by plain propagation, or by that of the
    /// client's last round.
    fn score(
        &mut self,
        backbone: &dyn Backbone<T>,
        model: &Params<T>,
        settings: &ClientSettings<'_>,
        pool: &Pool<T>,
    ) {
        let Some(known) = &mut self.known else { return };
        if known.scoring.is_some() {
            return;
        }
        let boosts = self.topology.as_ref().is_some_and(TopologyBoost::boosts_scoring);
        let last = self.boosted.as_ref().filter(|_| boosts);
        // A propagation that overflowed once would spoil every one that is made from what it
        // predicts.
        let last = last.filter(|last| last.csr().values().iter().all(|x| x.is_finite()));
        let view = match (last, &mut self.boosted_whole) {
            (Some(last), Some(view)) => {
                view.set_propagation(last);
                &*view
            }
            _ => &self.whole,
        };
        let noise = settings.noise(self.data.id, known.rounds_done, Occasion::Scoring);
        let mut probabilities =
            Pass::new(backbone, view, pool).using_cache(true).noise(noise).logits(model);
        softmax_rows(&mut probabilities);
        let heterophily = match self.topology {
            Some(_) => TopologyBoost::heterophily(&self.data.adjacency, &probabilities, |v| {
                self.data.training_label[v]
            }),
            None => Vec::new(),
        };
        known.scoring = Some(Scoring { probabilities, heterophily });
    }

    /// Gap between majority and minority on training nodes, under the local model and the training
    /// propagation.
    fn summarise(
        &mut self,
        backbone: &dyn Backbone<T>,
        rounds_done: usize,
        settings: &ClientSettings<'_>,
        pool: &Pool<T>,
    ) -> Summary {
        let deployed = self.rule.deploy(&self.local);
        let noise = settings.noise(self.data.id, rounds_done, Occasion::Summary);
        let pass = Pass::new(backbone, &self.training, pool).using_cache(true).noise(noise);
        let out = pass.logits(deployed.as_ref().unwrap_or(&self.local));
        // [majority, minority] counts of hits and nodes, and the minority's difficulty.
        let (mut hits, mut total, mut difficulty) = ([0usize; 2], [0usize; 2], 0.0);
        for (i, &v) in self.data.training.iter().enumerate() {
            let row = self.rows.as_ref().map_or(i, |rows| rows[i] as usize);
            let Some(label) = self.data.training_label[v as usize] else { continue };
            let Some(minority) = self.minority[label as usize] else { continue };
            let group = usize::from(minority);
            total[group] += 1;
            hits[group] += usize::from(argmax(out.row(row)) == label);
            if group == 1 {
                difficulty += self.difficulty.as_ref().map_or(0.0, |d| d.mean()[v as usize].f64());
            }
        }
        pool.put(out);
        let accuracy = |g: usize| hits[g] as f64 / total[g] as f64;
        let gap = if total.contains(&0) { 0.0 } else { (accuracy(0) - accuracy(1)).max(0.0) };
        Summary {
            gap,
            minority_difficulty: if total[1] == 0 { 0.0 } else { difficulty / total[1] as f64 },
        }
    }

    /// The predicted class of every local node under `model`, or under the client's own, after
    /// `rounds_done` rounds. `starts_next` says that the next round starts from the same model, so
    /// that what is learnt about it may be kept.
    pub(crate) fn predict(
        &mut self,
        backbone: &dyn Backbone<T>,
        model: Option<&Params<T>>,
        rounds_done: usize,
        starts_next: bool,
        settings: &ClientSettings<'_>,
        pool: &Pool<T>,
    ) -> Result<Vec<u32>> {
        // The client's own model is lent out while the rest of the client works with it.
        let own = model
            .is_none()
            .then(|| std::mem::replace(&mut self.local, Params::from_tensors(&[], Vec::new())));
        let Some(given) = model.or(own.as_ref()) else { unreachable!("one of the two is there") };
        let deployed = self.rule.deploy(given);
        let judged = deployed.as_ref().unwrap_or(given);
        self.know(judged, rounds_done, pool);
        let scores = self.class_scores(backbone, judged, rounds_done, settings, pool);
        if !starts_next || deployed.is_some() {
            self.forget(pool);
        }
        if let Some(own) = own {
            self.local = own;
        }
        let scores = scores?;
        let predictions = (0..self.data.own).map(|v| argmax(scores.row(v))).collect();
        pool.put(scores);
        Ok(predictions)
    }

    /// A score for every class and node under the model that is known.
    fn class_scores(
        &mut self,
        backbone: &dyn Backbone<T>,
        model: &Params<T>,
        rounds_done: usize,
        settings: &ClientSettings<'_>,
        pool: &Pool<T>,
    ) -> Result<Matrix<T>> {
        let boosts_evaluation =
            self.topology.as_ref().is_some_and(TopologyBoost::boosts_evaluation);
        if boosts_evaluation {
            self.score(backbone, model, settings, pool);
        }
        let Self {
            data,
            rule,
            training,
            rows,
            whole,
            boosted_whole,
            loss,
            known,
            topology,
            difficulty,
            ..
        } = self;
        let scoring = known.as_ref().and_then(|known| known.scoring.as_ref());
        let boosted = match (boosted_whole, topology, scoring, difficulty) {
            (Some(view), Some(topology), Some(scoring), Some(difficulty)) if boosts_evaluation => {
                let plain = data.inputs.propagation();
                let (heterophily, difficulty) = (&scoring.heterophily, difficulty.mean());
                view.set_propagation(&topology.propagation(
                    &data.adjacency,
                    plain,
                    heterophily,
                    difficulty,
                ));
                Some(&*view)
            }
            _ => None,
        };
        let view = boosted.unwrap_or(whole);
        let context = ClientContext {
            data,
            backbone,
            training,
            whole: view,
            loss,
            rows: rows.as_deref(),
            pool,
            settings,
            start: model,
            seen: None,
            cached: true,
            rounds_done,
        };
        if let Some(scores) = rule.predict(&context)? {
            return Ok(scores);
        }
        if boosted.is_some() || !rule.inspects_start() {
            return Ok(context.logits(model));
        }
        let seen = context.inspect(model);
        let mut scores = pool.take(seen.0.rows(), seen.0.columns());
        scores.copy_from(&seen.0);
        if let Some(known) = known {
            known.seen = Some(seen);
        }
        Ok(scores)
    }

    /// How many validation nodes `predictions` gets right, and how many there are.
    pub(crate) fn validate(&self, predictions: &[u32]) -> (usize, usize) {
        let hits =
            self.data.validation.iter().filter(|(v, y)| predictions[*v as usize] == *y).count();
        (hits, self.data.validation.len())
    }

    /// Global ids of the local nodes.
    pub(crate) fn nodes(&self) -> &[u32] {
        &self.data.nodes
    }
}

/// The usual local training: E full-batch steps. Returns the loss of the last.
fn epochs<T: Real>(
    rule: &mut dyn ClientRule<T>,
    context: &ClientContext<'_, T>,
    optimizer: &mut dyn Optimizer<T>,
    local: &mut Params<T>,
) -> f64 {
    let mut last = 0.0;
    for epoch in 0..context.settings.epochs {
        let model = if epoch == 0 { context.start } else { &*local };
        rule.reparametrise(context, model);
        let effective = rule.effective();
        let cached = context.cached && epoch == 0 && effective.is_none();
        let pass = Pass::new(context.backbone, context.training, context.pool)
            .using_cache(cached)
            .dropout(context.dropout(epoch));
        let pass = pass.noise(context.noise(Occasion::Training(epoch)));
        let supervised = Supervised { loss: context.loss, rows: context.rows };
        let extra =
            |logits: &Matrix<T>, hidden: Option<&Matrix<T>>| rule.extra(context, logits, hidden);
        let (loss, mut gradients) = pass.gradients(effective.unwrap_or(model), supervised, extra);
        rule.adjust(context, model, &mut gradients);
        match epoch {
            0 => optimizer.step_from(context.start, local, &gradients),
            _ => optimizer.step(local, &gradients),
        }
        gradients.into_iter().for_each(|g| context.pool.put(g));
        last = loss;
    }
    last
}

/// Which classes count as minority in the client's gap.
fn gap_minority<T: Real>(
    config: &ModelBoostConfig,
    data: &LocalData<T>,
    global_counts: &[usize],
) -> Vec<Option<bool>> {
    match config.gap_minority {
        GapMinority::Global => minority_classes(global_counts, config.minority_ratio),
        GapMinority::Local => minority_classes(&data.training_counts(), config.minority_ratio),
    }
}

/// The first of the largest.
pub(crate) fn argmax<T: Real>(row: &[T]) -> u32 {
    let mut best = 0;
    for (c, x) in row.iter().enumerate() {
        if *x > row[best] {
            best = c;
        }
    }
    best as u32
}

#[cfg(test)]
mod tests;
