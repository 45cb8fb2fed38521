//! Runs a target on damaged seeds, without a special compiler.
//!
//! Inputs are drawn from one seed, so a crash comes back; when it comes depends on the machine, since the run is bounded
//! by time. An input on which a reader says something new joins the seeds.

use std::collections::HashSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use boostfgl::graph::Stream;

use crate::memory::{forget_peak, peak_kib};
use crate::mutation::mutate;
use crate::{Target, seeds};

/// How long and from what.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Time for one target.
    pub time: Duration,
    /// What inputs are drawn from.
    pub seed: u64,
    /// Where inputs that crash are kept.
    pub crashes: PathBuf,
}

/// What came of one target.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Inputs tried.
    pub executions: u64,
    /// Time they took.
    pub time: Duration,
    /// Different things the reader said.
    pub messages: usize,
    /// Inputs on which the reader panicked, took seconds or took memory out of proportion, each with what happened.
    pub crashes: Vec<(PathBuf, String)>,
    /// Memory the process took beyond what it held before, in MiB, where the system tells.
    pub memory_mib: Option<f64>,
}

/// Beyond what the process held before. Inputs are at most 64 KiB, so this is the bound of 64 MiB and four times the
/// file, and a little for the allocator.
const MEMORY_KIB: u64 = (64 << 10) + 4 * 64 + (8 << 10);

/// No input of 64 KiB needs so long, even in a build that is not optimised.
const SLOW: Duration = Duration::from_secs(10);

/// How often memory is looked at.
const BATCH: usize = 128;

/// Tries inputs until the time is over.
///
/// # Errors
/// If the seeds cannot be read or crashes cannot be kept.
pub fn fuzz(target: &Target, limits: &Limits) -> anyhow::Result<Outcome> {
    fs::create_dir_all(&limits.crashes)?;
    let mut pool = seeds::committed(target.name)?;
    anyhow::ensure!(!pool.is_empty(), "{} has no seeds", target.name);
    let mut draw = Stream::new(limits.seed, "fuzz", &[target.name.bytes().map(u64::from).sum()]);
    let (mut heard, mut places) = (HashSet::new(), HashSet::new());
    let mut outcome =
        Outcome { executions: 0, time: Duration::ZERO, messages: 0, crashes: Vec::new(), memory_mib: None };
    forget_peak();
    let before = peak_kib();
    let begun = Instant::now();
    let mut seeds_left = pool.clone();
    while begun.elapsed() < limits.time {
        let mut batch = Vec::with_capacity(BATCH);
        while batch.len() < BATCH && begun.elapsed() < limits.time {
            // The seeds as they are come first.
            let input = seeds_left.pop().unwrap_or_else(|| mutate(&pool, &mut draw));
            match attempt(target, &input) {
                Ok(said) if pool.len() < 2000 && heard.insert(gist(&said)) => pool.push(input.clone()),
                Ok(_) => {}
                Err((place, what)) if places.insert(place.clone()) => {
                    outcome.crashes.push((keep(target, &input, &limits.crashes)?, what));
                }
                Err(_) => {}
            }
            outcome.executions += 1;
            batch.push(input);
        }
        let taken = peak_kib().zip(before).map(|(peak, before)| peak.saturating_sub(before));
        outcome.memory_mib = taken.map(|kib| kib as f64 / 1024.0);
        if taken.is_some_and(|kib| kib > MEMORY_KIB) {
            let (input, kib) = hungriest(target, &batch);
            outcome.crashes.push((keep(target, &input, &limits.crashes)?, format!("took {} MiB", kib >> 10)));
            break;
        }
    }
    outcome.time = begun.elapsed();
    outcome.messages = heard.len();
    Ok(outcome)
}

/// Where the input is that is being tried: what ends the process (no memory, no stack) cannot be caught, but is found here.
pub fn last_input() -> PathBuf {
    crate::bodies::place("last").join("input")
}

/// Where the last panic was, since the unwinding does not tell.
static PANICKED: Mutex<String> = Mutex::new(String::new());

/// Keeps panics from being printed; call once, before [`fuzz`].
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
        let told = info.payload_as_str().unwrap_or_default();
        if let Ok(mut last) = PANICKED.lock() {
            *last = format!("panicked at {place}: {told}");
        }
    }));
}

/// One input; an error is where it went wrong, and how.
fn attempt(target: &Target, input: &[u8]) -> Result<String, (String, String)> {
    drop(fs::write(last_input(), input));
    let begun = Instant::now();
    let said = catch_unwind(AssertUnwindSafe(|| (target.body)(input))).map_err(|_| {
        let what = PANICKED.lock().map(|last| last.clone()).unwrap_or_default();
        let place = what.split(": ").next().unwrap_or_default().to_owned();
        (place, what)
    })?;
    if begun.elapsed() > SLOW {
        return Err(("slow".to_owned(), format!("took {:.1} s", begun.elapsed().as_secs_f64())));
    }
    Ok(said)
}

/// What a message says, whatever the numbers, names and paths in it.
fn gist(said: &str) -> String {
    let mut quoted = false;
    // What was expected is the reader's; what was found is the input's.
    let said = said.split("found").next().unwrap_or_default();
    let kept = said.chars().filter(|c| {
        quoted ^= *c == '`';
        !quoted && !c.is_ascii_digit()
    });
    kept.take(200).collect()
}

/// Of a batch, the input that takes most memory, in KiB.
fn hungriest(target: &Target, batch: &[Vec<u8>]) -> (Vec<u8>, u64) {
    let mut most = (Vec::new(), 0);
    for input in batch {
        forget_peak();
        let before = peak_kib().unwrap_or_default();
        drop(catch_unwind(AssertUnwindSafe(|| (target.body)(input))));
        let taken = peak_kib().unwrap_or_default().saturating_sub(before);
        if taken > most.1 {
            most = (input.clone(), taken);
        }
    }
    most
}

fn keep(target: &Target, input: &[u8], crashes: &Path) -> anyhow::Result<PathBuf> {
    let mut number = 0;
    loop {
        let path = crashes.join(format!("{}-{number}", target.name));
        if !path.exists() {
            fs::write(&path, input)?;
            return Ok(path);
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(crashes: &Path) -> Limits {
        Limits { time: Duration::from_millis(300), seed: 0, crashes: crashes.to_path_buf() }
    }

    #[test]
    fn a_panic_is_found_kept_and_counted_once() {
        fn breaks(input: &[u8]) -> String {
            assert!(input.len() % 7 != 3, "a planted mistake");
            "ok".to_owned()
        }
        let place = tempfile::tempdir().unwrap();
        // Drawing the stack of a panic takes more memory than an input may.
        silence_panics();
        let outcome = fuzz(&Target { name: "csv", body: breaks }, &limits(place.path())).unwrap();
        drop(std::panic::take_hook());
        assert_eq!(outcome.crashes.len(), 1, "{:?}", outcome.crashes);
        assert_eq!(fs::read(&outcome.crashes[0].0).unwrap().len() % 7, 3);
    }

    #[test]
    fn memory_out_of_proportion_is_found() {
        fn hungry(input: &[u8]) -> String {
            let size = if input.len() % 5 == 3 { 200 << 20 } else { 1 };
            let taken = vec![1u8; size];
            format!("{}", std::hint::black_box(&taken).len() > 1)
        }
        let place = tempfile::tempdir().unwrap();
        let limits = Limits { time: Duration::from_secs(30), ..limits(place.path()) };
        // A system that does not tell how much memory a process holds cannot find this.
        if peak_kib().is_some() {
            let outcome = fuzz(&Target { name: "csv", body: hungry }, &limits).unwrap();
            assert_eq!(outcome.crashes.len(), 1);
            assert!(outcome.crashes[0].1.starts_with("took "), "{:?}", outcome.crashes);
        }
    }

    #[test]
    fn messages_are_told_apart_by_what_they_say() {
        assert_eq!(gist("line 3: found `x`"), gist("line 14: found `yy`"));
        assert_ne!(gist("line 3: found `x`"), gist("line 3: expected `x`"));
    }
}
