//! The run folder: every file, and numbers recomputed from the predictions by other means.

use crate::common::{Place, table};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

type Row = BTreeMap<String, String>;

const SMALL: &str = "--rounds 3 --seeds 2,5 --clients 3 --set model.hidden=8";
const METRICS: [&str; 4] = ["accuracy", "overall_f1", "hete_f1", "hete_min_f1"];

#[test]
fn every_file_has_the_documented_content() {
    let place = Place::new();
    place.ok(&format!("run demo {SMALL} --method boostfgl --out a"));
    let summary = place.json("a/summary.json");
    let mut names: Vec<String> = place
        .path("a")
        .read_dir()
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        "checksums.txt",
        "config.toml",
        "model.safetensors",
        "partition.csv",
        "partition.json",
        "predictions.csv",
        "report.html",
        "rounds.jsonl",
        "state.bin",
        "summary.json",
    ];
    assert_eq!(names, expected);

    let config: toml::Table = place.read("a/config.toml").parse().unwrap();
    assert_eq!(config["method"].as_str(), Some("boostfgl"));
    assert_eq!(config["fed"]["rounds"].as_integer(), Some(3));
    assert_eq!(config["seeds"].as_array().unwrap().len(), 2);

    assert!(place.read("a/partition.csv").starts_with("seed,node,client,split\n"));
    let header = "seed,node,client,split,label,prediction,minority,heterophilous\n";
    assert!(place.read("a/predictions.csv").starts_with(header));
    let (parts, predictions) =
        (table(&place.read("a/partition.csv")), table(&place.read("a/predictions.csv")));
    assert_eq!((parts.len(), predictions.len()), (2 * 2708, 2 * 2708));
    // Both name each node of each seed once, and agree on its client and split.
    let known = |rows: &[Row]| -> BTreeMap<(String, String), (String, String)> {
        rows.iter()
            .map(|r| {
                ((r["seed"].clone(), r["node"].clone()), (r["client"].clone(), r["split"].clone()))
            })
            .collect()
    };
    assert_eq!(known(&parts).len(), 2 * 2708);
    assert_eq!(known(&parts), known(&predictions));
    let splits: BTreeSet<&str> = predictions.iter().map(|r| r["split"].as_str()).collect();
    assert_eq!(splits, BTreeSet::from(["train", "val", "test"]));

    for key in ["mean", "std", "cpu_seconds", "wall_seconds", "peak_rss_mib", "digest", "bytes"] {
        assert!(!summary[key].is_null(), "{key}");
    }
    assert_eq!(summary["method"], "boostfgl");
    assert_eq!(summary["dataset"], "demo");
    assert_eq!(summary["boost"], serde_json::json!(["node", "topology", "model"]));
    assert_eq!(summary["digest"].as_str().unwrap().len(), 64);
    assert!(summary["wall_seconds"].as_f64().unwrap() > 0.0);
    check_rounds(&place.read("a/rounds.jsonl"), &summary);
    check_model(&place.bytes("a/model.safetensors"));
}

fn check_rounds(text: &str, summary: &Value) {
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let places: Vec<_> =
        lines.iter().map(|l| (l["seed"].as_u64().unwrap(), l["round"].as_u64().unwrap())).collect();
    assert_eq!(places, [(2, 1), (2, 2), (2, 3), (5, 1), (5, 2), (5, 3)]);
    for line in &lines {
        assert!(line["loss"].as_f64().unwrap() > 0.0);
        assert!(line["seconds"].as_f64().unwrap() >= 0.0);
        let clients = line["clients"].as_array().unwrap();
        assert_eq!(clients.len(), 3);
        for client in clients {
            for key in ["loss", "update_norm", "weight", "trust", "seconds"] {
                assert!(client[key].as_f64().is_some_and(|x| x >= 0.0), "{key} in {client}");
            }
            assert!(client["trust"].as_f64().unwrap() <= 1.0);
        }
        let sum = |key: &str| clients.iter().map(|c| c[key].as_f64().unwrap()).sum::<f64>();
        assert!((sum("weight") - 1.0).abs() < 1e-6, "{}", sum("weight"));
        for key in ["bytes_up", "bytes_down"] {
            assert_eq!(line[key].as_f64().unwrap(), sum(key), "{key}");
        }
        let metrics = &line["metrics"];
        assert_eq!(metrics["clients"].as_array().unwrap().len(), 3);
        let groups: Vec<&str> = metrics["groups"]
            .as_array()
            .unwrap()
            .iter()
            .map(|g| g["group"].as_str().unwrap())
            .collect();
        for group in ["all", "minority", "heterophilous", "hete_min"] {
            assert!(groups.contains(&group), "{group} in {groups:?}");
        }
        for metric in METRICS {
            for client in metrics["clients"].as_array().unwrap() {
                assert!(client[metric].is_object(), "{metric} of a client");
            }
        }
    }
    // The last round is the one reported, and traffic adds up.
    for (last, seed) in [(&lines[2], 0), (&lines[5], 1)] {
        for metric in METRICS {
            assert_eq!(last["metrics"]["scores"][metric], summary["seeds"][seed][metric]);
        }
    }
    for direction in ["up", "down"] {
        let sent: u64 =
            lines.iter().map(|l| l[format!("bytes_{direction}")].as_u64().unwrap()).sum();
        assert_eq!(summary["bytes"][direction].as_u64(), Some(sent));
    }
}

/// Reads the safetensors format by hand: a length, a header in JSON, then the numbers.
fn check_model(bytes: &[u8]) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let about = &header["__metadata__"];
    for (key, value) in [
        ("method", "boostfgl"),
        ("dataset", "demo"),
        ("backbone", "gcn"),
        ("hidden", "8"),
        ("layers", "2"),
        ("inputs", "1433"),
    ] {
        assert_eq!(about[key], value, "{key}");
    }
    let classes: Vec<String> = serde_json::from_str(about["classes"].as_str().unwrap()).unwrap();
    assert_eq!(classes.len(), 7);
    let data = &bytes[8 + length..];
    let mut end = 0;
    let mut per_seed: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, tensor) in
        header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__")
    {
        let numbers = |key: &str| -> Vec<usize> {
            tensor[key].as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as usize).collect()
        };
        assert_eq!(tensor["dtype"], "F32");
        let (shape, place) = (numbers("shape"), numbers("data_offsets"));
        assert_eq!(4 * shape.iter().product::<usize>(), place[1] - place[0], "{name}");
        for number in data[place[0]..place[1]].chunks(4) {
            assert!(f32::from_le_bytes(number.try_into().unwrap()).is_finite(), "{name}");
        }
        end = end.max(place[1]);
        *per_seed.entry(name.split('.').next().unwrap()).or_default() +=
            shape.iter().product::<usize>();
    }
    assert_eq!(end, data.len());
    let parameters = 1433 * 8 + 8 + 8 * 7 + 7;
    assert_eq!(per_seed, BTreeMap::from([("seed2", parameters), ("seed5", parameters)]));
}

#[test]
fn metrics_follow_from_the_predictions() {
    let place = Place::new();
    for (method, rounds) in [("fedavg", 3), ("boostfgl", 12)] {
        place.ok(&format!(
            "run demo {SMALL} --method {method} --set rounds={rounds} --out {method}"
        ));
        let summary = place.json(&format!("{method}/summary.json"));
        let rows = table(&place.read(&format!("{method}/predictions.csv")));
        let mut values: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
        for entry in summary["seeds"].as_array().unwrap() {
            let seed = entry["seed"].to_string();
            let rows: Vec<&Row> = rows.iter().filter(|row| row["seed"] == seed).collect();
            for (metric, readings) in recompute(&rows) {
                for (reading, value) in readings {
                    let summarised = entry[metric][reading].as_f64().unwrap();
                    assert!(
                        (summarised - value).abs() < 1e-9,
                        "{method}, seed {seed}, {metric} {reading}: {summarised} and {value}"
                    );
                    values.entry((metric, reading)).or_default().push(summarised);
                }
            }
        }
        assert_eq!(values.len(), 12);
        for ((metric, reading), pair) in values {
            let mean = (pair[0] + pair[1]) / 2.0;
            let std = ((pair[0] - mean).powi(2) + (pair[1] - mean).powi(2)).sqrt();
            assert!((summary["mean"][metric][reading].as_f64().unwrap() - mean).abs() < 1e-9);
            assert!((summary["std"][metric][reading].as_f64().unwrap() - std).abs() < 1e-9);
        }
    }
}

/// The four metrics in percent, each pooled, over present classes, and as the mean over clients.
fn recompute<'a>(rows: &[&'a Row]) -> Vec<(&'static str, Vec<(&'static str, f64)>)> {
    let classes: BTreeSet<&str> =
        rows.iter().map(|r| r["label"].as_str()).filter(|l| !l.is_empty()).collect();
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    rows.iter().for_each(|r| *sizes.entry(&r["client"]).or_default() += 1.0);
    let test: Vec<&'a Row> =
        rows.iter().copied().filter(|r| r["split"] == "test" && !r["label"].is_empty()).collect();
    let flag = |row: &Row, name: &str| row[name] == "1";
    let hete: Vec<&Row> = test.iter().copied().filter(|r| flag(r, "heterophilous")).collect();
    let hete_min: Vec<&Row> = hete.iter().copied().filter(|r| flag(r, "minority")).collect();
    let over_clients = |set: &[&Row], value: &dyn Fn(&[&Row]) -> f64| {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (client, size) in &sizes {
            let part: Vec<&Row> = set.iter().copied().filter(|r| r["client"] == *client).collect();
            if !part.is_empty() {
                sum += size * value(&part);
                weights += size;
            }
        }
        sum / weights
    };
    let f1 = |set: &[&Row]| macro_f1(set, &classes);
    let mut all = vec![(
        "accuracy",
        vec![
            ("pooled", accuracy(&test)),
            ("present", accuracy(&test)),
            ("client", over_clients(&test, &accuracy)),
        ],
    )];
    for (metric, set) in [("overall_f1", &test), ("hete_f1", &hete), ("hete_min_f1", &hete_min)] {
        let present: BTreeSet<&str> = set.iter().map(|r| r["label"].as_str()).collect();
        all.push((
            metric,
            vec![
                ("pooled", f1(set)),
                ("present", macro_f1(set, &present)),
                ("client", over_clients(set, &f1)),
            ],
        ));
    }
    all
}

fn accuracy(set: &[&Row]) -> f64 {
    100.0 * set.iter().filter(|r| r["label"] == r["prediction"]).count() as f64 / set.len() as f64
}

fn macro_f1(set: &[&Row], classes: &BTreeSet<&str>) -> f64 {
    let f1 = |class: &str| {
        let count = |truth: bool, predicted: bool| {
            set.iter()
                .filter(|r| {
                    (r["label"] == class) == truth && (r["prediction"] == class) == predicted
                })
                .count()
        };
        let (hits, missed, wrong) =
            (count(true, true) as f64, count(true, false) as f64, count(false, true) as f64);
        if hits == 0.0 { 0.0 } else { 2.0 * hits / (2.0 * hits + missed + wrong) }
    };
    100.0 * classes.iter().map(|class| f1(class)).sum::<f64>() / classes.len() as f64
}

#[test]
fn a_partition_file_holds_every_seed() {
    let place = Place::new();
    let first = place.digest(&format!("run demo {SMALL} --method fedavg --out a"));
    let again =
        "run demo --rounds 3 --set model.hidden=8 --method fedavg --partition a/partition.csv";
    assert_eq!(place.digest(&format!("{again} --seeds 2,5")), first);
    place.refused_with(
        &format!("{again} --seeds 3, --out b"),
        &["partition.csv: expected seed 3, found seeds 2, 5"],
    );
}
