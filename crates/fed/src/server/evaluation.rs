//! What follows a round: the evaluation of its model, and the choice of the round to report.

use super::Event;
use super::replies::{Batch, Heard, Kind, NotDone, unexpected};
use super::running::{Phase, Running, Settling};
use crate::config::ReportedRound;
use crate::observer::ClientRecord;
use crate::screen::{Reason, Refusal};
use crate::{Error, Result};
use boostfgl_nn::{Params, Real};
use boostfgl_protocol::{Enrolment, Evaluation, GROUPS, Reply, Task, Trial};

/// What happened in a round.
#[derive(Debug)]
pub struct RoundReport<T: Real> {
    /// Round, from 1.
    pub round: usize,
    /// Training loss of the participants, weighted by their training nodes.
    pub loss: f64,
    /// The participants whose updates were used.
    pub clients: Vec<ClientRecord>,
    /// The updates that were not, and evaluations that are missing.
    pub refused: Vec<Refusal>,
    /// The evaluation, if this round was evaluated.
    pub evaluation: Option<RoundEvaluation<T>>,
}

/// What the clients found.
#[derive(Debug)]
pub struct RoundEvaluation<T: Real> {
    /// Share of validation nodes predicted right, if there are any.
    pub val_accuracy: Option<f64>,
    /// The evaluations, each with its client, in client order.
    pub clients: Vec<(usize, Evaluation<T>)>,
    /// Whether no earlier round has a higher accuracy on validation nodes.
    pub is_best: bool,
    /// Whether it is the last round.
    pub is_last: bool,
    /// Whether it is the round to report, unless a later one replaces it.
    pub is_reported: bool,
}

/// How often the evaluation of the round to report is asked for before the run fails. Its state can
/// be saved before that round, so that nothing is lost.
const ATTEMPTS: usize = 3;

/// The best round so far on validation nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Best {
    pub(super) accuracy: f64,
}

impl<T: Real> Running<T> {
    /// What every client evaluates after a round, unless it has; nothing if the round is not
    /// evaluated.
    pub(super) fn evaluating(&self, settling: &Settling<T>) -> Batch<T> {
        let (run, round) = (&self.run, settling.round);
        let due = round.is_multiple_of(run.setup.protocol.eval_every) || round == run.rounds();
        let clients = if due { 0..self.enrolled.len() } else { 0..0 };
        let clients = clients.filter(|client| !settling.evaluated.contains_key(client));
        let trial = |k: usize| {
            let model = self.rule.evaluated(k);
            let starts_next = match (model, self.rule.start(k)) {
                (Some(model), Some(start)) => model.version() == start.version(),
                (None, None) => true,
                _ => false,
            };
            Trial { rounds_done: round as u32, model: model.cloned(), starts_next }
        };
        let tasks = clients.map(|k| (k, Task::Evaluate(trial(k)))).collect();
        Batch { kind: Kind::Evaluate, tasks }
    }

    /// Ends a round with what the clients found.
    pub(super) fn hear_evaluations(&mut self, batch: Vec<Heard<T>>) -> Result<()> {
        let (mut found, mut missing) = (Vec::with_capacity(batch.len()), Vec::new());
        for heard in batch {
            let client = heard.client;
            match self.evaluation(heard) {
                Ok(evaluation) => found.push((client, evaluation)),
                // A simulation needs the predictions of all clients.
                Err(not) if self.run.simulated => {
                    return Err(not.error(self.name_of(client), "evaluation"));
                }
                Err(not) => missing.push((client, not)),
            }
        }
        let must_be_complete = self.must_be_reported();
        if let Phase::Settle(settling) = &mut self.phase {
            settling.evaluated.extend(found);
            settling.attempts += 1;
            let attempts = settling.attempts;
            if let Some((client, not)) = missing.first().filter(|_| must_be_complete) {
                if attempts < ATTEMPTS {
                    return Ok(());
                }
                return Err(not
                    .clone()
                    .error(self.name_of(*client), "evaluation of the last round"));
            }
        }
        let is_over = self.done == self.run.rounds();
        let next = match (is_over, self.run.simulated) {
            (false, _) => Phase::Train,
            (true, false) => Phase::Conclude,
            (true, true) => Phase::Over,
        };
        if let Phase::Settle(mut settling) = std::mem::replace(&mut self.phase, next) {
            let round = settling.round;
            let missing =
                missing.into_iter().map(|(client, not)| Refusal::new(client, round, not.reason()));
            settling.refused.extend(missing);
            self.name_clients(&mut settling.refused);
            let clients: Vec<_> = settling.evaluated.into_iter().collect();
            let evaluation = (!clients.is_empty()).then(|| self.chosen(clients));
            let report = RoundReport {
                round: settling.round,
                loss: self.loss(&settling.records),
                clients: settling.records,
                refused: settling.refused,
                evaluation,
            };
            self.events.push_back(Event::Round(report));
        }
        Ok(())
    }

    /// What a client found, with counts and predictions checked: they arrive from a network.
    fn evaluation(&self, heard: Heard<T>) -> Result<Evaluation<T>, NotDone> {
        let enrolled = &self.enrolled[heard.client];
        let evaluation = match heard.done()? {
            Reply::Evaluated(evaluation) => evaluation,
            other => return Err(NotDone::Refused(unexpected("an evaluation", &other))),
        };
        let (hits, validated) = (evaluation.hits, evaluation.validated);
        let classes = self.classes.len();
        let sound = hits <= validated
            && validated == enrolled.validation
            && has_sound_counts(&evaluation, enrolled, classes)
            && has_sound_groups(&evaluation, enrolled)
            && evaluation.revealed.as_ref().is_none_or(|revealed| {
                revealed.predictions.len() as u64 == enrolled.nodes
                    && revealed.predictions.iter().all(|&class| (class as usize) < classes)
                    && revealed.probabilities.as_ref().is_none_or(|rows| {
                        (rows.rows() as u64, rows.columns()) == (enrolled.nodes, classes)
                    })
            });
        if sound && evaluation.revealed.is_some() == self.run.simulated {
            return Ok(evaluation);
        }
        let expected = format!(
            "hits among {} validation nodes, counts of {} test nodes in {classes} classes, and a \
             class for each of {} nodes in a simulation",
            enrolled.validation, enrolled.test, enrolled.nodes
        );
        let found = format!("{hits} hits among {validated}, or other counts or predictions");
        Err(NotDone::Refused(Reason::Message { expected, found }))
    }

    /// Whether an evaluated round is the last, the best on validation nodes so far, or the one to
    /// report.
    fn chosen(&mut self, clients: Vec<(usize, Evaluation<T>)>) -> RoundEvaluation<T> {
        let hits: u64 = clients.iter().map(|(_, evaluation)| evaluation.hits).sum();
        let total: u64 = clients.iter().map(|(_, evaluation)| evaluation.validated).sum();
        let val_accuracy = (total > 0).then(|| hits as f64 / total as f64);
        let is_last = self.done == self.run.rounds();
        // A round that not all clients evaluated cannot be reported: some have no predictions of it.
        let is_complete = clients.len() == self.enrolled.len();
        let is_best = is_complete
            && self.may_be_best()
            && val_accuracy.is_some_and(|found| self.best.is_none_or(|best| found > best.accuracy));
        if let (true, Some(accuracy)) = (is_best, val_accuracy) {
            self.best = Some(Best { accuracy });
        }
        let is_reported = match self.run.setup.protocol.report {
            ReportedRound::Last => is_last,
            // Without validation nodes no round is the best: then the last one is reported.
            ReportedRound::BestVal => is_best || (is_last && self.best.is_none()),
        };
        if is_reported && !self.run.simulated {
            self.keeps = (0..self.enrolled.len()).collect();
            self.kept_round = self.done;
            let models = self.rule.models();
            self.reported = models.into_iter().cloned().collect();
        }
        RoundEvaluation { val_accuracy, clients, is_best, is_last, is_reported }
    }

    /// Whether the round that is evaluated is the one to report, however the evaluation ends.
    fn must_be_reported(&self) -> bool {
        let setup = &self.run.setup;
        let is_last = self.done == self.run.rounds();
        is_last && (setup.protocol.report == ReportedRound::Last || self.best.is_none())
    }

    /// Whether this round may be chosen by its validation accuracy. Where a method adds rounds
    /// (AdaFGL's personal step), only those qualify: an earlier round has the model of another
    /// method.
    fn may_be_best(&self) -> bool {
        let of_protocol = self.run.setup.protocol.rounds;
        self.run.rounds() == of_protocol || self.done > of_protocol
    }

    /// Confirmations that an evaluation was kept.
    pub(super) fn hear_kept(&mut self, batch: Vec<Heard<T>>) -> Result<()> {
        for heard in batch {
            let client = heard.client;
            match heard.confirmed() {
                Ok(()) => {
                    self.keeps.remove(&client);
                }
                // It is asked again, and has the round to report later, unless the run is over.
                Err(_) if !matches!(self.phase, Phase::Conclude) => {}
                Err(not) => return Err(not.error(self.name_of(client), "end")),
            }
        }
        Ok(())
    }

    /// Ends the run with what each client kept.
    pub(super) fn hear_conclusions(&mut self, batch: Vec<Heard<T>>) -> Result<()> {
        let mut digests = Vec::with_capacity(batch.len());
        for heard in batch {
            let client = heard.client;
            match heard.done().map_err(|not| not.error(self.name_of(client), "end"))? {
                Reply::Concluded(conclusion) => digests.push(conclusion.digest),
                other => {
                    let reason = unexpected("a conclusion", &other);
                    let client = self.name_of(client);
                    return Err(Error::Lost { client, stage: "end", reason });
                }
            }
        }
        let digest = federation_digest(self.reported.iter(), &digests);
        self.events.push_back(Event::Concluded(digest));
        self.phase = Phase::Over;
        Ok(())
    }
}

/// Whether the counts of an evaluation are about the test nodes that the client enrolled with.
fn has_sound_counts<T: Real>(
    evaluation: &Evaluation<T>,
    enrolled: &Enrolment,
    classes: usize,
) -> bool {
    let counts = &evaluation.counts;
    if enrolled.test == 0 && counts.is_empty() {
        return true;
    }
    let sum = counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
    counts.len() == GROUPS * classes * classes && sum == Some(enrolled.test)
}

/// Whether the counts by protected attribute are about the same test nodes.
fn has_sound_groups<T: Real>(evaluation: &Evaluation<T>, enrolled: &Enrolment) -> bool {
    let groups = &evaluation.groups;
    groups.len() <= MOST_GROUPS && groups.iter().all(|group| group.is_sound(enrolled.test))
}

/// The most groups of one client.
const MOST_GROUPS: usize = 10_000;

/// BLAKE3 of the server's models and of the digest of each client, in client order.
pub(crate) fn federation_digest<'a, T: Real>(
    models: impl Iterator<Item = &'a Params<T>>,
    clients: &[[u8; 32]],
) -> String {
    let mut hasher = blake3::Hasher::new();
    for model in models {
        model.feed(|bytes| {
            hasher.update(bytes);
        });
    }
    clients.iter().for_each(|digest| {
        hasher.update(digest);
    });
    hasher.finalize().to_hex().to_string()
}

/// The mean loss of clients, weighted by their training nodes.
pub(super) fn mean_loss(records: &[ClientRecord], training: impl Fn(usize) -> f64) -> f64 {
    let weighted = records.iter().map(|record| record.loss * training(record.client));
    let total: f64 = records.iter().map(|record| training(record.client)).sum();
    weighted.sum::<f64>() / total
}
