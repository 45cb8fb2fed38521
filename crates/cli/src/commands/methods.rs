//! `boostfgl methods [NAME]`.

use crate::output;
use anyhow::Result;
use boostfgl::Error;
use boostfgl::config::Key;
use boostfgl::fed::boost::Boost;
use boostfgl::fed::methods::{METHODS, MethodInfo, find};
use boostfgl::nn::backbones::BACKBONES;
use boostfgl::partition::Registry;
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// List methods, boosts, backbones and partitioners, or explain one method
#[derive(Debug, Args)]
pub(crate) struct Methods {
    /// A method to explain
    name: Option<String>,

    /// Print one JSON document instead: all methods, or the named one
    #[arg(long)]
    json: bool,
}

impl Methods {
    pub(crate) fn execute(&self) -> Result<()> {
        let named = self.name.as_deref().map(|name| find(name).map_err(Error::from)).transpose()?;
        match (named, self.json) {
            (Some(method), false) => output::print(&explain(method)),
            (None, false) => output::print(&list()),
            (Some(method), true) => print_json(&described(method)),
            (None, true) => {
                print_json(&METHODS.iter().map(|method| described(method)).collect::<Value>())
            }
        }
    }
}

fn print_json(value: &Value) -> Result<()> {
    output::print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// A method as JSON, for other programs.
fn described(method: &MethodInfo) -> Value {
    let refused: serde_json::Map<String, Value> = Boost::ALL
        .iter()
        .filter_map(|boost| {
            (method.refuses)(*boost).map(|reason| (boost.name().to_owned(), reason.into()))
        })
        .collect();
    let keys: Vec<Value> = keys_of(method)
        .iter()
        .map(|key| json!({ "key": key.path, "default": key.default, "meaning": key.meaning }))
        .collect();
    json!({
        "name": method.name,
        "summary": method.summary,
        "paper": method.paper,
        "equations": method.equations,
        "wire": method.wire,
        "evaluated": method.evaluated,
        "judged": method.evaluated_model.name(),
        "single_updates": method.single_updates,
        "departures": method.departures,
        "boosts": method.boosts.iter().map(|boost| boost.name()).collect::<Vec<_>>(),
        "refused_boosts": refused,
        "keys": keys,
    })
}

/// The keys of a method and of the boosts that it turns on.
fn keys_of(method: &MethodInfo) -> Vec<&'static Key> {
    let own = format!("methods.{}.", method.name);
    let concerns = |path: &str| {
        path.starts_with(&own)
            || method.boosts.iter().any(|b| path.starts_with(&format!("boost.{}.", b.name())))
    };
    boostfgl::config::keys().iter().filter(|key| concerns(&key.path)).collect()
}

fn list() -> String {
    let mut out = String::from("Methods (--method)\n");
    let mut section = |title: &str, rows: &mut dyn Iterator<Item = (&str, &str)>| {
        if !title.is_empty() {
            let _ = writeln!(out, "\n{title}");
        }
        for (name, summary) in rows {
            let _ = writeln!(out, "  {name:<12} {summary}");
        }
    };
    section("", &mut METHODS.iter().map(|m| (m.name, m.summary)));
    section(
        "Boosts (--boost), on any method",
        &mut Boost::ALL.iter().map(|b| (b.name(), b.info().meaning)),
    );
    section("Backbones (--set backbone=…)", &mut BACKBONES.iter().map(|b| (b.name, b.summary)));
    section(
        "Partitioners (--set partitioner=…)",
        &mut Registry::builtin().iter().map(|p| (p.name(), p.summary())),
    );
    out.push_str("\n`boostfgl methods NAME` explains one method.\n");
    out
}

fn explain(method: &MethodInfo) -> String {
    let mut out =
        format!("{}: {}\n\n{}\n\n", method.name, method.summary, indented(method.equations, ""));
    let mut fact = |name: &str, text: &str| {
        let _ = writeln!(out, "{name:<12}{}", indented(text, "            "));
    };
    fact("Paper", method.paper);
    let on: Vec<&str> = method.boosts.iter().map(|b| b.name()).collect();
    fact(
        "Boosts",
        &if on.is_empty() { "none, unless --boost adds some".to_owned() } else { on.join(", ") },
    );
    for boost in Boost::ALL {
        if let Some(reason) = (method.refuses)(boost) {
            fact("", &format!("not {}: {reason}", boost.name()));
        }
    }
    fact("Evaluated", method.evaluated);
    fact("Wire", method.wire);
    if !method.departures.is_empty() {
        fact("Departures", method.departures);
    }
    let keys = keys_of(method);
    if !keys.is_empty() {
        out.push_str("\nKeys (--set KEY=VALUE), defaults and meaning\n");
    }
    for key in keys {
        let name = key.path.strip_prefix("methods.").unwrap_or(&key.path);
        let _ = writeln!(out, "  {name:<30} {:<14} {}", key.default, key.meaning);
    }
    out
}

/// The text with every line but the first moved to the right.
fn indented(text: &str, by: &str) -> String {
    text.replace('\n', &format!("\n{by}"))
}
