//! The client's side of the exchanges before the first round.

use super::{Client, Stage};
use crate::client_rule::{ClientContext, ClientRule};
use crate::screen::{self, Form, Reason};
use crate::{Error, Message, Result};
use boostfgl_nn::Real;
use boostfgl_protocol::{Answer, Exchange, Exchanged, Fault};
use std::sync::Arc;

impl<T: Real> Client<T> {
    /// One step of an exchange.
    pub(super) fn exchange(&mut self, step: Exchange<T>) -> Result<Exchanged<T>> {
        let factor = self.answer_factor();
        let Stage::Preparing(trainer) = &mut self.stage else {
            return Ok(Exchanged::Finished);
        };
        trainer.exchanges.check(&step)?;
        match step {
            Exchange::Ask { number } => {
                let question = trainer.prepare(|rule, context| ask(rule, context, number))?;
                let form = question.as_ref().map(|question| trainer.rule.answer_form(question));
                trainer.exchanges.asked = Some(form.unwrap_or_else(Form::message));
                Ok(Exchanged::Question(question))
            }
            Exchange::Answer { number, questions } => {
                trainer.prepare(|rule, context| Ok(answers(rule, context, number, &questions)))
            }
            Exchange::Receive { number, answers } => {
                let form = trainer.exchanges.end();
                let (answers, faults) = screen_answers(answers, &form, factor);
                trainer.prepare(|rule, context| {
                    rule.receive_answers(context, number as usize, &answers)
                })?;
                Ok(Exchanged::Received(faults))
            }
            Exchange::Finish => {
                let data = trainer.prepare(|rule, context| rule.finish_preparation(context))?;
                let stage = std::mem::replace(&mut self.stage, Stage::Changing);
                self.stage = match (stage, data) {
                    (Stage::Preparing(trainer), Some(data)) => {
                        Stage::Training(Box::new(trainer.adopt(data)))
                    }
                    (stage, _) => stage.prepared(),
                };
                Ok(Exchanged::Finished)
            }
        }
    }

    /// How many times longer than the others an answer may be: the same as for every message that
    /// is not shaped like a model.
    fn answer_factor(&self) -> f64 {
        let screen = &self.plan.setup.screen;
        if screen.enabled { screen.norm_bound.powi(3) } else { f64::INFINITY }
    }
}

/// How far the exchanges of a client are.
#[derive(Default)]
pub(super) struct Exchanges {
    /// How many are over.
    done: usize,
    /// How many are left.
    pub(super) left: usize,
    /// The form of answers to the question of the one that is going on.
    asked: Option<Form>,
}

impl Exchanges {
    /// Fails unless this step is the next one: the rules of methods count on the order.
    fn check<T: Real>(&self, step: &Exchange<T>) -> Result<()> {
        let (number, is_open) = match step {
            Exchange::Ask { number } => (*number, self.asked.is_none() && self.left > 0),
            Exchange::Answer { number, .. } | Exchange::Receive { number, .. } => {
                (*number, self.asked.is_some())
            }
            Exchange::Finish => return Ok(()),
        };
        match is_open && number as usize == self.done {
            true => Ok(()),
            false => Err(Error::OutOfOrder {
                task: "a step of another exchange",
                stage: "before its first round",
            }),
        }
    }

    /// Ends the exchange that is going on. Returns the form that its answers must have.
    fn end(&mut self) -> Form {
        (self.done, self.left) = (self.done + 1, self.left.saturating_sub(1));
        self.asked.take().unwrap_or_else(Form::message)
    }
}

/// The question of this client.
fn ask<T: Real>(
    rule: &mut dyn ClientRule<T>,
    context: &ClientContext<'_, T>,
    number: u32,
) -> Result<Option<Message<T>>> {
    let question = rule.question(context, number as usize)?;
    match question.as_ref().is_none_or(Message::is_finite) {
        true => Ok(question),
        false => Err(context.diverged("question")),
    }
}

/// The answers of this client, each with the client that asked.
fn answers<T: Real>(
    rule: &mut dyn ClientRule<T>,
    context: &ClientContext<'_, T>,
    number: u32,
    questions: &[(u32, Arc<Message<T>>)],
) -> Exchanged<T> {
    let answer = |(asker, question): &(u32, Arc<Message<T>>)| match rule.answer(
        context,
        number as usize,
        *asker as usize,
        question,
    ) {
        Ok(answer) => Answer::Given(*asker, answer),
        Err(error) => Answer::Failed(*asker, error.to_string()),
    };
    Exchanged::Answers(questions.iter().map(answer).collect())
}

/// Answers that may be used, each with the client that gave it.
type Usable<T> = Vec<(usize, Message<T>)>;

/// Leaves out answers of another form and those that are `factor` times longer than the others to
/// the same question: they alone would decide what generators learn.
fn screen_answers<T: Real>(
    answers: Vec<(u32, Message<T>)>,
    form: &Form,
    factor: f64,
) -> (Usable<T>, Vec<Fault>) {
    let mut faults = Vec::new();
    let mut usable: Usable<T> =
        answers.into_iter().map(|(client, answer)| (client as usize, answer)).collect();
    retain(&mut usable, &mut faults, |answer| match answer.is_finite() {
        true => form.misfit(false, answer),
        false => Some(Reason::NotFinite { what: "message" }),
    });
    // Lengths are compared only among well-formed answers.
    let lengths: Vec<f64> =
        usable.iter().filter_map(|(_, answer)| screen::message_length(answer)).collect();
    let bound = screen::far_above(&lengths, factor);
    retain(&mut usable, &mut faults, |answer| {
        let (bound, found) = bound.zip(screen::message_length(answer))?;
        (found > bound).then_some(Reason::TooLong { what: "an answer", bound, found })
    });
    (usable, faults)
}

/// Leaves out the answers that `fault` finds a reason against.
fn retain<T>(
    answers: &mut Usable<T>,
    faults: &mut Vec<Fault>,
    fault: impl Fn(&Message<T>) -> Option<Reason>,
) {
    answers.retain(|(client, answer)| match fault(answer) {
        Some(reason) => {
            let (client, kind) = (*client as u32, reason.kind().to_owned());
            faults.push(Fault { client, kind, reason: reason.to_string() });
            false
        }
        None => true,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_nn::Matrix;

    fn tensor(rows: usize, x: f64) -> Message<f64> {
        Message::tensors(vec![Matrix::from_rows(rows, 1, &vec![x; rows])])
    }

    fn screened(
        answers: Vec<(u32, Message<f64>)>,
        factor: f64,
    ) -> (Vec<usize>, Vec<(u32, String)>) {
        let form = Form::message().tensors(vec![(2, 1)]);
        let (usable, faults) = screen_answers(answers, &form, factor);
        (
            usable.iter().map(|(client, _)| *client).collect(),
            faults.into_iter().map(|fault| (fault.client, fault.kind)).collect(),
        )
    }

    /// Client 1 answers with a row too few, client 2 with NaN, client 4 with nothing.
    #[test]
    fn malformed_answers_are_left_out_and_named() {
        let answers = vec![
            (1, tensor(1, 1.0)),
            (2, tensor(2, f64::NAN)),
            (3, tensor(2, 1.0)),
            (4, Message::default()),
        ];
        let faults = [(1, "message"), (2, "not-finite"), (4, "message")];
        let faults = faults.map(|(client, kind)| (client, kind.to_owned())).to_vec();
        assert_eq!(screened(answers, 1000.0), (vec![3], faults));
    }

    /// The answer of client 4 is ten thousand times as long as those of the others.
    #[test]
    fn an_answer_far_longer_than_the_others_is_left_out() {
        let all = || {
            let size = |k: u32| if k == 4 { 1e4 } else { 1.0 + f64::from(k) };
            (1..5).map(|k| (k, tensor(2, size(k)))).collect()
        };
        let long = vec![(4, "too-long".to_owned())];
        assert_eq!(screened(all(), 1000.0), (vec![1, 2, 3], long));
        assert_eq!(screened(all(), f64::INFINITY), (vec![1, 2, 3, 4], vec![]));
    }
}
