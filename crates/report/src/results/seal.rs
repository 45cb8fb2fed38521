//! The last line of a result file: the BLAKE3 of everything before it, so that a changed digit is
//! detected.

/// The key of the checksum.
const KEY: &str = "\"checksum\": \"";
/// The text after the checksum.
const END: &str = "\"\n}\n";

/// Completes a JSON object by its last line, the checksum.
pub(super) fn sealed(before: &str) -> String {
    format!("{before}{KEY}{}{END}", blake3::hash(before.as_bytes()).to_hex())
}

/// Compares the checksum in the last line with the text before it.
///
/// # Errors
/// A sentence with the expectation and the finding.
pub(super) fn check(text: &str) -> Result<(), String> {
    let Some((before, line)) = text.rfind(KEY).map(|at| text.split_at(at)) else {
        return Err("expected a checksum in the last line, found none".to_owned());
    };
    let expected = blake3::hash(before.as_bytes()).to_hex();
    match line.strip_prefix(KEY).and_then(|line| line.strip_suffix(END)) {
        Some(found) if found == expected.as_str() => Ok(()),
        _ => Err("expected the content that its checksum names, found other: the file was changed"
            .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_cut_is_found() {
        let whole = sealed("{\n\"rows\": [1, 2],\n");
        assert_eq!(check(&whole), Ok(()));
        for at in 0..whole.len() {
            assert!(check(&whole[..at]).is_err(), "cut at {at}");
            for bit in 0..7 {
                let mut bytes = whole.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                assert!(
                    check(&String::from_utf8(bytes).unwrap()).is_err(),
                    "bit {bit} of byte {at}"
                );
            }
        }
    }
}
