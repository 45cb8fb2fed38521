//! Which group each node is in.

use super::grouping::Attribute;
use super::{Facts, Grouping, MOST_GROUPS};
use crate::{Error, Group, Result};

/// Groups by name, and the group of every node, if it is in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Division {
    pub(crate) names: Vec<String>,
    pub(crate) of_node: Vec<Option<u32>>,
}

impl Division {
    /// Divides the nodes. The order of the groups is that of the values of each attribute, the last
    /// changing fastest. Evaluated nodes without a value of an attribute are its last group,
    /// `unknown`; there is none if all have one.
    ///
    /// # Errors
    /// If there is no column of a name, or there would be more than [`MOST_GROUPS`] groups.
    pub(crate) fn new(grouping: &Grouping, facts: &Facts<'_>) -> Result<Self> {
        let mut whole =
            Self { names: vec![String::new()], of_node: vec![Some(0); facts.truth.len()] };
        // Groups called `unknown` do not count: whether there are any depends on the evaluated
        // nodes, and a grouping that is accepted before training must be accepted after it.
        let mut groups = 1usize;
        for attribute in grouping.attributes() {
            let part = Self::by(attribute, facts)?;
            groups = groups.saturating_mul(part.names.len());
            if groups > MOST_GROUPS {
                return Err(too_many(grouping, groups));
            }
            whole = whole.intersect(&part.with_unknown(attribute, facts));
        }
        Ok(whole)
    }

    /// Divides the nodes by one attribute.
    fn by(attribute: &Attribute, facts: &Facts<'_>) -> Result<Self> {
        Ok(match attribute {
            Attribute::Minority => Self {
                names: names([Group::Minority, Group::Majority]),
                of_node: facts.minority.iter().map(|side| Some(u32::from(!(*side)?))).collect(),
            },
            Attribute::Heterophilous => {
                let known = facts.heterophilous.iter().zip(facts.homophily_unknown);
                let of_node =
                    known.map(|(&yes, &unknown)| (!unknown).then_some(u32::from(!yes))).collect();
                Self { names: names([Group::Heterophilous, Group::Homophilous]), of_node }
            }
            Attribute::Degree(parts) => Self::by_degree(*parts, facts.degree),
            Attribute::Class => Self {
                names: facts.truth.names().iter().map(|name| format!("class={name}")).collect(),
                of_node: facts.truth.iter().collect(),
            },
            Attribute::Client => {
                let clients = facts.client.iter().max().map_or(0, |&last| last as usize + 1);
                // Checked before one name per client is allocated: the number may come from a
                // damaged file.
                if clients > MOST_GROUPS {
                    return Err(too_many("client", clients));
                }
                let names = (0..clients).map(|client| format!("client={client}")).collect();
                Self { names, of_node: facts.client.iter().copied().map(Some).collect() }
            }
            Attribute::Column(name) => {
                let Some(column) = facts.columns.iter().find(|column| column.name == *name) else {
                    return Err(unknown_column(name, facts));
                };
                let names = column.values.iter().map(|value| format!("{name}={value}")).collect();
                Self { names, of_node: column.of_node.clone() }
            }
        })
    }

    /// The same with a group of the nodes that have no value, if one of them is evaluated.
    fn with_unknown(mut self, attribute: &Attribute, facts: &Facts<'_>) -> Self {
        if facts.evaluated().all(|(v, ..)| self.of_node[v].is_some()) {
            return self;
        }
        let attribute = match attribute {
            Attribute::Heterophilous => "homophily",
            Attribute::Minority => "minority",
            Attribute::Degree(_) => "degree",
            Attribute::Class => "class",
            Attribute::Client => "client",
            Attribute::Column(name) => name,
        };
        let mut name = format!("{attribute}=unknown");
        if self.names.contains(&name) {
            // Nodes whose value is the text `unknown` are another group than those without a value.
            name.push_str(" (no value)");
        }
        let unknown = self.names.len() as u32;
        self.names.push(name);
        self.of_node.iter_mut().for_each(|group| *group = group.or(Some(unknown)));
        self
    }

    /// Parts of as equal size as equal degrees allow: part i ends at the degree that i/N of the
    /// nodes do not exceed. Nodes of one degree stay together, so there are fewer parts where one
    /// degree is that frequent.
    fn by_degree(parts: usize, degree: &[usize]) -> Self {
        let mut sorted = degree.to_vec();
        sorted.sort_unstable();
        let n = sorted.len();
        // The ⌈i n / N⌉-th smallest; without nodes there is none.
        let mut ends: Vec<usize> = (1..=parts)
            .filter_map(|i| sorted.get((i * n).div_ceil(parts).wrapping_sub(1)).copied())
            .collect();
        ends.dedup();
        let starts =
            std::iter::once(0).chain(ends.iter().map(|&end| sorted.partition_point(|&d| d <= end)));
        let of_node =
            degree.iter().map(|&d| Some(ends.partition_point(|&end| end < d) as u32)).collect();
        Self {
            names: starts.zip(&ends).map(|(start, &end)| degree_name(sorted[start], end)).collect(),
            of_node,
        }
    }

    /// The intersections of each group with each group of `part`.
    fn intersect(&self, part: &Self) -> Self {
        let names = self
            .names
            .iter()
            .flat_map(|left| part.names.iter().map(move |right| joint_name(left, right)));
        let width = part.names.len() as u32;
        let both = self.of_node.iter().zip(&part.of_node);
        Self {
            names: names.collect(),
            of_node: both.map(|(left, right)| Some((*left)? * width + (*right)?)).collect(),
        }
    }
}

/// The names of two groups, as files have them.
fn names(groups: [Group; 2]) -> Vec<String> {
    groups.map(|group| group.name().to_owned()).into()
}

/// The name of the nodes with a degree from `least` to `most`.
fn degree_name(least: usize, most: usize) -> String {
    if least == most { format!("degree={most}") } else { format!("degree={least}–{most}") }
}

/// The name of an intersection; the left side is empty before the first attribute.
fn joint_name(left: &str, right: &str) -> String {
    if left.is_empty() { right.to_owned() } else { format!("{left} × {right}") }
}

fn too_many(grouping: impl std::fmt::Display, groups: usize) -> Error {
    Error::asked(format!("grouping `{grouping}`"), format!("at most {MOST_GROUPS} groups"), &groups)
}

fn unknown_column(name: &str, facts: &Facts<'_>) -> Error {
    if facts.columns.is_empty() {
        let expected = "data with group columns (`group:NAME` in the header of nodes.csv)";
        return Error::asked(format!("grouping `column:{name}`"), expected, &"none");
    }
    Error::unknown(
        "group column",
        name,
        facts.columns.iter().map(|column| column.name.clone()).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn degrees_are_divided_by_rank_and_ties_stay_together() {
        // Eight nodes in quarters: the 2nd, 4th, 6th and 8th smallest degrees are 1, 3, 5 and 9.
        let quarters = Division::by_degree(4, &[9, 0, 1, 2, 3, 4, 5, 8]);
        assert_eq!(quarters.names, ["degree=0–1", "degree=2–3", "degree=4–5", "degree=8–9"]);
        assert_eq!(quarters.of_node, [3, 0, 0, 1, 1, 2, 2, 3].map(Some));
        // The first and second quarter both end at degree 1, so there are three parts.
        let tied = Division::by_degree(4, &[1, 1, 1, 1, 1, 2, 7, 7]);
        assert_eq!(tied.names, ["degree=1", "degree=2", "degree=7"]);
        assert_eq!(tied.of_node, [0, 0, 0, 0, 0, 1, 2, 2].map(Some));
        assert_eq!(Division::by_degree(100, &[5, 5]).names, ["degree=5"]);
        assert!(Division::by_degree(2, &[]).names.is_empty());
    }
}
