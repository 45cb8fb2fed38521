//! The cost of checkpoints, in turns with runs that save none.

use anyhow::Result;

use super::program::summary;
use super::{Finding, Trial};

/// Pairs of runs.
const TURNS: usize = 5;

pub(super) fn attempt(trial: &Trial<'_>) -> Result<Vec<Finding>> {
    // Long enough for several savings at the usual pace.
    let run =
        format!("run {} --method fedavg --rounds 1500 --seeds 1 --quiet --threads 1", trial.data);
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let mut took = Vec::new();
        for pace in ["off", "5"] {
            let folder = trial.place.join(format!("{turn}-{pace}"));
            trial
                .program
                .finish(&format!("{run} --checkpoint-seconds {pace} --out {}", folder.display()))?;
            let summary = summary(&folder)?;
            took.push(
                ["cpu_seconds", "wall_seconds"]
                    .map(|key| summary[key].as_f64().unwrap_or(f64::NAN)),
            );
        }
        cpu.push(took[1][0] / took[0][0]);
        wall.push(took[1][1] / took[0][1]);
    }
    let (cpu, wall) = (median_percent(cpu), median_percent(wall));
    Ok(vec![Finding {
        what: "checkpoints every 5 s against none, 1,500 rounds of FedAvg, median of 5 turns"
            .into(),
        aim: "under 3 % more processor time".into(),
        found: format!("{cpu:+.1} % processor time, {wall:+.1} % on the clock"),
        holds: cpu < 3.0,
    }])
}

/// The median of ratios, as the percentage above 1.
fn median_percent(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_by(f64::total_cmp);
    100.0 * (ratios[ratios.len() / 2] - 1.0)
}
