//! A live, read-only page over run folders.
