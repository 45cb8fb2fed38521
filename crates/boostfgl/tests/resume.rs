//! Runs that are stopped, killed or damaged, and what becomes of them.

use boostfgl::checkpoint::StoppedRun;
use boostfgl::disk::Checksums;
use boostfgl::fairness::Evaluation;
use boostfgl::fairness::diagnostics::Which;
use boostfgl::fed::RoundRecord;
use boostfgl::graph::generator::{Spec, generate, preset};
use boostfgl::report::RunFolder;
use boostfgl::{Config, Error, Experiment, Keeping, Pace, Progress, Run};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const ROUNDS: usize = 4;

fn experiment(method: &str) -> Experiment {
    let spec = Spec { nodes: 200, edges: 500, communities: 3, pocket_size: 10, ..preset("demo").unwrap().spec };
    let graph = generate("small", &spec, 1, &mut |_, _| {}).unwrap();
    let mut config = Config { dataset: "demo".into(), method: method.into(), seeds: vec![3, 8], ..Config::default() };
    (config.fed.rounds, config.model.hidden, config.partition.clients) = (ROUNDS, 8, 3);
    config.methods.fedsage_plus.gen_epochs = 2;
    config.methods.adafgl.personal_epochs = 2;
    Experiment::new(config, graph).unwrap()
}

/// Stops a run after so many rounds of all seeds together.
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

const OFTEN: Pace = Pace { rounds: Some(1), seconds: f64::INFINITY };

/// Runs until it has done so many rounds; the folder is then that of a stopped run.
fn stop_after(experiment: &Experiment, folder: &RunFolder, rounds: usize, pace: Pace) {
    let stop = AtomicBool::new(false);
    let mut progress = StopAfter { rounds, seen: 0, stop: &stop, notes: Vec::new() };
    match experiment.run_kept(&mut progress, folder, Keeping { pace, stop: Some(&stop) }) {
        Err(Error::Stopped { folder: at, .. }) => assert_eq!(at, folder.path()),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was to stop after {rounds} rounds"),
    }
}

/// Goes on to the end; also what was said on the way, and how many rounds it took.
fn resume(experiment: &Experiment, folder: &RunFolder) -> Result<(Run, Vec<String>, usize), Error> {
    let never = AtomicBool::new(false);
    let mut progress = StopAfter { rounds: usize::MAX, seen: 0, stop: &never, notes: Vec::new() };
    let run = experiment.resume(&mut progress, folder, Keeping { pace: OFTEN, stop: None })?;
    Ok((run, progress.notes, progress.seen))
}

fn new_folder(place: &Path, name: &str) -> RunFolder {
    RunFolder::create(place.join(name), false).unwrap()
}

/// Everything that a run leaves, without times.
fn content(folder: &RunFolder) -> Vec<(String, String)> {
    let mut names: Vec<String> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    // The report shows times and the checksums are of files with times: that they are there is enough.
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
            kept.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit() || " .e-".contains(c)));
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
fn a_run_stopped_after_any_round_leaves_what_an_undisturbed_one_does() {
    let place = tempfile::tempdir().unwrap();
    for method in ["boostfgl", "fedsage-plus", "adafgl"] {
        let experiment = experiment(method);
        let whole = new_folder(place.path(), &format!("{method}-whole"));
        let run = experiment.run_watched(&mut (), Some(&whole)).unwrap();
        let rounds = fs::read_to_string(whole.file(RunFolder::ROUNDS)).unwrap().lines().count();
        for stop in 1..rounds {
            let folder = new_folder(place.path(), &format!("{method}-{stop}"));
            stop_after(&experiment, &folder, stop, Pace { rounds: None, seconds: f64::INFINITY });
            let (again, notes, seen) = resume(&experiment, &folder).unwrap();
            assert_eq!(
                (again.summary.digest.as_str(), notes.len()),
                (run.summary.digest.as_str(), 0),
                "{method}, {stop}"
            );
            assert_eq!(seen, rounds - stop, "no round is done twice");
            for (found, expected) in content(&folder).iter().zip(content(&whole)) {
                assert!(*found == expected, "{method} stopped after {stop}: {} differs", expected.0);
            }
            assert_eq!(content(&folder).len(), content(&whole).len(), "{method} stopped after {stop}");
        }
    }
}

#[test]
fn a_run_stopped_twice_and_at_the_very_end_comes_out_the_same() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("fedavg");
    let digest = experiment.run().unwrap().summary.digest;
    let folder = new_folder(place.path(), "run");
    stop_after(&experiment, &folder, 2, OFTEN);
    let stop = AtomicBool::new(false);
    let mut progress = StopAfter { rounds: 2 * ROUNDS - 2, seen: 0, stop: &stop, notes: Vec::new() };
    let stopped = experiment.resume(&mut progress, &folder, Keeping { pace: OFTEN, stop: Some(&stop) });
    assert!(matches!(stopped, Err(Error::Stopped { seed: 8, round: ROUNDS, .. })));
    assert!(states(&folder).len() <= 2, "the last two are kept: {:?}", states(&folder));
    let (run, _, seen) = resume(&experiment, &folder).unwrap();
    assert_eq!((run.summary.digest, seen), (digest, 0));
    assert!(!folder.file(RunFolder::CHECKPOINT).exists(), "a finished run needs no state");
}

/// Diagnostics keep no state: their seed begins anew, and says the same.
#[test]
fn diagnostics_of_a_stopped_run_are_those_of_an_undisturbed_one() {
    let place = tempfile::tempdir().unwrap();
    let watched = experiment("fedavg").with_diagnostics(vec![Which::Khop, Which::Hardness]);
    let whole = new_folder(place.path(), "whole");
    watched.run_watched(&mut (), Some(&whole)).unwrap();
    let folder = new_folder(place.path(), "stopped");
    stop_after(&watched, &folder, ROUNDS + 2, OFTEN);
    let stopped = StoppedRun::open(folder.path()).unwrap();
    assert_eq!(stopped.diagnostics(), watched.diagnostics());
    let (_, _, seen) = resume(&watched, &folder).unwrap();
    assert_eq!(seen, ROUNDS, "the finished seed is not done again");
    let findings = |folder: &RunFolder| timeless(&fs::read_to_string(folder.file(RunFolder::DIAGNOSTICS)).unwrap());
    assert_eq!(findings(&folder), findings(&whole));
}

#[test]
fn a_damaged_state_is_named_and_an_older_one_taken() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("boostfgl");
    let digest = experiment.run().unwrap().summary.digest;
    for damaged in [1, 2] {
        let folder = new_folder(place.path(), &format!("{damaged}"));
        stop_after(&experiment, &folder, 3, OFTEN);
        let states = states(&folder);
        assert_eq!(states.len(), 2);
        for path in states.iter().rev().take(damaged) {
            let mut bytes = fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(path, bytes).unwrap();
        }
        let (run, notes, seen) = resume(&experiment, &folder).unwrap();
        assert_eq!(run.summary.digest, digest);
        // From round 2, or from the start of the seed.
        assert_eq!((notes.len(), seen), (damaged, if damaged == 1 { 2 * ROUNDS - 2 } else { 2 * ROUNDS }));
        assert!(notes[0].contains("the file was cut or changed; round 3 of seed 3 is done again"), "{}", notes[0]);
    }
}

#[test]
fn a_state_of_another_configuration_is_refused_and_kept() {
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("fedavg");
    let folder = new_folder(place.path(), "run");
    stop_after(&experiment, &folder, ROUNDS + 2, OFTEN);
    let before = content_of_checkpoint(&folder);
    let mut config = experiment.config().clone();
    config.optimizer.learning_rate *= 2.0;
    let Err(error) = resume(&experiment.with_config(config).unwrap(), &folder) else { panic!("it was accepted") };
    assert!(error.to_string().contains("seed-00000.done: expected the configuration, the data"), "{error}");
    assert!(error.is_input());
    assert_eq!(content_of_checkpoint(&folder), before);
    resume(&experiment, &folder).unwrap();
}

fn content_of_checkpoint(folder: &RunFolder) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(folder.file(RunFolder::CHECKPOINT)).unwrap();
    let mut files: Vec<_> =
        entries.map(|e| e.unwrap().path()).map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    files.sort();
    files
}

/// While a program works on a run, no other touches it.
#[test]
fn one_run_has_one_program() {
    struct Intruder<'a>(&'a Experiment, &'a RunFolder, Option<String>);
    impl Progress for Intruder<'_> {
        fn round(&mut self, _: &RoundRecord<'_>, _: Option<&Evaluation>) {
            let lines = || fs::read(self.1.file(RunFolder::ROUNDS)).unwrap();
            let before = lines();
            let Err(error) = resume(self.0, self.1) else { panic!("two programs at one run") };
            assert_eq!(lines(), before);
            self.2 = Some(error.to_string());
        }
    }
    let place = tempfile::tempdir().unwrap();
    let experiment = experiment("fedavg");
    let folder = new_folder(place.path(), "run");
    let mut intruder = Intruder(&experiment, &folder, None);
    experiment.run_kept(&mut intruder, &folder, Keeping { pace: OFTEN, stop: None }).unwrap();
    assert!(intruder.2.unwrap().ends_with("expected a run that nobody works on, found another program at it"));
}

#[test]
fn what_is_no_stopped_run_is_named() {
    let place = tempfile::tempdir().unwrap();
    let error = StoppedRun::open(&place.path().join("nothing")).unwrap_err().to_string();
    assert!(error.contains("expected the folder of a run that was stopped"), "{error}");
    let folder = new_folder(place.path(), "run");
    experiment("fedavg").run_watched(&mut (), Some(&folder)).unwrap();
    let error = StoppedRun::open(folder.path()).unwrap_err().to_string();
    assert!(error.ends_with("found a finished run"), "{error}");
}
