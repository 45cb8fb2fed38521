//! The number types of numpy arrays, as they occur in `.npy` headers and in pickled arrays.
//!
//! A type string such as `<i4` holds the byte order (`<` little, `>` big, `|` none), the kind (`b`
//! bool, `i`, `u`, `f`) and the size in bytes. Complex numbers, strings, dates and Python objects
//! are not understood on purpose.

/// The storage format of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DType {
    kind: Kind,
    size: usize,
    big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
}

/// One number, in a form that holds every supported type without loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// From bool and all integer types.
    Integer(i128),
    /// From both float types.
    Float(f64),
}

impl DType {
    /// Understands `<f4`, `|u1`, `i8` …; `None` for any other type.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (big_endian, rest) = match text.as_bytes().first()? {
            b'<' | b'|' | b'=' => (false, text.get(1..)?),
            b'>' => (true, text.get(1..)?),
            _ => (false, text),
        };
        let kind = match rest.as_bytes().first()? {
            b'b' => Kind::Bool,
            b'i' => Kind::Signed,
            b'u' => Kind::Unsigned,
            b'f' => Kind::Float,
            _ => return None,
        };
        let size = match (kind, rest.get(1..)?) {
            (Kind::Bool | Kind::Signed | Kind::Unsigned, "1") => 1,
            (Kind::Signed | Kind::Unsigned, "2") => 2,
            (Kind::Signed | Kind::Unsigned | Kind::Float, "4") => 4,
            (Kind::Signed | Kind::Unsigned | Kind::Float, "8") => 8,
            _ => return None,
        };
        Some(Self { kind, size, big_endian })
    }

    /// The same type in the given byte order.
    pub(super) fn ordered(self, big_endian: bool) -> Self {
        Self { big_endian, ..self }
    }

    /// Bytes per number, at least 1.
    pub(super) fn size(self) -> usize {
        self.size
    }

    /// Reads one number from exactly [`DType::size`] bytes.
    pub(super) fn decode(self, bytes: &[u8]) -> Number {
        let mut word = [0u8; 8];
        for (i, &byte) in bytes.iter().take(self.size).enumerate() {
            word[if self.big_endian { self.size - 1 - i } else { i }] = byte;
        }
        let bits = u64::from_le_bytes(word);
        match (self.kind, self.size) {
            (Kind::Float, 4) => Number::Float(f64::from(f32::from_bits(bits as u32))),
            (Kind::Float, _) => Number::Float(f64::from_bits(bits)),
            (Kind::Bool, _) => Number::Integer(i128::from(bits != 0)),
            (Kind::Unsigned, _) => Number::Integer(i128::from(bits)),
            (Kind::Signed, size) => {
                // Move the sign bit to the top and back, which copies it into the unused upper
                // bytes.
                let unused = 64 - 8 * size as u32;
                Number::Integer(i128::from((bits << unused) as i64 >> unused))
            }
        }
    }
}

/// A Rust number that arrays are read into.
pub(super) trait Element: Copy {
    /// The name of such a number in an error.
    const WANTED: &'static str;

    /// The number, unless it does not fit.
    fn from_number(number: Number) -> Option<Self>;
}

macro_rules! integer_element {
    ($type:ty, $wanted:literal) => {
        impl Element for $type {
            const WANTED: &'static str = $wanted;

            fn from_number(number: Number) -> Option<Self> {
                match number {
                    Number::Integer(value) => value.try_into().ok(),
                    Number::Float(_) => None,
                }
            }
        }
    };
}

integer_element!(i64, "an integer");
integer_element!(u8, "an integer from 0 to 255");
integer_element!(u32, "an integer from 0 to 2^32 - 1");
integer_element!(usize, "an integer that is not negative");

impl Element for f32 {
    const WANTED: &'static str = "a number";

    fn from_number(number: Number) -> Option<Self> {
        Some(match number {
            Number::Integer(value) => value as Self,
            Number::Float(value) => value as Self,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_supported_type_is_decoded() {
        let decode = |text: &str, bytes: &[u8]| DType::parse(text).unwrap().decode(bytes);
        assert_eq!(decode("|b1", &[2]), Number::Integer(1));
        assert_eq!(decode("|i1", &[0xff]), Number::Integer(-1));
        assert_eq!(decode("<i2", &[0xfe, 0xff]), Number::Integer(-2));
        assert_eq!(decode(">i4", &[0xff, 0xff, 0xff, 0xfd]), Number::Integer(-3));
        assert_eq!(decode("<u8", &[0xff; 8]), Number::Integer(i128::from(u64::MAX)));
        assert_eq!(decode("<f4", &1.5f32.to_le_bytes()), Number::Float(1.5));
        assert_eq!(decode(">f8", &(-2.25f64).to_be_bytes()), Number::Float(-2.25));
    }

    #[test]
    fn other_types_are_refused() {
        for text in ["", "<", "|O", "<U7", "|S3", "<c8", "<f2", "<i16", "<i3", "i4 ", "<b2", "é4"]
        {
            assert_eq!(DType::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        assert_eq!(u32::from_number(Number::Integer(-1)), None);
        assert_eq!(i64::from_number(Number::Float(1.0)), None);
        assert_eq!(u8::from_number(Number::Integer(256)), None);
        assert_eq!(f32::from_number(Number::Integer(7)), Some(7.0));
    }
}
