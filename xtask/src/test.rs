//! `cargo xtask test`: every check of the project, in the order in which they fail fastest.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::browser::Browser;
use crate::project::RealData;
use crate::readers::Readers;
use crate::shell::{cargo, shown, succeeds};

/// Format, lints, tests, the example of a method from outside, browser, documentation; stops at the
/// first that fails.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leaves out the tests in a browser, and the documentation: doc tests and rustdoc.
    #[arg(long)]
    fast: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let data = RealData::find()?;
    println!("{}", data.describe());
    let readers = Readers::find()?;
    println!("{}", readers.describe());
    let browser = Browser::find(args.fast)?;
    println!("{}", browser.describe());

    let steps = steps(args.fast, has_nextest(), &data, &readers, &browser);
    let begun = Instant::now();
    for (index, step) in steps.into_iter().enumerate() {
        step.run(index + 1)?;
    }
    let left_out = if args.fast { ", documentation left out (--fast)" } else { "" };
    let seconds = begun.elapsed().as_secs_f64();
    let took_part = [data.describe(), readers.describe(), browser.describe()].join("; ");
    println!("\nall checks passed in {seconds:.1} s{left_out}; {took_part}");
    Ok(())
}

/// One check: its name and command.
struct Step {
    name: &'static str,
    command: Command,
}

impl Step {
    /// A step that is a cargo command.
    fn new(name: &'static str, args: &[&str]) -> Self {
        Self { name, command: cargo(args) }
    }

    fn run(mut self, number: usize) -> Result<()> {
        let command = shown(&self.command);
        println!("\n[{number}] {}: {command}", self.name);
        let begun = Instant::now();
        let status = self.command.status().with_context(|| format!("cannot start `{command}`"))?;
        let seconds = begun.elapsed().as_secs_f64();
        if !status.success() {
            bail!(
                "step {number} ({}) failed after {seconds:.1} s; to run it alone:\n  {command}",
                self.name
            );
        }
        println!("[{number}] {}: passed in {seconds:.1} s", self.name);
        Ok(())
    }
}

/// The seed of proptest's cases. It is fixed, so that the same code gives the same result; a plain
/// `cargo nextest run` draws new cases each time.
const CASES: (&str, &str) = ("PROPTEST_RNG_SEED", "20260711");

fn steps(
    fast: bool,
    nextest: bool,
    data: &RealData,
    readers: &Readers,
    browser: &Browser,
) -> Vec<Step> {
    let mut steps = vec![
        Step::new("format", &["fmt", "--all", "--check"]),
        Step::new("licences", &["xtask", "deny", "--licences"]),
        Step::new("lints", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ];
    // nextest does not run doc tests; `cargo test` runs them unless it is given targets.
    match (nextest, fast) {
        (true, _) => steps.push(Step::new("tests", &["nextest", "run", "--workspace"])),
        (false, true) => steps.push(Step::new("tests", &["test", "--workspace", "--all-targets"])),
        (false, false) => steps.push(Step::new("tests", &["test", "--workspace"])),
    }
    // After the tests, whose dependencies it shares.
    steps.push(Step::new("own method", &["xtask", "example"]));
    // After the tests, which build the program.
    steps.extend(browser.command().map(|command| Step { name: "browser", command }));
    if !fast {
        steps.push(Step::new("stress", &["xtask", "stress", "--short"]));
    }
    if nextest && !fast {
        steps.push(Step::new("doc tests", &["test", "--workspace", "--doc"]));
    }
    for step in steps.iter_mut().filter(|step| RUN_TESTS.contains(&step.name)) {
        step.command.envs(data.to_export()).envs(readers.to_export()).env(CASES.0, CASES.1);
    }
    if !fast {
        let mut doc = Step::new("documentation", &["doc", "--workspace", "--no-deps"]);
        doc.command.env("RUSTDOCFLAGS", "-D warnings");
        steps.push(doc);
    }
    steps
}

/// The steps that run tests: they get the variables of data, interpreter and proptest.
const RUN_TESTS: [&str; 3] = ["tests", "stress", "doc tests"];

fn has_nextest() -> bool {
    succeeds(&mut cargo(["nextest", "--version"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(fast: bool, nextest: bool, data: &RealData) -> Vec<String> {
        planned(fast, nextest, data, &Readers::Missing(String::new()))
    }

    fn planned(fast: bool, nextest: bool, data: &RealData, readers: &Readers) -> Vec<String> {
        let browser = Browser::Missing(String::new());
        steps(fast, nextest, data, readers, &browser)
            .iter()
            .map(|step| shown(&step.command))
            .collect()
    }

    #[test]
    fn doc_tests_run_once_with_and_without_nextest() {
        let none = RealData::Missing(String::new());
        assert_eq!(
            plan(false, true, &none),
            [
                "cargo fmt --all --check",
                "cargo xtask deny --licences",
                "cargo clippy --workspace --all-targets -- -D warnings",
                "PROPTEST_RNG_SEED=20260711 cargo nextest run --workspace",
                "cargo xtask example",
                "PROPTEST_RNG_SEED=20260711 cargo xtask stress --short",
                "PROPTEST_RNG_SEED=20260711 cargo test --workspace --doc",
                "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps",
            ]
        );
        assert_eq!(
            plan(false, false, &none)[3],
            "PROPTEST_RNG_SEED=20260711 cargo test --workspace"
        );
        assert_eq!(plan(false, false, &none).len(), 7);
        assert_eq!(plan(true, true, &none).len(), 5);
    }

    #[test]
    fn data_found_next_to_the_project_reach_the_tests_and_the_command_to_rerun() {
        let next_to = RealData::NextTo("/graphs".into());
        assert_eq!(
            plan(true, true, &next_to)[3],
            "BOOSTFGL_DATA=/graphs PROPTEST_RNG_SEED=20260711 cargo nextest run --workspace"
        );
        let given = RealData::Given("/graphs".into());
        assert_eq!(
            plan(true, true, &given)[3],
            "PROPTEST_RNG_SEED=20260711 cargo nextest run --workspace"
        );
    }

    #[test]
    fn tests_get_the_interpreter_that_reads_exports() {
        let (none, made) = (RealData::Missing(String::new()), Readers::Made("/venv/python".into()));
        assert_eq!(
            planned(true, true, &none, &made)[3],
            "BOOSTFGL_PYTHON=/venv/python PROPTEST_RNG_SEED=20260711 cargo nextest run --workspace"
        );
    }

    #[test]
    fn the_browser_comes_after_the_tests_that_build_the_program() {
        let (none, readers) = (RealData::Missing(String::new()), Readers::Missing(String::new()));
        for nextest in [true, false] {
            let with =
                steps(false, nextest, &none, &readers, &Browser::Found("chromium".to_owned()));
            let names: Vec<&str> = with.iter().map(|step| step.name).collect();
            assert_eq!(
                names[..6],
                ["format", "licences", "lints", "tests", "own method", "browser"]
            );
            assert_eq!(
                steps(false, nextest, &none, &readers, &Browser::Missing(String::new())).len(),
                with.len() - 1
            );
        }
    }

    #[test]
    fn a_failing_step_prints_how_to_rerun_it() {
        let step = Step { name: "lints", command: cargo(["no-such-subcommand-here"]) };
        let error = step.run(2).unwrap_err().to_string();
        assert!(error.starts_with("step 2 (lints) failed after"), "{error}");
        assert!(error.ends_with("\n  cargo no-such-subcommand-here"), "{error}");
    }
}
