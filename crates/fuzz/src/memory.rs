//! The memory that an input takes, counted by the allocator.
//!
//! `boostfgl-fuzz` and the tests of this crate use [`PeakAlloc`] as their allocator. With another
//! one, as under cargo-fuzz, nothing is counted.

use peak_alloc::PeakAlloc;

/// The memory in use at some moment, with which [`Mark::most`] compares.
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
