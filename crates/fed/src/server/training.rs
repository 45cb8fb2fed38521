//! One round: who trains, and what becomes of the updates.

use super::evaluation::mean_loss;
use super::replies::{Batch, Heard, Kind, NotDone, unexpected};
use super::running::{Phase, Running, Settling};
use crate::aggregate::Contribution;
use crate::methods::Round;
use crate::observer::ClientRecord;
use crate::screen::{Reason, Refusal};
use crate::submission::Submission;
use crate::{Combination, Error, Result};
use boostfgl_graph::Stream;
use boostfgl_nn::Real;
use boostfgl_protocol::{Broadcast, Claims, Discard, Failure, Reply, Task};
use std::collections::{BTreeMap, BTreeSet};

impl<T: Real> Running<T> {
    /// What the participants of the next round train with.
    pub(super) fn training(&self) -> Batch<T> {
        let tasks = self.participants(self.done + 1).into_iter().map(|k| {
            let (rounds_done, model) = (self.done as u32, self.rule.start(k).cloned());
            (k, Task::Train(Broadcast { rounds_done, model, message: self.rule.tell(k).cloned() }))
        });
        Batch { kind: Kind::Train, tasks: tasks.collect() }
    }

    /// The clients of a round: a seeded choice among those that have something to train on, in
    /// client order.
    pub(super) fn participants(&self, round: usize) -> Vec<usize> {
        let mut able: Vec<usize> =
            (0..self.enrolled.len()).filter(|&k| self.enrolled[k].training > 0).collect();
        let setup = &self.run.setup;
        let wanted = setup.protocol.taking_part(able.len());
        if wanted < able.len() {
            Stream::new(setup.seed, "participation", &[round as u64]).shuffle(&mut able);
            able.truncate(wanted);
            able.sort_unstable();
        }
        able
    }

    /// Screens the updates of a round, and combines those that are left.
    pub(super) fn hear_updates(&mut self, batch: Vec<Heard<T>>) -> Result<()> {
        let round = self.done + 1;
        let participants = batch.iter().map(|heard| heard.client).collect::<BTreeSet<_>>().len();
        let (mut submissions, mut refused) = self.submissions(round, batch)?;
        refused.extend(self.screen(round, &mut submissions));
        self.discard(&submissions, &refused);
        let needed = self.run.setup.screen.needed(participants);
        if submissions.len() < needed {
            let usable = submissions.len();
            self.name_clients(&mut refused);
            return Err(Error::Quorum { round, participants, needed, usable, refused });
        }
        let combination = self.aggregate(round, &submissions, &refused)?;
        // Failures of the preparation are reported with round 1. They are added only now, because
        // they do not count towards the refusals of this round.
        refused.splice(..0, std::mem::take(&mut self.unprepared));
        self.check_finite(round)?;
        let records = self.records(&submissions, combination.as_ref());
        // Kept for observers only: a client that trains again needs its model for itself.
        let arrived = match self.keeps_models {
            true => submissions
                .into_iter()
                .filter_map(|submission| Some((submission.client, submission.update.model?)))
                .collect(),
            false => Vec::new(),
        };
        self.done = round;
        let evaluated = BTreeMap::new();
        let settling =
            Settling { round, records, combination, refused, arrived, evaluated, attempts: 0 };
        self.phase = Phase::Settle(Box::new(settling));
        Ok(())
    }

    /// The updates among the replies; the other clients are refused.
    fn submissions(
        &self,
        round: usize,
        batch: Vec<Heard<T>>,
    ) -> Result<(Vec<Submission<T>>, Vec<Refusal>)> {
        let (mut submissions, mut refused) = (Vec::with_capacity(batch.len()), Vec::new());
        let mut failed: Option<Error> = None;
        let mut failures = 0;
        let replies = batch.len();
        for heard in batch {
            let Heard { client, round: claimed, seconds, down, up, .. } = heard;
            let reason = match heard.done() {
                Ok(Reply::Update(update)) if !has_sound_facts(&update.claims) => {
                    Reason::NotFinite { what: "training loss" }
                }
                Ok(Reply::Update(update)) => {
                    let bytes_down = self.broadcast_payload(client);
                    submissions.push(Submission {
                        client,
                        round: claimed,
                        update,
                        seconds,
                        bytes_down,
                        framed: (up.framed, down.framed),
                        moved: Default::default(),
                    });
                    continue;
                }
                Ok(other) => unexpected("an update", &other),
                Err(NotDone::Failed(Failure { reason, advice })) => {
                    failures += 1;
                    let text = reason.clone();
                    let client = self.name_of(client);
                    failed.get_or_insert(Error::Failed { client, reason: text, advice });
                    Reason::Failed(reason)
                }
                Err(NotDone::Refused(reason)) => reason,
            };
            refused.push(Refusal::new(client, round, reason));
        }
        match failed {
            // If all failed, or none may, the first of them is reported.
            Some(error) if !self.screening || failures == replies => Err(error),
            _ => Ok((submissions, refused)),
        }
    }

    /// Payload bytes that a client received for this round.
    fn broadcast_payload(&self, client: usize) -> u64 {
        let (model, message) = (self.rule.start(client).cloned(), self.rule.tell(client).cloned());
        Broadcast { rounds_done: 0, model, message }.payload()
    }

    /// Notes what clients whose updates are not used have to hear, so that they return to where
    /// they started and can take part again. A client whose training failed has returned already.
    fn discard(&mut self, used: &[Submission<T>], refused: &[Refusal]) {
        for Refusal { client, reason, .. } in refused {
            let returned = matches!(reason, Reason::Failed(_));
            if !returned && !is_used(used, *client) {
                let (numeric, model) = (reason.is_numeric(), self.rule.start(*client).cloned());
                self.discards.insert(*client, Discard { numeric, model });
            }
        }
    }

    /// Passes the accepted updates to the method.
    fn aggregate(
        &mut self,
        round: usize,
        submissions: &[Submission<T>],
        refused: &[Refusal],
    ) -> Result<Option<Combination>> {
        let Self { run, sizes, rule, boosts, .. } = self;
        let updates: Vec<Contribution<'_, T>> =
            submissions.iter().map(|sent| sent.contribution(sizes[sent.client])).collect();
        // Refused updates leave fewer for the robust rule to outvote.
        let unused = refused.iter().filter(|refusal| !is_used(submissions, refusal.client));
        let bad = distinct_clients(unused.clone().filter(|refusal| refusal.reason.is_suspect()));
        let doubtful = distinct_clients(unused.filter(|refusal| refusal.reason.is_doubtful()));
        let combination = run.pools.lend(|pool| {
            let given = Round {
                done: round - 1,
                boost: boosts.boosts(),
                backbone: &*run.backbone,
                pool,
                aggregation: run.setup.aggregation.after(bad, doubtful, updates.len()),
            };
            rule.aggregate(&updates, &given)
        });
        combination.map_err(|error| error.in_round(round))
    }

    /// What arrived from every client whose update was used.
    fn records(
        &self,
        submissions: &[Submission<T>],
        combination: Option<&Combination>,
    ) -> Vec<ClientRecord> {
        let weights = combination.map(Combination::mean_weights);
        let trust = combination.and_then(Combination::trust);
        submissions
            .iter()
            .enumerate()
            .map(|(i, submission)| ClientRecord {
                client: submission.client,
                name: self.enrolled[submission.client].name.clone(),
                loss: submission.update.claims.loss,
                update_norm: submission.moved.norm,
                weight: weights.as_ref().map(|w| w[i]),
                trust: trust.map(|t| t[i]),
                gap: submission.update.claims.summary.map(|summary| summary.gap),
                bytes_up: submission.update.payload(),
                bytes_down: submission.bytes_down,
                framed_up: submission.framed.0,
                framed_down: submission.framed.1,
                seconds: submission.update.claims.seconds,
            })
            .collect()
    }

    /// The training loss of a round, weighted by training nodes.
    pub(super) fn loss(&self, records: &[ClientRecord]) -> f64 {
        mean_loss(records, |client| self.enrolled[client].training as f64)
    }
}

/// Whether the facts that are recorded for people are numbers, also where updates are not screened.
fn has_sound_facts(claims: &Claims) -> bool {
    claims.loss.is_finite() && claims.seconds.is_finite() && claims.seconds >= 0.0
}

/// The number of different clients among refusals.
fn distinct_clients<'a>(refusals: impl Iterator<Item = &'a Refusal>) -> usize {
    refusals.map(|refusal| refusal.client).collect::<BTreeSet<usize>>().len()
}

/// Whether the update of a client is among those that are used.
fn is_used<T>(used: &[Submission<T>], client: usize) -> bool {
    used.iter().any(|submission| submission.client == client)
}
