//! Fault injection: a run with every fault at every call that writes, and damage to its folder.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use boostfgl::checkpoint::is_unfinished;
use boostfgl::disk::Checksums;
use boostfgl::disk::faults::{Fault, at_every_call};
use boostfgl::fairness::Evaluation;
use boostfgl::fed::RoundRecord;
use boostfgl::grid::{CellRecord, CellStore, StoredCell};
use boostfgl::report::{CellCost, Depth, Measured, RunFolder, RunView};
use boostfgl::{CheckpointOptions, CheckpointSchedule, Experiment, Progress, Run};

fn empty() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A ring of two classes with chords: large enough to partition and to train on, small
/// enough to run hundreds of times.
fn experiment() -> &'static Experiment {
    static SMALL: OnceLock<Experiment> = OnceLock::new();
    SMALL.get_or_init(|| {
        let place = empty();
        let nodes: String =
            (0..36).map(|v| format!("{v},{},{},{}\n", v / 18, v % 5, v / 18 + v % 2)).collect();
        let edges: String =
            (0..36).map(|v| format!("{v},{}\n{v},{}\n", (v + 1) % 36, (v + 5) % 36)).collect();
        fs::write(place.path().join("nodes.csv"), format!("id,label,a,b\n{nodes}")).unwrap();
        fs::write(place.path().join("edges.csv"), format!("src,dst\n{edges}")).unwrap();
        let builder = Experiment::on(place.path().to_str().unwrap())
            .method("boostfgl")
            .clients(2)
            .seeds([0, 1]);
        builder.set("fed.rounds", 2).set("model.hidden", 4).build().unwrap()
    })
}

fn run(place: &Path) -> boostfgl::Result<Run> {
    let folder = RunFolder::create(place.join("run"), true)?;
    experiment().run_watched(&mut (), Some(&folder))
}

/// After a fault there is a complete run, or an error and a folder without a summary.
fn assert_left(place: &Path, outcome: boostfgl::Result<Run>, fault: &str) {
    match RunView::read(place.join("run"), Depth::Whole) {
        // Nothing was recorded yet, and the folder was removed.
        Err(error) => assert!(outcome.is_err(), "{fault}: {error}"),
        Ok(view) if view.summary.is_some() => {
            assert!(view.problems.is_empty(), "{fault}: {:?}", view.problems);
        }
        Ok(view) => assert!(outcome.is_err(), "{fault}: {:?}", view.problems),
    }
    if let Err(error) = outcome {
        assert!(error.to_string().contains(&place.display().to_string()), "{fault}: {error}");
    }
}

#[test]
fn a_run_hit_by_a_fault_is_complete_or_has_no_summary() {
    let expected = experiment().run().unwrap().summary.digest;
    for fault in Fault::ALL {
        let look = |place: &Path, outcome: boostfgl::Result<Run>, n: usize| {
            assert_left(place, outcome, &format!("{fault:?} at {n}"));
            // The same command again. Every seventh is enough: each repeats the same work.
            if n.is_multiple_of(7) {
                let again = run(place)
                    .unwrap_or_else(|error| panic!("{fault:?} at {n}, then again: {error}"));
                assert_eq!(again.summary.digest, expected, "{fault:?} at {n}");
                assert_left(place, Ok(again), &format!("{fault:?} at {n}, then again"));
            }
        };
        let (calls, whole) = at_every_call(fault, empty, run, look);
        assert_eq!(whole.unwrap().summary.digest, expected);
        assert!(calls > 40, "{fault:?}: {calls} calls");
    }
}

/// With a checkpoint after every round.
#[test]
fn a_run_hit_by_a_fault_is_resumed_to_the_same_digest() {
    let expected = experiment().run().unwrap().summary.digest;
    let options = CheckpointOptions {
        schedule: CheckpointSchedule { rounds: Some(1), seconds: f64::INFINITY },
        stop: None,
    };
    let checkpointed = |place: &Path| {
        let folder = RunFolder::create(place.join("run"), true)?;
        experiment().run_with_checkpoints(&mut (), &folder, options)
    };
    for fault in Fault::ALL {
        let mut resumed = 0;
        let look = |place: &Path, outcome: boostfgl::Result<Run>, n: usize| {
            let hit = format!("{fault:?} at {n}");
            let path = place.join("run");
            if !is_unfinished(&path) {
                // Finished despite the fault, or not begun.
                assert_left(place, outcome, &hit);
                return;
            }
            let folder = RunFolder::open(&path).unwrap();
            let again = experiment()
                .resume(&mut (), &folder, options)
                .unwrap_or_else(|e| panic!("{hit}: {e}"));
            assert_eq!(again.summary.digest, expected, "{hit}");
            assert_left(place, Ok(again), &hit);
            assert!(!folder.file(RunFolder::CHECKPOINT).exists(), "{hit}");
            resumed += 1;
        };
        let (calls, whole) = at_every_call(fault, empty, checkpointed, look);
        assert_eq!(whole.unwrap().summary.digest, expected);
        // After a short write the rest is written, so that the run does not fail.
        assert!(
            calls > 60 && (resumed > 20 || fault == Fault::Short),
            "{fault:?}: {calls} calls, {resumed} resumed"
        );
    }
}

/// The same for the resume itself.
#[test]
fn a_resume_hit_by_a_fault_is_resumed_to_the_same_digest() {
    let expected = experiment().run().unwrap().summary.digest;
    let schedule = CheckpointSchedule { rounds: Some(1), seconds: f64::INFINITY };
    let options = CheckpointOptions { schedule, stop: None };
    let stopped = || {
        let place = empty();
        let folder = RunFolder::create(place.path().join("run"), false).unwrap();
        let stop = AtomicBool::new(false);
        let mut progress = StopAfter(3, &stop);
        assert!(
            experiment()
                .run_with_checkpoints(
                    &mut progress,
                    &folder,
                    CheckpointOptions { schedule, stop: Some(&stop) }
                )
                .is_err()
        );
        place
    };
    let resume =
        |place: &Path| experiment().resume(&mut (), &RunFolder::open(place.join("run"))?, options);
    for fault in Fault::ALL {
        let look = |place: &Path, outcome: boostfgl::Result<Run>, n: usize| {
            let hit = format!("{fault:?} at {n}");
            if is_unfinished(&place.join("run")) {
                let again = resume(place).unwrap_or_else(|error| panic!("{hit}: {error}"));
                assert_eq!(again.summary.digest, expected, "{hit}");
                assert_left(place, Ok(again), &hit);
            } else {
                assert_left(place, outcome, &hit);
            }
        };
        let (calls, whole) = at_every_call(fault, stopped, resume, look);
        assert_eq!(whole.unwrap().summary.digest, expected);
        assert!(calls > 30, "{fault:?}: {calls} calls");
    }
}

/// Of several methods, those that are announced are not lost when the first attempt fails.
#[test]
fn an_announced_run_hit_by_a_fault_can_be_resumed() {
    let expected = experiment().run().unwrap().summary.digest;
    let options = CheckpointOptions {
        schedule: CheckpointSchedule { rounds: None, seconds: f64::INFINITY },
        stop: None,
    };
    let announced = || {
        let place = empty();
        experiment()
            .announce(&RunFolder::create(place.path().join("run"), false).unwrap())
            .unwrap();
        place
    };
    type Attempt = fn(&Path, CheckpointOptions<'_>) -> boostfgl::Result<Run>;
    let run: Attempt = |path, options| {
        experiment().run_with_checkpoints(&mut (), &RunFolder::open(path)?, options)
    };
    let resume: Attempt =
        |path, options| experiment().resume(&mut (), &RunFolder::open(path)?, options);
    for (attempt, fault) in
        [run, resume].into_iter().flat_map(|attempt| Fault::ALL.map(|fault| (attempt, fault)))
    {
        let look = |place: &Path, outcome: boostfgl::Result<Run>, n: usize| {
            let (hit, path) = (format!("{fault:?} at {n}"), place.join("run"));
            if outcome.is_ok() || path.join(RunFolder::SUMMARY).exists() {
                return assert_left(place, outcome, &hit);
            }
            assert!(is_unfinished(&path), "{hit}: the run cannot be resumed");
            let again = resume(&path, options).unwrap_or_else(|error| panic!("{hit}: {error}"));
            assert_eq!(again.summary.digest, expected, "{hit}");
        };
        let (calls, whole) =
            at_every_call(fault, announced, |place| attempt(&place.join("run"), options), look);
        assert_eq!(whole.unwrap().summary.digest, expected);
        assert!(calls > 30, "{fault:?}: {calls} calls");
    }
}

/// Requests a stop after a number of rounds.
struct StopAfter<'a>(usize, &'a AtomicBool);

impl Progress for StopAfter<'_> {
    fn round(&mut self, _: &RoundRecord<'_>, _: Option<&Evaluation>) {
        self.0 -= 1;
        self.1.store(self.0 == 0, Ordering::SeqCst);
    }
}

#[test]
fn every_flipped_byte_and_truncation_of_a_file_is_reported_with_its_name() {
    let place = empty();
    run(place.path()).unwrap();
    let folder = RunFolder::open(place.path().join("run")).unwrap();
    let names: Vec<String> =
        Checksums::read(folder.path()).unwrap().unwrap().names().map(str::to_owned).collect();
    let expected =
        ["config.toml", "model.safetensors", "partition.csv", "partition.json", "predictions.csv"];
    assert_eq!(names[..5], expected);
    assert_eq!(names[5..], ["report.html", "rounds.jsonl", "state.bin", "summary.json"]);
    let problems = || RunView::read(folder.path(), Depth::Whole).unwrap().problems;
    assert!(problems().is_empty());
    for name in names.iter().map(String::as_str).chain([Checksums::FILE]) {
        let whole = fs::read(folder.file(name)).unwrap();
        // All bytes of small files, about a hundred of large ones: the checksum has a test on every
        // bit.
        let step = (whole.len() / 120).max(1);
        for at in (0..whole.len()).step_by(step) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at / step % 8);
            for damaged in [&flipped, &whole[..at]] {
                fs::write(folder.file(name), damaged).unwrap();
                let found = problems();
                assert!(
                    found.iter().any(|problem| problem.contains(name)),
                    "{name}, byte {at}: {found:?}"
                );
            }
        }
        fs::write(folder.file(name), whole).unwrap();
    }
    assert!(problems().is_empty());
}

#[test]
fn a_folder_without_checksums_is_read() {
    let place = empty();
    run(place.path()).unwrap();
    fs::remove_file(place.path().join("run").join(Checksums::FILE)).unwrap();
    assert!(RunView::read(place.path().join("run"), Depth::Whole).unwrap().problems.is_empty());
}

/// A report that is written again, hit by a fault: the old or the new one is there.
#[test]
fn a_report_always_matches_its_checksum() {
    let whole = empty();
    run(whole.path()).unwrap();
    for fault in Fault::ALL {
        let prepare = || {
            let place = empty();
            fs::create_dir(place.path().join("run")).unwrap();
            for file in fs::read_dir(whole.path().join("run")).unwrap().map(Result::unwrap) {
                fs::copy(file.path(), place.path().join("run").join(file.file_name())).unwrap();
            }
            place
        };
        let rewrite = |place: &Path| {
            RunFolder::open(place.join("run"))?.write_report("<!doctype html>\nnew\n")
        };
        let look = |place: &Path, outcome: boostfgl::report::Result<()>, n: usize| {
            let view = RunView::read(place.join("run"), Depth::Whole).unwrap();
            assert!(
                view.summary.is_some() && view.problems.is_empty(),
                "{fault:?} at {n}: {:?}",
                view.problems
            );
            let report = fs::read_to_string(place.join("run/report.html")).unwrap();
            assert!(outcome.is_err() || report.ends_with("new\n"), "{fault:?} at {n}");
            rewrite(place).unwrap();
            let sums = Checksums::read(&place.join("run")).unwrap().unwrap();
            assert!(
                sums.names().count() == 9 && sums.names().all(|name| sums.check(name).is_ok()),
                "{fault:?} at {n}"
            );
        };
        let (calls, outcome) = at_every_call(fault, prepare, rewrite, look);
        outcome.unwrap();
        assert!(calls >= 9, "{fault:?}: {calls} calls");
    }
}

/// Folders of earlier versions have no checksum of the report.
#[test]
fn a_report_without_a_checksum_is_read_and_gets_one_when_it_is_written_again() {
    let place = empty();
    run(place.path()).unwrap();
    let folder = RunFolder::open(place.path().join("run")).unwrap();
    let list = fs::read_to_string(folder.file(RunFolder::CHECKSUMS)).unwrap();
    let old: String = list
        .lines()
        .filter(|line| !line.ends_with("report.html"))
        .map(|l| format!("{l}\n"))
        .collect();
    fs::write(folder.file(RunFolder::CHECKSUMS), &old).unwrap();
    assert!(RunView::read(folder.path(), Depth::Whole).unwrap().problems.is_empty());
    let changes = folder.changes();
    assert!(
        changes.len() == 1 && changes[0].contains("report.html has no checksum"),
        "{changes:?}"
    );
    boostfgl::write_report(&folder).unwrap();
    assert_eq!(
        fs::read_to_string(folder.file(RunFolder::CHECKSUMS)).unwrap(),
        list,
        "the page is the same"
    );
    assert!(folder.changes().is_empty());
}

fn cell(seconds: f64) -> CellRecord {
    let cost = CellCost { seconds, ..CellCost::default() };
    let measured = Measured {
        scores: boostfgl::fairness::Scores::default().percent(),
        groups: boostfgl::fairness::GroupSizes::default(),
        round: 3,
        details: Default::default(),
        digest: "abc".into(),
        cost,
    };
    CellRecord { dataset: "demo".into(), method: "fedavg".into(), seed: 4, measured, detail: None }
}

#[test]
fn a_stored_cell_is_replaced_atomically() {
    let (old, new) = (cell(1.0 / 3.0), cell(1.0 / 7.0));
    for fault in Fault::ALL {
        let prepare = || {
            let place = empty();
            CellStore::open(place.path()).unwrap().keep("d", old.clone()).unwrap();
            place
        };
        let keep = |place: &Path| Ok(CellStore::open(place)?.keep("d", new.clone())?);
        let look = |place: &Path, outcome: boostfgl::Result<()>, n: usize| {
            let found = CellStore::at(place).find("d");
            let is = |cell: &CellRecord| found == StoredCell::Cell(Box::new(cell.clone()));
            assert!(is(&new) || (outcome.is_err() && is(&old)), "{fault:?} at {n}: {found:?}");
        };
        at_every_call(fault, prepare, keep, look).1.unwrap();
    }
}

#[test]
fn a_damaged_cell_is_never_read_as_another() {
    let place = empty();
    let store = CellStore::open(place.path()).unwrap();
    store.keep("d", cell(1.0 / 3.0)).unwrap();
    let path = place.path().join(CellStore::FOLDER).join("d.json");
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        fs::write(&path, &whole[..at]).unwrap();
        // Only the last line feed can be missing.
        assert!(
            at == whole.len() - 1 || matches!(store.find("d"), StoredCell::Unusable(_)),
            "truncated to {at}"
        );
        for bit in [at % 8, 5] {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            fs::write(&path, flipped).unwrap();
            match store.find("d") {
                // A digit beyond the precision of a number, or another blank: the same content.
                StoredCell::Cell(found) => {
                    assert_eq!(*found, cell(1.0 / 3.0), "byte {at}, bit {bit}");
                }
                StoredCell::Unusable(reason) => assert!(reason.contains("d.json"), "{reason}"),
                StoredCell::Nothing => panic!("byte {at}, bit {bit}: nothing"),
            }
        }
    }
}
