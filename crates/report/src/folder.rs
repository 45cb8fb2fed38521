//! The folder of a run.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use boostfgl_disk::{self as disk, Checksums, UNFINISHED};

use crate::{AtomicFile, Error, PredictionsWriter, Result, RoundsWriter, Summary};

/// The folder of one run.
///
/// Every file but `rounds.jsonl` is written atomically, and `summary.json` is written last: a folder
/// with a summary is a finished run.
///
/// A folder that was [created](RunFolder::create) or [taken](RunFolder::take) is locked until the
/// value and all its clones are dropped. The lock is on the folder itself, so no lock file remains.
/// Reading needs no lock. Where folders cannot be locked (NFS, and Windows), the user must not start
/// two programs on one run.
///
/// ```
/// use boostfgl_report::RunFolder;
///
/// let place = tempfile::tempdir()?;
/// let run = RunFolder::create(place.path().join("run"), false)?;
/// run.write_atomic("config.toml", b"rounds = 50\n")?;
///
/// let error = RunFolder::create(run.path(), false).unwrap_err();
/// assert!(error.to_string().contains("found `config.toml` in it"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// The lock on the folder; `None` for reading.
    lock: Option<Arc<File>>,
}

impl RunFolder {
    /// The resolved configuration.
    pub const CONFIG: &str = "config.toml";
    /// The client and the part of the split of each node.
    pub const PARTITION: &str = "partition.csv";
    /// Statistics of the partition: sizes, lost edges and homophily of the clients.
    pub const PARTITION_STATS: &str = "partition.json";
    /// One line per seed and round.
    pub const ROUNDS: &str = "rounds.jsonl";
    /// One row per seed and node.
    pub const PREDICTIONS: &str = "predictions.csv";
    /// The final parameters.
    pub const MODEL: &str = "model.safetensors";
    /// In the folder of a client: how its features were prepared, if they were.
    pub const PREPARATION: &str = "preparation.safetensors";
    /// What clients predict with, apart from models and graphs, if the method needs it.
    pub const STATE: &str = "state.bin";
    /// The results of diagnostics, if any were recorded.
    pub const DIAGNOSTICS: &str = "diagnostics.json";
    /// The report.
    pub const REPORT: &str = "report.html";
    /// The BLAKE3 of every file.
    pub const CHECKSUMS: &str = Checksums::FILE;
    /// The summary: the last file that a run writes.
    pub const SUMMARY: &str = "summary.json";
    /// The folder with a folder for each client that has its own graph.
    pub const CLIENTS: &str = "clients";
    /// The folder of checkpoints.
    pub const CHECKPOINT: &str = "checkpoint";
    /// The folder of streams, which have the rounds in other formats.
    pub const STREAM: &str = "stream";

    /// The files with a checksum, in addition to the summary.
    const SUMMED: [&str; 9] = [
        Self::CONFIG,
        Self::PARTITION,
        Self::PARTITION_STATS,
        Self::PREDICTIONS,
        Self::MODEL,
        Self::STATE,
        Self::DIAGNOSTICS,
        Self::REPORT,
        Self::ROUNDS,
    ];

    /// Whether a run writes a file of this name that has a checksum.
    pub(crate) fn is_of_run(name: &str) -> bool {
        name == Self::SUMMARY || Self::SUMMED.contains(&name)
    }

    /// Creates the folder and its parents, or locks an empty one.
    ///
    /// With `overwrite`, the files of an earlier run are removed first, and nothing else: files of
    /// other names stay, and so does a `checkpoint` folder without a `rounds.jsonl` next to it,
    /// since it is not of a run.
    ///
    /// # Errors
    /// If the folder is not empty and `overwrite` is false, another process has locked it, or the
    /// system refuses.
    pub fn create(path: impl Into<PathBuf>, overwrite: bool) -> Result<Self> {
        let folder = Self { path: path.into(), lock: None };
        disk::create_dir_all(&folder.path)?;
        let mut names = folder.names()?;
        if !overwrite && !names.is_empty() {
            // The first name in order, so that the message does not depend on the file system.
            return Err(Error::NotEmpty { path: folder.path, found: names.swap_remove(0) });
        }
        let folder = folder.take()?;
        if overwrite {
            folder.remove_run(&folder.names()?)?;
        }
        Ok(folder)
    }

    /// Creates a folder that did not exist: `base`, else `base-2`, `base-3` and so on.
    ///
    /// Unlike [`free_name`] followed by [`RunFolder::create`], this is free of races: two processes
    /// never get the same folder.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn create_free(base: impl AsRef<Path>) -> Result<Self> {
        let base = base.as_ref();
        if let Some(parent) = base.parent() {
            disk::create_dir_all(parent)?;
        }
        loop {
            let path = free_name(base);
            match disk::create_dir(&path) {
                Ok(()) => return Self { path, lock: None }.take(),
                Err(taken) if taken.source.kind() == io::ErrorKind::AlreadyExists => {}
                Err(refused) => return Err(refused.into()),
            }
        }
    }

    /// The folder of an earlier run, for reading.
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let folder = Self { path: path.into(), lock: None };
        folder.names().map(|_| folder)
    }

    /// Locks the folder against other processes. A folder that this value has locked already stays
    /// locked.
    ///
    /// # Errors
    /// [`Error::Busy`] if another process has locked it.
    pub fn take(&self) -> Result<Self> {
        if self.lock.is_some() {
            return Ok(self.clone());
        }
        // Some systems cannot open or lock folders as files; the run continues without a lock there.
        let lock = File::open(&self.path).ok().filter(|_| cfg!(unix));
        match lock.as_ref().map(File::try_lock) {
            Some(Err(TryLockError::WouldBlock)) => Err(Error::Busy { path: self.path.clone() }),
            _ => Ok(Self { path: self.path.clone(), lock: lock.map(Arc::new) }),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file atomically.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write_atomic(&self, name: &str, bytes: &[u8]) -> Result<()> {
        Ok(disk::write_atomic(self.file(name), bytes)?)
    }

    /// Starts a file that is renamed to its final name when it is finished.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn start(&self, name: &str) -> Result<AtomicFile> {
        Ok(AtomicFile::create(self.file(name))?)
    }

    /// Starts `rounds.jsonl`.
    ///
    /// # Errors
    /// If the file exists already, or the system refuses.
    pub fn rounds(&self) -> Result<RoundsWriter> {
        RoundsWriter::create(self.file(Self::ROUNDS))
    }

    /// Starts `predictions.csv` with more columns after the usual ones.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn predictions(&self, more: &[String]) -> Result<PredictionsWriter> {
        PredictionsWriter::with_columns(self.file(Self::PREDICTIONS), more)
    }

    /// The folder of one client, in which its predictions and its own models are.
    pub fn client(&self, name: &str) -> PathBuf {
        self.path.join(Self::CLIENTS).join(name)
    }

    /// The files in the folders of clients, as paths in this folder with `/` between the parts.
    fn files_of_clients(&self) -> Vec<String> {
        let mut files = Vec::new();
        for client in self.client_names() {
            for name in [Self::PREDICTIONS, Self::MODEL, Self::PREPARATION] {
                if self.client(&client).join(name).is_file() {
                    files.push(format!("{}/{client}/{name}", Self::CLIENTS));
                }
            }
        }
        files.sort_unstable();
        files
    }

    /// The names of the clients that have a folder.
    pub fn client_names(&self) -> Vec<String> {
        names_in(&self.file(Self::CLIENTS)).unwrap_or_default()
    }

    /// Removes the files of clients and their folders, where nothing else is in them.
    fn remove_clients(&self) -> Result<()> {
        for file in self.files_of_clients() {
            disk::remove_file(self.file(&file))?;
        }
        self.remove_client_folders();
        Ok(())
    }

    /// Removes the folders of clients that are empty, or have nothing but files that a process left
    /// unfinished. Folders with other files in them stay.
    pub fn remove_client_folders(&self) {
        for client in self.client_names() {
            let folder = self.client(&client);
            for name in names_in(&folder).unwrap_or_default() {
                if name.starts_with(UNFINISHED.0) && name.ends_with(UNFINISHED.1) {
                    let _ = disk::remove_file(folder.join(name));
                }
            }
            let _ = disk::remove_dir(folder);
        }
        let _ = disk::remove_dir(self.file(Self::CLIENTS));
    }

    /// Writes `checksums.txt` with every file of the run, then `summary.json`. This must be the last
    /// write of a run.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write_summary(&self, summary: &Summary) -> Result<()> {
        let json = summary.to_json();
        let clients = self.files_of_clients();
        let names = Self::SUMMED.into_iter().chain(clients.iter().map(String::as_str));
        Checksums::of(&self.path, names)?.with(Self::SUMMARY, json.as_bytes()).write()?;
        self.write_atomic(Self::SUMMARY, json.as_bytes())
    }

    /// Writes `report.html` and, in a finished run, its checksum. The old checksum is removed first,
    /// so a crash never leaves a report that contradicts its checksum.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write_report(&self, html: &str) -> Result<()> {
        let finished = self.file(Self::SUMMARY).is_file();
        Ok(Checksums::replace(&self.file(Self::REPORT), html.as_bytes(), finished)?)
    }

    /// Every file of a finished run that differs from its checksum or has none, one sentence each.
    /// Folders of earlier versions have no checksums, or none of the report.
    pub fn changes(&self) -> Vec<String> {
        let sums = match Checksums::read(&self.path) {
            Ok(Some(sums)) => sums,
            Ok(None) => {
                let list = self.file(Self::CHECKSUMS);
                return vec![format!("{} is missing: changes are not noticed", list.display())];
            }
            Err(damaged) => return vec![Error::from(damaged).to_string()],
        };
        let changed = sums.names().filter_map(|name| sums.check(name).err());
        let mut changes: Vec<String> =
            changed.map(|error| Error::from(error).to_string()).collect();
        let clients = self.files_of_clients();
        for name in Self::SUMMED.into_iter().chain(clients.iter().map(String::as_str)) {
            let file = self.file(name);
            if !file.is_file() || sums.has(name) {
                continue;
            }
            let remedy = if name == Self::REPORT {
                "; `boostfgl report RUN` writes it anew with one"
            } else {
                ""
            };
            changes.push(format!(
                "{} has no checksum: changes of it are not noticed{remedy}",
                file.display()
            ));
        }
        changes
    }

    /// Compares a file of a finished run with its checksum; folders of earlier versions have none.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the file was changed since, or the checksums were.
    pub fn check(&self, name: &str) -> Result<()> {
        Checksums::read(&self.path)?.map_or(Ok(()), |sums| Ok(sums.check(name)?))
    }

    /// Reads `summary.json`.
    ///
    /// # Errors
    /// If the run is not finished, or another program or version wrote the file.
    pub fn summary(&self) -> Result<Summary> {
        Summary::read(self.file(Self::SUMMARY))
    }

    /// Removes the checkpoints of a finished run, which remain after a crash right after the summary.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn tidy(&self) -> Result<()> {
        let left = self.file(Self::CHECKPOINT);
        let over =
            self.file(Self::SUMMARY).exists() && self.file(Self::ROUNDS).exists() && left.exists();
        if over { Ok(disk::remove_dir_all(left)?) } else { Ok(()) }
    }

    /// Removes the files that announce a run, if it has not begun. Errors are ignored: the files
    /// that cannot be removed stay.
    pub fn discard_announcement(&self) {
        let rounds = self.file(Self::ROUNDS);
        if rounds.metadata().is_ok_and(|file| file.len() > 0) || self.file(Self::SUMMARY).exists() {
            return;
        }
        let _ = disk::remove_dir_all(self.file(Self::CHECKPOINT));
        let _ = disk::remove_dir_all(self.file(Self::STREAM));
        let _ = disk::remove_file(rounds);
        let _ = disk::remove_file(self.file(Self::CONFIG));
        let _ = disk::remove_dir(&self.path);
    }

    /// The names in the folder, sorted.
    fn names(&self) -> Result<Vec<String>> {
        let mut names = names_in(&self.path).map_err(|source| Error::io(&self.path, source))?;
        names.sort_unstable();
        Ok(names)
    }

    /// Removes the files of an earlier run; `names` are those in the folder.
    fn remove_run(&self, names: &[String]) -> Result<()> {
        // The summary is removed first, so that a crash leaves no folder that looks finished.
        if contains(names, Self::SUMMARY) {
            disk::remove_file(self.file(Self::SUMMARY))?;
            disk::sync_folder(&self.path)?;
        }
        for name in names {
            if name.starts_with(UNFINISHED.0) && name.ends_with(UNFINISHED.1) {
                disk::remove_file(self.file(name))?;
            }
        }
        if contains(names, Self::CHECKPOINT) && contains(names, Self::ROUNDS) {
            disk::remove_dir_all(self.file(Self::CHECKPOINT))?;
        }
        if contains(names, Self::STREAM) && contains(names, Self::ROUNDS) {
            disk::remove_dir_all(self.file(Self::STREAM))?;
        }
        self.remove_clients()?;
        // The rounds are the last entry of `SUMMED` and removed last: they identify the folder of a
        // run, so an interrupted removal can be repeated.
        for name in [Self::CHECKSUMS].into_iter().chain(Self::SUMMED) {
            if contains(names, name) {
                disk::remove_file(self.file(name))?;
            }
        }
        Ok(disk::sync_folder(&self.path)?)
    }
}

/// The names in a folder, in the order of the file system.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect()
}

fn contains(names: &[String], name: &str) -> bool {
    names.iter().any(|other| other == name)
}

/// The first of `base`, `base-2`, `base-3`, … that does not exist.
///
/// ```
/// let place = tempfile::tempdir()?;
/// let base = place.path().join("cora-fedavg");
/// std::fs::create_dir(&base)?;
/// assert!(boostfgl_report::free_name(&base).ends_with("cora-fedavg-2"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn free_name(base: impl AsRef<Path>) -> PathBuf {
    // Collecting the components drops a trailing slash, after which `-2` would be a separate part.
    let base: PathBuf = base.as_ref().components().collect();
    let mut path = base.clone();
    let mut number = 2u64;
    // A dangling link is not free either: a write would go to its target.
    while fs::symlink_metadata(&path).is_ok() {
        let mut name = base.clone().into_os_string();
        name.push(format!("-{number}"));
        path = name.into();
        number += 1;
    }
    path
}
