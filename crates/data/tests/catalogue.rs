//! Finding, fetching and checking catalogued datasets.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use boostfgl_data::catalogue::{
    Counts, DATASETS, Dataset, Fetch, File, Flat, Located, Lookup, find, sha256_of, verify_counts,
};
use boostfgl_disk::faults::{Fault, at_every_call};
use boostfgl_graph::generator::{generate, preset};
use boostfgl_graph::{Adjacency, Error, Features, Graph, Labels};

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

const fn file(name: &'static str, sha256: Option<&'static str>, required: bool) -> File {
    File { name, sha256, member: None, required }
}

/// A dataset of three files that all hold `abc`; the flat form does too.
static TINY: Dataset = Dataset {
    name: "tiny",
    aliases: &[],
    title: "three files",
    format: "planetoid",
    origin: "https://origin.test/",
    archive: None,
    folder: "tiny",
    files: &[
        file("one", Some(ABC), true),
        file("two", Some(ABC), true),
        file("extra", Some(ABC), false),
    ],
    flat: Some(Flat { name: "tiny.npz", sha256: ABC, complete: true }),
    licence: "MIT",
    counts: Counts { nodes: 2, edges: 1, edge_slack: 0, features: 0, classes: 2 },
    flaws: "",
    split: [0.2, 0.4, 0.4],
    learning_rate: 1e-2,
};

/// The same, published as a zip archive without known checksums.
static ZIPPED: Dataset = Dataset {
    name: "zipped",
    format: "ogb",
    archive: Some("z.zip"),
    folder: "zipped",
    files: &[
        File { name: "edge", sha256: Some(ABC), member: Some("z/raw/edge"), required: true },
        File { name: "feat", sha256: None, member: Some("z/raw/feat"), required: false },
    ],
    flat: None,
    ..TINY
};

/// A web of a few pages that remembers what was asked.
#[derive(Default)]
struct Web {
    pages: HashMap<String, Vec<u8>>,
    asked: RefCell<Vec<String>>,
}

impl Web {
    fn with<B: AsRef<[u8]>>(pages: impl IntoIterator<Item = (&'static str, B)>) -> Self {
        let pages = pages.into_iter().map(|(url, body)| (url.to_owned(), body.as_ref().to_vec()));
        Self { pages: pages.collect(), asked: RefCell::default() }
    }
}

impl Fetch for Web {
    fn fetch(
        &self,
        url: &str,
        to: &mut dyn Write,
        progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<u64, String> {
        self.asked.borrow_mut().push(url.to_owned());
        let body = self.pages.get(url).ok_or("404 not found")?;
        to.write_all(body).map_err(|e| e.to_string())?;
        progress(body.len() as u64, Some(body.len() as u64));
        Ok(body.len() as u64)
    }
}

fn lookup(cache: &Path) -> Lookup {
    Lookup { cache: Some(cache.join("cache")), ..Lookup::default() }
}

fn fetch(lookup: &Lookup, dataset: &'static Dataset, web: &Web) -> boostfgl_graph::Result<Located> {
    lookup.fetch(dataset, web, &mut |_, _, _| {})
}

fn write(path: impl AsRef<Path>, body: &str) {
    std::fs::create_dir_all(path.as_ref().parent().unwrap()).unwrap();
    std::fs::write(path, body).unwrap();
}

/// Every file below `folder`.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn names_aliases_and_typing_errors() {
    assert_eq!(find("Cora").unwrap().name, "cora");
    for (alias, name) in [
        ("cs", "coauthor-cs"),
        ("physics", "coauthor-physics"),
        ("arxiv", "ogbn-arxiv"),
        ("products", "ogbn-products"),
    ] {
        assert_eq!(find(alias).unwrap().name, name);
    }
    let suggestion = |name| match find(name).unwrap_err() {
        Error::Unknown { kind: "dataset", suggestion, .. } => suggestion,
        other => panic!("{other}"),
    };
    assert_eq!(suggestion("pubmd").as_deref(), Some("pubmed"));
    assert_eq!(suggestion("arxiv-lik").as_deref(), Some("arxiv-like"), "presets are suggested too");
    assert_eq!(suggestion("zebrafish"), None);
}

#[test]
fn the_table_is_sound() {
    let digest = |sha256: &str| sha256.len() == 64 && sha256.bytes().all(|b| b.is_ascii_hexdigit());
    let mut names: Vec<&str> =
        DATASETS.iter().flat_map(|d| d.aliases.iter().copied().chain([d.name])).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "a name occurs twice");
    for dataset in DATASETS {
        let name = dataset.name;
        assert!(
            ["planetoid", "gnn-benchmark", "heterophilous", "ogb"].contains(&dataset.format),
            "{name}"
        );
        assert!(dataset.origin.ends_with('/'), "{name}");
        assert!((dataset.split.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{name}");
        assert!(dataset.files.iter().any(|file| file.required), "{name}");
        assert!(dataset.files.iter().all(|file| file.sha256.is_none_or(digest)), "{name}");
        assert!(
            dataset.files.iter().all(|file| file.member.is_some() == dataset.archive.is_some()),
            "{name}"
        );
        assert!(dataset.flat.is_none_or(|flat| digest(flat.sha256)), "{name}");
    }
}

#[test]
fn presets_have_the_counts_of_the_datasets_they_are_like() {
    for (name, dataset) in [("cora-like", "cora"), ("arxiv-like", "arxiv")] {
        let preset = preset(name).unwrap();
        let graph = generate(preset.name, &preset.spec, preset.seed, &mut |_, _| {}).unwrap();
        assert!(verify_counts(&graph, find(dataset).unwrap()).is_empty(), "{name}");
    }
}

#[test]
fn folders_are_searched_in_order_and_in_every_layout() {
    let temp = tempfile::tempdir().unwrap();
    let (given, mirror) = (temp.path().join("given"), temp.path().join("mirror"));
    let lookup = Lookup {
        data_dir: Some(given.clone()),
        mirror: Some(mirror.display().to_string()),
        ..lookup(temp.path())
    };
    let message = lookup.locate(&TINY).unwrap_err().to_string();
    for folder in [&given, &mirror, lookup.cache.as_ref().unwrap()] {
        assert!(message.contains(&folder.display().to_string()), "{message}");
    }

    write(temp.path().join("cache/tiny/one"), "abc");
    assert!(lookup.locate(&TINY).is_err(), "a required file is missing");
    write(temp.path().join("cache/tiny/two"), "abc");
    let located = lookup.locate(&TINY).unwrap();
    assert_eq!((located.format, located.missing.as_slice()), ("planetoid", &["extra"][..]));
    assert_eq!(located.path, temp.path().join("cache/tiny"));

    write(mirror.join("tiny.npz"), "abc");
    let located = lookup.locate(&TINY).unwrap();
    assert_eq!((located.format, located.path.clone()), ("flat-npz", mirror.join("tiny.npz")));
    assert!(located.check().unwrap().is_empty());

    for name in ["one", "two", "extra"] {
        write(given.join("raw/tiny").join(name), "abc");
    }
    let located = lookup.locate(&TINY).unwrap();
    assert_eq!((located.path.clone(), located.files.len()), (given.join("raw/tiny"), 3));
    write(given.join("raw/tiny/two"), "abd");
    assert!(matches!(located.check(), Err(Error::Checksum { path, .. }) if path.ends_with("two")));
}

#[test]
fn an_unpacked_archive_is_understood() {
    let temp = tempfile::tempdir().unwrap();
    write(temp.path().join("cache/zipped/raw/edge"), "abc");
    let located = lookup(temp.path()).locate(&ZIPPED).unwrap();
    assert_eq!(located.files, [(temp.path().join("cache/zipped/raw/edge"), Some(ABC))]);
    assert_eq!(located.missing, ["feat"]);
}

#[test]
fn a_file_mirror_is_copied_into_the_cache() {
    let temp = tempfile::tempdir().unwrap();
    let mirror = temp.path().join("a mirror");
    write(mirror.join("raw/tiny/one"), "abc");
    write(mirror.join("raw/tiny/two"), "abc");
    let address = format!("file://{}/", mirror.display()).replace(' ', "%20");
    let lookup = Lookup { mirror: Some(address), ..lookup(temp.path()) };
    assert!(lookup.locate(&TINY).is_err(), "an address is not a folder");

    let web = Web::default();
    let located = fetch(&lookup, &TINY, &web).unwrap();
    assert_eq!(located.path, temp.path().join("cache/tiny"));
    assert_eq!(files_below(&temp.path().join("cache")).len(), 2, "no temporary file stays");
    assert!(web.asked.borrow().is_empty(), "the network is not needed");
    assert_eq!(lookup.locate(&TINY).unwrap(), located);
}

#[test]
fn a_web_mirror_comes_before_the_published_address() {
    let temp = tempfile::tempdir().unwrap();
    let lookup =
        Lookup { mirror: Some("http://mirror.test/data".to_owned()), ..lookup(temp.path()) };
    let web = Web::with([("http://mirror.test/data/tiny.npz", "abc")]);
    let mut seen = Vec::new();
    let located = lookup
        .fetch(&TINY, &web, &mut |name, done, all| seen.push((name.to_owned(), done, all)))
        .unwrap();
    assert_eq!((located.format, located.path), ("flat-npz", temp.path().join("cache/tiny.npz")));
    assert_eq!(seen, [("tiny.npz".to_owned(), 3, Some(3))]);
}

#[test]
fn the_published_address_is_the_last_resort() {
    let temp = tempfile::tempdir().unwrap();
    let lookup = Lookup { mirror: Some("http://mirror.test".to_owned()), ..lookup(temp.path()) };
    let web = Web::with([("https://origin.test/one", "abc"), ("https://origin.test/two", "abc")]);
    assert_eq!(fetch(&lookup, &TINY, &web).unwrap().missing, ["extra"]);

    let elsewhere = Lookup { cache: Some(temp.path().join("other")), ..lookup };
    let message = fetch(&elsewhere, &TINY, &Web::default()).unwrap_err().to_string();
    assert!(
        message.contains("https://origin.test/one")
            && message.contains("http://mirror.test/tiny.npz"),
        "{message}"
    );
    let homeless = Lookup { cache: None, ..elsewhere };
    assert!(matches!(fetch(&homeless, &TINY, &Web::default()), Err(Error::NotFound { .. })));
}

#[test]
fn a_corrupted_file_leaves_nothing_in_the_cache() {
    let temp = tempfile::tempdir().unwrap();
    let web =
        Web::with([("https://origin.test/one", "abc"), ("https://origin.test/two", "corrupted")]);
    let error = fetch(&lookup(temp.path()), &TINY, &web).unwrap_err();
    assert!(matches!(error, Error::Checksum { ref expected, .. } if expected == ABC), "{error}");
    assert!(files_below(temp.path()).is_empty());

    write(temp.path().join("mirror/tiny.npz"), "corrupted");
    let address = format!("file://{}", temp.path().join("mirror").display());
    let error =
        fetch(&Lookup { mirror: Some(address), ..lookup(temp.path()) }, &TINY, &web).unwrap_err();
    assert!(matches!(error, Error::Checksum { .. }), "{error}");
    assert!(files_below(&temp.path().join("cache")).is_empty());
}

/// A zip archive that stores its members as they are.
fn zip(members: &[(&str, &str)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, body) in members {
        let mut crc = flate2::Crc::new();
        crc.update(body.as_bytes());
        let offset = archive.len() as u32;
        let mut common = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        common.extend(crc.sum().to_le_bytes());
        common.extend((body.len() as u32).to_le_bytes());
        common.extend((body.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        archive.extend(b"PK\x03\x04");
        archive.extend(&common);
        archive.extend(name.as_bytes());
        archive.extend(body.as_bytes());
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = archive.len() as u32;
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([members.len() as u8, 0, members.len() as u8, 0]);
    archive.extend((directory.len() as u32).to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0, 0]);
    archive
}

#[test]
fn a_published_archive_is_unpacked_and_checked() {
    let fetched = |body: Vec<u8>| {
        let temp = tempfile::tempdir().unwrap();
        let result =
            fetch(&lookup(temp.path()), &ZIPPED, &Web::with([("https://origin.test/z.zip", body)]));
        (result, files_below(temp.path()).len(), temp)
    };
    let (located, files, _temp) =
        fetched(zip(&[("z/raw/edge", "abc"), ("z/raw/feat", "anything"), ("z/other", "")]));
    let located = located.unwrap();
    assert_eq!((files, located.missing.len()), (2, 0));
    assert!(located.check().unwrap()[0].ends_with("feat"), "no checksum of it is known");

    let (located, files, _temp) = fetched(zip(&[("z/raw/edge", "abd")]));
    assert!(matches!(located, Err(Error::Checksum { .. })) && files == 0);
    // The catalogue has no checksum of `feat`: only that of the zip entry can detect the damage.
    let mut changed = zip(&[("z/raw/edge", "abc"), ("z/raw/feat", "anything")]);
    let at = changed.windows(8).position(|bytes| bytes == b"anything").unwrap();
    changed[at] ^= 1;
    for broken in [changed, zip(&[("z/raw/feat", "abc")]), b"not a zip".to_vec(), Vec::new()] {
        let (located, files, _temp) = fetched(broken);
        assert!(matches!(located, Err(Error::Fetch { .. })) && files == 0);
    }
}

#[test]
fn counts_are_compared() {
    let graph = |edges: &[(u32, u32)]| {
        let adjacency = Adjacency::from_edges(2, edges, None, false).unwrap().0;
        let labels = Labels::from_integers(&[0, 1], 2).unwrap();
        Graph::new("tiny", adjacency, Features::dense(2, 0, Vec::new()).unwrap(), labels).unwrap()
    };
    assert!(verify_counts(&graph(&[(0, 1)]), &TINY).is_empty());
    assert_eq!(verify_counts(&graph(&[]), &TINY), ["tiny: expected 1 edges, found 0"]);
    let slack = Dataset { counts: Counts { edge_slack: 1, ..TINY.counts }, ..TINY };
    assert!(verify_counts(&graph(&[]), &slack).is_empty());
}

/// The folder with the published files, if this machine has one.
fn real_data() -> Option<PathBuf> {
    let default = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let folder = std::env::var_os("BOOSTFGL_DATA").map_or(default, PathBuf::from);
    folder.is_dir().then_some(folder)
}

#[test]
fn checksums_of_the_published_files_match() {
    let Some(folder) = real_data() else {
        eprintln!("left out: no folder with the published datasets (set BOOSTFGL_DATA)");
        return;
    };
    let lookup = Lookup { data_dir: Some(folder.clone()), ..Lookup::default() };
    for dataset in DATASETS {
        match lookup.locate(dataset) {
            Ok(located) => {
                assert!(located.check().is_ok(), "{}: {:?}", dataset.name, located.check());
            }
            Err(_) => eprintln!("left out: {} is not in {}", dataset.name, folder.display()),
        }
        // `locate` prefers the flat form; the published one must match as well.
        for file in dataset.files {
            let path = folder.join("raw").join(dataset.folder).join(file.name);
            match file.sha256 {
                Some(expected) if path.is_file() => {
                    assert_eq!(sha256_of(&path).unwrap(), expected, "{}", path.display());
                }
                _ => eprintln!("left out: {} of {}", file.name, dataset.name),
            }
        }
    }
}

/// Whatever the disk does while files are brought, the cache holds none that is not whole, and the
/// next attempt succeeds.
#[test]
fn a_faulty_disk_leaves_no_half_of_a_download() {
    let body = |name| (name, "abc");
    let web = Web::with(
        ["https://origin.test/one", "https://origin.test/two", "https://origin.test/extra"]
            .map(body),
    );
    for fault in Fault::ALL {
        let prepare = || tempfile::tempdir().unwrap();
        let look = |place: &Path, outcome: boostfgl_graph::Result<Located>, n: usize| {
            let case = format!("{fault:?} at {n}");
            for path in files_below(&place.join("cache/tiny")) {
                assert_eq!(std::fs::read(&path).unwrap(), b"abc", "{case}: {}", path.display());
            }
            if let Ok(located) = outcome {
                assert_eq!(located.missing, Vec::<&str>::new(), "{case}");
            }
            let located = fetch(&lookup(place), &TINY, &web)
                .unwrap_or_else(|error| panic!("{case}, then again: {error}"));
            assert!(
                located.missing.is_empty() || located.missing == ["extra"],
                "{case}: {:?}",
                located.missing
            );
        };
        let (calls, whole) =
            at_every_call(fault, prepare, |place| fetch(&lookup(place), &TINY, &web), look);
        assert!(whole.unwrap().missing.is_empty());
        assert!(calls >= 12, "{fault:?}: {calls} calls");
    }
}

/// A server that never stops sending, and counts.
#[derive(Default)]
struct Endless(RefCell<u64>);

impl Fetch for Endless {
    fn fetch(
        &self,
        _: &str,
        to: &mut dyn Write,
        _: &mut dyn FnMut(u64, Option<u64>),
    ) -> Result<u64, String> {
        let page = vec![0; 4 << 20];
        *self.0.borrow_mut() = 0;
        loop {
            to.write_all(&page).map_err(|e| e.to_string())?;
            *self.0.borrow_mut() += page.len() as u64;
        }
    }
}

#[test]
fn a_download_that_does_not_end_is_cut() {
    let place = tempfile::tempdir().unwrap();
    let endless = Endless::default();
    let error = lookup(place.path()).fetch(&TINY, &endless, &mut |_, _, _| {}).unwrap_err();
    assert!(
        matches!(&error, Error::Fetch { .. }) && error.to_string().contains("expected at most 67"),
        "{error}"
    );
    assert!(*endless.0.borrow() <= 68 << 20, "{:?}", endless.0);
    assert_eq!(files_below(&place.path().join("cache")), Vec::<PathBuf>::new());
}
