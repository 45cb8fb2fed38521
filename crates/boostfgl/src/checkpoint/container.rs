//! Files that know whether they are whole: a mark at the front, length and BLAKE3 at the end.
//!
//! ```text
//! "boostfgl state 1\n" │ what a visitor took down │ length of that, u64 │ BLAKE3 of all before it, 32 bytes
//! ```
//!
//! A byte that flipped, a file that was cut and a file of another kind are told from a whole one,
//! and the message says which it is.

use crate::{Error, Result};
use blake3::Hasher;
use boostfgl_nn::StateVisitor;
use boostfgl_report::AtomicFile;
use std::io::{self, Write};
use std::path::Path;

const MARK: &[u8] = b"boostfgl state 1\n";
const LENGTH: usize = size_of::<u64>();

/// Writes a file that is whole or not there.
///
/// # Errors
/// If the system refuses; then whatever had the name still has it.
pub(super) fn write(
    path: &Path,
    take_down: impl FnOnce(&mut StateVisitor<'_>) -> boostfgl_nn::Result<()>,
) -> Result<()> {
    let failed = |source: io::Error| boostfgl_report::Error::io(path, source);
    let mut file = Sealing { file: AtomicFile::create(path)?, hasher: Hasher::new(), length: 0 };
    file.write_all(MARK).map_err(failed)?;
    take_down(&mut StateVisitor::saving(&mut file)).map_err(|error| match error {
        boostfgl_nn::Error::Saving(source) => failed(source).into(),
        other => Error::from(other),
    })?;
    let length = (file.length - MARK.len()) as u64;
    file.write_all(&length.to_le_bytes()).map_err(failed)?;
    let hash = file.hasher.finalize();
    let mut whole = file.file;
    whole.write_all(hash.as_bytes()).map_err(failed)?;
    Ok(whole.finish()?)
}

/// What a whole file holds, for a visitor to put back.
///
/// # Errors
/// If it cannot be read, is of another kind, was cut, or differs from what was written.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes =
        std::fs::read(path).map_err(|source| boostfgl_report::Error::io(path, source))?;
    let body = open(&bytes).map_err(|reason| boostfgl_report::Error::malformed(path, reason))?;
    let range = MARK.len()..MARK.len() + body;
    bytes.truncate(range.end);
    bytes.drain(..range.start);
    Ok(bytes)
}

/// The length of what is between mark and end.
fn open(bytes: &[u8]) -> Result<usize, String> {
    let Some(rest) = bytes.strip_prefix(MARK) else {
        let mark = MARK.escape_ascii();
        return Err(format!(
            "expected a file that begins with \"{mark}\", found another kind or version"
        ));
    };
    let cut = |least: usize| {
        format!("expected at least {least} bytes, found {}: the file was cut", bytes.len())
    };
    let (sealed, hash) =
        bytes.split_last_chunk::<32>().ok_or_else(|| cut(MARK.len() + LENGTH + 32))?;
    let length =
        rest.len().checked_sub(LENGTH + 32).ok_or_else(|| cut(MARK.len() + LENGTH + 32))?;
    let found = blake3::hash(sealed);
    if found.as_bytes() != hash {
        let expected = blake3::Hash::from(*hash).to_hex();
        return Err(format!(
            "expected content of BLAKE3 {}…, found {}…: the file was cut or changed",
            &expected[..12],
            &found.to_hex()[..12]
        ));
    }
    let claimed = sealed.last_chunk::<LENGTH>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    if claimed != length as u64 {
        return Err(format!("expected {claimed} bytes of content, found {length}"));
    }
    Ok(length)
}

/// Counts and hashes what passes.
struct Sealing {
    file: AtomicFile,
    hasher: Hasher,
    length: usize,
}

impl Write for Sealing {
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

    /// Every byte flipped in every bit, every truncation and every byte too many: an error that
    /// names the file.
    #[test]
    fn whatever_happened_to_a_file_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        numbers(&path, &[1.5, -0.25]);
        let whole = std::fs::read(&path).unwrap();
        let mut restored = vec![0.0; 0];
        StateVisitor::restoring(&read(&path).unwrap()).visit("numbers", &mut restored).unwrap();
        assert_eq!(restored, [1.5, -0.25]);
        let check = |bytes: &[u8], what: String| {
            std::fs::write(&path, bytes).unwrap();
            let error = read(&path).expect_err(&what).to_string();
            assert!(error.starts_with(&path.display().to_string()), "{what}: {error}");
        };
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                check(&bytes, format!("bit {bit} of byte {at}"));
            }
            check(&whole[..at], format!("cut at {at}"));
        }
        check(&[&whole[..], b"\n"].concat(), "one byte more".into());
        check(&[&whole[..], &whole[..]].concat(), "twice".into());
    }

    #[test]
    fn a_file_that_could_not_be_written_leaves_the_old_one() {
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
