//! Gradient modification: the gradient of a minority class is turned towards that of clients where
//! the class is a majority (its experts).
//!
//! Class c owns column c of the last weight matrix and entry c of its bias: h + 1 numbers.

use crate::Occasion;
use crate::client_rule::ClientContext;
use crate::local_data::LocalData;
use boostfgl_nn::{Dropout, Matrix, Params, Real, Tape, TensorShape};

/// The majority and minority classes of a client. A class without training nodes is neither.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Roles {
    pub(super) majority: Vec<bool>,
    pub(super) minority: Vec<bool>,
}

impl Roles {
    /// Minority: the classes with training nodes, rarest first, as long as they together hold less
    /// than a share `q` of the training nodes. A client whose rarest class holds that share has no
    /// minority.
    pub(super) fn new<T: Real>(data: &LocalData<T>, q: f64) -> Self {
        Self::of_counts(&data.training_counts(), q)
    }

    fn of_counts(counts: &[usize], q: f64) -> Self {
        let mut order: Vec<usize> = (0..counts.len()).filter(|&class| counts[class] > 0).collect();
        order.sort_by_key(|&class| (counts[class], class));
        // A share that equals q up to rounding has reached it, as in the metric of minority nodes.
        let limit = (q - 1e-9) * counts.iter().sum::<usize>() as f64;
        let mut minority = vec![false; counts.len()];
        let mut mass = 0;
        for class in order {
            mass += counts[class];
            if mass as f64 >= limit {
                break;
            }
            minority[class] = true;
        }
        let majority = counts.iter().zip(&minority).map(|(n, rare)| *n > 0 && !rare).collect();
        Self { majority, minority }
    }

    /// The majority classes, increasing.
    pub(super) fn majority_classes(&self) -> Vec<usize> {
        (0..self.majority.len()).filter(|&c| self.majority[c]).collect()
    }
}

/// The positions of the last layer among the tensors of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LastLayer {
    weight: usize,
    bias: Option<usize>,
}

impl LastLayer {
    /// The last weight matrix with a column per class, and the bias of that width after it.
    pub(super) fn find(shapes: &[TensorShape], classes: usize) -> Option<Self> {
        let weight = shapes.iter().rposition(|s| !s.is_bias() && s.columns == classes)?;
        let after = shapes[weight..].iter().position(|s| s.is_bias() && s.columns == classes);
        Some(Self { weight, bias: after.map(|i| weight + i) })
    }

    /// The number of parameters of a class: h + 1.
    pub(super) fn numbers<T: Real>(self, model: &Params<T>) -> usize {
        model.tensors()[self.weight].rows() + 1
    }

    /// The numbers of class `class`: its column, then its bias (0 without one).
    fn of_class<T: Real>(self, tensors: &[Matrix<T>], class: usize) -> Vec<T> {
        let weight = &tensors[self.weight];
        let bias = self.bias.map_or(T::ZERO, |b| tensors[b].row(0)[class]);
        (0..weight.rows()).map(|r| weight.row(r)[class]).chain([bias]).collect()
    }

    fn set_class<T: Real>(self, tensors: &mut [Matrix<T>], class: usize, numbers: &[T]) {
        let rows = tensors[self.weight].rows();
        (0..rows).for_each(|r| tensors[self.weight].row_mut(r)[class] = numbers[r]);
        if let Some(bias) = self.bias {
            tensors[bias].row_mut(0)[class] = numbers[rows];
        }
    }

    /// The mean gradient of cross-entropy over the training nodes of each of `classes`, with
    /// respect to that class's numbers, under `model` without dropout: one row of h + 1 numbers per
    /// class.
    pub(super) fn class_gradients<T: Real>(
        self,
        context: &ClientContext<'_, T>,
        model: &Params<T>,
        classes: &[usize],
    ) -> Matrix<T> {
        let mut tape = Tape::new(context.pool()).noisy(context.noise(Occasion::Rule(0)));
        let (mut vars, mut wanted) = (Vec::new(), Vec::new());
        for (t, tensor) in model.tensors().iter().enumerate() {
            let is_last = t == self.weight || Some(t) == self.bias;
            vars.push(if is_last { tape.parameter(tensor) } else { tape.constant(tensor) });
            wanted.extend(vars.last().copied().filter(|_| is_last));
        }
        let logits =
            context.backbone().forward(&mut tape, &vars, context.view(), Dropout::off()).logits;
        let by_logits = seed(context, tape.value(logits));

        let found = tape.backward_from(vec![(logits, by_logits)], &wanted);
        // Only the wanted gradients are returned; the weight comes before the bias, see `find`.
        let place = Self { weight: 0, bias: self.bias.map(|_| 1) };
        let rows: Vec<T> = classes.iter().flat_map(|&c| place.of_class(&found, c)).collect();
        let out = Matrix::from_rows(classes.len(), found[0].rows() + 1, &rows);
        found.into_iter().for_each(|g| context.pool().put(g));
        out
    }

    /// For every minority class c with a direction ḡ_c: g_c ← (1 − η)·g_c + η·(‖g_c‖/‖ḡ_c‖)·ḡ_c.
    pub(super) fn modify<T: Real>(
        self,
        gradients: &mut [Matrix<T>],
        directions: &Matrix<T>,
        minority: &[bool],
        eta: f64,
    ) {
        for class in (0..minority.len()).filter(|&c| minority[c]) {
            let (own, expert) = (self.of_class(gradients, class), directions.row(class));
            let (length, other) = (norm(&own), norm(expert));
            // No expert has sent a direction for this class yet.
            if other == 0.0 {
                continue;
            }
            // The expert's direction is scaled to the length of the own gradient, so that only the
            // direction of the step changes and the unknown scale of ḡ_c has no effect.
            let scale = eta * length / other;
            let blended: Vec<T> = own
                .iter()
                .zip(expert)
                .map(|(g, e)| T::of((1.0 - eta) * g.f64() + scale * e.f64()))
                .collect();
            self.set_class(gradients, class, &blended);
        }
    }
}

/// ∂/∂z of Σ_c (1/n_c) Σ_{v of c} CE_v, restricted to logit (v, y_v): (p_v[y_v] − 1)/n_c there and 0
/// elsewhere. With this seed one backward pass gives every class the gradient of its own column by
/// its own nodes.
fn seed<T: Real>(context: &ClientContext<'_, T>, logits: &Matrix<T>) -> Matrix<T> {
    let (data, counts) = (context.data(), context.data().training_counts());
    let mut seed = context.pool().take(logits.rows(), logits.columns());
    seed.data_mut().fill(T::ZERO);
    for (i, &v) in data.training().iter().enumerate() {
        let Some(class) = data.training_label(v as usize).map(|y| y as usize) else { continue };
        let row = context.rows.map_or(i, |rows| rows[i] as usize);
        let z = logits.row(row);
        let sum: f64 = z.iter().map(|x| Real::exp(x.f64() - z[class].f64())).sum();
        seed.row_mut(row)[class] = T::of((1.0 / sum - 1.0) / counts[class] as f64);
    }
    seed
}

fn norm<T: Real>(x: &[T]) -> f64 {
    libm::sqrt(x.iter().map(|x| x.f64() * x.f64()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minorities_are_the_rarest_below_the_share() {
        let minority = |counts: &[usize], q: f64| Roles::of_counts(counts, q).minority;
        assert_eq!(
            minority(&[80, 5, 15, 0], 0.2),
            [false, true, false, false],
            "20 of 100 is not below 0.2"
        );
        assert_eq!(minority(&[80, 5, 15, 0], 0.3), [false, true, true, false]);
        assert_eq!(minority(&[50, 50], 0.2), [false, false], "no minority");
        assert_eq!(minority(&[7], 0.2), [false]);
        let roles = Roles::of_counts(&[80, 5, 15, 0], 0.2);
        assert_eq!(roles.majority, [true, false, true, false], "absent classes are neither");
        assert_eq!(roles.majority_classes(), [0, 2]);
    }

    #[test]
    fn the_last_layer_is_the_last_matrix_with_a_column_per_class() {
        let shapes = [
            TensorShape::weight("layer1.weight", 9, 4),
            TensorShape::bias("layer1.bias", 4),
            TensorShape::weight("layer2.weight", 4, 3),
            TensorShape::bias("layer2.bias", 3),
        ];
        assert_eq!(LastLayer::find(&shapes, 3), Some(LastLayer { weight: 2, bias: Some(3) }));
        assert_eq!(LastLayer::find(&shapes[..3], 3), Some(LastLayer { weight: 2, bias: None }));
        assert_eq!(LastLayer::find(&shapes, 5), None);
    }

    /// η = ½ with an expert of length 5 and an own gradient of length 10: half of each, scaled to the
    /// own length.
    #[test]
    fn minority_columns_are_turned_towards_the_experts() {
        let layer = LastLayer { weight: 0, bias: Some(1) };
        let start = || {
            vec![
                Matrix::from_rows(2, 2, &[6.0, 1.0, 0.0, 2.0]),
                Matrix::from_rows(1, 2, &[8.0, 3.0]),
            ]
        };
        let directions = Matrix::from_rows(2, 3, &[0.0, 4.0, 3.0, 1.0, 1.0, 1.0]);
        let mut gradients = start();
        layer.modify(&mut gradients, &directions, &[true, false], 0.5);
        assert_eq!(gradients[0].to_vec(), [3.0, 1.0, 4.0, 2.0]);
        assert_eq!(gradients[1].to_vec(), [7.0, 3.0], "class 1 is not a minority");
        for (minority, directions) in [([false; 2], directions), ([true; 2], Matrix::zeros(2, 3))] {
            let mut gradients = start();
            layer.modify(&mut gradients, &directions, &minority, 0.5);
            assert_eq!(gradients, start(), "no minority class, or no direction");
        }
    }
}
