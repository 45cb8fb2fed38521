//! One seed: a server and clients that share frames are driven to the end.

use super::details::details;
use super::experiment::{ClientsExperiment, ClientsSeed};
use super::trace::{CountedRound, Scoring, SeedTrace};
use crate::checkpoint::{FinishedSeed, Position, RecordedRounds, UnfinishedSeed, check_all_read};
use crate::experiment::Refused;
use crate::run::recorder::refusal;
use crate::run::seed::{Output, Scored, SeedClock, SeedTask};
use crate::{Error, Result};
use boostfgl_fed::Registry;
use boostfgl_fed::config::Transport;
use boostfgl_fed::transport::exchange_in_process;
use boostfgl_fed::{
    Beyond, Client, Evaluated, Event, Next, Outcome, Predictors, RoundRecord, RoundReport, Server,
};
use boostfgl_nn::{Dense, Matrix, Params, StateVisitor, Stateful};
use boostfgl_protocol::{Enrolment, Reply, Task};
use boostfgl_report::SplitOrigin;
use std::time::Instant;

/// Trains one seed from its beginning, or from the round after which it was stopped.
pub(super) fn train(
    experiment: &ClientsExperiment,
    task: SeedTask,
    output: Output<'_, '_, ClientsExperiment>,
) -> Result<FinishedSeed<ClientsSeed>> {
    let SeedTask { seed, meter, unfinished } = task;
    // This setting is global: experiments with and without it do not run at the same time.
    if experiment.config().portable { Dense::Ordered } else { Dense::Fastest }.install();
    let clock = SeedClock::start(meter, unfinished.as_ref().map(|state| state.spent));
    let sides = Sides::join(experiment, seed)?;
    let scoring = experiment.scoring(&sides)?;
    let mut training = SeedTraining {
        seed,
        sides,
        scoring,
        output,
        clock,
        trace: SeedTrace::default(),
        refused: Vec::new(),
        digest: String::new(),
        round_began: Instant::now(),
    };
    if let Some(unfinished) = unfinished {
        training.restore(unfinished)?;
    }
    while training.sides.advance()? {
        while let Some(event) = training.sides.server.event() {
            training.handle(event)?;
        }
    }
    training.finish(experiment)
}

/// A server and its clients in one process, between which nothing but frames passes.
pub(super) struct Sides {
    server: Server<f32>,
    clients: Vec<Client<f32>>,
    transport: Transport,
}

impl Sides {
    /// Makes both sides, and lets the clients enrol.
    pub(super) fn join(experiment: &ClientsExperiment, seed: u64) -> Result<Self> {
        let (setup, config) = (experiment.setup(seed)?, experiment.config());
        let registry = Registry::builtin();
        let server = Server::for_clients(setup.clone(), experiment.clients().len(), &registry)?;
        let mut clients = Vec::with_capacity(experiment.clients().len());
        for (id, client) in experiment.clients().iter().enumerate() {
            let joined = client.join(id, config, seed)?;
            let tally = Some(Box::new(joined.tally) as _);
            clients.push(Client::of_server(setup.clone(), joined.local, tally, &registry)?);
        }
        let mut sides = Self { server, clients, transport: config.transport };
        sides.advance()?;
        Ok(sides)
    }

    /// Passes the next frames to the clients and their replies to the server. `false` if nothing is
    /// left to do.
    fn advance(&mut self) -> Result<bool> {
        // Each round ends before the next begins. In one process nothing would be gained by
        // sending both together, and the state can be saved after every round.
        self.server.pause();
        let Next::Ask(ask) = self.server.next() else { return Ok(false) };
        self.server.hear(exchange_in_process(self.transport, &mut self.clients, ask))?;
        Ok(true)
    }

    /// The names of the classes of all clients.
    pub(super) fn classes(&self) -> &[String] {
        self.server.classes()
    }

    /// What the clients said when they joined.
    pub(super) fn enrolled(&self) -> &[Enrolment] {
        self.server.clients()
    }

    /// The states of both sides between two rounds: the server's, then those of the clients.
    fn states(&mut self) -> Result<States> {
        let server = self.server.state()?;
        let mut clients = Vec::with_capacity(self.clients.len());
        for client in &mut self.clients {
            clients.push(match client.handle(Task::Save) {
                Reply::State(state) => state,
                other => return Err(unexpected(&other)),
            });
        }
        Ok(States { server, clients })
    }

    /// Continues from the states of both sides.
    fn restore(&mut self, states: States) -> Result<()> {
        // After enrolment every client learns of the others, as at the start of a run.
        self.advance()?;
        self.server.restore(&states.server)?;
        for (client, state) in self.clients.iter_mut().zip(states.clients) {
            match client.handle(Task::Restore(state)) {
                Reply::Done => {}
                other => return Err(unexpected(&other)),
            }
        }
        Ok(())
    }

    /// The models of the reported round: the server's, or those of the clients if it has none.
    fn models(&self) -> Vec<Params<f32>> {
        match self.server.reported_models() {
            [] => {
                let own =
                    self.clients.iter().filter_map(|client| client.reported()?.own.as_deref());
                own.cloned().collect()
            }
            models => models.to_vec(),
        }
    }

    /// What clients predict with, apart from the models and their graphs, by kind: the rest stays
    /// with them.
    fn predictors(&self) -> Predictors<f32> {
        let beyond = Beyond::distinct(self.clients.iter().flat_map(Client::beyond));
        Predictors { beyond, ..Predictors::default() }
    }
}

/// The error for a client that cannot save or restore its state.
fn unexpected(reply: &Reply<f32>) -> Error {
    let text = match reply {
        Reply::Failed(failure) => failure.reason.clone(),
        other => format!("expected a state, found {}", other.name()),
    };
    Error::usage("checkpoint", text, "Start the run again.")
}

/// What is saved of both sides.
#[derive(Default)]
struct States {
    server: Vec<u8>,
    clients: Vec<Vec<u8>>,
}

impl Stateful for States {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("server", &mut self.server)?;
        visitor.each("clients", &mut self.clients, Vec::new)
    }
}

/// A seed under way.
struct SeedTraining<'a, 'r> {
    seed: u64,
    sides: Sides,
    scoring: Scoring,
    output: Output<'a, 'r, ClientsExperiment>,
    clock: SeedClock,
    trace: SeedTrace,
    /// The refused updates so far.
    refused: Vec<Refused>,
    /// The digest of the federation, once it is over.
    digest: String,
    round_began: Instant,
}

impl SeedTraining<'_, '_> {
    fn handle(&mut self, event: Event<f32>) -> Result<()> {
        match event {
            Event::Prepared { done, total } => {
                self.output.progress.preparing(done, total);
                if let Some(files) = &mut self.output.files {
                    files.checkpoints.stop_if_asked(self.output.finished)?;
                }
                self.round_began = Instant::now();
                Ok(())
            }
            Event::Round(report) => self.record(&report),
            Event::Concluded(digest) => {
                self.digest = digest;
                Ok(())
            }
        }
    }

    /// Records a round, and saves the state if a checkpoint is due.
    fn record(&mut self, report: &RoundReport<f32>) -> Result<()> {
        let RoundReport { round, loss, clients, refused, evaluation } = report;
        let evaluation = evaluation.as_ref();
        let counted = evaluation.map(|found| CountedRound::new(*round, found));
        let scores = counted.map(|counted| self.scoring.evaluate(&counted)).transpose()?;
        let record = RoundRecord {
            round: *round,
            rounds: self.sides.server.rounds(),
            loss: *loss,
            clients,
            refused,
            predictions: None,
            val_accuracy: evaluation.and_then(|found| found.val_accuracy),
            seconds: self.round_began.elapsed().as_secs_f64(),
        };
        self.round_began = Instant::now();
        let Output { progress, files, .. } = &mut self.output;
        progress.round(&record, scores.as_ref());
        if let Some(files) = files {
            files.recorder.write_round(self.seed, &record, scores.as_ref())?;
        }
        let refused = refused.iter();
        self.refused.extend(refused.map(|one| Refused { round: *round, update: refusal(one) }));
        self.trace.record((*round, *loss), evaluation);
        self.save_if_due(*round)
    }

    fn save_if_due(&mut self, rounds_done: usize) -> Result<()> {
        let Output { files: Some(files), finished, .. } = &mut self.output else { return Ok(()) };
        if !files.checkpoints.is_due() {
            return Ok(());
        }
        let mut states = self.sides.states()?;
        // A checkpoint counts lines of `rounds.jsonl`: if a power cut took some of them, it could
        // not be used.
        files.recorder.sync()?;
        let position = Position {
            finished,
            recorded: files.recorded(),
            spent: self.clock.spent(),
            refused: &self.refused,
            rounds_done,
        };
        let trace = &mut self.trace;
        files.checkpoints.save(position, |visitor| {
            visitor.visit("sides", &mut states)?;
            visitor.visit("trace", trace)
        })
    }

    /// Continues a seed that was stopped between two rounds.
    fn restore(&mut self, unfinished: UnfinishedSeed) -> Result<()> {
        let UnfinishedSeed { state, refused, path, .. } = unfinished;
        let damaged = |error: String| Error::from(boostfgl_report::Error::malformed(&path, error));
        let (mut visitor, mut states) = (StateVisitor::restoring(&state), States::default());
        visitor
            .visit("sides", &mut states)
            .and_then(|()| visitor.visit("trace", &mut self.trace))
            .map_err(|error| damaged(error.to_string()))?;
        check_all_read(&path, &visitor)?;
        let (expected, found) = (self.sides.clients.len(), states.clients.len());
        if !self.scoring.fits(&self.trace) {
            return Err(damaged("expected counts of these clients, found others".to_owned()));
        }
        if expected != found {
            return Err(damaged(format!("expected states of {expected} clients, found {found}")));
        }
        self.refused = refused;
        self.sides.restore(states).map_err(|error| damaged(error.to_string()))
    }

    /// The result, once no round is left.
    fn finish(self, experiment: &ClientsExperiment) -> Result<FinishedSeed<ClientsSeed>> {
        let Self { seed, sides, scoring, output, clock, trace, refused, digest, .. } = self;
        let config = experiment.config();
        let reported = trace.reported.clone().unwrap_or_default();
        let evaluation = scoring.evaluate(&reported)?;
        let origin = split_origin(experiment)?;
        let details = details(config, &scoring, &trace, (seed, origin))?;
        let (up, down) = sides.server.traffic();
        let reports: Vec<_> = sides.clients.iter().filter_map(Client::reported).collect();
        let predictions = reports.iter().flat_map(|report| &report.predictions);
        let models = sides.models();
        let first =
            models.first().ok_or_else(|| Error::Fed(boostfgl_fed::Error::NothingToTrain))?;
        let outcome = Outcome {
            round: reported.round,
            predictions: predictions.copied().collect(),
            predictors: sides.predictors(),
            probabilities: probabilities(&reports),
            bytes_up: up.payload,
            bytes_down: down.payload,
            framed_up: up.framed,
            framed_down: down.framed,
            federation_digest: digest,
            ..Outcome::blank(first)
        };
        let outcome = Outcome { models, ..outcome };
        let spent = clock.spent();
        let scored = Scored { evaluation: &evaluation, details, refused: &refused };
        let summary = scored.summary((seed, String::new()), &outcome, spent);
        let recorded: RecordedRounds =
            output.files.map(|files| files.recorded()).unwrap_or_default();
        let run = ClientsSeed { seed, outcome, refused };
        Ok(FinishedSeed { run, summary, spent, recorded })
    }
}

/// The probabilities of all clients, one below the other, if they keep them.
fn probabilities(reports: &[&Evaluated<f32>]) -> Option<Matrix<f32>> {
    let kept: Vec<&Matrix<f32>> =
        reports.iter().filter_map(|report| report.probabilities.as_ref()).collect();
    let columns = kept.first()?.columns();
    let values: Vec<f32> = kept.iter().flat_map(|rows| rows.to_vec()).collect();
    Some(Matrix::from_rows(values.len() / columns, columns, &values))
}

/// Where the roles of nodes come from: drawn by shares as soon as one client draws them.
fn split_origin(experiment: &ClientsExperiment) -> Result<SplitOrigin> {
    for client in experiment.clients() {
        if !client.has_split(experiment.config())? {
            return Ok(SplitOrigin::Shares);
        }
    }
    Ok(SplitOrigin::Data)
}
