//! Every disk fault at every call of the functions that write or export a run folder.

mod common;
#[path = "common/compared.rs"]
mod compared;

use std::fs;
use std::path::{Path, PathBuf};

use boostfgl_disk::faults::{Fault, at_every_call};
use boostfgl_graph::Role;
use boostfgl_report::export::{Format, export, export_comparisons};
use boostfgl_report::{
    Depth, Metrics, Prediction, Predictions, PredictionsWriter, Result, RoundsWriter, RunFolder,
    RunView, Summary,
};
use common::run;

const SCORES: [[Option<f64>; 4]; 1] = [[Some(0.8), Some(0.7), Some(0.5), None]];

fn empty() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// An error names a file or folder below `place`.
fn assert_names(place: &Path, outcome: &Result<()>, context: &str) {
    if let Err(error) = outcome {
        assert!(error.to_string().contains(&place.display().to_string()), "{context}: {error}");
    }
}

#[test]
fn rounds_can_be_resumed_at_the_last_sync() {
    let line = |round: u32| serde_json::json!({"seed": 0, "round": round, "loss": 1.5});
    for fault in Fault::ALL {
        let work = |place: &Path| -> (Result<()>, usize) {
            let mut synced = 0;
            let mut write = || -> Result<()> {
                let mut rounds = RoundsWriter::create(place.join("rounds.jsonl"))?;
                for round in 1..=4 {
                    rounds.write(&line(round))?;
                    if round % 2 == 0 {
                        rounds.sync()?;
                        synced = rounds.lines();
                    }
                }
                rounds.finish()
            };
            (write(), synced)
        };
        let look = |place: &Path, (outcome, synced): (Result<()>, usize), n: usize| {
            let context = format!("{fault:?} at {n}");
            assert_names(place, &outcome, &context);
            let path = place.join("rounds.jsonl");
            let mut rounds = match RoundsWriter::resume(&path, synced) {
                Err(error) if synced == 0 => {
                    assert!(!path.exists(), "{context}: {error}");
                    RoundsWriter::create(&path).unwrap()
                }
                resumed => resumed.unwrap_or_else(|error| panic!("{context}: {error}")),
            };
            (synced as u32 + 1..=4).for_each(|round| rounds.write(&line(round)).unwrap());
            let whole: String = (1..=4).map(|round| format!("{}\n", line(round))).collect();
            assert_eq!(fs::read_to_string(&path).unwrap(), whole, "{context}");
        };
        let (calls, (whole, _)) = at_every_call(fault, empty, work, look);
        whole.unwrap();
        assert!(calls >= 9, "{fault:?}: {calls} calls");
    }
}

fn write_predictions(path: &Path, nodes: usize) -> Result<()> {
    let mut rows = PredictionsWriter::create(path)?;
    for node in 0..nodes {
        rows.write(&Prediction {
            seed: 0,
            node: &node.to_string(),
            client: 0,
            split: Role::Test,
            label: Some("a"),
            prediction: "b",
            minority: Some(false),
            heterophilous: Some(true),
        })?;
    }
    rows.finish()
}

#[test]
fn predictions_are_replaced_atomically() {
    let nodes = |place: &Path| Predictions::read(place.join("p.csv")).unwrap().seeds[0].rows.len();
    for fault in Fault::ALL {
        let prepare = || {
            let place = empty();
            write_predictions(&place.path().join("p.csv"), 3).unwrap();
            place
        };
        let look = |place: &Path, outcome: Result<()>, n: usize| {
            assert_names(place, &outcome, &format!("{fault:?} at {n}"));
            let expected = if outcome.is_ok() { &[2000][..] } else { &[3, 2000] };
            assert!(expected.contains(&nodes(place)), "{fault:?} at {n}: {}", nodes(place));
        };
        let (calls, whole) = at_every_call(
            fault,
            prepare,
            |place| write_predictions(&place.join("p.csv"), 2000),
            look,
        );
        whole.unwrap();
        assert!(calls >= 8, "{fault:?}: {calls} calls");
    }
}

/// The last steps of a run that overwrites another one.
#[test]
fn a_summary_exists_only_with_all_other_files() {
    fn finish(place: &Path, summary: &Summary, overwrite: bool) -> Result<()> {
        let folder = RunFolder::create(place.join("run"), overwrite)?;
        folder.write_atomic(
            RunFolder::CONFIG,
            format!("method = \"{}\"\n", summary.method).as_bytes(),
        )?;
        let mut rounds = folder.rounds()?;
        rounds.write(&serde_json::json!({"seed": 0, "round": 1, "loss": 1.5, "clients": [], "bytes_up": 0, "bytes_down": 0, "seconds": 0.0}))?;
        rounds.finish()?;
        write_predictions(&folder.file(RunFolder::PREDICTIONS), 5)?;
        folder.write_report(&format!("<p>{}</p>", summary.method))?;
        folder.write_summary(summary)
    }
    let (old, new) = (run("fedavg", &[], &SCORES), run("moon", &[], &SCORES));
    for fault in Fault::ALL {
        let prepare = || {
            let place = empty();
            finish(place.path(), &old, false).unwrap();
            place
        };
        let look = |place: &Path, outcome: Result<()>, n: usize| {
            let context = format!("{fault:?} at {n}");
            assert_names(place, &outcome, &context);
            let view = RunView::read(place.join("run"), Depth::Whole).unwrap();
            match &view.summary {
                Some(summary) => {
                    assert!(*summary == new || *summary == old, "{context}");
                    // A power failure may keep the old summary and lose other files; they must be
                    // reported.
                    let whole = view.problems.is_empty();
                    assert!(*summary == old || whole, "{context}: {:?}", view.problems);
                    assert!(outcome.is_err() || *summary == new, "{context}");
                }
                None => assert!(outcome.is_err(), "{context}: {:?}", view.problems),
            }
            finish(place, &new, true)
                .unwrap_or_else(|error| panic!("{context}, repeated: {error}"));
            let again = RunView::read(place.join("run"), Depth::Whole).unwrap();
            assert_eq!(
                (again.summary.as_ref(), again.problems.len()),
                (Some(&new), 0),
                "{context}: {:?}",
                again.problems
            );
            let left =
                fs::read_dir(place.join("run")).unwrap().map(|entry| entry.unwrap().file_name());
            let left: Vec<String> = left.map(|name| name.into_string().unwrap()).collect();
            assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{context}: {left:?}");
        };
        let (calls, whole) = at_every_call(fault, prepare, |place| finish(place, &new, true), look);
        whole.unwrap();
        assert!(calls >= 25, "{fault:?}: {calls} calls");
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn exports_are_written_atomically() {
    let place = empty();
    let folder = RunFolder::create(place.path().join("run"), false).unwrap();
    folder.write_summary(&run("fedavg", &[], &SCORES)).unwrap();
    write_predictions(&folder.file(RunFolder::PREDICTIONS), 40).unwrap();
    let mut rounds = folder.rounds().unwrap();
    rounds.write(&serde_json::json!({"seed": 0, "round": 1, "loss": 1.5, "clients": [], "bytes_up": 0, "bytes_down": 0, "seconds": 0.0})).unwrap();
    rounds.finish().unwrap();
    let views = [RunView::read(folder.path(), Depth::Whole).unwrap()];
    let formats: Vec<Format> =
        Format::ALL.into_iter().filter(|format| format.is_built_in()).collect();
    assert_atomic(50, |to| export(&views, &formats, to).map(|_| ()));
}

#[test]
fn exports_of_comparisons_are_written_atomically() {
    let place = empty();
    let views = [compared::compared(&place.path().join("compared"))];
    // The test above covers the writers of the other formats.
    let formats = [Format::Csv, Format::Latex, Format::Tensorboard];
    let metrics = Metrics::default();
    assert_atomic(50, |to| export_comparisons(&views, &metrics, &formats, to).map(|_| ()));
}

/// Injects every fault at every call of an export, of which there are at least `least`.
fn assert_atomic(least: usize, export: impl Fn(&Path) -> Result<()>) {
    let good = tempfile::tempdir().unwrap();
    export(good.path()).unwrap();
    for fault in Fault::ALL {
        let work = |to: &Path| export(&to.join("out"));
        let look = |to: &Path, outcome: Result<()>, n: usize| {
            assert_names(to, &outcome, &format!("{fault:?} at {n}"));
            for path in files_below(&to.join("out")) {
                let name = path.strip_prefix(to.join("out")).unwrap();
                let unfinished = path.extension().is_some_and(|ending| ending == "tmp");
                let same = || fs::read(&path).unwrap() == fs::read(good.path().join(name)).unwrap();
                assert!(unfinished || same(), "{fault:?} at {n}: {name:?}");
            }
        };
        let (calls, whole) = at_every_call(fault, empty, work, look);
        whole.unwrap();
        assert!(calls >= least, "{fault:?}: {calls} calls");
    }
}
