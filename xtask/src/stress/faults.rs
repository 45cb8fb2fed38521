//! The program under every fault of the disk, at every call that writes: nothing panics, and it
//! comes to the same digits.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::program::digest;
use super::{Finding, Trial};

/// Full disk, I/O error, short write, crash, and two kinds of power cut (see the crate `disk`).
const FAULTS: [&str; 6] = ["full", "eio", "short", "crash", "power", "torn"];

/// A run that ends sooner than this many calls is not what was meant to be stressed.
const LEAST: usize = 40;

pub(super) fn attempt(trial: &Trial<'_>) -> Result<Vec<Finding>> {
    // Small, since it is run hundreds of times; all that it writes is there.
    let run = "run demo --method boostfgl --rounds 2 --seeds 2 --set model.hidden=4 --quiet \
        --checkpoint-rounds 1";
    let whole = trial.place.join("whole");
    trial.checked.finish(&format!("{run} --out {}", whole.display()))?;
    let wanted = digest(&whole)?;
    let calls = calls(trial, run)?;
    // Steps of another length for every fault, so that together they meet more calls.
    let step = |fault: usize| if trial.short { calls / 3 - fault } else { 1 };
    let all: Vec<(&str, usize)> = (FAULTS.into_iter().enumerate())
        .flat_map(|(number, fault)| {
            (1..=calls).step_by(step(number)).map(move |call| (fault, call))
        })
        .collect();
    // Nothing is timed here, so that two may be at it.
    let (first, second) = all.split_at(all.len() / 2);
    let strikes = |some: &[(&str, usize)]| -> Result<usize> {
        some.iter()
            .map(|(fault, call)| Ok(usize::from(strike_at(trial, run, fault, *call, &wanted)?)))
            .sum()
    };
    let resumed = std::thread::scope(|scope| {
        let other = scope.spawn(|| strikes(second));
        let mine = strikes(first)?;
        anyhow::Ok(mine + other.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??)
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

/// How many calls that write a run makes: the first call at which a crash does not happen is one
/// too many.
fn calls(trial: &Trial<'_>, run: &str) -> Result<usize> {
    let ends = |call: usize| -> Result<bool> {
        let folder = trial.place.join("calls");
        let _ = fs::remove_dir_all(&folder);
        let output = trial
            .checked
            .under(&format!("crash@{call}"), &format!("{run} --out {}", folder.display()))?;
        Ok(output.status.success())
    };
    let (mut low, mut high) = (LEAST, LEAST * 2);
    while !ends(high)? {
        (low, high) = (high, high * 2);
    }
    while low + 1 < high {
        let middle = low.midpoint(high);
        if ends(middle)? { high = middle } else { low = middle }
    }
    Ok(low)
}

/// One fault at one call; whatever it hits ends with the digest that is wanted. Says whether it was
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

/// Runs under a fault, then does what a user would: resume what was begun, else run again. Says
/// whether it was resumed.
fn strike(trial: &Trial<'_>, run: &str, fault: &str, folder: &Path) -> Result<bool> {
    let output = trial.checked.under(fault, &format!("{run} --out {}", folder.display()))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("panicked") {
        bail!("{fault}: the program panicked:\n{said}");
    }
    // Without a code it was ended, as a crash does.
    if output.status.code() == Some(1) && !said.contains(&*folder.to_string_lossy()) {
        bail!(
            "{fault}: expected an error that names a path in {}, found:\n{said}",
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
