//! Every path, crate and `cargo xtask` command that the documentation names exists.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders at the root. A word of a document that starts with one of them is a path.
const FOLDERS: [&str; 8] =
    ["crates/", "xtask/", "docs/", "tests/", "examples/", "fuzz/", "bench/", ".ci/"];

#[test]
fn every_path_in_the_documentation_exists() {
    let root = root();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (file, text) in documents(&root) {
        for path in paths(&text) {
            count += 1;
            if !exists(&root, &path) {
                wrong.push(format!("{}: there is no {path}", file.display()));
            }
        }
    }
    assert!(count > 50, "only {count} paths found");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_link_in_the_documentation_leads_to_a_file() {
    let root = root();
    for (file, text) in documents(&root) {
        let folder = root.join(file.parent().expect("a document lies in a folder"));
        for link in text.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap_or_default();
            let elsewhere = target.is_empty() || target.contains("://");
            assert!(
                elsewhere || folder.join(target).exists(),
                "{}: there is no {target}",
                file.display()
            );
        }
    }
}

#[test]
fn every_package_named_in_the_documentation_is_in_the_workspace() {
    let packages = packages(&root());
    for (file, text) in documents(&root()) {
        for name in package_names(&text) {
            assert!(packages.contains(&name), "{}: there is no crate {name}", file.display());
        }
    }
}

#[test]
fn the_architecture_has_one_row_for_every_crate() {
    let root = root();
    let rows: BTreeSet<String> = crate_table(&root).into_iter().map(|(name, _)| name).collect();
    let mut folders: BTreeSet<String> = fs::read_dir(root.join("crates"))
        .expect("the workspace has a folder crates")
        .map(|entry| entry.expect("crates/ can be listed"))
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    folders.insert("xtask".to_owned());
    assert_eq!(rows, folders, "left: the table in ARCHITECTURE.md, right: the folders");
}

#[test]
fn every_module_in_the_architecture_exists_in_its_crate() {
    let root = root();
    let mut wrong = Vec::new();
    for (name, content) in crate_table(&root) {
        let source = root.join("crates").join(&name).join("src");
        for module in spans(&content).filter(|span| is_module(span)).flat_map(expand) {
            let file = source.join(format!("{}.rs", module.trim_end_matches('/')));
            let found = [file, source.join(&module), root.join(&module)];
            if !found.iter().any(|path| path.exists()) {
                wrong.push(format!("ARCHITECTURE.md, row `{name}`: there is no module {module}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_cargo_xtask_command_and_flag_exists() {
    let mut count = 0;
    for (file, text) in documents(&root()) {
        for command in xtask_commands(&text) {
            count += 1;
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            let names: Vec<&str> =
                words.iter().copied().take_while(|word| is_command(word)).collect();
            let place = format!("{}: `cargo xtask {}`", file.display(), words.join(" "));
            let help = help(&names);
            assert!(help.status.success(), "{place}: there is no such command");
            let help = String::from_utf8_lossy(&help.stdout).into_owned();
            // Arguments after a bare `--` are passed on to another program.
            let own = words.iter().take_while(|word| **word != "--");
            for flag in own.filter(|word| word.starts_with("--")) {
                let flag = flag.split('=').next().unwrap_or(flag);
                assert!(help.contains(flag), "{place}: there is no flag {flag}");
            }
        }
    }
    assert!(count > 10, "only {count} commands found");
}

#[test]
fn missing_paths_packages_and_commands_are_found() {
    let root = root();
    let text = "See `crates/nn/src/NAME.rs`, crates/privacy/src, `fuzz/{a,b}` and docs/*.md.";
    let missing: Vec<String> =
        paths(text).into_iter().filter(|path| !exists(&root, path)).collect();
    assert_eq!(missing, ["crates/privacy/src", "fuzz/a", "fuzz/b"]);
    assert_eq!(
        package_names("use `boostfgl_disk` and boostfgl-privacy."),
        ["boostfgl-disk", "boostfgl-privacy"]
    );
    assert_eq!(
        xtask_commands("Run `cargo xtask bench\nmethods --repeats 2`, then go."),
        [["bench", "methods", "--repeats", "2"]]
    );
    assert_eq!(
        xtask_commands("```console\ncargo xtask test --fast   # quick\n```"),
        [["test", "--fast"]]
    );
    assert!(!help(&["torment"]).status.success());
}

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_path_buf()
}

/// The Markdown files of the root, of docs/, of the tests and of the example, each by its path
/// from the root.
fn documents(root: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for folder in ["", "docs", "tests", "crates", "examples"] {
        collect(root, Path::new(folder), !folder.is_empty(), &mut found);
    }
    assert!(found.len() > 6, "only {} documents", found.len());
    found
}

/// Adds the Markdown files of a folder and, with `below`, of all folders in it.
fn collect(root: &Path, folder: &Path, below: bool, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(root.join(folder)).expect("a folder of the project").flatten() {
        let path = folder.join(entry.file_name());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && below && entry.file_name() != "node_modules" {
            collect(root, &path, true, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            let text = fs::read_to_string(root.join(&path)).expect("a document is UTF-8");
            found.push((path, text));
        }
    }
}

/// The texts between backticks.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The words of a text that are paths from the root.
fn paths(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || "`()[]\"'|;<>".contains(c));
    words
        .map(|word| word.trim_end_matches([',', '.', ':', '…']))
        .filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)))
        .flat_map(expand)
        .collect()
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn expand(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let Some((alternatives, after)) = rest.split_once('}') else { return vec![path.to_owned()] };
    alternatives.split(',').map(|part| format!("{before}{}{after}", part.trim())).collect()
}

/// Whether a path exists, up to the first placeholder.
fn exists(root: &Path, path: &str) -> bool {
    let is_variable =
        |part: &&str| part.contains('*') || part.split('.').next().is_some_and(is_placeholder);
    let fixed: PathBuf = path.split('/').take_while(|part| !is_variable(part)).collect();
    root.join(fixed).exists()
}

/// Whether a word is a placeholder: all in capitals.
fn is_placeholder(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// The names of our packages in a text, as Cargo writes them.
fn package_names(text: &str) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_' || c == '-';
    let words = text.split(|c: char| !is_name(c)).map(|word| word.replace('_', "-"));
    words
        .filter(|word| word.strip_prefix("boostfgl-").is_some_and(|rest| !rest.is_empty()))
        .collect()
}

/// The packages of the workspace.
fn packages(root: &Path) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(root)
        .output()
        .expect("cargo starts: it runs this test");
    let metadata: Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("a workspace has packages");
    packages.iter().filter_map(|package| package["name"].as_str()).map(str::to_owned).collect()
}

/// Crate and content of each row of the table of crates in ARCHITECTURE.md.
fn crate_table(root: &Path) -> Vec<(String, String)> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).expect("it is UTF-8");
    let table = text.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    let rows: Vec<_> = table
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let name = spans(line).next().expect("a row starts with the name of a crate");
            let content = line.splitn(4, '|').last().unwrap_or_default();
            (name.to_owned(), content.to_owned())
        })
        .collect();
    assert!(rows.len() > 8, "only {} rows in the table of crates", rows.len());
    rows
}

/// Modules are written in lower case; types, calls, keys and files with another ending are not
/// modules.
fn is_module(span: &str) -> bool {
    span.starts_with(|c: char| c.is_ascii_lowercase())
        && span.chars().all(|c| c.is_ascii_lowercase() || "_/{},".contains(c))
}

/// The words after `cargo xtask` in every span and every line of a code block.
fn xtask_commands(text: &str) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    for (at, part) in text.split("```").enumerate() {
        let is_block = at % 2 == 1;
        let found: Vec<&str> =
            if is_block { part.lines().collect() } else { spans(part).collect() };
        for command in found.into_iter().filter_map(|line| line.strip_prefix("cargo xtask ")) {
            let command = command.split('#').next().unwrap_or_default();
            commands.push(command.split_whitespace().map(str::to_owned).collect());
        }
    }
    commands
}

/// Whether a word names a command: flags, their values and placeholders do not.
fn is_command(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-')
}

/// The help of a command of this program.
fn help(command: &[&str]) -> std::process::Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_xtask"));
    program.args(command).arg("--help").output().expect("the program of these tests starts")
}
