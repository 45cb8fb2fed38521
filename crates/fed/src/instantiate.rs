//! Instantiates the federation for both number types in test builds (f64 with the feature
//! `instantiate-f64`, which is on by default).
//!
//! Generic code is compiled in the crate that names a number type. At low optimisation levels the
//! compiler reuses what an upstream crate has compiled. Without these lines the library and every
//! test binary would compile all methods once more, which took half of the time of a test build.
//! Release builds name one type in one place and do not need this.

use crate::{Federation, LocalData, Result, Setup};
use boostfgl_nn::{Real, StateVisitor};
use boostfgl_partition::ClientGraph;

/// Calls the entry points of this crate. It is never called itself.
fn run<T: Real>(setup: &Setup, clients: &[ClientGraph], state: &[u8]) -> Result<()> {
    let mut training =
        federation::<T>(setup, clients)?.resume(&mut StateVisitor::restoring(state), &mut [])?;
    training.step(&mut [])?;
    federation::<T>(setup, clients)?.run(&mut []).map(drop)
}

/// A federation of these clients.
fn federation<T: Real>(setup: &Setup, clients: &[ClientGraph]) -> Result<Federation<T>> {
    Federation::new(setup.clone(), clients.iter().map(LocalData::new).collect())
}

type Run = fn(&Setup, &[ClientGraph], &[u8]) -> Result<()>;

#[used]
static SINGLE: Run = run::<f32>;

#[cfg(feature = "instantiate-f64")]
#[used]
static DOUBLE: Run = run::<f64>;
