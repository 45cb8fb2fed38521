//! Fuzzing of everything that reads: targets, seeds and an engine for the stable toolchain.
//!
//! A [`Target`] is a body: bytes go to a reader, which must return, whatever they are. The same
//! bodies run under `cargo fuzz` (folder `fuzz/`, nightly, guided by coverage) and under
//! [`engine`], which runs on the stable toolchain and is guided by the readers' messages: an
//! input that causes a new message is kept.
//!
//! Formats of several files are one input, cut at lines that read [`SCISSORS`].

#![forbid(unsafe_code)]

mod bodies;
pub mod engine;
mod memory;
mod mutation;
mod pickles;
pub mod seeds;
mod watchdog;

/// One reader under attack.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, also that of its folder of seeds.
    pub name: &'static str,
    /// Passes the bytes to the reader; returns its error message, or `ok`.
    pub body: fn(&[u8]) -> String,
    /// Whether it decompresses its input, or trains with it.
    pub unpacks: bool,
}

impl Target {
    /// The most memory in bytes that an input of this length may take.
    ///
    /// Readers store a few values per byte. A reader that decompresses has a budget of 32 MiB plus
    /// 128 times the file, and holds up to four copies of the result while it builds a graph.
    pub fn memory(&self, length: usize) -> usize {
        if self.unpacks { 4 * ((32 << 20) + 128 * length) } else { (8 << 20) + 256 * length }
    }
}

/// The line that separates the files of one input.
pub const SCISSORS: &[u8] = b"\n--8<--\n";

/// Every target. A new reader is one line here, one in `fuzz/Cargo.toml` and one file in
/// `fuzz/fuzz_targets`.
pub const TARGETS: [Target; 22] = [
    Target { name: "planetoid", body: bodies::graphs::planetoid, unpacks: false },
    Target { name: "npz", body: bodies::graphs::npz, unpacks: true },
    Target { name: "csv", body: bodies::graphs::csv, unpacks: false },
    Target { name: "intake", body: bodies::graphs::intake, unpacks: true },
    Target { name: "geom-gcn", body: bodies::graphs::geom_gcn, unpacks: false },
    Target { name: "ogb", body: bodies::graphs::ogb, unpacks: true },
    Target { name: "config", body: bodies::config::config, unpacks: false },
    Target { name: "partition", body: bodies::files::partition, unpacks: false },
    Target { name: "safetensors", body: bodies::files::safetensors, unpacks: false },
    Target { name: "predictions", body: bodies::files::predictions, unpacks: false },
    Target { name: "rounds", body: bodies::files::rounds, unpacks: false },
    Target { name: "run-folder", body: bodies::files::run_folder, unpacks: false },
    Target { name: "cell", body: bodies::files::cell, unpacks: false },
    Target { name: "checksums", body: bodies::files::checksums, unpacks: false },
    Target { name: "state", body: bodies::state::state, unpacks: false },
    Target { name: "message", body: bodies::state::message, unpacks: false },
    Target { name: "upload", body: bodies::state::upload, unpacks: true },
    Target { name: "checkpoint", body: bodies::checkpoint::checkpoint, unpacks: false },
    Target { name: "comparison", body: bodies::files::comparison, unpacks: false },
    Target { name: "results", body: bodies::files::results, unpacks: false },
    Target { name: "tasks", body: bodies::frames::tasks, unpacks: false },
    Target { name: "replies", body: bodies::frames::replies, unpacks: false },
];

/// Runs the body of a target; for `fuzz/fuzz_targets`.
///
/// # Panics
/// If there is no such target, or if its reader panics: that is a finding.
pub fn run(name: &str, input: &[u8]) {
    let target =
        TARGETS.iter().find(|target| target.name == name).expect("the name is in the table");
    (target.body)(input);
}

#[cfg(test)]
#[global_allocator]
static COUNTED: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

/// Memory is counted for the whole process: tests that do so run one at a time.
#[cfg(test)]
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds come from the project's writers: readers must accept at least one of each target.
    #[test]
    fn every_target_has_seeds_and_accepts_one_of_them() {
        let _alone = alone();
        for target in TARGETS {
            let seeds = seeds::committed(target.name).unwrap();
            assert!(!seeds.is_empty(), "{}", target.name);
            let messages: Vec<String> = seeds.iter().map(|seed| (target.body)(seed)).collect();
            let accepted = messages.iter().any(|message| message == "ok");
            assert!(accepted, "{}: {messages:?}", target.name);
            let bytes: usize = seeds.iter().map(Vec::len).sum();
            assert!(bytes < 80_000, "{}: {bytes} bytes of seeds", target.name);
        }
    }

    #[test]
    fn every_target_is_known_to_cargo_fuzz() {
        let manifest = std::fs::read_to_string(seeds::folder().join("../Cargo.toml")).unwrap();
        for target in TARGETS {
            assert!(manifest.contains(&format!("name = \"{}\"", target.name)), "{}", target.name);
            let file = seeds::folder()
                .join(format!("../fuzz_targets/{}.rs", target.name.replace('-', "_")));
            let text = std::fs::read_to_string(file).unwrap();
            assert!(text.contains(&format!("\"{}\"", target.name)), "{}", target.name);
        }
    }
}
