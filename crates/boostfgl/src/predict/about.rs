//! What a model file says about its models: everything that is needed to predict with them.

use crate::{Error, Result};
use boostfgl_fed::Beyond;
use boostfgl_graph::Scaling;
use boostfgl_nn::backbones::{self, Architecture, Backbone};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// The version of the format, under the key `format`.
pub const FORMAT: &str = "boostfgl model 1";

/// Upper bounds on sizes, far above those of a configuration: a damaged file must not make shapes
/// that overflow.
const MOST: Architecture =
    Architecture { inputs: 1 << 32, hidden: 1 << 20, classes: 1 << 20, layers: 8 };

/// Whose models a file has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// One model for all clients.
    Global,
    /// A model for each client, by number.
    Personal,
    /// The models of one client, by name.
    Client(String),
}

/// The metadata of a model file (docs/model-format.md).
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// Name and version of the program that wrote it.
    pub program: String,
    /// The method that trained the models.
    pub method: String,
    /// The dataset that they were trained on.
    pub dataset: String,
    /// The network.
    pub backbone: String,
    /// Its sizes.
    pub sizes: Architecture,
    /// The names of the classes, in the order of the outputs.
    pub classes: Vec<String>,
    /// The names of the features, in the order of the inputs; empty if the data have none.
    pub feature_names: Vec<String>,
    /// The columns whose missing values have a further input, after all columns.
    pub indicators: Vec<u32>,
    /// How features are scaled before they enter.
    pub scaling: Scaling,
    /// Whose models these are.
    pub owner: Owner,
    /// What the run predicts with, apart from these models.
    pub beyond: Vec<Beyond>,
}

impl About {
    /// Number of feature columns of the data.
    pub fn columns(&self) -> usize {
        self.sizes.inputs.saturating_sub(self.indicators.len())
    }

    /// The network without parameters.
    ///
    /// # Errors
    /// If no backbone has this name.
    pub fn network(&self) -> Result<Box<dyn Backbone<f32>>> {
        Ok(backbones::build(&self.backbone, self.sizes)?)
    }

    /// The metadata as texts.
    ///
    /// # Errors
    /// If no backbone has this name.
    pub(crate) fn to_metadata(&self) -> Result<HashMap<String, String>> {
        let network = self.network()?;
        let plan = network.plan();
        let passes = plan.hops > 0;
        let owner = match &self.owner {
            Owner::Global => "global".to_owned(),
            Owner::Personal => "personal".to_owned(),
            Owner::Client(name) => format!("client {name}"),
        };
        let beyond: Vec<&str> = self.beyond.iter().map(|beyond| beyond.name()).collect();
        let own = [
            ("format", FORMAT.to_owned()),
            ("program", self.program.clone()),
            ("method", self.method.clone()),
            ("dataset", self.dataset.clone()),
            ("models", owner),
            ("backbone", self.backbone.clone()),
            ("inputs", self.sizes.inputs.to_string()),
            ("hidden", self.sizes.hidden.to_string()),
            ("layers", self.sizes.layers.to_string()),
            ("activation", if plan.hidden.is_some() { "relu" } else { "none" }.to_owned()),
            ("propagation", if passes { plan.operator.name() } else { "none" }.to_owned()),
            ("self_loops", (passes && plan.operator.has_self_loops()).to_string()),
            ("classes", json(&self.classes)),
            ("feature_names", json(&self.feature_names)),
            ("feature_scaling", scaling_name(self.scaling)),
            ("indicators", format!("{:?}", self.indicators)),
            ("beyond", json(&beyond)),
        ];
        let all = own.into_iter().chain(network.constants());
        Ok(all.map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// Reads the metadata of the file at `path`.
    ///
    /// # Errors
    /// If it is of another format, or keys are missing or wrong: one message with all of them.
    pub(crate) fn from_metadata(path: &Path, metadata: &BTreeMap<String, String>) -> Result<Self> {
        check_format(path, metadata)?;
        let mut keys = Keys { metadata, problems: Vec::new() };
        let classes: Vec<String> = keys.list("classes");
        let sizes = Architecture {
            inputs: keys.size("inputs", MOST.inputs),
            hidden: keys.size("hidden", MOST.hidden),
            layers: keys.size("layers", MOST.layers),
            classes: classes.len(),
        };
        let about = Self {
            program: keys.text("program"),
            method: keys.text("method"),
            dataset: keys.text("dataset"),
            backbone: keys.text("backbone"),
            feature_names: keys.list("feature_names"),
            indicators: keys.indicators(),
            scaling: keys.scaling(),
            owner: keys.owner(),
            beyond: keys.beyond(),
            sizes,
            classes,
        };
        let mut problems = keys.problems;
        about.add_problems(&mut problems);
        if problems.is_empty() {
            return Ok(about);
        }
        Err(Error::usage(path.display().to_string(), problems.join("; "), DAMAGED))
    }

    /// What does not fit together.
    fn add_problems(&self, problems: &mut Vec<String>) {
        let (classes, names) = (&self.classes, &self.feature_names);
        if !(1..=MOST.classes).contains(&classes.len()) {
            let most = MOST.classes;
            problems.push(format!("classes: expected 1 to {most} names, found {}", classes.len()));
        }
        let mut known = HashSet::new();
        if let Some(twice) = classes.iter().find(|class| !known.insert(class.as_str())) {
            problems.push(format!("classes: expected every name once, found `{twice}` twice"));
        }
        if self.indicators.len() >= self.sizes.inputs.max(1)
            || self.indicators.iter().any(|column| *column as usize >= self.columns())
        {
            let found = &self.indicators;
            problems
                .push(format!("indicators: expected fewer columns than inputs, found {found:?}"));
        }
        if !names.is_empty() && names.len() != self.columns() && self.sizes.inputs > 0 {
            let (expected, found) = (self.columns(), names.len());
            problems
                .push(format!("feature_names: expected {expected} names or none, found {found}"));
        }
        if problems.is_empty()
            && let Err(error) = self.network()
        {
            problems.push(error.to_string());
        }
    }
}

/// The advice for a file whose metadata are wrong.
const DAMAGED: &str = "The file is damaged, or was changed after the run: run it again.";

/// Refuses files of other programs and versions.
fn check_format(path: &Path, metadata: &BTreeMap<String, String>) -> Result<()> {
    let found = match metadata.get("format") {
        Some(format) if format == FORMAT => return Ok(()),
        Some(other) => format!("`{other}`"),
        None if metadata.contains_key("program") => "no format, as earlier versions wrote".into(),
        None => "no format".to_owned(),
    };
    let reason = format!("expected a model of the format `{FORMAT}`, found {found}");
    let advice = "`boostfgl run` writes such files: model.safetensors in the folder of the run; \
        docs/model-format.md describes them.";
    Err(Error::usage(path.display().to_string(), reason, advice))
}

/// A list of texts as JSON.
fn json(list: &[impl AsRef<str>]) -> String {
    let list: Vec<&str> = list.iter().map(AsRef::as_ref).collect();
    serde_json::to_string(&list).unwrap_or_default()
}

/// The name of a scaling, as in configurations.
fn scaling_name(scaling: Scaling) -> String {
    match serde_json::to_value(scaling) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The keys of a file, and what is wrong with them.
struct Keys<'a> {
    metadata: &'a BTreeMap<String, String>,
    problems: Vec<String>,
}

impl Keys<'_> {
    fn text(&mut self, key: &str) -> String {
        let found = self.metadata.get(key).cloned();
        found.unwrap_or_else(|| {
            self.problems.push(format!("expected the key `{key}`, found none"));
            String::new()
        })
    }

    /// A text that `read` understands; a wrong one is noted.
    fn read<R: Default>(&mut self, key: &str, wanted: &str, read: impl Fn(&str) -> Option<R>) -> R {
        let Some(text) = self.metadata.get(key) else {
            self.problems.push(format!("expected the key `{key}`, found none"));
            return R::default();
        };
        read(text).unwrap_or_else(|| {
            let found: String = text.chars().take(60).collect();
            self.problems.push(format!("{key}: expected {wanted}, found `{found}`"));
            R::default()
        })
    }

    fn size(&mut self, key: &str, most: usize) -> usize {
        let size = self.read(key, &format!("a number from 1 to {most}"), |text| {
            text.parse().ok().filter(|size| (1..=most).contains(size))
        });
        // A size of 0 is noted; the network is not built.
        if size == 0 { 1 } else { size }
    }

    fn list(&mut self, key: &str) -> Vec<String> {
        self.read(key, "a list of names as JSON", |text| serde_json::from_str(text).ok())
    }

    fn indicators(&mut self) -> Vec<u32> {
        if !self.metadata.contains_key("indicators") {
            return Vec::new();
        }
        self.read("indicators", "a list of columns as JSON", |text| serde_json::from_str(text).ok())
    }

    fn scaling(&mut self) -> Scaling {
        self.read("feature_scaling", "raw, row-normalised, binary or standard", |text| {
            serde_json::from_value(text.into()).ok()
        })
    }

    fn owner(&mut self) -> Owner {
        let owner = self.read("models", "global, personal or client NAME", |text| match text {
            "global" => Some(Some(Owner::Global)),
            "personal" => Some(Some(Owner::Personal)),
            other => Some(Some(Owner::Client(other.strip_prefix("client ")?.to_owned()))),
        });
        owner.unwrap_or(Owner::Global)
    }

    fn beyond(&mut self) -> Vec<Beyond> {
        let names = Beyond::ALL.map(Beyond::name).join(", ");
        self.read("beyond", &format!("a list of some of {names} as JSON"), |text| {
            let list: Vec<String> = serde_json::from_str(text).ok()?;
            list.iter().map(|name| Beyond::from_name(name)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> About {
        About {
            program: "boostfgl 0".into(),
            method: "fedavg".into(),
            dataset: "demo".into(),
            backbone: "gat".into(),
            sizes: Architecture { inputs: 2, hidden: 4, classes: 2, layers: 2 },
            classes: vec!["a\nb".into(), "c, \"d\"".into()],
            feature_names: vec!["age".into(), "income".into()],
            indicators: vec![],
            scaling: Scaling::RowNormalised,
            owner: Owner::Client("north".into()),
            beyond: vec![Beyond::Boosted],
        }
    }

    fn metadata() -> BTreeMap<String, String> {
        about().to_metadata().unwrap().into_iter().collect()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let metadata = metadata();
        assert_eq!(About::from_metadata(Path::new("m"), &metadata).unwrap(), about());
        let kept = ["propagation", "self_loops", "heads", "feature_scaling", "activation"];
        assert_eq!(
            kept.map(|key| metadata[key].as_str()),
            ["ones", "true", "4,1", "row-normalised", "relu"]
        );
    }

    #[test]
    fn everything_that_is_wrong_is_said_in_one_message() {
        let mut metadata = metadata();
        metadata.remove("dataset");
        metadata.insert("hidden".into(), "99999999999999999999".into());
        metadata.insert("classes".into(), "[\"x\",\"x\"]".into());
        metadata.insert("feature_scaling".into(), "standart".into());
        metadata.insert("beyond".into(), "[\"magic\"]".into());
        let error = About::from_metadata(Path::new("m"), &metadata).unwrap_err().to_string();
        for wanted in [
            "expected the key `dataset`, found none",
            "hidden: expected a number from 1 to 1048576, found `99999999999999999999`",
            "classes: expected every name once, found `x` twice",
            "feature_scaling: expected raw, row-normalised, binary or standard, found `standart`",
            "beyond: expected a list of some of ",
        ] {
            assert!(error.contains(wanted), "{error}\n{wanted}");
        }
    }

    #[test]
    fn files_of_other_formats_are_refused() {
        let mut metadata = metadata();
        metadata.insert("backbone".into(), "gatt".into());
        let error = About::from_metadata(Path::new("m"), &metadata).unwrap_err().to_string();
        assert!(error.ends_with("unknown backbone `gatt` (did you mean `gat`?)"), "{error}");
        metadata.insert("format".into(), "boostfgl model 9".into());
        let error = About::from_metadata(Path::new("m"), &metadata).unwrap_err().to_string();
        assert!(error.ends_with("found `boostfgl model 9`"), "{error}");
        let error = About::from_metadata(Path::new("m"), &BTreeMap::new()).unwrap_err().to_string();
        assert!(error.ends_with("found no format"), "{error}");
    }
}
