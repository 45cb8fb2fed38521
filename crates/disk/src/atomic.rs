//! Atomic files: written to a temporary file, synced, then renamed over the final name.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::folder::{parent, remove, sync};
use crate::handle::Handle;
use crate::{Call, Error, Result, faults};

/// Prefix and suffix of the names of temporary files. They distinguish what a crash leaves behind
/// from the files of a user.
pub const UNFINISHED: (&str, &str) = (".boostfgl-", ".tmp");

/// A file that appears under its name only when it is complete and durable.
///
/// Bytes are written to a temporary file whose name is made of [`UNFINISHED`].
/// [`AtomicFile::finish`] syncs it, renames it over the final name and syncs the folder. If the
/// file is dropped without `finish`, the final name is unchanged and the temporary file is removed.
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    // Fields drop in this order: the open file is closed before its path is removed, which Windows
    // requires.
    file: BufWriter<Handle>,
    temporary: TemporaryPath,
}

impl AtomicFile {
    /// Starts a file that will be called `target`; its folder must exist.
    ///
    /// # Errors
    /// If the folder is not writable.
    pub fn create(target: impl Into<PathBuf>) -> Result<Self> {
        let target = target.into();
        let folder = parent(&target).to_path_buf();
        Self::create_in(&folder, target)
    }

    /// Starts a file that will be called `target`, with its temporary file in `folder`, which must
    /// be on the same file system.
    ///
    /// # Errors
    /// If the folder is not writable.
    pub fn create_in(folder: &Path, target: impl Into<PathBuf>) -> Result<Self> {
        let target = target.into();
        let file = create_temporary(folder).map_err(|source| Error::new(&target, source))?;
        let temporary = TemporaryPath(Some(file.path().to_path_buf()));
        Ok(Self { target, file: BufWriter::new(file), temporary })
    }

    /// The final path.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Flushes the buffer and opens the temporary file for reading from the beginning.
    ///
    /// # Errors
    /// If the disk is full or the system refuses.
    pub fn reopen(&mut self) -> Result<File> {
        let opened = self.file.flush().and_then(|()| File::open(self.file.get_ref().path()));
        opened.map_err(|source| Error::new(&self.target, source))
    }

    /// Syncs the file and renames it to its final name, replacing a file of that name.
    ///
    /// # Errors
    /// If the disk is full or the rename fails; a file of that name is then unchanged. If only the
    /// last step fails, the fsync of the folder, the file has its final name already.
    pub fn finish(self) -> Result<()> {
        let Self { target, file, temporary } = self;
        sync_and_rename(file, temporary, &target).map_err(|source| Error::new(&target, source))
    }
}

fn sync_and_rename(
    file: BufWriter<Handle>,
    mut temporary: TemporaryPath,
    target: &Path,
) -> io::Result<()> {
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    // Content before name: after a power cut the name must not lead to bytes that were never
    // written.
    file.sync()?;
    faults::pass(Call::Rename(file.path(), target))?;
    fs::rename(file.path(), target)?;
    temporary.0 = None;
    sync(parent(target))
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// The temporary path; removed on drop unless the file is finished.
#[derive(Debug)]
struct TemporaryPath(Option<PathBuf>);

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // The error that led here is the one to report. If the removal fails too, the next run
            // with `--overwrite` removes the file.
            let _ = remove(&path);
        }
    }
}

/// Creates a file under a new random name, with the permissions the umask gives any new file.
fn create_temporary(folder: &Path) -> io::Result<Handle> {
    loop {
        // The seed of a `HashMap` is the only randomness in the standard library. Uniqueness is
        // what matters, and `create_new` checks it.
        let number = RandomState::new().build_hasher().finish();
        match Handle::create_new(
            folder.join(format!("{}{number:016x}{}", UNFINISHED.0, UNFINISHED.1)),
        ) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created,
        }
    }
}

/// Writes a file atomically: afterwards it has the new content, or still the old one.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("note.txt");
/// boostfgl_disk::write_atomic(&path, b"done")?;
/// assert_eq!(std::fs::read(&path)?, b"done");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the folder is not writable or the disk is full.
pub fn write_atomic(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(|source| Error::new(path, source))?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_an_unfinished_file_leaves_the_old_content_and_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_atomic(&path, b"old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_the_umask_gives_any_new_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let mode =
            |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        write_atomic(folder.path().join("ours"), b"").unwrap();
        fs::write(folder.path().join("plain"), b"").unwrap();
        assert_eq!(mode("ours"), mode("plain"));
    }

    #[test]
    fn the_error_for_a_missing_folder_names_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/a");
        let error = write_atomic(&path, b"").unwrap_err();
        assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    }

    #[test]
    fn written_bytes_can_be_overwritten_by_seeking() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"0 lines").unwrap();
        assert_eq!(file.seek(SeekFrom::Start(0)).unwrap(), 0);
        file.write_all(b"3").unwrap();
        assert_eq!(file.seek(SeekFrom::End(0)).unwrap(), 7);
        file.write_all(b"!").unwrap();
        file.flush().unwrap();
        file.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"3 lines!");
    }

    #[test]
    fn the_temporary_file_can_be_read_before_finishing() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(folder.path().join("a")).unwrap();
        file.write_all(b"half").unwrap();
        assert_eq!(io::read_to_string(file.reopen().unwrap()).unwrap(), "half");
        assert!(!folder.path().join("a").exists());
    }
}
