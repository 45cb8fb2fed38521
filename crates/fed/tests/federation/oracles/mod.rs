//! Methods against oracles: independent implementations in Python, written from the formulas
//! (`tests/oracles`).
//!
//! All random numbers come from the program: a test draws them once more from the same streams and,
//! on request, writes them to a file for the oracle (`BOOSTFGL_ORACLES=write`, see
//! `tests/oracles/README.md`). The oracle's results are in `tests/oracles/expected`; every test
//! compares the program's numbers with them after every round.

mod adafgl;
mod fairfgl;
mod fedproto;
mod fedsage_plus;
mod fedtad;
mod state;
mod toy;

use serde_json::{Map, Value, json};
use state::State;
use std::path::PathBuf;

/// Largest difference, relative to the largest number of an array. Sums are made in another order
/// here and there.
const TOLERANCE: f64 = 1e-9;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracles")
}

/// One case of a method: what the oracle is given, and what the program computed.
struct Case {
    name: &'static str,
    given: Value,
    computed: Value,
}

/// Compares every case with the results of its oracle, or writes the oracle's input. `shown` adds
/// numbers to the oracle's results that the program reports in another form, such as the sum of the
/// parts of a loss.
fn compare_with_oracle(method: &str, cases: Vec<Case>, shown: impl Fn(&mut Value)) {
    if std::env::var_os("BOOSTFGL_ORACLES").is_some_and(|mode| mode == "write") {
        write(method, "inputs", cases.iter().map(|case| (case.name, &case.given)));
        write(method, "actual", cases.iter().map(|case| (case.name, &case.computed)));
        return;
    }
    let text = std::fs::read_to_string(folder().join(format!("expected/{method}.json"))).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    for case in cases {
        let mut expected = all["cases"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == case.name)
            .unwrap()
            .clone();
        shown(&mut expected);
        let mut compared = 0;
        compare(&expected, &case.computed, &format!("{method} {}", case.name), &mut compared);
        assert!(compared > 10, "{method} {}: {compared} arrays were compared", case.name);
    }
}

fn write<'a>(method: &str, kind: &str, cases: impl Iterator<Item = (&'a str, &'a Value)>) {
    let named = |(name, case): (&str, &Value)| {
        let mut case = case.as_object().unwrap().clone();
        case.insert("name".into(), name.into());
        Value::from(case)
    };
    let all = json!({ "method": method, "cases": cases.map(named).collect::<Vec<_>>() });
    std::fs::create_dir_all(folder().join(kind)).unwrap();
    std::fs::write(folder().join(format!("{kind}/{method}.json")), all.to_string()).unwrap();
}

/// Every computed number must be among the expected ones. Expected numbers that were not computed
/// are ignored.
fn compare(expected: &Value, computed: &Value, place: &str, compared: &mut usize) {
    match computed {
        Value::Object(parts) => {
            parts.iter().for_each(|(key, part)| {
                compare(&expected[key], part, &format!("{place}.{key}"), compared);
            });
        }
        Value::Array(parts) if numbers(computed).is_none() => {
            assert_eq!(expected.as_array().map(Vec::len), Some(parts.len()), "{place}: {expected}");
            for (i, part) in parts.iter().enumerate() {
                compare(&expected[i], part, &format!("{place}[{i}]"), compared);
            }
        }
        Value::Null => assert!(expected.is_null(), "{place}: expected {expected}"),
        _ => {
            let (Some(found), Some(expected)) = (numbers(computed), numbers(expected)) else {
                panic!("{place}: expected {expected}, found {computed}")
            };
            assert_eq!(found.len(), expected.len(), "{place}");
            let largest = expected.iter().fold(1e-12, |largest: f64, x| largest.max(x.abs()));
            for (i, (a, b)) in found.iter().zip(&expected).enumerate() {
                assert!(
                    (a - b).abs() <= TOLERANCE * largest,
                    "{place}, number {i}: {a} is not {b}"
                );
            }
            *compared += 1;
        }
    }
}

/// All numbers of an array of any depth that holds nothing else.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    match value {
        Value::Array(parts) => parts
            .iter()
            .map(numbers)
            .collect::<Option<Vec<_>>>()
            .map(|parts| parts.into_iter().flatten().collect()),
        other => other.as_f64().map(|x| vec![x]),
    }
}

/// A model under the names of the oracles, from the tensors that follow `path` in a state.
fn model(state: &State, path: &[&str]) -> Value {
    let tensor = |name: &str| state.after(&[path, &[name]].concat());
    let part = |(name, tensor_name): (&str, &str)| {
        let matrix = tensor(tensor_name);
        (name.to_owned(), if name.starts_with('b') { matrix.flat() } else { matrix.rows() })
    };
    let names = [
        ("w1", "layer1.weight"),
        ("b1", "layer1.bias"),
        ("w2", "layer2.weight"),
        ("b2", "layer2.bias"),
    ];
    Value::Object(names.into_iter().map(part).collect::<Map<_, _>>())
}

/// The models of all clients in a state.
fn clients(state: &State) -> Vec<Value> {
    (0..toy::CLIENTS).map(|k| model(state, &[&format!("client {k}"), "model"])).collect()
}

/// Adds the loss of every client's last epoch to what is expected of each round: `parts` of it with
/// these strengths.
fn last_losses(expected: &mut Value, strengths: &[f64]) {
    for round in expected["rounds"].as_array_mut().unwrap() {
        let last = |epochs: &Value| {
            let parts = numbers(epochs.as_array()?.last()?)?;
            Some(parts.iter().zip(strengths).map(|(part, strength)| part * strength).sum::<f64>())
        };
        let losses: Vec<Option<f64>> =
            round["losses"].as_array().unwrap().iter().map(last).collect();
        round["last_loss"] = json!(losses);
    }
}

/// The loss of every client's last epoch, as the program reports it.
fn losses(round: &toy::Round) -> Vec<Option<f64>> {
    (0..toy::CLIENTS).map(|k| round.loss(k)).collect()
}
