//! Runs that are stopped, killed or damaged, and resumed.

use boostfgl::checkpoint::{UnfinishedRun, is_unfinished};
use boostfgl::disk::{Checksums, UNFINISHED};
use boostfgl::fairness::Evaluation;
use boostfgl::fairness::diagnostics::DiagnosticKind;
use boostfgl::fed::RoundRecord;
use boostfgl::fed::attack::Kind;
use boostfgl::graph::generator::{Spec, generate, preset};
use boostfgl::partition::FromFile;
use boostfgl::report::RunFolder;
use boostfgl::{CheckpointOptions, CheckpointSchedule, Config, Error, Experiment, Progress, Run};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const ROUNDS: usize = 4;

fn experiment(method: &str) -> Experiment {
    experiment_with(method, |_| {})
}

fn experiment_with(method: &str, change: impl FnOnce(&mut Config)) -> Experiment {
    let spec = Spec {
        nodes: 200,
        edges: 500,
        communities: 3,
        pocket_size: 10,
        ..preset("demo").unwrap().spec
    };
    let graph = generate("small", &spec, 1, &mut |_, _| {}).unwrap();
    let mut config = Config {
        dataset: "demo".into(),
        method: method.into(),
        seeds: vec![3, 8],
        ..Config::default()
    };
    (config.fed.rounds, config.model.hidden, config.partition.clients) = (ROUNDS, 8, 3);
    config.methods.fedsage_plus.gen_epochs = 2;
    config.methods.adafgl.personal_epochs = 2;
    change(&mut config);
    Experiment::new(config.checked().unwrap(), graph).unwrap()
}

/// Stops a run after a number of rounds, counted over all seeds.
struct StopAfter<'a> {
    rounds: usize,
    seen: usize,
    stop: &'a AtomicBool,
    notes: Vec<String>,
}

impl Progress for StopAfter<'_> {
    fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }

    fn round(&mut self, _: &RoundRecord<'_>, _: Option<&Evaluation>) {
        self.seen += 1;
        if self.seen == self.rounds {
            self.stop.store(true, Ordering::SeqCst);
        }
    }
}

const OFTEN: CheckpointSchedule = CheckpointSchedule { rounds: Some(1), seconds: f64::INFINITY };

/// Runs for a number of rounds and stops; the folder is then that of an unfinished run.
fn stop_after(
    experiment: &Experiment,
    folder: &RunFolder,
    rounds: usize,
    schedule: CheckpointSchedule,
) {
    let stop = AtomicBool::new(false);
    let mut progress = StopAfter { rounds, seen: 0, stop: &stop, notes: Vec::new() };
    match experiment.run_with_checkpoints(
        &mut progress,
        folder,
        CheckpointOptions { schedule, stop: Some(&stop) },
    ) {
        Err(Error::Stopped { folder: at, .. }) => assert_eq!(at, folder.path()),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("expected a stop after {rounds} rounds"),
    }
}

/// Resumes to the end; also returns the notes, and how many rounds were left.
fn resume(experiment: &Experiment, folder: &RunFolder) -> Result<(Run, Vec<String>, usize), Error> {
    let never = AtomicBool::new(false);
    let mut progress = StopAfter { rounds: usize::MAX, seen: 0, stop: &never, notes: Vec::new() };
    let run = experiment.resume(
        &mut progress,
        folder,
        CheckpointOptions { schedule: OFTEN, stop: None },
    )?;
    Ok((run, progress.notes, progress.seen))
}

fn new_folder(place: &Path, name: &str) -> RunFolder {
    RunFolder::create(place.join(name), false).unwrap()
}

/// All files of a run, without times.
fn content(folder: &RunFolder) -> Vec<(String, String)> {
    let mut names: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    // The report shows times, and the checksums are of files with times: only their presence is
    // compared.
    let read = |name: &String| match name.as_str() {
        RunFolder::REPORT | Checksums::FILE => String::new(),
        _ => timeless(&String::from_utf8_lossy(&fs::read(folder.file(name)).unwrap())),
    };
    names.iter().map(|name| (name.clone(), read(name))).collect()
}

/// A text without the numbers after keys that are about time and memory.
fn timeless(text: &str) -> String {
    let mut out = text.to_owned();
    for key in ["\"seconds\":", "cpu_seconds\":", "wall_seconds\":", "\"peak_rss_mib\":"] {
        let mut parts = out.split(key);
        let mut kept = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            kept.push_str(key);
            kept.push_str(
                part.trim_start_matches(|c: char| c.is_ascii_digit() || " .e-".contains(c)),
            );
        }
        out = kept;
    }
    out
}

fn states(folder: &RunFolder) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.file(RunFolder::CHECKPOINT)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "state"));
    paths.sort();
    paths
}

#[test]
fn a_run_stopped_after_any_round_and_resumed_leaves_the_same_files() {
    let place = tempfile::tempdir().unwrap();
    for method in ["boostfgl", "fedsage-plus", "adafgl"] {
        let experiment = experiment(method);
        let whole = new_folder(place.path(), &format!("{method}-whole"));
        let run = experiment.run_watched(&mut (), Some(&whole)).unwrap();
        let rounds = fs::read_to_string(whole.file(RunFolder::ROUNDS)).unwrap().lines().count();
        for stop in 1..rounds {
            let folder = new_folder(place.path(), &format!("{method}-{stop}"));
            stop_after(
                &experiment,
                &folder,
                stop,
                CheckpointSchedule { rounds: None, seconds: f64::INFINITY },
            );
            let (again, notes, seen) = resume(&experiment, &folder).unwrap();
            assert_eq!(
                (again.summary.digest.as_str(), notes.len()),
                (run.summary.digest.as_str(), 0),
                "{method}, {stop}"
            );
            assert_eq!(seen, rounds - stop, "no round is repeated");
            for (found, expected) in content(&folder).iter().zip(content(&whole)) {
                assert!(
                    *found == expected,
                    "{method} stopped after {stop}: {} differs",
                    expected.0
                );
            }
            assert_eq!(
                content(&folder).len(),
                content(&whole).len(),
                "{method} stopped after {stop}"
            );
        }
    }
}

/// Refusals before a stop are counted once at the end, and temporary files of a crash are removed.
#[test]
fn refusals_before_a_stop_are_counted() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment_with("fedavg", |config| config.attack.kind = Kind::Nan);
    let whole = new_folder(place.path(), "whole");
    experiment.run_watched(&mut (), Some(&whole)).unwrap();
    let expected = content(&whole);
    let summary = &expected.iter().find(|(name, _)| name == RunFolder::SUMMARY).unwrap().1;
    assert!(summary.contains("\"not-finite\""), "{summary}");
    for stop in [2, ROUNDS + 2] {
        let folder = new_folder(place.path(), &format!("{stop}"));
        stop_after(&experiment, &folder, stop, OFTEN);
        let left = format!("{}half{}", UNFINISHED.0, UNFINISHED.1);
        fs::write(folder.file(&left), "half").unwrap();
        fs::write(folder.file(RunFolder::CHECKPOINT).join(&left), "half").unwrap();
        resume(&experiment, &folder).unwrap();
        for (found, expected) in content(&folder).iter().zip(&expected) {
            assert!(found == expected, "stopped after {stop}: {} differs", expected.0);
        }
        assert_eq!(content(&folder).len(), expected.len(), "stopped after {stop}");
    }
}

#[test]
fn a_run_stopped_twice_and_after_its_last_round_has_the_same_digest() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("fedavg");
    let digest = experiment.run().unwrap().summary.digest;
    let folder = new_folder(place.path(), "run");
    stop_after(&experiment, &folder, 2, OFTEN);
    let stop = AtomicBool::new(false);
    let mut progress =
        StopAfter { rounds: 2 * ROUNDS - 2, seen: 0, stop: &stop, notes: Vec::new() };
    let stopped = experiment.resume(
        &mut progress,
        &folder,
        CheckpointOptions { schedule: OFTEN, stop: Some(&stop) },
    );
    assert!(matches!(stopped, Err(Error::Stopped { seed: 8, round: ROUNDS, .. })));
    assert!(states(&folder).len() <= 2, "the last two are kept: {:?}", states(&folder));
    let (run, _, seen) = resume(&experiment, &folder).unwrap();
    assert_eq!((run.summary.digest, seen), (digest, 0));
    assert!(!folder.file(RunFolder::CHECKPOINT).exists(), "a finished run needs no state");
}

/// Every diagnostic continues from its saved state, in the rounds that are asked for and in those
/// that a method adds.
#[test]
fn diagnostics_of_a_resumed_run_equal_those_of_an_uninterrupted_one() {
    let place = tempfile::tempdir().unwrap();
    let findings = |folder: &RunFolder| {
        timeless(&fs::read_to_string(folder.file(RunFolder::DIAGNOSTICS)).unwrap())
    };
    for method in ["boostfgl", "adafgl"] {
        let watched = experiment(method).with_diagnostics(DiagnosticKind::ALL.to_vec());
        let whole = new_folder(place.path(), &format!("{method}-whole"));
        watched.run_watched(&mut (), Some(&whole)).unwrap();
        let all = fs::read_to_string(whole.file(RunFolder::ROUNDS)).unwrap().lines().count();
        for after in 1..all {
            let folder = new_folder(place.path(), &format!("{method}-{after}"));
            stop_after(&watched, &folder, after, OFTEN);
            let stopped = UnfinishedRun::open(folder.path()).unwrap();
            assert_eq!(stopped.diagnostics(), watched.diagnostics());
            let (_, _, seen) = resume(&watched, &folder).unwrap();
            assert_eq!(seen, all - after, "{method}: no round is repeated");
            assert!(findings(&folder) == findings(&whole), "{method} after {after} rounds");
        }
    }
}

#[test]
fn a_damaged_state_is_reported_and_the_older_one_is_used() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("boostfgl");
    let digest = experiment.run().unwrap().summary.digest;
    for damaged in [1, 2] {
        let folder = new_folder(place.path(), &format!("{damaged}"));
        stop_after(&experiment, &folder, 3, OFTEN);
        let states = states(&folder);
        assert_eq!(states.len(), 2);
        states.iter().rev().take(damaged).for_each(|path| damage(path));
        let (run, notes, seen) = resume(&experiment, &folder).unwrap();
        assert_eq!(run.summary.digest, digest);
        // From round 2, or from the start of the seed.
        assert_eq!(
            (notes.len(), seen),
            (damaged, if damaged == 1 { 2 * ROUNDS - 2 } else { 2 * ROUNDS })
        );
        assert!(
            notes[0].contains("the file is truncated or corrupted; round 3 of seed 3 is repeated"),
            "{}",
            notes[0]
        );
    }
}

/// The older state is a reserve for the newer one, so damage to it is reported as well.
#[test]
fn a_damaged_older_state_is_reported() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("boostfgl");
    let digest = experiment.run().unwrap().summary.digest;
    let folder = new_folder(place.path(), "run");
    stop_after(&experiment, &folder, 3, OFTEN);
    damage(&states(&folder)[0]);
    let (run, notes, seen) = resume(&experiment, &folder).unwrap();
    assert_eq!((run.summary.digest, notes.len(), seen), (digest, 1, 2 * ROUNDS - 3));
    assert!(
        notes[0].contains("round-000002.state")
            && notes[0].ends_with("the newer state is intact and is used"),
        "{}",
        notes[0]
    );
}

fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// Stops a resumed run once more.
fn resume_and_stop(experiment: &Experiment, folder: &RunFolder, rounds: usize) {
    let stop = AtomicBool::new(false);
    let mut progress = StopAfter { rounds, seen: 0, stop: &stop, notes: Vec::new() };
    let stopped = experiment.resume(
        &mut progress,
        folder,
        CheckpointOptions { schedule: OFTEN, stop: Some(&stop) },
    );
    assert!(matches!(stopped, Err(Error::Stopped { .. })), "expected a stop after {rounds} rounds");
}

/// States that were saved after the damage are used, not older files with higher numbers.
#[test]
fn a_run_resumed_after_damage_can_be_stopped_and_resumed_again() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("fedavg");
    let digest = experiment.run().unwrap().summary.digest;
    // Both states of the current seed are damaged: it starts again, and its first new state has a
    // lower number than they have.
    let folder = new_folder(place.path(), "states");
    stop_after(&experiment, &folder, ROUNDS, OFTEN);
    states(&folder).iter().for_each(|path| damage(path));
    resume_and_stop(&experiment, &folder, 1);
    let (run, notes, seen) = resume(&experiment, &folder).unwrap();
    assert_eq!(
        (run.summary.digest.as_str(), notes.len(), seen),
        (digest.as_str(), 0, 2 * ROUNDS - 1)
    );
    // Only the newer state is damaged: the one that the run continues from is not removed.
    let folder = new_folder(place.path(), "newer");
    stop_after(&experiment, &folder, 3, OFTEN);
    let before = states(&folder);
    damage(&before[1]);
    resume_and_stop(&experiment, &folder, 1);
    assert_eq!(states(&folder), before);
    let (run, notes, seen) = resume(&experiment, &folder).unwrap();
    assert_eq!(
        (run.summary.digest.as_str(), notes.len(), seen),
        (digest.as_str(), 0, 2 * ROUNDS - 3)
    );
    // The file of a finished seed is damaged: everything after it is repeated.
    let folder = new_folder(place.path(), "done");
    stop_after(&experiment, &folder, ROUNDS + 2, OFTEN);
    damage(&folder.file(RunFolder::CHECKPOINT).join("seed-00000.done"));
    resume_and_stop(&experiment, &folder, 1);
    let (run, notes, seen) = resume(&experiment, &folder).unwrap();
    assert_eq!(
        (run.summary.digest.as_str(), notes.len(), seen),
        (digest.as_str(), 0, 2 * ROUNDS - 1)
    );
}

#[test]
fn a_run_survives_damage_to_one_copy_of_its_manifest() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("fedavg").with_diagnostics(vec![DiagnosticKind::Gsd]);
    for damaged in ["run", "run.copy"] {
        let folder = new_folder(place.path(), damaged);
        stop_after(&experiment, &folder, 2, OFTEN);
        damage(&folder.file(RunFolder::CHECKPOINT).join(damaged));
        assert_eq!(
            UnfinishedRun::open(folder.path()).unwrap().diagnostics(),
            [DiagnosticKind::Gsd]
        );
        let (_, notes, _) = resume(&experiment, &folder).unwrap();
        assert!(
            notes.len() == 1
                && notes[0].contains(damaged)
                && notes[0].ends_with("its copy is used"),
            "{notes:?}"
        );
    }
    let folder = new_folder(place.path(), "both");
    stop_after(&experiment, &folder, 2, OFTEN);
    ["run", "run.copy"]
        .iter()
        .for_each(|name| damage(&folder.file(RunFolder::CHECKPOINT).join(name)));
    let error = UnfinishedRun::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("checkpoint/run: expected content of BLAKE3"), "{error}");
}

/// A stop requested at the end of a seed takes effect before the next one.
#[test]
fn a_run_stops_between_two_seeds() {
    struct StopAtEnd<'a>(&'a AtomicBool);
    impl Progress for StopAtEnd<'_> {
        fn seed(&mut self, index: usize, _: usize, _: u64) {
            assert_eq!(index, 0, "the second seed must not begin");
        }
        fn round(&mut self, record: &RoundRecord<'_>, _: Option<&Evaluation>) {
            if record.round == ROUNDS {
                self.0.store(true, Ordering::SeqCst);
            }
        }
    }
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("fedavg");
    let digest = experiment.run().unwrap().summary.digest;
    let folder = new_folder(place.path(), "run");
    let stop = AtomicBool::new(false);
    let options = CheckpointOptions {
        schedule: CheckpointSchedule { rounds: None, seconds: f64::INFINITY },
        stop: Some(&stop),
    };
    assert!(matches!(
        experiment.run_with_checkpoints(&mut StopAtEnd(&stop), &folder, options),
        Err(Error::Stopped { seed: 3, .. })
    ));
    // Still asked to stop when it is resumed: the first seed is finished from its last state, and
    // the second is not begun.
    let stopped = experiment.resume(&mut StopAtEnd(&stop), &folder, options);
    let Err(error @ Error::Stopped { seed: 8, round: 0, .. }) = stopped else {
        panic!("expected a stop before seed 8")
    };
    assert!(
        error.to_string().starts_with("stopped before seed 8; everything is saved in"),
        "{error}"
    );
    let (run, notes, seen) = resume(&experiment, &folder).unwrap();
    assert_eq!((run.summary.digest, notes.len(), seen), (digest, 0, ROUNDS));
}

/// A state is used only if the lines of `rounds.jsonl` before it are unchanged; otherwise an older
/// one is.
#[test]
fn changed_lines_of_rounds_jsonl_are_reported_and_their_rounds_repeated() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("boostfgl");
    let whole = new_folder(place.path(), "whole");
    experiment.run_watched(&mut (), Some(&whole)).unwrap();
    let changed = |line: usize| {
        move |text: &str| {
            let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
            lines[line] = lines[line].replacen("\"loss\":", "\"loss\":1", 1);
            Some(lines.concat())
        }
    };
    type Damage = Box<dyn Fn(&str) -> Option<String>>;
    let cases: [(&str, Damage, usize, usize); 4] = [
        ("last line", Box::new(changed(2)), 1, 2 * ROUNDS - 2),
        ("first line", Box::new(changed(0)), 2, 2 * ROUNDS),
        ("truncated", Box::new(|text| Some(text[..text.len() - 2].to_owned())), 1, 2 * ROUNDS - 2),
        ("removed", Box::new(|_| None), 2, 2 * ROUNDS),
    ];
    for (what, damage, states, rounds) in cases {
        let folder = new_folder(place.path(), what);
        stop_after(&experiment, &folder, 3, OFTEN);
        let path = folder.file(RunFolder::ROUNDS);
        match damage(&fs::read_to_string(&path).unwrap()) {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let (_, notes, seen) = resume(&experiment, &folder).unwrap();
        assert_eq!((notes.len(), seen), (states, rounds), "{what}: {notes:?}");
        assert!(
            notes[0].contains("rounds.jsonl")
                && notes[0].ends_with("round 3 of seed 3 is repeated"),
            "{notes:?}"
        );
        assert!(content(&folder) == content(&whole), "{what}");
    }
}

/// This holds for a run that was only announced, too.
#[test]
fn a_changed_configuration_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("fedavg");
    let folder = new_folder(place.path(), "run");
    experiment.announce(&folder).unwrap();
    UnfinishedRun::open(folder.path()).unwrap();
    let path = folder.file(RunFolder::CONFIG);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("rounds = 4", "rounds = 5")).unwrap();
    let error = UnfinishedRun::open(folder.path()).unwrap_err();
    assert!(error.to_string().ends_with(
        "config.toml: expected the configuration that the run was begun with, found another"
    ));
    assert!(error.is_input());
    // Comments and layout of the file do not matter.
    fs::write(&path, format!("# a remark\n\n{text}")).unwrap();
    UnfinishedRun::open(folder.path()).unwrap();
}

#[test]
fn a_state_of_another_configuration_is_refused_and_left_unchanged() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("fedavg");
    let folder = new_folder(place.path(), "run");
    stop_after(&experiment, &folder, ROUNDS + 2, OFTEN);
    let before = content_of_checkpoint(&folder);
    let mut config = experiment.config().clone().into_inner();
    config.optimizer.learning_rate *= 2.0;
    let refused = |other: &Experiment, reason: &str| {
        let Err(error) = resume(other, &folder) else { panic!("it was accepted") };
        assert!(error.to_string().contains(reason) && error.is_input(), "{error}");
    };
    let changed =
        "config.toml: expected the configuration that the run was begun with, found another";
    refused(&experiment.with_config(config.checked().unwrap()).unwrap(), changed);
    // The seeds that are not yet begun are part of the configuration.
    let mut config = experiment.config().clone().into_inner();
    config.seeds = vec![3, 9];
    refused(&experiment.with_config(config.checked().unwrap()).unwrap(), changed);
    let spec = Spec {
        nodes: 200,
        edges: 500,
        communities: 3,
        pocket_size: 10,
        ..preset("demo").unwrap().spec
    };
    let other = generate("small", &spec, 2, &mut |_, _| {}).unwrap();
    refused(
        &Experiment::new(experiment.config().clone(), other).unwrap(),
        "expected the data that the run was begun with",
    );
    assert_eq!(content_of_checkpoint(&folder), before);
    resume(&experiment, &folder).unwrap();
}

fn content_of_checkpoint(folder: &RunFolder) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder.file(RunFolder::CHECKPOINT)).unwrap();
    let mut files: Vec<_> = entries
        .map(|e| e.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// The partition file is part of the data: as it was when the run was begun, not when a state is
/// saved.
#[test]
fn a_changed_partition_file_is_refused() {
    struct Rewrites<'a>(&'a Path, StopAfter<'a>);
    impl Progress for Rewrites<'_> {
        fn round(&mut self, record: &RoundRecord<'_>, evaluation: Option<&Evaluation>) {
            // While the run is under way, before its first state is saved.
            fs::write(self.0, "node,client\n").unwrap();
            self.1.round(record, evaluation);
        }
    }
    let place = tempfile::tempdir().unwrap();
    let drawn = experiment("fedavg");
    let file = place.path().join("parts.csv");
    let clients: String = (0..drawn.graph().len()).map(|v| format!("{v},{}\n", v % 3)).collect();
    let whole = format!("node,client\n{clients}");
    fs::write(&file, &whole).unwrap();
    let mut config = drawn.config().clone().into_inner();
    config.partition = config.partition.with(FromFile { file: Some(file.clone()) });
    let experiment = drawn.with_config(config.checked().unwrap()).unwrap();
    let digest = experiment.run().unwrap().summary.digest;

    let is_refused = |folder: &RunFolder| {
        let Err(error) = resume(&experiment, folder) else { panic!("it was accepted") };
        assert!(
            error.to_string().ends_with("parts.csv` has changed") && error.is_input(),
            "{error}"
        );
    };
    let folder = new_folder(place.path(), "saved");
    let stop = AtomicBool::new(false);
    let mut progress =
        Rewrites(&file, StopAfter { rounds: 2, seen: 0, stop: &stop, notes: Vec::new() });
    let stopped = experiment.run_with_checkpoints(
        &mut progress,
        &folder,
        CheckpointOptions { schedule: OFTEN, stop: Some(&stop) },
    );
    assert!(matches!(stopped, Err(Error::Stopped { .. })));
    fs::write(&file, whole.replace("1,1\n", "1,2\n")).unwrap();
    is_refused(&folder);
    fs::write(&file, &whole).unwrap();
    let (run, notes, seen) = resume(&experiment, &folder).unwrap();
    assert_eq!(
        (run.summary.digest.as_str(), notes.len(), seen),
        (digest.as_str(), 0, 2 * ROUNDS - 2)
    );

    // The same for a run without a saved state.
    let folder = new_folder(place.path(), "announced");
    experiment.announce(&folder).unwrap();
    fs::write(&file, whole.replace("1,1\n", "1,2\n")).unwrap();
    is_refused(&folder);
    fs::remove_file(&file).unwrap();
    assert!(
        resume(&experiment, &folder).is_err_and(|error| error.to_string().contains("parts.csv"))
    );
    assert!(is_unfinished(folder.path()), "the run can still be resumed");
}

/// A method with exchanges before round 1 can be stopped between them; they are not saved, and
/// repeated.
#[test]
fn a_run_stops_before_its_first_round() {
    struct StopPreparing<'a>(usize, &'a AtomicBool);
    impl Progress for StopPreparing<'_> {
        fn seed(&mut self, index: usize, _: usize, _: u64) {
            self.0 -= usize::from(index > 0);
        }
        fn preparing(&mut self, _: usize, _: usize) {
            self.1.store(self.0 == 0, Ordering::SeqCst);
        }
    }
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("fedsage-plus");
    let digest = experiment.run().unwrap().summary.digest;
    for (before, seed) in [3, 8].into_iter().enumerate() {
        let folder = new_folder(place.path(), &format!("{before}"));
        let stop = AtomicBool::new(false);
        let options = CheckpointOptions {
            schedule: CheckpointSchedule { rounds: None, seconds: f64::INFINITY },
            stop: Some(&stop),
        };
        let stopped =
            experiment.run_with_checkpoints(&mut StopPreparing(before, &stop), &folder, options);
        let Err(Error::Stopped { seed: at, round: 0, .. }) = stopped else {
            panic!("expected a stop before seed {seed}")
        };
        assert_eq!(at, seed);
        let (run, notes, seen) = resume(&experiment, &folder).unwrap();
        assert_eq!(
            (run.summary.digest.as_str(), notes.len(), seen),
            (digest.as_str(), 0, (2 - before) * ROUNDS)
        );
    }
}

/// While a process works on a run, every other one is refused.
#[test]
fn a_run_in_use_by_another_process_is_refused() {
    struct Intruder<'a>(&'a Experiment, &'a RunFolder, Option<String>);
    impl Progress for Intruder<'_> {
        fn round(&mut self, _: &RoundRecord<'_>, _: Option<&Evaluation>) {
            let lines = || fs::read(self.1.file(RunFolder::ROUNDS)).unwrap();
            let before = lines();
            // Another process has only the path.
            let other = RunFolder::open(self.1.path()).unwrap();
            let Err(error) = resume(self.0, &other) else {
                panic!("two processes work on one run")
            };
            let Err(overwritten) = RunFolder::create(self.1.path(), true) else {
                panic!("a run was overwritten")
            };
            assert_eq!(error.to_string(), overwritten.to_string());
            assert!(self.0.announce(&other).is_err());
            assert_eq!(lines(), before);
            self.2 = Some(error.to_string());
        }
    }
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("fedavg");
    let folder = new_folder(place.path(), "run");
    let mut intruder = Intruder(&experiment, &folder, None);
    experiment
        .run_with_checkpoints(
            &mut intruder,
            &folder,
            CheckpointOptions { schedule: OFTEN, stop: None },
        )
        .unwrap();
    assert!(intruder.2.unwrap().ends_with("this run folder is in use by another boostfgl process"));
}

#[test]
fn a_folder_without_an_unfinished_run_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let error = UnfinishedRun::open(&place.path().join("nothing")).unwrap_err().to_string();
    assert!(error.contains("expected the folder of a run that was stopped"), "{error}");
    let folder = new_folder(place.path(), "run");
    experiment("fedavg").run_watched(&mut (), Some(&folder)).unwrap();
    let error = UnfinishedRun::open(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("found a finished run"), "{error}");
}
