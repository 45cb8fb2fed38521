//! `boostfgl predict`.

use crate::args::{DataFlags, ResourceFlags};
use crate::output;
use anyhow::Result;
use boostfgl::Error;
use boostfgl::predict::{Model, NodePredictions, Which, on_graph};
use boostfgl::report::ScoreFormat;
use clap::Args;
use std::io::Write as _;
use std::path::PathBuf;

/// Predict with the models of a finished run: for its own nodes, new nodes or a new graph
///
/// Without DATA the run's own nodes are predicted again, to the same bits: every client evaluates
/// the reported model on its part of the graph. With DATA one model predicts for every node of that
/// graph in one pass. New nodes are predicted with their edges to old ones if DATA has both.
///
/// The table has the columns node, prediction, probability (of that class) and p:CLASS for every
/// class.
///
/// Examples:
///   boostfgl predict runs/demo/fedavg                                 the run's own predictions
///   boostfgl predict runs/demo/fedavg new.npz --to scores.csv         a new graph
///   boostfgl predict runs/demo/fedavg new.npz --nodes new.txt         some of its nodes
///   boostfgl predict runs/demo/fedgta new.npz --client 2 --seed 1     a client's own model
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Predict {
    /// Folder of a finished run, or a model.safetensors
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// Graph to predict for: a path, a catalogue name, or generate:PRESET [default: the data of the
    /// run, divided among its clients]
    #[arg(value_name = "DATA")]
    data: Option<String>,

    /// Client whose own model predicts, by number or, with --client-data, by name; without DATA only
    /// its nodes are predicted
    #[arg(long, value_name = "K|NAME")]
    client: Option<String>,

    /// Seed of the run whose models predict [default: the first, with a note if there are several]
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,

    /// File with the ids of the nodes to write, one per line [default: all nodes]
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,

    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,

    /// Format: csv or parquet [default: by the ending of --to, else csv]
    #[arg(long, value_name = "NAME")]
    format: Option<String>,

    /// Add the outputs of the network before the softmax, as columns logit:CLASS; needs DATA
    #[arg(long, requires = "data")]
    logits: bool,

    /// Replace an existing file
    #[arg(long, requires = "to")]
    overwrite: bool,

    #[command(flatten)]
    resources: ResourceFlags,

    #[command(flatten)]
    data_flags: DataFlags,

    /// Print no notes and no progress
    #[arg(long, short)]
    quiet: bool,
}

impl Predict {
    pub(crate) fn execute(&self) -> Result<()> {
        let format = self.format()?;
        if let Some(to) = &self.to {
            output::check_new_file(to, self.overwrite)?;
        }
        let pool = self.resources.pool()?;
        let found = self.predictions(&pool)?;
        let found = match &self.nodes {
            Some(list) => found.listed_in(list)?,
            None => found,
        };
        if !self.quiet {
            found.notes.iter().for_each(|note| output::note(note));
        }
        let table = found.table(self.logits)?;
        match &self.to {
            Some(to) => table.write(to, format).map_err(Error::from)?,
            None => {
                let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
                table.write_csv(&mut stdout)?;
                stdout.flush()?;
            }
        }
        Ok(())
    }

    fn predictions(&self, pool: &rayon::ThreadPool) -> Result<NodePredictions> {
        let which = Which { seed: self.seed, client: self.client.as_deref() };
        let model = Model::open(&self.model)?;
        let Some(name) = &self.data else {
            let run = model.run()?;
            let graph = match run.dataset() {
                Some(name) => Some(self.data_flags.load_named(name, self.quiet)?.1),
                None => None,
            };
            return Ok(pool.install(|| run.predict(graph, &which))?);
        };
        let chosen = model.choose(&which)?;
        let (_, graph) = self.data_flags.load_named(name, self.quiet)?;
        let mut found = pool.install(|| on_graph(&chosen, graph))?;
        found.notes.splice(0..0, chosen.notes);
        Ok(found)
    }

    /// The format of the table.
    fn format(&self) -> Result<ScoreFormat> {
        let format = match (&self.format, &self.to) {
            (Some(name), _) => ScoreFormat::from_name(name).ok_or_else(|| {
                let reason = format!("expected csv or parquet, found `{name}`");
                Error::usage("--format", reason, "Leave it out to write by the ending of --to.")
            })?,
            (None, Some(to)) => ScoreFormat::of_file(to),
            (None, None) => ScoreFormat::Csv,
        };
        if format == ScoreFormat::Parquet && self.to.is_none() {
            let reason = "expected --to FILE with the format parquet, found none";
            let advice = "Parquet is not written to a terminal: name a file with --to.";
            return Err(Error::usage("--format", reason, advice).into());
        }
        Ok(format)
    }
}
