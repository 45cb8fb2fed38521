//! Curves for TensorBoard: an event file per run and seed.

mod event;
mod record;

use super::comparisons::{Named, courses};
use super::records::readings;
use super::rounds;
use super::runs::Run;
use crate::{AtomicFile, Comparison, Error, Point, Result, Round};
use boostfgl_fairness::{HEADLINES, Headline, Reading};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Programs look for `tfevents`; the usual time is left out of the name, so that a second export
/// replaces the first instead of drawing every curve twice.
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
            let of_seed =
                rounds::of(run).zip(times.iter().copied()).filter(|(round, _)| round.seed == seed);
            let mut file = AtomicFile::create(&path)?;
            events(&mut file, of_seed).map_err(|source| Error::io(&path, source))?;
            file.finish()?;
            written.push(path);
        }
    }
    Ok(written)
}

/// Writes `COMPARISON/DATASET/METHOD/seedN/` under `to`, of every cell whose curve was kept.
pub(super) fn write_courses(all: &[Named<'_>], to: &Path) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    let mut places = Places::default();
    for (of, dataset, method, seed, points) in courses(all) {
        let folder = [&of.name, dataset, method]
            .into_iter()
            .fold(to.to_path_buf(), |at, name| places.below(&at, name));
        let folder = folder.join(format!("seed{seed}"));
        boostfgl_disk::create_dir_all(&folder)?;
        let path = folder.join(NAME);
        // When a round ended is not known: all have the time of the comparison, so that the same
        // folder gives the same bytes.
        let time = seconds(&of.view.path.join(Comparison::FILE));
        let mut file = AtomicFile::create(&path)?;
        let events = points.iter().map(|point| (point.round as u64, of_point(point), time));
        events_of(&mut file, events).map_err(|source| Error::io(&path, source))?;
        file.finish()?;
        written.push(path);
    }
    Ok(written)
}

/// Folders by the names that they stand for, since two names may look alike once they are safe.
#[derive(Default)]
struct Places {
    known: HashMap<(PathBuf, String), PathBuf>,
    taken: HashMap<PathBuf, HashSet<String>>,
}

impl Places {
    fn below(&mut self, at: &Path, name: &str) -> PathBuf {
        let taken = self.taken.entry(at.to_path_buf()).or_default();
        let place = || at.join(folder_name(name, taken));
        self.known.entry((at.to_path_buf(), name.to_owned())).or_insert_with(place).clone()
    }
}

/// What is drawn of an evaluated round of a cell.
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

/// The version, then one event per round.
fn events<'a>(
    file: &mut impl io::Write,
    rounds: impl Iterator<Item = (&'a Round, f64)>,
) -> io::Result<()> {
    events_of(file, rounds.map(|(round, time)| (round.round as u64, scalars(round), time)))
}

/// The same of numbers by their names.
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

/// What is drawn of a round; what was not measured has no point.
fn scalars(round: &Round) -> Vec<(String, f64)> {
    let mut all = vec![("loss".to_owned(), round.loss)];
    let mut add = |tag: String, value: Option<f64>| all.extend(value.map(|value| (tag, value)));
    add("accuracy/validation".to_owned(), round.val_accuracy);
    for (headline, reading) in readings() {
        let value =
            round.metrics.as_ref().and_then(|metrics| metrics.0.scores.get(headline).get(reading));
        add(tag(headline, reading), value);
    }
    for client in &round.clients {
        add(format!("weight/client{}", client.client), client.weight);
        add(format!("trust/client{}", client.client), client.trust);
    }
    add("bytes/up".to_owned(), Some(round.bytes_up as f64));
    add("bytes/down".to_owned(), Some(round.bytes_down as f64));
    add("seconds".to_owned(), Some(round.seconds));
    all
}

/// When each round ended, as seconds since 1970. The file was last written when the last one did;
/// earlier ones lie back by what the rounds between took. So the same folder gives the same bytes.
fn wall_times(run: &Run<'_>) -> Vec<f64> {
    let end = run.view.rounds.as_ref().map_or(0.0, |rounds| seconds(rounds.path()));
    let total: f64 = rounds::of(run).map(|round| round.seconds).sum();
    let mut gone = 0.0;
    let time = |round: &Round| {
        gone += round.seconds;
        end - total + gone
    };
    rounds::of(run).map(time).collect()
}

/// When a file was last written, as seconds since 1970; 0 if that is not known.
fn seconds(path: &Path) -> f64 {
    let changed = path.metadata().and_then(|file| file.modified()).ok();
    changed
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0.0, |since| since.as_secs_f64())
}

/// A name that is one folder here and elsewhere, and no other run's.
fn folder_name(name: &str, taken: &mut HashSet<String>) -> String {
    let safe = |c: char| if c.is_control() || "/\\:*?\"<>|".contains(c) { '_' } else { c };
    let name: String = name.chars().map(safe).collect();
    let name = if name.chars().all(|c| c == '.' || c == ' ') { format!("run{name}") } else { name };
    // Names are told apart before; only replaced characters can make them alike again.
    let mut free = name.clone();
    while !taken.insert(free.to_lowercase()) {
        free.push('_');
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_one_folder() {
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
