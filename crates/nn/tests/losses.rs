//! Every extra loss term against central finite differences, in f64.

use boostfgl_graph::Stream;
use boostfgl_nn::{Matrix, Pool, Reduction, Tape, WeightedLoss, extra_losses, softmax_rows};
use proptest::prelude::*;

fn random(rows: usize, columns: usize, seed: u64, which: u64) -> Matrix<f64> {
    let mut stream = Stream::new(seed, "losses", &[which]);
    Matrix::from_rows(
        rows,
        columns,
        &(0..rows * columns).map(|_| stream.normal()).collect::<Vec<_>>(),
    )
}

fn check(x: &mut Matrix<f64>, loss: impl Fn(&Matrix<f64>) -> (f64, Matrix<f64>)) {
    let (_, found) = loss(x);
    for i in 0..x.rows() {
        for j in 0..x.columns() {
            let (h, at) = (1e-6, x.row(i)[j]);
            x.row_mut(i)[j] = at + h;
            let above = loss(x).0;
            x.row_mut(i)[j] = at - h;
            let below = loss(x).0;
            x.row_mut(i)[j] = at;
            let (numeric, given) = ((above - below) / (2.0 * h), found.row(i)[j]);
            assert!(
                (numeric - given).abs() < 1e-7,
                "[{i}, {j}]: {given}, finite differences {numeric}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn gradients_agree_with_finite_differences(
        seed in 0u64..10_000,
        rows in 1usize..6,
        columns in 1usize..11,
        far in 0usize..3,
        tau in 0.2f64..2.0,
    ) {
        let pool = Pool::new();
        let near = random(rows, columns, seed, 1);
        let others: Vec<Matrix<f64>> = (0..far).map(|j| random(rows, columns, seed, 2 + j as u64)).collect();
        let others: Vec<&Matrix<f64>> = others.iter().collect();
        check(&mut random(rows, columns, seed, 0), |z| extra_losses::contrast(z, &near, &others, tau, &pool));

        let mut teacher = random(rows, columns, seed, 7);
        softmax_rows(&mut teacher);
        let some: Vec<u32> = (0..rows as u32).step_by(2).collect();
        check(&mut random(rows, columns, seed, 0), |z| extra_losses::divergence(&teacher, z, &some, &pool));

        let pairs: Vec<(u32, &[f64])> = (0..rows).map(|r| ((r / 2) as u32, near.row(r))).collect();
        check(&mut random(rows, columns, seed, 0), |x| extra_losses::misalignment(x, &pairs, &pool));
        check(&mut random(rows, columns, seed, 0), |x| extra_losses::squared_error(x, &pairs, &pool));
    }

    /// L_con ≥ 0; KL ≥ 0 and 0 for equal distributions; cosine and distance 0 for equal rows.
    #[test]
    fn losses_reach_their_lower_bounds(seed in 0u64..10_000, rows in 1usize..6, columns in 1usize..11) {
        let pool = Pool::new();
        let (x, y) = (random(rows, columns, seed, 0), random(rows, columns, seed, 1));
        prop_assert!(extra_losses::contrast(&x, &y, &[&y], 0.5, &pool).0 >= 0.0);
        prop_assert_eq!(extra_losses::contrast(&x, &y, &[], 0.5, &pool).0, 0.0);
        let all: Vec<u32> = (0..rows as u32).collect();
        let (mut p, mut q) = (x.clone(), y.clone());
        softmax_rows(&mut p);
        softmax_rows(&mut q);
        prop_assert!(extra_losses::divergence(&p, &y, &all, &pool).0 >= -1e-12);
        prop_assert!(extra_losses::divergence(&p, &x, &all, &pool).0.abs() < 1e-12);
        let own: Vec<(u32, &[f64])> = (0..rows).map(|r| (r as u32, x.row(r))).collect();
        prop_assert!(extra_losses::misalignment(&x, &own, &pool).0.abs() < 1e-12);
        prop_assert_eq!(extra_losses::squared_error(&x, &own, &pool).0, 0.0);
    }
}

/// A row of zeros, as ReLU can leave it, divides nothing by 0 and has a gradient of 0.
#[test]
fn rows_of_zeros_have_zero_gradients() {
    let pool = Pool::new();
    let (zero, one) = (Matrix::<f32>::zeros(1, 5), Matrix::from_rows(1, 5, &[1.0f32; 5]));
    for (z, near, far) in [(&zero, &one, &one), (&one, &zero, &zero), (&zero, &zero, &zero)] {
        let (loss, gradient) = extra_losses::contrast(z, near, &[far], 0.5, &pool);
        assert!((loss - 2f64.ln()).abs() < 1e-6);
        assert!(gradient.data().iter().all(|g| *g == 0.0));
    }
    let (loss, gradient) = extra_losses::misalignment(&zero, &[(0, one.row(0))], &pool);
    assert_eq!((loss, gradient.to_vec()), (1.0, vec![0.0; 5]));
    assert_eq!(extra_losses::divergence(&one, &one, &[], &pool).0, 0.0);
}

/// The supervised loss with weights of classes and γ of the focal loss, by the formula
/// w·(1 − p)^γ·(−log p).
fn supervised(z: &Matrix<f64>, loss: &WeightedLoss<f64>) -> (f64, Matrix<f64>) {
    let pool = Pool::new();
    let eye: Vec<f64> =
        (0..z.rows() * z.rows()).map(|i| f64::from(u8::from(i % (z.rows() + 1) == 0))).collect();
    let eye = Matrix::from_rows(z.rows(), z.rows(), &eye);
    let mut tape = Tape::new(&pool);
    // The logits are the result of a product, because the loss writes over them.
    let (eye, z) = (tape.constant(&eye), tape.parameter(z));
    let logits = tape.matmul(eye, z);
    let total = tape.cross_entropy(logits, loss);
    let value = tape.value(total).row(0)[0];
    (value, tape.backward(total, &[z]).remove(0))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_focal_loss_has_its_formula_and_gradient(
        seed in 0u64..10_000,
        rows in 1usize..6,
        classes in 2usize..7,
        gamma in 0.0f64..4.0,
        balanced in any::<bool>(),
    ) {
        let mut stream = Stream::new(seed, "labels", &[]);
        let labels: Vec<u32> = (0..rows).map(|_| stream.below(classes) as u32).collect();
        let loss = WeightedLoss::new(labels.clone(), Reduction::Mean).focal(gamma);
        let loss = if balanced { loss.balanced() } else { loss };
        let mut z = random(rows, classes, seed, 0);
        let mut p = z.clone();
        softmax_rows(&mut p);
        let expected: f64 = (0..rows)
            .map(|v| {
                let own = p.row(v)[labels[v] as usize];
                loss.row_weights()[v] * (1.0 - own).powf(gamma) * -own.ln()
            })
            .sum();
        prop_assert!((supervised(&z, &loss).0 - expected).abs() < 1e-12);
        check(&mut z, |z| supervised(z, &loss));
    }
}

/// A row that is right with certainty has neither loss nor gradient, for every γ: (1 − p)^(γ − 1)
/// has no value there.
#[test]
fn certain_rows_have_no_focal_loss() {
    let z = Matrix::from_rows(1, 3, &[900.0, 0.0, 0.0]);
    for gamma in [0.5, 1.0, 2.0] {
        let loss = WeightedLoss::new(vec![0], Reduction::Mean).focal(gamma);
        let (value, gradient) = supervised(&z, &loss);
        assert_eq!((value, gradient.to_vec()), (0.0, vec![0.0; 3]));
    }
}
