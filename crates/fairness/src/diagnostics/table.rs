//! The table of diagnostics, and everything that is made from it.

use super::{Cost, Diagnostic, Settings};
use super::{attribution, dilution, epr, gsd, hardness, khop, trust};
use crate::{Error, Result};
use boostfgl_nn::Real;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Makes [`DiagnosticKind`] and [`Diagnosis`] from one list, so that they cannot disagree.
///
/// `module => Kind, "question"` stands for the findings `module::Kind` and the `module::Watch` that
/// makes them; `builds_on` names diagnostics that must come earlier, `also` other names.
macro_rules! diagnostics {
    ($(
        $(#[$attribute:meta])*
        $module:ident => $kind:ident, $question:literal
        $(, builds_on $($needed:ident)+)?
        $(, also $($alias:literal)+)?;
    )+) => {
        /// A diagnostic.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum DiagnosticKind {
            $($(#[$attribute])* $kind,)+
        }

        impl DiagnosticKind {
            /// All of them; one that builds on another comes after it.
            pub const ALL: [Self; [$(stringify!($module)),+].len()] = [$(Self::$kind),+];

            /// The name on the command line and in files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => stringify!($module),)+
                }
            }

            /// What it asks, in one line.
            pub const fn question(self) -> &'static str {
                match self {
                    $(Self::$kind => $question,)+
                }
            }

            /// Other names on the command line, after what it finds.
            pub const fn aliases(self) -> &'static [&'static str] {
                match self {
                    $(Self::$kind => &[$($($alias),+)?],)+
                }
            }

            /// Diagnostics whose findings it needs.
            pub const fn builds_on(self) -> &'static [Self] {
                match self {
                    $(Self::$kind => &[$($(Self::$needed),+)?],)+
                }
            }

            /// What starts it.
            pub(super) fn start<T: Real>(self) -> fn(Settings) -> Box<dyn Diagnostic<T>> {
                match self {
                    $(Self::$kind => |settings| Box::new($module::Watch::new(settings)),)+
                }
            }
        }

        /// Everything that was found in one run of one seed.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct Diagnosis {
            $(
                $(#[$attribute])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $module: Option<$module::$kind>,
            )+
            /// What each diagnostic took.
            pub cost: Vec<Cost>,
            /// The findings of diagnostics that a program added, by name.
            #[serde(flatten)]
            pub other: BTreeMap<String, serde_json::Value>,
        }

        impl Diagnosis {
            /// What these diagnostics found and took, without the others.
            #[must_use]
            pub fn only(&self, wanted: &[DiagnosticKind]) -> Self {
                let wanted: Vec<&str> = wanted.iter().map(|which| which.name()).collect();
                Self {
                    $($module: self
                        .$module
                        .as_ref()
                        .filter(|_| wanted.contains(&stringify!($module)))
                        .cloned(),)+
                    cost: self
                        .cost
                        .iter()
                        .filter(|cost| wanted.contains(&cost.name.as_str()))
                        .cloned()
                        .collect(),
                    other: BTreeMap::new(),
                }
            }
        }
    };
}

diagnostics! {
    /// Gradient share disparity.
    gsd => Gsd, "do minority nodes get their share of the gradient?";
    /// Edge-wise propagation reliability.
    epr => Epr, "which messages harm the node that receives them?", also "harmful";
    /// Error by distance from disadvantaged nodes.
    khop => Khop, "does error spread from disadvantaged nodes?";
    /// Dilution ratio and alignment of updates.
    dilution => Dilution, "does averaging cancel what helps the minority?", also "dr" "alignment";
    /// Attribution of the decrease of the loss.
    attribution => Attribution, "whose loss did training reduce?";
    /// Hardness of clients.
    hardness => Hardness, "is the skew on clients with many disadvantaged nodes?", builds_on Gsd;
    /// Trust per layer.
    trust => Trust, "would trust per layer differ from trust in the whole?";
}

impl DiagnosticKind {
    /// Parses a list of names and aliases such as `gsd,dr`; `all` stands for every diagnostic.
    ///
    /// # Errors
    /// If a name is unknown; the nearest is suggested.
    pub fn parse(list: &str) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if name == "all" {
                found.extend(Self::ALL);
            } else {
                found.push(Self::find(name)?);
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The diagnostic of that name or alias.
    fn find(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|which| which.name() == name || which.aliases().contains(&name))
            .ok_or_else(|| {
                let known = Self::ALL.map(|which| which.name().to_owned()).to_vec();
                Error::unknown("diagnostic", name, known)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sets_and_unknown_names_get_the_nearest() {
        assert_eq!(
            DiagnosticKind::parse("epr, gsd,gsd").unwrap(),
            [DiagnosticKind::Gsd, DiagnosticKind::Epr]
        );
        assert_eq!(DiagnosticKind::parse("all").unwrap(), DiagnosticKind::ALL);
        assert_eq!(DiagnosticKind::parse("dr,alignment").unwrap(), [DiagnosticKind::Dilution]);
        assert_eq!(DiagnosticKind::parse("harmful").unwrap(), [DiagnosticKind::Epr]);
        assert!(DiagnosticKind::parse("").unwrap().is_empty());
        let error = DiagnosticKind::parse("gds").unwrap_err().to_string();
        assert!(error.contains("`gds`") && error.contains("did you mean `gsd`"), "{error}");
    }

    #[test]
    fn names_and_aliases_are_unique() {
        let mut names: Vec<&str> = DiagnosticKind::ALL
            .iter()
            .flat_map(|which| std::iter::once(which.name()).chain(which.aliases().iter().copied()))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn what_builds_on_another_comes_after_it() {
        for (at, which) in DiagnosticKind::ALL.into_iter().enumerate() {
            assert!(
                which.builds_on().iter().all(|other| DiagnosticKind::ALL[..at].contains(other)),
                "{}",
                which.name()
            );
        }
    }
}
