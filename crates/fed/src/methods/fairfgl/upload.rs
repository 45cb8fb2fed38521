//! Sparse uploads: how many entries of an update go up.

/// The number of entries that a share ρ of `count` numbers keeps: ⌈ρP⌉, at least 1.
pub(super) fn kept(share: f64, count: usize) -> usize {
    // 0.07 · 100 is slightly above 7 in binary: a product that is whole up to rounding must not be
    // rounded up to the next number.
    ((share * count as f64 - 1e-9).ceil().max(1.0) as usize).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_that_are_whole_up_to_rounding_are_not_rounded_up() {
        assert_eq!([kept(0.3, 10), kept(0.3, 11), kept(1.0, 7), kept(1e-9, 7)], [3, 4, 7, 1]);
    }
}
