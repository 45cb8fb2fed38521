//! Adam and SGD against plain loops over plain numbers, and the initial parameters.

use boostfgl_graph::Stream;
use boostfgl_nn::optim::{Adam, AdamConfig, Optimizer, Sgd, SgdConfig};
use boostfgl_nn::{Matrix, Params, TensorShape};

const STEPS: usize = 5;

fn shapes() -> Vec<TensorShape> {
    vec![TensorShape::weight("w", 7, 5), TensorShape::bias("b", 5)]
}

fn flat(params: &Params<f64>) -> Vec<f64> {
    params.tensors().iter().flat_map(Matrix::to_vec).collect()
}

/// Gradients of any size and sign, some of them 0.
fn gradient(step: usize) -> Vec<Matrix<f64>> {
    let draw = |(t, shape): (usize, &TensorShape)| {
        let mut stream = Stream::new(step as u64, "gradient", &[t as u64]);
        let count = shape.rows * shape.columns;
        let number =
            |i: usize, x: f64| if i.is_multiple_of(4) { 0.0 } else { x * [1e-3, 1.0, 50.0][i % 3] };
        let values: Vec<f64> = (0..count).map(|i| number(i, stream.normal())).collect();
        Matrix::from_rows(shape.rows, shape.columns, &values)
    };
    shapes().iter().enumerate().map(draw).collect()
}

/// Makes the same steps with an optimiser and a plain loop, and compares after every step.
fn compare(
    mut optimizer: impl Optimizer<f64>,
    mut reference: impl FnMut(usize, &mut [f64], &[f64]),
) {
    let mut params = Params::<f64>::glorot(&shapes(), 5);
    let mut plain = flat(&params);
    for step in 1..=STEPS {
        let gradient = gradient(step);
        optimizer.step(&mut params, &gradient);
        let g: Vec<f64> = gradient.iter().flat_map(Matrix::to_vec).collect();
        reference(step, &mut plain, &g);
        for (i, (a, b)) in flat(&params).iter().zip(&plain).enumerate() {
            assert!((a - b).abs() < 1e-12, "step {step}, number {i}: {a} is not {b}");
        }
    }
}

/// Algorithm 1 of Kingma and Ba with the decay added to the gradient, as published, without any
/// rearranging.
fn plain_adam(c: AdamConfig) -> impl FnMut(usize, &mut [f64], &[f64]) {
    let (mut m, mut v) = (vec![0.0; 40], vec![0.0; 40]);
    move |t, w, g| {
        for i in 0..w.len() {
            let g = g[i] + c.weight_decay * w[i];
            m[i] = c.beta1 * m[i] + (1.0 - c.beta1) * g;
            v[i] = c.beta2 * v[i] + (1.0 - c.beta2) * g * g;
            let first = m[i] / (1.0 - c.beta1.powi(t as i32));
            let second: f64 = v[i] / (1.0 - c.beta2.powi(t as i32));
            w[i] -= c.rate * first / (second.sqrt() + c.epsilon);
        }
    }
}

#[test]
fn adam_agrees_with_the_published_algorithm() {
    for config in [
        AdamConfig::default(),
        AdamConfig { weight_decay: 0.0, ..AdamConfig::default() },
        AdamConfig { rate: 0.3, weight_decay: 0.1, beta1: 0.5, beta2: 0.8, epsilon: 1e-3 },
    ] {
        compare(Adam::new(config), plain_adam(config));
    }
}

/// One number, by hand: w = 1, g = 2, no decay. The first step of Adam is lr whatever the
/// gradient's size; the second, with g = −2: m = 0.9·0.2 − 0.2 = −0.02, v = 0.001·4·1.999, so m̂ =
/// −0.02/0.19 and v̂ = 4.
#[test]
fn adam_agrees_with_numbers_by_hand() {
    let shape = [TensorShape::bias("w", 1)];
    let mut params = Params::from_tensors(&shape, vec![Matrix::from_rows(1, 1, &[1.0f64])]);
    let mut adam = Adam::new(AdamConfig { rate: 0.01, weight_decay: 0.0, ..AdamConfig::default() });
    adam.step(&mut params, &[Matrix::from_rows(1, 1, &[2.0])]);
    assert!((flat(&params)[0] - (1.0 - 0.01 * 2.0 / (2.0 + 1e-8))).abs() < 1e-14);
    adam.step(&mut params, &[Matrix::from_rows(1, 1, &[-2.0])]);
    let second = 0.01 * (0.02 / 0.19) / (2.0 + 1e-8);
    assert!((flat(&params)[0] - (1.0 - 0.01 * 2.0 / (2.0 + 1e-8) + second)).abs() < 1e-14);
}

#[test]
fn sgd_agrees_with_a_plain_loop() {
    for config in [
        SgdConfig { rate: 0.1, weight_decay: 0.0, momentum: 0.0 },
        SgdConfig { rate: 0.02, weight_decay: 5e-4, momentum: 0.9 },
    ] {
        let mut velocity = vec![0.0; 40];
        compare(Sgd::new(config), move |_, w, g| {
            for i in 0..w.len() {
                velocity[i] = config.momentum * velocity[i] + g[i] + config.weight_decay * w[i];
                w[i] -= config.rate * velocity[i];
            }
        });
    }
}

/// Two steps after a reset are the two steps of an optimiser that was never used.
#[test]
fn a_reset_optimiser_equals_a_new_one() {
    let after = |optimizer: &mut dyn Optimizer<f64>| {
        let mut params = Params::<f64>::glorot(&shapes(), 5);
        for step in 1..=2 {
            optimizer.step(&mut params, &gradient(step));
        }
        flat(&params)
    };
    let momentum = SgdConfig { rate: 0.02, weight_decay: 5e-4, momentum: 0.9 };
    let both: [(Box<dyn Optimizer<f64>>, &str); 2] = [
        (Box::new(Adam::new(AdamConfig::default())), "adam"),
        (Box::new(Sgd::new(momentum)), "sgd"),
    ];
    for (mut optimizer, name) in both {
        let fresh = after(&mut *optimizer);
        assert_ne!(fresh, after(&mut *optimizer), "{name} has no memory at all");
        optimizer.reset();
        assert_eq!(fresh, after(&mut *optimizer), "{name} keeps state after a reset");
    }
}

/// A weight matrix with one row is still a weight matrix: a graph with a single feature, or a
/// network with a single hidden unit, must be able to learn.
#[test]
fn weights_start_random_and_biases_at_zero() {
    let shapes = [TensorShape::weight("w", 1, 6), TensorShape::bias("b", 6)];
    let params = Params::<f64>::glorot(&shapes, 2);
    let bound = (6.0f64 / 7.0).sqrt();
    assert!(params.tensors()[0].to_vec().iter().all(|x| *x != 0.0 && x.abs() <= bound));
    assert_eq!(params.tensors()[1].to_vec(), [0.0; 6]);
}

/// Idle steps are steps with gradients of zero, bit for bit, wherever they fall.
#[test]
fn idle_steps_equal_steps_with_a_zero_gradient() {
    let config = AdamConfig { weight_decay: 0.05, ..AdamConfig::default() };
    let shapes = [TensorShape::weight("w", 70, 90), TensorShape::bias("b", 90)];
    let zeros =
        || shapes.iter().map(|s| Matrix::<f32>::zeros(s.rows, s.columns)).collect::<Vec<_>>();
    let mut push = zeros();
    push.iter_mut().for_each(|g| g.row_mut(0).fill(0.3));
    let (mut at_once, mut one_by_one) =
        (Params::<f32>::glorot(&shapes, 2), Params::<f32>::glorot(&shapes, 2));
    let (mut a, mut b) = (Adam::new(config), Adam::new(config));
    for steps in [3, 0, 4] {
        a.idle(&mut at_once, steps);
        (0..steps).for_each(|_| b.step(&mut one_by_one, &zeros()));
        assert_eq!(at_once, one_by_one, "after {steps} idle steps");
        a.step(&mut at_once, &push);
        b.step(&mut one_by_one, &push);
        assert_eq!(at_once, one_by_one, "after a step");
    }
    assert_ne!(at_once, Params::glorot(&shapes, 2));
}
