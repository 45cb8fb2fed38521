//! Reading files with a display of how much of them is read.

use crate::data::LoadProgress;
use boostfgl_data::readers::bytes_read;
use std::fs::Metadata;
use std::path::Path;
use std::time::Duration;

/// The time between two looks at how many bytes are read.
const PAUSE: Duration = Duration::from_millis(50);

/// Does `work`, which reads the files at `paths`, on a thread of its own, and reports the share of
/// their bytes that is read.
pub(crate) fn watched<T: Send>(
    phase: &str,
    paths: &[&Path],
    progress: LoadProgress<'_>,
    work: impl FnOnce() -> T + Send,
) -> T {
    let total: u64 = paths.iter().map(|path| size(path)).sum();
    let before = bytes_read();
    let reader = std::thread::current();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let done = work();
            // Without this, small files would wait for the end of a pause.
            reader.unpark();
            done
        });
        while !worker.is_finished() {
            let read = bytes_read() - before;
            // A reader may read a file twice, and has work to do after the last byte.
            progress(phase, (read as f64 / total.max(1) as f64).min(0.99));
            std::thread::park_timeout(PAUSE);
        }
        match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The bytes of a file, or of the files in a folder; 0 for what cannot be read.
fn size(path: &Path) -> u64 {
    let Ok(found) = path.metadata() else { return 0 };
    if found.is_file() {
        return found.len();
    }
    let entries = path.read_dir().into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok()).filter(Metadata::is_file);
    files.map(|found| found.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_a_graph_reports_shares_up_to_the_end() {
        let place = tempfile::tempdir().unwrap();
        let mut nodes = String::from("id,label,x\n");
        (0..20_000).for_each(|v| nodes.push_str(&format!("{v},{},{}\n", v % 3, v % 7)));
        std::fs::write(place.path().join("nodes.csv"), nodes).unwrap();
        std::fs::write(place.path().join("edges.csv"), "src,dst\n0,1\n1,2\n").unwrap();
        let mut seen = Vec::new();
        let graph = watched(
            "reading mine",
            &[place.path()],
            &mut |phase, share| seen.push((phase.to_owned(), share)),
            || boostfgl_data::readers::read(place.path(), None),
        );
        assert_eq!(graph.unwrap().len(), 20_000);
        assert!(seen.iter().all(|(phase, share)| phase == "reading mine" && *share < 1.0));
        assert!(!seen.is_empty());
    }

    #[test]
    fn a_panic_of_a_reader_is_not_swallowed() {
        let caught = std::panic::catch_unwind(|| {
            watched("reading", &[], &mut |_, _| {}, || panic!("a defect"));
        });
        assert!(caught.is_err());
    }
}
