//! Faults on demand: what the disk, the system or the power supply may do at any call.
//!
//! A test installs a [`Fault`] at the n-th call under its own folder, does its work, and looks at
//! what is left. With n = 1, 2, … until the fault no longer fires, every state a fault can leave
//! has been seen:
//!
//! ```
//! use boostfgl_disk::{faults::{Fault, at_every_call}, write_atomic};
//!
//! let prepare = || {
//!     let place = tempfile::tempdir().unwrap();
//!     write_atomic(place.path().join("note"), b"old").unwrap();
//!     place
//! };
//! let (calls, written) = at_every_call(
//!     Fault::PowerCut,
//!     prepare,
//!     |place| write_atomic(place.join("note"), b"new"),
//!     |place, _, n| {
//!         let left = std::fs::read(place.join("note")).unwrap();
//!         assert!(left == b"old" || left == b"new", "at call {n}");
//!     },
//! );
//! assert!(written.is_ok());
//! assert_eq!(calls, 5); // create, write, sync, rename, sync the folder
//! ```
//!
//! Whole programs are given the fault by the variable `BOOSTFGL_FAULT`, such as `crash@17`: a crash
//! then ends the process at its 17th call.

mod journal;
mod plan;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::Call;
use plan::Plan;

/// What happens at the n-th call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// From here on the disk is full: a write gets half of its bytes through, then nothing that
    /// needs space works.
    Full,
    /// This one call fails with an input/output error.
    Io,
    /// This one write gets half of its bytes through, and says so; other calls are as ever.
    Short,
    /// The program ends, in the middle of a write if this is one: nothing works from here on,
    /// nothing is tidied up.
    Crash,
    /// The power goes: as a crash, and whatever was not brought to the disk is lost, names as well
    /// as content.
    PowerCut,
    /// The power goes, and the disk had done things in another order: names are kept, the content
    /// behind them is lost.
    TornCut,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 6] =
        [Self::Full, Self::Io, Self::Short, Self::Crash, Self::PowerCut, Self::TornCut];

    fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Io => "eio",
            Self::Short => "short",
            Self::Crash => "crash",
            Self::PowerCut => "power",
            Self::TornCut => "torn",
        }
    }

    /// `crash@17`.
    fn parse(text: &str) -> Option<(Self, usize)> {
        let (name, at) = text.split_once('@')?;
        let fault = Self::ALL.into_iter().find(|fault| fault.name() == name)?;
        Some((fault, at.parse().ok()?))
    }
}

/// Installed faults: in force until dropped, for every thread, on paths under one folder.
#[derive(Debug)]
pub struct Faults(Arc<Mutex<Plan>>);

impl Faults {
    /// From now on the `at`-th call (the first is 1) on a path under `folder` meets the fault.
    pub fn install(folder: &Path, fault: Fault, at: usize) -> Self {
        let plan = Arc::new(Mutex::new(Plan::new(folder.to_path_buf(), fault, at)));
        locked(&PLANS).push(Arc::clone(&plan));
        INSTALLED.fetch_add(1, Ordering::SeqCst);
        Self(plan)
    }

    /// How many calls there were.
    pub fn calls(&self) -> usize {
        locked(&self.0).calls()
    }

    /// Whether there were calls enough for the fault to happen.
    pub fn fired(&self) -> bool {
        locked(&self.0).fired()
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        locked(&PLANS).retain(|plan| !Arc::ptr_eq(plan, &self.0));
        INSTALLED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Does `work` in a place that `prepare` made, with the fault at call 1, 2, … until it no longer
/// happens, and shows `look` what came of each. Returns how many calls the work takes, and what it
/// gives without a fault.
pub fn at_every_call<P: AsRef<Path>, T>(
    fault: Fault,
    prepare: impl Fn() -> P,
    work: impl Fn(&Path) -> T,
    mut look: impl FnMut(&Path, T, usize),
) -> (usize, T) {
    let mut n = 1;
    loop {
        let place = prepare();
        let faults = Faults::install(place.as_ref(), fault, n);
        let outcome = work(place.as_ref());
        let fired = faults.fired();
        drop(faults);
        if !fired {
            return (n - 1, outcome);
        }
        look(place.as_ref(), outcome, n);
        n += 1;
    }
}

/// All plans; each knows its folder, so tests side by side do not meet each other's faults.
static PLANS: Mutex<Vec<Arc<Mutex<Plan>>>> = Mutex::new(Vec::new());

/// How many there are, to be asked without waiting for anybody.
static INSTALLED: AtomicUsize = AtomicUsize::new(0);

/// Asks every plan about the call; of a write, says how many bytes may go through.
pub(crate) fn pass(call: Call<'_>) -> io::Result<usize> {
    let mut allowed = if let Call::Write(_, bytes) = call { bytes } else { 0 };
    if let Some(plan) = from_environment() {
        allowed = allowed.min(locked(plan).pass(call)?);
    }
    if INSTALLED.load(Ordering::SeqCst) > 0 {
        let plans: Vec<_> = locked(&PLANS).iter().map(Arc::clone).collect();
        for plan in plans {
            allowed = allowed.min(locked(&plan).pass(call)?);
        }
    }
    Ok(allowed)
}

/// The plan of `BOOSTFGL_FAULT`, read once; one that is not understood ends the program rather than
/// testing nothing.
fn from_environment() -> Option<&'static Mutex<Plan>> {
    static PLAN: OnceLock<Option<Mutex<Plan>>> = OnceLock::new();
    let read = || {
        let text = std::env::var("BOOSTFGL_FAULT").ok().filter(|text| !text.is_empty())?;
        let Some((fault, at)) = Fault::parse(&text) else {
            eprintln!(
                "BOOSTFGL_FAULT={text}: expected such as crash@17, with one of full, eio, short, \
                 crash, power, torn"
            );
            std::process::exit(2);
        };
        Some(Mutex::new(Plan::new(PathBuf::new(), fault, at).ending_the_process()))
    };
    PLAN.get_or_init(read).as_ref()
}

/// A test that fails while holding the lock leaves a plan that is as good as before.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_names_fault_and_call() {
        assert_eq!(Fault::parse("crash@17"), Some((Fault::Crash, 17)));
        for fault in Fault::ALL {
            assert_eq!(Fault::parse(&format!("{}@1", fault.name())), Some((fault, 1)));
        }
        assert_eq!(Fault::parse("crash"), None);
        assert_eq!(Fault::parse("fire@1"), None);
    }
}
