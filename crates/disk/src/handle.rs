//! An open file, all of whose writing calls are counted.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::{Call, faults};

/// A file and the name it has now.
#[derive(Debug)]
pub(crate) struct Handle {
    file: File,
    path: PathBuf,
}

impl Handle {
    /// A new file; an error if the name is taken.
    pub(crate) fn create_new(path: PathBuf) -> io::Result<Self> {
        faults::pass(Call::Create(&path))?;
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        Ok(Self { file, path })
    }

    /// A file that is there, to be read and written.
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

    /// Cuts the file and goes on writing at its new end.
    pub(crate) fn cut(&mut self, length: u64) -> io::Result<()> {
        faults::pass(Call::Cut(&self.path, length))?;
        self.file.set_len(length)?;
        self.file.seek(SeekFrom::Start(length)).map(|_| ())
    }
}

impl Write for Handle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let allowed = faults::pass(Call::Write(&self.path, bytes.len()))?;
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
