//! Operations that no backbone uses, each against central finite differences, in f64.

use boostfgl_graph::{Adjacency, Stream};
use boostfgl_nn::{Matrix, Pool, RowMean, Tape, Var};
use proptest::prelude::*;

fn random(rows: usize, columns: usize, seed: u64) -> Matrix<f64> {
    let mut stream = Stream::new(seed, "operations", &[rows as u64, columns as u64]);
    Matrix::from_rows(
        rows,
        columns,
        &(0..rows * columns).map(|_| stream.normal()).collect::<Vec<_>>(),
    )
}

/// Σ cᵢⱼ yᵢⱼ of an operation's result with some numbers c, and its gradient with respect to both
/// inputs.
fn probe<'a>(
    inputs: &'a [Matrix<f64>; 2],
    pool: &'a Pool<f64>,
    operation: impl FnOnce(&mut Tape<'a, f64>, Var, Var) -> Var,
) -> (f64, Vec<Matrix<f64>>) {
    let mut tape = Tape::new(pool);
    let vars = inputs.each_ref().map(|input| tape.parameter(input));
    let out = operation(&mut tape, vars[0], vars[1]);
    let y = tape.value(out);
    let c = random(y.rows(), y.columns(), 77);
    let value = y.to_vec().iter().zip(c.to_vec()).map(|(y, c)| y * c).sum();
    (value, tape.backward_from(vec![(out, c)], &vars))
}

fn check(mut inputs: [Matrix<f64>; 2], run: impl Fn(&[Matrix<f64>; 2]) -> (f64, Vec<Matrix<f64>>)) {
    let (_, found) = run(&inputs);
    for (t, found) in found.iter().enumerate() {
        for i in 0..found.rows() {
            for j in 0..found.columns() {
                let (h, at) = (1e-6, inputs[t].row(i)[j]);
                inputs[t].row_mut(i)[j] = at + h;
                let above = run(&inputs).0;
                inputs[t].row_mut(i)[j] = at - h;
                let below = run(&inputs).0;
                inputs[t].row_mut(i)[j] = at;
                let (numeric, given) = ((above - below) / (2.0 * h), found.row(i)[j]);
                assert!(
                    (numeric - given).abs() < 1e-7,
                    "{t} [{i}, {j}]: {given}, finite differences {numeric}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn gradients_agree_with_finite_differences(
        seed in 0u64..1000,
        edges in prop::collection::vec((0u32..5, 0u32..5), 0..9),
        directed in any::<bool>(),
        columns in 1usize..11,
    ) {
        let pool = Pool::new();
        let inputs = || [random(5, columns, seed), random(3, columns, seed)];
        // The first input passes through a product, because some operations write over what they
        // are given.
        let eye = Matrix::from_rows(5, 5, &(0..25).map(|i| f64::from(u8::from(i % 6 == 0))).collect::<Vec<_>>());
        check(inputs(), |x| probe(x, &pool, |tape, a, b| tape.stack_rows(&[a, b, a])));
        let weights: Vec<f32> = (0..edges.len()).map(|i| 0.5 + i as f32).collect();
        let (graph, _) = Adjacency::from_edges(5, &edges, Some(&weights), directed).unwrap();
        let mean = RowMean::of(&graph);
        let averaged = |x: &[Matrix<f64>; 2]| {
            let mut tape = Tape::new(&pool);
            let vars = x.each_ref().map(|x| tape.parameter(x));
            let eye = tape.constant(&eye);
            let copy = tape.matmul(eye, vars[0]);
            let shifted = tape.shift(copy, &random(5, columns, 5));
            let curved = tape.tanh(shifted);
            let out = tape.row_mean(&mean, curved);
            let c = random(5, columns, 77);
            let value = tape.value(out).to_vec().iter().zip(c.to_vec()).map(|(y, c)| y * c).sum();
            (value, tape.backward_from(vec![(out, c)], &vars))
        };
        check(inputs(), averaged);
    }
}

/// Rows of the mean add up to 1, and tanh agrees with libm to a few units of the last place.
#[test]
fn row_means_add_up_to_one_and_tanh_agrees_with_libm() {
    let (graph, _) =
        Adjacency::from_edges(6, &[(0, 1), (1, 2), (3, 1), (4, 0)], None, false).unwrap();
    let (mean, pool) = (RowMean::of(&graph), Pool::new());
    let (ones, wide) = (Matrix::from_rows(6, 1, &[1.0f32; 6]), random(40, 30, 3));
    let mut tape = Tape::new(&pool);
    let x = tape.constant(&ones);
    let y = tape.row_mean(&mean, x);
    assert!(tape.value(y).to_vec().iter().all(|x| (x - 1.0).abs() < 1e-6));

    let x: Vec<f32> =
        wide.to_vec().iter().map(|x| (5.0 * x) as f32).chain([0.0, 90.0, -90.0]).collect();
    let matrix = Matrix::from_rows(1, x.len(), &x);
    let mut tape = Tape::new(&pool);
    let var = tape.constant(&matrix);
    let y = tape.tanh(var);
    for (x, y) in x.iter().zip(tape.value(y).to_vec()) {
        assert!((f64::from(y) - libm::tanh(f64::from(*x))).abs() < 2e-7, "tanh({x}) is not {y}");
    }
}
