//! The journal of a simulated power cut: which changes are not durable yet, and how to undo them.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::Call;
use crate::folder::parent;

#[derive(Debug, Default)]
pub(super) struct Journal {
    /// The durable length of each file that was written.
    durable: HashMap<PathBuf, u64>,
    /// Changes to names and lengths that are not durable yet, oldest first.
    pending: Vec<Pending>,
}

/// A change that a power cut undoes unless `synced_by` was synced since.
#[derive(Debug)]
struct Pending {
    synced_by: PathBuf,
    change: Change,
}

/// The information needed to undo a change.
#[derive(Debug)]
enum Change {
    Created(PathBuf),
    Renamed { from: PathBuf, to: PathBuf, replaced: Option<Vec<u8>> },
    Removed(PathBuf, Vec<u8>),
    Truncated(PathBuf, Vec<u8>),
    MadeFolder(PathBuf),
    RemovedFolder(PathBuf),
}

impl Journal {
    /// Records a call that is about to be made.
    pub(super) fn record(&mut self, call: Call<'_>) -> io::Result<()> {
        match call {
            Call::Create(path) => {
                self.durable.insert(path.into(), 0);
                // A directory entry belongs to its folder: syncing the file does not save it.
                self.push(parent(path), Change::Created(path.into()));
            }
            Call::Write(path, _) => {
                // A file that was opened, not created, is durable up to its length before the
                // first write.
                if !self.durable.contains_key(path) {
                    self.durable.insert(path.into(), fs::metadata(path)?.len());
                }
            }
            Call::Sync(path) => {
                self.durable.insert(path.into(), fs::metadata(path)?.len());
                self.settle(path);
            }
            Call::Truncate(path, length) => {
                let content = fs::read(path)?;
                let durable = self.durable.entry(path.into()).or_insert(content.len() as u64);
                *durable = length.min(*durable);
                self.push(path, Change::Truncated(path.into(), content));
            }
            Call::Rename(from, to) => {
                // The durable length belongs to the content, which moves with the name.
                let durable = self.durable.remove(from);
                self.durable.remove(to);
                self.durable.extend(durable.map(|length| (to.to_path_buf(), length)));
                let replaced = fs::read(to).ok();
                self.push(
                    parent(to),
                    Change::Renamed { from: from.into(), to: to.into(), replaced },
                );
            }
            Call::Remove(path) => {
                self.durable.remove(path);
                // If it cannot be read, the removal will fail too and leave nothing to undo.
                if let Ok(bytes) = fs::read(path) {
                    self.push(parent(path), Change::Removed(path.into(), bytes));
                }
            }
            Call::MakeFolder(path) => self.push(parent(path), Change::MadeFolder(path.into())),
            Call::RemoveFolder(path) => self.push(parent(path), Change::RemovedFolder(path.into())),
            Call::SyncFolder(path) => self.settle(path),
        }
        Ok(())
    }

    fn push(&mut self, synced_by: &Path, change: Change) {
        self.pending.push(Pending { synced_by: synced_by.into(), change });
    }

    fn settle(&mut self, path: &Path) {
        self.pending.retain(|pending| pending.synced_by != path);
    }

    /// A power cut that loses all content and all names that were not synced.
    pub(super) fn lose_all(&mut self) -> io::Result<()> {
        // Content first, while files still have the names under which it was recorded.
        for (path, length) in self.durable.drain().filter(|(path, _)| path.exists()) {
            File::options().write(true).open(path)?.set_len(length)?;
        }
        // Newest first: an older change may be about a name that a newer one has moved.
        for pending in self.pending.drain(..).rev() {
            undo(pending.change)?;
        }
        Ok(())
    }

    /// A power cut that keeps names; of the content that was not synced, half is left, as zeros.
    ///
    /// File systems with delayed allocation do this: the size is written before the blocks.
    pub(super) fn lose_content(&mut self) -> io::Result<()> {
        for (path, durable) in self.durable.drain().filter(|(path, _)| path.exists()) {
            let file = File::options().write(true).open(path)?;
            let length = file.metadata()?.len();
            // Growing a file fills it with zeros, so it is shortened first.
            file.set_len(durable.min(length))?;
            file.set_len(durable.min(length) + length.saturating_sub(durable) / 2)?;
        }
        self.pending.clear();
        Ok(())
    }
}

fn undo(change: Change) -> io::Result<()> {
    match change {
        Change::Created(path) => ignore_missing(fs::remove_file(path)),
        Change::Renamed { from, to, replaced } => {
            ignore_missing(fs::rename(&to, from))?;
            replaced.map_or(Ok(()), |bytes| fs::write(to, bytes))
        }
        Change::Removed(path, bytes) | Change::Truncated(path, bytes) => {
            File::create(path)?.write_all(&bytes)
        }
        Change::MadeFolder(path) => ignore_missing(fs::remove_dir_all(path)),
        Change::RemovedFolder(path) => fs::create_dir(path),
    }
}

/// A recorded call may have failed, so what it should have made can be missing.
fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
