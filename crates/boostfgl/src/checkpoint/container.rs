//! The container of checkpoint files: a magic string at the front, length and BLAKE3 at the end.
//!
//! ```text
//! "boostfgl state 1\n" │ content │ length of the content, u64 │ BLAKE3 of all before, 32 bytes
//! ```
//!
//! A flipped bit, a truncated file and a file of another kind or version are all refused, each with
//! its own message.

use crate::{Error, Result};
use blake3::Hasher;
use boostfgl_nn::StateVisitor;
use boostfgl_report::AtomicFile;
use std::io::{self, Write};
use std::path::Path;

const MAGIC: &[u8] = b"boostfgl state 1\n";
const LENGTH: usize = size_of::<u64>();
const HASH: usize = blake3::OUT_LEN;

/// Writes a file atomically.
///
/// # Errors
/// If it cannot be written; then an earlier file of that name is left as it was.
pub(crate) fn write(
    path: &Path,
    save: impl FnOnce(&mut StateVisitor<'_>) -> boostfgl_nn::Result<()>,
) -> Result<()> {
    let mut file =
        HashingWriter { file: AtomicFile::create(path)?, hasher: Hasher::new(), length: 0 };
    file.write_all(MAGIC).map_err(|source| io_error(path, source))?;
    save(&mut StateVisitor::saving(&mut file)).map_err(|error| match error {
        boostfgl_nn::Error::Saving(source) => io_error(path, source),
        other => Error::from(other),
    })?;
    // Length and hash come last, so that the state is streamed to the file and never held in
    // memory as a whole.
    let length = (file.length - MAGIC.len()) as u64;
    file.write_all(&length.to_le_bytes()).map_err(|source| io_error(path, source))?;
    let hash = file.hasher.finalize();
    // The hash does not cover itself: it is written to the file below the hashing writer.
    let mut file = file.file;
    file.write_all(hash.as_bytes()).map_err(|source| io_error(path, source))?;
    Ok(file.finish()?)
}

fn io_error(path: &Path, source: io::Error) -> Error {
    boostfgl_report::Error::io(path, source).into()
}

/// The content of a file, for a visitor to restore from.
///
/// # Errors
/// If it cannot be read, is of another kind or version, is truncated, or is corrupted.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = std::fs::read(path).map_err(|source| io_error(path, source))?;
    let body =
        content_length(&bytes).map_err(|reason| boostfgl_report::Error::malformed(path, reason))?;
    let range = MAGIC.len()..MAGIC.len() + body;
    // In place: a copy would double the memory that restoring a large state takes.
    bytes.truncate(range.end);
    bytes.drain(..range.start);
    Ok(bytes)
}

/// The length of the content if the file is intact, otherwise the reason why it is not.
fn content_length(bytes: &[u8]) -> Result<usize, String> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        let magic = MAGIC.escape_ascii();
        return Err(format!(
            "expected a file that begins with \"{magic}\", found another kind or version"
        ));
    };
    let content = rest.len().checked_sub(LENGTH + HASH);
    let (Some(length), Some((hashed, hash))) = (content, bytes.split_last_chunk::<HASH>()) else {
        let (least, found) = (MAGIC.len() + LENGTH + HASH, bytes.len());
        return Err(format!(
            "expected at least {least} bytes, found {found}: the file is truncated"
        ));
    };
    // The hash is checked first: if a bit was flipped, the length may be wrong too, and a message
    // about it would be misleading.
    let found = blake3::hash(hashed);
    if found.as_bytes() != hash {
        let expected = blake3::Hash::from(*hash).to_hex();
        return Err(format!(
            "expected content of BLAKE3 {}…, found {}…: the file is truncated or corrupted",
            &expected[..12],
            &found.to_hex()[..12]
        ));
    }
    let claimed = hashed.last_chunk::<LENGTH>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    if claimed != length as u64 {
        return Err(format!("expected {claimed} bytes of content, found {length}"));
    }
    Ok(length)
}

/// Counts and hashes the bytes that it passes on.
struct HashingWriter {
    file: AtomicFile,
    hasher: Hasher,
    length: usize,
}

impl Write for HashingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.length += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(path: &Path, numbers: &[f64]) {
        write(path, |visitor| visitor.visit("numbers", &mut numbers.to_vec())).unwrap();
    }

    /// The error names the file.
    #[test]
    fn every_flipped_bit_truncation_and_extra_byte_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        numbers(&path, &[1.5, -0.25]);
        let intact = std::fs::read(&path).unwrap();
        let mut restored = vec![0.0; 0];
        StateVisitor::restoring(&read(&path).unwrap()).visit("numbers", &mut restored).unwrap();
        assert_eq!(restored, [1.5, -0.25]);
        let check = |bytes: &[u8], what: String| {
            std::fs::write(&path, bytes).unwrap();
            let error = read(&path).expect_err(&what).to_string();
            assert!(error.starts_with(&path.display().to_string()), "{what}: {error}");
        };
        for at in 0..intact.len() {
            for bit in 0..8 {
                let mut bytes = intact.clone();
                bytes[at] ^= 1 << bit;
                check(&bytes, format!("bit {bit} of byte {at}"));
            }
            check(&intact[..at], format!("truncated at {at}"));
        }
        check(&[&intact[..], b"\n"].concat(), "one byte more".into());
        check(&[&intact[..], &intact[..]].concat(), "twice".into());
    }

    #[test]
    fn a_failed_write_leaves_the_earlier_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        numbers(&path, &[1.0]);
        let before = std::fs::read(&path).unwrap();
        let failed = write(&path, |visitor| {
            visitor.visit("half", &mut 1.0)?;
            Err(visitor.mismatch("one thing", "another"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
