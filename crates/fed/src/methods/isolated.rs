//! Isolated: every client trains alone. The floor that federation has to beat.

use super::{Layout, MethodInfo, ServerRule};
use crate::Result;
use crate::aggregate::{Combination, Update};
use crate::boost::ModelBoost;
use boostfgl_nn::{Params, Real};

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "isolated",
    summary: "every client trains alone; nothing is sent",
    paper: "(baseline)",
    equations: "client k:  theta_k = E full-batch steps on (1/n_k^L) sum_v CE_v, from its own last theta_k",
    wire: "nothing",
    evaluated: "each client's own model, on its local graph",
    layout: Layout::Federated,
    boosts: &[],
    up: |_| 0,
    down: |_| 0,
};

pub(super) fn server<T: Real>(initial: &Params<T>, clients: usize) -> Isolated<T> {
    Isolated { own: vec![initial.clone(); clients] }
}

/// One model per client, never combined.
pub(super) struct Isolated<T> {
    own: Vec<Params<T>>,
}

impl<T: Real> ServerRule<T> for Isolated<T> {
    fn start(&self, client: usize) -> &Params<T> {
        &self.own[client]
    }

    fn aggregate(&mut self, updates: &[Update<'_, T>], _: Option<&ModelBoost>) -> Result<Option<Combination>> {
        let trained: Vec<(usize, Params<T>)> = updates.iter().map(|u| (u.client, u.params.clone())).collect();
        for (client, params) in trained {
            self.own[client] = params;
        }
        Ok(None)
    }

    fn models(&self) -> Vec<&Params<T>> {
        self.own.iter().collect()
    }
}
