//! One exponential for `f32` that vectorises and gives the same digits everywhere.

/// eˣ by range reduction x = n·ln 2 + r, |r| ≤ ½ ln 2, and a polynomial of degree 6 in r, within 1
/// ulp.
///
/// Saturates: below −87 the result is about 1.6e-38, above 88 about 1.7e38. NaN stays NaN.
#[inline(always)]
pub(crate) fn exp_f32(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    // ln 2 in two parts: the first has few enough bits that n·LN2_HIGH is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    // Adding and subtracting 1.5·2²³ rounds to the nearest integer without a call.
    const ROUND: f32 = 12_582_912.0;
    const C: [f32; 6] =
        [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5];

    // Comparisons instead of `min` and `max`, which would replace NaN by a bound.
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    let rounded = x.mul_add(LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x));
    let mut p = C[0];
    for c in &C[1..] {
        p = p.mul_add(r, *c);
    }
    let y = p.mul_add(r * r, r) + 1.0;
    // 2ⁿ by building its bits; |n| ≤ 127 because of the clamp. The low bits of ROUND + n are those
    // of n, which avoids a saturating cast. NaN stays NaN through y, whatever these bits are.
    y * f32::from_bits((rounded.to_bits() << 23).wrapping_add(127 << 23))
}

#[cfg(test)]
mod tests {
    use super::exp_f32;

    #[test]
    fn within_one_ulp_of_the_true_value() {
        let mut worst = 0.0f64;
        for i in -86_000..88_000 {
            let x = i as f32 * 1e-3;
            let truth = libm::exp(f64::from(x));
            let ulp =
                f64::from(f32::from_bits((truth as f32).to_bits() + 1)) - f64::from(truth as f32);
            worst = worst.max((f64::from(exp_f32(x)) - truth).abs() / ulp);
        }
        assert!(worst <= 1.0, "{worst} ulp");
    }

    #[test]
    fn extreme_arguments_saturate_and_nan_stays_nan() {
        assert_eq!(exp_f32(0.0), 1.0);
        assert!(exp_f32(f32::NEG_INFINITY) < 2e-38);
        assert!(exp_f32(f32::INFINITY).is_finite());
        assert!(exp_f32(f32::NAN).is_nan());
    }
}
