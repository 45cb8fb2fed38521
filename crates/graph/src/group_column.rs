//! Groupings of nodes that come with the data: sex, region, department.

use std::collections::{BTreeSet, HashMap};

use crate::{Error, Result};

/// The group of each node as a text, such as the column `group:region` of a
/// `nodes.csv`.
///
/// Group columns are for evaluation: they are not features, and no client's part of a graph carries
/// them ([`Graph::induced`](crate::Graph::induced) leaves them behind), so nothing that trains can
/// see them.
///
/// ```
/// use boostfgl_graph::GroupColumn;
///
/// let column = GroupColumn::from_texts("age", &["10", "9", "", "10"]);
/// assert_eq!(column.values, ["9", "10"]);
/// assert_eq!(column.of_node, [Some(1), Some(0), None, Some(1)]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupColumn {
    /// The name of the column, without `group:`.
    pub name: String,
    /// Its distinct values, ordered by number if all are integers and by letter otherwise.
    pub values: Vec<String>,
    /// Per node the position of its value; `None` for a node that is in no group.
    pub of_node: Vec<Option<u32>>,
}

impl GroupColumn {
    /// A column from one text per node; an empty text means no group.
    pub fn from_texts(name: impl Into<String>, texts: &[impl AsRef<str>]) -> Self {
        let (values, of_node) = numbered(texts);
        Self { name: name.into(), values, of_node }
    }

    /// Why a column cannot be called so, in the words of an error's `expected`; `None` if it can.
    ///
    /// ```
    /// use boostfgl_graph::GroupColumn;
    ///
    /// assert_eq!(GroupColumn::objection("region"), None);
    /// assert_eq!(GroupColumn::objection(""), Some("a name after `group:`"));
    /// ```
    pub fn objection(name: &str) -> Option<&'static str> {
        if name.is_empty() {
            Some("a name after `group:`")
        } else if name.contains('*') {
            // Groupings are written `column:NAME*…`: such a column could not be selected.
            Some("a name without `*`, which joins groupings")
        } else {
            None
        }
    }

    /// Checks one column of a graph of `nodes` nodes.
    pub(crate) fn check(&self, nodes: usize) -> Result<()> {
        let what = format!("group column `{}`", self.name);
        if let Some(expected) = Self::objection(&self.name) {
            return Err(Error::inconsistent(what, expected, format!("`{}`", self.name)));
        }
        if self.of_node.len() != nodes {
            let expected = format!("{nodes} rows, one per node");
            return Err(Error::inconsistent(what, expected, self.of_node.len().to_string()));
        }
        let distinct: BTreeSet<&String> = self.values.iter().collect();
        let count = self.values.len();
        if distinct.len() < count {
            return Err(Error::inconsistent(what, "every value once", "one twice"));
        }
        match self.of_node.iter().flatten().find(|value| **value as usize >= count) {
            Some(value) => {
                let expected = format!("a value below {count}");
                Err(Error::inconsistent(what, expected, value.to_string()))
            }
            None => Ok(()),
        }
    }

    /// Checks that no two columns have one name.
    pub(crate) fn check_names(columns: &[Self]) -> Result<()> {
        let mut names = BTreeSet::new();
        match columns.iter().find(|column| !names.insert(&column.name)) {
            Some(twice) => Err(Error::inconsistent(
                "group columns",
                "every name once",
                format!("`{}` twice", twice.name),
            )),
            None => Ok(()),
        }
    }
}

/// The distinct texts that are not empty, by number if all are integers and by letter otherwise,
/// and per text its position among them; `None` for an empty text.
///
/// ```
/// let (names, position) = boostfgl_graph::numbered(&["10", "", "9"]);
/// assert_eq!(names, ["9", "10"]);
/// assert_eq!(position, [Some(1), None, Some(0)]);
/// ```
pub fn numbered(texts: &[impl AsRef<str>]) -> (Vec<String>, Vec<Option<u32>>) {
    let names = in_order(texts.iter().filter(|text| !text.as_ref().is_empty()));
    let position: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    let of_text = texts.iter().map(|text| position.get(text.as_ref()).copied()).collect();
    (names, of_text)
}

/// The distinct names, by number if all are integers and by letter otherwise: the order of classes
/// whose order is not prescribed.
///
/// ```
/// assert_eq!(boostfgl_graph::in_order(["10", "9", "10"]), ["9", "10"]);
/// assert_eq!(boostfgl_graph::in_order(["10", "9", "x"]), ["10", "9", "x"]);
/// ```
pub fn in_order<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Vec<String> {
    let names: BTreeSet<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
    let numbers: Option<BTreeSet<(i64, &String)>> =
        names.iter().map(|name| Some((name.parse().ok()?, name))).collect();
    match numbers {
        Some(numbers) => numbers.into_iter().map(|(_, name)| name.clone()).collect(),
        None => names.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_ordered_by_number_only_if_all_are_numbers() {
        assert_eq!(numbered(&["10", "-1", "9", "09"]).0, ["-1", "09", "9", "10"]);
        assert_eq!(numbered(&["10", "9", "x"]).0, ["10", "9", "x"]);
        assert_eq!(numbered(&["", ""]), (Vec::new(), vec![None, None]));
    }

    #[test]
    fn columns_that_do_not_fit_are_named() {
        let good = GroupColumn::from_texts("sex", &["f", "m", ""]);
        assert!(good.check(3).is_ok());
        let reason = |column: GroupColumn, nodes| column.check(nodes).unwrap_err().to_string();
        assert_eq!(
            reason(good.clone(), 2),
            "group column `sex`: expected 2 rows, one per node, found 3"
        );
        let named = |name: &str| GroupColumn { name: name.into(), ..good.clone() };
        assert_eq!(
            reason(named(""), 3),
            "group column ``: expected a name after `group:`, found ``"
        );
        assert!(reason(named("a*b"), 3).contains("expected a name without `*`"));
        let broken = GroupColumn { of_node: vec![Some(2), None, None], ..good.clone() };
        assert_eq!(reason(broken, 3), "group column `sex`: expected a value below 2, found 2");
        let twice = GroupColumn { values: vec!["f".into(), "f".into()], ..good.clone() };
        assert!(reason(twice, 3).ends_with("expected every value once, found one twice"));
        let both = GroupColumn::check_names(&[good.clone(), good]).unwrap_err().to_string();
        assert_eq!(both, "group columns: expected every name once, found `sex` twice");
    }
}
