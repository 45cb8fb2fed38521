//! The disk as it is, for builds without faults.

use std::io;

use crate::Call;

/// Lets every call through, a write with all of its bytes.
#[inline(always)]
pub(crate) fn pass(call: Call<'_>) -> io::Result<usize> {
    match call {
        Call::Write(_, bytes) => Ok(bytes),
        _ => Ok(0),
    }
}
