//! Digests of files, and copies with a limit on their size.

use std::io::{self, Read, Write};
use std::path::Path;

use boostfgl_graph::{Error, Result};
use sha2::{Digest, Sha256};

/// The SHA-256 of a file in hexadecimal, read in pieces.
///
/// # Errors
/// If the file cannot be read.
pub fn sha256_of(path: &Path) -> Result<String> {
    let mut file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    let mut hashing = Hashing::new(io::sink());
    copy(&mut file, &mut hashing).map_err(|e| Error::io(path, e))?;
    Ok(hashing.finish().0)
}

/// Compares the digest of the file at `path` with that of the catalogue.
///
/// # Errors
/// [`Error::Checksum`] if they differ.
pub(super) fn compare(path: &Path, expected: Option<&str>, found: String) -> Result<()> {
    match expected {
        Some(expected) if !expected.eq_ignore_ascii_case(&found) => {
            Err(Error::Checksum { path: path.to_path_buf(), expected: expected.to_owned(), found })
        }
        _ => Ok(()),
    }
}

/// A writer that counts and hashes the bytes written.
pub(super) struct Hashing<W> {
    inner: W,
    hasher: Sha256,
    bytes: u64,
    most: u64,
}

impl<W: Write> Hashing<W> {
    pub(super) fn new(inner: W) -> Self {
        Self::within(inner, u64::MAX)
    }

    /// One that refuses to write more than `most` bytes.
    pub(super) fn within(inner: W, most: u64) -> Self {
        Self { inner, hasher: Sha256::new(), bytes: 0, most }
    }

    /// The digest in hexadecimal and the number of bytes.
    pub(super) fn finish(self) -> (String, u64) {
        let digest = self.hasher.finalize();
        (digest.iter().map(|byte| format!("{byte:02x}")).collect(), self.bytes)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if self.bytes.saturating_add(buffer.len() as u64) > self.most {
            let reason = format!(
                "expected at most {} bytes, more than the dataset can have, found more",
                self.most
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
        }
        let written = self.inner.write(buffer)?;
        self.hasher.update(&buffer[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// `io::copy` with a buffer large enough for hashing to keep up with the disk.
pub(super) fn copy(from: &mut dyn Read, to: &mut dyn Write) -> io::Result<u64> {
    let mut buffer = vec![0; 1 << 17];
    let mut total = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(read) => {
                to.write_all(&buffer[..read])?;
                total += read as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_of_abc() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_of(&path).unwrap(), expected);
        assert!(compare(&path, Some(&expected.to_uppercase()), expected.to_owned()).is_ok());
        assert!(compare(&path, Some("00"), expected.to_owned()).is_err());
    }
}
