//! The edge tables: both ends are nodes, weights are above 0.

use boostfgl_graph::Result;

use super::Request;
use super::names::Similar;
use super::nodes::Nodes;
use super::roles::EdgeRoles;
use super::tables::{TableProblems, Tables};
use super::values::{self, Decimal};
use crate::readers::text::quoted;

/// The edges of all tables, checked.
pub(super) struct Edges {
    pub(super) tables: Tables,
    pub(super) roles: EdgeRoles,
    /// The rows whose ends both exist.
    pub(super) kept: Vec<usize>,
    /// How weights are read.
    pub(super) decimal: Decimal,
}

impl Edges {
    pub(super) fn find(tables: Tables, request: &Request, nodes: &Nodes) -> Result<Self> {
        let roles = EdgeRoles::find(&tables, request)?;
        let mut problems = tables.problems();
        let kept = kept(&tables, &roles, request, nodes, &mut problems);
        let decimal = roles.weight.map_or(Decimal::Point, |weight| decimal(&tables, weight));
        if let Some(weight) = roles.weight {
            check_weights(&tables, weight, decimal, &kept, &mut problems);
        }
        problems.finish()?;
        Ok(Self { tables, roles, kept, decimal })
    }

    /// The number of rows that name a node which does not exist.
    pub(super) fn unknown(&self) -> usize {
        self.tables.len() - self.kept.len()
    }
}

/// The rows whose ends both exist; any other is a problem, unless it is to be left out.
fn kept(
    tables: &Tables,
    roles: &EdgeRoles,
    request: &Request,
    nodes: &Nodes,
    problems: &mut TableProblems<'_>,
) -> Vec<usize> {
    let known = nodes.numbers();
    let mut similar = Similar::default();
    for id in nodes.tables.column(nodes.roles.id) {
        similar.earlier(id);
    }
    let mut kept = Vec::with_capacity(tables.len());
    for row in 0..tables.len() {
        let mut exist = true;
        for column in [roles.src, roles.dst] {
            let id = tables.field(row, column);
            if known.contains_key(id) {
                continue;
            }
            exist = false;
            let near = similar.known(id).filter(|_| !request.exact_names);
            // A name that is nearly one of the nodes is a mistake, not an unknown node.
            if !request.drop_unknown_nodes || near.is_some() {
                problems.add(row, column, || {
                    let near = near.map(|near| format!(", which differs from {}", quoted(near)));
                    let expected = "an id of the node tables (or --unknown-nodes drop)";
                    (expected.to_owned(), format!("{}{}", quoted(id), near.unwrap_or_default()))
                });
            }
        }
        if exist {
            kept.push(row);
        }
    }
    kept
}

/// The decimal separator of a column of weights.
fn decimal(tables: &Tables, weight: usize) -> Decimal {
    let is_comma = tables.may_have_decimal_commas()
        && tables.column(weight).any(|text| text.contains(','))
        && tables.column(weight).all(|text| values::number(text, Decimal::Comma).is_some());
    if is_comma { Decimal::Comma } else { Decimal::Point }
}

fn check_weights(
    tables: &Tables,
    weight: usize,
    decimal: Decimal,
    kept: &[usize],
    problems: &mut TableProblems<'_>,
) {
    // Weights of repeated edges add up.
    let mut sum = 0.0;
    for &row in kept {
        let text = tables.field(row, weight);
        sum += values::number(text, decimal).map_or(0.0, f64::from);
        if !values::number(text, decimal).is_some_and(|number| number > 0.0) {
            problems.add(row, weight, || ("a number above 0".to_owned(), quoted(text)));
        }
    }
    if sum > f64::from(f32::MAX) {
        problems.of_column(weight, "weights with a finite sum", format!("{sum:e}"));
    }
}
