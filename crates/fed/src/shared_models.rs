//! Models that several clients keep, kept once.
//!
//! A client that remembers broadcast models would have a copy of each, and so would every other: in
//! one process they share it, as they share the broadcast model itself. The digits are those that
//! each would have on its own.

use boostfgl_nn::{Params, Real};
use std::sync::{Arc, Mutex, PoisonError};

/// The rounds of the broadcasts that a model was made from, and the model.
type Entry<T> = (Vec<usize>, Arc<Params<T>>);

/// Models made from broadcasts, known by the rounds whose broadcasts they were made from.
pub(crate) struct SharedModels<T>(Mutex<Vec<Entry<T>>>);

impl<T> Default for SharedModels<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T: Real> SharedModels<T> {
    /// The model of these rounds: the one that another client keeps, or one `like` another that
    /// `make` has overwritten. What nobody keeps any more is room for the next.
    ///
    /// Clients wait for each other here, so `make` must not hand work to other threads: one of them
    /// might wait too.
    pub(crate) fn get(
        &self,
        rounds: &[usize],
        like: &Params<T>,
        make: impl FnOnce(&mut Params<T>),
    ) -> Arc<Params<T>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, model)) = kept.iter().find(|(of, _)| of == rounds) {
            return Arc::clone(model);
        }
        let free = kept.iter().position(|(_, model)| Arc::strong_count(model) == 1);
        let reused = free.and_then(|free| Arc::into_inner(kept.swap_remove(free).1));
        let mut model = reused.unwrap_or_else(|| like.clone());
        make(&mut model);
        let model = Arc::new(model);
        kept.push((rounds.to_vec(), Arc::clone(&model)));
        model
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_nn::{Matrix, TensorShape};

    #[test]
    fn a_model_is_made_once_and_its_room_is_used_again() {
        let like = Params::from_tensors(
            &[TensorShape::bias("theta", 1)],
            vec![Matrix::from_rows(1, 1, &[0.0f64])],
        );
        let archive = SharedModels::default();
        let get = |round: usize| {
            archive.get(&[round], &like, |m| m.tensors_mut()[0].row_mut(0)[0] += round as f64)
        };
        let first = get(1);
        assert!(Arc::ptr_eq(&first, &get(1)));
        assert_eq!(
            (first.tensors()[0].row(0), get(2).tensors()[0].row(0)),
            (&[1.0][..], &[2.0][..])
        );
        // Nobody kept that of round 2, so this one stands where it did.
        assert_eq!(get(3).tensors()[0].row(0), [5.0]);
        assert_eq!(archive.0.lock().unwrap().len(), 2);
    }
}
