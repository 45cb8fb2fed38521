//! Dense products, by the `gemm` crate, in pieces of fixed size.
//!
//! A product's digits depend on the CPU (the crate chooses blocking by instruction set and cache)
//! but not on the number of threads: rows are cut at fixed places, and AᵀB is a sum of partial
//! products over fixed row ranges, added in order. Under [`Dense::Ordered`] they do not depend on
//! the CPU either.

use crate::Real;
use crate::matrix::Matrix;
use crate::parallel::{self, PRODUCT_ROWS};
use std::sync::atomic::{AtomicBool, Ordering};

/// out = a · b.
///
/// # Panics
/// If the shapes do not fit.
pub(crate) fn multiply<T: Real>(a: &Matrix<T>, b: &Matrix<T>, out: &mut Matrix<T>) {
    assert_eq!((a.rows(), b.columns()), (out.rows(), out.columns()), "shapes of a · b");
    multiply_rows(a, b, out.data_mut());
}

/// The same where `out` is some rows of a matrix as wide as `b`.
///
/// # Panics
/// If the shapes do not fit.
pub(crate) fn multiply_rows<T: Real>(a: &Matrix<T>, b: &Matrix<T>, out: &mut [T]) {
    let (depth, stride) = (a.columns(), b.stride());
    assert_eq!((depth, out.len()), (b.rows(), a.rows() * stride), "shapes of a · b");
    let a_view = Strided::of(a);
    // Padding columns of `b` are zero, so running over the full stride keeps those of `out` zero.
    let b_view = Strided::of(b);
    parallel::over_row_blocks(out, stride, PRODUCT_ROWS, |rows, out| {
        product(
            Shape { rows: rows.len(), columns: stride, depth },
            a_view.starting_at(rows.start),
            b_view,
            Target { out, stride, add: false },
        );
    });
}

/// out = a · bᵀ.
///
/// The columns of `out` are rows of b, which has no padding rows: the padding of `out` is not
/// computed and has to be cleared.
///
/// # Panics
/// If the shapes do not fit.
pub(crate) fn multiply_transposed<T: Real>(a: &Matrix<T>, b: &Matrix<T>, out: &mut Matrix<T>) {
    assert_eq!(
        (a.columns(), a.rows(), b.rows()),
        (b.columns(), out.rows(), out.columns()),
        "shapes of a · bᵀ"
    );
    let (depth, stride, columns) = (a.columns(), out.stride(), out.columns());
    let (a_view, b_view) = (Strided::of(a), Strided::of(b).transposed());
    parallel::over_row_blocks(out.data_mut(), stride, PRODUCT_ROWS, |rows, out| {
        let target = Target { out, stride, add: false };
        product(
            Shape { rows: rows.len(), columns, depth },
            a_view.starting_at(rows.start),
            b_view,
            target,
        );
    });
    if columns != stride {
        out.clear_padding();
    }
}

/// out = aᵀ · b, the gradient of a weight matrix.
///
/// # Panics
/// If the shapes do not fit.
pub(crate) fn transposed_multiply<T: Real>(a: &Matrix<T>, b: &Matrix<T>, out: &mut Matrix<T>) {
    assert_eq!((a.rows(), b.columns()), (b.rows(), out.columns()), "shapes of aᵀ · b");
    transposed_multiply_rows(a, b.data(), out);
}

/// The same where `b` is some rows of a matrix as wide as `out`.
///
/// # Panics
/// If the shapes do not fit.
pub(crate) fn transposed_multiply_rows<T: Real>(a: &Matrix<T>, b: &[T], out: &mut Matrix<T>) {
    let (rows, columns, stride) = (a.columns(), out.stride(), out.stride());
    assert_eq!((a.rows() * stride, rows), (b.len(), out.rows()), "shapes of aᵀ · b");
    let (a_view, b_view) = (Strided::of(a), Strided { data: b, row: stride, column: 1 });
    // The long dimension is summed over, so threads share it as partial sums over fixed ranges.
    parallel::partial_sums(a.rows(), out.data_mut(), |range, out| {
        let shape = Shape { rows, columns, depth: range.len() };
        let (a, b) =
            (a_view.starting_at(range.start).transposed(), b_view.starting_at(range.start));
        product(shape, a, b, Target { out, stride, add: false });
    });
}

/// The implementation of dense products in the whole process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dense {
    /// By the `gemm` crate, tuned to this CPU: digits are the same on CPUs of the same model.
    Fastest,
    /// Every number is a chain of fused multiply-adds in the order of its terms: digits are the
    /// same on every CPU, at several times the cost.
    Ordered,
}

static ORDERED: AtomicBool = AtomicBool::new(false);

impl Dense {
    /// Sets how all dense products of the process are computed. Call it before threads compute:
    /// otherwise one product may mix both.
    pub fn install(self) {
        ORDERED.store(self == Self::Ordered, Ordering::Relaxed);
    }

    /// The current setting.
    pub fn current() -> Self {
        if ORDERED.load(Ordering::Relaxed) { Self::Ordered } else { Self::Fastest }
    }
}

/// The shape of a product: `rows` x `columns` numbers, each a sum of `depth` terms.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) depth: usize,
}

/// The output of a product, row by row.
pub(crate) struct Target<'a, T> {
    pub(crate) out: &'a mut [T],
    pub(crate) stride: usize,
    /// Whether the product is added to the previous numbers.
    pub(crate) add: bool,
}

/// A borrowed matrix with arbitrary strides; transposing swaps them.
#[derive(Clone, Copy)]
pub(crate) struct Strided<'a, T> {
    data: &'a [T],
    row: usize,
    column: usize,
}

impl<'a, T: Real> Strided<'a, T> {
    pub(crate) fn of(matrix: &'a Matrix<T>) -> Self {
        Self { data: matrix.data(), row: matrix.stride(), column: 1 }
    }

    /// Rows of `stride` numbers.
    pub(crate) fn rows(data: &'a [T], stride: usize) -> Self {
        Self { data, row: stride, column: 1 }
    }

    pub(crate) fn starting_at(self, row: usize) -> Self {
        Self { data: &self.data[row * self.row..], ..self }
    }

    pub(crate) fn transposed(self) -> Self {
        Self { row: self.column, column: self.row, ..self }
    }

    #[inline]
    pub(super) fn at(self, row: usize, column: usize) -> T {
        self.data[row * self.row + column * self.column]
    }

    /// Whether a `rows` x `columns` matrix lies inside the data.
    fn holds(&self, rows: usize, columns: usize) -> bool {
        // Checked arithmetic: the pointer call below relies on the result, and the product of huge
        // strides could wrap around to a small index.
        if rows == 0 || columns == 0 {
            return true;
        }
        let last_row = (rows - 1).checked_mul(self.row);
        let last_column = (columns - 1).checked_mul(self.column);
        let last = last_row.zip(last_column).and_then(|(row, column)| row.checked_add(column));
        last.is_some_and(|last| last < self.data.len())
    }
}

/// out[i, j] = Σ_d a[i, d] · b[d, j] on one thread.
///
/// # Panics
/// If one of them is too short for the shape.
pub(crate) fn product<T: Real>(
    shape: Shape,
    a: Strided<'_, T>,
    b: Strided<'_, T>,
    target: Target<'_, T>,
) {
    let (Shape { rows, columns, depth }, Target { out, stride, add }) = (shape, target);
    let target = Strided { data: &*out, row: stride, column: 1 };
    assert!(
        a.holds(rows, depth) && b.holds(depth, columns) && target.holds(rows, columns),
        "product out of bounds"
    );
    if Dense::current() == Dense::Ordered {
        return super::ordered::product(shape, a, b, Target { out, stride, add });
    }
    // SAFETY: the three views were just checked to lie inside their slices for these shapes, `out`
    // is borrowed mutably so that nothing aliases it, and `T` is f32 or f64, which the crate
    // supports.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            depth,
            out.as_mut_ptr(),
            1,
            stride as isize,
            add,
            a.data.as_ptr(),
            a.column as isize,
            a.row as isize,
            b.data.as_ptr(),
            b.column as isize,
            b.row as isize,
            if add { T::ONE } else { T::ZERO },
            T::ONE,
            false,
            false,
            false,
            // Rows are cut by `parallel`, at places that do not depend on the thread count.
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matrix(rows: usize, columns: usize, salt: usize) -> Matrix<f64> {
        let values: Vec<f64> =
            (0..rows * columns).map(|i| ((i * 31 + salt) % 17) as f64 * 0.25 - 2.0).collect();
        Matrix::from_rows(rows, columns, &values)
    }

    fn transpose(m: &Matrix<f64>) -> Matrix<f64> {
        let values: Vec<f64> =
            (0..m.columns()).flat_map(|c| (0..m.rows()).map(move |r| m.row(r)[c])).collect();
        Matrix::from_rows(m.columns(), m.rows(), &values)
    }

    fn plain(a: &Matrix<f64>, b: &Matrix<f64>) -> Vec<f64> {
        let cell =
            |r: usize, c: usize| (0..a.columns()).map(|d| a.row(r)[d] * b.row(d)[c]).sum::<f64>();
        (0..a.rows())
            .flat_map(|r| (0..b.columns()).map(move |c| (r, c)))
            .map(|(r, c)| cell(r, c))
            .collect()
    }

    fn near(x: &[f64], y: &[f64]) -> bool {
        x.len() == y.len() && x.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-9)
    }

    #[test]
    fn a_shape_whose_last_index_overflows_is_out_of_bounds() {
        let data = [0.0f64; 4];
        let view = |row, column| Strided { data: &data, row, column };
        assert!(view(2, 1).holds(2, 2) && !view(2, 1).holds(3, 1));
        // In 64 bits 2 · 2^63 wraps to 0, and so does 2^63 + 2^63.
        assert!(!view(1 << 63, 1).holds(3, 1) && !view(1, 1 << 63).holds(1, 3));
        assert!(!view(1 << 63, 1 << 63).holds(2, 2));
        assert!(view(1 << 63, 1).holds(0, 3));
    }

    proptest! {
        #[test]
        fn three_products_agree_with_the_plain_one(n in 1usize..40, d in 1usize..40, m in 1usize..40) {
            let (a, b) = (matrix(n, d, 1), matrix(d, m, 5));
            let mut out = Matrix::zeros(n, m);
            multiply(&a, &b, &mut out);
            prop_assert!(near(&out.to_vec(), &plain(&a, &b)));
            let mut out = Matrix::zeros(n, m);
            multiply_transposed(&a, &transpose(&b), &mut out);
            prop_assert!(near(&out.to_vec(), &plain(&a, &b)));
            let mut out = Matrix::zeros(n, m);
            transposed_multiply(&transpose(&a), &b, &mut out);
            prop_assert!(near(&out.to_vec(), &plain(&a, &b)));
            prop_assert!(out.data().chunks(out.stride()).all(|row| row[m..].iter().all(|x| *x == 0.0)));
        }
    }

    #[test]
    fn long_sums_do_not_depend_on_threads() {
        let (a, b) = (matrix(9000, 20, 3), matrix(9000, 12, 8));
        let product_on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut out = Matrix::zeros(20, 12);
            pool.install(|| transposed_multiply(&a, &b, &mut out));
            out.to_vec()
        };
        assert_eq!(product_on(1), product_on(4));
    }
}
