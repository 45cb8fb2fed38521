//! Models in use: predictions of a finished run, and of its models on new data.
//!
//! * [`Model`] — what predicts: the folder of a run, or a file of models.
//! * [`FinishedRun`] — a run that predicts for its own nodes again, to the same bits.
//! * [`ModelFile`] — `model.safetensors`: the models of a run, and what is needed to build their
//!   network again ([`About`]).
//! * [`on_graph`] — one model over a whole graph, by a plain forward pass: for new nodes, or a new
//!   graph.

mod about;
mod model;
mod model_file;
mod new_graph;
mod prediction;
mod run;
mod saved_state;

pub use about::{About, FORMAT, Owner};
pub use model::{Chosen, Model, Which};
pub use model_file::{ModelFile, ModelName};
pub use new_graph::on_graph;
pub use prediction::NodePredictions;
pub use run::FinishedRun;
pub(crate) use saved_state::SavedStates;
