//! Every method, every boost and every backbone on 1, 2, 4 and 8 threads, with and without what watches: one digest each.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::program::digest;
use super::{Finding, Trial};

/// What slow methods are cut to.
const FEW: &str = "--rounds 3 --seeds 1 --quiet --set methods.adafgl.personal_epochs=3 --set methods.fedsage-plus.gen_epochs=2 \
                   --set methods.fedsage-plus.wide=64 --set methods.fedtad.repetitions=1";

/// The ways that must not matter.
const WAYS: [&str; 4] = ["--threads 1", "--threads 2", "--threads 4", "--threads 8 --diagnostics all"];

const BACKBONES: [&str; 9] = ["gcn", "sage", "gat", "gin", "sgc", "appnp", "gprgnn", "h2gcn", "mlp"];

pub(super) fn attempt(trial: &Trial<'_>) -> Result<Vec<Finding>> {
    let (cases, methods) = cases(trial)?;
    let (mut runs, mut odd) = (0, Vec::new());
    for (number, case) in cases.iter().enumerate() {
        let mut first = None;
        for how in WAYS {
            let folder = trial.place.join(format!("{number}-{runs}"));
            let hidden = if trial.short { "--set model.hidden=16" } else { "" };
            trial.program.finish(&format!(
                "run {} {case} {FEW} {hidden} {how} --out {}",
                trial.data,
                folder.display()
            ))?;
            let found = digest(&folder)?;
            runs += 1;
            if *first.get_or_insert_with(|| found.clone()) != found {
                odd.push(format!("{case} {how}"));
            }
        }
    }
    let few = if trial.short { "some of them" } else { "with its own boosts and with all, FedAvg on 9 backbones" };
    Ok(vec![Finding {
        what: format!("{methods} methods ({few}) on 1, 2, 4, 8 threads, the last watched by all diagnostics"),
        aim: "one digest each".into(),
        found: if odd.is_empty() { format!("{runs} runs, {} digests", cases.len()) } else { odd.join(", ") },
        holds: odd.is_empty(),
    }])
}

/// What is run, and how many methods there are.
fn cases(trial: &Trial<'_>) -> Result<(Vec<String>, usize)> {
    let listed = trial.program.finish("methods --json")?;
    let listed: Value = serde_json::from_str(&listed).context("`boostfgl methods --json` prints JSON")?;
    let methods = listed.as_array().map(Vec::as_slice).unwrap_or_default();
    ensure!(!methods.is_empty(), "`boostfgl methods --json` lists no method");
    if trial.short {
        return Ok((vec!["--method fedavg".into(), "--method boostfgl".into()], methods.len()));
    }
    let mut cases = Vec::new();
    for method in methods {
        let name = method["name"].as_str().context("a method has a name")?;
        cases.push(format!("--method {name}"));
        let own = method["boosts"].as_array().map_or(0, Vec::len);
        let refused = |boost: &&str| method["refused_boosts"][*boost].is_string();
        let taken: Vec<&str> = ["node", "topology", "model"].into_iter().filter(|boost| !refused(boost)).collect();
        if taken.len() > own {
            cases.push(format!("--method {name} --boost {}", taken.join(",")));
        }
    }
    // The first is the one that all methods have been run on.
    cases.extend(BACKBONES[1..].iter().map(|name| format!("--method fedavg --set model.backbone={name}")));
    Ok((cases, methods.len()))
}
