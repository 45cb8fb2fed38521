//! From a run folder and its graph to frames.

use boostfgl::fairness::frame::FrameOptions;
use boostfgl::fairness::{FrameMetric, Group, Grouping};
use boostfgl::frame::frames;
use boostfgl::graph::{Adjacency, Features, Graph, GroupColumn, Labels};
use boostfgl::report::RunFolder;
use boostfgl::{Config, Experiment};
use std::path::Path;

/// A ring of 60 nodes with chords, three classes and two groupings of their own.
fn graph() -> Graph {
    let edges: Vec<(u32, u32)> =
        (0..60).flat_map(|v| [(v, (v + 1) % 60), (v, (v * v + 3) % 60)]).collect();
    let adjacency = Adjacency::from_edges(60, &edges, None, false).unwrap().0;
    let labels: Vec<Option<u32>> =
        (0..60).map(|v| (v % 10 != 9).then_some([0, 0, 1, 2][v % 4])).collect();
    let features = (0..60).flat_map(|v| [(v % 4) as f32, (v % 7) as f32]).collect();
    let names = ["red", "green", "blue"].map(str::to_owned).to_vec();
    let ids = (0..60).map(|v| format!("n{v}, \"{v}\"")).collect();
    let towns: Vec<&str> = (0..60).map(|v| ["Ulm", "Bonn", ""][v % 3]).collect();
    Graph::new(
        "ring",
        adjacency,
        Features::dense(60, 2, features).unwrap(),
        Labels::new(labels, names).unwrap(),
    )
    .unwrap()
    .with_ids(ids)
    .unwrap()
    .with_group_columns(vec![GroupColumn::from_texts("town", &towns)])
    .unwrap()
}

fn groupings(texts: &[&str]) -> Vec<Grouping> {
    texts.iter().map(|text| Grouping::parse(text).unwrap()).collect()
}

/// A short run of two seeds.
fn run(graph: &Graph, place: &Path) -> (boostfgl::Run, RunFolder) {
    let mut config = Config { method: "fedavg".into(), seeds: vec![0, 5], ..Config::default() };
    config.partition.clients = 3;
    config.fed.rounds = 2;
    config.model.hidden = 4;
    let folder = RunFolder::create(place, false).unwrap();
    let run = Experiment::new(config, graph.clone())
        .unwrap()
        .run_watched(&mut (), Some(&folder))
        .unwrap();
    (run, folder)
}

#[test]
fn frames_of_a_run_are_its_scores() {
    let place = tempfile::tempdir().unwrap();
    let graph = graph();
    let (run, folder) = run(&graph, place.path());
    let groupings = groupings(&["minority*heterophilous", "client", "column:town"]);
    let metrics = [FrameMetric::accuracy(), FrameMetric::parse("macro_f1:all").unwrap()];
    let found =
        frames(&folder, &graph, &groupings, &metrics, FrameOptions { draws: 20, min_group: 1 })
            .unwrap();
    assert_eq!(found.len(), 6);
    assert_eq!((&found[3].grouping, &found[3].metric), (&groupings[1], &metrics[1]));
    for (at, seed) in run.seeds.iter().enumerate() {
        let (scores, groups) = (seed.evaluation.scores, &seed.evaluation.groups);
        let frame = |which: usize| &found[which].seeds[at].frame;
        assert_eq!((found[0].seeds[at].seed, frame(0).nodes), (seed.seed, groups.sizes().all));
        assert_eq!(
            (frame(0).overall, frame(1).overall),
            (scores.accuracy.pooled, scores.overall_f1.pooled)
        );
        assert_eq!(frame(0).rows[0].value, groups.readings(Group::HeteMin, "accuracy").pooled);
        assert_eq!(frame(1).rows[0].value, scores.hete_min_f1.pooled);
        let clients: Vec<_> =
            seed.evaluation.clients.iter().map(|client| client.scores.accuracy.pooled).collect();
        assert_eq!(frame(2).rows.iter().map(|row| row.value).collect::<Vec<_>>(), clients);
        let towns: Vec<&str> = frame(4).rows.iter().map(|row| row.group.as_str()).collect();
        assert_eq!(towns, ["town=Bonn", "town=Ulm", "town=unknown"]);
    }
    let accuracy: Vec<f64> =
        run.seeds.iter().filter_map(|seed| seed.evaluation.scores.accuracy.pooled).collect();
    assert_eq!(found[0].overall.mean, Some((accuracy[0] + accuracy[1]) / 2.0));
}

#[test]
fn groupings_do_not_change_a_run() {
    let (with, without) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let bare = graph().with_group_columns(Vec::new()).unwrap();
    assert_eq!(boostfgl::fingerprint::of(&graph()).whole, boostfgl::fingerprint::of(&bare).whole);
    let digest = |graph: &Graph, place: &Path| run(graph, place).0.summary.digest;
    assert_eq!(digest(&graph(), with.path()), digest(&bare, without.path()));
}

/// Three rows by hand for a graph of three nodes.
fn by_hand(rows: &str) -> (tempfile::TempDir, RunFolder, Graph) {
    let place = tempfile::tempdir().unwrap();
    let folder = RunFolder::open(place.path()).unwrap();
    let header = "seed,node,client,split,label,prediction,minority,heterophilous";
    std::fs::write(folder.file(RunFolder::PREDICTIONS), format!("{header}\n{rows}")).unwrap();
    let adjacency = Adjacency::from_edges(3, &[(0, 1)], None, false).unwrap().0;
    let features = Features::dense(3, 0, Vec::new()).unwrap();
    let graph =
        Graph::new("three", adjacency, features, Labels::from_integers(&[0, 1, -1], 2).unwrap())
            .unwrap();
    (place, folder, graph)
}

const GOOD: &str = "0,2,0,none,,1,0,0\n0,0,0,test,0,0,0,0\n0,1,1,test,1,0,1,0\n";

#[test]
fn rows_are_accepted_in_any_order() {
    let (_place, folder, graph) = by_hand(GOOD);
    let found = frames(
        &folder,
        &graph,
        &groupings(&["minority", "degree:2"]),
        &[FrameMetric::parse("error").unwrap()],
        FrameOptions { draws: 0, min_group: 1 },
    )
    .unwrap();
    let values: Vec<_> =
        found[0].rows.iter().map(|row| (row.group.as_str(), row.value.mean)).collect();
    assert_eq!(values, [("minority", Some(1.0)), ("majority", Some(0.0))]);
    // Degrees 1, 1 and 0: half of the nodes is reached at degree 1 only, so there is one part.
    let degrees: Vec<_> =
        found[1].rows.iter().map(|row| (row.group.as_str(), &row.nodes[..])).collect();
    assert_eq!(degrees, [("degree=0–1", &[2][..])]);
}

#[test]
fn predictions_of_another_graph_are_refused() {
    let reason = |rows: &str| {
        let (_place, folder, graph) = by_hand(rows);
        let error = frames(
            &folder,
            &graph,
            &groupings(&["class"]),
            &[FrameMetric::accuracy()],
            FrameOptions::without_draws(),
        )
        .unwrap_err();
        assert!(error.is_input(), "{error}");
        error.to_string()
    };
    for (rows, wanted) in [
        ("", "predictions.csv: expected rows, found none"),
        (
            "0,2,0,none,,1,0,0\n",
            "expected a row for each of 3 nodes for seed 0, found none for 2, the first being `0`",
        ),
        (
            "0,7,0,none,,1,0,0\n",
            "predictions.csv: expected nodes of three, which has nodes 0 to 2, found `7`",
        ),
        ("0,0,0,test,1,1,0,0\n", "expected class `0` for node `0` as in three, found `1`"),
        ("0,2,0,none,1,1,0,0\n", "expected class `` for node `2` as in three, found `1`"),
        ("0,0,0,test,0,x,0,0\n", "expected a class of three, found `x`"),
        (
            "0,0,0,test,0,0,0,0\n0,0,0,test,0,0,0,0\n",
            "expected every node once for seed 0, found `0` twice",
        ),
        ("0,0,0,test,0", "line 2: expected 8 fields, found 5: the file may have been cut off"),
    ] {
        assert!(reason(rows).contains(wanted), "{}\n{wanted}", reason(rows));
    }
    let (_place, folder, graph) = by_hand(GOOD);
    let asked = |grouping: &str, metric| {
        frames(&folder, &graph, &groupings(&[grouping]), &[metric], FrameOptions::default())
            .unwrap_err()
    };
    let error = asked("column:town", FrameMetric::accuracy());
    assert!(
        error.is_input() && error.to_string().contains("expected data with group columns"),
        "{error}"
    );
    let error = asked("class", FrameMetric::parse("recall:7").unwrap());
    assert!(
        error.to_string().starts_with("unknown class `7`") && !error.advice().is_empty(),
        "{error}"
    );
    let missing = RunFolder::open(tempfile::tempdir().unwrap().path()).unwrap();
    assert!(
        frames(
            &missing,
            &graph,
            &groupings(&["class"]),
            &[FrameMetric::accuracy()],
            FrameOptions::without_draws()
        )
        .is_err()
    );
}
