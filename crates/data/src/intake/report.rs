//! What an import made of each column, in words, and what `columns.toml` says of it.

use std::collections::BTreeMap;

use boostfgl_graph::Missing;
use serde::Serialize;

use super::Request;
use super::edges::Edges;
use super::infer::{Facts, Feature, Notation, Values};
use super::nodes::Nodes;
use super::values::Decimal;
use crate::columns::{Column, Columns, Kind, Rest, Role};
use crate::readers::text::quoted;

/// What became of one column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnReport {
    /// `nodes` or `edges`.
    pub table: &'static str,
    /// The name in the table.
    pub name: String,
    /// What it became, in words.
    pub became: String,
    /// The number of features, 0 for a column that is none.
    pub features: usize,
    /// The number of distinct values.
    pub distinct: usize,
    /// The number of rows without a value.
    pub missing: usize,
    /// The first value; may be empty.
    pub example: String,
}

/// What each column became, in the order of the tables.
pub(super) fn columns(nodes: &Nodes, edges: Option<&Edges>) -> Vec<ColumnReport> {
    let of_nodes = (0..nodes.tables.header.len()).map(|at| {
        let feature = nodes.features.iter().find(|feature| feature.at == at);
        let (became, features) = match feature {
            Some(feature) => (in_words(feature), feature.names(&nodes.tables.header[at]).len()),
            None => (role_in_words(nodes, at), 0),
        };
        let facts = feature.map(|feature| feature.facts.clone());
        let facts = facts
            .or_else(|| nodes.facts.get(&at).cloned())
            .unwrap_or_else(|| Facts { missing: nodes.tables.len(), ..Facts::default() });
        row("nodes", &nodes.tables.header[at], became, features, facts)
    });
    let of_edges = edges.into_iter().flat_map(|edges| {
        edges.tables.header.iter().enumerate().map(|(at, name)| {
            let facts = Values::of(&edges.tables, at).facts();
            let became = match at {
                _ if at == edges.roles.src => "the beginning of an edge",
                _ if at == edges.roles.dst => "the end of an edge",
                _ if Some(at) == edges.roles.weight => "the weight of an edge",
                _ => "left out",
            };
            row("edges", name, became.to_owned(), 0, facts)
        })
    });
    of_nodes.chain(of_edges).collect()
}

fn row(
    table: &'static str,
    name: &str,
    became: String,
    features: usize,
    facts: Facts,
) -> ColumnReport {
    let Facts { distinct, missing, example } = facts;
    ColumnReport { table, name: name.to_owned(), became, features, distinct, missing, example }
}

/// What a column that is no feature became.
fn role_in_words(nodes: &Nodes, at: usize) -> String {
    let roles = &nodes.roles;
    if at == roles.id {
        return "the id".to_owned();
    }
    if Some(at) == roles.label {
        return format!("the label, {} classes", nodes.classes.len());
    }
    if Some(at) == roles.split {
        return "the split".to_owned();
    }
    match roles.groups.iter().find(|(column, _)| *column == at) {
        Some((_, name)) => format!("the group `{name}`"),
        None if nodes.empty.contains(&at) => "left out: no value at all".to_owned(),
        None => "left out".to_owned(),
    }
}

/// What a feature column became.
fn in_words(feature: &Feature) -> String {
    let column = &feature.column;
    let levels = column.levels.as_ref().map_or(0, Vec::len);
    let buckets = column.buckets.unwrap_or(0);
    let kind = match (column.kind, feature.notation) {
        (Some(Kind::Number), Notation::Number(Decimal::Comma)) => "a number (decimal comma)".into(),
        (Some(Kind::Date), Notation::Date(format)) => {
            format!("days since 1970 ({})", format.name())
        }
        (Some(Kind::Boolean), _) => "0 or 1".to_owned(),
        (Some(Kind::Category), _) => match column.rest {
            Some(Rest::Other) => format!("{levels} levels and `other`"),
            Some(Rest::Hashed) => format!("{levels} levels, the rest hashed to {buckets}"),
            _ => format!("{levels} levels"),
        },
        (Some(Kind::Hashed), _) => format!("hashed to {buckets}"),
        _ => "a number".to_owned(),
    };
    let standardised = if column.standardise == Some(true) { ", standardised" } else { "" };
    let missing = match column.missing {
        Some(missing) if feature.facts.missing > 0 => format!("; missing: {}", missing.name()),
        _ => String::new(),
    };
    format!("{kind}{standardised}{missing}")
}

impl Feature {
    /// The names of the features that it becomes.
    pub(super) fn names(&self, name: &str) -> Vec<String> {
        self.column.feature_names(name)
    }
}

impl Column {
    /// The names of the features that a column becomes, as the reader of `nodes.csv` makes them.
    pub fn feature_names(&self, name: &str) -> Vec<String> {
        let buckets = (0..self.buckets.unwrap_or(0)).map(|bucket| format!("{name}#{bucket}"));
        let missing =
            (self.missing == Some(Missing::Indicator)).then(|| format!("{name}=(missing)"));
        match self.kind {
            Some(Kind::Category) => {
                let levels = self.levels.iter().flatten().map(|level| format!("{name}={level}"));
                let other = (self.rest == Some(Rest::Other)).then(|| format!("{name}=(other)"));
                levels.chain(other).chain(buckets).chain(missing).collect()
            }
            Some(Kind::Hashed) => buckets.chain(missing).collect(),
            _ => vec![name.to_owned()],
        }
    }
}

/// What `columns.toml` of the folder says.
pub(super) fn resolved(nodes: &Nodes, edges: Option<&Edges>, request: &Request) -> Columns {
    let header = &nodes.tables.header;
    let roles = &nodes.roles;
    let mut of_nodes: BTreeMap<String, Column> = BTreeMap::new();
    of_nodes.insert(header[roles.id].clone(), Column::of_role(Role::Id));
    let classes = (!nodes.classes.is_empty()).then(|| nodes.classes.clone());
    if let Some(label) = roles.label {
        let column = Column { levels: classes, ..Column::of_role(Role::Label) };
        of_nodes.insert(header[label].clone(), column);
    } else {
        // Kept for the reader, who needs the classes also where no node has one.
        let said = request.columns.nodes.iter().filter(|it| it.1.role == Some(Role::Label));
        of_nodes.extend(said.map(|(name, column)| (name.clone(), column.clone())));
    }
    of_nodes.extend(roles.split.map(|at| (header[at].clone(), Column::of_role(Role::Split))));
    of_nodes.extend(
        roles.groups.iter().map(|(at, _)| (header[*at].clone(), Column::of_role(Role::Group))),
    );
    let dropped = roles.dropped.iter().chain(&nodes.empty);
    of_nodes.extend(dropped.map(|at| (header[*at].clone(), Column::of_role(Role::Drop))));
    let features = nodes.features.iter();
    of_nodes.extend(features.map(|it| (header[it.at].clone(), it.column.clone())));
    let mut of_edges: BTreeMap<String, Column> = BTreeMap::new();
    if let Some(edges) = edges {
        let (header, roles) = (&edges.tables.header, &edges.roles);
        of_edges.insert(header[roles.src].clone(), Column::of_role(Role::Src));
        of_edges.insert(header[roles.dst].clone(), Column::of_role(Role::Dst));
        of_edges.extend(roles.weight.map(|at| (header[at].clone(), Column::of_role(Role::Weight))));
        of_edges.extend(
            roles.dropped.iter().map(|at| (header[*at].clone(), Column::of_role(Role::Drop))),
        );
    } else {
        of_edges = request.columns.edges.clone();
    }
    Columns { nodes: of_nodes, edges: of_edges }
}

/// What was guessed or left out.
pub(super) fn notes(nodes: &Nodes, edges: Option<&Edges>, request: &Request) -> Vec<String> {
    let mut notes = nodes.tables.notes.clone();
    notes.extend(edges.iter().flat_map(|edges| edges.tables.notes.clone()));
    let header = &nodes.tables.header;
    if nodes.roles.label.is_none() {
        notes.push("no column of labels: every node is unlabelled".to_owned());
    }
    for feature in &nodes.features {
        let name = quoted(&header[feature.at]);
        if feature.facts.distinct == 1 && feature.facts.missing == 0 {
            notes.push(format!("column {name} has the same value in every row"));
        }
        if nodes.is_numbered(feature) {
            notes.push(format!(
                "column {name} has another whole number in every row: --drop it if it is an id"
            ));
        }
        let said = request.columns.nodes.get(&header[feature.at]);
        if said.is_some_and(|column| column.levels.is_some()) {
            notes.extend(unseen(nodes, feature, &name));
        }
        if let Some((first, second)) = nodes.alike(feature) {
            let (first, second) = (quoted(first), quoted(second));
            notes.push(format!("column {name}: {first} and {second} are different values"));
        }
    }
    let empty = nodes.empty.iter().map(|at| quoted(&header[*at]));
    notes.extend(empty.map(|name| format!("column {name} has no value and is left out")));
    let Some(edges) = edges else {
        notes.push("no table of edges: every node is isolated".to_owned());
        return notes;
    };
    if edges.unknown() > 0 {
        let count = edges.unknown();
        notes.push(format!("{count} edges name a node that is not in the node tables: left out"));
    }
    if !edges.roles.dropped.is_empty() {
        let names = edges.roles.dropped.iter().map(|at| quoted(&edges.tables.header[*at]));
        let names: Vec<String> = names.collect();
        let names = names.join(", ");
        notes.push(format!("edge columns left out: {names} (--weight NAME takes one as weight)"));
    }
    notes
}

/// Values that `columns.toml` does not list.
fn unseen(nodes: &Nodes, feature: &Feature, name: &str) -> Option<String> {
    let unseen = nodes.unseen(feature);
    let rows: usize = unseen.iter().map(|value| value.1).sum();
    let examples: Vec<String> = unseen.iter().take(5).map(|value| quoted(value.0)).collect();
    let fate = match feature.column.rest {
        Some(Rest::Other) => "the feature for other values",
        Some(Rest::Hashed) => "hashed",
        _ => "all zeros",
    };
    (rows > 0).then(|| {
        let more = if unseen.len() > 5 { ", …" } else { "" };
        let examples = examples.join(", ");
        format!(
            "column {name}: {rows} rows with no level of columns.toml ({examples}{more}): {fate}"
        )
    })
}
