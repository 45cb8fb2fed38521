//! The groups that fairness is measured on: minority classes, node homophily, heterophilous nodes.
//!
//! Groups belong to evaluation. They are computed from all labels of the whole graph (or of a
//! client's graph) and are never shown to training.

use std::fmt;

use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Graph, Labels, Result};

/// The default of `homophily_threshold`: a node is heterophilous if at most half of its neighbours
/// share its class.
pub const HOMOPHILY_THRESHOLD: f64 = 0.5;

/// Which classes are minority classes: 𝒞_min(q). `Some(true)` is a minority class, `Some(false)` a
/// majority class, `None` a class without a counted node, which is in neither group.
///
/// Classes with a counted node are sorted by count n_c, smallest first, equal counts by class id.
/// The minority is the shortest prefix of that order with Σ n_c ≥ q · Σ over all classes. Where one
/// class alone holds more than 1 − q of the nodes (fraud, churn), that prefix holds every class,
/// and there would be no majority to compare with: then the last class of the prefix, the largest
/// of all, is left out. A single class has no minority. If `q` ≤ 0 or nothing is counted, the empty
/// prefix suffices.
///
/// Sums that reach q up to rounding (relative 10⁻⁹) count as reaching it, so that 55 of 100
/// satisfies q = 0.55.
///
/// ```
/// use boostfgl_graph::groups::minority_classes;
/// assert_eq!(minority_classes(&[4, 2, 1], 0.4), [Some(false), Some(true), Some(true)]);
/// assert_eq!(minority_classes(&[94, 6], 0.5), [Some(false), Some(true)]);
/// assert_eq!(minority_classes(&[7, 0], 0.5), [Some(false), None]);
/// ```
pub fn minority_classes(counts: &[usize], q: f64) -> Vec<Option<bool>> {
    let total: usize = counts.iter().sum();
    let needed = q * total as f64 - 1e-9 * total as f64;
    let order = smallest_first(counts);
    let (mut mass, mut prefix) = (0, 0);
    while prefix < order.len() && (mass as f64) < needed {
        mass += counts[order[prefix]];
        prefix += 1;
    }
    smallest(counts, &order, prefix)
}

/// The classes with a counted node, smallest first, equal counts by class id.
fn smallest_first(counts: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).filter(|&class| counts[class] > 0).collect();
    order.sort_by_key(|&class| (counts[class], class));
    order
}

/// Marks the first `wanted` classes of `order` as minority, but always leaves one as majority.
fn smallest(counts: &[usize], order: &[usize], wanted: usize) -> Vec<Option<bool>> {
    let mut minority: Vec<Option<bool>> =
        counts.iter().map(|&count| (count > 0).then_some(false)).collect();
    let most = order.len().saturating_sub(1);
    order.iter().take(wanted.min(most)).for_each(|&class| minority[class] = Some(true));
    minority
}

/// The rule by which minority classes are chosen.
///
/// In a configuration file a share (`0.5`), a number of classes (`"smallest:2"`) or the names of
/// classes (`["fraud"]`).
#[derive(Clone, Debug, PartialEq)]
pub enum MinorityRule {
    /// The smallest classes that together hold at least this share of the counted nodes:
    /// [`minority_classes`].
    Ratio(f64),
    /// This many of the smallest classes with a counted node.
    Smallest(usize),
    /// The classes of these names.
    Named(Vec<String>),
}

impl MinorityRule {
    /// The allowed values, in words.
    pub const EXPECTED: &str = "a share above 0 and at most 1, \"smallest:N\" with N of at least \
        1, or a list of class names";

    /// Whether the rule can choose anything: its share is a share, its number at least 1, its list
    /// not empty.
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Ratio(q) => *q > 0.0 && *q <= 1.0,
            Self::Smallest(number) => *number > 0,
            Self::Named(names) => !names.is_empty(),
        }
    }

    /// Marks each class: `Some(true)` minority, `Some(false)` majority, `None` without a counted
    /// node.
    ///
    /// # Errors
    /// If a class is named that the labels do not have, or all of them are; the nearest name is
    /// suggested.
    pub fn classes(&self, counts: &[usize], names: &[String]) -> Result<Vec<Option<bool>>> {
        match self {
            Self::Ratio(q) => Ok(minority_classes(counts, *q)),
            Self::Smallest(number) => Ok(smallest(counts, &smallest_first(counts), *number)),
            Self::Named(wanted) => {
                wanted.iter().try_for_each(|name| check_class(name, names))?;
                if names.iter().all(|name| wanted.contains(name)) {
                    let found = format!("all {} classes", names.len());
                    return Err(Error::inconsistent(
                        "groups.minority",
                        "at least one class that is not listed",
                        found,
                    ));
                }
                let classes = names.iter().zip(counts);
                Ok(classes
                    .map(|(name, &count)| (count > 0).then(|| wanted.contains(name)))
                    .collect())
            }
        }
    }
}

/// Checks that the labels have a class of this name.
fn check_class(name: &str, names: &[String]) -> Result<()> {
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    let near = crate::nearest(name, names.iter().map(String::as_str));
    let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
    let expected =
        format!("names of classes, such as `{}`", names.first().map_or("", String::as_str));
    Err(Error::inconsistent("groups.minority", expected, format!("`{name}`{near}")))
}

impl Serialize for MinorityRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ratio(q) => serializer.serialize_f64(*q),
            Self::Smallest(number) => serializer.serialize_str(&format!("{SMALLEST}{number}")),
            Self::Named(names) => names.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for MinorityRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RuleVisitor)
    }
}

/// By hand, because an untagged enum's only message is that nothing matched.
struct RuleVisitor;

impl<'de> Visitor<'de> for RuleVisitor {
    type Value = MinorityRule;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MinorityRule::EXPECTED)
    }

    fn visit_f64<E: de::Error>(self, q: f64) -> Result<MinorityRule, E> {
        Ok(MinorityRule::Ratio(q))
    }

    fn visit_i64<E: de::Error>(self, q: i64) -> Result<MinorityRule, E> {
        Ok(MinorityRule::Ratio(q as f64))
    }

    fn visit_u64<E: de::Error>(self, q: u64) -> Result<MinorityRule, E> {
        Ok(MinorityRule::Ratio(q as f64))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<MinorityRule, E> {
        let number = text.strip_prefix(SMALLEST).and_then(|number| number.parse().ok());
        number
            .map(MinorityRule::Smallest)
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<MinorityRule, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = items.next_element()? {
            names.push(name);
        }
        Ok(MinorityRule::Named(names))
    }
}

const SMALLEST: &str = "smallest:";

/// Node homophily φ(v) = |{u ∈ N(v) : y_u = y_v}| / |N(v)| for every node.
///
/// N(v) holds the neighbours whose label is known: an unlabelled neighbour can neither agree nor
/// disagree and is left out above and below the line. φ is `None` for a node without a label or
/// without a labelled neighbour. In a directed graph N(v) are the nodes that send to v. Edge
/// weights play no part. Time O(n + m).
pub fn node_homophily(graph: &Graph) -> Vec<Option<f64>> {
    (0..graph.len())
        .map(|v| {
            let (same, known) = agreement(graph, v);
            (known > 0).then(|| same as f64 / known as f64)
        })
        .collect()
}

/// Edge homophily: the share of edges that join two nodes of one class, among edges with both
/// labels known.
///
/// `None` if there is no such edge. Time O(n + m).
pub fn edge_homophily(graph: &Graph) -> Option<f64> {
    let (same, known) = (0..graph.len())
        .map(|v| agreement(graph, v))
        .fold((0, 0), |(same, known), (s, k)| (same + s, known + k));
    (known > 0).then(|| same as f64 / known as f64)
}

/// The numbers of neighbours of `v` with its class and with any; (0, 0) if `v` itself has none.
fn agreement(graph: &Graph, v: usize) -> (usize, usize) {
    let labels = graph.labels();
    let Some(class) = labels.get(v) else { return (0, 0) };
    let neighbours = graph.adjacency().neighbours(v).iter().filter_map(|&u| labels.get(u as usize));
    neighbours.fold((0, 0), |(same, known), other| (same + usize::from(other == class), known + 1))
}

/// Membership of every node in the disadvantaged groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// 𝒱_min: whether the node's class is a minority class; `None` for a node without a label, and
    /// for one of a class that is in neither group.
    pub minority: Vec<Option<bool>>,
    /// 𝒱_hete: φ(v) ≤ threshold. Nodes for which φ is not defined are outside.
    pub heterophilous: Vec<bool>,
    /// Nodes for which φ is not defined: neither heterophilous nor known not to be.
    pub homophily_unknown: Vec<bool>,
}

impl Groups {
    /// Groups from node homophily `phi` (see [`node_homophily`]), labels, and marked classes (see
    /// [`minority_classes`]). `threshold` is usually [`HOMOPHILY_THRESHOLD`].
    ///
    /// Whether φ was taken on the whole graph or on clients' graphs is the caller's choice.
    ///
    /// # Errors
    /// If `phi` is not about as many nodes as `labels`, or `minority` not about as many classes.
    pub fn new(
        phi: &[Option<f64>],
        labels: &Labels,
        minority: &[Option<bool>],
        threshold: f64,
    ) -> Result<Self> {
        if phi.len() != labels.len() {
            let expected = format!("{} numbers, one per node", labels.len());
            return Err(Error::inconsistent("node homophily", expected, phi.len().to_string()));
        }
        if minority.len() != labels.classes() {
            let expected = format!("{} flags, one per class", labels.classes());
            return Err(Error::inconsistent(
                "minority classes",
                expected,
                minority.len().to_string(),
            ));
        }
        Ok(Self {
            minority: labels.iter().map(|class| class.and_then(|c| minority[c as usize])).collect(),
            heterophilous: phi.iter().map(|phi| phi.is_some_and(|phi| phi <= threshold)).collect(),
            homophily_unknown: phi.iter().map(Option::is_none).collect(),
        })
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.minority.len()
    }

    /// Whether there is no node at all.
    pub fn is_empty(&self) -> bool {
        self.minority.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Adjacency, Features};

    const MIN: Option<bool> = Some(true);
    const MAJ: Option<bool> = Some(false);

    #[test]
    fn minority_follows_the_definition_at_its_edges() {
        assert_eq!(
            minority_classes(&[3, 3, 3], 0.3),
            [MIN, MAJ, MAJ],
            "ties go to the lower class id"
        );
        assert_eq!(minority_classes(&[55, 45, 100], 0.5), [MIN, MIN, MAJ]);
        assert_eq!(
            minority_classes(&[45, 10, 45], 0.55),
            [MIN, MIN, MAJ],
            "0.55 · 100 rounds above 55"
        );
        assert_eq!(minority_classes(&[0, 0], 0.5), [None, None]);
        assert_eq!(minority_classes(&[1, 2], 0.0), [MAJ, MAJ]);
    }

    #[test]
    fn the_largest_class_of_a_skewed_graph_stays_the_majority() {
        // By the letter of the definition every class of these would be a minority class.
        assert_eq!(minority_classes(&[94, 6], 0.5), [MAJ, MIN]);
        assert_eq!(minority_classes(&[4, 2, 1], 0.5), [MAJ, MIN, MIN]);
        assert_eq!(minority_classes(&[1, 2], 1.0), [MIN, MAJ]);
        assert_eq!(
            minority_classes(&[5, 0, 9], 0.3),
            [MIN, None, MAJ],
            "an empty class is in no group"
        );
        assert_eq!(
            minority_classes(&[0, 9, 0], 0.5),
            [None, MAJ, None],
            "a single class has no minority"
        );
    }

    #[test]
    fn minority_classes_may_be_counted_or_named() {
        let names = ["ok", "fraud", "unsure"].map(str::to_owned);
        let counts = [90, 6, 4];
        let classes = |rule: MinorityRule| rule.classes(&counts, &names);
        assert_eq!(classes(MinorityRule::Ratio(0.05)).unwrap(), [MAJ, MIN, MIN]);
        assert_eq!(classes(MinorityRule::Smallest(1)).unwrap(), [MAJ, MAJ, MIN]);
        assert_eq!(
            classes(MinorityRule::Smallest(7)).unwrap(),
            [MAJ, MIN, MIN],
            "one class stays the majority"
        );
        let named = |wanted: &[&str]| {
            classes(MinorityRule::Named(wanted.iter().map(|&name| name.to_owned()).collect()))
        };
        assert_eq!(named(&["fraud"]).unwrap(), [MAJ, MIN, MAJ]);
        assert_eq!(
            named(&["frauds"]).unwrap_err().to_string(),
            "groups.minority: expected names of classes, such as `ok`, found `frauds` (did you \
             mean `fraud`?)"
        );
        let all = named(&["ok", "fraud", "unsure"]).unwrap_err().to_string();
        assert_eq!(
            all,
            "groups.minority: expected at least one class that is not listed, found all 3 classes"
        );
    }

    #[test]
    fn rules_are_read_and_written() {
        for (json, rule) in [
            ("0.5", MinorityRule::Ratio(0.5)),
            ("\"smallest:2\"", MinorityRule::Smallest(2)),
            ("[\"fraud\"]", MinorityRule::Named(vec!["fraud".into()])),
        ] {
            assert_eq!(serde_json::from_str::<MinorityRule>(json).unwrap(), rule);
            assert_eq!(serde_json::to_string(&rule).unwrap(), json);
        }
        assert_eq!(serde_json::from_str::<MinorityRule>("1").unwrap(), MinorityRule::Ratio(1.0));
        for json in ["\"smallest\"", "\"smallest:x\"", "true", "{}"] {
            let message = serde_json::from_str::<MinorityRule>(json).unwrap_err().to_string();
            assert!(message.contains("smallest:N"), "{json}: {message}");
        }
        let invalid =
            [MinorityRule::Ratio(0.0), MinorityRule::Ratio(1.1), MinorityRule::Smallest(0)];
        assert!(
            invalid.iter().all(|rule| !rule.is_valid())
                && !MinorityRule::Named(Vec::new()).is_valid()
        );
    }

    #[test]
    fn unlabelled_neighbours_are_left_out() {
        let (adjacency, _) =
            Adjacency::from_edges(4, &[(0, 1), (0, 2), (2, 3)], None, false).unwrap();
        let labels = Labels::from_integers(&[0, 0, -1, 1], 2).unwrap();
        let graph =
            Graph::new("g", adjacency, Features::dense(4, 0, Vec::new()).unwrap(), labels).unwrap();
        assert_eq!(node_homophily(&graph), [Some(1.0), Some(1.0), None, None]);
        assert_eq!(edge_homophily(&graph), Some(1.0));
        assert!(Groups::new(&[None], graph.labels(), &[None; 2], 0.5).is_err());
        assert!(Groups::new(&[None; 4], graph.labels(), &[None], 0.5).is_err());
    }
}
