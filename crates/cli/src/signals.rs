//! Ctrl-C: the first finishes and saves the round, the second quits immediately.

use crate::output;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

static STOP: AtomicBool = AtomicBool::new(false);

/// The conventional exit code of an interrupted program.
pub(crate) const INTERRUPTED: u8 = 130;

/// Signals within this time count as one: Unix systems end a session with several in a row.
const ONE_REQUEST: Duration = if cfg!(unix) { Duration::from_secs(1) } else { Duration::ZERO };

/// From now on, Ctrl-C (or another termination signal) sets this flag and prints a message; a
/// second one ends the program. That is safe, since every write is atomic.
pub(crate) fn stop_flag() -> &'static AtomicBool {
    #[cfg(unix)]
    quit_at_second_ctrl_c();
    let mut first = None;
    on_request(move || {
        if first.is_some_and(|first: Instant| first.elapsed() > ONE_REQUEST) {
            std::process::exit(INTERRUPTED.into());
        }
        if first.is_none() {
            first = Some(Instant::now());
            STOP.store(true, Ordering::SeqCst);
            output::print_stderr(
                "\nstopping after this round is saved; press Ctrl-C again to quit immediately",
            );
        }
    });
    &STOP
}

/// Makes the second Ctrl-C end the program from within the signal handler, so that it works even
/// if every thread is blocked, for example on a full terminal.
#[cfg(unix)]
fn quit_at_second_ctrl_c() {
    use signal_hook::consts::SIGINT;
    use signal_hook::flag;
    if is_ignored(SIGINT) {
        return;
    }
    let first_received = Arc::new(AtomicBool::new(false));
    // In this order: the first signal finds the flag unset and then sets it.
    let quitting = flag::register_conditional_shutdown(
        SIGINT,
        INTERRUPTED.into(),
        Arc::clone(&first_received),
    );
    if let Err(error) = quitting.and_then(|_| flag::register(SIGINT, first_received)) {
        output::note(&format!("a second Ctrl-C may not quit immediately: {error}"));
    }
}

/// From now on, Ctrl-C ends the program at once and prints what was saved.
pub(crate) fn quit_with_note(saved: &'static str) {
    on_request(move || {
        output::print_stderr(&format!("\nstopped: {saved}"));
        std::process::exit(INTERRUPTED.into());
    });
}

/// Calls `handler` at every termination signal: Ctrl-C, a closed terminal, the system's own. A
/// signal that the program was started to ignore, as with `nohup` or in the background of a
/// script, stays ignored.
#[cfg(unix)]
fn on_request(mut handler: impl FnMut() + Send + 'static) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let handled = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
    match signal_hook::iterator::Signals::new(handled) {
        Ok(mut signals) => {
            drop(std::thread::spawn(move || signals.forever().for_each(|_| handler())));
        }
        // Then Ctrl-C ends the program at once; the run can still be resumed.
        Err(error) => {
            output::note(&format!("Ctrl-C will not wait for the end of a round: {error}"));
        }
    }
}

#[cfg(not(unix))]
fn on_request(handler: impl FnMut() + Send + 'static) {
    if let Err(error) = ctrlc::set_handler(handler) {
        output::note(&format!("Ctrl-C will not wait for the end of a round: {error}"));
    }
}

/// Whether this process was started to ignore a signal; `false` where the system has no /proc.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (mask >> (signal - 1)) & 1 == 1
}
