//! Every method, every boost and every backbone on 1, 2, 4 and 8 threads, with and without
//! diagnostics: one digest each.

use anyhow::Result;

use super::program::digest;
use super::{Finding, Trial};
use crate::listed::Listed;

/// Settings that shorten slow methods.
const FEW: &str = "--rounds 3 --seeds 1 --quiet --set methods.adafgl.personal_epochs=3 --set \
    methods.fedsage-plus.gen_epochs=2 \
                   --set methods.fedsage-plus.wide=64 --set methods.fedtad.repetitions=1";

/// Flags that must not change a digest.
const FLAGS: [&str; 4] =
    ["--threads 1", "--threads 2", "--threads 4", "--threads 8 --diagnostics all"];

pub(super) fn attempt(trial: &Trial<'_>) -> Result<Vec<Finding>> {
    let (cases, methods) = cases(trial)?;
    let (mut runs, mut odd) = (0, Vec::new());
    for (number, case) in cases.iter().enumerate() {
        let mut first = None;
        for flags in FLAGS {
            let folder = trial.place.join(format!("{number}-{runs}"));
            let hidden = if trial.short { "--set model.hidden=16" } else { "" };
            trial.program.finish(&format!(
                "run {} {case} {FEW} {hidden} {flags} --out {}",
                trial.data,
                folder.display()
            ))?;
            let found = digest(&folder)?;
            runs += 1;
            if *first.get_or_insert_with(|| found.clone()) != found {
                odd.push(format!("{case} {flags}"));
            }
        }
    }
    let few = if trial.short {
        "some of them"
    } else {
        "with its own boosts and with all, FedAvg on every backbone"
    };
    Ok(vec![Finding {
        what: format!(
            "{methods} methods ({few}) on 1, 2, 4, 8 threads, the last watched by all diagnostics"
        ),
        aim: "one digest each".into(),
        found: if odd.is_empty() {
            format!("{runs} runs, {} digests", cases.len())
        } else {
            odd.join(", ")
        },
        holds: odd.is_empty(),
    }])
}

/// The cases to run, and the number of methods.
fn cases(trial: &Trial<'_>) -> Result<(Vec<String>, usize)> {
    let listed = Listed::of(trial.program)?;
    if trial.short {
        return Ok((
            vec!["--method fedavg".into(), "--method boostfgl".into()],
            listed.methods.len(),
        ));
    }
    let mut cases = Vec::new();
    for method in &listed.methods {
        cases.push(format!("--method {}", method.name));
        if method.taken.len() > method.own_boosts {
            cases.push(format!("--method {} --boost {}", method.name, method.taken.join(",")));
        }
    }
    // All methods have already been run on the first backbone.
    cases.extend(
        listed.backbones[1..]
            .iter()
            .map(|name| format!("--method fedavg --set model.backbone={name}")),
    );
    Ok((cases, listed.methods.len()))
}
