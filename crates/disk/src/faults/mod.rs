//! Fault injection: full disks, I/O errors, crashes and power cuts at a chosen call.
//!
//! A test installs a [`Fault`] at the n-th call under its own folder, does its work, and inspects
//! what is left. With n = 1, 2, … until the fault no longer happens, it sees every state that the
//! fault can leave:
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
//! For whole programs the environment variable `BOOSTFGL_FAULT` sets the fault: with `crash@17` the
//! process aborts at its 17th call.

mod fault_plan;
mod journal;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::Call;
use fault_plan::FaultPlan;

/// The fault at the n-th call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The disk is full from this call on: this write is short by half, and later calls that need
    /// space fail with `ENOSPC`.
    Full,
    /// This call fails with `EIO`; later calls succeed.
    Io,
    /// This write is short by half and reports it; all other calls succeed.
    Short,
    /// The program ends, in the middle of this call if it is a write. Every later call fails, so
    /// that no cleanup happens.
    Crash,
    /// A crash, and names and content that were not synced are lost.
    PowerCut,
    /// A crash of a disk that reordered writes: names survive, their content that was not synced
    /// is lost.
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

    /// Parses a fault and the number of a call, such as `crash@17`.
    fn parse(text: &str) -> Option<(Self, usize)> {
        let (name, at) = text.split_once('@')?;
        let fault = Self::ALL.into_iter().find(|fault| fault.name() == name)?;
        Some((fault, at.parse().ok()?))
    }
}

/// An installed fault: active until dropped, for all threads, on paths under one folder.
#[derive(Debug)]
pub struct Faults(Arc<Mutex<FaultPlan>>);

impl Faults {
    /// Injects the fault at the `at`-th call (the first is 1) on a path under `folder`.
    pub fn install(folder: &Path, fault: Fault, at: usize) -> Self {
        let plan = Arc::new(Mutex::new(FaultPlan::new(folder.to_path_buf(), fault, at)));
        locked(&PLANS).push(Arc::clone(&plan));
        INSTALLED.fetch_add(1, Ordering::SeqCst);
        Self(plan)
    }

    /// Number of calls so far.
    pub fn calls(&self) -> usize {
        locked(&self.0).calls()
    }

    /// Whether the fault has happened.
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

/// Runs `work` in a folder made by `prepare`, with the fault at call 1, 2, … until it no longer
/// happens, and passes each outcome to `look`. Returns the number of calls that the work makes and
/// its outcome without a fault.
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

/// All installed plans. Each is limited to its folder, so that tests running in parallel do not
/// affect each other.
static PLANS: Mutex<Vec<Arc<Mutex<FaultPlan>>>> = Mutex::new(Vec::new());

/// Number of installed plans, readable without taking the lock.
static INSTALLED: AtomicUsize = AtomicUsize::new(0);

/// Applies every plan to the call; for a write, returns how many bytes may be written.
pub(crate) fn pass(call: Call<'_>) -> io::Result<usize> {
    let mut allowed = if let Call::Write(_, bytes) = call { bytes } else { 0 };
    if let Some(plan) = from_environment() {
        allowed = allowed.min(locked(plan).pass(call)?);
    }
    if INSTALLED.load(Ordering::SeqCst) > 0 {
        // Copied, so that the list is not locked while a plan undoes files.
        let plans: Vec<_> = locked(&PLANS).iter().map(Arc::clone).collect();
        for plan in plans {
            allowed = allowed.min(locked(&plan).pass(call)?);
        }
    }
    Ok(allowed)
}

/// The plan of `BOOSTFGL_FAULT`, read once.
fn from_environment() -> Option<&'static Mutex<FaultPlan>> {
    static PLAN: OnceLock<Option<Mutex<FaultPlan>>> = OnceLock::new();
    PLAN.get_or_init(read_environment).as_ref()
}

/// Reads `BOOSTFGL_FAULT`. An invalid value ends the program: ignoring it would test nothing.
fn read_environment() -> Option<Mutex<FaultPlan>> {
    let text = std::env::var("BOOSTFGL_FAULT").ok().filter(|text| !text.is_empty())?;
    let Some((fault, at)) = Fault::parse(&text) else {
        eprintln!(
            "BOOSTFGL_FAULT: expected FAULT@CALL such as crash@17, with FAULT one of full, eio, \
             short, crash, power, torn; found {text}"
        );
        std::process::exit(2);
    };
    Some(Mutex::new(FaultPlan::new(PathBuf::new(), fault, at).aborting()))
}

/// Locks, ignoring poison: a test that panics while it holds the lock leaves a valid plan.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_variable_names_a_fault_and_a_call() {
        assert_eq!(Fault::parse("crash@17"), Some((Fault::Crash, 17)));
        for fault in Fault::ALL {
            assert_eq!(Fault::parse(&format!("{}@1", fault.name())), Some((fault, 1)));
        }
        assert_eq!(Fault::parse("crash"), None);
        assert_eq!(Fault::parse("fire@1"), None);
    }
}
