//! Gradients of the operations of a generator against central finite differences, in f64: features
//! on the tape, [a ‖ b], tanh.

use boostfgl_graph::{Adjacency, Features, Graph, Labels, Stream};
use boostfgl_nn::backbones::{Architecture, BACKBONES, Pass, build};
use boostfgl_nn::{Dropout, Inputs, Matrix, Params, Pool, Tape, Var, View, cosines, extra_losses};

const NODES: usize = 7;
const WIDTH: usize = 5;

fn random(rows: usize, columns: usize, which: u64) -> Matrix<f64> {
    let mut stream = Stream::new(1, "generation", &[which]);
    Matrix::from_rows(
        rows,
        columns,
        &(0..rows * columns).map(|_| stream.normal()).collect::<Vec<_>>(),
    )
}

/// Compares a gradient with (L(x + h) − L(x − h)) / 2h in every entry.
fn check(x: &mut Matrix<f64>, found: &Matrix<f64>, loss: impl Fn(&Matrix<f64>) -> f64) {
    for i in 0..x.rows() {
        for j in 0..x.columns() {
            let (h, at) = (1e-6, x.row(i)[j]);
            x.row_mut(i)[j] = at + h;
            let above = loss(x);
            x.row_mut(i)[j] = at - h;
            let numeric = (above - loss(x)) / (2.0 * h);
            x.row_mut(i)[j] = at;
            let given = found.row(i)[j];
            assert!(
                (numeric - given).abs() < 1e-7,
                "[{i}, {j}]: {given}, finite differences {numeric}"
            );
        }
    }
}

/// ⟨w, y⟩ for y = `record`(x), and its gradient with respect to x.
fn weighted<'t>(
    x: &'t Matrix<f64>,
    pool: &'t Pool<f64>,
    record: impl Fn(&mut Tape<'t, f64>, Var) -> Var,
) -> (f64, Matrix<f64>) {
    let mut tape = Tape::new(pool);
    let at = tape.parameter(x);
    let y = record(&mut tape, at);
    let weights = random(tape.value(y).rows(), tape.value(y).columns(), 99);
    let value = tape.value(y).to_vec().iter().zip(weights.to_vec()).map(|(y, w)| y * w).sum();
    (value, tape.backward_from(vec![(y, weights)], &[at]).remove(0))
}

#[test]
fn tanh_and_concat_agree_with_finite_differences() {
    let pool = Pool::new();
    let both = |x: &Matrix<f64>| {
        weighted(x, &pool, |tape, x| {
            let some = tape.select_rows(x, &[0, 0, 3, 2]);
            let others = tape.select_rows(x, &[1, 2, 2, 0]);
            let together = tape.concat(&[some, others]);
            tape.tanh(together)
        })
    };
    let mut x = random(4, 3, 0);
    let found = both(&x).1;
    check(&mut x, &found, |x| both(x).0);
}

#[test]
fn tanh_agrees_with_libm() {
    let pool = Pool::new();
    let values = [-1e3, -20.0, -1.0, -1e-3, 0.0, 0.5, 3.0, 1e3];
    let x = Matrix::from_rows(1, values.len(), &values);
    let mut tape = Tape::new(&pool);
    let at = tape.constant(&x);
    let y = tape.tanh(at);
    for (y, x) in tape.value(y).row(0).iter().zip(values) {
        assert!((y - libm::tanh(x)).abs() < 1e-15, "tanh({x}) = {y}");
    }
}

fn ring() -> Adjacency {
    let edges: Vec<(u32, u32)> =
        (0..NODES as u32).map(|v| (v, (v + 1) % NODES as u32)).chain([(0, 3)]).collect();
    Adjacency::from_edges(NODES, &edges, None, false).unwrap().0
}

/// On every backbone: the logits are those of the same features in the graph, and the features have
/// a gradient.
#[test]
fn features_on_the_tape_give_the_logits_of_features_of_the_graph() {
    let pool = Pool::new();
    let mut x = random(NODES, WIDTH, 3);
    let labels = Labels::from_integers(&[0; NODES], 2).unwrap();
    let blank = Features::dense(NODES, 1, vec![0.0; NODES]).unwrap();
    let graph = Graph::new("ring", ring(), blank, labels).unwrap();
    for (backbone, hidden) in BACKBONES.iter().flat_map(|b| [(b, 4), (b, 9)]) {
        let net = build::<f64>(
            backbone.name,
            Architecture { inputs: WIDTH, hidden, classes: 3, layers: 2 },
        )
        .unwrap();
        let model = Params::glorot(&net.shapes(), 4);
        let view = View::of_given_features(&ring(), net.plan());
        let run = |x: &Matrix<f64>| {
            weighted(x, &pool, |tape, x| {
                tape.give_features(x);
                let vars: Vec<Var> = model.tensors().iter().map(|t| tape.constant(t)).collect();
                net.forward(tape, &vars, &view, Dropout::off()).logits
            })
        };
        let mut inputs = Inputs::with_dense_features(&graph, &x);
        inputs.set_operator(&ring(), net.plan().operator);
        let logits = Pass::new(&*net, &View::whole(&inputs, net.plan()), &pool).logits(&model);
        let value: f64 =
            logits.to_vec().iter().zip(random(NODES, 3, 99).to_vec()).map(|(y, w)| y * w).sum();
        let (found, gradient) = run(&x);
        assert!((value - found).abs() < 1e-12, "{}: {found} is not {value}", backbone.name);
        check(&mut x, &gradient, |x| run(x).0);
    }
}

#[test]
fn diversity_agrees_with_finite_differences_and_with_its_formula() {
    let pool = Pool::new();
    let (noise, mut x) = (random(4, 3, 5), random(4, 11, 6));
    let (value, gradient) = extra_losses::diversity(&noise, &x, &pool);
    check(&mut x, &gradient, |x| extra_losses::diversity(&noise, x, &pool).0);
    let pair = |i: usize, j: usize| {
        let apart: f64 = noise.row(i).iter().zip(noise.row(j)).map(|(a, b)| (a - b).powi(2)).sum();
        let distance: f64 = x.row(i).iter().zip(x.row(j)).map(|(a, b)| (a - b).abs()).sum();
        apart / 3.0 * distance / 11.0
    };
    let mean =
        (0..4).flat_map(|i| (0..4).map(move |j| (i, j))).map(|(i, j)| pair(i, j)).sum::<f64>()
            / 16.0;
    assert!((value - libm::exp(-mean)).abs() < 1e-14);
    // Equal rows have the least diversity.
    let equal = Matrix::from_rows(2, 2, &[1.0, 2.0, 1.0, 2.0]);
    assert_eq!(extra_losses::diversity(&random(2, 3, 7), &equal, &pool).0, 1.0);
}

#[test]
fn cosines_do_not_depend_on_the_lengths_of_rows() {
    let pool = Pool::new();
    let x = random(6, 9, 8);
    let found = cosines(&x, &pool);
    for i in 0..6 {
        for j in 0..6 {
            let dot =
                |a: usize, b: usize| x.row(a).iter().zip(x.row(b)).map(|(a, b)| a * b).sum::<f64>();
            assert!((found.row(i)[j] - dot(i, j) / (dot(i, i) * dot(j, j)).sqrt()).abs() < 1e-14);
        }
    }
}

#[test]
fn feature_dots_are_the_same_sparse_or_dense() {
    let values = [1.0f32, 0.0, 2.0, 0.0, 3.0, 0.5, 0.0, 0.0, 0.0];
    let labels = || Labels::from_integers(&[0; 3], 2).unwrap();
    let (adjacency, _) = Adjacency::from_edges(3, &[], None, false).unwrap();
    let dense = Features::dense(3, 3, values.to_vec()).unwrap();
    let rows =
        boostfgl_graph::SparseRows::new(3, &[0, 3, 6, 9], &[0, 1, 2, 0, 1, 2, 0, 1, 2], &values)
            .unwrap();
    let graph = |features| Graph::new("three", adjacency.clone(), features, labels()).unwrap();
    let [a, b] =
        [dense, Features::Sparse(rows)].map(|features| Inputs::<f64>::new(&graph(features)));
    for (v, u, dot) in [(0, 1, 1.0), (0, 0, 5.0), (1, 1, 9.25), (1, 2, 0.0)] {
        assert_eq!((a.feature_dot(v, u), b.feature_dot(v, u)), (dot, dot));
    }
}
