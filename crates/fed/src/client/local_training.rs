//! One round of local training.

use super::{Client, Trained};
use crate::Result;
use crate::client_rule::{ClientContext, ClientRule};
use crate::config::OptimizerState;
use crate::noise_occasion::Occasion;
use crate::round_context::{ModelSource, RoundContext};
use boostfgl_nn::backbones::{Pass, Supervised};
use boostfgl_nn::optim::Optimizer;
use boostfgl_nn::{Params, Real};

impl<T: Real> Client<T> {
    /// One round of local work from the server's model or from the client's own.
    pub(crate) fn train(&mut self, round: &RoundContext<'_, T>) -> Result<Trained<T>> {
        let Self { workspace, rule, optimizer, local, origin } = self;
        let start: &Params<T> = match round.model {
            ModelSource::Server(model) => {
                *origin = None;
                model
            }
            ModelSource::Own => {
                let origin = origin.get_or_insert_with(|| local.clone());
                origin.copy_from(local);
                origin
            }
        };
        // Difficulties are those of the model that would be evaluated.
        let deployed = rule.deploy(start);
        let computing = deployed.as_ref().unwrap_or(start);
        if deployed.is_some() || !workspace.cache.holds(round.rounds_done) {
            let views = &mut workspace.views;
            workspace.cache.cache_model(views, computing, round.rounds_done, round.pool);
        }
        workspace.begin_boosts(round, computing);
        if round.run.setup.optimizer.optimizer_state == OptimizerState::Reset {
            optimizer.reset();
        }
        let context = workspace.training_context(round, start, deployed.is_none());
        rule.begin(&context, round.message)?;
        let loss = match rule.train(&context, local)? {
            Some(loss) => loss,
            None => epochs(&mut **rule, &context, &mut **optimizer, local),
        };
        let mut trained = finish(&mut **rule, &context, local, loss)?;
        // X·W₁ of the start model is of no use for the trained one.
        workspace.views.training.cache_product(None);
        if workspace.boosts.summarises() {
            let deployed = rule.deploy(local);
            trained.summary = workspace.summarise(round, deployed.as_ref().unwrap_or(local));
        }
        Ok(trained)
    }
}

/// Checks that the trained model is finite, and collects what the rule sends.
fn finish<T: Real>(
    rule: &mut dyn ClientRule<T>,
    context: &ClientContext<'_, T>,
    local: &Params<T>,
    loss: f64,
) -> Result<Trained<T>> {
    if !loss.is_finite() {
        return Err(context.diverged("loss"));
    }
    // The start was finite, so the distance from it is finite exactly if the model is. A rule must
    // not keep state of one that is not: the client would never recover.
    let moved = local.tensor_distances(context.start);
    if !length(&moved).is_finite() {
        return Err(context.diverged("model"));
    }
    let upload = rule.finish(context, local)?;
    let tensor_norms = upload.moved.clone().unwrap_or(moved);
    let norm = length(&tensor_norms);
    if !norm.is_finite() {
        return Err(context.diverged("model"));
    }
    if !upload.message.is_finite() {
        return Err(context.diverged("message"));
    }
    Ok(Trained { loss, norm, tensor_norms, summary: None, upload })
}

/// The norm of a whole from the norms of its parts.
pub(crate) fn length(norms: &[f64]) -> f64 {
    norms.iter().map(|norm| norm * norm).sum::<f64>().sqrt()
}

/// The usual local training: E full-batch steps. Returns the loss of the last.
fn epochs<T: Real>(
    rule: &mut dyn ClientRule<T>,
    context: &ClientContext<'_, T>,
    optimizer: &mut dyn Optimizer<T>,
    local: &mut Params<T>,
) -> f64 {
    let mut last = 0.0;
    for epoch in 0..context.epochs() {
        let model = if epoch == 0 { context.start } else { &*local };
        rule.reparametrise(context, model);
        let effective = rule.effective();
        let cached = context.cached && epoch == 0 && effective.is_none();
        let pass = Pass::new(context.backbone, context.training, context.pool)
            .using_cache(cached)
            .dropout(context.dropout(epoch));
        let pass = pass.noise(context.noise(Occasion::Training(epoch)));
        let supervised = Supervised { loss: context.loss, rows: context.rows };
        let (loss, mut gradients) =
            pass.gradients(effective.unwrap_or(model), supervised, |logits, hidden| {
                rule.extra(context, logits, hidden)
            });
        rule.adjust(context, model, &mut gradients);
        match epoch {
            0 => optimizer.step_from(context.start, local, &gradients),
            _ => optimizer.step(local, &gradients),
        }
        gradients.into_iter().for_each(|gradient| context.pool.put(gradient));
        last = loss;
    }
    last
}
