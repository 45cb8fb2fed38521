//! Writing bytes, or counting them.

use crate::Version;

/// Where bytes go.
enum Sink {
    Bytes(Vec<u8>),
    /// Only their number is wanted.
    Count(u64),
}

/// Writes values in their encoding.
pub(super) struct Writer {
    sink: Sink,
    /// Models that were written in full; later ones of the same version refer to them.
    models: Vec<Version>,
}

impl Writer {
    pub(super) fn counting() -> Self {
        Self { sink: Sink::Count(0), models: Vec::new() }
    }

    /// Writes into `buffer`, which is emptied and made large enough.
    pub(super) fn with_capacity(mut buffer: Vec<u8>, bytes: usize) -> Self {
        buffer.clear();
        buffer.reserve_exact(bytes);
        Self { sink: Sink::Bytes(buffer), models: Vec::new() }
    }

    /// How many bytes were written.
    pub(super) fn count(&self) -> u64 {
        match &self.sink {
            Sink::Bytes(bytes) => bytes.len() as u64,
            Sink::Count(count) => *count,
        }
    }

    /// Whether bytes are only counted.
    pub(super) fn counts(&self) -> bool {
        matches!(self.sink, Sink::Count(_))
    }

    /// Counts this many bytes without looking at them.
    pub(super) fn skip(&mut self, bytes: usize) {
        if let Sink::Count(count) = &mut self.sink {
            *count += bytes as u64;
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self.sink {
            Sink::Bytes(bytes) => bytes,
            Sink::Count(_) => Vec::new(),
        }
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        match &mut self.sink {
            Sink::Bytes(out) => out.extend_from_slice(bytes),
            Sink::Count(count) => *count += bytes.len() as u64,
        }
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.bytes(&[byte]);
    }

    pub(super) fn bool(&mut self, value: bool) {
        self.byte(u8::from(value));
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    pub(super) fn f64(&mut self, value: f64) {
        self.bytes(&value.to_le_bytes());
    }

    /// The length of a list. Lists are shorter than 2³²: their elements have indices of type `u32`.
    pub(super) fn length(&mut self, length: usize) {
        self.u32(u32::try_from(length).unwrap_or(u32::MAX));
    }

    pub(super) fn text(&mut self, text: &str) {
        self.length(text.len());
        self.bytes(text.as_bytes());
    }

    /// Numbers of a plain type in their little-endian bytes.
    pub(super) fn plain<N: bytemuck::Pod>(&mut self, numbers: &[N]) {
        let bytes: &[u8] = bytemuck::cast_slice(numbers);
        if cfg!(target_endian = "little") {
            return self.bytes(bytes);
        }
        for number in bytes.chunks_exact(size_of::<N>()) {
            number.iter().rev().for_each(|byte| self.byte(*byte));
        }
    }

    /// Notes that a model is about to be written. Whether its numbers have to follow.
    pub(super) fn is_new_model(&mut self, version: Version) -> bool {
        let is_new = !self.models.contains(&version);
        if is_new {
            self.models.push(version);
        }
        is_new
    }
}
