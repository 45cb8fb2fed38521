//! From the bytes of an exported table to text: packed or not, in one of four encodings, or
//! Parquet.

use std::io::Read as _;
use std::path::Path;

use boostfgl_graph::{Error, Result};
use flate2::read::MultiGzDecoder;

use crate::readers::budget::Budget;

/// An encoding of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, with or without a byte order mark.
    Utf8,
    /// UTF-16, the lower byte first.
    Utf16Le,
    /// UTF-16, the higher byte first.
    Utf16Be,
    /// What programs on Windows call ANSI in western Europe; it contains Latin-1.
    Windows1252,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: [Self; 4] = [Self::Utf8, Self::Utf16Le, Self::Utf16Be, Self::Windows1252];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Windows1252 => "windows-1252",
        }
    }

    /// The encoding of that name.
    ///
    /// # Errors
    /// If there is none; the nearest name is suggested.
    pub fn named(name: &str) -> Result<Self> {
        let lower = name.to_lowercase();
        Self::ALL
            .into_iter()
            .find(|encoding| encoding.name() == lower)
            .ok_or_else(|| Error::unknown("encoding", name, Self::ALL.map(Self::name)))
    }
}

/// The text of a file, and a note if its encoding is a guess.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) note: Option<String>,
    /// The delimiter, if the text was made here.
    pub(super) delimiter: Option<u8>,
}

/// Reads the text of a table, in the given encoding or in the one that is found.
pub(super) fn read(path: &Path, encoding: Option<Encoding>) -> Result<Text> {
    let bytes = unpacked(path)?;
    if bytes.starts_with(b"PAR1") {
        return parquet_text(path);
    }
    decode(path, &bytes, encoding)
}

#[cfg(feature = "parquet")]
fn parquet_text(path: &Path) -> Result<Text> {
    let text = super::parquet::text(path)?;
    checked(path, Text { text, note: None, delimiter: Some(b',') })
}

#[cfg(not(feature = "parquet"))]
fn parquet_text(path: &Path) -> Result<Text> {
    let found = "a Parquet file, which this program is built without";
    Err(Error::malformed(path, "", "a table of text", found))
}

/// The bytes of a file; those of a gzipped one are unpacked.
fn unpacked(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).map_err(|error| Error::io(path, error))?;
    if !bytes.starts_with(b"\x1f\x8b") {
        return Ok(bytes);
    }
    let budget = Budget::new();
    budget.admit(bytes.len() as u64);
    let most = budget.left();
    let mut text = Vec::new();
    let read = MultiGzDecoder::new(&bytes[..]).take(most + 1).read_to_end(&mut text);
    read.map_err(|error| Error::malformed(path, "", "a complete gzip", error.to_string()))?;
    if text.len() as u64 > most {
        let expected = format!("at most {most} bytes unpacked");
        return Err(Error::malformed(path, "", expected, "more"));
    }
    Ok(text)
}

/// Turns bytes into text. The byte order mark decides, otherwise UTF-8 is tried, then Windows-1252.
fn decode(path: &Path, bytes: &[u8], encoding: Option<Encoding>) -> Result<Text> {
    let marked = match bytes {
        [0xef, 0xbb, 0xbf, ..] => Some((Encoding::Utf8, 3)),
        [0xff, 0xfe, ..] => Some((Encoding::Utf16Le, 2)),
        [0xfe, 0xff, ..] => Some((Encoding::Utf16Be, 2)),
        _ => None,
    };
    let (found, skip) = marked.map_or((None, 0), |(found, skip)| (Some(found), skip));
    let content = &bytes[skip..];
    let decoded = match encoding.or(found) {
        Some(Encoding::Utf16Le) => utf16(path, content, u16::from_le_bytes),
        Some(Encoding::Utf16Be) => utf16(path, content, u16::from_be_bytes),
        Some(Encoding::Windows1252) => Ok(windows_1252(content)),
        Some(Encoding::Utf8) => utf8(path, content, skip),
        None => return unmarked(path, bytes),
    };
    decoded.and_then(|text| checked(path, Text { text, note: None, delimiter: None }))
}

/// Text without a byte order mark: UTF-8 if it is valid, Windows-1252 if nothing in it looks like
/// UTF-8.
fn unmarked(path: &Path, bytes: &[u8]) -> Result<Text> {
    let Err(error) = std::str::from_utf8(bytes) else {
        return checked(path, Text { text: utf8(path, bytes, 0)?, note: None, delimiter: None });
    };
    let wrong = error.valid_up_to();
    if let Some(at) = multibyte(bytes) {
        let byte = bytes[wrong];
        let place = format!(", line {}, byte {}", line_of(bytes, wrong), wrong + 1);
        let expected = format!("one encoding, UTF-8 as on line {}", line_of(bytes, at));
        let found = format!("the byte 0x{byte:02x}, which is `{}` in Windows-1252", western(byte));
        return Err(Error::malformed(path, place, expected, found));
    }
    let place = path.display();
    let (line, shown) = (line_of(bytes, wrong), western(bytes[wrong]));
    let note = format!(
        "{place}: no UTF-8 (line {line}), read as Windows-1252, where the byte is `{shown}`; \
         --encoding says otherwise"
    );
    checked(path, Text { text: windows_1252(bytes), note: Some(note), delimiter: None })
}

/// The first place where several bytes are one character of UTF-8.
fn multibyte(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        if let Some(inside) = valid.bytes().position(|byte| !byte.is_ascii()) {
            return Some(at + inside);
        }
        at += valid.len() + chunk.invalid().len();
    }
    None
}

fn utf8(path: &Path, bytes: &[u8], skipped: usize) -> Result<String> {
    String::from_utf8(bytes.to_vec()).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let place = format!(", line {}, byte {}", line_of(bytes, at), at + skipped + 1);
        Error::malformed(path, place, "UTF-8 text", format!("the byte 0x{:02x}", bytes[at]))
    })
}

fn utf16(path: &Path, bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String> {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let text: std::result::Result<String, _> = char::decode_utf16(units).collect();
    match text {
        Ok(text) if bytes.len().is_multiple_of(2) => Ok(text),
        Ok(_) => Err(Error::malformed(path, "", "UTF-16 text", "an odd number of bytes")),
        Err(error) => {
            let found = format!("the unit 0x{:04x} alone", error.unpaired_surrogate());
            Err(Error::malformed(path, "", "UTF-16 text", found))
        }
    }
}

fn windows_1252(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| western(*byte)).collect()
}

/// A byte of Windows-1252; the five that are not in use stand for the control characters of
/// Latin-1.
fn western(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WESTERN[usize::from(byte - 0x80)],
        other => char::from(other),
    }
}

/// Refuses what is no text.
fn checked(path: &Path, text: Text) -> Result<Text> {
    match text.text.bytes().position(|byte| byte == 0) {
        None => Ok(text),
        Some(at) => {
            let place = format!(", line {}", line_of(text.text.as_bytes(), at));
            let found = "a zero byte: a binary file, or UTF-16 without a byte order mark";
            Err(Error::malformed(path, place, "a table of text", found))
        }
    }
}

/// The line of a byte, counted from 1.
fn line_of(bytes: &[u8], at: usize) -> usize {
    1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count()
}

/// The characters 0x80 to 0x9f of Windows-1252.
const WESTERN: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bytes: &[u8]) -> Result<Text> {
        decode("t.csv".as_ref(), bytes, None)
    }

    fn reason(bytes: &[u8]) -> String {
        found(bytes).err().expect("refused").to_string()
    }

    #[test]
    fn encodings_are_found_by_content() {
        let text = "größe;€\n1;2\n";
        let mut marked = b"\xef\xbb\xbf".to_vec();
        marked.extend(text.as_bytes());
        let units: Vec<u16> = std::iter::once(0xfeff).chain(text.encode_utf16()).collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for bytes in [text.as_bytes(), &marked, &little, &big] {
            let decoded = found(bytes).unwrap();
            assert_eq!((decoded.text.as_str(), decoded.note), (text, None));
        }
        let western = found(b"gr\xf6\xdfe;\x80\n1;2\n").unwrap();
        assert_eq!(western.text, text);
        let note = western.note.unwrap();
        assert!(note.starts_with("t.csv: no UTF-8 (line 1), read as Windows-1252"), "{note}");
        assert!(note.contains("the byte is `ö`"), "{note}");
    }

    #[test]
    fn mixed_encodings_are_named_with_line_and_byte() {
        assert_eq!(
            reason("a\nü\n".bytes().chain([b'x', 0xfc]).collect::<Vec<u8>>().as_slice()),
            "t.csv, line 3, byte 7: expected one encoding, UTF-8 as on line 2, found the byte \
             0xfc, which is `ü` in Windows-1252"
        );
    }

    #[test]
    fn a_prescribed_encoding_is_used() {
        let forced = |bytes: &[u8], encoding| decode("t".as_ref(), bytes, Some(encoding));
        assert_eq!(forced("ü".as_bytes(), Encoding::Windows1252).unwrap().text, "Ã¼");
        assert_eq!(forced(b"a\0b\0", Encoding::Utf16Le).unwrap().text, "ab");
        let message = forced(b"a\n\xfc", Encoding::Utf8).err().unwrap().to_string();
        assert_eq!(message, "t, line 2, byte 3: expected UTF-8 text, found the byte 0xfc");
        assert_eq!(Encoding::named("UTF-8").unwrap(), Encoding::Utf8);
        assert!(Encoding::named("utf8").unwrap_err().to_string().contains("`utf-8`"));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert!(reason(b"a\0b\0").contains("line 1: expected a table of text, found a zero byte"));
        assert!(reason(b"\xff\xfea").contains("an odd number of bytes"));
        assert!(reason(b"\xff\xfe\x00\xd8").contains("the unit 0xd800 alone"));
    }
}
