//! `boostfgl completions SHELL`.

use anyhow::Result;
use clap::{Args, CommandFactory as _};

/// Print a completion script for a shell
///
/// For bash: boostfgl completions bash > ~/.local/share/bash-completion/completions/boostfgl
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn execute(&self) -> Result<()> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut crate::Program::command(), "boostfgl", &mut text);
        crate::output::print(&String::from_utf8_lossy(&text))
    }
}
