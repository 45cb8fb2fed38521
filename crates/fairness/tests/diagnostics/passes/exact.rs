//! The fast ways agree with one pass per node or message.

use super::random::{Case, Kind};
use boostfgl_fairness::diagnostics::Network;
use boostfgl_fairness::diagnostics::epr::{Removal, reliability};
use boostfgl_fairness::diagnostics::gsd::gradient_norms;
use boostfgl_nn::backbones::BACKBONES;
use boostfgl_nn::{Pattern, Real};

const GCN: Kind = Kind {
    seed: 0,
    backbone: "gcn",
    layers: 2,
    nodes: 14,
    degree: 3.0,
    columns: 9,
    dense: false,
    boosted: false,
    directed: false,
};

/// Sparse and dense features, fewer or more of them than hidden units; few and many neighbours (few
/// neighbours keep products apart, many keep them together); plain and other messages.
fn kinds() -> impl Iterator<Item = Kind> {
    (0..64).map(|seed| Kind {
        seed,
        nodes: [14, 2, 1, 9][seed as usize / 16],
        degree: if seed & 1 == 0 { 2.0 } else { 11.0 },
        columns: [9, 4, 40, 9][seed as usize / 16],
        dense: seed & 2 != 0,
        boosted: seed & 4 != 0,
        directed: seed & 8 != 0,
        ..GCN
    })
}

fn assert_near(found: &[f64], expected: &[f64], relative: f64, what: &str) {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(0.0f64, |scale, x| scale.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= relative * expected.abs().max(1e-3 * scale),
            "{what}: {found}, {expected}"
        );
    }
}

#[test]
fn norms_by_inner_products_are_those_of_a_backward_pass_per_node() {
    for kind in kinds() {
        let case: Case<f64> = kind.draw();
        let (network, (nodes, labels)) = (case.network(), case.labelled());
        let slow = gradient_norms(&Network { two_layer_gcn: false, ..network }, &nodes, &labels);
        assert!(slow.iter().all(|norm| *norm > 0.0));
        assert_near(&gradient_norms(&network, &nodes, &labels), &slow, 1e-9, &format!("{kind:?}"));
        // The order of nodes and a smaller neighbourhood do not matter.
        let (last, first) = (nodes[nodes.len() - 1], nodes[0]);
        let some = gradient_norms(&network, &[last, first], &[labels[nodes.len() - 1], labels[0]]);
        assert_near(&some, &[slow[nodes.len() - 1], slow[0]], 1e-9, &format!("{kind:?}"));
    }
    let case: Case<f64> = GCN.draw();
    assert!(gradient_norms(&case.network(), &[], &[]).is_empty());
}

#[test]
fn norms_in_single_precision_are_close() {
    for kind in kinds() {
        let (double, single): (Case<f64>, Case<f32>) = (kind.draw(), kind.draw());
        let (nodes, labels) = double.labelled();
        let expected = gradient_norms(&double.network(), &nodes, &labels);
        assert_near(
            &gradient_norms(&single.network(), &nodes, &labels),
            &expected,
            1e-4,
            &format!("{kind:?}"),
        );
    }
}

/// ℓ of node `v` and class `y` by the definition, on dense matrices: without the message at `gone`,
/// if any.
fn loss<T: Real>(
    network: &Network<'_, T>,
    v: usize,
    y: u32,
    gone: Option<usize>,
    removal: Removal,
) -> f64 {
    let n = network.adjacency.len();
    let p = network.propagation.csr();
    let mut whole = vec![vec![0.0; n]; n];
    for (u, row) in whole.iter_mut().enumerate() {
        p.row_range(u).for_each(|k| row[p.indices()[k] as usize] = p.values()[k].f64());
    }
    let mut cut = whole.clone();
    let sum: f64 = cut[v].iter().sum();
    gone.into_iter().for_each(|at| cut[v][p.indices()[at] as usize] = 0.0);
    let rest: f64 = cut[v].iter().sum();
    if matches!(removal, Removal::BothRenormalised | Removal::LastRenormalised) && rest > 0.0 {
        cut[v].iter_mut().for_each(|x| *x *= sum / rest);
    }
    let first =
        if matches!(removal, Removal::Last | Removal::LastRenormalised) { &whole } else { &cut };
    let tensor = |i: usize| {
        let tensor = &network.params.tensors()[i];
        (0..tensor.rows())
            .map(|r| tensor.row(r).iter().map(|x| x.f64()).collect())
            .collect::<Vec<Vec<f64>>>()
    };
    let mut x = vec![vec![T::ZERO; network.inputs.width()]; n];
    x.iter_mut().enumerate().for_each(|(u, row)| network.inputs.write_row(u, row));
    let x: Vec<Vec<f64>> = x.iter().map(|row| row.iter().map(|x| x.f64()).collect()).collect();
    let layer = |p: &[Vec<f64>], h: &[Vec<f64>], i: usize| {
        let mut out = product(p, &product(h, &tensor(i)));
        out.iter_mut()
            .for_each(|row| row.iter_mut().zip(&tensor(i + 1)[0]).for_each(|(x, bias)| *x += bias));
        out
    };
    let mut hidden = layer(first, &x, 0);
    hidden.iter_mut().flatten().for_each(|x| *x = x.max(0.0));
    let logits = &layer(&cut, &hidden, 2)[v];
    logits.iter().map(|z| z.exp()).sum::<f64>().ln() - logits[y as usize]
}

fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let cell = |row: &[f64], c: usize| row.iter().zip(b).map(|(x, other)| x * other[c]).sum();
    a.iter().map(|row| (0..b[0].len()).map(|c| cell(row, c)).collect()).collect()
}

const REMOVALS: [Removal; 4] =
    [Removal::Both, Removal::BothRenormalised, Removal::Last, Removal::LastRenormalised];

#[test]
fn reliability_equals_its_definition() {
    for kind in kinds().filter(|kind| kind.seed % 5 != 0) {
        let case: Case<f64> = kind.draw();
        let network = case.network();
        let pattern = Pattern::of(network.adjacency);
        for removal in REMOVALS {
            let found = reliability(&network, |v| case.label(v), removal);
            assert_eq!(found.len(), network.adjacency.arcs());
            for v in 0..network.adjacency.len() {
                for arc in network.adjacency.arc_range(v) {
                    let Some(y) = case.label(v) else {
                        assert_eq!(found[arc], None);
                        continue;
                    };
                    let without = loss(&network, v, y, Some(pattern.arc(v, arc)), removal);
                    let with = loss(&network, v, y, None, removal);
                    let (found, expected) = (found[arc].unwrap(), without - with);
                    assert!(
                        (found - expected).abs() < 1e-9,
                        "{kind:?} {removal:?}: {found}, {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn reliability_is_that_of_a_forward_pass_per_message() {
    for kind in kinds() {
        let case: Case<f64> = kind.draw();
        let network = case.network();
        for removal in &REMOVALS[..2] {
            let fast = reliability(&network, |v| case.label(v), *removal);
            let slow = reliability(
                &Network { two_layer_gcn: false, ..network },
                |v| case.label(v),
                *removal,
            );
            assert_eq!(
                fast.iter().map(Option::is_some).collect::<Vec<_>>(),
                slow.iter().map(Option::is_some).collect::<Vec<_>>()
            );
            for (fast, slow) in fast.iter().flatten().zip(slow.iter().flatten()) {
                assert!((fast - slow).abs() < 1e-9, "{kind:?} {removal:?}: {fast}, {slow}");
            }
        }
    }
}

#[test]
fn reliability_in_single_precision_is_close() {
    for kind in kinds() {
        let (double, single): (Case<f64>, Case<f32>) = (kind.draw(), kind.draw());
        let label = |v: usize| double.label(v);
        let (expected, found) = (
            reliability(&double.network(), label, Removal::Both),
            reliability(&single.network(), label, Removal::Both),
        );
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!(
                (found - expected).abs() < 1e-4 * (1.0 + expected.abs()),
                "{kind:?}: {found}, {expected}"
            );
        }
    }
}

/// Every architecture, several depths: finite numbers for all, messages only where there are any.
#[test]
fn every_backbone_is_measured() {
    for info in BACKBONES {
        for (layers, boosted) in [(1, false), (2, true), (3, true)] {
            let kind = Kind { backbone: info.name, layers, boosted, seed: 3, ..GCN };
            let case: Case<f64> = kind.draw();
            let (network, (nodes, labels)) = (case.network(), case.labelled());
            let norms = gradient_norms(&network, &nodes, &labels);
            assert_eq!(norms.len(), nodes.len());
            assert!(norms.iter().all(|norm| norm.is_finite() && *norm >= 0.0), "{kind:?}");
            let found = reliability(&network, |v| case.label(v), Removal::Both);
            assert!(found.iter().flatten().all(|r| r.is_finite()), "{kind:?}");
            let passes_messages = network.backbone.plan().hops > 0;
            assert_eq!(found.iter().flatten().any(|r| *r != 0.0), passes_messages, "{kind:?}");
            let known = network.two_layer_gcn && passes_messages;
            assert_eq!(
                reliability(&network, |v| case.label(v), Removal::Last).iter().any(Option::is_some),
                known
            );
        }
    }
}

#[test]
fn digits_do_not_depend_on_the_number_of_threads() {
    let case: Case<f32> = Kind { nodes: 60, degree: 9.0, boosted: true, ..GCN }.draw();
    let (network, (nodes, labels)) = (case.network(), case.labelled());
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            (
                gradient_norms(&network, &nodes, &labels),
                reliability(&network, |v| case.label(v), Removal::Both),
            )
        })
    };
    assert_eq!(on(1), on(3));
}
