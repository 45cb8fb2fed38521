//! The bytes of a frame.
//!
//! Integers and floats are little-endian. The header has 44 bytes:
//!
//! ```text
//!  at  bytes  content
//!   0      4  "BFGL"
//!   4      2  version of the protocol
//!   6      1  direction: 1 tasks, 2 replies
//!   7      1  bytes of one element of a tensor: 4 (8 in tests with f64)
//!   8     16  run
//!  24      4  round
//!  28      4  client
//!  32      8  bytes after the header
//!  40      4  number of tasks or replies
//! ```
//!
//! Each task or reply is one byte, its tag, and its fields in the order of their declaration:
//!
//! ```text
//!  bool, option     1 byte, 0 or 1, then the value if there is one
//!  count            4 bytes, before the elements of a list or the bytes of a text (UTF-8)
//!  length           8 bytes, before the bytes of a state
//!  number           8 bytes, an f64
//!  tensor           rows and columns (4 bytes each), then the elements, row after row, no padding
//!  parameters       count, then tensors
//!  model            slot and change (4 bytes each), a bool, then the parameters if it is 1; if 0, they
//!                   are those of the earlier model in this frame with the same slot and change
//!  message          list of tensors; list of numbers; count of entries, all positions (4 bytes
//!                   each), all values (one element each)
//! ```
//!
//! There is one encoding of every frame: bytes that [`decode`] accepts are the bytes that [`encode`]
//! gives for the result. Nothing is allocated before its length was checked against the bytes that
//! are left.

mod reader;
mod replies;
mod tasks;
mod values;
mod writer;

use crate::{Error, Frame, Header, Reply, Result, RunId, Task, Traffic, VERSION};
use boostfgl_nn::{Real, TensorShape};
use reader::Reader;
use writer::Writer;

/// The first bytes of every frame.
const MAGIC: [u8; 4] = *b"BFGL";
/// Bytes of the header.
const HEADER: usize = 44;

/// What a receiver accepts.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Shapes of the run's network: those of every model.
    pub shapes: &'a [TensorShape],
    /// Whether every number of a model for a client must be finite. A run that does not screen
    /// updates passes on whatever they make of its model.
    pub finite: bool,
}

/// A value with one encoding.
trait Wire<T: Real>: Sized {
    fn write(&self, out: &mut Writer);
    fn read(input: &mut Reader<'_, T>) -> Result<Self>;
}

/// An item of a frame.
#[expect(private_bounds, reason = "items are tasks and replies; no other crate adds a kind")]
pub trait Item<T: Real>: Wire<T> {
    /// The byte of the header that tells tasks from replies.
    const DIRECTION: u8;

    /// Bytes of what a method sends in this item; see [`Traffic::payload`].
    fn payload(&self) -> u64;
}

impl<T: Real> Item<T> for Task<T> {
    const DIRECTION: u8 = 1;

    fn payload(&self) -> u64 {
        tasks::payload(self)
    }
}

impl<T: Real> Item<T> for Reply<T> {
    const DIRECTION: u8 = 2;

    fn payload(&self) -> u64 {
        replies::payload(self)
    }
}

/// The bytes of a frame.
pub fn encode<T: Real, I: Item<T>>(frame: &Frame<I>) -> Vec<u8> {
    encode_in(frame, Vec::new())
}

/// The same in the memory of `buffer`, whose content is lost.
pub fn encode_in<T: Real, I: Item<T>>(frame: &Frame<I>, buffer: Vec<u8>) -> Vec<u8> {
    let mut count = Writer::counting();
    write_items::<T, I>(frame, &mut count);
    let body = count.count();
    let mut out = Writer::with_capacity(buffer, HEADER + body as usize);
    out.bytes(&MAGIC);
    out.bytes(&VERSION.to_le_bytes());
    out.byte(I::DIRECTION);
    out.byte(size_of::<T>() as u8);
    out.bytes(&frame.header.run.0);
    out.u32(frame.header.round);
    out.u32(frame.header.client);
    out.u64(body);
    out.u32(frame.items.len() as u32);
    write_items::<T, I>(frame, &mut out);
    out.into_bytes()
}

/// Payload and framed bytes of a frame, counted without encoding it. The framed bytes are the length
/// of what [`encode`] returns.
pub fn measure<T: Real, I: Item<T>>(frame: &Frame<I>) -> Traffic {
    let mut count = Writer::counting();
    write_items::<T, I>(frame, &mut count);
    Traffic {
        payload: frame.items.iter().map(Item::payload).sum(),
        framed: HEADER as u64 + count.count(),
    }
}

/// The frame that `bytes` encode.
///
/// # Errors
/// If the bytes are truncated or changed, of another version or direction, or contain a model of
/// other shapes.
pub fn decode<T: Real, I: Item<T>>(bytes: &[u8], limits: Limits<'_>) -> Result<Frame<I>> {
    let mut input = Reader::new(bytes, limits);
    input.expect(&MAGIC, "the first bytes of a frame, \"BFGL\"")?;
    let version = input.u16()?;
    if version != VERSION {
        return Err(Error::Version { expected: VERSION, found: version });
    }
    input.expect(&[I::DIRECTION], "the byte for this direction")?;
    input.expect(&[size_of::<T>() as u8], "the width of an element")?;
    let run = RunId(input.array()?);
    let (round, client) = (input.u32()?, input.u32()?);
    let body = input.u64()?;
    let items = input.u32()?;
    if body != input.left() as u64 {
        return Err(input.malformed(format!("{} bytes to follow", input.left()), body));
    }
    let items = (0..items).map(|_| I::read(&mut input)).collect::<Result<Vec<_>>>()?;
    input.end()?;
    Ok(Frame { header: Header { run, round, client }, items })
}

fn write_items<T: Real, I: Item<T>>(frame: &Frame<I>, out: &mut Writer) {
    frame.items.iter().for_each(|item| item.write(out));
}
