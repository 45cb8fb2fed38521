//! The training loop. It can be stopped after any round and resumed to the same digits.

use crate::client::Client;
use crate::config::ReportedRound;
use crate::federation::{Done, Federation, Outcome};
use crate::observer::{Observer, RoundRecord};
use crate::{Error, Result};
use boostfgl_nn::{Params, Real, StateVisitor, Stateful};
use boostfgl_protocol::Message;
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
    /// Rounds done.
    done: usize,
    /// Bytes sent and received by all clients.
    bytes: (u64, u64),
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
        let bytes = self.prepare(observers)?;
        Ok(Training {
            federation: self,
            done: 0,
            bytes,
            reported: None,
            trace: Trace::default(),
            inspected: false,
        }
        .with_observers(observers))
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
        let (bytes, trace) = ((0, 0), Trace::default());
        let mut training =
            Training { federation: self, done: 0, bytes, reported: None, trace, inspected: false };
        training.visit(visitor)?;
        Ok(training.with_observers(observers))
    }
}

impl<T: Real> Training<T> {
    /// Makes clients store the values that these observers read.
    fn with_observers(mut self, observers: &[&mut dyn Observer<T>]) -> Self {
        self.inspected = observers.iter().any(|o| o.inspects());
        if self.inspected {
            self.federation.inspected = true;
            self.federation.clients.iter_mut().for_each(Client::keep_for_inspection);
        }
        self
    }

    /// Rounds done.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Whether no round is left.
    pub fn is_over(&self) -> bool {
        self.done >= self.federation.rounds()
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
        self.federation.tampered = Some((client, Box::new(change)));
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
        let (round, rounds) = (self.done + 1, self.federation.rounds());
        let federation = &mut self.federation;
        // Rounds that the method adds train modules of its own: the network does not change.
        let starts = (self.inspected && round <= federation.setup().protocol.rounds)
            .then(|| federation.starts());
        let mut aside = started.elapsed();
        let done = federation.round(round)?;
        if let Some(starts) = starts {
            let stopped = Instant::now();
            federation.inspect(round, &starts, &done, observers);
            aside += stopped.elapsed();
        }
        let Done { records, refused, .. } = done;
        self.bytes.0 += records.iter().map(|r| r.bytes_up).sum::<u64>();
        self.bytes.1 += records.iter().map(|r| r.bytes_down).sum::<u64>();
        let due = round % federation.setup().protocol.eval_every == 0 || round == rounds;
        let evaluation = due.then(|| federation.evaluate(round)).transpose()?;
        let record = RoundRecord {
            round,
            rounds,
            loss: federation.mean_loss(&records),
            clients: &records,
            refused: &refused,
            predictions: evaluation.as_ref().map(|(predictions, _)| predictions.as_slice()),
            val_accuracy: evaluation.as_ref().and_then(|(_, accuracy)| *accuracy),
            seconds: started.elapsed().saturating_sub(aside).as_secs_f64(),
        };
        for observer in observers.iter_mut() {
            observer.round(&record).map_err(Error::Observer)?;
        }
        self.trace.losses.push(record.loss);
        if let Some((predictions, accuracy)) = evaluation {
            self.record(round, predictions, accuracy);
        }
        self.done = round;
        Ok(())
    }

    /// Records an evaluated round: as the last, as the best on validation nodes so far, as the one
    /// to report.
    fn record(&mut self, round: usize, predictions: Vec<u32>, accuracy: Option<f64>) {
        let last = round == self.federation.rounds();
        let so_far = self.trace.best_val.as_ref().and_then(|best| best.val_accuracy);
        let best = accuracy.is_some_and(|found| so_far.is_none_or(|so_far| found > so_far))
            && self.may_be_best(round);
        let reported = match self.federation.setup().protocol.report {
            ReportedRound::Last => last,
            // Without validation nodes no round is the best: then the last one is reported.
            ReportedRound::BestVal => best || (last && self.trace.best_val.is_none()),
        };
        if best {
            self.trace.best_val = Some(Snapshot::new(round, accuracy, &predictions));
        }
        if last {
            self.trace.last = Some(Snapshot::new(round, accuracy, &predictions));
        }
        if reported {
            let models = match self.federation.server.models() {
                none if none.is_empty() => {
                    self.federation.clients.iter().map(|c| c.local().clone()).collect()
                }
                models => models.into_iter().cloned().collect(),
            };
            let (bytes_up, bytes_down, trace) = (0, 0, Trace::default());
            self.reported =
                Some(Outcome { round, models, predictions, bytes_up, bytes_down, trace });
        }
    }

    /// Whether a round may be chosen by its validation accuracy. Where a method adds rounds
    /// (AdaFGL's personal step), only those qualify: an earlier round has the model of another
    /// method.
    fn may_be_best(&self, round: usize) -> bool {
        let of_protocol = self.federation.setup().protocol.rounds;
        self.federation.rounds() == of_protocol || round > of_protocol
    }

    /// The result of all rounds.
    ///
    /// # Panics
    /// If a round is left.
    pub fn finish(self) -> Outcome<T> {
        let Some(mut outcome) = self.reported.filter(|_| self.done >= self.federation.rounds())
        else {
            panic!("{} rounds are left", self.federation.rounds() - self.done)
        };
        (outcome.bytes_up, outcome.bytes_down) = self.bytes;
        outcome.trace = self.trace;
        outcome
    }

    /// Saves or restores everything that later rounds depend on.
    ///
    /// # Errors
    /// As [`Stateful::visit`].
    pub fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("rounds done", &mut self.done)?;
        visitor.visit("bytes up", &mut self.bytes.0)?;
        visitor.visit("bytes down", &mut self.bytes.1)?;
        self.federation.visit(visitor)?;
        let rounds = self.federation.rounds();
        if self.done > rounds {
            return Err(
                visitor.mismatch(format!("at most {rounds} rounds done"), self.done.to_string())
            );
        }
        let (nodes, classes) = (self.federation.nodes, self.federation.classes());
        let model = self.federation.clients[0].local().clone();
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
        let (models, predictions) = (vec![model.clone()], Vec::new());
        Self { round: 0, models, predictions, bytes_up: 0, bytes_down: 0, trace: Trace::default() }
    }
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
        visitor.visit("bytes up", &mut self.bytes_up)?;
        visitor.visit("bytes down", &mut self.bytes_down)?;
        visitor.visit("trace", &mut self.trace)
    }
}
