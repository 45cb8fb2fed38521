//! Forgeries of a model of two numbers, computed by hand.

use super::forge::quantile;
use super::*;
use crate::boost::Summary;
use crate::screen::Form;
use boostfgl_nn::{Matrix, Params, TensorShape};
use boostfgl_protocol::Message;

fn model(values: &[f64]) -> Params<f64> {
    Params::from_tensors(
        &[TensorShape::bias("b", values.len())],
        vec![Matrix::from_rows(1, values.len(), values)],
    )
}

/// What the last of some clients sends from [1, 1] in place of the last of `models`.
fn forged(kind: Kind, strength: Option<f64>, models: &[Params<f64>]) -> Forged<f64> {
    let (start, message) = (model(&[1.0, 1.0]), Message::default());
    let updates: Vec<HonestUpdate<'_, f64>> = models
        .iter()
        .enumerate()
        .map(|(client, model)| HonestUpdate {
            client,
            start: Some(&start),
            received: None,
            form: Form::model(),
            model: Some(model),
            message: &message,
            norms: None,
            shows_distance: false,
            labelled: 5.0,
            size: 10.0,
            summary: Some(Summary { gap: 0.5, minority_difficulty: 0.25 }),
        })
        .collect();
    let config = Config { kind, strength, ..Config::default() };
    let mut attack =
        Attack::new(&config, config.attackers(models.len()).unwrap(), models.len()).unwrap();
    let mut forged = attack.forge(3, &updates);
    assert!(forged[..models.len() - 1].iter().all(Option::is_none), "only attackers forge");
    forged.pop().flatten().unwrap()
}

fn values(forged: &Forged<f64>) -> Vec<f64> {
    forged.model.as_ref().unwrap().tensors()[0].to_vec()
}

#[test]
fn each_attack_forges_what_its_name_says() {
    let sent = [model(&[2.0, 4.0]), model(&[4.0, 4.0]), model(&[3.0, 0.0])];
    let flipped = forged(Kind::SignFlip, None, &sent);
    assert_eq!(values(&flipped), [-1.0, 2.0]);
    assert_eq!(values(&forged(Kind::Scale, Some(10.0), &sent)), [21.0, -9.0]);
    assert_eq!(values(&forged(Kind::FreeRider, None, &sent)), [1.0, 1.0]);
    // The others' mean is [3, 4], their standard deviation [1, 0].
    assert_eq!(values(&forged(Kind::Alie, Some(2.0), &sent)), [1.0, 4.0]);
    assert!(values(&forged(Kind::Nan, None, &sent))[0].is_nan());
    assert_eq!(values(&forged(Kind::Inf, None, &sent))[0], f64::INFINITY);
    assert_eq!(forged(Kind::WrongRound, None, &sent).round, 2);
    assert_eq!(forged(Kind::WrongSize, None, &sent).size, Some(1e7));
    assert_eq!(forged(Kind::TrustLiar, None, &sent).summary.unwrap().gap, 0.0);
    assert!(forged(Kind::Duplicate, None, &sent).twice);
}

/// Φ⁻¹(0.5) = 0, Φ⁻¹(0.975) = 1.959963984540, Φ⁻¹(0.1) = −1.281551565545.
#[test]
fn the_normal_quantile_matches_published_values() {
    for (p, z) in [(0.5, 0.0), (0.975, 1.959_963_984_540), (0.1, -1.281_551_565_545)] {
        assert!((quantile(p) - z).abs() < 1e-9, "{p}: {}", quantile(p));
    }
    assert_eq!((quantile(0.0), quantile(1.0), quantile(f64::NAN)), (0.0, 0.0, 0.0));
}

#[test]
fn attackers_are_the_last_clients_or_the_named_ones() {
    let attackers = |config: &Config| config.attackers(5).unwrap();
    assert_eq!(attackers(&Config::default()), [0; 0]);
    let last = Config { kind: Kind::Nan, clients: 2, ..Config::default() };
    assert_eq!(attackers(&last), [3, 4]);
    assert_eq!(attackers(&Config { which: Some(vec![2, 0, 2]), ..last }), [0, 2]);
}

#[test]
fn settings_without_effect_are_refused() {
    let refusal =
        |config: Config| config.check().err().map(|error| error.to_string()).unwrap_or_default();
    let nan = Config { kind: Kind::Nan, ..Config::default() };
    assert_eq!(
        refusal(Config { which: Some(Vec::new()), ..nan.clone() }),
        "attack.which: expected the numbers of the clients that attack, found none"
    );
    assert_eq!(
        refusal(Config { rounds: Some(0), ..nan.clone() }),
        "attack.rounds: expected at least 1, found 0"
    );
    assert_eq!(refusal(Config { rounds: Some(1), ..nan.clone() }), "");
    for kind in [Kind::LabelFlip, Kind::TrustLiar] {
        assert_eq!(
            refusal(Config { kind, rounds: Some(3), ..Config::default() }),
            "attack.rounds: expected no number of rounds with label-flip and trust-liar, whose \
             labels are wrong before the \
             first, found 3"
        );
        assert_eq!(refusal(Config { kind, ..Config::default() }), "");
    }
    let strong = Config { strength: Some(1e300), ..nan };
    assert!(
        refusal(strong.clone())
            .starts_with("attack.strength: expected a number that single precision can hold")
    );
    // No list is made: there may be more clients than memory for their numbers.
    assert!(Config { clients: usize::MAX, ..strong }.check_clients(usize::MAX).is_ok());
}
