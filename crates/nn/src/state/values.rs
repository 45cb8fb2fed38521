//! [`Stateful`] for numbers, texts, lists, matrices and models.

use super::{StateVisitor, Stateful};
use crate::{Matrix, Params, Real, Result};

impl Stateful for u64 {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.kind(b'u')?;
        let mut bytes = self.to_le_bytes();
        visitor.raw(&mut bytes)?;
        *self = Self::from_le_bytes(bytes);
        Ok(())
    }
}

impl Stateful for usize {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        let mut wide = *self as u64;
        wide.visit(visitor)?;
        *self = Self::try_from(wide).map_err(|_| visitor.mismatch("a count", wide.to_string()))?;
        Ok(())
    }
}

impl Stateful for bool {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.kind(b'b')?;
        let mut byte = [u8::from(*self)];
        visitor.raw(&mut byte)?;
        match byte[0] {
            0 | 1 => *self = byte[0] == 1,
            other => return Err(visitor.mismatch("0 or 1", other.to_string())),
        }
        Ok(())
    }
}

impl Stateful for f64 {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.kind(b'f')?;
        let mut bytes = self.to_le_bytes();
        visitor.raw(&mut bytes)?;
        *self = Self::from_le_bytes(bytes);
        Ok(())
    }
}

impl Stateful for String {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.text(b's', self)
    }
}

impl Stateful for Vec<f64> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.numbers(b'F', self)
    }
}

impl Stateful for Vec<u8> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.numbers(b'Y', self)
    }
}

impl Stateful for Vec<u64> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.numbers(b'W', self)
    }
}

impl Stateful for Vec<u32> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        visitor.numbers(b'U', self)
    }
}

impl Stateful for Vec<usize> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        let mut wide: Vec<u64> = self.iter().map(|&count| count as u64).collect();
        visitor.numbers(b'C', &mut wide)?;
        *self = wide
            .into_iter()
            .map(|count| {
                usize::try_from(count).map_err(|_| visitor.mismatch("a count", count.to_string()))
            })
            .collect::<Result<_>>()?;
        Ok(())
    }
}

/// Numbers of a model's type; their count is fixed.
impl<T: Real> Stateful for [T] {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        let mut shape = [self.len() as u64, 1, size_of::<T>() as u64];
        expect_shape(visitor, &mut shape)?;
        visitor.raw(bytemuck::cast_slice_mut(self))
    }
}

/// A matrix; its shape is fixed.
impl<T: Real> Stateful for Matrix<T> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        let mut shape = [self.rows() as u64, self.columns() as u64, size_of::<T>() as u64];
        expect_shape(visitor, &mut shape)?;
        // Padding is not saved, so that the format does not depend on the layout in memory.
        if self.columns() == self.stride() {
            return visitor.raw(bytemuck::cast_slice_mut(self.data_mut()));
        }
        (0..self.rows()).try_for_each(|r| visitor.raw(bytemuck::cast_slice_mut(self.row_mut(r))))
    }
}

/// Saves rows, columns and bytes per number; restoring checks that they are the same.
fn expect_shape(visitor: &mut StateVisitor<'_>, shape: &mut [u64; 3]) -> Result<()> {
    let expected = *shape;
    visitor.kind(b'm')?;
    visitor.raw(bytemuck::cast_slice_mut(shape))?;
    if *shape == expected {
        Ok(())
    } else {
        Err(visitor.mismatch(describe_shape(expected), describe_shape(*shape)))
    }
}

fn describe_shape([rows, columns, bytes]: [u64; 3]) -> String {
    format!("{rows} x {columns} numbers of {bytes} bytes")
}

/// A model; its shapes are fixed.
impl<T: Real> Stateful for Params<T> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        let names: Vec<String> = self.shapes().iter().map(|shape| shape.name.clone()).collect();
        names
            .iter()
            .zip(self.tensors_mut())
            .try_for_each(|(name, tensor)| visitor.visit(name, tensor))
    }
}

/// What is shared is copied first if it is still in use elsewhere.
impl<K: Stateful + Clone> Stateful for std::sync::Arc<K> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> Result<()> {
        Self::make_mut(self).visit(visitor)
    }
}
