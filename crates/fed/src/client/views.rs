//! A client's views of its graph: the training nodes, all nodes, and all nodes under boosts.

use crate::client_rule::positions;
use crate::local_data::LocalData;
use boostfgl_nn::backbones::ViewPlan;
use boostfgl_nn::{Matrix, Propagation, Reach, Real, View};
use std::sync::Arc;

/// The views of one client.
pub(super) struct Views<T: Real> {
    /// What training passes compute.
    pub(super) training: View<T>,
    /// Rows of the training nodes among those of the training view, if they are not all.
    pub(super) rows: Option<Vec<u32>>,
    /// All nodes under plain propagation.
    pub(super) whole: View<T>,
    /// All nodes under boosted propagation, if a boost reweights messages.
    pub(super) boosted_whole: Option<View<T>>,
}

impl<T: Real> Views<T> {
    pub(super) fn new(data: &LocalData<T>, reach: Reach, plan: ViewPlan, boosted: bool) -> Self {
        let training = View::reaching(&data.inputs, data.training.clone(), reach, plan);
        Self {
            rows: (training.nodes() != data.training)
                .then(|| positions(&data.training, training.nodes())),
            training,
            whole: View::whole(&data.inputs, plan),
            boosted_whole: boosted.then(|| View::whole(&data.inputs, plan)),
        }
    }

    /// All nodes under the propagation of this round's training.
    pub(super) fn whole_in_training(&self) -> &View<T> {
        self.boosted_whole.as_ref().unwrap_or(&self.whole)
    }

    /// Lets passes use X·W₁ of a model; `None` makes them compute it.
    pub(super) fn cache_product(&mut self, product: Option<&Arc<Matrix<T>>>) {
        self.training.cache_product(product.cloned());
        self.whole.cache_product(product.cloned());
        if let Some(view) = &mut self.boosted_whole {
            view.cache_product(product.cloned());
        }
    }

    /// Sets the propagation of this round's training.
    pub(super) fn set_training_propagation(&mut self, propagation: &Propagation<T>) {
        self.training.set_propagation(propagation);
        if let Some(view) = &mut self.boosted_whole {
            view.set_propagation(propagation);
        }
    }

    /// All nodes under `propagation`; under the plain one if there is none.
    pub(super) fn whole_under(&mut self, propagation: Option<&Propagation<T>>) -> &View<T> {
        match (propagation, &mut self.boosted_whole) {
            (Some(propagation), Some(view)) => {
                view.set_propagation(propagation);
                view
            }
            _ => &self.whole,
        }
    }
}
