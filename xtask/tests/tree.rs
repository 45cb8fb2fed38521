//! The repository contains source and no data, and every crate uses the same lints.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The largest allowed file in bytes. Data belong in the catalogue's cache.
const LARGEST: u64 = 1024 * 1024;

/// Data, models and outputs of runs, by the end of their names.
const NOT_SOURCE: [&str; 5] = ["npz", "pkl", "pt", "pdf", "ipynb"];

#[test]
fn no_tracked_file_is_large_or_data() {
    let root = root();
    let Some(files) = tracked(&root) else {
        println!("not checked: this is no git checkout");
        return;
    };
    assert!(
        files.iter().any(|file| file == Path::new("Cargo.toml")),
        "git lists no Cargo.toml: {files:?}"
    );
    let wrong: Vec<String> = files.iter().filter_map(|file| reason_against(&root, file)).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_package_uses_the_lints_of_the_workspace() {
    let root = root();
    let entries = fs::read_dir(root.join("crates")).expect("the workspace has a folder crates");
    let crates =
        entries.map(|entry| entry.expect("crates/ can be listed").path().join("Cargo.toml"));
    let manifests: Vec<PathBuf> =
        crates.filter(|file| file.is_file()).chain([root.join("xtask/Cargo.toml")]).collect();
    assert!(manifests.len() > 1, "no crate found under crates/");
    for manifest in manifests {
        let text = fs::read_to_string(&manifest).expect("a manifest is readable text");
        assert!(
            uses_workspace_lints(&text),
            "{}: add\n\n[lints]\nworkspace = true\n",
            manifest.display()
        );
    }
}

#[test]
fn data_and_large_files_are_found() {
    let folder = std::env::temp_dir().join(format!("xtask-tree-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the folder for temporary files is writable");
    fs::write(folder.join("big.txt"), vec![b'x'; 1024 * 1024 + 1]).expect("a megabyte fits");
    fs::write(folder.join("fine.rs"), "fn main() {}").expect("a line fits");
    let big = reason_against(&folder, Path::new("big.txt"));
    let fine = reason_against(&folder, Path::new("fine.rs"));
    let data = reason_against(&folder, Path::new("graphs/Cora.NPZ"));
    fs::remove_dir_all(&folder).expect("what was made can be removed");
    assert!(big.is_some_and(|text| text.contains("1048577 bytes")));
    assert!(data.is_some_and(|text| text.contains("Cora.NPZ")));
    assert_eq!(fine, None);
}

#[test]
fn lints_are_read_from_their_own_table() {
    assert!(uses_workspace_lints(
        "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n[[bin]]\n"
    ));
    assert!(uses_workspace_lints("[package]\nname = \"a\"\nlints.workspace = true\n"));
    assert!(!uses_workspace_lints("[lints]\n[dependencies.a]\nworkspace = true\n"));
    assert!(!uses_workspace_lints("[package]\nname = \"a\"\n"));
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_path_buf()
}

/// The files in git, or `None` outside a checkout, such as in a source archive.
fn tracked(root: &Path) -> Option<Vec<PathBuf>> {
    if !root.join(".git").exists() {
        return None;
    }
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .expect("git starts");
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("the names of source files are UTF-8");
    Some(names.split_terminator('\0').map(PathBuf::from).collect())
}

/// The reason why `file` should not be tracked, if any.
fn reason_against(root: &Path, file: &Path) -> Option<String> {
    let end = file.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    if NOT_SOURCE.contains(&end.as_str()) {
        return Some(format!(
            "{} is data or output, not source: take it out of git",
            file.display()
        ));
    }
    // A file deleted but not yet committed has no size.
    let size = fs::metadata(root.join(file)).ok()?.len();
    (size > LARGEST).then(|| {
        format!(
            "{} has {size} bytes, more than {LARGEST}: generate it, or read it from the cache",
            file.display()
        )
    })
}

fn uses_workspace_lints(manifest: &str) -> bool {
    let mut table = "";
    manifest.lines().map(str::trim).any(|line| {
        if line.starts_with('[') {
            table = line;
        }
        let line = line.replace(' ', "");
        (table == "[lints]" && line == "workspace=true")
            || (table == "[package]" && line == "lints.workspace=true")
    })
}
