//! What a client remembers of the global models it received: W_hist, the mean of the last few.

use crate::shared_models::SharedModels;
use boostfgl_nn::{Params, Real, StateVisitor, mean_of};
use std::collections::VecDeque;
use std::sync::Arc;

/// The last received globals and their mean, shared with the clients that received the same.
pub(super) struct History<T> {
    archive: Arc<SharedModels<T>>,
    length: usize,
    /// The rounds they came in, oldest first.
    rounds: VecDeque<usize>,
    received: VecDeque<Arc<Params<T>>>,
    mean: Option<Arc<Params<T>>>,
}

impl<T: Real> History<T> {
    /// Remembers up to `length` models.
    pub(super) fn new(length: usize, archive: &Arc<SharedModels<T>>) -> Self {
        let (rounds, received) = (VecDeque::new(), VecDeque::new());
        Self { archive: Arc::clone(archive), length, rounds, received, mean: None }
    }

    /// Takes in the global model of a round. One model alone is no history: it is where the round
    /// starts.
    pub(super) fn receive(&mut self, round: usize, global: &Params<T>) {
        if self.received.len() == self.length {
            self.rounds.pop_front();
            self.received.pop_front();
        }
        // Given back before a new one is asked for.
        self.mean = None;
        self.rounds.push_back(round);
        self.received
            .push_back(self.archive.get(&[round], global, |model| model.copy_from(global)));
        self.find_mean();
    }

    fn find_mean(&mut self) {
        let (rounds, received) = (self.rounds.make_contiguous(), &self.received);
        self.mean = match received.back() {
            Some(last) if received.len() > 1 => {
                Some(self.archive.get(rounds, last, |mean| set_mean(received, mean)))
            }
            last => last.filter(|_| self.length == 1).cloned(),
        };
    }

    /// Takes down what was received, or puts it back; models are like `model`. What clients share,
    /// they share again.
    pub(super) fn visit(
        &mut self,
        model: &Params<T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        let mut rounds: Vec<usize> = self.rounds.iter().copied().collect();
        visitor.visit("rounds", &mut rounds)?;
        if rounds.len() > self.length {
            return Err(visitor
                .mismatch(format!("at most {} rounds", self.length), rounds.len().to_string()));
        }
        let mut room = model.clone();
        for (i, &round) in rounds.iter().enumerate() {
            if let Some(received) = self.received.get(i).filter(|_| !visitor.restores()) {
                room.copy_from(received);
            }
            visitor.visit(&round.to_string(), &mut room)?;
            if visitor.restores() {
                self.received
                    .push_back(self.archive.get(&[round], model, |model| model.copy_from(&room)));
            }
        }
        if visitor.restores() {
            self.rounds = rounds.into();
            self.find_mean();
        }
        Ok(())
    }

    /// W_hist, if there is one.
    pub(super) fn mean(&self) -> Option<&Params<T>> {
        self.mean.as_deref()
    }
}

/// Tensor by tensor; as many equal models have exactly that mean.
fn set_mean<T: Real>(models: &VecDeque<Arc<Params<T>>>, mean: &mut Params<T>) {
    for (t, out) in mean.tensors_mut().iter_mut().enumerate() {
        let each: Vec<&[T]> = models.iter().map(|model| model.tensors()[t].data()).collect();
        mean_of(&each, out.data_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_nn::{Matrix, TensorShape};

    fn model(x: f64) -> Params<f64> {
        Params::from_tensors(
            &[TensorShape::bias("theta", 3)],
            vec![Matrix::from_rows(1, 3, &[x, 2.0 * x, 0.1 * x])],
        )
    }

    #[test]
    fn the_mean_is_that_of_the_last_five() {
        let mut history = History::new(5, &Arc::default());
        history.receive(0, &model(1.0));
        assert!(history.mean().is_none(), "one model is no history");
        for (round, x) in [2.0, 3.0, 4.0, 5.0, 6.0, 7.0].into_iter().enumerate() {
            history.receive(1 + round, &model(x));
        }
        assert!(history.mean().unwrap().distance(&model(5.0)) < 1e-14);
    }

    #[test]
    fn equal_models_have_exactly_that_mean() {
        let mut history = History::new(5, &Arc::default());
        history.receive(0, &model(99.0));
        for round in 1..=5 {
            history.receive(round, &model(0.123_456_789));
        }
        assert_eq!(history.mean().unwrap(), &model(0.123_456_789));
    }

    /// Who sat out a round has another history, even if it shares some models.
    #[test]
    fn clients_share_what_they_have_in_common() {
        let archive = Arc::default();
        let mut clients =
            [History::new(2, &archive), History::new(2, &archive), History::new(2, &archive)];
        for (round, takes_part) in
            [[true, true, true], [true, true, false], [true, true, true]].iter().enumerate()
        {
            let present = clients.iter_mut().zip(takes_part).filter(|(_, takes_part)| **takes_part);
            present.for_each(|(client, _)| client.receive(round, &model(round as f64)));
        }
        let means = clients.each_ref().map(|client| client.mean().unwrap());
        assert!(std::ptr::eq(means[0], means[1]));
        assert_eq!((means[0], means[2]), (&model(1.5), &model(1.0)));
    }
}
