//! Curves for TensorBoard: an event file per run and seed.

mod event;
mod live;
mod record;

pub(crate) use live::LiveEvents;

use super::comparisons::{Named, cell_curves};
use super::records::readings;
use super::rounds;
use super::runs::Run;
use crate::{AtomicFile, Comparison, Error, Point, Result, Round};
use boostfgl_fairness::{HEADLINES, Headline, Reading};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The name of every event file. Readers look for `tfevents`. The usual time stamp is a constant,
/// so that a second export replaces the first and no curve is shown twice.
const NAME: &str = "events.out.tfevents.0000000000.boostfgl";

/// Writes `RUN/seedN/` under `to`.
pub(super) fn write(runs: &[Run<'_>], to: &Path) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    let mut taken = HashSet::new();
    for run in runs {
        let folder = to.join(folder_name(&run.name, &mut taken));
        let times = wall_times(run);
        for seed in run.view.rounds.iter().flat_map(crate::Rounds::seeds) {
            let folder = folder.join(format!("seed{seed}"));
            boostfgl_disk::create_dir_all(&folder)?;
            let path = folder.join(NAME);
            let of_seed = rounds::of_run(run)
                .zip(times.iter().copied())
                .filter(|(round, _)| round.seed == seed);
            let mut file = AtomicFile::create(&path)?;
            events(&mut file, of_seed).map_err(|source| Error::io(&path, source))?;
            file.finish()?;
            written.push(path);
        }
    }
    Ok(written)
}

/// Writes `COMPARISON/DATASET/METHOD/seedN/` under `to` for every cell whose rounds were kept.
pub(super) fn write_courses(all: &[Named<'_>], to: &Path) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    let mut folders = Folders::default();
    for curve in cell_curves(all) {
        let comparison = folders.below(to, &curve.comparison().name);
        let dataset = folders.below(&comparison, curve.dataset());
        let method = folders.below(&dataset, curve.method());
        let folder = method.join(format!("seed{}", curve.seed));
        boostfgl_disk::create_dir_all(&folder)?;
        let path = folder.join(NAME);
        // The times of rounds are not known. All have that of the comparison's file, so that an
        // export is reproducible.
        let time = seconds(&curve.comparison().view.path.join(Comparison::FILE));
        let mut file = AtomicFile::create(&path)?;
        let events = curve.points.iter().map(|point| (point.round as u64, of_point(point), time));
        events_of(&mut file, events).map_err(|source| Error::io(&path, source))?;
        file.finish()?;
        written.push(path);
    }
    Ok(written)
}

/// The folders of names. Different names may become equal when their characters are replaced, so
/// every name keeps the folder that it was given first.
#[derive(Default)]
struct Folders {
    /// The folder of each name below a folder.
    known: HashMap<(PathBuf, String), PathBuf>,
    /// The names that are in use below each folder.
    taken: HashMap<PathBuf, HashSet<String>>,
}

impl Folders {
    /// The folder of `name` below `parent`.
    fn below(&mut self, parent: &Path, name: &str) -> PathBuf {
        let taken = self.taken.entry(parent.to_path_buf()).or_default();
        self.known
            .entry((parent.to_path_buf(), name.to_owned()))
            .or_insert_with(|| parent.join(folder_name(name, taken)))
            .clone()
    }
}

/// The scalars of an evaluated round of a cell.
fn of_point(point: &Point) -> Vec<(String, f64)> {
    let known = HEADLINES.iter().filter_map(|headline| {
        Some((tag(headline, Reading::Pooled), (*point.scores.get(headline))?))
    });
    std::iter::once(("loss".to_owned(), point.loss)).chain(known).collect()
}

/// The name of a metric in one reading, for example `hete_f1/pooled`.
fn tag(headline: &Headline, reading: Reading) -> String {
    format!("{}/{}", headline.key, reading.name())
}

/// Writes the version, then one event per round.
fn events<'a>(
    file: &mut impl io::Write,
    rounds: impl Iterator<Item = (&'a Round, f64)>,
) -> io::Result<()> {
    events_of(file, rounds.map(|(round, time)| (round.round as u64, scalars(round), time)))
}

/// Writes the version, then one event for each round with its scalars and its time.
fn events_of(
    file: &mut impl io::Write,
    rounds: impl Iterator<Item = (u64, Vec<(String, f64)>, f64)>,
) -> io::Result<()> {
    for (at, (round, scalars, time)) in rounds.enumerate() {
        if at == 0 {
            record::write(file, &event::version(time))?;
        }
        let values = scalars.iter().map(|(tag, value)| (&tag[..], *value));
        record::write(file, &event::scalars(time, round, values))?;
    }
    Ok(())
}

/// The scalars of a round that were measured.
pub(crate) fn scalars(round: &Round) -> Vec<(String, f64)> {
    let mut all = vec![
        ("loss".to_owned(), Some(round.loss)),
        ("accuracy/validation".to_owned(), round.val_accuracy),
    ];
    for (headline, reading) in readings() {
        let value =
            round.metrics.as_ref().and_then(|metrics| metrics.0.scores.get(headline).get(reading));
        all.push((tag(headline, reading), value));
    }
    for client in &round.clients {
        all.push((format!("weight/client{}", client.client), client.weight));
        all.push((format!("trust/client{}", client.client), client.trust));
    }
    all.push(("bytes/up".to_owned(), Some(round.bytes_up as f64)));
    all.push(("bytes/down".to_owned(), Some(round.bytes_down as f64)));
    all.push(("seconds".to_owned(), Some(round.seconds)));
    all.into_iter().filter_map(|(tag, value)| Some((tag, value?))).collect()
}

/// The end of each round in seconds since 1970. The last round ended when the file was last
/// written, and the others earlier by the durations in between. The clock is not read, so an export
/// is reproducible.
fn wall_times(run: &Run<'_>) -> Vec<f64> {
    let end = run.view.rounds.as_ref().map_or(0.0, |rounds| seconds(rounds.path()));
    let total: f64 = rounds::of_run(run).map(|round| round.seconds).sum();
    let mut elapsed = 0.0;
    let mut times = Vec::new();
    for round in rounds::of_run(run) {
        elapsed += round.seconds;
        times.push(end - total + elapsed);
    }
    times
}

/// The time of the last change of a file in seconds since 1970; 0 if it is not known.
fn seconds(path: &Path) -> f64 {
    let changed = path.metadata().and_then(|file| file.modified()).ok();
    changed
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0.0, |since| since.as_secs_f64())
}

/// A valid folder name on every common system, distinct from those in `taken`.
fn folder_name(name: &str, taken: &mut HashSet<String>) -> String {
    let name = name.replace(is_unsafe, "_");
    let name = if name.chars().all(|c| c == '.' || c == ' ') { format!("run{name}") } else { name };
    // Names are distinct, but replaced characters or another case can make them equal. Some file
    // systems ignore case.
    let mut free = name.clone();
    while !taken.insert(free.to_lowercase()) {
        free.push('_');
    }
    free
}

/// Whether some system does not allow the character in file names.
fn is_unsafe(c: char) -> bool {
    c.is_control() || "/\\:*?\"<>|".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_becomes_a_distinct_folder() {
        let mut taken = HashSet::new();
        let mut name = |name: &str| folder_name(name, &mut taken);
        assert_eq!(name("cora-fedavg"), "cora-fedavg");
        assert_eq!(name("a/b"), "a_b");
        assert_eq!(name("a\\b"), "a_b_");
        assert_eq!(name(".."), "run..");
        assert_eq!(name(""), "run");
        assert_eq!(name("CORA-fedavg"), "CORA-fedavg_", "some systems do not tell cases apart");
    }
}
