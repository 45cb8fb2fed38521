//! How much memory this process has held.

use std::fs;

/// Forgets the peak so far; systems other than Linux do not tell.
pub(crate) fn forget_peak() {
    drop(fs::write("/proc/self/clear_refs", "5"));
}

/// The peak since, in KiB.
pub(crate) fn peak_kib() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}
