//! CPU time and memory of the process.

use std::time::Instant;

/// Measures wall-clock and CPU time from its start.
pub(crate) struct Meter {
    wall: Instant,
    cpu: f64,
}

impl Meter {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_seconds() }
    }

    /// Wall-clock seconds.
    pub(crate) fn wall(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    /// CPU seconds of all threads.
    pub(crate) fn cpu(&self) -> f64 {
        cpu_seconds() - self.cpu
    }
}

/// CPU seconds of the whole process so far; 0 if the system does not report them.
fn cpu_seconds() -> f64 {
    #[cfg(unix)]
    {
        clock(rustix::time::ClockId::ProcessCPUTime)
    }
    #[cfg(not(unix))]
    0.0
}

/// CPU seconds of the calling thread so far; 0 if the system does not report them.
pub(crate) fn thread_cpu_seconds() -> f64 {
    #[cfg(unix)]
    {
        clock(rustix::time::ClockId::ThreadCPUTime)
    }
    #[cfg(not(unix))]
    0.0
}

#[cfg(unix)]
fn clock(id: rustix::time::ClockId) -> f64 {
    let time = rustix::time::clock_gettime(id);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The peak resident memory of this process in MiB; 0 if the system does not report it (Linux does).
pub(crate) fn peak_rss_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// Resets the peak, so that each of several runs in one process reports its own. Linux only;
/// elsewhere a run may report the peak of an earlier one.
pub(crate) fn reset_peak_rss() {
    // An error is ignored: the peak is then an upper bound.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
