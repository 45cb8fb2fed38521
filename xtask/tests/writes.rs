//! All writing goes through `boostfgl_disk`, so that tests can inject faults.

use std::fs;
use std::path::{Path, PathBuf};

/// Calls of the standard library that write.
const WRITING: [&str; 10] = [
    "fs::write(",
    "fs::create_dir",
    "fs::remove_",
    "fs::rename(",
    "fs::copy(",
    "File::create",
    "OpenOptions",
    "File::options",
    "set_len(",
    "tempfile::",
];

/// Writes a setting of the process, not a file.
const EXCEPTION: &str = "fs::write(\"/proc/self/";

#[test]
fn only_the_disk_crate_calls_std_fs_to_write() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the root")
        .join("crates");
    let mut files = Vec::new();
    for krate in fs::read_dir(&crates).expect("there are crates").flatten() {
        // `disk` implements writing; `fuzz` writes damaged input for tests.
        if krate.file_name() != "disk" && krate.file_name() != "fuzz" {
            sources(&krate.path().join("src"), &mut files);
        }
    }
    assert!(files.len() > 50, "{} files: this test would check little", files.len());
    let wrong: Vec<String> = files
        .iter()
        .flat_map(|file| violations(file, &fs::read_to_string(file).unwrap()))
        .collect();
    assert!(wrong.is_empty(), "these lines write without boostfgl_disk:\n{}", wrong.join("\n"));
}

#[test]
fn violations_are_found_but_not_in_tests_and_documentation() {
    let found = |text: &str| violations(Path::new("a.rs"), text).len();
    assert_eq!(found("use x;\nstd::fs::write(path, b\"\")?;\n"), 1);
    assert_eq!(found("/// std::fs::write(path, b\"\")?;\n"), 0);
    assert_eq!(found("fn a() {}\n#[cfg(test)]\nmod tests {\n    fs::write(path, b\"\");\n}\n"), 0);
    assert_eq!(found("#[cfg(test)]\nmod tests;\nfn a() {\n    fs::write(path, b\"\");\n}\n"), 1);
}

/// The lines of a file, up to its tests, that write.
fn violations(file: &Path, text: &str) -> Vec<String> {
    // A `mod tests;` in a file of its own does not end the code.
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    let writes = |line: &str| {
        // The disk crate's own types end like the standard library's.
        let line = line.replace("AtomicFile::", "").replace("AppendFile::", "");
        WRITING.iter().any(|call| line.contains(call)) && !line.contains(EXCEPTION)
    };
    lines
        .filter(|(_, line)| writes(line))
        .map(|(at, line)| format!("{}:{}: {}", file.display(), at + 1, line.trim()))
        .collect()
}

/// Rust files under a folder, without those that only tests use.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a crate has src/").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && !["testing.rs", "tests.rs"].iter().any(|name| path.ends_with(name))
        {
            files.push(path);
        }
    }
}
