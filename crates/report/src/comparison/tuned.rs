//! What a search chose for every method, and its trials.

use super::{Block, Comparison, VariedSettings};
use crate::text_table::{Line, Marked, TextTable, csv_line};
use serde::{Deserialize, Serialize};

/// A search that chose the settings of the methods of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// The score on validation nodes by which settings were chosen.
    pub metric: String,
    /// The number of settings that were tried for each method.
    pub trials: usize,
    /// The keys that were varied.
    pub keys: Vec<String>,
    /// One entry per dataset and method.
    pub chosen: Vec<Chosen>,
}

/// The setting that was chosen for a method on a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// The dataset.
    pub dataset: String,
    /// The method.
    pub method: String,
    /// The values of the varied keys that have an effect on it.
    pub settings: VariedSettings,
    /// How many of the trials differ for this method.
    pub different: usize,
    /// The mean over seeds of the score by which it was chosen, in percent.
    pub mean: f64,
    /// Its sample standard deviation.
    pub std: Option<f64>,
}

/// A setting that was tried under one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The dataset.
    pub dataset: String,
    /// The method.
    pub method: String,
    /// The values of the varied keys that have an effect on it.
    pub settings: VariedSettings,
    /// The seed.
    pub seed: u64,
    /// Whether it ran.
    pub state: &'static str,
    /// Accuracy and macro-F1 on validation nodes in percent.
    pub validation: [Option<f64>; 2],
    /// Whether its setting was chosen.
    pub chosen: bool,
}

impl Chosen {
    /// The values in words, such as `optimizer.learning_rate = 0.01`.
    pub fn shown(&self) -> String {
        if self.settings.is_empty() {
            return "nothing to choose".to_owned();
        }
        let values: Vec<String> =
            self.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        values.join(", ")
    }

    /// Mean and standard deviation of the score by which it was chosen.
    pub fn score(&self) -> String {
        match self.std {
            Some(std) => format!("{:.1} ± {std:.1}", self.mean),
            None => format!("{:.1} ± –", self.mean),
        }
    }
}

impl Comparison {
    /// The same comparison with the search that chose its settings.
    #[must_use]
    pub fn with_tuning(self, tuning: Tuning) -> Self {
        Self { tuning: Some(tuning), ..self }
    }

    /// What was chosen on a dataset; `None` without a search.
    pub(super) fn choices(&self, block: &Block) -> Option<TextTable> {
        let tuning = self.tuning.as_ref()?;
        let chosen = tuning.chosen.iter().filter(|chosen| chosen.dataset == block.name);
        let mut rows = Vec::new();
        for chosen in chosen {
            let trials = match chosen.different {
                all if all == tuning.trials => tuning.trials.to_string(),
                different => format!("{} ({different} different)", tuning.trials),
            };
            let cells = vec![chosen.shown(), trials, chosen.score()];
            rows.push(Line {
                label: chosen.method.clone(),
                cells: vec![cells.into_iter().map(Marked::plain).collect()],
            });
        }
        let columns = [["Chosen", "setting"], ["Trials", "each"], ["Validation", &tuning.metric]];
        Some(TextTable {
            title: format!("{}: chosen on validation nodes", block.name),
            labels: "Method",
            columns: columns.iter().map(|heading| heading.map(str::to_owned)).collect(),
            rows,
            notes: vec![
                "Settings were chosen by the mean over seeds on validation nodes; test nodes had \
                 no part in it."
                    .to_owned(),
            ],
        })
    }
}

/// Every trial and seed as CSV. Test scores are left out: only those of a choice are reported.
pub fn trials_csv(keys: &[String], trials: &[Trial]) -> String {
    let mut head = vec!["dataset".to_owned(), "method".to_owned()];
    head.extend(keys.iter().cloned());
    head.extend(["seed", "state", "val_accuracy", "val_macro_f1", "chosen"].map(str::to_owned));
    let mut text = csv_line(&head);
    for trial in trials {
        let mut record = vec![trial.dataset.clone(), trial.method.clone()];
        record.extend(keys.iter().map(|key| trial.settings.get(key).cloned().unwrap_or_default()));
        record.extend([trial.seed.to_string(), trial.state.to_owned()]);
        record.extend(
            trial.validation.map(|value| value.map_or_else(String::new, |x| x.to_string())),
        );
        record.push(trial.chosen.to_string());
        text.push_str(&csv_line(&record));
    }
    text
}
