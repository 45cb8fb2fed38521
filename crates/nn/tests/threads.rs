//! The same digits for any number of threads, on graphs large enough that every parallel path is
//! taken.

use boostfgl_graph::generator::{FeatureSpec, Spec, generate, preset};
use boostfgl_graph::{Graph, Stream};
use boostfgl_nn::backbones::{Architecture, BACKBONES, Backbone, build, gradients, logits};
use boostfgl_nn::optim::{Adam, AdamConfig, Optimizer};
use boostfgl_nn::{Dropout, Inputs, Params, Pool, Reduction, View, WeightedLoss, softmax_rows};
use rayon::ThreadPoolBuilder;

/// 12 000 · 192 numbers in a hidden layer and 90 000 · 32 multiply-adds in the last propagation are
/// both more than the 2²¹ below which a kernel stays on its thread.
const NODES: usize = 12_000;
const EDGES: usize = 40_000;
const CLASSES: usize = 32;
const HIDDEN: usize = 192;

fn large(features: FeatureSpec) -> Graph {
    let base = preset("demo").unwrap().spec;
    let spec = Spec { nodes: NODES, edges: EDGES, classes: CLASSES, features, ..base };
    generate("large", &spec, 3, &mut |_, _| {}).unwrap()
}

fn bits(params: &Params<f32>) -> Vec<u8> {
    let mut bytes = Vec::new();
    params.feed(|part| bytes.extend_from_slice(part));
    bytes
}

/// Everything that three steps of training compute: losses, the model, and the probabilities of all
/// nodes.
fn train(
    inputs: &Inputs<f32>,
    graph: &Graph,
    net: &dyn Backbone<f32>,
) -> (Vec<u64>, Vec<u8>, Vec<u32>) {
    // More training nodes than a partial sum holds, more columns than one piece of the optimiser.
    let nodes: Vec<u32> = (0..NODES as u32).filter(|v| v % 5 != 0).collect();
    assert!(nodes.len() > 2 * 4096);
    let labels = nodes.iter().map(|&v| graph.labels().get(v as usize).unwrap()).collect();
    let loss = WeightedLoss::new(labels, Reduction::Mean);
    let view = View::training(inputs, nodes, net.plan());
    let mut params = Params::glorot(&net.shapes(), 11);
    let mut adam = Adam::new(AdamConfig::default());
    let pool = Pool::new();
    let mut losses = Vec::new();
    for step in 0..3 {
        let (value, gradient) =
            gradients(net, &params, &view, &loss, Dropout::new(0.5, step), &pool);
        adam.step(&mut params, &gradient);
        gradient.into_iter().for_each(|g| pool.put(g));
        losses.push(value.to_bits());
    }
    let mut out = logits(net, &params, &View::whole(inputs, net.plan()), &pool);
    softmax_rows(&mut out);
    (losses, bits(&params), out.to_vec().into_iter().map(f32::to_bits).collect())
}

fn same_for_all_thread_counts(features: FeatureSpec, propagate_features: bool) {
    let graph = large(features);
    let inputs = Inputs::<f32>::new(&graph);
    let architecture =
        Architecture { inputs: inputs.width(), hidden: HIDDEN, classes: CLASSES, layers: 2 };
    let net = build::<f32>("gcn", architecture).unwrap();
    assert_eq!(net.plan().propagate_features, propagate_features);
    let train_on = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| train(&inputs, &graph, &*net))
    };
    let on_one = train_on(1);
    let first = f64::from_bits(on_one.0[0]);
    assert!(first.is_finite() && f64::from_bits(on_one.0[2]) < first, "training must do something");
    for threads in [2, 4] {
        let other = train_on(threads);
        assert_eq!(on_one.0, other.0, "losses with {threads} threads");
        assert!(on_one.1 == other.1, "the model differs with {threads} threads");
        assert!(on_one.2 == other.2, "probabilities differ with {threads} threads");
    }
}

/// 1 024 · 192 weights: the optimiser is cut into pieces too.
#[test]
fn sparse_features_give_the_same_bits_on_any_number_of_threads() {
    let features = FeatureSpec::Sparse { columns: 1024, per_node: 16, signal: 0.5 };
    same_for_all_thread_counts(features, false);
}

/// Fewer features than hidden units: P·X is computed once.
#[test]
fn narrow_dense_features_give_the_same_bits_on_any_number_of_threads() {
    let features = FeatureSpec::Dense { columns: 48, signal: 0.2 };
    same_for_all_thread_counts(features, true);
}

/// More features than hidden units: X·W comes first.
#[test]
fn wide_dense_features_give_the_same_bits_on_any_number_of_threads() {
    let features = FeatureSpec::Dense { columns: 200, signal: 0.2 };
    same_for_all_thread_counts(features, false);
}

/// Every other network, with 90 000 · 32 numbers in each pass over arcs and sums over more rows
/// than one partial sum.
#[test]
fn all_backbones_give_the_same_bits_on_any_number_of_threads() {
    let graph = large(FeatureSpec::Dense { columns: 48, signal: 0.2 });
    for info in BACKBONES {
        let architecture = Architecture { inputs: 48, hidden: 32, classes: CLASSES, layers: 2 };
        let net = build::<f32>(info.name, architecture).unwrap();
        let mut inputs = Inputs::<f32>::new(&graph);
        inputs.set_operator(graph.adjacency(), net.plan().operator);
        let train_on = |threads: usize| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| train(&inputs, &graph, &*net))
        };
        let on_one = train_on(1);
        assert!(
            on_one.0.iter().all(|loss| f64::from_bits(*loss).is_finite()),
            "{} diverges",
            info.name
        );
        assert!(on_one == train_on(3), "digits of {} depend on the number of threads", info.name);
    }
}

/// A pool of buffers with old content gives the bits of fresh buffers.
#[test]
fn reused_buffers_change_no_bit() {
    let graph = large(FeatureSpec::Sparse { columns: 256, per_node: 16, signal: 0.5 });
    let inputs = Inputs::<f32>::new(&graph);
    let architecture = Architecture { inputs: 256, hidden: 24, classes: CLASSES, layers: 2 };
    let net = build::<f32>("gcn", architecture).unwrap();
    let params = Params::glorot(&net.shapes(), 1);
    let view = View::whole(&inputs, net.plan());
    let fresh = logits(&*net, &params, &view, &Pool::new());
    let pool = Pool::new();
    let mut stream = Stream::new(0, "rubbish", &[]);
    for columns in [24, 32, 7, 1] {
        let values: Vec<f32> = (0..NODES * columns).map(|_| stream.normal() as f32).collect();
        pool.put(boostfgl_nn::Matrix::from_rows(NODES, columns, &values));
    }
    for _ in 0..2 {
        let again = logits(&*net, &params, &view, &pool);
        assert!(fresh == again, "a recycled buffer leaked into the result");
        pool.put(again);
    }
}
