//! Files that are whole or not there.

use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::folder::{parent, remove, sync};
use crate::handle::Handle;
use crate::{Call, Error, Result, faults};

/// How the names of unfinished files begin and end; what a crash leaves can so be told from what a
/// user put there.
pub const UNFINISHED: (&str, &str) = (".boostfgl-", ".tmp");

/// A file that gets its name only when it is whole.
///
/// Bytes go to a neighbour of another name, beginning and ending as [`UNFINISHED`] says.
/// [`AtomicFile::finish`] brings them to the disk, renames the neighbour over the final name and
/// brings the folder to the disk; without it the final name is left as it was and the neighbour
/// goes away.
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    // First the buffer goes, then the neighbour.
    file: BufWriter<Handle>,
    unfinished: Unfinished,
}

impl AtomicFile {
    /// Starts a file that will be called `target`; its folder must exist.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn create(target: impl Into<PathBuf>) -> Result<Self> {
        let target = target.into();
        let folder = parent(&target).to_path_buf();
        Self::create_in(&folder, target)
    }

    /// Starts a file that will be called `target`, with its unfinished neighbour in `folder`, on
    /// the same file system.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn create_in(folder: &Path, target: impl Into<PathBuf>) -> Result<Self> {
        let target = target.into();
        let file = new_neighbour(folder).map_err(|source| Error::new(&target, source))?;
        let unfinished = Unfinished(Some(file.path().to_path_buf()));
        Ok(Self { target, file: BufWriter::new(file), unfinished })
    }

    /// The name it will have.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// What was written so far, to be read from the beginning.
    ///
    /// # Errors
    /// If the disk is full or the system refuses.
    pub fn reopen(&mut self) -> Result<File> {
        let opened = self.file.flush().and_then(|()| File::open(self.file.get_ref().path()));
        opened.map_err(|source| Error::new(&self.target, source))
    }

    /// Makes the file whole and gives it its name, replacing a file that had it.
    ///
    /// # Errors
    /// If the disk is full or the name cannot be taken; then whatever had the name still has it.
    /// Only if the folder cannot be brought to the disk at the very end, the file has its name
    /// already.
    pub fn finish(self) -> Result<()> {
        let Self { target, file, mut unfinished } = self;
        let finish = || -> io::Result<()> {
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.sync()?;
            faults::pass(Call::Rename(file.path(), &target))?;
            fs::rename(file.path(), &target)?;
            unfinished.0 = None;
            sync(parent(&target))
        };
        finish().map_err(|source| Error::new(&target, source))
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

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// The name of the neighbour, until it has another: goes with the file if nobody finishes it.
#[derive(Debug)]
struct Unfinished(Option<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // Whatever led here is what the user must see; the next run with `--overwrite` removes
            // what stays.
            let _ = remove(&path);
        }
    }
}

/// A new file under a name that nobody has. Its permissions are those of any new file: results are
/// for whoever the umask lets read them.
fn new_neighbour(folder: &Path) -> io::Result<Handle> {
    loop {
        // The standard library's only source of randomness.
        let number = RandomState::new().build_hasher().finish();
        match Handle::create_new(
            folder.join(format!("{}{number:016x}{}", UNFINISHED.0, UNFINISHED.1)),
        ) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created,
        }
    }
}

/// Writes a whole file, or leaves what was there.
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
/// If the folder cannot be written or the disk is full.
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
    fn an_unfinished_file_leaves_nothing() {
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
    fn others_may_read_what_the_umask_allows() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let mode =
            |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        write_atomic(folder.path().join("ours"), b"").unwrap();
        fs::write(folder.path().join("plain"), b"").unwrap();
        assert_eq!(mode("ours"), mode("plain"));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/a");
        let error = write_atomic(&path, b"").unwrap_err();
        assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
    }

    #[test]
    fn a_place_that_was_written_can_be_written_again() {
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
    fn what_was_written_can_be_read_before_it_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = AtomicFile::create(folder.path().join("a")).unwrap();
        file.write_all(b"half").unwrap();
        assert_eq!(io::read_to_string(file.reopen().unwrap()).unwrap(), "half");
        assert!(!folder.path().join("a").exists());
    }
}
