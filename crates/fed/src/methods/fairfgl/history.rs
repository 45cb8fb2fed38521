//! What a client remembers of the global models it received: W_hist, the mean of the last few.

use boostfgl_nn::{Params, Real, mean_of};
use std::collections::VecDeque;

/// The last received globals and their mean.
pub(super) struct History<T> {
    length: usize,
    /// Oldest first.
    received: VecDeque<Params<T>>,
    mean: Option<Params<T>>,
}

impl<T: Real> History<T> {
    /// Remembers up to `length` models.
    pub(super) fn new(length: usize) -> Self {
        Self { length, received: VecDeque::new(), mean: None }
    }

    /// Takes in the global model of a round. One model alone is no history: it is where the round starts.
    pub(super) fn receive(&mut self, global: &Params<T>) {
        let oldest = if self.received.len() == self.length { self.received.pop_front() } else { None };
        self.received.push_back(match oldest {
            Some(mut reused) => {
                reused.copy_from(global);
                reused
            }
            None => global.clone(),
        });
        if self.received.len() > 1 || self.length == 1 {
            let mean = self.mean.get_or_insert_with(|| global.clone());
            set_mean(&self.received, mean);
        }
    }

    /// W_hist, if there is one.
    pub(super) fn mean(&self) -> Option<&Params<T>> {
        self.mean.as_ref()
    }
}

/// Tensor by tensor; as many equal models have exactly that mean.
fn set_mean<T: Real>(models: &VecDeque<Params<T>>, mean: &mut Params<T>) {
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
        Params::from_tensors(&[TensorShape::bias("theta", 3)], vec![Matrix::from_rows(1, 3, &[x, 2.0 * x, 0.1 * x])])
    }

    #[test]
    fn the_mean_is_that_of_the_last_five() {
        let mut history = History::new(5);
        history.receive(&model(1.0));
        assert!(history.mean().is_none(), "one model is no history");
        for x in [2.0, 3.0, 4.0, 5.0, 6.0, 7.0] {
            history.receive(&model(x));
        }
        assert!(history.mean().unwrap().distance(&model(5.0)) < 1e-14);
    }

    #[test]
    fn equal_models_have_exactly_that_mean() {
        let mut history = History::new(5);
        history.receive(&model(99.0));
        for _ in 0..5 {
            history.receive(&model(0.123_456_789));
        }
        assert_eq!(history.mean().unwrap(), &model(0.123_456_789));
    }
}
