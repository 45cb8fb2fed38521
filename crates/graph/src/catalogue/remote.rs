//! Bringing files here: from a mirror, or from where they are published.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};

use boostfgl_disk::{AtomicFile, create_dir_all};

use super::files::{Hashing, compare, copy};
use super::lookup::{Located, Lookup, in_folder};
use super::{Dataset, File};
use crate::readers::zip::{Archive, Entry};
use crate::{Error, Result};

/// A way to download files. This crate has no network access; it reads `file://` addresses itself.
pub trait Fetch {
    /// Writes what is at `url` to `to`, telling `progress` the bytes so far and in all, if known.
    ///
    /// # Errors
    /// A sentence saying why it failed, also where the server answered with anything but the file,
    /// or the connection broke before the end.
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
    /// Finds the files, and brings them into the cache if they are not on this machine: from the
    /// mirror if `BOOSTFGL_DATA` is an address, otherwise (or if the mirror does not have them)
    /// from where they are published.
    ///
    /// Files are checked against their SHA-256 before any of them appears in the cache. A file that
    /// is not required and cannot be had is listed in [`Located::missing`].
    ///
    /// # Errors
    /// [`Error::Fetch`] if a required file cannot be had, [`Error::Checksum`] if it is not the
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
        let mut bring = Bring { cache, fetch, progress, most: dataset.most_bytes() };

        let result = match self.address().map(|address| bring.mirrored(address, dataset)) {
            Some(Ok(())) => Ok(()),
            Some(Err(Error::Fetch { url, reason })) => {
                bring.published(dataset).map_err(|error| match error {
                    Error::Fetch { url: origin, reason: also } => Error::Fetch {
                        url: origin,
                        reason: format!("{also} (and from the mirror {url}: {reason})"),
                    },
                    other => other,
                })
            }
            Some(Err(other)) => Err(other),
            None => bring.published(dataset),
        };
        result?;
        in_folder(cache, dataset).ok_or(missing)
    }
}

/// One attempt to bring a dataset into the cache.
struct Bring<'a> {
    cache: &'a Path,
    fetch: &'a dyn Fetch,
    progress: Progress<'a>,
    /// No file of the dataset is larger.
    most: u64,
}

/// A verified file that waits outside the cache proper until all of its dataset are there.
type Staged = AtomicFile;

impl Bring<'_> {
    /// Tries the forms a folder may have, complete ones first.
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
                    self.one(&url, flat.name.as_ref(), Some(flat.sha256)).map(|staged| vec![staged])
                }
                (Form::Flat, None) => continue,
                (Form::Published(prefix), _) => {
                    self.each(&format!("{address}/{prefix}{}", dataset.folder), dataset)
                }
            };
            match result {
                Ok(staged) => return keep(staged),
                Err(error @ Error::Fetch { .. }) => first = first.or(Some(error)),
                Err(other) => return Err(other),
            }
        }
        // The first form is the one a mirror should have: its failure says most.
        Err(first.unwrap_or_else(|| Error::Fetch {
            url: address.to_owned(),
            reason: "no such dataset".to_owned(),
        }))
    }

    fn published(&mut self, dataset: &Dataset) -> Result<()> {
        let staged = match dataset.archive {
            Some(archive) => self.unpack(archive, dataset)?,
            None => self.each(dataset.origin.trim_end_matches('/'), dataset)?,
        };
        keep(staged)
    }

    /// All files of the published form, one by one.
    fn each(&mut self, address: &str, dataset: &Dataset) -> Result<Vec<Staged>> {
        let mut staged = Vec::new();
        for file in dataset.files {
            let target = Path::new(dataset.folder).join(file.name);
            match self.one(&format!("{address}/{}", file.name), &target, file.sha256) {
                Ok(done) => staged.push(done),
                Err(Error::Fetch { .. }) if !file.required => {}
                Err(error) => return Err(error),
            }
        }
        Ok(staged)
    }

    /// Brings one file to a temporary place in the cache and checks it.
    fn one(&mut self, url: &str, target: &Path, sha256: Option<&str>) -> Result<Staged> {
        let mut file = self.temporary(target)?;
        let name = target.file_name().unwrap_or(target.as_os_str()).to_string_lossy();
        let mut hashing = Hashing::within(&mut file, self.most);
        let mut progress = |done, all| (self.progress)(&name, done, all);
        let got = match file_path(url) {
            Some(path) => read_local(&path, &mut hashing, &mut progress),
            None => self.fetch.fetch(url, &mut hashing, &mut progress),
        };
        let (digest, bytes) = hashing.finish();
        let failed = |reason| Error::Fetch { url: url.to_owned(), reason };
        let promised = got.map_err(failed)?;
        if promised != bytes {
            return Err(failed(format!("{promised} bytes were promised, {bytes} arrived")));
        }
        compare(Path::new(url), sha256, digest)?;
        Ok(file)
    }

    /// Brings the archive and takes the published files out of it.
    fn unpack(&mut self, archive: &str, dataset: &Dataset) -> Result<Vec<Staged>> {
        let url = format!("{}{archive}", dataset.origin);
        let mut zip = self.one(&url, archive.as_ref(), None)?;
        let broken = |reason: String| Error::Fetch { url: url.clone(), reason };
        let mut archive =
            Archive::new(zip.reopen()?).map_err(|e| broken(format!("not a zip archive: {e}")))?;
        let mut staged = Vec::new();
        for file in dataset.files {
            let member = file.member.unwrap_or(file.name);
            let in_archive =
                |reason: &dyn Display| broken(format!("{member} in the archive: {reason}"));
            let inside = match archive.entry(member).map_err(|e| in_archive(&e))? {
                Some(inside) => inside,
                None if !file.required => continue,
                None => return Err(in_archive(&"no such entry")),
            };
            staged.push(self.extract(inside, file, dataset).map_err(|error| match error {
                Error::Io { source, .. } => in_archive(&source),
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

    /// A file that vanishes unless it is kept, on the cache's own disk so that keeping it is a
    /// rename.
    fn temporary(&self, target: &Path) -> Result<Staged> {
        Ok(AtomicFile::create_in(self.cache, self.cache.join(target))?)
    }
}

/// How a mirror may hold a dataset.
enum Form {
    /// One npz.
    Flat,
    /// Published files, in a folder under this prefix.
    Published(&'static str),
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
