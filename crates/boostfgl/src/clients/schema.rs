//! `schema.toml`: how the clients of a federation name and order what they share.

use crate::{Error, Result};
use boostfgl_graph::{Features, Graph, in_order};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// How clients name and order what they share: classes, features and nodes.
///
/// A client's folder has one, or the folder around it has one for all. Without it, names are sorted:
/// by number if all are integers, by letter otherwise.
///
/// ```
/// use boostfgl::clients::ClientSchema;
///
/// let text = "version = 1\nclasses = [\"ok\", \"fraud\"]\nfeatures = [\"age\"]\n";
/// let schema = ClientSchema::parse(text, "schema.toml".as_ref())?;
/// assert_eq!(schema.classes, ["ok", "fraud"]);
///
/// let error = ClientSchema::parse("clases = []", "schema.toml".as_ref()).unwrap_err().to_string();
/// assert_eq!(error, "schema.toml: unknown key `clases` (did you mean `classes`?)");
/// # Ok::<(), boostfgl::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientSchema {
    /// The version of this format: [`ClientSchema::VERSION`].
    pub version: u32,
    /// The dataset that the clients are parts of: the name in tables, and the protocol (learning
    /// rate, split shares) of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// The names of the classes, in order.
    pub classes: Vec<String>,
    /// The names of the feature columns, in order; left out, the order is that of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// Whether features are stored as sparse rows; left out, the reader decides by their number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sparse: Option<bool>,
    /// Whether an edge carries messages from `src` to `dst` only.
    #[serde(default)]
    pub directed: bool,
    /// The order of nodes: `file`, as they come in the file.
    #[serde(default)]
    pub nodes: NodeOrder,
}

/// The order of nodes in a client's graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeOrder {
    /// As they come in the file.
    #[default]
    File,
}

/// The keys, for errors.
const KEYS: [&str; 7] =
    ["version", "dataset", "classes", "features", "sparse", "directed", "nodes"];

impl ClientSchema {
    /// The version of the format that this program writes, and the newest it reads.
    pub const VERSION: u32 = 1;
    /// The name of the file.
    pub const FILE: &str = "schema.toml";

    /// The schema of the clients that a graph is divided among.
    pub fn of(graph: &Graph) -> Self {
        let names = graph.feature_names();
        Self {
            version: Self::VERSION,
            dataset: Some(graph.name().to_owned()),
            classes: graph.labels().names().to_vec(),
            features: (!names.is_empty()).then(|| names.to_vec()),
            sparse: Some(matches!(graph.features(), Features::Sparse(_))),
            directed: graph.adjacency().is_directed(),
            nodes: NodeOrder::File,
        }
    }

    /// The schema for a client's files: that of its own folder, otherwise that of the folder around
    /// it; `None` if there is neither.
    ///
    /// # Errors
    /// If it cannot be read, or is not a schema.
    pub fn find(client: &Path) -> Result<Option<Self>> {
        let full = std::path::absolute(client).unwrap_or_else(|_| client.to_path_buf());
        let around = full.parent().map(|parent| parent.join(Self::FILE));
        for path in [Some(client.join(Self::FILE)), around].into_iter().flatten() {
            if path.is_file() {
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| boostfgl_graph::Error::io(&path, error))?;
                return Self::parse(&text, &path).map(Some);
            }
        }
        Ok(None)
    }

    /// Reads the text of a file; `path` is for messages.
    ///
    /// # Errors
    /// If a key is missing or unknown, a value has another type, the version is newer than this
    /// program, or a name occurs twice.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let place = path.display().to_string();
        let wrong = |reason: String| Error::usage(&place, reason, ADVICE);
        let table: toml::Table =
            toml::from_str(text).map_err(|error| wrong(error.message().to_owned()))?;
        if let Some(unknown) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let unknown = boostfgl_graph::Error::unknown("key", unknown, KEYS);
            return Err(wrong(unknown.to_string()));
        }
        let schema: Self = serde_path_to_error::deserialize(toml::Value::Table(table))
            .map_err(|error| wrong(format!("{}: {}", error.path(), error.inner().message())))?;
        if schema.version > Self::VERSION {
            let (expected, found) = (Self::VERSION, schema.version);
            return Err(wrong(format!("version: expected at most {expected}, found {found}")));
        }
        for (key, names) in
            [("classes", Some(&schema.classes)), ("features", schema.features.as_ref())]
        {
            let mut known = BTreeSet::new();
            if let Some(name) = names.into_iter().flatten().find(|name| !known.insert(*name)) {
                return Err(wrong(format!(
                    "{key}: expected every name once, found `{name}` twice"
                )));
            }
        }
        Ok(schema)
    }

    /// The text of the file.
    pub fn to_toml(&self) -> String {
        // Every field is a number, a string, a flag or a list of strings.
        let text = toml::to_string(self).expect("a schema is representable as TOML");
        format!(
            "# How the clients of this federation name and order what they share.\n\
             # Nodes are in the order of the file (nodes.csv).\n{text}"
        )
    }
}

const ADVICE: &str = "`boostfgl partition DATA --to-clients DIR` writes a correct one; a schema \
    needs `version = 1` and `classes`.";

/// The order in which a client's own names are put: that of the schema, otherwise sorted.
pub(super) fn order(own: &[String], prescribed: Option<&Vec<String>>) -> Vec<String> {
    prescribed.map_or_else(|| in_order(own), Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> String {
        ClientSchema::parse(text, "s".as_ref()).unwrap_err().to_string()
    }

    #[test]
    fn a_written_schema_is_read_back() {
        let schema = ClientSchema {
            version: 1,
            dataset: Some("bank".into()),
            classes: vec!["10".into(), "9".into()],
            features: Some(vec!["age".into(), "a \"b\"".into()]),
            sparse: Some(false),
            directed: true,
            nodes: NodeOrder::File,
        };
        assert_eq!(ClientSchema::parse(&schema.to_toml(), "s".as_ref()).unwrap(), schema);
        let least = ClientSchema::parse("version = 1\nclasses = []", "s".as_ref()).unwrap();
        assert_eq!((least.features, least.sparse, least.directed), (None, None, false));
    }

    #[test]
    fn defects_are_named() {
        assert!(reason("version = 1").contains("missing field `classes`"), "{}", reason(""));
        assert_eq!(reason("version = 2\nclasses = []"), "s: version: expected at most 1, found 2");
        assert!(reason("version = 1\nclasses = [\"a\", \"a\"]").contains("`a` twice"));
        assert!(reason("version = 1\nclasses = 3").starts_with("s: classes: "));
        assert!(reason("version =").starts_with("s: "));
        assert!(reason("version = 1\nclasses = []\nfeature = []").contains("`features`"));
    }
}
