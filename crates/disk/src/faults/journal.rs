//! What a power cut would lose: everything since it was last brought to the disk.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::Call;
use crate::folder::parent;

#[derive(Debug, Default)]
pub(super) struct Journal {
    /// How much of each file written since is on the disk for good.
    safe: HashMap<PathBuf, u64>,
    /// What happened to names and lengths since, oldest first.
    since: Vec<Change>,
}

/// A change that a power cut undoes unless `settled_by` was brought to the disk.
#[derive(Debug)]
struct Change {
    settled_by: PathBuf,
    what: What,
}

#[derive(Debug)]
enum What {
    Created(PathBuf),
    Renamed { from: PathBuf, to: PathBuf, replaced: Option<Vec<u8>> },
    Removed(PathBuf, Vec<u8>),
    Cut(PathBuf, Vec<u8>),
    MadeFolder(PathBuf),
    RemovedFolder(PathBuf),
}

impl Journal {
    /// Remembers a call that is about to be made.
    pub(super) fn note(&mut self, call: Call<'_>) -> io::Result<()> {
        match call {
            Call::Create(path) => {
                self.safe.insert(path.into(), 0);
                self.change(parent(path), What::Created(path.into()));
            }
            Call::Write(path, _) => {
                if !self.safe.contains_key(path) {
                    self.safe.insert(path.into(), fs::metadata(path)?.len());
                }
            }
            Call::Sync(path) => {
                self.safe.insert(path.into(), fs::metadata(path)?.len());
                self.settle(path);
            }
            Call::Cut(path, length) => {
                let whole = fs::read(path)?;
                let safe = self.safe.entry(path.into()).or_insert(whole.len() as u64);
                *safe = length.min(*safe);
                self.change(path, What::Cut(path.into(), whole));
            }
            Call::Rename(from, to) => {
                let safe = self.safe.remove(from);
                self.safe.remove(to);
                self.safe.extend(safe.map(|length| (to.to_path_buf(), length)));
                let replaced = fs::read(to).ok();
                self.change(
                    parent(to),
                    What::Renamed { from: from.into(), to: to.into(), replaced },
                );
            }
            Call::Remove(path) => {
                self.safe.remove(path);
                if let Ok(bytes) = fs::read(path) {
                    self.change(parent(path), What::Removed(path.into(), bytes));
                }
            }
            Call::MakeFolder(path) => self.change(parent(path), What::MadeFolder(path.into())),
            Call::RemoveFolder(path) => self.change(parent(path), What::RemovedFolder(path.into())),
            Call::SyncFolder(path) => self.settle(path),
        }
        Ok(())
    }

    fn change(&mut self, settled_by: &Path, what: What) {
        self.since.push(Change { settled_by: settled_by.into(), what });
    }

    fn settle(&mut self, path: &Path) {
        self.since.retain(|change| change.settled_by != path);
    }

    /// The power goes: content that was not brought to the disk is lost, then every name that was
    /// not.
    pub(super) fn lose_all(&mut self) -> io::Result<()> {
        for (path, length) in self.safe.drain().filter(|(path, _)| path.exists()) {
            File::options().write(true).open(path)?.set_len(length)?;
        }
        for change in self.since.drain(..).rev() {
            undo(change.what)?;
        }
        Ok(())
    }

    /// The power goes, names were kept: of the content that was not brought to the disk, half is
    /// there, as zeros.
    pub(super) fn lose_content(&mut self) -> io::Result<()> {
        for (path, safe) in self.safe.drain().filter(|(path, _)| path.exists()) {
            let file = File::options().write(true).open(path)?;
            let length = file.metadata()?.len();
            file.set_len(safe.min(length))?;
            file.set_len(safe.min(length) + length.saturating_sub(safe) / 2)?;
        }
        self.since.clear();
        Ok(())
    }
}

fn undo(what: What) -> io::Result<()> {
    match what {
        What::Created(path) => gone(fs::remove_file(path)),
        What::Renamed { from, to, replaced } => {
            gone(fs::rename(&to, from))?;
            replaced.map_or(Ok(()), |bytes| fs::write(to, bytes))
        }
        What::Removed(path, bytes) | What::Cut(path, bytes) => {
            File::create(path)?.write_all(&bytes)
        }
        What::MadeFolder(path) => gone(fs::remove_dir_all(path)),
        What::RemovedFolder(path) => fs::create_dir(path),
    }
}

/// What is to go may be gone already: a call that was noted can have failed.
fn gone(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
