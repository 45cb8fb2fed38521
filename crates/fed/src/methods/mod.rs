//! Federated methods: one file each, one line in [`METHODS`].
//!
//! A method is a [`ServerRule`]: which model each client starts a round from, how updates are combined, and which
//! model is judged. Boosts are not methods; they hook into the client's loss, its propagation and the server's
//! weights, whatever the method.

mod boostfgl;
mod central;
mod fedavg;
mod isolated;

use crate::aggregate::Update;
use crate::boost::{Boost, ModelBoost};
use crate::{Error, Result};
use boostfgl_nn::{Params, Real};

/// The server's side of a method.
pub trait ServerRule<T: Real>: Send + Sync {
    /// The model client `k` starts the next round from.
    fn start(&self, client: usize) -> &Params<T>;

    /// The model that is judged on client `k`'s graph.
    fn evaluated(&self, client: usize) -> &Params<T> {
        self.start(client)
    }

    /// Takes in the updates of a round, in client order. Returns how they were weighted, if they were combined.
    ///
    /// # Errors
    /// If the updates cannot be combined.
    fn aggregate(
        &mut self,
        updates: &[Update<'_, T>],
        boost: Option<&ModelBoost>,
    ) -> Result<Option<crate::Combination>>;

    /// The final models: one for all clients, or one each.
    fn models(&self) -> Vec<&Params<T>>;
}

/// Where the data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each client has its part.
    Federated,
    /// One place has the whole graph: the reference that federation is compared with.
    Whole,
}

/// What a method is, for people and for the program.
#[derive(Debug)]
pub struct MethodInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// Its equations, as plain text.
    pub equations: &'static str,
    /// What crosses the wire per client and round; P is the number of parameters.
    pub wire: &'static str,
    /// Which model is judged.
    pub evaluated: &'static str,
    /// Where the data lie.
    pub layout: Layout,
    /// Boosts that are on unless `--boost` says otherwise.
    pub boosts: &'static [Boost],
    /// Numbers sent up per client and round beside boosts' own, given P.
    pub(crate) up: fn(usize) -> usize,
    /// Numbers sent down per client and round, given P.
    pub(crate) down: fn(usize) -> usize,
}

macro_rules! methods {
    ($($module:ident),* $(,)?) => {
        /// All methods, in the order in which they are listed.
        pub const METHODS: &[&MethodInfo] = &[$(&$module::INFO),*];

        /// The server side of a method, starting from `initial`.
        pub(crate) fn server<T: Real>(
            method: &MethodInfo,
            initial: &Params<T>,
            clients: usize,
        ) -> Box<dyn ServerRule<T>> {
            $(if method.name == $module::INFO.name {
                return Box::new($module::server(initial, clients));
            })*
            unreachable!("a MethodInfo comes from METHODS")
        }
    };
}

methods![isolated, central, fedavg, boostfgl];

/// The method of that name.
///
/// # Errors
/// If there is none; the nearest name is suggested.
pub fn find(name: &str) -> Result<&'static MethodInfo> {
    let known = METHODS.iter().map(|m| m.name);
    METHODS.iter().find(|m| m.name == name).copied().ok_or_else(|| Error::unknown("method", name, known))
}
