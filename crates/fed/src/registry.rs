//! The methods and boosts that a run may use: those of this crate and those that a program adds.

use crate::boost::{Boost, BoostInfo, BoostPlugin};
use crate::methods::{self, MethodInfo, MethodPlugin};
use crate::{Error, Result, Setup};
use boostfgl_nn::Real;
use std::sync::Arc;

/// The methods and boosts that a run may use.
///
/// A method runs if [`Setup::method`] describes it, a built-in boost if [`Setup::boosts`] lists it.
/// A boost that was added with [`with_boost`](Self::with_boost) is always on. Boosts act in the
/// order of the registry.
///
/// Names are unique: a run is refused if its registry has two methods, or two boosts, of one name.
pub struct Registry<T: Real> {
    methods: Vec<Arc<dyn MethodPlugin<T>>>,
    boosts: Vec<Arc<dyn BoostPlugin<T>>>,
}

impl<T: Real> Registry<T> {
    /// The methods and boosts of this crate.
    pub fn builtin() -> Self {
        let boosts = Boost::ALL.iter().map(|boost| boost.plugin()).collect();
        Self { methods: methods::builtin(), boosts }
    }

    /// The same with one more boost, which is on in every run of this registry.
    #[must_use]
    pub fn with_boost(mut self, boost: impl BoostPlugin<T> + 'static) -> Self {
        self.boosts.push(Arc::new(boost));
        self
    }

    /// The same with one more method.
    #[must_use]
    pub fn with_method(mut self, method: impl MethodPlugin<T> + 'static) -> Self {
        self.methods.push(Arc::new(method));
        self
    }

    /// What the boosts are, in the order in which they act.
    pub fn boosts(&self) -> impl Iterator<Item = BoostInfo> + '_ {
        self.boosts.iter().map(|boost| boost.info())
    }

    /// The descriptions of the methods, built-in ones first.
    pub fn methods(&self) -> impl Iterator<Item = &'static MethodInfo> + '_ {
        self.methods.iter().map(|method| method.info())
    }

    /// The description of the method of that name, for [`Setup::method`].
    ///
    /// # Errors
    /// If there is none; the nearest name is suggested.
    pub fn method(&self, name: &str) -> Result<&'static MethodInfo> {
        self.plugin(name).map(|method| method.info())
    }

    fn plugin(&self, name: &str) -> Result<&Arc<dyn MethodPlugin<T>>> {
        let found = self.methods.iter().find(|method| method.info().name == name);
        found.ok_or_else(|| Error::unknown("method", name, self.methods().map(|info| info.name)))
    }

    /// The method of a run, and the boosts that are on: those that the settings list, and those
    /// that were added.
    ///
    /// # Errors
    /// If a name is not unique, there is no such method, or one of them has a setting out of range.
    pub(crate) fn chosen(&self, setup: &Setup) -> Result<Chosen<T>> {
        unique("method", self.methods().map(|info| info.name))?;
        unique("boost", self.boosts().map(|info| info.name))?;
        let method = Arc::clone(self.plugin(setup.method.name)?);
        method.check()?;
        let (builtin, added) = self.boosts.split_at(Boost::ALL.len());
        added.iter().try_for_each(|boost| boost.check())?;
        let names: Vec<&str> = setup.boosts.iter().map(|boost| boost.name()).collect();
        let listed = builtin.iter().filter(|boost| names.contains(&boost.info().name));
        let boosts = listed.chain(added).cloned().collect();
        Ok(Chosen { method, boosts, added: added.len() })
    }
}

/// Refuses names that occur twice.
fn unique<'a>(kind: &'static str, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        if known.contains(&name) {
            return Err(Error::Taken { kind, name: name.to_owned() });
        }
        known.push(name);
    }
    Ok(())
}

/// The method and the boosts of a run.
pub(crate) struct Chosen<T: Real> {
    pub(crate) method: Arc<dyn MethodPlugin<T>>,
    /// In the order in which they act.
    pub(crate) boosts: Vec<Arc<dyn BoostPlugin<T>>>,
    /// How many of the boosts, the last ones, were added to the registry.
    added: usize,
}

impl<T: Real> Chosen<T> {
    /// What server and clients must agree on in addition to the settings of the run: the settings
    /// that plug-ins hold, and which boosts were added. Empty if all are built in.
    pub(crate) fn settings(&self) -> String {
        let added = &self.boosts[self.boosts.len() - self.added..];
        let boosts =
            added.iter().map(|boost| format!(" {} {}", boost.info().name, boost.settings()));
        std::iter::once(self.method.settings()).chain(boosts).collect()
    }
}
