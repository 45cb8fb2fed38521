//! Configurations that have been checked: the only ones that can run.

use super::{Config, DataSection};
use crate::{Error, Result};
use boostfgl_fed::{Setup, methods};
use boostfgl_graph::Graph;
use boostfgl_graph::groups::MinorityRule;
use boostfgl_nn::backbones::{self, Architecture};
use boostfgl_report::name;
use std::ops::Deref;

/// A value whose every name and range has been checked. Only a check makes one, and it cannot be
/// changed afterwards.
///
/// ```
/// use boostfgl::Config;
/// let config = Config::default().checked()?;
/// assert_eq!(config.fed.rounds, 50);
/// let mut changed = config.into_inner();
/// changed.fed.rounds = 0;
/// assert!(changed.checked().is_err());
/// # Ok::<(), boostfgl::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Checked<T>(T);

impl<T> Checked<T> {
    /// The value, to be changed and checked again.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Checked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Checked<Config> {
    /// The same configuration without a name for the run, which needs no further check.
    #[must_use]
    pub fn without_name(mut self) -> Self {
        self.0.name = None;
        self
    }

    /// The same configuration with the number of clients that the graph decides, if the
    /// partitioner takes it from the data.
    ///
    /// # Errors
    /// If the data do not have what decides it.
    pub fn resolved(mut self, graph: &Graph) -> Result<Self> {
        self.0.partition = self.0.partition.clone().resolved(graph)?;
        Ok(self)
    }

    /// What a federation has to know of it.
    ///
    /// # Errors
    /// None: a checked configuration has a known method.
    pub(crate) fn setup(&self, seed: u64) -> Result<Setup> {
        let (method, boosts) = (self.method()?, self.active_boosts()?);
        // Every section is named, so that a new one cannot be forgotten here.
        let Config {
            dataset: _,
            client_data: _,
            method: _,
            boosts: _,
            name: _,
            seeds: _,
            portable: _,
            transport,
            data: DataSection { moments, .. },
            partition: _,
            split: _,
            loss,
            model,
            optimizer,
            fed: protocol,
            boost,
            screen,
            aggregation,
            attack,
            groups: _,
            evaluation,
            methods,
        } = self.0.clone();
        Ok(Setup {
            seed,
            method,
            boosts,
            protocol,
            moments,
            loss,
            model,
            optimizer,
            boost,
            methods,
            screen,
            aggregation,
            attack,
            transport,
            evaluation: String::new(),
            probabilities: evaluation.keeps_probabilities(),
        })
    }
}

impl Config {
    /// Checks every name and range.
    ///
    /// # Errors
    /// Names the first key that is wrong, what it may be and what it was.
    pub fn checked(self) -> Result<Checked<Self>> {
        self.check_name()?;
        self.loss.check()?;
        self.model.check()?;
        self.optimizer.check()?;
        self.fed.check()?;
        self.boost.check()?;
        self.methods.check()?;
        self.screen.check()?;
        self.attack.check()?;
        self.partition.check()?;
        self.split.check()?;
        self.check_method()?;
        self.check_seeds()?;
        self.check_groups()?;
        Ok(Checked(self))
    }

    fn check_name(&self) -> Result<()> {
        self.method()?;
        let Some(name) = &self.name else { return Ok(()) };
        match name::objection(name) {
            None => Ok(()),
            Some(expected) => {
                let start: String = name.chars().take(40).collect();
                wrong("name", &expected, format!("`{start}`"))
            }
        }
    }

    /// Whether the method works with these boosts, this network, aggregation rule and attack.
    fn check_method(&self) -> Result<()> {
        let method = self.method()?;
        let sizes = Architecture { inputs: 1, hidden: 1, classes: 1, layers: self.model.layers };
        let backbone = backbones::build::<f32>(&self.model.backbone, sizes)?;
        methods::check(method, &self.active_boosts()?, &self.model, backbone.plan())?;
        // A partition file sets the number of clients, which is checked when it is read.
        if self.partition.file().is_none() {
            let clients = self.partition.clients;
            methods::check_rule(method, self.aggregation, self.fed.taking_part(clients))?;
            methods::check_attack(method, &self.attack, clients)?;
        }
        Ok(())
    }

    fn check_seeds(&self) -> Result<()> {
        if self.seeds.is_empty() {
            return wrong("seeds", "at least one seed", "none");
        }
        let again = (1..self.seeds.len()).find(|&at| self.seeds[..at].contains(&self.seeds[at]));
        match again {
            Some(at) => wrong("seeds", "every seed once", format!("{} twice", self.seeds[at])),
            None => Ok(()),
        }
    }

    fn check_groups(&self) -> Result<()> {
        let groups = &self.groups;
        if !groups.minority.is_valid() {
            let found = match &groups.minority {
                MinorityRule::Ratio(q) => q.to_string(),
                MinorityRule::Smallest(number) => format!("\"smallest:{number}\""),
                MinorityRule::Named(_) => "an empty list".into(),
            };
            return wrong("groups.minority", MinorityRule::EXPECTED, found);
        }
        let threshold = groups.homophily_threshold;
        if !(0.0..=1.0).contains(&threshold) {
            return wrong("groups.homophily_threshold", "a number from 0 to 1", threshold);
        }
        Ok(())
    }
}

/// The error about a key.
fn wrong(place: &str, expected: &str, found: impl std::fmt::Display) -> Result<()> {
    Err(Error::Config {
        place: place.into(),
        reason: format!("expected {expected}, found {found}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SplitSource;
    use boostfgl_partition::{FromFile, LabelSkew, Louvain};

    fn louvain(config: &mut Config) -> &mut Louvain {
        config.partition.settings_mut().unwrap()
    }

    #[test]
    fn ranges_are_checked_whether_or_not_they_are_used() {
        let message = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.checked().err().map(|error| error.to_string()).unwrap_or_default()
        };
        assert_eq!(
            message(|c| louvain(c).resolution = 0.0),
            "partition.resolution: expected a finite number above 0, found 0"
        );
        assert_eq!(
            message(|c| louvain(c).resolution = -1.0),
            "partition.resolution: expected a finite number above 0, found -1"
        );
        assert_eq!(
            message(|c| c.partition.settings_mut::<LabelSkew>().unwrap().alpha = -3.0),
            "partition.alpha: expected a finite number above 0, found -3"
        );
        assert_eq!(
            message(|c| {
                c.partition.settings_mut::<FromFile>().unwrap().file = Some("p.csv".into());
            }),
            "partition.file: expected a file only with partitioner = \"file\", found p.csv with \
             partitioner = \"louvain\""
        );
        assert_eq!(
            message(|c| (c.split.train, c.split.source) = (7.0, SplitSource::File)),
            "split: expected three ratios from 0 to 1 that sum to at most 1, found [7.0, 0.4, 0.4]"
        );
        assert_eq!(
            message(|c| c.partition.clients = 1 << 62),
            "partition.clients: expected at most 4294967295, found 4611686018427387904"
        );
        assert!(message(|c| c.attack.rounds = Some(0)).starts_with("attack.rounds: "));
        assert!(
            message(|c| c.optimizer.learning_rate = 1e300).starts_with("optimizer.learning_rate: ")
        );
        assert_eq!(message(|_| ()), "");
    }
}
