//! The preparation before the first round: exchanges between clients, and what follows from them.
//!
//! A client whose own work fails here, or whose question no other client can answer, drops out of
//! the preparation and not out of the run. It starts with the graph that it has and is reported
//! with the first round. Malformed answers are left out.

use crate::client::Client;
use crate::client_rule::{ClientContext, ClientRule};
use crate::federation::{Federation, borrow, give_back};
use crate::observer::Observer;
use crate::screen::{self, Form, Reason, Refusal};
use crate::{Error, Message, Result};
use boostfgl_nn::Real;
use rayon::prelude::*;

/// The first round, with which failures of the preparation are reported.
const FIRST: usize = 1;

/// The clients that are still being prepared, and the failures so far.
struct Preparing {
    taking_part: Vec<bool>,
    refused: Vec<Refusal>,
    /// The first error.
    error: Option<Error>,
}

impl Preparing {
    /// Reports a client; only the first reason counts.
    fn report(&mut self, client: usize, reason: Reason) {
        if self.refused.iter().all(|refusal| refusal.client != client) {
            self.refused.push(Refusal { client, round: FIRST, reason });
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

    /// The results of the clients whose work succeeded; the others drop out.
    fn successes<R: Default>(&mut self, results: Vec<Result<R>>) -> Vec<R> {
        let mut successes = Vec::with_capacity(results.len());
        for (client, result) in results.into_iter().enumerate() {
            successes.push(result.unwrap_or_else(|error| {
                self.drop_out(client, Reason::Failed(error.to_string()));
                self.error.get_or_insert(error);
                R::default()
            }));
        }
        successes
    }
}

/// The answers of one client: the asking client, and the answer.
type Answers<T> = Vec<(usize, Result<Message<T>>)>;

impl<T: Real> Federation<T> {
    /// Runs all exchanges. Returns the bytes that clients sent and received.
    pub(crate) fn prepare(&mut self, observers: &mut [&mut dyn Observer<T>]) -> Result<(u64, u64)> {
        let exchanges = self.clients.iter().map(Client::exchanges).max().unwrap_or(0);
        // A client without training nodes takes part in nothing.
        let able: Vec<bool> =
            self.clients.iter().map(|client| client.data().training_nodes() > 0).collect();
        let mut state = Preparing { taking_part: able.clone(), refused: Vec::new(), error: None };
        let (mut up, mut down) = (0, 0);
        for number in 0..exchanges {
            let (sent, received) = self.exchange(number, &mut state);
            (up, down) = (up + sent, down + received);
            let done = number + 1;
            for observer in observers.iter_mut() {
                observer.preparing(done, exchanges).map_err(Error::Observer)?;
            }
        }
        let adopted = self
            .with_rules(&state.taking_part, |_, rule, context| rule.finish_preparation(context));
        let adopted = state.successes(adopted);
        self.settle(&able, state)?;
        let clients = std::mem::take(&mut self.clients);
        for (client, data) in clients.into_iter().zip(adopted) {
            self.clients.push(match data {
                Some(data) => client.adopt(data, &self.context),
                None => client,
            });
        }
        Ok((up, down))
    }

    /// Decides whether the run continues with the clients that are prepared.
    fn settle(&mut self, able: &[bool], state: Preparing) -> Result<()> {
        let Preparing { taking_part, refused, error } = state;
        let (participants, usable) = (count(able), count(&taking_part));
        let needed = self.setup().screen.needed(participants);
        match error {
            // If all failed, or none may, the first error is returned.
            Some(error) if usable == 0 || !self.setup().screen.enabled => return Err(error),
            _ if usable < needed => {
                return Err(Error::Quorum { round: FIRST, participants, needed, usable, refused });
            }
            _ => {}
        }
        let out: Vec<bool> =
            able.iter().zip(&taking_part).map(|(able, still)| *able && !still).collect();
        self.with_rules(&out, |_, rule, _| {
            rule.refused(true);
            Ok(())
        });
        self.unprepared = refused;
        Ok(())
    }

    /// One exchange: every client asks, every other client answers, and the answers return. All of
    /// it goes through the server: a question goes up once and down to each of the other clients.
    fn exchange(&mut self, number: usize, state: &mut Preparing) -> (u64, u64) {
        let asked = self.with_rules(&state.taking_part, |_, rule, context| {
            let question = rule.question(context, number)?;
            match question.as_ref().is_none_or(Message::is_finite) {
                true => Ok(question),
                false => Err(context.diverged("question")),
            }
        });
        let mut questions = state.successes(asked);
        let answers: Vec<Answers<T>> = {
            let answered = self.with_rules(&state.taking_part, |k, rule, context| {
                let others = questions.iter().enumerate().filter(|(asker, _)| *asker != k);
                let asked = others.filter_map(|(asker, question)| {
                    question.as_ref().map(|question| (asker, question))
                });
                Ok(asked
                    .map(|(asker, question)| (asker, rule.answer(context, number, asker, question)))
                    .collect())
            });
            state.successes(answered)
        };
        let others = questions.iter().flatten().count().saturating_sub(1) as u64;
        let asked: u64 = questions.iter().flatten().map(Message::payload).sum();
        let answered: u64 = answers
            .iter()
            .flatten()
            .filter_map(|(_, answer)| answer.as_ref().ok())
            .map(Message::payload)
            .sum();
        let forms = self.answer_forms(&questions, state);
        let received = relay(answers, &forms, &mut questions, state, self.answer_factor());
        let done = self.with_rules(&state.taking_part, |k, rule, context| {
            rule.receive_answers(context, number, &received[k])
        });
        state.successes(done);
        (asked + answered, asked * others + answered)
    }

    /// How many times longer than the others an answer may be: the same as for every message that
    /// is not shaped like a model.
    fn answer_factor(&self) -> f64 {
        let screen = &self.setup().screen;
        if screen.enabled { screen.norm_bound.powi(3) } else { f64::INFINITY }
    }

    /// The form that an answer to each question must have.
    fn answer_forms(
        &mut self,
        questions: &[Option<Message<T>>],
        state: &mut Preparing,
    ) -> Vec<Form> {
        let forms = self.with_rules(&state.taking_part, |k, rule, _| {
            Ok(questions[k]
                .as_ref()
                .map_or_else(Form::message, |question| rule.answer_form(question)))
        });
        state.successes(forms)
    }

    /// Runs `work` on the rules of the selected clients in parallel. Results are in client order.
    fn with_rules<R: Send + Default>(
        &mut self,
        selected: &[bool],
        work: impl Fn(usize, &mut dyn ClientRule<T>, &ClientContext<'_, T>) -> Result<R> + Sync,
    ) -> Vec<Result<R>> {
        let Self { context, clients, pools, .. } = self;
        clients
            .par_iter_mut()
            .enumerate()
            .map(|(k, client)| {
                if !selected[k] {
                    return Ok(R::default());
                }
                let pool = borrow(pools);
                let done = client.prepare(context, &pool, |rule, client| work(k, rule, client));
                give_back(pools, pool);
                done
            })
            .collect()
    }
}

/// Sorts answers by the client that asked. If no client can answer, the question was malformed and
/// its sender drops out; a client that fails alone is reported. Answers of another form, and those
/// that are `factor` times longer than the others to the same question, are left out: they alone
/// would decide what generators learn.
fn relay<T: Real>(
    answers: Vec<Answers<T>>,
    forms: &[Form],
    questions: &mut [Option<Message<T>>],
    state: &mut Preparing,
    factor: f64,
) -> Vec<Vec<(usize, Message<T>)>> {
    let mut received: Vec<Vec<(usize, Message<T>)>> =
        questions.iter().map(|_| Vec::new()).collect();
    let mut failures: Vec<Vec<(usize, Error)>> = questions.iter().map(|_| Vec::new()).collect();
    for (k, answers) in answers.into_iter().enumerate() {
        for (asker, answer) in answers {
            match answer {
                Err(error) => failures[asker].push((k, error)),
                Ok(answer) => received[asker].push((k, answer)),
            }
        }
    }
    for (asker, failures) in failures.into_iter().enumerate() {
        let unanswered = received[asker].is_empty();
        for (k, error) in failures {
            if unanswered {
                questions[asker] = None;
                state.drop_out(asker, misasked(&error));
                state.error.get_or_insert(error);
            } else {
                state.report(k, Reason::Failed(error.to_string()));
            }
        }
    }
    for (form, answers) in forms.iter().zip(&mut received) {
        screen_answers(answers, form, factor, state);
    }
    received
}

/// Leaves out answers to one question that have another form or are far longer than the others.
fn screen_answers<T: Real>(
    answers: &mut Vec<(usize, Message<T>)>,
    form: &Form,
    factor: f64,
    state: &mut Preparing,
) {
    retain(answers, state, |answer| match answer.is_finite() {
        true => form.misfit(false, answer),
        false => Some(Reason::NotFinite { what: "message" }),
    });
    // Lengths are compared only among well-formed answers.
    let lengths: Vec<f64> =
        answers.iter().filter_map(|(_, answer)| screen::message_length(answer)).collect();
    let bound = screen::far_above(&lengths, factor);
    retain(answers, state, |answer| {
        let (bound, found) = bound.zip(screen::message_length(answer))?;
        (found > bound).then_some(Reason::TooLong { what: "an answer", bound, found })
    });
}

/// Leaves out the answers that `fault` finds a reason against, and reports their clients.
fn retain<T>(
    answers: &mut Vec<(usize, Message<T>)>,
    state: &mut Preparing,
    fault: impl Fn(&Message<T>) -> Option<Reason>,
) {
    answers.retain(|(k, answer)| match fault(answer) {
        Some(reason) => {
            state.report(*k, reason);
            false
        }
        None => true,
    });
}

/// How many are selected.
fn count(selected: &[bool]) -> usize {
    selected.iter().filter(|is_selected| **is_selected).count()
}

/// The reason for a client whose question no other client can answer.
fn misasked(error: &Error) -> Reason {
    Reason::Message { expected: "a question that makes sense".to_owned(), found: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_nn::Matrix;

    fn tensor(rows: usize, x: f64) -> Message<f64> {
        Message::tensors(vec![Matrix::from_rows(rows, 1, &vec![x; rows])])
    }

    fn preparing() -> Preparing {
        Preparing { taking_part: vec![true; 5], refused: Vec::new(), error: None }
    }

    fn unanswerable() -> Result<Message<f64>> {
        Err(Error::Diverged { client: 3, round: 1, what: "question" })
    }

    fn reported(state: &Preparing) -> Vec<(usize, &str)> {
        state.refused.iter().map(|refusal| (refusal.client, refusal.reason.kind())).collect()
    }

    /// Client 1 answers with a row too few, client 2 with NaN. Client 3 cannot answer client 4,
    /// though client 1 can. No client can answer client 1.
    #[test]
    fn malformed_answers_are_left_out_and_reported() {
        let mut questions: Vec<Option<Message<f64>>> =
            (0..5).map(|_| Some(tensor(2, 0.5))).collect();
        let forms = vec![Form::message().tensors(vec![(2, 1)]); 5];
        let mut state = preparing();
        let answers: Vec<Answers<f64>> = vec![
            vec![(1, unanswerable())],
            vec![(0, Ok(tensor(1, 1.0))), (4, Ok(tensor(2, 1.0)))],
            vec![(0, Ok(tensor(2, f64::NAN))), (1, unanswerable())],
            vec![(0, Ok(tensor(2, 1.0))), (4, unanswerable())],
            vec![(0, Ok(Message::default()))],
        ];
        let received = relay(answers, &forms, &mut questions, &mut state, 1000.0);
        let from = |asker: usize| received[asker].iter().map(|(k, _)| *k).collect::<Vec<_>>();
        assert_eq!([from(0), from(1), from(4)], [vec![3], vec![], vec![1]]);
        assert_eq!(
            reported(&state),
            [(1, "message"), (3, "failed"), (2, "not-finite"), (4, "message")]
        );
        assert_eq!(state.taking_part, [true, false, true, true, true]);
        assert!(questions[1].is_none() && questions[4].is_some() && state.error.is_some());
    }

    /// The answers of client 4 are ten thousand times as long as those of the others.
    #[test]
    fn an_answer_far_longer_than_the_others_is_left_out() {
        let forms = vec![Form::message().tensors(vec![(2, 1)]); 5];
        let size = |k: usize| if k == 4 { 1e4 } else { 1.0 + k as f64 };
        let all = || -> Vec<Answers<f64>> {
            let to_others = |k: usize| (0..5).filter(move |asker| *asker != k);
            (0..5)
                .map(|k| to_others(k).map(|asker| (asker, Ok(tensor(2, size(k))))).collect())
                .collect()
        };
        for (factor, accepted, refused) in
            [(1000.0, false, vec![(4, "too-long")]), (f64::INFINITY, true, vec![])]
        {
            let mut questions: Vec<Option<Message<f64>>> =
                (0..5).map(|_| Some(tensor(2, 0.5))).collect();
            let mut state = preparing();
            let received = relay(all(), &forms, &mut questions, &mut state, factor);
            assert!(
                received[..4]
                    .iter()
                    .all(|received| received.iter().any(|(k, _)| *k == 4) == accepted)
            );
            assert_eq!((received[4].len(), reported(&state)), (4, refused));
            assert_eq!(state.taking_part, [true; 5]);
        }
    }
}
