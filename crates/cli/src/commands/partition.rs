//! `boostfgl partition DATA`.

use crate::args::TrainingFlags;
use crate::output;
use anyhow::Result;
use boostfgl::disk::Checksums;
use boostfgl::partition::{Description, file};
use boostfgl::{Error, Experiment};
use clap::Args;
use std::path::PathBuf;

/// Divide a graph among clients: show the parts and write them to a file that --partition takes
#[derive(Debug, Args)]
pub(crate) struct Partition {
    #[command(flatten)]
    training: TrainingFlags,

    /// Partitioner: louvain, label-skew, random or file [default: louvain]
    #[arg(long, value_name = "NAME")]
    partitioner: Option<String>,

    /// Where to write the partition (seed,node,client,split); without it nothing is written
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Replace an existing file
    #[arg(long)]
    overwrite: bool,

    /// Print one JSON document instead of the picture
    #[arg(long)]
    json: bool,

    /// Print no progress
    #[arg(long, short)]
    quiet: bool,
}

impl Partition {
    pub(crate) fn execute(&self) -> Result<()> {
        let mut layers = self.training.layers()?;
        if let Some(name) = &self.partitioner {
            layers.set("partition.partitioner", name.as_str(), "--partitioner")?;
        }
        let (config, _) = layers.resolve()?;
        if let Some(path) = &self.out {
            output::check_new_file(path, self.overwrite)?;
        }
        let (_, graph) = self.training.protocol.data_flags.load(&config.dataset, self.quiet)?;
        let experiment = Experiment::new(config, graph)?;
        let seeds = &experiment.config().seeds;
        let drawn = seeds
            .iter()
            .map(|&s| Ok((s, experiment.partition(s)?)))
            .collect::<Result<Vec<_>, Error>>()?;
        if let Some(path) = &self.out {
            let parts: Vec<_> = drawn.iter().map(|(seed, partition)| (*seed, partition)).collect();
            let unwritten = |error| Error::from(boostfgl::report::Error::from(error));
            // An old checksum must not stand beside a new partition, not even for a moment.
            Checksums::remove_sidecar(path).map_err(unwritten)?;
            file::write(path, experiment.graph(), &parts).map_err(Error::from)?;
            Checksums::write_sidecar(path).map_err(unwritten)?;
        }
        let described =
            drawn.iter().map(|(seed, p)| (seed, Description::new(experiment.graph(), p)));
        if self.json {
            let all: Vec<_> = described
                .map(|(seed, d)| serde_json::json!({"seed": seed, "partition": d}))
                .collect();
            return output::print(&format!("{}\n", serde_json::to_string_pretty(&all)?));
        }
        let mut text = String::new();
        for (seed, description) in described {
            text.push_str(&format!("seed {seed}\n{description}\n"));
        }
        match &self.out {
            Some(path) => text.push_str(&format!("Written to {}\n", path.display())),
            None => text.push_str("Nothing written; --out FILE writes it for --partition FILE.\n"),
        }
        output::print(&text)
    }
}
