//! The layers of a network, by the names of its tensors.

use boostfgl_nn::TensorShape;

/// Which layer each tensor belongs to: `layer1.weight` and `layer1.bias` are both of `layer1`. A
/// tensor without a dot in its name is a layer of its own.
#[derive(Debug, Default)]
pub(super) struct Layers {
    names: Vec<String>,
    /// The layer of each tensor.
    of_tensor: Vec<usize>,
}

impl Layers {
    /// The layers of tensors, in the order in which they appear.
    pub(super) fn of(shapes: &[TensorShape]) -> Self {
        let mut layers = Self::default();
        for shape in shapes {
            let name = shape.name.split('.').next().unwrap_or_default();
            let known = layers.names.iter().position(|other| other == name);
            layers.of_tensor.push(known.unwrap_or(layers.names.len()));
            if known.is_none() {
                layers.names.push(name.to_owned());
            }
        }
        layers
    }

    /// Their names.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Sums of one number per tensor, layer by layer.
    pub(super) fn sums(&self, tensors: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.names.len()];
        self.of_tensor.iter().zip(tensors).for_each(|(&layer, x)| sums[layer] += x);
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_are_grouped_by_the_part_before_the_dot() {
        let names = ["layer1.weight", "layer1.bias", "layer2.weight", "gamma", "layer1.epsilon"];
        let layers = Layers::of(&names.map(|name| TensorShape::weight(name, 1, 1)));
        assert_eq!(layers.names(), ["layer1", "layer2", "gamma"]);
        assert_eq!(layers.sums(&[1.0, 2.0, 4.0, 8.0, 16.0]), [19.0, 4.0, 8.0]);
    }
}
