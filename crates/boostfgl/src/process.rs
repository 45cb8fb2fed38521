//! What the process has used: processor time and memory.

use std::time::Instant;

/// Measures from its making on.
pub(crate) struct Meter {
    wall: Instant,
    cpu: f64,
}

impl Meter {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_seconds() }
    }

    /// Seconds on the clock.
    pub(crate) fn wall(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    /// Processor seconds of all threads.
    pub(crate) fn cpu(&self) -> f64 {
        cpu_seconds() - self.cpu
    }
}

/// Processor time of the whole process so far; 0 where the system does not tell.
fn cpu_seconds() -> f64 {
    #[cfg(unix)]
    {
        clock(rustix::time::ClockId::ProcessCPUTime)
    }
    #[cfg(not(unix))]
    0.0
}

/// Processor time of the calling thread so far; 0 where the system does not tell.
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

/// The most memory this process has held, in MiB; 0 where the system does not tell (it does on
/// Linux).
pub(crate) fn peak_rss_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// Forgets earlier peaks, so that each of several runs in one process reports its own. Linux only;
/// elsewhere a later run may report an earlier one's peak.
pub(crate) fn reset_peak_rss() {
    // Failing is harmless: the figure is then an upper bound.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}
