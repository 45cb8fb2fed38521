//! The names of methods, boosts and backbones, as the program itself lists them.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::stress::program::Program;

/// The output of `boostfgl methods`.
pub(crate) struct Listed {
    pub(crate) methods: Vec<Method>,
    pub(crate) backbones: Vec<String>,
}

/// One method.
pub(crate) struct Method {
    pub(crate) name: String,
    /// The number of boosts that it has by default.
    pub(crate) own_boosts: usize,
    /// The boosts that it accepts, in the order of the list.
    pub(crate) taken: Vec<String>,
}

impl Listed {
    /// Reads the lists from the program.
    pub(crate) fn of(program: &Program) -> Result<Self> {
        let text = program.finish("methods")?;
        let boosts = section(&text, "Boosts ");
        let backbones = section(&text, "Backbones ");
        ensure!(
            !boosts.is_empty() && !backbones.is_empty(),
            "`boostfgl methods` lists boosts and backbones"
        );
        let listed: Value = serde_json::from_str(&program.finish("methods --json")?)
            .context("`boostfgl methods --json` prints JSON")?;
        let methods = listed.as_array().map(Vec::as_slice).unwrap_or_default();
        ensure!(!methods.is_empty(), "`boostfgl methods --json` lists no method");
        let methods =
            methods.iter().map(|method| Method::of(method, &boosts)).collect::<Result<_>>()?;
        Ok(Self { methods, backbones })
    }
}

impl Method {
    fn of(listed: &Value, boosts: &[String]) -> Result<Self> {
        let refused = &listed["refused_boosts"];
        Ok(Self {
            name: listed["name"].as_str().context("a method has a name")?.to_owned(),
            own_boosts: listed["boosts"].as_array().map_or(0, Vec::len),
            taken: boosts
                .iter()
                .filter(|boost| !refused[boost.as_str()].is_string())
                .cloned()
                .collect(),
        })
    }
}

/// The first word of every line of the section whose heading begins like this.
fn section(text: &str, heading: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    let lines = lines.take_while(|line| line.starts_with("  "));
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_with_its_lines() {
        let text = "Methods (--method)\n  fedavg  mean\n\nBoosts (--boost), on any method\n  node  a\n  model  b\n\nBackbones\n  gcn  c\n";
        assert_eq!(section(text, "Boosts "), ["node", "model"]);
        assert!(section(text, "Partitioners").is_empty());
    }

    #[test]
    fn refused_boosts_are_left_out() {
        let boosts = ["node", "model"].map(str::to_owned);
        let listed = serde_json::json!({"name": "isolated", "boosts": [], "refused_boosts": {"model": "why"}});
        let method = Method::of(&listed, &boosts).unwrap();
        assert_eq!(
            (method.name.as_str(), method.own_boosts, &method.taken[..]),
            ("isolated", 0, &boosts[..1])
        );
    }
}
