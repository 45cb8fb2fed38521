//! During real runs on a small generated graph.

use boostfgl_fairness::diagnostics::gsd::Weighting;
use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind, Diagnostician, Settings, Subject};
use boostfgl_fed::boost::{Boost, BoostConfig};
use boostfgl_fed::config::{Model, Optimizer, Protocol};
use boostfgl_fed::methods::{self, MethodConfigs};
use boostfgl_fed::{Federation, LocalData, Outcome, Setup};
use boostfgl_graph::generator::{FeatureSpec, Spec, generate, preset};
use boostfgl_graph::groups::{minority_classes, node_homophily};
use boostfgl_graph::{Graph, Role, Split};
use boostfgl_partition::{Louvain, Partition, Ratios, SplitRule};

const Q: f64 = 0.3;
const ROUNDS: usize = 3;

fn graph() -> Graph {
    let features = FeatureSpec::Sparse { columns: 60, per_node: 8, signal: 0.6 };
    let demo = preset("demo").unwrap().spec;
    let sizes = Spec {
        nodes: 300,
        edges: 700,
        classes: 4,
        communities: 3,
        pocket_size: 12,
        max_degree: 30,
        ..demo
    };
    generate("small", &Spec { features, ..sizes }, 1, &mut |_, _| {}).unwrap()
}

fn partition(graph: &Graph) -> Partition {
    let split = SplitRule::Ratios(Ratios::new(0.6, 0.2, 0.2).unwrap());
    Partition::draw(graph, &Louvain::default(), 4, &split, 0).unwrap()
}

fn setup(backbone: &str, boosts: &[Boost]) -> Setup {
    Setup {
        seed: 5,
        method: methods::find("fedavg").unwrap(),
        boosts: boosts.to_vec(),
        protocol: Protocol { rounds: ROUNDS, ..Protocol::default() },
        model: Model { hidden: 16, backbone: backbone.into(), ..Model::default() },
        optimizer: Optimizer::default(),
        boost: BoostConfig {
            model: boostfgl_fed::boost::model::Config { minority_ratio: Q, ..Default::default() },
            ..BoostConfig::default()
        },
        methods: MethodConfigs::default(),
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
        transport: Default::default(),
        loss: Default::default(),
        evaluation: String::new(),
        probabilities: false,
    }
}

fn watched(
    graph: &Graph,
    partition: &Partition,
    setup: Setup,
    effort: Option<f64>,
) -> (Outcome<f32>, Diagnosis) {
    let roles = partition.split().roles();
    let training_counts =
        graph.labels().counts((0..graph.len()).filter(|&v| roles[v] == Role::Train));
    let classes = minority_classes(&training_counts, Q);
    let minority: Vec<Option<bool>> = graph.labels().iter().map(|y| classes[y? as usize]).collect();
    let heterophilous: Vec<bool> =
        node_homophily(graph).iter().map(|phi| phi.is_some_and(|phi| phi <= 0.5)).collect();
    let subject = Subject {
        labels: graph.labels(),
        training_counts: &training_counts,
        minority_classes: &classes,
        minority: &minority,
        heterophilous: &heterophilous,
        roles,
        seed: setup.seed,
    };
    let settings = Settings { effort, ..Settings::default() };
    let mut diagnostician =
        Diagnostician::new(&[DiagnosticKind::Gsd, DiagnosticKind::Epr], subject, settings);
    let data: Vec<LocalData<f32>> =
        partition.client_graphs(graph).iter().map(LocalData::new).collect();
    let outcome = Federation::new(setup, data).unwrap().run(&mut [&mut diagnostician]).unwrap();
    (outcome, diagnostician.conclude())
}

#[test]
fn exact_findings_count_every_node_and_message() {
    let graph = graph();
    let partition = partition(&graph);
    for boosts in [&[][..], &[Boost::Node, Boost::Topology]] {
        let (_, diagnosis) = watched(&graph, &partition, setup("gcn", boosts), None);
        let gsd = diagnosis.gsd.unwrap();
        assert_eq!(gsd.rounds.iter().map(|round| round.round).collect::<Vec<_>>(), [1, 2, 3]);
        for round in &gsd.rounds {
            let nodes = |class: usize| {
                round.clients.iter().map(|client| client[class].nodes).sum::<usize>()
            };
            assert_eq!((0..4).map(nodes).collect::<Vec<_>>(), gsd.training_counts);
            assert!(round.clients.iter().flatten().all(|mass| mass.measured == mass.nodes));
        }
        let (plain, boosted) = (
            gsd.last(&gsd.minority_at(Q), Weighting::Plain).unwrap(),
            gsd.last(&gsd.minority_at(Q), Weighting::Boosted).unwrap(),
        );
        assert_eq!((plain.error, boosted.error), (0.0, 0.0));
        assert_eq!(plain == boosted, boosts.is_empty(), "α is 1 exactly without node boosting");
        let epr = diagnosis.epr.unwrap();
        let arcs: usize =
            partition.client_graphs(&graph).iter().map(|c| c.graph.adjacency().arcs()).sum();
        assert_eq!((epr.round, epr.groups[0].edges, epr.groups[0].measured), (ROUNDS, arcs, arcs));
        assert_eq!(
            epr.clients.iter().map(|client| client.negative).sum::<usize>(),
            epr.groups[0].negative
        );
    }
}

#[test]
fn little_effort_gives_samples_of_the_same_nodes() {
    let graph = graph();
    let partition = partition(&graph);
    let exact = watched(&graph, &partition, setup("gcn", &[]), None).1;
    let enough = watched(&graph, &partition, setup("gcn", &[]), Some(1e3)).1;
    assert_eq!((&exact.gsd, &exact.epr), (&enough.gsd, &enough.epr));
    let exact = exact.gsd.unwrap();
    let some = watched(&graph, &partition, setup("gcn", &[]), Some(1e-3)).1;
    let again = watched(&graph, &partition, setup("gcn", &[]), Some(1e-3)).1;
    assert_eq!((&some.gsd, &some.epr), (&again.gsd, &again.epr));
    let gsd = some.gsd.unwrap();
    for (round, whole) in gsd.rounds.iter().zip(&exact.rounds) {
        for (mass, all) in round.clients.iter().flatten().zip(whole.clients.iter().flatten()) {
            assert_eq!((mass.nodes, mass.measured), (all.nodes, all.nodes.min(8)));
            assert!(mass.sum <= all.sum * (1.0 + 1e-12));
        }
    }
    let (estimate, truth) = (
        gsd.last(&gsd.minority_at(Q), Weighting::Plain).unwrap(),
        exact.last(&exact.minority_at(Q), Weighting::Plain).unwrap(),
    );
    assert!(estimate.error > 0.0);
    assert!(
        (estimate.per_node - truth.per_node).abs() < 4.0 * estimate.error,
        "{estimate:?}, {truth:?}"
    );
}

#[test]
fn other_backbones_are_sampled_and_one_without_messages_has_no_edges() {
    let graph = graph();
    let partition = partition(&graph);
    let epr = watched(&graph, &partition, setup("sage", &[]), Some(1e-3)).1.epr.unwrap();
    let all = &epr.groups[0];
    let expected: Vec<usize> = partition
        .client_graphs(&graph)
        .iter()
        .map(|c| c.graph.adjacency().arcs().min(300))
        .collect();
    assert_eq!(epr.clients.iter().map(|client| client.measured).collect::<Vec<_>>(), expected);
    assert_eq!(all.measured, expected.iter().sum::<usize>());
    assert_eq!(all.sampling_error == Some(0.0), all.measured == all.edges);
    let epr = watched(&graph, &partition, setup("mlp", &[]), Some(1.0)).1.epr.unwrap();
    assert!(epr.groups.iter().all(|group| group.edges == 0 && group.negative_share.is_none()));
}

#[test]
fn a_run_has_the_same_digits_when_watched() {
    let graph = graph();
    let partition = partition(&graph);
    let setup = setup("gcn", &[Boost::Node, Boost::Topology, Boost::Model]);
    let data: Vec<LocalData<f32>> =
        partition.client_graphs(&graph).iter().map(LocalData::new).collect();
    let alone = Federation::new(setup.clone(), data).unwrap().run(&mut []).unwrap();
    let (watched, _) = watched(&graph, &partition, setup, Some(1.0));
    assert!(alone.models == watched.models && alone.predictions == watched.predictions);
}

/// One client has no training node, one only nodes of one class, one nothing but isolated nodes.
#[test]
fn clients_without_training_minority_or_edges() {
    let graph = graph();
    let whole = partition(&graph);
    let lonely: Vec<usize> = (0..graph.len()).step_by(37).collect();
    let client = |v: usize| if lonely.contains(&v) { 3 } else { (v % 3) as u32 };
    let of: Vec<u32> = (0..graph.len()).map(client).collect();
    let role = |v: usize| match (of[v], whole.split().role(v), graph.labels().get(v)) {
        (0, Role::Train, _) => Role::Test,
        (1, Role::Train, Some(y)) if y != 0 => Role::Test,
        (_, role, _) => role,
    };
    let partition =
        Partition::new(4, of.clone(), Split::new((0..graph.len()).map(role).collect())).unwrap();
    for backbone in ["gcn", "sage"] {
        for effort in [None, Some(0.1)] {
            let (_, diagnosis) = watched(&graph, &partition, setup(backbone, &[]), effort);
            let (gsd, epr) = (diagnosis.gsd.unwrap(), diagnosis.epr.unwrap());
            assert!(gsd.rounds[0].clients[0].iter().all(|mass| mass.nodes == 0 && mass.sum == 0.0));
            assert_eq!(gsd.of_client(0, 0, &gsd.minority_at(Q), Weighting::Plain), None);
            assert_eq!(gsd.of_client(0, 1, &gsd.minority_at(Q), Weighting::Plain), None);
            assert!(gsd.pooled(0, &gsd.minority_at(Q), Weighting::Plain).is_some());
            assert!(epr.groups[0].negative_share.is_some());
        }
    }
}
