//! `boostfgl config show|check`.

use crate::args::TrainingFlags;
use crate::output;
use anyhow::Result;
use boostfgl::config::{values, without_effect};
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
    /// Print every key with its value, its meaning and where the value came from, as a file for
    /// `run --config`
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
                output::print(&annotated(&config, &sources))
            }
            Action::Check { file } => {
                let mut layers = Layers::new();
                layers.file(file)?;
                let (config, sources) = layers.resolve()?;
                without_effect(&config, &sources).iter().for_each(|warning| output::note(warning));
                output::print(&format!("{}: every key is known and in range\n", file.display()))
            }
        }
    }
}

/// Every key under a comment: what it means, and where its value came from. What is not set is a
/// comment too.
fn annotated(config: &boostfgl::Config, sources: &BTreeMap<String, Source>) -> String {
    let mut out = String::new();
    let mut table = "";
    let values = values(config);
    for (key, value) in &values {
        let (section, name) = key.path.rsplit_once('.').unwrap_or(("", &key.path));
        if section != table {
            out.push_str(&format!("\n[{section}]\n"));
            table = section;
        }
        let source = match sources.get(&key.path) {
            None | Some(Source::Default) => "default".to_owned(),
            Some(source) => format!("from {}", plain(&source.to_string())),
        };
        out.push_str(&match value {
            Some(value) => format!("# {} ({source})\n{name} = {value}\n", key.meaning),
            None => format!("# {} ({source})\n# {name} is not set\n", key.meaning),
        });
    }
    out
}

/// Escapes control characters, which would end a comment or are not allowed in one.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { plain.extend(c.escape_default()) } else { plain.push(c) }
    }
    plain
}
