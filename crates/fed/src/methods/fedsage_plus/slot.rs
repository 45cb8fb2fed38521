//! The generator's last layer, one slot at a time.
//!
//! W₃ has p·d columns, by far the most parameters of the method, and most of its p slots are used
//! by few nodes or none. A slot that no node uses depends on no data: Adam moves it by weight decay
//! alone. It is therefore neither drawn nor moved before its first use; then it catches up with all
//! pending steps. The numbers are those of a layer that moved at every step.

use boostfgl_graph::Stream;
use boostfgl_nn::optim::{Adam, AdamConfig, Optimizer as _};
use boostfgl_nn::{Matrix, Params, Real, TensorShape};

/// d of the p·d columns of the last layer, with their optimiser.
pub(super) struct Slot<T> {
    layer: Option<Params<T>>,
    optimizer: Adam<T>,
    /// Pending steps without a gradient. The optimiser is reset before every entry except the first.
    pending: Vec<usize>,
}

/// The parameters of a slot's random initialisation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawing {
    /// Fan-in and columns of the slot.
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Columns of the whole layer, on which Glorot's bound depends.
    pub(super) fan_out: usize,
    pub(super) seed: u64,
    pub(super) slot: usize,
}

impl Drawing {
    fn draw<T: Real>(self) -> Params<T> {
        let Self { rows, columns, fan_out, seed, slot } = self;
        let bound = libm::sqrt(6.0 / (rows + fan_out) as f64);
        let mut stream = Stream::new(seed, "slot", &[slot as u64]);
        let mut weight = Matrix::zeros(rows, columns);
        for r in 0..rows {
            weight
                .row_mut(r)
                .iter_mut()
                .for_each(|x| *x = T::of(bound * (2.0 * stream.unit() - 1.0)));
        }
        let shapes = [
            TensorShape::weight("slot.weight", rows, columns),
            TensorShape::bias("slot.bias", columns),
        ];
        Params::from_tensors(&shapes, vec![weight, Matrix::zeros(1, columns)])
    }
}

impl<T: Real> Slot<T> {
    pub(super) fn new(optimizer: AdamConfig) -> Self {
        Self { layer: None, optimizer: Adam::new(optimizer), pending: vec![0] }
    }

    /// Makes all pending steps; draws the layer first if it has not been used yet.
    pub(super) fn catch_up(&mut self, drawing: Drawing) {
        let layer = self.layer.get_or_insert_with(|| drawing.draw());
        for (i, steps) in std::mem::replace(&mut self.pending, vec![0]).into_iter().enumerate() {
            if i > 0 {
                self.optimizer.reset();
            }
            if steps > 0 {
                self.optimizer.idle(layer, steps);
            }
        }
    }

    /// Weight and bias.
    ///
    /// # Panics
    /// If [`Slot::catch_up`] has not been called.
    pub(super) fn layer(&self) -> &[Matrix<T>] {
        match &self.layer {
            Some(layer) => layer.tensors(),
            None => unreachable!("a slot catches up before it is used"),
        }
    }

    #[cfg(test)]
    pub(super) fn layer_mut(&mut self) -> &mut Params<T> {
        self.layer.as_mut().unwrap()
    }

    /// A step along gradients of weight and bias, or without any.
    pub(super) fn step(&mut self, gradients: Option<&[Matrix<T>]>) {
        match (gradients, &mut self.layer) {
            (Some(gradients), Some(layer)) => self.optimizer.step(layer, gradients),
            _ => self.pending.iter_mut().last().into_iter().for_each(|steps| *steps += 1),
        }
    }

    /// Resets the optimiser, after all steps that are still pending.
    pub(super) fn reset_optimizer(&mut self) {
        self.pending.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit for bit.
    #[test]
    fn a_slot_that_catches_up_equals_one_that_moved_at_every_step() {
        let drawing = Drawing { rows: 9, columns: 5, fan_out: 25, seed: 3, slot: 2 };
        let config = AdamConfig { rate: 1e-2, weight_decay: 0.1, ..AdamConfig::default() };
        let zeros = [Matrix::<f32>::zeros(9, 5), Matrix::zeros(1, 5)];
        let ones = [Matrix::from_rows(9, 5, &[0.3f32; 45]), Matrix::from_rows(1, 5, &[-0.2f32; 5])];
        // None: no gradient. Some: a gradient. The optimiser is reset before step 4.
        let steps = [None, None, Some(&ones), None, None, Some(&ones), None];
        let (mut lazy, mut eager) = (Slot::new(config), Slot::new(config));
        for (i, step) in steps.into_iter().enumerate() {
            if i == 4 {
                lazy.reset_optimizer();
                eager.reset_optimizer();
            }
            eager.catch_up(drawing);
            eager.step(Some(step.map_or(&zeros[..], |g| &g[..])));
            if step.is_some() {
                lazy.catch_up(drawing);
            }
            lazy.step(step.map(|g| &g[..]));
        }
        lazy.catch_up(drawing);
        assert_eq!(lazy.layer(), eager.layer());
        assert_ne!(lazy.layer(), drawing.draw::<f32>().tensors());
    }
}
