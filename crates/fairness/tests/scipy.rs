//! Tests and adjustments agree with scipy and statsmodels; `fixtures/scipy_tests.py` made the
//! numbers.

use boostfgl_fairness::statistics::{EXACT_UP_TO, SignedRank, holm, mean_ranks, signed_rank};
use serde::Deserialize;

#[derive(Deserialize)]
struct Fixture {
    exact: Vec<Pairs>,
    tied: Vec<Pairs>,
    normal: Vec<Pairs>,
    holm: Vec<Family>,
    friedman: Vec<Blocks>,
}

#[derive(Deserialize)]
struct Pairs {
    differences: Vec<f64>,
    statistic: f64,
    p: f64,
}

#[derive(Deserialize)]
struct Family {
    p: Vec<f64>,
    adjusted: Vec<f64>,
}

#[derive(Deserialize)]
struct Blocks {
    values: Vec<Vec<f64>>,
    statistic: f64,
    p: f64,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("fixtures/scipy_tests.json")).unwrap()
}

fn near(what: &str, ours: f64, theirs: f64) {
    assert!(
        (ours - theirs).abs() <= 1e-12 * theirs.abs().max(1e-3),
        "{what}: {ours} here, {theirs} there"
    );
}

/// Compares each case; returns their number.
fn agree(cases: &[Pairs], exact: bool) -> usize {
    for (i, case) in cases.iter().enumerate() {
        let ours: SignedRank = signed_rank(&case.differences).unwrap();
        assert_eq!(ours.statistic, case.statistic, "case {i}");
        near(&format!("p of case {i}"), ours.p, case.p);
        assert_eq!(ours.exact, exact, "case {i}");
        assert_eq!(ours.exact, ours.pairs <= EXACT_UP_TO, "case {i}");
    }
    cases.len()
}

#[test]
fn the_exact_signed_rank_test() {
    assert_eq!(agree(&fixture().exact, true), 72);
}

#[test]
fn the_signed_rank_test_with_ties_and_zeros_goes_through_all_signs() {
    assert_eq!(agree(&fixture().tied, true), 40);
}

#[test]
fn the_normal_signed_rank_test_with_and_without_ties() {
    assert_eq!(agree(&fixture().normal, false), 16);
}

#[test]
fn holms_adjustment() {
    let families = fixture().holm;
    assert_eq!(families.len(), 33);
    for family in families {
        let given: Vec<Option<f64>> = family.p.iter().copied().map(Some).collect();
        for (ours, theirs) in holm(&given).into_iter().zip(&family.adjusted) {
            near("adjusted p", ours.unwrap(), *theirs);
        }
    }
}

#[test]
fn friedmans_test() {
    let cases = fixture().friedman;
    assert_eq!(cases.len(), 30);
    for case in cases {
        let blocks: Vec<Vec<Option<f64>>> =
            case.values.iter().map(|block| block.iter().copied().map(Some).collect()).collect();
        let ours = mean_ranks(&blocks).friedman.unwrap();
        near("Friedman's statistic", ours.statistic, case.statistic);
        near("its p", ours.p, case.p);
    }
}
