//! Writing `rounds.jsonl` during a run.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use boostfgl_disk::AppendFile;
use serde::Serialize;

use crate::{Error, Result};

/// Appends one line of JSON per seed and round.
///
/// This is the only file that has its final name while it grows, so that other programs can follow
/// a run. Every line is passed to the system at once, in a single write; a crash can leave only an
/// incomplete last line, which [`RoundsWriter::resume`] truncates.
///
/// ```
/// use boostfgl_report::RoundsWriter;
///
/// let place = tempfile::tempdir()?;
/// let path = place.path().join("rounds.jsonl");
/// let mut rounds = RoundsWriter::create(&path)?;
/// rounds.write(&serde_json::json!({"seed": 0, "round": 1, "loss": 1.5}))?;
/// rounds.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "{\"loss\":1.5,\"round\":1,\"seed\":0}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RoundsWriter {
    file: AppendFile,
    line: Vec<u8>,
    lines: usize,
    /// Of all lines so far.
    hasher: blake3::Hasher,
}

impl RoundsWriter {
    /// Starts a new file.
    ///
    /// # Errors
    /// If the file is already there, or the system refuses.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self> {
        Ok(Self {
            file: AppendFile::create(path)?,
            line: Vec::new(),
            lines: 0,
            hasher: blake3::Hasher::new(),
        })
    }

    /// Continues the file of an interrupted run: keeps its first `lines` lines and truncates the
    /// rest.
    ///
    /// # Errors
    /// If the file has fewer whole lines, or the system refuses.
    pub fn resume(path: impl Into<PathBuf>, lines: usize) -> Result<Self> {
        let mut file = AppendFile::open(path)?;
        let (end, hasher) = first_lines(file.file(), file.path(), lines)?;
        file.truncate(end)?;
        Ok(Self { file, line: Vec::new(), lines, hasher })
    }

    /// BLAKE3 of the first `lines` lines of a file, in hexadecimal: the value of
    /// [`RoundsWriter::digest`] after these lines.
    ///
    /// # Errors
    /// If there is no such file, it has fewer whole lines, or the system refuses.
    pub fn digest_of(path: &Path, lines: usize) -> Result<String> {
        let file = File::open(path).map_err(|source| Error::io(path, source))?;
        Ok(first_lines(&file, path, lines)?.1.finalize().to_hex().to_string())
    }

    /// Appends one line and passes it to the system, without fsync.
    ///
    /// # Errors
    /// If the record is not representable as JSON, or the system refuses.
    pub fn write(&mut self, record: &impl Serialize) -> Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, record).map_err(|error| {
            Error::malformed(self.file.path(), format!("line {}: {error}", self.lines + 1))
        })?;
        self.line.push(b'\n');
        self.file.append(&self.line)?;
        self.hasher.update(&self.line);
        self.lines += 1;
        Ok(())
    }

    /// The number of lines, which a checkpoint stores for [`RoundsWriter::resume`].
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// BLAKE3 of all lines, in hexadecimal. A checkpoint stores it, so that a changed line is
    /// detected on resume.
    pub fn digest(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }

    /// Fsyncs the file. Do this before a checkpoint that stores [`RoundsWriter::lines`]; otherwise
    /// a power failure could keep the checkpoint and lose the lines.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn sync(&self) -> Result<()> {
        Ok(self.file.sync()?)
    }

    /// Fsyncs and closes the file.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn finish(self) -> Result<()> {
        self.sync()
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        self.file.path()
    }
}

/// The end of the first `lines` lines in bytes, and the hash of them.
fn first_lines(file: &File, path: &Path, lines: usize) -> Result<(u64, blake3::Hasher)> {
    let mut reader = BufReader::new(file);
    let (mut hasher, mut end, mut line) = (blake3::Hasher::new(), 0, Vec::new());
    for found in 0..lines {
        line.clear();
        let length =
            reader.read_until(b'\n', &mut line).map_err(|source| Error::io(path, source))?;
        if line.last() != Some(&b'\n') {
            return Err(Error::malformed(
                path,
                format!("expected at least {lines} whole lines, found {found}"),
            ));
        }
        hasher.update(&line);
        end += length as u64;
    }
    Ok((end, hasher))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_line_is_truncated_on_resume() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("rounds.jsonl");
        std::fs::write(&path, "1\n2\n3\n{\"ro").unwrap();
        let mut rounds = RoundsWriter::resume(&path, 2).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n");
        rounds.write(&7).unwrap();
        assert_eq!(rounds.lines(), 3);
        rounds.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n7\n");

        std::fs::write(&path, "1\n2").unwrap();
        let error = RoundsWriter::resume(&path, 2).unwrap_err().to_string();
        assert!(error.ends_with("expected at least 2 whole lines, found 1"), "{error}");
    }

    #[test]
    fn the_digest_is_of_the_first_lines() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("rounds.jsonl");
        let mut rounds = RoundsWriter::create(&path).unwrap();
        rounds.write(&1).unwrap();
        assert_eq!(rounds.digest(), blake3::hash(b"1\n").to_hex().to_string());
        let one = rounds.digest();
        rounds.write(&2).unwrap();
        assert_eq!(RoundsWriter::digest_of(&path, 1).unwrap(), one);
        assert_eq!(RoundsWriter::digest_of(&path, 2).unwrap(), rounds.digest());
        assert!(
            RoundsWriter::digest_of(&path, 3).is_err()
                && RoundsWriter::digest_of(place.path(), 1).is_err()
        );
        // A resumed file has the digest of an uninterrupted one.
        let mut again = RoundsWriter::resume(&path, 1).unwrap();
        again.write(&2).unwrap();
        assert_eq!(again.digest(), rounds.digest());
        std::fs::write(&path, "1\n3\n").unwrap();
        assert_ne!(RoundsWriter::digest_of(&path, 2).unwrap(), rounds.digest());
    }

    #[test]
    fn lines_are_written_at_once_and_files_not_overwritten() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("rounds.jsonl");
        let mut rounds = RoundsWriter::create(&path).unwrap();
        rounds.write(&[1, 2]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[1,2]\n");
        assert!(RoundsWriter::create(&path).is_err());
    }
}
