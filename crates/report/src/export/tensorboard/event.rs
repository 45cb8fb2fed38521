//! Events in the wire format of Protocol Buffers, as far as scalars need it.
//!
//! ```text
//! Event   { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
//! Summary { repeated Value value = 1; }
//! Value   { string tag = 1; float simple_value = 2; }
//! ```

/// The wire type of a field.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Eight = 1,
    Length = 2,
    Four = 5,
}

/// The first event of every file.
pub(super) fn version(wall_time: f64) -> Vec<u8> {
    let mut event = timed(wall_time);
    delimited(&mut event, 3, b"brain.Event:2");
    event
}

/// The values of all curves at one step.
pub(super) fn scalars<'a>(
    wall_time: f64,
    step: u64,
    values: impl IntoIterator<Item = (&'a str, f64)>,
) -> Vec<u8> {
    let mut summary = Vec::new();
    for (tag, number) in values {
        let mut value = Vec::new();
        delimited(&mut value, 1, tag.as_bytes());
        key(&mut value, 2, Wire::Four);
        // The format has only single precision.
        value.extend((number as f32).to_le_bytes());
        delimited(&mut summary, 1, &value);
    }
    let mut event = timed(wall_time);
    key(&mut event, 2, Wire::Varint);
    varint(&mut event, step);
    delimited(&mut event, 5, &summary);
    event
}

/// The beginning of an event: its time.
fn timed(wall_time: f64) -> Vec<u8> {
    let mut event = Vec::new();
    key(&mut event, 1, Wire::Eight);
    event.extend(wall_time.to_le_bytes());
    event
}

/// The number and wire type of a field.
fn key(out: &mut Vec<u8>, field: u64, wire: Wire) {
    varint(out, field << 3 | wire as u64);
}

/// A field with its length and its bytes.
fn delimited(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    key(out, field, Wire::Length);
    varint(out, bytes.len() as u64);
    out.extend(bytes);
}

/// A varint: seven bits per byte, lowest first. The eighth bit is set if more bytes follow.
fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the format's own documentation: 150 is 96 01.
    #[test]
    fn varints_match_the_documented_example() {
        let bytes = |number| {
            let mut out = Vec::new();
            varint(&mut out, number);
            out
        };
        assert_eq!(bytes(0), [0]);
        assert_eq!(bytes(150), [0x96, 0x01]);
        assert_eq!(bytes(u64::MAX).len(), 10);
    }

    #[test]
    fn events_have_the_documented_bytes() {
        assert_eq!(
            version(0.0),
            [&[9, 0, 0, 0, 0, 0, 0, 0, 0, 0x1a, 13][..], b"brain.Event:2"].concat()
        );
        let event = scalars(1.0, 2, [("a", 0.5)]);
        let value = [0x0a, 1, b'a', 0x15, 0, 0, 0, 0x3f];
        let summary = [&[0x2a, 10, 0x0a, 8][..], &value].concat();
        assert_eq!(event, [&[9, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x10, 2][..], &summary].concat());
    }
}
