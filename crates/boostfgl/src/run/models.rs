//! Models as `.safetensors`, with what is needed to build the network again.

use crate::Result;
use crate::config::Config;
use boostfgl_nn::{Params, safetensors_io};
use std::collections::HashMap;

/// What the metadata of a file of models say.
pub(crate) struct Architecture<'a> {
    pub(crate) config: &'a Config,
    pub(crate) dataset: &'a str,
    /// Number of features.
    pub(crate) inputs: usize,
    /// The names of the classes.
    pub(crate) classes: &'a [String],
}

impl Architecture<'_> {
    /// The bytes of a file with these models, each under its name.
    pub(crate) fn safetensors(&self, models: &[(String, &Params<f32>)]) -> Result<Vec<u8>> {
        let model = &self.config.model;
        let about = [
            ("program", concat!("boostfgl ", env!("CARGO_PKG_VERSION")).to_owned()),
            ("method", self.config.method.clone()),
            ("dataset", self.dataset.to_owned()),
            ("backbone", model.backbone.clone()),
            ("inputs", self.inputs.to_string()),
            ("hidden", model.hidden.to_string()),
            ("layers", model.layers.to_string()),
            ("classes", self.classes.join("\n")),
        ];
        let metadata: HashMap<String, String> =
            about.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Ok(safetensors_io::to_bytes(models, metadata)?)
    }
}
