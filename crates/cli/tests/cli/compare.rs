//! `compare`: paired differences, reused cells, and errors.

use crate::common::Place;
use serde_json::Value;

/// Two methods, two seeds, few rounds.
const SMALL: &str =
    "compare --methods fedavg,boostfgl --rounds 3 --set model.hidden=16 --seeds 2 --quiet";

/// The same with other methods.
fn small(methods: &str) -> String {
    SMALL.replace("fedavg,boostfgl", methods)
}

/// The document without measured time and memory.
fn without_cost(text: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.remove("cost");
                map.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value: Value = serde_json::from_str(text).unwrap();
    strip(&mut value);
    value
}

fn cell_files(place: &Place, folder: &str) -> Vec<std::path::PathBuf> {
    let entries = place.path(folder).join("cells").read_dir().unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn a_cell_equals_a_run_and_the_folder_has_every_format() {
    let place = Place::new();
    let done = place.ok(&format!("{SMALL} --out c"));
    for wanted in
        ["demo: difference to fedavg", "demo: cost", "Two seeds cannot show a difference", "rank 1"]
    {
        assert!(done.stdout.contains(wanted), "{wanted}\n{}", done.stdout);
    }
    assert!(done.stdout.contains("0 of 4 cells reused"), "{}", done.stdout);
    for file in ["txt", "md", "csv", "json", "tex"] {
        assert!(place.exists(&format!("c/comparison.{file}")), "{file}");
    }
    assert!(place.exists("c/comparison-summary.csv") && place.exists("c/config/demo.toml"));
    let document = place.json("c/comparison.json");
    for (at, method) in ["fedavg", "boostfgl"].iter().enumerate() {
        let run = format!(
            "run --rounds 3 --set model.hidden=16 --seeds 2 --quiet --json --method {method} \
             --out {method}"
        );
        let summary: Value = serde_json::from_str(&place.ok(&run).stdout).unwrap();
        for seed in 0..2 {
            let cell = &document["datasets"][0]["rows"][at]["cells"][seed];
            for key in ["accuracy", "overall_f1", "hete_f1", "hete_min_f1", "digest", "groups"] {
                assert_eq!(cell[key], summary["seeds"][seed][key], "{method}, {key}");
            }
        }
        let mean = &document["datasets"][0]["rows"][at]["metrics"]["accuracy"]["mean"];
        assert_eq!(mean, &summary["mean"]["accuracy"]["pooled"]);
    }
}

#[test]
fn finished_cells_are_reused_and_damaged_ones_run_again() {
    let place = Place::new();
    let command = format!("{SMALL} --out c --json");
    let first = place.ok(&command).stdout;
    // If all cells are reused, not even the costs change.
    assert_eq!(place.ok(&command).stdout, first);
    assert!(place.ok(&format!("{SMALL} --out c")).stdout.contains("4 of 4 cells reused"));
    let files = cell_files(&place, "c");
    assert_eq!(files.len(), 4);
    let good = std::fs::read(&files[0]).unwrap();
    std::fs::write(&files[0], &good[..good.len() / 2]).unwrap();
    std::fs::copy(&files[2], &files[1]).unwrap();
    let again = place.ok(&command.replace(" --quiet", ""));
    assert!(again.stderr.contains("2 of 4 cells reused, 2 to run"), "{}", again.stderr);
    assert_eq!(again.stderr.matches("this cell runs again").count(), 2, "{}", again.stderr);
    assert_eq!(without_cost(&again.stdout), without_cost(&first));
    // Only an added method is run; another number of rounds runs every cell.
    let more = place.ok(&format!("{} --out c", small("fedavg,boostfgl,isolated")));
    assert!(more.stdout.contains("4 of 6 cells reused"), "{}", more.stdout);
    let other = place.ok(&format!("{SMALL} --out c").replace("--rounds 3", "--rounds 2"));
    assert!(other.stdout.contains("0 of 4 cells reused"), "{}", other.stdout);
}

#[test]
fn the_number_of_threads_does_not_change_a_comparison() {
    let place = Place::new();
    let run = |threads: usize| {
        place.ok(&format!("{SMALL} --json --out t{threads} --threads {threads}")).stdout
    };
    let one = run(1);
    for threads in [4, 8] {
        assert_eq!(without_cost(&run(threads)), without_cost(&one), "{threads} threads");
    }
    // The memory of a cell can be measured only if it runs alone.
    let document: Value = serde_json::from_str(&one).unwrap();
    assert!(
        document["datasets"][0]["rows"][0]["cells"][0]["cost"]["cpu_seconds"].as_f64().unwrap()
            > 0.0
    );
}

#[test]
fn cells_over_budget_and_failed_cells_are_reported_and_others_run() {
    let place = Place::new();
    let over = place.ok(&format!("{SMALL} --out o --memory 1M"));
    assert!(over.stdout.contains("over budget (estimate "), "{}", over.stdout);
    assert!(cell_files(&place, "o").is_empty());

    let failing = format!("{SMALL} --rounds 9 --set optimizer.learning_rate=1e30 --out f")
        .replace("--rounds 3 ", "");
    let done = place.run(&failing);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    done.check_error("diverged");
    assert!(done.stderr.contains("of 4 cells failed; the first: "), "{}", done.stderr);
    assert!(done.stdout.contains("failed and is left out"), "{}", done.stdout);
    assert!(place.exists("f/comparison.json"));
}

#[test]
fn comparisons_are_printed_as_latex_csv_and_markdown() {
    let place = Place::new();
    let latex = place.ok(&format!("{} --out c --format latex", small("fedavg,fedavg+node"))).stdout;
    assert!(
        latex.contains("\\toprule") && latex.contains("$\\pm$") && latex.contains("\\textbf{"),
        "{latex}"
    );
    let csv = place.ok(&format!("{} --out c --format csv", small("fedavg,fedavg+node"))).stdout;
    assert!(
        csv.starts_with(
            "dataset,method,evaluated,metric,reading,seed,state,value\ndemo,fedavg,global,accuracy,"
        ),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 1 + 2 * 5 * 2);
    let markdown =
        place.ok(&format!("{} --out c --format markdown", small("fedavg,fedavg+node"))).stdout;
    assert!(markdown.contains("| Method |") && markdown.contains("fedavg + node"), "{markdown}");
}

#[test]
fn invalid_comparisons_are_refused_before_training() {
    let place = Place::new();
    for (rest, wanted) in [
        ("--methods fedavgg", "unknown method `fedavgg` (did you mean `fedavg`?)"),
        ("--methods fedavg,fedavg", "found `fedavg` twice"),
        ("--methods ,", "expected at least one method, found none"),
        ("--methods fedavg+nodes", "unknown boost `nodes` (did you mean `node`?)"),
        (
            "--methods fedavg --base boostfgl",
            "--base: expected one of the methods compared (fedavg), found `boostfgl`",
        ),
        ("demo coar", "unknown dataset `coar` (did you mean `cora`?)"),
        ("demo demo", "expected every dataset once, found `demo` twice"),
        ("demo generate:demo", "found two called `demo`"),
        ("demo cora --partition p.csv", "--partition: expected one dataset"),
        ("--set method=fedavg", "--set method: expected methods in --methods"),
        ("--set dataset=cora", "--set dataset: expected datasets as arguments"),
        ("--format pdf", "invalid value 'pdf'"),
        ("--json --format csv", "cannot be used with"),
        ("--memory lots", "--memory: expected a number with a unit"),
        ("--threads 0", "--threads: expected 1 to 1024"),
        ("--set rounds=0", "fed.rounds: expected at least 1, found 0"),
    ] {
        place.refused_with(&format!("compare --seeds 1 --out out {rest}"), &[wanted]);
    }
    place.write("mine/notes.txt", "mine");
    place.refused_with(
        "compare --seeds 1 --out mine",
        &["expected an empty folder or an earlier comparison, found `notes.txt`"],
    );
}

/// The default methods include isolated and central, which show whether federation helps at all.
#[test]
fn isolated_and_central_are_compared_by_default() {
    let place = Place::new();
    let done = place.ok("compare --rounds 2 --set model.hidden=8 --seeds 1 --quiet --out c");
    let methods = place.json("c/comparison.json")["methods"].clone();
    let labels: Vec<&str> = methods
        .as_array()
        .unwrap()
        .iter()
        .map(|method| method["label"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["fedavg", "boostfgl", "isolated", "central"]);
    assert!(done.stdout.contains("demo: the same at the best validation round"), "{}", done.stdout);
    assert!(done.stdout.contains("Rounds") && done.stdout.contains("2×1"), "{}", done.stdout);
    assert!(place.read("c/comparison.md").contains("Split: drawn by shares per client and class"));
    let rows = &place.json("c/comparison.json")["datasets"][0]["rows"];
    let accuracy = |at: usize| rows[at]["metrics"]["accuracy"]["mean"].as_f64().unwrap();
    for (at, label) in labels.iter().enumerate().take(2) {
        let warned =
            done.stdout.contains(&format!("more accuracy than {label}: too few seeds to be sure"));
        assert_eq!(accuracy(2) - accuracy(at) >= 0.05, warned, "{label}\n{}", done.stdout);
    }
}
