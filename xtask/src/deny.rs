//! `cargo xtask deny`: the licences of all dependencies, and their known vulnerabilities.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::project::root;
use crate::shell::{answer, cargo, run};
use crate::tool;

/// Licences against the list in `deny.toml`, then advisories (cargo-deny, installed on first use,
/// and its database, which is fetched from the network).
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only licences, which needs no network.
    #[arg(long)]
    licences: bool,
}

pub(crate) fn run_all(args: &Args) -> Result<()> {
    let list =
        std::fs::read_to_string(root().join("deny.toml")).context("cannot read deny.toml")?;
    let allowed = allowed(&list)?;
    let metadata =
        answer(&mut cargo(["metadata", "--format-version", "1", "--locked", "--all-features"]))
            .context("cargo metadata failed: is Cargo.lock up to date?")?;
    let metadata: Value = serde_json::from_str(&metadata).context("cargo metadata prints JSON")?;
    let found = licences(&metadata);
    let refused: Vec<String> = found
        .iter()
        .filter(|(licence, _)| !permits(licence, &allowed))
        .map(|(licence, names)| {
            format!("{licence}: {}", names.iter().cloned().collect::<Vec<_>>().join(", "))
        })
        .collect();
    if !refused.is_empty() {
        bail!("licences that deny.toml does not allow:\n{}", refused.join("\n"));
    }
    let packages: usize = found.values().map(BTreeSet::len).sum();
    println!("licences: {packages} dependencies under {} licence terms, all allowed", found.len());
    if args.licences {
        return Ok(());
    }
    advisories()
}

/// Checks for known vulnerabilities, and for dependencies with the version `*`.
fn advisories() -> Result<()> {
    let mut command = tool::subcommand("deny")?;
    run(command.args(["check", "advisories", "bans"])).context(
        "advisories: vulnerabilities were found, or their list cannot be fetched (--licences needs none)",
    )
}

/// The list `allow` under `[licenses]`.
fn allowed(deny: &str) -> Result<BTreeSet<String>> {
    let table: toml::Table = deny.parse().context("deny.toml is not TOML")?;
    let list = table
        .get("licenses")
        .and_then(|licenses| licenses.get("allow"))
        .and_then(toml::Value::as_array);
    let list = list.context("deny.toml: expected a list `allow` in [licenses]")?;
    Ok(list.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
}

/// The names of dependencies by their declared licence.
fn licences(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // Our own have no source.
    for package in packages.iter().filter(|package| !package["source"].is_null()) {
        let licence = package["license"].as_str().unwrap_or("none stated").to_owned();
        let name = format!(
            "{} {}",
            package["name"].as_str().unwrap_or("?"),
            package["version"].as_str().unwrap_or("?")
        );
        found.entry(licence).or_default().insert(name);
    }
    found
}

/// Whether an SPDX expression can be met with allowed licences only. `/` is an old way to write OR.
fn permits(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    either(&mut rest, allowed) == Some(true) && rest.is_empty()
}

fn either(rest: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    let mut met = both(rest, allowed)?;
    while rest.first() == Some(&"OR") {
        *rest = &rest[1..];
        met |= both(rest, allowed)?;
    }
    Some(met)
}

fn both(rest: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    let mut met = single(rest, allowed)?;
    while rest.first() == Some(&"AND") {
        *rest = &rest[1..];
        met &= single(rest, allowed)?;
    }
    Some(met)
}

fn single(rest: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    if *first == "(" {
        let met = either(rest, allowed)?;
        let (close, after) = rest.split_first()?;
        *rest = after;
        return (*close == ")").then_some(met);
    }
    let mut name = (*first).to_owned();
    if rest.first() == Some(&"WITH") {
        name = format!("{name} WITH {}", rest.get(1)?);
        *rest = &rest[2..];
    }
    Some(allowed.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> BTreeSet<String> {
        allowed("[licenses]\nallow = [\n    \"MIT\",\n    \"Apache-2.0\",\n    \"A WITH B\",\n]\n")
            .unwrap()
    }

    #[test]
    fn expressions_are_met_or_not() {
        for good in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0 OR (MIT AND Apache-2.0)",
            "MIT/Apache-2.0",
            "A WITH B",
        ] {
            assert!(permits(good, &list()), "{good}");
        }
        for bad in
            ["GPL-3.0", "MIT AND GPL-3.0", "A", "", "(MIT", "MIT GPL-3.0", "none stated", "A WITH"]
        {
            assert!(!permits(bad, &list()), "{bad}");
        }
    }

    #[test]
    fn the_list_of_the_project_is_understood() {
        let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
        assert!(allowed(&text).unwrap().contains("MIT"));
        assert!(allowed("").is_err());
        let commented = "[licenses]\nallow = [\"MIT\", \"ISC\",\n# \"GPL-3.0\",\n]\n";
        assert_eq!(allowed(commented).unwrap().into_iter().collect::<Vec<_>>(), ["ISC", "MIT"]);
    }
}
