//! How a long run shows that it lives: a bar on a terminal, plain lines otherwise. Always on standard error.

use boostfgl::Progress;
use boostfgl::fairness::Evaluation;
use boostfgl::fed::RoundRecord;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// Shows the rounds of one run.
pub(crate) struct Rounds {
    label: String,
    bar: Option<ProgressBar>,
    quiet: bool,
    seeds: usize,
    seed_index: usize,
    seed: u64,
    last_line: Instant,
}

impl Rounds {
    pub(crate) fn new(label: &str, seeds: usize, rounds: usize, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new((seeds * rounds) as u64);
            let style = ProgressStyle::with_template("{prefix:>10} {bar:30} {pos}/{len} rounds  {msg}  {eta} left");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(label.to_owned());
            bar
        });
        Self { label: label.to_owned(), bar, quiet, seeds, seed_index: 0, seed: 0, last_line: Instant::now() }
    }
}

impl Progress for Rounds {
    fn seed(&mut self, index: usize, of: usize, seed: u64) {
        (self.seed_index, self.seeds, self.seed) = (index, of, seed);
    }

    fn round(&mut self, record: &RoundRecord<'_>, evaluation: Option<&Evaluation>) {
        let accuracy =
            evaluation.and_then(|e| e.scores.accuracy.pooled).map(|a| format!("  accuracy {:.1} %", 100.0 * a));
        let accuracy = accuracy.unwrap_or_default();
        if let Some(bar) = &self.bar {
            bar.set_message(format!("seed {}  loss {:.3}{accuracy}", self.seed, record.loss));
            bar.inc(1);
            return;
        }
        // A log is read afterwards: one line per seed, and one now and then if a seed takes long.
        let due = record.round == record.rounds || self.last_line.elapsed() > Duration::from_secs(10);
        if !self.quiet && due {
            self.last_line = Instant::now();
            eprintln!(
                "{}: seed {} ({} of {}), round {}/{}, loss {:.3}{accuracy}",
                self.label,
                self.seed,
                self.seed_index + 1,
                self.seeds,
                record.round,
                record.rounds,
                record.loss
            );
        }
    }
}

impl Drop for Rounds {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Shows a phase with a known share, such as a download or a generator.
pub(crate) struct Phases {
    quiet: bool,
    bar: Option<ProgressBar>,
    last: String,
}

impl Phases {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(1000);
            let style = ProgressStyle::with_template("{msg:40} {bar:30} {percent}%");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        Self { quiet, bar, last: String::new() }
    }

    pub(crate) fn tell(&mut self, phase: &str, share: f64) {
        if let Some(bar) = &self.bar {
            bar.set_message(phase.to_owned());
            bar.set_position((share.clamp(0.0, 1.0) * 1000.0) as u64);
        } else if !self.quiet && phase != self.last && phase.starts_with("fetching") {
            eprintln!("{phase}");
        }
        phase.clone_into(&mut self.last);
    }
}

impl Drop for Phases {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
