//! The frame around each event: its length and two checksums.

use std::io::{self, Write};

/// CRC-32C, rotated and shifted as the format requires, because the data may contain checksums
/// themselves.
pub(super) fn masked(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Writes one record: the length as u64, its checksum, the bytes, their checksum; all of it
/// little-endian.
pub(super) fn write(file: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = (bytes.len() as u64).to_le_bytes();
    file.write_all(&length)?;
    file.write_all(&masked(&length).to_le_bytes())?;
    file.write_all(bytes)?;
    file.write_all(&masked(bytes).to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720, B.4.
    #[test]
    fn checksums_match_the_standard() {
        let increasing: Vec<u8> = (0..32).collect();
        let decreasing: Vec<u8> = (0..32).rev().collect();
        let known: [(&[u8], u32); 5] = [
            (&[0; 32], 0x8a91_36aa),
            (&[0xff; 32], 0x62a8_ab43),
            (&increasing, 0x46dd_794e),
            (&decreasing, 0x113f_db5c),
            (b"123456789", 0xe306_9283),
        ];
        for (bytes, crc) in known {
            assert_eq!(crc32c::crc32c(bytes), crc);
        }
    }

    /// As TensorBoard 2.21 masks them.
    #[test]
    fn masked_checksums_match_tensorboard() {
        assert_eq!(masked(b"123456789"), 0xc78a_b0e5);
        assert_eq!(masked(&[0; 32]), 0x0fd7_fffa);
    }

    #[test]
    fn a_record_has_length_and_checksums() {
        let mut file = Vec::new();
        write(&mut file, b"abc").unwrap();
        assert_eq!(file.len(), 8 + 4 + 3 + 4);
        assert_eq!(file[..8], [3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(file[8..12], masked(&file[..8]).to_le_bytes());
        assert_eq!(&file[12..15], b"abc");
        assert_eq!(file[15..], masked(b"abc").to_le_bytes());
    }
}
