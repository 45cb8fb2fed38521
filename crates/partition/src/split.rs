//! Training, validation and test nodes inside each client, class by class.
//!
//! The n_c nodes of a class in a client are shuffled and cut by truncation, as in OpenFGL: training
//! nodes are the first ⌊r_train · n_c⌋, validation nodes go up to ⌊(r_train + r_val) · n_c⌋, the
//! rest is for testing. Products and the sum are those of f64 on the numbers as given, which is
//! what Python computes; 0.1 + 0.05, for example, is a little above 0.15. So a class with fewer
//! than five nodes in a client has no training node there at 20 %.
//!
//! If the three ratios sum to less than 1, the test set ends at ⌊(r_train + r_val + r_test) · n_c⌋
//! and the remainder has no role. A node without a label never has one.

use std::fmt;

use boostfgl_graph::{Graph, Labels, Role, Split, Stream};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, Result};

/// The shares of training, validation and test nodes; checked when made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratios {
    train: f64,
    val: f64,
    test: f64,
}

impl Ratios {
    /// Three shares in \[0, 1\] with a sum of at most 1 (10⁻⁹ is forgiven).
    ///
    /// # Errors
    /// If they are not.
    pub fn new(train: f64, val: f64, test: f64) -> Result<Self> {
        let shares = [train, val, test];
        if shares.iter().all(|r| (0.0..=1.0).contains(r)) && train + val + test <= 1.0 + SLACK {
            return Ok(Self { train, val, test });
        }
        let expected = "three ratios from 0 to 1 that sum to at most 1";
        Err(Error::Setting { key: "split", expected, found: format!("{shares:?}") })
    }

    /// Share of training nodes.
    pub fn train(&self) -> f64 {
        self.train
    }

    /// Share of validation nodes.
    pub fn val(&self) -> f64 {
        self.val
    }

    /// Share of test nodes.
    pub fn test(&self) -> f64 {
        self.test
    }

    /// The ends of training, validation and test nodes among `count` shuffled nodes.
    ///
    /// ```
    /// let ratios = boostfgl_partition::Ratios::new(0.2, 0.4, 0.4)?;
    /// assert_eq!(ratios.ends(9), [1, 5, 9]);
    /// assert_eq!(ratios.ends(4), [0, 2, 4]);
    /// # Ok::<(), boostfgl_partition::Error>(())
    /// ```
    pub fn ends(&self, count: usize) -> [usize; 3] {
        let all = self.train + self.val + self.test;
        let last = if (all - 1.0).abs() <= SLACK { count } else { end_of_share(all, count) };
        [end_of_share(self.train, count), end_of_share(self.train + self.val, count), last]
    }
}

/// ⌊share · count⌋, at most `count`.
fn end_of_share(share: f64, count: usize) -> usize {
    ((share * count as f64) as usize).min(count)
}

impl Default for Ratios {
    /// 20/40/40, the protocol for citation and co-author graphs.
    fn default() -> Self {
        Self { train: 0.2, val: 0.4, test: 0.4 }
    }
}

/// Where the roles of nodes come from.
///
/// In a configuration file either three ratios, `[0.2, 0.4, 0.4]`, or `"published"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SplitRule {
    /// Drawn per client and class.
    Ratios(Ratios),
    /// Those that come with the data, [`Graph::split_of_seed`].
    Published,
}

impl SplitRule {
    /// Decides the role of every node, given the client of each. Time O(n log n), memory O(n).
    ///
    /// # Errors
    /// If the split of the data is requested and they have none.
    pub fn draw(&self, graph: &Graph, client: &[u32], seed: u64) -> Result<Split> {
        match self {
            Self::Ratios(ratios) => Ok(stratified(graph.labels(), client, ratios, seed)),
            Self::Published => published(graph, seed),
        }
    }
}

impl Default for SplitRule {
    fn default() -> Self {
        Self::Ratios(Ratios::default())
    }
}

/// Splits every class of every client by the same ratios, each shuffled by its own stream (seed,
/// client, class).
///
/// # Panics
/// If there is not one client per label.
pub fn stratified(labels: &Labels, client: &[u32], ratios: &Ratios, seed: u64) -> Split {
    assert_eq!(labels.len(), client.len(), "one client per node");
    let mut nodes: Vec<(u32, u32, u32)> = labels
        .iter()
        .enumerate()
        .filter_map(|(v, class)| class.map(|class| (client[v], class, v as u32)))
        .collect();
    nodes.sort_unstable();

    let mut roles = vec![Role::None; labels.len()];
    for group in nodes.chunk_by_mut(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let (client, class, _) = group[0];
        Stream::new(seed, "split", &[u64::from(client), u64::from(class)]).shuffle(group);
        let [train, val, test] = ratios.ends(group.len());
        for (at, &(_, _, v)) in group[..test].iter().enumerate() {
            roles[v as usize] = match at {
                _ if at < train => Role::Train,
                _ if at < val => Role::Val,
                _ => Role::Test,
            };
        }
    }
    Split::new(roles)
}

fn published(graph: &Graph, seed: u64) -> Result<Split> {
    let Some(split) = graph.split_of_seed(seed) else {
        return Err(Error::NoPublishedSplit { graph: graph.name().to_owned() });
    };
    // A role on an unlabelled node is ignored: without a label it can be neither trained nor
    // evaluated.
    let roles = graph
        .labels()
        .iter()
        .enumerate()
        .map(|(v, label)| if label.is_some() { split.role(v) } else { Role::None });
    Ok(Split::new(roles.collect()))
}

impl Serialize for SplitRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ratios(ratios) => [ratios.train, ratios.val, ratios.test].serialize(serializer),
            Self::Published => serializer.serialize_str(PUBLISHED),
        }
    }
}

impl<'de> Deserialize<'de> for SplitRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RuleVisitor)
    }
}

/// By hand, because an untagged enum's only message is that nothing matched.
struct RuleVisitor;

impl<'de> Visitor<'de> for RuleVisitor {
    type Value = SplitRule;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "three ratios [train, val, test] or \"{PUBLISHED}\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<SplitRule, E> {
        if text == PUBLISHED {
            Ok(SplitRule::Published)
        } else {
            Err(E::invalid_value(de::Unexpected::Str(text), &self))
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<SplitRule, A::Error> {
        let mut ratios = [0.0; 3];
        for (at, ratio) in ratios.iter_mut().enumerate() {
            *ratio = items.next_element()?.ok_or_else(|| de::Error::invalid_length(at, &self))?;
        }
        if items.next_element::<f64>()?.is_some() {
            return Err(de::Error::invalid_length(4, &self));
        }
        Ratios::new(ratios[0], ratios[1], ratios[2])
            .map(SplitRule::Ratios)
            .map_err(de::Error::custom)
    }
}

const PUBLISHED: &str = "published";

/// The tolerance within which a sum of ratios counts as 1.
const SLACK: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use boostfgl_graph::{Adjacency, Features};

    use super::*;

    fn ends(ratios: [f64; 3], count: usize) -> [usize; 3] {
        Ratios::new(ratios[0], ratios[1], ratios[2]).unwrap().ends(count)
    }

    /// `[(int(a * n), int((a + b) * n)) for n in …]` in Python 3.
    #[test]
    fn truncation_is_that_of_python() {
        assert_eq!(ends([0.2, 0.4, 0.4], 5), [1, 3, 5]);
        assert_eq!(ends([0.2, 0.4, 0.4], 15), [3, 9, 15]);
        assert_eq!(ends([0.48, 0.32, 0.2], 25), [12, 20, 25]);
        assert_eq!(ends([0.6, 0.2, 0.2], 5), [3, 4, 5]);
        assert_eq!(ends([0.1, 0.05, 0.85], 20), [2, 3, 20]);
        // 0.29 · 100 is 28.999999999999996.
        assert_eq!(ends([0.29, 0.31, 0.4], 100), [28, 60, 100]);
    }

    #[test]
    fn the_remainder_of_the_ratios_has_no_role() {
        assert_eq!(ends([0.1, 0.1, 0.1], 100), [10, 20, 30]);
        assert_eq!(ends([0.0, 0.0, 0.0], 10), [0, 0, 0]);
        assert_eq!(ends([1.0, 0.0, 0.0], 10), [10, 10, 10]);
        // 0.7 + 0.2 + 0.1 is 0.9999999999999999 and still means everything.
        assert_eq!(ends([0.7, 0.2, 0.1], 10)[2], 10);
    }

    #[test]
    fn nonsense_ratios_are_refused() {
        for [a, b, c] in [[0.5, 0.5, 0.1], [-0.1, 0.5, 0.5], [f64::NAN, 0.1, 0.1], [1.5, 0.0, 0.0]]
        {
            let error = Ratios::new(a, b, c).unwrap_err().to_string();
            assert!(error.starts_with("split: expected three ratios"), "{error}");
        }
    }

    #[test]
    fn unlabelled_nodes_and_tiny_classes() {
        // Client 0 has four nodes of class 0 and one without a label; client 1 has five nodes of
        // class 1.
        let labels = Labels::from_integers(&[0, 0, 0, 0, -1, 1, 1, 1, 1, 1], 2).unwrap();
        let client = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1];
        let split = stratified(&labels, &client, &Ratios::default(), 0);
        let count =
            |nodes: std::ops::Range<usize>, role| nodes.filter(|&v| split.role(v) == role).count();
        assert_eq!(
            [Role::Train, Role::Val, Role::Test, Role::None].map(|role| count(0..5, role)),
            [0, 2, 2, 1]
        );
        assert_eq!(
            [Role::Train, Role::Val, Role::Test, Role::None].map(|role| count(5..10, role)),
            [1, 2, 2, 0]
        );
        assert_eq!(split.role(4), Role::None);
    }

    #[test]
    fn published_roles_are_taken_where_there_is_a_label() {
        let (adjacency, _) = Adjacency::from_edges(3, &[], None, false).unwrap();
        let labels = Labels::from_integers(&[0, -1, 0], 1).unwrap();
        let graph =
            Graph::new("mine", adjacency, Features::dense(3, 1, vec![0.0; 3]).unwrap(), labels)
                .unwrap();
        let error = SplitRule::Published.draw(&graph, &[0; 3], 0).unwrap_err();
        assert_eq!(error.to_string(), "mine has no split of its own");
        let graph =
            graph.with_split(Split::new(vec![Role::Train, Role::Train, Role::Test])).unwrap();
        let split = SplitRule::Published.draw(&graph, &[0; 3], 0).unwrap();
        assert_eq!(split.roles(), [Role::Train, Role::None, Role::Test]);
    }

    #[test]
    fn rules_are_read_and_written() {
        let rule: SplitRule = serde_json::from_str("[0.6, 0.2, 0.2]").unwrap();
        assert_eq!(rule, SplitRule::Ratios(Ratios::new(0.6, 0.2, 0.2).unwrap()));
        assert_eq!(serde_json::to_string(&rule).unwrap(), "[0.6,0.2,0.2]");
        let published: SplitRule = serde_json::from_str("\"published\"").unwrap();
        assert_eq!(serde_json::to_string(&published).unwrap(), "\"published\"");
        for json in ["\"publishd\"", "[0.5, 0.5]", "[0.1, 0.1, 0.1, 0.1]", "[0.9, 0.9, 0.9]", "3"] {
            let message = serde_json::from_str::<SplitRule>(json).unwrap_err().to_string();
            assert!(message.contains("three ratios"), "{json}: {message}");
        }
    }
}
