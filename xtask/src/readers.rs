//! Programs that read our exports and models, for the tests that compare what they read.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::needs::python_with;
use crate::project::target;

/// The versions are fixed, so that a new release cannot change the result of a test.
const PACKAGES: [&str; 3] = ["numpy==2.4.6", "pyarrow==26.0.1", "tensorboard==2.21.0"];

/// The variable that names the interpreter for the tests.
const VARIABLE: &str = "BOOSTFGL_PYTHON";

/// A Python that has TensorBoard, pyarrow and NumPy.
#[derive(Debug, PartialEq)]
pub(crate) enum Readers {
    /// The variable names one.
    Given(String),
    /// One of our own, under the target folder.
    Made(PathBuf),
    /// None, with the reason.
    Missing(String),
}

impl Readers {
    /// Uses the interpreter of the variable, or makes an environment. If that fails, the tests that
    /// need it are skipped; in continuous integration that is an error.
    pub(crate) fn find() -> Result<Self> {
        let ci = env::var("CI").is_ok_and(|ci| ci == "true");
        Self::look(env::var(VARIABLE).ok(), ci, || python_with(&target(), "readers", &PACKAGES))
    }

    fn look(
        variable: Option<String>,
        ci: bool,
        make: impl Fn() -> Result<PathBuf>,
    ) -> Result<Self> {
        match variable.filter(|given| !given.is_empty()) {
            Some(given) => Ok(Self::Given(given)),
            None => match make() {
                Ok(python) => Ok(Self::Made(python)),
                Err(error) if ci => {
                    Err(error).context("CI=true, so tests that need Python are not left out")
                }
                Err(error) => Ok(Self::Missing(format!("{error:#}"))),
            },
        }
    }

    /// The variable that a child process must be given, if it does not inherit it.
    pub(crate) fn to_export(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Made(python) => Some((VARIABLE, python.display().to_string())),
            Self::Given(_) | Self::Missing(_) => None,
        }
    }

    /// One line: whether the tests that need them are run.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Given(python) => format!("readers of exports: {python} (from {VARIABLE})"),
            Self::Made(python) => format!("readers of exports: {}", python.display()),
            Self::Missing(why) => format!("tests by readers of exports left out: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn a_failing_installation_skips_its_tests_but_fails_ci() {
        let fails = || bail!("no network");
        let missing = Readers::look(None, false, fails).unwrap();
        assert_eq!(missing.describe(), "tests by readers of exports left out: no network");
        assert_eq!(missing.to_export(), None);
        let error = format!("{:#}", Readers::look(None, true, fails).unwrap_err());
        assert_eq!(error, "CI=true, so tests that need Python are not left out: no network");
    }

    #[test]
    fn a_given_python_is_used_unchanged() {
        let never = || bail!("nothing is made");
        let given = Readers::look(Some("/usr/bin/python3".to_owned()), true, never).unwrap();
        assert_eq!(given, Readers::Given("/usr/bin/python3".to_owned()));
        assert_eq!(given.to_export(), None);
        let made = Readers::look(Some(String::new()), true, || Ok("/venv/python".into())).unwrap();
        assert_eq!(made.to_export(), Some(("BOOSTFGL_PYTHON", "/venv/python".to_owned())));
    }
}
