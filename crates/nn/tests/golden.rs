//! The fixtures in `tests/golden` come from an independent dense float64 implementation in PyTorch
//! autograd (see the README there); results must agree to 1e-10.

use boostfgl_graph::{Adjacency, Features, Graph, Labels};
use boostfgl_nn::backbones::{Architecture, Backbone, Gcn, gradients, logits};
use boostfgl_nn::{
    Dropout, Inputs, Matrix, Params, Pool, Propagation, Reduction, View, WeightedLoss, softmax_rows,
};
use serde_json::Value;

const TOLERANCE: f64 = 1e-10;

fn golden(name: &str) -> Value {
    let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

fn indices(value: &Value) -> Vec<u32> {
    numbers(value).into_iter().map(|x| x as u32).collect()
}

fn assert_close(found: &[f64], expected: &Value, what: &str) {
    let expected = numbers(expected);
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        assert!((a - b).abs() < TOLERANCE, "{what}[{i}]: {a} is not {b}");
    }
}

struct Toy {
    graph: Graph,
    labelled: Vec<u32>,
}

fn client(k: usize) -> Toy {
    let toy = golden("graph");
    let pairs: Vec<(u32, u32)> =
        indices(&toy["undirected_edges"]).chunks(2).map(|e| (e[0], e[1])).collect();
    let features: Vec<f32> = numbers(&toy["features"]).into_iter().map(|x| x as f32).collect();
    let labels: Vec<i64> = numbers(&toy["labels"]).into_iter().map(|x| x as i64).collect();
    let (adjacency, _) = Adjacency::from_edges(12, &pairs, None, false).unwrap();
    let features = Features::dense(12, 4, features).unwrap();
    let whole =
        Graph::new("toy", adjacency, features, Labels::from_integers(&labels, 3).unwrap()).unwrap();
    let nodes = indices(&toy["clients"][k]["global_ids"]);
    let split = numbers(&toy["split"]);
    let labelled =
        (0..nodes.len() as u32).filter(|&v| split[nodes[v as usize] as usize] == 0.0).collect();
    Toy { graph: whole.induced(&nodes), labelled }
}

/// The features of the fixture are decimal fractions, which f32 would round: they are read in f64.
fn exact_inputs(toy: &Toy, k: usize) -> Inputs<f64> {
    let file = golden("graph");
    let all = numbers(&file["features"]);
    let nodes = indices(&file["clients"][k]["global_ids"]);
    let exact: Vec<f64> = nodes.iter().flat_map(|&v| all[v as usize * 4..][..4].to_vec()).collect();
    Inputs::with_dense_features(&toy.graph, &Matrix::from_rows(nodes.len(), 4, &exact))
}

fn backbone() -> Gcn {
    Gcn::new(Architecture { inputs: 4, hidden: 5, classes: 3, layers: 2 })
}

fn params(name: &str) -> Params<f64> {
    let theta = &golden("graph")["params"][name];
    let shapes = Backbone::<f64>::shapes(&backbone());
    let tensors = ["W1", "b1", "W2", "b2"].iter().zip(&shapes);
    let tensors =
        tensors.map(|(t, s)| Matrix::from_rows(s.rows, s.columns, &numbers(&theta[t]))).collect();
    Params::from_tensors(&shapes, tensors)
}

fn check_gradients(found: &[Matrix<f64>], expected: &Value, what: &str) {
    for (tensor, name) in found.iter().zip(["W1", "b1", "W2", "b2"]) {
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
    let (net, theta, pool) = (backbone(), params("theta0"), Pool::new());
    let plan = Backbone::<f64>::plan(&net);
    for k in 0..2 {
        let (toy, expected) = (client(k), &expected["clients"][k]);
        let inputs = exact_inputs(&toy, k);
        let mut dense = vec![0.0; toy.graph.len() * toy.graph.len()];
        let p = inputs.propagation().csr();
        for v in 0..p.rows() {
            p.row_range(v)
                .for_each(|at| dense[v * p.rows() + p.indices()[at] as usize] = p.values()[at]);
        }
        assert_close(&dense, &expected["propagation_matrix_rows_are_targets"], "propagation");

        let mut z = logits(&net, &theta, &View::whole(&inputs, plan), &pool);
        assert_close(&z.to_vec(), &expected["logits"], "logits");
        softmax_rows(&mut z);
        assert_close(&z.to_vec(), &expected["probs"], "probabilities");

        let view = View::training(&inputs, toy.labelled.clone(), plan);
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
    let (net, theta, pool) = (backbone(), params("theta0"), Pool::new());
    let plan = Backbone::<f64>::plan(&net);
    let cases = expected["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 20);
    for case in cases {
        let k = case["client"].as_u64().unwrap() as usize;
        let toy = client(k);
        let inputs = exact_inputs(&toy, k);
        let sign = if case["sign"].as_i64() == Some(1) { "paper_sign" } else { "reliability_sign" };
        let rule = case["comb"].as_str().unwrap();
        let matrix =
            numbers(&scores["clients"][k][sign][rule]["propagation_matrix_rows_are_targets"]);
        let propagation = from_dense(inputs.propagation(), &matrix);

        let mut whole = View::whole(&inputs, plan);
        whole.set_propagation(&propagation);
        let what = format!("client {k} {sign} {rule}");
        assert_close(&logits(&net, &theta, &whole, &pool).to_vec(), &case["logits"], &what);

        let mut view = View::training(&inputs, toy.labelled.clone(), plan);
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
