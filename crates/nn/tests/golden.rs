//! The golden files in `tests/golden` come from an independent dense float64 implementation in
//! PyTorch autograd (see the README there); results must match them to 1e-10.

use boostfgl_graph::{Graph, Role};
use boostfgl_nn::backbones::{Backbone, gradients, logits};
use boostfgl_nn::{
    Dropout, Inputs, Matrix, Params, Pool, Propagation, Reduction, View, WeightedLoss, softmax_rows,
};
use boostfgl_testkit::{assert_close, golden, numbers, toy};
use serde_json::Value;

/// A client of the toy federation.
struct Toy {
    graph: Graph,
    inputs: Inputs<f64>,
    labelled: Vec<u32>,
}

fn client(k: usize) -> Toy {
    let client = toy::clients().swap_remove(k);
    let inputs = toy::exact_inputs(&client);
    let roles = toy::roles();
    let labelled = (0..client.nodes.len() as u32)
        .filter(|&v| roles[client.nodes[v as usize] as usize] == Role::Train)
        .collect();
    Toy { graph: client.graph, inputs, labelled }
}

fn params(name: &str) -> Params<f64> {
    toy::params(&golden("graph")["params"][name])
}

fn check_gradients(found: &[Matrix<f64>], expected: &Value, what: &str) {
    for (tensor, name) in found.iter().zip(toy::TENSORS) {
        assert_close(&tensor.to_vec(), &expected[name], &format!("{what} {name}"));
    }
}

fn loss_of(toy: &Toy, alpha: &[f64], reduction: Reduction) -> WeightedLoss<f64> {
    let labels =
        toy.labelled.iter().map(|&v| toy.graph.labels().get(v as usize).unwrap()).collect();
    let mut loss = WeightedLoss::new(labels, reduction);
    loss.set_node_weights(&toy.labelled.iter().map(|&v| alpha[v as usize]).collect::<Vec<_>>());
    loss
}

#[test]
fn gcn_agrees_with_golden_logits_and_gradients() {
    let expected = golden("gcn_forward");
    let (net, theta, pool) = (toy::gcn(), params("theta0"), Pool::new());
    let plan = Backbone::<f64>::plan(&net);
    for k in 0..2 {
        let (toy, expected) = (client(k), &expected["clients"][k]);
        let inputs = &toy.inputs;
        let mut dense = vec![0.0; toy.graph.len() * toy.graph.len()];
        let p = inputs.propagation().csr();
        for v in 0..p.rows() {
            p.row_range(v)
                .for_each(|at| dense[v * p.rows() + p.indices()[at] as usize] = p.values()[at]);
        }
        assert_close(&dense, &expected["propagation_matrix_rows_are_targets"], "propagation");

        let mut z = logits(&net, &theta, &View::whole(inputs, plan), &pool);
        assert_close(&z.to_vec(), &expected["logits"], "logits");
        softmax_rows(&mut z);
        assert_close(&z.to_vec(), &expected["probs"], "probabilities");

        let view = View::training(inputs, toy.labelled.clone(), plan);
        let alpha = numbers(&expected["alpha_all_nodes"]);
        for (reduction, name) in
            [(Reduction::Sum, "sum"), (Reduction::Mean, "mean"), (Reduction::WeightedMean, "wmean")]
        {
            let loss = loss_of(&toy, &alpha, reduction);
            let (value, found) = gradients(&net, &theta, &view, &loss, Dropout::off(), &pool);
            assert_close(&[value], &expected[format!("loss_{name}")], name);
            check_gradients(&found, &expected[format!("grad_{name}")], name);
        }
    }
}

#[test]
fn boosted_gcn_agrees_with_golden_logits_and_gradients() {
    let (expected, scores, plain) =
        (golden("boosted_forward"), golden("edge_scores"), golden("gcn_forward"));
    let (net, theta, pool) = (toy::gcn(), params("theta0"), Pool::new());
    let plan = Backbone::<f64>::plan(&net);
    let cases = expected["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 20);
    for case in cases {
        let k = case["client"].as_u64().unwrap() as usize;
        let toy = client(k);
        let inputs = &toy.inputs;
        let sign = if case["sign"].as_i64() == Some(1) { "paper_sign" } else { "reliability_sign" };
        let rule = case["comb"].as_str().unwrap();
        let matrix =
            numbers(&scores["clients"][k][sign][rule]["propagation_matrix_rows_are_targets"]);
        let propagation = from_dense(inputs.propagation(), &matrix);

        let mut whole = View::whole(inputs, plan);
        whole.set_propagation(&propagation);
        let what = format!("client {k} {sign} {rule}");
        assert_close(&logits(&net, &theta, &whole, &pool).to_vec(), &case["logits"], &what);

        let mut view = View::training(inputs, toy.labelled.clone(), plan);
        view.set_propagation(&propagation);
        let alpha = numbers(&plain["clients"][k]["alpha_all_nodes"]);
        let (value, found) = gradients(
            &net,
            &theta,
            &view,
            &loss_of(&toy, &alpha, Reduction::Mean),
            Dropout::off(),
            &pool,
        );
        assert_close(&[value], &case["loss_mean"], &what);
        check_gradients(&found, &case["grad_mean"], &what);
    }
}

fn from_dense(pattern: &Propagation<f64>, dense: &[f64]) -> Propagation<f64> {
    let csr = pattern.csr();
    let n = csr.rows();
    let cell = |v: usize| csr.row_range(v).map(move |at| dense[v * n + csr.indices()[at] as usize]);
    pattern.with_values((0..n).flat_map(cell).collect())
}
