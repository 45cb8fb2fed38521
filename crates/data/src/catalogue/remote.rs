//! Downloads files from a mirror, or from where they are published.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use boostfgl_disk::{AtomicFile, create_dir_all};
use boostfgl_graph::{Error, Result};

use super::files::{Hashing, compare, copy};
use super::lookup::{Located, Lookup, in_folder};
use super::{Dataset, File};
use crate::readers::zip::{Archive, Entry};

/// A way to download files. This crate has no network access; it reads `file://` addresses itself.
pub trait Fetch {
    /// Writes the content of `url` to `to`, and calls `progress` with the bytes so far and the
    /// total, if known. Returns the length that the server announced.
    ///
    /// # Errors
    /// The reason in a sentence, also if the server answered with anything but the file, or the
    /// connection broke before the end.
    fn fetch(
        &self,
        url: &str,
        to: &mut dyn Write,
        progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> std::result::Result<u64, String>;
}

/// Called with the name of the file, the bytes so far and the total, if known.
type Progress<'a> = &'a mut dyn FnMut(&str, u64, Option<u64>);

impl Lookup {
    /// Finds the files, and downloads them into the cache if they are not on this machine: from
    /// the mirror if `BOOSTFGL_DATA` is an address, otherwise (or if the mirror does not have
    /// them) from where they are published.
    ///
    /// Files are checked against their SHA-256 before any of them appears in the cache. An
    /// optional file that is not available is listed in [`Located::missing`].
    ///
    /// # Errors
    /// [`Error::Fetch`] if a required file is not available, [`Error::Checksum`] if it is not the
    /// published one, [`Error::Io`] if the cache cannot be written, [`Error::NotFound`] if there is
    /// no cache.
    pub fn fetch(
        &self,
        dataset: &'static Dataset,
        fetch: &dyn Fetch,
        progress: Progress,
    ) -> Result<Located> {
        let missing = match self.locate(dataset) {
            Ok(located) => return Ok(located),
            Err(missing) => missing,
        };
        let Some(cache) = &self.cache else { return Err(missing) };
        create_dir_all(cache)?;
        let mut download = Download { cache, fetch, progress, most: dataset.most_bytes() };

        let result = match self.address().map(|address| download.mirrored(address, dataset)) {
            Some(Ok(())) => Ok(()),
            Some(Err(Error::Fetch { url, reason })) => {
                download.published(dataset).map_err(|error| match error {
                    Error::Fetch { url: origin, reason: also } => Error::Fetch {
                        url: origin,
                        reason: format!("{also} (and from the mirror {url}: {reason})"),
                    },
                    other => other,
                })
            }
            Some(Err(other)) => Err(other),
            None => download.published(dataset),
        };
        result?;
        in_folder(cache, dataset).ok_or(missing)
    }
}

/// One attempt to download a dataset into the cache.
struct Download<'a> {
    cache: &'a Path,
    fetch: &'a dyn Fetch,
    progress: Progress<'a>,
    /// No file of the dataset is larger.
    most: u64,
}

/// A verified file under a temporary name. It is renamed once all files of its dataset are
/// verified.
type Staged = AtomicFile;

impl Download<'_> {
    /// Downloads from a mirror. Tries the forms a folder may have, complete ones first.
    fn mirrored(&mut self, address: &str, dataset: &Dataset) -> Result<()> {
        let address = address.trim_end_matches('/');
        let mut forms = vec![Form::Published("raw/"), Form::Published("")];
        if let Some(flat) = dataset.flat {
            forms.insert(if flat.complete { 0 } else { 2 }, Form::Flat);
        }
        let mut first = None;
        for form in forms {
            let result = match (form, dataset.flat) {
                (Form::Flat, Some(flat)) => {
                    let url = format!("{address}/{}", flat.name);
                    self.fetch_file(&url, flat.name.as_ref(), Some(flat.sha256))
                        .map(|file| vec![file])
                }
                (Form::Flat, None) => continue,
                (Form::Published(prefix), _) => {
                    self.fetch_files(&format!("{address}/{prefix}{}", dataset.folder), dataset)
                }
            };
            match result {
                Ok(staged) => return keep(staged),
                Err(error @ Error::Fetch { .. }) => first = first.or(Some(error)),
                Err(other) => return Err(other),
            }
        }
        // The first form is the one a mirror should have: its error is the most informative.
        Err(first.unwrap_or_else(|| Error::Fetch {
            url: address.to_owned(),
            reason: "no such dataset".to_owned(),
        }))
    }

    fn published(&mut self, dataset: &Dataset) -> Result<()> {
        let staged = match dataset.archive {
            Some(archive) => self.unpack(archive, dataset)?,
            None => self.fetch_files(dataset.origin.trim_end_matches('/'), dataset)?,
        };
        keep(staged)
    }

    /// All files of the published form, one by one.
    fn fetch_files(&mut self, address: &str, dataset: &Dataset) -> Result<Vec<Staged>> {
        let mut staged = Vec::new();
        for file in dataset.files {
            let target = Path::new(dataset.folder).join(file.name);
            match self.fetch_file(&format!("{address}/{}", file.name), &target, file.sha256) {
                Ok(done) => staged.push(done),
                Err(Error::Fetch { .. }) if !file.required => {}
                Err(error) => return Err(error),
            }
        }
        Ok(staged)
    }

    /// Downloads one file under a temporary name in the cache and checks it.
    fn fetch_file(&mut self, url: &str, target: &Path, sha256: Option<&str>) -> Result<Staged> {
        let mut file = self.temporary(target)?;
        let name = target.file_name().unwrap_or(target.as_os_str()).to_string_lossy();
        let mut hashing = Hashing::within(&mut file, self.most);
        let mut progress = |done, all| (self.progress)(&name, done, all);
        let got = match file_path(url) {
            Some(path) => read_local(&path, &mut hashing, &mut progress),
            None => self.fetch.fetch(url, &mut hashing, &mut progress),
        };
        let (digest, bytes) = hashing.finish();
        let announced = got.map_err(|reason| fetch_error(url, reason))?;
        if announced != bytes {
            let reason = format!("{announced} bytes were announced, {bytes} arrived");
            return Err(fetch_error(url, reason));
        }
        compare(Path::new(url), sha256, digest)?;
        Ok(file)
    }

    /// Downloads the archive and extracts the published files.
    fn unpack(&mut self, archive: &str, dataset: &Dataset) -> Result<Vec<Staged>> {
        let url = format!("{}{archive}", dataset.origin);
        let mut zip = self.fetch_file(&url, archive.as_ref(), None)?;
        let mut archive = Archive::new(zip.reopen()?)
            .map_err(|e| fetch_error(&url, format!("not a zip archive: {e}")))?;
        let mut staged = Vec::new();
        for file in dataset.files {
            let member = file.member.unwrap_or(file.name);
            let inside = match archive.entry(member).map_err(|e| member_error(&url, member, e))? {
                Some(inside) => inside,
                None if !file.required => continue,
                None => return Err(member_error(&url, member, "no such entry")),
            };
            staged.push(self.extract(inside, file, dataset).map_err(|error| match error {
                Error::Io { source, .. } => member_error(&url, member, source),
                other => other,
            })?);
        }
        Ok(staged)
    }

    fn extract(&self, mut inside: Entry<'_>, file: &File, dataset: &Dataset) -> Result<Staged> {
        let mut temporary = self.temporary(&Path::new(dataset.folder).join(file.name))?;
        let mut hashing = Hashing::within(&mut temporary, self.most);
        let copied = copy(&mut inside, &mut hashing).and_then(|_| inside.finish());
        copied.map_err(|e| Error::io(file.name, e))?;
        compare(Path::new(file.name), file.sha256, hashing.finish().0)?;
        Ok(temporary)
    }

    /// A temporary file, on the same file system as the cache so that it can be renamed into it.
    fn temporary(&self, target: &Path) -> Result<Staged> {
        Ok(AtomicFile::create_in(self.cache, self.cache.join(target))?)
    }
}

/// The forms in which a mirror may hold a dataset.
enum Form {
    /// One npz.
    Flat,
    /// Published files, in a folder under this prefix.
    Published(&'static str),
}

fn fetch_error(url: &str, reason: String) -> Error {
    Error::Fetch { url: url.to_owned(), reason }
}

/// The error for one file of a downloaded archive.
fn member_error(url: &str, member: &str, reason: impl Display) -> Error {
    fetch_error(url, format!("{member} in the archive: {reason}"))
}

/// Renames verified files to their final names.
fn keep(staged: Vec<Staged>) -> Result<()> {
    for file in staged {
        if let Some(folder) = file.target().parent() {
            create_dir_all(folder)?;
        }
        file.finish()?;
    }
    Ok(())
}

fn read_local(
    path: &Path,
    to: &mut dyn Write,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> std::result::Result<u64, String> {
    let mut file = std::fs::File::open(path).map_err(|e| e.to_string())?;
    let bytes = copy(&mut file, to).map_err(|e| e.to_string())?;
    progress(bytes, Some(bytes));
    Ok(bytes)
}

/// The path that a `file://` address names, with %XX decoded.
fn file_path(url: &str) -> Option<PathBuf> {
    let encoded = url.strip_prefix("file://")?;
    let encoded = encoded.strip_prefix("localhost").unwrap_or(encoded);
    // file:///C:/data names C:/data.
    let encoded = match encoded.as_bytes() {
        [b'/', letter, b':', ..] if letter.is_ascii_alphabetic() => &encoded[1..],
        _ => encoded,
    };
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex =
            tail.get(..2).filter(|_| byte == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &tail[2..];
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    Some(PathBuf::from(String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_addresses_name_paths() {
        assert_eq!(file_path("file:///a/b%20c/%C3%A9"), Some(PathBuf::from("/a/b c/é")));
        assert_eq!(file_path("file:///C:/data"), Some(PathBuf::from("C:/data")));
        assert_eq!(file_path("file:///50%"), Some(PathBuf::from("/50%")));
        assert_eq!(file_path("https://host/x"), None);
    }
}
