//! The federation for both number types, in builds for tests compiled here.
//!
//! Generic code is compiled by whoever names a number type. At low levels of optimisation the compiler takes what a crate
//! below has compiled already: without these lines the library and every binary of tests would each compile all methods once
//! more, which took half of the time of a build for tests. Builds for users name one type in one place and need none of it.

use crate::federation::{Federation, Outcome};
use crate::observer::Observer;
use crate::{Course, LocalData, Result, Setup};
use boostfgl_nn::Ledger;
use boostfgl_partition::ClientGraph;

/// What others call, and through it all the rest.
struct Entrances<T: boostfgl_nn::Real> {
    _data: fn(&ClientGraph) -> LocalData<T>,
    _new: fn(Setup, Vec<LocalData<T>>) -> Result<Federation<T>>,
    _run: fn(Federation<T>, &mut [&mut dyn Observer<T>]) -> Result<Outcome<T>>,
    _resume: fn(Federation<T>, &mut Ledger<'_>, &mut [&mut dyn Observer<T>]) -> Result<Course<T>>,
}

impl<T: boostfgl_nn::Real> Entrances<T> {
    const ALL: Self =
        Self { _data: LocalData::new, _new: Federation::new, _run: Federation::run, _resume: Federation::resume };
}

#[used]
static SINGLE: Entrances<f32> = Entrances::ALL;

#[used]
static DOUBLE: Entrances<f64> = Entrances::ALL;
