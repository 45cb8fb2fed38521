//! `cargo xtask coverage`: the lines that tests reach, in the files that results depend on.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::project::{root, target};
use crate::shell::{run, shown};
use crate::tool;

/// Lines that tests reach, file by file (cargo-llvm-cov; installed on first use).
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Crates whose tests are run.
    #[arg(long, value_name = "CRATE", default_values = ["boostfgl-disk", "boostfgl-fed", "boostfgl-fairness", "boostfgl"])]
    package: Vec<String>,
    /// Only files whose path contains one of these.
    #[arg(default_values = ["disk/src", "fed/src/aggregate", "fed/src/screen", "fairness/src/metrics", "checkpoint"])]
    files: Vec<String>,
    /// Also the tests that take hours when every line is counted.
    #[arg(long)]
    all: bool,
}

/// Tests of every method with every boost on every backbone: counting every line makes their inner
/// loops many times slower.
const TAKE_HOURS: [&str; 6] = [
    "conformance",
    "ends_with_the_same_bits",
    "equalities",
    "trajectories",
    "unusual_data",
    "ordered_products",
];

pub(crate) fn run_all(args: &Args) -> Result<()> {
    let report = target().join("coverage.json");
    let mut command = tool::subcommand("llvm-cov")?;
    command.args(["--json", "--summary-only", "--output-path"]).arg(&report);
    command.args(args.package.iter().flat_map(|name| ["--package", name]));
    if !args.all {
        command.arg("--").args(TAKE_HOURS.iter().flat_map(|name| ["--skip", name]));
        println!(
            "left out (--all takes them in): tests whose name contains {}",
            TAKE_HOURS.join(", ")
        );
    }
    println!("{}", shown(&command));
    run(&mut command)?;
    let text =
        std::fs::read(&report).with_context(|| format!("cannot read {}", report.display()))?;
    let rows =
        rows(&serde_json::from_slice(&text).context("cargo-llvm-cov writes JSON")?, &args.files);
    if rows.is_empty() {
        bail!("no file contains any of {}", args.files.join(", "));
    }
    println!("{:<60} {:>7} {:>7} {:>7}", "file", "lines", "reached", "%");
    for (name, lines, reached) in rows {
        println!(
            "{name:<60} {lines:>7} {reached:>7} {:>7.1}",
            100.0 * reached as f64 / lines.max(1) as f64
        );
    }
    Ok(())
}

/// Path, lines, lines reached; the sum comes last.
fn rows(report: &Value, wanted: &[String]) -> Vec<(String, u64, u64)> {
    let files = report["data"][0]["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    let root = format!("{}/", root().display());
    let mut rows: Vec<(String, u64, u64)> = files
        .iter()
        .filter_map(|file| {
            let name = file["filename"].as_str()?.replace(&root, "");
            let lines = &file["summary"]["lines"];
            let row = (name, lines["count"].as_u64()?, lines["covered"].as_u64()?);
            wanted.iter().any(|part| row.0.contains(part)).then_some(row)
        })
        .collect();
    if rows.len() > 1 {
        let sum = rows.iter().fold((0, 0), |sum, row| (sum.0 + row.1, sum.1 + row.2));
        rows.push(("all of these".to_owned(), sum.0, sum.1));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_becomes_rows_and_a_sum() {
        let file = |name: &str, count: u64, covered: u64| serde_json::json!({"filename": name, "summary": {"lines": {"count": count, "covered": covered}}});
        let files = [
            file("/x/disk/src/a.rs", 10, 9),
            file("/x/disk/src/b.rs", 30, 30),
            file("/x/nn/src/c.rs", 5, 0),
        ];
        let rows = rows(&serde_json::json!({"data": [{"files": files}]}), &["disk/src".to_owned()]);
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[2], ("all of these".to_owned(), 40, 39));
    }
}
