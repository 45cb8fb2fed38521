//! An open file whose modifying calls pass through fault injection.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::{Call, faults};

/// An open file and its current path.
#[derive(Debug)]
pub(crate) struct Handle {
    file: File,
    path: PathBuf,
}

impl Handle {
    /// Creates a new file; an error if the name is taken.
    pub(crate) fn create_new(path: PathBuf) -> io::Result<Self> {
        faults::pass(Call::Create(&path))?;
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        Ok(Self { file, path })
    }

    /// Opens an existing file for reading and writing.
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(&path)?;
        Ok(Self { file, path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        faults::pass(Call::Sync(&self.path))?;
        self.file.sync_all()
    }

    /// Truncates the file and moves the position to its new end.
    pub(crate) fn truncate(&mut self, length: u64) -> io::Result<()> {
        faults::pass(Call::Truncate(&self.path, length))?;
        self.file.set_len(length)?;
        // `set_len` leaves the position where it was; writing there would leave a hole of zeros.
        self.file.seek(SeekFrom::Start(length)).map(|_| ())
    }
}

impl Write for Handle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let allowed = faults::pass(Call::Write(&self.path, bytes.len()))?;
        // A short write is legal for `Write`, so callers such as `write_all` have to cope with it.
        self.file.write(&bytes[..allowed.min(bytes.len())])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Handle {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
