//! Exports read by the programs that they are meant for.
//!
//! `cargo xtask test` makes a Python environment with them and names its interpreter in
//! `BOOSTFGL_PYTHON`.

use super::*;
use std::process::Command;

const VARIABLE: &str = "BOOSTFGL_PYTHON";

/// The JSON that a script prints; without the program a message and `None`.
fn python(what: &str, script: &str, arguments: &[&Path]) -> Option<Value> {
    let Some(python) = std::env::var_os(VARIABLE).filter(|python| !python.is_empty()) else {
        eprintln!(
            "left out: {what} is not asked what it reads (set {VARIABLE} to an interpreter that \
             has it)"
        );
        return None;
    };
    let output = Command::new(python).arg("-c").arg(script).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[cfg(feature = "parquet")]
#[test]
fn pyarrow_reads_the_same_values() {
    const SCRIPT: &str = "
import json, sys, pyarrow.parquet as parquet
def table(path):
    table = parquet.read_table(path)
    schema = {field.name: [str(field.type), field.nullable] for field in table.schema}
    return {'rows': table.to_pylist(), 'schema': schema}
print(json.dumps([table(path) for path in sys.argv[1:]]))
";
    let place = tempfile::tempdir().unwrap();
    exported(&views(place.path()), "json,parquet", place.path());
    let names = ["runs", "rounds", "clients", "predictions"];
    let paths = names.map(|name| place.path().join(format!("{name}.parquet")));
    let Some(read) = python("pyarrow", SCRIPT, &paths.each_ref().map(std::path::PathBuf::as_path))
    else {
        return;
    };
    for (at, name) in names[..3].iter().enumerate() {
        let rows: Value =
            serde_json::to_value(json(place.path().join(format!("{name}.json")))).unwrap();
        assert_eq!(read[at]["rows"], rows, "{name}");
    }
    assert_eq!(read[3]["rows"], serde_json::to_value(parquet::rows(&paths[3])).unwrap());
    let schema = &read[3]["schema"];
    assert_eq!(schema["seed"], serde_json::json!(["uint64", false]));
    assert_eq!(schema["label"], serde_json::json!(["string", true]));
    assert_eq!(
        schema["minority"],
        serde_json::json!(["bool", true]),
        "a node may be in neither group"
    );
    assert_eq!(read[1]["schema"]["round"], serde_json::json!(["int64", false]));
    assert_eq!(read[1]["schema"]["hete_f1_pooled"], serde_json::json!(["double", true]));
}

#[test]
fn tensorboard_draws_the_same_curves() {
    const SCRIPT: &str = "
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
def curves(folder):
    events = EventAccumulator(folder)
    events.Reload()
    scalars = {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()['scalars']}
    return {'scalars': scalars, 'version': events.file_version}
print(json.dumps([curves(folder) for folder in sys.argv[1:]]))
";
    let place = tempfile::tempdir().unwrap();
    let views = views(place.path());
    exported(&views, "tensorboard", place.path());
    let seeds =
        [0, 1].map(|seed| place.path().join(format!("tensorboard/cora-boostfgl/seed{seed}")));
    let Some(read) =
        python("TensorBoard", SCRIPT, &seeds.each_ref().map(std::path::PathBuf::as_path))
    else {
        return;
    };
    for (seed, read) in (0u64..).zip(read.as_array().unwrap()) {
        assert_eq!(read["version"], 2.0);
        let rounds = views[1].rounds.as_ref().unwrap();
        let rounds: Vec<_> = rounds.rounds.iter().filter(|round| round.seed == seed).collect();
        let curve = |value: &dyn Fn(&boostfgl_report::Round) -> Option<f64>| -> Value {
            let point = |round: &&boostfgl_report::Round| {
                Some((round.round, f64::from(value(round)? as f32)))
            };
            serde_json::to_value(rounds.iter().filter_map(point).collect::<Vec<_>>()).unwrap()
        };
        let scalars = &read["scalars"];
        assert_eq!(scalars["loss"], curve(&|round| Some(round.loss)));
        assert_eq!(
            scalars["hete_f1/pooled"],
            curve(&|round| round.metrics.as_ref()?.0.scores.hete_f1.pooled)
        );
        assert_eq!(scalars["accuracy/validation"], curve(&|round| round.val_accuracy));
        assert_eq!(scalars["trust/client1"], curve(&|round| round.clients.get(1)?.trust));
        assert_eq!(scalars["bytes/down"], curve(&|round| Some(round.bytes_down as f64)));
        assert!(scalars.get("hete_min_f1/pooled").is_none(), "no node is in that group");
    }
}
