//! Cosine similarity between the rows of a matrix.

use crate::kernels::gemm;
use crate::{Matrix, Pool, Real};

/// The n × n cosines between all rows of x, by one dense product. A row of zeros has no direction:
/// its cosines are 0.
///
/// 2n²d operations for n rows of d numbers.
///
/// ```
/// use boostfgl_nn::{Matrix, Pool, cosines};
/// let x = Matrix::from_rows(3, 2, &[1.0f64, 0.0, 2.0, 0.0, 0.0, 5.0]);
/// assert_eq!(cosines(&x, &Pool::new()).to_vec(), [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
/// ```
pub fn cosines<T: Real>(x: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
    let directions = directions(x, pool);
    let mut out = pool.take(x.rows(), x.rows());
    gemm::multiply_transposed(&directions, &directions, &mut out);
    pool.put(directions);
    out
}

/// Every row divided by its length; rows of zeros are unchanged.
fn directions<T: Real>(x: &Matrix<T>, pool: &Pool<T>) -> Matrix<T> {
    let mut out = pool.take(x.rows(), x.columns());
    out.copy_from(x);
    for r in 0..out.rows() {
        let row = out.row_mut(r);
        let length = libm::sqrt(row.iter().map(|x| x.f64() * x.f64()).sum());
        if length > 0.0 {
            let inverse = T::of(1.0 / length);
            row.iter_mut().for_each(|x| *x = *x * inverse);
        }
    }
    out
}
