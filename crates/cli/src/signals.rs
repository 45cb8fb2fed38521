//! What Ctrl-C does: the first lets the round finish and saves, the second leaves at once.

use crate::output;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// The exit code of a program that was interrupted, as shells know it.
pub(crate) const INTERRUPTED: u8 = 130;

/// From now on, Ctrl-C (or the system's request to end) sets this flag and says so; once more ends the program. Nothing on
/// the disk is hurt by that: every file is whole or not there.
pub(crate) fn stop_flag() -> &'static AtomicBool {
    on_request(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(INTERRUPTED.into());
        }
        output::tell("\nstopping: the round under way is finished and saved first; Ctrl-C again leaves at once");
    });
    &STOP
}

/// From now on, Ctrl-C ends the program at once and says that `kept` is not lost.
pub(crate) fn say_when_interrupted(kept: &'static str) {
    on_request(move || {
        output::tell(&format!("\nstopped: {kept}"));
        std::process::exit(INTERRUPTED.into());
    });
}

/// Has `asked` called at every request to end: Ctrl-C, a closed terminal, the system's own. A request that the program was
/// started to ignore, as `nohup` and the background of a script do, stays ignored; the others are heard all the same.
#[cfg(unix)]
fn on_request(asked: impl Fn() + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let ignored = ignored();
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| (ignored >> (signal - 1)) & 1 == 0);
    match signal_hook::iterator::Signals::new(heard) {
        Ok(mut signals) => drop(std::thread::spawn(move || signals.forever().for_each(|_| asked()))),
        // Then Ctrl-C ends the program, which can be resumed all the same.
        Err(error) => output::note(&format!("Ctrl-C will not wait for the end of a round: {error}")),
    }
}

#[cfg(not(unix))]
fn on_request(asked: impl Fn() + Send + 'static) {
    if let Err(error) = ctrlc::set_handler(asked) {
        output::note(&format!("Ctrl-C will not wait for the end of a round: {error}"));
    }
}

/// The signals that this process ignores, the first in the lowest bit; none where the system does not tell.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
