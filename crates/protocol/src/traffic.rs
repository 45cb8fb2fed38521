//! Bytes on the wire.

use std::ops::{Add, AddAssign};

/// Bytes of one or more frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// What a method sends: models, messages, sizes and summaries. Comparable with the formulas of
    /// papers.
    pub payload: u64,
    /// Everything: the payload with headers, shapes, lengths, losses and evaluations.
    pub framed: u64,
}

impl Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { payload: self.payload + other.payload, framed: self.framed + other.framed }
    }
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
