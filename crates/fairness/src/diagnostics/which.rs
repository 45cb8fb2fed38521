//! The diagnostics by name.

use super::{Diagnostic, Settings, attribution, dilution, epr, gsd, hardness, khop, trust};
use crate::{Error, Result};
use boostfgl_nn::Real;

/// A diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// Gradient share disparity.
    Gsd,
    /// Edge-wise propagation reliability.
    Epr,
    /// Error by distance from disadvantaged nodes.
    Khop,
    /// Dilution ratio and alignment of updates.
    Dilution,
    /// Attribution of the decrease of the loss.
    Attribution,
    /// Hardness of clients.
    Hardness,
    /// Trust per layer.
    Trust,
}

impl Which {
    /// All of them; one that builds on another comes after it.
    pub const ALL: [Self; 7] = [
        Self::Gsd,
        Self::Epr,
        Self::Khop,
        Self::Dilution,
        Self::Attribution,
        Self::Hardness,
        Self::Trust,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gsd => "gsd",
            Self::Epr => "epr",
            Self::Khop => "khop",
            Self::Dilution => "dilution",
            Self::Attribution => "attribution",
            Self::Hardness => "hardness",
            Self::Trust => "trust",
        }
    }

    /// What it asks, in one line.
    pub fn question(self) -> &'static str {
        match self {
            Self::Gsd => "do minority nodes get their share of the gradient?",
            Self::Epr => "which messages harm the node that receives them?",
            Self::Khop => "does error spread from disadvantaged nodes?",
            Self::Dilution => "does averaging cancel what helps the minority?",
            Self::Attribution => "whose loss did training reduce?",
            Self::Hardness => "is the skew on clients with many disadvantaged nodes?",
            Self::Trust => "would trust per layer differ from trust in the whole?",
        }
    }

    /// Diagnostics whose findings it needs.
    pub fn builds_on(self) -> &'static [Self] {
        match self {
            Self::Hardness => &[Self::Gsd],
            _ => &[],
        }
    }

    /// Reads a list such as `gsd,epr`; `all` stands for every one. `alignment`, `dr` and `harmful`
    /// are other names of what `dilution` and `epr` find.
    ///
    /// # Errors
    /// If a name is unknown; the nearest is suggested.
    pub fn parse(list: &str) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "all" => found.extend(Self::ALL),
                "dr" | "alignment" => found.push(Self::Dilution),
                "harmful" => found.push(Self::Epr),
                _ => found.push(
                    Self::ALL.into_iter().find(|which| which.name() == name).ok_or_else(|| {
                        Error::unknown(
                            "diagnostic",
                            name,
                            Self::ALL.map(|which| which.name().to_owned()).to_vec(),
                        )
                    })?,
                ),
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Puts it to work.
    pub(super) fn start<T: Real>(self, settings: Settings) -> Box<dyn Diagnostic<T>> {
        match self {
            Self::Gsd => Box::new(gsd::Watch::new(settings)),
            Self::Epr => Box::new(epr::Watch::new(settings)),
            Self::Khop => Box::new(khop::Watch::default()),
            Self::Dilution => Box::new(dilution::Watch::default()),
            Self::Attribution => Box::new(attribution::Watch::default()),
            Self::Hardness => Box::new(hardness::Watch::default()),
            Self::Trust => Box::new(trust::Watch::new(settings)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sets_and_unknown_names_get_the_nearest() {
        assert_eq!(Which::parse("epr, gsd,gsd").unwrap(), [Which::Gsd, Which::Epr]);
        assert_eq!(Which::parse("all").unwrap(), Which::ALL);
        assert_eq!(Which::parse("dr,alignment").unwrap(), [Which::Dilution]);
        assert!(Which::parse("").unwrap().is_empty());
        let error = Which::parse("gds").unwrap_err().to_string();
        assert!(error.contains("`gds`") && error.contains("did you mean `gsd`"), "{error}");
    }

    #[test]
    fn what_builds_on_another_comes_after_it() {
        for (at, which) in Which::ALL.into_iter().enumerate() {
            assert!(
                which.builds_on().iter().all(|other| Which::ALL[..at].contains(other)),
                "{}",
                which.name()
            );
        }
    }
}
