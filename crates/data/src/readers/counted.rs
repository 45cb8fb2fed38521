//! Counting the bytes that are read, for a display of progress.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that all readers of this process have read so far.
static READ: AtomicU64 = AtomicU64::new(0);

/// The number of bytes that readers have read from files since the program began. It only grows: the
/// difference of two values, over the size of the files, is the progress of reading them.
pub fn bytes_read() -> u64 {
    READ.load(Ordering::Relaxed)
}

/// A file whose bytes are counted as they are read.
#[derive(Debug)]
pub(crate) struct Counted<R>(pub(crate) R);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        READ.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_counts_every_byte() {
        let before = bytes_read();
        let mut text = String::new();
        Counted(&b"twelve bytes"[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "twelve bytes");
        // Other tests read at the same time.
        assert!(bytes_read() - before >= 12);
    }
}
