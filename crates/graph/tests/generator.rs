//! Properties of generated graphs.

use boostfgl_graph::generator::{FeatureSpec, PRESETS, Spec, generate, plant_features, preset};
use boostfgl_graph::stats::Stats;
use boostfgl_graph::{Adjacency, Error, Features, Graph, Labels, Role, Split};

fn quiet(name: &str, spec: &Spec, seed: u64) -> Graph {
    generate(name, spec, seed, &mut |_, _| {}).unwrap()
}

fn preset_graph(name: &str) -> (Graph, Spec) {
    let preset = preset(name).unwrap();
    (quiet(preset.name, &preset.spec, preset.seed), preset.spec)
}

fn assert_keeps_its_promises(graph: &Graph, spec: &Spec) -> Stats {
    let stats = Stats::of(graph);
    assert_eq!((stats.nodes, stats.edges), (spec.nodes, spec.edges));
    assert_eq!(
        (stats.features, stats.classes, stats.unlabelled),
        (spec.features.columns(), spec.classes, 0)
    );
    assert!(
        stats.class_counts.windows(2).all(|pair| pair[0] >= pair[1]),
        "{:?}",
        stats.class_counts
    );
    let homophily = stats.edge_homophily.unwrap();
    assert!((homophily - spec.homophily).abs() < 0.03, "edge homophily {homophily}");
    assert_eq!(stats.isolated, 0);
    stats
}

fn digest(graph: &Graph) -> String {
    let mut hasher = blake3::Hasher::new();
    for v in 0..graph.len() {
        hasher.update(&graph.labels().get(v).unwrap().to_le_bytes());
        for u in graph.adjacency().neighbours(v) {
            hasher.update(&u.to_le_bytes());
        }
    }
    match graph.features() {
        Features::Sparse(rows) => rows.indices().iter().for_each(|c| {
            hasher.update(&c.to_le_bytes());
        }),
        Features::Dense { values, .. } => values.iter().for_each(|x| {
            hasher.update(&x.to_le_bytes());
        }),
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

#[test]
fn demo_looks_like_a_citation_graph() {
    let (graph, spec) = preset_graph("demo");
    let stats = assert_keeps_its_promises(&graph, &spec);
    let heterophilous = stats.heterophilous.unwrap();
    assert!((0.10..=0.25).contains(&heterophilous), "share of nodes with φ ≤ 0.5: {heterophilous}");
    let words = stats.non_zeros * stats.features as f64;
    assert!((17.0..19.0).contains(&words), "{words} words per node");
    assert!(stats.class_counts[0] > 4 * stats.class_counts[6]);
    assert_eq!(graph.name(), "demo");
}

#[test]
fn cora_like_keeps_its_promises() {
    let (graph, spec) = preset_graph("cora-like");
    assert_keeps_its_promises(&graph, &spec);
}

#[test]
fn arxiv_like_keeps_its_promises() {
    let (graph, spec) = preset_graph("arxiv-like");
    assert_keeps_its_promises(&graph, &spec);
}

/// Frozen: a change of the generator changes every published digit on `demo`.
#[test]
fn demo_is_frozen() {
    let (graph, spec) = preset_graph("demo");
    assert_eq!(digest(&graph), "eae66489a7c01335");
    assert_eq!(graph, quiet("demo", &spec, 0));
    assert_ne!(graph, quiet("demo", &spec, 1));
}

/// A centroid per class from a fifth of the nodes, then the share of the other nodes nearest to
/// their own.
fn nearest_centroid(graph: &Graph) -> f64 {
    let Features::Sparse(rows) = graph.features() else { panic!("sparse") };
    let (d, classes) = (rows.columns(), graph.classes());
    let mut centroids = vec![0.0f64; classes * d];
    let mut counts = vec![0.0f64; classes];
    let class = |v: usize| graph.labels().get(v).unwrap() as usize;
    for v in (0..graph.len()).step_by(5) {
        counts[class(v)] += 1.0;
        rows.row(v).0.iter().for_each(|&word| centroids[class(v) * d + word as usize] += 1.0);
    }
    for (c, centroid) in centroids.chunks_mut(d).enumerate() {
        centroid.iter_mut().for_each(|x| *x /= counts[c].max(1.0));
    }
    let score = |v: usize, c: usize| {
        let centroid = &centroids[c * d..(c + 1) * d];
        let inner: f64 = rows.row(v).0.iter().map(|&word| centroid[word as usize]).sum();
        2.0 * inner - centroid.iter().map(|x| x * x).sum::<f64>()
    };
    let rest: Vec<usize> = (0..graph.len()).filter(|v| v % 5 != 0).collect();
    let nearest =
        |v: usize| (0..classes).max_by(|&a, &b| score(v, a).total_cmp(&score(v, b))).unwrap();
    rest.iter().filter(|&&v| nearest(v) == class(v)).count() as f64 / rest.len() as f64
}

#[test]
fn features_of_demo_help_but_do_not_decide() {
    let accuracy = nearest_centroid(&preset_graph("demo").0);
    assert!((0.5..0.68).contains(&accuracy), "nearest centroid: {accuracy}");
}

#[test]
fn unknown_presets_are_named_with_the_nearest() {
    let error = preset("dmeo").unwrap_err();
    assert!(
        matches!(error, Error::Unknown { kind: "preset", suggestion: Some(ref s), .. } if s == "demo")
    );
    for preset in PRESETS {
        preset.spec.check().unwrap();
        assert!((preset.split.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}

#[test]
fn contradictions_are_refused_by_field() {
    let demo = preset("demo").unwrap().spec;
    let reason = |spec: Spec| generate("g", &spec, 0, &mut |_, _| {}).unwrap_err().to_string();
    assert!(reason(Spec { nodes: 0, ..demo }).contains("nodes"));
    assert!(reason(Spec { nodes: 10, classes: 2, edges: 40, ..demo }).contains("edges"));
    assert!(reason(Spec { classes: 0, ..demo }).contains("classes"));
    assert!(reason(Spec { homophily: f64::NAN, ..demo }).contains("homophily"));
    assert!(reason(Spec { pockets: 0.9, ..demo }).contains("pockets"));
    assert!(reason(Spec { degree_exponent: 2.0, ..demo }).contains("degree_exponent"));
    let features = FeatureSpec::Sparse { columns: 20, per_node: 18, signal: 0.5 };
    assert!(reason(Spec { features, ..demo }).contains("per_node"));
    // One community of ten nodes has 45 pairs; 1,000 edges inside classes do not fit.
    let tight =
        Spec { nodes: 70, edges: 1_000, communities: 1, homophily: 1.0, pockets: 0.0, ..demo };
    assert!(reason(tight).contains("room for"));
}

#[test]
fn small_and_odd_specs_work() {
    let demo = preset("demo").unwrap().spec;
    let dense = FeatureSpec::Dense { columns: 3, signal: 1.0 };
    let plain = Spec { pockets: 0.0, imbalance: 0.0, features: dense, ..demo };
    let one_class =
        Spec { nodes: 40, edges: 60, classes: 1, communities: 2, homophily: 1.0, ..plain };
    assert_eq!(Stats::of(&quiet("g", &one_class, 3)).edge_homophily, Some(1.0));
    let sparse =
        Spec { nodes: 100, edges: 30, classes: 4, communities: 2, homophily: 0.5, ..plain };
    assert_eq!(quiet("g", &sparse, 3).adjacency().edges(), 30);
    let bare = Spec { nodes: 5, edges: 0, classes: 5, ..plain };
    assert_eq!(quiet("g", &bare, 3).adjacency().edges(), 0);
    let heterophilous =
        Spec { nodes: 300, edges: 900, classes: 3, communities: 2, homophily: 0.1, ..plain };
    assert!((Stats::of(&quiet("g", &heterophilous, 3)).edge_homophily.unwrap() - 0.1).abs() < 0.03);
}

#[test]
fn progress_goes_through_every_phase_to_the_end() {
    let demo = preset("demo").unwrap();
    let mut phases: Vec<(String, f64)> = Vec::new();
    generate(demo.name, &demo.spec, 0, &mut |phase, done| phases.push((phase.to_owned(), done)))
        .unwrap();
    for phase in ["nodes", "edges", "rows", "features"] {
        let last = phases.iter().rfind(|(name, _)| name == phase).unwrap();
        assert_eq!(last.1, 1.0, "{phase}");
    }
    assert!(phases.iter().all(|(_, done)| (0.0..=1.0).contains(done)));
}

#[test]
fn planted_features_change_the_name_and_keep_the_rest() {
    let (adjacency, _) = Adjacency::from_edges(4, &[(0, 1), (2, 3)], None, false).unwrap();
    let labels = Labels::from_integers(&[0, 1, -1, 1], 2).unwrap();
    let split = Split::new(vec![Role::Train, Role::Val, Role::None, Role::Test]);
    let spec = FeatureSpec::Dense { columns: 128, signal: 5.0 };
    let plant = || {
        plant_features("g", adjacency.clone(), labels.clone(), vec![split.clone()], &spec, 0)
            .unwrap()
    };
    let graph = plant();
    assert_eq!(graph.name(), "g (planted features)");
    assert_eq!(
        (graph.adjacency(), graph.labels(), graph.split()),
        (&adjacency, &labels, Some(&split))
    );
    assert_eq!(graph, plant());
    let Features::Dense { values, columns: 128, .. } = graph.features() else {
        panic!("dense, 128 columns")
    };
    let row = |v: usize| &values[v * 128..(v + 1) * 128];
    let distance =
        |a: usize, b: usize| row(a).iter().zip(row(b)).map(|(x, y)| (x - y).powi(2)).sum::<f32>();
    assert!(distance(1, 3) < distance(1, 0), "nodes of one class are nearer to each other");
    assert!(row(2).iter().map(|x| x * x).sum::<f32>() < 200.0, "no label, no centre: noise only");
}
