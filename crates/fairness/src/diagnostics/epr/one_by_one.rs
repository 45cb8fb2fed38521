//! Reliability of messages in any network: two forward passes over what the receiving node sees.

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
    let of_node = |pool: &mut Pool<T>, v: usize| -> Vec<Option<f64>> {
        let arcs = adjacency.arc_range(v);
        let Some(y) = label(v).filter(|_| arcs.clone().any(wanted)) else {
            return vec![None; arcs.len()];
        };
        let mut view = View::training(network.inputs, vec![v as u32], network.backbone.plan());
        let mut loss = |propagation: &Propagation<T>| {
            view.set_propagation(propagation);
            let out = logits(network.backbone, network.params, &view, pool);
            let row: Vec<f64> = out.row(0).iter().map(|x| x.f64()).collect();
            pool.put(out);
            super::cross_entropy(&row, y as usize)
        };
        let with = loss(network.propagation);
        arcs.map(|arc| wanted(arc).then(|| loss(&without(network, v, arc, removal)) - with))
            .collect()
    };
    let rows: Vec<_> = (0..adjacency.len()).into_par_iter().map_init(Pool::new, of_node).collect();
    rows.concat()
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
