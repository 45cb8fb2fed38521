//! Sparse uploads: the entries of an update that moved most.

use boostfgl_nn::{Params, Real};

/// How many of `count` numbers a share ρ keeps: ⌈ρP⌉. Products that are whole up to rounding stay so.
pub(super) fn kept(share: f64, count: usize) -> usize {
    ((share * count as f64 - 1e-9).ceil().max(1.0) as usize).min(count)
}

/// Δ = `to` − `from`, tensor by tensor and row by row, without padding, in place of what `out` held.
pub(super) fn difference<T: Real>(to: &Params<T>, from: &Params<T>, out: &mut Vec<T>) {
    out.clear();
    out.reserve_exact(to.count());
    for (to, from) in to.tensors().iter().zip(from.tensors()) {
        for r in 0..to.rows() {
            out.extend(to.row(r).iter().zip(from.row(r)).map(|(to, from)| *to - *from));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_shares_are_not_rounded_up() {
        assert_eq!([kept(0.3, 10), kept(0.3, 11), kept(1.0, 7), kept(1e-9, 7)], [3, 4, 7, 1]);
    }
}
