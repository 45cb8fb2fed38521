//! One client of five sends every kind of bad update: all are refused, with client and reason.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{Finding, Trial};

/// The kinds of bad update, each with the reason for which it must be refused.
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
            "run {} --method boostfgl --rounds {rounds} --seeds 1 {hidden} --quiet --set \
             attack.kind={kind} --out {}",
            trial.data,
            folder.display()
        ))?;
        // The first update is new: a replay begins with the second round.
        let bad = rounds - usize::from(kind == "replay");
        let named = named(&folder, reason)?;
        let finite = model_is_finite(&folder)?;
        sent += bad;
        refused += named;
        if named != bad || !finite {
            through.push(format!(
                "{kind}: {named} of {bad} refused{}",
                if finite { "" } else { ", model not finite" }
            ));
        }
    }
    let all = format!("{refused} of {sent} updates refused by client and reason, model finite");
    Ok(vec![Finding {
        what: format!(
            "{} kinds of bad update by one client of five, {rounds} rounds each",
            KINDS.len()
        ),
        aim: "all refused".into(),
        found: if through.is_empty() { all } else { through.join("; ") },
        holds: through.is_empty(),
    }])
}

/// Whether every number of the model is finite. Accuracy cannot show this, since a model of NaN
/// still predicts some class.
fn model_is_finite(folder: &Path) -> Result<bool> {
    let path = folder.join("model.safetensors");
    let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    // The file has the length of the header, the header, then all numbers of four bytes each.
    let length = bytes.first_chunk::<8>().map_or(0, |length| u64::from_le_bytes(*length) as usize);
    let numbers = bytes.get(8 + length..).filter(|numbers| !numbers.is_empty());
    let numbers = numbers.with_context(|| format!("{} holds no numbers", path.display()))?;
    ensure!(numbers.len().is_multiple_of(4), "{} is damaged", path.display());
    let (numbers, _) = numbers.as_chunks::<4>();
    Ok(numbers.iter().all(|bytes| f32::from_le_bytes(*bytes).is_finite()))
}

/// The number of rounds in which the malicious client, and no other, was refused for this reason.
fn named(folder: &Path, reason: &str) -> Result<usize> {
    let path = folder.join("rounds.jsonl");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut rounds = 0;
    for line in text.lines() {
        let round: Value =
            serde_json::from_str(line).with_context(|| format!("{} is damaged", path.display()))?;
        let refused = round["refused"].as_array().map(Vec::as_slice).unwrap_or_default();
        if let [only] = refused {
            rounds += usize::from(only["client"] == ATTACKER && only["reason"] == reason);
        }
    }
    Ok(rounds)
}
