//! What a client has computed with one model on its graph. The model that is evaluated after a
//! round is usually the one that the next round starts from, which then need not compute it again.

use super::views::Views;
use crate::run_context::ModelKey;
use boostfgl_nn::{Matrix, Params, Pool, Real};
use std::sync::Arc;

/// Results of one model, if there are any.
pub(super) struct ModelCache<T>(Option<Cached<T>>);

/// Results of one model.
pub(super) struct Cached<T> {
    /// Which model.
    pub(super) key: ModelKey,
    /// X·W of the first layer, where features are sparse.
    first_product: Option<Arc<Matrix<T>>>,
    /// Logits and hidden representation by plain propagation.
    pub(super) outputs: Option<(Matrix<T>, Option<Matrix<T>>)>,
    /// Class distributions by the propagation that scores nodes.
    pub(super) probabilities: Option<Matrix<T>>,
}

impl<T: Real> ModelCache<T> {
    pub(super) fn empty() -> Self {
        Self(None)
    }

    /// Starts a cache for `model`: X·W₁ serves every pass until the weights change.
    pub(super) fn cache_model(
        &mut self,
        views: &mut Views<T>,
        model: &Params<T>,
        key: ModelKey,
        pool: &Pool<T>,
    ) {
        self.clear(views, pool);
        let first_product = views.whole.project(&model.tensors()[0], pool).map(Arc::new);
        views.cache_product(first_product.as_ref());
        self.0 = Some(Cached { key, first_product, outputs: None, probabilities: None });
    }

    /// Empties the cache and gives its buffers back to the pool.
    pub(super) fn clear(&mut self, views: &mut Views<T>, pool: &Pool<T>) {
        views.cache_product(None);
        let Some(cached) = self.0.take() else { return };
        cached.first_product.and_then(Arc::into_inner).into_iter().for_each(|m| pool.put(m));
        cached.probabilities.into_iter().for_each(|m| pool.put(m));
        if let Some((logits, hidden)) = cached.outputs {
            pool.put(logits);
            hidden.into_iter().for_each(|hidden| pool.put(hidden));
        }
    }

    /// Whether the cache belongs to this model.
    pub(super) fn holds(&self, key: ModelKey) -> bool {
        self.0.as_ref().is_some_and(|cached| cached.key == key)
    }

    /// Logits and hidden representation by plain propagation, if they were computed.
    pub(super) fn outputs(&self) -> Option<&(Matrix<T>, Option<Matrix<T>>)> {
        self.0.as_ref().and_then(|cached| cached.outputs.as_ref())
    }

    /// Class distributions by the propagation that scores nodes, if they were computed.
    pub(super) fn probabilities(&self) -> Option<&Matrix<T>> {
        self.0.as_ref().and_then(|cached| cached.probabilities.as_ref())
    }

    /// The results so far, if a model is cached.
    pub(super) fn cached_mut(&mut self) -> Option<&mut Cached<T>> {
        self.0.as_mut()
    }
}
