//! The keys of `summary.json`, which other programs read.

mod common;

use boostfgl_report::{Error, RunFolder, Summary};
use serde_json::{Value, json};

fn two_seeds() -> Summary {
    let seeds =
        [[Some(0.75), Some(0.5), Some(0.25), None], [Some(0.25), Some(0.5), Some(0.75), None]];
    common::run("fedgta", &["node", "model"], &seeds)
}

#[test]
fn keys_and_units() {
    let json: Value = serde_json::from_str(&two_seeds().to_json()).unwrap();
    assert_eq!(json["version"], 1);
    assert_eq!(json["program"], env!("CARGO_PKG_VERSION"));
    assert_eq!((&json["method"], &json["dataset"]), (&json!("fedgta"), &json!("cora")));
    assert_eq!(json["boost"], json!(["node", "model"]));

    let seed = &json["seeds"][0];
    assert_eq!(seed["seed"], 0);
    assert_eq!(seed["accuracy"], json!({"pooled": 75.0, "present": 75.0, "client": 75.0}));
    assert_eq!(seed["overall_f1"]["pooled"], 50.0);
    assert_eq!(seed["hete_f1"]["client"], 25.0);
    assert_eq!(seed["hete_min_f1"], json!({"pooled": null, "present": null, "client": null}));
    assert_eq!(seed["groups"]["heterophilous"], 153);
    assert_eq!((&seed["round"], &seed["digest"]), (&json!(50), &json!("seed0")));
    assert_eq!((&seed["seconds"], &seed["cpu_seconds"]), (&json!(2.5), &json!(4.0)));
    assert_eq!((&seed["bytes_up"], &seed["bytes_down"]), (&json!(92_274_688), &json!(92_274_688)));

    assert_eq!(json["mean"]["accuracy"]["pooled"], 50.0);
    assert_eq!(json["std"]["accuracy"]["pooled"].as_f64().unwrap(), 1250.0f64.sqrt());
    assert_eq!(json["mean"]["hete_min_f1"]["pooled"], Value::Null);
    assert_eq!((&json["cpu_seconds"], &json["wall_seconds"]), (&json!(12.0), &json!(7.5)));
    assert_eq!((&json["peak_rss_mib"], &json["digest"]), (&json!(60.5), &json!("whole")));
    let bytes = json!({
        "up": 184_549_376, "down": 184_549_376, "framed_up": 60, "framed_down": 100,
    });
    assert_eq!(json["bytes"], bytes);
}

#[test]
fn a_single_seed_has_no_standard_deviation() {
    let one = common::run("fedavg", &[], &[[Some(0.5); 4]]);
    let json: Value = serde_json::from_str(&one.to_json()).unwrap();
    assert_eq!(json["std"]["accuracy"], json!({"pooled": null, "present": null, "client": null}));
}

#[test]
fn a_written_summary_is_read_back() {
    let place = tempfile::tempdir().unwrap();
    let run = RunFolder::create(place.path(), false).unwrap();
    run.write_summary(&two_seeds()).unwrap();
    let read = RunFolder::open(place.path()).unwrap().summary().unwrap();
    assert_eq!(read.seeds, two_seeds().seeds);
    assert_eq!((read.mean, read.bytes), (two_seeds().mean, two_seeds().bytes));
}

#[test]
fn a_newer_version_is_refused_even_if_other_keys_differ() {
    let error =
        Summary::from_json(br#"{"version": 2, "runs": []}"#, "runs/x/summary.json").unwrap_err();
    assert!(matches!(error, Error::Newer { found: 2, known: 1, .. }));
    assert_eq!(
        error.to_string(),
        "runs/x/summary.json: expected format version 1 or older, found 2"
    );
}

#[test]
fn errors_name_the_file_line_and_column() {
    for (text, reason) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{}", "missing field `version` at line 1 column 2"),
        ("{\"version\": 1}", "missing field `program` at line 1 column 14"),
    ] {
        let error = Summary::from_json(text.as_bytes(), "summary.json").unwrap_err();
        assert_eq!(error.to_string(), format!("summary.json: {reason}"));
    }
}

#[test]
fn labels_have_method_and_boosts() {
    let label = |method, boost: &[&str]| common::run(method, boost, &[]).label();
    assert_eq!(label("fedavg", &[]), "fedavg");
    assert_eq!(label("boostfgl", &["node", "topology", "model"]), "boostfgl");
    assert_eq!(label("fedgta", &["node", "topology", "model"]), "fedgta + all");
    assert_eq!(label("fedavg", &["node", "model"]), "fedavg + node,model");
}
