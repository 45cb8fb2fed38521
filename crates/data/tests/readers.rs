//! The readers on the published files themselves, where these are on the machine, and on damaged
//! files everywhere.
//!
//! The real data are never part of the repository. They are looked for in the folder that
//! `BOOSTFGL_DATA` names, else in `shared/data` next to the workspace; a test whose files are not
//! there says so and passes.

use std::path::{Path, PathBuf};

use boostfgl_data::readers::{self, Format, csv_tables, flat_npz, geom_gcn, ogb, planetoid};
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role};
use proptest::prelude::*;

/// A file or folder of the real data, or `None` after saying what is left out.
fn real(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("BOOSTFGL_DATA").map(PathBuf::from).filter(|path| path.is_dir());
    let default = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let path = named.unwrap_or_else(default).join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!(
        "left out: {name} is not on this machine (set BOOSTFGL_DATA to a folder that holds it)"
    );
    None
}

/// Reads two forms of one dataset and checks that they are the same in everything but the name.
fn agree(flat: &str, raw: &str, format: Format) -> Option<(Graph, Graph)> {
    let (flat, raw) = (real(flat)?, real(raw)?);
    assert_eq!(readers::detect(&flat).unwrap(), Format::FlatNpz);
    assert_eq!(readers::detect(&raw).unwrap(), format);
    let (flat, raw) = (readers::read(&flat, None).unwrap(), readers::read(&raw, None).unwrap());
    assert!(flat.adjacency() == raw.adjacency(), "edges of {} differ", flat.name());
    assert!(flat.features() == raw.features(), "features of {} differ", flat.name());
    assert!(flat.labels() == raw.labels(), "labels of {} differ", flat.name());
    Some((flat, raw))
}

/// Nodes, edges, features and classes as the table of sources states them.
fn counts(graph: &Graph) -> [usize; 4] {
    [graph.len(), graph.adjacency().edges(), graph.features().columns(), graph.classes()]
}

fn roles(graph: &Graph) -> [usize; 3] {
    let split = graph.split().expect("a published split");
    [Role::Train, Role::Val, Role::Test].map(|role| split.count(role))
}

#[test]
fn planetoid_pickles_agree_with_the_flat_files() {
    for (name, expected, split) in [
        ("cora", [2708, 5278, 1433, 7], [140, 500, 1000]),
        ("citeseer", [3327, 4552, 3703, 6], [120, 500, 1000]),
        ("pubmed", [19717, 44324, 500, 3], [60, 500, 1000]),
    ] {
        let pair = agree(&format!("{name}.npz"), &format!("raw/{name}"), Format::Planetoid);
        let Some((flat, raw)) = pair else { continue };
        assert_eq!((counts(&raw), roles(&raw), raw.name()), (expected, split, name));
        assert_eq!(raw.split(), flat.split());
        let unlabelled = raw.labels().iter().filter(Option::is_none).count();
        assert_eq!(unlabelled, if name == "citeseer" { 15 } else { 0 });
    }
}

#[test]
fn benchmark_archives_agree_with_the_flat_files() {
    for (name, expected) in
        [("coauthor-cs", [18333, 81894, 6805, 15]), ("coauthor-physics", [34493, 247_962, 8415, 5])]
    {
        let pair = agree(&format!("{name}.npz"), &format!("raw/{name}"), Format::GnnBenchmark);
        let Some((flat, raw)) = pair else { continue };
        assert_eq!(counts(&raw), expected);
        assert!(flat.split().is_none() && raw.split().is_none());
    }
}

#[test]
fn heterophilous_archives_agree_with_the_flat_files() {
    for (name, expected) in
        [("chameleon", [2277, 31371, 2325, 5]), ("squirrel", [5201, 198_353, 2089, 5])]
    {
        for raw in [format!("raw/{name}"), format!("raw/{name}/{name}_directed.npz")] {
            let pair = agree(&format!("{name}.npz"), &raw, Format::Heterophilous);
            let Some((flat, raw)) = pair else { continue };
            assert_eq!(counts(&raw), expected);
            assert_eq!(raw.split(), flat.split());
        }
        let Some(filtered) = real(&format!("raw/{name}/{name}_filtered.npz")) else { continue };
        let filtered = readers::read(&filtered, None).unwrap();
        assert_eq!(filtered.len(), if name == "chameleon" { 890 } else { 2223 });
    }
}

/// The published folder has the edges only, so the nodes come from the flat file.
#[test]
fn geom_gcn_edges_agree_with_the_flat_files() {
    for name in ["chameleon", "squirrel"] {
        let (Some(flat), Some(raw)) = (real(&format!("{name}.npz")), real(&format!("raw/{name}")))
        else {
            continue;
        };
        let flat = flat_npz::read(&flat).unwrap();
        let missing = geom_gcn::read(&raw).unwrap_err().to_string();
        assert!(missing.contains("out1_node_feature_label.txt"), "{missing}");

        let folder = tempfile::tempdir().unwrap();
        std::fs::copy(raw.join("out1_graph_edges.txt"), folder.path().join("out1_graph_edges.txt"))
            .unwrap();
        std::fs::write(folder.path().join("out1_node_feature_label.txt"), geom_gcn_nodes(&flat))
            .unwrap();
        let graph = readers::read(folder.path(), None).unwrap();
        assert!(graph.adjacency() == flat.adjacency() && graph.features() == flat.features());
        assert_eq!(graph.labels(), flat.labels());
    }
}

fn geom_gcn_nodes(graph: &Graph) -> String {
    let Features::Sparse(matrix) = graph.features() else { panic!("bags of words") };
    let mut text = "node_id\tfeature\tlabel\n".to_owned();
    for v in 0..graph.len() {
        let mut row = vec!["0"; matrix.columns()];
        matrix.row(v).0.iter().for_each(|column| row[*column as usize] = "1");
        text += &format!("{v}\t{}\t{}\n", row.join(","), graph.labels().get(v).unwrap());
    }
    text
}

#[test]
fn ogb_tables_agree_with_the_flat_file() {
    let (Some(flat), Some(raw)) = (real("ogbn-arxiv.nofeat.npz"), real("raw/ogbn-arxiv")) else {
        return;
    };
    assert_eq!(readers::detect(&raw).unwrap(), Format::Ogb);
    for error in [readers::read(&raw, None).unwrap_err(), readers::read(&flat, None).unwrap_err()] {
        assert!(error.to_string().contains("a graph without features"), "{error}");
    }
    let flat = flat_npz::read_without_features(&flat).unwrap();
    let raw = ogb::read_without_features(&raw).unwrap();
    assert!(flat == raw, "edges, labels or split differ");
    assert_eq!((raw.0.len(), raw.0.edges(), raw.1.classes()), (169_343, 1_157_799, 40));
    let split = &raw.2[0];
    assert_eq!(
        [Role::Train, Role::Val, Role::Test].map(|role| split.count(role)),
        [90941, 29799, 48603]
    );
}

#[test]
fn a_real_graph_survives_writing_and_reading() {
    let Some(path) = real("raw/citeseer") else { return };
    let graph = planetoid::read(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.npz");
    flat_npz::write(&graph, &copy).unwrap();
    assert!(readers::read(&copy, None).unwrap() == graph);
}

/// Real files cut at a hundred places and with a hundred flipped bits.
#[test]
fn damaged_real_files_never_panic() {
    for file in [
        "raw/cora/ind.cora.graph",
        "raw/cora/ind.cora.tx",
        "raw/chameleon/chameleon_filtered.npz",
        "cora.npz",
    ] {
        let Some(original) = real(file) else { continue };
        let folder = tempfile::tempdir().unwrap();
        for entry in original.parent().unwrap().read_dir().unwrap().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("ind.") {
                std::fs::copy(entry.path(), folder.path().join(name)).unwrap();
            }
        }
        let copy = folder.path().join(original.file_name().unwrap());
        let bytes = std::fs::read(&original).unwrap();
        let target = if file.contains("ind.") { folder.path() } else { &copy };
        for step in 0..100 {
            let at = bytes.len() * step / 100;
            std::fs::write(&copy, &bytes[..at]).unwrap();
            assert!(readers::read(target, None).is_err(), "{file} cut at {at}");
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (step % 8);
            std::fs::write(&copy, &flipped).unwrap();
            let _ = readers::read(target, None);
        }
    }
}

#[test]
fn a_pickle_with_code_is_refused_and_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let witness = folder.path().join("witness");
    for part in ["x", "y", "tx", "ty", "allx", "ally", "graph"] {
        let code = format!("cos\nsystem\n(S'touch {}'\ntR.", witness.display());
        std::fs::write(folder.path().join(format!("ind.evil.{part}")), code).unwrap();
    }
    std::fs::write(folder.path().join("ind.evil.test.index"), "0\n").unwrap();
    let message = readers::read(folder.path(), None).unwrap_err().to_string();
    assert!(message.contains("`os.system`"), "{message}");
    assert!(!witness.exists());
}

#[test]
fn own_tables_survive_import() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("nodes.csv"),
        "id,label,f,split,group:town\nä,red,1,train,Köln\nb,,0,,\nc,blue,2,test,Ulm\n",
    )
    .unwrap();
    std::fs::write(folder.path().join("edges.csv"), "src,dst,weight\nä,b,0.25\nb,c,3\n").unwrap();
    for directed in [false, true] {
        let graph =
            csv_tables::read_with(folder.path(), csv_tables::CsvOptions { directed }).unwrap();
        let copy = folder.path().join("copy.npz");
        assert_eq!(graph.group_columns()[0].values, ["Köln", "Ulm"]);
        flat_npz::write(&graph, &copy).unwrap();
        assert_eq!(flat_npz::read(&copy).unwrap(), graph);
    }
}

/// A small graph of our own, written to a folder.
fn small(folder: &Path) -> Vec<u8> {
    let (adjacency, _) = Adjacency::from_edges(4, &[(0, 1), (1, 2), (2, 3)], None, false).unwrap();
    let features = Features::dense(4, 2, (0..8u8).map(f32::from).collect()).unwrap();
    let labels = Labels::from_integers(&[0, 1, 0, -1], 2).unwrap();
    let path = folder.join("small.npz");
    flat_npz::write(&Graph::new("small", adjacency, features, labels).unwrap(), &path).unwrap();
    std::fs::read(path).unwrap()
}

proptest! {
    #[test]
    fn several_damages_at_once_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 0..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = small(folder.path());
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let path = folder.path().join("small.npz");
        std::fs::write(&path, &bytes).unwrap();
        for format in std::iter::once(None).chain(Format::all().map(Some)) {
            let _ = readers::read(&path, format);
        }
    }

    #[test]
    fn any_bytes_as_any_file_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "a.npz", "ind.a.graph", "ind.a.x", "ind.a.y", "ind.a.allx", "ind.a.ally", "ind.a.tx", "ind.a.ty",
            "ind.a.test.index", "nodes.csv", "edges.csv", "edge.csv.gz", "node-feat.csv.gz", "node-label.csv.gz",
            "out1_graph_edges.txt", "out1_node_feature_label.txt",
        ];
        for name in names {
            std::fs::write(folder.path().join(name), &bytes).unwrap();
        }
        for format in std::iter::once(None).chain(Format::all().map(Some)) {
            prop_assert!(readers::read(folder.path(), format).is_err());
        }
    }
}
