//! Plans: what an experiment runs, one TOML file each in the folder `plans` of this crate.

use boostfgl::{Error, Result};
use boostfgl_fairness::diagnostics::DiagnosticKind;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// An experiment of the paper, as in its file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The title of its section, in one line.
    pub title: String,
    /// Where the paper has it.
    pub paper: String,
    /// How to read the result, for the document.
    pub reading: String,
    /// The datasets; those that are not on this machine are left out and reported.
    pub datasets: Vec<String>,
    /// The methods with their boosts, such as `fedavg+node`.
    pub methods: Vec<String>,
    /// How many seeds, from 0.
    pub seeds: usize,
    /// Settings that differ from the defaults of the protocol, by dotted key.
    #[serde(default)]
    pub settings: BTreeMap<String, Value>,
    /// The diagnostics.
    #[serde(default)]
    pub diagnostics: Vec<String>,
    /// Whether the scores of every round are stored.
    #[serde(default)]
    pub curves: bool,
    /// Settings that are varied; without any, there is one variant.
    #[serde(default, rename = "sweep")]
    pub sweeps: Vec<Sweep>,
    /// What `--quick` changes.
    #[serde(default)]
    pub quick: Quick,
}

/// Settings that are varied together: every combination of their values is a variant.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Its name.
    pub name: String,
    /// Settings that all its variants share.
    #[serde(default)]
    pub settings: BTreeMap<String, Value>,
    /// The values of each varied key, by dotted key.
    pub vary: BTreeMap<String, Vec<Value>>,
    /// The datasets, if not those of the plan.
    pub datasets: Option<Vec<String>>,
}

/// What a first look leaves out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// The datasets, if not all.
    pub datasets: Option<Vec<String>>,
    /// The methods, if not all.
    pub methods: Option<Vec<String>>,
    /// How many seeds, if not 1.
    pub seeds: Option<usize>,
    /// Settings that are smaller than the protocol's.
    #[serde(default)]
    pub settings: BTreeMap<String, Value>,
}

/// One setting of the varied keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The sweep it belongs to; empty without sweeps.
    pub sweep: String,
    /// The datasets it runs on.
    pub datasets: Vec<String>,
    /// Every setting that differs from the defaults, varied or not.
    pub settings: BTreeMap<String, Value>,
    /// The varied keys with their values, as text.
    pub varied: BTreeMap<String, String>,
}

macro_rules! plans {
    ($($name:literal),* $(,)?) => {
        /// The experiments, in the order in which `all` runs them.
        pub const NAMES: &[&str] = &[$($name),*];

        fn text(name: &str) -> Option<&'static str> {
            match name {
                $($name => Some(include_str!(concat!("../plans/", $name, ".toml"))),)*
                _ => None,
            }
        }
    };
}

plans![
    "table1",
    "ablation",
    "plug-in",
    "sensitivity",
    "clients",
    "runtime",
    "privacy",
    "robustness",
    "gsd",
    "gsd-q",
    "epr",
    "khop",
    "attribution",
    "hardness",
    "alignment",
    "dilution",
    // After those whose cells it can use.
    "convergence",
];

impl Plan {
    /// The experiment of that name.
    ///
    /// # Errors
    /// If there is none; the nearest name is suggested.
    ///
    /// ```
    /// let plan = boostfgl_reproduce::Plan::named("ablation")?;
    /// assert_eq!(plan.datasets, ["cora", "chameleon"]);
    /// # Ok::<(), boostfgl::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<Self> {
        let Some(text) = text(name) else {
            let near = boostfgl_graph::nearest(name, NAMES.iter().copied());
            let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
            let reason = format!("expected an experiment, found `{name}`{near}");
            return Err(Error::usage(
                "reproduce",
                reason,
                "`boostfgl reproduce --list` shows them all.",
            ));
        };
        Self::parse(text, &format!("crates/reproduce/plans/{name}.toml"))
    }

    /// Reads a plan; `place` is for messages.
    ///
    /// # Errors
    /// If it is not TOML, has an unknown key, or lists nothing to run.
    pub fn parse(text: &str, place: &str) -> Result<Self> {
        let plan: Self = toml::from_str(text).map_err(|error| Error::Config {
            place: place.to_owned(),
            reason: error.message().to_owned(),
        })?;
        for (what, found) in [
            ("datasets", plan.datasets.len()),
            ("methods", plan.methods.len()),
            ("seeds", plan.seeds),
        ] {
            if found == 0 {
                let reason = format!("{what}: expected at least one, found none");
                return Err(Error::Config { place: place.to_owned(), reason });
            }
        }
        Ok(plan)
    }

    /// The plan of a first look.
    #[must_use]
    pub fn quickly(mut self) -> Self {
        let Quick { datasets, methods, seeds, settings } = std::mem::take(&mut self.quick);
        if let Some(datasets) = datasets {
            self = self.on(&datasets);
        }
        self.methods = methods.unwrap_or(self.methods);
        self.seeds = seeds.unwrap_or(1);
        self.settings.extend(settings);
        self
    }

    /// The settings of a first look that are smaller than the protocol's, as `key = value`.
    pub fn smaller(&self) -> Vec<String> {
        self.quick.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect()
    }

    /// The same plan on these datasets alone, in the order of the plan; others are added at the
    /// end.
    #[must_use]
    pub fn on(mut self, datasets: &[String]) -> Self {
        self.datasets.retain(|dataset| datasets.contains(dataset));
        for dataset in datasets {
            if !self.datasets.contains(dataset) {
                self.datasets.push(dataset.clone());
            }
        }
        for sweep in &mut self.sweeps {
            let kept = sweep.datasets.take().map(|mut own| {
                own.retain(|dataset| datasets.contains(dataset));
                own
            });
            // A sweep without any dataset left uses those of the plan.
            sweep.datasets = kept.filter(|own| !own.is_empty());
        }
        self
    }

    /// The diagnostics; `None` if neither diagnostics nor curves are stored.
    ///
    /// # Errors
    /// If one is unknown.
    pub fn examined(&self) -> Result<Option<Vec<DiagnosticKind>>> {
        let which = DiagnosticKind::parse(&self.diagnostics.join(","))?;
        Ok((self.curves || !which.is_empty()).then_some(which))
    }

    /// Every combination of the varied settings.
    pub fn variants(&self) -> Vec<Variant> {
        if self.sweeps.is_empty() {
            let (datasets, settings) = (self.datasets.clone(), self.settings.clone());
            return vec![Variant {
                sweep: String::new(),
                datasets,
                settings,
                varied: BTreeMap::new(),
            }];
        }
        self.sweeps.iter().flat_map(|sweep| self.combinations(sweep)).collect()
    }

    /// The variants of one sweep; the value of the last key changes fastest.
    fn combinations(&self, sweep: &Sweep) -> Vec<Variant> {
        let mut settings = self.settings.clone();
        settings.extend(sweep.settings.clone());
        let datasets = sweep.datasets.clone().unwrap_or_else(|| self.datasets.clone());
        let first =
            Variant { sweep: sweep.name.clone(), datasets, settings, varied: BTreeMap::new() };
        let mut variants = vec![first];
        for (key, values) in &sweep.vary {
            variants = variants
                .iter()
                .flat_map(|variant| values.iter().map(|value| variant.vary(key, value)))
                .collect();
        }
        variants
    }
}

impl Variant {
    /// The same variant with one more varied setting.
    fn vary(&self, key: &str, value: &Value) -> Self {
        let mut variant = self.clone();
        variant.settings.insert(key.to_owned(), value.clone());
        variant.varied.insert(key.to_owned(), value.to_string());
        variant
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl::grid;

    #[test]
    fn every_plan_is_valid() {
        for name in NAMES {
            let plan = Plan::named(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            for plan in [plan.clone(), plan.quickly()] {
                grid::contenders(&plan.methods.join(","), None)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                plan.examined().unwrap_or_else(|error| panic!("{name}: {error}"));
                for variant in plan.variants() {
                    assert!(!variant.datasets.is_empty(), "{name}");
                    for dataset in &variant.datasets {
                        let mut layers = boostfgl::Layers::new();
                        layers.set("dataset", dataset.as_str(), "plan").unwrap();
                        for (key, value) in &variant.settings {
                            layers
                                .set(key, value.clone(), "plan")
                                .unwrap_or_else(|error| panic!("{name}: {error}"));
                        }
                        layers.resolve().unwrap_or_else(|error| panic!("{name}: {error}"));
                    }
                }
            }
        }
    }

    #[test]
    fn a_sweep_is_every_combination() {
        let text = r#"
            title = "t"
            paper = "p"
            reading = "r"
            datasets = ["cora"]
            methods = ["boostfgl"]
            seeds = 2
            [[sweep]]
            name = "heat"
            vary = { "boost.topology.tau" = [0.1, 0.2], "boost.topology.budget" = [0.5, 1.0] }
        "#;
        let variants = Plan::parse(text, "plan").unwrap().variants();
        let varied: Vec<Vec<&str>> =
            variants.iter().map(|v| v.varied.values().map(String::as_str).collect()).collect();
        assert_eq!(varied, [["0.5", "0.1"], ["0.5", "0.2"], ["1.0", "0.1"], ["1.0", "0.2"]]);
    }

    #[test]
    fn mistakes_in_plans_are_named() {
        let unknown = Plan::named("tabel1").unwrap_err().to_string();
        assert_eq!(
            unknown,
            "reproduce: expected an experiment, found `tabel1` (did you mean `table1`?)"
        );
        let good = "title=\"t\"\npaper=\"p\"\nreading=\"\"\ndatasets=[\"cora\"]\nmethods=[\"fedavg\"]\nseeds=1\n";
        assert!(Plan::parse(good, "f.toml").is_ok());
        for (text, wanted) in [
            (
                good.replace("[\"cora\"]", "[]"),
                "f.toml: datasets: expected at least one, found none",
            ),
            (
                good.replace("seeds=1", "seeds=0"),
                "f.toml: seeds: expected at least one, found none",
            ),
            (format!("{good}rounds=3\n"), "unknown field `rounds`"),
        ] {
            let error = Plan::parse(&text, "f.toml").unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
