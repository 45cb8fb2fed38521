//! Child processes: starting them, printing their command line, reading their output.

use std::env;
use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Cargo itself, the same one that started this program, in the project's root.
pub(crate) fn cargo<I, S>(args: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(crate::project::root());
    // Variables about this package would make build scripts that read them run again.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(describes_package) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether cargo sets a variable to describe the package that it runs.
fn describes_package(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

/// The command as one would type it, with the variables it sets.
pub(crate) fn shown(command: &Command) -> String {
    let program = command.get_program();
    // `CARGO` is a full path; `cargo` is what one would type.
    let program = if Some(program) == env::var_os("CARGO").as_deref() {
        OsStr::new("cargo")
    } else {
        program
    };
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), quoted(value?))));
    let words = std::iter::once(program).chain(command.get_args()).map(quoted);
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

/// Runs a command to the end and passes its output through; an error if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", shown(command));
    }
    Ok(())
}

/// Whether a command starts and succeeds; its output is discarded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The trimmed output of a command; `None` if it does not start or fails.
pub(crate) fn answer(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if !word.is_empty() && word.chars().all(needs_no_quotes) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Whether a shell takes a character literally outside quotes.
fn needs_no_quotes(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_command_can_be_pasted_into_a_shell() {
        let mut command = Command::new("tool");
        command.args(["--flag", "two words", "it's"]).env("FLAGS", "-D warnings");
        assert_eq!(shown(&command), r"FLAGS='-D warnings' tool --flag 'two words' 'it'\''s'");
    }

    #[test]
    fn cargo_is_shown_by_its_name() {
        assert_eq!(shown(&cargo(["fmt", "--all"])), "cargo fmt --all");
    }

    #[test]
    fn a_failing_command_is_an_error_that_names_it() {
        let error = run(&mut cargo(["no-such-subcommand-here"])).unwrap_err().to_string();
        assert!(error.contains("cargo no-such-subcommand-here"), "{error}");
    }
}
