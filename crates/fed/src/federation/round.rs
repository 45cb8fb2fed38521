//! One round: local training, screening of the updates, aggregation.

use super::{Federation, borrow, give_back};
use crate::aggregate::Contribution;
use crate::attack::HonestUpdate;
use crate::client::Client;
use crate::methods::{Round, SenderFacts, ServerRule};
use crate::observer::ClientRecord;
use crate::round_context::RoundContext;
use crate::screen::{Envelope, Expected, Form, Given, Reason, Refusal};
use crate::submission::Submission;
use crate::{Combination, Error, Message, Result};
use boostfgl_graph::Stream;
use boostfgl_nn::{Params, Real};
use boostfgl_protocol::{Broadcast, Enrolment, Model};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The result of a round.
pub(crate) struct Done<T> {
    pub(crate) records: Vec<ClientRecord>,
    pub(crate) combination: Option<Combination>,
    pub(crate) refused: Vec<Refusal>,
    /// The models that arrived, if observers ask for the inside of the round.
    pub(super) arrived: Vec<(usize, Arc<Params<T>>)>,
}

impl<T: Real> Federation<T> {
    /// Local training of the participants, screening of what they send, and aggregation of what is
    /// left.
    pub(crate) fn round(&mut self, round: usize) -> Result<Done<T>> {
        let participants = self.participants(round);
        let (mut submissions, mut refused) = self.train(round, &participants)?;
        self.attack(round, &mut submissions);
        refused.extend(self.screen(round, &mut submissions));
        self.recover(&submissions, &refused);
        let needed = self.setup().screen.needed(participants.len());
        if submissions.len() < needed {
            let (participants, usable) = (participants.len(), submissions.len());
            return Err(Error::Quorum { round, participants, needed, usable, refused });
        }
        let combination = self.aggregate(round, &submissions, &refused)?;
        // Failures of the preparation are reported with round 1. They are added only now, because
        // they do not count towards the refusals of this round.
        refused.splice(..0, std::mem::take(&mut self.unprepared));
        self.check_finite(round)?;
        let records = self.records(&submissions, combination.as_ref());
        // Kept by observers only: a client that trains again needs its model for itself.
        let arrived = match self.inspected {
            true => submissions
                .into_iter()
                .filter_map(|submission| Some((submission.client, submission.update.model?)))
                .collect(),
            false => Vec::new(),
        };
        Ok(Done { records, combination, refused, arrived })
    }

    /// Checks that the next models and messages for clients are finite: finite updates may overflow
    /// when they are combined.
    fn check_finite(&self, round: usize) -> Result<()> {
        if !self.setup().screen.enabled {
            return Ok(());
        }
        let (mut models, mut messages): (Vec<&Model<T>>, Vec<&Arc<Message<T>>>) =
            (Vec::new(), Vec::new());
        for k in 0..self.clients.len() {
            models.extend(self.server.start(k).into_iter().chain(self.server.evaluated(k)));
            messages.extend(self.server.tell(k));
        }
        // Models and messages that several clients share are checked once.
        models.sort_unstable_by_key(|model| model.version());
        models.dedup_by_key(|model| model.version());
        messages.dedup_by(|a, b| Arc::ptr_eq(a, b));
        match models.iter().all(|model| model.is_finite())
            && messages.iter().all(|message| message.is_finite())
        {
            true => Ok(()),
            false => Err(Error::ServerDiverged { round }),
        }
    }

    /// Local training of the participants; those that fail are refused.
    fn train(
        &mut self,
        round: usize,
        participants: &[usize],
    ) -> Result<(Vec<Submission<T>>, Vec<Refusal>)> {
        let Self { context, clients, server, pools, .. } = self;
        let train = |(k, client): (usize, &mut Client<T>)| {
            let pool = borrow(pools);
            let broadcast = broadcast(&**server, k);
            let given = RoundContext {
                run: context,
                rounds_done: round - 1,
                model: broadcast.model.as_ref().into(),
                message: broadcast.message.as_deref(),
                pool: &pool,
            };
            let update = client.train(&given);
            give_back(pools, pool);
            let bytes_down = broadcast.payload();
            (k, update.map(|update| Submission::new(k, round, update, bytes_down)))
        };
        let takes_part = |(k, _): &(usize, &mut Client<T>)| participants.contains(k);
        let screen = &context.setup.screen;
        let trained: Vec<_> = match screen.deadline_seconds {
            // Sequential: a thread that waits for a part of its own work may take up another
            // client's work, whose time would count as its own.
            Some(_) => clients.iter_mut().enumerate().filter(takes_part).map(train).collect(),
            None => clients.par_iter_mut().enumerate().filter(takes_part).map(train).collect(),
        };
        // If all failed, the first of them is reported, not the one that happened to finish first.
        let hopeless = !screen.enabled || trained.iter().all(|(_, trained)| trained.is_err());
        let (mut submissions, mut refused) = (Vec::new(), Vec::new());
        for (client, trained) in trained {
            match trained {
                Ok(submission) => submissions.push(submission),
                Err(error) if hopeless => return Err(error),
                Err(error) => {
                    let reason = Reason::Failed(error.to_string());
                    refused.push(Refusal { client, round, reason });
                }
            }
        }
        Ok((submissions, refused))
    }

    /// Lets malicious clients, and tests that tamper with messages, replace what is sent.
    fn attack(&mut self, round: usize, submissions: &mut [Submission<T>]) {
        let Self { context, clients, server, enrolled, attack, tampered, .. } = self;
        if let Some((client, tamper)) = tampered.take()
            && let Some(submission) = submissions.iter_mut().find(|sent| sent.client == client)
        {
            tamper(&mut submission.update.message);
        }
        let Some(attack) = attack else { return };
        let weight = context.setup.protocol.client_weight;
        let mut honest: Vec<HonestUpdate<'_, T>> = Vec::with_capacity(submissions.len());
        for submission in submissions.iter() {
            let (k, message) = (submission.client, &submission.update.message);
            let form = update_form(&**server, &enrolled[k], k, round - 1, message);
            let received = server.tell(k).map(Arc::as_ref);
            let start = clients[k].started_from(server.start(k).map(Model::params));
            honest.push(HonestUpdate {
                start,
                received,
                form,
                shows_distance: server.moved(message).is_some(),
                labelled: enrolled[k].training as f64,
                ..submission.honest_update(weight.of(&enrolled[k]))
            });
        }
        let forged = attack.forge(round, &honest);
        drop(honest);
        for (submission, forged) in submissions.iter_mut().zip(forged) {
            if let Some(forged) = forged {
                submission.replace(forged);
            }
        }
    }

    /// Removes the submissions that the screen refuses.
    fn screen(&mut self, round: usize, submissions: &mut Vec<Submission<T>>) -> Vec<Refusal> {
        let Self { context, server, enrolled, screen, summaries, .. } = self;
        let weight = context.setup.protocol.client_weight;
        let sizes: Vec<f64> = enrolled.iter().map(|client| weight.of(client)).collect();
        for submission in submissions.iter_mut() {
            submission.measure(server.start(submission.client).map(Model::params));
        }
        let form = |envelope: &Envelope<'_, T>| {
            let k = envelope.from;
            update_form(&**server, &enrolled[k], k, round - 1, envelope.message)
        };
        let expected = Expected {
            round,
            shapes: &context.backbone.shapes(),
            enrolled: &sizes,
            given: (0..sizes.len()).map(|k| given(&**server, k)).collect(),
            form: &form,
            moved: &|envelope| server.moved(envelope.message),
            summaries: *summaries,
        };
        let arrived: Vec<Envelope<'_, T>> = submissions
            .iter()
            .flat_map(|sent| sent.envelopes(&**server, sizes[sent.client]))
            .collect();
        let (mut usable, mut refused) = (BTreeSet::new(), Vec::new());
        for (envelope, verdict) in arrived.iter().zip(screen.examine(&arrived, &expected)) {
            match verdict {
                None => {
                    usable.insert(envelope.from);
                }
                Some(reason) => refused.push(Refusal { client: envelope.from, round, reason }),
            }
        }
        drop(arrived);
        submissions.retain(|sent| usable.contains(&sent.client));
        refused
    }

    /// Returns clients whose updates are not used to where they started, so that they can take part
    /// again.
    fn recover(&mut self, used: &[Submission<T>], refused: &[Refusal]) {
        for Refusal { client, reason, .. } in refused {
            if !is_used(used, *client) {
                self.clients[*client].recover(given(&*self.server, *client).0, reason.is_numeric());
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
        let Self { context, enrolled, server, server_boosts, pools, .. } = self;
        let setup = &context.setup;
        let weight = setup.protocol.client_weight;
        let updates: Vec<Contribution<'_, T>> = submissions
            .iter()
            .map(|sent| sent.contribution(weight.of(&enrolled[sent.client])))
            .collect();
        // Refused updates leave fewer for the robust rule to outvote.
        let unused = refused.iter().filter(|refusal| !is_used(submissions, refusal.client));
        let bad = distinct_clients(unused.clone().filter(|refusal| refusal.reason.is_suspect()));
        let doubtful = distinct_clients(unused.filter(|refusal| refusal.reason.is_doubtful()));
        let pool = borrow(pools);
        let given = Round {
            done: round - 1,
            boost: server_boosts.boosts(),
            backbone: &*context.backbone,
            pool: &pool,
            aggregation: setup.aggregation.after(bad, doubtful, updates.len()),
        };
        let combination = server.aggregate(&updates, &given);
        give_back(pools, pool);
        combination.map_err(|error| error.in_round(round))
    }

    /// The clients of a round: a seeded choice among those that have something to train on, in
    /// client order.
    fn participants(&self, round: usize) -> Vec<usize> {
        let mut able: Vec<usize> =
            (0..self.enrolled.len()).filter(|&k| self.enrolled[k].training > 0).collect();
        let wanted = self.setup().protocol.taking_part(able.len());
        if wanted < able.len() {
            Stream::new(self.setup().seed, "participation", &[round as u64]).shuffle(&mut able);
            able.truncate(wanted);
            able.sort_unstable();
        }
        able
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
                loss: submission.update.claims.loss,
                update_norm: submission.moved.norm,
                weight: weights.as_ref().map(|w| w[i]),
                trust: trust.map(|t| t[i]),
                gap: submission.update.claims.summary.map(|summary| summary.gap),
                bytes_up: submission.update.payload(),
                bytes_down: submission.bytes_down,
                seconds: submission.update.claims.seconds,
            })
            .collect()
    }

    /// The training loss of a round, weighted by training nodes.
    pub(crate) fn mean_loss(&self, records: &[ClientRecord]) -> f64 {
        let sizes: Vec<f64> =
            records.iter().map(|record| self.enrolled[record.client].training as f64).collect();
        records.iter().zip(&sizes).map(|(record, size)| record.loss * size).sum::<f64>()
            / sizes.iter().sum::<f64>()
    }
}

/// The number of different clients among refusals.
fn distinct_clients<'a>(refusals: impl Iterator<Item = &'a Refusal>) -> usize {
    refusals.map(|refusal| refusal.client).collect::<BTreeSet<usize>>().len()
}

/// What client `k` is given at the start of a round: a model and a message.
fn given<T: Real>(server: &dyn ServerRule<T>, k: usize) -> Given<'_, T> {
    (server.start(k).map(Model::params), server.tell(k).map(Arc::as_ref))
}

/// Whether the update of a client is among those that are used.
fn is_used<T>(used: &[Submission<T>], client: usize) -> bool {
    used.iter().any(|submission| submission.client == client)
}

/// The form that an update of client `k` must have after `done` rounds.
fn update_form<T: Real>(
    server: &dyn ServerRule<T>,
    enrolled: &Enrolment,
    k: usize,
    done: usize,
    message: &Message<T>,
) -> Form {
    let labelled = enrolled.training as f64;
    let reach = (enrolled.arcs + enrolled.nodes) as f64;
    server.form(&SenderFacts { client: k, done, labelled, reach, message })
}

/// What client `k` is sent for its next round.
fn broadcast<T: Real>(server: &dyn ServerRule<T>, k: usize) -> Broadcast<T> {
    Broadcast { model: server.start(k).cloned(), message: server.tell(k).cloned() }
}
