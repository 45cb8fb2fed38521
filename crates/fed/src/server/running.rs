//! The server once all clients have joined.

use super::evaluation::Best;
use super::preparation::Preparing;
use super::replies::{Batch, Kind, Outstanding};
use super::{Event, Next};
use crate::boost::{Place, Stacked};
use crate::methods::{SenderFacts, ServerRule};
use crate::observer::ClientRecord;
use crate::run_context::RunContext;
use crate::screen::{Form, Refusal, Screen};
use crate::transport::Arrival;
use crate::{ClientName, Combination, Error, Message, Result};
use boostfgl_nn::{Params, Real};
use boostfgl_protocol::{Discard, Enrolment, Evaluation, Roster, RunId, Task, Traffic};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The server between its clients' enrolment and the end of the run.
pub(crate) struct Running<T: Real> {
    pub(crate) run: Arc<RunContext<T>>,
    id: RunId,
    pub(crate) rule: Box<dyn ServerRule<T>>,
    pub(super) boosts: Stacked<T>,
    pub(super) screen: Screen,
    /// Whether numbers are checked before they may touch a model.
    pub(crate) screening: bool,
    /// Whether every update has a fairness summary.
    pub(super) summaries: bool,
    /// What clients said about themselves when they joined.
    pub(crate) enrolled: Vec<Enrolment>,
    /// The names of the classes.
    pub(crate) classes: Vec<String>,
    /// The size of each client in a plain average, as enrolled.
    pub(crate) sizes: Vec<f64>,
    /// Whether the models of a round are kept until it is over, for observers.
    pub(crate) keeps_models: bool,
    pub(super) phase: Phase<T>,
    /// Rounds done.
    pub(super) done: usize,
    /// The best round so far on validation nodes.
    pub(super) best: Option<Best>,
    /// The round to report, where clients keep their predictions, and the server's models of it.
    pub(super) kept_round: usize,
    pub(super) reported: Vec<Params<T>>,
    /// Clients that have not confirmed that they keep that round.
    pub(super) keeps: BTreeSet<usize>,
    /// Whether no other round begins before this one is over.
    pub(super) pauses: bool,
    /// Clients whose preparation failed; reported with round 1.
    pub(super) unprepared: Vec<Refusal>,
    /// What clients whose updates were not used still have to hear.
    pub(super) discards: BTreeMap<usize, Discard<T>>,
    /// Bytes sent and received by all clients.
    pub(super) bytes: (Traffic, Traffic),
    pub(super) outstanding: Outstanding,
    pub(super) events: VecDeque<Event<T>>,
}

/// How far the run is.
pub(super) enum Phase<T: Real> {
    /// Clients learn of each other.
    Begin,
    /// The exchanges before the first round.
    Prepare(Box<Preparing<T>>),
    /// Between two rounds.
    Train,
    /// The updates of a round are combined; the result is not evaluated yet.
    Settle(Box<Settling<T>>),
    /// The rounds are over.
    Conclude,
    /// Nothing is left to do.
    Over,
}

/// A round whose updates are combined.
pub(crate) struct Settling<T: Real> {
    pub(crate) round: usize,
    pub(crate) records: Vec<ClientRecord>,
    pub(crate) combination: Option<Combination>,
    pub(crate) refused: Vec<Refusal>,
    /// The models that arrived, if observers ask for the inside of the round.
    pub(crate) arrived: Vec<(usize, Arc<Params<T>>)>,
    /// The evaluations so far. Those that are missing are asked for again if the round has to be
    /// reported.
    pub(crate) evaluated: BTreeMap<usize, Evaluation<T>>,
    /// How often evaluations were asked for.
    pub(crate) attempts: usize,
}

impl<T: Real> Running<T> {
    pub(super) fn new(
        run: Arc<RunContext<T>>,
        id: RunId,
        (enrolled, classes): (Vec<Enrolment>, Vec<String>),
        rule: Box<dyn ServerRule<T>>,
        bytes: (Traffic, Traffic),
    ) -> Self {
        let setup = &run.setup;
        let weight = setup.protocol.client_weight;
        let boosts = run.boosts.iter().filter_map(|boost| boost.server(&setup.boost)).collect();
        Self {
            id,
            rule,
            boosts: Stacked::new(boosts),
            screen: Screen::new(&setup.screen, enrolled.len()),
            screening: setup.screen.enabled,
            summaries: run.boosts.iter().any(|boost| boost.info().acts_on(Place::Summary)),
            sizes: enrolled.iter().map(|client| weight.of(client)).collect(),
            enrolled,
            classes,
            keeps_models: false,
            phase: Phase::Begin,
            done: 0,
            best: None,
            kept_round: 0,
            reported: Vec::new(),
            keeps: BTreeSet::new(),
            pauses: false,
            unprepared: Vec::new(),
            discards: BTreeMap::new(),
            bytes,
            outstanding: Outstanding::default(),
            events: VecDeque::new(),
            run,
        }
    }

    /// What clients should do next.
    pub(crate) fn next(&mut self) -> Next<T> {
        let batches = match &self.phase {
            Phase::Over => return Next::Done,
            Phase::Begin => vec![self.beginning()],
            Phase::Prepare(preparing) => vec![preparing.tasks()],
            Phase::Train | Phase::Settle(_) => self.round_batches(),
            Phase::Conclude => {
                let clients = 0..self.enrolled.len();
                let tasks = clients.map(|client| (client, Task::Conclude)).collect();
                vec![self.keeping(), Batch { kind: Kind::Conclude, tasks }]
            }
        };
        let trains = batches.iter().any(|batch| batch.kind == Kind::Train);
        let round = self.done + usize::from(trains);
        let (quorum, deadline) = match trains {
            true => {
                let screen = &self.run.setup.screen;
                (screen.needed(self.participants(round).len()), screen.deadline_seconds)
            }
            false => (self.enrolled.len(), None),
        };
        Next::Ask(self.outstanding.ask(batches, (self.id, round), quorum, deadline))
    }

    /// What is asked in and between rounds. In a simulation every kind of task is asked by itself,
    /// since observers look at the clients in between. Over a network an exchange costs seconds:
    /// there the evaluation of a round travels with the training of the next.
    fn round_batches(&self) -> Vec<Batch<T>> {
        let (simulated, last) = (self.run.simulated, self.done == self.run.rounds());
        let mut batches = Vec::new();
        if !self.discards.is_empty() {
            batches.push(self.discarding());
            if simulated {
                return batches;
            }
        }
        if !self.keeps.is_empty() {
            batches.push(self.keeping());
        }
        if let Phase::Settle(settling) = &self.phase {
            batches.push(self.evaluating(settling));
            if simulated || last || self.pauses {
                return batches;
            }
        }
        batches.push(self.training());
        batches
    }

    /// Takes what became of the frames.
    pub(crate) fn hear(&mut self, arrivals: Vec<Arrival<T>>) -> Result<()> {
        self.bytes.1 += self.outstanding.down();
        let (up, batches) = self.outstanding.hear(arrivals);
        self.bytes.0 += up;
        for (kind, batch) in batches {
            match kind {
                Kind::Enroll => {}
                Kind::Begin => self.hear_begun(batch)?,
                Kind::Prepare => self.hear_prepared(batch)?,
                Kind::Discard => {
                    for heard in batch {
                        let client = heard.client;
                        if heard.confirmed().is_ok() {
                            self.discards.remove(&client);
                        }
                    }
                }
                Kind::Train => self.hear_updates(batch)?,
                Kind::Evaluate => self.hear_evaluations(batch)?,
                Kind::Keep => self.hear_kept(batch)?,
                Kind::Conclude => self.hear_conclusions(batch)?,
            }
        }
        Ok(())
    }

    /// The next thing that happened, in order.
    pub(crate) fn event(&mut self) -> Option<Event<T>> {
        self.events.pop_front()
    }

    /// Rounds done.
    pub(crate) fn done(&self) -> usize {
        self.done
    }

    /// Bytes sent and received by all clients so far.
    pub(crate) fn bytes(&self) -> (Traffic, Traffic) {
        self.bytes
    }

    /// The round whose updates are combined but not evaluated, once every client is where it should
    /// be.
    pub(crate) fn settling(&self) -> Option<&Settling<T>> {
        match &self.phase {
            Phase::Settle(settling) if self.discards.is_empty() => Some(settling),
            _ => None,
        }
    }

    /// Whether the exchanges before the first round are over.
    pub(crate) fn is_prepared(&self) -> bool {
        !matches!(self.phase, Phase::Begin | Phase::Prepare(_))
    }

    /// How messages call client `k`.
    pub(super) fn name_of(&self, k: usize) -> ClientName {
        ClientName::new(k, self.enrolled[k].name.clone())
    }

    /// Adds the names of clients to refusals.
    pub(super) fn name_clients(&self, refused: &mut [Refusal]) {
        for refusal in refused {
            refusal.name.clone_from(&self.enrolled[refusal.client].name);
        }
    }

    /// The form that an update of client `k` must have in this round.
    pub(crate) fn update_form(&self, k: usize, message: &Message<T>) -> Form {
        let enrolled = &self.enrolled[k];
        let labelled = enrolled.training as f64;
        let reach = (enrolled.arcs + enrolled.nodes) as f64;
        self.rule.form(&SenderFacts { client: k, done: self.done, labelled, reach, message })
    }

    /// Asks clients to keep their evaluation of the round to report.
    fn keeping(&self) -> Batch<T> {
        let rounds_done = self.kept_round as u32;
        let tasks = self.keeps.iter().map(|client| (*client, Task::Keep { rounds_done }));
        Batch { kind: Kind::Keep, tasks: tasks.collect() }
    }

    fn discarding(&self) -> Batch<T> {
        let discards = self.discards.iter();
        let tasks = discards.map(|(client, discard)| (*client, Task::Discard(discard.clone())));
        Batch { kind: Kind::Discard, tasks: tasks.collect() }
    }

    /// Tells every client about the others.
    fn beginning(&self) -> Batch<T> {
        let able: Vec<bool> = self.enrolled.iter().map(|client| client.training > 0).collect();
        let mut class_counts = vec![0; self.enrolled[0].class_counts.len()];
        for enrolment in &self.enrolled {
            class_counts.iter_mut().zip(&enrolment.class_counts).for_each(|(sum, n)| {
                *sum = u64::saturating_add(*sum, *n);
            });
        }
        let roster = |client| Roster {
            client: client as u32,
            able: able.clone(),
            classes: self.classes.clone(),
            class_counts: class_counts.clone(),
        };
        let clients = 0..self.enrolled.len();
        let tasks = clients.map(|client| (client, Task::Begin(roster(client)))).collect();
        Batch { kind: Kind::Begin, tasks }
    }

    fn hear_begun(&mut self, batch: Vec<super::replies::Heard<T>>) -> Result<()> {
        for heard in batch {
            let client = heard.client;
            heard.confirmed().map_err(|not| not.error(self.name_of(client), "start"))?;
        }
        let able = self.enrolled.iter().map(|client| client.training > 0).collect();
        let exchanges = self.run.exchanges(self.enrolled.len());
        let names = (0..self.enrolled.len()).map(|k| self.name_of(k)).collect();
        self.phase = Phase::Prepare(Box::new(Preparing::new(names, able, exchanges)));
        Ok(())
    }

    /// Checks that the next models and messages for clients are finite: finite updates may overflow
    /// when they are combined.
    pub(super) fn check_finite(&self, round: usize) -> Result<()> {
        if !self.screening {
            return Ok(());
        }
        let (mut models, mut messages) = (Vec::new(), Vec::new());
        for k in 0..self.enrolled.len() {
            models.extend(self.rule.start(k).into_iter().chain(self.rule.evaluated(k)));
            messages.extend(self.rule.tell(k));
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
}
