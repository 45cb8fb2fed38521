//! The time a child process takes, as the operating system counts it.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::shell::shown;

/// The time that one child took, from its start to its end.
pub(crate) struct Taken {
    pub(crate) wall_seconds: f64,
    /// User and system time of the child and all its threads; `None` where there is no /proc.
    pub(crate) cpu_seconds: Option<f64>,
}

/// Runs one child at a time; what it prints goes to `log`, whose end is shown if it fails.
///
/// The CPU time is what /proc counts for children that have ended. So it is independent of the
/// measured program, and includes its start and its exit.
pub(crate) fn run(command: &mut Command, log: &Path) -> Result<Taken> {
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);

    let before = ended_children_ticks();
    let begun = Instant::now();
    let status = command.status().with_context(|| format!("cannot start `{}`", shown(command)))?;
    let wall_seconds = begun.elapsed().as_secs_f64();
    let after = ended_children_ticks();

    if !status.success() {
        let text = fs::read_to_string(log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let end = lines[lines.len().saturating_sub(20)..].join("\n  ");
        bail!("`{}` failed ({status}); the end of {}:\n  {end}", shown(command), log.display());
    }
    let cpu_seconds =
        before.zip(after).map(|(before, after)| (after - before) as f64 / TICKS_PER_SECOND);
    Ok(Taken { wall_seconds, cpu_seconds })
}

fn ended_children_ticks() -> Option<u64> {
    parse_stat(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// `cutime + cstime`, fields 16 and 17 of /proc/PID/stat.
fn parse_stat(stat: &str) -> Option<u64> {
    // The second field is the program's name in brackets and may hold spaces; the rest begins at
    // field 3.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(13);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// Linux reports times to programs in hundredths of a second (`USER_HZ`), whatever its inner clock.
const TICKS_PER_SECOND: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_ended_children_are_read_past_an_odd_program_name() {
        let stat = "12 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 250 75 20 0 1 0";
        assert_eq!(parse_stat(stat), Some(325));
        assert_eq!(parse_stat("12 (short) S 1 2"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_busy_child_is_charged_for_its_time() {
        let log = std::env::temp_dir().join(format!("xtask-measure-{}.log", std::process::id()));
        let mut busy = Command::new("sh");
        busy.args(["-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done"]);
        let taken = run(&mut busy, &log).unwrap();
        assert_eq!(fs::read_to_string(&log).unwrap(), "done\n");
        let mut failing = Command::new("sh");
        failing.args(["-c", "echo the reason >&2; exit 3"]);
        let error =
            run(&mut failing, &log).err().map(|error| error.to_string()).unwrap_or_default();
        fs::remove_file(&log).unwrap();

        // No upper bound: under `cargo test` the children of other tests count as well.
        assert!(taken.cpu_seconds.is_some_and(|cpu| cpu > 0.0), "{:?} CPU s", taken.cpu_seconds);
        assert!(error.contains("the reason"), "{error}");
    }
}
