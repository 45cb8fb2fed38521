//! Runs a target on damaged seeds, without a special compiler.
//!
//! Inputs are drawn from one seed, so a crash can be repeated. How many inputs are tried depends on
//! the machine, since the run is bounded by time. An input that causes a new error message is added
//! to the pool that later inputs are mutated from.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Seek as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use boostfgl::graph::Stream;

use crate::memory::{Mark, is_counted};
use crate::mutation::mutate;
use crate::watchdog::Watchdog;
use crate::{Target, seeds};

/// Time, seed and output folder of a run.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Time for one target.
    pub time: Duration,
    /// Seed of the random inputs.
    pub seed: u64,
    /// Folder of crashing inputs. The current input is there too (`NAME-last`), since an abort of
    /// the process (out of memory, stack overflow) cannot be caught.
    pub crashes: PathBuf,
}

/// The result of one target.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Inputs tried.
    pub executions: u64,
    /// Time they took.
    pub time: Duration,
    /// Number of different error messages.
    pub messages: usize,
    /// Inputs on which the reader panicked, took seconds or took disproportionate memory, each with
    /// a description.
    pub crashes: Vec<(PathBuf, String)>,
    /// The peak memory of one input in MiB; `None` if memory is not counted.
    pub memory_mib: Option<f64>,
}

/// An input of 64 KiB takes less time than this, even in a build without optimisation.
const SLOW: Duration = Duration::from_secs(10);

/// A reader that takes longer than this is considered to hang.
const STUCK: Duration = Duration::from_secs(30);

/// Tries inputs until the time is over. If a reader hangs, its input is saved and the process ends.
///
/// # Errors
/// If the seeds cannot be read, crashes cannot be kept, or the time was over before a single input
/// was tried.
pub fn fuzz(target: &Target, limits: &Limits) -> anyhow::Result<Outcome> {
    fs::create_dir_all(&limits.crashes)?;
    let mut pool = seeds::committed(target.name)?;
    anyhow::ensure!(!pool.is_empty(), "{} has no seeds", target.name);
    let mut draw = Stream::new(limits.seed, "fuzz", &[target.name.bytes().map(u64::from).sum()]);
    let (mut seen_messages, mut places) = (HashSet::new(), HashSet::new());
    let mut outcome = Outcome {
        executions: 0,
        time: Duration::ZERO,
        messages: 0,
        crashes: Vec::new(),
        memory_mib: None,
    };
    let last = limits.crashes.join(format!("{}-last", target.name));
    let mut trial = File::create(&last)?;
    let watchdog = watch(target, &last, &limits.crashes);
    let begun = Instant::now();
    let (mut seeds_left, mut most) = (pool.clone(), 0);
    while begun.elapsed() < limits.time {
        // The unchanged seeds come first.
        let input = seeds_left.pop().unwrap_or_else(|| mutate(&pool, &mut draw));
        write_trial(&mut trial, &input)?;
        watchdog.reset();
        let (found, taken) = attempt(target, &input);
        most = most.max(taken);
        match found {
            Ok(message) if pool.len() < 2000 && seen_messages.insert(kind_of(&message)) => {
                pool.push(input);
            }
            Ok(_) => {}
            Err((place, what)) if places.insert(place.clone()) => {
                outcome.crashes.push((keep(target.name, &input, &limits.crashes)?, what));
            }
            Err(_) => {}
        }
        outcome.executions += 1;
    }
    drop(watchdog);
    drop(fs::remove_file(&last));
    anyhow::ensure!(
        outcome.executions > 0,
        "{}: the time was over before an input was tried",
        target.name
    );
    outcome.time = begun.elapsed();
    outcome.messages = seen_messages.len();
    outcome.memory_mib = is_counted().then(|| most as f64 / f64::from(1 << 20));
    Ok(outcome)
}

/// Writes the current input to a file. The file stays open and is overwritten, since creating a
/// file takes milliseconds on some disks.
fn write_trial(trial: &mut File, input: &[u8]) -> io::Result<()> {
    trial.rewind()?;
    trial.write_all(input)?;
    trial.set_len(input.len() as u64)
}

/// Saves the input and ends the process if the reader hangs: a single thread cannot be ended.
fn watch(target: &Target, last: &Path, crashes: &Path) -> Watchdog {
    let (name, last, crashes) = (target.name, last.to_path_buf(), crashes.to_path_buf());
    Watchdog::start(STUCK, move || {
        let kept = fs::read(&last)
            .map_err(anyhow::Error::from)
            .and_then(|input| keep(name, &input, &crashes));
        let kept = kept.map_or_else(|error| error.to_string(), |path| path.display().to_string());
        eprintln!("{name}: no answer after {} s; the input is {kept}", STUCK.as_secs());
        process::exit(1);
    })
}

/// Place and message of the last panic, which `catch_unwind` does not return.
static PANICKED: Mutex<String> = Mutex::new(String::new());

/// Keeps panics from being printed; call once, before [`fuzz`].
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place =
            info.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
        let payload = info.payload_as_str().unwrap_or_default();
        if let Ok(mut last) = PANICKED.lock() {
            *last = format!("panicked at {place}: {payload}");
        }
    }));
}

/// The message of a reader, or the place and description of a failure.
type Found = Result<String, (String, String)>;

/// Tries one input; also returns its peak memory in bytes.
fn attempt(target: &Target, input: &[u8]) -> (Found, usize) {
    let (mark, begun) = (Mark::set(), Instant::now());
    let result = catch_unwind(AssertUnwindSafe(|| (target.body)(input)));
    let (taken, time) = (mark.most(), begun.elapsed());
    let allowed = target.memory(input.len());
    let found = match result {
        Err(_) => {
            let what = PANICKED.lock().map(|last| last.clone()).unwrap_or_default();
            let place = what.split(": ").next().unwrap_or_default().to_owned();
            Err((place, what))
        }
        Ok(_) if time > SLOW => {
            Err(("slow".to_owned(), format!("took {:.1} s", time.as_secs_f64())))
        }
        Ok(_) if taken > allowed => {
            let what = format!(
                "took {taken} bytes of memory, {allowed} are allowed for {} of input",
                input.len()
            );
            Err(("memory".to_owned(), what))
        }
        Ok(message) => Ok(message),
    };
    (found, taken)
}

/// The message without the numbers, names and paths in it.
fn kind_of(message: &str) -> String {
    let mut quoted = false;
    // The text before `found` depends on the reader, the text after it on the input.
    let expected = message.split("found").next().unwrap_or_default();
    let kept = expected.chars().filter(|c| {
        quoted ^= *c == '`';
        !quoted && !c.is_ascii_digit()
    });
    kept.take(200).collect()
}

/// Saves a crashing input under a new name.
fn keep(target: &str, input: &[u8], crashes: &Path) -> anyhow::Result<PathBuf> {
    let mut number = 0;
    loop {
        let path = crashes.join(format!("{target}-{number}"));
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

    fn csv(body: fn(&[u8]) -> String) -> Target {
        Target { name: "csv", body, unpacks: false }
    }

    #[test]
    fn a_panic_is_found_saved_and_counted_once() {
        fn breaks(input: &[u8]) -> String {
            assert!(input.len() % 7 != 3, "a planted mistake");
            "ok".to_owned()
        }
        let _alone = crate::alone();
        let place = tempfile::tempdir().unwrap();
        // Drawing the stack of a panic takes more memory than an input may.
        silence_panics();
        let outcome = fuzz(&csv(breaks), &limits(place.path())).unwrap();
        drop(std::panic::take_hook());
        assert_eq!(outcome.crashes.len(), 1, "{:?}", outcome.crashes);
        assert_eq!(fs::read(&outcome.crashes[0].0).unwrap().len() % 7, 3);
    }

    #[test]
    fn disproportionate_memory_is_found() {
        fn hungry(input: &[u8]) -> String {
            let size = if input.len() % 5 == 3 { 30 << 20 } else { 6 << 20 };
            let taken = vec![1u8; size];
            format!("{}", std::hint::black_box(&taken).len() > 1)
        }
        let _alone = crate::alone();
        let place = tempfile::tempdir().unwrap();
        let limits = Limits { time: Duration::from_secs(2), ..limits(place.path()) };
        let outcome = fuzz(&csv(hungry), &limits).unwrap();
        assert_eq!(outcome.crashes.len(), 1, "{:?}", outcome.crashes);
        assert!(outcome.crashes[0].1.starts_with("took 314"), "{:?}", outcome.crashes);
        assert_eq!(fs::read(&outcome.crashes[0].0).unwrap().len() % 5, 3);
        assert!(
            outcome.memory_mib.is_some_and(|mib| (30.0..31.0).contains(&mib)),
            "{:?}",
            outcome.memory_mib
        );
    }

    #[test]
    fn the_current_input_is_in_the_folder_of_crashes() {
        fn looks(input: &[u8]) -> String {
            let found = fs::read(PLACE.lock().unwrap().join("csv-last")).unwrap();
            assert_eq!(found, input, "the input is there while it is tried");
            "ok".to_owned()
        }
        static PLACE: Mutex<PathBuf> = Mutex::new(PathBuf::new());
        let _alone = crate::alone();
        let place = tempfile::tempdir().unwrap();
        *PLACE.lock().unwrap() = place.path().to_path_buf();
        let outcome = fuzz(&csv(looks), &limits(place.path())).unwrap();
        assert!(outcome.crashes.is_empty(), "{:?}", outcome.crashes);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "and gone afterwards");
    }

    #[test]
    fn a_time_of_zero_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let limits = Limits { time: Duration::ZERO, ..limits(place.path()) };
        let error = fuzz(&csv(|_| "ok".to_owned()), &limits).unwrap_err().to_string();
        assert!(error.contains("before an input was tried"), "{error}");
    }

    #[test]
    fn messages_differ_if_their_fixed_text_differs() {
        assert_eq!(kind_of("line 3: found `x`"), kind_of("line 14: found `yy`"));
        assert_ne!(kind_of("line 3: found `x`"), kind_of("line 3: expected `x`"));
    }
}
