//! How nodes are divided into groups, as a user writes it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// A division of the nodes: one attribute, or the intersection of several.
///
/// | text | groups |
/// |---|---|
/// | `minority` | of a minority class or not |
/// | `heterophilous` | heterophilous or not; `homophily=unknown` without a neighbour that has a label |
/// | `degree`, `degree:N` | quarters, or N parts (2 to 100), of the nodes of the graph by number of neighbours |
/// | `class` | the true class |
/// | `client` | the client that owns the node |
/// | `column:NAME` | the values of a group column of the data (`group:NAME` in `nodes.csv`); `NAME=unknown` for empty fields |
///
/// `*` intersects: `minority*heterophilous*degree:2` has 2 · 2 · 2 groups.
///
/// ```
/// use boostfgl_fairness::Grouping;
///
/// let grouping = Grouping::parse("minority * degree")?;
/// assert_eq!(grouping.to_string(), "minority*degree:4");
/// let error = Grouping::parse("minorty").unwrap_err().to_string();
/// assert!(error.starts_with("unknown grouping `minorty` (did you mean `minority`?); there are minority,"));
/// # Ok::<(), boostfgl_fairness::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Grouping {
    attributes: Vec<Attribute>,
}

/// One property by which nodes are grouped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Attribute {
    /// Whether the class is a minority class.
    Minority,
    /// Whether the node is heterophilous.
    Heterophilous,
    /// The part of the nodes by degree, of this number of parts.
    Degree(usize),
    /// The true class.
    Class,
    /// The client that owns the node.
    Client,
    /// A group column of the data, by name.
    Column(String),
}

/// How groupings are written.
const FORMS: [&str; 7] =
    ["minority", "heterophilous", "degree", "degree:N", "class", "client", "column:NAME"];
/// The number of parts by degree unless asked otherwise.
const QUARTERS: usize = 4;
/// The most parts by degree.
const MOST_PARTS: usize = 100;

impl Grouping {
    /// Parses a text as in the table above; spaces around names do not count.
    ///
    /// # Errors
    /// If an attribute is unknown, the nearest is suggested. If one is named twice, a column has no
    /// name, or N is not from 2 to 100. Whether a column exists is only known when the grouping is
    /// used.
    pub fn parse(text: &str) -> Result<Self> {
        let mut attributes: Vec<Attribute> = Vec::new();
        for part in text.split('*').map(str::trim) {
            let attribute = Attribute::parse(part)?;
            if attributes.contains(&attribute) {
                return Err(Error::asked(
                    format!("grouping `{text}`"),
                    "every attribute once",
                    &format!("`{part}` twice"),
                ));
            }
            attributes.push(attribute);
        }
        Ok(Self { attributes })
    }

    /// The values of one group column.
    pub fn column(name: impl Into<String>) -> Self {
        Self { attributes: vec![Attribute::Column(name.into())] }
    }

    /// The attributes that are intersected, at least one.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }
}

impl Attribute {
    fn parse(text: &str) -> Result<Self> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name.trim(), Some(rest.trim())),
            None => (text, None),
        };
        match (name, rest) {
            ("minority", None) => Ok(Self::Minority),
            ("heterophilous", None) => Ok(Self::Heterophilous),
            ("class", None) => Ok(Self::Class),
            ("client", None) => Ok(Self::Client),
            ("degree", None) => Ok(Self::Degree(QUARTERS)),
            ("degree", Some(parts)) => match parts.parse() {
                Ok(parts) if (2..=MOST_PARTS).contains(&parts) => Ok(Self::Degree(parts)),
                _ => {
                    let expected = format!("a number of parts from 2 to {MOST_PARTS}");
                    Err(Error::asked(format!("grouping `{text}`"), expected, &format!("`{parts}`")))
                }
            },
            ("column", Some(column)) if !column.is_empty() => Ok(Self::Column(column.to_owned())),
            ("column", _) => {
                Err(Error::asked(format!("grouping `{text}`"), "column:NAME", &"no name"))
            }
            _ => Err(Error::unknown("grouping", text, FORMS.map(str::to_owned).to_vec())),
        }
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Minority => f.write_str("minority"),
            Self::Heterophilous => f.write_str("heterophilous"),
            Self::Degree(parts) => write!(f, "degree:{parts}"),
            Self::Class => f.write_str("class"),
            Self::Client => f.write_str("client"),
            Self::Column(name) => write!(f, "column:{name}"),
        }
    }
}

impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.attributes.iter().map(ToString::to_string).collect();
        f.write_str(&names.join("*"))
    }
}

impl FromStr for Grouping {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Grouping {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<Grouping> for String {
    fn from(grouping: Grouping) -> Self {
        grouping.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_grouping_parses_to_itself() {
        for (text, printed) in [
            ("degree", "degree:4"),
            ("degree:100*class", "degree:100*class"),
            (" client * column: home town ", "client*column:home town"),
            ("column:a:b*minority*heterophilous", "column:a:b*minority*heterophilous"),
        ] {
            let grouping = Grouping::parse(text).unwrap();
            assert_eq!(grouping.to_string(), printed);
            assert_eq!(printed.parse::<Grouping>().unwrap(), grouping);
            let json = serde_json::to_value(&grouping).unwrap();
            assert_eq!(json, printed);
            assert_eq!(serde_json::from_value::<Grouping>(json).unwrap(), grouping);
        }
    }

    #[test]
    fn errors_name_the_part_that_does_not_parse() {
        let reason = |text: &str| Grouping::parse(text).unwrap_err().to_string();
        for (text, wanted) in [
            (
                "",
                "unknown grouping ``; there are minority, heterophilous, degree, degree:N, class, \
                 client, column:NAME",
            ),
            ("minority*", "unknown grouping ``"),
            ("clas", "unknown grouping `clas` (did you mean `class`?)"),
            ("class:3", "unknown grouping `class:3`"),
            (
                "degree:1",
                "grouping `degree:1`: expected a number of parts from 2 to 100, found `1`",
            ),
            ("degree:101", "found `101`"),
            ("degree:", "found ``"),
            ("degree:-2", "found `-2`"),
            ("column", "grouping `column`: expected column:NAME, found no name"),
            ("column: *class", "grouping `column:`: expected column:NAME, found no name"),
            (
                "degree*degree:4",
                "grouping `degree*degree:4`: expected every attribute once, found `degree:4` twice",
            ),
        ] {
            assert!(reason(text).contains(wanted), "{}\n{wanted}", reason(text));
        }
        assert!(serde_json::from_str::<Grouping>("\"zebra\"").is_err());
    }
}
