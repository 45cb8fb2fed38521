//! Memory over many rounds: it must not grow.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Finding, Trial};

/// Rounds of the run.
const ROUNDS: usize = 1000;

pub(super) fn attempt(trial: &Trial<'_>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for method in ["fedavg", "boostfgl"] {
        let folder = trial.place.join(method);
        let mut child = trial.program.start(&format!(
            "run {} --method {method} --rounds {ROUNDS} --seeds 1 --quiet --out {}",
            trial.data,
            folder.display()
        ))?;
        let mut samples: Vec<(usize, f64)> = Vec::new();
        let status = loop {
            if let Some(status) = child.try_wait().context("cannot wait for the program")? {
                break status;
            }
            let rounds = fs::read(folder.join("rounds.jsonl")).unwrap_or_default();
            let rounds = rounds.iter().filter(|byte| **byte == b'\n').count();
            samples.extend(resident(child.id()).map(|mib| (rounds, mib)));
            sleep(Duration::from_millis(100));
        };
        if !status.success() {
            bail!("a run of {ROUNDS} rounds failed ({status})");
        }
        // The first fifth fills buffers; what comes after the last round is the report.
        let steady: Vec<f64> = samples
            .iter()
            .filter(|(rounds, _)| (ROUNDS / 5..ROUNDS).contains(rounds))
            .map(|(_, mib)| *mib)
            .collect();
        let (least, most) =
            steady.iter().fold((f64::MAX, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
        let spread = 50.0 * (most - least) / ((most + least) / 2.0);
        findings.push(Finding {
            what: format!("memory of {method} from round {} to {ROUNDS}", ROUNDS / 5),
            aim: "±2 %".into(),
            found: format!("{least:.1}–{most:.1} MiB (±{spread:.1} %, {} samples)", steady.len()),
            holds: spread <= 2.0 && steady.len() > 10,
        });
    }
    Ok(findings)
}

/// The anonymous memory of a process in MiB, swapped pages included; `None` without /proc. Pages of
/// files are not counted, since the system drops them at will.
fn resident(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    Some((kib(&status, "RssAnon:")? + kib(&status, "VmSwap:").unwrap_or(0.0)) / 1024.0)
}

/// A number of kibibytes in /proc/PID/status.
fn kib(status: &str, key: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
