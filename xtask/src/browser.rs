//! A real browser for the tests of the report and of the live page.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::needs::{install, may_install};
use crate::project::{root, target};
use crate::shell::{answer, run, succeeds};

/// Where tests look for the browser.
const VARIABLE: &str = "BOOSTFGL_CHROMIUM";

/// Where they look for the program, which the tests before them built.
const PROGRAM: &str = "BOOSTFGL_BIN";

/// Names under which systems install it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The oldest Node.js that has what the tests and the driver of the browser need.
const OLDEST_NODE: u32 = 18;

/// The tests, from the root. Named one by one: what Node.js makes of a folder depends on its
/// version.
const TESTS: [&str; 2] = ["tests/browser/report.test.mjs", "tests/browser/serve.test.mjs"];

/// A browser, and Node.js to drive it.
#[derive(Debug, PartialEq)]
pub(crate) enum Browser {
    /// The variable names one.
    Given(String),
    /// One that the system has.
    Found(String),
    /// None, and why.
    Missing(String),
}

impl Browser {
    /// Takes what the variable names or what the system has, and installs what it lacks if that is
    /// allowed. What is still missing leaves out the tests in a browser, except in continuous
    /// integration, where nothing may be left out unseen.
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
        let look = || match variable.filter(|given| !given.is_empty()) {
            Some(given) => driver().map(|()| Self::Given(given)),
            None => browser().and_then(|found| driver().map(|()| Self::Found(found))),
        };
        match look() {
            Err(error) if ci => {
                Err(error).context("CI=true, so tests in a browser are not left out")
            }
            Err(error) => Ok(Self::Missing(format!("{error:#}"))),
            found => found,
        }
    }

    /// The tests, if there is a browser. They use the program that the tests before them built:
    /// another `cargo build` would leave out what only tests ask of dependencies, and compile half
    /// of them again for that.
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

    /// One line that says whether the tests in a browser take part.
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
    let find = || NAMES.into_iter().find_map(installed);
    if find().is_none() && may_install() {
        // A bare system has no font, and Chromium only recommends one.
        install(&["chromium", "fonts-liberation"])?;
    }
    find().context("Chromium is not installed (on Debian: apt-get install chromium)")
}

/// Where a program is that can be started by its name.
fn installed(name: &str) -> Option<String> {
    let folders = env::var_os("PATH")?;
    let file =
        env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| file.is_file())?;
    Some(file.display().to_string())
}

/// Node.js, and what the tests take from npm.
fn ensure_driver() -> Result<()> {
    // What a program is called, and the package that has it.
    let needed = [("node", "nodejs"), ("npm", "npm")];
    let missing =
        || needed.iter().filter(|(name, _)| !succeeds(Command::new(name).arg("--version")));
    let packages: Vec<&str> = missing().map(|(_, package)| *package).collect();
    if !packages.is_empty() && may_install() {
        install(&packages)?;
    }
    if missing().next().is_some() {
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

/// What the lock file of a folder lists; a copy of the list stored next to it saves the next call the
/// work.
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

/// Whether both files are there and hold the same.
fn same(a: &Path, b: &Path) -> bool {
    let read = |path: &Path| fs::read(path).ok();
    read(a).is_some_and(|a| read(b).is_some_and(|b| a == b))
}

/// Whether a version as Node.js prints it, such as `v18.20.4`, is one that can be used.
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
    fn what_is_missing_is_left_out_but_not_in_ci() {
        let missing = Browser::look(None, false, || Ok(()), fails).unwrap();
        assert_eq!(missing.describe(), "tests in a browser left out: no network");
        assert!(missing.command().is_none());
        for variable in [None, Some("/opt/chrome".to_owned())] {
            let error = format!("{:#}", Browser::look(variable, true, fails, found).unwrap_err());
            assert_eq!(error, "CI=true, so tests in a browser are not left out: no network");
        }
    }

    #[test]
    fn fast_does_not_even_look() {
        assert_eq!(Browser::find(true).unwrap().describe(), "tests in a browser left out: --fast");
    }

    #[test]
    fn a_given_browser_is_taken_as_it_is() {
        let given = Browser::look(Some("/opt/chrome".to_owned()), true, || Ok(()), fails).unwrap();
        assert_eq!(given, Browser::Given("/opt/chrome".to_owned()));
        let unset = Browser::look(Some(String::new()), true, || Ok(()), found).unwrap();
        assert_eq!(unset, Browser::Found("chromium".to_owned()));
    }

    #[test]
    fn tests_are_told_which_browser_and_which_program() {
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
    fn every_test_in_the_folder_is_named() {
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
    fn old_versions_of_node_are_known() {
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
