//! Event files that grow while a run goes on.

use super::{NAME, event, record, scalars};
use crate::{Error, Result, Round};
use boostfgl_disk::AppendFile;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Event files in `seedN/` of a folder, one per seed, to which every round is appended.
///
/// TensorBoard reads files that grow. An event is passed to the system in a single write, so a crash
/// can leave only an incomplete last one, which readers ignore.
#[derive(Debug)]
pub(crate) struct LiveEvents {
    folder: PathBuf,
    files: BTreeMap<u64, AppendFile>,
}

impl LiveEvents {
    /// Starts without any file; those of seeds are created with their first round.
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), files: BTreeMap::new() }
    }

    /// Appends the scalars of a round that ended at `time`, in seconds since 1970.
    pub(crate) fn round(&mut self, round: &Round, time: f64) -> Result<()> {
        let mut bytes = Vec::new();
        if !self.files.contains_key(&round.seed) {
            let folder = self.folder.join(format!("seed{}", round.seed));
            boostfgl_disk::create_dir_all(&folder)?;
            self.files.insert(round.seed, AppendFile::create(folder.join(NAME))?);
            frame(&mut bytes, &event::version(time))?;
        }
        let values = scalars(round);
        let values = values.iter().map(|(tag, value)| (&tag[..], *value));
        frame(&mut bytes, &event::scalars(time, round.round as u64, values))?;
        match self.files.get_mut(&round.seed) {
            Some(file) => Ok(file.append(&bytes)?),
            None => Ok(()),
        }
    }
}

/// Appends a record to bytes in memory.
fn frame(bytes: &mut Vec<u8>, event: &[u8]) -> Result<()> {
    record::write(bytes, event).map_err(|source| Error::io("events in memory", source))
}
