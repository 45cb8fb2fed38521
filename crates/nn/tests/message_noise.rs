//! Noise on messages: its distribution, its independence of views and threads, and its gradients.

use boostfgl_graph::{Adjacency, Features, Graph, Labels, SparseRows, Stream};
use boostfgl_nn::backbones::{Architecture, BACKBONES, Backbone, Extra, Pass, Supervised, build};
use boostfgl_nn::{
    Dropout, Inputs, Matrix, MessageNoise, Params, Pool, Reach, Real, Reduction, View, WeightedLoss,
};

const NODES: usize = 24;
const WIDTH: usize = 6;
const CLASSES: usize = 3;
const DENSE: bool = false;
const SPARSE: bool = true;

/// A random graph with dense or sparse features.
fn graph(nodes: usize, sparse: bool) -> Graph {
    let mut stream = Stream::new(5, "noisy graph", &[]);
    let edges: Vec<_> =
        (0..2 * nodes).map(|_| (stream.below(nodes) as u32, stream.below(nodes) as u32)).collect();
    let (adjacency, _) = Adjacency::from_edges(nodes, &edges, None, false).unwrap();
    let values: Vec<f32> = (0..nodes * WIDTH)
        .map(|_| if sparse && stream.unit() < 0.6 { 0.0 } else { stream.normal() as f32 })
        .collect();
    let features = if sparse {
        let offsets: Vec<usize> = (0..=nodes).map(|v| v * WIDTH).collect();
        let columns: Vec<u32> = (0..nodes * WIDTH).map(|i| (i % WIDTH) as u32).collect();
        Features::Sparse(SparseRows::new(WIDTH, &offsets, &columns, &values).unwrap())
    } else {
        Features::dense(nodes, WIDTH, values).unwrap()
    };
    let labels: Vec<i64> = (0..nodes).map(|_| stream.below(CLASSES) as i64).collect();
    Graph::new("random", adjacency, features, Labels::from_integers(&labels, CLASSES).unwrap())
        .unwrap()
}

/// Names of the networks that pass messages.
fn networks() -> impl Iterator<Item = &'static str> {
    let names = BACKBONES.iter().map(|info| info.name);
    names.filter(|name| network::<f64>(name, 8, 2).plan().hops > 0)
}

fn network<T: Real>(name: &str, hidden: usize, layers: usize) -> Box<dyn Backbone<T>> {
    build(name, Architecture { inputs: WIDTH, hidden, classes: CLASSES, layers }).unwrap()
}

fn inputs_for<T: Real>(net: &dyn Backbone<T>, graph: &Graph) -> Inputs<T> {
    let mut inputs = Inputs::new(graph);
    inputs.set_operator(graph.adjacency(), net.plan().operator);
    inputs
}

/// Parameters whose biases are not 0, so that no unit sits on the kink of ReLU.
fn params<T: Real>(net: &dyn Backbone<T>) -> Params<T> {
    let mut params = Params::glorot(&net.shapes(), 4);
    let mut stream = Stream::new(4, "biases", &[]);
    for t in params.tensors_mut().iter_mut().filter(|t| t.rows() == 1) {
        t.row_mut(0).iter_mut().for_each(|b| *b = T::of(0.3 * stream.normal()));
    }
    params
}

fn all() -> Vec<u32> {
    (0..NODES as u32).collect()
}

fn loss_of<T: Real>(graph: &Graph, nodes: &[u32]) -> WeightedLoss<T> {
    let labels = nodes.iter().map(|&v| graph.labels().get(v as usize).unwrap()).collect();
    WeightedLoss::new(labels, Reduction::Mean)
}

fn logits<T: Real>(
    net: &dyn Backbone<T>,
    view: &View<T>,
    params: &Params<T>,
    noise: MessageNoise,
) -> Matrix<T> {
    Pass::new(net, view, &Pool::new()).noise(noise).logits(params)
}

fn gradients<T: Real>(
    net: &dyn Backbone<T>,
    view: &View<T>,
    params: &Params<T>,
    loss: &WeightedLoss<T>,
    noise: MessageNoise,
) -> (f64, Vec<Matrix<T>>) {
    let pool = Pool::new();
    let pass = Pass::new(net, view, &pool).dropout(Dropout::new(0.4, 8)).noise(noise);
    pass.gradients(params, Supervised { loss, rows: None }, |_, _| Extra::default())
}

/// The largest difference between two matrices.
fn apart<T: Real>(a: &Matrix<T>, b: &Matrix<T>) -> f64 {
    assert_eq!((a.rows(), a.columns()), (b.rows(), b.columns()));
    a.to_vec().iter().zip(b.to_vec()).map(|(a, b)| (a.f64() - b.f64()).abs()).fold(0.0, f64::max)
}

#[test]
fn strength_zero_equals_no_noise_bit_for_bit() {
    for (name, features) in
        BACKBONES.iter().flat_map(|info| [DENSE, SPARSE].map(|f| (info.name, f)))
    {
        let graph = graph(NODES, features);
        let net = network::<f32>(name, 8, 2);
        let (inputs, params) = (inputs_for(&*net, &graph), params(&*net));
        let view = View::training(&inputs, vec![1, 5, 11], net.plan());
        let loss = loss_of(&graph, &[1, 5, 11]);
        let (value, found) = gradients(&*net, &view, &params, &loss, MessageNoise::off());
        let (again, other) = gradients(&*net, &view, &params, &loss, MessageNoise::new(0.0, 77));
        assert!(value.to_bits() == again.to_bits() && found == other, "{name}");
    }
}

/// The noise is the same for the same key. A network without messages has none.
#[test]
fn noise_changes_exactly_the_networks_that_pass_messages() {
    for (info, features) in BACKBONES.iter().flat_map(|info| [DENSE, SPARSE].map(|f| (info, f))) {
        let graph = graph(NODES, features);
        let net = network::<f64>(info.name, 8, 2);
        let (inputs, params) = (inputs_for(&*net, &graph), params(&*net));
        let view = View::whole(&inputs, net.plan());
        let noisy = |sigma, key| logits(&*net, &view, &params, MessageNoise::new(sigma, key));
        let plain = noisy(0.0, 1);
        if net.plan().hops == 0 {
            assert_eq!(plain, noisy(0.5, 1), "{}", info.name);
            continue;
        }
        assert!(apart(&plain, &noisy(0.5, 1)) > 1e-2, "{}", info.name);
        assert_eq!(noisy(0.5, 1), noisy(0.5, 1), "{}", info.name);
        assert!(apart(&noisy(0.5, 1), &noisy(0.5, 2)) > 1e-2, "{}", info.name);
        // Noise changes the order of products, which must not matter: negligible noise has a
        // negligible effect.
        assert!(apart(&plain, &noisy(1e-14, 1)) < 1e-11, "{}", info.name);
    }
}

/// One layer of GCN ends with its messages and the bias: the noise can be read off the logits.
#[test]
fn the_standard_deviation_is_the_strength_times_the_root_mean_square() {
    for features in [DENSE, SPARSE] {
        let graph = graph(1500, features);
        let net = network::<f64>("gcn", 8, 1);
        let (inputs, params) = (inputs_for(&*net, &graph), params(&*net));
        let view = View::whole(&inputs, net.plan());
        let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
        let plain = logits(&*net, &view, &params, MessageNoise::off()).to_vec();
        let bias = params.tensors()[1].row(0);
        let messages: Vec<f64> =
            plain.iter().zip(bias.iter().cycle()).map(|(x, b)| x - b).collect();
        for sigma in [0.2, 3.0] {
            let noisy = logits(&*net, &view, &params, MessageNoise::new(sigma, 6)).to_vec();
            let noise: Vec<f64> = noisy.iter().zip(&plain).map(|(x, y)| x - y).collect();
            let ratio = square(&noise) / square(&messages) / (sigma * sigma);
            assert!((ratio - 1.0).abs() < 0.05, "variance {ratio} of what it should be");
        }
    }
}

/// Central differences, and both one-sided ones: a unit's kink may lie between θ − h and θ + h.
fn compare(
    name: &str,
    params: &mut Params<f64>,
    found: &[Matrix<f64>],
    value: impl Fn(&Params<f64>) -> f64,
) {
    let here = value(params);
    for (t, found) in found.iter().enumerate() {
        for (i, j) in (0..found.rows()).flat_map(|i| (0..found.columns()).map(move |j| (i, j))) {
            let (h, at) = (1e-6, params.tensors()[t].row(i)[j]);
            let mut moved_to = |x: f64| {
                params.tensors_mut()[t].row_mut(i)[j] = x;
                value(params)
            };
            let (above, below) = (moved_to(at + h), moved_to(at - h));
            moved_to(at);
            let slopes = [(above - below) / (2.0 * h), (above - here) / h, (here - below) / h];
            let tape = found.row(i)[j];
            let agrees =
                |slope: &f64| (slope - tape).abs() < 1e-4 * slope.abs().max(tape.abs()).max(1e-2);
            assert!(
                slopes.iter().any(agrees),
                "{name} tensor {t} [{i}, {j}]: tape {tape}, differences {slopes:?}"
            );
        }
    }
}

/// With noise that does not depend on the parameters, the tape has the exact gradient of the loss.
/// The cases cover narrow and wide hidden layers, dense and sparse features, and restricted views.
#[test]
fn gradients_with_fixed_noise_agree_with_finite_differences() {
    for (name, (features, hidden, layers)) in networks()
        .flat_map(|name| [(DENSE, 8, 2), (SPARSE, 8, 2), (DENSE, 2, 3)].map(|case| (name, case)))
    {
        let graph = graph(NODES, features);
        let net = network::<f64>(name, hidden, layers);
        let (inputs, nodes) = (inputs_for(&*net, &graph), vec![0u32, 2, 3, 7, 10]);
        let (loss, view) = (loss_of(&graph, &nodes), View::training(&inputs, nodes, net.plan()));
        let noise = MessageNoise::absolute(0.3, 5);
        let mut params = params(&*net);
        let (value, found) = gradients(&*net, &view, &params, &loss, noise);
        assert_ne!(value, gradients(&*net, &view, &params, &loss, MessageNoise::off()).0);
        compare(name, &mut params, &found, |params| {
            gradients(&*net, &view, params, &loss, noise).0
        });
    }
}

/// No gradient flows through the root mean square: noise of strength σ has the gradient of noise of
/// deviation σρ.
#[test]
fn the_scale_of_the_noise_has_no_gradient() {
    for (name, features) in
        ["gcn", "sgc"].into_iter().flat_map(|name| [DENSE, SPARSE].map(|f| (name, f)))
    {
        let graph = graph(NODES, features);
        let net = network::<f64>(name, 8, 1);
        let (inputs, params, nodes) = (inputs_for(&*net, &graph), params(&*net), all());
        let (loss, view) = (loss_of(&graph, &nodes), View::training(&inputs, nodes, net.plan()));
        let plain = logits(&*net, &view, &params, MessageNoise::off()).to_vec();
        let bias = params.tensors()[1].row(0);
        let squares: f64 =
            plain.iter().zip(bias.iter().cycle()).map(|(x, b)| (x - b) * (x - b)).sum();
        let deviation = 0.7 * (squares / plain.len() as f64).sqrt();
        let relative = gradients(&*net, &view, &params, &loss, MessageNoise::new(0.7, 2));
        let absolute =
            gradients(&*net, &view, &params, &loss, MessageNoise::absolute(deviation, 2));
        assert!((relative.0 - absolute.0).abs() < 1e-12, "{name}");
        assert!(relative.1.iter().zip(&absolute.1).all(|(a, b)| apart(a, b) < 1e-12), "{name}");
    }
}

/// The draws of a node do not depend on the other rows, and a view that reaches every node has
/// exactly the noise of the whole graph, including its scale.
#[test]
fn the_noise_of_a_node_does_not_depend_on_the_view() {
    for (name, (features, hidden, layers)) in networks()
        .flat_map(|name| [(DENSE, 8, 2), (SPARSE, 5, 2), (DENSE, 2, 3)].map(|case| (name, case)))
    {
        let graph = graph(NODES, features);
        let net = network::<f64>(name, hidden, layers);
        let (inputs, params) = (inputs_for(&*net, &graph), params(&*net));
        let whole = View::whole(&inputs, net.plan());
        let few = vec![1u32, 6, 20];
        let part = View::training(&inputs, few.clone(), net.plan());
        let fixed = MessageNoise::absolute(0.4, 3);
        let (a, b) = (logits(&*net, &whole, &params, fixed), logits(&*net, &part, &params, fixed));
        for (i, &v) in few.iter().enumerate() {
            assert!(
                b.row(i).iter().zip(a.row(v as usize)).all(|(x, y)| (x - y).abs() < 1e-12),
                "{name}, node {v}"
            );
        }
        let every_node = View::reaching(&inputs, few, Reach::Everything, net.plan());
        let noise = MessageNoise::new(0.4, 3);
        assert_eq!(
            logits(&*net, &whole, &params, noise),
            logits(&*net, &every_node, &params, noise),
            "{name}"
        );
    }
}

/// 3 000 · 192 numbers are drawn on several threads.
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let graph = graph(3000, DENSE);
    for name in ["gcn", "gat"] {
        let net = network::<f32>(name, 192, 2);
        let (inputs, params) = (inputs_for(&*net, &graph), params(&*net));
        let nodes: Vec<u32> = (0..3000).step_by(2).collect();
        let (loss, view) = (loss_of(&graph, &nodes), View::training(&inputs, nodes, net.plan()));
        let gradients_on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| gradients(&*net, &view, &params, &loss, MessageNoise::new(0.5, 1)))
        };
        let on_one = gradients_on(1);
        for threads in [2, 3] {
            let other = gradients_on(threads);
            assert!(
                on_one.0.to_bits() == other.0.to_bits() && on_one.1 == other.1,
                "{name}, {threads} threads"
            );
        }
    }
}
