//! `resume`, after the program was killed or stopped.

use crate::common::Place;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Long enough to be killed in the middle, short enough to be repeated.
const RUN: &str =
    "--method boostfgl --rounds 8 --seeds 2 --set model.hidden=8 --checkpoint-rounds 2";

impl Place {
    pub(crate) fn start(&self, arguments: &str) -> Child {
        let mut process = self.process();
        process.args(arguments.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped());
        process.spawn().unwrap()
    }

    /// Waits until a run has recorded this many rounds.
    pub(crate) fn wait_for_rounds(&self, run: &str, rounds: usize) {
        let end = Instant::now() + Duration::from_secs(100);
        let file = self.path(&format!("{run}/rounds.jsonl"));
        while std::fs::read_to_string(&file).map_or(0, |text| text.lines().count()) < rounds {
            assert!(Instant::now() < end, "{run} did not reach {rounds} rounds");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Checks that two run folders have the same results.
    fn assert_same_run(&self, a: &str, b: &str) {
        for name in ["model.safetensors", "predictions.csv", "partition.csv", "config.toml"] {
            assert!(
                self.bytes(&format!("{a}/{name}")) == self.bytes(&format!("{b}/{name}")),
                "{name} of {a} and {b}"
            );
        }
        let digest = |run: &str| self.json(&format!("{run}/summary.json"))["digest"].clone();
        assert_eq!(digest(a), digest(b));
        let lines = |run: &str| self.read(&format!("{run}/rounds.jsonl")).lines().count();
        assert_eq!(lines(a), lines(b));
    }
}

/// `kill -NAME`, which the standard library cannot do.
fn signal(child: &Child, name: &str) {
    let sent =
        Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// The status and the standard error of a process, once it has ended.
fn wait(child: Child) -> (ExitStatus, String) {
    let output = child.wait_with_output().unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_killed_run_resumes_to_the_same_result() {
    let place = Place::new();
    place.ok(&format!("run {RUN} --out whole"));
    // In the first seed before anything is saved, in the middle, and in the second.
    for rounds in [1, 5, 11] {
        let run = format!("killed-{rounds}");
        let mut child = place.start(&format!("run {RUN} --out {run}"));
        place.wait_for_rounds(&run, rounds);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!place.exists(&format!("{run}/summary.json")));
        // The same command again must suggest to resume, not to overwrite.
        let wanted = format!("help: `boostfgl resume {run}` continues it");
        place.refused_with(
            &format!("run {RUN} --out {run}"),
            &["found a run that was stopped", &wanted],
        );
        let done = place.ok(&format!("resume {run}"));
        assert!(done.stdout.contains("boostfgl"), "{}", done.stdout);
        place.assert_same_run("whole", &run);
        assert!(!place.exists(&format!("{run}/checkpoint")));
    }
}

/// The first Ctrl-C saves and prints how to continue.
#[test]
#[cfg(unix)]
fn ctrl_c_saves_the_round_and_prints_how_to_continue() {
    let place = Place::new();
    place.ok(&format!("run {RUN} --out whole"));
    for (name, wanted) in [("INT", "INT"), ("TERM", "TERM")] {
        let child = place.start(&format!("run {RUN} --checkpoint-seconds off --out {name}"));
        place.wait_for_rounds(name, 3);
        signal(&child, wanted);
        let (status, stderr) = wait(child);
        assert_eq!(status.code(), Some(130), "{stderr}");
        assert!(stderr.contains("stopping after this round is saved"), "{stderr}");
        assert!(stderr.contains(&format!("to continue: boostfgl resume {name}")), "{stderr}");
        let rounds = place.read(&format!("{name}/rounds.jsonl")).lines().count();
        let again = place.ok(&format!("resume {name} --json"));
        assert!(again.stdout.contains("\"digest\""), "{}", again.stdout);
        assert!((3..16).contains(&rounds), "{rounds}");
        place.assert_same_run("whole", name);
    }
}

/// The second Ctrl-C waits neither for the round nor for the preparation; the files stay valid.
#[test]
#[cfg(unix)]
fn a_second_ctrl_c_quits_immediately() {
    let place = Place::new();
    // In a debug build its preparation takes minutes before the first round.
    let mut child = place.start("run --method fedsage-plus --seeds 1 --out a");
    let end = Instant::now() + Duration::from_secs(60);
    while !place.exists("a/rounds.jsonl") {
        assert!(Instant::now() < end && child.try_wait().unwrap().is_none(), "it did not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "the first does not end it");
    signal(&child, "INT");
    let (status, stderr) = wait(child);
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(!place.exists("a/summary.json"));
    // The files that `resume` needs.
    assert!(place.exists("a/config.toml") && place.exists("a/checkpoint/run"));
}

/// Both methods of the default run are completed, whichever was stopped.
#[test]
#[cfg(unix)]
fn the_default_pair_is_resumed_as_a_whole() {
    let place = Place::new();
    let few = "--rounds 6 --seeds 1 --set model.hidden=8";
    place.ok(&format!("run {few} --out whole"));
    let mut child = place.start(&format!("run {few} --checkpoint-rounds 2 --out pair"));
    place.wait_for_rounds("pair/fedavg", 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let again = format!("run {few} --out pair");
    place.refused_with(
        &again,
        &["found a run that was stopped", "help: `boostfgl resume pair` continues it"],
    );
    let done = place.ok("resume pair");
    // In the order in which they were run: the base first.
    let at = |method: &str| done.stdout.find(&format!("pair/{method}")).unwrap();
    assert!(at("fedavg") < at("boostfgl"), "{}", done.stdout);
    assert!(
        done.stdout.contains("pair/report.html") && place.exists("pair/report.html"),
        "{}",
        done.stdout
    );
    for method in ["fedavg", "boostfgl"] {
        place.assert_same_run(&format!("whole/{method}"), &format!("pair/{method}"));
    }
    // A finished pair is no error.
    let again = place.ok("resume pair");
    assert!(again.stderr.contains("is already finished"), "{}", again.stderr);
}

/// Systems end a session with several signals in a row. They count as one, so the round is finished
/// and saved.
#[test]
#[cfg(unix)]
fn several_signals_in_a_row_count_as_one() {
    let place = Place::new();
    let run = "run --method fedavg --rounds 4000 --seeds 1 --set model.hidden=8 \
        --checkpoint-seconds off --out";
    let child = place.start(&format!("{run} a"));
    place.wait_for_rounds("a", 3);
    ["TERM", "HUP", "TERM"].iter().for_each(|name| signal(&child, name));
    let (status, stderr) = wait(child);
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("to continue: boostfgl resume a"), "{stderr}");
    let saved = place.path("a/checkpoint").read_dir().unwrap();
    assert!(
        saved.flatten().any(|file| file.path().extension().is_some_and(|e| e == "state")),
        "{stderr}"
    );
}

/// `diagnose --out` writes checkpoints like `run`.
#[test]
#[cfg(unix)]
fn a_stopped_diagnosis_can_be_resumed() {
    let place = Place::new();
    let run = "diagnose --rounds 12 --set model.hidden=8 --diagnostics gsd --out";
    place.ok(&format!("{run} whole"));
    let child = place.start(&format!("{run} a"));
    place.wait_for_rounds("a", 2);
    signal(&child, "INT");
    let (status, stderr) = wait(child);
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("to continue: boostfgl resume a"), "{stderr}");
    let done = place.ok("resume a");
    place.assert_same_run("whole", "a");
    assert!(done.stdout.contains("their share of the gradient"), "{}", done.stdout);
    // A finished run prints its recorded diagnostics again, if the file is intact.
    assert!(place.ok("resume a").stdout.contains("their share of the gradient"));
    let found = place.read("a/diagnostics.json");
    place.write("a/diagnostics.json", found.replacen("0.", "1.", 1));
    place.refused_with(
        "resume a",
        &["diagnostics.json", "expected the content recorded in checksums.txt"],
    );
}

/// Under `nohup`, SIGHUP is ignored; other signals are handled.
#[test]
#[cfg(unix)]
fn sigterm_saves_a_run_that_ignores_sighup() {
    let place = Place::new();
    let run = "run --method fedavg --rounds 400 --seeds 1 --set model.hidden=8 \
        --checkpoint-seconds off --out a";
    let mut shell = Command::new("sh");
    let program = place.process().get_program().to_owned();
    shell
        .current_dir(place.path("."))
        .arg("-c")
        .arg("trap '' HUP; exec \"$0\" \"$@\"")
        .arg(program);
    let child = shell
        .args(run.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    place.wait_for_rounds("a", 3);
    signal(&child, "HUP");
    let before = place.read("a/rounds.jsonl").lines().count();
    place.wait_for_rounds("a", before + 2);
    signal(&child, "TERM");
    let (status, stderr) = wait(child);
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("to continue: boostfgl resume a"), "{stderr}");
}

/// While one program works on a run, another can neither resume nor overwrite it.
#[test]
#[cfg(unix)]
fn an_active_run_cannot_be_resumed_or_overwritten() {
    let place = Place::new();
    let run = "run --rounds 400 --seeds 1 --set model.hidden=8 --out pair";
    let mut child = place.start(run);
    place.wait_for_rounds("pair/fedavg", 2);
    let busy = "this run folder is in use by another boostfgl process";
    // The second method has not begun, but its folder is reserved.
    for arguments in ["resume pair", &format!("{run} --overwrite")] {
        let done = place.run(arguments);
        done.check_refusal(arguments);
        assert!(
            done.stderr.contains(busy) && done.stderr.contains("help: Wait until it has ended"),
            "{done:?}"
        );
    }
    assert!(child.try_wait().unwrap().is_none(), "it continues");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.exists("pair/fedavg/summary.json") && place.exists("pair/fedavg/rounds.jsonl"));
}

/// If a run is killed after its summary was written, `resume` writes the report and tidies up.
#[test]
fn resume_repairs_a_crash_after_the_summary() {
    let place = Place::new();
    place.ok("run --method fedavg --rounds 2 --seeds 1 --set model.hidden=8 --quiet --out a");
    std::fs::remove_file(place.path("a/report.html")).unwrap();
    std::fs::create_dir(place.path("a/checkpoint")).unwrap();
    place.write("a/checkpoint/seed-00000-round-000002.state", "x");
    place.ok("resume a");
    assert!(place.exists("a/report.html") && !place.exists("a/checkpoint"));
    let summary = place.read("a/summary.json");
    place.write("a/summary.json", summary.replacen("\"bytes_up\": ", "\"bytes_up\": 1", 1));
    place.refused_with(
        "resume a",
        &["summary.json", "expected the content recorded in checksums.txt"],
    );
}

#[test]
fn invalid_resume_and_checkpoint_arguments_are_named() {
    let place = Place::new();
    place.refused_with(
        "resume nothing",
        &["nothing: expected the folder of a run that was stopped", "help:"],
    );
    place.refused_with(
        "run --checkpoint-rounds 0",
        &["--checkpoint-rounds: expected at least 1, found 0"],
    );
    place.refused_with(
        "run --checkpoint-seconds soon",
        &["--checkpoint-seconds: expected a number of seconds"],
    );
}

/// `--portable` is stored in the configuration, and results depend on it, not on threads.
#[test]
fn portable_is_a_configuration_key() {
    let place = Place::new();
    let few = "--method fedavg --rounds 2 --seeds 1 --set model.hidden=8 --portable";
    let first = place.digest(&format!("run {few} --out a --threads 1"));
    assert!(place.read("a/config.toml").contains("portable = true"));
    assert_eq!(place.digest(&format!("run {few} --out b --threads 4")), first);
    assert_eq!(place.digest("run --config a/config.toml --out c"), first);
}
