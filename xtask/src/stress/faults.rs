//! Every disk fault at every call that writes: no panic, and in the end the same digest.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::program::digest;
use super::{Finding, Trial};

/// Full disk, I/O error, short write, crash, and two kinds of power cut (see the crate `disk`).
const FAULTS: [&str; 6] = ["full", "eio", "short", "crash", "power", "torn"];

/// A run must write with at least this many calls; otherwise the trial tests too little.
const LEAST: usize = 40;

pub(super) fn attempt(trial: &Trial<'_>) -> Result<Vec<Finding>> {
    // Small, since it is run hundreds of times; it writes every kind of file.
    let run = "run demo --method boostfgl --rounds 2 --seeds 2 --set model.hidden=4 --quiet \
        --checkpoint-rounds 1";
    let whole = trial.place.join("whole");
    trial.checked.finish(&format!("{run} --out {}", whole.display()))?;
    let wanted = digest(&whole)?;
    let calls = calls(trial, run)?;
    let mut all: Vec<(&str, usize)> = Vec::new();
    for (number, fault) in FAULTS.into_iter().enumerate() {
        // Steps of another length for every fault: together they cover more calls.
        let step = if trial.short { calls / 3 - number } else { 1 };
        all.extend((1..=calls).step_by(step).map(|call| (fault, call)));
    }
    // Nothing is timed here, so two threads may share the work.
    let (first, second) = all.split_at(all.len() / 2);
    let resumed = std::thread::scope(|scope| {
        let other = scope.spawn(|| strikes(trial, run, second, &wanted));
        let own = strikes(trial, run, first, &wanted)?;
        anyhow::Ok(own + other.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??)
    })?;
    let tried = all.len();
    let which = if trial.short { format!("some of {calls}") } else { format!("each of {calls}") };
    Ok(vec![Finding {
        what: format!("{} faults of the disk at {which} calls that write", FAULTS.len()),
        aim: "no panic, the path named, then the digest of the undisturbed run".into(),
        found: format!("{tried}/{tried} ({resumed} resumed, the others run again or finished)"),
        holds: true,
    }])
}

/// The number of calls of a run that write, by bisection: with a crash at a later call the run
/// succeeds.
fn calls(trial: &Trial<'_>, run: &str) -> Result<usize> {
    let (mut low, mut high) = (LEAST, LEAST * 2);
    while !survives(trial, run, high)? {
        (low, high) = (high, high * 2);
    }
    while low + 1 < high {
        let middle = low.midpoint(high);
        if survives(trial, run, middle)? { high = middle } else { low = middle }
    }
    Ok(low)
}

/// Whether a run succeeds with a crash at this call.
fn survives(trial: &Trial<'_>, run: &str, call: usize) -> Result<bool> {
    let folder = trial.place.join("calls");
    let _ = fs::remove_dir_all(&folder);
    let command = format!("{run} --out {}", folder.display());
    Ok(trial.checked.under(&format!("crash@{call}"), &command)?.status.success())
}

/// Tries faults at calls one after the other, and counts the runs that were resumed.
fn strikes(trial: &Trial<'_>, run: &str, faults: &[(&str, usize)], wanted: &str) -> Result<usize> {
    let mut resumed = 0;
    for (fault, call) in faults {
        resumed += usize::from(strike_at(trial, run, fault, *call, wanted)?);
    }
    Ok(resumed)
}

/// One fault at one call; in the end the run must have the wanted digest. Returns whether it was
/// resumed.
fn strike_at(trial: &Trial<'_>, run: &str, fault: &str, call: usize, wanted: &str) -> Result<bool> {
    let folder = trial.place.join(format!("{fault}-{call}"));
    let resumed = strike(trial, run, &format!("{fault}@{call}"), &folder)?;
    let found = digest(&folder)?;
    if found != wanted {
        bail!("{fault} at call {call}: expected the digest {wanted}, found {found}");
    }
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    Ok(resumed)
}

/// Runs under a fault, then does what a user would: resume a run that has begun, else run again.
/// Returns whether it was resumed.
fn strike(trial: &Trial<'_>, run: &str, fault: &str, folder: &Path) -> Result<bool> {
    let output = trial.checked.under(fault, &format!("{run} --out {}", folder.display()))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if stderr.contains("panicked") {
        bail!("{fault}: the program panicked:\n{stderr}");
    }
    // Without a code it was ended, as a crash does.
    if output.status.code() == Some(1) && !stderr.contains(&*folder.to_string_lossy()) {
        bail!(
            "{fault}: expected an error that names a path in {}, found:\n{stderr}",
            folder.display()
        );
    }
    if folder.join("summary.json").exists() {
        return Ok(false);
    }
    let begun = folder.join("config.toml").exists() && folder.join("checkpoint/run").exists();
    let again = if begun {
        format!("resume {} --quiet", folder.display())
    } else {
        format!("{run} --out {} --overwrite", folder.display())
    };
    trial.checked.finish(&again).with_context(|| format!("after {fault}"))?;
    Ok(begun)
}
