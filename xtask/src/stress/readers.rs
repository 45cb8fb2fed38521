//! Damaged input for every reader.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Finding, Trial};
use crate::fuzz;
use crate::shell::{answer, shown};

/// Seconds for each reader.
const SECONDS: f64 = 20.0;

pub(super) fn attempt(_: &Trial<'_>) -> Result<Vec<Finding>> {
    let mut command = fuzz::program(SECONDS)?;
    let text =
        answer(command.arg("--json")).with_context(|| format!("`{}` failed", shown(&command)))?;
    let targets: Vec<Value> = serde_json::from_str(&text).context("the fuzzer prints JSON")?;
    let memory =
        targets.iter().filter_map(|target| target["memory_mib"].as_f64()).fold(0.0, f64::max);
    let [tried, crashes] = ["executions", "crashes"]
        .map(|key| targets.iter().filter_map(|target| target[key].as_u64()).sum::<u64>());
    Ok(vec![Finding {
        what: format!("bad input for {} readers, {SECONDS:.0} s each", targets.len()),
        aim: "no panic, no input that takes seconds or memory out of proportion".into(),
        found: format!("{crashes} of {tried} inputs, at most {memory:.0} MiB"),
        holds: crashes == 0 && !targets.is_empty(),
    }])
}
