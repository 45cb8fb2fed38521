//! A budget that all methods of a comparison have the same of.

use super::Comparison;
use serde::{Deserialize, Serialize};

/// What all methods have the same of, and how many rounds each got for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EqualBudget {
    /// `rounds`, `bytes` or `cpu`.
    pub kind: String,
    /// What it is, in words.
    pub words: String,
    /// The label of the method whose configured rounds are the budget.
    pub base: String,
    /// By dataset and method, in the order of the comparison.
    pub rounds: Vec<Vec<usize>>,
}

impl Comparison {
    /// One sentence per dataset with the rounds that every method got; none without a budget.
    pub(super) fn budget_notes(&self) -> Vec<String> {
        let Some(budget) = &self.budget else { return Vec::new() };
        let mut notes = Vec::new();
        for (block, rounds) in self.datasets.iter().zip(&budget.rounds) {
            let each: Vec<String> = block
                .rows
                .iter()
                .zip(rounds)
                .map(|(row, rounds)| format!("{} {rounds}", row.label))
                .collect();
            notes.push(format!(
                "Budget on {}: the same {} as {}. Rounds: {}.",
                block.name,
                budget.words,
                budget.base,
                each.join(", ")
            ));
        }
        notes
    }

    /// Per dataset what was chosen and the rounds of a budget, each under a name.
    pub(crate) fn remarks(&self, block: usize) -> Vec<(String, String)> {
        let name = &self.datasets[block].name;
        let tuning = self.tuning.iter();
        let chosen = tuning.flat_map(|tuning| {
            tuning.chosen.iter().filter(|chosen| chosen.dataset == *name).map(|chosen| {
                let text = format!(
                    "{} ({} {} in {} trials)",
                    chosen.shown(),
                    tuning.metric,
                    chosen.score(),
                    tuning.trials
                );
                (format!("Chosen for {} on validation nodes", chosen.method), text)
            })
        });
        let budget = self.budget_notes().into_iter().nth(block);
        chosen.chain(budget.map(|text| ("Equal budget".to_owned(), text))).collect()
    }
}
