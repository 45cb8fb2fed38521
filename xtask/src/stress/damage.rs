//! A flipped bit or a truncated file in the folder of a stopped or finished run: the damage is
//! reported, and the digest stays the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::draw::Draw;
use super::program::digest;
use super::{Finding, Trial};

pub(super) fn attempt(trial: &Trial<'_>) -> Result<Vec<Finding>> {
    let times = if trial.short { 6 } else { trial.kills };
    // Enough rounds that a slow machine does not finish the second seed before the request to end
    // arrives.
    let size = if trial.short { "--rounds 40 --set model.hidden=16" } else { "--rounds 20" };
    let run = format!(
        "run {} --method boostfgl {size} --seeds 2 --quiet --checkpoint-rounds 1",
        trial.data
    );
    let whole = trial.place.join("whole");
    trial.program.finish(&format!("{run} --out {}", whole.display()))?;
    let mut draw = Draw::new(trial.seed ^ 0xDA);
    Ok(vec![
        stopped(trial, &run, &whole, times, &mut draw)?,
        finished(trial, &whole, times, &mut draw)?,
    ])
}

/// Damages a file of a stopped run, and resumes it.
fn stopped(
    trial: &Trial<'_>,
    run: &str,
    whole: &Path,
    times: usize,
    draw: &mut Draw,
) -> Result<Finding> {
    let wanted = digest(whole)?;
    let origin = trial.place.join("stopped");
    interrupt(trial, run, &origin)?;
    let (mut noted, mut refused) = (0, 0);
    for _ in 0..times {
        let folder = trial.place.join("damaged");
        copy(&origin, &folder)?;
        let hit = damage(&folder, draw)?;
        let output = trial.program.command(&format!("resume {} --quiet", folder.display()));
        let (code, stderr) = code_and_output(output)?;
        let named = stderr.contains(&hit.name);
        match code {
            Some(0) if digest(&folder)? != wanted => bail!("{hit}: another digest:\n{stderr}"),
            // Blanks and comments of a text file may change without harm.
            Some(0) if named || hit.name == "config.toml" => noted += 1,
            Some(1 | 2) if named => refused += 1,
            code => bail!("{hit}: expected it to be named, found (exit code {code:?}):\n{stderr}"),
        }
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(Finding {
        what: "a bit flipped or a cut at a random place of what a stopped run left, then resume"
            .into(),
        aim: "named; the same digest or an error".into(),
        found: format!("{times}/{times} ({noted} passed over and done again, {refused} refused)"),
        holds: true,
    })
}

/// Damages a file of a finished run, and reads it.
fn finished(trial: &Trial<'_>, whole: &Path, times: usize, draw: &mut Draw) -> Result<Finding> {
    for _ in 0..times {
        let folder = trial.place.join("damaged");
        copy(whole, &folder)?;
        let hit = damage(&folder, draw)?;
        let page = trial.place.join("page.html");
        let command = format!("report {} --out {}", folder.display(), page.display());
        let (_, stderr) = code_and_output(trial.program.command(&command))?;
        let shown = fs::read_to_string(&page).unwrap_or_default();
        // A damaged line of the checksums is reported with the file that it belongs to.
        let reports = [format!("{}: ", hit.name), format!("that {} names", hit.name)];
        if !reports.iter().any(|text| stderr.contains(text) || shown.contains(text)) {
            bail!("{hit}: expected it to be named, found:\n{stderr}");
        }
        let _ = fs::remove_file(&page);
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(Finding {
        what: "the same of a finished run, then a report of it".into(),
        aim: "named".into(),
        found: format!("{times}/{times}"),
        holds: true,
    })
}

/// A damaged file and its damage.
struct Damage {
    name: String,
    how: String,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.name, self.how)
    }
}

/// Flips a bit of a random file in a folder, or truncates the file.
fn damage(folder: &Path, draw: &mut Draw) -> Result<Damage> {
    let mut files = files(folder)?;
    files.sort();
    let path = &files[draw.below(files.len())];
    let mut bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let at = draw.below(bytes.len());
    let how = if draw.below(4) == 0 {
        bytes.truncate(at);
        format!("cut to {at} bytes")
    } else {
        let bit = draw.below(8);
        bytes[at] ^= 1 << bit;
        format!("bit {bit} of byte {at} flipped")
    };
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Damage { name, how })
}

/// Starts a run and stops it in the middle of its second seed. SIGTERM is used, since the program
/// ignores Ctrl-C if it is started in the background of a script.
fn interrupt(trial: &Trial<'_>, run: &str, folder: &Path) -> Result<()> {
    let mut child = trial.program.start(&format!("{run} --out {}", folder.display()))?;
    let end = Instant::now() + Duration::from_secs(100);
    while !folder.join("checkpoint/seed-00000.done").exists() {
        if Instant::now() > end || child.try_wait()?.is_some() {
            let _ = child.kill();
            bail!("{}: expected a run that can be stopped in its second seed", folder.display());
        }
        sleep(Duration::from_millis(1));
    }
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    sent.context("cannot ask the program to end (the command `kill`)")?;
    let status = child.wait()?;
    if status.code() != Some(130) {
        bail!("{}: expected a stopped run (exit code 130), found {status}", folder.display());
    }
    Ok(())
}

fn code_and_output(mut command: Command) -> Result<(Option<i32>, String)> {
    let output = command
        .stderr(std::process::Stdio::piped())
        .output()
        .context("cannot start the program")?;
    Ok((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// All files below a folder that are not empty.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path())?);
        } else if entry.metadata()?.len() > 0 {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    for path in files(from)? {
        let place = to.join(path.strip_prefix(from)?);
        fs::create_dir_all(place.parent().unwrap_or(to))?;
        fs::copy(&path, &place).with_context(|| format!("cannot copy {}", path.display()))?;
    }
    Ok(())
}
