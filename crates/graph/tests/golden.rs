//! Homophily and groups of an independent implementation, on twelve nodes worked out in full.

use boostfgl_graph::groups::{
    Groups, HOMOPHILY_THRESHOLD, edge_homophily, minority_classes, node_homophily,
};
use boostfgl_graph::{Adjacency, Features, Graph, Labels};
use boostfgl_testkit::golden;
use serde_json::Value;

fn indices(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|x| x.as_u64().unwrap() as usize).collect()
}

fn optional(value: &Value) -> Vec<Option<f64>> {
    value.as_array().unwrap().iter().map(Value::as_f64).collect()
}

fn members(flags: &[bool]) -> Vec<usize> {
    (0..flags.len()).filter(|&v| flags[v]).collect()
}

fn marked(minority: &[Option<bool>]) -> Vec<bool> {
    minority.iter().map(|minority| *minority == Some(true)).collect()
}

/// The graph, its file, and the expected numbers.
fn golden_graph() -> (Graph, Value, Value) {
    let (file, metrics) = (golden("graph"), golden("metrics"));
    let n = file["n"].as_u64().unwrap() as usize;
    let edges: Vec<(u32, u32)> = serde_json::from_value(file["undirected_edges"].clone()).unwrap();
    let labels: Vec<i64> = serde_json::from_value(file["labels"].clone()).unwrap();
    let graph = Graph::new(
        "golden",
        Adjacency::from_edges(n, &edges, None, false).unwrap().0,
        Features::dense(n, 0, Vec::new()).unwrap(),
        Labels::from_integers(&labels, 3).unwrap(),
    );
    (graph.unwrap(), file, metrics)
}

fn close(found: &[Option<f64>], expected: &[Option<f64>]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|pair| match pair {
            (Some(a), Some(b)) => (a - b).abs() < 1e-12,
            (None, None) => true,
            _ => false,
        })
}

/// φ of every node on the induced graph of its client.
fn local_homophily(graph: &Graph, file: &Value) -> Vec<Option<f64>> {
    let mut phi = vec![None; graph.len()];
    for client in file["clients"].as_array().unwrap() {
        let ids: Vec<u32> = indices(&client["global_ids"]).iter().map(|&v| v as u32).collect();
        for (local, value) in node_homophily(&graph.induced(&ids)).into_iter().enumerate() {
            phi[ids[local] as usize] = value;
        }
    }
    phi
}

#[test]
fn homophily_matches_the_golden_numbers() {
    let (graph, file, metrics) = golden_graph();
    assert!(close(&node_homophily(&graph), &optional(&metrics["phi_global"])));
    assert!(close(&local_homophily(&graph, &file), &optional(&metrics["phi_local"])));
    // 17 edges; 0–1, 0–4, 4–5, 4–8, 2–7 join equal labels.
    assert!((edge_homophily(&graph).unwrap() - 5.0 / 17.0).abs() < 1e-12);
}

#[test]
fn groups_match_the_golden_sets() {
    let (graph, file, metrics) = golden_graph();
    let expected = &metrics["results"]["all_nodes"];
    let phi = node_homophily(&graph);
    let counts = indices(&metrics["labelled_class_counts"]);
    for (q, sets) in expected["minority"].as_object().unwrap() {
        let classes = minority_classes(&counts, q.parse().unwrap());
        if indices(&sets["classes"]).len() == counts.len() {
            // By the letter of the definition everything is minority; here the largest class
            // stays the majority.
            assert_eq!(classes, [Some(false), Some(true), Some(true)], "q = {q}");
            continue;
        }
        assert_eq!(members(&marked(&classes)), indices(&sets["classes"]), "q = {q}");
        let groups = Groups::new(&phi, graph.labels(), &classes, HOMOPHILY_THRESHOLD).unwrap();
        assert_eq!(members(&marked(&groups.minority)), indices(&sets["nodes"]));
        assert_eq!(members(&groups.heterophilous), indices(&expected["hete_global_le"]));
        let both = groups.minority.iter().zip(&groups.heterophilous);
        let both: Vec<bool> = both.map(|(min, hete)| *min == Some(true) && *hete).collect();
        assert_eq!(members(&both), indices(&sets["hete_min"]));
    }
    let local = Groups::new(
        &local_homophily(&graph, &file),
        graph.labels(),
        &[None; 3],
        HOMOPHILY_THRESHOLD,
    )
    .unwrap();
    assert_eq!(members(&local.heterophilous), indices(&expected["hete_local_le"]));
}
