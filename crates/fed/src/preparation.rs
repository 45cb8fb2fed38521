//! What clients do before the first round: exchanges with each other, and what follows from them.
//!
//! A client whose own work fails here, or whose question nobody can answer, drops out of the
//! preparation and not out of the run: it starts with the graph that it has, and is named with the
//! first round. Answers that make no sense are left out.

use crate::client::Client;
use crate::client_rule::{ClientContext, ClientRule};
use crate::federation::{Federation, borrow, client_settings, give_back};
use crate::local_data::LocalData;
use crate::observer::Observer;
use crate::screen::{self, Form, Reason, Refusal};
use crate::{Error, Message, Result, wire};
use boostfgl_nn::Real;
use rayon::prelude::*;

/// The first round: what went wrong before it is told with it.
const FIRST: usize = 1;

/// Who is still being prepared, and what became of the others.
struct Preparing {
    taking_part: Vec<bool>,
    refused: Vec<Refusal>,
    /// The first thing that went wrong.
    error: Option<Error>,
}

impl Preparing {
    /// Takes note of what is wrong with a client, once.
    fn name(&mut self, client: usize, reason: Reason) {
        if self.refused.iter().all(|refusal| refusal.client != client) {
            self.refused.push(Refusal { client, round: FIRST, reason });
        }
    }

    /// Sends a client away. Why it goes says more than what was wrong with it before.
    fn drop_out(&mut self, client: usize, reason: Reason) {
        if self.taking_part[client] {
            self.refused.retain(|refusal| refusal.client != client);
        }
        self.taking_part[client] = false;
        self.name(client, reason);
    }

    /// The results of those whose work did not fail; the others drop out.
    fn successes<R: Default>(&mut self, done: Vec<Result<R>>) -> Vec<R> {
        let mut one = |(client, done): (usize, Result<R>)| match done {
            Ok(done) => done,
            Err(error) => {
                self.drop_out(client, Reason::Failed(error.to_string()));
                self.error.get_or_insert(error);
                R::default()
            }
        };
        done.into_iter().enumerate().map(&mut one).collect()
    }
}

/// What one client answers another: who asked, and the answer.
type Answers<T> = Vec<(usize, Result<Message<T>>)>;

impl<T: Real> Federation<T> {
    /// Returns the bytes that went up and down.
    pub(crate) fn prepare(&mut self, observers: &mut [&mut dyn Observer<T>]) -> Result<(u64, u64)> {
        let exchanges = self.clients.iter().map(Client::exchanges).max().unwrap_or(0);
        // A client that has nothing to train on takes part in nothing.
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
        let adopted = self.at_their_desks(&state.taking_part, |_, rule, context| {
            rule.finish_preparation(context)
        });
        let adopted = state.successes(adopted);
        self.settle(&able, state)?;
        let settings = client_settings(&self.setup);
        let clients = std::mem::take(&mut self.clients);
        let renew = |(client, data): (Client<T>, Option<LocalData<T>>)| match data {
            Some(data) => client.adopt(data, &*self.backbone, &settings, &self.counts),
            None => client,
        };
        self.clients = clients.into_iter().zip(adopted).map(renew).collect();
        Ok((up, down))
    }

    /// Decides whether the run goes on with those who are prepared.
    fn settle(&mut self, able: &[bool], state: Preparing) -> Result<()> {
        let Preparing { taking_part, refused, error } = state;
        let count = |who: &[bool]| who.iter().filter(|one| **one).count();
        let (participants, usable) = (count(able), count(&taking_part));
        let needed = self.setup.screen.needed(participants);
        match error {
            // If all failed, or nobody may, the first of them is reported.
            Some(error) if usable == 0 || !self.setup.screen.enabled => return Err(error),
            _ if usable < needed => {
                return Err(Error::Quorum { round: FIRST, participants, needed, usable, refused });
            }
            _ => {}
        }
        let out: Vec<bool> =
            able.iter().zip(&taking_part).map(|(able, still)| *able && !still).collect();
        self.at_their_desks(&out, |_, rule, _| {
            rule.refused(true);
            Ok(())
        });
        self.unprepared = refused;
        Ok(())
    }

    /// One exchange: everybody asks, everybody answers everybody else, everybody hears the answers.
    /// All goes through the server, so that a question goes up once and down to each of the others.
    fn exchange(&mut self, number: usize, state: &mut Preparing) -> (u64, u64) {
        let asked = self.at_their_desks(&state.taking_part, |_, rule, context| {
            let question = rule.question(context, number)?;
            match question.as_ref().is_none_or(Message::is_finite) {
                true => Ok(question),
                false => Err(context.diverged("question")),
            }
        });
        let mut questions = state.successes(asked);
        let answers: Vec<Answers<T>> = {
            let answered = self.at_their_desks(&state.taking_part, |k, rule, context| {
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
        let others = questions.iter().flatten().count().saturating_sub(1);
        let count_asked: usize = questions.iter().flatten().map(Message::count).sum();
        let answered = answers.iter().flatten().filter_map(|(_, answer)| answer.as_ref().ok());
        let count_answered: usize = answered.map(Message::count).sum();
        let forms = self.answer_forms(&questions, state);
        let heard = relay(answers, &forms, &mut questions, state, self.answer_factor());
        let done = self.at_their_desks(&state.taking_part, |k, rule, context| {
            rule.receive_answers(context, number, &heard[k])
        });
        state.successes(done);
        (
            wire::bytes(count_asked + count_answered),
            wire::bytes(count_asked * others + count_answered),
        )
    }

    /// How many times longer than the others an answer may be: as any message that is not like a
    /// model.
    fn answer_factor(&self) -> f64 {
        let screen = &self.setup.screen;
        if screen.enabled { screen.norm_bound.powi(3) } else { f64::INFINITY }
    }

    /// What an answer to each question has to be like.
    fn answer_forms(
        &mut self,
        questions: &[Option<Message<T>>],
        state: &mut Preparing,
    ) -> Vec<Form> {
        let forms = self.at_their_desks(&state.taking_part, |k, rule, _| {
            Ok(questions[k]
                .as_ref()
                .map_or_else(Form::message, |question| rule.answer_form(question)))
        });
        state.successes(forms)
    }

    /// Lets the rules of some clients do something at their desks, and collects the results in
    /// client order.
    fn at_their_desks<R: Send + Default>(
        &mut self,
        who: &[bool],
        work: impl Fn(usize, &mut dyn ClientRule<T>, &ClientContext<'_, T>) -> Result<R> + Sync,
    ) -> Vec<Result<R>> {
        let Self { setup, backbone, clients, pools, .. } = self;
        let settings = client_settings(setup);
        clients
            .par_iter_mut()
            .enumerate()
            .map(|(k, client)| {
                if !who[k] {
                    return Ok(R::default());
                }
                let pool = borrow(pools);
                let done = client
                    .prepare(&**backbone, &settings, &pool, |rule, context| work(k, rule, context));
                give_back(pools, pool);
                done
            })
            .collect()
    }
}

/// Sorts answers by who asked. What nobody can answer was asked in the wrong way, and who asked
/// drops out; who alone cannot answer is named. Answers of another form, and those that are
/// `factor` times longer than the others to the same question, are left out: everybody's generator
/// would follow them alone.
fn relay<T: Real>(
    answers: Vec<Answers<T>>,
    forms: &[Form],
    questions: &mut [Option<Message<T>>],
    state: &mut Preparing,
    factor: f64,
) -> Vec<Vec<(usize, Message<T>)>> {
    let mut heard: Vec<Vec<(usize, Message<T>)>> = questions.iter().map(|_| Vec::new()).collect();
    let mut failures: Vec<Vec<(usize, Error)>> = questions.iter().map(|_| Vec::new()).collect();
    for (k, answers) in answers.into_iter().enumerate() {
        for (asker, answer) in answers {
            match answer {
                Err(error) => failures[asker].push((k, error)),
                Ok(answer) => heard[asker].push((k, answer)),
            }
        }
    }
    for (asker, failures) in failures.into_iter().enumerate() {
        let nobody_else = heard[asker].is_empty();
        for (k, error) in failures {
            if nobody_else {
                questions[asker] = None;
                state.drop_out(asker, misasked(&error));
                state.error.get_or_insert(error);
            } else {
                state.name(k, Reason::Failed(error.to_string()));
            }
        }
    }
    for (form, heard) in forms.iter().zip(&mut heard) {
        let mut keep_if = |wrong: &dyn Fn(&Message<T>) -> Option<Reason>| {
            heard.retain(|(k, answer)| match wrong(answer) {
                Some(reason) => {
                    state.name(*k, reason);
                    false
                }
                None => true,
            });
            heard
                .iter()
                .filter_map(|(_, answer)| screen::message_length(answer))
                .collect::<Vec<f64>>()
        };
        let lengths = keep_if(&|answer| match answer.is_finite() {
            true => form.misfit(false, answer),
            false => Some(Reason::NotFinite { what: "message" }),
        });
        let bound = screen::far_above(&lengths, factor);
        keep_if(&|answer| {
            let (bound, found) = bound.zip(screen::message_length(answer))?;
            (found > bound).then_some(Reason::TooLong { what: "an answer", bound, found })
        });
    }
    heard
}

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

    fn senseless() -> Result<Message<f64>> {
        Err(Error::Diverged { client: 3, round: 1, what: "question" })
    }

    fn named(state: &Preparing) -> Vec<(usize, &str)> {
        state.refused.iter().map(|refusal| (refusal.client, refusal.reason.kind())).collect()
    }

    /// Client 1 answers with a row too few, client 2 with NaN; client 3 cannot make sense of what
    /// client 4 asked, though client 1 can; nobody can make sense of what client 1 asked.
    #[test]
    fn answers_without_sense_are_left_out_and_named() {
        let mut questions: Vec<Option<Message<f64>>> =
            (0..5).map(|_| Some(tensor(2, 0.5))).collect();
        let forms = vec![Form::message().tensors(vec![(2, 1)]); 5];
        let mut state = preparing();
        let answers: Vec<Answers<f64>> = vec![
            vec![(1, senseless())],
            vec![(0, Ok(tensor(1, 1.0))), (4, Ok(tensor(2, 1.0)))],
            vec![(0, Ok(tensor(2, f64::NAN))), (1, senseless())],
            vec![(0, Ok(tensor(2, 1.0))), (4, senseless())],
            vec![(0, Ok(Message::default()))],
        ];
        let heard = relay(answers, &forms, &mut questions, &mut state, 1000.0);
        let from = |asker: usize| heard[asker].iter().map(|(k, _)| *k).collect::<Vec<_>>();
        assert_eq!([from(0), from(1), from(4)], [vec![3], vec![], vec![1]]);
        assert_eq!(
            named(&state),
            [(1, "message"), (3, "failed"), (2, "not-finite"), (4, "message")]
        );
        assert_eq!(state.taking_part, [true, false, true, true, true]);
        assert!(questions[1].is_none() && questions[4].is_some() && state.error.is_some());
    }

    /// Client 4 answers everybody ten thousand times as loud as the others do.
    #[test]
    fn an_answer_far_longer_than_the_others_is_left_out() {
        let forms = vec![Form::message().tensors(vec![(2, 1)]); 5];
        let loud = |k: usize| if k == 4 { 1e4 } else { 1.0 + k as f64 };
        let all = || -> Vec<Answers<f64>> {
            let to_others = |k: usize| (0..5).filter(move |asker| *asker != k);
            (0..5)
                .map(|k| to_others(k).map(|asker| (asker, Ok(tensor(2, loud(k))))).collect())
                .collect()
        };
        for (factor, loudest, refused) in
            [(1000.0, false, vec![(4, "too-long")]), (f64::INFINITY, true, vec![])]
        {
            let mut questions: Vec<Option<Message<f64>>> =
                (0..5).map(|_| Some(tensor(2, 0.5))).collect();
            let mut state = preparing();
            let heard = relay(all(), &forms, &mut questions, &mut state, factor);
            assert!(heard[..4].iter().all(|heard| heard.iter().any(|(k, _)| *k == 4) == loudest));
            assert_eq!((heard[4].len(), named(&state)), (4, refused));
            assert_eq!(state.taking_part, [true; 5]);
        }
    }
}
