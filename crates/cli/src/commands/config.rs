//! `boostfgl config show|check`.

use crate::args::TrainingFlags;
use crate::output;
use anyhow::Result;
use boostfgl::config::keys;
use boostfgl::{Layers, Source};
use clap::{Args, Subcommand};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Show the resolved configuration, or check a file
#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print every key with its value, meaning and where the value came from, as a file `run --config` accepts
    Show(Box<TrainingFlags>),
    /// Check a configuration file without running it
    Check {
        /// The file
        file: PathBuf,
    },
}

impl Config {
    pub(crate) fn execute(&self) -> Result<()> {
        match &self.action {
            Action::Show(flags) => {
                let (config, sources) = flags.layers()?.resolve()?;
                output::print(&annotated(&config.to_toml(), &sources))
            }
            Action::Check { file } => {
                let mut layers = Layers::new();
                layers.file(file)?;
                layers.resolve()?;
                output::print(&format!("{}: every key is known and in range\n", file.display()))
            }
        }
    }
}

/// The file with a comment above each key: what it means, and where its value came from if that is not the default.
fn annotated(toml: &str, sources: &BTreeMap<String, Source>) -> String {
    let keys = keys();
    let mut out = String::new();
    let mut table = String::new();
    for line in toml.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            table = format!("{name}.");
        }
        if let Some((name, _)) = line.split_once(" = ") {
            let path = format!("{table}{name}");
            let meaning = keys.iter().find(|k| k.path == path).map_or("", |k| &k.meaning);
            let source = match sources.get(&path) {
                None | Some(Source::Default) => String::new(),
                Some(source) => format!(" (from {source})"),
            };
            out.push_str(&format!("# {meaning}{source}\n"));
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}
