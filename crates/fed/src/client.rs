//! One client: a state machine that does tasks. Its data never leave it, its model does.
//!
//! ```text
//!  Enroll ─► Begin ─► Exchange … Finish ─► ┌ Train ─► (Discard) ─► Evaluate ─► (Keep) ┐ ─► Conclude
//!                                          └───────────── every round ────────────────┘
//!                     └─► Restore ─────────────────────────────► Save, between two rounds
//! ```
//!
//! `exchanges` is what comes before the first round, `trainer` a client that has begun, `workspace`
//! its graph with all that is computed on it (`views`, `boosts`, `cache`), `local_training` one
//! round of training, `kept` what stays with the client, `state` saving and restoring.

mod boosts;
mod cache;
mod exchanges;
mod kept;
mod local_training;
mod predicted;
mod saved_predictor;
mod state;
#[cfg(test)]
mod tests;
mod trainer;
mod views;
mod workspace;

pub use kept::Evaluated;
pub(crate) use kept::digest;
pub(crate) use local_training::length;
pub(crate) use predicted::argmax;
pub(crate) use trainer::Trainer;

use crate::layers::ClientLayer;
use crate::local_data::{LocalData, MOST_NODES, classes_objection, numbers};
use crate::methods::MethodContext;
use crate::run_context::{Opened, RoundContext, RunPlan};
use crate::screen::Reason;
use crate::tally::Tally;
use crate::{Error, Result};
use boostfgl_nn::{Real, StateVisitor, TensorShape};
use boostfgl_protocol::{
    Broadcast, Conclusion, Discard, Evaluation, Failure, Frame, Header, Model, Reply, ReplyFrame,
    Revealed, Roster, Task, TaskFrame, Trial, Update,
};
use kept::Kept;
use predicted::Predicted;
use std::sync::Arc;

/// One client of a federation.
///
/// Whatever drives it passes [tasks](Task) in the order in which they arrive and sends the replies
/// back. A task that cannot be done, or that comes at the wrong time, is answered with the reason;
/// the client then stays as it was. (After a state that could not be restored it does nothing more.)
pub struct Client<T: Real> {
    plan: Arc<RunPlan<T>>,
    /// Counts test nodes, outside of a simulation.
    tally: Option<Box<dyn Tally>>,
    /// The run and the number of the client, as in the first frame that arrived.
    joined: Option<Header>,
    /// What changes updates before they leave, in order.
    layers: Vec<Box<dyn ClientLayer<T>>>,
    stage: Stage<T>,
    kept: Kept<T>,
}

/// How far a client is.
enum Stage<T: Real> {
    /// Before `Begin`.
    Waiting(Box<LocalData<T>>),
    /// Before the first round.
    Preparing(Box<Trainer<T>>),
    /// In or between rounds.
    Training(Box<Trainer<T>>),
    /// While the stage changes.
    Changing,
}

impl<T: Real> Client<T> {
    /// A client of a run with its data.
    pub(crate) fn new(
        plan: &Arc<RunPlan<T>>,
        data: LocalData<T>,
        tally: Option<Box<dyn Tally>>,
    ) -> Self {
        let (plan, stage) = (Arc::clone(plan), Stage::Waiting(Box::new(data)));
        Self { plan, tally, joined: None, layers: Vec::new(), stage, kept: Kept::default() }
    }

    /// The same client with a further layer on the way of its updates.
    #[must_use]
    pub fn with_layer(mut self, layer: Box<dyn ClientLayer<T>>) -> Self {
        self.layers.push(layer);
        self
    }

    /// Does the tasks of a frame, in order.
    pub fn receive(&mut self, frame: TaskFrame<T>) -> ReplyFrame<T> {
        let Frame { header, items } = frame;
        let joined = *self.joined.get_or_insert(header);
        let items = match (Header { round: joined.round, ..header }) == joined {
            true => items.into_iter().map(|task| self.handle(task)).collect(),
            false => {
                let error = Error::Misdirected { joined, found: header };
                items.iter().map(|_| failed(&error)).collect()
            }
        };
        Frame { header, items }
    }

    /// Does one task.
    pub fn handle(&mut self, task: Task<T>) -> Reply<T> {
        self.reply(task).unwrap_or_else(|error| failed(&error))
    }

    fn reply(&mut self, task: Task<T>) -> Result<Reply<T>> {
        let name = task.name();
        match (task, &mut self.stage) {
            (Task::Enroll, Stage::Waiting(data)) => {
                let test = self.tally.as_ref().map_or(0, |tally| tally.nodes());
                Ok(Reply::Enrolled(data.enrolment(&self.plan, test)))
            }
            (Task::Begin(roster), Stage::Waiting(_)) => self.begin(&roster),
            (Task::Exchange(step), Stage::Preparing(_)) => {
                self.exchange(step).map(Reply::Exchanged)
            }
            (Task::Discard(discard), Stage::Preparing(trainer)) => {
                trainer.rule.refused(discard.numeric);
                self.stage = std::mem::replace(&mut self.stage, Stage::Changing).prepared();
                Ok(Reply::Done)
            }
            (Task::Train(broadcast), Stage::Training(trainer)) => {
                check_model(trainer, broadcast.rounds_done, broadcast.model.as_ref())?;
                trainer.check_round(broadcast.rounds_done)?;
                train(trainer, &mut self.layers, &broadcast).map(Reply::Update)
            }
            (Task::Discard(Discard { numeric, model }), Stage::Training(trainer)) => {
                check_model(trainer, 0, model.as_ref())?;
                trainer.recover(model.as_ref().map(Model::params), numeric);
                Ok(Reply::Done)
            }
            (Task::Evaluate(trial), Stage::Training(_)) => self.evaluate(&trial),
            (Task::Keep { rounds_done }, Stage::Training(trainer)) => {
                match self.kept.keep(rounds_done) {
                    true => Ok(Reply::Done),
                    false => Err(Error::NotEvaluated {
                        client: trainer.data().called_in_messages(),
                        round: rounds_done as usize,
                    }),
                }
            }
            (Task::Conclude, Stage::Training(_)) => {
                Ok(Reply::Concluded(Conclusion { digest: self.kept.digest() }))
            }
            (Task::Save, Stage::Training(_)) => {
                let mut state = Vec::new();
                self.visit(&mut StateVisitor::saving(&mut state)).map_err(Error::State)?;
                Ok(Reply::State(state))
            }
            (Task::Restore(state), Stage::Preparing(_)) => {
                self.visit(&mut StateVisitor::restoring(&state)).map_err(Error::State)?;
                Ok(Reply::Done)
            }
            (_, stage) => Err(Error::OutOfOrder { task: name, stage: stage.name() }),
        }
    }

    /// Makes the client's side of the method, now that all clients are known.
    fn begin(&mut self, roster: &Roster) -> Result<Reply<T>> {
        let Self { plan, tally, stage: Stage::Waiting(data), .. } = self else {
            return Ok(Reply::Done);
        };
        check_roster(roster, data, plan)?;
        let Opened { run, initial, .. } = plan.open((data.width(), roster.classes.len()))?;
        data.adopt_classes(&roster.classes).map_err(|class| missing_class(&class))?;
        let shared = plan.shares_moments().then_some(&roster.moments[..]);
        data.prepare(shared).map_err(|columns| Error::Roster {
            expected: format!("moments of {columns} feature columns"),
            found: format!("{} numbers", roster.moments.len()),
        })?;
        // Random streams of a client are keyed by its number, which it learns here. A simulation has
        // numbered its clients, and may give several of them one number.
        if !plan.simulated {
            data.id = roster.client as usize;
        }
        if let Some(tally) = tally {
            tally.begin(&roster.classes);
        }
        let method = MethodContext {
            setup: &run.setup,
            initial: &initial,
            backbone: &*run.backbone,
            clients: roster.able.len(),
            able: roster.able.clone(),
            features: data.width(),
            classes: data.classes(),
        };
        let rule = plan.method.client(&method, data);
        let (enrolment, exchanges) = (data.enrolment(plan, 0), run.exchanges(roster.able.len()));
        let class_counts = roster.class_counts.iter().map(|&count| count as usize).collect();
        if let Stage::Waiting(data) = std::mem::replace(&mut self.stage, Stage::Changing) {
            let mut trainer = Trainer::new(run, *data, enrolment, rule, initial, class_counts);
            trainer.exchanges.left = exchanges;
            self.stage = Stage::Preparing(Box::new(trainer));
        }
        Ok(Reply::Done)
    }

    /// Predicts for the client's own nodes.
    fn evaluate(&mut self, trial: &Trial<T>) -> Result<Reply<T>> {
        let Self { stage: Stage::Training(trainer), tally, kept, .. } = self else {
            return Ok(Reply::Done);
        };
        let run = &Arc::clone(&trainer.run);
        let model = trial.model.as_ref();
        check_model(trainer, trial.rounds_done, model)?;
        let Predicted { classes: predictions, probabilities } = run.pools.lend(|pool| {
            let rounds_done = trial.rounds_done as usize;
            let round = RoundContext { run, rounds_done, model: model.into(), message: None, pool };
            trainer.predict(&round, trial.starts_next)
        })?;
        let (hits, validated) = trainer.validate(&predictions);
        let own = model.is_none().then(|| Arc::clone(trainer.local()));
        let (hits, validated) = (hits as u64, validated as u64);
        let (counts, groups, revealed) = (Vec::new(), Vec::new(), None);
        let mut evaluation = Evaluation { hits, validated, counts, groups, revealed };
        if run.simulated {
            evaluation.revealed = Some(Revealed { predictions, probabilities, model: own });
        } else {
            evaluation.counts =
                tally.as_ref().map_or(Vec::new(), |tally| tally.count(&predictions));
            if let (Some(tally), Some(rows)) = (tally.as_ref(), &probabilities) {
                let probability = |v: usize, class: u32| rows.row(v)[class as usize].f64();
                evaluation.groups = tally.by_group(&predictions, &probability);
            }
            let rounds_done = trial.rounds_done;
            kept.evaluated(Evaluated { rounds_done, predictions, probabilities, own });
        }
        Ok(Reply::Evaluated(evaluation))
    }

    /// The shapes of the run's models, which frames for this client must have: none before `Begin`,
    /// since no model comes before it.
    pub fn shapes(&self) -> Vec<TensorShape> {
        match &self.stage {
            Stage::Preparing(trainer) | Stage::Training(trainer) => trainer.run.backbone.shapes(),
            Stage::Waiting(_) | Stage::Changing => Vec::new(),
        }
    }

    /// Whether models in frames for this client must be finite: unless the run screens nothing.
    pub fn requires_finite(&self) -> bool {
        self.plan.setup.screen.enabled
    }

    /// The client's evaluation in the round to report. `None` before such a round, and in a
    /// simulation.
    pub fn reported(&self) -> Option<&Evaluated<T>> {
        self.kept.reported()
    }

    /// The client once it has begun. Simulations look inside.
    ///
    /// # Panics
    /// Before `Begin`.
    pub(crate) fn trainer(&self) -> &Trainer<T> {
        match &self.stage {
            Stage::Preparing(trainer) | Stage::Training(trainer) => trainer,
            Stage::Waiting(_) | Stage::Changing => unreachable!("a simulation begins first"),
        }
    }

    /// The same, to be changed.
    ///
    /// # Panics
    /// Before `Begin`.
    pub(crate) fn trainer_mut(&mut self) -> &mut Trainer<T> {
        match &mut self.stage {
            Stage::Preparing(trainer) | Stage::Training(trainer) => trainer,
            Stage::Waiting(_) | Stage::Changing => unreachable!("a simulation begins first"),
        }
    }
}

/// One round of local training. A client whose training fails returns to where it started.
fn train<T: Real>(
    trainer: &mut Trainer<T>,
    layers: &mut [Box<dyn ClientLayer<T>>],
    broadcast: &Broadcast<T>,
) -> Result<Update<T>> {
    let Broadcast { rounds_done, model, message } = broadcast;
    let run = &Arc::clone(&trainer.run);
    let update = run.pools.lend(|pool| {
        let (rounds_done, message) = (*rounds_done as usize, message.as_deref());
        let model = model.as_ref().into();
        let mut update = trainer.train(&RoundContext { run, rounds_done, model, message, pool })?;
        layers.iter_mut().try_for_each(|layer| layer.outgoing(broadcast, &mut update))?;
        Ok(update)
    });
    match &update {
        Ok(_) => trainer.trained = Some(*rounds_done),
        Err(_) => trainer.recover(model.as_ref().map(Model::params), true),
    }
    update
}

/// The reply to a task that could not be done.
fn failed<T: Real>(error: &Error) -> Reply<T> {
    Reply::Failed(Failure { reason: error.to_string(), advice: error.advice().to_owned() })
}

/// Checks the shapes of a model from the server. The decoder checks them too, but a frame that
/// arrives before the first task is decoded before the network is known.
fn check_model<T: Real>(
    trainer: &Trainer<T>,
    rounds_done: u32,
    model: Option<&Model<T>>,
) -> Result<()> {
    let (shapes, Some(model)) = (trainer.run.backbone.shapes(), model) else { return Ok(()) };
    let tensors = model.params().tensors();
    let fits = tensors.len() == shapes.len()
        && tensors.iter().zip(&shapes).all(|(tensor, shape)| {
            (tensor.rows(), tensor.columns()) == (shape.rows, shape.columns)
        });
    if fits {
        return Ok(());
    }
    let expected = "a model of the shapes of this network".to_owned();
    Err(Error::Broadcast {
        client: trainer.data().called_in_messages(),
        round: rounds_done as usize + 1,
        reason: Reason::Message { expected, found: "other shapes".to_owned() },
    })
}

/// Checks what the server says about the clients: it arrives from a network.
fn check_roster<T: Real>(roster: &Roster, data: &LocalData<T>, plan: &RunPlan<T>) -> Result<()> {
    let Roster { client, able, classes, class_counts, moments: _ } = roster;
    if let Err(class) = numbers(&data.schema.classes, classes) {
        return Err(missing_class(&class));
    }
    if let Some((expected, found)) = classes_objection(classes, plan.simulated) {
        return Err(Error::Roster { expected, found });
    }
    if let Some(count) = class_counts.iter().find(|count| **count > MOST_NODES) {
        let expected = format!("at most {MOST_NODES} training nodes of a class");
        return Err(Error::Roster { expected, found: count.to_string() });
    }
    let counts = if plan.counts_classes() { classes.len() } else { 0 };
    let can_train = data.training_nodes() > 0;
    if able.get(*client as usize) == Some(&can_train) && class_counts.len() == counts {
        return Ok(());
    }
    Err(Error::Roster {
        expected: format!(
            "a list of clients in which this one {} training nodes, and {counts} class counts",
            if can_train { "has" } else { "has no" }
        ),
        found: format!(
            "client {client} of {}, and {} class counts",
            able.len(),
            class_counts.len()
        ),
    })
}

/// The error for a class of this client that the server does not know.
fn missing_class(class: &str) -> Error {
    let found = "a list without it".to_owned();
    Error::Roster { expected: format!("a list of classes with `{class}`"), found }
}

impl<T: Real> Stage<T> {
    /// What it is, for errors.
    fn name(&self) -> &'static str {
        match self {
            Self::Waiting(_) => "before it has begun",
            Self::Preparing(_) => "before its first round",
            Self::Training(_) => "in a round",
            Self::Changing => "after an error",
        }
    }

    /// The stage after the preparation.
    fn prepared(self) -> Self {
        match self {
            Self::Preparing(trainer) => Self::Training(trainer),
            other => other,
        }
    }
}
