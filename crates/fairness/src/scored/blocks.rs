//! Metrics of the order of nodes, from the numbers of nodes with equal scores.

/// The nodes of one score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) positives: u64,
    pub(super) negatives: u64,
}

/// Positive and negative nodes of all blocks.
pub(super) fn totals(blocks: &[Block]) -> (u64, u64) {
    blocks.iter().fold((0, 0), |(positives, negatives), block| {
        (positives + block.positives, negatives + block.negatives)
    })
}

/// The area under the ROC curve of blocks, the highest score first.
pub(super) fn auc(blocks: &[Block]) -> Option<f64> {
    let (positives, negatives) = totals(blocks);
    let pairs = u128::from(positives) * u128::from(negatives);
    let (mut below, mut twice) = (negatives, 0u128);
    for block in blocks {
        below -= block.negatives;
        // Negative nodes below count fully, those of the same score half. Twice the sum is an
        // integer, so that it is exact.
        let weight = 2 * u128::from(below) + u128::from(block.negatives);
        twice += u128::from(block.positives) * weight;
    }
    (pairs > 0).then(|| twice as f64 / (2 * pairs) as f64)
}

/// The average precision of blocks, the highest score first.
pub(super) fn average_precision(blocks: &[Block]) -> Option<f64> {
    let (positives, _) = totals(blocks);
    let (mut found, mut selected, mut sum) = (0, 0, 0.0);
    for block in blocks {
        found += block.positives;
        selected += block.positives + block.negatives;
        if block.positives > 0 {
            sum += block.positives as f64 * (found as f64 / selected as f64);
        }
    }
    (positives > 0).then(|| sum / positives as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_precision() {
        let block = |positives, negatives| Block { positives, negatives };
        let blocks = [block(1, 0), block(1, 1), block(0, 2)];
        // Recall rises by ½ at precision 1, and by ½ at precision 2/3.
        assert_eq!(average_precision(&blocks), Some((1.0 + 2.0 / 3.0) / 2.0));
        // The first positive node is above 3 negative ones, the second above 2 and tied with 1.
        assert_eq!(auc(&blocks), Some(5.5 / 6.0));
        assert_eq!((auc(&[]), average_precision(&[block(0, 3)])), (None, None));
    }
}
