//! Every extra loss term against central finite differences, in f64.

use boostfgl_graph::Stream;
use boostfgl_nn::{Matrix, Pool, extra_losses, softmax_rows};
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
