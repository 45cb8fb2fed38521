//! From reliabilities to shares by group.

use super::{Epr, EprClient, EprGroup};
use crate::Group;

/// The messages of one client.
pub(super) struct Messages {
    /// Minority and heterophilous, for the receiving node of each message into a labelled node.
    pub(super) receivers: Vec<(Option<bool>, bool)>,
    /// R of the same messages; `None` where it was not measured.
    pub(super) reliability: Vec<Option<f64>>,
}

impl Messages {
    pub(super) fn client(&self, client: usize) -> EprClient {
        let measured = self.reliability.iter().flatten();
        EprClient {
            client,
            measured: measured.clone().count(),
            negative: measured.filter(|r| **r < 0.0).count(),
        }
    }

    /// The number of messages that reach a group, and what was measured of them.
    fn reaching(&self, group: Group) -> (usize, Vec<f64>) {
        let (mut edges, mut measured) = (0, Vec::new());
        for (&(minority, heterophilous), r) in self.receivers.iter().zip(&self.reliability) {
            if group.contains(minority, heterophilous) {
                edges += 1;
                measured.extend(*r);
            }
        }
        (edges, measured)
    }
}

/// What is known of one group. Clients are strata: each counts by its messages, however many were
/// measured.
pub(super) fn group(clients: &[Messages], group: Group) -> EprGroup {
    let strata: Vec<(usize, Vec<f64>)> =
        clients.iter().map(|client| client.reaching(group)).collect();
    let (edges, measured) =
        (strata.iter().map(|s| s.0).sum(), strata.iter().map(|s| s.1.len()).sum());
    let (mut counted, mut harmful, mut variance, mut total) = (0.0, 0.0, 0.0, 0.0);
    let mut weighted: Vec<(f64, f64)> = Vec::with_capacity(measured);
    for (edges, values) in strata.iter().filter(|(_, values)| !values.is_empty()) {
        let (all, seen) = (*edges as f64, values.len() as f64);
        let share = harmful_of(values) as f64 / seen;
        counted += all;
        harmful += all * share;
        total += all * (values.iter().sum::<f64>() / seen);
        // The variance of a stratum's total under sampling without replacement, N² (1 − m/N) s²/m
        // with s² = m/(m − 1) p(1 − p). One message has no spread: ¼ is the largest p(1 − p).
        let spread = if values.len() == 1 { 0.25 } else { share * (1.0 - share) / (seen - 1.0) };
        variance += all * (all - seen) * spread;
        weighted.extend(values.iter().map(|&r| (r, all / seen)));
    }
    EprGroup {
        group: group.name().to_owned(),
        edges,
        measured,
        negative: strata.iter().map(|(_, values)| harmful_of(values)).sum(),
        negative_share: per_message(harmful, counted),
        sampling_error: per_message(libm::sqrt(variance), counted),
        mean: per_message(total, counted),
        quantiles: quantiles(weighted),
    }
}

/// The number of harmful messages.
fn harmful_of(values: &[f64]) -> usize {
    values.iter().filter(|r| **r < 0.0).count()
}

/// A total over the number of messages; `None` without messages, or if it overflows.
fn per_message(total: f64, messages: f64) -> Option<f64> {
    Some(total / messages).filter(|x| x.is_finite())
}

/// For each of [`Epr::QUANTILES`] the smallest value such that at least that share of the weight is
/// not above it.
fn quantiles(mut weighted: Vec<(f64, f64)>) -> Vec<f64> {
    weighted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    let mut found = Vec::with_capacity(Epr::QUANTILES.len());
    let mut passed = 0.0;
    for (value, weight) in &weighted {
        passed += weight;
        // The tolerance absorbs the rounding of the running sum of weights.
        while found.len() < Epr::QUANTILES.len()
            && passed >= Epr::QUANTILES[found.len()] * total * (1.0 - 1e-12)
        {
            found.push(*value);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_weight() {
        let equal = quantiles((1..=100).rev().map(|i| (f64::from(i), 2.0)).collect());
        assert_eq!(equal, [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0]);
        let skewed = quantiles(vec![(3.0, 1.0), (1.0, 98.0), (2.0, 1.0)]);
        assert_eq!(skewed, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]);
        assert!(quantiles(Vec::new()).is_empty());
    }

    /// By hand: half of client 0's four messages were measured, one of them harmful; client 1 has
    /// two, both harmless.
    #[test]
    fn clients_count_by_their_messages() {
        let receivers = |n| vec![(Some(false), false); n];
        let clients = [
            Messages {
                receivers: receivers(4),
                reliability: vec![Some(-1.0), None, Some(3.0), None],
            },
            Messages { receivers: receivers(2), reliability: vec![Some(0.0), Some(1.0)] },
        ];
        let found = group(&clients, Group::All);
        assert_eq!((found.edges, found.measured, found.negative), (6, 4, 1));
        assert_eq!(found.negative_share, Some(2.0 / 6.0));
        assert_eq!(found.mean, Some((4.0 + 1.0) / 6.0));
        assert_eq!(found.sampling_error, Some(libm::sqrt(4.0 * 2.0 * 0.25) / 6.0));
        assert_eq!(clients[0].client(7), EprClient { client: 7, measured: 2, negative: 1 });
        let empty = group(&clients, Group::Minority);
        assert_eq!(
            (empty.edges, empty.negative_share, empty.sampling_error, empty.mean),
            (0, None, None, None)
        );
        assert!(empty.quantiles.is_empty());
    }
}
