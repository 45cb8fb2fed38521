//! What Ctrl-C does: the first lets the round finish and saves, the second leaves at once.

use crate::output;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static STOP: AtomicBool = AtomicBool::new(false);

/// The exit code of a program that was interrupted, as shells know it.
pub(crate) const INTERRUPTED: u8 = 130;

/// Requests that come within this time are one: Unix systems end a session by several signals in a
/// row.
const ONE_REQUEST: Duration = if cfg!(unix) { Duration::from_secs(1) } else { Duration::ZERO };

/// From now on, Ctrl-C (or the system's request to end) sets this flag and says so; once more ends
/// the program. Nothing on the disk is hurt by that: every file is whole or not there.
pub(crate) fn stop_flag() -> &'static AtomicBool {
    #[cfg(unix)]
    leave_at_second_ctrl_c();
    let mut first = None;
    on_request(move || {
        if first.is_some_and(|first: Instant| first.elapsed() > ONE_REQUEST) {
            std::process::exit(INTERRUPTED.into());
        }
        if first.is_none() {
            first = Some(Instant::now());
            STOP.store(true, Ordering::SeqCst);
            output::tell(
                "\nstopping: the round under way is finished and saved first; Ctrl-C again leaves \
                 at once",
            );
        }
    });
    &STOP
}

/// Has the second Ctrl-C end the program from within its signal handler: whatever a thread waits
/// for, even the one that says so on a terminal that takes no more.
#[cfg(unix)]
fn leave_at_second_ctrl_c() {
    use signal_hook::consts::SIGINT;
    use signal_hook::flag;
    if is_ignored(SIGINT) {
        return;
    }
    let heard = Arc::new(AtomicBool::new(false));
    // In this order: the first one finds the flag down, and raises it.
    let leaving =
        flag::register_conditional_shutdown(SIGINT, INTERRUPTED.into(), Arc::clone(&heard));
    if let Err(error) = leaving.and_then(|_| flag::register(SIGINT, heard)) {
        output::note(&format!("a second Ctrl-C may not leave at once: {error}"));
    }
}

/// From now on, Ctrl-C ends the program at once and says that `kept` is not lost.
pub(crate) fn say_when_interrupted(kept: &'static str) {
    on_request(move || {
        output::tell(&format!("\nstopped: {kept}"));
        std::process::exit(INTERRUPTED.into());
    });
}

/// Has `asked` called at every request to end: Ctrl-C, a closed terminal, the system's own. A
/// request that the program was started to ignore, as `nohup` and the background of a script do,
/// stays ignored; the others are heard all the same.
#[cfg(unix)]
fn on_request(mut asked: impl FnMut() + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
    match signal_hook::iterator::Signals::new(heard) {
        Ok(mut signals) => {
            drop(std::thread::spawn(move || signals.forever().for_each(|_| asked())))
        }
        // Then Ctrl-C ends the program, which can be resumed all the same.
        Err(error) => {
            output::note(&format!("Ctrl-C will not wait for the end of a round: {error}"))
        }
    }
}

#[cfg(not(unix))]
fn on_request(asked: impl FnMut() + Send + 'static) {
    if let Err(error) = ctrlc::set_handler(asked) {
        output::note(&format!("Ctrl-C will not wait for the end of a round: {error}"));
    }
}

/// Whether this process was started to ignore a signal; no where the system does not tell.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (mask >> (signal - 1)) & 1 == 1
}
