//! One client of five sends every kind of bad update: all are refused, with client and reason.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::program::summary;
use super::{Finding, Trial};

/// What is sent, and what it is refused as.
const KINDS: [(&str, &str); 10] = [
    ("nan", "not-finite"),
    ("inf", "not-finite"),
    ("scale", "too-long"),
    ("wrong-shape", "shape"),
    ("wrong-message", "message"),
    ("wrong-round", "wrong-round"),
    ("replay", "replay"),
    ("wrong-size", "size"),
    ("duplicate", "duplicate"),
    ("wrong-gap", "summary"),
];

/// The last of five.
const ATTACKER: u64 = 4;

pub(super) fn attempt(trial: &Trial<'_>) -> Result<Vec<Finding>> {
    let rounds = if trial.short { 4 } else { 50 };
    let hidden = if trial.short { "--set model.hidden=16" } else { "" };
    let (mut sent, mut refused, mut through) = (0, 0, Vec::new());
    for (kind, reason) in KINDS {
        let folder = trial.place.join(kind);
        trial.program.finish(&format!(
            "run {} --method boostfgl --rounds {rounds} --seeds 1 {hidden} --quiet --set attack.kind={kind} --out {}",
            trial.data,
            folder.display()
        ))?;
        // The first update is new: a replay begins with the second round.
        let bad = rounds - usize::from(kind == "replay");
        let named = named(&folder, reason)?;
        let finite = summary(&folder)?["mean"]["accuracy"]["pooled"].is_f64();
        sent += bad;
        refused += named;
        if named != bad || !finite {
            through.push(format!("{kind}: {named} of {bad} refused{}", if finite { "" } else { ", model not finite" }));
        }
    }
    let all = format!("{refused} of {sent} updates refused by client and reason, model finite");
    Ok(vec![Finding {
        what: format!("{} kinds of bad update by one client of five, {rounds} rounds each", KINDS.len()),
        aim: "all refused".into(),
        found: if through.is_empty() { all } else { through.join("; ") },
        holds: through.is_empty(),
    }])
}

/// How many rounds record that the attacker, and nobody else, was refused for this reason.
fn named(folder: &Path, reason: &str) -> Result<usize> {
    let path = folder.join("rounds.jsonl");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut rounds = 0;
    for line in text.lines() {
        let round: Value = serde_json::from_str(line).with_context(|| format!("{} is damaged", path.display()))?;
        let refused = round["refused"].as_array().map(Vec::as_slice).unwrap_or_default();
        let only = |one: &Value| one["client"] == ATTACKER && one["reason"] == reason;
        rounds += usize::from(refused.len() == 1 && only(&refused[0]));
    }
    Ok(rounds)
}
