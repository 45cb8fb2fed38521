//! Rough counts of arithmetic operations, by which a diagnostic decides between measuring all nodes
//! or messages and a sample.

use super::Network;
use boostfgl_graph::Stream;
use boostfgl_nn::Real;

/// Multiplications and additions of one forward pass over the local graph: 2 (nnz(X) H + arcs (H +
/// C) + n H C) for a GCN of two layers, and in proportion to the hops for others.
pub(super) fn forward<T: Real>(network: &Network<'_, T>) -> f64 {
    let tensors = network.params.tensors();
    let (Some(first), Some(last)) = (tensors.first(), tensors.last()) else { return 0.0 };
    let (hidden, classes) = (first.columns() as f64, last.columns() as f64);
    let features = network.inputs.stored() as f64 * hidden;
    let messages =
        network.adjacency.arcs() as f64 * (hidden + classes) * network.backbone.plan().hops as f64
            / 2.0;
    let rest = network.params.count() - first.rows() * first.columns();
    2.0 * (features + messages + network.adjacency.len() as f64 * rest as f64)
}

/// Multiplications and additions of one step of training: the forward pass, and as much again for
/// the gradients of weights and of inputs each.
pub(super) fn training<T: Real>(network: &Network<'_, T>) -> f64 {
    3.0 * forward(network)
}

/// The share of the local graph that the logits of one node depend on: (mean degree + 1)^hops of n
/// nodes, at most all.
pub(super) fn receptive_share<T: Real>(network: &Network<'_, T>) -> f64 {
    let nodes = network.adjacency.len().max(1) as f64;
    let reach = 1.0 + network.adjacency.arcs() as f64 / nodes;
    let reached: f64 = std::iter::repeat_n(reach, network.backbone.plan().hops).product();
    (reached / nodes).min(1.0)
}

/// `count` of `items` without replacement, in their old order; all of them if there are no more.
pub(super) fn sample<I: Copy + Ord>(items: &[I], count: usize, stream: &mut Stream) -> Vec<I> {
    let mut drawn = items.to_vec();
    if count < items.len() {
        // The first `count` steps of a Fisher-Yates shuffle.
        for i in 0..count {
            drawn.swap(i, i + stream.below(items.len() - i));
        }
        drawn.truncate(count);
        drawn.sort_unstable();
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_ordered_subsets_and_each_item_is_as_likely() {
        let items: Vec<u32> = (0..10).collect();
        assert_eq!(sample(&items, 10, &mut Stream::new(0, "test", &[])), items);
        assert_eq!(sample(&items, 99, &mut Stream::new(0, "test", &[])), items);
        assert!(sample(&items, 0, &mut Stream::new(0, "test", &[])).is_empty());
        let mut hits = [0usize; 10];
        for draw in 0..2000 {
            let drawn = sample(&items, 3, &mut Stream::new(0, "test", &[draw]));
            assert!(drawn.len() == 3 && drawn.windows(2).all(|w| w[0] < w[1]));
            drawn.iter().for_each(|&i| hits[i as usize] += 1);
        }
        assert!(hits.iter().all(|n| (500..700).contains(n)), "{hits:?}");
    }
}
