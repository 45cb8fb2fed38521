//! Models that several simulated clients store, stored once.
//!
//! A client that stores broadcast models would have a copy of each, as would every other client. In
//! one process they share it, as they share the broadcast model itself. Results are the same as
//! with copies.

use boostfgl_nn::{Params, Real};
use std::sync::{Arc, Mutex, PoisonError};

/// The rounds of the broadcasts that a model was made from, and the model.
type Entry<T> = (Vec<usize>, Arc<Params<T>>);

/// Models made from broadcasts; the key is the rounds of the broadcasts.
pub(crate) struct SharedModels<T>(Mutex<Vec<Entry<T>>>);

impl<T> Default for SharedModels<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T: Real> SharedModels<T> {
    /// The model of these rounds: the one that another client made, or a new one with the shapes of
    /// `template` that `make` overwrites. The buffer of a model that is no longer in use is reused.
    ///
    /// A lock is held while `make` runs, so `make` must not hand work to other threads: one of them
    /// might wait for the same lock.
    pub(crate) fn get(
        &self,
        rounds: &[usize],
        template: &Params<T>,
        make: impl FnOnce(&mut Params<T>),
    ) -> Arc<Params<T>> {
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, model)) = stored.iter().find(|(key, _)| key == rounds) {
            return Arc::clone(model);
        }
        let free = stored.iter().position(|(_, model)| Arc::strong_count(model) == 1);
        let reused = free.and_then(|free| Arc::into_inner(stored.swap_remove(free).1));
        let mut model = reused.unwrap_or_else(|| template.clone());
        make(&mut model);
        let model = Arc::new(model);
        stored.push((rounds.to_vec(), Arc::clone(&model)));
        model
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_nn::{Matrix, TensorShape};

    #[test]
    fn a_model_is_made_once_and_its_buffer_is_reused() {
        let template = Params::from_tensors(
            &[TensorShape::bias("theta", 1)],
            vec![Matrix::from_rows(1, 1, &[0.0f64])],
        );
        let models = SharedModels::default();
        let get = |round: usize| {
            models.get(&[round], &template, |m| m.tensors_mut()[0].row_mut(0)[0] += round as f64)
        };
        let first = get(1);
        assert!(Arc::ptr_eq(&first, &get(1)));
        assert_eq!(
            (first.tensors()[0].row(0), get(2).tensors()[0].row(0)),
            (&[1.0][..], &[2.0][..])
        );
        // The model of round 2 was dropped, so this one reuses its buffer.
        assert_eq!(get(3).tensors()[0].row(0), [5.0]);
        assert_eq!(models.0.lock().unwrap().len(), 2);
    }
}
