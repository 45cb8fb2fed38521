//! `run --stream`: what trackers of experiments read while a run goes on.

use crate::common::Place;
use serde_json::Value;

const SMALL: &str = "--method fedavg --set model.hidden=8 --quiet";

/// The lines of a file of JSON lines.
fn lines(place: &Place, name: &str) -> Vec<Value> {
    place.read(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The records of an event file: their number, from the length in front of each.
fn records(bytes: &[u8]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < bytes.len() {
        let length = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
        at += 8 + 4 + length + 4;
        count += 1;
    }
    assert_eq!(at, bytes.len(), "the last record is whole");
    count
}

const EVENTS: &str = "stream/tensorboard/seed0/events.out.tfevents.0000000000.boostfgl";

#[test]
fn streams_have_the_rounds_of_the_run_in_other_formats() {
    let place = Place::new();
    let run = format!("run --rounds 3 --seeds 2 {SMALL} --out");
    place.ok(&format!("{run} r --stream tensorboard,jsonl"));
    let (rounds, history) =
        (lines(&place, "r/rounds.jsonl"), lines(&place, "r/stream/history.jsonl"));
    assert_eq!(history.len(), 6);
    for (step, (round, line)) in rounds.iter().zip(&history).enumerate() {
        assert_eq!(line["_step"], step);
        for key in ["seed", "round", "loss"] {
            assert_eq!(line[key], round[key], "{key}");
        }
        assert_eq!(line["accuracy/validation"], round["val_accuracy"]);
        assert_eq!(line["bytes/up"].as_f64(), round["bytes_up"].as_f64());
    }
    assert!(history[5]["_timestamp"].as_f64().unwrap() > 1.5e9);
    // The same events as an export of the finished run, apart from their times.
    place.ok("report r --export tensorboard --out t");
    let exported = place.bytes("t/tensorboard/r/seed0/events.out.tfevents.0000000000.boostfgl");
    let streamed = place.bytes(&format!("r/{EVENTS}"));
    assert_eq!((records(&streamed), streamed.len()), (4, exported.len()), "a version and 3 rounds");
    // Nothing else of the run differs.
    place.ok(&format!("{run} plain"));
    assert!(!place.exists("plain/stream"));
    assert_eq!(place.read("plain/config.toml"), place.read("r/config.toml"));
    let digest = |run: &str| place.json(&format!("{run}/summary.json"))["digest"].clone();
    assert_eq!(digest("plain"), digest("r"));
}

#[test]
fn a_killed_run_streams_until_then_and_resumes_without_a_round_twice() {
    let place = Place::new();
    let run = format!("run --rounds 60 --seeds 1 {SMALL} --checkpoint-rounds 2 --out r");
    let mut child = place.start(&format!("{run} --stream tensorboard,jsonl"));
    place.wait_for_rounds("r", 5);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.exists("r/summary.json"));
    let whole = place.read("r/stream/history.jsonl").matches('\n').count();
    assert!(whole >= 4, "{whole} rounds were streamed while the run went on");
    place.ok("resume r --quiet");
    let steps: Vec<u64> = lines(&place, "r/stream/history.jsonl")
        .iter()
        .map(|line| line["round"].as_u64().unwrap())
        .collect();
    assert_eq!(steps, (1..=60).collect::<Vec<u64>>());
    assert_eq!(records(&place.bytes(&format!("r/{EVENTS}"))), 61);
}

#[test]
fn a_replaced_run_takes_its_streams_with_it_and_unknown_streams_are_refused() {
    let place = Place::new();
    let run = format!("run --rounds 1 --seeds 1 {SMALL} --out r");
    place.ok(&format!("{run} --stream jsonl"));
    place.ok(&format!("{run} --overwrite"));
    assert!(!place.exists("r/stream"));
    place.refused_with(
        "run --stream tensorbord --out x",
        &["unknown stream `tensorbord` (did you mean `tensorboard`?)"],
    );
}
