//! The origin of results: the machine and the commit of the program.

use crate::Origin;
use std::path::Path;
use std::process::Command;

/// This machine and, if the current folder is the program's own source, its commit.
pub fn here(command: String, quick: bool) -> Origin {
    Origin {
        command,
        quick,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        commit: commit(),
        machine: machine(),
    }
}

/// The commit of the source in whose folder the program runs, with a plus if something in it has
/// changed; `None` elsewhere. Whether the program was built from there cannot be checked.
fn commit() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    Path::new(&top).join("crates/reproduce/plans/table1.toml").is_file().then_some(())?;
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { commit } else { format!("{commit}+") })
}

/// What git prints; `None` if it is not installed or fails.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// CPU, cores and memory.
fn machine() -> String {
    let processor =
        field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok())
        .map(|kib| format!(", {:.0} GiB", kib / f64::from(1 << 20)))
        .unwrap_or_default();
    format!("{processor}, {cores} cores{memory}, {}", std::env::consts::OS)
}

/// The value of the first line `NAME: VALUE` of a file; `None` if the file or the line is missing.
fn field(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
