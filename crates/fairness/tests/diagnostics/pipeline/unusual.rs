//! Cases of real federations that the fixtures lack.

use crate::toy::*;
use boostfgl_fairness::diagnostics::DiagnosticKind;
use boostfgl_fairness::diagnostics::attribution::attribute;
use boostfgl_fairness::diagnostics::dilution::{Dilution, descent_direction};
use boostfgl_fairness::diagnostics::hardness::{ClientHardness, Hardness};
use boostfgl_fairness::diagnostics::khop::{Hop, distances};
use boostfgl_fairness::diagnostics::trust::{Trust, trust_weights};
use boostfgl_graph::{Adjacency, Role};
use boostfgl_nn::backbones::{Backbone, gradients};
use boostfgl_nn::{Dropout, Matrix, Params, Pool, Reduction, View, WeightedLoss};
use proptest::prelude::*;

/// Σ ∇ℓᵥ over the nodes of one client, by one pass over them alone.
fn gradient(toy: &Toy, k: usize, theta: usize, nodes: &[u32]) -> Vec<Matrix<f64>> {
    let data = &toy.data[k];
    let labels = nodes.iter().map(|&v| data.training_label(v as usize).unwrap()).collect();
    let view = View::training(data.inputs(), nodes.to_vec(), Backbone::<f64>::plan(toy.backbone()));
    let loss = WeightedLoss::new(labels, Reduction::Sum);
    gradients(toy.backbone(), &toy.thetas[theta], &view, &loss, Dropout::off(), &Pool::new()).1
}

/// Fails unless `found` is minus the mean of what `sums` add up to.
fn assert_mean(found: &Params<f64>, sums: &[Vec<Matrix<f64>>], nodes: f64) {
    for (t, tensor) in found.tensors().iter().enumerate() {
        for (i, x) in tensor.to_vec().into_iter().enumerate() {
            let sum: f64 = sums.iter().map(|sum| sum[t].to_vec()[i]).sum();
            assert!((x + sum / nodes).abs() < 1e-14, "tensor {t}, number {i}");
        }
    }
}

#[test]
fn no_node_is_in_the_minority() {
    let mut toy = Toy::new();
    (toy.minority, toy.roles) = (vec![Some(false); 12], vec![Role::Test; 12]);
    assert!(descent_direction(&toy.inspection(1, toy.both()), &toy.subject()).is_none());
    let found =
        toy.diagnose(DiagnosticKind::Dilution, vec![toy.both()], &[0; 12]).dilution.unwrap();
    assert!(found.rounds.is_empty() && found.layers.len() == 2);
    assert_eq!((found.mean_dr(), found.mean_dr_size(), found.negative_share()), (None, None, None));

    let khop = toy.diagnose(DiagnosticKind::Khop, vec![toy.both()], &predictions()).khop.unwrap();
    let curve = khop.curve("minority").unwrap();
    assert!(curve.hops.is_empty());
    assert_eq!(curve.unreachable, Hop { nodes: 12, errors: 5 });
    assert_eq!((curve.error(0), curve.amplification(), curve.slope()), (None, None, None));

    let found =
        toy.diagnose(DiagnosticKind::Attribution, vec![toy.both()], &[0; 12]).attribution.unwrap();
    assert_eq!((found.minority.nodes, found.minority.normalised_decrease), (0, None));
    assert_eq!((found.share_of_nodes, found.share_of_decrease), (Some(0.0), Some(0.0)));
}

#[test]
fn every_node_is_in_the_minority() {
    let mut toy = Toy::new();
    (toy.minority, toy.roles) = (vec![Some(true); 12], vec![Role::Test; 12]);
    let khop = toy.diagnose(DiagnosticKind::Khop, vec![toy.both()], &predictions()).khop.unwrap();
    let curve = khop.curve("minority").unwrap();
    assert_eq!(
        (curve.hops.as_slice(), curve.unreachable),
        (&[Hop { nodes: 12, errors: 5 }][..], Hop::default())
    );
    assert_eq!(curve.amplification(), None);
    let found =
        toy.diagnose(DiagnosticKind::Attribution, vec![toy.both()], &[0; 12]).attribution.unwrap();
    assert_eq!((found.share_of_nodes, found.share_of_decrease), (Some(1.0), Some(1.0)));
}

#[test]
fn a_client_without_minority_nodes() {
    let mut toy = Toy::new();
    (7..12).for_each(|v| toy.minority[v] = Some(false));
    let found = descent_direction(&toy.inspection(1, toy.both()), &toy.subject()).unwrap();
    assert_mean(&found, &[gradient(&toy, 0, 0, &[2, 3])], 2.0);
    // Its update is evaluated all the same.
    let found =
        toy.diagnose(DiagnosticKind::Dilution, vec![toy.both()], &[0; 12]).dilution.unwrap();
    assert_eq!(found.rounds[0].clients.len(), 2);
}

#[test]
fn a_client_that_did_not_take_part() {
    let toy = Toy::new();
    let absent = || vec![toy.client(0, 0, Some(1)), toy.client(1, 0, None)];
    // Its nodes take part in g_min, and it has no update.
    let direction = descent_direction(&toy.inspection(1, absent()), &toy.subject()).unwrap();
    let all = descent_direction(&toy.inspection(1, toy.both()), &toy.subject()).unwrap();
    assert!(direction == all);
    let found = toy.diagnose(DiagnosticKind::Dilution, vec![absent()], &[0; 12]).dilution.unwrap();
    let round = &found.rounds[0];
    assert_eq!(round.clients.iter().map(|client| client.client).collect::<Vec<_>>(), [0]);
    assert_eq!(round.dr, None, "nothing was aggregated");
    // Alone, a client dilutes nothing: DR is 1 up to ε.
    assert!(
        (round.dr_size.unwrap() - 1.0).abs() < 1e-10
            && (round.dr_uniform.unwrap() - 1.0).abs() < 1e-10
    );
    let found = toy.diagnose(DiagnosticKind::Trust, vec![absent()], &[0; 12]).trust.unwrap();
    assert_eq!(found.rounds[0].clients.len(), 1);
    assert_eq!((found.rounds[0].clients[0].weight, found.rounds[0].clients[0].gap), (1.0, None));
    assert_eq!(found.variation(), [0.0, 0.0]);
    // No client took part.
    let none = || vec![toy.client(0, 0, None), toy.client(1, 0, None)];
    let found = toy.diagnose(DiagnosticKind::Dilution, vec![none()], &[0; 12]).dilution.unwrap();
    assert_eq!(
        (found.rounds[0].dr_size, found.rounds[0].dr_uniform, found.mean_dr_size()),
        (None, None, None)
    );
    assert_eq!(found.helpless_rounds(), 1);
    assert!(
        toy.diagnose(DiagnosticKind::Trust, vec![none()], &[0; 12]).trust.unwrap().rounds[0]
            .clients
            .is_empty()
    );
}

#[test]
fn clients_start_from_models_of_their_own() {
    let toy = Toy::new();
    let personal = || vec![toy.client(0, 1, Some(0)), toy.client(1, 2, Some(1))];
    let found = descent_direction(&toy.inspection(1, personal()), &toy.subject()).unwrap();
    assert_mean(&found, &[gradient(&toy, 0, 1, &[2, 3]), gradient(&toy, 1, 2, &[0])], 3.0);
    let found_trust =
        toy.diagnose(DiagnosticKind::Trust, vec![personal()], &[0; 12]).trust.unwrap();
    let distances =
        [toy.thetas[0].distance(&toy.thetas[1]), toy.thetas[1].distance(&toy.thetas[2])];
    for (client, distance) in found_trust.rounds[0].clients.iter().zip(distances) {
        assert!((client.norm - distance).abs() < 1e-14);
    }
    let round = &toy
        .diagnose(DiagnosticKind::Dilution, vec![personal()], &[0; 12])
        .dilution
        .unwrap()
        .rounds[0];
    let moved = |k: usize| toy.thetas[k].dot(&found) - toy.thetas[k + 1].dot(&found);
    round
        .clients
        .iter()
        .for_each(|one| assert!((one.whole.projection - moved(one.client)).abs() < 1e-12));
}

#[test]
fn a_client_with_nothing_to_train_on() {
    // The third client has the nodes 5, 6 and 11, none of which is trained on.
    let toy = Toy::divided(3, vec![0, 0, 0, 0, 0, 2, 2, 1, 1, 1, 1, 2]);
    assert!(toy.data[2].training().is_empty());
    let clients =
        || vec![toy.client(0, 0, Some(1)), toy.client(1, 0, Some(2)), toy.client(2, 0, None)];
    let found = toy.diagnose(DiagnosticKind::Dilution, vec![clients()], &[0; 12]).dilution.unwrap();
    assert_eq!(found.rounds[0].clients.len(), 2);
    let found =
        toy.diagnose(DiagnosticKind::Attribution, vec![clients()], &[0; 12]).attribution.unwrap();
    assert_eq!((found.minority.nodes, found.majority.nodes), (3, 4));
    let found = toy.diagnose(DiagnosticKind::Hardness, vec![clients()], &[0; 12]).hardness.unwrap();
    assert_eq!(
        found.clients.iter().map(|c| (c.client, c.nodes)).collect::<Vec<_>>(),
        [(0, 4), (1, 3)]
    );
    assert!(
        found
            .clients
            .iter()
            .all(|client| client.gsd.is_some() && client.gsd == client.weighted_gsd)
    );
    assert_eq!(ClientHardness::new(0, 0, 0, 0), None);
    assert_eq!(Hardness::new(Vec::new(), None), Hardness::default());
    // Its test nodes are evaluated: 6 and 11 are of the minority, 5 is alone.
    let found = toy.diagnose(DiagnosticKind::Khop, vec![clients()], &predictions()).khop.unwrap();
    let curve = found.curve("minority").unwrap();
    assert_eq!((curve.hops[0].nodes, curve.unreachable.nodes), (3, 1));
}

/// Rounds with and without boosted messages alternate, and the cached view follows them.
#[test]
fn boosted_messages_count_in_their_round_alone() {
    let toy = Toy::new();
    let doubled: Vec<_> = toy.data.iter().map(|data| data.inputs().propagation()).collect();
    let doubled: Vec<_> = doubled
        .iter()
        .map(|p| p.with_values(p.csr().values().iter().map(|x| 2.0 * x).collect()))
        .collect();
    let boosted = || {
        let mut clients = toy.both();
        clients
            .iter_mut()
            .zip(&doubled)
            .for_each(|(client, messages)| client.propagation = messages);
        clients
    };
    let rounds = vec![toy.both(), boosted(), toy.both()];
    let found = toy.diagnose(DiagnosticKind::Dilution, rounds, &[0; 12]).dilution.unwrap();
    let alone = toy.diagnose(DiagnosticKind::Dilution, vec![boosted()], &[0; 12]).dilution.unwrap();
    assert_eq!(found.rounds[0].clients, found.rounds[2].clients);
    assert_eq!(found.rounds[1].clients, alone.rounds[0].clients);
    assert_ne!(found.rounds[0].clients, found.rounds[1].clients);

    let plain =
        toy.diagnose(DiagnosticKind::Attribution, vec![toy.both()], &[0; 12]).attribution.unwrap();
    let other =
        toy.diagnose(DiagnosticKind::Attribution, vec![boosted()], &[0; 12]).attribution.unwrap();
    assert_ne!(plain.minority.initial, other.minority.initial);
}

/// Generated nodes are neither disadvantaged nor evaluated, and leaves shorten no path.
#[test]
fn generated_nodes_change_no_distance() {
    let mut toy = Toy::new();
    toy.roles = vec![Role::Test; 12];
    let plain = toy.diagnose(DiagnosticKind::Khop, vec![toy.both()], &predictions()).khop;
    let features = Matrix::from_rows(2, 4, &[0.5; 8]);
    let extended: Vec<_> = toy.data.iter().map(|data| data.extended(&[0, 4], &features)).collect();
    assert_eq!(extended[0].len(), 9);
    let mut clients = toy.both();
    clients.iter_mut().zip(&extended).for_each(|(client, data)| client.data = data);
    assert_eq!(toy.diagnose(DiagnosticKind::Khop, vec![clients], &predictions()).khop, plain);
}

#[test]
fn rounds_without_a_helpful_update_are_left_out_of_means() {
    let toy = Toy::new();
    // No client moves: no angle, and DR is 0 / ε.
    let still = vec![toy.client(0, 0, Some(0)), toy.client(1, 0, Some(0))];
    let found = toy.diagnose(DiagnosticKind::Dilution, vec![still], &[0; 12]).dilution.unwrap();
    assert_eq!(
        (found.rounds[0].clients[0].whole.cosine, found.rounds[0].dr_uniform),
        (None, Some(0.0))
    );
    assert_eq!(
        (found.negative_share(), found.mean_dr_uniform(), found.helpless_rounds()),
        (None, None, 1)
    );

    // From the models back to the start both harm: DR is a number over ε, which no mean should
    // hold.
    let harmed =
        toy.diagnose(DiagnosticKind::Dilution, vec![toy.both()], &[0; 12]).dilution.unwrap();
    assert_eq!(harmed.negative_share(), Some(0.0));
    let mut round = harmed.rounds[0].clone();
    round.clients.iter_mut().for_each(|client| {
        client.whole.projection = -client.whole.projection;
        client.whole.cosine = client.whole.cosine.map(|c| -c);
    });
    round.dr_size = Some(-1e11);
    let found = Dilution { rounds: vec![harmed.rounds[0].clone(), round], ..harmed.clone() };
    assert_eq!((found.mean_dr_size(), found.negative_share()), (harmed.mean_dr_size(), Some(0.5)));
    assert_eq!(found.helpless_rounds(), 1);
}

#[test]
fn an_unchanged_total_loss_has_no_share_of_decrease() {
    let found = attribute(&[1.0, 2.0], &[1.0, 2.0], &[true, false]);
    assert_eq!((found.share_of_decrease, found.share_of_nodes), (None, Some(0.5)));
    assert_eq!(found.minority.normalised_decrease, Some(0.0));
    // One falls by as much as the other rises.
    assert_eq!(attribute(&[1.0, 2.0], &[2.0, 1.0], &[true, false]).share_of_decrease, None);
    // A group whose loss was 0 has no normalised decrease.
    assert_eq!(
        attribute(&[0.0, 1.0], &[0.5, 0.5], &[true, false]).minority.normalised_decrease,
        None
    );
    assert_eq!(attribute(&[], &[], &[]), Default::default());
}

#[test]
fn trust_without_clients_and_without_sizes() {
    assert!(trust_weights(&[], &[], &[], 0.5, 0.5).is_empty());
    assert_eq!(trust_weights(&[0.0, 0.0], &[1.0, 2.0], &[0.0, 0.0], 0.5, 0.5), [0.5, 0.5]);
    assert!(Trust::default().variation().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Distances satisfy their definition: 0 at seeds, and everywhere else one more than the least
    /// of the neighbours.
    #[test]
    fn distances_are_one_more_than_the_nearest_neighbour(
        edges in prop::collection::vec((0u32..20, 0u32..20), 0..40),
        seeds in prop::collection::vec(0usize..25, 0..4),
    ) {
        let (graph, _) = Adjacency::from_edges(20, &edges, None, false).unwrap();
        let found = distances(&graph, seeds.iter().copied());
        for v in 0..20 {
            let nearest = graph.neighbours(v).iter().filter_map(|&u| found[u as usize]).min();
            let expected = if seeds.contains(&v) { Some(0) } else { nearest.map(|d| d + 1) };
            prop_assert_eq!(found[v], expected);
        }
        // Every distance is that of a path: following the definition down ends at a seed, so hops
        // are without gaps.
        let farthest = found.iter().flatten().max().copied().unwrap_or(0);
        prop_assert!((0..farthest).all(|d| found.contains(&Some(d))));
    }

    /// Weights are a distribution; with nothing to distrust they are sizes.
    #[test]
    fn trust_weights_sum_to_one(clients in prop::collection::vec((1.0f64..99.0, 0.0f64..9.0, 0.0f64..1.0), 1..8)) {
        let part = |i: usize| clients.iter().map(|&(n, r, g)| [n, r, g][i]).collect::<Vec<_>>();
        let weights = trust_weights(&part(0), &part(1), &part(2), 0.5, 0.5);
        prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12 && weights.iter().all(|w| *w > 0.0));
        let total: f64 = part(0).iter().sum();
        let plain = trust_weights(&part(0), &part(1), &part(2), 0.0, 0.0);
        prop_assert!(plain.iter().zip(part(0)).all(|(w, n)| (w - n / total).abs() < 1e-12));
    }
}
