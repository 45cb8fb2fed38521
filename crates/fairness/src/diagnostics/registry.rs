//! The diagnostics that can watch a run: those of this crate, and those that a program adds.

use super::{Diagnostic, DiagnosticKind, Settings};
use crate::{Error, Result};
use boostfgl_nn::Real;

/// A diagnostic and what starts it.
#[derive(Clone, Debug)]
pub struct DiagnosticEntry<T: Real> {
    /// The name on the command line, in files and in saved states.
    pub name: &'static str,
    /// What it asks, in one line.
    pub question: &'static str,
    /// Names of diagnostics whose findings it needs; they come earlier in the registry.
    pub builds_on: Vec<&'static str>,
    /// Makes one before the first round.
    pub start: fn(Settings) -> Box<dyn Diagnostic<T>>,
}

impl<T: Real> From<DiagnosticKind> for DiagnosticEntry<T> {
    fn from(which: DiagnosticKind) -> Self {
        Self {
            name: which.name(),
            question: which.question(),
            builds_on: which.builds_on().iter().map(|needed| needed.name()).collect(),
            start: which.start(),
        }
    }
}

/// Diagnostics by name.
///
/// [`with`](DiagnosticRegistry::with) adds one without a change to this crate; what it finds goes
/// into [`Diagnosis::other`](super::Diagnosis::other).
#[derive(Clone, Debug)]
pub struct DiagnosticRegistry<T: Real> {
    entries: Vec<DiagnosticEntry<T>>,
}

impl<T: Real> DiagnosticRegistry<T> {
    /// The diagnostics of this crate.
    pub fn builtin() -> Self {
        Self { entries: DiagnosticKind::ALL.map(DiagnosticEntry::from).into() }
    }

    /// The same with one more diagnostic; it replaces one that has its name.
    #[must_use]
    pub fn with(mut self, entry: DiagnosticEntry<T>) -> Self {
        self.entries.retain(|known| known.name != entry.name);
        self.entries.push(entry);
        self
    }

    /// The diagnostics, in the order in which they conclude.
    pub fn iter(&self) -> impl Iterator<Item = &DiagnosticEntry<T>> {
        self.entries.iter()
    }

    /// The diagnostics that are named, and those they build on.
    ///
    /// # Errors
    /// If a name is unknown; the nearest is suggested.
    pub fn select(&self, names: &[&str]) -> Result<Vec<&DiagnosticEntry<T>>> {
        let mut needed = names.to_vec();
        for name in names {
            let entry = self.iter().find(|entry| entry.name == *name).ok_or_else(|| {
                let known = self.iter().map(|entry| entry.name.to_owned()).collect();
                Error::unknown("diagnostic", name, known)
            })?;
            needed.extend(&entry.builds_on);
        }
        Ok(self.iter().filter(|entry| needed.contains(&entry.name)).collect())
    }
}

impl<T: Real> Default for DiagnosticRegistry<T> {
    fn default() -> Self {
        Self::builtin()
    }
}
