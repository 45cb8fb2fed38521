//! The rule that combines the clients' models, and how many updates it needs (`[aggregation]`).

use crate::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the server combines the clients' models (`[aggregation]`), whatever the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// mean (the method's own weighted mean), median, trimmed-mean, krum, multi-krum, bulyan,
    /// geometric-median or norm-bounded. Rules other than the mean outvote up to `byzantine` bad
    /// updates in a round.
    pub rule: Rule,
    /// How many participants f of a round may send anything at all without moving the result far.
    /// Krum needs 2f + 3 updates, Bulyan 4f + 3, the others 2f + 1.
    pub byzantine: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { rule: Rule::Mean, byzantine: 1 }
    }
}

/// A rule that combines models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The method's own weighted mean. One bad update moves it anywhere.
    #[default]
    Mean,
    /// The median of every coordinate (Yin et al., ICML 2018).
    Median,
    /// The mean of every coordinate without its f smallest and f largest values (Yin et al., ICML
    /// 2018).
    TrimmedMean,
    /// The one model that is nearest to its n − f − 2 neighbours (Blanchard et al., NeurIPS 2017).
    Krum,
    /// The method's weighted mean of the n − f models with the best Krum scores.
    MultiKrum,
    /// Krum chooses n − 2f models, of which every coordinate is the mean of the n − 4f values
    /// nearest to its median (El Mhamdi et al., ICML 2018).
    Bulyan,
    /// The point with the least sum of distances to all models (Pillutla et al., 2022).
    GeometricMedian,
    /// The method's weighted mean of updates that are cut to the median of their lengths.
    NormBounded,
}

impl Rule {
    /// All rules, in the order in which they are listed.
    pub const ALL: [Self; 8] = [
        Self::Mean,
        Self::Median,
        Self::TrimmedMean,
        Self::Krum,
        Self::MultiKrum,
        Self::Bulyan,
        Self::GeometricMedian,
        Self::NormBounded,
    ];

    /// The name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
            Self::TrimmedMean => "trimmed-mean",
            Self::Krum => "krum",
            Self::MultiKrum => "multi-krum",
            Self::Bulyan => "bulyan",
            Self::GeometricMedian => "geometric-median",
            Self::NormBounded => "norm-bounded",
        }
    }

    /// Whether the weights of the method (sizes, trust) matter. Where they do not, a client cannot
    /// gain influence by a false size or gap, and model boosting has no effect.
    pub fn weighs(self) -> bool {
        matches!(self, Self::Mean | Self::MultiKrum | Self::NormBounded)
    }

    /// The least number of updates with which f bad ones are outvoted, and how it follows from f.
    fn least(self, byzantine: usize) -> (usize, &'static str) {
        match self {
            Self::Mean => (1, "1"),
            Self::Median | Self::TrimmedMean | Self::GeometricMedian | Self::NormBounded => {
                (byzantine.saturating_mul(2).saturating_add(1), "2f + 1")
            }
            Self::Krum | Self::MultiKrum => {
                (byzantine.saturating_mul(2).saturating_add(3), "2f + 3")
            }
            Self::Bulyan => (byzantine.saturating_mul(4).saturating_add(3), "4f + 3"),
        }
    }

    /// The largest number of bad updates among `updates` that the rule outvotes; `None` if
    /// `updates` are too few for the rule to run.
    pub fn tolerates(self, updates: usize) -> Option<usize> {
        (0..=updates).take_while(|&f| self.least(f).0 <= updates).last()
    }
}

impl Config {
    /// The same rule with the number of bad updates that may remain among `updates` after others
    /// were refused: `bad` ones for certain and `doubtful` ones. Refused bad updates need not be
    /// outvoted. Doubtful ones may have been honest, so they lower f only as far as the rule could
    /// not run otherwise.
    #[must_use]
    pub fn after(self, bad: usize, doubtful: usize, updates: usize) -> Self {
        let most = self.byzantine.saturating_sub(bad);
        let least = most.saturating_sub(doubtful);
        let byzantine = self.rule.tolerates(updates).map_or(most, |able| able.clamp(least, most));
        Self { byzantine, ..self }
    }

    /// Checks that the rule can outvote f bad ones among `updates`.
    ///
    /// # Errors
    /// With the number that it needs, and the number of bad ones that it outvotes among `updates`.
    pub fn check(&self, updates: usize) -> Result<()> {
        let (least, formula) = self.rule.least(self.byzantine);
        if least <= updates {
            return Ok(());
        }
        let tolerated = match self.rule.tolerates(updates) {
            None | Some(0) => "none".to_owned(),
            Some(some) => some.to_string(),
        };
        let (rule, byzantine) = (self.rule.name(), self.byzantine);
        Err(Error::TooFew { rule, byzantine, formula, least, updates, tolerated, round: None })
    }
}

/// Whether a configuration is the default, so that its section is left out of files.
pub fn is_default(config: &Config) -> bool {
    *config == Config::default()
}
