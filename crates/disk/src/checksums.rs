//! `checksums.txt`: the BLAKE3 of every file of a folder, as `b3sum` prints and checks them.
//!
//! A table or a list of numbers stays readable when a digit of it flips. The checksums are what
//! tells: `b3sum --check checksums.txt` in the folder says so without this program.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::{Error, Result, remove_file, sync_folder, write_atomic};

/// What the files of a folder should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksums {
    folder: PathBuf,
    sums: BTreeMap<String, String>,
}

impl Checksums {
    /// The name of the file.
    pub const FILE: &str = "checksums.txt";

    /// What those of the named files are that exist in `folder`.
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

    /// The same, with a file that is yet to be written.
    #[must_use]
    pub fn with(mut self, name: &str, bytes: &[u8]) -> Self {
        self.sums.insert(name.to_owned(), blake3::hash(bytes).to_hex().to_string());
        self
    }

    /// Writes them into the folder.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&self) -> Result<()> {
        let lines: String =
            self.sums.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
        write_atomic(self.folder.join(Self::FILE), lines.as_bytes())
    }

    /// Replaces a file together with its line in the list of its folder and with the checksum
    /// [beside](Checksums::write_beside) it, where there are such. With `add` the file gets a line
    /// in a list that has none for it.
    ///
    /// In between, the file has no checksum: at no moment, and after no crash, is there one that it
    /// does not match. A list that is damaged stays as it is, for others to find.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn replace(path: &Path, bytes: &[u8], add: bool) -> Result<()> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let list = Self::read(crate::folder::parent(path)).ok().flatten();
        let mut list = list.filter(|list| add || list.sums.contains_key(name));
        if let Some(list) = list.as_mut().filter(|list| list.sums.contains_key(name)) {
            list.sums.remove(name);
            list.write()?;
        }
        let own = beside(path).exists();
        if own {
            Self::remove_beside(path)?;
        }
        write_atomic(path, bytes)?;
        if own {
            Self::write_beside(path)?;
        }
        list.map_or(Ok(()), |list| list.with(name, bytes).write())
    }

    /// Whether a file has a line.
    pub fn has(&self, name: &str) -> bool {
        self.sums.contains_key(name)
    }

    /// Removes those of a folder, if there are any, before its files are replaced.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove(folder: &Path) -> Result<()> {
        remove_list(&folder.join(Self::FILE))
    }

    /// Removes the one [beside](Checksums::write_beside) a file, if there is one, before the file
    /// is replaced.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn remove_beside(path: &Path) -> Result<()> {
        remove_list(&beside(path))
    }

    /// The checksums in a folder; `None` if there are none, as in folders of earlier versions.
    ///
    /// # Errors
    /// If the file cannot be read, or is not such a list.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let list = Self::read_list(&folder.join(Self::FILE))?;
        Ok(list.map(|sums| Self { folder: folder.to_path_buf(), sums }))
    }

    /// The names of the files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sums.keys().map(String::as_str)
    }

    /// Compares one file with what it should be.
    ///
    /// # Errors
    /// If it is another (the source is of the kind `InvalidData`), is not listed, or cannot be
    /// read.
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
            "expected the content that {} names, found other: the file was changed",
            Self::FILE
        );
        Err(damaged(&path, reason))
    }

    /// Writes the checksum of one file, which stands by itself, to a file beside it: `a.csv.b3` for
    /// `a.csv`.
    ///
    /// # Errors
    /// If the file cannot be read, its name is no text, or the system refuses.
    pub fn write_beside(path: &Path) -> Result<()> {
        let sum = sum_of(path).map_err(|source| Error::new(path, source))?;
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| {
            damaged(path, "expected a name that is text, found other bytes".to_owned())
        })?;
        write_atomic(beside(path), format!("{sum}  {name}\n").as_bytes())
    }

    /// Compares a file with the checksums beside it, if there are any and they name it.
    ///
    /// # Errors
    /// As [`Checksums::check`]; also if the checksums themselves are damaged.
    pub fn check_beside(path: &Path) -> Result<()> {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
        let folder = crate::folder::parent(path);
        match Self::read(folder)? {
            Some(sums) if sums.sums.contains_key(name) => sums.check(name)?,
            _ => {}
        }
        Self::check_own(path)
    }

    /// Compares a file with the checksum that [stands beside](Checksums::write_beside) it for it
    /// alone, if there is one. A list of the folder is not looked at: it may be anybody's.
    ///
    /// # Errors
    /// If the file is another than it should be, or the checksum is damaged.
    pub fn check_own(path: &Path) -> Result<()> {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
        let own = beside(path);
        match Self::read_list(&own)? {
            Some(sums)
                if sums
                    .get(name)
                    .is_none_or(|sum| sum_of(path).is_ok_and(|found| found != *sum)) =>
            {
                let list = own.file_name().unwrap_or_default().to_string_lossy();
                let reason = format!(
                    "expected the content that {list} names, found other: the file was changed \
                     (if that was meant, \
                     remove {list})"
                );
                Err(damaged(path, reason))
            }
            _ => Ok(()),
        }
    }

    /// The list in a file, if there is such a file.
    fn read_list(path: &Path) -> Result<Option<BTreeMap<String, String>>> {
        match fs::read(path) {
            Ok(bytes) => parse(&bytes).map(Some).map_err(|reason| damaged(path, reason)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::new(path, error)),
        }
    }
}

/// Where the checksum of one file is that stands by itself.
fn beside(path: &Path) -> PathBuf {
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

/// Strict, so that no flipped byte passes: 64 small hexadecimal digits, two spaces, a name, the end
/// of the line.
fn parse(bytes: &[u8]) -> Result<BTreeMap<String, String>, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| "expected UTF-8 text, found other bytes".to_owned())?;
    let mut sums = BTreeMap::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let wrong = |expected: &str| format!("line {}: expected {expected}", at + 1);
        let line = line
            .strip_suffix('\n')
            .ok_or_else(|| wrong("a whole line, found one that was cut off"))?;
        let (sum, name) =
            line.split_once("  ").ok_or_else(|| wrong("a checksum, two spaces and a name"))?;
        let hexadecimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if sum.len() != 64 || !sum.bytes().all(hexadecimal) {
            return Err(wrong("64 small hexadecimal digits"));
        }
        // A list names files of its own folder, whoever wrote it.
        if name.is_empty() || name.contains(['/', '\\']) || name == ".." {
            return Err(wrong("the name of a file in the same folder"));
        }
        if sums.insert(name.to_owned(), sum.to_owned()).is_some() {
            return Err(wrong("every name once"));
        }
    }
    Ok(sums)
}

fn damaged(path: &Path, reason: String) -> Error {
    Error::new(path, io::Error::new(io::ErrorKind::InvalidData, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_byte_and_every_cut_is_found_and_named() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path();
        fs::write(folder.join("a.csv"), "x,y\n1,2\n").unwrap();
        fs::write(folder.join("b.json"), "{}\n").unwrap();
        let names = ["a.csv", "b.json"];
        Checksums::of(folder, ["a.csv", "not-there"])
            .unwrap()
            .with("b.json", b"{}\n")
            .write()
            .unwrap();
        let check = || -> Result<()> {
            let sums = Checksums::read(folder)?.expect("there is a list");
            names.iter().try_for_each(|name| sums.check(name))
        };
        check().unwrap();
        for name in ["a.csv", "b.json", Checksums::FILE] {
            let whole = fs::read(folder.join(name)).unwrap();
            let cuts = (0..whole.len()).map(|length| whole[..length].to_vec());
            let flips = (0..whole.len() * 8).map(|bit| {
                let mut bytes = whole.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                bytes
            });
            for damaged in cuts.chain(flips) {
                fs::write(folder.join(name), &damaged).unwrap();
                let error = check().unwrap_err().to_string();
                assert!(error.contains(name), "{name} as {damaged:?}: {error}");
            }
            fs::write(folder.join(name), &whole).unwrap();
        }
        check().unwrap();
    }

    #[test]
    fn a_list_cannot_point_outside_its_folder() {
        let sum = "0".repeat(64);
        for name in ["../x", "/etc/passwd", "..", "", "a\\b"] {
            assert!(parse(format!("{sum}  {name}\n").as_bytes()).is_err(), "{name}");
        }
        assert_eq!(parse(b"").unwrap().len(), 0);
        for sum in ["g".repeat(64), "A".repeat(64), "0".repeat(63), "0".repeat(65)] {
            assert!(parse(format!("{sum}  a\n").as_bytes()).is_err(), "{sum}");
        }
    }

    #[test]
    fn a_file_without_checksums_beside_it_is_taken_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a");
        fs::write(&file, "1").unwrap();
        Checksums::check_beside(&file).unwrap();
        Checksums::of(place.path(), ["a"]).unwrap().write().unwrap();
        Checksums::check_beside(&file).unwrap();
        fs::write(&file, "2").unwrap();
        assert_eq!(
            Checksums::check_beside(&file).unwrap_err().source.kind(),
            io::ErrorKind::InvalidData
        );
    }

    #[test]
    fn what_is_not_listed_is_taken_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| place.path().join(name));
        [&a, &b].into_iter().for_each(|file| fs::write(file, "1").unwrap());
        Checksums::of(place.path(), ["a"]).unwrap().write().unwrap();
        Checksums::check_beside(&b).unwrap();
        let sums = Checksums::read(place.path()).unwrap().unwrap();
        assert_eq!(sums.names().collect::<Vec<_>>(), ["a"]);
        assert!(sums.check("b").is_err(), "who asks for it by name is told");
    }

    #[test]
    fn lists_are_removed_before_their_files_are_replaced() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a");
        fs::write(&file, "1").unwrap();
        Checksums::of(place.path(), ["a"]).unwrap().write().unwrap();
        Checksums::write_beside(&file).unwrap();
        // The second time there is nothing to remove, which is no error.
        for _ in 0..2 {
            Checksums::remove(place.path()).unwrap();
            Checksums::remove_beside(&file).unwrap();
            assert_eq!(
                fs::read_dir(place.path()).unwrap().count(),
                1,
                "only the file itself is left"
            );
        }
    }

    #[test]
    fn a_file_is_replaced_with_its_line_and_the_other_lines_stay() {
        let place = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| place.path().join(name));
        [&a, &b].into_iter().for_each(|file| fs::write(file, "1").unwrap());
        let list = || fs::read_to_string(place.path().join(Checksums::FILE)).unwrap();
        let check = |name: &str| Checksums::read(place.path()).unwrap().unwrap().check(name);
        Checksums::replace(&a, b"2", true).unwrap();
        assert!(!place.path().join(Checksums::FILE).exists(), "no list is begun");
        Checksums::of(place.path(), ["b"]).unwrap().write().unwrap();
        let before = list();
        Checksums::replace(&a, b"3", false).unwrap();
        assert_eq!(
            (list(), fs::read(&a).unwrap()),
            (before, b"3".to_vec()),
            "a file without a line"
        );
        Checksums::replace(&a, b"4", true).unwrap();
        check("a").unwrap();
        // Another file that was changed meanwhile is not made good by this.
        fs::write(&b, "changed").unwrap();
        Checksums::replace(&a, b"5", false).unwrap();
        check("a").unwrap();
        assert!(check("b").is_err());
        fs::write(place.path().join(Checksums::FILE), "damaged").unwrap();
        Checksums::replace(&a, b"6", true).unwrap();
        assert_eq!((list(), fs::read(&a).unwrap()), ("damaged".to_owned(), b"6".to_vec()));
    }

    #[test]
    fn a_file_is_replaced_with_its_checksum_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("a");
        fs::write(&file, "1").unwrap();
        Checksums::write_beside(&file).unwrap();
        Checksums::replace(&file, b"2", false).unwrap();
        Checksums::check_beside(&file).unwrap();
        fs::write(&file, "1").unwrap();
        assert!(Checksums::check_beside(&file).is_err());
    }

    /// A folder stands where a list or a file should be.
    #[test]
    fn what_the_system_refuses_is_no_missing_list() {
        let place = tempfile::tempdir().unwrap();
        let list = place.path().join(Checksums::FILE);
        fs::create_dir(&list).unwrap();
        for error in [
            Checksums::read(place.path()).unwrap_err(),
            Checksums::remove(place.path()).unwrap_err(),
            Checksums::of(place.path(), [Checksums::FILE]).unwrap_err(),
        ] {
            assert_eq!(error.path, list);
        }
    }

    #[test]
    fn one_file_by_itself_has_its_checksum_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("parts.csv");
        fs::write(&file, "1").unwrap();
        Checksums::write_beside(&file).unwrap();
        Checksums::check_beside(&file).unwrap();
        let list = place.path().join("parts.csv.b3");
        let whole = fs::read(&list).unwrap();
        assert!(whole.ends_with(b"  parts.csv\n"));
        fs::write(&file, "2").unwrap();
        let error = Checksums::check_beside(&file).unwrap_err().to_string();
        assert!(
            error.contains("expected the content that parts.csv.b3 names, found other"),
            "{error}"
        );
        fs::write(&file, "1").unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            for damaged in [&flipped[..], &whole[..at]] {
                fs::write(&list, damaged).unwrap();
                // An empty list names nothing.
                assert!(Checksums::check_beside(&file).is_err(), "byte {at}");
            }
        }
    }
}
