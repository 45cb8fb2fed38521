//! Every rule on numbers computed by hand, and properties of all rules.

use super::*;
use crate::boost::{ModelBoost, TrustScope};
use boostfgl_nn::{Matrix, TensorShape};
use proptest::prelude::*;

/// A model of one row.
fn model(values: &[f64]) -> Params<f64> {
    Params::from_tensors(
        &[TensorShape::bias("b", values.len())],
        vec![Matrix::from_rows(1, values.len(), values)],
    )
}

/// The result of a rule on some models from the start `from`, with these base weights.
fn combined(
    rule: Rule,
    byzantine: usize,
    models: &[Vec<f64>],
    weights: &[f64],
    from: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let message = Message::default();
    let models: Vec<Params<f64>> = models.iter().map(|values| model(values)).collect();
    let mut target = model(from);
    let norms: Vec<f64> = models.iter().map(|model| model.distance(&target)).collect();
    let update = |(client, model): (usize, _)| {
        let norm = norms[client];
        Contribution {
            client,
            model: Some(model),
            message: &message,
            norm,
            tensor_norms: &[],
            size: 1.0,
            summary: None,
        }
    };
    let updates: Vec<Contribution<'_, f64>> = models.iter().enumerate().map(update).collect();
    let combination = Combination::new(&updates, weights, ServerBoosts::none()).unwrap();
    let combination =
        combination.combine(&updates, Config { rule, byzantine }, &mut target).unwrap();
    (target.tensors()[0].to_vec(), combination.mean_weights())
}

/// A missing gap is not a gap of 0, and weights that underflow are an error.
#[test]
fn weights_that_cannot_be_formed_are_errors() {
    use crate::boost::{TrustForm, model::Config as Trust};
    let (message, sent) = (Message::default(), model(&[1.0]));
    let update = |norm: f64, summary| Contribution {
        client: 0,
        model: Some(&sent),
        message: &message,
        norm,
        tensor_norms: &[],
        size: 1.0,
        summary,
    };
    let boost = ModelBoost::new(&Trust {
        trust: TrustForm::Exponential,
        lambda_s: 1.0,
        ..Trust::default()
    });
    let weigh = |updates: &[Contribution<'_, f64>], base: &[f64]| {
        Combination::new(updates, base, ServerBoosts::only(&boost))
            .map_err(|error| error.to_string())
    };
    let known = Some(Summary::default());
    assert!(weigh(&[update(1.0, known)], &[1.0]).is_ok());
    let missing = "fairness gap of a client: expected one from every client, found none";
    assert_eq!(weigh(&[update(1.0, known), update(1.0, None)], &[1.0; 2]), Err(missing.to_owned()));
    // The only one that has a weight is trusted e^−1000 times less than the other.
    let nothing = weigh(&[update(1000.0, known), update(0.0, known)], &[1.0, 0.0]);
    assert_eq!(nothing, Err("client weight: expected a sum above 0, found 0".to_owned()));
}

fn plain(rule: Rule, byzantine: usize, models: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
    combined(rule, byzantine, models, &vec![1.0; models.len()], &vec![0.0; models[0].len()])
}

/// Columns of numbers: one model of one coordinate each.
fn line(values: &[f64]) -> Vec<Vec<f64>> {
    values.iter().map(|&x| vec![x]).collect()
}

fn close(a: &[f64], b: &[f64]) {
    assert!(
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9),
        "{a:?} is not {b:?}"
    );
}

#[test]
fn the_median_is_the_middle_of_every_coordinate() {
    let (value, weights) =
        plain(Rule::Median, 1, &[vec![1.0, 5.0], vec![9.0, 4.0], vec![2.0, 6.0]]);
    assert_eq!(value, [2.0, 5.0]);
    // The first is the median of the second coordinate, the third of the first.
    assert_eq!(weights, [0.5, 0.0, 0.5]);
    let (value, weights) = plain(Rule::Median, 1, &line(&[1.0, 100.0, 3.0, 2.0]));
    assert_eq!((value, weights), (vec![2.5], vec![0.0, 0.0, 0.5, 0.5]));
}

#[test]
fn equal_values_share_a_coordinate() {
    let (value, weights) = plain(Rule::Median, 1, &line(&[0.1, 0.1, 0.1]));
    assert_eq!(value, [0.1]);
    close(&weights, &[1.0 / 3.0; 3]);
}

#[test]
fn the_trimmed_mean_leaves_out_both_ends() {
    let (value, weights) = plain(Rule::TrimmedMean, 1, &line(&[10.0, 1.0, 2.0, 6.0, -50.0]));
    assert_eq!(value, [3.0]);
    close(&weights, &[0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0]);
    assert_eq!(plain(Rule::TrimmedMean, 2, &line(&[10.0, 1.0, 2.0, 6.0, -50.0])).0, [2.0]);
}

/// n = 5, f = 1: two neighbours count. Scores: 0: 1+4, 1: 1+1, 2: 1+4, 5: 9+16, 100: 95²+98².
#[test]
fn krum_takes_the_model_with_the_nearest_neighbours() {
    let models = line(&[100.0, 0.0, 1.0, 5.0, 2.0]);
    assert_eq!(plain(Rule::Krum, 1, &models), (vec![1.0], vec![0.0, 0.0, 1.0, 0.0, 0.0]));
    // Of equals the first client.
    assert_eq!(
        plain(Rule::Krum, 1, &line(&[3.0, 3.0, 9.0, 3.0, 3.0])).1,
        [1.0, 0.0, 0.0, 0.0, 0.0]
    );
}

#[test]
fn multi_krum_weighs_the_chosen_as_the_method_does() {
    let models = line(&[100.0, 0.0, 1.0, 5.0, 2.0]);
    let (value, weights) =
        combined(Rule::MultiKrum, 1, &models, &[50.0, 1.0, 1.0, 2.0, 4.0], &[0.0]);
    close(&weights, &[0.0, 0.125, 0.125, 0.25, 0.5]);
    close(&value, &[(0.0 + 1.0 + 2.0 * 5.0 + 4.0 * 2.0) / 8.0]);
    // Where the chosen have no weight they count alike.
    let (_, weights) = combined(Rule::MultiKrum, 1, &models, &[1.0, 0.0, 0.0, 0.0, 0.0], &[0.0]);
    close(&weights, &[0.0, 0.25, 0.25, 0.25, 0.25]);
}

/// n = 7, f = 1. Krum takes 3, then 4 (as good as 2, and nearer to all), 2, 8 (as good as 5, and
/// nearer to all) and 5; of these five, three are nearest to the median.
#[test]
fn bulyan_takes_the_middle_of_what_krum_chooses() {
    let (value, weights) = plain(Rule::Bulyan, 1, &line(&[1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 1000.0]));
    assert_eq!(value, [4.0]);
    close(&weights, &[0.0, 0.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0, 0.0]);
    // n = 11, f = 2: Krum takes 7, 11, 4, 2, 16, 1 and, since 1001 is next to it, 1000; of these
    // seven, three are nearest to 7.
    let (value, weights) = plain(
        Rule::Bulyan,
        2,
        &line(&[0.0, 1.0, 2.0, 4.0, 7.0, 11.0, 16.0, 22.0, 29.0, 1000.0, 1001.0]),
    );
    close(&value, &[22.0 / 3.0]);
    assert!(
        weights.iter().enumerate().all(|(k, weight)| (3..6).contains(&k) == (*weight > 0.0)),
        "{weights:?}"
    );
}

/// Three points of an equilateral triangle meet in its centre; a majority at one point is the
/// median.
#[test]
fn the_geometric_median_has_the_least_sum_of_distances() {
    let root = libm::sqrt(3.0);
    let (value, weights) =
        plain(Rule::GeometricMedian, 1, &[vec![0.0, 0.0], vec![2.0, 0.0], vec![1.0, root]]);
    close(&value, &[1.0, root / 3.0]);
    close(&weights, &[1.0 / 3.0; 3]);
    let (value, _) =
        plain(Rule::GeometricMedian, 1, &[vec![1.0, 1.0], vec![1.0, 1.0], vec![7.0, 9.0]]);
    assert!((value[0] - 1.0).abs() < 1e-6 && (value[1] - 1.0).abs() < 1e-6, "{value:?}");
    assert_eq!(plain(Rule::GeometricMedian, 1, &line(&[4.0, 4.0, 4.0])).0, [4.0]);
}

/// At a geometric median that is none of the models, the unit vectors towards all models sum to 0.
/// With a majority of equal models it is that model, although most distances are 0 then. Neither
/// depends on the unit of the coordinates.
#[test]
fn directions_to_the_models_cancel_out_at_the_geometric_median() {
    let points = [[3.0, -2.0], [4.0, 0.5], [1.0, 3.0], [-2.0, 1.0], [0.5, -3.5]];
    for unit in [1.0, 1e-12, 1e12] {
        let models: Vec<Vec<f64>> =
            points.iter().map(|point| point.map(|x| x * unit).to_vec()).collect();
        let (value, weights) = plain(Rule::GeometricMedian, 2, &models);
        let apart = |model: &Vec<f64>| libm::hypot(value[0] - model[0], value[1] - model[1]);
        for j in 0..2 {
            let pull: f64 = models.iter().map(|model| (value[j] - model[j]) / apart(model)).sum();
            assert!(pull.abs() < 1e-6, "{unit}: {pull} at {value:?}");
        }
        let near: Vec<f64> = models.iter().map(|model| 1.0 / apart(model)).collect();
        let sum: f64 = near.iter().sum();
        assert!(
            weights.iter().zip(&near).all(|(weight, near)| (weight - near / sum).abs() < 1e-6),
            "{weights:?}"
        );

        let majority =
            plain(Rule::GeometricMedian, 1, &line(&[unit, unit, unit, unit, 9.0 * unit])).0[0];
        assert!((majority / unit - 1.0).abs() < 1e-6, "{majority}");
    }
}

/// A client that claims to be nine times as large gains influence under these rules and no others.
#[test]
fn only_rules_that_weigh_clients_use_their_sizes() {
    let models = line(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5]);
    for rule in Rule::ALL {
        let result = |first: f64| {
            combined(rule, 1, &models, &[first, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], &[0.0]).0
        };
        assert_eq!(result(9.0) != result(1.0), rule.weighs(), "{rule:?}");
    }
}

#[test]
fn only_the_plain_mean_is_left_out_of_files() {
    assert!(is_default(&Config::default()));
    assert!(!is_default(&Config { rule: Rule::Median, ..Config::default() }));
    assert!(!is_default(&Config {
        byzantine: Config::default().byzantine + 1,
        ..Config::default()
    }));
}

/// Lengths from 10 are 1, 2 and 30: the last is cut to 2.
#[test]
fn long_updates_are_cut_to_the_median() {
    let (value, weights) =
        combined(Rule::NormBounded, 1, &line(&[11.0, 8.0, 40.0]), &[2.0, 1.0, 1.0], &[10.0]);
    close(&value, &[10.0 + 0.5 * 1.0 - 0.25 * 2.0 + 0.25 * 2.0]);
    let left = [0.5, 0.25, 0.25 / 15.0];
    close(&weights, &left.map(|w| w / left.iter().sum::<f64>()));
}

#[test]
fn the_mean_is_the_weighted_sum() {
    let (value, weights) = combined(Rule::Mean, 1, &line(&[1.0, 5.0]), &[3.0, 1.0], &[0.0]);
    assert_eq!((value, weights), (vec![2.0], vec![0.75, 0.25]));
}

/// Two tensors whose trust differs: the first client moved far in the first, the second in the
/// second.
fn by_tensor(rule: Rule, trust_scope: TrustScope) -> (Vec<f64>, Combination) {
    let message = Message::default();
    let shapes = [TensorShape::bias("a", 1), TensorShape::bias("b", 1)];
    let two_tensors = |a: f64, b: f64| {
        Params::from_tensors(&shapes, [a, b].map(|x| Matrix::from_rows(1, 1, &[x])).to_vec())
    };
    let (models, mut target) =
        ([two_tensors(3.0, 0.0), two_tensors(0.0, 1.0)], two_tensors(0.0, 0.0));
    let norms = [[3.0, 0.0], [0.0, 1.0]];
    let update = |client: usize| Contribution {
        client,
        model: Some(&models[client]),
        message: &message,
        norm: norms[client][0] + norms[client][1],
        tensor_norms: &norms[client],
        size: 1.0,
        summary: Some(Summary::default()),
    };
    let boost = ModelBoost::new(&crate::boost::model::Config {
        lambda_s: 1.0,
        trust_scope,
        ..Default::default()
    });
    let updates = [update(0), update(1)];
    let combination = Combination::new(&updates, &[1.0, 1.0], ServerBoosts::only(&boost)).unwrap();
    let combination =
        combination.combine(&updates, Config { rule, byzantine: 0 }, &mut target).unwrap();
    (target.tensors().iter().flat_map(Matrix::to_vec).collect(), combination)
}

/// Trust is 1/(1 + r): 1/4 to 1 for the first tensor, 1 to 1/2 for the second.
#[test]
fn each_tensor_has_its_own_weights() {
    let share = |mine: f64, other: f64| mine / (mine + other);
    let (far, near) = (0.25, 0.5);
    let (value, combination) = by_tensor(Rule::Mean, TrustScope::Tensor);
    close(&value, &[3.0 * share(far, 1.0), share(near, 1.0)]);
    close(combination.weights(0), &[share(far, 1.0), share(1.0, far)]);
    close(combination.weights(1), &[share(1.0, near), share(near, 1.0)]);
    let first = 0.5 * (share(far, 1.0) + share(1.0, near));
    close(&combination.mean_weights(), &[first, 1.0 - first]);
    close(combination.trust().unwrap(), &[far, near]);
    // Lengths are 3 and 1, so that the first is cut to 2, the middle between them.
    let (bounded, _) = by_tensor(Rule::NormBounded, TrustScope::Tensor);
    close(&bounded, &[value[0] * 2.0 / 3.0, value[1]]);
    // One weight for all tensors: 1/4 to 1/2.
    let (value, combination) = by_tensor(Rule::Mean, TrustScope::Model);
    close(&value, &[1.0, 2.0 / 3.0]);
    let (bounded, _) = by_tensor(Rule::NormBounded, TrustScope::Model);
    close(&bounded, &[value[0] * 2.0 / 3.0, value[1]]);
    close(combination.weights(1), combination.weights(0));
}

#[test]
fn conditions_are_checked_and_explained() {
    let error = |rule, byzantine, updates| {
        Config { rule, byzantine }.check(updates).unwrap_err().to_string()
    };
    assert_eq!(
        error(Rule::Bulyan, 1, 5),
        "the rule bulyan needs at least 4f + 3 = 7 updates in a round to outvote f = 1, found 5: \
         with 5 it tolerates none"
    );
    assert!(error(Rule::Krum, 2, 5).ends_with(
        "2f + 3 = 7 updates in a round to outvote f = 2, found 5: with 5 it tolerates 1"
    ));
    assert!(error(Rule::Median, 2, 4).ends_with("with 4 it tolerates 1"));
    for (rule, f, least) in [
        (Rule::Mean, 3, 1),
        (Rule::Median, 2, 5),
        (Rule::TrimmedMean, 1, 3),
        (Rule::GeometricMedian, 1, 3),
        (Rule::NormBounded, 1, 3),
        (Rule::Krum, 1, 5),
        (Rule::MultiKrum, 2, 7),
        (Rule::Bulyan, 1, 7),
    ] {
        let config = Config { rule, byzantine: f };
        assert!(
            config.check(least).is_ok() && (least == 1 || config.check(least - 1).is_err()),
            "{rule:?}"
        );
    }
    assert!(Config { rule: Rule::Bulyan, byzantine: usize::MAX }.check(9).is_err());
}

/// Four updates are left of five. A refused update that was certainly bad lowers f. A doubtful one
/// lowers f only if the rule could not run otherwise.
#[test]
fn refused_updates_lower_the_number_to_outvote() {
    let f = |rule, byzantine, bad, doubtful, updates| {
        Config { rule, byzantine }.after(bad, doubtful, updates).byzantine
    };
    assert_eq!(
        [f(Rule::Median, 1, 1, 0, 4), f(Rule::Median, 1, 0, 1, 4), f(Rule::Median, 1, 0, 0, 4)],
        [0, 1, 1]
    );
    // Multi-Krum needs five to outvote one: the run continues with four.
    assert_eq!([f(Rule::MultiKrum, 1, 0, 1, 4), f(Rule::MultiKrum, 1, 0, 1, 5)], [0, 1]);
    // One doubtful client lowers f by one only.
    assert_eq!([f(Rule::MultiKrum, 2, 0, 1, 4), f(Rule::MultiKrum, 2, 1, 1, 4)], [1, 0]);
    // Late clients do not lower f, and too few updates for any rule stay too few.
    assert_eq!([f(Rule::MultiKrum, 1, 0, 0, 4), f(Rule::MultiKrum, 1, 0, 1, 2)], [1, 1]);
}

const ROBUST: [Rule; 7] = [
    Rule::Median,
    Rule::TrimmedMean,
    Rule::Krum,
    Rule::MultiKrum,
    Rule::Bulyan,
    Rule::GeometricMedian,
    Rule::NormBounded,
];

fn models() -> impl Strategy<Value = Vec<Vec<f64>>> {
    (7usize..10, 1usize..5)
        .prop_flat_map(|(n, p)| prop::collection::vec(prop::collection::vec(-3.0f64..3.0, p), n))
}

proptest! {
    #[test]
    fn the_order_of_clients_does_not_matter(
        models in models(),
        turn in 0usize..9,
        which in 0usize..7,
    ) {
        let rule = ROBUST[which];
        let (value, weights) = plain(rule, 1, &models);
        let (n, mut turned) = (models.len(), models.clone());
        turned.rotate_left(turn % n);
        let (again, mut others) = plain(rule, 1, &turned);
        others.rotate_right(turn % n);
        let equal = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
        prop_assert!(equal(&value, &again), "{rule:?}: {value:?} {again:?}");
        prop_assert!(equal(&weights, &others), "{rule:?}: {weights:?} {others:?}");
    }

    #[test]
    fn a_common_shift_shifts_the_result(
        models in models(),
        by in -5.0f64..5.0,
        which in 0usize..7,
    ) {
        let rule = ROBUST[which];
        let (n, p) = (models.len(), models[0].len());
        let shift = |model: &Vec<f64>| model.iter().map(|x| x + by).collect();
        let shifted: Vec<Vec<f64>> = models.iter().map(shift).collect();
        let (value, _) = plain(rule, 1, &models);
        let (moved, _) = combined(rule, 1, &shifted, &vec![1.0; n], &vec![by; p]);
        let shifts = value.iter().zip(&moved).all(|(a, b)| (a + by - b).abs() < 1e-6);
        prop_assert!(shifts, "{rule:?}: {value:?} {moved:?}");
    }

    #[test]
    fn coordinates_stay_within_those_of_the_models(models in models(), which in 0usize..5) {
        let rule = ROBUST[which];
        let (value, weights) = plain(rule, 1, &models);
        for (j, x) in value.iter().enumerate() {
            let column = || models.iter().map(|m| m[j]);
            let least = column().fold(f64::INFINITY, f64::min);
            let most = column().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(*x >= least - 1e-12 && *x <= most + 1e-12, "{rule:?}");
        }
        prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!(weights.iter().all(|w| *w >= 0.0));
    }

    /// One model at a million moves no rule out of the honest range, and the mean far out of it.
    #[test]
    fn an_outlier_is_outvoted(models in models(), at in 0usize..9, which in 0usize..7) {
        let rule = ROBUST[which];
        let (n, p) = (models.len(), models[0].len());
        let mut attacked = models.clone();
        attacked[at % n] = vec![1e6; p];
        let (value, _) = plain(rule, 1, &attacked);
        // The geometric median and cut updates are within the honest spread of them, not coordinate
        // by coordinate.
        let slack = match rule {
            Rule::GeometricMedian => 12.0,
            Rule::NormBounded => 6.0,
            _ => 1e-9,
        };
        for (j, x) in value.iter().enumerate() {
            let honest = || (0..n).filter(|k| *k != at % n).map(|k| attacked[k][j]);
            let least = honest().fold(f64::INFINITY, f64::min);
            let most = honest().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(*x >= least - slack && *x <= most + slack, "{rule:?}: {x} not in \
                {least}..{most}");
        }
        prop_assert!(plain(Rule::Mean, 1, &attacked).0.iter().all(|x| *x > 1e4));
    }
}
