//! The error for a file or folder of an unknown format: what it contains, and the nearest format.

use std::path::Path;

use boostfgl_graph::Error;

use super::{Format, Reader, TABLE};

/// The most names in a message.
const LISTED: usize = 8;

/// The container of the parts of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    /// Arrays in one npz.
    Npz,
    /// Files in one folder.
    Folder,
}

impl Container {
    fn parts(self) -> &'static str {
        match self {
            Self::Npz => "arrays",
            Self::Folder => "files",
        }
    }
}

/// The error for a container with these names in it.
pub(super) fn of_parts(path: &Path, container: Container, names: &[String]) -> Error {
    let parts = container.parts();
    let what = match container {
        Container::Npz => "an npz",
        Container::Folder => "a folder",
    };
    let found = match names {
        [] => format!("{what} without {parts}"),
        names => format!("{what} with the {parts} {}", listed(names)),
    };
    let expected = match nearest(container, names) {
        Some((format, missing)) => {
            let missing: Vec<String> =
                missing.iter().map(|need| need.replace('|', " or ")).collect();
            format!(
                "those of a known format; the nearest is {}, which also needs {}",
                format.name(),
                listed(&missing)
            )
        }
        None => format!("the {parts} of a known format, and none has any of these"),
    };
    foreign(path, found, expected)
}

/// The error for a file that is no npz.
pub(super) fn of_file(path: &Path) -> Error {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let part_of = TABLE
        .iter()
        .map(|(_, reader)| reader)
        .filter(|reader| reader.container() == Container::Folder)
        .find(|reader| reader.needs.iter().any(|need| has(&name, need)));
    let (found, expected) = match part_of {
        Some(reader) => (
            format!("one file of the format {}", reader.name),
            format!("the folder that holds it, with {}", reader.needs_in_words()),
        ),
        None => (
            "a file that is no npz".to_owned(),
            "an npz, or a folder with the files of a known format".to_owned(),
        ),
    };
    foreign(path, found, expected)
}

fn foreign(path: &Path, found: String, expected: String) -> Error {
    Error::Foreign { path: path.to_path_buf(), found, expected }
}

/// The format of which the largest share of needed parts is among these names, with the missing
/// parts; `None` if no format has any.
fn nearest(container: Container, names: &[String]) -> Option<(Format, Vec<&'static str>)> {
    // Of several with the same share, the first in the table.
    let mut nearest: Option<(Format, &Reader, usize)> = None;
    for (format, reader) in TABLE.iter().filter(|(_, reader)| reader.container() == container) {
        let present = reader.needs.iter().filter(|need| is_among(names, need)).count();
        let share = present * 1000 / reader.needs.len();
        if share > nearest.map_or(0, |(_, _, largest)| largest) {
            nearest = Some((*format, reader, share));
        }
    }
    let (format, reader, _) = nearest?;
    let missing = reader.needs.iter().filter(|need| !is_among(names, need)).copied().collect();
    Some((format, missing))
}

/// Whether any of the names is the one that is needed.
fn is_among(names: &[String], need: &str) -> bool {
    names.iter().any(|name| has(name, need))
}

/// Whether a name matches: `need` lists alternatives separated by `|`, in which NAME matches any
/// text.
fn has(name: &str, need: &str) -> bool {
    need.split('|').any(|need| match need.split_once("NAME") {
        Some((before, after)) => {
            name.len() > before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        }
        None => name == need,
    })
}

/// The first names, each shortened, and how many more there are.
fn listed(names: &[String]) -> String {
    let first: Vec<String> = names.iter().take(LISTED).map(|name| shortened(name)).collect();
    let more = names.len().saturating_sub(LISTED);
    if more > 0 { format!("{} and {more} more", first.join(", ")) } else { first.join(", ") }
}

/// A name of at most 40 characters.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npz(names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        of_parts(Path::new("a.npz"), Container::Npz, &names).to_string()
    }

    #[test]
    fn messages_have_what_was_found_and_the_nearest_format() {
        assert_eq!(
            npz(&["edges", "node_labels", "weights"]),
            "a.npz: found an npz with the arrays edges, node_labels, weights; expected those of a \
             known format; the \
             nearest is heterophilous, which also needs node_features"
        );
        assert_eq!(
            npz(&["y"]),
            "a.npz: found an npz with the arrays y; expected those of a known format; the nearest \
             is flat-npz, which \
             also needs edge_index, x or x_indptr"
        );
        assert_eq!(
            npz(&["z"]),
            "a.npz: found an npz with the arrays z; expected the arrays of a known format, and \
             none has any of these"
        );
    }

    #[test]
    fn a_message_stays_short_for_any_number_of_names() {
        let names: Vec<String> =
            (0..500).map(|at| format!("{}{at}", "long_name_".repeat(20))).collect();
        let message = of_parts(Path::new("a.npz"), Container::Npz, &names).to_string();
        assert!(
            message.contains("… and 492 more; expected") && message.chars().count() < 500,
            "{message}"
        );
        assert!(npz(&[]).starts_with("a.npz: found an npz without arrays; "));
    }

    #[test]
    fn patterns_with_name_match_any_name() {
        assert!(has("ind.cora.graph", "ind.NAME.graph") && !has("ind..graph", "ind.NAME.graph"));
        assert!(has("x_indptr", "x|x_indptr") && !has("x_", "x|x_indptr"));
        let message = of_file(Path::new("mine/nodes.csv")).to_string();
        assert_eq!(
            message,
            "mine/nodes.csv: found one file of the format csv; expected the folder that holds it, \
             with nodes.csv, edges.csv"
        );
    }
}
