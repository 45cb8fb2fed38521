//! Readers, one file per format in which graphs are published, and one for your own tables.
//!
//! [`read`] looks at a path, finds out the format and reads it:
//!
//! ```no_run
//! let graph = boostfgl_data::readers::read("my_data".as_ref(), None)?;
//! println!("{} nodes", graph.len());
//! # Ok::<(), boostfgl_graph::Error>(())
//! ```
//!
//! To add a format, write a file with a `read` function and a `READER`, and add one line to
//! `formats!`. Whatever the bytes on disk, a reader returns a graph or an [`Error`]; it never
//! panics, never executes anything it finds, and takes memory in proportion to what the file can
//! really hold.

pub(crate) mod budget;
mod counted;
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
pub(crate) mod parts;
mod pickle;
pub mod planetoid;
pub mod scipy_npz;
mod table;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod text;
pub(crate) mod zip;

use std::path::{Path, PathBuf};

use boostfgl_graph::{Error, Graph, Result};

pub use self::counted::bytes_read;
use self::foreign::Container;

/// The description of a format; each reader has one as `READER`.
struct Reader {
    /// The name on the command line.
    name: &'static str,
    /// A description of the files in one line.
    description: &'static str,
    /// The arrays or files that it needs; alternatives have `|` between, and NAME stands for any
    /// name.
    needs: &'static [&'static str],
    /// Optional arrays or files.
    optional: &'static str,
    detection: Detection,
    read: fn(&Path) -> Result<Graph>,
}

/// How a format is recognised.
#[derive(Clone, Copy)]
enum Detection {
    /// It is an npz with this array.
    Array(&'static str),
    /// By the names of files.
    Files {
        /// A folder may match several formats: the one with the lowest number is taken.
        order: u8,
        /// Whether a folder, or one file of it, is of this format.
        matches: fn(&Path) -> Result<Match>,
    },
}

/// Whether a path fits a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    No,
    /// The format, but a file that it needs is missing. Its reader names that file, which is more
    /// helpful than a list of formats.
    Incomplete,
    Yes,
}

impl From<bool> for Match {
    fn from(matches: bool) -> Self {
        if matches { Self::Yes } else { Self::No }
    }
}

/// Makes the enum of formats and the table of their readers from one list.
macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident => $module:ident;)+) => {
        /// A file format of graphs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$doc])* $format,)+
        }

        /// Every format with its reader. Names, help, detection, errors and [`read`] use it.
        const TABLE: &[(Format, &Reader)] = &[$((Format::$format, &$module::READER),)+];
    };
}

// In the order in which they are listed to users.
formats! {
    /// The project's own npz: [`flat_npz`].
    FlatNpz => flat_npz;
    /// The pickles of Cora, CiteSeer and PubMed: [`planetoid`].
    Planetoid => planetoid;
    /// The npz of Coauthor and Amazon: [`gnn_benchmark`].
    GnnBenchmark => gnn_benchmark;
    /// The npz of Chameleon, Squirrel and others: [`heterophilous`].
    Heterophilous => heterophilous;
    /// An npz with pickled scipy matrices: [`scipy_npz`].
    ScipyNpz => scipy_npz;
    /// The text files of Chameleon, Squirrel and others: [`geom_gcn`].
    GeomGcn => geom_gcn;
    /// The gzipped tables of ogbn-arxiv and others: [`ogb`].
    Ogb => ogb;
    /// Your own tables: [`csv_tables`].
    Csv => csv_tables;
}

impl Reader {
    /// The container of its parts.
    fn container(&self) -> Container {
        match self.detection {
            Detection::Array(_) => Container::Npz,
            Detection::Files { .. } => Container::Folder,
        }
    }

    /// The arrays or files that it needs, in words.
    fn needs_in_words(&self) -> String {
        self.needs.join(", ").replace('|', " or ")
    }
}

impl Format {
    /// Every format, in the order in which they are listed to users.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(format, _)| *format)
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.reader().name
    }

    /// A description of the files in one line.
    pub fn description(self) -> &'static str {
        self.reader().description
    }

    /// The arrays or files that it needs, in words.
    pub fn needs(self) -> String {
        self.reader().needs_in_words()
    }

    /// Optional arrays or files, in words; may be empty.
    pub fn optional(self) -> &'static str {
        self.reader().optional
    }

    /// The format of that name.
    ///
    /// # Errors
    /// If there is none; the nearest name is suggested.
    ///
    /// ```
    /// use boostfgl_data::readers::Format;
    /// assert_eq!(Format::from_name("geom-gcn")?, Format::GeomGcn);
    /// let error = Format::from_name("geomgcn").unwrap_err().to_string();
    /// assert_eq!(error, "unknown format `geomgcn` (did you mean `geom-gcn`?)");
    /// # Ok::<(), boostfgl_graph::Error>(())
    /// ```
    pub fn from_name(name: &str) -> Result<Self> {
        let named = TABLE.iter().find(|(_, reader)| reader.name == name);
        named.map(|(format, _)| *format).ok_or_else(|| {
            Error::unknown("format", name, TABLE.iter().map(|(_, known)| known.name))
        })
    }

    fn reader(self) -> &'static Reader {
        TABLE[self as usize].1
    }
}

/// Reads the graph at `path`, a file or folder, in the given format or in the one that [`detect`]
/// finds.
///
/// # Errors
/// If the format cannot be found out, or the reader of the format finds fault with the files.
pub fn read(path: &Path, format: Option<Format>) -> Result<Graph> {
    let format = format.map_or_else(|| detect(path), Ok)?;
    let graph = (format.reader().read)(path)?;
    parts::check_size(path, &graph)?;
    Ok(graph)
}

/// The file or folder that messages about a graph name: in a folder with an npz, that file.
pub fn main_file(path: &Path, format: Format) -> PathBuf {
    match format.reader().container() {
        Container::Npz => npz_in(path).unwrap_or_else(|_| path.to_path_buf()),
        Container::Folder => path.to_path_buf(),
    }
}

/// Finds out the format of a file or folder by its contents.
///
/// # Errors
/// If the path does not exist or holds nothing that is understood; the message names the nearest
/// format.
pub fn detect(path: &Path) -> Result<Format> {
    let is_folder = path.metadata().map_err(|e| Error::io(path, e))?.is_dir();
    let by_files = detect_files(path)?;
    if let Some((format, Match::Yes)) = by_files {
        return Ok(format);
    }
    let npz = if is_folder { npz_in(path).ok() } else { is_npz(path).then(|| path.to_path_buf()) };
    match (npz, by_files) {
        (Some(npz), _) => detect_npz(&npz),
        (None, Some((incomplete, _))) => Ok(incomplete),
        (None, None) if is_folder => {
            Err(foreign::of_parts(path, Container::Folder, &names_in(path)))
        }
        (None, None) => Err(foreign::of_file(path)),
    }
}

/// The format whose files are here, or at least one of them.
fn detect_files(path: &Path) -> Result<Option<(Format, Match)>> {
    let mut by_files: Vec<_> = TABLE
        .iter()
        .filter_map(|(format, reader)| match reader.detection {
            Detection::Files { order, matches } => Some((order, *format, matches)),
            Detection::Array(_) => None,
        })
        .collect();
    by_files.sort_by_key(|&(order, ..)| order);
    let mut incomplete = None;
    for (_, format, matches) in by_files {
        match matches(path)? {
            Match::Yes => return Ok(Some((format, Match::Yes))),
            Match::Incomplete => incomplete = incomplete.or(Some((format, Match::Incomplete))),
            Match::No => {}
        }
    }
    Ok(incomplete)
}

fn detect_npz(path: &Path) -> Result<Format> {
    let npz = npz::Npz::open(path)?;
    let by_array = TABLE.iter().find(|(_, reader)| match reader.detection {
        Detection::Array(array) => npz.has(array),
        Detection::Files { .. } => false,
    });
    by_array.map(|(format, _)| *format).ok_or_else(|| {
        let names: Vec<String> = npz.names().map(str::to_owned).collect();
        foreign::of_parts(path, Container::Npz, &names)
    })
}

fn is_npz(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "npz")
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
    files.retain(|file| is_npz(file));
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
        for (at, (format, reader)) in TABLE.iter().enumerate() {
            assert_eq!(*format as usize, at);
            assert_eq!(Format::from_name(reader.name).unwrap(), *format);
            assert!(!format.description().is_empty());
        }
    }

    fn detected(files: &[&str]) -> Result<Format> {
        let folder = Folder::new();
        files.iter().for_each(|name| folder.write(name, b""));
        detect(&folder.path(""))
    }

    #[test]
    fn the_format_with_the_lowest_order_wins_in_a_folder_of_several() {
        let own = ["nodes.csv", "edges.csv"];
        let (edges, nodes) = (geom_gcn::EDGE_FILE, geom_gcn::NODE_FILE);
        assert_eq!(detected(&[own[0], own[1], "ind.cora.graph"]).unwrap(), Format::Planetoid);
        assert_eq!(detected(&[own[0], own[1], edges, nodes]).unwrap(), Format::Csv);
        assert_eq!(detected(&["edge.csv.gz", edges, nodes]).unwrap(), Format::GeomGcn);
        // An incomplete format comes after every complete one.
        assert_eq!(detected(&["edge.csv.gz", edges]).unwrap(), Format::Ogb);
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
    fn an_unknown_format_is_reported_with_the_nearest_one() {
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
