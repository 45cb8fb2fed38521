//! The replacement of `faults` in builds without fault injection.

use std::io;

use crate::Call;

/// Allows every call; for a write, all of its bytes.
#[inline(always)]
pub(crate) fn pass(call: Call<'_>) -> io::Result<usize> {
    match call {
        Call::Write(_, bytes) => Ok(bytes),
        _ => Ok(0),
    }
}
