//! `state.bin`: what the clients of a run predict with, apart from models and graphs. Only runs
//! that need it have the file.

use crate::checkpoint::container;
use crate::{Error, Result};
use boostfgl_nn::{StateVisitor, Stateful};
use boostfgl_report::RunFolder;

/// The states of the clients under every seed that has any.
#[derive(Default)]
pub(crate) struct SavedStates {
    /// The seeds, each with the state of every client.
    seeds: Vec<SeedStates>,
}

/// The states under one seed.
#[derive(Default)]
struct SeedStates {
    seed: u64,
    clients: Vec<Vec<u8>>,
}

impl SavedStates {
    /// Those of seeds, each with the states of its clients; seeds without any are left out.
    pub(crate) fn new<'a>(seeds: impl Iterator<Item = (u64, &'a [Vec<u8>])>) -> Self {
        let with = seeds.filter(|(_, clients)| !clients.is_empty());
        let seeds = with.map(|(seed, clients)| SeedStates { seed, clients: clients.to_vec() });
        Self { seeds: seeds.collect() }
    }

    /// Writes the file, if there is anything to write.
    pub(crate) fn write(&mut self, folder: &RunFolder) -> Result<()> {
        if self.seeds.is_empty() {
            return Ok(());
        }
        container::write(&folder.file(RunFolder::STATE), |visitor| self.visit(visitor))
    }

    /// Reads the file of a run; one without it has no states.
    pub(crate) fn read(folder: &RunFolder) -> Result<Self> {
        let path = folder.file(RunFolder::STATE);
        let mut states = Self::default();
        if path.exists() {
            let content = container::read(&path)?;
            let mut visitor = StateVisitor::restoring(&content);
            states.visit(&mut visitor).map_err(|error| {
                Error::from(boostfgl_report::Error::malformed(&path, error.to_string()))
            })?;
        }
        Ok(states)
    }

    /// The states of the clients under a seed; empty if they have none.
    pub(crate) fn of(&self, seed: u64) -> &[Vec<u8>] {
        let found = self.seeds.iter().find(|states| states.seed == seed);
        found.map_or(&[], |states| &states.clients)
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.each("seeds", &mut self.seeds, SeedStates::default)
    }
}

impl Stateful for SeedStates {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("seed", &mut self.seed)?;
        visitor.each("clients", &mut self.clients, Vec::new)
    }
}
