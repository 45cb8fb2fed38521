//! One round of local training.

use super::Trainer;
use crate::client_rule::{ClientContext, ClientRule, Upload};
use crate::config::OptimizerState;
use crate::noise_occasion::Occasion;
use crate::run_context::{ModelSource, RoundContext};
use crate::{Error, Result};
use boostfgl_nn::backbones::{Pass, Supervised};
use boostfgl_nn::optim::Optimizer;
use boostfgl_nn::{Params, Real};
use boostfgl_protocol::{Claims, Update};
use std::sync::Arc;
use std::time::Instant;

impl<T: Real> Trainer<T> {
    /// One round of local work from the server's model or from the client's own.
    pub(crate) fn train(&mut self, round: &RoundContext<'_, T>) -> Result<Update<T>> {
        let started = Instant::now();
        let Self { workspace, rule, optimizer, local, origin, .. } = self;
        let start: &Params<T> = match round.model {
            ModelSource::Server(model) => {
                *origin = None;
                model.params()
            }
            ModelSource::Own => {
                let origin = origin.get_or_insert_with(|| Params::clone(local));
                origin.copy_from(local);
                origin
            }
        };
        // Difficulties are those of the model that would be evaluated.
        let deployed = rule.deploy(start);
        let computing = deployed.as_ref().unwrap_or(start);
        if deployed.is_some() || !workspace.cache.holds(round.model_key()) {
            let views = &mut workspace.views;
            workspace.cache.cache_model(views, computing, round.model_key(), round.pool);
        }
        workspace.begin_boosts(round, computing);
        if round.run.setup.optimizer.optimizer_state == OptimizerState::Reset {
            optimizer.reset();
        }
        let context = workspace.training_context(round, start, deployed.is_none());
        check_broadcast(&**rule, &context, round)?;
        rule.begin(&context, round.message)?;
        let trained = Arc::make_mut(local);
        let loss = match rule.train(&context, trained)? {
            Some(loss) => loss,
            None => epochs(&mut **rule, &context, &mut **optimizer, trained),
        };
        let is_given = matches!(round.model, ModelSource::Server(_));
        let (upload, norms) = finish(&mut **rule, &context, trained, loss, is_given)?;
        // X·W₁ of the start model is of no use for the trained one.
        workspace.views.training.cache_product(None);
        let summary = match workspace.boosts.summarises() {
            true => {
                let deployed = rule.deploy(local);
                workspace.summarise(round, deployed.as_ref().unwrap_or(local))
            }
            false => None,
        };
        let size = round.run.setup.protocol.client_weight.of(&workspace.enrolment);
        let claims = Claims {
            loss,
            size: upload.size.then_some(size),
            norms,
            summary,
            seconds: started.elapsed().as_secs_f64(),
        };
        let model = upload.model.then(|| Arc::clone(local));
        Ok(Update { claims, model, message: upload.message })
    }
}

/// Checks the server's message: it arrives from a network. Models were checked when they were decoded.
fn check_broadcast<T: Real>(
    rule: &dyn ClientRule<T>,
    context: &ClientContext<'_, T>,
    round: &RoundContext<'_, T>,
) -> Result<()> {
    match rule.broadcast_form(context).misfit(round.message) {
        None => Ok(()),
        Some(reason) => Err(Error::Broadcast {
            client: context.data().called_in_messages(),
            round: context.rounds_done() + 1,
            reason,
        }),
    }
}

/// Checks that the trained model is finite, and collects what the rule sends, with ‖Δ‖₂ of each
/// tensor of what is combined, unless the server measures it: it has the model, and the one that
/// training started from if that `is_given`.
fn finish<T: Real>(
    rule: &mut dyn ClientRule<T>,
    context: &ClientContext<'_, T>,
    local: &Params<T>,
    loss: f64,
    is_given: bool,
) -> Result<(Upload<T>, Option<Vec<f64>>)> {
    if !loss.is_finite() {
        return Err(context.diverged("loss"));
    }
    // A rule must not keep state of a model that is not finite: the client would never recover.
    if !local.is_finite() {
        return Err(context.diverged("model"));
    }
    let mut upload = rule.finish(context, local)?;
    let norms = match upload.moved.take() {
        None if upload.model && is_given => None,
        moved => Some(moved.unwrap_or_else(|| local.tensor_distances(context.start))),
    };
    if !norms.as_deref().is_none_or(|norms| length(norms).is_finite()) {
        return Err(context.diverged("model"));
    }
    if !upload.message.is_finite() {
        return Err(context.diverged("message"));
    }
    Ok((upload, norms))
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
