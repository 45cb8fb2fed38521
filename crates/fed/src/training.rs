//! The training loop. It can be stopped after any round and resumed to the same digits.

use crate::client;
use crate::federation::{Federation, Outcome};
use crate::layers::Tamper;
use crate::observer::{Observer, RoundRecord};
use crate::predictor::Predictors;
use crate::server::{Event, RoundEvaluation, RoundReport, federation_digest};
use crate::{Error, Result};
use boostfgl_nn::{Matrix, Params, Real, StateVisitor, Stateful};
use boostfgl_protocol::{Evaluation, Message, Revealed};
use std::sync::Arc;
use std::time::Instant;

/// A federation between two rounds.
///
/// ```text
/// Federation::begin ─► step ─► step ─► … ─► finish
///                         │ visit: everything that later rounds depend on
/// Federation::resume ◄────┘
/// ```
///
/// Random generators are no part of the state: every stream is keyed by seed, purpose, client and
/// round.
pub struct Training<T: Real> {
    federation: Federation<T>,
    /// The round to report, as far as it is known.
    reported: Option<Outcome<T>>,
    trace: Trace,
    inspected: bool,
}

impl<T: Real> Federation<T> {
    /// Runs the exchanges between clients that come before the first round.
    ///
    /// # Errors
    /// If all clients of a round diverge, fewer updates than the quorum can be used, or an observer
    /// returns an error.
    pub fn begin(mut self, observers: &mut [&mut dyn Observer<T>]) -> Result<Training<T>> {
        while !self.server.is_prepared() {
            self.exchange()?;
            while let Some(event) = self.server.event() {
                let Event::Prepared { done, total } = event else { continue };
                for observer in observers.iter_mut() {
                    observer.preparing(done, total).map_err(Error::Observer)?;
                }
            }
        }
        Ok(Training::new(self).with_observers(observers))
    }

    /// Resumes from a state saved by [`Training::visit`], in a federation of the same setup and
    /// data. Earlier rounds are neither repeated nor shown again.
    ///
    /// # Errors
    /// If what is read is not the state of such a federation.
    pub fn resume(
        self,
        visitor: &mut StateVisitor<'_>,
        observers: &mut [&mut dyn Observer<T>],
    ) -> Result<Training<T>> {
        let mut training = Training::new(self);
        training.visit(visitor)?;
        Ok(training.with_observers(observers))
    }
}

impl<T: Real> Training<T> {
    fn new(federation: Federation<T>) -> Self {
        Self { federation, reported: None, trace: Trace::default(), inspected: false }
    }

    /// Makes clients store the values that these observers read.
    fn with_observers(mut self, observers: &[&mut dyn Observer<T>]) -> Self {
        self.inspected = observers.iter().any(|o| o.inspects());
        if self.inspected {
            self.federation.server.keeps_models = true;
            let clients = self.federation.clients.iter_mut();
            clients.for_each(|client| client.trainer_mut().keep_for_inspection());
        }
        self
    }

    /// Rounds done.
    pub fn done(&self) -> usize {
        self.federation.server.done()
    }

    /// Whether no round is left.
    pub fn is_over(&self) -> bool {
        self.done() >= self.federation.rounds()
    }

    /// Applies `change` to the message of `client` in the next round, on its way to the server. For
    /// tests of the server with messages that no client would send.
    ///
    /// ```
    /// # fn tampered(mut training: boostfgl_fed::Training<f32>) -> boostfgl_fed::Result<()> {
    /// training.tamper(0, |message| message.numbers.push(f64::NAN));
    /// let mut observer = |round: &boostfgl_fed::RoundRecord<'_>| {
    ///     assert_eq!(round.refused[0].client, 0);
    /// };
    /// training.step(&mut [&mut observer])
    /// # }
    /// ```
    pub fn tamper(
        &mut self,
        client: usize,
        change: impl FnOnce(&mut Message<T>) + Send + Sync + 'static,
    ) {
        self.federation.outbound.push(Box::new(Tamper::new(client, change)));
    }

    /// One round, unless none is left.
    ///
    /// # Errors
    /// If all clients of a round diverge, fewer updates than the quorum can be used, or an observer
    /// returns an error.
    pub fn step(&mut self, observers: &mut [&mut dyn Observer<T>]) -> Result<()> {
        if self.is_over() {
            return Ok(());
        }
        let started = Instant::now();
        let (round, rounds) = (self.done() + 1, self.federation.rounds());
        let federation = &mut self.federation;
        // Rounds that the method adds train modules of its own: the network does not change.
        let starts = (self.inspected && round <= federation.setup().protocol.rounds)
            .then(|| federation.starts());
        let mut aside = started.elapsed();
        while federation.server.settling().is_none() {
            federation.exchange()?;
        }
        if let Some(starts) = starts {
            let stopped = Instant::now();
            federation.inspect(&starts, observers);
            aside += stopped.elapsed();
        }
        let report = loop {
            federation.exchange()?;
            if let Some(Event::Round(report)) = federation.server.event() {
                break report;
            }
        };
        let RoundReport { loss, clients, refused, evaluation, .. } = report;
        let predictions = evaluation.as_ref().map(|evaluation| self.predictions(evaluation));
        let record = RoundRecord {
            round,
            rounds,
            loss,
            clients: &clients,
            refused: &refused,
            predictions: predictions.as_deref(),
            val_accuracy: evaluation.as_ref().and_then(|evaluation| evaluation.val_accuracy),
            seconds: started.elapsed().saturating_sub(aside).as_secs_f64(),
        };
        for observer in observers.iter_mut() {
            observer.round(&record).map_err(Error::Observer)?;
        }
        self.trace.losses.push(record.loss);
        if let (Some(evaluation), Some(predictions)) = (evaluation, predictions) {
            self.record(round, evaluation, predictions)?;
        }
        match &mut self.reported {
            Some(reported) if round == rounds => {
                self.federation.add_graphs(&mut reported.predictors)
            }
            _ => Ok(()),
        }
    }

    /// The predicted class of every node of the global graph, from those of the clients.
    fn predictions(&self, evaluation: &RoundEvaluation<T>) -> Vec<u32> {
        let mut global = vec![0u32; self.federation.nodes];
        for (client, found) in &evaluation.clients {
            let nodes = self.federation.clients[*client].trainer().nodes();
            let predicted = found.revealed.iter().flat_map(|revealed| &revealed.predictions);
            nodes.iter().zip(predicted).for_each(|(&v, &class)| global[v as usize] = class);
        }
        global
    }

    /// The probability of every class for every node of the global graph, if clients give them.
    fn probabilities(&self, clients: &[(usize, Evaluation<T>)]) -> Option<Matrix<T>> {
        let Federation { nodes, server, clients: all, .. } = &self.federation;
        let mut global = None;
        for (client, found) in clients {
            let Some(rows) = found.revealed.as_ref().and_then(|all| all.probabilities.as_ref())
            else {
                continue;
            };
            let global = global.get_or_insert_with(|| Matrix::zeros(*nodes, server.classes.len()));
            for (at, &v) in all[*client].trainer().nodes().iter().enumerate() {
                global.row_mut(v as usize).copy_from_slice(rows.row(at));
            }
        }
        global
    }

    /// Records an evaluated round: as the last, as the best on validation nodes so far, as the one
    /// to report.
    fn record(
        &mut self,
        round: usize,
        evaluation: RoundEvaluation<T>,
        predictions: Vec<u32>,
    ) -> Result<()> {
        let RoundEvaluation { val_accuracy, clients, is_best, is_last, is_reported } = evaluation;
        if is_best {
            self.trace.best_val = Some(Snapshot::new(round, val_accuracy, &predictions));
        }
        if is_last {
            self.trace.last = Some(Snapshot::new(round, val_accuracy, &predictions));
        }
        if is_reported {
            let predictors = self.federation.predictors()?;
            let probabilities = self.probabilities(&clients);
            let own = clients.iter().filter_map(|(_, found)| own_model(found));
            let models: Vec<Params<T>> = match self.federation.server.rule.models() {
                none if none.is_empty() => own.map(|model| Params::clone(model)).collect(),
                models => models.into_iter().cloned().collect(),
            };
            let federation_digest = self.federation_digest(&clients);
            let found = Outcome { probabilities, federation_digest, ..Outcome::of(models) };
            self.reported = Some(Outcome { round, predictions, predictors, ..found });
        }
        Ok(())
    }

    /// The digest that a federation of machines computes from what its clients keep.
    fn federation_digest(&self, clients: &[(usize, Evaluation<T>)]) -> String {
        let digests: Vec<[u8; 32]> = clients
            .iter()
            .map(|(_, found)| {
                let predictions = found.revealed.as_ref().map_or(&[][..], |all| &all.predictions);
                client::digest(own_model(found).map(Arc::as_ref), predictions)
            })
            .collect();
        federation_digest(self.federation.server.rule.models().into_iter(), &digests)
    }

    /// The result of all rounds.
    ///
    /// # Panics
    /// If a round is left.
    pub fn finish(self) -> Outcome<T> {
        let done = self.done();
        let Some(mut outcome) = self.reported.filter(|_| done >= self.federation.rounds()) else {
            panic!("{} rounds are left", self.federation.rounds() - done)
        };
        let (up, down) = self.federation.server.bytes();
        (outcome.bytes_up, outcome.bytes_down) = (up.payload, down.payload);
        (outcome.framed_up, outcome.framed_down) = (up.framed, down.framed);
        outcome.trace = self.trace;
        outcome
    }

    /// Saves or restores everything that later rounds depend on.
    ///
    /// # Errors
    /// As [`Stateful::visit`].
    pub fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        self.federation.visit(visitor)?;
        let (nodes, classes) = (self.federation.nodes, self.federation.server.classes.len());
        let model = Arc::clone(self.federation.clients[0].trainer().local());
        visitor.option("reported round", &mut self.reported, || Outcome::blank(&model))?;
        visitor.visit("trace", &mut self.trace)?;
        let predictions = self.reported.iter().map(|outcome| &outcome.predictions);
        for predictions in
            predictions.chain(self.trace.snapshots().map(|snapshot| &snapshot.predictions))
        {
            if predictions.len() != nodes
                || predictions.iter().any(|&class| class as usize >= classes)
            {
                let expected = format!("a class below {classes} for each of {nodes} nodes");
                return Err(
                    visitor.mismatch(expected, format!("{} other numbers", predictions.len()))
                );
            }
        }
        if self.is_over() && (self.reported.is_none() || self.trace.last.is_none()) {
            return Err(visitor.mismatch("a round to report after the last", "none"));
        }
        Ok(())
    }
}

/// How training developed, independent of the round that is reported: the input of warnings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The training loss of every round.
    pub losses: Vec<f64>,
    /// The last round.
    pub last: Option<Snapshot>,
    /// The earliest round with the highest accuracy on validation nodes; `None` without validation
    /// nodes. Where a method adds rounds, it is one of those.
    pub best_val: Option<Snapshot>,
}

/// Predictions after one round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The round, from 1.
    pub round: usize,
    /// Share of validation nodes predicted right, if there are any.
    pub val_accuracy: Option<f64>,
    /// The predicted class of every node of the global graph.
    pub predictions: Vec<u32>,
}

impl Snapshot {
    fn new(round: usize, val_accuracy: Option<f64>, predictions: &[u32]) -> Self {
        Self { round, val_accuracy, predictions: predictions.to_vec() }
    }
}

impl Trace {
    fn snapshots(&self) -> impl Iterator<Item = &Snapshot> {
        self.last.iter().chain(&self.best_val)
    }
}

impl Stateful for Trace {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("losses", &mut self.losses)?;
        visitor.option("last round", &mut self.last, Snapshot::default)?;
        visitor.option("best validation round", &mut self.best_val, Snapshot::default)
    }
}

impl Stateful for Snapshot {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("round", &mut self.round)?;
        visitor.option("validation accuracy", &mut self.val_accuracy, || 0.0)?;
        visitor.visit("predictions", &mut self.predictions)
    }
}

impl<T: Real> Outcome<T> {
    /// An outcome to restore into, whose models have the shapes of `model`.
    pub fn blank(model: &Params<T>) -> Self {
        Self::of(vec![model.clone()])
    }

    /// An outcome of which only the models are known.
    fn of(models: Vec<Params<T>>) -> Self {
        Self {
            round: 0,
            models,
            predictions: Vec::new(),
            predictors: Predictors::default(),
            probabilities: None,
            bytes_up: 0,
            bytes_down: 0,
            framed_up: 0,
            framed_down: 0,
            federation_digest: String::new(),
            trace: Trace::default(),
        }
    }
}

/// The client's own model, if the server gave none.
fn own_model<T: Real>(evaluation: &Evaluation<T>) -> Option<&Arc<Params<T>>> {
    evaluation.revealed.as_ref().and_then(|Revealed { model, .. }| model.as_ref())
}

/// Needs a model in the outcome, which gives the shapes to restore.
impl<T: Real> Stateful for Outcome<T> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("round", &mut self.round)?;
        let template = self.models[0].clone();
        visitor.each("models", &mut self.models, || template.clone())?;
        if self.models.is_empty() {
            return Err(visitor.mismatch("at least one model", "none"));
        }
        visitor.visit("predictions", &mut self.predictions)?;
        self.predictors.visit(&template, visitor)?;
        visit_probabilities(&mut self.probabilities, self.predictions.len(), visitor)?;
        visitor.visit("bytes up", &mut self.bytes_up)?;
        visitor.visit("bytes down", &mut self.bytes_down)?;
        visitor.visit("framed bytes up", &mut self.framed_up)?;
        visitor.visit("framed bytes down", &mut self.framed_down)?;
        visitor.visit("federation digest", &mut self.federation_digest)?;
        visitor.visit("trace", &mut self.trace)
    }
}

/// Saves or restores the probabilities of so many nodes.
fn visit_probabilities<T: Real>(
    probabilities: &mut Option<Matrix<T>>,
    nodes: usize,
    visitor: &mut StateVisitor<'_>,
) -> boostfgl_nn::Result<()> {
    let mut classes = probabilities.as_ref().map(Matrix::columns);
    visitor.option("classes with probabilities", &mut classes, usize::default)?;
    let Some(classes) = classes else {
        *probabilities = None;
        return Ok(());
    };
    let mut values: Vec<f64> = probabilities
        .take()
        .map_or_else(Vec::new, |found| found.to_vec().into_iter().map(Real::f64).collect());
    visitor.visit("probabilities", &mut values)?;
    if Some(values.len()) != nodes.checked_mul(classes) {
        let expected = format!("probabilities of {classes} classes for each of {nodes} nodes");
        return Err(visitor.mismatch(expected, format!("{} numbers", values.len())));
    }
    let values: Vec<T> = values.into_iter().map(T::of).collect();
    *probabilities = Some(Matrix::from_rows(nodes, classes, &values));
    Ok(())
}
