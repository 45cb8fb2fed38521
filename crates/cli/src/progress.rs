//! Progress display on standard error: a bar on a terminal, plain lines otherwise.

use crate::output;
use boostfgl::Progress;
use boostfgl::fairness::Evaluation;
use boostfgl::fed::RoundRecord;
use boostfgl::grid::GridProgress;
use boostfgl::report::{Cell, Outcome};
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
    dividing_since: Instant,
}

impl Rounds {
    pub(crate) fn new(label: &str, seeds: usize, rounds: usize, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new((seeds * rounds) as u64);
            let style = ProgressStyle::with_template(
                "{prefix:>10} {bar:30} {pos}/{len} rounds  {msg}  {eta} left",
            );
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(label.to_owned());
            bar
        });
        Self {
            label: label.to_owned(),
            bar,
            quiet,
            seeds,
            seed_index: 0,
            seed: 0,
            last_line: Instant::now(),
            dividing_since: Instant::now(),
        }
    }
}

impl Progress for Rounds {
    fn seed(&mut self, index: usize, of: usize, seed: u64) {
        (self.seed_index, self.seeds, self.seed) = (index, of, seed);
    }

    fn note(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(format!("note: {text}")),
            None => output::note(text),
        }
    }

    fn dividing(&mut self, seed: u64, share: f64) {
        if share <= 0.0 {
            self.dividing_since = Instant::now();
        }
        let left = time_left(self.dividing_since.elapsed(), share);
        let text = format!("seed {seed}  dividing the graph, {:.0} %, {left}", 100.0 * share);
        match &self.bar {
            Some(bar) => {
                bar.set_message(text);
                // Rounds alone move the bar: without this it would be drawn after the first one.
                bar.tick();
            }
            None if !self.quiet && self.last_line.elapsed() > LINE_PAUSE => {
                self.last_line = Instant::now();
                output::print_stderr(&format!("{}: {text}", self.label));
            }
            None => {}
        }
    }

    fn preparing(&mut self, done: usize, of: usize) {
        let message = format!("seed {}  preparing, {done} of {of}", self.seed);
        match &self.bar {
            Some(bar) => bar.set_message(message),
            None if !self.quiet && self.last_line.elapsed() > Duration::from_secs(10) => {
                self.last_line = Instant::now();
                output::print_stderr(&format!("{}: {message}", self.label));
            }
            None => {}
        }
    }

    fn round(&mut self, record: &RoundRecord<'_>, evaluation: Option<&Evaluation>) {
        let accuracy = evaluation
            .and_then(|e| e.scores.accuracy.pooled)
            .map(|a| format!("  accuracy {:.1} %", 100.0 * a));
        let accuracy = accuracy.unwrap_or_default();
        if let Some(bar) = &self.bar {
            // A method may add rounds to the configured ones.
            bar.set_length((self.seeds * record.rounds) as u64);
            bar.set_message(format!("seed {}  loss {:.3}{accuracy}", self.seed, record.loss));
            // A resumed run starts in the middle.
            bar.set_position((self.seed_index * record.rounds + record.round) as u64);
            return;
        }
        // In a log file: one line per seed, and one every ten seconds for long seeds.
        let due =
            record.round == record.rounds || self.last_line.elapsed() > Duration::from_secs(10);
        if !self.quiet && due {
            self.last_line = Instant::now();
            output::print_stderr(&format!(
                "{}: seed {} ({} of {}), round {}/{}, loss {:.3}{accuracy}",
                self.label,
                self.seed,
                self.seed_index + 1,
                self.seeds,
                record.round,
                record.rounds,
                record.loss
            ));
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

/// Shows a phase with a known share, such as a download, a file that is read or a generator.
pub(crate) struct Phases {
    quiet: bool,
    bar: Option<ProgressBar>,
    phase: String,
    /// When the phase began, and its share then.
    begun: (Instant, f64),
    last_line: Instant,
}

impl Phases {
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(1000);
            let style = ProgressStyle::with_template("{prefix:40} {bar:30} {percent}%  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let now = Instant::now();
        Self { quiet, bar, phase: String::new(), begun: (now, 0.0), last_line: now }
    }

    pub(crate) fn show(&mut self, phase: &str, share: f64) {
        let share = share.clamp(0.0, 1.0);
        let is_new = phase != self.phase;
        if is_new {
            phase.clone_into(&mut self.phase);
            self.begun = (Instant::now(), share);
        }
        if self.quiet {
            return;
        }
        if let Some(bar) = &self.bar {
            bar.set_prefix(phase.to_owned());
            bar.set_message(self.left(share));
            bar.set_position((share * 1000.0) as u64);
        } else if is_new && phase.starts_with("fetching") {
            output::print_stderr(phase);
        } else if self.last_line.elapsed() > LINE_PAUSE {
            // In a log file: one line every ten seconds.
            self.last_line = Instant::now();
            let left = self.left(share);
            output::print_stderr(&format!("{phase}: {:.0} %, {left}", 100.0 * share));
        }
    }

    /// The remaining time of the phase, at its average speed so far.
    fn left(&self, share: f64) -> String {
        let (begun, from) = self.begun;
        time_left(begun.elapsed(), (share - from) / (1.0 - from))
    }
}

/// The time between two lines where there is no bar.
const LINE_PAUSE: Duration = Duration::from_secs(10);

/// The estimated remaining time, at the average speed so far.
fn time_left(elapsed: Duration, share: f64) -> String {
    if share.is_nan() || share <= 0.0 {
        return "time left unknown".to_owned();
    }
    let left = elapsed.as_secs_f64() * (1.0 - share) / share;
    match left.max(0.0) as u64 {
        seconds @ 0..=99 => format!("{seconds} s left"),
        seconds @ 100..=5999 => format!("{} min left", seconds.div_ceil(60)),
        seconds => format!("{:.1} h left", seconds as f64 / 3600.0),
    }
}

impl Drop for Phases {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Shows the cells of a grid, and how long the rest will take.
pub(crate) struct Cells {
    bar: Option<ProgressBar>,
    quiet: bool,
    begun: Instant,
    share: f64,
}

/// The number of steps of the bar.
const STEPS: f64 = 10_000.0;

impl Cells {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { bar: None, quiet, begun: Instant::now(), share: 0.0 }
    }

    /// The estimated remaining time, at the average speed so far.
    fn left(&self) -> String {
        time_left(self.begun.elapsed(), self.share)
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None if !self.quiet => output::print_stderr(text),
            None => {}
        }
    }
}

impl GridProgress for Cells {
    fn begin(&mut self, cells: usize, reused: usize) {
        self.begun = Instant::now();
        self.line(&format!("{reused} of {cells} cells reused, {} to run", cells - reused));
        if !self.quiet && std::io::stderr().is_terminal() && reused < cells {
            let bar = ProgressBar::new(STEPS as u64);
            let style = ProgressStyle::with_template("{bar:30} {percent}%  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.bar = Some(bar);
        }
    }

    fn note(&mut self, text: &str) {
        self.line(&format!("note: {text}"));
    }

    fn round(&mut self, share: f64) {
        self.share = share;
        if let Some(bar) = &self.bar {
            bar.set_position((STEPS * share.clamp(0.0, 1.0)) as u64);
            bar.set_message(self.left());
        }
    }

    fn cell(&mut self, dataset: &str, label: &str, cell: &Cell, done: usize, of: usize) {
        let result = match &cell.outcome {
            Outcome::Done(measured) => {
                let accuracy =
                    measured.scores.0.accuracy.pooled.map(|a| format!("accuracy {a:.1} %"));
                accuracy.unwrap_or_else(|| "no test node".to_owned())
            }
            Outcome::Failed { message } => format!("failed: {message}"),
            Outcome::OverBudget { .. } => "over budget (estimate)".to_owned(),
        };
        self.line(&format!(
            "{dataset}, {label}, seed {}: {result} ({done} of {of} cells, {})",
            cell.seed,
            self.left()
        ));
    }
}

impl Drop for Cells {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_speed_so_far() {
        let after = |seconds: u64, share: f64| time_left(Duration::from_secs(seconds), share);
        assert_eq!(after(10, 0.25), "30 s left");
        assert_eq!(after(60, 0.1), "9 min left");
        assert_eq!(after(3600, 0.1), "9.0 h left");
        assert_eq!(after(5, 1.0), "0 s left");
        assert_eq!([after(5, 0.0), after(5, f64::NAN)], ["time left unknown"; 2]);
    }

    #[test]
    fn a_phase_is_measured_from_the_share_that_it_began_with() {
        let mut phases = Phases::new(true);
        phases.show("reading", 0.0);
        phases.show("rows", 0.5);
        phases.begun.0 -= Duration::from_secs(10);
        // Half of what was left when it began.
        assert_eq!(phases.left(0.75), "10 s left");
    }
}
