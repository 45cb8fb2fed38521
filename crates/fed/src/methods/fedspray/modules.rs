//! The modules that clients share: an encoder of features and two heads.
//!
//! e(x) = relu(x W + b), of width s; head 1 q(x, σ) = (e(x) + σ) W₁ + b₁ uses the structure through
//! a proxy σ; head 2 q₂(x) = e(x) W₂ + b₂ uses the features alone. Features stay sparse: e is one
//! sparse product.

use crate::local_data::LocalData;
use boostfgl_nn::backbones::{ViewPlan, first_product};
use boostfgl_nn::{
    Dropout, Matrix, Params, Pool, Real, Tape, TensorShape, Var, View, WeightedLoss, extra_losses,
    softmax_rows,
};

/// Where head 1 begins among the tensors.
pub(super) const HEAD1: usize = 2;
/// Where head 2 begins.
pub(super) const HEAD2: usize = 4;

/// Encoder, head 1 and head 2, weight and bias each: (d + 1)s + 2(s + 1)C numbers.
pub(super) fn shapes(features: usize, width: usize, classes: usize) -> Vec<TensorShape> {
    vec![
        TensorShape::weight("encoder.weight", features, width),
        TensorShape::bias("encoder.bias", width),
        TensorShape::weight("head1.weight", width, classes),
        TensorShape::bias("head1.bias", classes),
        TensorShape::weight("head2.weight", width, classes),
        TensorShape::bias("head2.bias", classes),
    ]
}

/// The encoder reads features only, no edges.
const FEATURES: ViewPlan = ViewPlan { hidden: Some(0), ..ViewPlan::FEATURES };

/// Views of a client's features for the modules: of all nodes, and of training nodes.
pub(super) struct FeatureViews<T> {
    whole: View<T>,
    training: View<T>,
}

/// Soft targets of the received modules for the GNN.
pub(super) struct Teacher<T> {
    /// softmax T of every local node.
    pub(super) targets: Matrix<T>,
    /// The reliable nodes R, whose targets are used, increasing.
    pub(super) reliable: Vec<u32>,
}

impl<T: Real> FeatureViews<T> {
    pub(super) fn new(data: &LocalData<T>) -> Self {
        Self {
            whole: View::whole(data.inputs(), FEATURES),
            training: View::training(data.inputs(), data.training().to_vec(), FEATURES),
        }
    }

    /// Steps 1 to 4 of a round: p₂ = softmax(q₂(x)); R = training nodes and all with max p₂ >
    /// `threshold`; the proxy of a training node is its `own`, that of another Σ_c p₂[v, c] S_c;
    /// the teacher is softmax(q(x, proxy)).
    pub(super) fn teach(
        &self,
        modules: &Params<T>,
        class_proxies: &Matrix<T>,
        own: &Matrix<T>,
        threshold: f64,
        pool: &Pool<T>,
    ) -> Teacher<T> {
        let training = self.training.nodes();
        let (mut p2, e) = {
            let mut tape = Tape::new(pool);
            let vars: Vec<Var> = modules.tensors().iter().map(|t| tape.constant(t)).collect();
            let e = encode(&mut tape, &vars, &self.whole);
            let q2 = head(&mut tape, e, &vars[HEAD2..]);
            (tape.take(q2), tape.take(e))
        };
        softmax_rows(&mut p2);
        // e(x) is computed once and read by both heads; the proxies need p₂ of head 2 first, hence
        // two tapes.
        let reliable = reliable(&p2, training, threshold);
        let sigma = proxies(&p2, class_proxies, training, own, pool);
        let mut targets = {
            let mut tape = Tape::new(pool);
            let vars: Vec<Var> =
                modules.tensors()[HEAD1..].iter().map(|t| tape.constant(t)).collect();
            let (e, sigma) = (tape.constant(&e), tape.constant(&sigma));
            let fused = tape.add(e, sigma);
            let q = head(&mut tape, fused, &vars);
            tape.take(q)
        };
        softmax_rows(&mut targets);
        [p2, e, sigma].into_iter().for_each(|m| pool.put(m));
        Teacher { targets, reliable }
    }

    /// Step 6: CE(q₂) + mean KL(`gnn` ‖ softmax q(x, `own`)) over the training nodes, and its
    /// gradient with respect to every module and the training nodes' own proxies, in that order.
    /// Cross-entropy has node weights, KL has none.
    pub(super) fn gradients(
        &self,
        modules: &Params<T>,
        own: &Matrix<T>,
        loss: &WeightedLoss<T>,
        gnn: &Matrix<T>,
        pool: &Pool<T>,
    ) -> (f64, Vec<Matrix<T>>) {
        let mut tape = Tape::new(pool);
        let mut vars: Vec<Var> = modules.tensors().iter().map(|t| tape.parameter(t)).collect();
        let sigma = tape.parameter(own);
        let e = encode(&mut tape, &vars, &self.training);
        let q2 = head(&mut tape, e, &vars[HEAD2..]);
        let fused = tape.add(e, sigma);
        let q = head(&mut tape, fused, &vars[HEAD1..]);
        // The GNN is a constant here: only q is differentiated, by the gradient of KL given below.
        let rows: Vec<u32> = (0..loss.len() as u32).collect();
        let (divergence, gradient) = extra_losses::divergence(gnn, tape.value(q), &rows, pool);
        let supervised = tape.cross_entropy(q2, loss);
        let value = tape.value(supervised).row(0)[0].f64() + divergence;
        let mut one = pool.take(1, 1);
        one.row_mut(0)[0] = T::ONE;
        vars.push(sigma);
        (value, tape.backward_from(vec![(supervised, one), (q, gradient)], &vars))
    }
}

/// e(x) of the view's nodes.
fn encode<'a, T: Real>(tape: &mut Tape<'a, T>, modules: &[Var], view: &'a View<T>) -> Var {
    let product = first_product(tape, view, modules[0]).0;
    tape.hidden(product, modules[1], view.nodes(), Dropout::off(), 0)
}

/// x W + b, with W and b the first two of `parameters`.
fn head<T: Real>(tape: &mut Tape<'_, T>, x: Var, parameters: &[Var]) -> Var {
    let product = tape.matmul(x, parameters[0]);
    tape.add_bias(product, parameters[1])
}

/// The training nodes and all nodes with a class probability above `threshold`, increasing.
fn reliable<T: Real>(p2: &Matrix<T>, training: &[u32], threshold: f64) -> Vec<u32> {
    (0..p2.rows() as u32)
        .filter(|&v| {
            p2.row(v as usize).iter().any(|p| p.f64() > threshold)
                || training.binary_search(&v).is_ok()
        })
        .collect()
}

/// The proxy of every node: its own if it is a training node, else the mean of class proxies S
/// weighted by p₂.
fn proxies<T: Real>(
    p2: &Matrix<T>,
    s: &Matrix<T>,
    training: &[u32],
    own: &Matrix<T>,
    pool: &Pool<T>,
) -> Matrix<T> {
    let mut tape = Tape::new(pool);
    let (weights, classes) = (tape.constant(p2), tape.constant(s));
    let product = tape.matmul(weights, classes);
    let mut out = tape.take(product);
    // Training nodes have trained proxies, which replace the mixed ones.
    for (i, &v) in training.iter().enumerate() {
        out.row_mut(v as usize).copy_from_slice(own.row(i));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_graph::generator::{FeatureSpec, Spec, generate, preset};
    use boostfgl_graph::{Graph, Stream};
    use boostfgl_nn::Reduction;
    use boostfgl_partition::{Partition, Random, SplitRule};
    use proptest::prelude::*;

    const WIDTH: usize = 3;

    fn graph() -> Graph {
        let features = FeatureSpec::Sparse { columns: 12, per_node: 3, signal: 0.6 };
        let spec = Spec {
            nodes: 40,
            edges: 80,
            communities: 2,
            pocket_size: 4,
            features,
            ..preset("demo").unwrap().spec
        };
        generate("tiny", &spec, 3, &mut |_, _| {}).unwrap()
    }

    fn data(graph: &Graph) -> LocalData<f64> {
        let partition =
            Partition::draw(graph, &Random::default(), 1, &SplitRule::default(), 0).unwrap();
        LocalData::new(&partition.client_graphs(graph)[0])
    }

    fn random(rows: usize, columns: usize, seed: u64) -> Matrix<f64> {
        let mut stream = Stream::new(seed, "fedspray test", &[]);
        Matrix::from_rows(
            rows,
            columns,
            &(0..rows * columns).map(|_| stream.normal()).collect::<Vec<_>>(),
        )
    }

    /// Modules whose weights and biases are all random.
    fn modules(data: &LocalData<f64>, seed: u64) -> Params<f64> {
        let shapes = shapes(data.width(), WIDTH, data.classes());
        let tensors = shapes
            .iter()
            .enumerate()
            .map(|(i, s)| random(s.rows, s.columns, seed + i as u64))
            .collect();
        Params::from_tensors(&shapes, tensors)
    }

    #[test]
    fn zero_proxies_and_equal_heads_give_the_targets_of_head_2() {
        let data = data(&graph());
        let mut modules = modules(&data, 1);
        let (first, second) = modules.tensors_mut().split_at_mut(HEAD2);
        second.iter_mut().zip(&first[HEAD1..]).for_each(|(to, from)| to.copy_from(from));
        let views = FeatureViews::new(&data);
        let (none, own) =
            (Matrix::zeros(data.classes(), WIDTH), Matrix::zeros(data.training().len(), WIDTH));
        let pool = Pool::new();
        let teacher = views.teach(&modules, &none, &own, 0.7, &pool);
        let mut tape = Tape::new(&pool);
        let vars: Vec<Var> = modules.tensors().iter().map(|t| tape.constant(t)).collect();
        let e = encode(&mut tape, &vars, &views.whole);
        let q2 = head(&mut tape, e, &vars[HEAD2..]);
        let mut p2 = tape.take(q2);
        softmax_rows(&mut p2);
        assert_eq!(teacher.targets, p2);
        // With other proxies the targets differ.
        let other = views.teach(&modules, &random(data.classes(), WIDTH, 8), &own, 0.7, &pool);
        assert_ne!(other.targets, p2);
    }

    #[test]
    fn training_nodes_are_always_reliable_and_the_only_ones_at_threshold_one() {
        let data = data(&graph());
        let (views, pool) = (FeatureViews::new(&data), Pool::new());
        let own = random(data.training().len(), WIDTH, 5);
        let reliable = |threshold: f64| {
            let s = random(data.classes(), WIDTH, 6);
            views.teach(&modules(&data, 2), &s, &own, threshold, &pool).reliable
        };
        assert_eq!(reliable(1.0), data.training());
        assert_eq!(reliable(0.0), (0..data.len() as u32).collect::<Vec<_>>());
        let usual = reliable(0.7);
        assert!(usual.len() > data.training().len() && usual.len() < data.len(), "{}", usual.len());
        assert!(
            usual.is_sorted() && data.training().iter().all(|v| usual.binary_search(v).is_ok())
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// Every coordinate of a mixed proxy lies between those of the class proxies; training
        /// nodes keep their own.
        #[test]
        fn proxies_lie_in_the_hull_of_the_class_proxies(seed in 0u64..1000, nodes in 1usize..9, classes in 1usize..6) {
            let (mut p2, s) = (random(nodes, classes, seed), random(classes, WIDTH, seed + 1));
            softmax_rows(&mut p2);
            let training: Vec<u32> = (0..nodes as u32).step_by(3).collect();
            let own = random(training.len(), WIDTH, seed + 2);
            let found = proxies(&p2, &s, &training, &own, &Pool::new());
            for v in 0..nodes {
                if let Ok(i) = training.binary_search(&(v as u32)) {
                    prop_assert_eq!(found.row(v), own.row(i));
                    continue;
                }
                for j in 0..WIDTH {
                    let column: Vec<f64> = (0..classes).map(|c| s.row(c)[j]).collect();
                    let (low, high) = column.iter().fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(*x), h.max(*x)));
                    prop_assert!((low - 1e-12..=high + 1e-12).contains(&found.row(v)[j]));
                    let mean: f64 = column.iter().zip(p2.row(v)).map(|(s, p)| s * p).sum();
                    prop_assert!((mean - found.row(v)[j]).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        let data = data(&graph());
        let (views, pool) = (FeatureViews::new(&data), Pool::new());
        let labels =
            data.training().iter().map(|&v| data.training_label(v as usize).unwrap()).collect();
        let mut loss = WeightedLoss::new(labels, Reduction::Mean);
        loss.set_node_weights(
            &(0..data.training().len()).map(|i| 1.0 + 0.3 * i as f64).collect::<Vec<_>>(),
        );
        let mut gnn = random(data.training().len(), data.classes(), 11);
        softmax_rows(&mut gnn);
        let mut all = modules(&data, 20).tensors().to_vec();
        all.push(random(data.training().len(), WIDTH, 30));
        let value = |all: &[Matrix<f64>]| {
            let modules = Params::from_tensors(
                &shapes(data.width(), WIDTH, data.classes()),
                all[..6].to_vec(),
            );
            views.gradients(&modules, &all[6], &loss, &gnn, &pool)
        };
        let (_, found) = value(&all);
        for t in 0..all.len() {
            for i in 0..all[t].rows().min(4) {
                for j in 0..all[t].columns() {
                    let (h, at) = (1e-6, all[t].row(i)[j]);
                    let mut shifted = |by: f64| {
                        all[t].row_mut(i)[j] = at + by;
                        value(&all).0
                    };
                    let numeric = (shifted(h) - shifted(-h)) / (2.0 * h);
                    shifted(0.0);
                    let given = found[t].row(i)[j];
                    assert!(
                        (numeric - given).abs() < 1e-7,
                        "tensor {t} [{i}, {j}]: {given}, numeric {numeric}"
                    );
                }
            }
        }
    }
}
