//! Envelopes that a federation in one process never sends.

use super::*;
use crate::boost::Summary;
use crate::wire::Message;
use boostfgl_nn::{Matrix, Params, TensorShape};

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
        client,
        round,
        model: Some(model),
        message,
        norm,
        tensor_norms: &[],
        combined: true,
        size: 1.0,
        summary,
        seconds: 0.0,
    }
}

/// Judges a round in which everybody was given `given`.
fn judge(
    screen: &mut Screen,
    round: usize,
    given: &Params<f64>,
    arrived: &[Envelope<'_, f64>],
) -> Vec<&'static str> {
    judge_among(&[0, 1, 2, 3], screen, round, given, arrived)
}

/// The same with other participants.
fn judge_among(
    participants: &[usize],
    screen: &mut Screen,
    round: usize,
    given: &Params<f64>,
    arrived: &[Envelope<'_, f64>],
) -> Vec<&'static str> {
    let shapes = [TensorShape::bias("b", 1)];
    let expected = Expected {
        round,
        participants,
        shapes: &shapes,
        enrolled: &SIZES,
        given: vec![(Some(given), None); SIZES.len()],
        form: &|_| Form::model().with(Part::new("loss", 1, 0.0..=1.0).optional_if(true)),
        moved: &|_| None,
        summaries: true,
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
    let mut arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 7, &sent, &message)).collect();
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
        assert_eq!(
            verdict(|e| e.summary = Some(Summary { gap, minority_difficulty: 0.0 })),
            "summary",
            "{gap}"
        );
    }
    assert_eq!(verdict(|e| e.summary = None), "message", "what trust is made from is missing");
    let difficult = |d| {
        move |e: &mut Envelope<'_, f64>| {
            e.summary = Some(Summary { gap: 0.0, minority_difficulty: d })
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
            judge(&mut fresh(), 1, &start, &[envelope(0, 1, &sent, &message)]),
            [verdict],
            "{message:?}"
        );
    }
}

/// Ten times the median is the bound, unless the model itself is longer.
#[test]
fn long_updates_are_told_by_the_others() {
    let message = Message::default();
    let models = [1.0, 2.0, 3.0, 31.0].map(model);
    let arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 1, &models[k], &message)).collect();
    assert_eq!(judge(&mut fresh(), 1, &model(0.0), &arrived)[3], "too-long");
    assert_eq!(judge(&mut fresh(), 1, &model(40.0), &arrived)[3], "used");
    // A model that stays with its client harms nobody else, whatever its length.
    let mut kept = arrived.clone();
    kept[3].combined = false;
    assert_eq!(judge(&mut fresh(), 1, &model(0.0), &kept), ["used"; 4]);
    // When all grow, all may.
    let mut screen = fresh();
    judge(&mut screen, 1, &model(0.0), &arrived[..3]);
    let later = [1e3, 2e3, 3e3, 4e3].map(model);
    let arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 2, &later[k], &message)).collect();
    assert_eq!(judge(&mut screen, 2, &model(0.5), &arrived), ["used"; 4]);
}

#[test]
fn who_sits_out_a_round_or_was_never_enrolled_is_not_invited() {
    let (start, sent, message) = (model(0.0), model(1.0), Message::default());
    let mut arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 7, &sent, &message)).collect();
    let verdicts = judge_among(&[0, 1, 2], &mut fresh(), 7, &start, &arrived);
    assert_eq!(verdicts, ["used", "used", "used", "not-invited"]);
    (arrived[3].from, arrived[3].client) = (9, 9);
    let verdicts = judge_among(&[0, 1, 2, 9], &mut fresh(), 7, &start, &arrived);
    assert_eq!(verdicts, ["used", "used", "used", "not-invited"]);
}

#[test]
fn the_deadline_itself_is_in_time() {
    let (start, sent, message) = (model(0.0), model(1.0), Message::default());
    let mut arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 7, &sent, &message)).collect();
    (arrived[2].seconds, arrived[3].seconds) = (2.0, 2.5);
    let config = Config { deadline_seconds: Some(2.0), ..Config::default() };
    let verdicts = judge(&mut Screen::new(&config, SIZES.len()), 7, &start, &arrived);
    assert_eq!(verdicts, ["used", "used", "used", "late"]);
}

/// What was judged before a stop is remembered after it, or the next round would be judged
/// otherwise.
#[test]
fn a_screen_that_was_put_back_remembers_everything() {
    let (message, mut screen) = (Message::default(), fresh());
    let models = [1.0, 2.0, 3.0, 4.0].map(model);
    let arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 1, &models[k], &message)).collect();
    assert_eq!(judge(&mut screen, 1, &model(0.0), &arrived), ["used"; 4]);

    let mut saved = Vec::new();
    screen.visit(&mut StateVisitor::saving(&mut saved)).unwrap();
    let mut back = fresh();
    let mut visitor = StateVisitor::restoring(&saved);
    back.visit(&mut visitor).unwrap();
    assert_eq!(visitor.unread(), 0);
    assert_eq!(back, screen);
    let again = [envelope(0, 2, &models[0], &message)];
    assert_eq!(judge(&mut back, 2, &model(0.5), &again), ["replay"]);
}

/// Two updates cannot judge each other: the rounds before do, a hundredfold, and before them the
/// model they started from.
#[test]
fn few_updates_are_told_by_the_rounds_before() {
    let (message, start) = (Message::default(), model(0.0));
    let from = |screen: &mut Screen, round: usize, start: f64, length: f64| {
        let sent = model(length);
        judge(screen, round, &model(start), &[envelope(0, round, &sent, &message)])[0]
    };
    let alone = |screen: &mut Screen, round: usize, length: f64| {
        from(screen, round, 0.001 * round as f64, length)
    };
    // A start that is shorter than 1 counts as 1.
    assert_eq!([alone(&mut fresh(), 1, 99.0), alone(&mut fresh(), 1, 101.0)], ["used", "too-long"]);
    assert_eq!(
        [from(&mut fresh(), 1, 5.0, 499.0), from(&mut fresh(), 1, 5.0, 501.0)],
        ["used", "too-long"]
    );
    let two = [1.0, 101.0].map(model);
    let arrived: Vec<Envelope<'_, f64>> =
        (0..2).map(|k| envelope(k, 1, &two[k], &message)).collect();
    assert_eq!(judge(&mut fresh(), 1, &start, &arrived), ["used", "too-long"]);
    let mut screen = fresh();
    let ones = [1.0, 1.1, 1.2, 1.3].map(model);
    let arrived: Vec<Envelope<'_, f64>> =
        (0..4).map(|k| envelope(k, 1, &ones[k], &message)).collect();
    judge(&mut screen, 1, &start, &arrived);
    assert_eq!([alone(&mut screen, 2, 110.0), alone(&mut screen, 3, 130.0)], ["used", "too-long"]);
}

#[test]
fn a_replay_is_told_from_an_honest_repetition() {
    let (message, sent, other) = (Message::default(), model(1.0), model(2.0));
    let mut screen = fresh();
    let mut alone = |client: usize, round: usize, given: f64, sent: &Params<f64>| {
        let given = model(given);
        let one =
            Envelope { norm: sent.distance(&given), ..envelope(client, round, sent, &message) };
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

/// What is said of a distance counts for nothing: neither a replayed one nor 0 hides that a message
/// was sent before.
#[test]
fn a_replayed_message_is_told_by_what_was_given() {
    replays_are_told(&|x| Message::tensors(vec![Matrix::from_rows(1, 1, &[x])]), &|| {
        Form::message().tensors(vec![(1, 1)])
    });
    replays_are_told(&|x| Message { entries: vec![(0, x)], ..Message::default() }, &|| {
        Form::message().entries(1, 1)
    });
}

fn replays_are_told(message: &dyn Fn(f64) -> Message<f64>, form: &dyn Fn() -> Form) {
    let mut screen = fresh();
    let mut alone = |round: usize, given: f64, sent: f64, norm: f64| {
        let (given, sent) = (message(given), message(sent));
        let unused = model(0.0);
        let one = Envelope { model: None, norm, ..envelope(0, round, &unused, &sent) };
        let expected = Expected {
            round,
            participants: &[0],
            shapes: &[],
            enrolled: &SIZES,
            given: vec![(None, Some(&given)); SIZES.len()],
            form: &|_| form(),
            moved: &|_| None,
            summaries: false,
        };
        screen.judge(&[one], &expected)[0].as_ref().map_or("used", Reason::kind)
    };
    assert_eq!(alone(1, 0.1, 1.0, 0.5), "used");
    assert_eq!(
        [alone(2, 0.2, 1.0, 0.5), alone(3, 0.3, 1.0, 0.0), alone(4, 0.4, 1.0, 0.6)],
        ["replay"; 3]
    );
    // The same question may have the same answer, whatever it says of the way there; and dead units
    // have nothing to say.
    assert_eq!(alone(5, 0.1, 1.0, 0.7), "used");
    assert_eq!([alone(6, 0.2, 0.0, 0.5), alone(7, 0.3, 0.0, 0.6)], ["used"; 2]);
}

/// Where no model is sent, what stands in its place is held to the bound; who sends nothing moves
/// nobody.
#[test]
fn long_updates_are_told_whatever_they_are_sent_as() {
    let verdict = |content: &dyn Fn(f64) -> Message<f64>, form: &dyn Fn() -> Form| {
        let (messages, unused) = ([1.0, 2.0, 3.0, 4.0].map(content), model(0.0));
        let norms = [1.0, 2.0, 3.0, 31.0];
        let one = |(k, message)| Envelope {
            model: None,
            norm: norms[k],
            ..envelope(k, 1, &unused, message)
        };
        let arrived: Vec<_> = messages.iter().enumerate().map(one).collect();
        let expected = Expected {
            round: 1,
            participants: &[0, 1, 2, 3],
            shapes: &[],
            enrolled: &SIZES,
            given: vec![(None, None); SIZES.len()],
            form: &|_| form(),
            moved: &|_| None,
            summaries: false,
        };
        fresh().judge(&arrived, &expected)[3].as_ref().map_or("used", Reason::kind)
    };
    let tensor = |x: f64| Message::tensors(vec![Matrix::from_rows(1, 1, &[x])]);
    let entry = |x: f64| Message { entries: vec![(0, x)], ..Message::default() };
    assert_eq!(verdict(&tensor, &|| Form::message().tensors(vec![(1, 1)])), "too-long");
    assert_eq!(verdict(&entry, &|| Form::message().entries(1, 1)), "too-long");
    assert_eq!(verdict(&|_| Message::default(), &Form::message), "used");
}

/// What the server itself says is long may be answered at that length, whatever the others send.
#[test]
fn a_message_may_be_as_long_as_what_the_server_said() {
    let verdict = |told: f64| {
        let messages =
            [1.0, 2.0, 3.0, 45.0].map(|x| Message::tensors(vec![Matrix::from_rows(1, 1, &[x])]));
        let (told, unused) = (Message::tensors(vec![Matrix::from_rows(1, 1, &[told])]), model(0.0));
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
            participants: &[0, 1, 2, 3],
            shapes: &[TensorShape::bias("b", 1)],
            enrolled: &SIZES,
            given: vec![(None, Some(&told)); SIZES.len()],
            form: &|_| Form::message().tensors(vec![(1, 1)]),
            moved: &|_| None,
            summaries: false,
        };
        fresh().judge(&arrived, &expected)[3].as_ref().map_or("used", Reason::kind)
    };
    assert_eq!([verdict(0.0), verdict(44.0), verdict(46.0)], ["too-long", "too-long", "used"]);
}

/// A message shows that one tensor moved by 3, the other by 4 to 5.
#[test]
fn a_claimed_length_has_to_be_the_one_that_is_shown() {
    let verdict = |norms: &[f64]| {
        let (message, unused) = (Message::default(), model(0.0));
        let norm = norms.iter().map(|x| x * x).sum::<f64>().sqrt();
        let one = Envelope {
            model: None,
            norm,
            tensor_norms: norms,
            ..envelope(0, 1, &unused, &message)
        };
        let expected = Expected {
            round: 1,
            participants: &[0],
            shapes: &[],
            enrolled: &SIZES,
            given: vec![(None, None); SIZES.len()],
            form: &|_| Form::message(),
            moved: &|_| Some(vec![(3.0, 3.0), (4.0, 5.0)]),
            summaries: false,
        };
        fresh().judge(&[one], &expected)[0].as_ref().map(ToString::to_string)
    };
    assert_eq!([verdict(&[3.0, 4.0]), verdict(&[3.000_001, 5.0])], [None, None]);
    let told = "expected an update that moved by 3.000e0 to 3.000e0, found one that says 0.000e0";
    assert_eq!(verdict(&[0.0, 0.0]).as_deref(), Some(told));
    assert!(
        [&[3.0, 3.9][..], &[3.0, 5.1], &[3.1, 4.0], &[3.0], &[3.0, 4.0, 0.0]]
            .iter()
            .all(|n| verdict(n).is_some())
    );
}

/// Ten times what the others say, or what a guess costs, whichever is more.
#[test]
fn claims_far_above_the_others_are_refused() {
    let (start, sent) = (model(0.0), model(1.0));
    let judge = |screen: &mut Screen, round: usize, claims: &[f64]| -> Vec<&'static str> {
        let messages: Vec<Message<f64>> =
            claims.iter().map(|&x| Message::numbers(vec![x])).collect();
        let shapes = [TensorShape::bias("b", 1)];
        let expected = Expected {
            round,
            participants: &[0, 1, 2, 3],
            shapes: &shapes,
            enrolled: &SIZES,
            given: vec![(Some(&start), None); SIZES.len()],
            form: &|_| Form::model().with(Part::new("loss", 1, 0.0..=1e6).told_by_others(0.7)),
            moved: &|_| None,
            summaries: true,
        };
        let arrived: Vec<_> =
            messages.iter().enumerate().map(|(k, m)| envelope(k, round, &sent, m)).collect();
        screen
            .judge(&arrived, &expected)
            .iter()
            .map(|v| v.as_ref().map_or("used", Reason::kind))
            .collect()
    };
    assert_eq!(judge(&mut fresh(), 1, &[0.01, 0.02, 0.03, 6.9]), ["used"; 4]);
    assert_eq!(
        judge(&mut fresh(), 1, &[0.01, 0.02, 0.03, 7.1]),
        ["used", "used", "used", "implausible"]
    );
    assert_eq!(
        judge(&mut fresh(), 1, &[2.0, 2.0, 3.0, 29.0]),
        ["used"; 4],
        "when all have it hard, all may"
    );
    assert_eq!(judge(&mut fresh(), 1, &[2.0, 2.0, 3.0, 30.0])[3], "used", "the bound itself");
    assert_eq!(judge(&mut fresh(), 1, &[2.0, 2.0, 3.0, 31.0])[3], "implausible");
    assert_eq!(judge(&mut fresh(), 1, &[1.0, 2.0, 15.0]), ["used"; 3], "three have a median");
    // Of two the smaller is the measure, and one alone has nobody to outdo.
    assert_eq!(judge(&mut fresh(), 1, &[1.0, 10.5]), ["used", "implausible"]);
    assert_eq!(judge(&mut fresh(), 1, &[900.0, 800.0]), ["used"; 2]);
    assert_eq!(judge(&mut fresh(), 1, &[1e5]), ["used"]);
    // What was usual a round ago still is.
    let mut screen = fresh();
    judge(&mut screen, 1, &[5.0, 5.0, 5.0]);
    assert_eq!(judge(&mut screen, 2, &[0.1, 0.1, 0.1, 49.0]), ["used"; 4]);
}

#[test]
fn lengths_are_those_of_all_numbers_in_a_message() {
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

/// Tensors like those of the model are held to the bound of models, others to its cube; the largest
/// median counts on.
#[test]
fn a_message_like_the_model_is_held_to_the_same_bound() {
    let (start, sent) = (model(0.0), model(1.0));
    let judge = |screen: &mut Screen,
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
            participants: &[0, 1, 2, 3],
            shapes: &shapes,
            enrolled: &SIZES,
            given: vec![(Some(&start), None); SIZES.len()],
            form: &|_| Form::model().tensors(vec![shape]),
            moved: &|_| None,
            summaries: true,
        };
        let arrived: Vec<_> =
            messages.iter().enumerate().map(|(k, m)| envelope(k, round, &sent, m)).collect();
        screen
            .judge(&arrived, &expected)
            .iter()
            .map(|v| v.as_ref().map_or("used", Reason::kind))
            .collect()
    };
    assert_eq!(
        judge(&mut fresh(), 1, (1, 1), &[1.0, 2.0, 3.0, 31.0]),
        ["used", "used", "used", "too-long"]
    );
    assert_eq!(judge(&mut fresh(), 1, (1, 1), &[1.0, 2.0, 3.0, 29.0]), ["used"; 4]);
    assert_eq!(judge(&mut fresh(), 1, (2, 1), &[1.0, 2.0, 3.0, 2_990.0]), ["used"; 4]);
    assert_eq!(judge(&mut fresh(), 1, (2, 1), &[1.0, 2.0, 3.0, 3_100.0])[3], "too-long");
    let mut screen = fresh();
    judge(&mut screen, 1, (1, 1), &[1.0, 2.0, 3.0, 3.0]);
    (2..9).for_each(|round| assert_eq!(judge(&mut screen, round, (1, 1), &[0.01; 4]), ["used"; 4]));
    assert_eq!(
        judge(&mut screen, 9, (1, 1), &[0.01, 0.01, 0.01, 29.0]),
        ["used"; 4],
        "a gradient as long as the first"
    );
    assert_eq!(judge(&mut screen, 10, (1, 1), &[0.01, 0.01, 0.01, 31.0])[3], "too-long");
    assert_eq!(
        judge(&mut fresh(), 1, (1, 1), &[0.0, 0.0, 0.0, 5.0]),
        ["used"; 4],
        "silence is no measure"
    );
    // With fewer than three updates the rounds before decide; for other messages without squaring
    // the factor.
    let mut screen = fresh();
    judge(&mut screen, 1, (1, 1), &[1.0, 1.0, 1.0]);
    assert_eq!(
        [judge(&mut screen, 2, (1, 1), &[99.0])[0], judge(&mut screen, 3, (1, 1), &[10_000.0])[0]],
        ["used", "too-long"]
    );
    let mut screen = fresh();
    judge(&mut screen, 1, (2, 1), &[1.0, 1.0, 1.0]);
    assert_eq!(
        [judge(&mut screen, 2, (2, 1), &[990.0])[0], judge(&mut screen, 3, (2, 1), &[1_010.0])[0]],
        ["used", "too-long"]
    );
}

/// Who may send what is always looked at, since the server could not compute with it; numbers are
/// not.
#[test]
fn without_numbers_being_checked_forms_are() {
    let (start, sent, broken, message) =
        (model(0.0), model(1.0), model(f64::NAN), Message::default());
    let wide = Params::from_tensors(&[TensorShape::bias("b", 2)], vec![Matrix::zeros(1, 2)]);
    let (long, wrong) = (model(1e9), Message::numbers(vec![0.5; 2]));
    let mut off = Screen::new(&Config { enabled: false, ..Config::default() }, SIZES.len());
    let mut one =
        |change: &dyn Fn(&mut Envelope<'_, f64>), sent: &Params<f64>, message: &Message<f64>| {
            let mut envelope = envelope(0, 1, sent, message);
            change(&mut envelope);
            judge(&mut off, 1, &start, &[envelope])[0]
        };
    assert_eq!([one(&|_| {}, &broken, &message), one(&|_| {}, &long, &message)], ["used"; 2]);
    assert_eq!(
        [one(&|e| e.size = -1.0, &sent, &message), one(&|e| e.norm = f64::NAN, &sent, &message)],
        ["used"; 2]
    );
    assert_eq!([one(&|_| {}, &wide, &message), one(&|_| {}, &sent, &wrong)], ["shape", "message"]);
    assert_eq!(
        [one(&|e| e.round = 2, &sent, &message), one(&|e| e.client = 1, &sent, &message)],
        ["wrong-round", "stranger"]
    );
}

#[test]
fn settings_out_of_range_are_named() {
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
            wrong.as_ref().is_some_and(|told| told.contains(named.as_deref().unwrap_or_default())),
            "{wrong:?}"
        );
    }
    assert_eq!(key(|c| (c.norm_bound, c.quorum, c.deadline_seconds) = (1.5, 1.0, Some(0.5))), None);
    assert!(
        is_default(&Config::default()) && !is_default(&Config { quorum: 0.7, ..Config::default() })
    );
}

#[test]
fn a_quorum_is_rounded_up() {
    let needed = |quorum: f64, of: usize| Config { quorum, ..Config::default() }.needed(of);
    assert_eq!(
        [needed(0.5, 5), needed(0.5, 4), needed(0.01, 3), needed(1.0, 7), needed(0.1, 30)],
        [3, 2, 1, 7, 3]
    );
}
