//! Every published package contains what it needs to be compiled, and only source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The macros that read a file at compile time.
const INCLUDING: [&str; 3] = ["include_str!(", "include_bytes!(", "include!("];

/// The endings of the files that a package may contain.
const SOURCE: [&str; 10] = ["css", "js", "json", "lock", "md", "orig", "py", "rs", "toml", "txt"];

/// Folders with tables that the program or its tests contain; other tables are data.
const TABLES: [&str; 2] = ["crates/reproduce/paper/", "crates/fed/tests/oracles/graphs/"];

#[test]
fn packages_contain_what_they_include_and_only_source() {
    let mut count = 0;
    for (folder, files) in published() {
        let data: Vec<&String> = files.iter().filter(|file| !is_source(&folder, file)).collect();
        assert!(
            data.is_empty(),
            "{folder}: its package would contain {data:?}, which is not source"
        );
        for file in files.iter().filter(|file| file.ends_with(".rs")) {
            let package = root().join(&folder);
            let text =
                fs::read_to_string(package.join(file)).expect("cargo lists files that exist");
            for include in includes(&text) {
                count += 1;
                let objection = objection(&package, file, include, &files);
                assert!(objection.is_none(), "{folder}/{file}: {}", objection.unwrap_or_default());
            }
        }
    }
    assert!(count > 6, "only {count} files are included");
}

#[test]
fn missing_files_and_data_are_found() {
    let text = "// include_str!(\"a\")\nlet a = include_str!(\n    \"style.css\"\n);\n\
                include_bytes!(concat!(\"../plans/\", NAME))";
    let found: Vec<&str> = includes(text).collect();
    assert_eq!(found, ["\"style.css\"", "concat!(\"../plans/\", NAME)"]);

    let package = root().join("crates/reproduce");
    let mut files: BTreeSet<String> = in_folder(&package, "plans").into_iter().collect();
    files.insert("src/style.css".to_owned());
    for inside in found {
        assert_eq!(objection(&package, "src/plan.rs", inside, &files), None);
    }
    files.remove("plans/epr.toml");
    for (outside, reason) in [
        ("\"../../README.md\"", "is outside of the package"),
        ("\"hover.js\"", "src/hover.js is not in the package"),
        ("concat!(\"../plans/\", NAME)", "plans/epr.toml is not in the package"),
        ("concat!(\"../plan/\", NAME)", "plan is not in the package"),
        ("concat!(\"../../plans/\", NAME)", "is outside of the package"),
        ("NAME", "begin it with a path"),
    ] {
        let found = objection(&package, "src/plan.rs", outside, &files).unwrap_or_default();
        assert!(found.contains(reason), "{outside}: {found}");
    }
    for data in ["target/debug/a.rs", "src/cora.npz", "graphs/nodes.csv", "runs/a/summary.json"] {
        assert!(!is_source("crates/nn", data), "{data}");
    }
    assert!(is_source("crates/nn", "src/lib.rs"));
}

/// The files, by their path in it, of the folder of every package that is published.
fn published() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo metadata prints JSON");
    let root = Path::new(metadata["workspace_root"].as_str().expect("a workspace has a root"));
    let packages = metadata["packages"].as_array().expect("a workspace has packages");
    // `publish = false` is an empty list of registries.
    let packages: BTreeMap<String, BTreeSet<String>> = packages
        .iter()
        .filter(|package| package["publish"] != Value::Array(Vec::new()))
        .map(|package| {
            let name = package["name"].as_str().expect("a package has a name");
            let manifest = package["manifest_path"].as_str().expect("a package has a manifest");
            let folder = Path::new(manifest).parent().expect("a manifest lies in a folder");
            let folder = folder.strip_prefix(root).expect("packages lie in the project");
            (folder.to_string_lossy().replace('\\', "/"), files(name))
        })
        .collect();
    assert!(packages.len() > 8, "only {} packages are published", packages.len());
    packages
}

/// The files of a package.
fn files(package: &str) -> BTreeSet<String> {
    let list = cargo(&["package", "--list", "--allow-dirty", "--offline", "--package", package]);
    list.lines().map(|file| file.replace('\\', "/")).collect()
}

/// The arguments of the macros that include files, up to the closing parenthesis.
fn includes(text: &str) -> impl Iterator<Item = &str> {
    let at = INCLUDING.iter().flat_map(|name| text.match_indices(name));
    at.filter(|(at, _)| {
        let line = text[..*at].rsplit('\n').next().unwrap_or_default();
        !line.trim_start().starts_with("//")
    })
    .map(|(at, name)| argument(&text[at + name.len()..]))
}

/// A text up to the parenthesis that ends it.
fn argument(text: &str) -> &str {
    let mut open = 0;
    let end = text.find(|c: char| {
        match c {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
        open < 0
    });
    text[..end.unwrap_or(text.len())].trim()
}

/// The reason why `file` of the package in `folder` cannot include what the argument names, if any.
/// For a path that is put together, all files of its folder have to be in the package.
fn objection(
    folder: &Path,
    file: &str,
    argument: &str,
    files: &BTreeSet<String>,
) -> Option<String> {
    let (is_whole, path) = match argument.strip_prefix("concat!(") {
        Some(parts) => (false, parts.trim_start().strip_prefix('"')),
        None => (true, argument.strip_prefix('"')),
    };
    let Some((path, _)) = path.and_then(|path| path.split_once('"')) else {
        return Some(format!("includes {argument}, which cannot be checked: begin it with a path"));
    };
    let Some(path) = resolved(file, path) else {
        return Some(format!(
            "{path} is outside of the package: move the file into it, or read it at run time"
        ));
    };
    let needed = if is_whole { vec![path] } else { in_folder(folder, &path) };
    let missing = needed.into_iter().find(|path| !files.contains(path));
    missing.map(|path| format!("{path} is not in the package"))
}

/// The files in a folder of a package; the folder itself if there are none.
fn in_folder(package: &Path, path: &str) -> Vec<String> {
    let entries = fs::read_dir(package.join(path)).into_iter().flatten().flatten();
    let files: Vec<String> =
        entries.map(|entry| format!("{path}/{}", entry.file_name().to_string_lossy())).collect();
    if files.is_empty() { vec![path.to_owned()] } else { files }
}

/// A path from the folder of `file`, as a path from the folder of the package; `None` if it leads
/// out of that.
fn resolved(file: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

/// Whether a file may be in the package of a folder.
fn is_source(folder: &str, file: &str) -> bool {
    // Cargo writes the first of these itself.
    if [".cargo_vcs_info.json", ".gitignore"].iter().any(|name| file.ends_with(name)) {
        return true;
    }
    let is_output = file.split('/').any(|part| part == "target" || part == "runs");
    let ending = Path::new(file).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let path = format!("{folder}/{file}");
    let is_table = ending == "csv" && TABLES.iter().any(|tables| path.starts_with(tables));
    !is_output && (SOURCE.contains(&ending) || is_table)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_path_buf()
}

/// What a cargo command prints.
fn cargo(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(args)
        .current_dir(root())
        .output()
        .expect("cargo starts: it runs this test");
    assert!(output.status.success(), "cargo {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}
