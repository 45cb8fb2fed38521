//! A model with its version.

use boostfgl_nn::{Params, Real, StateVisitor, Stateful};
use std::sync::Arc;

/// Which model it is. Two models of one run with the same version have the same numbers, so that a
/// client may cache what it computed with one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// Which of the server's models: each keeps its slot for the whole run.
    pub slot: u32,
    /// How often it has changed.
    pub change: u32,
}

/// A model that crosses the wire. Copies share their numbers until one of them changes.
#[derive(Clone, Debug)]
pub struct Model<T> {
    version: Version,
    params: Arc<Params<T>>,
}

impl<T: Real> Model<T> {
    /// The first model of a slot.
    pub fn new(slot: u32, params: Params<T>) -> Self {
        Self::at(Version { slot, change: 0 }, Arc::new(params))
    }

    /// A model of a known version.
    pub fn at(version: Version, params: Arc<Params<T>>) -> Self {
        Self { version, params }
    }

    /// Which model it is.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Its numbers.
    pub fn params(&self) -> &Params<T> {
        &self.params
    }

    /// Its numbers, shared.
    pub fn shared(&self) -> Arc<Params<T>> {
        Arc::clone(&self.params)
    }

    /// The same numbers as another model of the server.
    #[must_use]
    pub fn in_slot(&self, slot: u32) -> Self {
        Self { version: Version { slot, ..self.version }, params: Arc::clone(&self.params) }
    }

    /// Its numbers, unless another copy of the model is still in use.
    pub fn into_params(self) -> Option<Params<T>> {
        Arc::into_inner(self.params)
    }

    /// Its numbers, to be changed: the version becomes the next one. They are copied first if
    /// another copy of the model is still in use.
    pub fn edit(&mut self) -> &mut Params<T> {
        self.version.change = self.version.change.wrapping_add(1);
        Arc::make_mut(&mut self.params)
    }
}

/// Restoring gives the model the version that it had.
impl<T: Real> Stateful for Model<T> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        let mut change = self.version.change as usize;
        visitor.visit("changes", &mut change)?;
        visitor.visit("model", Arc::make_mut(&mut self.params))?;
        self.version.change = change as u32;
        Ok(())
    }
}

impl<T: Real> std::ops::Deref for Model<T> {
    type Target = Params<T>;

    fn deref(&self) -> &Params<T> {
        &self.params
    }
}

impl<T: Real> PartialEq for Model<T> {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version && self.params == other.params
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_nn::{Matrix, TensorShape};

    #[test]
    fn a_changed_model_has_another_version_and_leaves_copies_as_they_were() {
        let shapes = [TensorShape::bias("b", 1)];
        let tensors = vec![Matrix::from_rows(1, 1, &[1.0f32])];
        let mut model = Model::new(3, Params::from_tensors(&shapes, tensors));
        let sent = model.clone();
        model.edit().tensors_mut()[0].row_mut(0)[0] = 2.0;
        assert_eq!(
            (sent.version(), sent.tensors()[0].row(0)),
            (Version { slot: 3, change: 0 }, &[1.0][..])
        );
        assert_eq!(
            (model.version(), model.tensors()[0].row(0)),
            (Version { slot: 3, change: 1 }, &[2.0][..])
        );
    }
}
