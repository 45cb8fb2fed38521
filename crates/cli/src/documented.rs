//! Tests of the documentation: every command in help texts and documents is parsed, and every
//! name in it is looked up.

use crate::Program;
use boostfgl::datasets::catalogue::Lookup;
use boostfgl::fairness::diagnostics::DiagnosticKind;
use boostfgl::fairness::{FrameMetric, Grouping};
use boostfgl::fed::{boost::Boost, methods};
use boostfgl::report::StreamKind;
use boostfgl::report::export::Format;
use boostfgl::report::figure::Figure;
use boostfgl::{Data, Layers, grid};
use clap::{ArgMatches, Command, CommandFactory as _};
use std::collections::BTreeSet;

/// The placeholders for the reader's own data: of a run, and new ones.
const OWN_DATA: [&str; 2] = ["my-folder", "new.npz"];

/// The words of a command as a shell splits them, up to a comment or a redirection.
fn words(line: &str) -> Vec<String> {
    let line = line.replace("$(openssl rand -hex 16)", "0123456789abcdef0123456789abcdef");
    let mut words = Vec::new();
    let (mut word, mut quoted, mut begun) = (String::new(), false, false);
    for c in line.chars() {
        match c {
            '\'' => (quoted, begun) = (!quoted, true),
            '#' | '>' | '|' if !quoted && !begun => break,
            c if c.is_whitespace() && !quoted => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

/// The parsed command line.
fn parsed(words: &[String]) -> ArgMatches {
    let matches = Program::command().try_get_matches_from(words);
    matches.unwrap_or_else(|error| panic!("{}\n{error}", words.join(" ")))
}

/// The values of an argument, default or not, as they were typed.
fn values(matches: &ArgMatches, id: &str) -> Vec<String> {
    let raw = matches.try_get_raw(id).ok().flatten();
    raw.into_iter().flatten().map(|value| value.to_string_lossy().into_owned()).collect()
}

/// Looks up every name in a command.
fn check_names(line: &str, matches: &ArgMatches) {
    let Some((command, matches)) = matches.subcommand() else { return };
    if matches.subcommand().is_some() {
        return check_names(line, matches);
    }
    for (id, is_known) in KNOWN {
        for value in values(matches, id) {
            assert!(is_known(&value), "{line}: there is no {id} `{value}`");
        }
    }
    let target = values(matches, "target").pop();
    if let Some(name) = target.as_deref().filter(|name| !name.starts_with("runs/")) {
        assert!(Data::named(name).is_ok(), "{line}: there is no dataset `{name}`");
    }
    if command == "diagnose" {
        let data = target.as_deref().unwrap_or("demo");
        for metric in values(matches, "metric") {
            assert!(is_metric_of(&metric, data), "{line}: there is no metric `{metric}`");
        }
    }
}

/// Whether a value of an argument exists.
type Exists = fn(&str) -> bool;

/// The arguments that name something, each with the check of a value.
const KNOWN: [(&str, Exists); 12] = [
    ("method", |name| methods::find(name).is_ok()),
    ("methods", |list| grid::contenders(list, None).is_ok()),
    ("boost", |list| Boost::parse(list).is_ok()),
    ("diagnostics", |list| DiagnosticKind::parse(list).is_ok()),
    ("by", |text| Grouping::parse(text).is_ok()),
    ("figure", |name| name == "list" || name == "all" || Figure::named(name).is_some()),
    ("export", |list| Format::parse(list).is_ok()),
    ("set", |text| Layers::new().assignment(text).is_ok()),
    ("stream", |list| StreamKind::parse(list).is_ok()),
    ("vary", |text| grid::Axis::parse(text).is_ok()),
    ("budget", |name| grid::BudgetKind::parse(name).is_ok()),
    ("data", |name| OWN_DATA.contains(&name) || Data::named(name).is_ok()),
];

/// Whether a metric can be measured; a class must be one of built-in data.
fn is_metric_of(name: &str, data: &str) -> bool {
    let metric = FrameMetric::parse(name);
    match metric.as_ref().map(FrameMetric::class) {
        Ok(Some(class)) => {
            let graph = Data::named(data)
                .and_then(|data| data.load(&Lookup::from_env(None), None, &mut |_, _| {}));
            graph.is_ok_and(|graph| graph.labels().names().iter().any(|name| name == class))
        }
        other => other.is_ok(),
    }
}

/// Collects the examples in the help of a command and of its subcommands.
fn examples(command: &mut Command, found: &mut Vec<String>) {
    let help = command.render_long_help().to_string();
    let lines = help.lines().skip_while(|line| line.trim() != "Examples:").skip(1);
    let indented = lines.take_while(|line| line.starts_with("  "));
    let typed = indented.map(str::trim).filter(|line| line.starts_with("boostfgl"));
    // The explanation follows after two or more spaces.
    found.extend(typed.map(|line| line.split("  ").next().unwrap_or(line).to_owned()));
    command.get_subcommands_mut().for_each(|subcommand| examples(subcommand, found));
}

#[test]
fn every_example_in_help_parses_and_its_names_exist() {
    let mut program = Program::command();
    program.build();
    let mut found = Vec::new();
    examples(&mut program, &mut found);
    assert!(found.len() > 20, "only {found:#?}");
    for line in &found {
        check_names(line, &parsed(&words(line)));
    }
    let metrics = found.iter().filter(|line| line.contains("--metric recall:")).count();
    assert_eq!(metrics, 1, "{found:#?}");
}

/// The commands in the console blocks of a text, in order.
fn console(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for block in text.split("```console\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default().replace("\\\n", " ");
        let transcript = block.contains("$ boostfgl");
        for line in block.lines() {
            let hint = line.trim().strip_prefix("to continue: ");
            let typed = if transcript { line.strip_prefix("$ ").or(hint) } else { Some(line) };
            let typed = typed.map(|line| line.replacen("cargo run --release --", "boostfgl", 1));
            let typed = typed.map(|line| line.replacen("cargo run --release", "boostfgl", 1));
            commands
                .extend(typed.filter(|line| line.split_whitespace().next() == Some("boostfgl")));
        }
    }
    commands
}

/// The run folders that a command reads and those that it creates with default settings.
fn reads_and_creates(matches: &ArgMatches) -> (Vec<String>, Vec<String>) {
    let Some((command, matches)) = matches.subcommand() else {
        return reads_and_creates(&parsed(&words("boostfgl run")));
    };
    let [data, out, name, method] =
        ["data", "out", "name", "method"].map(|id| values(matches, id).pop());
    let data = data.unwrap_or_else(|| "demo".to_owned());
    let plain = ["set", "boost", "rounds", "clients", "seeds", "config", "partition"]
        .iter()
        .all(|id| values(matches, id).is_empty());
    match (command, out, name, method) {
        ("run", Some(out), ..) => (Vec::new(), vec![out]),
        ("run", None, Some(name), _) => (Vec::new(), vec![format!("runs/{data}/{name}")]),
        ("run", None, None, Some(method)) if plain => {
            (Vec::new(), vec![format!("runs/{data}/{method}")])
        }
        ("run", None, None, None) if plain => (
            Vec::new(),
            ["fedavg", "boostfgl"].map(|method| format!("runs/{data}/{method}")).to_vec(),
        ),
        ("report" | "serve", ..) => (run_folders(matches, "runs"), Vec::new()),
        ("resume", ..) => (run_folders(matches, "run"), Vec::new()),
        ("diagnose", ..) => (run_folders(matches, "target"), Vec::new()),
        _ => (Vec::new(), Vec::new()),
    }
}

/// The values of an argument that are folders below `runs`.
fn run_folders(matches: &ArgMatches, id: &str) -> Vec<String> {
    values(matches, id).into_iter().filter(|path| path.starts_with("runs")).collect()
}

/// The README of the repository, which is no part of this package.
fn readme() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    std::fs::read_to_string(path).expect("tests run in the repository")
}

/// Every folder that a command reads is created by an earlier command.
#[test]
fn commands_of_the_readme_work_in_their_order() {
    let readme = readme();
    let commands = console(&readme);
    assert!(commands.len() > 12, "only {commands:#?}");
    let mut created: BTreeSet<String> = BTreeSet::new();
    for line in &commands {
        let matches = parsed(&words(line));
        check_names(line, &matches);
        let (reads, creates) = reads_and_creates(&matches);
        for path in reads {
            let inside = format!("{path}/");
            let exists = created.iter().any(|known| *known == path || known.starts_with(&inside));
            assert!(exists, "{line}: no earlier command creates {path}; created: {created:?}");
        }
        created.extend(creates);
    }
    let install =
        readme.find("cargo install --path crates/cli").expect("the README says how to install");
    let first = readme.find("\nboostfgl ").expect("the README uses the program");
    assert!(install < first, "the README explains the installation before the first use");
}

/// Commands inside sentences, if they are complete: a word in capitals or with brackets is a
/// placeholder.
#[test]
fn complete_commands_in_sentences_of_the_readme_parse() {
    let readme = readme();
    let spans = readme.split('`').skip(1).step_by(2).filter(|span| span.starts_with("boostfgl "));
    let mut count = 0;
    for line in spans.filter(|span| is_complete(span)) {
        check_names(line, &parsed(&words(line)));
        count += 1;
    }
    assert!(count > 2, "only {count}");
}

/// Whether a command in a sentence is complete. A command without arguments may be what the
/// sentence is about.
fn is_complete(span: &str) -> bool {
    span.split(' ').count() != 2
        && !span.contains(['[', '|', '…', '\n'])
        && !span.split([' ', '=']).any(is_placeholder)
}

/// Whether a word is in capitals.
fn is_placeholder(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// Every document for users and contributors, with its path.
fn documents() -> Vec<(String, String)> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let folders = [root.to_owned(), format!("{root}/docs")];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap().flatten());
    let markdown = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"));
    markdown
        .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap()))
        .collect()
}

/// The commands `boostfgl …` between backticks and in code blocks.
fn mentioned(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, part) in text.split("```").enumerate() {
        let is_block = at % 2 == 1;
        // Blocks of another kind are output or source.
        if is_block && !part.starts_with("console\n") && !part.starts_with('\n') {
            continue;
        }
        let lines: Vec<String> = if is_block {
            part.replace("\\\n", " ").lines().map(str::to_owned).collect()
        } else {
            part.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        let typed = lines
            .iter()
            .filter_map(|line| line.strip_prefix("$ ").unwrap_or(line).strip_prefix("boostfgl "));
        found.extend(typed.map(str::to_owned));
    }
    found
}

/// The mistake in a command that a document mentions, if any: each word that names a command must
/// be one, and each flag must belong to it. Other words may be placeholders.
fn mistake(mention: &str) -> Option<String> {
    let mut program = Program::command();
    program.build();
    let mut command = &program;
    let words = words(&mention.replace("\\|", "|").replace('|', "\u{1}"));
    for (at, word) in words.iter().enumerate() {
        if let Some(flag) = word.trim_matches(['[', ']']).strip_prefix("--") {
            let name = flag.split(['=', '\u{1}']).next().unwrap_or(flag);
            let known = command.get_arguments().any(|argument| argument.get_long() == Some(name));
            if !known && name != "help" && name != "version" {
                return Some(format!("`{}` has no flag --{name}", command.get_name()));
            }
        } else if at == 0 || (at == 1 && command.has_subcommands()) {
            // `show|check` means two commands.
            let names: Vec<&str> = word.split('\u{1}').collect();
            if let Some(name) = names.iter().find(|name| command.find_subcommand(name).is_none()) {
                let is_placeholder = !name.starts_with(|c: char| c.is_ascii_lowercase());
                return (!is_placeholder).then(|| format!("there is no command `{name}`"));
            }
            command = command.find_subcommand(names[0])?;
        }
    }
    None
}

#[test]
fn every_command_and_flag_in_the_documents_exists() {
    let mut count = 0;
    for (file, text) in documents() {
        for mention in mentioned(&text) {
            count += 1;
            let mistake = mistake(&mention);
            assert!(mistake.is_none(), "{file}: `boostfgl {mention}`: {mistake:?}");
        }
    }
    assert!(count > 60, "only {count}");
}

#[test]
fn commands_and_flags_that_do_not_exist_are_found() {
    let wrong = ["judge cora", "run --methods x", "data list|steal", "config show --figure x"];
    for mention in wrong {
        assert!(mistake(mention).is_some(), "{mention}");
    }
    for mention in ["run [DATA]", "data list|check", "report COMPARISON --export latex", "FOO"] {
        assert_eq!(mistake(mention), None, "{mention}");
    }
}

#[test]
fn the_readme_lists_every_command() {
    let readme = readme();
    let rows: BTreeSet<&str> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `boostfgl "))
        .filter_map(|row| row.split([' ', '`']).next())
        .collect();
    let program = Program::command();
    let commands: BTreeSet<&str> = program.get_subcommands().map(Command::get_name).collect();
    assert_eq!(rows, commands, "left: the table in README.md, right: the program");
}
