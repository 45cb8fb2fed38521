//! `reproduce`: experiments, verdicts, the document, and errors.

use crate::common::Place;
use serde_json::Value;

/// An experiment of two short cells on the built-in graph.
const SMALL: &str = "reproduce khop --datasets demo --seeds 1 --quiet";

#[test]
fn an_experiment_writes_results_verdicts_and_a_document_and_reuses_its_cells() {
    let place = Place::new();
    let first = place.ok(&format!("{SMALL} --out r"));
    for wanted in [
        "Error by distance",
        "Claims of the paper",
        "UNTESTED, ",
        "2 cells, 0 of them reused",
        "in all",
    ] {
        assert!(first.stdout.contains(wanted), "{wanted}\n{}", first.stdout);
    }
    let results = place.json("r/khop.json");
    assert_eq!(results["rows"].as_array().unwrap().len(), 2);
    assert_eq!(results["origin"]["command"], "boostfgl reproduce khop --datasets demo --seeds 1");
    assert!(
        place.read("r/khop.csv").starts_with("sweep,dataset,method,varied,seed,name,index,value\n")
    );
    let document = place.read("r/reproduction.md");
    assert!(
        document.contains("## Verdicts") && document.contains("K-hop error amplification"),
        "{document}"
    );

    let second = place.ok(&format!("{SMALL} --out r"));
    assert!(second.stdout.contains("2 cells, 2 of them reused"), "{}", second.stdout);
    assert_eq!(place.json("r/khop.json"), results);

    // The document depends only on the files, not on its own place.
    place.ok("reproduce document --out r --document elsewhere.md --quiet");
    assert_eq!(place.read("elsewhere.md"), document);
    let json: Value =
        serde_json::from_str(&place.ok("reproduce document --out r --json").stdout).unwrap();
    assert_eq!(json["verdicts"][0]["experiment"], "khop");

    // A truncated result file is written again from the cells.
    let whole = place.read("r/khop.json");
    place.write("r/khop.json", &whole[..whole.len() / 2]);
    place.refused_with("reproduce document --out r", &["khop.json", "help:"]);
    let third = place.ok(&format!("{SMALL} --out r"));
    assert!(third.stdout.contains("2 of them reused"), "{}", third.stdout);
    assert_eq!(place.read("r/khop.json"), whole);
}

#[test]
fn the_flag_finished_runs_nothing() {
    let place = Place::new();
    let done = place.ok("reproduce table1 --datasets demo --seeds 1 --finished --out r --quiet");
    assert!(done.stdout.contains("not run"), "{}", done.stdout);
    assert!(place.path("r/cells").read_dir().unwrap().next().is_none());
}

#[test]
fn quick_results_do_not_replace_full_ones() {
    let place = Place::new();
    place.ok("reproduce table1 --datasets demo --seeds 1 --finished --out r --quiet");
    place.refused_with(
        "reproduce table1 --quick --finished --out r",
        &["found those of table1", "--out"],
    );
}

#[test]
fn experiments_are_listed() {
    let listed = Place::new().ok("reproduce --list").stdout;
    for wanted in ["table1", "gsd-q", "plug-in", "385 cells, 77 with --quick"] {
        assert!(listed.contains(wanted), "{wanted}\n{listed}");
    }
}

#[test]
fn invalid_arguments_are_named() {
    let place = Place::new();
    place.refused_with("reproduce", &["expected the name of an experiment", "reproduce --list"]);
    place.refused_with("reproduce tabel1", &["did you mean `table1`?"]);
    place.refused_with("reproduce khop --seeds 0", &["--seeds: expected 1 to 10000, found 0"]);
    place.refused_with("reproduce khop --datasets coar", &["coar", "cora"]);
    place.refused_with(
        "reproduce document --out nothing-here",
        &["expected result files of experiments"],
    );
    place.refused_with("reproduce document khop --out r", &["expected `document` alone"]);
}

/// If all datasets of an experiment are missing, the error names them.
#[test]
fn missing_datasets_are_named() {
    let place = Place::new();
    let done = place.run("reproduce khop --quick --out r");
    assert_eq!(done.code, Some(2), "{done:?}");
    for wanted in [
        "cora is left out: it is not on this machine",
        "expected at least one of its datasets on this machine",
        "BOOSTFGL_DATA",
    ] {
        assert!(done.stderr.contains(wanted), "{wanted}\n{}", done.stderr);
    }
}
