//! The figures of one run, of either program, and their medians.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::measure::Taken;

/// The cost of one run and the quality of its model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    /// Of the whole process.
    pub(crate) cpu_seconds: f64,
    /// Of the rounds alone, if the program reports it.
    pub(crate) train_cpu_seconds: Option<f64>,
    pub(crate) wall_seconds: f64,
    pub(crate) peak_rss_mib: f64,
    /// Percent of the test nodes of all clients.
    pub(crate) accuracy: f64,
    /// Macro-F1 over the test nodes of all clients and all classes, in percent.
    pub(crate) overall_f1: f64,
}

impl Figures {
    /// From the `summary.json` of a run folder.
    pub(crate) fn of_ours(file: &Path, taken: &Taken) -> Result<Self> {
        Self::read(file, taken, "/mean/accuracy/pooled", "/mean/overall_f1/pooled")
    }

    /// From the file that the peer writes.
    pub(crate) fn of_peer(file: &Path, taken: &Taken) -> Result<Self> {
        Self::read(file, taken, "/accuracy", "/overall_f1_pooled")
    }

    fn read(file: &Path, taken: &Taken, accuracy: &str, overall_f1: &str) -> Result<Self> {
        let json = read_json(file)?;
        // The program's own measurement is used only if the system provides none.
        let reported = number(&json, "/cpu_seconds", file)?;
        Ok(Self {
            cpu_seconds: taken.cpu_seconds.unwrap_or(reported),
            train_cpu_seconds: json.get("train_cpu_seconds").and_then(Value::as_f64),
            wall_seconds: taken.wall_seconds,
            peak_rss_mib: number(&json, "/peak_rss_mib", file)?,
            accuracy: number(&json, accuracy, file)?,
            overall_f1: number(&json, overall_f1, file)?,
        })
    }

    /// The median of each figure by itself.
    pub(crate) fn median(runs: &[Self]) -> Self {
        let train: Option<Vec<f64>> = runs.iter().map(|run| run.train_cpu_seconds).collect();
        Self {
            cpu_seconds: median(runs.iter().map(|run| run.cpu_seconds)),
            train_cpu_seconds: train.map(median),
            wall_seconds: median(runs.iter().map(|run| run.wall_seconds)),
            peak_rss_mib: median(runs.iter().map(|run| run.peak_rss_mib)),
            accuracy: median(runs.iter().map(|run| run.accuracy)),
            overall_f1: median(runs.iter().map(|run| run.overall_f1)),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "cpu_seconds": self.cpu_seconds,
            "train_cpu_seconds": self.train_cpu_seconds,
            "wall_seconds": self.wall_seconds,
            "peak_rss_mib": self.peak_rss_mib,
            "accuracy": self.accuracy,
            "overall_f1_pooled": self.overall_f1,
        })
    }
}

/// The number at a JSON pointer; `file` is for the error.
fn number(json: &Value, pointer: &str, file: &Path) -> Result<f64> {
    json.pointer(pointer)
        .and_then(Value::as_f64)
        .with_context(|| format!("{}: no number at {pointer}", file.display()))
}

pub(crate) fn read_json(file: &Path) -> Result<Value> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()))
}

/// The middle value, or the mean of the two middle ones; NaN of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([]).is_nan());
    }

    #[test]
    fn both_programs_are_read_and_a_missing_key_is_named() {
        let folder = std::env::temp_dir().join(format!("xtask-figures-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let taken = Taken { wall_seconds: 2.0, cpu_seconds: Some(1.5) };
        let write = |name: &str, json: Value| {
            let file = folder.join(name);
            fs::write(&file, json.to_string()).unwrap();
            file
        };
        let ours = write(
            "summary.json",
            json!({"cpu_seconds": 1.4, "peak_rss_mib": 30.0, "train_cpu_seconds": 1.0,
                   "mean": {"accuracy": {"pooled": 82.0}, "overall_f1": {"pooled": 81.0}}}),
        );
        let peer = write(
            "peer.json",
            json!({"cpu_seconds": 1.4, "peak_rss_mib": 30.0, "train_cpu_seconds": 1.0,
                   "accuracy": 82.0, "overall_f1_pooled": 81.0}),
        );
        let broken = write("broken.json", json!({"cpu_seconds": 1.4, "accuracy": 82.0}));

        let figures = Figures::of_ours(&ours, &taken).unwrap();
        assert_eq!(figures, Figures::of_peer(&peer, &taken).unwrap());
        assert_eq!((figures.cpu_seconds, figures.train_cpu_seconds), (1.5, Some(1.0)));
        let error = Figures::of_peer(&broken, &taken).unwrap_err().to_string();
        fs::remove_dir_all(&folder).unwrap();
        assert!(error.ends_with("broken.json: no number at /peak_rss_mib"), "{error}");
    }

    #[test]
    fn one_run_without_training_seconds_leaves_their_median_out() {
        let one = Figures {
            cpu_seconds: 1.0,
            train_cpu_seconds: Some(0.5),
            wall_seconds: 1.0,
            peak_rss_mib: 1.0,
            accuracy: 1.0,
            overall_f1: 1.0,
        };
        let other = Figures { train_cpu_seconds: None, ..one.clone() };
        assert_eq!(Figures::median(&[one.clone(), one.clone()]).train_cpu_seconds, Some(0.5));
        assert_eq!(Figures::median(&[one, other]).train_cpu_seconds, None);
    }
}
