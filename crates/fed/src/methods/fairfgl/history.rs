//! The history model W_hist: the mean of the last global models that a client received.

use boostfgl_nn::{Params, Real, StateVisitor, mean_of};
use std::collections::VecDeque;
use std::sync::Arc;

/// The last received globals and their mean. In one process, clients that received the same model
/// share it.
pub(super) struct History<T> {
    length: usize,
    /// The rounds they came in, oldest first.
    rounds: VecDeque<usize>,
    received: VecDeque<Arc<Params<T>>>,
    /// The mean of several models; a buffer while there are fewer.
    mean: Option<Params<T>>,
}

impl<T: Real> History<T> {
    /// A history of up to `length` models.
    pub(super) fn new(length: usize) -> Self {
        Self { length, rounds: VecDeque::new(), received: VecDeque::new(), mean: None }
    }

    /// Adds the global model of a round.
    pub(super) fn receive(&mut self, round: usize, global: Arc<Params<T>>) {
        if self.received.len() == self.length {
            self.rounds.pop_front();
            self.received.pop_front();
        }
        self.rounds.push_back(round);
        self.received.push_back(global);
        self.find_mean();
    }

    fn find_mean(&mut self) {
        if let (Some(last), true) = (self.received.back(), self.received.len() > 1) {
            let mean = self.mean.get_or_insert_with(|| Params::clone(last));
            set_mean(&self.received, mean);
        }
    }

    /// Saves or restores the received models, which have the shapes of `model`.
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
        let mut buffer = model.clone();
        for (i, round) in rounds.iter().enumerate() {
            if let Some(received) = self.received.get(i).filter(|_| !visitor.restores()) {
                buffer.copy_from(received);
            }
            visitor.visit(&round.to_string(), &mut buffer)?;
            if visitor.restores() {
                self.received.push_back(Arc::new(buffer.clone()));
            }
        }
        if visitor.restores() {
            self.rounds = rounds.into();
            self.find_mean();
        }
        Ok(())
    }

    /// W_hist, if there is one. A single model is no history: it is the start of the round.
    pub(super) fn mean(&self) -> Option<&Params<T>> {
        match self.received.back() {
            Some(_) if self.received.len() > 1 => self.mean.as_ref(),
            last => last.filter(|_| self.length == 1).map(Arc::as_ref),
        }
    }
}

/// The mean, tensor by tensor; the mean of equal models is exactly that model.
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

    fn model(x: f64) -> Arc<Params<f64>> {
        Arc::new(Params::from_tensors(
            &[TensorShape::bias("theta", 3)],
            vec![Matrix::from_rows(1, 3, &[x, 2.0 * x, 0.1 * x])],
        ))
    }

    #[test]
    fn the_history_is_the_mean_of_the_last_five_models() {
        let mut history = History::new(5);
        history.receive(0, model(1.0));
        assert!(history.mean().is_none(), "one model is no history");
        for (round, x) in [2.0, 3.0, 4.0, 5.0, 6.0, 7.0].into_iter().enumerate() {
            history.receive(1 + round, model(x));
        }
        assert!(history.mean().unwrap().distance(&model(5.0)) < 1e-14);
    }

    #[test]
    fn the_mean_of_equal_models_is_that_model_bit_for_bit() {
        let mut history = History::new(5);
        history.receive(0, model(99.0));
        for round in 1..=5 {
            history.receive(round, model(0.123_456_789));
        }
        assert_eq!(history.mean().unwrap(), &*model(0.123_456_789));
    }

    /// A client that missed a round has the mean of the rounds that it took part in.
    #[test]
    fn a_missed_round_is_not_part_of_the_history() {
        let mut history = History::new(2);
        [0, 2].iter().for_each(|&round| history.receive(round, model(round as f64)));
        assert_eq!(history.mean(), Some(&*model(1.0)));
        let mut last = History::new(1);
        last.receive(0, model(4.0));
        assert_eq!(last.mean(), Some(&*model(4.0)));
    }
}
