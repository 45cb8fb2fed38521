//! `cargo xtask digests`: whether every method still gives the recorded results.
//!
//! `tests/golden/digests.json` holds the digest of every method with every set of boosts that it
//! takes on the first backbone, and of every method on every other backbone: the demo graph, one
//! seed, three rounds, `--portable` (one order of sums on every CPU). A change that must not
//! affect results is checked against it. A change that moves results writes the file again
//! (`--write`) and names the digests and the reason in CHANGELOG.md.

use std::collections::{BTreeMap, btree_map};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::listed::Listed;
use crate::project::{RealData, root, target};
use crate::stress::program::{Program, digest};

/// Runs every recorded case and compares its digest.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Records the digests instead of comparing them.
    #[arg(long)]
    write: bool,
}

/// The command of every case, before its own arguments.
const COMMAND: &str = "run --seeds 1 --rounds 3 --portable --quiet --threads 1";

pub(crate) fn run(args: &Args) -> Result<()> {
    let program = Program::build(true, &RealData::Missing(String::new()))?;
    let cases = cases(&Listed::of(&program)?);
    let place = target().join("digests");
    let found = run_all(&program, &cases, &place)?;
    let file = root().join("tests/golden/digests.json");
    if args.write {
        return write(&file, &found);
    }
    let recorded = read(&file)?;
    let changes = changes(&recorded, &found);
    if !changes.is_empty() {
        bail!(
            "{} of {} digests differ from {}:\n  {}\nFind out why; if the change is meant, record \
             it with `cargo xtask \
             digests --write` and name it in CHANGELOG.md.",
            changes.len(),
            found.len(),
            file.display(),
            changes.join("\n  ")
        );
    }
    println!("{} digests are those of {}", found.len(), file.display());
    Ok(())
}

/// Every case by its name, such as `fedavg gcn node,model`, with the arguments that make it.
fn cases(listed: &Listed) -> BTreeMap<String, String> {
    let mut cases = BTreeMap::new();
    for method in &listed.methods {
        let name = &method.name;
        let (first, others) = listed.backbones.split_first().expect("the program lists backbones");
        for set in subsets(&method.taken) {
            let boosts = if set.is_empty() { "none".to_owned() } else { set.join(",") };
            cases.insert(
                format!("{name} {first} {boosts}"),
                format!("--method {name} --boost {boosts}"),
            );
        }
        for backbone in others {
            cases.insert(
                format!("{name} {backbone}"),
                format!("--method {name} --set model.backbone={backbone}"),
            );
        }
    }
    cases
}

/// Every subset, the empty one first.
fn subsets(all: &[String]) -> Vec<Vec<String>> {
    let mut subsets = Vec::new();
    // Bit i of the number: whether name i is in the subset.
    for bits in 0..1usize << all.len() {
        let chosen = all.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
        subsets.push(chosen.map(|(_, name)| name.clone()).collect());
    }
    subsets
}

/// Runs all cases, one per core at a time, and returns the digest of each.
fn run_all(
    program: &Program,
    cases: &BTreeMap<String, String>,
    place: &Path,
) -> Result<BTreeMap<String, String>> {
    let queue = Queue { waiting: Mutex::new(cases.iter()), found: Mutex::default() };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| queue.work(program, place))).collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).collect()
    });
    results.into_iter().collect::<Result<()>>()?;
    Ok(queue.found.into_inner().expect("no worker panics"))
}

/// The cases that are still to be run, and the digests of the others.
struct Queue<'a> {
    waiting: Mutex<btree_map::Iter<'a, String, String>>,
    found: Mutex<BTreeMap<String, String>>,
}

impl Queue<'_> {
    /// Runs cases until there are none left.
    fn work(&self, program: &Program, place: &Path) -> Result<()> {
        loop {
            let next = self.waiting.lock().expect("no worker panics").next();
            let Some((name, arguments)) = next else { return Ok(()) };
            let folder = place.join(name.replace([' ', ','], "-"));
            let digest =
                run_one(program, arguments, &folder).with_context(|| format!("case `{name}`"))?;
            self.found.lock().expect("no worker panics").insert(name.clone(), digest);
        }
    }
}

/// The digest of one case, or that the program refuses it.
fn run_one(program: &Program, arguments: &str, folder: &Path) -> Result<String> {
    let arguments = format!("{COMMAND} {arguments} --overwrite --out {}", folder.display());
    let status = program.start(&arguments)?.wait()?;
    if status.code() == Some(REFUSED) {
        return Ok("refused".to_owned());
    }
    ensure!(status.success(), "`boostfgl {arguments}` failed ({status})");
    let digest = digest(folder)?;
    std::fs::remove_dir_all(folder)
        .with_context(|| format!("cannot remove {}", folder.display()))?;
    Ok(digest)
}

/// The exit code for input that is refused, such as a backbone without the hidden layer that a
/// method needs.
const REFUSED: i32 = 2;

fn read(file: &PathBuf) -> Result<BTreeMap<String, String>> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let value: Value =
        serde_json::from_slice(&text).with_context(|| format!("{} is damaged", file.display()))?;
    let digests = value["digests"]
        .as_object()
        .with_context(|| format!("{} has no digests", file.display()))?;
    Ok(digests
        .iter()
        .map(|(name, digest)| (name.clone(), digest.as_str().unwrap_or_default().to_owned()))
        .collect())
}

fn write(file: &Path, found: &BTreeMap<String, String>) -> Result<()> {
    let about =
        format!("boostfgl {COMMAND} on the demo graph; written by cargo xtask digests --write");
    let text = serde_json::to_string_pretty(&json!({"about": about, "digests": found}))?;
    std::fs::write(file, format!("{text}\n"))
        .with_context(|| format!("cannot write {}", file.display()))?;
    println!("{} digests written to {}", found.len(), file.display());
    Ok(())
}

/// The differences, one line each.
fn changes(recorded: &BTreeMap<String, String>, found: &BTreeMap<String, String>) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, digest) in found {
        match recorded.get(name) {
            Some(old) if old == digest => {}
            Some(old) => {
                lines.push(format!("{name}: recorded {}, found {}", short(old), short(digest)));
            }
            None => lines.push(format!("{name}: not recorded, found {}", short(digest))),
        }
    }
    let gone = recorded.keys().filter(|name| !found.contains_key(*name));
    lines.extend(gone.map(|name| format!("{name}: recorded, and there is no such case any more")));
    lines
}

/// The first twelve characters of a digest.
fn short(digest: &str) -> String {
    digest.chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listed::Method;

    #[test]
    fn cases_are_all_boost_sets_and_all_backbones() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let method =
            Method { name: "fedavg".into(), own_boosts: 0, taken: words(&["node", "model"]) };
        let listed = Listed { methods: vec![method], backbones: words(&["gcn", "mlp"]) };
        let names: Vec<String> = cases(&listed).into_keys().collect();
        assert_eq!(
            names,
            [
                "fedavg gcn model",
                "fedavg gcn node",
                "fedavg gcn node,model",
                "fedavg gcn none",
                "fedavg mlp"
            ]
        );
    }

    #[test]
    fn every_kind_of_change_is_named() {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
        };
        let lines = changes(
            &map(&[("a", "1"), ("b", "2"), ("c", "3")]),
            &map(&[("a", "1"), ("b", "4"), ("d", "5")]),
        );
        assert_eq!(
            lines,
            [
                "b: recorded 2, found 4",
                "d: not recorded, found 5",
                "c: recorded, and there is no such case any more"
            ]
        );
    }
}
