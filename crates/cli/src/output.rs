//! What goes to the terminal, and how errors are told.

use boostfgl::report::Style;
use boostfgl::{Error, graph};
use clap::CommandFactory as _;
use clap::error::ErrorKind;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// Prints an error with what to do about it, and says which exit code it deserves.
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    // A reader that went away (`boostfgl data list | head`) is not an error.
    if error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    {
        return ExitCode::SUCCESS;
    }
    let known = error.downcast_ref::<Error>();
    if let Some(Error::Stopped { folder, .. }) = known {
        // Somebody wanted this: no error.
        tell(&format!("{error}\n  to go on: {}", resume_command(folder)));
        return ExitCode::from(crate::signals::INTERRUPTED);
    }
    // Each message already says what caused it, and stays on one line unless it lists problems.
    let one_line = || vec![error.to_string().replace(['\n', '\r'], " ")];
    tell(&format!("error: {}", known.map_or_else(one_line, Error::lines).join("\n")));
    let serving = error.downcast_ref::<boostfgl_serve::Error>().map(boostfgl_serve::Error::advice);
    let other = "Check that the disk is not full and that the system allows what was asked.";
    let meant = match known {
        Some(Error::Graph(graph::Error::Unknown { kind: "dataset", name, .. })) => {
            command_instead(name)
        }
        _ => None,
    };
    let advice = known.map(Error::advice).or(serving).unwrap_or(other);
    tell(&format!("  help: {}", meant.as_deref().unwrap_or(advice)));
    ExitCode::from(if known.is_some_and(Error::is_input) { 2 } else { 1 })
}

/// What to type to go on with a run that was stopped.
pub(crate) fn resume_command(folder: &Path) -> String {
    let given = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    format!("boostfgl resume {}{}", quoted(&folder.display().to_string()), data_dir(given))
}

/// The flag that says where data are, as it was given: a run does not remember it, since data may
/// move.
fn data_dir(mut given: impl Iterator<Item = String>) -> String {
    let flag = given.find(|word| word == "--data-dir" || word.starts_with("--data-dir="));
    match flag.as_deref().map(|flag| flag.split_once('=')) {
        Some(Some((flag, place))) => format!(" {flag}={}", quoted(place)),
        Some(None) => {
            given.next().map(|place| format!(" --data-dir {}", quoted(&place))).unwrap_or_default()
        }
        None => String::new(),
    }
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Prints what is wrong with a command line in the same form; help and version, which were asked
/// for, as they are.
pub(crate) fn fail_to_parse(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            return print(&text).map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS);
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            tell(&format!("error: a command is missing\n\n{}\n", text.trim_end()));
        }
        _ => {
            let told: Vec<&str> =
                text.lines().filter(|line| !line.starts_with("For more information")).collect();
            tell(&format!("{}\n", told.join("\n").trim_end()));
        }
    }
    // `boostfgl run compare cora` was meant for the second command.
    let meant = std::env::args().nth(2).filter(|_| error.kind() == ErrorKind::UnknownArgument);
    let meant = meant.as_deref().and_then(command_instead);
    tell(&format!(
        "  help: {}",
        meant.as_deref().unwrap_or("Add --help to see every argument with its meaning.")
    ));
    ExitCode::from(2)
}

/// What to say if a word that stands where data are expected is the name of a command.
pub(crate) fn command_instead(word: &str) -> Option<String> {
    let known = crate::Program::command();
    let is_command = known.get_subcommands().any(|command| command.get_name() == word);
    is_command.then(|| format!("`{word}` is a command: write `boostfgl {word} …`."))
}

/// Refuses to write where a file already is, or where no file can be: told before the work, not
/// after it.
pub(crate) fn check_new_file(to: &Path, overwrite: bool) -> anyhow::Result<()> {
    let refuse =
        |reason: &str, advice| Err(Error::usage(to.display().to_string(), reason, advice).into());
    if to.is_dir() {
        return refuse(
            "expected the name of a file, found a folder",
            "Name a file inside the folder.",
        );
    }
    if to.exists() && !overwrite {
        let advice = "Choose another name, or pass --overwrite to replace the file.";
        return refuse("expected a new file, found an existing one", advice);
    }
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    if parent.is_some_and(|parent| !parent.is_dir()) {
        return refuse(
            "expected a file in an existing folder, found no such folder",
            "Make the folder first.",
        );
    }
    Ok(())
}

/// A name and what is said of it, on lines of at most 100 columns.
pub(crate) fn explained(name: &str, text: &str) -> String {
    let mut lines = vec![format!("{name:<18}")];
    for word in text.split(' ') {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line + 1 + word.chars().count() > 100 {
            lines.push(" ".repeat(18));
        }
        if let Some(line) = lines.last_mut() {
            if line.chars().count() > 18 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

/// How tables on standard output are drawn: in colour on a terminal, unless `NO_COLOR` is set.
pub(crate) fn style() -> Style {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    if std::io::stdout().is_terminal() && !plain { Style::Colour } else { Style::Plain }
}

/// Says something on standard error that nothing depends on: if nobody listens any more, the work
/// goes on.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Something that the user should know though all goes on.
pub(crate) fn note(text: &str) {
    tell(&format!("note: {text}"));
}

/// Writes to standard output; a closed pipe becomes an error that [`fail`] forgives.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// 1234567 as 1,234,567.
pub(crate) fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_said_where_data_are_is_told_to_say_it_again() {
        let told = |line: &str| data_dir(line.split(' ').map(str::to_owned));
        assert_eq!(told("boostfgl run cora --data-dir d --quiet"), " --data-dir d");
        assert_eq!(told("boostfgl run cora --data-dir=d --quiet"), " --data-dir=d");
        assert_eq!(told("boostfgl run cora"), "");
    }
}
