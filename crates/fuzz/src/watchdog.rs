//! Notices a reader that never returns.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Watches how long one thing takes; ends with the value.
pub(crate) struct Watchdog {
    since: Arc<Mutex<Instant>>,
}

impl Watchdog {
    /// Calls `bark` once if more than `patience` goes by without a [`Watchdog::pat`].
    pub(crate) fn start(patience: Duration, bark: impl FnOnce() + Send + 'static) -> Self {
        let since = Arc::new(Mutex::new(Instant::now()));
        let watched = Arc::downgrade(&since);
        thread::spawn(move || {
            // The other side is gone once everything went well.
            while let Some(since) = watched.upgrade() {
                if since.lock().is_ok_and(|since| since.elapsed() > patience) {
                    return bark();
                }
                drop(since);
                thread::sleep(patience / 50);
            }
        });
        Self { since }
    }

    /// Something new begins.
    pub(crate) fn pat(&self) {
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
    fn it_barks_once_if_nothing_moves_and_never_otherwise() {
        let (sender, barks) = channel();
        let dog = Watchdog::start(Duration::from_millis(200), move || sender.send(()).unwrap());
        for _ in 0..10 {
            thread::sleep(Duration::from_millis(40));
            dog.pat();
        }
        assert!(barks.try_recv().is_err());
        barks.recv_timeout(Duration::from_secs(20)).unwrap();
        let (sender, barks) = channel::<()>();
        drop(Watchdog::start(Duration::from_millis(50), move || sender.send(()).unwrap()));
        assert!(barks.recv_timeout(Duration::from_secs(20)).is_err(), "gone without a bark");
    }
}
