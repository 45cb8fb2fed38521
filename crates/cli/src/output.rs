//! What goes to the terminal, and how errors are told.

use boostfgl::report::Style;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

/// Prints an error with what to do about it, and says which exit code it deserves.
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    // A reader that went away (`boostfgl data list | head`) is not an error.
    if error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    let known = known(error);
    eprintln!("error: {error:#}");
    if let Some(known) = &known {
        eprintln!("  help: {}", known.advice());
    }
    ExitCode::from(if known.is_none_or(boostfgl::Error::is_input) { 2 } else { 1 })
}

fn known(error: &anyhow::Error) -> Option<&boostfgl::Error> {
    error.downcast_ref::<boostfgl::Error>()
}

/// How tables on standard output are drawn: in colour on a terminal, unless `NO_COLOR` is set.
pub(crate) fn style() -> Style {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    if std::io::stdout().is_terminal() && !plain { Style::Colour } else { Style::Plain }
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
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    out
}
