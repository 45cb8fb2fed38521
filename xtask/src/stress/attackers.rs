//! One of five clients is malicious and sends plausible updates: the loss of the worst group under
//! each rule.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::program::summary;
use super::{Finding, Trial};

/// The attacks. With five clients alie's own formula gives z = 0, the mean of the others.
const ATTACKS: [&str; 5] =
    ["label-flip", "sign-flip", "alie --set attack.strength=1.5", "free-rider", "trust-liar"];

/// The recommended rule, which is tested, then those that it is compared with.
const RULES: [&str; 7] =
    ["multi-krum", "median", "trimmed-mean", "geometric-median", "norm-bounded", "krum", "mean"];

/// Points that the worst group may lose.
const BOUND: f64 = 5.0;

pub(super) fn attempt(trial: &Trial<'_>) -> Result<Vec<Finding>> {
    let methods = ["fedavg", "boostfgl"];
    let plain = methods.map(|method| scores(trial, method, "mean", None));
    let mut worst = Vec::new();
    for rule in RULES {
        let (mut group, mut overall) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for (method, plain) in methods.iter().zip(&plain) {
            let plain = plain.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
            for attack in ATTACKS {
                let left = scores(trial, method, rule, Some(attack))?;
                group = group.max(plain.group - left.group);
                overall = overall.max(plain.overall - left.overall);
            }
        }
        worst.push((rule, group, overall));
    }
    let (mut groups, mut overalls) = (Vec::new(), Vec::new());
    for (rule, group, overall) in &worst[1..] {
        groups.push(format!("{rule} {group:.1}"));
        overalls.push(format!("{rule} {overall:.1}"));
    }
    let attacks =
        format!("one attacker of five, {} attacks, FedAvg and BoostFGL, 3 seeds", ATTACKS.len());
    Ok(vec![
        Finding {
            what: format!("{attacks}: Hete-min-F1 under {}", RULES[0]),
            aim: format!("loses at most {BOUND} points"),
            found: format!("at most {:.1} ({})", worst[0].1, groups.join(", ")),
            holds: worst[0].1 <= BOUND,
        },
        Finding {
            what: format!("{attacks}: Overall-F1 under {}", RULES[0]),
            aim: "less than under the mean".into(),
            found: format!("at most {:.1} ({})", worst[0].2, overalls.join(", ")),
            holds: worst[0].2 < worst[RULES.len() - 1].2,
        },
    ])
}

/// Mean over seeds, in percent.
struct Scores {
    group: f64,
    overall: f64,
}

fn scores(trial: &Trial<'_>, method: &str, rule: &str, attack: Option<&str>) -> Result<Scores> {
    let name = attack.and_then(|attack| attack.split(' ').next()).unwrap_or("none");
    let folder = trial.place.join(format!("{method}-{rule}-{name}"));
    let attack = attack.map(|attack| format!("--set attack.kind={attack}")).unwrap_or_default();
    trial.program.finish(&format!(
        "run {} --method {method} --seeds 3 --quiet --set aggregation.rule={rule} {attack} --out \
         {}",
        trial.data,
        folder.display()
    ))?;
    let summary = summary(&folder)?;
    Ok(Scores {
        group: score(&summary, "hete_min_f1", &folder)?,
        overall: score(&summary, "overall_f1", &folder)?,
    })
}

/// The pooled mean of a metric in a summary; `folder` is for the error.
fn score(summary: &Value, metric: &str, folder: &Path) -> Result<f64> {
    summary["mean"][metric]["pooled"]
        .as_f64()
        .with_context(|| format!("{}: no {metric}", folder.display()))
}
