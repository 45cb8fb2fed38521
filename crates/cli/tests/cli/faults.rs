//! The program with an injected disk fault at some calls. The library's tests try every call.

use crate::common::{Output, Place, TINY};

/// The demo run under a fault.
fn run(place: &Place, fault: &str) -> Output {
    let mut program = place.program();
    program
        .env("BOOSTFGL_FAULT", fault)
        .args(format!("run demo --method fedavg {TINY} --quiet --out a").split_whitespace());
    let output = program.output().unwrap();
    Output {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_killed_run_can_be_run_again() {
    let place = Place::new();
    let expected = place.digest(&format!("run demo --method fedavg {TINY} --out whole"));
    for call in [3, 12, 30] {
        let done = run(&place, &format!("crash@{call}"));
        assert!(done.code != Some(0), "{call}: {done:?}");
        assert!(!place.exists("a/summary.json"), "{call}");
        assert_eq!(
            place.digest(&format!("run demo --method fedavg {TINY} --out a --overwrite")),
            expected,
            "{call}"
        );
        std::fs::remove_dir_all(place.path("a")).unwrap();
    }
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    for fault in ["full@4", "full@14", "eio@9"] {
        let place = Place::new();
        let done = run(&place, fault);
        assert_eq!(done.code, Some(1), "{fault}: {done:?}");
        done.check_error(fault);
        assert!(
            done.stderr.contains("error: a/") || done.stderr.contains("write a/"),
            "{fault}: {}",
            done.stderr
        );
        assert!(!place.exists("a/summary.json"), "{fault}");
    }
}

#[test]
fn every_reader_of_a_run_names_a_changed_file() {
    let place = Place::new();
    place.ok(&format!("run demo --method fedavg {TINY} --quiet --out a"));
    let predictions = place.read("a/predictions.csv");
    // One digit of one row is changed, so that the file stays a readable table.
    let row = predictions.lines().nth(1).unwrap();
    let end = if row.ends_with('0') { '1' } else { '0' };
    place.write(
        "a/predictions.csv",
        predictions.replacen(row, &format!("{}{end}", &row[..row.len() - 1]), 1),
    );
    let message = "expected the content recorded in checksums.txt";
    place.refused_with("diagnose a --by class", &["predictions.csv", message]);
    place.ok("report a --out r.html");
    assert!(place.read("r.html").contains(message), "the report names what was changed");
    let partition = place.read("a/partition.csv");
    place.write("a/partition.csv", partition.replacen(",train", ",val", 1));
    place.refused_with(
        &format!("run demo --method fedavg {TINY} --partition a/partition.csv --out b"),
        &["partition.csv", message],
    );
}

#[test]
fn an_edited_report_is_named_and_replaced() {
    let place = Place::new();
    place.ok(&format!("run demo {TINY} --quiet --out r"));
    place.ok("compare demo --methods fedavg,fedprox --rounds 1 --seeds 1 --set model.hidden=4 \
        --quiet --out c");
    let message = "report.html: expected the content recorded in";
    // The reports of a run, of two runs and of a comparison.
    for (folder, list) in
        [("r/fedavg", "checksums.txt"), ("r", "report.html.b3"), ("c", "checksums.txt")]
    {
        let file = format!("{folder}/report.html");
        let whole = place.read(&file);
        assert_eq!(place.ok(&format!("report {folder} --out x.html")).stderr, "", "{folder}");
        place.write(&file, whole.replacen("Accuracy", "accuracy", 1));
        for (to, again) in [("--out x.html", true), ("", true), ("", false)] {
            let done = place.ok(&format!("report {folder} {to}"));
            assert_eq!(done.stderr.contains(message), again, "{folder} {to}: {}", done.stderr);
        }
        assert_eq!(
            place.read(&file),
            whole,
            "{folder}: nothing of it is in the page that took its place"
        );
        assert!(place.read(&format!("{folder}/{list}")).contains("  report.html\n"), "{folder}");
        assert!(place.read("x.html").contains(message), "{folder}: a page elsewhere reports it");
    }
    // Every file of a run has a correct line, in the format of b3sum.
    let folder = place.path("r/fedavg");
    let sums = boostfgl::disk::Checksums::read(&folder).unwrap().unwrap();
    let mut files: Vec<String> = folder
        .read_dir()
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.retain(|name| name != "checksums.txt");
    files.sort();
    assert_eq!(sums.names().collect::<Vec<_>>(), files);
    files.iter().for_each(|name| sums.check(name).unwrap());
}

/// Files outside run folders have checksums, too.
#[test]
fn a_changed_partition_or_comparison_is_named() {
    let place = Place::new();
    place.ok("partition demo --seeds 2 --out parts.csv");
    let run = format!("run demo --method fedavg {TINY} --quiet --partition parts.csv");
    place.ok(&format!("{run} --out a"));
    let parts = place.read("parts.csv");
    let (first, _) = parts.split_at(parts.find("\n1,").unwrap() + 1);
    place.write("parts.csv", first);
    place.refused_with(
        &format!("{run} --out b"),
        &["parts.csv: expected the content recorded in parts.csv.b3"],
    );
    std::fs::remove_file(place.path("parts.csv.b3")).unwrap();
    place.ok(&format!("{run} --out b"));

    place.ok("compare demo --methods fedavg,fedprox --rounds 1 --seeds 1 --set model.hidden=4 \
        --quiet --out c");
    let json = place.read("c/comparison.json");
    place.write("c/comparison.json", json.replacen("\"accuracy\": {", "\"accuracy\":  {", 1));
    assert_ne!(json, place.read("c/comparison.json"), "something was changed");
    let done = place.run("report c --out r.html");
    assert!(
        done.stderr.contains("comparison.json: expected the content recorded in checksums.txt"),
        "{done:?}"
    );
    // An export reports that a file of the run was changed.
    let predictions = place.read("a/predictions.csv");
    place.write("a/predictions.csv", predictions.replacen(",train,", ",val,", 1));
    let done = place.run("report a --export csv --out tables");
    assert!(
        done.stderr.contains("predictions.csv: expected the content recorded in checksums.txt"),
        "{done:?}"
    );
}
