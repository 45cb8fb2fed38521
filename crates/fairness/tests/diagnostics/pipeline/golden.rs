//! The numbers of `diagnostics.json` and `trust.json`, to 1e-10.

use crate::toy::*;
use boostfgl_fairness::diagnostics::attribution::{attribute, training_losses};
use boostfgl_fairness::diagnostics::dilution::{Alignment, descent_direction, dilution_ratio};
use boostfgl_fairness::diagnostics::gsd::{Gsd, GsdRound, Mass};
use boostfgl_fairness::diagnostics::hardness::{ClientHardness, Hardness};
use boostfgl_fairness::diagnostics::khop::distances;
use boostfgl_fairness::diagnostics::trust::trust_weights;
use boostfgl_fairness::diagnostics::{DiagnosticKind, Network};
use boostfgl_graph::Role;
use boostfgl_nn::{Matrix, Params};

#[test]
fn the_direction_that_helps_the_minority() {
    let toy = Toy::new();
    let found = descent_direction(&toy.inspection(1, toy.both()), &toy.subject()).unwrap();
    let expected = &golden("diagnostics")["dr"]["minority_descent_direction"];
    for (tensor, name) in found.tensors().iter().zip(TENSORS) {
        assert_close(&tensor.to_vec(), &expected[name], name);
    }
}

#[test]
fn projections_and_cosines_whole_and_by_layer() {
    let toy = Toy::new();
    let expected = &golden("diagnostics")["dr"];
    let found =
        toy.diagnose(DiagnosticKind::Dilution, vec![toy.both()], &[0; 12]).dilution.unwrap();
    assert_eq!(found.layers, ["layer1", "layer2"]);
    let round = &found.rounds[0];
    let whole: Vec<Alignment> = round.clients.iter().map(|client| client.whole).collect();
    assert_close(
        &whole.iter().map(|one| one.projection).collect::<Vec<_>>(),
        &expected["projection"],
        "projection",
    );
    assert_close(
        &whole.iter().map(|one| one.cosine.unwrap()).collect::<Vec<_>>(),
        &expected["cosine"],
        "cosine",
    );
    assert_close(&found.cosines().collect::<Vec<_>>(), &expected["cosine"], "pooled cosines");

    // The second layer by itself: the same formula with the last two tensors alone.
    let direction = params(&expected["minority_descent_direction"]);
    let upper = |from: &Params<f64>, to: &Params<f64>| -> Vec<f64> {
        let pairs = from.tensors()[2..].iter().zip(&to.tensors()[2..]);
        pairs
            .flat_map(|(a, b)| a.to_vec().into_iter().zip(b.to_vec()).map(|(a, b)| b - a))
            .collect()
    };
    let along: Vec<f64> = direction.tensors()[2..].iter().flat_map(Matrix::to_vec).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for (client, theta) in round.clients.iter().zip(&toy.thetas[1..]) {
        let moved = upper(&toy.thetas[0], theta);
        let (projection, norms) =
            (dot(&moved, &along), (dot(&moved, &moved) * dot(&along, &along)).sqrt());
        assert!((client.layers[1].projection - projection).abs() < TOLERANCE);
        assert!((client.layers[1].cosine.unwrap() - projection / norms).abs() < TOLERANCE);
        let sum = client.layers[0].projection + client.layers[1].projection;
        assert!((sum - client.whole.projection).abs() < TOLERANCE);
    }
}

#[test]
fn dilution_under_every_weighting() {
    let toy = Toy::new();
    let (file, trust) = (golden("diagnostics"), golden("trust"));
    let expected = &file["dr"]["dr"];
    let projections = numbers(&file["dr"]["projection"]);
    for (name, dr) in expected.as_object().unwrap() {
        let weights = numbers(&trust["weights"][name]);
        assert_close(&[dilution_ratio(&projections, &weights)], dr, name);

        let mut clients = toy.both();
        clients.iter_mut().zip(&weights).for_each(|(client, &w)| client.weights = Some(vec![w; 4]));
        let found =
            toy.diagnose(DiagnosticKind::Dilution, vec![clients], &[0; 12]).dilution.unwrap();
        assert_close(&[found.mean_dr().unwrap()], dr, name);
        assert_close(&[found.mean_dr_size().unwrap()], &expected["fedavg_size"], "by size");
        assert_close(&[found.mean_dr_uniform().unwrap()], &expected["uniform"], "uniform");
        let shown: Vec<f64> =
            found.rounds[0].clients.iter().map(|client| client.weight.unwrap()).collect();
        assert_close(&shown, &trust["weights"][name], name);
    }
}

/// Where every tensor has weights of its own, the numerator is the projection of what comes out of
/// the aggregation.
#[test]
fn dilution_under_weights_per_tensor() {
    let toy = Toy::new();
    let (file, trust) = (golden("diagnostics"), golden("trust"));
    let by_tensor = numbers(&trust["weights_per_tensor_rational_times_N"]);
    let mut clients = toy.both();
    for (k, client) in clients.iter_mut().enumerate() {
        client.weights = Some(by_tensor.chunks(2).map(|weights| weights[k]).collect());
    }
    let found = toy.diagnose(DiagnosticKind::Dilution, vec![clients], &[0; 12]).dilution.unwrap();

    let aggregated = params(&trust["aggregated"]["rational_times_N_per_tensor"]);
    let direction = params(&file["dr"]["minority_descent_direction"]);
    let numerator = aggregated.dot(&direction) - toy.thetas[0].dot(&direction);
    let projections = numbers(&file["dr"]["projection"]);
    let denominator = projections.iter().sum::<f64>() / 2.0 + 1e-12;
    assert!((found.rounds[0].dr.unwrap() - numerator / denominator).abs() < TOLERANCE);
}

#[test]
fn distances_and_errors_from_disadvantaged_nodes() {
    let mut toy = Toy::new();
    // The fixture evaluates every node.
    toy.roles = vec![Role::Test; 12];
    let expected = &golden("diagnostics")["khop"];
    let found = toy.diagnose(DiagnosticKind::Khop, vec![toy.both()], &predictions()).khop.unwrap();
    for (group, name) in [("minority", "minority"), ("heterophilous", "hete")] {
        let seeds = indices(&expected[format!("{name}_seeds")]);
        for data in &toy.data {
            let local =
                (0..data.nodes().len()).filter(|&i| seeds.contains(&(data.nodes()[i] as usize)));
            for (&v, distance) in data.nodes().iter().zip(distances(data.adjacency(), local)) {
                let there = expected[format!("{name}_dist")][v as usize].as_u64();
                assert_eq!(distance.map(u64::from), there, "node {v} from {name}");
            }
        }
        let errors = expected[format!("{name}_error")].as_object().unwrap();
        assert_eq!(found.curve(group).unwrap().hops.len(), errors.len());
        for (hop, error) in errors {
            let hop: usize = hop.parse().unwrap();
            assert_close(&[found.error(group, hop).unwrap()], error, &format!("{name} at {hop}"));
        }
    }
    // Counts by hand: hits and misses of `metrics.json` at the fixture's distances.
    let minority = found.curve("minority").unwrap();
    let counts: Vec<(usize, usize)> =
        minority.hops.iter().map(|hop| (hop.nodes, hop.errors)).collect();
    assert_eq!(counts, [(6, 2), (5, 3), (1, 0)]);
    assert!((minority.amplification().unwrap() - (3.0 / 6.0) / (2.0 / 6.0)).abs() < 1e-15);
    assert!((minority.slope().unwrap() - 3.0 / 5.0).abs() < 1e-15);
    // Node 11 is isolated and of no known homophily.
    assert_eq!(found.curve("heterophilous").unwrap().unreachable.nodes, 1);
    // 6 is heterophilous through an edge that its client does not see; 11 is not: both are alone.
    assert_eq!(found.curve("hete_min").unwrap().hops[0].nodes, 5);
}

#[test]
fn losses_and_their_attribution() {
    let toy = Toy::new();
    let expected = &golden("diagnostics")["loss_attribution"];
    let losses = |theta: usize| -> Vec<f64> {
        let inspection = toy.inspection(1, toy.both());
        let of = |client| {
            training_losses(&Network::of(&inspection, client, &toy.thetas[theta]), client.data)
        };
        inspection.clients.iter().flat_map(of).collect()
    };
    assert_close(&losses(0), &expected["loss_initial"], "initial");
    assert_close(&losses(1), &expected["loss_final"], "final");

    let minority: Vec<bool> = serde_json::from_value(expected["is_minority"].clone()).unwrap();
    let direct = attribute(
        &numbers(&expected["loss_initial"]),
        &numbers(&expected["loss_final"]),
        &minority,
    );
    let rounds = vec![vec![toy.client(0, 0, Some(1)), toy.client(1, 0, Some(1))]];
    let watched = toy.diagnose(DiagnosticKind::Attribution, rounds, &[0; 12]).attribution.unwrap();
    for found in [direct, watched] {
        let pairs = [
            (found.share_of_decrease, "share_of_total_decrease"),
            (found.share_of_nodes, "share_of_labelled_nodes"),
            (found.share_of_initial_loss, "share_of_initial_loss"),
            (found.minority.normalised_decrease, "mean_normalised_decrease_min"),
            (found.majority.normalised_decrease, "mean_normalised_decrease_maj"),
        ];
        pairs
            .into_iter()
            .for_each(|(value, name)| assert_close(&[value.unwrap()], &expected[name], name));
        assert_eq!((found.minority.nodes, found.majority.nodes), (3, 4));
    }
}

#[test]
fn trust_in_the_whole_and_by_layer() {
    let toy = Toy::new();
    let expected = golden("trust");
    let (sizes, gaps) = (numbers(&expected["N_m"]), numbers(&expected["gaps"]));
    let mut clients = toy.both();
    clients.iter_mut().zip(&gaps).for_each(|(client, &gap)| client.gap = Some(gap));
    let found = toy.diagnose(DiagnosticKind::Trust, vec![clients], &[0; 12]).trust.unwrap();
    let round = &found.rounds[0];
    let of = |value: fn(&boostfgl_fairness::diagnostics::trust::ClientTrust) -> f64| -> Vec<f64> {
        round.clients.iter().map(value).collect()
    };
    assert_close(&of(|client| client.norm), &expected["update_norm_whole"], "norms");
    assert_close(&of(|client| client.weight), &expected["weights"]["rational_times_N"], "weights");

    // Tensor by tensor the fixture has weights of its own; a layer's norm follows from its two
    // tensors'.
    let norms = numbers(&expected["update_norm_per_tensor_W1_b1_W2_b2"]);
    let column = |t: usize| [norms[t], norms[4 + t]];
    for t in 0..4 {
        let weights = trust_weights(&sizes, &column(t), &gaps, 0.5, 0.5);
        assert_close(&weights, &expected["weights_per_tensor_rational_times_N"][t], TENSORS[t]);
    }
    assert_eq!(found.layers, ["layer1", "layer2"]);
    let mut variation = Vec::new();
    for l in 0..2 {
        let (weight, bias) = (column(2 * l), column(2 * l + 1));
        let norms = [0, 1].map(|k: usize| (weight[k] * weight[k] + bias[k] * bias[k]).sqrt());
        let weights = trust_weights(&sizes, &norms, &gaps, 0.5, 0.5);
        for (k, client) in round.clients.iter().enumerate() {
            assert!((client.layer_norms[l] - norms[k]).abs() < TOLERANCE);
            assert!((client.layer_weights[l] - weights[k]).abs() < TOLERANCE);
        }
        // Of two clients, what one loses the other gains: half the sum of both is what either
        // moves.
        variation.push((weights[0] - round.clients[0].weight).abs());
    }
    assert!(variation.iter().all(|v| *v > 1e-4));
    found.variation().iter().zip(variation).for_each(|(a, b)| assert!((a - b).abs() < TOLERANCE));
}

/// Masses by class from the fixture's gradient norms of single nodes.
#[test]
fn hardness_against_the_skew_of_clients() {
    let toy = Toy::new();
    let file = golden("diagnostics");
    let masses = |k: usize| {
        let mut masses = [Mass::default(); 3];
        for node in file["per_node_gradient"][k].as_array().unwrap() {
            let v = toy.data[k].nodes()[node["local_id"].as_u64().unwrap() as usize] as usize;
            let mass = &mut masses[toy.labels.get(v).unwrap() as usize];
            (mass.nodes, mass.measured) = (mass.nodes + 1, mass.measured + 1);
            mass.sum += node["grad_l2"].as_f64().unwrap();
            mass.weighted_sum += 2.0 * node["grad_l2"].as_f64().unwrap();
        }
        masses.to_vec()
    };
    let round = |round| GsdRound { round, clients: vec![masses(0), masses(1)] };
    let gsd = Gsd {
        training_counts: vec![4, 2, 1],
        minority: Vec::new(),
        minority_ratio: Some(0.4),
        rounds: vec![round(1), round(2)],
    };

    let bare = toy
        .diagnose(DiagnosticKind::Hardness, vec![toy.both()], &[0; 12])
        .hardness
        .unwrap()
        .clients;
    let found = Hardness::new(bare, Some(&gsd));
    let skew: Vec<f64> = found.clients.iter().map(|client| client.gsd.unwrap()).collect();
    assert_close(&skew, &file["gsd_unweighted"]["per_client"], "GSD of clients");
    // Weights that are the same for all change nothing.
    assert!(
        found.clients.iter().all(|c| (c.weighted_gsd.unwrap() - c.gsd.unwrap()).abs() < TOLERANCE)
    );
    // By hand: of the training nodes 0–3 two are of the minority and 1–3 heterophilous; of 7, 8 and
    // 10 one and all.
    let shares: Vec<(usize, f64, f64)> =
        found.clients.iter().map(|c| (c.nodes, c.minority, c.heterophilous)).collect();
    assert_eq!(shares, [(4, 0.5, 0.75), (3, 1.0 / 3.0, 1.0)]);
    assert_eq!(found.clients.iter().map(|c| c.hard).collect::<Vec<_>>(), [false, true]);
    assert_eq!(found.correlation, None, "two clients do not correlate");
}

/// Half of a class was measured: it counts twice, and a class without measurements not at all.
#[test]
fn hardness_reads_sampled_masses() {
    let mass =
        |nodes, measured, sum| Mass { nodes, measured, sum, weighted_sum: 0.0, ..Mass::default() };
    // Class 2 is the minority; per node it has 3, the others (6·1 + 2·4) / 8 = 1.75 per node.
    let lone = vec![mass(6, 3, 3.0), mass(2, 2, 8.0), mass(4, 2, 6.0)];
    let with = |sum| vec![mass(6, 3, 3.0), mass(2, 2, 8.0), mass(1, 1, sum)];
    let clients =
        vec![lone, with(7.0), with(1.75), vec![mass(9, 9, 1.0), mass(0, 0, 0.0), mass(0, 0, 0.0)]];
    let gsd = Gsd {
        training_counts: vec![6, 4, 3],
        minority: Vec::new(),
        minority_ratio: Some(0.2),
        rounds: vec![GsdRound { round: 1, clients }],
    };
    let client = |k, minority| ClientHardness::new(k, 12, minority, 0).unwrap();
    let found =
        Hardness::new(vec![client(0, 3), client(1, 2), client(2, 6), client(3, 9)], Some(&gsd));
    let skew: Vec<Option<f64>> = found.clients.iter().map(|c| c.gsd).collect();
    assert_eq!(skew, [Some(3.0 / 1.75), Some(4.0), Some(1.0), None]);
    // Without α there is no mass at all to compare.
    assert!(found.clients.iter().all(|c| c.weighted_gsd.is_none()));
    // The three clients that have both are in opposite orders.
    assert_eq!(found.correlation, Some(-1.0));
    assert_eq!(found.clients.iter().filter(|c| c.hard).map(|c| c.client).collect::<Vec<_>>(), [3]);
}
