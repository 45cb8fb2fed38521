//! The expected calibration error.

/// The number of bins of [`ScoredNodes::calibration_error`](super::ScoredNodes::calibration_error).
pub const CALIBRATION_BINS: usize = 16;

/// The nodes of one bin.
#[derive(Clone, Copy, Default)]
struct Bin {
    nodes: u64,
    positives: u64,
    scores: f64,
}

/// Σ_m |B_m|/n · |ȳ(B_m) − s̄(B_m)| over nodes with a score from 0 to 1; `None` without a node.
pub(super) fn error(nodes: &[(f64, bool)]) -> Option<f64> {
    let mut bins = [Bin::default(); CALIBRATION_BINS];
    for &(score, is_positive) in nodes {
        // Multiplying by a power of two is exact, so that no score is in a wrong bin.
        let at = ((score * CALIBRATION_BINS as f64) as usize).min(CALIBRATION_BINS - 1);
        bins[at].nodes += 1;
        bins[at].positives += u64::from(is_positive);
        bins[at].scores += score;
    }
    // |B| · |ȳ − s̄| = |Σ y − Σ s|.
    let sum: f64 = bins.iter().map(|bin| (bin.positives as f64 - bin.scores).abs()).sum();
    (!nodes.is_empty()).then(|| sum / nodes.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_bins_add_up_and_do_not_cancel() {
        // Bin 0: one positive node of score 0, off by 1. Bin 15: scores 1 and 15/16, one positive,
        // off by 15/16. All in one bin would be off by 1/16 only.
        let nodes = [(1.0, true), (0.9375, false), (0.0, true)];
        assert_eq!(error(&nodes), Some((1.0 + 0.9375) / 3.0));
        assert_eq!(error(&[]), None);
    }
}
