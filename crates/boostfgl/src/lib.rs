//! Fairness-aware federated graph learning.
//!
//! Several clients each hold a part of a graph and train one graph neural network without sharing
//! their data. The fairness of the model is measured for groups of nodes and for clients.
//!
//! ```
//! use boostfgl::Experiment;
//!
//! let run = Experiment::on("demo")
//!     .method("boostfgl")
//!     .set("fed.rounds", 3)
//!     .set("model.hidden", 16)
//!     .seeds([0])
//!     .run()?;
//! let scores = run.summary.mean.0;
//! println!("accuracy {:.1} %, on heterophilous nodes F1 {:?} %", scores.accuracy.pooled.unwrap(), scores.hete_f1.pooled);
//! # Ok::<(), boostfgl::Error>(())
//! ```
//!
//! The parts are re-exported: [`disk`], [`graph`], [`datasets`], [`partition`], [`nn`], [`fed`], [`fairness`],
//! [`report`].

#![forbid(unsafe_code)]

mod builder;
pub mod checkpoint;
pub mod clients;
pub mod config;
pub mod data;
mod details;
pub mod diagnose;
mod error;
mod experiment;
pub mod fingerprint;
pub mod frame;
pub mod grid;
#[cfg(feature = "fetch")]
mod http;
pub mod memory;
pub mod predict;
mod process;
mod reading;
mod run;
pub mod sources;
pub mod tune;

pub use boostfgl_data as datasets;
pub use boostfgl_disk as disk;
pub use boostfgl_fairness as fairness;
pub use boostfgl_fed as fed;
pub use boostfgl_graph as graph;
pub use boostfgl_nn as nn;
pub use boostfgl_partition as partition;
pub use boostfgl_protocol as protocol;
pub use boostfgl_report as report;

pub use builder::ExperimentBuilder;
pub use checkpoint::{CheckpointOptions, CheckpointSchedule};
pub use config::{Checked, Config, Layers, Source};
pub use data::Data;
pub use error::{Error, Result};
pub use experiment::{Experiment, Progress, Run, SeedRun};
pub use grid::Grid;
#[cfg(feature = "fetch")]
pub use http::Http;
pub use run::recorder::write_report;
