//! One of five clients attacks with updates that look honest: what is left of the worst group under
//! each rule.

use anyhow::{Context, Result};

use super::program::summary;
use super::{Finding, Trial};

/// What the attacker does. With five clients the own formula of alie gives z = 0, the mean of the
/// others.
const ATTACKS: [&str; 5] =
    ["label-flip", "sign-flip", "alie --set attack.strength=1.5", "free-rider", "trust-liar"];

/// The rule that is recommended comes first and is the one that is tested; then those that it is
/// compared with.
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
    let each = |pick: fn(&(&str, f64, f64)) -> f64, of: &[(&str, f64, f64)]| {
        of.iter().map(|row| format!("{} {:.1}", row.0, pick(row))).collect::<Vec<_>>().join(", ")
    };
    let attacks =
        format!("one attacker of five, {} attacks, FedAvg and BoostFGL, 3 seeds", ATTACKS.len());
    Ok(vec![
        Finding {
            what: format!("{attacks}: Hete-min-F1 under {}", RULES[0]),
            aim: format!("loses at most {BOUND} points"),
            found: format!("at most {:.1} ({})", worst[0].1, each(|row| row.1, &worst[1..])),
            holds: worst[0].1 <= BOUND,
        },
        Finding {
            what: format!("{attacks}: Overall-F1 under {}", RULES[0]),
            aim: "less than under the mean".into(),
            found: format!("at most {:.1} ({})", worst[0].2, each(|row| row.2, &worst[1..])),
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
    let score = |metric: &str| {
        summary["mean"][metric]["pooled"]
            .as_f64()
            .with_context(|| format!("{}: no {metric}", folder.display()))
    };
    Ok(Scores { group: score("hete_min_f1")?, overall: score("overall_f1")? })
}
