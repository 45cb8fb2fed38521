//! A client's graph with all that is computed on it: views, loss, boosts and cache.

use super::boosts::ClientBoosts;
use super::cache::ModelCache;
use super::predicted::{Predicted, Scores, argmax};
use super::views::Views;
use crate::Result;
use crate::boost::Summary;
use crate::client_rule::{ClientContext, ClientRule};
use crate::local_data::LocalData;
use crate::noise_occasion::Occasion;
use crate::run_context::{ModelSource, RoundContext, RunContext};
use boostfgl_nn::backbones::Pass;
use boostfgl_nn::{Matrix, Params, Reach, Real, WeightedLoss, softmax_rows};
use boostfgl_protocol::Enrolment;

/// A client's graph with all that is computed on it. Models and the method's rule are apart from
/// it, so that a pass over the graph can borrow the client's own model.
pub(super) struct Workspace<T: Real> {
    pub(super) data: LocalData<T>,
    /// What the client said about itself when it joined, whatever graph it has now.
    pub(super) enrolment: Enrolment,
    pub(super) views: Views<T>,
    pub(super) loss: WeightedLoss<T>,
    pub(super) boosts: ClientBoosts<T>,
    pub(super) cache: ModelCache<T>,
    /// Whether the rule predicted in the last evaluation, and not the network.
    pub(super) is_by_rule: bool,
}

impl<T: Real> Workspace<T> {
    /// A workspace for a rule that needs `reach` of training passes.
    pub(super) fn new(
        run: &RunContext<T>,
        mut data: LocalData<T>,
        enrolment: Enrolment,
        reach: Reach,
        class_counts: &[usize],
    ) -> Self {
        let plan = run.backbone.plan();
        data.set_operator(plan.operator);
        let labels = data.training.iter().filter_map(|&v| data.training_label[v as usize]);
        let labels = labels.collect();
        let boosts = ClientBoosts::new(run, &data, class_counts);
        // The scale of the noise follows from the messages of all nodes, not only of training ones.
        let noisy = run.setup.model.message_noise > 0.0;
        let reach = if noisy { Reach::Everything } else { reach };
        Self {
            views: Views::new(&data, reach, plan, boosts.reweights_messages()),
            loss: run.setup.loss.of(labels, run.setup.protocol.loss),
            boosts,
            cache: ModelCache::empty(),
            is_by_rule: false,
            enrolment,
            data,
        }
    }

    /// What a rule works with: the plain graph, and nothing cached of the model.
    pub(super) fn context<'a>(
        &'a self,
        round: &RoundContext<'a, T>,
        start: &'a Params<T>,
    ) -> ClientContext<'a, T> {
        ClientContext {
            data: &self.data,
            backbone: &*round.run.backbone,
            training: &self.views.training,
            whole: &self.views.whole,
            loss: &self.loss,
            rows: self.views.rows.as_deref(),
            pool: round.pool,
            settings: &round.run.setup,
            start,
            given: match round.model {
                ModelSource::Server(model) => Some(model),
                ModelSource::Own => None,
            },
            seen: None,
            cached: false,
            rounds_done: round.rounds_done,
        }
    }

    /// The same for training from `start`, under this round's boosts. `cached` means that the cache
    /// belongs to `start`.
    pub(super) fn training_context<'a>(
        &'a self,
        round: &RoundContext<'a, T>,
        start: &'a Params<T>,
        cached: bool,
    ) -> ClientContext<'a, T> {
        // Cached outputs are those of plain propagation.
        let plain = self.views.boosted_whole.is_none();
        ClientContext {
            whole: self.views.whole_in_training(),
            seen: self.cache.outputs().filter(|_| cached && plain),
            cached,
            ..self.context(round, start)
        }
    }

    /// Sets up the boosts of a round that starts from `model`.
    pub(super) fn begin_boosts(&mut self, round: &RoundContext<'_, T>, model: &Params<T>) {
        if self.boosts.is_empty() {
            return;
        }
        self.score(round, model);
        let Self { data, views, loss, boosts, cache, .. } = self;
        if let Some(probabilities) = cache.probabilities() {
            boosts.begin_round(data, probabilities, loss, views);
        }
    }

    /// Computes the class distributions of all nodes under the cached model, unless they are
    /// cached: by plain propagation, or by that of the client's last round.
    fn score(&mut self, round: &RoundContext<'_, T>, model: &Params<T>) {
        let Self { data, views, boosts, cache, .. } = self;
        let Some(cached) = cache.cached_mut() else { return };
        if cached.probabilities.is_some() {
            return;
        }
        let view = views.whole_under(boosts.scoring_propagation());
        let run = round.run;
        let noise = run.setup.noise(data.id, cached.key.rounds_done, Occasion::Scoring);
        let pass = Pass::new(&*run.backbone, view, round.pool).using_cache(true).noise(noise);
        let mut probabilities = pass.logits(model);
        softmax_rows(&mut probabilities);
        boosts.scored(data, &probabilities);
        cached.probabilities = Some(probabilities);
    }

    /// The summary that boosts send to the server, under the model `trained` and the training
    /// propagation.
    pub(super) fn summarise(
        &self,
        round: &RoundContext<'_, T>,
        trained: &Params<T>,
    ) -> Option<Summary> {
        let Self { data, views, boosts, .. } = self;
        let noise = round.run.setup.noise(data.id, round.rounds_done, Occasion::Summary);
        let pass = Pass::new(&*round.run.backbone, &views.training, round.pool);
        let logits = pass.using_cache(true).noise(noise).logits(trained);
        let summary = boosts.summary(data, &logits, views.rows.as_deref());
        round.pool.put(logits);
        summary
    }

    /// What `model` predicts for each of the client's own nodes. `keeps` means that the next round
    /// starts from this model, so that the cache stays.
    pub(super) fn predict(
        &mut self,
        round: &RoundContext<'_, T>,
        rule: &mut dyn ClientRule<T>,
        model: &Params<T>,
        keeps: bool,
    ) -> Result<Predicted<T>> {
        let scores = self.scores(round, rule, model, keeps)?;
        let own = self.data.own;
        let classes = (0..own).map(|v| argmax(scores.matrix().row(v))).collect();
        let probabilities = round.run.setup.probabilities.then(|| scores.probabilities(own));
        round.pool.put(scores.into_matrix());
        Ok(Predicted { classes, probabilities })
    }

    /// The probability of every class for each of the client's own nodes under `model`.
    pub(super) fn probabilities(
        &mut self,
        round: &RoundContext<'_, T>,
        rule: &mut dyn ClientRule<T>,
        model: &Params<T>,
    ) -> Result<Matrix<T>> {
        Ok(self.scores(round, rule, model, false)?.probabilities(self.data.own))
    }

    /// A score for every class and node under `model`.
    fn scores(
        &mut self,
        round: &RoundContext<'_, T>,
        rule: &mut dyn ClientRule<T>,
        model: &Params<T>,
        keeps: bool,
    ) -> Result<Scores<T>> {
        self.cache.cache_model(&mut self.views, model, round.model_key(), round.pool);
        let scores = self.class_scores(round, rule, model);
        if !keeps {
            self.cache.clear(&mut self.views, round.pool);
        }
        let scores = scores?;
        self.is_by_rule = matches!(scores, Scores::Probabilities(_));
        Ok(scores)
    }

    /// A score for every class and node under the cached model.
    fn class_scores(
        &mut self,
        round: &RoundContext<'_, T>,
        rule: &mut dyn ClientRule<T>,
        model: &Params<T>,
    ) -> Result<Scores<T>> {
        let propagation = match self.boosts.boosts_evaluation() {
            true => {
                self.score(round, model);
                let Self { data, boosts, cache, .. } = &*self;
                cache.probabilities().and_then(|found| boosts.propagation(data, found))
            }
            false => None,
        };
        self.views.whole_under(propagation.as_ref());
        let views = &self.views;
        let boosted = views.boosted_whole.as_ref().filter(|_| propagation.is_some());
        let whole = boosted.unwrap_or(&views.whole);
        let context = ClientContext { whole, cached: true, ..self.context(round, model) };
        if let Some(scores) = rule.predict(&context)? {
            return Ok(Scores::Probabilities(scores));
        }
        if boosted.is_some() || !rule.inspects_start() {
            return Ok(Scores::Logits(context.start_logits()));
        }
        // The rule will read these outputs when the next round starts from this model.
        let outputs = context.inspect_start();
        let mut scores = round.pool.take(outputs.0.rows(), outputs.0.columns());
        scores.copy_from(&outputs.0);
        if let Some(cached) = self.cache.cached_mut() {
            cached.outputs = Some(outputs);
        }
        Ok(Scores::Logits(scores))
    }
}
