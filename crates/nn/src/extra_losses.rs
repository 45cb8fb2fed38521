//! Loss terms in addition to cross-entropy: each returns its value and its gradient with respect to
//! an output of a pass, ready for [`Extra`](crate::backbones::Extra).
//!
//! Gradient matrices come from the pool. Means are over the rows that take part; without rows the
//! loss is 0.

use crate::kernels::{contrast, diversity};
use crate::{Matrix, Pool, Real, parallel, softmax_rows};

/// Model-contrastive loss: the mean over rows of −log(e^{cos(z, near)/τ} / (e^{cos(z, near)/τ} + Σⱼ
/// e^{cos(z, farⱼ)/τ})), and its gradient with respect to z. Without `far` it is 0.
///
/// ```
/// use boostfgl_nn::{Matrix, Pool, extra_losses};
/// let z = Matrix::from_rows(1, 2, &[1.0f64, 2.0]);
/// // Equally near to both: the loss is ln 2 and the gradient is 0.
/// let (loss, gradient) = extra_losses::contrast(&z, &z, &[&z], 0.5, &Pool::new());
/// assert!((loss - 2f64.ln()).abs() < 1e-12);
/// assert!(gradient.to_vec().iter().all(|g| g.abs() < 1e-12));
/// ```
///
/// # Panics
/// If the shapes differ.
pub fn contrast<T: Real>(
    z: &Matrix<T>,
    near: &Matrix<T>,
    far: &[&Matrix<T>],
    tau: f64,
    pool: &Pool<T>,
) -> (f64, Matrix<T>) {
    let others: Vec<&Matrix<T>> = std::iter::once(near).chain(far.iter().copied()).collect();
    for other in &others {
        let shape = (other.rows(), other.columns());
        assert!(shape == (z.rows(), z.columns()), "representations of the same shape");
    }
    let mut gradient = pool.take(z.rows(), z.columns());
    let mut losses = vec![T::ZERO; z.rows()];
    let scale = T::of(1.0 / z.rows().max(1) as f64);
    let others: Vec<&[T]> = others.iter().map(|other| other.data()).collect();
    let sharpness = T::of(1.0 / tau);
    contrast::contrast(
        z.data(),
        &others,
        z.stride(),
        sharpness,
        scale,
        gradient.data_mut(),
        &mut losses,
    );
    (losses.iter().map(|x| x.f64()).sum(), gradient)
}

/// Distillation: the mean over `rows` of KL(teacher ‖ softmax(logits)), and its gradient with
/// respect to the logits, (softmax(logits) − teacher) / |rows|, which is 0 in all other rows.
/// `teacher` holds a distribution per row of the logits.
///
/// # Panics
/// If the shapes differ or a row does not exist.
pub fn divergence<T: Real>(
    teacher: &Matrix<T>,
    logits: &Matrix<T>,
    rows: &[u32],
    pool: &Pool<T>,
) -> (f64, Matrix<T>) {
    assert_eq!(
        (teacher.rows(), teacher.columns()),
        (logits.rows(), logits.columns()),
        "a distribution per row"
    );
    let mut student = pool.take(rows.len(), logits.columns());
    for (i, &r) in rows.iter().enumerate() {
        student.row_mut(i).copy_from_slice(logits.row(r as usize));
    }
    softmax_rows(&mut student);
    let mut gradient = pool.take(logits.rows(), logits.columns());
    gradient.data_mut().fill(T::ZERO);
    let scale = T::of(1.0 / rows.len().max(1) as f64);
    let mut total = 0.0;
    for (i, &r) in rows.iter().enumerate() {
        let (p, q) = (teacher.row(r as usize), student.row(i));
        for ((g, p), q) in gradient.row_mut(r as usize).iter_mut().zip(p).zip(q) {
            *g += (*q - *p) * scale;
            if *p > T::ZERO {
                // A probability of the student that underflowed to 0 would make the loss infinite.
                let q = q.f64().max(f64::from(f32::MIN_POSITIVE));
                total += p.f64() * libm::log(p.f64() / q);
            }
        }
    }
    pool.put(student);
    (total / rows.len().max(1) as f64, gradient)
}

/// Alignment: the mean over pairs (r, target) of 1 − cos(xᵣ, target), and its gradient with respect
/// to x. A row or target of zeros has no direction: its cosine and its gradient are 0.
///
/// # Panics
/// If a row does not exist or a target has another width.
pub fn misalignment<T: Real>(
    x: &Matrix<T>,
    pairs: &[(u32, &[T])],
    pool: &Pool<T>,
) -> (f64, Matrix<T>) {
    let mut gradient = pool.take(x.rows(), x.columns());
    gradient.data_mut().fill(T::ZERO);
    let scale = 1.0 / pairs.len().max(1) as f64;
    let mut total = 0.0;
    for (r, target) in pairs {
        let row = x.row(*r as usize);
        assert_eq!(row.len(), target.len(), "a target as wide as a row");
        let (own, other) = (libm::sqrt(dot(row, row)), libm::sqrt(dot(target, target)));
        if own == 0.0 || other == 0.0 {
            total += 1.0;
            continue;
        }
        let cosine = dot(row, target) / (own * other);
        total += 1.0 - cosine;
        // ∂cos(x, t)/∂x = (t/‖t‖ − cos·x/‖x‖) / ‖x‖. Added: a row may occur in several pairs.
        for ((g, x), t) in gradient.row_mut(*r as usize).iter_mut().zip(row).zip(*target) {
            *g += T::of(-scale * (t.f64() / other - cosine * x.f64() / own) / own);
        }
    }
    (total * scale, gradient)
}

/// ⟨a, b⟩ in `f64`.
fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.f64() * b.f64()).sum()
}

/// Squared distance: the mean over pairs (r, target) of the mean over columns of (xᵣ − target)²,
/// and its gradient with respect to x.
///
/// # Panics
/// If a row does not exist or a target has another width.
pub fn squared_error<T: Real>(
    x: &Matrix<T>,
    pairs: &[(u32, &[T])],
    pool: &Pool<T>,
) -> (f64, Matrix<T>) {
    let mut gradient = pool.take(x.rows(), x.columns());
    gradient.data_mut().fill(T::ZERO);
    let scale = T::of(1.0 / (pairs.len() * x.columns()).max(1) as f64);
    let mut total = 0.0;
    for (r, target) in pairs {
        assert_eq!(x.columns(), target.len(), "a target as wide as a row");
        let row = x.row(*r as usize);
        for ((g, x), t) in gradient.row_mut(*r as usize).iter_mut().zip(row).zip(*target) {
            let difference = *x - *t;
            *g += (difference + difference) * scale;
            total += (difference * difference).f64();
        }
    }
    (total * scale.f64(), gradient)
}

/// Diversity of generated rows: exp(−mean_{i,j} ‖zᵢ − zⱼ‖²/dim(z) · ‖xᵢ − xⱼ‖₁/dim(x)) over all n²
/// pairs of rows, and its gradient with respect to x. It is small if different noise z gives
/// different rows x.
///
/// # Panics
/// If there is not one row of noise per row of x.
pub fn diversity<T: Real>(noise: &Matrix<T>, x: &Matrix<T>, pool: &Pool<T>) -> (f64, Matrix<T>) {
    assert_eq!(noise.rows(), x.rows(), "one row of noise per row");
    let n = x.rows();
    // Every pair occurs twice among the n².
    let scale = 2.0 / (n * n * noise.columns() * x.columns()).max(1) as f64;
    let mut weights = pool.take(n, n);
    for i in 0..n {
        for j in i + 1..n {
            let apart = noise
                .row(i)
                .iter()
                .zip(noise.row(j))
                .map(|(a, b)| (a.f64() - b.f64()) * (a.f64() - b.f64()));
            weights.row_mut(i)[j] = T::of(scale * apart.sum::<f64>());
        }
    }
    let mut gradient = pool.take(n, x.columns());
    let (x, stride) = (x.data(), x.stride());
    let mean =
        diversity::weighted_l1(x, stride, weights.data(), weights.stride(), gradient.data_mut());
    pool.put(weights);
    // ∂e^{−m}/∂x = −e^{−m}·∂m/∂x.
    let value = libm::exp(-mean);
    self::scale(&mut gradient, -value);
    (value, gradient)
}

/// x ← factor · x.
pub fn scale<T: Real>(x: &mut Matrix<T>, factor: f64) {
    let (stride, work, factor) = (x.stride(), x.data().len(), T::of(factor));
    parallel::over_rows(x.data_mut(), stride, work, |_, rows| {
        rows.iter_mut().for_each(|x| *x = *x * factor);
    });
}
