//! Every fault at every call of every kind of write.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use boostfgl_disk::faults::{Fault, Faults, at_every_call};
use boostfgl_disk::{
    AppendFile, AtomicFile, Result, UNFINISHED, create_dir_all, remove_dir_all, remove_file,
    sync_folder, write_atomic,
};

fn prepared(fill: impl Fn(&Path)) -> impl Fn() -> tempfile::TempDir {
    move || {
        let place = tempfile::tempdir().unwrap();
        fill(place.path());
        place
    }
}

#[test]
fn an_atomic_file_has_the_old_or_the_new_content() {
    // More than one buffer, so that there are several writes.
    let new = vec![7u8; 40_000];
    for fault in Fault::ALL {
        let (calls, whole) = at_every_call(
            fault,
            prepared(|place| write_atomic(place.join("a"), b"old").unwrap()),
            |place| {
                let mut file = AtomicFile::create(place.join("a"))?;
                for part in new.chunks(1000) {
                    file.write_all(part)
                        .map_err(|source| boostfgl_disk::Error::new(file.target(), source))?;
                }
                file.finish()
            },
            |place, outcome, n| {
                let left = fs::read(place.join("a")).unwrap();
                assert!(left == b"old" || left == new, "{fault:?} at {n}: {} bytes", left.len());
                match outcome {
                    Ok(()) => assert_eq!(left, new, "{fault:?} at {n}"),
                    Err(error) => assert_eq!(error.path, place.join("a"), "{fault:?} at {n}"),
                }
                let down = matches!(fault, Fault::Crash | Fault::PowerCut | Fault::TornCut);
                let names: Vec<_> =
                    fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name()).collect();
                let unfinished = |name: &&std::ffi::OsString| {
                    let name = name.to_string_lossy();
                    name.starts_with(UNFINISHED.0) && name.ends_with(UNFINISHED.1)
                };
                assert_eq!(names.iter().filter(|name| !unfinished(name)).count(), 1, "{names:?}");
                assert!(down || names.len() == 1, "{fault:?} at {n} leaves {names:?}");
            },
        );
        whole.unwrap();
        assert!(calls >= 8, "{fault:?}: {calls} calls");
    }
}

#[test]
fn an_append_file_loses_nothing_that_was_synced() {
    for fault in Fault::ALL {
        let (_, whole) = at_every_call(
            fault,
            prepared(|_| {}),
            |place| -> Result<()> {
                let mut file = AppendFile::create(place.join("a"))?;
                for line in ["one\n", "two\n", "three\n"] {
                    file.append(line.as_bytes())?;
                    file.sync()?;
                    fs::write(place.join("acknowledged"), line).unwrap();
                }
                Ok(())
            },
            |place, outcome, n| {
                let whole = "one\ntwo\nthree\n";
                let safe = fs::read_to_string(place.join("acknowledged")).unwrap_or_default();
                let length = whole.find(&safe).unwrap() + safe.len();
                let left = fs::read_to_string(place.join("a")).unwrap_or_default();
                assert!(
                    left.starts_with(&whole[..length]),
                    "{fault:?} at {n}: {left:?} after {safe:?}"
                );
                assert!(outcome.is_ok() || fault != Fault::Short, "{fault:?} at {n}");
            },
        );
        whole.unwrap();
    }
}

#[test]
fn truncation_before_resuming_is_durable_or_does_not_happen() {
    for fault in Fault::ALL {
        let (_, whole) = at_every_call(
            fault,
            prepared(|place| fs::write(place.join("a"), "one\ntwo\nth").unwrap()),
            |place| -> Result<()> {
                let mut file = AppendFile::open(place.join("a"))?;
                file.truncate(4)?;
                file.append(b"2\n")?;
                file.sync()
            },
            |place, _, n| {
                let left = fs::read(place.join("a")).unwrap();
                assert!(left.starts_with(b"one\n"), "{fault:?} at {n}: {left:?}");
                let mut again = AppendFile::open(place.join("a")).unwrap();
                again.truncate(4).unwrap();
                again.append(b"2\n").unwrap();
                assert_eq!(fs::read(place.join("a")).unwrap(), b"one\n2\n");
            },
        );
        whole.unwrap();
    }
}

#[test]
fn a_partly_removed_folder_can_be_removed_again() {
    for fault in Fault::ALL {
        let (_, whole) = at_every_call(
            fault,
            prepared(|place| {
                create_dir_all(place.join("a/b")).unwrap();
                fs::write(place.join("a/1"), "1").unwrap();
                fs::write(place.join("a/b/2"), "2").unwrap();
            }),
            |place| remove_dir_all(place.join("a")),
            |place, _, n| {
                if place.join("a").exists() {
                    remove_dir_all(place.join("a"))
                        .unwrap_or_else(|error| panic!("{fault:?} at {n}: {error}"));
                }
                create_dir_all(place.join("a/b")).unwrap();
            },
        );
        whole.unwrap();
    }
}

#[test]
fn a_rename_that_was_not_synced_can_be_lost() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a");
    write_atomic(&path, b"old").unwrap();
    // Create, write, sync, rename: the fifth call would make the name durable.
    let faults = Faults::install(place.path(), Fault::PowerCut, 5);
    write_atomic(&path, b"new").unwrap_err();
    drop(faults);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

#[test]
fn faults_do_not_affect_other_folders() {
    let (mine, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let faults = Faults::install(mine.path(), Fault::Crash, 1);
    write_atomic(theirs.path().join("a"), b"1").unwrap();
    assert_eq!((faults.calls(), faults.fired()), (0, false));
    write_atomic(mine.path().join("a"), b"1").unwrap_err();
    assert!(faults.fired());
    drop(faults);
    write_atomic(mine.path().join("a"), b"1").unwrap();
}

/// The model of a power cut itself: if it lost nothing, the tests above would prove nothing.
#[test]
fn a_power_cut_loses_what_was_not_synced() {
    let left = |fault| {
        let place = tempfile::tempdir().unwrap();
        // Create, sync the folder, write, sync, write: the sixth call meets the fault.
        let faults = Faults::install(place.path(), fault, 6);
        let mut file = AppendFile::create(place.path().join("a")).unwrap();
        file.append(b"safe").unwrap();
        file.sync().unwrap();
        file.append(b"lost").unwrap();
        assert_eq!((faults.calls(), faults.fired()), (5, false));
        assert!(file.sync().is_err());
        assert!(faults.fired());
        assert!(file.append(b"more").is_err(), "the machine is down");
        drop(faults);
        write_atomic(place.path().join("b"), b"up again").unwrap();
        fs::read(place.path().join("a")).unwrap()
    };
    assert_eq!(left(Fault::PowerCut), b"safe");
    assert_eq!(left(Fault::TornCut), b"safe\0\0");
    assert_eq!(left(Fault::Crash), b"safelost");
}

#[test]
fn a_power_cut_undoes_a_removal_unless_its_folder_was_synced() {
    for synced in [false, true] {
        let place = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| place.path().join(name));
        write_atomic(&a, b"1").unwrap();
        let faults = Faults::install(place.path(), Fault::PowerCut, 2 + usize::from(synced));
        remove_file(&a).unwrap();
        if synced {
            sync_folder(place.path()).unwrap();
        }
        assert!(!a.exists());
        assert!(create_dir_all(&b).is_err(), "the power goes");
        drop(faults);
        assert_eq!((a.exists(), b.exists()), (!synced, false));
    }
}
