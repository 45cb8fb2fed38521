//! What a boost is, and the registry of boosts: the built-in ones and those that a program adds.

use super::{Boost, BoostConfig, ClientBoost, ServerBoost};
use crate::local_data::LocalData;
use boostfgl_nn::Real;
use std::sync::Arc;

/// A place where a boost acts. Only the hooks of the places that a boost lists are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The client's loss: [`ClientBoost::node_weights`].
    Loss,
    /// The client's propagation: [`ClientBoost::propagation`].
    Propagation,
    /// The fairness summary that goes up with the update: [`ClientBoost::summary`].
    Summary,
    /// The server's weights of updates: [`ServerBoost::client_weights`].
    Aggregation,
}

/// What a boost is, for people and for the program.
#[derive(Clone, Copy, Debug)]
pub struct BoostInfo {
    /// The name on the command line and in `[boost.NAME]`.
    pub name: &'static str,
    /// What it does, in one line that starts with the side it runs on.
    pub meaning: &'static str,
    /// Where it acts.
    pub acts: &'static [Place],
}

impl BoostInfo {
    /// Whether the boost acts there.
    pub fn acts_on(&self, place: Place) -> bool {
        self.acts.contains(&place)
    }
}

/// What a client's side of a boost is made from.
pub struct BoostContext<'a, T> {
    /// Settings of the built-in boosts.
    pub config: &'a BoostConfig,
    /// The client's data.
    pub data: &'a LocalData<T>,
    /// Training nodes of each class, of all clients together; empty unless
    /// [`BoostPlugin::needs_class_counts`].
    pub class_counts: &'a [usize],
}

/// A boost as a value that makes its two sides. A side that a boost does not have is `None`.
///
/// A boost that is not built in holds its own settings.
pub trait BoostPlugin<T: Real>: Send + Sync {
    /// What the boost is.
    fn info(&self) -> BoostInfo;

    /// Whether the clients' sides depend on the training nodes of each class of all clients. If so,
    /// every client tells the server its own, and receives the sums.
    fn needs_class_counts(&self, _config: &BoostConfig) -> bool {
        false
    }

    /// One client's side.
    fn client(&self, _context: &BoostContext<'_, T>) -> Option<Box<dyn ClientBoost<T>>> {
        None
    }

    /// The server's side.
    fn server(&self, _config: &BoostConfig) -> Option<Box<dyn ServerBoost<T>>> {
        None
    }
}

/// Boosts that a federation may use.
///
/// Built-in boosts are on if [`Setup::boosts`](crate::Setup::boosts) lists them; a boost that was
/// added with [`Registry::with`] is always on. Boosts act in the order of the registry.
///
/// ```
/// use boostfgl_fed::boost::{BoostInfo, BoostPlugin, Registry};
///
/// struct Nothing;
/// impl BoostPlugin<f32> for Nothing {
///     fn info(&self) -> BoostInfo {
///         BoostInfo { name: "nothing", meaning: "client: changes nothing", acts: &[] }
///     }
/// }
/// let registry = Registry::builtin().with(Nothing);
/// let names: Vec<&str> = registry.infos().map(|info| info.name).collect();
/// assert_eq!(names, ["node", "topology", "model", "nothing"]);
/// ```
pub struct Registry<T: Real> {
    builtin: Vec<Arc<dyn BoostPlugin<T>>>,
    added: Vec<Arc<dyn BoostPlugin<T>>>,
}

impl<T: Real> Registry<T> {
    /// The boosts of this crate.
    pub fn builtin() -> Self {
        Self { builtin: Boost::ALL.iter().map(|boost| boost.plugin()).collect(), added: Vec::new() }
    }

    /// The same with one more boost, which is on in every federation of this registry.
    #[must_use]
    pub fn with(mut self, boost: impl BoostPlugin<T> + 'static) -> Self {
        self.added.push(Arc::new(boost));
        self
    }

    /// What the boosts are, in the order in which they act.
    pub fn infos(&self) -> impl Iterator<Item = BoostInfo> + '_ {
        self.builtin.iter().chain(&self.added).map(|boost| boost.info())
    }

    /// The boosts that are on: those of `chosen`, and those that were added.
    pub(crate) fn active(&self, chosen: &[Boost]) -> Vec<Arc<dyn BoostPlugin<T>>> {
        let names: Vec<&str> = chosen.iter().map(|boost| boost.name()).collect();
        let builtin = self.builtin.iter().filter(|boost| names.contains(&boost.info().name));
        builtin.chain(&self.added).cloned().collect()
    }
}
