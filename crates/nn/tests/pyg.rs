//! Logits and gradients against PyTorch Geometric's layers and, where it has none, dense matrices
//! in PyTorch autograd. `tests/fixtures/pyg_backbones.json` was written by `pyg_backbones.py` in
//! the same folder, in float64 and without dropout.

use boostfgl_graph::{Adjacency, Features, Graph, Labels};
use boostfgl_nn::backbones::{Architecture, BACKBONES, Backbone, build, gradients, logits};
use boostfgl_nn::{Dropout, Inputs, Matrix, Params, Pool, Real, Reduction, View, WeightedLoss};
use serde_json::Value;

const NODES: usize = 12;
const WIDTH: usize = 5;
const CLASSES: usize = 3;

fn fixtures() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/pyg_backbones.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

fn matrix<T: Real>(rows: usize, columns: usize, value: &Value) -> Matrix<T> {
    Matrix::from_rows(rows, columns, &numbers(value).into_iter().map(T::of).collect::<Vec<_>>())
}

fn close<T: Real>(found: &Matrix<T>, expected: &Value, tolerance: f64, what: &str) {
    let (found, expected) = (found.to_vec(), numbers(expected));
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
        assert!((a.f64() - b).abs() < tolerance, "{what}[{i}]: {a:?} is not {b}");
    }
}

/// The network of a case, its parameters, and its graph.
fn prepare<T: Real>(file: &Value, case: &Value) -> (Box<dyn Backbone<T>>, Params<T>, Inputs<T>) {
    let hidden = case["hidden"].as_u64().unwrap() as usize;
    let architecture = Architecture { inputs: WIDTH, hidden, classes: CLASSES, layers: 2 };
    let net = build::<T>(case["backbone"].as_str().unwrap(), architecture).unwrap();
    let shapes = net.shapes();
    assert_eq!(case["tensors"].as_array().unwrap().len(), shapes.len());
    let tensors = shapes.iter().zip(case["tensors"].as_array().unwrap());
    let tensors = tensors.map(|(s, t)| matrix(s.rows, s.columns, t)).collect();

    let edges = numbers(&file["graphs"][case["graph"].as_str().unwrap()]["edges"]);
    let edges: Vec<(u32, u32)> = edges.chunks(2).map(|e| (e[0] as u32, e[1] as u32)).collect();
    let (adjacency, _) = Adjacency::from_edges(NODES, &edges, None, false).unwrap();
    let features = Features::dense(NODES, 1, vec![0.0; NODES]).unwrap();
    let labels = Labels::from_integers(&[0; NODES], CLASSES).unwrap();
    let graph = Graph::new("fixture", adjacency, features, labels).unwrap();
    // The fixture's digits, not what f32 leaves of them.
    let mut inputs = Inputs::with_dense_features(&graph, &matrix(NODES, WIDTH, &case["features"]));
    inputs.set_operator(graph.adjacency(), net.plan().operator);
    (net, Params::from_tensors(&shapes, tensors), inputs)
}

fn check<T: Real>(file: &Value, case: &Value, tolerance: f64) {
    let (net, params, inputs) = prepare::<T>(file, case);
    let (pool, what) =
        (Pool::new(), format!("{} {} {}", case["backbone"], case["graph"], case["hidden"]));
    let whole = View::whole(&inputs, net.plan());
    close(
        &logits(&*net, &params, &whole, &pool),
        &case["logits"],
        tolerance,
        &format!("{what} logits"),
    );

    let labelled: Vec<u32> = numbers(&case["judged"]).into_iter().map(|v| v as u32).collect();
    let labels = numbers(&case["labels"]);
    let labels = labelled.iter().map(|&v| labels[v as usize] as u32).collect();
    let view = View::training(&inputs, labelled, net.plan());
    let loss = WeightedLoss::new(labels, Reduction::Mean);
    let (value, found) = gradients(&*net, &params, &view, &loss, Dropout::off(), &pool);
    assert!((value - case["loss"].as_f64().unwrap()).abs() < tolerance, "{what}: loss {value}");
    for ((found, expected), shape) in
        found.iter().zip(case["gradients"].as_array().unwrap()).zip(net.shapes())
    {
        close(found, expected, tolerance, &format!("{what} gradient of {}", shape.name));
    }
}

fn cases(file: &Value) -> &[Value] {
    let cases = file["cases"].as_array().unwrap();
    let sizes = Architecture { inputs: WIDTH, hidden: 8, classes: CLASSES, layers: 2 };
    for info in BACKBONES {
        if build::<f64>(info.name, sizes).unwrap().plan().hops == 0 {
            continue;
        }
        let here = cases.iter().filter(|case| case["backbone"] == info.name);
        let graphs: Vec<&str> = here.map(|case| case["graph"].as_str().unwrap()).collect();
        assert!(
            graphs.contains(&"connected") && graphs.contains(&"isolated node"),
            "no fixture of {}",
            info.name
        );
    }
    cases
}

#[test]
fn double_precision_agrees_to_ten_digits() {
    let file = fixtures();
    cases(&file).iter().for_each(|case| check::<f64>(&file, case, 1e-10));
}

#[test]
fn single_precision_agrees_to_five_digits() {
    let file = fixtures();
    cases(&file).iter().for_each(|case| check::<f32>(&file, case, 1e-5));
}
