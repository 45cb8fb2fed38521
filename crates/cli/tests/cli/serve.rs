//! `serve`: refused addresses and tokens, and a run followed while it is running.

use crate::common::{Place, TINY};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// A program that is killed at the end of its test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the program and returns it with the first line it prints.
fn serve(place: &Place, arguments: &str) -> (Started, String) {
    let mut process = place.process();
    process.args(arguments.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Started(process.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (server, line)
}

/// `127.0.0.1:PORT` from the line that a server prints.
fn address(line: &str) -> String {
    line.split("http://")
        .nth(1)
        .unwrap_or_else(|| panic!("{line}"))
        .split('/')
        .next()
        .unwrap()
        .to_owned()
}

fn get(address: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    stream
}

fn page(address: &str, path: &str) -> String {
    let mut text = String::new();
    get(address, path).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn an_address_that_other_machines_can_reach_needs_two_flags() {
    let place = Place::new();
    place.write("runs/notes.txt", "no run");
    let wanted = [
        "expected a loopback address",
        "--allow-remote and --token",
        "found an address that other machines can reach",
    ];
    for arguments in [
        "",
        "--allow-remote",
        "--token 0123456789abcdef",
        "--host ::",
        "--host 192.0.2.1 --allow-remote",
    ] {
        let host = if arguments.contains("--host") { "" } else { "--host 0.0.0.0" };
        place.refused_with(&format!("serve {host} --port 0 {arguments}"), &wanted);
    }
    let short = "serve --host 0.0.0.0 --allow-remote --token short-secret";
    place.refused_with(
        short,
        &["--token: expected at least 16 letters", "found 12 characters", "openssl"],
    );
    assert!(!place.refused(short).contains("short-secret"));
    place.refused_with(
        "serve --host example.org",
        &["--host example.org: expected an address in numbers"],
    );
    place.refused_with("serve nowhere", &["nowhere: expected a folder with runs", "boostfgl run"]);
    place.refused_with("serve runs/notes.txt", &["runs/notes.txt: expected a folder with runs"]);
    place.refused("serve --port 99999");
}

#[test]
fn a_port_in_use_is_an_error() {
    let place = Place::new();
    place.write("runs/notes.txt", "no run");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let done = place.run(&format!("serve --port {port}"));
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{}", done.stderr);
    done.check_error("serve");
    let wanted = [&format!("127.0.0.1:{port}: expected a free port, found one in use"), "--port 0"];
    assert!(wanted.iter().all(|wanted| done.stderr.contains(*wanted)), "{}", done.stderr);
}

#[test]
fn an_active_run_is_shown_live() {
    let place = Place::new();
    std::fs::create_dir(place.path("runs")).unwrap();
    let (_server, line) = serve(&place, "serve --port 0");
    assert!(line.starts_with("Serving runs/ at http://127.0.0.1:"), "{line}");
    assert!(line.ends_with("/ (read-only; Ctrl-C stops)\n"), "{line}");
    let address = address(&line);
    assert!(page(&address, "/").contains("no run to show"));

    let mut process = place.process();
    process.args(
        "run --method fedavg --quiet --rounds 100 --seeds 1 --set model.hidden=8 --out runs/a"
            .split_whitespace(),
    );
    let mut run = Started(process.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let end = Instant::now() + PATIENCE;
    while !place.exists("runs/a/rounds.jsonl") {
        assert!(Instant::now() < end, "the run does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    // An event is sent after every change; the last one announces the report.
    let events: Vec<String> =
        BufReader::new(get(&address, "/events/run/a")).lines().map(|line| line.unwrap()).collect();
    let count =
        |name: &str| events.iter().filter(|line| *line == &format!("event: {name}")).count();
    assert!(count("part") >= 1 && count("end") == 1, "{events:#?}");
    assert!(run.0.wait().unwrap().success());
    let list = page(&address, "/");
    assert!(list.contains("100 of 100") && list.contains(">finished<"), "{list}");
    let report = page(&address, "/run/a");
    assert!(
        report.contains("fedavg, seeds=1, rounds=100, hidden=8 on demo")
            && !report.contains("data-events"),
        "{report}"
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_the_server_and_nothing_is_written() {
    let place = Place::new();
    place.ok(&format!("run {TINY} --method fedavg --quiet"));
    let before = place.snapshot();
    let (mut server, line) =
        serve(&place, "serve runs/ --port 0 --host localhost --token 0123456789abcdef");
    let address = address(&line);
    assert!(page(&address, "/").starts_with("HTTP/1.0 401"), "a token counts on this machine too");
    assert!(
        page(&address, "/run/demo?token=0123456789abcdef").contains("HttpOnly; SameSite=Strict")
    );
    let _open = get(&address, "/events/list");
    let status = std::process::Command::new("kill")
        .args(["-INT", &server.0.id().to_string()])
        .status()
        .unwrap();
    assert!(status.success());
    let end = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = server.0.try_wait().unwrap() {
            break status;
        }
        assert!(Instant::now() < end, "it does not stop");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(0));
    assert_eq!(place.snapshot(), before);
}
