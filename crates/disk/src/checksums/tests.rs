//! Checksums find every change, and are never stale after a crash.

use super::*;

#[test]
fn every_flipped_bit_and_every_truncation_is_reported_with_the_name_of_the_file() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    fs::write(folder.join("a.csv"), "x,y\n1,2\n").unwrap();
    fs::write(folder.join("b.json"), "{}\n").unwrap();
    let names = ["a.csv", "b.json"];
    Checksums::of(folder, ["a.csv", "not-there"]).unwrap().with("b.json", b"{}\n").write().unwrap();
    let check = || -> Result<()> {
        let sums = Checksums::read(folder)?.expect("there is a list");
        names.iter().try_for_each(|name| sums.check(name))
    };
    check().unwrap();
    for name in ["a.csv", "b.json", Checksums::FILE] {
        let whole = fs::read(folder.join(name)).unwrap();
        let cuts = (0..whole.len()).map(|length| whole[..length].to_vec());
        let flips = (0..whole.len() * 8).map(|bit| {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            bytes
        });
        for damaged in cuts.chain(flips) {
            fs::write(folder.join(name), &damaged).unwrap();
            let error = check().unwrap_err().to_string();
            assert!(error.contains(name), "{name} as {damaged:?}: {error}");
        }
        fs::write(folder.join(name), &whole).unwrap();
    }
    check().unwrap();
}

#[test]
fn a_list_cannot_point_outside_its_folder() {
    let sum = "0".repeat(64);
    for name in ["../x", "/etc/passwd", "..", "", "a\\b"] {
        assert!(parse(format!("{sum}  {name}\n").as_bytes()).is_err(), "{name}");
    }
    assert_eq!(parse(b"").unwrap().len(), 0);
    for sum in ["g".repeat(64), "A".repeat(64), "0".repeat(63), "0".repeat(65)] {
        assert!(parse(format!("{sum}  a\n").as_bytes()).is_err(), "{sum}");
    }
}

#[test]
fn a_file_without_checksums_is_accepted() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("a");
    fs::write(&file, "1").unwrap();
    Checksums::check_file(&file).unwrap();
    Checksums::of(place.path(), ["a"]).unwrap().write().unwrap();
    Checksums::check_file(&file).unwrap();
    fs::write(&file, "2").unwrap();
    assert_eq!(Checksums::check_file(&file).unwrap_err().source.kind(), io::ErrorKind::InvalidData);
}

#[test]
fn an_unlisted_file_is_accepted_unless_it_is_checked_by_name() {
    let place = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| place.path().join(name));
    [&a, &b].into_iter().for_each(|file| fs::write(file, "1").unwrap());
    Checksums::of(place.path(), ["a"]).unwrap().write().unwrap();
    Checksums::check_file(&b).unwrap();
    let sums = Checksums::read(place.path()).unwrap().unwrap();
    assert_eq!(sums.names().collect::<Vec<_>>(), ["a"]);
    assert!(sums.check("b").is_err(), "checking an unlisted file by name is an error");
}

#[test]
fn removing_a_list_or_a_sidecar_twice_is_no_error() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("a");
    fs::write(&file, "1").unwrap();
    Checksums::of(place.path(), ["a"]).unwrap().write().unwrap();
    Checksums::write_sidecar(&file).unwrap();
    for _ in 0..2 {
        Checksums::remove(place.path()).unwrap();
        Checksums::remove_sidecar(&file).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "only the file itself is left");
    }
}

#[test]
fn replacing_a_file_updates_its_line_and_no_other() {
    let place = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| place.path().join(name));
    [&a, &b].into_iter().for_each(|file| fs::write(file, "1").unwrap());
    let list = || fs::read_to_string(place.path().join(Checksums::FILE)).unwrap();
    let check = |name: &str| Checksums::read(place.path()).unwrap().unwrap().check(name);
    Checksums::replace(&a, b"2", true).unwrap();
    assert!(!place.path().join(Checksums::FILE).exists(), "no list is created");
    Checksums::of(place.path(), ["b"]).unwrap().write().unwrap();
    let before = list();
    Checksums::replace(&a, b"3", false).unwrap();
    assert_eq!((list(), fs::read(&a).unwrap()), (before, b"3".to_vec()), "a file without a line");
    Checksums::replace(&a, b"4", true).unwrap();
    check("a").unwrap();
    // The damage of another file must not be hidden by this.
    fs::write(&b, "changed").unwrap();
    Checksums::replace(&a, b"5", false).unwrap();
    check("a").unwrap();
    assert!(check("b").is_err());
    fs::write(place.path().join(Checksums::FILE), "damaged").unwrap();
    Checksums::replace(&a, b"6", true).unwrap();
    assert_eq!((list(), fs::read(&a).unwrap()), ("damaged".to_owned(), b"6".to_vec()));
}

#[test]
fn replacing_a_file_updates_its_sidecar() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("a");
    fs::write(&file, "1").unwrap();
    Checksums::write_sidecar(&file).unwrap();
    Checksums::replace(&file, b"2", false).unwrap();
    Checksums::check_file(&file).unwrap();
    fs::write(&file, "1").unwrap();
    assert!(Checksums::check_file(&file).is_err());
}

/// A folder in the place of a list or a file makes every call fail.
#[test]
fn a_failing_system_call_is_not_taken_for_a_missing_list() {
    let place = tempfile::tempdir().unwrap();
    let list = place.path().join(Checksums::FILE);
    fs::create_dir(&list).unwrap();
    for error in [
        Checksums::read(place.path()).unwrap_err(),
        Checksums::remove(place.path()).unwrap_err(),
        Checksums::of(place.path(), [Checksums::FILE]).unwrap_err(),
    ] {
        assert_eq!(error.path, list);
    }
}

#[test]
fn a_sidecar_detects_every_change_of_the_file_and_of_itself() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("parts.csv");
    fs::write(&file, "1").unwrap();
    Checksums::write_sidecar(&file).unwrap();
    Checksums::check_file(&file).unwrap();
    let list = place.path().join("parts.csv.b3");
    let whole = fs::read(&list).unwrap();
    assert!(whole.ends_with(b"  parts.csv\n"));
    fs::write(&file, "2").unwrap();
    let error = Checksums::check_file(&file).unwrap_err().to_string();
    assert!(
        error.contains("expected the content recorded in parts.csv.b3, found other"),
        "{error}"
    );
    fs::write(&file, "1").unwrap();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        for damaged in [&flipped[..], &whole[..at]] {
            fs::write(&list, damaged).unwrap();
            // An empty list names nothing.
            assert!(Checksums::check_file(&file).is_err(), "byte {at}");
        }
    }
}
