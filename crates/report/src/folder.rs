//! Where a run writes.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use boostfgl_disk::{self as disk, Checksums, UNFINISHED};

use crate::{AtomicFile, Error, PredictionsWriter, Result, RoundsWriter, Summary};

/// The folder of one run.
///
/// Every file but `rounds.jsonl` appears under its name only when whole, and `summary.json` comes
/// last: a folder with a summary is a finished run.
///
/// A folder that was [created](RunFolder::create) or [taken](RunFolder::take) belongs to this
/// program until it is dropped, with all clones of it: the folder itself is locked, which leaves
/// nothing behind. Reading needs no lock. File systems that know no locks on folders (NFS, and
/// Windows as a whole) leave it to the user that two programs do not work on one run.
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
    /// The lock that a process holds while it works on the run.
    lock: Option<Arc<File>>,
}

impl RunFolder {
    /// The resolved configuration.
    pub const CONFIG: &str = "config.toml";
    /// Which client and split each node is in.
    pub const PARTITION: &str = "partition.csv";
    /// How the graph was divided, in numbers.
    pub const DIVISIONS: &str = "partition.json";
    /// One line per seed and round.
    pub const ROUNDS: &str = "rounds.jsonl";
    /// One row per seed and node.
    pub const PREDICTIONS: &str = "predictions.csv";
    /// The final parameters.
    pub const MODEL: &str = "model.safetensors";
    /// What diagnostics found, if any watched.
    pub const DIAGNOSTICS: &str = "diagnostics.json";
    /// The report.
    pub const REPORT: &str = "report.html";
    /// The BLAKE3 of every file.
    pub const CHECKSUMS: &str = Checksums::FILE;
    /// The summary: the last file a run writes.
    pub const SUMMARY: &str = "summary.json";
    /// The folder of checkpoints.
    pub const CHECKPOINT: &str = "checkpoint";

    /// The files with a checksum, in addition to the summary.
    const SUMMED: [&str; 8] = [
        Self::CONFIG,
        Self::PARTITION,
        Self::DIVISIONS,
        Self::PREDICTIONS,
        Self::MODEL,
        Self::DIAGNOSTICS,
        Self::REPORT,
        Self::ROUNDS,
    ];

    /// Whether a run leaves a file of this name that has a checksum.
    pub(crate) fn is_of_run(name: &str) -> bool {
        name == Self::SUMMARY || Self::SUMMED.contains(&name)
    }

    /// Makes the folder, with its parents, or takes over an empty one.
    ///
    /// With `overwrite`, what an earlier run wrote is removed first, and nothing else: files of
    /// other names stay, and so does a `checkpoint` folder without a `rounds.jsonl` next to it,
    /// since no run made it.
    ///
    /// # Errors
    /// If the folder holds something and `overwrite` is false, another program works on it, or the
    /// system refuses.
    pub fn create(path: impl Into<PathBuf>, overwrite: bool) -> Result<Self> {
        let folder = Self { path: path.into(), lock: None };
        disk::create_dir_all(&folder.path)?;
        let mut names = folder.names()?;
        if !overwrite && !names.is_empty() {
            // The least name, so that the message does not depend on the file system's order.
            return Err(Error::NotEmpty { path: folder.path, found: names.swap_remove(0) });
        }
        let folder = folder.take()?;
        if overwrite {
            folder.remove_run(&folder.names()?)?;
        }
        Ok(folder)
    }

    /// Makes a folder that did not exist: `base`, else `base-2`, `base-3` and so on.
    ///
    /// Unlike [`free_name`] followed by [`RunFolder::create`], two programs never get the same
    /// folder.
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

    /// The folder of an earlier run, to read.
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let folder = Self { path: path.into(), lock: None };
        folder.names().map(|_| folder)
    }

    /// The same folder, which no other program may work on from now on; one that this program has
    /// taken already is fine.
    ///
    /// # Errors
    /// [`Error::Busy`] if another program has taken it.
    pub fn take(&self) -> Result<Self> {
        if self.lock.is_some() {
            return Ok(self.clone());
        }
        // A folder that cannot be opened or locked as a file is no reason to refuse a run.
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

    /// Writes a whole file, or leaves what was there.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write_atomic(&self, name: &str, bytes: &[u8]) -> Result<()> {
        Ok(disk::write_atomic(self.file(name), bytes)?)
    }

    /// Starts a file that gets its name when it is finished.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn start(&self, name: &str) -> Result<AtomicFile> {
        Ok(AtomicFile::create(self.file(name))?)
    }

    /// Starts `rounds.jsonl`.
    ///
    /// # Errors
    /// If the file is already there, or the system refuses.
    pub fn rounds(&self) -> Result<RoundsWriter> {
        RoundsWriter::create(self.file(Self::ROUNDS))
    }

    /// Starts `predictions.csv`.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn predictions(&self) -> Result<PredictionsWriter> {
        PredictionsWriter::create(self.file(Self::PREDICTIONS))
    }

    /// Writes `checksums.txt` about every file of the run, then `summary.json`: do this last.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write_summary(&self, summary: &Summary) -> Result<()> {
        let json = summary.to_json();
        Checksums::of(&self.path, Self::SUMMED)?.with(Self::SUMMARY, json.as_bytes()).write()?;
        self.write_atomic(Self::SUMMARY, json.as_bytes())
    }

    /// Writes `report.html`, with its line in the checksums of a finished run. In between it has
    /// none: a crash never leaves a report that its checksum contradicts.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write_report(&self, html: &str) -> Result<()> {
        let finished = self.file(Self::SUMMARY).is_file();
        Ok(Checksums::replace(&self.file(Self::REPORT), html.as_bytes(), finished)?)
    }

    /// Every file of a finished run that is not what its checksum says, and what has none, one
    /// sentence each. Folders of earlier versions have no checksums, or none of the report.
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
        let unlisted = |name: &&str| self.file(name).is_file() && !sums.has(name);
        let told = |name: &str| {
            let remedy = if name == Self::REPORT {
                "; `boostfgl report RUN` writes it anew with one"
            } else {
                ""
            };
            format!(
                "{} has no checksum: changes of it are not noticed{remedy}",
                self.file(name).display()
            )
        };
        changes.extend(Self::SUMMED.into_iter().filter(unlisted).map(told));
        changes
    }

    /// Compares a file of a finished run with the checksum that the run left; folders of earlier
    /// versions have none.
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

    /// Removes the state of a run that is finished, which a crash right after its summary leaves
    /// behind.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn tidy(&self) -> Result<()> {
        let left = self.file(Self::CHECKPOINT);
        let over =
            self.file(Self::SUMMARY).exists() && self.file(Self::ROUNDS).exists() && left.exists();
        if over { Ok(disk::remove_dir_all(left)?) } else { Ok(()) }
    }

    /// Takes back what says that a run is to be done here, if nothing of it has been done. What
    /// cannot be removed stays.
    pub fn discard_announcement(&self) {
        let rounds = self.file(Self::ROUNDS);
        if rounds.metadata().is_ok_and(|file| file.len() > 0) || self.file(Self::SUMMARY).exists() {
            return;
        }
        let _ = disk::remove_dir_all(self.file(Self::CHECKPOINT));
        let _ = disk::remove_file(rounds);
        let _ = disk::remove_file(self.file(Self::CONFIG));
        let _ = disk::remove_dir(&self.path);
    }

    /// The names in the folder, sorted.
    fn names(&self) -> Result<Vec<String>> {
        let names = || -> io::Result<Vec<String>> {
            let names = fs::read_dir(&self.path)?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            names.collect()
        };
        let mut names = names().map_err(|source| Error::io(&self.path, source))?;
        names.sort_unstable();
        Ok(names)
    }

    fn remove_run(&self, names: &[String]) -> Result<()> {
        let there = |name: &str| names.iter().any(|there| there == name);
        let remove = |name: &str| disk::remove_file(self.file(name));
        // The summary goes first, so that a run taken apart halfway does not look finished; the
        // rounds go last, because they are the sign that a run was here.
        let unfinished =
            |name: &&String| name.starts_with(UNFINISHED.0) && name.ends_with(UNFINISHED.1);
        if there(Self::SUMMARY) {
            remove(Self::SUMMARY)?;
            disk::sync_folder(&self.path)?;
        }
        for name in names.iter().filter(unfinished) {
            remove(name)?;
        }
        if there(Self::CHECKPOINT) && there(Self::ROUNDS) {
            disk::remove_dir_all(self.file(Self::CHECKPOINT))?;
        }
        // The rounds stand last among those that have checksums.
        for name in [Self::CHECKSUMS].into_iter().chain(Self::SUMMED) {
            if there(name) {
                remove(name)?;
            }
        }
        Ok(disk::sync_folder(&self.path)?)
    }
}

/// The first of `base`, `base-2`, `base-3`, … that names nothing yet.
///
/// ```
/// let place = tempfile::tempdir()?;
/// let base = place.path().join("cora-fedavg");
/// std::fs::create_dir(&base)?;
/// assert!(boostfgl_report::free_name(&base).ends_with("cora-fedavg-2"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn free_name(base: impl AsRef<Path>) -> PathBuf {
    // Going through the components drops a trailing slash, after which `-2` would be a name of its
    // own.
    let base: PathBuf = base.as_ref().components().collect();
    // A dangling link is not free either: writing to it would end up wherever it points.
    let free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
    let mut path = base.clone();
    let mut number = 2u64;
    while !free(&path) {
        let mut name = base.clone().into_os_string();
        name.push(format!("-{number}"));
        path = name.into();
        number += 1;
    }
    path
}
