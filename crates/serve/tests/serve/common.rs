//! A folder with runs, a server over it, and a client with a timeout.

use boostfgl_fairness::{GroupSizes, Readings, Scores};
use boostfgl_report::{Round, RoundsWriter, RunFolder, RunTotals, SeedSummary, Summary};
use boostfgl_serve::{Server, Token};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use tokio::sync::oneshot;

/// The timeout: long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A temporary folder for runs.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(place.runs()).unwrap();
        place
    }

    /// The folder that is served; its neighbours are outside.
    pub(crate) fn runs(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.runs().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// A run that has done `rounds` of four rounds.
    pub(crate) fn unfinished(&self, name: &str, rounds: usize) -> RoundsWriter {
        let run = RunFolder::create(self.runs().join(name), false).unwrap();
        let config =
            "dataset = \"cora\"\nmethod = \"fedavg\"\nseeds = [0, 1]\n\n[fed]\nrounds = 2\n";
        run.write_atomic(RunFolder::CONFIG, config.as_bytes()).unwrap();
        let mut writer = run.rounds().unwrap();
        (0..rounds).for_each(|at| writer.write(&round(at)).unwrap());
        writer
    }

    /// A finished run, without the files about nodes.
    pub(crate) fn finished(&self, name: &str, method: &str) {
        self.unfinished(name, 4).finish().unwrap();
        self.finish(name, method);
    }

    /// Writes the summary.
    pub(crate) fn finish(&self, name: &str, method: &str) {
        RunFolder::open(self.runs().join(name)).unwrap().write_summary(&summary(method)).unwrap();
    }

    /// Sets the modification time of all files of a run to this many seconds ago.
    pub(crate) fn age(&self, name: &str, seconds: u64) {
        let then = SystemTime::now() - Duration::from_secs(seconds);
        for entry in self.runs().join(name).read_dir().unwrap() {
            let file = std::fs::File::options().append(true).open(entry.unwrap().path()).unwrap();
            file.set_modified(then).unwrap();
        }
    }

    /// Every file below the folder with its modification time and content.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
        let mut all = BTreeMap::new();
        walk(self.folder.path(), &mut all);
        all
    }

    pub(crate) fn serve(&self) -> Running {
        Running::start(&self.runs(), None)
    }
}

fn walk(folder: &Path, all: &mut BTreeMap<PathBuf, (SystemTime, Vec<u8>)>) {
    for entry in folder.read_dir().unwrap() {
        let entry = entry.unwrap();
        let modified = entry.metadata().unwrap().modified().unwrap();
        if entry.file_type().unwrap().is_dir() {
            all.insert(entry.path(), (modified, Vec::new()));
            walk(&entry.path(), all);
        } else {
            all.insert(entry.path(), (modified, std::fs::read(entry.path()).unwrap()));
        }
    }
}

/// Round number `at` of two seeds with two rounds each.
pub(crate) fn round(at: usize) -> Round {
    Round {
        seed: at as u64 / 2,
        round: at % 2 + 1,
        loss: 1.5 / (at + 1) as f64,
        val_accuracy: Some(50.0 + at as f64),
        metrics: None,
        clients: Vec::new(),
        refused: Vec::new(),
        bytes_up: 10,
        bytes_down: 20,
        seconds: 0.25,
    }
}

fn summary(method: &str) -> Summary {
    let seed = |seed: u64, accuracy: f64| {
        let same = |value: f64| Readings {
            pooled: Some(value),
            present: Some(value),
            client: Some(value),
        };
        let scores = Scores {
            accuracy: same(accuracy),
            overall_f1: same(0.75),
            hete_f1: same(0.5),
            hete_min_f1: same(accuracy / 2.0),
        };
        SeedSummary {
            seed,
            scores: scores.percent(),
            groups: GroupSizes {
                all: 100,
                heterophilous: 20,
                homophilous: 80,
                minority: 40,
                majority: 60,
                hete_min: 10,
            },
            round: 2,
            details: Default::default(),
            seconds: 2.5,
            cpu_seconds: 4.0,
            bytes_up: 20,
            bytes_down: 40,
            framed_up: 30,
            framed_down: 50,
            federation_digest: String::new(),
            refused: Default::default(),
            digest: format!("seed{seed}"),
        }
    };
    let totals = RunTotals {
        cpu_seconds: 12.0,
        train_cpu_seconds: 11.0,
        wall_seconds: 7.5,
        peak_rss_mib: 60.5,
        digest: "0123456789abcdef".to_owned(),
    };
    Summary::new(method, Vec::new(), "cora", vec![seed(0, 0.8), seed(1, 0.84)], totals)
}

/// A server that stops when it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start(runs: &Path, token: Option<Token>) -> Self {
        let server = Server::bind(runs, ([127, 0, 0, 1], 0).into(), token).unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            server
                .run_until(async {
                    let _ = stopped.await;
                })
                .unwrap();
        });
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.request("GET", path, &[])
    }

    /// A page that must be there.
    pub(crate) fn page(&self, path: &str) -> String {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}\n{}", reply.body);
        reply.body
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
        let mut text = String::new();
        self.send(method, path, headers).read_to_string(&mut text).unwrap();
        Reply::parse(&text)
    }

    /// Opens a stream of events.
    pub(crate) fn listen(&self, path: &str) -> Events {
        let mut events = Events { lines: BufReader::new(self.send("GET", path, &[])) };
        let status = events.line();
        assert!(status.contains(" 200 "), "{path}: {status}");
        while !events.line().is_empty() {}
        events
    }

    /// Sends a request as HTTP/1.0, whose answers come in one piece and end with the connection.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> TcpStream {
        let mut stream = TcpStream::connect_timeout(&self.address, TIMEOUT).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        let mut request = format!("{method} {path} HTTP/1.0\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request.push_str(&format!("Host: {}\r\n", self.address));
        }
        headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{request}\r\n").as_bytes()).unwrap();
        stream
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        let result = self.thread.take().unwrap().join();
        assert!(std::thread::panicking() || result.is_ok());
    }
}

/// A response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    fn parse(text: &str) -> Self {
        let (head, body) =
            text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// A stream of events.
pub(crate) struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("an event arrives before the timeout");
        line.trim_end().to_owned()
    }

    /// The next event: its name and its data.
    pub(crate) fn next(&mut self) -> (String, String) {
        let (mut name, mut data) = (String::new(), String::new());
        loop {
            let line = self.line();
            match line.split_once(':') {
                Some(("event", value)) => value.trim().clone_into(&mut name),
                Some(("data", value)) => data.push_str(value.trim_start()),
                None if !name.is_empty() => return (name, data),
                _ => {}
            }
        }
    }

    /// Whether the server ends the stream.
    pub(crate) fn is_over(&mut self) -> bool {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).is_ok()
    }
}
