//! `data fetch` from mirrors on this machine.

use crate::common::{Output, Place, TINY, finish, real_data};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A web server for one folder, on this machine only. It answers a bounded number of requests, and
/// stops when it is dropped or after a minute.
struct Mirror {
    address: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<String>>>,
}

impl Mirror {
    fn of(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let (folder, stopped) = (folder.to_path_buf(), Arc::clone(&stop));
        let thread = std::thread::spawn(move || serve(&listener, &folder, &stopped));
        Self { address, stop, thread: Some(thread) }
    }

    /// Stops the server and returns the requested paths.
    fn requests(mut self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn serve(listener: &TcpListener, folder: &Path, stop: &AtomicBool) -> Vec<String> {
    let end = Instant::now() + Duration::from_secs(60);
    let mut requests = Vec::new();
    while requests.len() < 100 && Instant::now() < end && !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((stream, _)) => requests.extend(answer(stream, folder)),
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    requests
}

fn answer(mut stream: TcpStream, folder: &Path) -> Option<String> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&buffer[..read]);
    }
    let path =
        String::from_utf8_lossy(&request).split(' ').nth(1)?.trim_start_matches('/').to_owned();
    let (status, body) = match std::fs::read(folder.join(&path)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    // The transfer of a file that starts with `broken` ends too early.
    let length = if body.starts_with(b"broken") { body.len() + 1000 } else { body.len() };
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()?;
    Some(path)
}

fn fetch_from(place: &Place, mirror: &str, arguments: &str) -> Output {
    finish(place.program().env("BOOSTFGL_DATA", mirror).args(arguments.split_whitespace()))
}

fn cached(place: &Place) -> Vec<PathBuf> {
    let all = place
        .snapshot()
        .into_iter()
        .filter(|(path, content)| path.starts_with(place.path("cache")) && content.is_some());
    all.map(|(path, _)| path).collect()
}

const PARTS: [&str; 8] = ["x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"];

#[test]
fn files_with_a_wrong_checksum_are_not_cached() {
    let place = Place::new();
    for part in PARTS {
        place.write(&format!("mirror/raw/cora/ind.cora.{part}"), "not what was published");
    }
    let mirror = Mirror::of(&place.path("mirror"));
    let over_http = fetch_from(&place, &mirror.address, "data fetch cora");
    assert!(mirror.requests().contains(&"raw/cora/ind.cora.x".to_owned()));
    let local = fetch_from(
        &place,
        &format!("file://{}", place.path("mirror").display()),
        "data fetch cora",
    );
    for done in [over_http, local] {
        done.check_refusal("data fetch cora");
        assert!(
            done.stderr.contains("raw/cora/ind.cora.x: expected SHA-256 23cfa55d"),
            "{}",
            done.stderr
        );
        assert_eq!(cached(&place), Vec::<PathBuf>::new());
    }
}

#[test]
fn an_interrupted_download_is_not_cached() {
    let place = Place::new();
    place.write("mirror/cora.npz", "broken off");
    let mirror = Mirror::of(&place.path("mirror"));
    let done = fetch_from(&place, &mirror.address, "data fetch cora");
    done.check_refusal("data fetch cora");
    assert!(
        done.stderr.contains("could not fetch") && done.stderr.contains("from the mirror"),
        "{}",
        done.stderr
    );
    assert!(mirror.requests().contains(&"cora.npz".to_owned()));
    assert_eq!(cached(&place), Vec::<PathBuf>::new());
}

#[test]
fn a_failed_download_gives_advice() {
    let place = Place::new();
    for arguments in ["data fetch cora", &format!("run cora {TINY} --method fedavg --out out")] {
        let done = place.run(arguments);
        done.check_refusal(arguments);
        assert!(done.stderr.contains("could not fetch https://"), "{}", done.stderr);
        assert!(done.stderr.contains("Check the connection"), "{}", done.stderr);
    }
    assert!(!place.exists("out"));
    assert_eq!(cached(&place), Vec::<PathBuf>::new());
    place.refused_with("data fetch demo", &["found `demo`, which needs no download", "data list"]);
    place.refused_with("data fetch coar", &["did you mean `cora`?"]);
}

#[test]
fn fetched_files_are_used_from_the_cache() {
    let Some(data) = real_data("raw/cora") else { return };
    let digests = ["http", "file"].map(|scheme| {
        let place = Place::new();
        for part in PARTS {
            let name = format!("raw/cora/ind.cora.{part}");
            place.write(&format!("mirror/{name}"), std::fs::read(data.join(&name)).unwrap());
        }
        let mirror = Mirror::of(&place.path("mirror"));
        let local = format!("file://{}", place.path("mirror").display());
        let address = if scheme == "http" { mirror.address.clone() } else { local };
        let done = fetch_from(&place, &address, "data fetch cora").succeeded("data fetch cora");
        assert!(done.stdout.starts_with("cora: "), "{}", done.stdout);
        assert_eq!(
            mirror.requests().iter().filter(|path| path.starts_with("raw/cora/")).count(),
            if scheme == "http" { 8 } else { 0 }
        );
        assert_eq!(cached(&place).len(), 8);
        // The run must use the cache, since the mirror is removed.
        std::fs::remove_dir_all(place.path("mirror")).unwrap();
        let mut program = place.program();
        program.env_remove("BOOSTFGL_DATA");
        program.args(format!("run cora {TINY} --method fedavg --json --quiet").split_whitespace());
        let done = finish(&mut program).succeeded("run cora");
        let summary: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        summary["digest"].as_str().unwrap().to_owned()
    });
    assert_eq!(digests[0], digests[1]);
}
