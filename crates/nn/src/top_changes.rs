//! The largest entries of the difference of two models, and the distance of each tensor.

use crate::kernels::largest::{SAMPLE, Selection, largest};
use crate::kernels::reduce::SquaredDistance;
use crate::{Matrix, Params, Real};

/// Numbers that stay in the first-level cache while they are subtracted, measured and compared.
const BLOCK: usize = 2048;

/// The largest changes between two models.
#[derive(Clone, Debug, PartialEq)]
pub struct TopChanges<T> {
    /// The differences of largest magnitude with their positions, counted tensor by tensor and row
    /// by row without padding, in the order of positions; ties go to the first.
    pub entries: Vec<(u32, T)>,
    /// ‖Δ‖₂ of each tensor, as by [`Params::tensor_distances`].
    pub distances: Vec<f64>,
}

/// The `count` numbers of Δ = `to` − `from` of largest magnitude and the length of Δ, in one pass
/// over the models.
///
/// # Panics
/// If the models differ in shape.
pub fn top_changes<T: Real>(to: &Params<T>, from: &Params<T>, count: usize) -> TopChanges<T> {
    assert_eq!(to.shapes(), from.shapes(), "models of the same shape");
    let total = to.count();
    let count = count.min(total);
    let mut selection = Selection::new(sample(to, from), total, count);
    let mut block = Vec::with_capacity(BLOCK);
    let mut distances = Vec::with_capacity(to.tensors().len());
    for (to, from) in to.tensors().iter().zip(from.tensors()) {
        let mut distance = SquaredDistance::default();
        // Whole rows, so that padding can be skipped, and a multiple of 16 numbers, so that the
        // distance has the digits of one long pass.
        let numbers = (BLOCK / to.stride()).max(1) * to.stride();
        for (to_rows, from_rows) in to.data().chunks(numbers).zip(from.data().chunks(numbers)) {
            distance.add(to_rows, from_rows);
            block.clear();
            append(to_rows, from_rows, to, &mut block);
            selection.extend(&block);
        }
        distances.push(libm::sqrt(distance.sum()));
    }
    // If the bracket estimated from the sample is wrong, or there are many ties, the whole
    // difference is computed.
    let entries = selection.finish().unwrap_or_else(|| largest(&difference(to, from), count));
    TopChanges { entries, distances }
}

/// Appends the differences of some rows of a matrix of the shape of `tensor`, without padding.
fn append<T: Real>(to: &[T], from: &[T], tensor: &Matrix<T>, out: &mut Vec<T>) {
    let (stride, columns) = (tensor.stride(), tensor.columns());
    // Without padding one long loop replaces a loop per row.
    let at_once = if stride == columns { to.len() } else { stride };
    for (to, from) in to.chunks(at_once).zip(from.chunks(at_once)) {
        let padding = if stride == columns { 0 } else { stride - columns };
        let pairs = to[..to.len() - padding].iter().zip(from);
        out.extend(pairs.map(|(to, from)| *to - *from));
    }
}

/// Δ = `to` − `from`, tensor by tensor and row by row, without padding.
pub fn difference<T: Real>(to: &Params<T>, from: &Params<T>) -> Vec<T> {
    let mut out = Vec::with_capacity(to.count());
    let tensors = to.tensors().iter().zip(from.tensors());
    tensors.for_each(|(to, from)| append(to.data(), from.data(), to, &mut out));
    out
}

/// Magnitudes of Δ at equal distances. Padding is skipped: its zeros would bias the estimate.
fn sample<T: Real>(to: &Params<T>, from: &Params<T>) -> Vec<T> {
    let stride = to.count().div_ceil(SAMPLE).max(1);
    let mut sample = Vec::with_capacity(SAMPLE);
    let mut next = 0;
    for (to, from) in to.tensors().iter().zip(from.tensors()) {
        let count = to.rows() * to.columns();
        while next < count {
            let (r, c) = (next / to.columns(), next % to.columns());
            sample.push((to.row(r)[c] - from.row(r)[c]).abs());
            next += stride;
        }
        next -= count;
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TensorShape;

    /// A model with padded and unpadded tensors whose numbers follow from `seed`.
    fn model(seed: usize) -> Params<f32> {
        let shapes = [
            TensorShape::weight("w1", 50, 256),
            TensorShape::bias("b1", 256),
            TensorShape::weight("w2", 300, 7),
            TensorShape::bias("b2", 7),
            TensorShape::weight("w3", 2, 4096),
        ];
        let number = |i: usize| libm::sinf((i * 7_919 + seed * 104_729) as f32);
        let tensor = |s: &TensorShape| {
            Matrix::from_rows(
                s.rows,
                s.columns,
                &(0..s.rows * s.columns).map(number).collect::<Vec<_>>(),
            )
        };
        Params::from_tensors(&shapes, shapes.iter().map(tensor).collect())
    }

    #[test]
    fn one_pass_agrees_with_forming_the_difference() {
        let (to, from) = (model(1), model(2));
        for count in [1, 100, 7_000, to.count()] {
            let found = top_changes(&to, &from, count);
            assert_eq!(found.entries, largest(&difference(&to, &from), count), "{count}");
            assert_eq!(found.distances, to.tensor_distances(&from));
        }
    }

    #[test]
    fn equal_models_give_the_first_numbers() {
        let found = top_changes(&model(1), &model(1), 3);
        assert_eq!(
            found,
            TopChanges { entries: vec![(0, 0.0), (1, 0.0), (2, 0.0)], distances: vec![0.0; 5] }
        );
    }

    #[test]
    fn nan_counts_as_the_largest_change() {
        let (mut to, from) = (model(1), model(2));
        to.tensors_mut()[2].row_mut(3)[6] = f32::NAN;
        let found = top_changes(&to, &from, 1);
        assert_eq!(found.entries[0].0 as usize, 51 * 256 + 3 * 7 + 6);
        assert!(found.distances[2].is_nan());
    }
}
