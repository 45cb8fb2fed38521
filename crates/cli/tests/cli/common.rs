//! A temporary folder, the program run in it, and its output.

use assert_cmd::Command;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Small enough for every test, large enough to train.
pub(crate) const TINY: &str = "--rounds 2 --seeds 1 --set model.hidden=8";

/// The changes of [`TINY`] in the names of folders.
pub(crate) const TINY_CHANGES: &str = "seeds=1,rounds=2,hidden=8";

/// A temporary folder to work in.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

/// The exit code and output of a program.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Every file below the folder with its content.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut all = BTreeMap::new();
        walk(self.folder.path(), &mut all);
        all
    }

    /// The program in this folder, with an empty data folder. It cannot use the network: requests
    /// to other machines go through a proxy that does not exist.
    pub(crate) fn process(&self) -> std::process::Command {
        let mut process = std::process::Command::new(assert_cmd::cargo::cargo_bin!("boostfgl"));
        process
            .current_dir(self.folder.path())
            .env("BOOSTFGL_DATA", self.path("data"))
            .env("BOOSTFGL_CACHE", self.path("cache"))
            .envs(
                ["ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"]
                    .map(|v| (v, NOWHERE)),
            )
            .envs(["NO_PROXY", "no_proxy"].map(|name| (name, "127.0.0.1,localhost")))
            .env_remove("NO_COLOR");
        process
    }

    /// The same, stopped if it takes too long.
    pub(crate) fn program(&self) -> Command {
        let mut program = Command::from_std(self.process());
        program.timeout(Duration::from_secs(120));
        program
    }

    /// Runs the program with arguments separated by spaces.
    pub(crate) fn run(&self, arguments: &str) -> Output {
        finish(self.program().args(arguments.split_whitespace()))
    }

    /// Runs it and expects success.
    pub(crate) fn ok(&self, arguments: &str) -> Output {
        self.run(arguments).succeeded(arguments)
    }

    /// Runs a training command with `--json` and returns the digest.
    pub(crate) fn digest(&self, arguments: &str) -> String {
        let done = self.ok(&format!("{arguments} --json --quiet"));
        let summary: Value = serde_json::from_str(&done.stdout).unwrap();
        summary["digest"].as_str().unwrap().to_owned()
    }

    /// Runs it and expects a refusal: exit code 2, one line with the error, one with advice,
    /// nothing on standard output and nothing changed on the disk. Returns the standard error.
    pub(crate) fn refused(&self, arguments: &str) -> String {
        let before = self.snapshot();
        let done = self.run(arguments);
        done.check_refusal(arguments);
        assert_eq!(self.snapshot(), before, "{arguments}: something was written");
        done.stderr
    }

    /// As [`Place::refused`]; the message must also contain all of `wanted`.
    pub(crate) fn refused_with(&self, arguments: &str, wanted: &[&str]) {
        let stderr = self.refused(arguments);
        for wanted in wanted {
            assert!(stderr.contains(wanted), "{arguments}\nexpected `{wanted}` in\n{stderr}");
        }
    }
}

impl Output {
    pub(crate) fn succeeded(self, what: &str) -> Self {
        assert_eq!(self.code, Some(0), "{what}\n{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{what}\n{}", self.stderr);
        self
    }

    pub(crate) fn check_refusal(&self, what: &str) {
        self.check_error(what);
        assert_eq!(self.code, Some(2), "{what}\n{}", self.stderr);
        assert_eq!(self.stdout, "", "{what}");
    }

    /// The standard error has one line with the error and one with advice.
    pub(crate) fn check_error(&self, what: &str) {
        let lines = |start: &str| {
            self.stderr.lines().filter(|line| line.trim_start().starts_with(start)).count()
        };
        assert!(!self.stderr.contains("panicked"), "{what}\n{}", self.stderr);
        assert_eq!((lines("error: "), lines("help: ")), (1, 1), "{what}\n{}", self.stderr);
    }
}

pub(crate) fn finish(program: &mut Command) -> Output {
    let output = program.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn walk(folder: &Path, all: &mut BTreeMap<PathBuf, Option<Vec<u8>>>) {
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.insert(path.clone(), None);
            walk(&path, all);
        } else {
            let content = std::fs::read(&path).unwrap();
            all.insert(path, Some(content));
        }
    }
}

/// The discard port of this machine, which refuses connections.
const NOWHERE: &str = "http://127.0.0.1:9";

/// The folder of the published datasets, if it exists; otherwise prints that the test is skipped.
pub(crate) fn real_data(needed: &str) -> Option<PathBuf> {
    let named = std::env::var_os("BOOSTFGL_DATA").map(PathBuf::from);
    let next_to = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let found = named.into_iter().chain([next_to]).find(|folder| folder.join(needed).exists());
    if found.is_none() {
        eprintln!("skipped: {needed} is not on this machine (set BOOSTFGL_DATA)");
    }
    found
}

/// Sixty nodes in three classes with named ids, weighted edges, a split, and one node without a
/// label.
pub(crate) fn write_own_data(place: &Place, folder: &str) {
    let mut nodes = String::from("id,label,size,kind,split\n");
    let mut edges = String::from("src,dst,weight\n");
    for i in 0..60 {
        let label = if i == 7 { "" } else { ["red", "green", "blue"][i % 3] };
        let split = ["train", "val", "test", "train", "none"][i % 5];
        nodes.push_str(&format!("n-{i},{label},{}.25,{},{split}\n", i * 7 % 11, i % 3));
        edges.push_str(&format!(
            "n-{i},n-{},1.5\nn-{i},n-{},0.5\n",
            (i + 3) % 60,
            (i * 7 + 1) % 60
        ));
    }
    place.write(&format!("{folder}/nodes.csv"), nodes);
    place.write(&format!("{folder}/edges.csv"), edges);
}

/// A table as rows of named fields. The fields of these tests contain no commas.
pub(crate) fn table(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), header.len(), "{line}");
        header
            .iter()
            .zip(fields)
            .map(|(name, field)| ((*name).to_owned(), field.to_owned()))
            .collect()
    };
    lines.map(row).collect()
}
