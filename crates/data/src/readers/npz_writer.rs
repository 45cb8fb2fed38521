//! Writing arrays into an npz, atomically: a zip archive with one deflated npy file per array.
//!
//! ```text
//! entry   "PK\3\4", sizes in a zip64 field, name.npy, deflated npy     once per array
//! table   "PK\1\2", the same facts and where the entry starts          once per array
//! end     zip64 end record and locator if 32 bits are too few, end record
//! ```
//!
//! Dates are fixed, so that equal graphs give equal files.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use boostfgl_disk::AtomicFile;
use boostfgl_graph::{Error, Result};
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// A npz that is being written. Nothing appears at its path before [`NpzWriter::finish`].
pub(super) struct NpzWriter {
    path: PathBuf,
    file: AtomicFile,
    entries: Vec<Entry>,
}

/// The entry of one array in the table of contents.
struct Entry {
    name: String,
    offset: u64,
    crc: u32,
    size: u64,
    packed: u64,
}

impl NpzWriter {
    /// Starts the file.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = AtomicFile::create(path)?;
        Ok(Self { path: path.to_path_buf(), file, entries: Vec::new() })
    }

    /// Adds an array of `shape`, row by row.
    pub(super) fn array<T: Element>(
        &mut self,
        name: &str,
        shape: &[u64],
        values: impl IntoIterator<Item = T>,
    ) -> Result<()> {
        self.write_array(name, shape, values).map_err(|e| Error::io(&self.path, e))
    }

    fn write_array<T: Element>(
        &mut self,
        name: &str,
        shape: &[u64],
        values: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        let offset = self.file.stream_position()?;
        let mut entry = Entry { name: format!("{name}.npy"), offset, crc: 0, size: 0, packed: 0 };
        self.file.write_all(&entry.local_header())?;
        let start = self.file.stream_position()?;
        (entry.size, entry.crc) = deflate(&mut self.file, npy_header::<T>(shape), values)?;
        let end = self.file.stream_position()?;
        entry.packed = end - start;
        // Sizes and checksum are known only now: write the header again.
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.write_all(&entry.local_header())?;
        self.file.seek(SeekFrom::Start(end))?;
        self.entries.push(entry);
        Ok(())
    }

    /// Writes the table of contents and moves the file to its place.
    pub(super) fn finish(mut self) -> Result<()> {
        self.write_directory().map_err(|e| Error::io(&self.path, e))?;
        Ok(self.file.finish()?)
    }

    fn write_directory(&mut self) -> io::Result<()> {
        let start = self.file.stream_position()?;
        for entry in &self.entries {
            self.file.write_all(&entry.central_header())?;
        }
        let end = self.file.stream_position()?;
        self.file.write_all(&end_records(self.entries.len() as u64, start, end))
    }
}

/// Deflates an npy file into `file`; returns its unpacked size and checksum.
fn deflate<T: Element>(
    file: &mut AtomicFile,
    header: Vec<u8>,
    values: impl IntoIterator<Item = T>,
) -> io::Result<(u64, u32)> {
    const PIECE: usize = 1 << 16;
    let mut encoder = DeflateEncoder::new(file, Compression::default());
    let mut crc = Crc::new();
    let mut size = 0;
    let mut piece = header;
    let mut values = values.into_iter();
    loop {
        values.by_ref().take(PIECE / size_of::<T>()).for_each(|value| value.append_to(&mut piece));
        if piece.is_empty() {
            break;
        }
        crc.update(&piece);
        size += piece.len() as u64;
        encoder.write_all(&piece)?;
        piece.clear();
    }
    // Earlier versions flushed twice: the same graph still gives the same bytes.
    encoder.flush()?;
    encoder.flush()?;
    encoder.finish()?;
    Ok((size, crc.sum()))
}

/// A number as npy stores it.
pub(super) trait Element: Copy {
    /// The type in the header of an npy file.
    const DTYPE: &'static str;

    /// Appends its bytes, lowest first.
    fn append_to(self, bytes: &mut Vec<u8>);
}

macro_rules! elements {
    ($($number:ty => $dtype:literal;)+) => {
        $(impl Element for $number {
            const DTYPE: &'static str = $dtype;

            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        })+
    };
}

elements! {
    u8 => "|u1";
    i32 => "<i4";
    u32 => "<u4";
    u64 => "<u8";
    i64 => "<i8";
    f32 => "<f4";
}

/// Magic, version 1.0, and the description as a Python literal, padded to a multiple of 64 bytes.
fn npy_header<T: Element>(shape: &[u64]) -> Vec<u8> {
    const BEFORE_TEXT: usize = 10;
    let shape: String = shape.iter().map(|length| format!("{length}, ")).collect();
    let mut text =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({shape}), }}", T::DTYPE);
    // The line break counts as part of the text.
    let padded = (BEFORE_TEXT + text.len() + 1).next_multiple_of(64) - BEFORE_TEXT;
    text.push_str(&" ".repeat(padded - text.len() - 1));
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((text.len() as u16).to_le_bytes());
    header.extend(text.as_bytes());
    header
}

/// The version of the format that has zip64.
const VERSION: u16 = 45;
/// The content of a 32-bit field whose value is in the zip64 field.
const IN_ZIP64: u32 = u32::MAX;

impl Entry {
    fn local_header(&self) -> Vec<u8> {
        let mut header = b"PK\x03\x04".to_vec();
        header.extend(VERSION.to_le_bytes());
        self.append_facts(&mut header, &[self.size, self.packed]);
        header.extend(self.name.as_bytes());
        append_zip64(&mut header, &[self.size, self.packed]);
        header
    }

    fn central_header(&self) -> Vec<u8> {
        const UNIX: u16 = 3 << 8;
        const REGULAR_FILE: u32 = 0o100_644 << 16;
        let (offset, zip64) = match u32::try_from(self.offset) {
            Ok(offset) if offset < IN_ZIP64 => (offset, vec![self.size, self.packed]),
            _ => (IN_ZIP64, vec![self.size, self.packed, self.offset]),
        };
        let mut header = b"PK\x01\x02".to_vec();
        header.extend((VERSION | UNIX).to_le_bytes());
        header.extend(VERSION.to_le_bytes());
        self.append_facts(&mut header, &zip64);
        // No comment, first volume, no internal attributes.
        header.extend([0; 6]);
        header.extend(REGULAR_FILE.to_le_bytes());
        header.extend(offset.to_le_bytes());
        header.extend(self.name.as_bytes());
        append_zip64(&mut header, &zip64);
        header
    }

    /// The fields that both headers share: flags, method, date, checksum, sizes, and lengths of
    /// name and field.
    fn append_facts(&self, header: &mut Vec<u8>, zip64: &[u64]) {
        const NO_FLAGS: u16 = 0;
        const DEFLATED: u16 = 8;
        const MIDNIGHT: u16 = 0;
        const FIRST_OF_JANUARY_1980: u16 = 1 << 5 | 1;
        for field in [NO_FLAGS, DEFLATED, MIDNIGHT, FIRST_OF_JANUARY_1980] {
            header.extend(field.to_le_bytes());
        }
        for field in [self.crc, IN_ZIP64, IN_ZIP64] {
            header.extend(field.to_le_bytes());
        }
        header.extend((self.name.len() as u16).to_le_bytes());
        header.extend((4 + 8 * zip64.len() as u16).to_le_bytes());
    }
}

/// The zip64 field: its number, its length and 64-bit values.
fn append_zip64(header: &mut Vec<u8>, values: &[u64]) {
    const ZIP64: u16 = 1;
    header.extend(ZIP64.to_le_bytes());
    header.extend((8 * values.len() as u16).to_le_bytes());
    values.iter().for_each(|value| header.extend(value.to_le_bytes()));
}

/// The records after the table of contents, which has `count` entries and ranges from `start` to
/// `end`.
fn end_records(count: u64, start: u64, end: u64) -> Vec<u8> {
    let mut records = Vec::new();
    let (short_count, short_start) = (u16::try_from(count), u32::try_from(start));
    if short_count.is_err() || !short_start.is_ok_and(|start| start < IN_ZIP64) {
        const REST_OF_RECORD: u64 = 44;
        records.extend(b"PK\x06\x06");
        records.extend(REST_OF_RECORD.to_le_bytes());
        records.extend([VERSION, VERSION].map(u16::to_le_bytes).concat());
        // One volume.
        records.extend([0; 8]);
        records.extend([count, count, end - start, start].map(u64::to_le_bytes).concat());
        records.extend(b"PK\x06\x07\0\0\0\0");
        records.extend(end.to_le_bytes());
        records.extend(1u32.to_le_bytes());
    }
    let count = short_count.unwrap_or(u16::MAX);
    records.extend(b"PK\x05\x06\0\0\0\0");
    records.extend([count, count].map(u16::to_le_bytes).concat());
    for field in [u32::try_from(end - start), short_start] {
        records.extend(field.unwrap_or(IN_ZIP64).to_le_bytes());
    }
    // No comment.
    records.extend([0; 2]);
    records
}

#[cfg(test)]
mod tests {
    use super::super::npz::Npz;
    use super::super::testing::Folder;
    use super::*;
    use std::io::Read as _;

    fn sample(folder: &Folder) -> PathBuf {
        let path = folder.path("a.npz");
        let mut npz = NpzWriter::create(&path).unwrap();
        npz.array("bytes", &[3], [1u8, 2, 255]).unwrap();
        npz.array("none", &[0, 4], Vec::<f32>::new()).unwrap();
        npz.array("signed", &[2, 2], [-1i64, i64::MAX, i64::MIN, 7]).unwrap();
        // More than one piece.
        npz.array("many", &[100_000], 0..100_000u32).unwrap();
        npz.array("wide", &[1], [u64::MAX]).unwrap();
        npz.array("real", &[2], [0.5f32, -0.0]).unwrap();
        npz.finish().unwrap();
        path
    }

    #[test]
    fn our_reader_finds_what_was_written() {
        let folder = Folder::new();
        let npz = Npz::open(&sample(&folder)).unwrap();
        let names: Vec<&str> = npz.names().collect();
        assert_eq!(names, ["bytes", "none", "signed", "many", "wide", "real"]);
    }

    /// Another implementation of zip and npy reads the same numbers.
    #[test]
    fn other_programs_find_what_was_written() {
        fn values<T: npyz::Deserialize>(path: &Path, name: &str) -> (Vec<u64>, Vec<T>) {
            let mut archive = ::zip::ZipArchive::new(std::fs::File::open(path).unwrap()).unwrap();
            let mut bytes = Vec::new();
            archive.by_name(&format!("{name}.npy")).unwrap().read_to_end(&mut bytes).unwrap();
            let array = npyz::NpyFile::new(bytes.as_slice()).unwrap();
            (array.shape().to_vec(), array.into_vec().unwrap())
        }
        let folder = Folder::new();
        let path = &sample(&folder);
        assert_eq!(values::<u8>(path, "bytes"), (vec![3], vec![1, 2, 255]));
        assert_eq!(values::<f32>(path, "none"), (vec![0, 4], vec![]));
        let signed = vec![-1, i64::MAX, i64::MIN, 7];
        assert_eq!(values::<i64>(path, "signed"), (vec![2, 2], signed));
        assert_eq!(values::<u32>(path, "many"), (vec![100_000], (0..100_000).collect()));
        assert_eq!(values::<u64>(path, "wide"), (vec![1], vec![u64::MAX]));
        let (_, real) = values::<f32>(path, "real");
        assert_eq!(real.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [0x3f00_0000, 1 << 31]);
    }

    /// A file of 4 GiB is too large for a test: the records by themselves.
    #[test]
    fn what_does_not_fit_into_32_bits_goes_into_zip64() {
        let far = Entry {
            name: "x.npy".into(),
            offset: u64::from(IN_ZIP64),
            crc: 0,
            size: 1 << 40,
            packed: 1 << 39,
        };
        let header = far.central_header();
        let zip64 = &header[46 + 5..];
        assert_eq!(zip64[..4], [1, 0, 24, 0]);
        assert_eq!(zip64[4..], [1u64 << 40, 1 << 39, far.offset].map(u64::to_le_bytes).concat());
        assert_eq!(end_records(2, 100, 200).len(), 22);
        let records = end_records(2, 1 << 33, (1 << 33) + 100);
        assert_eq!(records.len(), 56 + 20 + 22);
        assert_eq!(records[48..56], (1u64 << 33).to_le_bytes());
        assert_eq!(records[64..72], ((1u64 << 33) + 100).to_le_bytes());
        assert_eq!(records[92..96], IN_ZIP64.to_le_bytes());
    }
}
