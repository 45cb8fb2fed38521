//! The display of progress: a bar on a terminal, and nothing of it in other places.

use crate::common::{Place, finish, write_own_data};
use assert_cmd::Command;
use serde_json::Value;

#[test]
fn quiet_commands_write_nothing_but_json() {
    let place = Place::new();
    write_own_data(&place, "mine");
    let small = "--clients 2 --rounds 2 --seeds 2 --set model.hidden=4";
    for command in [
        format!("run mine {small} --method fedavg --out r"),
        format!("run generate:demo {small} --method fedavg --out g"),
        "partition mine --clients 2 --seeds 2".to_owned(),
        format!("compare mine {small} --methods fedavg,moon --vary lr=0.1,0.2 --out c"),
        format!("compare mine {small} --methods fedavg,moon --budget bytes --out b"),
        format!("tune mine {small} --methods fedavg,moon --vary lr=0.1,0.2 --out t"),
    ] {
        let done = place.ok(&format!("{command} --json --quiet"));
        assert_eq!(done.stderr, "", "{command}");
        let document: Result<Value, _> = serde_json::from_str(&done.stdout);
        assert!(document.is_ok(), "{command}\n{}", done.stdout);
    }
}

/// Without a terminal, phases that take less than ten seconds are no lines.
#[test]
fn a_log_file_is_not_filled_with_phases() {
    let place = Place::new();
    write_own_data(&place, "mine");
    let done = place.ok("partition mine --clients 2 --seeds 1 --json");
    assert_eq!(done.stderr, "");
}

/// util-linux has `script`, which gives a program a terminal of its own.
#[test]
fn a_terminal_shows_what_is_read_and_divided_with_the_time_left() {
    let place = Place::new();
    let mut nodes = String::from("id,label,x\n");
    (0..60_000).for_each(|v| nodes.push_str(&format!("n{v},{},{}\n", v % 3, v % 7)));
    let mut edges = String::from("src,dst\n");
    (0..60_000).for_each(|v| edges.push_str(&format!("n{v},n{}\n", (v * 7 + 1) % 60_000)));
    place.write("large/nodes.csv", nodes);
    place.write("large/edges.csv", edges);
    let program = assert_cmd::cargo::cargo_bin!("boostfgl");
    let typed = format!("{} partition large --clients 3 --seeds 2", program.display());
    let shown = |flags: &str| {
        let mut script = Command::new("script");
        script.current_dir(place.path(".")).args(["--quiet", "--return", "--command"]);
        finish(script.arg(format!("{typed} {flags}")).arg("/dev/null"))
    };
    let done = shown("");
    assert_eq!(done.code, Some(0), "{}", done.stdout);
    for wanted in ["reading large", "dividing large", "s left", "seed 1"] {
        assert!(done.stdout.contains(wanted), "{wanted}\n{}", done.stdout);
    }
    let quiet = shown("--quiet --json");
    let document: Result<Value, _> = serde_json::from_str(&quiet.stdout);
    assert!(document.is_ok(), "{}", quiet.stdout);
}
