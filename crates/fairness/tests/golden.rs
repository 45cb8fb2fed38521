//! The metrics of an independent float64 implementation of the paper, on twelve nodes worked out in
//! full.

use boostfgl_fairness::metrics::{Accuracy, MacroF1};
use boostfgl_fairness::{Classes, Confusion, Metric, Question};
use boostfgl_graph::Labels;
use boostfgl_testkit::golden;
use serde_json::Value;

/// The fixture's own accuracy.
const TIGHT: f64 = 1e-15;

fn integers(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|x| u32::try_from(x.as_u64().unwrap()).unwrap()).collect()
}

fn close(what: &str, ours: Option<f64>, theirs: &Value, tolerance: f64) {
    let (ours, theirs) = (ours.unwrap(), theirs.as_f64().unwrap());
    assert!((ours - theirs).abs() <= tolerance, "{what}: {ours} here, {theirs} there");
}

/// Flags the nodes in `list` among twelve.
fn flags(list: &Value) -> Vec<bool> {
    let list = integers(list);
    (0..12).map(|v| list.contains(&v)).collect()
}

/// The paper's literal formula, on every set the fixture lists. ε = 1e-12 moves values by about
/// 1e-12, so only a much tighter tolerance shows where it enters.
#[test]
fn literal_formula_on_every_set() {
    let golden = golden("metrics");
    let (truth, prediction) = (integers(&golden["labels"]), integers(&golden["pred"]));
    let f1 = MacroF1 { epsilon: golden["eps"].as_f64().unwrap() };
    let confusion = |set: &[u32]| {
        let pairs = set.iter().map(|&v| (truth[v as usize], prediction[v as usize]));
        Confusion::from_pairs(3, pairs).unwrap()
    };
    let check = |what: String, set: &[u32], expected: &Value| {
        let confusion = confusion(set);
        close(&what, f1.compute(&confusion, Classes::All), &expected["all"], TIGHT);
        close(&what, f1.compute(&confusion, Classes::Present), &expected["true"], TIGHT);
    };

    for name in ["all_nodes", "test_nodes"] {
        let result = &golden["results"][name];
        let evaluated = integers(&result["S"]);
        close(
            name,
            Accuracy.compute(&confusion(&evaluated), Classes::All),
            &result["accuracy"],
            TIGHT,
        );
        let per_class = f1.per_class(&confusion(&evaluated));
        assert_eq!(per_class.len(), result["f1_per_class"].as_array().unwrap().len());
        for (c, ours) in per_class.into_iter().enumerate() {
            close(&format!("{name}, class {c}"), Some(ours), &result["f1_per_class"][c], TIGHT);
        }
        check(format!("{name}, overall"), &evaluated, &result["overall_f1"]);
        check(format!("{name}, hete"), &integers(&result["hete_global_le"]), &result["hete_f1"]);
        check(
            format!("{name}, hete local"),
            &integers(&result["hete_local_le"]),
            &result["hete_f1_local"],
        );
        for (q, minority) in result["minority"].as_object().unwrap() {
            check(
                format!("{name}, q = {q}"),
                &integers(&minority["hete_min"]),
                &minority["hete_min_f1"],
            );
        }
    }
}

/// The whole path from flags to scores. It is exact where the fixture has ε = 1e-12, hence the
/// wider tolerance.
#[test]
fn a_question_gives_the_same_scores() {
    let (golden, graph) = (golden("metrics"), golden("graph"));
    let labels: Vec<i64> = integers(&graph["labels"]).into_iter().map(i64::from).collect();
    let truth = Labels::from_integers(&labels, 3).unwrap();
    let (prediction, client) = (integers(&golden["pred"]), integers(&graph["client"]));

    for name in ["all_nodes", "test_nodes"] {
        let result = &golden["results"][name];
        for (q, minority) in result["minority"].as_object().unwrap() {
            let answer = Question {
                truth: &truth,
                prediction: &prediction,
                nodes: &integers(&result["S"]),
                client: &client,
                client_sizes: &[7, 5],
                minority: &flags(&minority["nodes"]).into_iter().map(Some).collect::<Vec<_>>(),
                heterophilous: &flags(&result["hete_global_le"]),
            }
            .evaluate()
            .unwrap();
            let what = format!("{name}, q = {q}");
            let scores = answer.scores;
            close(&what, scores.accuracy.pooled, &result["accuracy"], 1e-12);
            assert_eq!(scores.accuracy.present, scores.accuracy.pooled);
            let pairs = [
                (scores.overall_f1, &result["overall_f1"]),
                (scores.hete_f1, &result["hete_f1"]),
                (scores.hete_min_f1, &minority["hete_min_f1"]),
            ];
            for (readings, expected) in pairs {
                close(&what, readings.pooled, &expected["all"], 1e-11);
                close(&what, readings.present, &expected["true"], 1e-11);
            }
            let hete_min = minority["hete_min"].as_array().unwrap().len();
            assert_eq!(answer.groups.sizes().hete_min, hete_min, "{what}");
        }
    }
}

/// The `client` reading, which the fixture does not have, worked out by hand on its test nodes.
///
/// Client 0 (7 nodes) evaluates nodes 5 and 6: classes 0 and 1, both right, macro-F1 2/3 over three
/// classes. Client 1 (5 nodes) evaluates nodes 9 (class 2, right) and 11 (class 1, taken for 0):
/// macro-F1 1/3.
#[test]
fn client_reading_by_hand() {
    let golden = golden("metrics");
    let labels: Vec<i64> = integers(&golden["labels"]).into_iter().map(i64::from).collect();
    let answer = Question {
        truth: &Labels::from_integers(&labels, 3).unwrap(),
        prediction: &integers(&golden["pred"]),
        nodes: &[5, 6, 9, 11],
        client: &[0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1],
        client_sizes: &[7, 5],
        minority: &[Some(false); 12],
        heterophilous: &flags(&golden["results"]["test_nodes"]["hete_local_le"]),
    }
    .evaluate()
    .unwrap();
    let near = |ours: Option<f64>, expected: f64| assert!((ours.unwrap() - expected).abs() < 1e-12);
    near(answer.scores.overall_f1.client, (7.0 * 2.0 / 3.0 + 5.0 / 3.0) / 12.0);
    near(answer.scores.accuracy.client, (7.0 + 5.0 * 0.5) / 12.0);
    // Only client 1 has a (locally) heterophilous test node, node 9.
    near(answer.scores.hete_f1.client, 1.0 / 3.0);
    assert_eq!(answer.scores.hete_min_f1.client, None);
}
