//! Reading the entries of a zip archive: the container of `.npz`, and of datasets that are
//! published as one file.
//!
//! Only what numpy and they need is understood: one volume, entries stored or deflated, zip64 where
//! needed. Files may come from untrusted sources, so nothing is used before it is checked:
//! every offset and length is compared with the length of the file, and an entry that claims to
//! unpack to more than deflate can produce is refused. So are two entries of one name, since
//! programs disagree on which of them counts, and entries that share bytes, with which a small file
//! could unpack to the same bytes many times.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::counted::Counted;

/// An open archive and its table of contents.
pub(crate) struct Archive {
    file: BufReader<Counted<File>>,
    length: u64,
    entries: Vec<Contents>,
    /// The position of each name in the table of contents.
    position: HashMap<String, usize>,
}

/// One line of the table of contents.
struct Contents {
    name: String,
    deflated: bool,
    crc: u32,
    packed: u64,
    size: u64,
    header_at: u64,
}

impl Contents {
    /// A lower bound of the end of the entry in the file.
    fn least_end(&self) -> u64 {
        self.header_at.saturating_add(LOCAL_HEADER as u64).saturating_add(self.packed)
    }
}

impl Archive {
    /// Opens a file and reads its table of contents.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::new(File::open(path)?)
    }

    /// Reads the table of contents of a file.
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let mut file = BufReader::new(Counted(file));
        let length = file.seek(SeekFrom::End(0))?;
        let directory = find_directory(&mut file, length)?;
        let entries = read_directory(&directory, length)?;
        check_apart(&entries)?;
        let mut position = HashMap::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            if position.insert(entry.name.clone(), at).is_some() {
                return Err(broken(format!("two entries called {}", entry.name)));
            }
        }
        Ok(Self { file, length, entries, position })
    }

    /// Bytes in the file.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Whether there is an entry of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.position.contains_key(name)
    }

    /// The names of all entries, in file order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Starts reading an entry; `None` if there is none of that name.
    pub(crate) fn entry(&mut self, name: &str) -> io::Result<Option<Entry<'_>>> {
        let Some(contents) = self.position.get(name).map(|at| &self.entries[*at]) else {
            return Ok(None);
        };
        self.file.seek(SeekFrom::Start(contents.header_at))?;
        let mut header = [0u8; LOCAL_HEADER];
        self.file.read_exact(&mut header)?;
        if header[..4] != *b"PK\x03\x04" {
            return Err(broken("the entry does not start where the table of contents says"));
        }
        self.file.seek_relative(i64::from(u16_at(&header, 26)) + i64::from(u16_at(&header, 28)))?;
        let packed = self.file.by_ref().take(contents.packed);
        let unpacked: Box<dyn Read + '_> = if contents.deflated {
            Box::new(DeflateDecoder::new(packed))
        } else {
            Box::new(packed)
        };
        Ok(Some(Entry {
            unpacked,
            size: contents.size,
            expected_crc: contents.crc,
            crc: Crc::new(),
        }))
    }
}

/// An entry being unpacked.
pub(crate) struct Entry<'a> {
    unpacked: Box<dyn Read + 'a>,
    size: u64,
    expected_crc: u32,
    crc: Crc,
}

impl Entry<'_> {
    /// Bytes after unpacking, according to the table of contents.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Checks that everything was read and matches the checksum.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if self.unpacked.read(&mut [0])? != 0 {
            return Err(broken("the entry is longer than the table of contents says"));
        }
        if self.crc.sum() != self.expected_crc {
            return Err(broken("the checksum of the entry does not match its bytes"));
        }
        Ok(())
    }
}

impl Read for Entry<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.unpacked.read(buffer)?;
        self.crc.update(&buffer[..count]);
        Ok(count)
    }
}

/// Finds the table of contents by the record at the end of the file and returns its bytes.
fn find_directory(file: &mut BufReader<Counted<File>>, length: u64) -> io::Result<Vec<u8>> {
    // The end record is followed by a comment of at most 64 KiB and preceded, in zip64, by a
    // 20-byte locator.
    let tail_at = length.saturating_sub((END_RECORD + LOCATOR + usize::from(u16::MAX)) as u64);
    let tail = read_at(file, tail_at, length - tail_at)?;
    let last_start = tail.len().checked_sub(END_RECORD).ok_or_else(not_a_zip)?;
    let at = (0..=last_start).rev().find(|&at| is_end_record(&tail[at..]));
    let at = at.ok_or_else(not_a_zip)?;
    let end = &tail[at..];
    let (mut size, mut start) = (u64::from(u32_at(end, 12)), u64::from(u32_at(end, 16)));
    if let Some(locator) =
        at.checked_sub(LOCATOR).map(|from| &tail[from..at]).filter(|l| l.starts_with(b"PK\x06\x07"))
    {
        let record = read_at(file, u64_at(locator, 8), END_RECORD_64)?;
        if record.len() as u64 != END_RECORD_64 || !record.starts_with(b"PK\x06\x06") {
            return Err(broken("the zip64 end record is not where it should be"));
        }
        (size, start) = (u64_at(&record, 40), u64_at(&record, 48));
    }
    if start.checked_add(size).is_none_or(|end| end > length) {
        return Err(broken("the table of contents reaches past the end of the file"));
    }
    read_at(file, start, size)
}

/// Whether the rest of a file is an end record. The signature may also occur inside the comment, so
/// the comment that the record announces must end with the file.
fn is_end_record(rest: &[u8]) -> bool {
    let with_comment = END_RECORD + usize::from(u16_at(rest, 20));
    rest.starts_with(b"PK\x05\x06") && rest.len() == with_comment
}

/// Up to `count` bytes from `start`; the caller has compared `count` with the length of the file.
fn read_at(file: &mut BufReader<Counted<File>>, start: u64, count: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_directory(mut bytes: &[u8], length: u64) -> io::Result<Vec<Contents>> {
    let mut entries = Vec::new();
    while bytes.starts_with(b"PK\x01\x02") {
        let header = bytes.get(..CENTRAL_HEADER).ok_or_else(truncated)?;
        let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(u16_at(header, at)));
        let after = &bytes[CENTRAL_HEADER..];
        let variable = after.get(..name + extra + comment).ok_or_else(truncated)?;
        let contents = read_contents(header, &variable[..name], &variable[name..name + extra])?;
        check_contents(&contents, length)?;
        entries.push(contents);
        bytes = &after[name + extra + comment..];
    }
    Ok(entries)
}

fn read_contents(header: &[u8], name: &[u8], extra: &[u8]) -> io::Result<Contents> {
    let [packed, size, header_at] = wide_fields([20, 24, 42].map(|at| u32_at(header, at)), extra)?;
    let name = String::from_utf8_lossy(name).into_owned();
    if u16_at(header, 8) & 1 != 0 {
        return Err(broken(format!("entry {name} is encrypted")));
    }
    let deflated = match u16_at(header, 10) {
        0 => false,
        8 => true,
        other => {
            return Err(broken(format!(
                "entry {name} is packed by method {other}, not stored or deflated"
            )));
        }
    };
    Ok(Contents { name, deflated, crc: u32_at(header, 16), packed, size, header_at })
}

/// The packed size, size and offset of an entry, taken from the zip64 field where 32 bits were too
/// few.
///
/// The field holds only the numbers that did not fit, in the order size, packed size, offset.
fn wide_fields([packed, size, header_at]: [u32; 3], mut extra: &[u8]) -> io::Result<[u64; 3]> {
    let mut wide: &[u8] = &[];
    while let Some(head) = extra.get(..4) {
        let data = extra.get(4..4 + usize::from(u16_at(head, 2))).ok_or_else(truncated)?;
        // Fields of other programs (dates, owners) are skipped.
        if u16_at(head, 0) == 1 {
            wide = data;
        }
        extra = &extra[4 + data.len()..];
    }
    let size = widened(size, &mut wide)?;
    let packed = widened(packed, &mut wide)?;
    Ok([packed, size, widened(header_at, &mut wide)?])
}

/// A number that fits 32 bits, or the next one of the zip64 field.
fn widened(narrow: u32, wide: &mut &[u8]) -> io::Result<u64> {
    if narrow != u32::MAX {
        return Ok(u64::from(narrow));
    }
    let (number, rest) = wide.split_at_checked(8).ok_or_else(truncated)?;
    *wide = rest;
    Ok(u64_at(number, 0))
}

fn check_contents(contents: &Contents, length: u64) -> io::Result<()> {
    let Contents { name, deflated, packed, size, header_at, .. } = contents;
    if header_at.checked_add(*packed).is_none_or(|end| end > length) {
        return Err(broken(format!("entry {name} reaches past the end of the file")));
    }
    let most = if *deflated {
        packed.saturating_mul(MAX_RATIO).saturating_add(MAX_RATIO)
    } else {
        *packed
    };
    if *size > most {
        return Err(broken(format!(
            "entry {name} claims {size} bytes, more than its {packed} packed bytes can hold"
        )));
    }
    Ok(())
}

/// Refuses entries that share bytes of the file. The length of the fields between an entry's header
/// and its packed bytes is not known yet and taken as 0: entries that are apart are never refused.
fn check_apart(entries: &[Contents]) -> io::Result<()> {
    let mut in_order: Vec<&Contents> = entries.iter().collect();
    in_order.sort_by_key(|entry| entry.header_at);
    match in_order.windows(2).find(|pair| pair[0].least_end() > pair[1].header_at) {
        Some(pair) => {
            Err(broken(format!("entries {} and {} that share bytes", pair[0].name, pair[1].name)))
        }
        None => Ok(()),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn not_a_zip() -> io::Error {
    broken("no zip archive (truncated, or another kind of file)")
}

fn truncated() -> io::Error {
    broken("the table of contents is truncated")
}

fn broken(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.into())
}

/// The largest factor by which deflate can shrink anything: 258 bytes from 2 bits.
const MAX_RATIO: u64 = 1032;

const LOCAL_HEADER: usize = 30;
const CENTRAL_HEADER: usize = 46;
const END_RECORD: usize = 22;
const END_RECORD_64: u64 = 56;
const LOCATOR: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use ::zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};
    use std::io::{Cursor, Write};

    fn sample(method: CompressionMethod, wide: bool) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, text) in [("a", "first"), ("b", "second, second, second")] {
            zip.start_file(
                name,
                SimpleFileOptions::default().compression_method(method).large_file(wide),
            )
            .unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.set_comment("a comment").unwrap();
        zip.finish().unwrap().into_inner()
    }

    fn open(bytes: &[u8]) -> io::Result<Archive> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        Archive::open(file.path())
    }

    fn read(archive: &mut Archive, name: &str) -> io::Result<String> {
        let mut entry = archive.entry(name)?.expect("the entry is there");
        let mut text = String::new();
        let size = entry.size();
        entry.by_ref().take(size).read_to_string(&mut text)?;
        entry.finish()?;
        Ok(text)
    }

    #[test]
    fn stored_and_deflated_entries_are_read() {
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let mut archive = open(&sample(method, method == CompressionMethod::Stored)).unwrap();
            assert_eq!(archive.names().collect::<Vec<_>>(), ["a", "b"]);
            assert_eq!(read(&mut archive, "b").unwrap(), "second, second, second");
            assert_eq!(read(&mut archive, "a").unwrap(), "first");
            assert!(archive.entry("c").unwrap().is_none());
        }
    }

    #[test]
    fn changed_bytes_are_noticed() {
        let mut bytes = sample(CompressionMethod::Stored, false);
        let at = bytes.windows(5).position(|w| w == b"first").unwrap();
        bytes[at] ^= 1;
        let reason = read(&mut open(&bytes).unwrap(), "a").unwrap_err().to_string();
        assert!(reason.contains("checksum"), "{reason}");
    }

    #[test]
    fn claims_that_cannot_be_true_are_refused() {
        let original = sample(CompressionMethod::Deflated, false);
        let directory = original.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
        for (field, reason) in
            [(24, "can hold"), (20, "past the end"), (42, "past the end"), (8, "encrypted")]
        {
            let mut bytes = original.clone();
            bytes[directory + field..directory + field + 3].fill(0x7f);
            let found = open(&bytes).err().expect("refused").to_string();
            assert!(found.contains(reason), "{field}: {found}");
        }
    }

    #[test]
    fn entries_of_one_name_or_with_shared_bytes_are_refused() {
        let original = sample(CompressionMethod::Stored, false);
        let second = original.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
        let mut same_name = original.clone();
        same_name[second + CENTRAL_HEADER] = b'a';
        assert_eq!(open(&same_name).err().unwrap().to_string(), "two entries called a");
        // The second entry begins where the first does, and then inside of it.
        for header_at in [0u32, 8] {
            let mut shared = original.clone();
            shared[second + 42..second + 46].copy_from_slice(&header_at.to_le_bytes());
            assert_eq!(
                open(&shared).err().unwrap().to_string(),
                "entries a and b that share bytes"
            );
        }
    }
}
