//! Readers, one file per format in which graphs are published, and one for your own tables.
//!
//! [`read`] looks at a path, finds out the format and reads it:
//!
//! ```no_run
//! let graph = boostfgl_graph::readers::read("my_data".as_ref(), None)?;
//! println!("{} nodes", graph.len());
//! # Ok::<(), boostfgl_graph::Error>(())
//! ```
//!
//! To add a format, write a file with a `read` function and add a variant to [`Format`] and a line
//! to its table. Whatever the bytes on disk, a reader returns a graph or an [`Error`]; it never
//! panics, never runs anything it finds, and takes memory in proportion to what the file can really
//! hold.

mod budget;
pub mod csv_tables;
mod dtype;
pub mod flat_npz;
mod foreign;
pub mod geom_gcn;
pub mod gnn_benchmark;
pub mod heterophilous;
mod npz;
mod npz_writer;
pub mod ogb;
mod parts;
mod pickle;
pub mod planetoid;
mod table;
#[cfg(test)]
mod testing;
mod text;
pub(crate) mod zip;

use std::path::{Path, PathBuf};

use self::foreign::Container;
use crate::{Error, Graph, Result};

/// A way in which graphs are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// The project's own npz: [`flat_npz`].
    FlatNpz,
    /// The pickles of Cora, CiteSeer and PubMed: [`planetoid`].
    Planetoid,
    /// The npz of Coauthor and Amazon: [`gnn_benchmark`].
    GnnBenchmark,
    /// The npz of Chameleon, Squirrel and others: [`heterophilous`].
    Heterophilous,
    /// The text files of Chameleon, Squirrel and others: [`geom_gcn`].
    GeomGcn,
    /// The gzipped tables of ogbn-arxiv and others: [`ogb`].
    Ogb,
    /// Your own tables: [`csv_tables`].
    Csv,
}

/// One line of the table of formats.
struct Row {
    format: Format,
    name: &'static str,
    description: &'static str,
    container: Container,
    /// The arrays or files that it needs; alternatives have `|` between, and NAME stands for any
    /// name.
    needs: &'static [&'static str],
    /// What else it may have.
    optional: &'static str,
    read: fn(&Path) -> Result<Graph>,
}

/// All formats. Names, help, detection errors and [`read`] come from here; the order is that of
/// [`Format`].
const TABLE: [Row; 7] = [
    Row {
        format: Format::FlatNpz,
        name: "flat-npz",
        description: "one npz with edge_index, x or x_indptr…, y",
        container: Container::Npz,
        needs: &["edge_index", "y", "x|x_indptr"],
        optional: "x_indices, x_data, x_shape (with x_indptr); a split: train_idx, val_idx, \
            test_idx, or train_masks, val_masks, test_masks; unlabelled_idx, edge_weight, \
            directed, class_names, node_ids, group_names",
        read: flat_npz::read,
    },
    Row {
        format: Format::Planetoid,
        name: "planetoid",
        description: "a folder with ind.NAME.x, .y, .tx, .ty, .allx, .ally, .graph, .test.index",
        container: Container::Folder,
        needs: &[
            "ind.NAME.x",
            "ind.NAME.y",
            "ind.NAME.tx",
            "ind.NAME.ty",
            "ind.NAME.allx",
            "ind.NAME.ally",
            "ind.NAME.graph",
            "ind.NAME.test.index",
        ],
        optional: "",
        read: planetoid::read,
    },
    Row {
        format: Format::GnnBenchmark,
        name: "gnn-benchmark",
        description: "one npz with adj_indptr…, attr_indptr…, labels",
        container: Container::Npz,
        needs: &[
            "labels",
            "adj_indptr",
            "adj_indices",
            "adj_data",
            "adj_shape",
            "attr_indptr",
            "attr_indices",
            "attr_data",
            "attr_shape",
        ],
        optional: "",
        read: gnn_benchmark::read,
    },
    Row {
        format: Format::Heterophilous,
        name: "heterophilous",
        description: "one npz with node_features, node_labels, edges",
        container: Container::Npz,
        needs: &["node_features", "node_labels", "edges"],
        optional: "a split: train_masks, val_masks, test_masks",
        read: heterophilous::read,
    },
    Row {
        format: Format::GeomGcn,
        name: "geom-gcn",
        description: "a folder with out1_graph_edges.txt and out1_node_feature_label.txt",
        container: Container::Folder,
        needs: &[geom_gcn::EDGE_FILE, geom_gcn::NODE_FILE],
        optional: "",
        read: geom_gcn::read,
    },
    Row {
        format: Format::Ogb,
        name: "ogb",
        description: "a folder with edge.csv.gz, node-label.csv.gz, node-feat.csv.gz, in raw/ or \
            not",
        container: Container::Folder,
        needs: &["edge.csv.gz", "node-label.csv.gz", "node-feat.csv.gz"],
        optional: "num-node-list.csv.gz, num-edge-list.csv.gz; a split: train.csv.gz, \
            valid.csv.gz, test.csv.gz",
        read: ogb::read,
    },
    Row {
        format: Format::Csv,
        name: "csv",
        description: "a folder with nodes.csv (id,label,<feature>…[,group:NAME…]) and edges.csv \
            (src,dst[,weight])",
        container: Container::Folder,
        needs: &[csv_tables::NODE_FILE, csv_tables::EDGE_FILE],
        optional: "in nodes.csv a column split (train, val, test or none) and columns group:NAME; \
            in edges.csv a column weight",
        read: csv_tables::read,
    },
];

impl Format {
    /// Every format, in the order in which they are listed to users.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.format)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What the files look like, in one line.
    pub fn description(self) -> &'static str {
        self.row().description
    }

    /// The arrays or files that it needs, in words.
    pub fn needs(self) -> String {
        self.row().needs.join(", ").replace('|', " or ")
    }

    /// What else it may have, in words; may be empty.
    pub fn optional(self) -> &'static str {
        self.row().optional
    }

    /// The format of that name.
    ///
    /// # Errors
    /// If there is none; the nearest name is suggested.
    ///
    /// ```
    /// use boostfgl_graph::readers::Format;
    /// assert_eq!(Format::from_name("geom-gcn")?, Format::GeomGcn);
    /// let error = Format::from_name("geomgcn").unwrap_err().to_string();
    /// assert_eq!(error, "unknown format `geomgcn` (did you mean `geom-gcn`?)");
    /// # Ok::<(), boostfgl_graph::Error>(())
    /// ```
    pub fn from_name(name: &str) -> Result<Self> {
        let row = TABLE.iter().find(|row| row.name == name);
        row.map(|row| row.format)
            .ok_or_else(|| Error::unknown("format", name, TABLE.iter().map(|row| row.name)))
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
}

/// Reads the graph at `path`, a file or folder, in the given format or in the one that [`detect`]
/// finds.
///
/// # Errors
/// If the format cannot be found out, or the reader of the format finds fault with the files.
pub fn read(path: &Path, format: Option<Format>) -> Result<Graph> {
    let format = format.map_or_else(|| detect(path), Ok)?;
    let graph = (format.row().read)(path)?;
    parts::check_size(path, &graph)?;
    Ok(graph)
}

/// Finds out the format of a file or folder by its contents.
///
/// # Errors
/// If the path does not exist or holds nothing that is understood; the message names the nearest
/// format.
pub fn detect(path: &Path) -> Result<Format> {
    let kind = path.metadata().map_err(|e| Error::io(path, e))?;
    if kind.is_dir() {
        return detect_folder(path);
    }
    let name = path.file_name().unwrap_or_default();
    if planetoid::name_in(path).is_some() {
        Ok(Format::Planetoid)
    } else if name == geom_gcn::EDGE_FILE {
        Ok(Format::GeomGcn)
    } else if path.extension().is_some_and(|ending| ending == "npz") {
        detect_npz(path)
    } else {
        Err(foreign::of_file(path))
    }
}

fn detect_folder(folder: &Path) -> Result<Format> {
    let has = |name: &str| folder.join(name).is_file();
    if !planetoid::names_in(folder)?.is_empty() {
        Ok(Format::Planetoid)
    } else if has(csv_tables::NODE_FILE) && has(csv_tables::EDGE_FILE) {
        Ok(Format::Csv)
    } else if has(geom_gcn::EDGE_FILE) && has(geom_gcn::NODE_FILE) {
        Ok(Format::GeomGcn)
    } else if ogb::is_here(folder) {
        Ok(Format::Ogb)
    } else if let Ok(npz) = npz_in(folder) {
        detect_npz(&npz)
    } else if has(geom_gcn::EDGE_FILE) {
        // Its reader names the file that is missing, which says more than a list of formats.
        Ok(Format::GeomGcn)
    } else {
        Err(foreign::of_parts(folder, Container::Folder, &names_in(folder)))
    }
}

fn detect_npz(path: &Path) -> Result<Format> {
    let npz = npz::Npz::open(path)?;
    if npz.has("edge_index") {
        Ok(Format::FlatNpz)
    } else if npz.has("adj_indptr") {
        Ok(Format::GnnBenchmark)
    } else if npz.has("node_features") {
        Ok(Format::Heterophilous)
    } else {
        let names: Vec<String> = npz.names().map(str::to_owned).collect();
        Err(foreign::of_parts(path, Container::Npz, &names))
    }
}

/// The names in a folder, sorted, for an error.
fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = folder
        .read_dir()
        .map(|entries| {
            entries
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect()
        })
        .unwrap_or_default();
    names.sort();
    names
}

/// The first names in a folder, in words.
fn contents(folder: &Path) -> String {
    let names = names_in(folder);
    match names.len() {
        0 => "an empty folder".to_owned(),
        1..=8 => format!("a folder with {}", names.join(", ")),
        more => format!("a folder with {} and {} more", names[..8].join(", "), more - 8),
    }
}

/// The npz that a path stands for: itself, or in a folder the only one, or the one named like the
/// folder.
fn npz_in(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let namesake = path.join(format!("{}.npz", parts::name_of(path)));
    if namesake.is_file() {
        return Ok(namesake);
    }
    let entries = path.read_dir().map_err(|e| Error::io(path, e))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "npz"));
    match (files.pop(), files.len()) {
        (Some(file), 0) => Ok(file),
        _ => {
            Err(Error::malformed(path, "", "one npz, or one named like the folder", contents(path)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{Folder, npy_bytes, raw_npz};
    use super::*;

    #[test]
    fn the_table_follows_the_enum() {
        for (at, row) in TABLE.iter().enumerate() {
            assert_eq!(row.format as usize, at);
            assert_eq!(Format::from_name(row.name).unwrap().name(), row.name);
            assert!(!row.format.description().is_empty());
        }
    }

    fn detected(files: &[&str]) -> Result<Format> {
        let folder = Folder::new();
        files.iter().for_each(|name| folder.write(name, b""));
        detect(&folder.path(""))
    }

    #[test]
    fn folders_are_recognised() {
        assert_eq!(detected(&["ind.cora.graph", "x.npz"]).unwrap(), Format::Planetoid);
        assert_eq!(detected(&["nodes.csv", "edges.csv"]).unwrap(), Format::Csv);
        assert_eq!(detected(&[geom_gcn::EDGE_FILE]).unwrap(), Format::GeomGcn);
        assert_eq!(detected(&["raw/edge.csv.gz"]).unwrap(), Format::Ogb);
        assert_eq!(detected(&["edge.csv.gz"]).unwrap(), Format::Ogb);
    }

    #[test]
    fn archives_are_recognised_by_their_arrays() {
        let folder = Folder::new();
        let empty = npy_bytes("<i4", "(0,)", false, &[]);
        for (array, format) in [
            ("edge_index.npy", Format::FlatNpz),
            ("adj_indptr.npy", Format::GnnBenchmark),
            ("node_features.npy", Format::Heterophilous),
        ] {
            folder.write("a.npz", &raw_npz(&[(array, &empty)]));
            assert_eq!(detect(&folder.path("a.npz")).unwrap(), format);
            assert_eq!(detect(&folder.path("")).unwrap(), format);
        }
        folder.write("a.npz", &raw_npz(&[("z.npy", &empty)]));
        let message = detect(&folder.path("a.npz")).unwrap_err().to_string();
        assert!(message.contains("a.npz: found an npz with the arrays z; expected"), "{message}");
    }

    #[test]
    fn what_is_not_understood_is_told_with_the_nearest_format() {
        let message = detected(&["readme.txt"]).unwrap_err().to_string();
        assert!(
            message.contains(
                "found a folder with the files readme.txt; expected the files of a known"
            ),
            "{message}"
        );
        let message = detected(&["nodes.csv", "readme.txt"]).unwrap_err().to_string();
        assert!(message.ends_with("the nearest is csv, which also needs edges.csv"), "{message}");
        assert!(detected(&["a.npz", "b.npz"]).is_err());
        assert!(matches!(detect(Path::new("/nowhere/at/all")), Err(Error::Io { .. })));
        let folder = Folder::new();
        folder.write("x.txt", b"");
        assert!(read(&folder.path("x.txt"), None).is_err());
        assert!(read(&folder.path("x.txt"), Some(Format::FlatNpz)).is_err());
    }
}
