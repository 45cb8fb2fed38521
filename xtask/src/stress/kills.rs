//! kill −9 at random instants: every resumed run has the digest of an undisturbed one.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::draw::Draw;
use super::program::digest;
use super::{Finding, Trial};

/// A checkpoint is saved after this many rounds: no more of them may be lost.
const EVERY: usize = 5;

pub(super) fn attempt(trial: &Trial<'_>) -> Result<Vec<Finding>> {
    let size = if trial.short {
        "--rounds 12 --seeds 1 --set model.hidden=16"
    } else {
        "--rounds 50 --seeds 2"
    };
    let run =
        format!("run {} --method boostfgl {size} --quiet --checkpoint-rounds {EVERY}", trial.data);
    let whole = trial.place.join("whole");
    trial.program.finish(&format!("{run} --out {}", whole.display()))?;
    // The second run is timed: the first one may have read the data from a cold disk.
    let begun = Instant::now();
    trial.program.finish(&format!("{run} --out {} --overwrite", whole.display()))?;
    let (wanted, length) = (digest(&whole)?, begun.elapsed());
    let mut tally = Tally::default();
    let mut draw = Draw::new(trial.seed);
    for number in 0..trial.kills {
        let share = draw.share();
        let folder = trial.place.join(format!("killed-{number}"));
        tally.add(
            kill_and_resume(trial, &run, &folder, length.mul_f64(share))?,
            &wanted,
            &folder,
        )?;
    }
    Ok(vec![
        Finding {
            what: "kill −9 at a random instant, then resume".into(),
            aim: format!("{0}/{0} with the digest of the undisturbed run", trial.kills),
            found: format!(
                "{}/{} ({} before anything was saved, {} from a saved state, {} after the end)",
                tally.same, trial.kills, tally.early, tally.middle, tally.late
            ),
            holds: tally.same == trial.kills,
        },
        Finding {
            what: "rounds lost by a kill".into(),
            aim: format!("at most the {EVERY} that were not saved"),
            found: format!("at most {}", tally.lost),
            // The round under way is lost, too, but was not recorded.
            holds: tally.lost <= EVERY,
        },
    ])
}

/// When a kill happened.
#[derive(Clone, Copy)]
enum Hit {
    /// The run had ended.
    Late,
    /// The number of recorded rounds, and how many of them were run again.
    Stopped { saved: bool, lost: usize },
}

#[derive(Default)]
struct Tally {
    same: usize,
    early: usize,
    middle: usize,
    late: usize,
    lost: usize,
}

impl Tally {
    fn add(&mut self, hit: Hit, wanted: &str, folder: &Path) -> Result<()> {
        match hit {
            Hit::Late => self.late += 1,
            Hit::Stopped { saved, lost } => {
                *if saved { &mut self.middle } else { &mut self.early } += 1;
                if saved {
                    self.lost = self.lost.max(lost);
                }
            }
        }
        self.same += usize::from(digest(folder)? == wanted);
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))
    }
}

fn kill_and_resume(trial: &Trial<'_>, run: &str, folder: &Path, after: Duration) -> Result<Hit> {
    let mut child = trial.program.start(&format!("{run} --out {}", folder.display()))?;
    sleep(after);
    child.kill().context("cannot kill the program")?;
    child.wait().context("cannot wait for the program")?;
    if folder.join("summary.json").exists() {
        return Ok(Hit::Late);
    }
    if !folder.join("config.toml").exists() || !folder.join("checkpoint/run").exists() {
        // It was killed before the run began, while it read the data or created the folder.
        trial.program.finish(&format!("{run} --out {} --overwrite", folder.display()))?;
        return Ok(Hit::Stopped { saved: false, lost: 0 });
    }
    let recorded = lines(folder);
    let saved = newest_saved(folder);
    if saved.is_some_and(|saved| saved > recorded) {
        bail!("{}: a state counts {saved:?} rounds, but {recorded} are recorded", folder.display());
    }
    trial.program.finish(&format!("resume {} --quiet", folder.display()))?;
    Ok(Hit::Stopped { saved: saved.is_some(), lost: recorded - saved.unwrap_or(recorded) })
}

/// The number of complete lines of rounds.jsonl.
fn lines(folder: &Path) -> usize {
    let text = fs::read(folder.join("rounds.jsonl")).unwrap_or_default();
    text.iter().filter(|byte| **byte == b'\n').count()
}

/// The number of rounds of all seeds in the newest saved state, from its file name.
fn newest_saved(folder: &Path) -> Option<usize> {
    let names = fs::read_dir(folder.join("checkpoint")).ok()?.flatten();
    let known = names.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let (seed, round) =
            name.strip_prefix("seed-")?.strip_suffix(".state")?.split_once("-round-")?;
        Some((seed.parse::<usize>().ok()?, round.parse::<usize>().ok()?))
    });
    let (seed, round) = known.max()?;
    let rounds = fs::read_to_string(folder.join("config.toml")).ok()?;
    let rounds =
        rounds.lines().find_map(|line| line.strip_prefix("rounds = ")?.parse::<usize>().ok())?;
    Some(seed * rounds + round)
}
