//! The federation for both number types, in builds for tests compiled here.
//!
//! Generic code is compiled by whoever names a number type. At low levels of optimisation the
//! compiler takes what a crate below has compiled already: without these lines the library and
//! every binary of tests would each compile all methods once more, which took half of the time of a
//! build for tests. Builds for users name one type in one place and need none of it.

use crate::{Federation, LocalData, Result, Setup};
use boostfgl_nn::{Real, StateVisitor};
use boostfgl_partition::ClientGraph;

/// Calls what others call, and through it all the rest. Nobody calls this.
fn run<T: Real>(setup: &Setup, clients: &[ClientGraph], state: &[u8]) -> Result<()> {
    let federation =
        || Federation::<T>::new(setup.clone(), clients.iter().map(LocalData::new).collect());
    let mut course = federation()?.resume(&mut StateVisitor::restoring(state), &mut [])?;
    course.step(&mut [])?;
    federation()?.run(&mut []).map(drop)
}

type Run = fn(&Setup, &[ClientGraph], &[u8]) -> Result<()>;

#[used]
static SINGLE: Run = run::<f32>;

#[used]
static DOUBLE: Run = run::<f64>;
