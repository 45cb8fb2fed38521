//! The class probabilities of the reported round.

use crate::small::*;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::config::{ClassWeight, Transport};
use boostfgl_fed::{Federation, Outcome};
use boostfgl_nn::{Matrix, StateVisitor};

/// The outcome of a method with probabilities, by a transport.
fn outcome(method: &str, boosts: &[Boost], transport: Transport) -> Outcome<f32> {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup(method, boosts);
    (setup.probabilities, setup.transport) = (true, transport);
    run(&setup, data("fedavg", &graph, &partition))
}

fn rows(matrix: &Matrix<f32>) -> impl Iterator<Item = &[f32]> {
    (0..matrix.rows()).map(|row| matrix.row(row))
}

/// Of a global model, of a personal model, and of a method that predicts by itself.
#[test]
fn probabilities_sum_to_one_and_agree_with_predictions_and_change_no_digit() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for (method, boosts) in
        [("fedavg", &Boost::ALL[..]), ("fedgta", &[]), ("fairfgl", &[]), ("adafgl", &[])]
    {
        let found = outcome(method, boosts, Transport::InProcess);
        let plain = run(&setup(method, boosts), data::<f32>("fedavg", &graph, &partition));
        assert_eq!((found.predictions.clone(), &found.models), (plain.predictions, &plain.models));
        assert_eq!((found.bytes_up, found.framed_up), (plain.bytes_up, plain.framed_up));
        assert!(plain.probabilities.is_none());
        let probabilities = found.probabilities.unwrap();
        assert_eq!((probabilities.rows(), probabilities.columns()), (graph.len(), CLASSES));
        for (row, class) in rows(&probabilities).zip(&found.predictions) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{method}: {row:?}");
            assert!(row.iter().all(|p| *p <= row[*class as usize]), "{method}: {row:?}, {class}");
        }
        let carried = outcome(method, boosts, Transport::Loopback).probabilities.unwrap();
        assert!(rows(&carried).eq(rows(&probabilities)), "{method}: loopback");
    }
}

#[test]
fn probabilities_are_part_of_the_saved_state() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup("fedavg", &[]);
    setup.probabilities = true;
    let new = || Federation::new(setup.clone(), data("fedavg", &graph, &partition)).unwrap();
    let mut training = new().begin(&mut []).unwrap();
    while !training.is_over() {
        training.step(&mut []).unwrap();
    }
    let mut state = Vec::new();
    training.visit(&mut StateVisitor::saving(&mut state)).unwrap();
    let resumed = new().resume(&mut StateVisitor::restoring(&state), &mut []).unwrap();
    let (expected, found) = (training.finish().probabilities, resumed.finish().probabilities);
    assert!(rows(&expected.unwrap()).eq(rows(&found.unwrap())));
}

/// A class that few training nodes have is predicted more often under balanced weights.
#[test]
fn balanced_class_weights_raise_the_probability_of_rare_classes() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let counts = graph.labels().counts(0..graph.len());
    let rarest = (0..CLASSES).min_by_key(|class| counts[*class]).unwrap();
    let mean = |class_weight| {
        let mut setup = setup("fedavg", &[]);
        (setup.probabilities, setup.loss.class_weight) = (true, class_weight);
        let found = run(&setup, data::<f32>("fedavg", &graph, &partition)).probabilities.unwrap();
        rows(&found).map(|row| f64::from(row[rarest])).sum::<f64>() / graph.len() as f64
    };
    let (plain, balanced) = (mean(ClassWeight::None), mean(ClassWeight::Balanced));
    assert!(balanced > plain, "{balanced} and {plain}");
}
