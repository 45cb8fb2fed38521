//! Golden numbers, to 1e-10.

use crate::toy::{Toy, boosted, golden, indices, numbers};
use boostfgl_fairness::diagnostics::epr::{Removal, reliability};
use boostfgl_fairness::diagnostics::gsd::{Gsd, Ratio, Weighting, gradient_norms};
use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind, Diagnostician, Network, Settings};
use boostfgl_fed::{Inspected, LocalData, Observer as _};
use boostfgl_nn::backbones::logits;
use boostfgl_nn::{Pool, Propagation, View, softmax_rows};
use serde_json::Value;

fn close(found: f64, expected: &Value, what: &str) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-10, "{what}: {found} is not {expected}");
}

fn with_network<R>(
    toy: &Toy,
    client: &LocalData<f64>,
    propagation: &Propagation<f64>,
    look: impl FnOnce(&Network<'_, f64>) -> R,
) -> R {
    let (adjacency, inputs, params) = (client.adjacency(), client.inputs(), &toy.thetas[0]);
    look(&Network {
        backbone: toy.backbone(),
        two_layer_gcn: true,
        params,
        adjacency,
        inputs,
        propagation,
    })
}

#[test]
fn losses_and_gradient_norms_of_nodes() {
    let (expected, toy) = (golden("diagnostics"), Toy::new());
    for (client, expected) in toy.data.iter().zip(expected["per_node_gradient"].as_array().unwrap())
    {
        let expected = expected.as_array().unwrap();
        let nodes: Vec<u32> =
            expected.iter().map(|node| node["local_id"].as_u64().unwrap() as u32).collect();
        assert_eq!(nodes, client.training());
        let labels: Vec<u32> =
            nodes.iter().map(|&v| client.training_label(v as usize).unwrap()).collect();
        with_network(&toy, client, client.inputs().propagation(), |network| {
            let view = View::whole(network.inputs, network.backbone.plan());
            let mut probabilities = logits(network.backbone, network.params, &view, &Pool::new());
            softmax_rows(&mut probabilities);
            let norms = gradient_norms(network, &nodes, &labels);
            let slow =
                gradient_norms(&Network { two_layer_gcn: false, ..*network }, &nodes, &labels);
            for (i, expected) in expected.iter().enumerate() {
                let loss = -probabilities.row(nodes[i] as usize)[labels[i] as usize].ln();
                close(loss, &expected["ce"], "cross-entropy");
                close(norms[i], &expected["grad_l2"], "norm");
                close(slow[i], &expected["grad_l2"], "norm by a backward pass");
            }
        });
    }
}

/// Every directed edge of the fixture, with the toy's true label at its target.
fn check_reliability(variant: &str, removal: Removal, is_boosted: bool) {
    let (expected, toy) = (golden("diagnostics"), Toy::new());
    for (client, expected) in toy.data.iter().zip(expected["epr"].as_array().unwrap()) {
        let propagation =
            if is_boosted { boosted(client) } else { client.inputs().propagation().clone() };
        let label = |v: usize| toy.labels.get(client.nodes()[v] as usize);
        let adjacency = client.adjacency();
        let found = with_network(&toy, client, &propagation, |network| {
            reliability(network, label, removal)
        });
        let arcs = |v: usize| adjacency.neighbours(v).iter().flat_map(move |&u| [u as usize, v]);
        let edges: Vec<usize> = (0..adjacency.len()).flat_map(arcs).collect();
        assert_eq!(edges, indices(&expected["edges_src_dst"]));
        assert_eq!(found.len(), numbers(&expected[variant]).len());
        for (found, expected) in found.iter().zip(expected[variant].as_array().unwrap()) {
            close(found.unwrap(), expected, variant);
        }
    }
}

#[test]
fn reliability_of_messages_in_every_variant() {
    check_reliability("both_drop", Removal::Both, false);
    check_reliability("both_renorm", Removal::BothRenormalised, false);
    check_reliability("last_drop", Removal::Last, false);
    check_reliability("last_renorm", Removal::LastRenormalised, false);
    check_reliability("boosted_mulgcn_paper_sign_both_drop", Removal::Both, true);
}

/// One round that starts from θ₀ and is evaluated by it, with the fixture's α.
fn diagnosis() -> Diagnosis {
    let toy = Toy::new();
    let ema = golden("difficulty_ema");
    let alpha = |client: &LocalData<f64>| -> Vec<f64> {
        let all = numbers(&ema["clients"][client.id()]["rounds"][2]["alpha"]);
        client.training().iter().map(|&v| all[v as usize]).collect()
    };
    let alpha: Vec<Vec<f64>> = toy.data.iter().map(alpha).collect();
    let weighted = |(k, alpha)| Inspected { node_weights: Some(alpha), ..toy.client(k, 0, None) };
    let inspection =
        toy.inspection(1, alpha.iter().map(Vec::as_slice).enumerate().map(weighted).collect());
    let settings = Settings { effort: None, ..Settings::default() };
    let mut diagnostician =
        Diagnostician::new(&[DiagnosticKind::Gsd, DiagnosticKind::Epr], toy.subject(), settings);
    diagnostician.inspect(&inspection);
    diagnostician.conclude()
}

#[test]
fn gradient_shares_pooled_and_per_client() {
    let expected = golden("diagnostics");
    let q = expected["minority_q"].as_f64().unwrap();
    let gsd = diagnosis().gsd.unwrap();
    let exact = |ratio: Option<Ratio>| ratio.filter(|ratio| ratio.error == 0.0).unwrap();
    for (name, weighting) in
        [("gsd_unweighted", Weighting::Plain), ("gsd_alpha_weighted", Weighting::Boosted)]
    {
        let pooled = exact(gsd.pooled(0, &gsd.minority_at(q), weighting));
        close(pooled.per_node, &expected[name]["pooled"], name);
        let (few, many) =
            (numbers(&expected[name]["n_min"])[0], numbers(&expected[name]["n_maj"])[0]);
        assert!((pooled.mass - pooled.per_node * few / many).abs() < 1e-14);
        for k in 0..2 {
            close(
                exact(gsd.of_client(0, k, &gsd.minority_at(q), weighting)).per_node,
                &expected[name]["per_client"][k],
                name,
            );
            assert_eq!(
                gsd.client_mean_over_rounds(k, &gsd.minority_at(q), weighting),
                gsd.of_client(0, k, &gsd.minority_at(q), weighting)
            );
        }
        assert_eq!(gsd.last(&gsd.minority_at(q), weighting), Some(pooled));
        assert_eq!(gsd.mean_over_rounds(&gsd.minority_at(q), weighting), Some(pooled));
    }
    // There is no minority at q = 0, no second round and no third client. At q = 1 the largest
    // class stays the majority.
    assert_eq!(gsd.pooled(0, &gsd.minority_at(0.0), Weighting::Plain), None);
    assert_eq!(gsd.mean_over_rounds(&gsd.minority_at(0.0), Weighting::Plain), None);
    assert_eq!(gsd.minority_at(1.0), [Some(false), Some(true), Some(true)]);
    assert!(gsd.pooled(0, &gsd.minority_at(1.0), Weighting::Plain).is_some());
    assert_eq!(gsd.pooled(1, &gsd.minority_at(q), Weighting::Plain), None);
    assert_eq!(gsd.of_client(0, 2, &gsd.minority_at(q), Weighting::Plain), None);
    assert_eq!(
        Gsd { rounds: Vec::new(), ..gsd.clone() }.last(&gsd.minority_at(q), Weighting::Plain),
        None
    );
}

/// Counted from the fixture's own list of R.
#[test]
fn harmful_messages_by_group_and_client() {
    let (expected, toy) = (golden("diagnostics"), Toy::new());
    let epr = diagnosis().epr.unwrap();
    assert_eq!((epr.round, epr.removal), (1, Removal::Both));
    let classes = indices(&expected["minority_classes"]);
    let (mut all, mut minority) = (Vec::new(), Vec::new());
    for (client, expected) in toy.data.iter().zip(expected["epr"].as_array().unwrap()) {
        let values = numbers(&expected["both_drop"]);
        for (edge, r) in indices(&expected["edges_src_dst"]).chunks(2).zip(&values) {
            let class = toy.labels.get(client.nodes()[edge[1]] as usize).unwrap();
            minority.extend(classes.contains(&(class as usize)).then_some(*r));
        }
        let negative = values.iter().filter(|r| **r < 0.0).count();
        assert_eq!(
            (epr.clients[client.id()].measured, epr.clients[client.id()].negative),
            (values.len(), negative)
        );
        all.extend(values);
    }
    for (name, mut values) in [("all", all), ("minority", minority)] {
        let group = epr.groups.iter().find(|group| group.group == name).unwrap();
        let (count, negative) = (values.len(), values.iter().filter(|r| **r < 0.0).count());
        assert!(count > 0 && negative > 0);
        assert_eq!((group.edges, group.measured, group.negative), (count, count, negative));
        assert!((group.negative_share.unwrap() - negative as f64 / count as f64).abs() < 1e-15);
        assert_eq!(group.sampling_error, Some(0.0));
        assert!((group.mean.unwrap() - values.iter().sum::<f64>() / count as f64).abs() < 1e-10);
        values.sort_by(f64::total_cmp);
        let (lowest, highest) = (group.quantiles[0], group.quantiles[8]);
        assert!((lowest - values[0]).abs() < 1e-10 && (highest - values[count - 1]).abs() < 1e-10);
    }
    let edges = |name: &str| epr.groups.iter().find(|group| group.group == name).unwrap().edges;
    assert_eq!(edges("minority") + edges("majority"), edges("all"));
    assert_eq!(edges("heterophilous") + edges("homophilous"), edges("all"));
}
