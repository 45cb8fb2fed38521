//! Screening of handmade envelopes, most of which cannot occur in a federation in one process.

use super::*;
use crate::boost::Summary;
use boostfgl_nn::{Matrix, Params, TensorShape};
use boostfgl_protocol::Message;

const SIZES: [f64; 4] = [10.0, 20.0, 30.0, 40.0];

fn model(value: f64) -> Params<f64> {
    Params::from_tensors(&[TensorShape::bias("b", 1)], vec![Matrix::from_rows(1, 1, &[value])])
}

fn envelope<'a>(
    client: usize,
    round: usize,
    model: &'a Params<f64>,
    message: &'a Message<f64>,
) -> Envelope<'a, f64> {
    let summary = Some(Summary { gap: 0.5, minority_difficulty: 0.25 });
    let norm = model.tensors()[0].row(0)[0].abs();
    Envelope {
        from: client,
        round,
        model: Some(model),
        message,
        norm,
        // One for each tensor of the model.
        tensor_norms: &[0.0],
        combined: true,
        size: 1.0,
        summary,
        seconds: 0.0,
    }
}

/// The verdicts on a round in which every client was given `given`.
fn verdicts_on(
    screen: &mut Screen,
    round: usize,
    given: &Params<f64>,
    arrived: &[Envelope<'_, f64>],
) -> Vec<&'static str> {
    let shapes = [TensorShape::bias("b", 1)];
    let expected = Expected {
        round,
        shapes: &shapes,
        enrolled: &SIZES,
        given: vec![(Some(given), None); SIZES.len()],
        form: &|_| Form::model().with(Part::new("loss", 1, 0.0..=1.0).optional_if(true)),
        moved: &|_| None,
        summaries: true,
    };
    kinds(&screen.examine(arrived, &expected))
}

/// One word per verdict.
fn kinds(verdicts: &[Option<Reason>]) -> Vec<&'static str> {
    verdicts.iter().map(|verdict| verdict.as_ref().map_or("used", Reason::kind)).collect()
}

fn fresh() -> Screen {
    Screen::new(&Config::default(), SIZES.len())
}

/// The verdict on one envelope among three good ones.
fn verdict(change: impl Fn(&mut Envelope<'_, f64>)) -> &'static str {
    let (start, sent, message) = (model(0.0), model(1.0), Message::default());
    let mut arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 7, &sent, &message)).collect();
    change(&mut arrived[3]);
    let verdicts = verdicts_on(&mut fresh(), 7, &start, &arrived);
    assert_eq!(verdicts[..3], ["used"; 3]);
    verdicts[3]
}

#[test]
fn impossible_claims_are_refused() {
    assert_eq!(verdict(|_| {}), "used");
    assert_eq!(verdict(|e| e.from = 1), "duplicate");
    assert_eq!([verdict(|e| e.round = 6), verdict(|e| e.round = 8)], ["wrong-round"; 2]);
    for size in [0.0, -850.0, 1.5, 41.0, 1e300, f64::NAN, f64::INFINITY] {
        assert_eq!(verdict(|e| e.size = size), "size", "{size}");
    }
    assert_eq!(verdict(|e| e.size = 40.0), "used");
    for gap in [-0.1, 1.1, f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(
            verdict(|e| e.summary = Some(Summary { gap, minority_difficulty: 0.0 })),
            "summary",
            "{gap}"
        );
    }
    assert_eq!(verdict(|e| e.summary = None), "message", "what trust is made from is missing");
    let difficult = |d| {
        move |e: &mut Envelope<'_, f64>| {
            e.summary = Some(Summary { gap: 0.0, minority_difficulty: d });
        }
    };
    assert_eq!(
        [verdict(difficult(-1.0)), verdict(difficult(f64::NAN)), verdict(difficult(3.0))],
        ["summary", "summary", "used"]
    );
    assert_eq!([verdict(|e| e.norm = f64::NAN), verdict(|e| e.norm = -1.0)], ["not-finite"; 2]);
    let (start, sent) = (model(0.0), model(1.0));
    for (numbers, verdict) in [
        (vec![f64::NAN], "not-finite"),
        (vec![0.5], "used"),
        (vec![1.5], "message"),
        (vec![0.5; 2], "message"),
    ] {
        let message = Message::numbers(numbers);
        assert_eq!(
            verdicts_on(&mut fresh(), 1, &start, &[envelope(0, 1, &sent, &message)]),
            [verdict],
            "{message:?}"
        );
    }
}

/// Ten times the median is the bound, unless the model itself is longer.
#[test]
fn updates_far_longer_than_the_others_are_refused() {
    let message = Message::default();
    let models = [1.0, 2.0, 3.0, 31.0].map(model);
    let arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 1, &models[k], &message)).collect();
    assert_eq!(verdicts_on(&mut fresh(), 1, &model(0.0), &arrived)[3], "too-long");
    assert_eq!(verdicts_on(&mut fresh(), 1, &model(40.0), &arrived)[3], "used");
    // A model that stays with its client is never combined, so that its length does not matter.
    let mut kept = arrived.clone();
    kept[3].combined = false;
    assert_eq!(verdicts_on(&mut fresh(), 1, &model(0.0), &kept), ["used"; 4]);
    // When all updates grow, all are accepted.
    let mut screen = fresh();
    verdicts_on(&mut screen, 1, &model(0.0), &arrived[..3]);
    let later = [1e3, 2e3, 3e3, 4e3].map(model);
    let arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 2, &later[k], &message)).collect();
    assert_eq!(verdicts_on(&mut screen, 2, &model(0.5), &arrived), ["used"; 4]);
}

#[test]
fn an_update_at_the_deadline_is_in_time() {
    let (start, sent, message) = (model(0.0), model(1.0), Message::default());
    let mut arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 7, &sent, &message)).collect();
    (arrived[2].seconds, arrived[3].seconds) = (2.0, 2.5);
    let config = Config { deadline_seconds: Some(2.0), ..Config::default() };
    let verdicts = verdicts_on(&mut Screen::new(&config, SIZES.len()), 7, &start, &arrived);
    assert_eq!(verdicts, ["used", "used", "used", "late"]);
}

/// A resumed run gives the same verdicts as an uninterrupted one.
#[test]
fn a_restored_screen_equals_the_saved_one() {
    let (message, mut screen) = (Message::default(), fresh());
    let models = [1.0, 2.0, 3.0, 4.0].map(model);
    let arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 1, &models[k], &message)).collect();
    assert_eq!(verdicts_on(&mut screen, 1, &model(0.0), &arrived), ["used"; 4]);

    let mut saved = Vec::new();
    screen.visit(&mut StateVisitor::saving(&mut saved)).unwrap();
    let mut back = fresh();
    let mut visitor = StateVisitor::restoring(&saved);
    back.visit(&mut visitor).unwrap();
    assert_eq!(visitor.unread(), 0);
    assert_eq!(back, screen);
    let again = [envelope(0, 2, &models[0], &message)];
    assert_eq!(verdicts_on(&mut back, 2, &model(0.5), &again), ["replay"]);
}

/// Two updates are no measure of each other: earlier rounds are, a hundredfold, and before there are
/// any the model that the clients started from.
#[test]
fn few_updates_are_compared_with_earlier_rounds() {
    let (message, start) = (Message::default(), model(0.0));
    let from = |screen: &mut Screen, round: usize, start: f64, length: f64| {
        let sent = model(length);
        verdicts_on(screen, round, &model(start), &[envelope(0, round, &sent, &message)])[0]
    };
    let verdict = |screen: &mut Screen, round: usize, length: f64| {
        from(screen, round, 0.001 * round as f64, length)
    };
    // A start that is shorter than 1 counts as 1.
    assert_eq!(
        [verdict(&mut fresh(), 1, 99.0), verdict(&mut fresh(), 1, 101.0)],
        ["used", "too-long"]
    );
    assert_eq!(
        [from(&mut fresh(), 1, 5.0, 499.0), from(&mut fresh(), 1, 5.0, 501.0)],
        ["used", "too-long"]
    );
    let two = [1.0, 101.0].map(model);
    let arrived: Vec<Envelope<'_, f64>> =
        (0..2).map(|k| envelope(k, 1, &two[k], &message)).collect();
    assert_eq!(verdicts_on(&mut fresh(), 1, &start, &arrived), ["used", "too-long"]);
    let mut screen = fresh();
    let ones = [1.0, 1.1, 1.2, 1.3].map(model);
    let arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 1, &ones[k], &message)).collect();
    verdicts_on(&mut screen, 1, &start, &arrived);
    assert_eq!(
        [verdict(&mut screen, 2, 110.0), verdict(&mut screen, 3, 130.0)],
        ["used", "too-long"]
    );
}

#[test]
fn a_replay_differs_from_an_honest_repetition() {
    let (message, sent, other) = (Message::default(), model(1.0), model(2.0));
    let mut screen = fresh();
    let mut verdict = |client: usize, round: usize, given: f64, sent: &Params<f64>| {
        let given = model(given);
        let one =
            Envelope { norm: sent.distance(&given), ..envelope(client, round, sent, &message) };
        verdicts_on(&mut screen, round, &given, &[one])[0]
    };
    assert_eq!(verdict(2, 1, 0.1, &sent), "used");
    // The same input honestly gives the same update.
    assert_eq!(verdict(2, 2, 0.1, &sent), "used");
    assert_eq!(verdict(2, 3, 0.2, &other), "used");
    assert_eq!(verdict(2, 4, 0.3, &sent), "replay");
    // Another client's update is no replay, and a client that did not move has nothing else to send.
    assert_eq!(verdict(1, 5, 0.3, &sent), "used");
    assert_eq!(verdict(2, 6, 1.0, &sent), "used");
}

/// The claimed distance has no effect: neither a replayed one nor 0 hides a replayed message.
#[test]
fn a_replayed_message_is_detected_from_what_was_given() {
    assert_replays_are_detected(
        &|x| Message::tensors(vec![Matrix::from_rows(1, 1, &[x])]),
        &|| Form::message().tensors(vec![(1, 1)]),
    );
    assert_replays_are_detected(
        &|x| Message { entries: vec![(0, x)], ..Message::default() },
        &|| Form::message().entries(1, 1),
    );
}

fn assert_replays_are_detected(message: &dyn Fn(f64) -> Message<f64>, form: &dyn Fn() -> Form) {
    let mut screen = fresh();
    let mut verdict = |round: usize, given: f64, sent: f64, norm: f64| {
        let (given, sent) = (message(given), message(sent));
        let unused = model(0.0);
        let update = Envelope { model: None, norm, ..envelope(0, round, &unused, &sent) };
        let expected = Expected {
            round,
            shapes: &[],
            enrolled: &SIZES,
            given: vec![(None, Some(&given)); SIZES.len()],
            form: &|_| form(),
            moved: &|_| None,
            summaries: false,
        };
        screen.examine(&[update], &expected)[0].as_ref().map_or("used", Reason::kind)
    };
    assert_eq!(verdict(1, 0.1, 1.0, 0.5), "used");
    assert_eq!(
        [verdict(2, 0.2, 1.0, 0.5), verdict(3, 0.3, 1.0, 0.0), verdict(4, 0.4, 1.0, 0.6)],
        ["replay"; 3]
    );
    // The same input may honestly give the same message, with any claimed distance; and dead units
    // send zeros.
    assert_eq!(verdict(5, 0.1, 1.0, 0.7), "used");
    assert_eq!([verdict(6, 0.2, 0.0, 0.5), verdict(7, 0.3, 0.0, 0.6)], ["used"; 2]);
}

/// Where no model is sent, what is sent in its place gets the same bound; an empty message is never
/// too long.
#[test]
fn long_updates_are_refused_as_models_tensors_or_entries() {
    let verdict = |content: &dyn Fn(f64) -> Message<f64>, form: &dyn Fn() -> Form| {
        let (messages, unused) = ([1.0, 2.0, 3.0, 4.0].map(content), model(0.0));
        let norms = [1.0, 2.0, 3.0, 31.0];
        let update_of = |(k, message)| Envelope {
            model: None,
            norm: norms[k],
            ..envelope(k, 1, &unused, message)
        };
        let arrived: Vec<_> = messages.iter().enumerate().map(update_of).collect();
        let expected = Expected {
            round: 1,
            shapes: &[],
            enrolled: &SIZES,
            given: vec![(None, None); SIZES.len()],
            form: &|_| form(),
            moved: &|_| None,
            summaries: false,
        };
        fresh().examine(&arrived, &expected)[3].as_ref().map_or("used", Reason::kind)
    };
    let tensor = |x: f64| Message::tensors(vec![Matrix::from_rows(1, 1, &[x])]);
    let entry = |x: f64| Message { entries: vec![(0, x)], ..Message::default() };
    assert_eq!(verdict(&tensor, &|| Form::message().tensors(vec![(1, 1)])), "too-long");
    assert_eq!(verdict(&entry, &|| Form::message().entries(1, 1)), "too-long");
    assert_eq!(verdict(&|_| Message::default(), &Form::message), "used");
}

/// A client may answer at the length of the server's message, however short the other messages are.
#[test]
fn a_message_may_be_as_long_as_the_servers() {
    let verdict = |given: f64| {
        let messages =
            [1.0, 2.0, 3.0, 45.0].map(|x| Message::tensors(vec![Matrix::from_rows(1, 1, &[x])]));
        let given = Message::tensors(vec![Matrix::from_rows(1, 1, &[given])]);
        let unused = model(0.0);
        let arrived: Vec<_> = messages
            .iter()
            .enumerate()
            .map(|(k, message)| Envelope {
                model: None,
                combined: false,
                ..envelope(k, 1, &unused, message)
            })
            .collect();
        let expected = Expected {
            round: 1,
            shapes: &[TensorShape::bias("b", 1)],
            enrolled: &SIZES,
            given: vec![(None, Some(&given)); SIZES.len()],
            form: &|_| Form::message().tensors(vec![(1, 1)]),
            moved: &|_| None,
            summaries: false,
        };
        fresh().examine(&arrived, &expected)[3].as_ref().map_or("used", Reason::kind)
    };
    assert_eq!([verdict(0.0), verdict(44.0), verdict(46.0)], ["too-long", "too-long", "used"]);
}

/// A message shows that one tensor moved by 3, the other by 4 to 5.
#[test]
fn a_claimed_distance_must_be_the_one_that_the_message_shows() {
    let verdict = |norms: &[f64]| {
        let (message, unused) = (Message::default(), model(0.0));
        let norm = norms.iter().map(|x| x * x).sum::<f64>().sqrt();
        let update = Envelope {
            model: None,
            norm,
            tensor_norms: norms,
            ..envelope(0, 1, &unused, &message)
        };
        let expected = Expected {
            round: 1,
            shapes: &[],
            enrolled: &SIZES,
            given: vec![(None, None); SIZES.len()],
            form: &|_| Form::message(),
            moved: &|_| {
                Some(vec![DistanceRange::exact(3.0), DistanceRange { least: 4.0, most: 5.0 }])
            },
            summaries: false,
        };
        fresh().examine(&[update], &expected)[0].as_ref().map(ToString::to_string)
    };
    assert_eq!([verdict(&[3.0, 4.0]), verdict(&[3.000_001, 5.0])], [None, None]);
    let reason = "expected an update that moved by 3.000e0 to 3.000e0, found a claimed distance of \
        0.000e0";
    assert_eq!(verdict(&[0.0, 0.0]).as_deref(), Some(reason));
    assert!(
        [&[3.0, 3.9][..], &[3.0, 5.1], &[3.1, 4.0], &[3.0], &[3.0, 4.0, 0.0]]
            .iter()
            .all(|n| verdict(n).is_some())
    );
}

/// The bound is ten times the larger of the other clients' claims and the usual value.
#[test]
fn claims_far_above_the_others_are_refused() {
    let (start, sent) = (model(0.0), model(1.0));
    let verdicts_on = |screen: &mut Screen, round: usize, claims: &[f64]| -> Vec<&'static str> {
        let messages: Vec<Message<f64>> =
            claims.iter().map(|&x| Message::numbers(vec![x])).collect();
        let shapes = [TensorShape::bias("b", 1)];
        let expected = Expected {
            round,
            shapes: &shapes,
            enrolled: &SIZES,
            given: vec![(Some(&start), None); SIZES.len()],
            form: &|_| Form::model().with(Part::new("loss", 1, 0.0..=1e6).bounded_by_others(0.7)),
            moved: &|_| None,
            summaries: true,
        };
        let arrived: Vec<_> =
            messages.iter().enumerate().map(|(k, m)| envelope(k, round, &sent, m)).collect();
        kinds(&screen.examine(&arrived, &expected))
    };
    assert_eq!(verdicts_on(&mut fresh(), 1, &[0.01, 0.02, 0.03, 6.9]), ["used"; 4]);
    assert_eq!(
        verdicts_on(&mut fresh(), 1, &[0.01, 0.02, 0.03, 7.1]),
        ["used", "used", "used", "implausible"]
    );
    assert_eq!(
        verdicts_on(&mut fresh(), 1, &[2.0, 2.0, 3.0, 29.0]),
        ["used"; 4],
        "all claims are high"
    );
    assert_eq!(verdicts_on(&mut fresh(), 1, &[2.0, 2.0, 3.0, 30.0])[3], "used", "the bound itself");
    assert_eq!(verdicts_on(&mut fresh(), 1, &[2.0, 2.0, 3.0, 31.0])[3], "implausible");
    assert_eq!(verdicts_on(&mut fresh(), 1, &[1.0, 2.0, 15.0]), ["used"; 3], "three have a median");
    // Of two the smaller is the measure, and a single one has nothing to be compared with.
    assert_eq!(verdicts_on(&mut fresh(), 1, &[1.0, 10.5]), ["used", "implausible"]);
    assert_eq!(verdicts_on(&mut fresh(), 1, &[900.0, 800.0]), ["used"; 2]);
    assert_eq!(verdicts_on(&mut fresh(), 1, &[1e5]), ["used"]);
    // Claims of the previous round still count.
    let mut screen = fresh();
    verdicts_on(&mut screen, 1, &[5.0, 5.0, 5.0]);
    assert_eq!(verdicts_on(&mut screen, 2, &[0.1, 0.1, 0.1, 49.0]), ["used"; 4]);
}

#[test]
fn the_length_of_a_message_covers_tensors_and_entries() {
    use super::length::{far_above, message_length};
    let (tensor, entries) = (Matrix::from_rows(1, 2, &[2.0, -3.0]), vec![(4, 6.0), (7, 0.0)]);
    assert_eq!(
        message_length(&Message::<f64>::numbers(vec![5.0])),
        None,
        "nothing that is combined"
    );
    assert_eq!(message_length(&Message::tensors(vec![tensor.clone()])), Some(libm::sqrt(13.0)));
    let ten = Matrix::from_rows(2, 5, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
    assert_eq!(message_length(&Message::tensors(vec![ten])), Some(libm::sqrt(385.0)));
    assert_eq!(
        message_length(&Message { entries: entries.clone(), ..Message::default() }),
        Some(6.0)
    );
    assert_eq!(message_length(&Message { entries, ..Message::tensors(vec![tensor]) }), Some(7.0));
    assert_eq!(
        [
            far_above(&[1.0, 9.0, 3.0], 10.0),
            far_above(&[1.0, 2.0], 10.0),
            far_above(&[0.0; 3], 10.0)
        ],
        [Some(30.0), None, None]
    );
}

/// Tensors of the model's shapes get the bound of models, others its cube; the largest median of any
/// round stays a floor.
#[test]
fn messages_with_model_shapes_get_the_bound_of_models() {
    let (start, sent) = (model(0.0), model(1.0));
    let verdicts_on = |screen: &mut Screen,
                       round: usize,
                       shape: (usize, usize),
                       lengths: &[f64]|
     -> Vec<&'static str> {
        let tensor = |x: f64| {
            let mut tensor = Matrix::zeros(shape.0, shape.1);
            tensor.row_mut(0)[0] = x;
            Message::tensors(vec![tensor])
        };
        let messages: Vec<Message<f64>> = lengths.iter().map(|&x| tensor(x)).collect();
        let shapes = [TensorShape::bias("b", 1)];
        let expected = Expected {
            round,
            shapes: &shapes,
            enrolled: &SIZES,
            given: vec![(Some(&start), None); SIZES.len()],
            form: &|_| Form::model().tensors(vec![shape]),
            moved: &|_| None,
            summaries: true,
        };
        let arrived: Vec<_> =
            messages.iter().enumerate().map(|(k, m)| envelope(k, round, &sent, m)).collect();
        kinds(&screen.examine(&arrived, &expected))
    };
    assert_eq!(
        verdicts_on(&mut fresh(), 1, (1, 1), &[1.0, 2.0, 3.0, 31.0]),
        ["used", "used", "used", "too-long"]
    );
    assert_eq!(verdicts_on(&mut fresh(), 1, (1, 1), &[1.0, 2.0, 3.0, 29.0]), ["used"; 4]);
    assert_eq!(verdicts_on(&mut fresh(), 1, (2, 1), &[1.0, 2.0, 3.0, 2_990.0]), ["used"; 4]);
    assert_eq!(verdicts_on(&mut fresh(), 1, (2, 1), &[1.0, 2.0, 3.0, 3_100.0])[3], "too-long");
    let mut screen = fresh();
    verdicts_on(&mut screen, 1, (1, 1), &[1.0, 2.0, 3.0, 3.0]);
    (2..9).for_each(|round| {
        assert_eq!(verdicts_on(&mut screen, round, (1, 1), &[0.01; 4]), ["used"; 4]);
    });
    assert_eq!(
        verdicts_on(&mut screen, 9, (1, 1), &[0.01, 0.01, 0.01, 29.0]),
        ["used"; 4],
        "a gradient as long as the first"
    );
    assert_eq!(verdicts_on(&mut screen, 10, (1, 1), &[0.01, 0.01, 0.01, 31.0])[3], "too-long");
    assert_eq!(
        verdicts_on(&mut fresh(), 1, (1, 1), &[0.0, 0.0, 0.0, 5.0]),
        ["used"; 4],
        "zeros are no measure"
    );
    // With fewer than three updates earlier rounds decide; for messages of other shapes the factor is
    // not squared.
    let mut screen = fresh();
    verdicts_on(&mut screen, 1, (1, 1), &[1.0, 1.0, 1.0]);
    assert_eq!(
        [
            verdicts_on(&mut screen, 2, (1, 1), &[99.0])[0],
            verdicts_on(&mut screen, 3, (1, 1), &[10_000.0])[0]
        ],
        ["used", "too-long"]
    );
    let mut screen = fresh();
    verdicts_on(&mut screen, 1, (2, 1), &[1.0, 1.0, 1.0]);
    assert_eq!(
        [
            verdicts_on(&mut screen, 2, (2, 1), &[990.0])[0],
            verdicts_on(&mut screen, 3, (2, 1), &[1_010.0])[0]
        ],
        ["used", "too-long"]
    );
}

/// The server cannot compute with another form, so that the form is always checked. Numbers are
/// checked only if screening is on.
#[test]
fn forms_are_checked_even_when_screening_is_off() {
    let (start, sent, broken, message) =
        (model(0.0), model(1.0), model(f64::NAN), Message::default());
    let wide = Params::from_tensors(&[TensorShape::bias("b", 2)], vec![Matrix::zeros(1, 2)]);
    let (long, wrong) = (model(1e9), Message::numbers(vec![0.5; 2]));
    let mut off = Screen::new(&Config { enabled: false, ..Config::default() }, SIZES.len());
    let mut verdict_on =
        |change: &dyn Fn(&mut Envelope<'_, f64>), sent: &Params<f64>, message: &Message<f64>| {
            let mut envelope = envelope(0, 1, sent, message);
            change(&mut envelope);
            verdicts_on(&mut off, 1, &start, &[envelope])[0]
        };
    assert_eq!(
        [verdict_on(&|_| {}, &broken, &message), verdict_on(&|_| {}, &long, &message)],
        ["used"; 2]
    );
    assert_eq!(
        [
            verdict_on(&|e| e.size = -1.0, &sent, &message),
            verdict_on(&|e| e.norm = f64::NAN, &sent, &message)
        ],
        ["used"; 2]
    );
    assert_eq!(
        [verdict_on(&|_| {}, &wide, &message), verdict_on(&|_| {}, &sent, &wrong)],
        ["shape", "message"]
    );
    assert_eq!(verdict_on(&|e| e.round = 2, &sent, &message), "wrong-round");
}

#[test]
fn settings_out_of_range_are_refused_by_key() {
    let key = |change: fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        config
            .check()
            .err()
            .map(|error| error.to_string().split(':').next().unwrap_or_default().to_owned())
    };
    let [bound, quorum, deadline] =
        ["norm_bound", "quorum", "deadline_seconds"].map(|key| Some(format!("screen.{key}")));
    assert_eq!(key(|_| {}), None);
    for (wrong, named) in [
        (key(|c| c.norm_bound = 1.0), &bound),
        (key(|c| c.norm_bound = f64::INFINITY), &bound),
        (key(|c| c.norm_bound = f64::NAN), &bound),
        (key(|c| c.quorum = 0.0), &quorum),
        (key(|c| c.quorum = 1.1), &quorum),
        (key(|c| c.quorum = f64::NAN), &quorum),
        (key(|c| c.deadline_seconds = Some(0.0)), &deadline),
        (key(|c| c.deadline_seconds = Some(-1.0)), &deadline),
        (key(|c| c.deadline_seconds = Some(f64::INFINITY)), &deadline),
    ] {
        assert!(
            wrong.as_ref().is_some_and(|key| key.contains(named.as_deref().unwrap_or_default())),
            "{wrong:?}"
        );
    }
    assert_eq!(key(|c| (c.norm_bound, c.quorum, c.deadline_seconds) = (1.5, 1.0, Some(0.5))), None);
    assert!(
        is_default(&Config::default()) && !is_default(&Config { quorum: 0.7, ..Config::default() })
    );
}

#[test]
fn the_quorum_is_rounded_up() {
    let needed = |quorum: f64, participants: usize| {
        Config { quorum, ..Config::default() }.needed(participants)
    };
    assert_eq!(
        [needed(0.5, 5), needed(0.5, 4), needed(0.01, 3), needed(1.0, 7), needed(0.1, 30)],
        [3, 2, 1, 7, 3]
    );
}
