//! How much memory an input takes, counted by the allocator.
//!
//! `boostfgl-fuzz` and the tests of this crate have [`PeakAlloc`] as their allocator. Where another
//! one is in place, as under cargo-fuzz, nothing is counted.

use peak_alloc::PeakAlloc;

/// What is allocated now, for [`Mark::most`] to be compared with.
pub(crate) struct Mark(usize);

impl Mark {
    pub(crate) fn set() -> Self {
        PeakAlloc.reset_peak_usage();
        Self(PeakAlloc.current_usage())
    }

    /// The most bytes that were allocated at once since, beyond those at the mark.
    pub(crate) fn most(&self) -> usize {
        PeakAlloc.peak_usage().saturating_sub(self.0)
    }
}

/// Whether anything is counted.
pub(crate) fn is_counted() -> bool {
    PeakAlloc.current_usage() > 0
}
