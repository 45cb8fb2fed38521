//! A real browser for the tests of the report and of the live page.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::needs::{install, may_install};
use crate::project::{root, target};
use crate::shell::{answer, run, succeeds};

/// The variable that names the browser for the tests.
const VARIABLE: &str = "BOOSTFGL_CHROMIUM";

/// The variable that names the program, which the tests before them built.
const PROGRAM: &str = "BOOSTFGL_BIN";

/// Names under which systems install it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The oldest Node.js that the tests and the driver of the browser support.
const OLDEST_NODE: u32 = 18;

/// The tests, as paths from the root. They are listed one by one, since Node.js treats a folder
/// differently from version to version.
const TESTS: [&str; 2] = ["tests/browser/report.test.mjs", "tests/browser/serve.test.mjs"];

/// A browser, and Node.js to drive it.
#[derive(Debug, PartialEq)]
pub(crate) enum Browser {
    /// The variable names one.
    Given(String),
    /// One that the system has.
    Found(String),
    /// None, with the reason.
    Missing(String),
}

impl Browser {
    /// Uses the browser of the variable or of the system; installs what is missing if that is
    /// allowed. Without a browser its tests are skipped; in continuous integration that is an
    /// error.
    pub(crate) fn find(fast: bool) -> Result<Self> {
        if fast {
            return Ok(Self::Missing("--fast".to_owned()));
        }
        let ci = env::var("CI").is_ok_and(|ci| ci == "true");
        Self::look(env::var(VARIABLE).ok(), ci, ensure_driver, ensure_browser)
    }

    fn look(
        variable: Option<String>,
        ci: bool,
        driver: impl Fn() -> Result<()>,
        browser: impl Fn() -> Result<String>,
    ) -> Result<Self> {
        let result = match variable.filter(|given| !given.is_empty()) {
            Some(given) => driver().map(|()| Self::Given(given)),
            None => browser().and_then(|found| driver().map(|()| Self::Found(found))),
        };
        match result {
            Err(error) if ci => {
                Err(error).context("CI=true, so tests in a browser are not left out")
            }
            Err(error) => Ok(Self::Missing(format!("{error:#}"))),
            found => found,
        }
    }

    /// The tests, if there is a browser. They use the program that the tests before them built: a
    /// `cargo build` has other features of dependencies and would compile half of them again.
    pub(crate) fn command(&self) -> Option<Command> {
        let mut command = Command::new("node");
        match self {
            Self::Given(_) => {}
            Self::Found(browser) => {
                command.env(VARIABLE, browser);
            }
            Self::Missing(_) => return None,
        }
        let program = target().join("debug").join(format!("boostfgl{}", env::consts::EXE_SUFFIX));
        command.arg("--test").args(TESTS).env(PROGRAM, program).current_dir(root());
        Some(command)
    }

    /// One line: whether the tests in a browser are run.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Given(browser) => format!("browser: {browser} (from {VARIABLE})"),
            Self::Found(browser) => format!("browser: {browser}"),
            Self::Missing(why) => format!("tests in a browser left out: {why}"),
        }
    }
}

/// The path of the first browser by name, installed if need be.
fn ensure_browser() -> Result<String> {
    if installed_browser().is_none() && may_install() {
        // A minimal system has no font, and Chromium only recommends one.
        install(&["chromium", "fonts-liberation"])?;
    }
    installed_browser().context("Chromium is not installed (on Debian: apt-get install chromium)")
}

/// The path of the first browser by name.
fn installed_browser() -> Option<String> {
    NAMES.into_iter().find_map(installed)
}

/// The path of a program on `PATH`.
fn installed(name: &str) -> Option<String> {
    let folders = env::var_os("PATH")?;
    let file =
        env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| file.is_file())?;
    Some(file.display().to_string())
}

/// Node.js, and what the tests take from npm.
fn ensure_driver() -> Result<()> {
    let packages = missing_packages();
    if !packages.is_empty() && may_install() {
        install(&packages)?;
    }
    if !missing_packages().is_empty() {
        bail!(
            "Node.js or npm is not installed (on Debian: apt-get install {})",
            packages.join(" ")
        );
    }
    let version = answer(Command::new("node").arg("--version")).unwrap_or_default();
    if !is_new_enough(&version) {
        bail!("Node.js {version} is too old: install {OLDEST_NODE} or later");
    }
    ensure_packages(&root().join("tests/browser"))
}

/// The Debian packages of the programs that are not installed.
fn missing_packages() -> Vec<&'static str> {
    [("node", "nodejs"), ("npm", "npm")]
        .into_iter()
        .filter(|(program, _)| !succeeds(Command::new(program).arg("--version")))
        .map(|(_, package)| package)
        .collect()
}

/// Installs the packages of the lock file of a folder, unless a copy of that file shows that they
/// are installed.
fn ensure_packages(folder: &Path) -> Result<()> {
    let (lock, copy) =
        (folder.join("package-lock.json"), folder.join("node_modules/installed.json"));
    if same(&lock, &copy) {
        return Ok(());
    }
    run(Command::new("npm").args(["ci", "--ignore-scripts", "--silent"]).current_dir(folder))
        .context("npm could not install the packages: is the network there?")?;
    fs::copy(&lock, &copy).with_context(|| format!("cannot write {}", copy.display()))?;
    Ok(())
}

/// Whether both files exist and have the same content.
fn same(a: &Path, b: &Path) -> bool {
    matches!((fs::read(a), fs::read(b)), (Ok(a), Ok(b)) if a == b)
}

/// Whether a version as Node.js prints it, such as `v18.20.4`, is supported.
fn is_new_enough(version: &str) -> bool {
    let major = version.trim_start_matches('v').split('.').next();
    major.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= OLDEST_NODE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::shown;

    fn fails<T>() -> Result<T> {
        bail!("no network")
    }

    fn found() -> Result<String> {
        Ok("chromium".to_owned())
    }

    #[test]
    fn a_missing_browser_skips_its_tests_but_fails_ci() {
        let missing = Browser::look(None, false, || Ok(()), fails).unwrap();
        assert_eq!(missing.describe(), "tests in a browser left out: no network");
        assert!(missing.command().is_none());
        for variable in [None, Some("/opt/chrome".to_owned())] {
            let error = format!("{:#}", Browser::look(variable, true, fails, found).unwrap_err());
            assert_eq!(error, "CI=true, so tests in a browser are not left out: no network");
        }
    }

    #[test]
    fn fast_skips_the_browser() {
        assert_eq!(Browser::find(true).unwrap().describe(), "tests in a browser left out: --fast");
    }

    #[test]
    fn a_given_browser_is_used_unchanged() {
        let given = Browser::look(Some("/opt/chrome".to_owned()), true, || Ok(()), fails).unwrap();
        assert_eq!(given, Browser::Given("/opt/chrome".to_owned()));
        let unset = Browser::look(Some(String::new()), true, || Ok(()), found).unwrap();
        assert_eq!(unset, Browser::Found("chromium".to_owned()));
    }

    #[test]
    fn tests_get_browser_and_program_in_variables() {
        let command = |browser: Browser| shown(&browser.command().unwrap());
        let found = command(Browser::Found("chromium".to_owned()));
        assert!(
            found.starts_with("BOOSTFGL_BIN=")
                && found.contains(" BOOSTFGL_CHROMIUM=chromium node --test "),
            "{found}"
        );
        assert!(
            found.ends_with("tests/browser/report.test.mjs tests/browser/serve.test.mjs"),
            "{found}"
        );
        assert!(!command(Browser::Given("/opt/chrome".to_owned())).contains("BOOSTFGL_CHROMIUM"));
    }

    #[test]
    fn every_test_in_the_folder_is_listed() {
        let names = fs::read_dir(root().join("tests/browser"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> =
            names.map(|name| format!("tests/browser/{}", name.to_string_lossy())).collect();
        names.retain(|name| name.ends_with(".test.mjs"));
        names.sort();
        assert_eq!(names, TESTS);
    }

    #[test]
    fn old_versions_of_node_are_refused() {
        for (version, enough) in
            [("v18.20.4", true), ("v24.0.0", true), ("v16.1.0", false), ("", false), ("vx", false)]
        {
            assert_eq!(is_new_enough(version), enough, "{version}");
        }
    }

    #[test]
    fn packages_are_installed_again_when_the_list_changed() {
        let folder = env::temp_dir().join(format!("xtask-browser-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [a, b, none] = ["a", "b", "none"].map(|name| folder.join(name));
        fs::write(&a, "1").unwrap();
        fs::write(&b, "1").unwrap();
        let alike = same(&a, &b);
        fs::write(&b, "2").unwrap();
        let changed = same(&a, &b);
        let absent = [same(&a, &none), same(&none, &a), same(&none, &none)];
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((alike, changed, absent), (true, false, [false; 3]));
    }
}
