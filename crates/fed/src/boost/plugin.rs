//! What a boost is, and what makes its two sides.

use super::{BoostConfig, ClientBoost, ServerBoost};
use crate::Result;
use crate::local_data::LocalData;
use boostfgl_nn::Real;

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
/// A boost that is not built in holds its own settings. A [`Registry`](crate::Registry) takes it:
///
/// ```
/// use boostfgl_fed::Registry;
/// use boostfgl_fed::boost::{BoostInfo, BoostPlugin};
///
/// struct Nothing;
/// impl BoostPlugin<f32> for Nothing {
///     fn info(&self) -> BoostInfo {
///         BoostInfo { name: "nothing", meaning: "client: changes nothing", acts: &[] }
///     }
/// }
/// let registry = Registry::builtin().with_boost(Nothing);
/// let names: Vec<&str> = registry.boosts().map(|info| info.name).collect();
/// assert_eq!(names, ["node", "topology", "model", "nothing"]);
/// ```
pub trait BoostPlugin<T: Real>: Send + Sync {
    /// What the boost is.
    fn info(&self) -> BoostInfo;

    /// Checks the settings that the boost holds, before a run.
    ///
    /// # Errors
    /// Names the first setting that is out of range.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The settings that the boost holds, in words: server and clients must have the same. Empty if
    /// there are none, and for built-in boosts, whose settings are those of the run.
    fn settings(&self) -> String {
        String::new()
    }

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
