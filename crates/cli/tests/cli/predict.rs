//! `predict`: the models of a run on its own nodes, on new ones, and for other programs.

use crate::common::{Place, table};
use std::path::Path;
use std::process::Command;

const SHORT: &str = "--rounds 3 --clients 3 --set model.hidden=8 --quiet";

/// Node and predicted class of every row.
fn classes(text: &str) -> Vec<(String, String)> {
    let rows = table(text).into_iter();
    rows.map(|row| (row["node"].clone(), row["prediction"].clone())).collect()
}

/// Node and predicted class of every row of one seed in `predictions.csv`.
fn recorded(text: &str, seed: &str) -> Vec<(String, String)> {
    let rows = table(text).into_iter().filter(|row| row.get("seed").is_none_or(|s| s == seed));
    rows.map(|row| (row["node"].clone(), row["prediction"].clone())).collect()
}

#[test]
fn a_run_predicts_again_what_its_folder_says() {
    let place = Place::new();
    place.ok(&format!("run demo {SHORT} --seeds 2,5 --method boostfgl --out run"));
    let predictions = place.read("run/predictions.csv");
    let first = place.ok("predict run");
    assert!(first.stdout.starts_with("node,prediction,probability,p:0,p:1,"), "{}", first.stdout);
    assert_eq!(classes(&first.stdout), recorded(&predictions, "2"));
    assert_eq!(first.stderr.lines().count(), 1, "{}", first.stderr);
    assert!(first.stderr.contains("seed 2 predict; --seed chooses among 2, 5"), "{}", first.stderr);
    let second = place.ok("predict run --seed 5 --threads 1");
    assert_eq!(
        (classes(&second.stdout), second.stderr),
        (recorded(&predictions, "5"), String::new())
    );
    let own = classes(&place.ok("predict run --seed 5 --client 1").stdout);
    let of_client = |row: &&std::collections::BTreeMap<String, String>| {
        row["seed"] == "5" && row["client"] == "1"
    };
    let expected = table(&predictions).iter().filter(of_client).count();
    assert_eq!(own.len(), expected);
    for row in table(&second.stdout) {
        let probability: f64 = row[&format!("p:{}", row["prediction"])].parse().unwrap();
        assert_eq!(row["probability"].parse(), Ok(probability));
    }
}

/// The columns from `probability` on of every row of a table.
fn probabilities(text: &str) -> Vec<Vec<String>> {
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let first = header.iter().position(|name| *name == "probability").unwrap();
    let rows = text.lines();
    rows.map(|row| row.split(',').skip(first).map(str::to_owned).collect()).collect()
}

#[test]
fn probabilities_of_a_run_are_written_on_request_and_predicted_again() {
    let place = Place::new();
    for (method, at) in [("boostfgl", "a"), ("adafgl", "b")] {
        let common = format!("run demo {SHORT} --seeds 2, --method {method}");
        let with = format!("{common} --set evaluation.probabilities=true --out {at}");
        assert_eq!(
            place.digest(&with.replace(" --quiet", "")),
            place.digest(&format!("{} --out {at}-plain", common.replace(" --quiet", "")))
        );
        let (recorded, again) =
            (place.read(&format!("{at}/predictions.csv")), place.ok(&format!("predict {at}")));
        assert_eq!(probabilities(&recorded), probabilities(&again.stdout), "{method}");
        place.ok(&format!("report {at}"));
    }
}

#[test]
fn new_data_are_predicted_into_a_file() {
    let place = Place::new();
    place.ok(&format!("run demo {SHORT} --seeds 2, --method fedgta --out run"));
    place.ok("data export demo --to demo.npz");
    place.write("some.txt", "17\n3\n");
    let done = place.ok(
        "predict run/model.safetensors demo.npz --client 2 --nodes some.txt --logits --to new.csv",
    );
    assert_eq!(done.stdout, "");
    assert!(done.stderr.contains("edges between clients are used"), "{}", done.stderr);
    let rows = table(&place.read("new.csv"));
    assert_eq!((rows.len(), rows[0]["node"].as_str(), rows[1]["node"].as_str()), (2, "17", "3"));
    let numbers = |row: &std::collections::BTreeMap<String, String>, kind: &str| -> Vec<f64> {
        (0..7).map(|class| row[&format!("{kind}:{class}")].parse().unwrap()).collect()
    };
    let (logits, probabilities) = (numbers(&rows[0], "logit"), numbers(&rows[0], "p"));
    let sum: f64 = logits.iter().map(|x| x.exp()).sum();
    for (x, p) in logits.iter().zip(probabilities) {
        assert!((x.exp() / sum - p).abs() < 1e-6, "{x} {p}");
    }
    place.refused_with("predict run demo.npz --client 2 --to new.csv", &["--overwrite"]);
    place.ok("predict run demo.npz --client 2 --to new.csv --overwrite --quiet");
    assert_eq!(table(&place.read("new.csv")).len(), 2708);
}

#[test]
fn clients_with_graphs_of_their_own_predict_by_name() {
    let place = Place::new();
    place.ok("partition demo --clients 3 --seeds 3, --to-clients parts");
    for method in ["fedavg", "fedgta"] {
        let common =
            format!("{SHORT} --seeds 3, --client-data parts --set evaluation.probabilities=true");
        let common = common.replace("--clients 3 ", "");
        place.ok(&format!("run {common} --method {method} --out {method}"));
        let own = place.read(&format!("{method}/clients/client-1/predictions.csv"));
        let again = place.ok(&format!("predict {method} --client client-1"));
        assert_eq!(classes(&again.stdout), recorded(&own, "3"), "{method}");
        assert_eq!(probabilities(&again.stdout), probabilities(&own), "{method}");
        // The folder of a client is a graph like any other.
        let named = place.ok(&format!("predict {method} parts/client-1 --client client-1"));
        assert_eq!(named.stdout, again.stdout, "{method}");
    }
    let names = ["--client: expected one of the clients client-0, client-1, client-2"];
    place.refused_with("predict fedavg", &names);
    place.refused_with("predict fedgta parts/client-1", &names);
    place.refused_with("predict fedgta --client client-9", &["found `client-9`"]);
    let boosted = format!("run {SHORT} --seeds 3, --client-data parts --method boostfgl --out b");
    place.ok(&boosted.replace("--clients 3 ", ""));
    place.refused_with(
        "predict b --client client-1",
        &["messages reweighted by the difficulty", "not saved", "clients/NAME/predictions.csv"],
    );
}

#[test]
fn a_wrong_request_is_refused_with_what_was_expected() {
    let place = Place::new();
    place.ok(&format!("run demo {SHORT} --seeds 2, --method fedavg --out run"));
    place.write("own/nodes.csv", "id,label,age\na,x,1\nb,y,2\n");
    place.write("own/edges.csv", "src,dst\na,b\n");
    place.write("ids.txt", "1\n2708\n");
    place.write("empty/nothing.txt", "");
    place.write("text.safetensors", "node,prediction\n");
    for (arguments, wanted) in [
        ("predict", "MODEL"),
        ("predict nowhere", "nowhere"),
        ("predict empty", "found no summary.json"),
        ("predict text.safetensors demo", "expected a safetensors file"),
        ("predict run/model.safetensors", "found a model file alone"),
        ("predict run --seed 4", "expected a seed of the run, 2, found 4"),
        ("predict run --client 9", "one of the clients 0, 1, 2, found `9`"),
        ("predict run demo --client 1", "found `1`"),
        (
            "predict run own",
            "own: features: expected 1433 columns, found 1; classes: expected some",
        ),
        ("predict run --nodes ids.txt", "found `2708` in line 2"),
        ("predict run --format parquet", "expected --to FILE"),
        (
            "predict run --format xlsx --to a.xlsx",
            "--format: expected csv or parquet, found `xlsx`",
        ),
        ("predict run --logits", "DATA"),
    ] {
        place.refused_with(arguments, &[wanted]);
    }
    let mut damaged = place.bytes("run/model.safetensors");
    damaged.truncate(500);
    place.write("run/model.safetensors", damaged);
    place.refused_with("predict run", &["model.safetensors"]);
}

/// What a script of `examples/numpy-predict` prints for a model and a graph, if `interpreter` is
/// there.
fn script(place: &Place, interpreter: Option<&Path>, name: &str) -> Option<Vec<Vec<f64>>> {
    let Some(interpreter) = interpreter else {
        eprintln!(
            "left out: {name} is not run (see `cargo xtask test` and `cargo xtask bench peer`)"
        );
        return None;
    };
    let script = format!("{}/../../examples/numpy-predict/{name}", env!("CARGO_MANIFEST_DIR"));
    let done = Command::new(interpreter)
        .args([&script, "run/model.safetensors", "demo.npz", "seed2"])
        .current_dir(place.path(""))
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8(done.stdout).unwrap();
    let rows = text.lines().skip(1);
    Some(rows.map(|row| row.split(',').map(|x| x.parse().unwrap()).collect()).collect())
}

/// The logits of the program and of the scripts.
fn compare_with(name: &str, interpreter: Option<&Path>) {
    let place = Place::new();
    place
        .ok(&format!("run demo {SHORT} --set model.layers=3 --seeds 2, --method fedavg --out run"));
    place.ok("data export demo --to demo.npz");
    let Some(found) = script(&place, interpreter, name) else { return };
    let ours = table(&place.ok("predict run demo.npz --logits --quiet").stdout);
    assert_eq!((found.len(), found[0].len()), (ours.len(), 7));
    for (row, found) in ours.iter().zip(found) {
        for (class, found) in found.iter().enumerate() {
            let logit: f64 = row[&format!("logit:{class}")].parse().unwrap();
            assert!((logit - found).abs() < 1e-4, "{name}: {logit} {found}");
        }
    }
}

/// `cargo xtask test` makes an interpreter with NumPy and names it in `BOOSTFGL_PYTHON`.
#[test]
fn numpy_computes_the_same_logits_from_the_model_file() {
    let python = std::env::var_os("BOOSTFGL_PYTHON").filter(|python| !python.is_empty());
    compare_with("predict.py", python.as_deref().map(Path::new));
}

/// `cargo xtask bench peer` makes an interpreter with PyTorch; `BOOSTFGL_TORCH` names another.
#[test]
fn pytorch_computes_the_same_logits_from_the_model_file() {
    let given = std::env::var_os("BOOSTFGL_TORCH").map(std::path::PathBuf::from);
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/venv/peer/bin/python");
    let python = given.unwrap_or(made);
    compare_with("predict_torch.py", Some(python.as_path()).filter(|python| python.exists()));
}
