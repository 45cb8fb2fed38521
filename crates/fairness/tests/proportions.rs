//! Intervals of shares and of their differences agree with numbers from elsewhere.

use boostfgl_fairness::statistics::{newcombe, wilson};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    hits: u64,
    of: u64,
    lo: f64,
    hi: f64,
}

/// `fixtures/proportions.py` finds the ends by bisection, from the definition.
#[test]
fn wilsons_interval_is_that_of_the_score_test() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("fixtures/proportions.json")).unwrap();
    assert_eq!(cases.len(), 16);
    for Case { hits, of, lo, hi } in cases {
        let found = wilson(hits, of).unwrap();
        assert!(
            (found.lo - lo).abs() < 1e-14 && (found.hi - hi).abs() < 1e-14,
            "{hits} of {of}: {found:?}, {lo} to {hi}"
        );
    }
}

/// Newcombe (1998), Interval estimation for the difference between independent proportions, table
/// II, method 10.
#[test]
fn the_difference_of_shares_is_as_published() {
    for (first, second, lo, hi) in [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ] {
        let found = newcombe(first, second).unwrap();
        assert!(
            (found.lo - lo).abs() < 5e-5 && (found.hi - hi).abs() < 5e-5,
            "{first:?} − {second:?}: {found:?}"
        );
    }
}
