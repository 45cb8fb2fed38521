//! Frames by hand, their laws, and their agreement with the evaluation of a run.

use boostfgl_fairness::frame::{DRAWS, FrameOptions, MOST_DRAWS, SeedFrame, SeedFrames};
use boostfgl_fairness::statistics::wilson;
use boostfgl_fairness::{Evaluation, Facts, FrameMetric, Group, Grouping, MetricFrame, Question};
use boostfgl_graph::{GroupColumn, Labels, Stream};
use proptest::prelude::*;

/// One node: truth (none for class 4), prediction, client, minority, heterophilous, evaluated,
/// degree, region.
type Node = (u32, u32, u32, bool, bool, bool, usize, usize);

/// What facts borrow from.
struct Data {
    truth: Labels,
    prediction: Vec<u32>,
    nodes: Vec<u32>,
    client: Vec<u32>,
    minority: Vec<Option<bool>>,
    heterophilous: Vec<bool>,
    homophily_unknown: Vec<bool>,
    degree: Vec<usize>,
    columns: Vec<GroupColumn>,
}

impl Data {
    fn of(nodes: &[Node]) -> Self {
        let truth: Vec<i64> =
            nodes.iter().map(|node| if node.0 == 4 { -1 } else { i64::from(node.0) }).collect();
        let region: Vec<&str> =
            nodes.iter().map(|node| ["", "north", "south", "west"][node.7]).collect();
        Self {
            truth: Labels::from_integers(&truth, 5).unwrap(),
            prediction: nodes.iter().map(|node| node.1).collect(),
            nodes: (0..).zip(nodes).filter(|(_, node)| node.5).map(|(v, _)| v).collect(),
            client: nodes.iter().map(|node| node.2).collect(),
            minority: nodes.iter().map(|node| Some(node.3)).collect(),
            heterophilous: nodes.iter().map(|node| node.4).collect(),
            homophily_unknown: vec![false; nodes.len()],
            degree: nodes.iter().map(|node| node.6).collect(),
            columns: vec![GroupColumn::from_texts("region", &region)],
        }
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            truth: &self.truth,
            prediction: &self.prediction,
            nodes: &self.nodes,
            client: &self.client,
            minority: &self.minority,
            heterophilous: &self.heterophilous,
            homophily_unknown: &self.homophily_unknown,
            degree: &self.degree,
            columns: &self.columns,
        }
    }

    fn frame(&self, grouping: &str, metric: &str, draws: usize) -> MetricFrame {
        self.try_frame(grouping, metric, draws).unwrap()
    }

    fn try_frame(
        &self,
        grouping: &str,
        metric: &str,
        draws: usize,
    ) -> boostfgl_fairness::Result<MetricFrame> {
        // Every group is ranked, unless a test overrides it.
        self.try_frame_of(grouping, metric, FrameOptions { draws, min_group: 1 })
    }

    fn try_frame_of(
        &self,
        grouping: &str,
        metric: &str,
        options: FrameOptions,
    ) -> boostfgl_fairness::Result<MetricFrame> {
        MetricFrame::new(
            &self.facts(),
            &Grouping::parse(grouping)?,
            &FrameMetric::parse(metric)?,
            options,
        )
    }

    fn evaluation(&self) -> Evaluation {
        let mut client_sizes =
            vec![0; self.client.iter().max().map_or(0, |&last| last as usize + 1)];
        self.client.iter().for_each(|&client| client_sizes[client as usize] += 1);
        let Facts { truth, prediction, nodes, client, minority, heterophilous, .. } = self.facts();
        Question {
            truth,
            prediction,
            nodes,
            client,
            client_sizes: &client_sizes,
            minority,
            heterophilous,
        }
        .evaluate()
        .unwrap()
    }
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let flag = any::<bool>;
    prop::collection::vec(
        (0u32..5, 0u32..4, 0u32..4, flag(), flag(), flag(), 0usize..9, 0usize..4),
        1..60,
    )
}

/// Six evaluated nodes, one without a label, one that is not evaluated.
fn six() -> Data {
    Data::of(&[
        (0, 0, 0, false, false, true, 1, 1),
        (0, 0, 0, false, true, true, 1, 1),
        (0, 1, 1, false, true, true, 2, 2),
        (0, 0, 1, false, false, true, 3, 0),
        (1, 1, 0, true, true, true, 4, 2),
        (1, 0, 0, true, true, true, 9, 2),
        (4, 0, 0, false, false, true, 9, 1),
        (1, 0, 0, true, false, false, 9, 1),
    ])
}

#[test]
fn accuracy_by_hand() {
    let frame = six().frame("minority", "accuracy", 0);
    let rows: Vec<_> =
        frame.rows.iter().map(|row| (row.group.as_str(), row.nodes, row.value)).collect();
    assert_eq!(rows, [("minority", 2, Some(0.5)), ("majority", 4, Some(0.75))]);
    assert_eq!((frame.nodes, frame.overall), (6, Some(4.0 / 6.0)));
    assert_eq!((frame.difference, frame.ratio), (Some(0.25), Some(0.5 / 0.75)));
    let worst = frame.worst.unwrap();
    assert_eq!((worst.group.as_str(), worst.value), ("minority", 0.5));
    // Of shares without any draw: 4 of 6, and 1 of 2.
    assert_eq!((frame.overall_interval, frame.rows[0].interval), (wilson(4, 6), wilson(1, 2)));
    let f1 = six().frame("minority", "macro_f1", 0);
    assert_eq!(
        (f1.overall_interval, f1.difference_interval, f1.rows[0].interval),
        (None, None, None)
    );
}

#[test]
fn the_worst_error_is_the_largest() {
    let frame = six().frame("heterophilous", "error", 0);
    let values: Vec<_> = frame.rows.iter().map(|row| row.value).collect();
    assert_eq!(values, [Some(0.5), Some(0.0)]);
    assert_eq!((frame.worst.unwrap().group, frame.ratio), ("heterophilous".to_owned(), Some(0.0)));
    // No prediction is wrong: 0 / 0 is no ratio.
    let data = six();
    let right = Data { nodes: vec![0, 1, 4], ..data }.frame("minority", "error", 0);
    assert_eq!((right.difference, right.ratio, right.worst.unwrap().value), (Some(0.0), None, 0.0));
}

#[test]
fn an_empty_intersection_is_shown_and_never_worst() {
    let frame = six().frame("minority*heterophilous", "accuracy", 100);
    let rows: Vec<_> =
        frame.rows.iter().map(|row| (row.group.as_str(), row.nodes, row.value)).collect();
    let expected = [
        ("minority × heterophilous", 2, Some(0.5)),
        ("minority × homophilous", 0, None),
        ("majority × heterophilous", 2, Some(0.5)),
        ("majority × homophilous", 2, Some(1.0)),
    ];
    assert_eq!(rows, expected);
    assert_eq!(frame.rows[1].interval, None);
    assert_eq!(
        (frame.difference, frame.worst.unwrap().group.as_str()),
        (Some(0.5), "minority × heterophilous")
    );
}

#[test]
fn nodes_without_a_value_are_a_group_of_their_own() {
    let frame = six().frame("column:region", "accuracy", 50);
    let rows: Vec<_> =
        frame.rows.iter().map(|row| (row.group.as_str(), row.nodes, row.value)).collect();
    // The west has no node in the data, so it is no value. Node 3 has an empty field.
    assert_eq!(
        rows,
        [
            ("region=north", 2, Some(1.0)),
            ("region=south", 3, Some(1.0 / 3.0)),
            ("region=unknown", 1, Some(1.0))
        ]
    );
    assert_eq!(rows.iter().map(|row| row.1).sum::<usize>(), frame.nodes);
    let both = six().frame("column:region*minority", "accuracy", 0);
    assert_eq!(both.rows.iter().map(|row| row.nodes).sum::<usize>(), 6);
    assert_eq!((both.rows[5].group.as_str(), both.rows[5].nodes), ("region=unknown × majority", 1));
    // Node 0 has no neighbour with a label: it is not homophilous.
    let data = Data { homophily_unknown: (0..8).map(|v| v == 0).collect(), ..six() };
    let frame = data.frame("heterophilous", "accuracy", 0);
    let rows: Vec<_> = frame.rows.iter().map(|row| (row.group.as_str(), row.nodes)).collect();
    assert_eq!(rows, [("heterophilous", 4), ("homophilous", 1), ("homophily=unknown", 1)]);
    // Without an evaluated node in it there is no such group.
    let known = Data { nodes: vec![0, 1, 2], ..six() }.frame("column:region", "accuracy", 0);
    assert_eq!(known.rows.len(), 2);
    // A value named `unknown` is not the same as no value.
    let texts = ["unknown", "unknown", "", "a", "a", "a", "a", "a"];
    let named = Data { columns: vec![GroupColumn::from_texts("c", &texts)], ..six() }
        .frame("column:c", "accuracy", 0);
    let names: Vec<_> = named.rows.iter().map(|row| row.group.as_str()).collect();
    assert_eq!(names, ["c=a", "c=unknown", "c=unknown (no value)"]);
}

#[test]
fn an_interval_of_a_share_is_never_a_point() {
    let frame = six().frame("column:region", "accuracy", 50);
    // One right case of one leaves 21 to 100 %, two of two 34 to 100 %.
    assert_eq!((frame.rows[0].interval, frame.rows[2].interval), (wilson(2, 2), wilson(1, 1)));
    assert!(
        frame.rows.iter().all(|row| row.interval.is_some_and(|interval| interval.lo < interval.hi))
    );
    let difference = frame.difference_interval.unwrap();
    assert!(
        0.0 <= difference.lo && difference.lo < difference.hi && difference.hi <= 1.0,
        "{difference:?}"
    );
    // Macro-F1 is no share: where every draw agrees there is no interval, and none is invented.
    let f1 = six().frame("column:region", "macro_f1", 50);
    assert_eq!(
        (f1.rows[0].value, f1.rows[0].interval, f1.rows[2].interval),
        (Some(1.0), None, None)
    );
    assert!(f1.rows[1].interval.is_some());
}

#[test]
fn recall_counts_the_nodes_of_its_class() {
    // Of the minority both nodes are of class 1, one of them found; of the majority none is.
    let frame = six().frame("minority", "recall:1", 10);
    let rows: Vec<_> =
        frame.rows.iter().map(|row| (row.nodes, row.counted, row.value, row.interval)).collect();
    assert_eq!(rows, [(2, 2, Some(0.5), wilson(1, 2)), (4, 0, None, None)]);
    assert_eq!((frame.nodes, frame.counted, frame.overall_interval), (6, 2, wilson(1, 2)));
    let frame = six().frame("heterophilous", "recall:0", 10);
    let rows: Vec<_> =
        frame.rows.iter().map(|row| (row.nodes, row.counted, row.interval)).collect();
    assert_eq!(rows, [(4, 2, wilson(1, 2)), (2, 2, wilson(2, 2))]);
}

#[test]
fn small_groups_are_shown_and_not_ranked() {
    let data = six();
    let frame = |grouping: &str, metric: &str, min_group| {
        data.try_frame_of(grouping, metric, FrameOptions { draws: 50, min_group }).unwrap()
    };
    let found = frame("column:region", "accuracy", 2);
    let small: Vec<_> = found.rows.iter().map(|row| (row.small, row.value.is_some())).collect();
    assert_eq!(small, [(false, true), (false, true), (true, true)]);
    assert_eq!((found.min_group, found.worst.unwrap().group.as_str()), (2, "region=south"));
    // With three cases the south is alone: no difference and no ratio, and it is the worst of those
    // ranked.
    let lone = frame("column:region", "accuracy", 3);
    assert_eq!((lone.difference, lone.ratio, lone.difference_interval), (None, None, None));
    assert_eq!(lone.worst.unwrap().group, "region=south");
    // No group has four cases: none is worst.
    assert_eq!(frame("column:region", "macro_f1", 4).worst, None);
    // Of recall the counted cases decide: the majority has four nodes and none of class 1.
    let recall = frame("minority", "recall:1", 2);
    assert_eq!(recall.rows.iter().map(|row| row.small).collect::<Vec<_>>(), [false, true]);
    // By default ten are needed.
    let default = MetricFrame::new(
        &data.facts(),
        &Grouping::parse("minority").unwrap(),
        &FrameMetric::accuracy(),
        FrameOptions::default(),
    );
    assert!(default.unwrap().rows.iter().all(|row| row.small));
    // Over seeds a group is small if it is so under one of them.
    let seed = |seed, frame| SeedFrame { seed, frame };
    let joined = SeedFrames::new(vec![
        seed(0, frame("column:region", "error", 1)),
        seed(1, frame("column:region", "error", 2)),
    ]);
    let joined = joined.unwrap();
    assert_eq!(joined.rows.iter().map(|row| row.small).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(
        (joined.rows[2].counted.as_slice(), joined.worst.unwrap().group.as_str()),
        (&[1, 1][..], "region=south")
    );
}

#[test]
fn degrees_classes_and_recall() {
    let data = six();
    // Degrees 1 1 2 3 4 9 9 9: the fourth smallest is 3.
    let frame = data.frame("degree:2", "accuracy", 0);
    let rows: Vec<_> =
        frame.rows.iter().map(|row| (row.group.as_str(), row.nodes, row.value)).collect();
    assert_eq!(rows, [("degree=1–3", 4, Some(0.75)), ("degree=4–9", 2, Some(0.5))]);
    let frame = data.frame("class", "recall:1", 10);
    let values: Vec<_> = frame.rows.iter().map(|row| (row.nodes, row.value)).collect();
    assert_eq!(values, [(4, None), (2, Some(0.5)), (0, None), (0, None), (0, None)]);
    assert_eq!(
        (frame.difference, frame.ratio, frame.difference_interval),
        (None, None, None),
        "one group has a value"
    );
    assert_eq!(frame.worst.unwrap().group, "class=1");
}

#[test]
fn no_node_to_evaluate_is_not_an_error() {
    let frame = Data { nodes: Vec::new(), ..six() }.frame("client", "macro_f1", 20);
    assert_eq!((frame.nodes, frame.overall, frame.difference, frame.worst), (0, None, None, None));
    assert_eq!(frame.rows.len(), 2);
}

#[test]
fn invalid_requests_are_named() {
    let data = six();
    let reason =
        |grouping: &str, metric: &str, draws| data.try_frame(grouping, metric, draws).unwrap_err();
    for (error, wanted) in [
        (
            reason("column:regoin", "accuracy", 0),
            "unknown group column `regoin` (did you mean `region`?); there are region",
        ),
        (reason("class", "recall:7", 0), "unknown class `7`"),
        (
            reason("class", "accuracy", MOST_DRAWS + 1),
            "draws of the bootstrap: expected at most 100000, found 100001",
        ),
    ] {
        assert!(error.to_string().starts_with(wanted) && error.is_request(), "{error}");
        assert!(!error.advice().is_empty());
    }
    let bare = Data { columns: Vec::new(), ..six() }
        .try_frame("column:x", "error", 0)
        .unwrap_err()
        .to_string();
    assert!(bare.starts_with("grouping `column:x`: expected data with group columns"), "{bare}");
    let far = Data { client: vec![u32::MAX; 8], ..six() }
        .try_frame("client", "error", 0)
        .unwrap_err()
        .to_string();
    assert_eq!(far, "grouping `client`: expected at most 1000 groups, found 4294967296");

    let texts: Vec<String> = (0..500).map(|v| v.to_string()).collect();
    let many: Vec<Node> =
        (0..500).map(|v| (v % 4, 0, 0, true, true, true, v as usize, 0)).collect();
    let many = Data { columns: vec![GroupColumn::from_texts("id", &texts)], ..Data::of(&many) };
    assert_eq!(many.frame("column:id*minority", "error", 0).rows.len(), 1000);
    let error =
        many.try_frame("column:id*minority*heterophilous", "error", 0).unwrap_err().to_string();
    assert_eq!(
        error,
        "grouping `column:id*minority*heterophilous`: expected at most 1000 groups, found 2000"
    );
}

#[test]
fn parts_that_do_not_fit_are_named() {
    let reason = |data: Data| data.try_frame("class", "error", 0).unwrap_err().to_string();
    let columns = |texts: &[&str]| vec![GroupColumn::from_texts("c", texts)];
    let broken = GroupColumn { of_node: vec![Some(3); 8], ..columns(&["x"]).remove(0) };
    for (data, wanted) in [
        (Data { degree: vec![1], ..six() }, "degree: expected 8 entries, one per node, found 1"),
        (
            Data { columns: columns(&["x"]), ..six() },
            "c: expected 8 entries, one per node, found 1",
        ),
        (
            Data { columns: vec![broken], ..six() },
            "group column `c`: expected a value below 1, found 3",
        ),
        (Data { nodes: vec![8], ..six() }, "evaluated node: expected a node below 8, found 8"),
        (
            Data { prediction: vec![5; 8], ..six() },
            "prediction of node 0: expected a class below 5, found 5",
        ),
    ] {
        assert_eq!(reason(data), wanted);
    }
}

#[test]
fn seeds_are_joined_by_name() {
    let seed = |seed, data: &Data| SeedFrame { seed, frame: data.frame("client", "accuracy", 10) };
    let (first, second) = (six(), Data { client: vec![0; 8], prediction: vec![0; 8], ..six() });
    let joined = SeedFrames::new(vec![seed(3, &first), seed(5, &second)]).unwrap();
    // Client 0 has 3 of 4 right, then 4 of 6; client 1 has 1 of 2, then nothing.
    let rows: Vec<_> = joined.rows.iter().map(|row| (row.group.as_str(), &row.nodes[..])).collect();
    assert_eq!(rows, [("client=0", &[4, 6][..]), ("client=1", &[2, 0])]);
    assert_eq!(joined.rows[0].value.mean, Some((0.75 + 4.0 / 6.0) / 2.0));
    assert_eq!((joined.rows[1].value.mean, joined.rows[1].value.std), (Some(0.5), None));
    assert_eq!((joined.difference.mean, joined.worst.as_ref().unwrap().value), (Some(0.25), 0.5));
    let json = serde_json::to_string(&joined).unwrap();
    assert_eq!(serde_json::from_str::<SeedFrames>(&json).unwrap(), joined);
    assert!(
        json.contains("\"grouping\":\"client\"") && json.contains("\"interval\":{\"lo\":"),
        "{json}"
    );

    let other = SeedFrame { seed: 5, frame: first.frame("class", "accuracy", 10) };
    let error = SeedFrames::new(vec![seed(3, &first), other]).unwrap_err().to_string();
    assert_eq!(
        error,
        "frames: expected accuracy by client for every seed, found accuracy by class"
    );
    assert!(SeedFrames::new(Vec::new()).is_err());
}

/// 8000 nodes as of a real run. The interval of an accuracy p over n nodes is p ± 1.96 √(p (1 − p)
/// / n) up to noise.
#[test]
fn intervals_of_many_nodes_are_normal_and_fast() {
    let mut stream = Stream::new(0, "frames test", &[]);
    let node = |stream: &mut Stream| {
        let truth = stream.below(4) as u32;
        let prediction = if stream.unit() < 0.7 { truth } else { stream.below(4) as u32 };
        (
            truth,
            prediction,
            stream.below(4) as u32,
            stream.unit() < 0.25,
            stream.unit() < 0.5,
            true,
            stream.below(9),
            0,
        )
    };
    let data = Data::of(&(0..8000).map(|_| node(&mut stream)).collect::<Vec<_>>());
    let grouping = Grouping::parse("minority*heterophilous").unwrap();
    let start = std::time::Instant::now();
    let metrics = [FrameMetric::accuracy(), FrameMetric::macro_f1()];
    let frames = MetricFrame::measure(
        &data.facts(),
        &grouping,
        &metrics,
        FrameOptions { draws: DRAWS, min_group: 10 },
    )
    .unwrap();
    // A bound that only a lapse into something much slower exceeds, also on a busy machine without
    // optimisation.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
    for row in &frames[0].rows {
        let (p, interval) = (row.value.unwrap(), row.interval.unwrap());
        let half = 1.96 * (p * (1.0 - p) / row.nodes as f64).sqrt();
        let width = (interval.hi - interval.lo) / (2.0 * half);
        assert!((width - 1.0).abs() < 0.15, "{row:?}: {width}");
        assert!(interval.lo < p && p < interval.hi);
    }
    assert!(
        frames[1]
            .rows
            .iter()
            .all(|row| row.interval.is_some_and(|i| i.lo < i.hi && i.hi - i.lo < 0.1))
    );
    let interval = frames[0].difference_interval.unwrap();
    assert!(interval.lo >= 0.0 && interval.lo < interval.hi && interval.hi < 0.15, "{interval:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Exactly the numbers of the evaluation, in both class averages.
    #[test]
    fn frames_agree_with_the_evaluation(nodes in nodes()) {
        let data = Data::of(&nodes);
        let answer = data.evaluation();
        for (metric, key) in [("accuracy", "accuracy"), ("macro_f1:all", "macro_f1"), ("macro_f1", "macro_f1")] {
            let wanted = |group: Group| {
                let readings = answer.groups.readings(group, key);
                if metric == "macro_f1" { readings.present } else { readings.pooled }
            };
            let values = |grouping: &str| {
                data.frame(grouping, metric, 0).rows.iter().map(|row| row.value).collect::<Vec<_>>()
            };
            prop_assert_eq!(data.frame("class", metric, 0).overall, wanted(Group::All));
            prop_assert_eq!(values("minority"), [wanted(Group::Minority), wanted(Group::Majority)]);
            prop_assert_eq!(values("heterophilous"), [wanted(Group::Heterophilous), wanted(Group::Homophilous)]);
            prop_assert_eq!(values("minority*heterophilous")[0], wanted(Group::HeteMin));
            let clients: Vec<_> = answer.clients.iter().map(|client| {
                let readings = if key == "accuracy" { client.scores.accuracy } else { client.scores.overall_f1 };
                if metric == "macro_f1" { readings.present } else { readings.pooled }
            }).collect();
            prop_assert_eq!(values("client"), clients);
        }
    }

    /// Every evaluated node is in exactly one group, and accuracy is the mean over groups weighted
    /// by nodes.
    #[test]
    fn groups_partition_the_nodes(nodes in nodes()) {
        let data = Data::of(&nodes);
        for grouping in ["minority", "degree:3", "class", "minority*heterophilous*degree:2", "client*class"] {
            let frame = data.frame(grouping, "accuracy", 0);
            prop_assert_eq!(frame.rows.iter().map(|row| row.nodes).sum::<usize>(), frame.nodes);
            let weighted: f64 = frame.rows.iter().map(|row| row.nodes as f64 * row.value.unwrap_or(0.0)).sum();
            prop_assert!((weighted - frame.nodes as f64 * frame.overall.unwrap_or(0.0)).abs() < 1e-9);
            for row in &frame.rows {
                prop_assert_eq!(row.value.is_none(), row.nodes == 0);
                prop_assert!(row.value.is_none_or(|x| x >= frame.worst.as_ref().unwrap().value));
            }
        }
        // A node without a region is in a group, too.
        let frame = data.frame("column:region*minority", "error", 0);
        prop_assert_eq!(frame.rows.iter().map(|row| row.nodes).sum::<usize>(), frame.nodes);
    }

    /// Not even the last bit depends on the order of nodes, intervals included.
    #[test]
    fn the_order_of_nodes_does_not_matter(
        (before, after) in nodes().prop_flat_map(|nodes| (Just(nodes.clone()), Just(nodes).prop_shuffle()))
    ) {
        for (grouping, metric) in [("minority*degree:2", "macro_f1"), ("client", "accuracy"), ("column:region", "error")] {
            let (before, after) = (Data::of(&before), Data::of(&after));
            prop_assert_eq!(before.frame(grouping, metric, 30), after.frame(grouping, metric, 30));
        }
    }

    /// Measuring several metrics at once gives each as alone, and what all nodes give does not
    /// depend on the grouping.
    #[test]
    fn metrics_share_draws_and_do_not_change_each_other(nodes in nodes()) {
        let data = Data::of(&nodes);
        let metrics = ["accuracy", "macro_f1", "recall:2"].map(|name| FrameMetric::parse(name).unwrap());
        let grouping = Grouping::parse("minority").unwrap();
        let together = MetricFrame::measure(&data.facts(), &grouping, &metrics, FrameOptions { draws: 25, min_group: 1 }).unwrap();
        for (metric, frame) in metrics.iter().zip(together) {
            let alone = data.frame("minority", &metric.to_string(), 25);
            prop_assert_eq!(&frame, &alone);
            prop_assert_eq!(data.frame("client", &metric.to_string(), 25).overall_interval, alone.overall_interval);
            for row in &frame.rows {
                prop_assert!(row.interval.is_none_or(|i| 0.0 <= i.lo && i.lo <= i.hi && i.hi <= 1.0));
                prop_assert!(row.interval.is_none_or(|i| i.lo < i.hi));
                prop_assert!(metric.to_string() == "macro_f1" || row.interval.is_some() == row.value.is_some());
            }
        }
    }
}
