//! A folder that appears under its name when all of its files are written.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

use crate::atomic::UNFINISHED;
use crate::folder::{create_dir, parent, remove_dir_all, sync};
use crate::{Call, Error, Result, faults};

/// A folder under a temporary name, next to the final one.
///
/// [`NewFolder::finish`] renames it. If it is dropped without `finish`, it is removed, and what has
/// the final name is unchanged.
///
/// ```
/// use boostfgl_disk::{NewFolder, write_atomic};
///
/// let place = tempfile::tempdir()?;
/// let target = place.path().join("bank");
/// let folder = NewFolder::create(&target, false)?;
/// write_atomic(folder.path().join("note.txt"), b"done")?;
/// assert!(!target.exists());
/// folder.finish()?;
/// assert_eq!(std::fs::read(target.join("note.txt"))?, b"done");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NewFolder {
    target: PathBuf,
    temporary: Option<PathBuf>,
}

impl NewFolder {
    /// Starts a folder that will be called `target`; the folder around it must exist. A folder of
    /// that name is replaced by [`NewFolder::finish`] if it is empty or `replace` is true.
    ///
    /// # Errors
    /// If `target` is a file, or a folder with content that may not be replaced (the source is of
    /// the kind `AlreadyExists`), or the system refuses.
    pub fn create(target: impl Into<PathBuf>, replace: bool) -> Result<Self> {
        let target = target.into();
        let taken = target.exists() && (!target.is_dir() || (!replace && !is_empty(&target)?));
        if taken {
            return Err(Error::new(&target, io::ErrorKind::AlreadyExists.into()));
        }
        let temporary = unused_name(&target);
        create_dir(&temporary).map_err(|error| Error::new(&target, error.source))?;
        Ok(Self { target, temporary: Some(temporary) })
    }

    /// The folder to write into.
    pub fn path(&self) -> &Path {
        self.temporary.as_deref().unwrap_or(&self.target)
    }

    /// Gives the folder its final name. A folder that is replaced is removed afterwards.
    ///
    /// # Errors
    /// If the system refuses. Unless only the last steps fail (the fsync of the folder around it,
    /// the removal of what was replaced), the final name is as it was.
    pub fn finish(mut self) -> Result<()> {
        let Some(temporary) = self.temporary.take() else { return Ok(()) };
        let guard = Self { target: self.target.clone(), temporary: Some(temporary.clone()) };
        let replaced = match self.target.is_dir() {
            true => Some(unused_name(&self.target)),
            false => None,
        };
        if let Some(aside) = &replaced {
            rename(&self.target, aside, &self.target)?;
        }
        if let Err(error) = rename(&temporary, &self.target, &self.target) {
            // What was there before goes back to its place; the first error is the one to report.
            if let Some(aside) = &replaced {
                let _ = fs::rename(aside, &self.target);
            }
            return Err(error);
        }
        guard.forget();
        sync(parent(&self.target)).map_err(|source| Error::new(&self.target, source))?;
        replaced.map_or(Ok(()), remove_dir_all)
    }

    fn forget(mut self) {
        self.temporary = None;
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if let Some(path) = self.temporary.take() {
            // The error that led here is the one to report.
            let _ = remove_dir_all(path);
        }
    }
}

fn rename(from: &Path, to: &Path, named: &Path) -> Result<()> {
    let renamed = faults::pass(Call::Rename(from, to)).and_then(|_| fs::rename(from, to));
    renamed.map_err(|source| Error::new(named, source))
}

fn is_empty(folder: &Path) -> Result<bool> {
    let entries = fs::read_dir(folder).map_err(|source| Error::new(folder, source))?;
    Ok(entries.into_iter().next().is_none())
}

/// A temporary name next to `target` that is not in use.
fn unused_name(target: &Path) -> PathBuf {
    loop {
        // The seed of a `HashMap` is the only randomness in the standard library.
        let number = RandomState::new().build_hasher().finish();
        let name = format!("{}{number:016x}{}", UNFINISHED.0, UNFINISHED.1);
        let path = parent(target).join(name);
        if !path.exists() {
            return path;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::{Fault, at_every_call};
    use crate::write_atomic;

    fn write(target: &Path, replace: bool, content: &[u8]) -> Result<()> {
        let folder = NewFolder::create(target, replace)?;
        write_atomic(folder.path().join("a"), content)?;
        write_atomic(folder.path().join("b"), content)?;
        folder.finish()
    }

    #[test]
    fn an_unfinished_folder_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let folder = NewFolder::create(place.path().join("x"), false).unwrap();
        write_atomic(folder.path().join("a"), b"1").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        assert!(NewFolder::create(place.path().join("no/x"), false).is_err());
    }

    #[test]
    fn content_is_replaced_only_if_that_is_asked_for() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("x");
        fs::create_dir(&target).unwrap();
        write(&target, false, b"1").unwrap();
        let error = write(&target, false, b"2").unwrap_err();
        assert_eq!(
            (error.path, error.source.kind()),
            (target.clone(), io::ErrorKind::AlreadyExists)
        );
        assert_eq!(fs::read(target.join("a")).unwrap(), b"1");
        write(&target, true, b"2").unwrap();
        assert_eq!(fs::read(target.join("a")).unwrap(), b"2");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        fs::write(place.path().join("file"), b"").unwrap();
        assert!(write(&place.path().join("file"), true, b"1").is_err());
    }

    #[test]
    fn a_fault_leaves_the_whole_folder_or_none() {
        for fault in Fault::ALL {
            let prepare = || tempfile::tempdir().unwrap();
            let (calls, whole) = at_every_call(
                fault,
                prepare,
                |place| write(&place.join("x"), false, b"new"),
                |place, outcome, n| {
                    let target = place.join("x");
                    let files = ["a", "b"].map(|name| fs::read(target.join(name)).ok());
                    let is_whole = files.iter().all(|file| file.as_deref() == Some(&b"new"[..]));
                    assert!(
                        is_whole || (outcome.is_err() && !target.exists()),
                        "{fault:?} at {n}: {files:?}"
                    );
                },
            );
            whole.unwrap();
            assert!(calls >= 8, "{fault:?}: {calls} calls");
        }
    }
}
