//! How many bytes a round moves. Numbers cross the wire as `f32`.

/// Bytes of one number.
const NUMBER: u64 = 4;

/// Bytes of `count` numbers.
pub(crate) fn bytes(count: usize) -> u64 {
    count as u64 * NUMBER
}
