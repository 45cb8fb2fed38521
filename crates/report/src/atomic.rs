//! Files that are whole or not there.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::{Error, Result};

/// How the names of unfinished files begin and end; what a crash leaves can so be told from what a user put there.
pub(crate) const UNFINISHED: (&str, &str) = (".boostfgl-", ".tmp");

/// A file that gets its name only when it is whole.
///
/// Bytes go to an unnamed neighbour in the same folder. [`AtomicFile::finish`] brings them to the disk, renames the
/// neighbour over the final name and brings the folder to the disk; without it the final name is left as it was and
/// the neighbour goes away.
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl AtomicFile {
    /// Starts a file that will be called `target`; its folder must exist.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn create(target: impl Into<PathBuf>) -> Result<Self> {
        let target = target.into();
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED.0).suffix(UNFINISHED.1);
        // Temporary files are private by default, but results are for whoever the umask lets read them.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder_of(&target)).map_err(|source| Error::io(&target, source))?;
        Ok(Self { target, file: BufWriter::new(file) })
    }

    /// The name it will have.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Makes the file whole and gives it its name, replacing a file that had it.
    ///
    /// # Errors
    /// If the disk is full or the name cannot be taken; then whatever had the name still has it.
    pub fn finish(self) -> Result<()> {
        let Self { target, file } = self;
        let finish = || -> io::Result<()> {
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist(&target)?;
            sync_folder(folder_of(&target))
        };
        finish().map_err(|source| Error::io(&target, source))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a whole file, or leaves what was there.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("note.txt");
/// boostfgl_report::write_atomic(&path, b"done")?;
/// assert_eq!(std::fs::read(&path)?, b"done");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the folder cannot be written or the disk is full.
pub fn write_atomic(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(|source| Error::io(path, source))?;
    file.finish()
}

/// Brings the names in a folder to the disk; a rename may otherwise be lost although the file's content is safe.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    // Windows opens no folder as a file, and orders its own journal.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_file_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_atomic(&path, b"old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        drop(file);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn others_may_read_what_the_umask_allows() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        write_atomic(folder.path().join("ours"), b"").unwrap();
        std::fs::write(folder.path().join("plain"), b"").unwrap();
        assert_eq!(mode("ours"), mode("plain"));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/a");
        let error = write_atomic(&path, b"").unwrap_err();
        assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    }
}
