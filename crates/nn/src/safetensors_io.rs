//! Reading and writing of parameters in the safetensors format.

use crate::{Error, Matrix, Params, Real, Result, TensorShape};
use safetensors::tensor::TensorView;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Serialises several models, such as one per seed, to one safetensors file.
///
/// Tensor `name` of the model called `prefix` is stored as `prefix.name`. Numbers are
/// little-endian, as the format requires.
///
/// # Errors
/// If the format does not allow the names of tensors or the metadata.
pub fn to_bytes<T: Real>(
    models: &[(String, &Params<T>)],
    metadata: HashMap<String, String>,
) -> Result<Vec<u8>> {
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = models
        .iter()
        .flat_map(|(prefix, params)| {
            params.shapes().iter().zip(params.tensors()).map(move |(shape, tensor)| {
                let dimensions = if shape.rows == 1 {
                    vec![shape.columns]
                } else {
                    vec![shape.rows, shape.columns]
                };
                (
                    format!("{prefix}.{}", shape.name),
                    dimensions,
                    bytemuck::cast_slice(&tensor.to_vec()).to_vec(),
                )
            })
        })
        .collect();
    let views = tensors
        .iter()
        .map(|(name, dimensions, bytes)| {
            let view = TensorView::new(T::DTYPE, dimensions.clone(), bytes)
                .map_err(|e| not_serialisable(&e))?;
            Ok((name.as_str(), view))
        })
        .collect::<Result<Vec<_>>>()?;
    let bytes = safetensors::serialize(views, Some(metadata)).map_err(|e| not_serialisable(&e))?;
    Ok(with_sorted_header(bytes))
}

/// Sorts the keys of the header. The metadata come from a hash map, so that without this the same
/// model would give a different file every time.
fn with_sorted_header(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(text) = sorted_header(&bytes) {
        bytes[8..8 + text.len()].copy_from_slice(&text);
    }
    bytes
}

/// The header of a file, sorted and padded to its old length.
fn sorted_header(bytes: &[u8]) -> Option<Vec<u8>> {
    let length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk()?)).ok()?;
    // An object of objects: the metadata, and one per tensor.
    let header = bytes.get(8..8 + length)?;
    let header: BTreeMap<String, BTreeMap<String, serde_json::Value>> =
        serde_json::from_slice(header).ok()?;
    let mut text = serde_json::to_vec(&header).ok()?;
    // The format pads headers with spaces, and offsets count from the end of the header.
    (text.len() <= length).then(|| text.resize(length, b' '))?;
    Some(text)
}

/// Reads the model called `prefix` from a safetensors file made by [`to_bytes`].
///
/// # Errors
/// If the bytes are not such a file, or a tensor is missing, of another shape or of another number
/// type.
pub fn from_bytes<T: Real>(
    path: &Path,
    bytes: &[u8],
    prefix: &str,
    shapes: &[TensorShape],
) -> Result<Params<T>> {
    let file = safetensors::SafeTensors::deserialize(bytes).map_err(|e| other_file(path, &e))?;
    let tensors = shapes
        .iter()
        .map(|shape| {
            let name = format!("{prefix}.{}", shape.name);
            let view = file
                .tensor(&name)
                .map_err(|e| parameters_error(path, format!("tensor {name}"), e.to_string()))?;
            let count: usize = view.shape().iter().product();
            if view.dtype() != T::DTYPE
                || count != shape.rows * shape.columns
                || view.shape().last() != Some(&shape.columns)
            {
                let expected =
                    format!("tensor {name} as {:?} [{}, {}]", T::DTYPE, shape.rows, shape.columns);
                let found = format!("{:?} {:?}", view.dtype(), view.shape());
                return Err(parameters_error(path, expected, found));
            }
            let values: Vec<T> = bytemuck::allocation::pod_collect_to_vec(view.data());
            Ok(Matrix::from_rows(shape.rows, shape.columns, &values))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Params::from_tensors(shapes, tensors))
}

/// What a safetensors file says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The metadata, by name.
    pub metadata: BTreeMap<String, String>,
    /// The names of the tensors, sorted.
    pub tensors: Vec<String>,
}

/// Reads the header of a safetensors file.
///
/// # Errors
/// If the bytes are not such a file, or are cut off.
pub fn read_header(path: &Path, bytes: &[u8]) -> Result<Header> {
    let file = safetensors::SafeTensors::deserialize(bytes).map_err(|e| other_file(path, &e))?;
    let about = safetensors::SafeTensors::read_metadata(bytes).map_err(|e| other_file(path, &e))?;
    let (_, about) = about;
    let metadata = about.metadata().clone().unwrap_or_default();
    let mut tensors: Vec<String> = file.names().into_iter().map(str::to_owned).collect();
    tensors.sort_unstable();
    Ok(Header { metadata: metadata.into_iter().collect(), tensors })
}

fn not_serialisable(error: &safetensors::SafeTensorError) -> Error {
    parameters_error(
        Path::new("model.safetensors"),
        "tensor names and metadata that the format allows",
        error.to_string(),
    )
}

fn other_file(path: &Path, error: &safetensors::SafeTensorError) -> Error {
    parameters_error(path, "a safetensors file", error.to_string())
}

fn parameters_error(path: &Path, expected: impl Into<String>, found: String) -> Error {
    Error::Parameters { path: path.to_path_buf(), expected: expected.into(), found }
}
