//! What clients do before the first round: exchanges with each other, and what follows from them.
//!
//! A client whose own work fails here, or whose question nobody can answer, drops out of the preparation and not out of the
//! run: it starts with the graph that it has, and is named with the first round. Answers that make no sense are left out.

use crate::client::Client;
use crate::federation::{Federation, borrow, give_back, instructions};
use crate::local_data::LocalData;
use crate::observer::Observer;
use crate::rule::{ClientRule, Desk};
use crate::screen::{Form, Reason, Refusal};
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

    fn drop_out(&mut self, client: usize, reason: Reason) {
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
        let able: Vec<bool> = self.clients.iter().map(|client| client.data().training_nodes() > 0).collect();
        let mut state = Preparing { taking_part: able.clone(), refused: Vec::new(), error: None };
        let (mut up, mut down) = (0, 0);
        for number in 0..exchanges {
            let (sent, received) = self.exchange(number, &mut state);
            (up, down) = (up + sent, down + received);
            observers.iter_mut().for_each(|o| o.preparing(number + 1, exchanges));
        }
        let adopted = self.at_their_desks(&state.taking_part, |_, rule, desk| rule.ready(desk));
        let adopted = state.successes(adopted);
        self.settle(&able, state)?;
        let told = instructions(&self.setup);
        let clients = std::mem::take(&mut self.clients);
        let renew = |(client, data): (Client<T>, Option<LocalData<T>>)| match data {
            Some(data) => client.adopt(data, &*self.backbone, &told, &self.counts),
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
            _ if usable < needed => return Err(Error::Quorum { round: FIRST, participants, needed, usable, refused }),
            _ => {}
        }
        let out: Vec<bool> = able.iter().zip(&taking_part).map(|(able, still)| *able && !still).collect();
        self.at_their_desks(&out, |_, rule, _| {
            rule.refused(true);
            Ok(())
        });
        self.unprepared = refused;
        Ok(())
    }

    /// One exchange: everybody asks, everybody answers everybody else, everybody hears the answers. All goes through the
    /// server, so that a question goes up once and down to each of the others.
    fn exchange(&mut self, number: usize, state: &mut Preparing) -> (u64, u64) {
        let asked = self.at_their_desks(&state.taking_part, |_, rule, desk| {
            let question = rule.ask(desk, number)?;
            match question.as_ref().is_none_or(Message::is_finite) {
                true => Ok(question),
                false => Err(desk.diverged("question")),
            }
        });
        let mut questions = state.successes(asked);
        let answers: Vec<Answers<T>> = {
            let answered = self.at_their_desks(&state.taking_part, |k, rule, desk| {
                let others = questions.iter().enumerate().filter(|(asker, _)| *asker != k);
                let asked = others.filter_map(|(asker, question)| question.as_ref().map(|question| (asker, question)));
                Ok(asked.map(|(asker, question)| (asker, rule.answer(desk, number, asker, question))).collect())
            });
            state.successes(answered)
        };
        let others = questions.iter().flatten().count().saturating_sub(1);
        let count_asked: usize = questions.iter().flatten().map(Message::count).sum();
        let answered = answers.iter().flatten().filter_map(|(_, answer)| answer.as_ref().ok());
        let count_answered: usize = answered.map(Message::count).sum();
        let forms = self.answer_forms(&questions, state);
        let heard = relay(answers, &forms, &mut questions, state);
        let done = self.at_their_desks(&state.taking_part, |k, rule, desk| rule.hear(desk, number, &heard[k]));
        state.successes(done);
        (wire::bytes(count_asked + count_answered), wire::bytes(count_asked * others + count_answered))
    }

    /// What an answer to each question has to be like.
    fn answer_forms(&mut self, questions: &[Option<Message<T>>], state: &mut Preparing) -> Vec<Form> {
        let forms = self.at_their_desks(&state.taking_part, |k, rule, _| {
            Ok(questions[k].as_ref().map_or_else(Form::message, |question| rule.answer_form(question)))
        });
        state.successes(forms)
    }

    /// Lets the rules of some clients do something at their desks, and collects the results in client order.
    fn at_their_desks<R: Send + Default>(
        &mut self,
        who: &[bool],
        work: impl Fn(usize, &mut dyn ClientRule<T>, &Desk<'_, T>) -> Result<R> + Sync,
    ) -> Vec<Result<R>> {
        let Self { setup, backbone, clients, pools, .. } = self;
        let told = instructions(setup);
        clients
            .par_iter_mut()
            .enumerate()
            .map(|(k, client)| {
                if !who[k] {
                    return Ok(R::default());
                }
                let pool = borrow(pools);
                let done = client.prepare(&**backbone, &told, &pool, |rule, desk| work(k, rule, desk));
                give_back(pools, pool);
                done
            })
            .collect()
    }
}

/// Sorts answers by who asked. Who asked what cannot be answered drops out; answers of another form are left out.
fn relay<T: Real>(
    answers: Vec<Answers<T>>,
    forms: &[Form],
    questions: &mut [Option<Message<T>>],
    state: &mut Preparing,
) -> Vec<Vec<(usize, Message<T>)>> {
    let mut heard: Vec<Vec<(usize, Message<T>)>> = questions.iter().map(|_| Vec::new()).collect();
    for (k, answers) in answers.into_iter().enumerate() {
        for (asker, answer) in answers {
            match answer {
                Err(error) => {
                    questions[asker] = None;
                    state.drop_out(asker, misasked(&error));
                    state.error.get_or_insert(error);
                }
                Ok(answer) if !answer.is_finite() => state.name(k, Reason::NotFinite { what: "message" }),
                Ok(answer) => match forms[asker].misfit(false, &answer) {
                    Some(reason) => state.name(k, reason),
                    None => heard[asker].push((k, answer)),
                },
            }
        }
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

    /// Client 1 answers with a row too few, client 2 with NaN; client 3 cannot make sense of what client 4 asked.
    #[test]
    fn answers_without_sense_are_left_out_and_named() {
        let mut questions: Vec<Option<Message<f64>>> = (0..5).map(|_| Some(tensor(2, 0.5))).collect();
        let forms = vec![Form::message().tensors(vec![(2, 1)]); 5];
        let mut state = Preparing { taking_part: vec![true; 5], refused: Vec::new(), error: None };
        let senseless = || Err(Error::Diverged { client: 3, round: 1, what: "question" });
        let answers: Vec<Answers<f64>> = vec![
            vec![],
            vec![(0, Ok(tensor(1, 1.0))), (4, Ok(tensor(2, 1.0)))],
            vec![(0, Ok(tensor(2, f64::NAN)))],
            vec![(0, Ok(tensor(2, 1.0))), (4, senseless())],
            vec![(0, Ok(Message::default()))],
        ];
        let heard = relay(answers, &forms, &mut questions, &mut state);
        assert_eq!(heard[0].iter().map(|(k, _)| *k).collect::<Vec<_>>(), [3]);
        let named: Vec<(usize, &str)> = state.refused.iter().map(|r| (r.client, r.reason.kind())).collect();
        assert_eq!(named, [(1, "message"), (2, "not-finite"), (4, "message")]);
        assert_eq!(state.taking_part, [true, true, true, true, false]);
        assert!(questions[4].is_none() && state.error.is_some());
    }
}
