//! A file that has its name while it grows.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::folder::{parent, sync};
use crate::handle::Handle;
use crate::{Error, Result};

/// A file whose bytes go to the system right away, so that others can follow it.
///
/// What a crash can leave is an incomplete last piece, so whoever resumes must know where the last
/// whole piece ends and [`cut`](AppendFile::cut) there.
#[derive(Debug)]
pub struct AppendFile(Handle);

impl AppendFile {
    /// Starts a new file and brings its name to the disk.
    ///
    /// # Errors
    /// If the file is already there, or the system refuses.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let file = Handle::create_new(path.clone()).map_err(|source| Error::new(&path, source))?;
        sync(parent(&path)).map_err(|source| Error::new(&path, source))?;
        Ok(Self(file))
    }

    /// Continues a file that is there; nothing is written before [`cut`](AppendFile::cut) says
    /// where.
    ///
    /// # Errors
    /// If there is none, or the system refuses.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        Handle::open(path.clone()).map(Self).map_err(|source| Error::new(path, source))
    }

    /// Cuts the file to `length` bytes, for good, and goes on there.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn cut(&mut self, length: u64) -> Result<()> {
        let cut = self.0.cut(length).and_then(|()| self.0.sync());
        cut.map_err(|source| self.error(source))
    }

    /// Appends all of the bytes.
    ///
    /// # Errors
    /// If the disk is full or the system refuses; some of the bytes may then be in the file.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write_all(bytes).map_err(|source| self.error(source))
    }

    /// Brings what was written to the disk.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn sync(&self) -> Result<()> {
        self.0.sync().map_err(|source| self.error(source))
    }

    /// The file itself, to read what is there.
    pub fn file(&self) -> &File {
        self.0.file()
    }

    /// Where the file is.
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
    fn a_file_grows_at_once_and_goes_on_where_it_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert!(AppendFile::open(&path).is_err(), "nothing to go on with");
        let mut file = AppendFile::create(&path).unwrap();
        file.append(b"first, sec").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first, sec");
        drop(file);
        assert!(AppendFile::create(&path).is_err(), "it is there already");
        let mut file = AppendFile::open(&path).unwrap();
        file.cut(7).unwrap();
        file.append(b"2").unwrap();
        file.sync().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first, 2");
        assert_eq!(file.path(), path);
    }
}
