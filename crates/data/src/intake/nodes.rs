//! The node tables: ids, labels, roles and groups are checked, features are found.

use std::collections::{HashMap, HashSet};

use boostfgl_graph::{Result, Role as NodeRole, in_order, nearest};

use super::Request;
use super::infer::{self, Facts, Feature, Notation, Values, in_rows};
use super::names::Similar;
use super::roles::NodeRoles;
use super::tables::{TableProblems, Tables};
use super::values::is_missing;
use crate::columns::Column;
use crate::readers::parts::{MAX_CLASSES, MAX_COLUMNS};
use crate::readers::text::quoted;

/// The nodes of all tables, checked.
pub(super) struct Nodes {
    pub(super) tables: Tables,
    pub(super) roles: NodeRoles,
    pub(super) features: Vec<Feature>,
    /// Feature columns without any value, which are left out.
    pub(super) empty: Vec<usize>,
    /// The classes, in order.
    pub(super) classes: Vec<String>,
    /// Facts on the columns that are no features, by position.
    pub(super) facts: HashMap<usize, Facts>,
}

impl Nodes {
    pub(super) fn find(tables: Tables, request: &Request) -> Result<Self> {
        let roles = NodeRoles::find(&tables, request)?;
        let mut problems = tables.problems();
        check_ids(&tables, roles.id, request.exact_names, &mut problems);
        let classes = classes(&tables, roles.label, request, &mut problems);
        if let Some(split) = roles.split {
            check_split(&tables, split, &mut problems);
        }
        check_groups(&tables, &roles.groups, &mut problems);
        let (mut features, mut empty) = (Vec::new(), Vec::new());
        for &at in &roles.features {
            let said = request.columns.nodes.get(&tables.header[at]);
            match infer::feature(&tables, at, said, &request.limits, &mut problems) {
                Some(feature) => features.push(feature),
                None => empty.push(at),
            }
        }
        check_features(&tables, &features, &mut problems);
        if tables.len() == 0 {
            problems.of_column(roles.id, "at least one node", "none");
        }
        problems.finish()?;
        let kept = [Some(roles.id), roles.label, roles.split];
        let groups = roles.groups.iter().map(|group| group.0);
        let others = kept.into_iter().flatten().chain(groups).chain(roles.dropped.iter().copied());
        let facts = others.map(|at| (at, Values::of(&tables, at).facts())).collect();
        Ok(Self { roles, features, empty, classes, facts, tables })
    }

    /// The number of each node by its id.
    pub(super) fn numbers(&self) -> HashMap<&str, u32> {
        self.tables.column(self.roles.id).zip(0u32..).collect()
    }
}

/// Every id is there once, and no two differ only by spaces or case.
fn check_ids(tables: &Tables, column: usize, exact: bool, problems: &mut TableProblems<'_>) {
    let mut first_of: HashMap<&str, usize> = HashMap::with_capacity(tables.len());
    let mut similar = Similar::default();
    for (row, id) in tables.column(column).enumerate() {
        if id.is_empty() {
            problems.add(row, column, || ("an id".to_owned(), "an empty field".to_owned()));
            continue;
        }
        if let Some(&first) = first_of.get(id) {
            let by_spaces = tables.raw(row, column) != tables.raw(first, column);
            problems.add_again(row, column, first, || {
                let how = if by_spaces { ", with other spaces around it," } else { "" };
                ("every id once".to_owned(), format!("{}{how}", quoted(id)))
            });
            continue;
        }
        first_of.insert(id, row);
        if let Some(earlier) = similar.earlier(id).filter(|_| !exact) {
            let first = first_of[earlier];
            problems.add_again(row, column, first, || {
                let expected = "ids that differ by more than spaces and case (or --exact-names)";
                let found = format!("{}, which is {}", quoted(id), quoted(earlier));
                (expected.to_owned(), found)
            });
        }
    }
}

/// The classes in their order: those that are said, or all labels.
fn classes(
    tables: &Tables,
    column: Option<usize>,
    request: &Request,
    problems: &mut TableProblems<'_>,
) -> Vec<String> {
    let said = request.columns.classes();
    let Some(column) = column else { return said.unwrap_or_default().to_vec() };
    let values = Values::of(tables, column);
    let Some(said) = said else {
        check_case(&values, column, request.exact_names, problems);
        if values.are_like_ids() || values.facts().distinct > MAX_CLASSES {
            let expected = "classes that several nodes share";
            let found = format!("{} labels in {} rows", values.facts().distinct, values.filled());
            problems.of_column(column, expected, found);
        }
        return in_order(values.texts());
    };
    let known: HashSet<&str> = said.iter().map(String::as_str).collect();
    for (text, first, _) in values.places().filter(|it| !known.contains(it.0)) {
        problems.add(first, column, || {
            let near = nearest(text, said.iter().map(String::as_str));
            let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
            ("a class of columns.toml".to_owned(), format!("{}{near}", quoted(text)))
        });
    }
    said.to_vec()
}

/// No two labels differ only by spaces or case.
fn check_case(values: &Values<'_>, column: usize, exact: bool, problems: &mut TableProblems<'_>) {
    let mut similar = Similar::default();
    let first_of: HashMap<&str, usize> = values.places().map(|it| (it.0, it.1)).collect();
    for (label, row, _) in values.places() {
        if let Some(earlier) = similar.earlier(label).filter(|_| !exact) {
            problems.add_again(row, column, first_of[earlier], || {
                let expected = "labels that differ by more than spaces and case (or --exact-names)";
                let found = format!("{}, which is {}", quoted(label), quoted(earlier));
                (expected.to_owned(), found)
            });
        }
    }
}

/// Every word of the split column is a role; each other word is a problem once.
fn check_split(tables: &Tables, column: usize, problems: &mut TableProblems<'_>) {
    let values = Values::of(tables, column);
    for (text, first, count) in values.places().filter(|it| role(it.0).is_none()) {
        problems.add(first, column, || {
            let near = nearest(text, ["train", "val", "test", "none"]);
            let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
            let expected = "train, val, test, none or nothing".to_owned();
            (expected, format!("{}{near}{}", quoted(text), in_rows(count)))
        });
    }
}

/// The role of a node; words count in any case.
pub(super) fn role(text: &str) -> Option<NodeRole> {
    if is_missing(text) {
        return Some(NodeRole::None);
    }
    NodeRole::from_name(&text.to_lowercase())
}

/// The features that columns become have names of their own, and a model can be trained on them.
fn check_features(tables: &Tables, features: &[Feature], problems: &mut TableProblems<'_>) {
    let mut column_of: HashMap<String, usize> = HashMap::new();
    for feature in features {
        for name in feature.names(&tables.header[feature.at]) {
            if let Some(first) = column_of.get(&name) {
                let first = quoted(&tables.header[*first]);
                let found = format!("{} also of {first}", quoted(&name));
                problems.of_column(feature.at, "a name of its own for every feature", found);
                break;
            }
            column_of.insert(name, feature.at);
        }
    }
    match column_of.len() {
        0 => problems.of_column(0, "at least one feature column with values", "none"),
        count if count > MAX_COLUMNS => {
            let expected = format!("at most {MAX_COLUMNS} features");
            problems.of_column(0, expected, count.to_string());
        }
        _ => {}
    }
}

/// Groupings have different names, and their groups several nodes.
fn check_groups(tables: &Tables, groups: &[(usize, String)], problems: &mut TableProblems<'_>) {
    let mut known = HashSet::new();
    for (column, name) in groups {
        if !known.insert(name) {
            let found = format!("{} twice", quoted(name));
            problems.of_column(*column, "every name of a grouping once", found);
        }
        check_group(tables, *column, name, problems);
    }
}

/// Groups have several nodes: a value of its own for each says nothing about fairness.
fn check_group(tables: &Tables, column: usize, name: &str, problems: &mut TableProblems<'_>) {
    let values = Values::of(tables, column);
    let facts = values.facts();
    if values.filled() >= LEAST && facts.distinct == values.filled() {
        let expected = format!("groups of several nodes for {}", quoted(name));
        let found = format!("a value of its own for each of {} nodes", facts.distinct);
        problems.of_column(column, expected, found);
    }
}

/// In fewer rows all numbers may differ by chance.
const MANY: usize = 20;

/// Fewer nodes may each be in a group of their own.
const LEAST: usize = 5;

impl Nodes {
    /// Levels of categories that are no level of `columns.toml`, with the number of their rows.
    pub(super) fn unseen<'a>(&'a self, feature: &'a Feature) -> Vec<(&'a str, usize)> {
        let Column { levels: Some(levels), .. } = &feature.column else { return Vec::new() };
        let known: HashSet<&str> = levels.iter().map(String::as_str).collect();
        let values = Values::of(&self.tables, feature.at);
        let unseen = values.places().filter(|it| !known.contains(it.0));
        unseen.map(|(text, _, count)| (text, count)).collect()
    }

    /// Whether a number is a different whole one in every row, as customer numbers are.
    pub(super) fn is_numbered(&self, feature: &Feature) -> bool {
        let is_number = matches!(feature.notation, Notation::Number(_));
        is_number
            && self.tables.len() >= MANY
            && feature.facts.distinct == self.tables.len()
            && self.tables.column(feature.at).all(|text| text.parse::<i64>().is_ok())
    }

    /// Values of a category that differ only by spaces or case.
    pub(super) fn alike<'a>(&'a self, feature: &'a Feature) -> Option<(&'a str, &'a str)> {
        feature.column.levels.as_ref()?;
        let mut similar = Similar::default();
        let values = Values::of(&self.tables, feature.at);
        values.texts().find_map(|text| Some((similar.earlier(text)?, text)))
    }
}
