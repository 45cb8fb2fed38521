//! A limit on the bytes that a packed file may unpack to.
//!
//! Deflate can make a thousand bytes of one, and a zip archive can name the same bytes many times,
//! so the size of a file alone says little about the memory that reading it takes. All that is
//! unpacked from an archive, or from the packed tables of a folder, is therefore paid from one
//! budget of 32 MiB and 128 times the packed bytes. What counts is the larger of the bytes unpacked
//! and the numbers kept of them; a reader holds at most a few copies of these.
//!
//! Of the published files the tightest is chameleon.npz, dense bags of words, which takes two
//! fifths of its budget (122 times its size, 21.8 MB); most take a few hundredths.

use std::cell::Cell;

/// The number of bytes that may still be unpacked.
#[derive(Debug)]
pub(crate) struct Budget {
    granted: Cell<u64>,
    spent: Cell<u64>,
}

impl Budget {
    /// The budget before any packed file was opened.
    pub(crate) fn new() -> Self {
        Self { granted: Cell::new(BASE), spent: Cell::new(0) }
    }

    /// Adds what a file of `packed` bytes may unpack to.
    pub(crate) fn admit(&self, packed: u64) {
        self.granted.set(self.granted.get().saturating_add(packed.saturating_mul(RATIO)));
    }

    /// Bytes that may still be unpacked.
    pub(crate) fn left(&self) -> u64 {
        self.granted.get().saturating_sub(self.spent.get())
    }

    /// Pays for some bytes; the error is what was expected and what was found.
    pub(crate) fn pay(&self, bytes: u64) -> Result<(), (String, String)> {
        self.spent.set(self.spent.get().saturating_add(bytes));
        let (granted, spent) = (self.granted.get(), self.spent.get());
        if spent <= granted {
            return Ok(());
        }
        let expected = format!(
            "at most {granted} bytes unpacked in all (32 MiB and {RATIO} times the packed bytes)"
        );
        Err((expected, format!("at least {spent}")))
    }
}

/// The bytes that a file of any size may unpack to.
const BASE: u64 = 32 << 20;

/// The bytes that every packed byte may unpack to in addition.
const RATIO: u64 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paid_bytes_reduce_the_budget() {
        let budget = Budget::new();
        budget.admit(2);
        assert_eq!(budget.left(), (32 << 20) + 256);
        budget.pay((32 << 20) + 256).unwrap();
        let (expected, found) = budget.pay(1).unwrap_err();
        assert!(
            expected.starts_with("at most 33554688 bytes unpacked in all (32 MiB and 128 times"),
            "{expected}"
        );
        assert_eq!(found, "at least 33554689");
        budget.admit(u64::MAX);
        assert!(budget.pay(u64::MAX).is_ok());
    }
}
