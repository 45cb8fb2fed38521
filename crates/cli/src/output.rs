//! Output to the terminal, and the form of error messages.

use boostfgl::report::Style;
use boostfgl::{Error, graph};
use clap::CommandFactory as _;
use clap::error::ErrorKind;
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

/// Prints an error with advice and returns its exit code.
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    // A broken pipe (`boostfgl data list | head`) means graceful termination.
    if error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
    {
        return ExitCode::SUCCESS;
    }
    let known = error.downcast_ref::<Error>();
    if let Some(Error::Stopped { folder, .. }) = known {
        // Stopping was requested, so this is not an error.
        print_stderr(&format!("{error}\n  to continue: {}", resume_command(folder)));
        return ExitCode::from(crate::signals::INTERRUPTED);
    }
    // Each message contains its cause, and is one line unless it lists several problems.
    let lines = match known {
        Some(known) => known.lines(),
        None => vec![error.to_string().replace(['\n', '\r'], " ")],
    };
    print_stderr(&format!("error: {}", lines.join("\n")));
    let serving = error.downcast_ref::<boostfgl_serve::Error>().map(boostfgl_serve::Error::advice);
    let default = "Check that the disk is not full and that you have the permissions.";
    let instead = match known {
        Some(Error::Graph(graph::Error::Unknown { kind: "dataset", name, .. })) => {
            command_instead(name)
        }
        _ => None,
    };
    let advice = known.map(Error::advice).or(serving).unwrap_or(default);
    print_stderr(&format!("  help: {}", instead.as_deref().unwrap_or(advice)));
    ExitCode::from(if known.is_some_and(Error::is_input) { 2 } else { 1 })
}

/// The command that continues a stopped run.
pub(crate) fn resume_command(folder: &Path) -> String {
    let arguments = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    format!("boostfgl resume {}{}", quoted(&folder.display().to_string()), data_dir(arguments))
}

/// The flag `--data-dir` of a command line, as it was given. A run does not store it, since data
/// may move.
fn data_dir(mut arguments: impl Iterator<Item = String>) -> String {
    let flag = arguments.find(|word| word == "--data-dir" || word.starts_with("--data-dir="));
    match flag.as_deref().map(|flag| flag.split_once('=')) {
        Some(Some((flag, folder))) => format!(" {flag}={}", quoted(folder)),
        Some(None) => arguments
            .next()
            .map(|folder| format!(" --data-dir {}", quoted(&folder)))
            .unwrap_or_default(),
        None => String::new(),
    }
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(needs_no_quotes) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Whether a shell takes a character literally outside quotes.
fn needs_no_quotes(c: char) -> bool {
    c.is_alphanumeric() || "-_./=:,+@%".contains(c)
}

/// Prints the error of a command line in the same form, or the requested help or version.
pub(crate) fn fail_to_parse(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            return print(&text).map_or_else(|error| fail(&error), |()| ExitCode::SUCCESS);
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            print_stderr(&format!("error: a command is missing\n\n{}\n", text.trim_end()));
        }
        _ => {
            let lines: Vec<&str> =
                text.lines().filter(|line| !line.starts_with("For more information")).collect();
            print_stderr(&format!("{}\n", lines.join("\n").trim_end()));
        }
    }
    // In `boostfgl run compare cora` the second word is the intended command.
    let second = std::env::args().nth(2).filter(|_| error.kind() == ErrorKind::UnknownArgument);
    let instead = second.as_deref().and_then(command_instead);
    print_stderr(&format!(
        "  help: {}",
        instead.as_deref().unwrap_or("Add --help to see every argument with its meaning.")
    ));
    ExitCode::from(2)
}

/// Advice if a word in the place of a dataset is the name of a command.
pub(crate) fn command_instead(word: &str) -> Option<String> {
    let known = crate::Program::command();
    let is_command = known.get_subcommands().any(|command| command.get_name() == word);
    is_command.then(|| format!("`{word}` is a command: write `boostfgl {word} …`."))
}

/// Refuses to replace a file without `--overwrite`, or to write where no file can be. Called before
/// the work, so that nothing is lost.
pub(crate) fn check_new_file(to: &Path, overwrite: bool) -> anyhow::Result<()> {
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    let (reason, advice) = if to.is_dir() {
        ("expected the name of a file, found a folder", "Name a file inside the folder.")
    } else if to.exists() && !overwrite {
        (
            "expected a new file, found an existing one",
            "Choose another name, or pass --overwrite to replace the file.",
        )
    } else if parent.is_some_and(|parent| !parent.is_dir()) {
        ("expected a file in an existing folder, found no such folder", "Create the folder first.")
    } else {
        return Ok(());
    };
    Err(Error::usage(to.display().to_string(), reason, advice).into())
}

/// A name and its explanation, on lines of at most 100 columns.
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

/// Prints a line on standard error. A closed pipe is ignored, so that the work continues.
pub(crate) fn print_stderr(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints a warning that does not stop the command.
pub(crate) fn note(text: &str) {
    print_stderr(&format!("note: {text}"));
}

/// Writes to standard output; a closed pipe is an error that [`fail`] treats as success.
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
    fn resume_hint_repeats_data_dir() {
        for (line, flag) in [
            ("boostfgl run cora --data-dir d --quiet", " --data-dir d"),
            ("boostfgl run cora --data-dir=d --quiet", " --data-dir=d"),
            ("boostfgl run cora", ""),
        ] {
            assert_eq!(data_dir(line.split(' ').map(str::to_owned)), flag, "{line}");
        }
    }
}
