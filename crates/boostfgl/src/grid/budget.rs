//! Equal budgets: how many rounds each method gets so that all have the same rounds, bytes or CPU
//! time as the base.
//!
//! What a method costs is a + b·T for T rounds: b per round, and a for everything else, such as a
//! preparation or rounds of its own. Two short probes give a and b: exactly for bytes, which
//! depend on shapes alone, and by measurement for CPU time. Measurements are recorded in a file, so
//! that the rounds, and with them all digits, stay the same when the comparison is repeated.

use super::{Grid, GridProgress, Resources, identity};
use crate::{Error, Result};
use boostfgl_graph::nearest;
use boostfgl_report::{CellCost, CellStore, EqualBudget, write_atomic};
use identity::CellInputs;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What all methods of a comparison get the same of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetKind {
    /// Rounds, with those that a method adds.
    Rounds,
    /// Bytes in both directions.
    Bytes,
    /// CPU time.
    Cpu,
}

impl BudgetKind {
    const ALL: [Self; 3] = [Self::Rounds, Self::Bytes, Self::Cpu];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rounds => "rounds",
            Self::Bytes => "bytes",
            Self::Cpu => "cpu",
        }
    }

    /// Reads a name.
    ///
    /// # Errors
    /// If it is unknown; the nearest is suggested.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let near = nearest(name, names).map(|near| format!(" (did you mean {near}?)"));
            let reason = format!(
                "expected {}, found `{name}`{}",
                names.join(", "),
                near.unwrap_or_default()
            );
            Error::usage("--budget", reason, "For example --budget bytes.")
        })
    }

    /// What is the same for all, in words.
    fn words(self) -> &'static str {
        match self {
            Self::Rounds => "rounds, with those that a method adds",
            Self::Bytes => "bytes in both directions",
            Self::Cpu => "CPU time as calibrated",
        }
    }
}

/// The cost of a method: `fixed` + `per_round` · rounds, in the unit of the budget.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    fixed: f64,
    per_round: f64,
}

impl Cost {
    fn of(self, rounds: usize) -> f64 {
        self.fixed + self.per_round * rounds as f64
    }

    /// The line through the costs of two numbers of rounds.
    fn through([(short, low), (long, high)]: [(usize, f64); 2]) -> Self {
        let per_round = (high - low) / (long - short) as f64;
        Self { fixed: low - per_round * short as f64, per_round }
    }

    /// The most rounds whose cost is at most `budget`; `None` if even one costs more.
    fn rounds_within(self, budget: f64) -> Option<usize> {
        // The tolerance keeps a quotient that is whole up to rounding.
        let rounds = ((budget - self.fixed) / self.per_round + 1e-9).floor();
        (rounds >= 1.0).then_some(rounds as usize)
    }
}

/// `calibration.toml`: measured CPU time.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Calibration {
    #[serde(default)]
    measured: Vec<Calibrated>,
}

/// The CPU time of a method on a dataset.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Calibrated {
    dataset: String,
    method: String,
    /// The digest of its cell under the first seed, with the rounds that were asked for.
    cell: String,
    /// CPU seconds per round.
    per_round: f64,
    /// CPU seconds of everything else.
    fixed: f64,
}

/// The file of measured CPU times in the folder of a comparison.
pub const CALIBRATION: &str = "calibration.toml";

/// Where probes run, and where their results are stored.
pub struct Probing<'a> {
    /// The folder of the comparison.
    pub folder: &'a Path,
    /// Its cells.
    pub store: &'a CellStore,
    /// Threads and memory.
    pub resources: Resources,
}

impl Grid {
    /// The same grid with an equal budget for every row: that of row number `base` with the rounds
    /// that are configured.
    ///
    /// # Errors
    /// If a method needs more than the budget for its first round, or a probe failed.
    pub fn with_budget(
        self,
        kind: BudgetKind,
        base: usize,
        probing: &Probing<'_>,
        progress: &mut dyn GridProgress,
    ) -> Result<(Self, EqualBudget)> {
        let costs = match kind {
            BudgetKind::Rounds => self.costs_in_rounds(),
            BudgetKind::Bytes => self.costs_in_bytes(probing, progress)?,
            BudgetKind::Cpu => self.costs_in_seconds(probing, progress)?,
        };
        let (mut rounds, mut problems) = (Vec::new(), Vec::new());
        for (block, costs) in costs.iter().enumerate() {
            let asked = self.experiments[block][base].config().fed.rounds;
            let budget = costs[base].of(asked);
            let mut own = Vec::new();
            for (row, cost) in costs.iter().enumerate() {
                let configured = self.experiments[block][row].config().fed.rounds;
                own.push(match cost.rounds_within(budget) {
                    // A method without traffic is not limited by bytes.
                    _ if cost.per_round <= 0.0 => configured,
                    Some(rounds) => rounds,
                    None => {
                        problems.push(self.too_expensive(kind, (block, row), *cost, budget));
                        configured
                    }
                });
            }
            rounds.push(own);
        }
        if !problems.is_empty() {
            let advice = "Ask for more --rounds, or lower what the method adds of its own.";
            return Err(Error::usage("--budget", problems.join("; "), advice));
        }
        let budget = EqualBudget {
            kind: kind.name().to_owned(),
            words: kind.words().to_owned(),
            base: self.stacked[base].label(),
            rounds: rounds.clone(),
        };
        Ok((self.with_rounds(&rounds)?, budget))
    }

    /// What is wrong with a method that the budget does not suffice for.
    fn too_expensive(
        &self,
        kind: BudgetKind,
        (block, row): (usize, usize),
        cost: Cost,
        budget: f64,
    ) -> String {
        format!(
            "expected a budget of at least {:.6} {} for one round of {} on {}, found {budget:.6}",
            cost.of(1),
            match kind {
                BudgetKind::Cpu => "CPU seconds",
                other => other.name(),
            },
            self.stacked[row].label(),
            self.block_name(block),
        )
    }

    /// Every row costs its rounds, and those that the method adds.
    fn costs_in_rounds(&self) -> Vec<Vec<Cost>> {
        let mut costs = Vec::new();
        for experiments in &self.experiments {
            let rows = experiments.iter().zip(&self.stacked).map(|(experiment, stacked)| {
                let added = (stacked.method.further_rounds)(&experiment.config().methods);
                Cost { fixed: added as f64, per_round: 1.0 }
            });
            costs.push(rows.collect());
        }
        costs
    }

    /// The bytes of every row, from probes of two and three rounds: what is sent depends on shapes
    /// alone, and a method may send less in its first round.
    fn costs_in_bytes(
        &self,
        probing: &Probing<'_>,
        progress: &mut dyn GridProgress,
    ) -> Result<Vec<Vec<Cost>>> {
        let short = self.probe(2, probing, progress)?;
        let long = self.probe(3, probing, progress)?;
        Ok(lines([(2, &short), (3, &long)], |cost| (cost.bytes_up + cost.bytes_down) as f64))
    }

    /// The CPU seconds of every row, from the file or, where it has none, from probes, which are
    /// then recorded.
    fn costs_in_seconds(
        &self,
        probing: &Probing<'_>,
        progress: &mut dyn GridProgress,
    ) -> Result<Vec<Vec<Cost>>> {
        let path = probing.folder.join(CALIBRATION);
        let mut calibration = read_calibration(&path)?;
        let digests = self.first_digests()?;
        let missing = digests.iter().flatten().any(|digest| calibration.cost(digest).is_none());
        if missing {
            let most = self.experiments.iter().flatten().map(|e| e.config().fed.rounds).max();
            let long = 2 + (most.unwrap_or(1) / 5).clamp(3, 20);
            let measured = [
                (2, &self.probe(2, probing, progress)?),
                (long, &self.probe(long, probing, progress)?),
            ];
            let measured = lines(measured, |cost| cost.cpu_seconds);
            for (block, digests) in digests.iter().enumerate() {
                for (row, digest) in digests.iter().enumerate() {
                    if calibration.cost(digest).is_none() {
                        let (dataset, method) = (self.block_name(block), self.stacked[row].label());
                        let Cost { fixed, per_round } = measured[block][row].sensible();
                        let cell = digest.clone();
                        calibration.measured.push(Calibrated {
                            dataset,
                            method,
                            cell,
                            per_round,
                            fixed,
                        });
                    }
                }
            }
            write_calibration(&path, &calibration)?;
        }
        let costs = digests
            .iter()
            .map(|digests| digests.iter().filter_map(|digest| calibration.cost(digest)).collect());
        Ok(costs.collect())
    }

    /// The digest of the first seed's cell of every row.
    fn first_digests(&self) -> Result<Vec<Vec<String>>> {
        let seed = self.seeds.first().copied().unwrap_or_default();
        let mut all = Vec::new();
        for experiments in &self.experiments {
            let Some(inputs) = experiments.first().map(CellInputs::of).transpose()? else {
                continue;
            };
            let digests = experiments.iter();
            all.push(digests.map(|e| identity::of_cell(e.config(), seed, &inputs)).collect());
        }
        Ok(all)
    }

    /// The cost of every row with this many rounds under the first seed.
    fn probe(
        &self,
        rounds: usize,
        probing: &Probing<'_>,
        progress: &mut dyn GridProgress,
    ) -> Result<Vec<Vec<CellCost>>> {
        progress.note(&format!("calibrating the budget with {rounds} rounds of every method"));
        let same: Vec<Vec<usize>> =
            self.experiments.iter().map(|rows| vec![rounds; rows.len()]).collect();
        let mut grid = self.copy().with_rounds(&same)?;
        grid.seeds.truncate(1);
        let outcome = grid.run(0, probing.resources, probing.store, progress)?;
        let (mut costs, mut failed) = (Vec::new(), Vec::new());
        for block in &outcome.comparison.datasets {
            let mut own = Vec::new();
            for row in &block.rows {
                match row.cells.first().and_then(|cell| cell.measured()) {
                    Some(measured) => own.push(measured.cost),
                    None => failed.push(format!("{} on {}", row.label, block.name)),
                }
            }
            costs.push(own);
        }
        if failed.is_empty() {
            return Ok(costs);
        }
        let reason = format!(
            "expected {rounds} rounds of every method to calibrate with, found none of {}",
            failed.join(", ")
        );
        Err(Error::usage("--budget", reason, "Leave that method out, or allow more --memory."))
    }

    /// The same experiments, seeds and rows.
    fn copy(&self) -> Self {
        Self {
            experiments: self.experiments.clone(),
            variants: self.variants.clone(),
            stacked: self.stacked.clone(),
            seeds: self.seeds.clone(),
            examined: self.examined,
        }
    }

    /// The same grid with these numbers of rounds, by block and row.
    fn with_rounds(mut self, rounds: &[Vec<usize>]) -> Result<Self> {
        for (experiments, rounds) in self.experiments.iter_mut().zip(rounds) {
            for (experiment, &rounds) in experiments.iter_mut().zip(rounds) {
                let mut config = experiment.config().clone().into_inner();
                config.fed.rounds = rounds;
                *experiment = experiment.with_config(config.checked()?)?;
            }
        }
        Ok(self)
    }
}

impl Calibration {
    /// The cost of a row by the digest of its first cell, if it was measured.
    fn cost(&self, digest: &str) -> Option<Cost> {
        let found = self.measured.iter().find(|one| one.cell == digest)?;
        Some(Cost { fixed: found.fixed, per_round: found.per_round })
    }
}

impl Cost {
    /// Measurements of a few milliseconds may decrease with rounds: a round then costs its share of
    /// the whole.
    fn sensible(self) -> Self {
        if self.per_round > 0.0 {
            return Self { fixed: self.fixed.max(0.0), ..self };
        }
        Self { fixed: 0.0, per_round: self.of(2).max(1e-6) / 2.0 }
    }
}

/// The lines through the costs of two probes, by block and row.
fn lines(
    [(short, low), (long, high)]: [(usize, &Vec<Vec<CellCost>>); 2],
    value: impl Fn(&CellCost) -> f64,
) -> Vec<Vec<Cost>> {
    let blocks = low.iter().zip(high);
    blocks
        .map(|(low, high)| {
            let rows = low.iter().zip(high);
            rows.map(|(low, high)| Cost::through([(short, value(low)), (long, value(high))]))
                .collect()
        })
        .collect()
}

/// Reads the recorded measurements; none if there is no file.
fn read_calibration(path: &Path) -> Result<Calibration> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Calibration::default());
        }
        Err(error) => return Err(boostfgl_report::Error::io(path, error).into()),
    };
    let calibration: Calibration = toml::from_str(&text).map_err(|error| {
        boostfgl_report::Error::malformed(path, format!("expected a calibration, found {error}"))
    })?;
    for one in &calibration.measured {
        if !(one.per_round > 0.0 && one.per_round.is_finite() && one.fixed.is_finite()) {
            let reason = format!(
                "expected positive seconds per round of {}, found {}",
                one.method, one.per_round
            );
            return Err(boostfgl_report::Error::malformed(path, reason).into());
        }
    }
    Ok(calibration)
}

fn write_calibration(path: &Path, calibration: &Calibration) -> Result<()> {
    let head = "# CPU seconds of methods, measured once by `boostfgl compare --budget cpu`.\n\
                # The rounds of a comparison follow from them: delete this file to measure again.\n\n";
    // Strings and finite numbers are representable as TOML.
    let text = toml::to_string(calibration).expect("a calibration is representable as TOML");
    write_atomic(path, format!("{head}{text}").as_bytes())
        .map_err(boostfgl_report::Error::from)
        .map_err(Error::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_follow_from_the_line_through_two_probes() {
        // 100 bytes of a preparation and 30 per round.
        let cost = Cost::through([(2, 160.0), (3, 190.0)]);
        assert_eq!(cost, Cost { fixed: 100.0, per_round: 30.0 });
        assert_eq!(cost.rounds_within(1000.0), Some(30));
        assert_eq!(cost.rounds_within(129.0), None);
        // The base gets the rounds that it had, whatever the digits of its cost.
        for rounds in 1..200 {
            let cost = Cost { fixed: 0.1, per_round: 0.7 };
            assert_eq!(cost.rounds_within(cost.of(rounds)), Some(rounds));
        }
    }

    #[test]
    fn measurements_that_decrease_still_cost_something() {
        let odd = Cost::through([(2, 0.02), (5, 0.01)]).sensible();
        assert!(odd.per_round > 0.0 && odd.fixed == 0.0, "{odd:?}");
        let plain = Cost { fixed: -0.1, per_round: 0.5 };
        assert_eq!(plain.sensible(), Cost { fixed: 0.0, per_round: 0.5 });
    }

    #[test]
    fn an_unknown_budget_is_refused() {
        let error = BudgetKind::parse("byte").unwrap_err().to_string();
        assert!(error.contains("found `byte` (did you mean bytes?)"), "{error}");
    }
}
