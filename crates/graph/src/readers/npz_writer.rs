//! Writing arrays into an npz, all or nothing.

use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use npyz::npz;
use npyz::zip::{CompressionMethod, DateTime, ZipWriter, write::FileOptions};
use npyz::{AutoSerialize, WriterBuilder as _};
use tempfile::NamedTempFile;

use crate::{Error, Result};

/// A npz that is being written. Nothing appears at its path before [`NpzWriter::finish`].
pub(super) struct NpzWriter {
    path: PathBuf,
    zip: ZipWriter<BufWriter<NamedTempFile>>,
}

impl NpzWriter {
    /// Starts a temporary file in the folder of `path`.
    pub(super) fn create(path: &Path) -> Result<Self> {
        // A rename replaces a file at once only inside one file system, hence the same folder.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = readable_by_others(&mut tempfile::Builder::new()).tempfile_in(folder);
        let file = file.map_err(|e| Error::io(path, e))?;
        Ok(Self { path: path.to_path_buf(), zip: ZipWriter::new(BufWriter::new(file)) })
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
        let mut close = || {
            let mut buffer = zip.finish()?;
            buffer.flush()?;
            let file = buffer.into_inner().map_err(std::io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|e| e.error)?;
            Ok(())
        };
        close().map_err(|e| Error::io(&path, e))
    }
}

/// A fixed date, so that equal graphs give equal files; zip64 headers, so that an array may exceed 4 GiB.
fn options() -> FileOptions {
    let options = FileOptions::default().compression_method(CompressionMethod::Deflated);
    options.last_modified_time(DateTime::default()).large_file(true)
}

/// Temporary files are private by default; this one becomes an ordinary file, subject to the umask.
#[cfg(unix)]
fn readable_by_others<'a, 'b, 'c>(builder: &'c mut tempfile::Builder<'a, 'b>) -> &'c mut tempfile::Builder<'a, 'b> {
    use std::os::unix::fs::PermissionsExt as _;
    builder.permissions(std::fs::Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn readable_by_others<'a, 'b, 'c>(builder: &'c mut tempfile::Builder<'a, 'b>) -> &'c mut tempfile::Builder<'a, 'b> {
    builder
}
