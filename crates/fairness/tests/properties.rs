//! Properties for any truth and any prediction.

use boostfgl_fairness::metrics::{MacroF1, MetricRegistry};
use boostfgl_fairness::{Classes, Confusion, Evaluation, Metric, Parameter, Question};
use boostfgl_graph::Labels;
use proptest::prelude::*;

/// A number of classes and up to 60 (truth, prediction) pairs below it.
fn pairs() -> impl Strategy<Value = (usize, Vec<(u32, u32)>)> {
    (1u32..9).prop_flat_map(|classes| {
        let pairs = prop::collection::vec((0..classes, 0..classes), 0..60);
        (Just(classes as usize), pairs)
    })
}

/// The metrics that are about all classes.
fn averaging() -> Vec<std::sync::Arc<dyn Metric>> {
    let registry = MetricRegistry::builtin();
    registry.iter().filter(|metric| metric.parameter() != Parameter::Class).cloned().collect()
}

/// One node: truth, prediction, client, minority, heterophilous, evaluated.
type Node = (u32, u32, u32, bool, bool, bool);

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    prop::collection::vec(
        (0u32..5, 0u32..5, 0u32..4, any::<bool>(), any::<bool>(), any::<bool>()),
        1..80,
    )
}

fn evaluate(nodes: &[Node]) -> Evaluation {
    let labels: Vec<i64> = nodes.iter().map(|node| i64::from(node.0)).collect();
    let client: Vec<u32> = nodes.iter().map(|node| node.2).collect();
    let mut client_sizes = [0; 4];
    for &k in &client {
        client_sizes[k as usize] += 1;
    }
    let evaluated: Vec<u32> = (0..).zip(nodes).filter(|(_, node)| node.5).map(|(v, _)| v).collect();
    Question {
        truth: &Labels::from_integers(&labels, 5).unwrap(),
        prediction: &nodes.iter().map(|node| node.1).collect::<Vec<_>>(),
        nodes: &evaluated,
        client: &client,
        client_sizes: &client_sizes,
        minority: &nodes.iter().map(|node| Some(node.3)).collect::<Vec<_>>(),
        heterophilous: &nodes.iter().map(|node| node.4).collect::<Vec<_>>(),
    }
    .evaluate()
    .unwrap()
}

proptest! {
    #[test]
    fn values_lie_between_zero_and_one_and_exist_unless_the_set_is_empty((classes, pairs) in pairs()) {
        let confusion = Confusion::from_pairs(classes, pairs.iter().copied()).unwrap();
        for metric in &averaging() {
            for over in [Classes::All, Classes::Present] {
                let value = metric.compute(&confusion, over);
                prop_assert_eq!(value.is_none(), pairs.is_empty());
                prop_assert!(value.is_none_or(|x| (0.0..=1.0).contains(&x)));
            }
        }
    }

    /// A class without a node cannot be hit, so it adds 0 to the sum: equality, whatever is
    /// predicted and for any ε.
    #[test]
    fn pooled_is_present_times_the_share_of_present_classes((classes, pairs) in pairs(), epsilon in 0.0..0.1f64) {
        prop_assume!(!pairs.is_empty());
        let confusion = Confusion::from_pairs(classes, pairs.iter().copied()).unwrap();
        let present = (0..classes).filter(|&c| pairs.iter().any(|pair| pair.0 as usize == c)).count();
        let share = present as f64 / classes as f64;
        for f1 in [MacroF1::EXACT, MacroF1 { epsilon }] {
            let all = f1.compute(&confusion, Classes::All).unwrap();
            let over_present = f1.compute(&confusion, Classes::Present).unwrap();
            prop_assert!((all - over_present * share).abs() < 1e-14);
            prop_assert!(all <= share + 1e-14, "{} above the ceiling {}", all, share);
        }
    }

    #[test]
    fn perfect_predictions_reach_the_ceiling((classes, pairs) in pairs()) {
        prop_assume!(!pairs.is_empty());
        let confusion = Confusion::from_pairs(classes, pairs.iter().map(|pair| (pair.0, pair.0))).unwrap();
        prop_assert_eq!(MacroF1::EXACT.compute(&confusion, Classes::Present), Some(1.0));
    }

    /// F1 = 2 hits / (truth + predicted): the form most libraries compute.
    #[test]
    fn harmonic_mean_equals_the_dice_form((classes, pairs) in pairs()) {
        let confusion = Confusion::from_pairs(classes, pairs).unwrap();
        for (class, f1) in confusion.per_class().into_iter().zip(MacroF1::EXACT.per_class(&confusion)) {
            let dice = 2.0 * class.hits as f64 / ((class.truth + class.predicted) as f64).max(1.0);
            prop_assert!((f1 - dice).abs() < 1e-14);
        }
    }

    #[test]
    fn the_names_of_classes_do_not_matter(
        (classes, pairs, order) in pairs().prop_flat_map(|(classes, pairs)| {
            let order = Just((0..classes as u32).collect::<Vec<_>>()).prop_shuffle();
            (Just(classes), Just(pairs), order)
        })
    ) {
        let renamed = pairs.iter().map(|&(y, p)| (order[y as usize], order[p as usize]));
        let before = Confusion::from_pairs(classes, pairs.iter().copied()).unwrap();
        let after = Confusion::from_pairs(classes, renamed).unwrap();
        for metric in &averaging() {
            let (x, y) = (metric.compute(&before, Classes::All), metric.compute(&after, Classes::All));
            // The sum runs in another order: equal up to rounding.
            prop_assert!(x.zip(y).map_or(x == y, |(x, y)| (x - y).abs() < 1e-14));
        }
    }

    /// Counts are integers, so not even the last bit depends on the order of nodes.
    #[test]
    fn the_order_of_nodes_does_not_matter(
        (before, after) in nodes().prop_flat_map(|nodes| (Just(nodes.clone()), Just(nodes).prop_shuffle()))
    ) {
        prop_assert_eq!(evaluate(&before), evaluate(&after));
    }

    #[test]
    fn groups_and_clients_add_up(nodes in nodes()) {
        let answer = evaluate(&nodes);
        let sizes = answer.groups.sizes();
        prop_assert_eq!(sizes.heterophilous + sizes.homophilous, sizes.all);
        prop_assert_eq!(sizes.minority + sizes.majority, sizes.all);
        prop_assert!(sizes.hete_min <= sizes.minority.min(sizes.heterophilous));
        prop_assert_eq!(answer.clients.iter().map(|client| client.sizes.all).sum::<usize>(), sizes.all);
        for row in answer.groups.rows() {
            for readings in row.metrics.values() {
                for value in [readings.pooled, readings.present, readings.client] {
                    prop_assert_eq!(value.is_none(), row.size == 0);
                }
            }
        }
    }

    /// With a single client the three readings of accuracy coincide, and `client` is `pooled` for
    /// F1.
    #[test]
    fn one_client_has_the_pooled_scores(nodes in nodes()) {
        let nodes: Vec<Node> = nodes.into_iter().map(|node| (node.0, node.1, 0, node.3, node.4, node.5)).collect();
        let scores = evaluate(&nodes).scores;
        for readings in [scores.accuracy, scores.overall_f1, scores.hete_f1, scores.hete_min_f1] {
            let same = readings.client.zip(readings.pooled).map_or(readings.client == readings.pooled, |(a, b)| (a - b).abs() < 1e-15);
            prop_assert!(same);
        }
    }
}
