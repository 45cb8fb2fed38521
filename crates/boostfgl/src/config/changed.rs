//! What a configuration changes, by which runs of one method are distinguished.

use super::lookup::{full_path, is_known, last};
use super::{Config, HomophilyGraph, values};
use crate::Data;
use toml::Value;

impl Config {
    /// The settings that differ from what the dataset and the method would have by themselves, such
    /// as `edge_score=reliability`, in the order of the file. Settings of methods that are not
    /// selected are left out.
    ///
    /// ```
    /// use boostfgl::Experiment;
    /// let experiment = Experiment::on("demo").set("edge_score", "reliability").seeds([0, 1]).build()?;
    /// assert_eq!(experiment.config().changed(), ["seeds=2", "edge_score=reliability"]);
    /// # Ok::<(), boostfgl::Error>(())
    /// ```
    pub fn changed(&self) -> Vec<String> {
        let own = format!("methods.{}.", self.method);
        let concerns = |path: &str| {
            !["dataset", "client_data", "method", "boosts", "name"].contains(&path)
                && (!path.starts_with("methods.") || path.starts_with(&own))
        };
        let plain = values(&self.unchanged());
        let both = values(self).into_iter().zip(plain).filter(|((key, _), _)| concerns(&key.path));
        let differing = both.filter(|((_, value), (_, plain))| value != plain);
        differing
            .map(|((key, value), _)| {
                format!("{}={}", self.short(&key.path), shown(&key.path, value))
            })
            .collect()
    }

    /// The name of a run of this configuration: the user's, or one made of method, boosts and what
    /// was changed.
    pub fn called(&self) -> String {
        let boosts: Vec<String> = self
            .active_boosts()
            .unwrap_or_default()
            .iter()
            .map(|boost| boost.name().to_owned())
            .collect();
        let label = boostfgl_report::name::label(&self.method, &boosts);
        self.name
            .clone()
            .unwrap_or_else(|| boostfgl_report::name::composed(&label, &self.changed()))
    }

    /// The configuration of this dataset and method without any setting.
    fn unchanged(&self) -> Self {
        let mut plain =
            Self { dataset: self.dataset.clone(), method: self.method.clone(), ..Self::default() };
        if !self.client_data.is_empty() {
            plain.groups.homophily_graph = HomophilyGraph::Local;
        }
        // Data that no longer exist have no protocol.
        if let Some((shares, rate)) =
            Data::named(&self.dataset).ok().and_then(|data| data.protocol())
        {
            [plain.split.train, plain.split.val, plain.split.test] = shares;
            plain.optimizer.learning_rate = rate;
        }
        plain
    }

    /// The last part of a key where that is unambiguous, else more of it.
    fn short(&self, path: &str) -> String {
        let last = last(path);
        let own = format!("methods.{}.{last}", self.method);
        match full_path(last).filter(|meant| meant != path) {
            None if path == own || !is_known(&own) => last.to_owned(),
            _ => path.strip_prefix("methods.").unwrap_or(path).to_owned(),
        }
    }
}

/// A value without quotes and spaces; the first n seeds are their number.
fn shown(path: &str, value: Option<Value>) -> String {
    match value {
        None => "none".to_owned(),
        Some(Value::Array(items)) => {
            let first = (0..).zip(&items).all(|(at, item)| item.as_integer() == Some(at));
            match path == "seeds" && first {
                true => items.len().to_string(),
                false => items.iter().map(plain).collect::<Vec<_>>().join("_"),
            }
        }
        Some(value) => plain(&value),
    }
}

/// A value without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;

    fn config(settings: &[&str]) -> Config {
        let mut layers = Layers::new();
        settings.iter().for_each(|setting| layers.assignment(setting).unwrap());
        layers.resolve().unwrap().0.into_inner()
    }

    #[test]
    fn a_run_is_named_by_what_was_changed_and_nothing_else() {
        let called = |settings: &[&str]| config(settings).called();
        assert_eq!(called(&[]), "fedavg");
        // The protocol of the dataset is no change, and what is set to its default is none either.
        assert_eq!(called(&["dataset=ogbn-arxiv", "rounds=50"]), "fedavg");
        assert_eq!(
            called(&["dataset=ogbn-arxiv", "learning_rate=0.25"]),
            "fedavg, learning_rate=0.25"
        );
        assert_eq!(called(&["method=boostfgl"]), "boostfgl");
        assert_eq!(called(&["method=boostfgl", "boosts=[]"]), "boostfgl + none");
        assert_eq!(
            called(&["boosts=[\"topology\"]", "edge_score=reliability"]),
            "fedavg + topology, edge_score=reliability"
        );
        assert_eq!(called(&["seeds=[3, 7]", "clients=8"]), "fedavg, seeds=3_7, clients=8");
        assert_eq!(called(&["seeds=[0, 1, 2]"]), "fedavg, seeds=3");
        assert_eq!(called(&["rounds=3", "name=mine"]), "mine");
    }

    #[test]
    fn keys_are_as_short_as_they_can_be_without_ambiguity() {
        // The method has a key of the same name, or another method has and does not matter.
        assert_eq!(
            config(&["method=afl", "boost.model.gamma=0.25"]).changed(),
            ["boost.model.gamma=0.25"]
        );
        assert_eq!(config(&["method=afl", "afl.gamma=0.25"]).changed(), ["afl.gamma=0.25"]);
        assert_eq!(config(&["method=fedprox", "fedprox.mu=5"]).changed(), ["fedprox.mu=5.0"]);
        assert_eq!(config(&["fedprox.mu=5"]).changed(), [""; 0]);
        assert_eq!(config(&["model.hidden=8"]).changed(), ["hidden=8"]);
    }

    #[test]
    fn a_name_changes_no_digest_and_is_checked() {
        let inputs =
            crate::grid::identity::CellInputs { data: Default::default(), partition: None };
        let digest = |config: &Config| crate::grid::identity::of_cell(config, 0, &inputs);
        assert_eq!(digest(&config(&["name=mine"])), digest(&config(&[])));
        assert!(!config(&[]).to_toml().contains("name"));
        let mut layers = Layers::new();
        layers.assignment("name=a/b").unwrap();
        let message = layers.resolve().unwrap_err().to_string();
        assert_eq!(
            message,
            "name: expected a name without / and \\, since it is not a path (--out is), found `a/b`"
        );
    }
}
