//! Sparse uploads: how many entries of an update go up.

/// How many of `count` numbers a share ρ keeps: ⌈ρP⌉. Products that are whole up to rounding stay
/// so.
pub(super) fn kept(share: f64, count: usize) -> usize {
    ((share * count as f64 - 1e-9).ceil().max(1.0) as usize).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_shares_are_not_rounded_up() {
        assert_eq!([kept(0.3, 10), kept(0.3, 11), kept(1.0, 7), kept(1e-9, 7)], [3, 4, 7, 1]);
    }
}
