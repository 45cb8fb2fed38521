//! `boostfgl partition DATA`.

use crate::args::{OutputFlags, PrintFlags, TrainingFlags};
use crate::output;
use crate::progress::Phases;
use anyhow::Result;
use boostfgl::clients::{TableFormat, check_free, export};
use boostfgl::disk::Checksums;
use boostfgl::partition::{Description, PartitionConfig, Registry, file};
use boostfgl::{Error, Experiment};
use clap::Args;
use std::path::PathBuf;

/// Divide a graph among clients, show the parts, and write them to a file for --partition
#[derive(Debug, Args)]
#[command(
    mut_arg("out", |out| out.value_name("FILE").help("File for the partition \
        (seed,node,client,split) [default: nothing is written]")),
    mut_arg("overwrite", |overwrite| overwrite.help("Replace an existing file")),
    mut_arg("json", |json| json.help("Print one JSON document instead of the picture"))
)]
pub(crate) struct Partition {
    #[command(flatten)]
    training: TrainingFlags,

    #[arg(long, value_name = "NAME", help = partitioner_help())]
    partitioner: Option<String>,

    /// Write a folder for each client, for `run --client-data`: its part of the graph with the
    /// split, and schema.toml; for one seed [default: 0]
    #[arg(long, value_name = "DIR")]
    to_clients: Option<PathBuf>,

    /// Files of the clients: csv, or npz, which is far smaller for many columns of zeros
    #[arg(long, value_name = "NAME", default_value = "csv", requires = "to_clients")]
    format: String,

    #[command(flatten)]
    output: OutputFlags,

    #[command(flatten)]
    printing: PrintFlags,
}

/// The help of `--partitioner`, from the table of partitioners.
fn partitioner_help() -> String {
    let default = PartitionConfig::default().partitioner;
    format!("Partitioner: {} [default: {default}]", Registry::builtin().names())
}

impl Partition {
    pub(crate) fn execute(&self) -> Result<()> {
        let mut layers = self.training.layers()?;
        if let Some(name) = &self.partitioner {
            layers.set("partition.partitioner", name.as_str(), "--partitioner")?;
        }
        let format = TableFormat::from_name(&self.format)?;
        if let Some(folder) = &self.to_clients {
            // Each seed has its own partition, and a folder holds one.
            if !layers.sets("seeds") {
                layers.set("seeds", vec![0i64], "--to-clients")?;
            }
            check_free(folder)?;
        }
        let (config, _) = layers.resolve()?;
        if let (Some(_), [_, _, ..]) = (&self.to_clients, &config.seeds[..]) {
            let reason = format!("expected one seed, found {}", config.seeds.len());
            let advice = "Each seed has its own partition: --seeds 3, takes seed 3 alone.";
            return Err(Error::usage("--to-clients", reason, advice).into());
        }
        if let Some(path) = &self.output.out {
            output::check_new_file(path, self.output.overwrite)?;
        }
        let (_, graph) = self.training.protocol.data_flags.load(&config, self.printing.quiet)?;
        let experiment = Experiment::new(config, graph)?;
        let seeds = &experiment.config().seeds;
        let mut phases = Phases::new(self.printing.quiet);
        let mut drawn = Vec::with_capacity(seeds.len());
        for (at, &seed) in seeds.iter().enumerate() {
            let phase = format!("dividing {}", experiment.graph().name());
            let all = seeds.len() as f64;
            let mut show = |share: f64| phases.show(&phase, (at as f64 + share) / all);
            show(0.0);
            drawn.push((seed, experiment.partition_watched(seed, &mut show)?));
        }
        drop(phases);
        if let Some(path) = &self.output.out {
            let parts: Vec<_> = drawn.iter().map(|(seed, partition)| (*seed, partition)).collect();
            // Removed first: an old checksum must never describe a new partition.
            Checksums::remove_sidecar(path).map_err(Error::from)?;
            file::write(path, experiment.graph(), &parts).map_err(Error::from)?;
            Checksums::write_sidecar(path).map_err(Error::from)?;
        }
        let folders = match &self.to_clients {
            Some(folder) => export(experiment.graph(), &drawn[0].1, folder, format)?,
            None => Vec::new(),
        };
        let described =
            drawn.iter().map(|(seed, p)| (seed, Description::new(experiment.graph(), p)));
        if self.printing.json {
            let all: Vec<_> = described
                .map(|(seed, d)| serde_json::json!({"seed": seed, "partition": d}))
                .collect();
            return output::print(&format!("{}\n", serde_json::to_string_pretty(&all)?));
        }
        let mut text = String::new();
        for (seed, description) in described {
            text.push_str(&format!("seed {seed}\n{description}\n"));
        }
        if let Some(folder) = &self.to_clients {
            let (count, folder) = (folders.len(), folder.display());
            text.push_str(&format!(
                "Written to {folder}: {count} clients. To train on them:\n  \
                 boostfgl run --client-data {folder} --seeds {},\n",
                drawn[0].0
            ));
        }
        match &self.output.out {
            Some(path) => text.push_str(&format!("Written to {}\n", path.display())),
            None if self.to_clients.is_some() => {}
            None => text.push_str("Nothing written; --out FILE writes it for --partition FILE.\n"),
        }
        output::print(&text)
    }
}
