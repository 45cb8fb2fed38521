//! Reliability of messages in any network: two forward passes over the receptive field of the
//! receiving node.

use super::super::Network;
use super::Removal;
use super::two_layers::rescaling;
use boostfgl_nn::backbones::logits;
use boostfgl_nn::{Pattern, Pool, Propagation, Real, View};
use rayon::prelude::*;

/// R of the arcs into labelled nodes that are `wanted`, in the order of arcs; `None` for the
/// others. Messages are taken away in every layer.
pub(super) fn reliability<T: Real>(
    network: &Network<'_, T>,
    label: &(impl Fn(usize) -> Option<u32> + Sync),
    removal: Removal,
    wanted: &(impl Fn(usize) -> bool + Sync),
) -> Vec<Option<f64>> {
    let adjacency = network.adjacency;
    if network.backbone.plan().hops == 0 || removal.spares_first() {
        return vec![None; adjacency.arcs()];
    }
    let rows: Vec<_> = (0..adjacency.len())
        .into_par_iter()
        .map_init(Pool::new, |pool, v| {
            let arcs = adjacency.arc_range(v);
            match label(v).filter(|_| arcs.clone().any(wanted)) {
                Some(y) => Receiver::new(network, v, y, pool).reliability(removal, wanted),
                None => vec![None; arcs.len()],
            }
        })
        .collect();
    rows.concat()
}

/// A node whose loss is computed with and without each of its messages.
struct Receiver<'a, T: Real> {
    network: &'a Network<'a, T>,
    node: usize,
    label: usize,
    view: View<T>,
    pool: &'a mut Pool<T>,
}

impl<'a, T: Real> Receiver<'a, T> {
    fn new(network: &'a Network<'a, T>, node: usize, label: u32, pool: &'a mut Pool<T>) -> Self {
        let view = View::training(network.inputs, vec![node as u32], network.backbone.plan());
        Self { network, node, label: label as usize, view, pool }
    }

    /// R of the arcs into the node.
    fn reliability(
        mut self,
        removal: Removal,
        wanted: &impl Fn(usize) -> bool,
    ) -> Vec<Option<f64>> {
        let with = self.loss(self.network.propagation);
        let arcs = self.network.adjacency.arc_range(self.node);
        arcs.map(|arc| {
            wanted(arc).then(|| self.loss(&without(self.network, self.node, arc, removal)) - with)
        })
        .collect()
    }

    /// The loss of the node under these messages.
    fn loss(&mut self, propagation: &Propagation<T>) -> f64 {
        self.view.set_propagation(propagation);
        let out = logits(self.network.backbone, self.network.params, &self.view, self.pool);
        let row: Vec<f64> = out.row(0).iter().map(|x| x.f64()).collect();
        self.pool.put(out);
        super::cross_entropy(&row, self.label)
    }
}

/// The propagation without the message of `arc`, which lies in row `v`.
fn without<T: Real>(
    network: &Network<'_, T>,
    v: usize,
    arc: usize,
    removal: Removal,
) -> Propagation<T> {
    let p = network.propagation.csr();
    let at = Pattern::of(network.adjacency).arc(v, arc);
    let mut values = p.values().to_vec();
    if removal.renormalises() {
        let total: f64 = p.values()[p.row_range(v)].iter().map(|x| x.f64()).sum();
        let scale = rescaling(total, p.values()[at].f64());
        values[p.row_range(v)].iter_mut().for_each(|x| *x = T::of(x.f64() * scale));
    }
    values[at] = T::ZERO;
    network.propagation.with_values(values)
}
