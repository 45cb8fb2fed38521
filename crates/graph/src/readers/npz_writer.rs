//! Writing arrays into an npz, all or nothing.

use std::path::{Path, PathBuf};

use boostfgl_disk::AtomicFile;
use npyz::npz;
use npyz::zip::{CompressionMethod, DateTime, ZipWriter, write::FileOptions};
use npyz::{AutoSerialize, WriterBuilder as _};

use crate::{Error, Result};

/// A npz that is being written. Nothing appears at its path before [`NpzWriter::finish`].
pub(super) struct NpzWriter {
    path: PathBuf,
    zip: ZipWriter<AtomicFile>,
}

impl NpzWriter {
    /// Starts the file.
    pub(super) fn create(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_path_buf(), zip: ZipWriter::new(AtomicFile::create(path)?) })
    }

    /// Adds an array of `shape`, row by row.
    pub(super) fn array<T: AutoSerialize>(
        &mut self,
        name: &str,
        shape: &[u64],
        values: impl IntoIterator<Item = T>,
    ) -> Result<()> {
        let write = || {
            self.zip.start_file(npz::file_name_from_array_name(name), options())?;
            let builder = npyz::WriteOptions::new().default_dtype().shape(shape).writer(&mut self.zip);
            let mut array = builder.begin_nd()?;
            array.extend(values)?;
            array.finish()
        };
        write().map_err(|e| Error::io(&self.path, e))
    }

    /// Moves the file to its place.
    pub(super) fn finish(self) -> Result<()> {
        let Self { path, mut zip } = self;
        let file = zip.finish().map_err(|e| Error::io(&path, e.into()))?;
        Ok(file.finish()?)
    }
}

/// A fixed date, so that equal graphs give equal files; zip64 headers, so that an array may exceed 4 GiB.
fn options() -> FileOptions {
    let options = FileOptions::default().compression_method(CompressionMethod::Deflated);
    options.last_modified_time(DateTime::default()).large_file(true)
}
