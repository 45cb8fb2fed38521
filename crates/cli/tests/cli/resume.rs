//! `resume`: the real program, really killed.

use crate::common::Place;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Long enough to be hit in the middle, short enough to be done again.
const RUN: &str =
    "--method boostfgl --rounds 8 --seeds 2 --set model.hidden=8 --checkpoint-rounds 2";

impl Place {
    fn start(&self, arguments: &str) -> Child {
        let mut process = self.process();
        process.args(arguments.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped());
        process.spawn().unwrap()
    }

    /// Waits until a run has recorded so many rounds.
    fn wait_for_rounds(&self, run: &str, rounds: usize) {
        let end = Instant::now() + Duration::from_secs(100);
        let file = self.path(&format!("{run}/rounds.jsonl"));
        while std::fs::read_to_string(&file).map_or(0, |text| text.lines().count()) < rounds {
            assert!(Instant::now() < end, "{run} did not reach {rounds} rounds");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn same(&self, a: &str, b: &str) {
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

fn ended(child: Child) -> (ExitStatus, String) {
    let output = child.wait_with_output().unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_killed_run_goes_on_to_the_same_digits() {
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
        // The same command again must not lead to throwing away what was done.
        let wanted = format!("help: `boostfgl resume {run}` goes on where it was stopped");
        place.refused_with(
            &format!("run {RUN} --out {run}"),
            &["found a run that was stopped", &wanted],
        );
        let done = place.ok(&format!("resume {run}"));
        assert!(done.stdout.contains("boostfgl"), "{}", done.stdout);
        place.same("whole", &run);
        assert!(!place.exists(&format!("{run}/checkpoint")));
    }
}

/// The first Ctrl-C saves and says how to go on.
#[test]
#[cfg(unix)]
fn ctrl_c_finishes_the_round_and_says_how_to_go_on() {
    let place = Place::new();
    place.ok(&format!("run {RUN} --out whole"));
    for (name, wanted) in [("INT", "INT"), ("TERM", "TERM")] {
        let child = place.start(&format!("run {RUN} --checkpoint-seconds off --out {name}"));
        place.wait_for_rounds(name, 3);
        signal(&child, wanted);
        let (status, said) = ended(child);
        assert_eq!(status.code(), Some(130), "{said}");
        assert!(
            said.contains("stopping: the round under way is finished and saved first"),
            "{said}"
        );
        assert!(said.contains(&format!("to go on: boostfgl resume {name}")), "{said}");
        let rounds = place.read(&format!("{name}/rounds.jsonl")).lines().count();
        let again = place.ok(&format!("resume {name} --json"));
        assert!(again.stdout.contains("\"digest\""), "{}", again.stdout);
        assert!((3..16).contains(&rounds), "{rounds}");
        place.same("whole", name);
    }
}

/// The second Ctrl-C does not wait for the round, or for what comes before the first; what is on
/// the disk is as good as ever.
#[test]
#[cfg(unix)]
fn a_second_ctrl_c_leaves_at_once() {
    let place = Place::new();
    // Its generators take minutes in such a build before the first round.
    let mut child = place.start("run --method fedsage-plus --seeds 1 --out a");
    let end = Instant::now() + Duration::from_secs(60);
    while !place.exists("a/rounds.jsonl") {
        assert!(Instant::now() < end && child.try_wait().unwrap().is_none(), "it did not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "the first lets it go on");
    signal(&child, "INT");
    let (status, said) = ended(child);
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(!place.exists("a/summary.json"));
    // What `resume` looks for.
    assert!(place.exists("a/config.toml") && place.exists("a/checkpoint/run"));
}

/// Both methods of the default run come to their end, whichever was stopped.
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
        &["found a run that was stopped", "help: `boostfgl resume pair` goes on"],
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
        place.same(&format!("whole/{method}"), &format!("pair/{method}"));
    }
    // Nothing is left to do, which is no error.
    let again = place.ok("resume pair");
    assert!(again.stderr.contains("is finished"), "{}", again.stderr);
}

/// Systems end a session by several requests in a row: together they are one, and the round is
/// finished and saved.
#[test]
#[cfg(unix)]
fn requests_in_a_row_are_one() {
    let place = Place::new();
    let run = "run --method fedavg --rounds 4000 --seeds 1 --set model.hidden=8 \
        --checkpoint-seconds off --out";
    let child = place.start(&format!("{run} a"));
    place.wait_for_rounds("a", 3);
    ["TERM", "HUP", "TERM"].iter().for_each(|name| signal(&child, name));
    let (status, said) = ended(child);
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains("to go on: boostfgl resume a"), "{said}");
    let saved = place.path("a/checkpoint").read_dir().unwrap();
    assert!(
        saved.flatten().any(|file| file.path().extension().is_some_and(|e| e == "state")),
        "{said}"
    );
}

/// `diagnose --out` is a run like any other.
#[test]
#[cfg(unix)]
fn a_diagnosed_run_is_saved_too() {
    let place = Place::new();
    let run = "diagnose --rounds 12 --set model.hidden=8 --diagnostics gsd --out";
    place.ok(&format!("{run} whole"));
    let child = place.start(&format!("{run} a"));
    place.wait_for_rounds("a", 2);
    signal(&child, "INT");
    let (status, said) = ended(child);
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains("to go on: boostfgl resume a"), "{said}");
    let done = place.ok("resume a");
    place.same("whole", "a");
    assert!(done.stdout.contains("their share of the gradient"), "{}", done.stdout);
    // Nothing is left to do: what was found is told again, as long as it is what was found.
    assert!(place.ok("resume a").stdout.contains("their share of the gradient"));
    let found = place.read("a/diagnostics.json");
    place.write("a/diagnostics.json", found.replacen("0.", "1.", 1));
    place.refused_with(
        "resume a",
        &["diagnostics.json", "expected the content recorded in checksums.txt"],
    );
}

/// Under `nohup` one request to end is ignored; the others are heard all the same.
#[test]
#[cfg(unix)]
fn a_run_that_ignores_its_terminal_still_saves_when_it_is_ended() {
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
    let (status, said) = ended(child);
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains("to go on: boostfgl resume a"), "{said}");
}

/// While one program works on a run, another can neither resume nor overwrite it.
#[test]
#[cfg(unix)]
fn a_run_under_way_cannot_be_taken_or_overwritten() {
    let place = Place::new();
    let run = "run --rounds 400 --seeds 1 --set model.hidden=8 --out pair";
    let mut child = place.start(run);
    place.wait_for_rounds("pair/fedavg", 2);
    let busy = "this run folder is in use by another boostfgl process";
    // The second method has not begun, and belongs to the program that will come to it.
    for arguments in ["resume pair", &format!("{run} --overwrite")] {
        let done = place.run(arguments);
        done.check_refusal(arguments);
        assert!(
            done.stderr.contains(busy) && done.stderr.contains("help: Wait until it has ended"),
            "{done:?}"
        );
    }
    assert!(child.try_wait().unwrap().is_none(), "it goes on undisturbed");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.exists("pair/fedavg/summary.json") && place.exists("pair/fedavg/rounds.jsonl"));
}

/// Killed between its summary and its end, a run is whole: what is left to do is done by `resume`.
#[test]
fn what_a_crash_after_the_summary_left_is_put_right() {
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
fn what_cannot_be_resumed_is_named() {
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

/// Digits do not depend on the CPU under --portable, and it is part of the configuration.
#[test]
fn portable_is_a_key_of_the_run() {
    let place = Place::new();
    let few = "--method fedavg --rounds 2 --seeds 1 --set model.hidden=8 --portable";
    let first = place.digest(&format!("run {few} --out a --threads 1"));
    assert!(place.read("a/config.toml").contains("portable = true"));
    assert_eq!(place.digest(&format!("run {few} --out b --threads 4")), first);
    assert_eq!(place.digest("run --config a/config.toml --out c"), first);
}
