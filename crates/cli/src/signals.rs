//! What Ctrl-C does: the first lets the round finish and saves, the second leaves at once.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// The exit code of a program that was interrupted, as shells know it.
pub(crate) const INTERRUPTED: u8 = 130;

/// From now on, Ctrl-C (or the system's request to end) sets this flag and says so; once more ends the program. Nothing on
/// the disk is hurt by that: every file is whole or not there.
pub(crate) fn stop_flag() -> &'static AtomicBool {
    let asked = ctrlc::try_set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(INTERRUPTED.into());
        }
        eprintln!("\nstopping: the round under way is finished and saved first; Ctrl-C again leaves at once");
    });
    // Without a handler Ctrl-C ends the program, which can be resumed all the same.
    let _ = asked;
    &STOP
}

/// From now on, Ctrl-C ends the program at once and says that `kept` is not lost.
pub(crate) fn say_when_interrupted(kept: &'static str) {
    let asked = ctrlc::try_set_handler(move || {
        eprintln!("\nstopped: {kept}");
        std::process::exit(INTERRUPTED.into());
    });
    let _ = asked;
}
