//! Tensors, models, messages, options and lists.

use super::Wire;
use super::reader::Reader;
use super::writer::Writer;
use crate::{Error, Message, Model, Result, Version};
use boostfgl_nn::{Matrix, Params, Real, TensorShape};
use std::sync::Arc;

impl<T: Real> Wire<T> for Matrix<T> {
    fn write(&self, out: &mut Writer) {
        out.length(self.rows());
        out.length(self.columns());
        if self.stride() == self.columns() {
            return out.plain(self.data());
        }
        if out.counts() {
            return out.skip(self.rows() * self.columns() * size_of::<T>());
        }
        (0..self.rows()).for_each(|r| out.plain(self.row(r)));
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        let (rows, columns) = (input.u32()? as usize, input.u32()? as usize);
        let bytes = rows.checked_mul(columns).and_then(|count| count.checked_mul(size_of::<T>()));
        // Rows without columns would need no bytes and could still ask for any amount of memory.
        if bytes.is_none_or(|bytes| bytes > input.left()) || (columns == 0 && rows > 0) {
            return Err(input.malformed(
                format!("a tensor that fits the {} bytes that are left", input.left()),
                format!("{rows} x {columns}"),
            ));
        }
        if let Some(matrix) = input.plain_matrix(rows, columns)? {
            return Ok(matrix);
        }
        let mut matrix = Self::zeros(rows, columns);
        for r in 0..rows {
            input.plain(matrix.row_mut(r))?;
        }
        Ok(matrix)
    }
}

/// Parameters are followed by nothing that names them: their shapes are those of the run's network.
impl<T: Real> Wire<T> for Params<T> {
    fn write(&self, out: &mut Writer) {
        out.length(self.tensors().len());
        self.tensors().iter().for_each(|tensor| tensor.write(out));
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        let tensors: Vec<Matrix<T>> = read_list(input, TENSOR)?;
        let shapes = input.limits.shapes;
        let fits = tensors.len() == shapes.len()
            && tensors.iter().zip(shapes).all(|(tensor, shape)| has_shape(tensor, shape));
        if !fits {
            let expected = shapes.iter().map(|shape| (shape.rows, shape.columns));
            let found = tensors.iter().map(|tensor| (tensor.rows(), tensor.columns()));
            return Err(Error::Shapes { expected: listed(expected), found: listed(found) });
        }
        Ok(Self::from_tensors(shapes, tensors))
    }
}

/// Bytes of an empty tensor.
const TENSOR: usize = 8;

fn has_shape<T: Real>(tensor: &Matrix<T>, shape: &TensorShape) -> bool {
    (tensor.rows(), tensor.columns()) == (shape.rows, shape.columns)
}

/// `1433x256, 1x256`.
fn listed(shapes: impl Iterator<Item = (usize, usize)>) -> String {
    let shapes: Vec<String> = shapes.map(|(rows, columns)| format!("{rows}x{columns}")).collect();
    shapes.join(", ")
}

impl<T: Real> Wire<T> for Model<T> {
    fn write(&self, out: &mut Writer) {
        let version = self.version();
        out.u32(version.slot);
        out.u32(version.change);
        let is_new = out.is_new_model(version);
        out.bool(is_new);
        if is_new {
            self.params().write(out);
        }
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        let version = Version { slot: input.u32()?, change: input.u32()? };
        let has_numbers = input.bool()?;
        match (input.model(version).cloned(), has_numbers) {
            (Some(model), false) => Ok(model),
            (None, true) => {
                let params = Params::read(input)?;
                // The server checks every model before it sends it, so that the client need not.
                if input.limits.finite && !params.is_finite() {
                    return Err(input.malformed("a model of finite numbers", "infinity or NaN"));
                }
                let model = Self::at(version, Arc::new(params));
                input.add_model(model.clone());
                Ok(model)
            }
            (Some(_), true) => Err(input.malformed("a model once", "the same version again")),
            (None, false) => Err(input.malformed("an earlier model of this version", "none")),
        }
    }
}

impl<T: Real> Wire<T> for Message<T> {
    fn write(&self, out: &mut Writer) {
        write_list(&self.tensors, out);
        write_numbers(&self.numbers, out);
        out.length(self.entries.len());
        // Positions and values apart, so that each is one block.
        if out.counts() {
            return out.skip(self.entries.len() * (size_of::<u32>() + size_of::<T>()));
        }
        let (places, values): (Vec<u32>, Vec<T>) = self.entries.iter().copied().unzip();
        out.plain(&places);
        out.plain(&values);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        let tensors = read_list(input, TENSOR)?;
        let numbers = read_numbers(input)?;
        let entries = input.length(size_of::<u32>() + size_of::<T>())?;
        let (mut places, mut values) = (vec![0u32; entries], vec![T::ZERO; entries]);
        input.plain(&mut places)?;
        input.plain(&mut values)?;
        Ok(Self { tensors, numbers, entries: places.into_iter().zip(values).collect() })
    }
}

impl<T: Real, W: Wire<T>> Wire<T> for Arc<W> {
    fn write(&self, out: &mut Writer) {
        (**self).write(out);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(Self::new(W::read(input)?))
    }
}

impl<T: Real, W: Wire<T>> Wire<T> for Option<W> {
    fn write(&self, out: &mut Writer) {
        out.bool(self.is_some());
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(if input.bool()? { Some(W::read(input)?) } else { None })
    }
}

impl<T: Real> Wire<T> for f64 {
    fn write(&self, out: &mut Writer) {
        out.f64(*self);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        input.f64()
    }
}

impl<T: Real> Wire<T> for Vec<f64> {
    fn write(&self, out: &mut Writer) {
        write_numbers(self, out);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        read_numbers(input)
    }
}

impl<T: Real, W: Wire<T>> Wire<T> for (u32, W) {
    fn write(&self, out: &mut Writer) {
        out.u32(self.0);
        self.1.write(out);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok((input.u32()?, W::read(input)?))
    }
}

impl<T: Real> Wire<T> for String {
    fn write(&self, out: &mut Writer) {
        out.text(self);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        input.text()
    }
}

pub(super) fn write_list<T: Real, W: Wire<T>>(values: &[W], out: &mut Writer) {
    out.length(values.len());
    values.iter().for_each(|value| value.write(out));
}

/// A list of values of at least `width` bytes each.
pub(super) fn read_list<T: Real, W: Wire<T>>(
    input: &mut Reader<'_, T>,
    width: usize,
) -> Result<Vec<W>> {
    let length = input.length(width)?;
    // Not allocated at once: a value may need more memory than bytes.
    let mut values = Vec::new();
    for _ in 0..length {
        values.push(W::read(input)?);
    }
    Ok(values)
}

/// A list of plain numbers, as one block.
pub(super) fn write_numbers<N: bytemuck::Pod>(numbers: &[N], out: &mut Writer) {
    out.length(numbers.len());
    out.plain(numbers);
}

pub(super) fn read_numbers<T: Real, N: bytemuck::Pod>(input: &mut Reader<'_, T>) -> Result<Vec<N>> {
    let length = input.length(size_of::<N>())?;
    let mut numbers = vec![N::zeroed(); length];
    input.plain(&mut numbers)?;
    Ok(numbers)
}
