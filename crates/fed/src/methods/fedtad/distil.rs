//! Data-free distillation on a pseudo graph: the clients' models teach the global one, weighted by
//! their reliability.
//!
//! With wₖᵢ = r_{k,c(i)} / n_{c(i)} for teacher k and pseudo-node i, and logits s of the student
//! and tₖ of the teachers:
//!
//! * L_sem = Σₖ Σᵢ wₖᵢ CE(tₖᵢ, cᵢ), the teachers' loss on the intended classes;
//! * L_dis = Σₖ Σᵢ wₖᵢ D(tₖᵢ, sᵢ), the disagreement of student and teachers;
//! * L_div = K · exp(−mean_{i,j}(‖zᵢ − zⱼ‖² · |x̃ᵢ − x̃ⱼ|)), means over dimensions.
//!
//! The generator minimises λ₁ L_sem − L_dis + λ₂ L_div, the student L_dis. A network that
//! is not being trained is a constant.

use super::{Config, Distance};
use boostfgl_nn::backbones::Backbone;
use boostfgl_nn::{Dropout, Matrix, Params, Pool, Real, Tape, Var, View, extra_losses};
use rayon::prelude::*;

/// A client's model and its weight at each pseudo-node.
pub(super) struct Teacher<'a, T> {
    pub(super) model: &'a Params<T>,
    /// wₖᵢ.
    pub(super) weights: Vec<f64>,
}

/// What all steps of one round share.
pub(super) struct Distillation<'a, T: Real> {
    pub(super) backbone: &'a dyn Backbone<T>,
    pub(super) config: &'a Config,
    /// The class of each pseudo-node.
    pub(super) labels: &'a [u32],
    pub(super) teachers: &'a [Teacher<'a, T>],
}

/// r_{k,c} of each teacher: its share of the reliability of all teachers, 0 where none has any.
pub(super) fn shares(reliability: &[&[f64]]) -> Vec<Vec<f64>> {
    let classes = reliability.first().map_or(0, |first| first.len());
    let sums: Vec<f64> = (0..classes).map(|c| reliability.iter().map(|own| own[c]).sum()).collect();
    reliability
        .iter()
        .map(|own| own.iter().zip(&sums).map(|(x, sum)| share(*x, *sum)).collect())
        .collect()
}

/// x of a sum; 0 of an empty one.
fn share(x: f64, sum: f64) -> f64 {
    if sum > 0.0 { x / sum } else { 0.0 }
}

/// wₖᵢ = r_{k,c(i)} / n_{c(i)} of one teacher.
pub(super) fn row_weights(share: &[f64], labels: &[u32]) -> Vec<f64> {
    let mut counts = vec![0usize; share.len()];
    labels.iter().for_each(|&c| counts[c as usize] += 1);
    labels.iter().map(|&c| share[c as usize] / counts[c as usize] as f64).collect()
}

impl<T: Real> Distillation<'_, T> {
    /// λ₁ L_sem − L_dis + λ₂ L_div, and its gradient with respect to the generated features x.
    /// `pools` has one pool per teacher. Teachers run in parallel, and their gradients are added in
    /// their order, so that the sum does not depend on threads.
    pub(super) fn generator_loss(
        &self,
        student: &Params<T>,
        x: &Matrix<T>,
        noise: &Matrix<T>,
        view: &View<T>,
        pool: &Pool<T>,
        pools: &mut [Pool<T>],
    ) -> (f64, Matrix<T>) {
        let mut tape = Tape::new(pool);
        let (features, logits) = self.record_frozen(&mut tape, student, x, view);
        let student_logits = tape.value(logits);
        let taught: Vec<(f64, Matrix<T>, Matrix<T>)> = (self.teachers.par_iter().zip(&mut *pools))
            .map(|(teacher, pool)| self.teacher_terms(teacher, student_logits, x, view, pool))
            .collect();
        let (diversity, mut gradient) = extra_losses::diversity(noise, x, pool);
        // L_div counts once per teacher, as the other two terms are sums over teachers.
        let strength = self.config.lambda2 * self.teachers.len() as f64;
        extra_losses::scale(&mut gradient, strength);
        let mut loss = strength * diversity;
        let mut to_student = pool.take(student_logits.rows(), student_logits.columns());
        to_student.data_mut().fill(T::ZERO);
        for ((value, to_x, to_logits), pool) in taught.into_iter().zip(pools) {
            loss += value;
            add(&mut gradient, &to_x);
            add(&mut to_student, &to_logits);
            pool.put(to_x);
            pool.put(to_logits);
        }
        // Gradients are additive: one backward pass through the student serves all teachers.
        for through in tape.backward_from(vec![(logits, to_student)], &[features]) {
            add(&mut gradient, &through);
            pool.put(through);
        }
        (loss, gradient)
    }

    /// One teacher's part of λ₁ L_sem − L_dis, its gradient with respect to x through the teacher,
    /// and that with respect to the student's logits.
    fn teacher_terms(
        &self,
        teacher: &Teacher<'_, T>,
        student: &Matrix<T>,
        x: &Matrix<T>,
        view: &View<T>,
        pool: &Pool<T>,
    ) -> (f64, Matrix<T>, Matrix<T>) {
        let mut tape = Tape::new(pool);
        let (features, logits) = self.record_frozen(&mut tape, teacher.model, x, view);
        let own = tape.value(logits);
        let mut to_teacher = pool.take(own.rows(), own.columns());
        let mut to_student = pool.take(own.rows(), own.columns());
        let mut loss = 0.0;
        for (i, &weight) in teacher.weights.iter().enumerate() {
            let row = numbers(own.row(i));
            let gap = disagreement(self.config.distance, &row, &numbers(student.row(i)));
            let semantics = self.config.lambda1 * weight;
            let p = softmax(&row);
            let label = self.labels[i] as usize;
            loss += semantics * -p.log[label] - weight * gap.value;
            // The generator minimises −L_dis: it looks for nodes on which student and teachers differ.
            for (c, g) in to_teacher.row_mut(i).iter_mut().enumerate() {
                let hit = if c == label { 1.0 } else { 0.0 };
                *g = T::of(semantics * (libm::exp(p.log[c]) - hit) - weight * gap.to_teacher[c]);
            }
            for (g, d) in to_student.row_mut(i).iter_mut().zip(&gap.to_student) {
                *g = T::of(-weight * d);
            }
        }
        let mut to_x = tape.backward_from(vec![(logits, to_teacher)], &[features]);
        (loss, to_x.remove(0), to_student)
    }

    /// The logits of every teacher, which are constants of the student's steps.
    pub(super) fn teachers_logits(
        &self,
        x: &Matrix<T>,
        view: &View<T>,
        pools: &mut [Pool<T>],
    ) -> Vec<Matrix<T>> {
        self.teachers
            .par_iter()
            .zip(pools)
            .map(|(teacher, pool)| {
                let mut tape = Tape::new(&*pool);
                let (_, logits) = self.record_frozen(&mut tape, teacher.model, x, view);
                tape.take(logits)
            })
            .collect()
    }

    /// L_dis and its gradient with respect to the student's parameters.
    pub(super) fn student_loss(
        &self,
        student: &Params<T>,
        x: &Matrix<T>,
        view: &View<T>,
        taught: &[Matrix<T>],
        pool: &Pool<T>,
    ) -> (f64, Vec<Matrix<T>>) {
        let mut tape = Tape::new(pool);
        let features = tape.constant(x);
        tape.give_features(features);
        let vars: Vec<Var> = student.tensors().iter().map(|t| tape.parameter(t)).collect();
        let logits = self.backbone.forward(&mut tape, &vars, view, Dropout::off()).logits;
        let own = tape.value(logits);
        let mut gradient = pool.take(own.rows(), own.columns());
        let mut loss = 0.0;
        for i in 0..own.rows() {
            let row = numbers(own.row(i));
            // In double precision: teachers may nearly cancel.
            let mut sum = vec![0.0; row.len()];
            for (teacher, logits) in self.teachers.iter().zip(taught) {
                let (weight, gap) = (
                    teacher.weights[i],
                    disagreement(self.config.distance, &numbers(logits.row(i)), &row),
                );
                loss += weight * gap.value;
                sum.iter_mut().zip(&gap.to_student).for_each(|(sum, d)| *sum += weight * d);
            }
            gradient.row_mut(i).iter_mut().zip(sum).for_each(|(g, sum)| *g = T::of(sum));
        }
        (loss, tape.backward_from(vec![(logits, gradient)], &vars))
    }

    /// Records the pass of a frozen model over the pseudo graph. Returns the features, which are
    /// differentiated, and the logits.
    fn record_frozen<'t>(
        &'t self,
        tape: &mut Tape<'t, T>,
        model: &'t Params<T>,
        x: &'t Matrix<T>,
        view: &'t View<T>,
    ) -> (Var, Var) {
        let features = tape.parameter(x);
        tape.give_features(features);
        let vars: Vec<Var> = model.tensors().iter().map(|t| tape.constant(t)).collect();
        (features, self.backbone.forward(tape, &vars, view, Dropout::off()).logits)
    }
}

/// D(t, s) of one node, with its gradients.
struct Disagreement {
    value: f64,
    to_teacher: Vec<f64>,
    to_student: Vec<f64>,
}

/// KL(softmax(t) ‖ softmax(s)), or the mean over classes of |s − t|.
fn disagreement(distance: Distance, teacher: &[f64], student: &[f64]) -> Disagreement {
    match distance {
        Distance::Kl => {
            let (p, q) = (softmax(teacher), softmax(student));
            let gap: Vec<f64> = p.log.iter().zip(&q.log).map(|(p, q)| p - q).collect();
            let value: f64 = p.value.iter().zip(&gap).map(|(p, gap)| p * gap).sum();
            // With respect to logits: the Jacobian of the softmax turns log p − log q, the gradient
            // with respect to p, into p (log p − log q − KL).
            Disagreement {
                value,
                to_teacher: p.value.iter().zip(&gap).map(|(p, gap)| p * (gap - value)).collect(),
                to_student: p.value.iter().zip(&q.value).map(|(p, q)| q - p).collect(),
            }
        }
        Distance::L1 => {
            let each = 1.0 / student.len() as f64;
            let gap: Vec<f64> = student.iter().zip(teacher).map(|(s, t)| s - t).collect();
            Disagreement {
                value: gap.iter().map(|gap| gap.abs() * each).sum(),
                to_teacher: gap.iter().map(|gap| -sign(*gap) * each).collect(),
                to_student: gap.iter().map(|gap| sign(*gap) * each).collect(),
            }
        }
    }
}

/// The subgradient of |x|, 0 at 0, so that a student that agrees exactly stays where it is.
fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}

/// A distribution and its logarithm.
struct Softmax {
    value: Vec<f64>,
    log: Vec<f64>,
}

fn softmax(logits: &[f64]) -> Softmax {
    // Shifted by the largest logit, so that no exponential overflows.
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|x| libm::exp(x - top)).sum();
    let log: Vec<f64> = logits.iter().map(|x| x - top - libm::log(sum)).collect();
    Softmax { value: log.iter().map(|x| libm::exp(*x)).collect(), log }
}

fn numbers<T: Real>(row: &[T]) -> Vec<f64> {
    row.iter().map(|x| x.f64()).collect()
}

/// a += b.
fn add<T: Real>(a: &mut Matrix<T>, b: &Matrix<T>) {
    a.data_mut().iter_mut().zip(b.data()).for_each(|(a, b)| *a += *b);
}

#[cfg(test)]
mod tests {
    use super::super::generator::{Generator, balanced};
    use super::super::pseudo;
    use super::*;
    use boostfgl_graph::Stream;
    use boostfgl_nn::backbones::{Architecture, build};
    use boostfgl_nn::optim::AdamConfig;

    const NODES: usize = 9;
    const CLASSES: usize = 3;
    const FEATURES: usize = 5;

    fn random(rows: usize, columns: usize, which: u64) -> Matrix<f64> {
        let mut stream = Stream::new(3, "fedtad test", &[which]);
        Matrix::from_rows(
            rows,
            columns,
            &(0..rows * columns).map(|_| stream.normal()).collect::<Vec<_>>(),
        )
    }

    /// Calls `check` with three teachers, a student, noise and features.
    fn with_distillation(
        backbone: &str,
        distance: Distance,
        check: impl Fn(&Distillation<'_, f64>, &Params<f64>, &Matrix<f64>, &Matrix<f64>, &View<f64>),
    ) {
        let sizes = Architecture { inputs: FEATURES, hidden: 4, classes: CLASSES, layers: 2 };
        let net = build::<f64>(backbone, sizes).unwrap();
        // Biases are not 0: no input may lie at the kink of ReLU, where there is no derivative.
        let model = |seed: u64| {
            let mut model = Params::glorot(&net.shapes(), seed);
            let biases = model.tensors_mut().iter_mut().filter(|t| t.rows() == 1);
            biases.for_each(|t| {
                t.row_mut(0).iter_mut().enumerate().for_each(|(i, b)| *b = 0.2 + 0.1 * i as f64);
            });
            model
        };
        let models: Vec<_> = (0..3).map(model).collect();
        let labels = balanced(NODES, CLASSES);
        let reliability: [&[f64]; 3] = [&[1.0, 0.0, 2.0], &[3.0, 0.0, 0.5], &[0.2, 4.0, 0.0]];
        let teachers: Vec<Teacher<'_, f64>> = models
            .iter()
            .zip(shares(&reliability))
            .map(|(model, share)| Teacher { model, weights: row_weights(&share, &labels) })
            .collect();
        let config = Config { distance, lambda1: 0.7, lambda2: 1.3, ..Config::default() };
        let distillation =
            Distillation { backbone: &*net, config: &config, labels: &labels, teachers: &teachers };
        let (x, noise) = (random(NODES, FEATURES, 0), random(NODES, 4, 1));
        let view = pseudo::view(&x, 3, net.plan(), &Pool::new());
        check(&distillation, &model(9), &x, &noise, &view);
    }

    fn near(found: f64, numeric: f64, what: &str) {
        assert!(
            (found - numeric).abs() < 1e-6 * numeric.abs().max(1.0),
            "{what}: {found}, finite differences {numeric}"
        );
    }

    fn pools() -> Vec<Pool<f64>> {
        (0..3).map(|_| Pool::new()).collect()
    }

    #[test]
    fn the_generators_loss_agrees_with_finite_differences() {
        for (backbone, distance) in
            [("gcn", Distance::Kl), ("gcn", Distance::L1), ("mlp", Distance::Kl)]
        {
            with_distillation(backbone, distance, |distillation, student, x, noise, view| {
                let loss = |x: &Matrix<f64>| {
                    distillation.generator_loss(student, x, noise, view, &Pool::new(), &mut pools())
                };
                let (_, found) = loss(x);
                let mut x = x.clone();
                for i in 0..NODES {
                    for j in 0..FEATURES {
                        let (h, at) = (1e-6, x.row(i)[j]);
                        x.row_mut(i)[j] = at + h;
                        let above = loss(&x).0;
                        x.row_mut(i)[j] = at - h;
                        let numeric = (above - loss(&x).0) / (2.0 * h);
                        x.row_mut(i)[j] = at;
                        near(
                            found.row(i)[j],
                            numeric,
                            &format!("{backbone} {distance:?} [{i}, {j}]"),
                        );
                    }
                }
            });
        }
    }

    #[test]
    fn the_students_loss_agrees_with_finite_differences() {
        for distance in [Distance::Kl, Distance::L1] {
            with_distillation("gcn", distance, |distillation, student, x, _, view| {
                let taught = distillation.teachers_logits(x, view, &mut pools());
                let loss = |student: &Params<f64>| {
                    distillation.student_loss(student, x, view, &taught, &Pool::new())
                };
                let (_, found) = loss(student);
                let mut student = student.clone();
                for (t, found) in found.iter().enumerate() {
                    for (i, j) in
                        (0..found.rows()).flat_map(|i| (0..found.columns()).map(move |j| (i, j)))
                    {
                        let (h, at) = (1e-6, student.tensors()[t].row(i)[j]);
                        student.tensors_mut()[t].row_mut(i)[j] = at + h;
                        let above = loss(&student).0;
                        student.tensors_mut()[t].row_mut(i)[j] = at - h;
                        let numeric = (above - loss(&student).0) / (2.0 * h);
                        student.tensors_mut()[t].row_mut(i)[j] = at;
                        near(
                            found.row(i)[j],
                            numeric,
                            &format!("{distance:?} tensor {t} [{i}, {j}]"),
                        );
                    }
                }
            });
        }
    }

    /// The generator's parameters get the whole gradient through the features.
    #[test]
    fn a_generator_step_decreases_its_loss_as_the_gradient_predicts() {
        with_distillation("gcn", Distance::Kl, |distillation, student, _, noise, view| {
            let adam = AdamConfig { rate: 1e-3, weight_decay: 0.0, ..AdamConfig::default() };
            let mut generator = Generator::<f64>::new(4, FEATURES, CLASSES, 1, adam);
            let before = generator.params().clone();
            let pool = Pool::new();
            let loss = |generator: &Generator<f64>| {
                let x = generator.generate(noise, distillation.labels, &pool);
                distillation.generator_loss(student, &x, noise, view, &pool, &mut pools())
            };
            let (start, to_x) = loss(&generator);
            let gradients = {
                let mut tape = Tape::new(&pool);
                let (vars, at) = generator.record(&mut tape, noise, distillation.labels);
                tape.backward_from(vec![(at, to_x)], &vars)
            };
            generator.step(&gradients);
            assert!(generator.params() != &before);
            // Adam's first step moves every parameter by the learning rate, against the sign of its
            // gradient.
            let slope: f64 = gradients.iter().flat_map(Matrix::to_vec).map(f64::abs).sum();
            let fell = start - loss(&generator).0;
            assert!(
                (fell - 1e-3 * slope).abs() < 0.2 * fell,
                "fell by {fell}, to first order {}",
                1e-3 * slope
            );
        });
    }

    #[test]
    fn shares_are_a_distribution_over_teachers() {
        let shares = shares(&[&[1.0, 0.0, 2.0], &[3.0, 0.0, 0.0]]);
        assert_eq!(shares, [[0.25, 0.0, 1.0], [0.75, 0.0, 0.0]]);
        assert_eq!(row_weights(&shares[1], &[0, 0, 1, 2]), [0.375, 0.375, 0.0, 0.0]);
    }

    /// Exactly, to the last bit.
    #[test]
    fn a_student_that_is_its_own_teacher_has_no_loss_and_no_gradient() {
        for distance in [Distance::Kl, Distance::L1] {
            let own = disagreement(distance, &[0.3, -1.0, 2.5], &[0.3, -1.0, 2.5]);
            assert_eq!(own.value, 0.0);
            assert!(own.to_student.iter().chain(&own.to_teacher).all(|g| *g == 0.0));
        }
    }
}
