//! Every gradient against central finite differences, in f64.

use boostfgl_graph::{Adjacency, Features, Graph, Labels, SparseRows, Stream};
use boostfgl_nn::backbones::{
    Architecture, BACKBONES, Backbone, Extra, Pass, Supervised, build, gradients,
};
use boostfgl_nn::{
    Dropout, Inputs, Matrix, Params, Pool, Reach, Reduction, Tape, TensorShape, Var, View,
    WeightedLoss,
};
use proptest::prelude::*;

const NODES: usize = 11;
const WIDTH: usize = 6;
const CLASSES: usize = 3;

fn graph(seed: u64, sparse: bool, weighted: bool, directed: bool) -> Graph {
    let mut stream = Stream::new(seed, "gradient test", &[]);
    let edges: Vec<(u32, u32)> =
        (0..18).map(|_| (stream.below(NODES) as u32, stream.below(NODES) as u32)).collect();
    let weights: Vec<f32> = edges.iter().map(|_| 0.5 + stream.unit() as f32).collect();
    let (adjacency, _) =
        Adjacency::from_edges(NODES, &edges, weighted.then_some(&weights[..]), directed).unwrap();
    let values: Vec<f32> = (0..NODES * WIDTH)
        .map(|_| if sparse && stream.unit() < 0.6 { 0.0 } else { stream.normal() as f32 })
        .collect();
    let features = if sparse {
        let offsets: Vec<usize> = (0..=NODES).map(|v| v * WIDTH).collect();
        let columns: Vec<u32> = (0..NODES * WIDTH).map(|i| (i % WIDTH) as u32).collect();
        Features::Sparse(SparseRows::new(WIDTH, &offsets, &columns, &values).unwrap())
    } else {
        Features::dense(NODES, WIDTH, values).unwrap()
    };
    let labels: Vec<i64> = (0..NODES).map(|_| stream.below(CLASSES) as i64).collect();
    Graph::new("random", adjacency, features, Labels::from_integers(&labels, CLASSES).unwrap())
        .unwrap()
}

/// Parameters whose biases are not 0: a node without features would sit exactly on the kink of
/// ReLU.
fn with_biases(backbone: &dyn Backbone<f64>, seed: u64) -> Params<f64> {
    let mut params = Params::glorot(&backbone.shapes(), seed);
    let mut stream = Stream::new(seed, "biases", &[]);
    for t in params.tensors_mut().iter_mut().filter(|t| t.rows() == 1) {
        t.row_mut(0).iter_mut().for_each(|b| *b = 0.3 * stream.normal());
    }
    params
}

/// The graph with the messages this network passes.
fn inputs_for(backbone: &dyn Backbone<f64>, graph: &Graph) -> Inputs<f64> {
    let mut inputs = Inputs::new(graph);
    inputs.set_operator(graph.adjacency(), backbone.plan().operator);
    inputs
}

/// Compares the tape's gradient of every parameter with (L(θ + h) − L(θ − h)) / 2h.
fn check(name: &str, backbone: &dyn Backbone<f64>, graph: &Graph, dropout: Dropout, seed: u64) {
    let inputs = inputs_for(backbone, graph);
    let nodes = vec![0u32, 2, 3, 7, 10];
    let labels = nodes.iter().map(|&v| graph.labels().get(v as usize).unwrap()).collect();
    let mut loss = WeightedLoss::new(labels, Reduction::Mean);
    loss.set_node_weights(&[1.0, 1.3, 1.1, 0.7, 1.9]);
    let view = View::training(&inputs, nodes, backbone.plan());
    let mut params = with_biases(backbone, seed);
    let pool = Pool::new();
    let (_, found) = gradients(backbone, &params, &view, &loss, dropout, &pool);
    compare(name, &mut params, &found, |params| {
        gradients(backbone, params, &view, &loss, dropout, &pool).0
    });
}

/// Central differences, and both one-sided ones: where a unit's kink lies between θ − h and θ + h,
/// the central difference mixes two slopes, and the tape has the slope on the side where θ is.
fn compare(
    name: &str,
    params: &mut Params<f64>,
    found: &[Matrix<f64>],
    value: impl Fn(&Params<f64>) -> f64,
) {
    let here = value(params);
    for (t, found) in found.iter().enumerate() {
        for i in 0..found.rows() {
            for j in 0..found.columns() {
                let (h, at) = (1e-6, params.tensors()[t].row(i)[j]);
                let mut moved_to = |x: f64| {
                    params.tensors_mut()[t].row_mut(i)[j] = x;
                    value(params)
                };
                let (above, below) = (moved_to(at + h), moved_to(at - h));
                moved_to(at);
                let slopes = [(above - below) / (2.0 * h), (above - here) / h, (here - below) / h];
                let tape = found.row(i)[j];
                let agrees = |slope: &f64| {
                    (slope - tape).abs() < 1e-4 * slope.abs().max(tape.abs()).max(1e-2)
                };
                assert!(
                    slopes.iter().any(agrees),
                    "{name} tensor {t} [{i}, {j}]: tape {tape}, differences {slopes:?}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn tape_agrees_with_finite_differences(
        seed in 0u64..10_000,
        sparse in any::<bool>(),
        weighted in any::<bool>(),
        directed in any::<bool>(),
        layers in 1usize..4,
        hidden in prop::sample::select(vec![3usize, 8, 9]),
        p in prop::sample::select(vec![0.0, 0.5]),
    ) {
        let architecture = Architecture { inputs: WIDTH, hidden, classes: CLASSES, layers };
        let graph = graph(seed, sparse, weighted, directed);
        for info in BACKBONES {
            let backbone = build::<f64>(info.name, architecture).unwrap();
            check(info.name, &*backbone, &graph, Dropout::new(p, seed), seed);
        }
    }
}

/// The restricted training view agrees with the whole graph, with the same dropout.
#[test]
fn restricting_a_view_changes_no_logit_and_no_gradient() {
    let cases = [(true, 5, 2), (false, 5, 3), (false, 9, 1), (false, 8, 2)];
    for (info, (sparse, hidden, layers)) in
        BACKBONES.iter().flat_map(|b| cases.map(|case| (b, case)))
    {
        let graph = graph(5, sparse, false, false);
        let architecture = Architecture { inputs: WIDTH, hidden, classes: CLASSES, layers };
        let net = build::<f64>(info.name, architecture).unwrap();
        let inputs = inputs_for(&*net, &graph);
        let params = Params::glorot(&net.shapes(), 1);
        let pool = Pool::new();
        let loss = |nodes: &[u32], weights: &[f64]| {
            let labels = nodes.iter().map(|&v| graph.labels().get(v as usize).unwrap()).collect();
            let mut loss = WeightedLoss::new(labels, Reduction::Sum);
            loss.set_node_weights(weights);
            let view = View::training(&inputs, nodes.to_vec(), net.plan());
            gradients(&*net, &params, &view, &loss, Dropout::new(0.5, 3), &pool)
        };
        let all: Vec<u32> = (0..NODES as u32).collect();
        let only: Vec<f64> = all.iter().map(|v| f64::from([1u32, 6].contains(v))).collect();
        let (whole, part) = (loss(&all, &only), loss(&[1, 6], &[1.0, 1.0]));
        assert!((whole.0 - part.0).abs() < 1e-12, "{}: {} is not {}", info.name, whole.0, part.0);
        for (a, b) in whole.1.iter().zip(&part.1) {
            assert!(
                a.to_vec().iter().zip(b.to_vec()).all(|(a, b)| (a - b).abs() < 1e-12),
                "{}",
                info.name
            );
        }
    }
}

/// ½ Σ aᵢⱼ xᵢⱼ² with some numbers a, and its gradient.
fn quadratic(x: &Matrix<f64>) -> (f64, Matrix<f64>) {
    let mut gradient = Matrix::zeros(x.rows(), x.columns());
    let mut value = 0.0;
    for i in 0..x.rows() {
        for (j, (g, x)) in gradient.row_mut(i).iter_mut().zip(x.row(i)).enumerate() {
            let a = 0.1 * ((3 * i + 5 * j) % 7) as f64;
            (*g, value) = (a * x, value + 0.5 * a * x * x);
        }
    }
    (value, gradient)
}

/// Loss terms that are given by their gradients, on logits and hidden representations of more nodes
/// than are supervised.
#[test]
fn gradients_with_extra_terms_agree_with_finite_differences() {
    let cases =
        [(Reach::Output, 2), (Reach::Hidden, 2), (Reach::Everything, 3), (Reach::Everything, 1)];
    for (name, (reach, layers)) in BACKBONES.iter().flat_map(|b| cases.map(|case| (b.name, case))) {
        let graph = graph(3, true, false, false);
        let net =
            build::<f64>(name, Architecture { inputs: WIDTH, hidden: 6, classes: CLASSES, layers })
                .unwrap();
        let inputs = inputs_for(&*net, &graph);
        let nodes = vec![1u32, 4, 6];
        let labels = nodes.iter().map(|&v| graph.labels().get(v as usize).unwrap()).collect();
        let loss = WeightedLoss::new(labels, Reduction::Mean);
        let view = View::reaching(&inputs, nodes.clone(), reach, net.plan());
        let all: Vec<u32> = (0..NODES as u32).collect();
        match reach {
            Reach::Output => assert_eq!(view.nodes(), nodes),
            Reach::Hidden if net.plan().hidden.is_none() => {
                assert_eq!(view.hidden_nodes(), [0u32; 0])
            }
            Reach::Hidden => assert_eq!(view.hidden_nodes(), all),
            Reach::Everything => assert_eq!(view.nodes(), all),
        }
        let rows = (view.nodes() != nodes).then_some(&nodes[..]);
        let pool = Pool::new();
        let pass = |params: &Params<f64>| {
            let supervised = Supervised { loss: &loss, rows };
            Pass::new(&*net, &view, &pool).dropout(Dropout::new(0.4, 8)).gradients(
                params,
                supervised,
                |logits, hidden| {
                    let ((on_logits, g), of_hidden) = (quadratic(logits), hidden.map(quadratic));
                    let value = on_logits + of_hidden.as_ref().map_or(0.0, |(value, _)| *value);
                    Extra { value, logits: Some(g), hidden: of_hidden.map(|(_, g)| g) }
                },
            )
        };
        let mut params = with_biases(&*net, 4);
        let (_, found) = pass(&params);
        compare(name, &mut params, &found, |params| pass(params).0);
    }
}

#[test]
fn unknown_backbones_are_refused_with_the_nearest_name() {
    let architecture = Architecture { inputs: 1, hidden: 1, classes: 2, layers: 1 };
    let error = build::<f32>("gnc", architecture).err().unwrap();
    assert_eq!(error.to_string(), "unknown backbone `gnc` (did you mean `gcn`?)");
}

/// (a + b)·a uses both inputs of the sum and one of them twice.
#[test]
fn the_gradient_of_a_sum_reaches_both_terms() {
    let mut stream = Stream::new(4, "sum", &[]);
    let shapes = [TensorShape::weight("a", 3, 3), TensorShape::weight("b", 3, 3)];
    let drawn = (0..2)
        .map(|_| Matrix::from_rows(3, 3, &(0..9).map(|_| stream.normal()).collect::<Vec<_>>()))
        .collect();
    let mut params = Params::from_tensors(&shapes, drawn);
    let (pool, loss) = (Pool::new(), WeightedLoss::new(vec![0, 2, 1], Reduction::Mean));
    let value = |params: &Params<f64>| {
        let mut tape = Tape::new(&pool);
        let vars: Vec<Var> = params.tensors().iter().map(|t| tape.parameter(t)).collect();
        let sum = tape.add(vars[0], vars[1]);
        let product = tape.matmul(sum, vars[0]);
        let total = tape.cross_entropy(product, &loss);
        (tape.value(total).row(0)[0], tape.backward(total, &vars))
    };
    let (_, found) = value(&params);
    compare("sum", &mut params, &found, |params| value(params).0);
}

/// A product with the output of a ReLU: only where that is not zero does its gradient matter.
#[test]
fn the_gradient_of_an_active_product_reaches_both_factors() {
    let mut stream = Stream::new(9, "active", &[]);
    let shapes = [
        TensorShape::weight("x", 7, 70),
        TensorShape::bias("bias", 70),
        TensorShape::weight("w", 70, 3),
    ];
    let mut draw = |rows: usize, columns: usize| {
        Matrix::from_rows(
            rows,
            columns,
            &(0..rows * columns).map(|_| stream.normal()).collect::<Vec<_>>(),
        )
    };
    let mut params = Params::from_tensors(&shapes, vec![draw(7, 70), draw(1, 70), draw(70, 3)]);
    let loss = WeightedLoss::new(vec![0, 2, 1, 1, 0, 2, 0], Reduction::Mean);
    let (pool, nodes) = (Pool::new(), Vec::from_iter(0..7));
    // The input passes through a product, because the hidden layer writes over what it is given.
    let eye = Matrix::from_rows(
        7,
        7,
        &(0..49).map(|i| f64::from(u8::from(i % 8 == 0))).collect::<Vec<_>>(),
    );
    let value = |params: &Params<f64>| {
        let mut tape = Tape::new(&pool);
        let vars: Vec<Var> = params.tensors().iter().map(|t| tape.parameter(t)).collect();
        let eye = tape.constant(&eye);
        let copy = tape.matmul(eye, vars[0]);
        let h = tape.hidden(copy, vars[1], &nodes, Dropout::new(0.5, 3), 0);
        let product = tape.active_product(h, vars[2]);
        let total = tape.cross_entropy(product, &loss);
        (tape.value(total).row(0)[0], tape.backward(total, &vars))
    };
    let (_, found) = value(&params);
    compare("active product", &mut params, &found, |params| value(params).0);
}
