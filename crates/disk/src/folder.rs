//! Creating, renaming and removing folders, made durable.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::{Call, Error, Result, faults};

/// Creates a folder and its missing parents, durably. An existing folder is left as it is.
///
/// # Errors
/// If the system refuses; the error names `path`, not the parent that failed.
pub fn create_dir_all(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    create_with_parents(path).map_err(|source| Error::new(path, source))
}

fn create_with_parents(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    // Parents first, each with its own fsync: a durable entry in a lost folder would be lost too.
    path.parent().map_or(Ok(()), create_with_parents)?;
    match create_and_sync(path) {
        // Another process may have created it since the check above.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        created => created,
    }
}

/// Creates one folder, durably.
///
/// # Errors
/// If the name is taken (the source is of the kind `AlreadyExists`) or the system refuses.
pub fn create_dir(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    create_and_sync(path).map_err(|source| Error::new(path, source))
}

fn create_and_sync(path: &Path) -> io::Result<()> {
    faults::pass(Call::MakeFolder(path))?;
    fs::create_dir(path)?;
    sync(parent(path))
}

/// Removes a file. The removal is durable only after [`sync_folder`].
///
/// # Errors
/// If the file does not exist or the system refuses.
pub fn remove_file(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    remove(path).map_err(|source| Error::new(path, source))
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    faults::pass(Call::Remove(path))?;
    fs::remove_file(path)
}

/// Removes an empty folder.
///
/// # Errors
/// If it does not exist, is not empty, or the system refuses.
pub fn remove_dir(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    remove_empty(path).map_err(|source| Error::new(path, source))
}

fn remove_empty(path: &Path) -> io::Result<()> {
    faults::pass(Call::RemoveFolder(path))?;
    fs::remove_dir(path)
}

/// Removes a folder and its content, entry by entry. Symbolic links are removed, not followed.
///
/// # Errors
/// If it does not exist or the system refuses; entries removed before the failure stay removed.
pub fn remove_dir_all(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    for (entry, is_dir) in sorted_entries(path).map_err(|source| Error::new(path, source))? {
        if is_dir { remove_dir_all(&entry)? } else { remove_file(&entry)? }
    }
    remove_dir(path)
}

/// The entries of a folder, and whether each is a folder itself. They are sorted so that the n-th
/// call of a fault test is the same call in every run.
fn sorted_entries(folder: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_dir = fs::symlink_metadata(&path)?.is_dir();
        entries.push((path, is_dir));
    }
    entries.sort_unstable();
    Ok(entries)
}

/// Makes the directory entries of a folder durable (fsync). Without it a power cut can lose a
/// rename although the content of the file was synced.
///
/// # Errors
/// If the system refuses.
pub fn sync_folder(folder: impl AsRef<Path>) -> Result<()> {
    let folder = folder.as_ref();
    sync(folder).map_err(|source| Error::new(folder, source))
}

pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    faults::pass(Call::SyncFolder(folder))?;
    // Windows cannot open a folder as a file; NTFS journals directory entries itself.
    if cfg!(unix) { ignore_unsupported(File::open(folder)?.sync_all()) } else { Ok(()) }
}

/// Ignores that some network file systems do not support fsync of a folder: there is no other way
/// to make its entries durable. Any other error is returned.
fn ignore_unsupported(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        other => other,
    }
}

/// The folder that contains `path`; `.` for a bare file name.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_created_with_parents_and_removed_with_content() {
        let place = tempfile::tempdir().unwrap();
        let deep = place.path().join("a/b/c");
        create_dir_all(&deep).unwrap();
        create_dir_all(&deep).unwrap();
        assert_eq!(create_dir(&deep).unwrap_err().source.kind(), io::ErrorKind::AlreadyExists);
        fs::write(deep.join("file"), b"1").unwrap();
        assert!(remove_dir(&deep).is_err());
        remove_dir_all(place.path().join("a")).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_in_the_way_is_an_error_that_names_the_requested_folder() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("a"), b"1").unwrap();
        let requested = place.path().join("a/b");
        assert_eq!(create_dir_all(&requested).unwrap_err().path, requested);
        assert!(create_dir_all(place.path().join("a")).is_err(), "it exists and is a file");
        create_dir_all("").unwrap();
    }

    #[test]
    fn only_missing_support_for_folder_fsync_is_ignored() {
        for (kind, ignored) in [
            (io::ErrorKind::InvalidInput, true),
            (io::ErrorKind::Unsupported, true),
            (io::ErrorKind::StorageFull, false),
            (io::ErrorKind::Other, false),
        ] {
            assert_eq!(ignore_unsupported(Err(kind.into())).is_ok(), ignored, "{kind:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_removed_and_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (ours, theirs) = (place.path().join("ours"), place.path().join("theirs"));
        create_dir_all(&ours).unwrap();
        create_dir_all(&theirs).unwrap();
        fs::write(theirs.join("kept"), b"1").unwrap();
        std::os::unix::fs::symlink(&theirs, ours.join("link")).unwrap();
        remove_dir_all(&ours).unwrap();
        assert!(theirs.join("kept").is_file());
    }
}
