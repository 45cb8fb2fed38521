//! Detects a reader that never returns.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Limits the time between two resets; stops when it is dropped.
pub(crate) struct Watchdog {
    since: Arc<Mutex<Instant>>,
}

impl Watchdog {
    /// Calls `expired` once if [`Watchdog::reset`] is not called for longer than `limit`.
    pub(crate) fn start(limit: Duration, expired: impl FnOnce() + Send + 'static) -> Self {
        let since = Arc::new(Mutex::new(Instant::now()));
        let watched = Arc::downgrade(&since);
        thread::spawn(move || {
            // The watchdog was dropped if the value no longer exists.
            while let Some(since) = watched.upgrade() {
                if since.lock().is_ok_and(|since| since.elapsed() > limit) {
                    return expired();
                }
                drop(since);
                thread::sleep(limit / 50);
            }
        });
        Self { since }
    }

    /// Starts the time anew.
    pub(crate) fn reset(&self) {
        if let Ok(mut since) = self.since.lock() {
            *since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn it_expires_once_without_a_reset_and_never_otherwise() {
        let (sender, expiries) = channel();
        let watchdog =
            Watchdog::start(Duration::from_millis(200), move || sender.send(()).unwrap());
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(40));
            watchdog.reset();
        }
        assert!(expiries.try_recv().is_err());
        expiries.recv_timeout(Duration::from_secs(20)).unwrap();
        let (sender, expiries) = channel::<()>();
        drop(Watchdog::start(Duration::from_millis(50), move || sender.send(()).unwrap()));
        assert!(expiries.recv_timeout(Duration::from_secs(20)).is_err(), "dropped in time");
    }
}
