//! Properties that hold for every backbone.

use boostfgl_graph::{Adjacency, Features, Graph, Labels, SparseRows, Stream};
use boostfgl_nn::backbones::{Architecture, BACKBONES, Backbone, Pass, build, gradients, logits};
use boostfgl_nn::{
    Dropout, Inputs, Matrix, Operator, Params, Pool, Propagation, Reduction, View, WeightedLoss,
};
use std::sync::Arc;

const NODES: usize = 14;
const WIDTH: usize = 6;
const CLASSES: usize = 3;
/// A node without edges.
const HERMIT: usize = 13;

fn edges() -> Vec<(u32, u32)> {
    let mut stream = Stream::new(4, "backbone test", &[]);
    let ring = (0..HERMIT as u32).map(|v| (v, (v + 1) % HERMIT as u32));
    let chords: Vec<(u32, u32)> =
        (0..6).map(|_| (stream.below(HERMIT) as u32, stream.below(HERMIT) as u32)).collect();
    ring.chain(chords).collect()
}

fn numbers() -> Vec<f32> {
    let mut stream = Stream::new(5, "backbone test", &[]);
    (0..NODES * WIDTH).map(|_| stream.normal() as f32).collect()
}

fn graph(edges: &[(u32, u32)], numbers: &[f32], sparse: bool) -> Graph {
    let (adjacency, _) = Adjacency::from_edges(NODES, edges, None, false).unwrap();
    let features = if sparse {
        let offsets: Vec<usize> = (0..=NODES).map(|v| v * WIDTH).collect();
        let columns: Vec<u32> = (0..NODES * WIDTH).map(|i| (i % WIDTH) as u32).collect();
        Features::Sparse(SparseRows::new(WIDTH, &offsets, &columns, numbers).unwrap())
    } else {
        Features::dense(NODES, WIDTH, numbers.to_vec()).unwrap()
    };
    Graph::new("test", adjacency, features, Labels::from_integers(&[1; NODES], CLASSES).unwrap())
        .unwrap()
}

/// Every backbone with one to three layers, and the graph with the messages it passes.
fn each(
    graph: &Graph,
    mut check: impl FnMut(&str, &dyn Backbone<f64>, &Params<f64>, &Inputs<f64>),
) {
    for info in BACKBONES {
        for (layers, hidden) in [(1, 4), (2, 5), (2, 16), (3, 8)] {
            let architecture = Architecture { inputs: WIDTH, hidden, classes: CLASSES, layers };
            let net = build::<f64>(info.name, architecture).unwrap();
            let mut inputs = Inputs::new(graph);
            inputs.set_operator(graph.adjacency(), net.plan().operator);
            let what = format!("{} of {layers} layers, hidden {hidden}", info.name);
            check(&what, &*net, &alive(&*net), &inputs);
        }
    }
}

/// Parameters with positive biases. Without biases all units of a narrow layer could be 0, and the
/// layer would pass nothing on.
fn alive(net: &dyn Backbone<f64>) -> Params<f64> {
    let shapes = net.shapes();
    let mut params = Params::glorot(&shapes, 3);
    for (tensor, _) in params
        .tensors_mut()
        .iter_mut()
        .zip(&shapes)
        .filter(|(_, shape)| shape.name.contains("bias"))
    {
        tensor.row_mut(0).fill(0.5);
    }
    params
}

fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10)
}

/// Loss and gradients over some nodes, with dropout, as bits.
fn step(net: &dyn Backbone<f64>, params: &Params<f64>, view: &View<f64>) -> Vec<u64> {
    let loss = WeightedLoss::new(vec![1; view.nodes().len()], Reduction::Mean);
    let (value, found) = gradients(net, params, view, &loss, Dropout::new(0.3, 9), &Pool::new());
    std::iter::once(value).chain(found.iter().flat_map(Matrix::to_vec)).map(f64::to_bits).collect()
}

#[test]
fn permuting_nodes_permutes_logits() {
    let renamed = |v: u32| (v * 5 + 3) % NODES as u32;
    let (plain, features) = (edges(), numbers());
    let moved: Vec<(u32, u32)> = plain.iter().map(|&(a, b)| (renamed(a), renamed(b))).collect();
    let mut rows = features.clone();
    for v in 0..NODES {
        rows[renamed(v as u32) as usize * WIDTH..][..WIDTH]
            .copy_from_slice(&features[v * WIDTH..][..WIDTH]);
    }
    let mut before = Vec::new();
    each(&graph(&plain, &features, false), |_, net, params, inputs| {
        before.push(logits(net, params, &View::whole(inputs, net.plan()), &Pool::new()));
    });
    let mut before = before.into_iter();
    each(&graph(&moved, &rows, true), |what, net, params, inputs| {
        let (before, after) = (
            before.next().unwrap(),
            logits(net, params, &View::whole(inputs, net.plan()), &Pool::new()),
        );
        assert!(
            (0..NODES).all(|v| near(before.row(v), after.row(renamed(v as u32) as usize))),
            "{what} reads the names of nodes, or sparse features differ from dense ones"
        );
    });
}

#[test]
fn isolated_nodes_receive_no_messages_and_others_do() {
    let (edges, plain) = (edges(), numbers());
    let mut others = plain.clone();
    others.iter_mut().take(WIDTH).for_each(|x| *x += 1.0);
    let mut before = Vec::new();
    let run = |net: &dyn Backbone<f64>, params: &Params<f64>, inputs: &Inputs<f64>| {
        logits(net, params, &View::whole(inputs, net.plan()), &Pool::new())
    };
    each(&graph(&edges, &plain, true), |_, net, params, inputs| {
        before.push(run(net, params, inputs));
    });
    let mut before = before.into_iter();
    each(&graph(&edges, &others, true), |what, net, params, inputs| {
        let (before, after) = (before.next().unwrap(), run(net, params, inputs));
        assert_eq!(before.row(HERMIT), after.row(HERMIT), "{what}");
        assert!(after.to_vec().iter().all(|x| x.is_finite()), "{what}");
        // Node 1 is a neighbour of node 0, whose features changed.
        assert_eq!(before.row(1) != after.row(1), net.plan().hops > 0, "{what}");
    });
}

#[test]
fn a_cached_product_changes_no_digit() {
    let graph = graph(&edges(), &numbers(), true);
    each(&graph, |what, net, params, inputs| {
        let (mut whole, mut training) =
            (View::whole(inputs, net.plan()), View::training(inputs, vec![2, 5, 13], net.plan()));
        let (pool, fresh) = (Pool::new(), step(net, params, &training));
        let plain = Pass::new(net, &whole, &pool).inspect(params);
        let product = whole.project(&params.tensors()[0], &pool).map(Arc::new);
        assert!(product.is_some());
        whole.cache_product(product.clone());
        training.cache_product(product);
        assert!(plain == Pass::new(net, &whole, &pool).using_cache(true).inspect(params), "{what}");
        assert_eq!(fresh, step(net, params, &training), "{what}");
    });
}

/// Replaces the propagation and restores the plain one, as topology boosting of some strength and
/// of strength 0 does. Hops of a view share blocks, all of which must change.
#[test]
fn a_propagation_can_be_replaced_and_restored() {
    let graph = graph(&edges(), &numbers(), false);
    each(&graph, |what, net, params, inputs| {
        let plan = net.plan();
        let plain = inputs.propagation();
        let other = plain
            .csr()
            .values()
            .iter()
            .enumerate()
            .map(|(i, x)| x * (1.0 + 0.3 * (i % 5) as f64))
            .collect();
        let other = plain.with_values(other);
        let nodes = vec![0u32, 4, 13];
        let (mut training, mut whole) =
            (View::training(inputs, nodes.clone(), plan), View::whole(inputs, plan));
        let (before, all_before) =
            (step(net, params, &training), logits(net, params, &whole, &Pool::new()));
        training.set_propagation(&other);
        whole.set_propagation(&other);
        let boosted = logits(net, params, &whole, &Pool::new());
        assert_eq!(all_before != boosted, plan.hops > 0, "{what}");
        let part = logits(net, params, &training, &Pool::new());
        assert!(
            nodes.iter().enumerate().all(|(i, &v)| near(part.row(i), boosted.row(v as usize))),
            "{what}"
        );
        assert_eq!(before != step(net, params, &training), plan.hops > 0, "{what}");
        training.set_propagation(plain);
        whole.set_propagation(plain);
        assert_eq!(before, step(net, params, &training), "{what}");
        assert!(all_before == logits(net, params, &whole, &Pool::new()), "{what}");
    });
}

#[test]
fn shapes_of_outputs_agree_with_the_plan() {
    let graph = graph(&edges(), &numbers(), false);
    each(&graph, |what, net, params, inputs| {
        for view in
            [View::whole(inputs, net.plan()), View::training(inputs, vec![1, 7], net.plan())]
        {
            let (logits, hidden) = Pass::new(net, &view, &Pool::new()).inspect(params);
            assert_eq!((logits.rows(), logits.columns()), (view.nodes().len(), CLASSES), "{what}");
            assert_eq!(hidden.is_some(), net.plan().hidden.is_some(), "{what}");
            assert_eq!(
                hidden.map_or(0, |hidden| hidden.rows()),
                view.hidden_nodes().len(),
                "{what}"
            );
        }
        let mut names: Vec<String> = net.shapes().into_iter().map(|shape| shape.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), net.shapes().len(), "{what}: two tensors of one name");
        assert_eq!(net.plan().hops > 0, !what.starts_with("mlp"), "{what}");
    });
}

/// By hand: the classifier sees ½ of the neighbour, the node itself, and b.
#[test]
fn sage_by_hand() {
    let (adjacency, _) = Adjacency::from_edges(3, &[(0, 1), (1, 2)], None, false).unwrap();
    let features = Features::dense(3, 1, vec![1.0, 10.0, 100.0]).unwrap();
    let graph =
        Graph::new("path", adjacency, features, Labels::from_integers(&[0, 1, 0], 2).unwrap())
            .unwrap();
    let net =
        build::<f64>("sage", Architecture { inputs: 1, hidden: 4, classes: 2, layers: 1 }).unwrap();
    let mut inputs = Inputs::new(&graph);
    inputs.set_operator(graph.adjacency(), net.plan().operator);
    let tensor = |a: f64, b: f64| Matrix::from_rows(1, 2, &[a, b]);
    let params = Params::from_tensors(
        &net.shapes(),
        vec![tensor(2.0, 0.0), tensor(3.0, 1.0), tensor(0.5, 0.0)],
    );
    let out = logits(&*net, &params, &View::whole(&inputs, net.plan()), &Pool::new());
    assert_eq!(out.to_vec(), [23.5, 1.0, 131.5, 10.0, 320.5, 100.0]);
}

/// Attention is a softmax: a common factor of a row's prior cancels, and a prior of 0 equals a
/// missing edge.
#[test]
fn the_prior_of_attention_is_relative() {
    let (all, features) = (edges(), numbers());
    let without: Vec<(u32, u32)> =
        all.iter().copied().filter(|&(a, b)| (a.min(b), a.max(b)) != (3, 4)).collect();
    let (whole, cut) = (graph(&all, &features, false), graph(&without, &features, false));
    let net =
        build::<f64>("gat", Architecture { inputs: WIDTH, hidden: 8, classes: CLASSES, layers: 2 })
            .unwrap();
    let params = Params::glorot(&net.shapes(), 2);
    let inputs = |graph: &Graph| {
        let mut inputs = Inputs::<f64>::new(graph);
        inputs.set_operator(graph.adjacency(), Operator::Ones);
        inputs
    };
    let (inputs, expected) = (inputs(&whole), {
        let inputs = inputs(&cut);
        logits(&*net, &params, &View::whole(&inputs, net.plan()), &Pool::new())
    });
    let run = |propagation: &Propagation<f64>| {
        let mut view = View::whole(&inputs, net.plan());
        view.set_propagation(propagation);
        logits(&*net, &params, &view, &Pool::new())
    };
    let p = inputs.propagation();
    let rows: Vec<usize> = (0..NODES).flat_map(|v| p.csr().row_range(v).map(move |_| v)).collect();
    let scaled = p.with_values(rows.iter().map(|v| 0.5 + *v as f64).collect());
    assert!(near(&run(p).to_vec(), &run(&scaled).to_vec()));
    let columns = p.csr().indices().iter().map(|u| *u as usize);
    let pruned = rows.iter().zip(columns).map(|(&v, u)| f64::from((v.min(u), v.max(u)) != (3, 4)));
    let pruned = p.with_values(pruned.collect());
    assert!(near(&run(&pruned).to_vec(), &expected.to_vec()));
    assert!(!near(&run(p).to_vec(), &expected.to_vec()));
    // Nothing left to attend to: only biases remain.
    let silent = run(&p.with_values(vec![0.0; rows.len()]));
    assert!(silent.to_vec().iter().all(|x| *x == 0.0));
}

/// γ starts as PageRank, so an untrained GPR-GNN is APPNP with the same perceptron.
#[test]
fn gprgnn_starts_as_appnp() {
    let graph = graph(&edges(), &numbers(), true);
    let architecture = Architecture { inputs: WIDTH, hidden: 5, classes: CLASSES, layers: 2 };
    let (inputs, pool) = (Inputs::<f64>::new(&graph), Pool::new());
    let run = |name: &str| {
        let net = build::<f64>(name, architecture).unwrap();
        logits(&*net, &Params::glorot(&net.shapes(), 6), &View::whole(&inputs, net.plan()), &pool)
            .to_vec()
    };
    assert!(near(&run("appnp"), &run("gprgnn")));
}

#[test]
#[should_panic(expected = "the plan requires the operator Mean, the inputs have Gcn")]
fn inputs_of_another_operator_are_refused() {
    let graph = graph(&edges(), &numbers(), false);
    let net = build::<f64>(
        "sage",
        Architecture { inputs: WIDTH, hidden: 5, classes: CLASSES, layers: 2 },
    )
    .unwrap();
    let _ = View::whole(&Inputs::<f64>::new(&graph), net.plan());
}

/// The hidden representation is the ReLU of the input of the last activation, in H2GCN followed by
/// messages.
#[test]
fn the_input_of_the_last_activation_is_the_hidden_layer_before_relu() {
    let graph = graph(&edges(), &numbers(), false);
    each(&graph, |what, net, params, inputs| {
        let (view, pool) = (View::whole(inputs, net.plan()), Pool::new());
        let pass = Pass::new(net, &view, &pool);
        let (Some(before), Some(hidden)) = (pass.before_activation(params), pass.inspect(params).1)
        else {
            assert!(net.plan().hidden.is_none(), "{what} hides something");
            return;
        };
        assert_eq!(before.rows(), NODES, "{what}");
        let mut negative = 0;
        for v in 0..NODES {
            // H2GCN puts what its neighbours have after what a node itself has.
            let own = &hidden.row(v)[..before.columns()];
            for (&x, &y) in before.row(v).iter().zip(own) {
                assert_eq!(x.max(0.0), y, "{what}, node {v}");
                negative += usize::from(x < 0.0);
            }
        }
        assert!(negative > 0, "{what}: nothing would be lost in the ReLU");
    });
}
