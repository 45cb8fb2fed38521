//! `checksums.txt`: the BLAKE3 of every file of a folder, as `b3sum` prints and checks them.
//!
//! A table stays readable when one of its digits flips, so only a checksum can detect the damage.
//! `b3sum --check checksums.txt` in the folder checks it without this program.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::{Error, Result, remove_file, sync_folder, write_atomic};

/// The recorded checksums of the files of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksums {
    folder: PathBuf,
    sums: BTreeMap<String, String>,
}

impl Checksums {
    /// The name of the file.
    pub const FILE: &str = "checksums.txt";

    /// Computes the checksums of those of the named files that exist in `folder`.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn of<'a>(folder: &Path, names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut sums = BTreeMap::new();
        for name in names {
            let path = folder.join(name);
            match sum_of(&path) {
                Ok(sum) => drop(sums.insert(name.to_owned(), sum)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::new(path, error)),
            }
        }
        Ok(Self { folder: folder.to_path_buf(), sums })
    }

    /// Adds the checksum of a file that is still to be written.
    #[must_use]
    pub fn with(mut self, name: &str, bytes: &[u8]) -> Self {
        self.sums.insert(name.to_owned(), blake3::hash(bytes).to_hex().to_string());
        self
    }

    /// Writes the list into the folder.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&self) -> Result<()> {
        let lines: String =
            self.sums.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
        write_atomic(self.folder.join(Self::FILE), lines.as_bytes())
    }

    /// Replaces a file and updates its line in the list of its folder and its
    /// [sidecar](Checksums::write_sidecar), where they exist. With `add` the file gets a line in a
    /// list that has none for it.
    ///
    /// While the file is replaced it has no checksum, so that no crash can leave a checksum that
    /// does not match. A damaged list is left unchanged, so that the damage is still detected.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn replace(path: &Path, bytes: &[u8], add: bool) -> Result<()> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let list = Self::read(crate::folder::parent(path)).ok().flatten();
        let mut list = list.filter(|list| add || list.sums.contains_key(name));
        // Remove, replace, add again: three atomic writes. A crash between them leaves a file
        // without a checksum, never a wrong checksum.
        if let Some(list) = list.as_mut().filter(|list| list.sums.contains_key(name)) {
            list.sums.remove(name);
            list.write()?;
        }
        let own = sidecar(path).exists();
        if own {
            Self::remove_sidecar(path)?;
        }
        write_atomic(path, bytes)?;
        if own {
            Self::write_sidecar(path)?;
        }
        list.map_or(Ok(()), |list| list.with(name, bytes).write())
    }

    /// Whether the file is listed.
    pub fn has(&self, name: &str) -> bool {
        self.sums.contains_key(name)
    }

    /// Removes the list of a folder, if it exists, before the files of the folder are replaced.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove(folder: &Path) -> Result<()> {
        remove_list(&folder.join(Self::FILE))
    }

    /// Removes the [sidecar](Checksums::write_sidecar) of a file, if it exists, before the file is
    /// replaced.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove_sidecar(path: &Path) -> Result<()> {
        remove_list(&sidecar(path))
    }

    /// Reads the list of a folder; `None` if it has none, as folders of earlier versions.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a valid list.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let list = Self::read_list(&folder.join(Self::FILE))?;
        Ok(list.map(|sums| Self { folder: folder.to_path_buf(), sums }))
    }

    /// The names of the listed files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sums.keys().map(String::as_str)
    }

    /// Compares one file with its recorded checksum.
    ///
    /// # Errors
    /// If they differ (the source is of the kind `InvalidData`), or the file is not listed or
    /// cannot be read.
    pub fn check(&self, name: &str) -> Result<()> {
        let path = self.folder.join(name);
        let Some(expected) = self.sums.get(name) else {
            return Err(damaged(
                &path,
                format!("expected its checksum in {}, found none", Self::FILE),
            ));
        };
        let found = sum_of(&path).map_err(|source| Error::new(&path, source))?;
        if *expected == found {
            return Ok(());
        }
        let reason = format!(
            "expected the content recorded in {}, found other content: the file was changed",
            Self::FILE
        );
        Err(damaged(&path, reason))
    }

    /// Writes the checksum of a single file to its sidecar, `a.csv.b3` for `a.csv`.
    ///
    /// # Errors
    /// If the file cannot be read, its name is not UTF-8, or the system refuses.
    pub fn write_sidecar(path: &Path) -> Result<()> {
        let sum = sum_of(path).map_err(|source| Error::new(path, source))?;
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| {
            damaged(path, "expected a file name in UTF-8, found other bytes".to_owned())
        })?;
        write_atomic(sidecar(path), format!("{sum}  {name}\n").as_bytes())
    }

    /// Compares a file with the list of its folder, if the list names it, and with its sidecar, if
    /// it has one.
    ///
    /// # Errors
    /// As [`Checksums::check`]; also if the list or the sidecar is damaged.
    pub fn check_file(path: &Path) -> Result<()> {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
        let folder = crate::folder::parent(path);
        match Self::read(folder)? {
            Some(sums) if sums.sums.contains_key(name) => sums.check(name)?,
            _ => {}
        }
        Self::check_sidecar(path)
    }

    /// Compares a file with its [sidecar](Checksums::write_sidecar), if it has one. The list of the
    /// folder is not read, since it may belong to another program.
    ///
    /// # Errors
    /// If the content differs, or the sidecar is damaged.
    pub fn check_sidecar(path: &Path) -> Result<()> {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
        let own = sidecar(path);
        match Self::read_list(&own)? {
            // A missing file is not a changed one: the reader that follows reports it better.
            Some(sums)
                if sums
                    .get(name)
                    .is_none_or(|sum| sum_of(path).is_ok_and(|found| found != *sum)) =>
            {
                let list = own.file_name().unwrap_or_default().to_string_lossy();
                let reason = format!(
                    "expected the content recorded in {list}, found other content: the file was \
                     changed (if that was intended, remove {list})"
                );
                Err(damaged(path, reason))
            }
            _ => Ok(()),
        }
    }

    /// The list in a file; `None` if there is no such file.
    fn read_list(path: &Path) -> Result<Option<BTreeMap<String, String>>> {
        match fs::read(path) {
            Ok(bytes) => parse(&bytes).map(Some).map_err(|reason| damaged(path, reason)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::new(path, error)),
        }
    }
}

/// The path of the sidecar of a file.
fn sidecar(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".b3");
    name.into()
}

fn remove_list(path: &Path) -> Result<()> {
    match remove_file(path) {
        Err(refused) if refused.source.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(refused) => Err(refused),
        Ok(()) => sync_folder(crate::folder::parent(path)),
    }
}

fn sum_of(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(File::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Parses lines of 64 lower-case hexadecimal digits, two spaces, a name and a newline. It is strict
/// so that every flipped byte is an error.
fn parse(bytes: &[u8]) -> Result<BTreeMap<String, String>, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| "expected UTF-8 text, found other bytes".to_owned())?;
    let mut sums = BTreeMap::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let (sum, name) =
            parse_line(line).map_err(|expected| format!("line {}: expected {expected}", at + 1))?;
        if sums.insert(name.to_owned(), sum.to_owned()).is_some() {
            return Err(format!("line {}: expected every name once", at + 1));
        }
    }
    Ok(sums)
}

/// The checksum and the name in one line, or what was expected.
fn parse_line(line: &str) -> Result<(&str, &str), &'static str> {
    let line = line.strip_suffix('\n').ok_or("a complete line, found a truncated one")?;
    let (sum, name) = line.split_once("  ").ok_or("a checksum, two spaces and a name")?;
    if sum.len() != 64 || !sum.bytes().all(is_lower_hexadecimal) {
        return Err("64 lower-case hexadecimal digits");
    }
    // A list may come from elsewhere: it must not make this program read outside its folder.
    let is_inside = name.split('/').all(|part| !["", ".", ".."].contains(&part));
    if !is_inside || name.contains('\\') {
        return Err("the name of a file in the same folder or below");
    }
    Ok((sum, name))
}

fn is_lower_hexadecimal(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn damaged(path: &Path, reason: String) -> Error {
    Error::new(path, io::Error::new(io::ErrorKind::InvalidData, reason))
}

#[cfg(test)]
mod tests;
