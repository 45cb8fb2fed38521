//! Envelopes that a federation in one process never sends.

use super::*;
use crate::boost::Summary;
use crate::wire::Message;
use boostfgl_nn::{Matrix, Params, TensorShape};

const SIZES: [f64; 4] = [10.0, 20.0, 30.0, 40.0];

fn model(value: f64) -> Params<f64> {
    Params::from_tensors(&[TensorShape::bias("b", 1)], vec![Matrix::from_rows(1, 1, &[value])])
}

fn envelope<'a>(client: usize, round: usize, model: &'a Params<f64>, message: &'a Message<f64>) -> Envelope<'a, f64> {
    let summary = Some(Summary { gap: 0.5, minority_difficulty: 0.25 });
    let norm = model.tensors()[0].row(0)[0].abs();
    Envelope {
        from: client,
        client,
        round,
        model: Some(model),
        message,
        norm,
        combined: true,
        size: 1.0,
        summary,
        seconds: 0.0,
    }
}

/// Judges a round in which everybody was given `given`.
fn judge(screen: &mut Screen, round: usize, given: &Params<f64>, arrived: &[Envelope<'_, f64>]) -> Vec<&'static str> {
    let shapes = [TensorShape::bias("b", 1)];
    let expected = Expected {
        round,
        participants: &[0, 1, 2, 3],
        shapes: &shapes,
        enrolled: &SIZES,
        given: vec![(Some(given), None); SIZES.len()],
    };
    let told = |verdict: Option<Reason>| verdict.map_or("used", |reason| reason.kind());
    screen.judge(arrived, &expected).into_iter().map(told).collect()
}

fn fresh() -> Screen {
    Screen::new(&Config::default(), SIZES.len())
}

/// The verdict on one envelope among three good ones.
fn verdict(change: impl Fn(&mut Envelope<'_, f64>)) -> &'static str {
    let (start, sent, message) = (model(0.0), model(1.0), Message::default());
    let mut arrived: Vec<Envelope<'_, f64>> = (0..4).map(|k| envelope(k, 7, &sent, &message)).collect();
    change(&mut arrived[3]);
    let verdicts = judge(&mut fresh(), 7, &start, &arrived);
    assert_eq!(verdicts[..3], ["used"; 3]);
    verdicts[3]
}

#[test]
fn claims_that_cannot_be_true_are_refused() {
    assert_eq!(verdict(|_| {}), "used");
    assert_eq!(verdict(|e| e.client = 0), "stranger");
    assert_eq!(verdict(|e| (e.client, e.from) = (9, 9)), "not-invited");
    assert_eq!(verdict(|e| (e.client, e.from) = (1, 1)), "duplicate");
    assert_eq!([verdict(|e| e.round = 6), verdict(|e| e.round = 8)], ["wrong-round"; 2]);
    for size in [0.0, -850.0, 1.5, 41.0, 1e300, f64::NAN, f64::INFINITY] {
        assert_eq!(verdict(|e| e.size = size), "size", "{size}");
    }
    assert_eq!(verdict(|e| e.size = 40.0), "used");
    for gap in [-0.1, 1.1, f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(verdict(|e| e.summary = Some(Summary { gap, minority_difficulty: 0.0 })), "summary", "{gap}");
    }
    let difficult = |d| move |e: &mut Envelope<'_, f64>| e.summary = Some(Summary { gap: 0.0, minority_difficulty: d });
    assert_eq!(
        [verdict(difficult(-1.0)), verdict(difficult(f64::NAN)), verdict(difficult(3.0))],
        ["summary", "summary", "used"]
    );
    assert_eq!([verdict(|e| e.norm = f64::NAN), verdict(|e| e.norm = -1.0)], ["not-finite"; 2]);
    let bad = Message::numbers(vec![f64::NAN]);
    let (start, sent) = (model(0.0), model(1.0));
    assert_eq!(judge(&mut fresh(), 1, &start, &[envelope(0, 1, &sent, &bad)]), ["not-finite"]);
}

/// Ten times the median is the bound, unless the model itself is longer.
#[test]
fn long_updates_are_told_by_the_others() {
    let message = Message::default();
    let models = [1.0, 2.0, 3.0, 31.0].map(model);
    let arrived: Vec<Envelope<'_, f64>> = (0..4).map(|k| envelope(k, 1, &models[k], &message)).collect();
    assert_eq!(judge(&mut fresh(), 1, &model(0.0), &arrived)[3], "too-long");
    assert_eq!(judge(&mut fresh(), 1, &model(40.0), &arrived)[3], "used");
    // When all grow, all may.
    let mut screen = fresh();
    judge(&mut screen, 1, &model(0.0), &arrived[..3]);
    let later = [1e3, 2e3, 3e3, 4e3].map(model);
    let arrived: Vec<Envelope<'_, f64>> = (0..4).map(|k| envelope(k, 2, &later[k], &message)).collect();
    assert_eq!(judge(&mut screen, 2, &model(0.5), &arrived), ["used"; 4]);
}

/// Two updates cannot judge each other: the rounds before do, a hundredfold.
#[test]
fn few_updates_are_told_by_the_rounds_before() {
    let (message, start) = (Message::default(), model(0.0));
    let alone = |screen: &mut Screen, round: usize, length: f64| {
        let sent = model(length);
        judge(screen, round, &model(0.001 * round as f64), &[envelope(0, round, &sent, &message)])[0]
    };
    let mut screen = fresh();
    assert_eq!(alone(&mut screen, 1, 1e9), "used", "nothing to compare with");
    let mut screen = fresh();
    let ones = [1.0, 1.1, 1.2, 1.3].map(model);
    let arrived: Vec<Envelope<'_, f64>> = (0..4).map(|k| envelope(k, 1, &ones[k], &message)).collect();
    judge(&mut screen, 1, &start, &arrived);
    assert_eq!([alone(&mut screen, 2, 110.0), alone(&mut screen, 3, 130.0)], ["used", "too-long"]);
}

#[test]
fn a_replay_is_told_from_an_honest_repetition() {
    let (message, sent, other) = (Message::default(), model(1.0), model(2.0));
    let mut screen = fresh();
    let mut alone = |client: usize, round: usize, given: f64, sent: &Params<f64>| {
        let given = model(given);
        let one = Envelope { norm: sent.distance(&given), ..envelope(client, round, sent, &message) };
        judge(&mut screen, round, &given, &[one])[0]
    };
    assert_eq!(alone(2, 1, 0.1, &sent), "used");
    // The same question, the same answer.
    assert_eq!(alone(2, 2, 0.1, &sent), "used");
    assert_eq!(alone(2, 3, 0.2, &other), "used");
    assert_eq!(alone(2, 4, 0.3, &sent), "replay");
    // Another client's is not its own, and who did not move has nothing else to send.
    assert_eq!(alone(1, 5, 0.3, &sent), "used");
    assert_eq!(alone(2, 6, 1.0, &sent), "used");
}

#[test]
fn a_quorum_is_rounded_up() {
    let needed = |quorum: f64, of: usize| Config { quorum, ..Config::default() }.needed(of);
    assert_eq!([needed(0.5, 5), needed(0.5, 4), needed(0.01, 3), needed(1.0, 7), needed(0.1, 30)], [3, 2, 1, 7, 3]);
}
