//! The bodies of the targets.

pub(crate) mod checkpoint;
pub(crate) mod config;
pub(crate) mod files;
pub(crate) mod frames;
pub(crate) mod graphs;
pub(crate) mod state;

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use crate::SCISSORS;

thread_local! {
    static PLACE: tempfile::TempDir = {
        // A folder in memory is faster than a disk.
        let memory = Path::new("/dev/shm");
        let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        made.expect("a folder for the input can be made")
    };
}

/// A folder of this thread, one per target.
pub(crate) fn place(target: &str) -> PathBuf {
    let folder = PLACE.with(|place| place.path().join(target));
    if !folder.is_dir() {
        fs::create_dir_all(&folder).expect("the folder for the input can be written");
    }
    folder
}

/// Writes the pieces of the input under these names; a missing piece is a missing file.
fn spread(target: &str, names: &[&str], input: &[u8], write: impl Fn(&[u8]) -> Vec<u8>) -> PathBuf {
    let folder = place(target);
    let mut pieces = pieces(input).into_iter();
    for name in names {
        let path = folder.join(name);
        match pieces.next() {
            Some(piece) => {
                fs::write(path, write(piece)).expect("the folder for the input can be written");
            }
            None => drop(fs::remove_file(path)),
        }
    }
    folder
}

fn unchanged(piece: &[u8]) -> Vec<u8> {
    piece.to_vec()
}

/// The input, cut at the scissors.
fn pieces(input: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at + SCISSORS.len() <= input.len() {
        if input[at..].starts_with(SCISSORS) {
            pieces.push(&input[begin..at]);
            at += SCISSORS.len();
            begin = at;
        } else {
            at += 1;
        }
    }
    pieces.push(&input[begin..]);
    pieces
}

/// The error message of a reader, or `ok`.
fn message<T, E: Display>(result: Result<T, E>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "ok".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_cut_at_the_scissors() {
        assert_eq!(pieces(b"a\n--8<--\nb\n--8<--\n"), [&b"a"[..], b"b", b""]);
        assert_eq!(pieces(b""), [b""]);
        assert_eq!(pieces(b"\n--8<-"), [b"\n--8<-"]);
    }
}
