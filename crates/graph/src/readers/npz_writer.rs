//! Writing arrays into an npz, all or nothing.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use boostfgl_disk::AtomicFile;
use npyz::{AutoSerialize, WriterBuilder as _};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use crate::{Error, Result};

/// A npz that is being written. Nothing appears at its path before [`NpzWriter::finish`].
pub(super) struct NpzWriter {
    path: PathBuf,
    zip: ZipWriter<Remembering>,
}

impl NpzWriter {
    /// Starts the file.
    pub(super) fn create(path: &Path) -> Result<Self> {
        Ok(Self {
            path: path.to_path_buf(),
            zip: ZipWriter::new(Remembering::new(AtomicFile::create(path)?)),
        })
    }

    /// Adds an array of `shape`, row by row.
    pub(super) fn array<T: AutoSerialize>(
        &mut self,
        name: &str,
        shape: &[u64],
        values: impl IntoIterator<Item = T>,
    ) -> Result<()> {
        let write = || {
            self.zip.start_file(format!("{name}.npy"), options())?;
            let builder =
                npyz::WriteOptions::new().default_dtype().shape(shape).writer(&mut self.zip);
            let mut array = builder.begin_nd()?;
            array.extend(values)?;
            array.finish()
        };
        write().map_err(|e| Error::io(&self.path, e))
    }

    /// Moves the file to its place.
    pub(super) fn finish(self) -> Result<()> {
        let Self { path, zip } = self;
        let Remembering { file, failed, .. } =
            zip.finish().map_err(|e| Error::io(&path, e.into()))?;
        failed.map_or(Ok(()), |e| Err(Error::io(&path, e)))?;
        Ok(file.finish()?)
    }
}

/// A fixed date, so that equal graphs give equal files; zip64 headers, so that an array may exceed
/// 4 GiB.
fn options() -> SimpleFileOptions {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    options.last_modified_time(DateTime::default()).large_file(true)
}

/// A file that never fails, and says at the end whether it did.
///
/// The zip writer cannot be dropped after a failed write: it tries to complete the archive, prints
/// that it could not, and computes with positions that no longer agree. So it is shown a file where
/// everything goes well.
struct Remembering {
    file: AtomicFile,
    at: u64,
    end: u64,
    failed: Option<io::Error>,
}

impl Remembering {
    fn new(file: AtomicFile) -> Self {
        Self { file, at: 0, end: 0, failed: None }
    }

    /// Does something to the file, unless it has failed already.
    fn attempt(&mut self, action: impl FnOnce(&mut AtomicFile) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = action(&mut self.file).err();
        }
    }
}

impl Write for Remembering {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(|file| file.write_all(bytes));
        self.at += bytes.len() as u64;
        self.end = self.end.max(self.at);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(Write::flush);
        Ok(())
    }
}

impl Seek for Remembering {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        let at = self.at;
        self.attempt(|file| file.seek(SeekFrom::Start(at)).map(|_| ()));
        Ok(at)
    }
}
