//! The project's root, its target folder, and the real data.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// The folder of the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable for `cargo run`; the value of compile time serves a binary started by
    // hand.
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let xtask = PathBuf::from(manifest);
    xtask.parent().map_or_else(|| xtask.clone(), Path::to_path_buf)
}

/// The folder of build output.
pub(crate) fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The published graphs that some tests and benchmarks read.
#[derive(Debug, PartialEq)]
pub(crate) enum RealData {
    /// The value of `BOOSTFGL_DATA`: a folder or a mirror's address.
    Given(String),
    /// The variable is unset, but this folder next to the project exists.
    NextTo(PathBuf),
    /// Neither, with the reason.
    Missing(String),
}

impl RealData {
    /// Looks at the variable first, then at `../shared/data`.
    pub(crate) fn find() -> Result<Self> {
        Self::look(env::var(VARIABLE).ok().as_deref(), &root())
    }

    fn look(variable: Option<&str>, root: &Path) -> Result<Self> {
        match variable {
            Some(given) if !given.is_empty() => {
                if !given.contains("://") && !Path::new(given).is_dir() {
                    bail!(
                        "{VARIABLE}={given} is not a folder: correct it, or unset it to go \
                         without real data"
                    );
                }
                Ok(Self::Given(given.to_owned()))
            }
            _ => {
                // Resolved, so that what is printed can be pasted from any folder.
                match root.join("../shared/data").canonicalize() {
                    Ok(folder) if folder.is_dir() => Ok(Self::NextTo(folder)),
                    _ => Ok(Self::Missing(format!(
                        "{VARIABLE} is not set and there is no folder ../shared/data next to the \
                         project"
                    ))),
                }
            }
        }
    }

    /// The variable that a child process must be given, if it does not inherit it.
    pub(crate) fn to_export(&self) -> Option<(&'static str, String)> {
        match self {
            Self::NextTo(folder) => Some((VARIABLE, folder.display().to_string())),
            Self::Given(_) | Self::Missing(_) => None,
        }
    }

    /// One line: whether tests on real data are run.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Given(place) => format!("real data: {place} (from {VARIABLE})"),
            Self::NextTo(folder) => {
                format!("real data: {} (found next to the project)", folder.display())
            }
            Self::Missing(why) => format!("real-data tests left out: {why}"),
        }
    }
}

const VARIABLE: &str = "BOOSTFGL_DATA";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_given_wrongly_is_an_error_not_a_silent_skip() {
        let error =
            RealData::look(Some("/no/such/folder"), Path::new("/")).unwrap_err().to_string();
        assert!(error.contains("/no/such/folder") && error.contains("unset"), "{error}");
    }

    #[test]
    fn an_empty_variable_counts_as_unset_and_a_mirror_needs_no_folder() {
        let nowhere = Path::new("/no/such/project");
        for unset in [None, Some("")] {
            let found = RealData::look(unset, nowhere).unwrap();
            assert!(
                found.describe().starts_with("real-data tests left out: BOOSTFGL_DATA is not set")
            );
            assert_eq!(found.to_export(), None);
        }
        let mirror = "https://mirror.example/graphs";
        assert_eq!(
            RealData::look(Some(mirror), nowhere).unwrap(),
            RealData::Given(mirror.to_owned())
        );
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.toml").is_file() && root().join("xtask/Cargo.toml").is_file());
    }
}
