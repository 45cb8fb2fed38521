//! What happens to names.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::{Call, Error, Result, faults};

/// Makes a folder, with its parents, and brings their names to the disk; one that is there is left
/// as it is.
///
/// # Errors
/// If the system refuses; the error names the folder asked for.
pub fn create_dir_all(path: impl AsRef<Path>) -> Result<()> {
    fn make(path: &Path) -> io::Result<()> {
        if path.as_os_str().is_empty() || path.is_dir() {
            return Ok(());
        }
        path.parent().map_or(Ok(()), make)?;
        match make_one(path) {
            // Somebody else may have made it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            made => made,
        }
    }
    let path = path.as_ref();
    make(path).map_err(|source| Error::new(path, source))
}

/// Makes one folder and brings its name to the disk.
///
/// # Errors
/// If the name is taken (the source is of the kind `AlreadyExists`) or the system refuses.
pub fn create_dir(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    make_one(path).map_err(|source| Error::new(path, source))
}

fn make_one(path: &Path) -> io::Result<()> {
    faults::pass(Call::MakeFolder(path))?;
    fs::create_dir(path)?;
    sync(parent(path))
}

/// Removes a file. The name is gone for good only after [`sync_folder`].
///
/// # Errors
/// If there is none or the system refuses.
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
/// If there is none, it holds something or the system refuses.
pub fn remove_dir(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let remove = || {
        faults::pass(Call::RemoveFolder(path))?;
        fs::remove_dir(path)
    };
    remove().map_err(|source| Error::new(path, source))
}

/// Removes a folder with all that is in it, name by name; links are removed, not followed.
///
/// # Errors
/// If there is none or the system refuses; what was removed before stays removed.
pub fn remove_dir_all(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let failed = |source| Error::new(path, source);
    let entries =
        fs::read_dir(path).map_err(failed)?.collect::<io::Result<Vec<_>>>().map_err(failed)?;
    let mut inside: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
    inside.sort_unstable();
    for entry in inside {
        let kind = fs::symlink_metadata(&entry).map_err(failed)?;
        if kind.is_dir() { remove_dir_all(&entry)? } else { remove_file(&entry)? }
    }
    remove_dir(path)
}

/// Brings the names in a folder to the disk; a rename may otherwise be lost although the file's
/// content is safe.
///
/// # Errors
/// If the system refuses.
pub fn sync_folder(folder: impl AsRef<Path>) -> Result<()> {
    let folder = folder.as_ref();
    sync(folder).map_err(|source| Error::new(folder, source))
}

pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    faults::pass(Call::SyncFolder(folder))?;
    // Windows opens no folder as a file, and orders its own journal.
    if cfg!(unix) { forgiven(File::open(folder)?.sync_all()) } else { Ok(()) }
}

/// Some network file systems do not know what it is to sync a folder: there is nothing more that
/// one could do.
fn forgiven(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        other => other,
    }
}

/// The folder that holds the name; `.` for a bare one.
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
    fn folders_are_made_with_parents_and_removed_with_content() {
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
    fn a_file_in_the_way_is_an_error_that_names_the_folder_asked_for() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("a"), b"1").unwrap();
        let asked = place.path().join("a/b");
        assert_eq!(create_dir_all(&asked).unwrap_err().path, asked);
        assert!(create_dir_all(place.path().join("a")).is_err(), "it is there, and no folder");
        create_dir_all("").unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_synced_is_forgiven_and_a_broken_disk_is_not() {
        for (kind, forgives) in [
            (io::ErrorKind::InvalidInput, true),
            (io::ErrorKind::Unsupported, true),
            (io::ErrorKind::StorageFull, false),
            (io::ErrorKind::Other, false),
        ] {
            assert_eq!(forgiven(Err(kind.into())).is_ok(), forgives, "{kind:?}");
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
