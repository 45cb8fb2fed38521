//! Every method on 1, 2, 4 and 8 threads, with and without what watches: one digest each.

use anyhow::Result;

use super::program::digest;
use super::{Finding, Trial};

pub(super) fn attempt(trial: &Trial<'_>) -> Result<Vec<Finding>> {
    let few = "--rounds 3 --seeds 1 --quiet --set methods.adafgl.personal_epochs=3 --set methods.fedsage-plus.gen_epochs=2 \
               --set methods.fedsage-plus.wide=64 --set methods.fedtad.repetitions=1";
    let mut methods = names(trial)?;
    if trial.short {
        methods.retain(|name| ["fedavg", "boostfgl"].contains(&name.as_str()));
    }
    let (mut runs, mut odd) = (0, Vec::new());
    for method in &methods {
        let mut first = None;
        for (number, how) in
            ["--threads 1", "--threads 2", "--threads 4", "--threads 8 --diagnostics all"].iter().enumerate()
        {
            let folder = trial.place.join(format!("{method}-{number}"));
            let hidden = if trial.short { "--set model.hidden=16" } else { "" };
            trial.program.finish(&format!(
                "run {} --method {method} {few} {hidden} {how} --out {}",
                trial.data,
                folder.display()
            ))?;
            let found = digest(&folder)?;
            runs += 1;
            if *first.get_or_insert_with(|| found.clone()) != found {
                odd.push(format!("{method} {how}"));
            }
        }
    }
    Ok(vec![Finding {
        what: format!("{} methods on 1, 2, 4, 8 threads, the last watched by all diagnostics", methods.len()),
        aim: "one digest each".into(),
        found: if odd.is_empty() { format!("{runs} runs, one digest each") } else { odd.join(", ") },
        holds: odd.is_empty(),
    }])
}

/// The methods of the registry.
fn names(trial: &Trial<'_>) -> Result<Vec<String>> {
    let listed = trial.program.finish("methods --json")?;
    let listed: serde_json::Value = serde_json::from_str(&listed)?;
    let methods = listed.as_array().cloned().unwrap_or_default();
    anyhow::ensure!(!methods.is_empty(), "`boostfgl methods --json` lists no method");
    Ok(methods.iter().filter_map(|method| method["name"].as_str().map(str::to_owned)).collect())
}
