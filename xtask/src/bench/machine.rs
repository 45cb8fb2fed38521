//! The machine and the commit of a measurement.

use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

use serde_json::{Value, json};

use crate::project::root;
use crate::shell::answer;

/// The machine and the code of a measurement.
pub(crate) struct Machine {
    cpu: String,
    pub(crate) cores: usize,
    memory_gib: Option<f64>,
    load: Option<String>,
    commit: String,
    rustc: String,
}

impl Machine {
    pub(crate) fn look() -> Self {
        Self {
            cpu: first_line("/proc/cpuinfo", "model name")
                .unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: available_parallelism().map_or(1, usize::from),
            memory_gib: first_line("/proc/meminfo", "MemTotal").and_then(|line| gib(&line)),
            load: fs::read_to_string("/proc/loadavg")
                .ok()
                .and_then(|text| Some(text.split_whitespace().next()?.to_owned())),
            commit: commit(),
            rustc: answer(Command::new("rustc").arg("--version")).unwrap_or_else(unknown),
        }
    }

    pub(crate) fn describe(&self) -> String {
        let memory = self.memory_gib.map(|gib| format!(", {gib:.0} GiB")).unwrap_or_default();
        let load = self
            .load
            .as_ref()
            .map(|load| format!(", load {load} at the start"))
            .unwrap_or_default();
        format!(
            "{}, {} cores{memory}{load}; commit {}; {}",
            self.cpu, self.cores, self.commit, self.rustc
        )
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "cpu": self.cpu,
            "cores": self.cores,
            "memory_gib": self.memory_gib,
            "load_at_start": self.load,
            "commit": self.commit,
            "rustc": self.rustc,
        })
    }
}

/// The commit, with a note if the tree contains uncommitted changes.
fn commit() -> String {
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return unknown() };
    match git(&["status", "--porcelain"]) {
        Some(changes) if changes.is_empty() => commit,
        _ => format!("{commit} with uncommitted changes"),
    }
}

/// The output of a git command in the project; `None` if it fails.
fn git(args: &[&str]) -> Option<String> {
    answer(Command::new("git").current_dir(root()).args(args))
}

/// The value of the first `name: value` line of a file under /proc.
fn first_line(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn gib(kib: &str) -> Option<f64> {
    Some(kib.strip_suffix(" kB")?.trim().parse::<f64>().ok()? / (1024.0 * 1024.0))
}

fn unknown() -> String {
    "unknown".to_owned()
}
