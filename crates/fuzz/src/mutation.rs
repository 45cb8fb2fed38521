//! Small damage to an input.

use boostfgl::graph::Stream;

use crate::SCISSORS;

/// No input grows beyond this.
const LONGEST: usize = 1 << 16;

/// Texts that often cause errors in the place of a number.
const WORDS: [&[u8]; 22] = [
    b"-1",
    b"0",
    b"-0",
    b"255",
    b"65536",
    b"2147483648",
    b"4294967295",
    b"4294967296",
    b"9223372036854775807",
    b"18446744073709551615",
    b"18446744073709551616",
    b"1e309",
    b"-1e-400",
    b"nan",
    b"inf",
    b"null",
    b"\"",
    b"\n",
    b",",
    b"\t",
    b"\xff\xfe",
    SCISSORS,
];

/// Between one and eight changes to one of the inputs.
pub(crate) fn mutate(pool: &[Vec<u8>], draw: &mut Stream) -> Vec<u8> {
    let mut bytes = pool[draw.below(pool.len())].clone();
    for _ in 0..1 << draw.below(4) {
        change(&mut bytes, pool, draw);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(bytes: &mut Vec<u8>, pool: &[Vec<u8>], draw: &mut Stream) {
    let at = draw.below(bytes.len() + 1);
    let length = 1 + draw.below((bytes.len() - at).clamp(1, 32));
    let range = at..(at + length).min(bytes.len());
    match draw.below(10) {
        0 => bytes.truncate(at),
        1 => drop(bytes.drain(range)),
        2 => {
            let again = bytes[range].to_vec();
            insert(bytes, at, &again);
        }
        3 => insert(bytes, at, WORDS[draw.below(WORDS.len())]),
        4 => {
            bytes.drain(range);
            insert(bytes, at, WORDS[draw.below(WORDS.len())]);
        }
        5 => number(bytes, at, draw),
        6 => {
            let other = &pool[draw.below(pool.len())];
            let from = draw.below(other.len() + 1);
            let until = from + draw.below(other.len() - from + 1);
            bytes.truncate(at);
            bytes.extend(&other[from..until]);
        }
        7 => {
            // Repetitions compress well, and reveal algorithms of more than linear time.
            let many = bytes[range].repeat(1 << draw.below(12));
            let room = LONGEST.saturating_sub(bytes.len());
            insert(bytes, at, &many[..many.len().min(room)]);
        }
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << draw.below(8);
            }
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    bytes.splice(at..at, what.iter().copied());
}

/// Overwrites up to eight bytes by a binary number at the edge of its type.
fn number(bytes: &mut [u8], at: usize, draw: &mut Stream) {
    let edges = [
        0,
        1,
        0x7f,
        0x80,
        0xff,
        0x7fff,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        u64::MAX >> 1,
        u64::MAX,
    ];
    let mut number = edges[draw.below(edges.len())].to_le_bytes();
    let width = 1 << draw.below(4);
    if draw.below(2) == 1 {
        number[..width].reverse();
    }
    for (byte, new) in bytes[at..].iter_mut().zip(&number[..width]) {
        *byte = *new;
    }
}
