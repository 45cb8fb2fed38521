//! Every built-in method with every set of boosts.

use boostfgl_conformance::{Case, Suite};
use boostfgl_fed::methods::{METHODS, MethodInfo};
use boostfgl_fed::{Registry, Setup};

/// Checks every method.
pub(crate) fn for_all_methods(mut check: impl FnMut(&Suite<'_>)) {
    let registry = Registry::builtin();
    METHODS.iter().for_each(|method| check(&Suite::new(&registry, method)));
}

/// Calls `check` for every method with every set of boosts that it takes. The test
/// `refused_boosts_are_named_with_the_reason` checks which it refuses.
pub(crate) fn for_all(mut check: impl FnMut(&'static MethodInfo, Setup, &str)) {
    for_all_methods(|suite| {
        for Case { setup, what } in suite.cases() {
            check(setup.method, setup.clone(), what);
        }
    });
}
