//! `columns.toml`: what the columns of node and edge tables are.
//!
//! ```toml
//! version = 1
//!
//! [nodes.customer]
//! role = "id"
//!
//! [nodes.balance]
//! kind = "number"
//! missing = "mean"
//! standardise = true
//!
//! [nodes.country]
//! kind = "category"
//! levels = ["AT", "DE"]
//!
//! [edges.sender]
//! role = "src"
//! ```
//!
//! Written by hand, it directs an import, and every key may be left out. An import writes one with
//! every key that matters into the folder it makes; there it tells the reader of `nodes.csv` how
//! texts become features.

mod parse;
mod terms;

use std::collections::BTreeMap;
use std::path::Path;

use boostfgl_graph::{Error, Missing, Result};
use serde::Serialize;

pub use terms::{DateFormat, Kind, Rest, Role};

/// The content of a `columns.toml`.
///
/// ```
/// use boostfgl_data::columns::{Columns, Kind};
///
/// let text = "[nodes.town]\nkind = \"category\"\nlevels = [\"Ulm\"]\n";
/// let columns = Columns::parse(text, "columns.toml".as_ref())?;
/// assert_eq!(columns.nodes["town"].kind, Some(Kind::Category));
///
/// let error = Columns::parse("[nodes.town]\nknd = 1\n", "c.toml".as_ref()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "c.toml, nodes.town: expected a known key, found `knd` (did you mean `kind`?)"
/// );
/// # Ok::<(), boostfgl_graph::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Columns {
    /// The columns of node tables, by their names there.
    pub nodes: BTreeMap<String, Column>,
    /// The columns of edge tables, by their names there.
    pub edges: BTreeMap<String, Column>,
}

/// What is said about one column; what is left out is found by its content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Column {
    /// What the column is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// How a feature column is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The values with a feature of their own, in order; of the label column, the classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<String>>,
    /// What becomes of values that are no level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
    /// The number of features that hashed values share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u32>,
    /// The order of day, month and year in a table to be imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<DateFormat>,
    /// What stands in for a missing value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// Whether the features are standardised on each client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standardise: Option<bool>,
}

impl Columns {
    /// The name of the file in a folder.
    pub const FILE: &str = "columns.toml";
    /// The version of the format that is written, and the newest that is read.
    pub const VERSION: i64 = 1;

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or is not such a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
        Self::parse(&text, path)
    }

    /// The file of a folder with tables, if it has one.
    ///
    /// # Errors
    /// As [`Columns::read`].
    pub fn find(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(Self::FILE);
        if path.is_file() { Self::read(&path).map(Some) } else { Ok(None) }
    }

    /// The text of the file.
    pub fn to_toml(&self) -> String {
        // Every field is a number, a string, a flag or a list of strings.
        let text = toml::to_string(self).expect("columns are representable as TOML");
        format!(
            "# What the columns of these tables are. With `boostfgl data import --columns`, other\n\
             # tables are prepared in the same way.\nversion = {}\n\n{text}",
            Self::VERSION
        )
    }

    /// The classes in the order that the file fixes, if it does.
    pub fn classes(&self) -> Option<&[String]> {
        let label = self.nodes.values().find(|column| column.role == Some(Role::Label))?;
        label.levels.as_deref()
    }
}

impl Column {
    /// A column of which only the role is said.
    pub fn of_role(role: Role) -> Self {
        Self { role: Some(role), ..Self::default() }
    }

    /// Whether it is a feature, as columns are of which no role is said.
    pub fn is_feature(&self) -> bool {
        matches!(self.role, None | Some(Role::Feature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> String {
        Columns::parse(text, "c".as_ref()).unwrap_err().to_string()
    }

    #[test]
    fn a_written_file_is_read_back() {
        let full = Column {
            role: Some(Role::Feature),
            kind: Some(Kind::Category),
            levels: Some(vec!["a \"b\"".into(), "ü=1".into()]),
            rest: Some(Rest::Hashed),
            buckets: Some(8),
            format: Some(DateFormat::named("day.month.year").unwrap()),
            missing: Some(Missing::Indicator),
            standardise: Some(false),
        };
        let id = Column { role: Some(Role::Id), ..Column::default() };
        let columns = Columns {
            nodes: [("a.b c".to_owned(), full), ("id".to_owned(), id)].into(),
            edges: [("x".to_owned(), Column { role: Some(Role::Drop), ..Column::default() })]
                .into(),
        };
        assert_eq!(Columns::parse(&columns.to_toml(), "c".as_ref()).unwrap(), columns);
        let empty = Columns::default();
        assert_eq!(Columns::parse(&empty.to_toml(), "c".as_ref()).unwrap(), empty);
        assert_eq!(Columns::parse("", "c".as_ref()).unwrap(), empty);
    }

    #[test]
    fn every_defect_is_named_in_one_message() {
        let message = reason(
            "version = 2\nnods = 1\n[nodes.a]\nkind = \"numbr\"\nlevels = [1]\n[edges.b]\n\
             role = \"label\"\n[nodes.c]\nlevels = [\"x\", \"x\"]\nbuckets = 0\nstandardise = 1\n",
        );
        for wanted in [
            "c: 8 problems",
            "version: expected at most 1, found 2",
            "expected a known key, found `nods` (did you mean `nodes`?)",
            "nodes.a.kind: expected a kind of column, found `numbr` (did you mean `number`?)",
            "nodes.a.levels: expected a list of texts, found [1]",
            "edges.b.role: expected src, dst, weight or drop, found `label`",
            "nodes.c.levels: expected every level once, found `x` twice",
            "nodes.c.buckets: expected a number from 1 to 4096, found 0",
            "nodes.c.standardise: expected true or false, found 1",
        ] {
            assert!(message.contains(wanted), "{wanted}\n{message}");
        }
    }

    #[test]
    fn roles_that_only_one_column_can_have_are_refused_twice() {
        let message = reason("[nodes.a]\nrole = \"id\"\n[nodes.b]\nrole = \"id\"\n");
        assert_eq!(message, "c, nodes: expected one column of role `id`, found `a` and `b`");
        assert!(reason("nodes = 1").contains("nodes: expected a table"));
        assert!(reason("[nodes]\na = 1").contains("nodes.a: expected a table"));
        assert!(reason("x = [").starts_with("c: expected TOML, found "), "{}", reason("x = ["));
    }

    #[test]
    fn classes_are_the_levels_of_the_label() {
        let text = "[nodes.y]\nrole = \"label\"\nlevels = [\"ok\", \"fraud\"]\n";
        let columns = Columns::parse(text, "c".as_ref()).unwrap();
        assert_eq!(columns.classes().unwrap(), ["ok", "fraud"]);
        assert_eq!(Columns::default().classes(), None);
    }
}
