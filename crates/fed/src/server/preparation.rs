//! The preparation before the first round: exchanges between clients, which go through the server.
//!
//! A client whose own work fails here, or whose question no other client can answer, drops out of
//! the preparation and not out of the run. It starts with the graph that it has and is reported
//! with the first round.

use super::Event;
use super::replies::{Batch, Heard, Kind, unexpected};
use super::running::{Phase, Running};
use crate::ClientName;
use crate::screen::{Reason, Refusal};
use crate::{Error, Message, Result};
use boostfgl_nn::Real;
use boostfgl_protocol::{Answer, Discard, Exchange, Exchanged, Fault, Reply, Task};
use std::sync::Arc;

/// The first round, with which failures of the preparation are reported.
const FIRST: usize = 1;

/// The preparation: who still takes part, and what was exchanged so far.
pub(super) struct Preparing<T: Real> {
    /// How messages call the clients.
    names: Vec<ClientName>,
    /// Which clients have something to train on.
    able: Vec<bool>,
    taking_part: Vec<bool>,
    refused: Vec<Refusal>,
    /// The first error.
    error: Option<Error>,
    exchanges: usize,
    /// Exchanges that are over.
    number: usize,
    step: Step,
    /// The question of each client in this exchange.
    questions: Vec<Option<Arc<Message<T>>>>,
    /// The answers to each client's question, with the clients that gave them.
    answers: Vec<Vec<(u32, Message<T>)>>,
}

/// The steps of an exchange.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Ask,
    Answer,
    Receive,
    Finish,
}

impl<T: Real> Preparing<T> {
    /// The preparation of clients with these names, of which some are able to train.
    pub(super) fn new(names: Vec<ClientName>, able: Vec<bool>, exchanges: usize) -> Self {
        let clients = able.len();
        Self {
            names,
            taking_part: able.clone(),
            able,
            refused: Vec::new(),
            error: None,
            exchanges,
            number: 0,
            step: if exchanges > 0 { Step::Ask } else { Step::Finish },
            questions: (0..clients).map(|_| None).collect(),
            answers: (0..clients).map(|_| Vec::new()).collect(),
        }
    }

    /// The next step of every client that takes part. Clients without training nodes have nothing
    /// to prepare, but learn that the preparation is over.
    pub(super) fn tasks(&self) -> Batch<T> {
        let clients = 0..self.able.len();
        let number = self.number as u32;
        let step = |k: usize| match self.step {
            Step::Ask => Exchange::Ask { number },
            Step::Answer => Exchange::Answer { number, questions: self.questions_for(k) },
            Step::Receive => Exchange::Receive { number, answers: self.answers[k].clone() },
            Step::Finish => Exchange::Finish,
        };
        let task = |k: usize| match (self.taking_part[k], self.step) {
            (true, _) => Some((k, Task::Exchange(step(k)))),
            (false, Step::Finish) => Some((k, Task::Discard(unprepared_client()))),
            (false, _) => None,
        };
        Batch { kind: Kind::Prepare, tasks: clients.filter_map(task).collect() }
    }

    /// The questions of the other clients.
    fn questions_for(&self, k: usize) -> Vec<(u32, Arc<Message<T>>)> {
        let others = self.questions.iter().enumerate().filter(|(asker, _)| *asker != k);
        others
            .filter_map(|(asker, question)| Some((asker as u32, Arc::clone(question.as_ref()?))))
            .collect()
    }

    /// Reports a client; only the first reason counts.
    fn report(&mut self, client: usize, reason: Reason) {
        if self.refused.iter().all(|refusal| refusal.client != client) {
            self.refused.push(Refusal::new(client, FIRST, reason));
        }
    }

    /// Removes a client from the preparation. This reason replaces an earlier one that did not
    /// remove it.
    fn drop_out(&mut self, client: usize, reason: Reason) {
        if self.taking_part[client] {
            self.refused.retain(|refusal| refusal.client != client);
        }
        self.taking_part[client] = false;
        self.report(client, reason);
    }

    /// The replies of the clients whose work succeeded; the others drop out.
    fn successes(&mut self, batch: Vec<Heard<T>>) -> Vec<(usize, Exchanged<T>)> {
        let mut successes = Vec::with_capacity(batch.len());
        for heard in batch {
            let client = heard.client;
            if !self.taking_part[client] {
                continue;
            }
            match heard.done() {
                Ok(Reply::Exchanged(exchanged)) => successes.push((client, exchanged)),
                Ok(other) => self.drop_out(client, unexpected("a step of an exchange", &other)),
                Err(not) => {
                    self.drop_out(client, not.clone().reason());
                    let name = self.names[client].clone();
                    self.error.get_or_insert_with(|| not.error(name, "preparation"));
                }
            }
        }
        successes
    }

    /// Takes the questions.
    fn asked(&mut self, batch: Vec<Heard<T>>) {
        self.questions.iter_mut().for_each(|question| *question = None);
        for (client, exchanged) in self.successes(batch) {
            match exchanged {
                Exchanged::Question(question) => self.questions[client] = question.map(Arc::new),
                _ => self.drop_out(client, misplaced("a question")),
            }
        }
        self.step = Step::Answer;
    }

    /// Sorts answers by the client that asked. If no client can answer, the question was malformed
    /// and its sender drops out; a client that fails alone is reported.
    fn answered(&mut self, batch: Vec<Heard<T>>) {
        self.answers.iter_mut().for_each(Vec::clear);
        let mut failures: Vec<Vec<(usize, String)>> = vec![Vec::new(); self.able.len()];
        for (k, exchanged) in self.successes(batch) {
            match exchanged {
                Exchanged::Answers(answers) if self.answers_all(k, &answers) => {
                    for answer in answers {
                        match answer {
                            Answer::Given(asker, answer) => {
                                self.answers[asker as usize].push((k as u32, answer));
                            }
                            Answer::Failed(asker, error) => {
                                failures[asker as usize].push((k, error));
                            }
                        }
                    }
                }
                _ => self.drop_out(k, misplaced("an answer to each question")),
            }
        }
        for (asker, failures) in failures.into_iter().enumerate() {
            let unanswered = self.answers[asker].is_empty();
            for (k, error) in failures {
                if unanswered {
                    self.questions[asker] = None;
                    let name = self.names[asker].clone();
                    self.error.get_or_insert_with(|| failed(name, &error));
                    self.drop_out(asker, misasked(error));
                } else {
                    self.report(k, Reason::Failed(error));
                }
            }
        }
        self.step = Step::Receive;
    }

    /// Whether client `k` says something about every question that it was sent, in order.
    fn answers_all(&self, k: usize, answers: &[Answer<T>]) -> bool {
        let asked = self.questions.iter().enumerate();
        let asked = asked.filter(|(asker, question)| *asker != k && question.is_some());
        asked.map(|(asker, _)| asker as u32).eq(answers.iter().map(|answer| match answer {
            Answer::Given(asker, _) | Answer::Failed(asker, _) => *asker,
        }))
    }

    /// Takes what was wrong with the answers.
    fn received(&mut self, batch: Vec<Heard<T>>) {
        for (client, exchanged) in self.successes(batch) {
            match exchanged {
                Exchanged::Received(faults) => {
                    for fault in faults {
                        let answered = fault.client as usize;
                        if self.answers[client].iter().any(|(k, _)| *k == fault.client) {
                            self.report(answered, refused_answer(fault));
                        }
                    }
                }
                _ => self.drop_out(client, misplaced("which answers were used")),
            }
        }
        self.number += 1;
        self.step = if self.number < self.exchanges { Step::Ask } else { Step::Finish };
    }

    /// Takes the ends of the preparation. Returns the clients that have not ended it.
    fn finished(&mut self, batch: Vec<Heard<T>>) -> Vec<usize> {
        let before = self.taking_part.clone();
        for (client, exchanged) in self.successes(batch) {
            if exchanged != Exchanged::Finished {
                self.drop_out(client, misplaced("the end of the preparation"));
            }
        }
        let failed = |k: &usize| before[*k] && !self.taking_part[*k];
        (0..before.len()).filter(failed).collect()
    }
}

impl<T: Real> Running<T> {
    /// Takes the replies of one step of the preparation.
    pub(super) fn hear_prepared(&mut self, batch: Vec<Heard<T>>) -> Result<()> {
        let Phase::Prepare(preparing) = &mut self.phase else { return Ok(()) };
        match preparing.step {
            Step::Ask => preparing.asked(batch),
            Step::Answer => preparing.answered(batch),
            Step::Receive => {
                preparing.received(batch);
                let (done, total) = (preparing.number, preparing.exchanges);
                self.events.push_back(Event::Prepared { done, total });
            }
            Step::Finish => {
                let unprepared = preparing.finished(batch);
                self.discards.extend(unprepared.into_iter().map(|k| (k, unprepared_client())));
                if let Phase::Prepare(preparing) = std::mem::replace(&mut self.phase, Phase::Train)
                {
                    self.prepared(*preparing)?;
                }
            }
        }
        Ok(())
    }

    /// Decides whether the run continues with the clients that are prepared.
    fn prepared(&mut self, preparing: Preparing<T>) -> Result<()> {
        let Preparing { able, taking_part, mut refused, error, .. } = preparing;
        self.name_clients(&mut refused);
        let (participants, usable) = (count(&able), count(&taking_part));
        let needed = self.run.setup.screen.needed(participants);
        match error {
            // If all failed, or none may, the first error is returned.
            Some(error) if usable == 0 || !self.screening => return Err(error),
            _ if usable < needed => {
                return Err(Error::Quorum { round: FIRST, participants, needed, usable, refused });
            }
            _ => {}
        }
        self.unprepared = refused;
        Ok(())
    }
}

/// What a client hears whose preparation is over although it did not end it.
fn unprepared_client<T: Real>() -> Discard<T> {
    Discard { numeric: true, model: None }
}

/// How many are selected.
fn count(selected: &[bool]) -> usize {
    selected.iter().filter(|is_selected| **is_selected).count()
}

/// The reason for a reply to another step.
fn misplaced(expected: &str) -> Reason {
    Reason::Message { expected: expected.to_owned(), found: "another step".to_owned() }
}

/// The reason for a client whose question no other client can answer.
fn misasked(error: String) -> Reason {
    Reason::Message { expected: "a question that makes sense".to_owned(), found: error }
}

/// The error if no client can be prepared.
fn failed(client: ClientName, reason: &str) -> Error {
    let advice = "Check the features' scale, and the settings of the method.".to_owned();
    Error::Failed { client, reason: reason.to_owned(), advice }
}

/// The reason for an answer that the client that asked did not use.
fn refused_answer(fault: Fault) -> Reason {
    let kind = match fault.kind.as_str() {
        "not-finite" => "not-finite",
        "too-long" => "too-long",
        _ => "message",
    };
    Reason::Answer { kind, reason: fault.reason }
}
