//! A file that is visible under its final name while it grows.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::folder::{parent, sync};
use crate::handle::Handle;
use crate::{Error, Result};

/// A file whose appended bytes reach the operating system at once, so that readers can follow it.
///
/// A crash can leave an incomplete last record. To resume, the caller must have recorded where the
/// last complete record ends and [`truncate`](AppendFile::truncate) the file there.
#[derive(Debug)]
pub struct AppendFile(Handle);

impl AppendFile {
    /// Creates a new file and makes its name durable.
    ///
    /// # Errors
    /// If the file exists already, or the system refuses.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let file = Handle::create_new(path.clone()).map_err(|source| Error::new(&path, source))?;
        // Syncing the content later would not save a file whose directory entry was lost.
        sync(parent(&path)).map_err(|source| Error::new(&path, source))?;
        Ok(Self(file))
    }

    /// Opens an existing file. Call [`truncate`](AppendFile::truncate) before the first write: it
    /// also sets the position.
    ///
    /// # Errors
    /// If the file does not exist, or the system refuses.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        Handle::open(path.clone()).map(Self).map_err(|source| Error::new(path, source))
    }

    /// Truncates the file to `length` bytes, durably, and continues there.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn truncate(&mut self, length: u64) -> Result<()> {
        // Synced at once: otherwise a power cut after the next append could bring the removed tail
        // back between old and new records.
        let truncated = self.0.truncate(length).and_then(|()| self.0.sync());
        truncated.map_err(|source| self.error(source))
    }

    /// Appends all of the bytes.
    ///
    /// # Errors
    /// If the disk is full or the system refuses; some of the bytes may then be in the file.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes).map_err(|source| self.error(source))
    }

    /// Makes everything appended so far durable (fsync).
    ///
    /// # Errors
    /// If the system refuses.
    pub fn sync(&self) -> Result<()> {
        self.0.sync().map_err(|source| self.error(source))
    }

    /// The open file, for reading.
    pub fn file(&self) -> &File {
        self.0.file()
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn error(&self, source: std::io::Error) -> Error {
        Error::new(self.path(), source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn appended_bytes_are_visible_at_once_and_writing_continues_after_truncation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert!(AppendFile::open(&path).is_err(), "there is no file to continue");
        let mut file = AppendFile::create(&path).unwrap();
        file.append(b"first, sec").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first, sec");
        drop(file);
        assert!(AppendFile::create(&path).is_err(), "the file exists already");
        let mut file = AppendFile::open(&path).unwrap();
        file.truncate(7).unwrap();
        file.append(b"2").unwrap();
        file.sync().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first, 2");
        assert_eq!(file.path(), path);
    }
}
