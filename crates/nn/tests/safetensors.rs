//! Model files are restored bit for bit, and invalid ones are refused without a panic.

use boostfgl_nn::safetensors_io::{from_bytes, to_bytes};
use boostfgl_nn::{Error, Matrix, Params, Real, TensorShape};
use proptest::prelude::*;
use std::collections::HashMap;
use std::path::Path;

fn shapes() -> Vec<TensorShape> {
    vec![
        TensorShape::weight("layer1.weight", 6, 4),
        TensorShape::bias("layer1.bias", 4),
        TensorShape::weight("layer2.weight", 4, 3),
        TensorShape::bias("layer2.bias", 3),
    ]
}

fn file(params: &[(String, &Params<f32>)]) -> Vec<u8> {
    to_bytes(params, HashMap::from([("backbone".to_owned(), "gcn".to_owned())])).unwrap()
}

fn valid() -> Vec<u8> {
    let (a, b) = (Params::glorot(&shapes(), 1), Params::glorot(&shapes(), 2));
    file(&[("seed0".to_owned(), &a), ("seed1".to_owned(), &b)])
}

fn read<T: Real>(bytes: &[u8], prefix: &str, shapes: &[TensorShape]) -> Result<Params<T>, String> {
    from_bytes(Path::new("some.safetensors"), bytes, prefix, shapes).map_err(|e| {
        assert!(matches!(e, Error::Parameters { .. }), "{e:?}");
        e.to_string()
    })
}

fn bits(params: &Params<f32>) -> Vec<u32> {
    params.tensors().iter().flat_map(Matrix::to_vec).map(f32::to_bits).collect()
}

proptest! {
    /// Any 43 bit patterns, signed zeros, subnormals, infinities and NaNs included.
    #[test]
    fn parameters_are_restored_bit_for_bit(numbers in prop::collection::vec(any::<u32>(), 43)) {
        let mut numbers: Vec<f32> = numbers.into_iter().map(f32::from_bits).collect();
        numbers[..3].copy_from_slice(&[-0.0, f32::INFINITY, f32::MIN_POSITIVE / 2.0]);
        let (shapes, mut rest) = (shapes(), &numbers[..]);
        let tensor = |shape: &TensorShape| {
            let (own, left) = rest.split_at(shape.rows * shape.columns);
            rest = left;
            Matrix::from_rows(shape.rows, shape.columns, own)
        };
        let tensors = shapes.iter().map(tensor).collect();
        let params = Params::from_tensors(&shapes, tensors);
        let back = read(&file(&[("m".to_owned(), &params)]), "m", &shapes).unwrap();
        prop_assert_eq!(bits(&back), bits(&params));
        prop_assert_eq!(back.shapes(), params.shapes());
    }

    /// A truncated file, or one with bytes after its end, is refused.
    #[test]
    fn truncated_and_extended_files_are_refused(share in 0.0f64..1.0, extra in 1usize..40) {
        let bytes = valid();
        let length = (share * bytes.len() as f64) as usize;
        prop_assert!(read::<f32>(&bytes[..length], "seed0", &shapes()).is_err());
        let long: Vec<u8> = bytes.iter().copied().chain(std::iter::repeat_n(0, extra)).collect();
        prop_assert!(read::<f32>(&long, "seed0", &shapes()).is_err());
    }

    /// Flipped bits either make a file that is refused, or, where they hit numbers (the format has
    /// no checksum) or the metadata, a model of the right shape.
    #[test]
    fn flipped_bits_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..6)) {
        let mut bytes = valid();
        for (at, bit) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        if let Ok(params) = read::<f32>(&bytes, "seed0", &shapes()) {
            prop_assert_eq!(params.shapes(), &shapes()[..]);
        }
    }

    /// Random bytes, with and without a valid length of the header.
    #[test]
    fn random_bytes_are_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200), honest in any::<bool>()) {
        if honest && bytes.len() >= 8 {
            let length = bytes.len() as u64 - 8;
            bytes[..8].copy_from_slice(&length.to_le_bytes());
        }
        prop_assert!(read::<f32>(&bytes, "seed0", &shapes()).is_err());
    }
}

/// The eight bytes of the header's length, bit by bit: every one of them matters.
#[test]
fn a_wrong_header_length_is_refused() {
    for bit in 0..64 {
        let mut bytes = valid();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(read::<f32>(&bytes, "seed0", &shapes()).is_err(), "bit {bit}");
    }
}

#[test]
fn each_model_is_found_by_its_name() {
    let bytes = valid();
    for (seed, name) in [(1, "seed0"), (2, "seed1")] {
        assert_eq!(
            bits(&read(&bytes, name, &shapes()).unwrap()),
            bits(&Params::glorot(&shapes(), seed))
        );
    }
    let error = read::<f32>(&bytes, "seed2", &shapes()).unwrap_err();
    assert!(
        error.starts_with("some.safetensors: expected tensor seed2.layer1.weight, found "),
        "{error}"
    );
}

#[test]
fn other_shapes_and_number_types_are_refused() {
    let bytes = valid();
    let error = |shapes: &[TensorShape]| read::<f32>(&bytes, "seed0", shapes).unwrap_err();
    let with_shape = |i: usize, shape: TensorShape| {
        let mut shapes = shapes();
        shapes[i] = shape;
        shapes
    };
    let expected =
        "some.safetensors: expected tensor seed0.layer1.weight as F32 [4, 6], found F32 [6, 4]";
    assert_eq!(error(&with_shape(0, TensorShape::weight("layer1.weight", 4, 6))), expected);
    let expected =
        "some.safetensors: expected tensor seed0.layer1.bias as F32 [1, 5], found F32 [4]";
    assert_eq!(error(&with_shape(1, TensorShape::bias("layer1.bias", 5))), expected);
    let expected =
        "some.safetensors: expected tensor seed0.layer2.weight as F32 [8, 3], found F32 [4, 3]";
    assert_eq!(error(&with_shape(2, TensorShape::weight("layer2.weight", 8, 3))), expected);
    let expected =
        "some.safetensors: expected tensor seed0.layer1.weight as F64 [6, 4], found F32 [6, 4]";
    assert_eq!(read::<f64>(&bytes, "seed0", &shapes()).unwrap_err(), expected);
}

/// The order of a hash map differs every time; that of a file must not.
#[test]
fn equal_models_give_equal_files() {
    let params = Params::<f32>::glorot(&shapes(), 1);
    let about = || {
        (0..20)
            .map(|i| (format!("key{i}"), format!("value \u{fc}\n{i}")))
            .collect::<HashMap<_, _>>()
    };
    let file = || to_bytes(&[("seed0".to_owned(), &params)], about()).unwrap();
    let first = file();
    (0..20).for_each(|_| assert_eq!(file(), first));
    assert_eq!(bits(&read(&first, "seed0", &shapes()).unwrap()), bits(&params));
    let header = safetensors::SafeTensors::read_metadata(&first).unwrap().1;
    assert_eq!(header.metadata().as_ref().unwrap(), &about());
}
