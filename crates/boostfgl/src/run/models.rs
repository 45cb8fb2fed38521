//! Models as `.safetensors`, with what is needed to build the network again.

use crate::Result;
use crate::config::Config;
use crate::predict::{About, Owner};
use boostfgl_fed::Beyond;
use boostfgl_nn::backbones::Architecture;
use boostfgl_nn::{Params, safetensors_io};

/// What the metadata of a file of models are made of.
pub(crate) struct Trained<'a> {
    pub(crate) config: &'a Config,
    pub(crate) dataset: &'a str,
    /// Number of features.
    pub(crate) inputs: usize,
    /// The names of the features, if they have any.
    pub(crate) feature_names: &'a [String],
    /// The columns whose missing values have a further input.
    pub(crate) indicators: Vec<u32>,
    /// The names of the classes.
    pub(crate) classes: &'a [String],
    /// Whose models they are.
    pub(crate) owner: Owner,
    /// What the run predicts with, apart from the models.
    pub(crate) beyond: Vec<Beyond>,
}

impl Trained<'_> {
    /// The bytes of a file with these models, each under its name.
    pub(crate) fn safetensors(&self, models: &[(String, &Params<f32>)]) -> Result<Vec<u8>> {
        Ok(safetensors_io::to_bytes(models, self.about().to_metadata()?)?)
    }

    fn about(&self) -> About {
        let Config { model, method, data, .. } = self.config;
        About {
            program: concat!("boostfgl ", env!("CARGO_PKG_VERSION")).to_owned(),
            method: method.clone(),
            dataset: self.dataset.to_owned(),
            backbone: model.backbone.clone(),
            sizes: Architecture {
                inputs: self.inputs,
                hidden: model.hidden,
                classes: self.classes.len(),
                layers: model.layers,
            },
            classes: self.classes.to_vec(),
            feature_names: self.feature_names.to_vec(),
            indicators: self.indicators.clone(),
            scaling: data.features,
            owner: self.owner.clone(),
            beyond: self.beyond.clone(),
        }
    }
}
