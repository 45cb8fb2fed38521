//! Every method with every set of boosts, on any number of threads.

use crate::small::setup;
use boostfgl_fed::Setup;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::methods::{METHODS, MethodInfo};

/// Sets of boosts: none, each alone, and all.
fn boost_sets() -> Vec<Vec<Boost>> {
    let alone = Boost::ALL.into_iter().map(|boost| vec![boost]);
    std::iter::once(Vec::new()).chain(alone).chain([Boost::ALL.to_vec()]).collect()
}

/// Whether the method takes all these boosts. The test `refused_boosts_are_named_with_the_reason`
/// checks which it refuses.
fn accepts(method: &MethodInfo, boosts: &[Boost]) -> bool {
    boosts.iter().all(|&boost| (method.refuses)(boost).is_none())
}

/// Calls `check` for every method with every set of boosts that it takes.
pub(crate) fn for_all(mut check: impl FnMut(&'static MethodInfo, Setup, &str)) {
    for method in METHODS {
        for boosts in boost_sets().into_iter().filter(|boosts| accepts(method, boosts)) {
            check(method, setup(method.name, &boosts), &format!("{} with {boosts:?}", method.name));
        }
    }
}

pub(crate) fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}
