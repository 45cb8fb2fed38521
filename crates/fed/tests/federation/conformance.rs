//! Properties of every method of the registry, with every boost. A method that is added to the
//! registry is tested here without a further line. Most of them are those of the public suite.

use crate::every::{for_all, for_all_methods};
use crate::small::*;
use boostfgl_conformance::properties::{PROPERTIES, backbones, boosts, independence};
use boostfgl_conformance::{Suite, small};
use boostfgl_fed::boost::topology::{self, EdgeScore};
use boostfgl_fed::boost::{Boost, TopologyBoost};
use boostfgl_fed::methods::METHODS;
use boostfgl_fed::{Registry, Setup};
use boostfgl_graph::generator::{FeatureSpec, Spec, generate};
use boostfgl_graph::{Adjacency, Role};
use boostfgl_nn::backbones::BACKBONES;
use boostfgl_nn::{Propagation, Real};
use boostfgl_partition::{Louvain, Partition, SplitRule};

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for_all_methods(independence::any_number_of_threads);
}

/// Nothing but training labels reaches training, difficulties, edge scores, gaps or predictions.
#[test]
fn evaluation_labels_never_reach_training() {
    for_all_methods(independence::evaluation_labels);
}

#[test]
fn observers_do_not_change_results() {
    for_all_methods(independence::observers);
}

#[test]
fn boosted_propagation_in_evaluation_does_not_change_training() {
    for_all_methods(independence::boosted_evaluation);
}

#[test]
fn every_backbone_runs_or_is_refused_with_a_reason() {
    for_all_methods(backbones::runs_or_is_refused);
}

#[test]
fn refused_boosts_are_named_with_the_reason() {
    let mut count = 0;
    for_all_methods(|suite| count += boosts::refused(suite).len());
    assert!(count >= 2, "isolated and central refuse model boosting");
}

/// Where FairFGL has two participants, each may be a cluster of its own, and trust within a cluster
/// of one has no effect.
fn clusters_of_one(setup: &Setup) -> bool {
    setup.method.name == "fairfgl"
        && setup.protocol.participation < 1.0
        && setup.boosts == [Boost::Model]
}

/// Proposition 3.4 in its exact form: boosts of strength 0 leave the base method, bit for bit.
#[test]
fn strength_zero_is_the_base_method() {
    let registry = Registry::builtin();
    for method in METHODS {
        let suite = Suite::new(&registry, method).without_effect_under(clusters_of_one);
        boosts::strength_zero(&suite);
    }
}

/// The workspace's own tests check each property by a name of its own: none may be missing.
#[test]
fn the_suite_has_the_properties_that_are_checked_here() {
    let names: Vec<&str> = PROPERTIES.iter().map(|property| property.name).collect();
    let mut different = names.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!((names.len(), different.len()), (25, 25), "{names:?}");
}

/// A client of more than 4096 nodes: dense and sparse products are cut into pieces for several
/// threads, and so are sums over rows, which the small graph is too small for.
#[test]
fn large_clients_give_the_same_bits_on_any_number_of_threads() {
    let features = FeatureSpec::Dense { columns: 16, signal: 0.5 };
    let small = Spec { features, ..small::spec() };
    let spec = Spec {
        nodes: 4_600,
        edges: 22_000,
        communities: 8,
        pocket_size: 40,
        max_degree: 100,
        ..small
    };
    let graph = generate("large", &spec, 1, &mut |_, _| {}).unwrap();
    let drawn = Partition::draw(&graph, &Louvain::default(), 2, &SplitRule::default(), 0).unwrap();
    let assignment = (0..graph.len()).map(|v| u32::from(v.is_multiple_of(20))).collect();
    let partition = Partition::new(2, assignment, drawn.split().clone()).unwrap();
    let first = &partition.client_graphs(&graph)[0].graph;
    // Above the sizes from which products and sums over rows are divided over threads.
    assert!(first.adjacency().arcs() * 64 > 1 << 21 && first.len() > 4_096);
    for backbone in BACKBONES {
        let boosts: Vec<Boost> = Boost::ALL
            .into_iter()
            .filter(|boost| backbone.name != "mlp" || *boost != Boost::Topology)
            .collect();
        let mut setup = setup("fedavg", &boosts);
        (setup.model.backbone, setup.model.hidden, setup.protocol.rounds) =
            (backbone.name.into(), 64, 1);
        let run_on_threads = |threads| {
            with_threads(threads, || run::<f32>(&setup, data("fedavg", &graph, &partition)))
        };
        let one = run_on_threads(1);
        [2, 4, 8].iter().for_each(|&n| {
            assert_same(&one, &run_on_threads(n), &format!("{}, {n} threads", backbone.name));
        });
    }
}

/// The operator of strength 0 equals the plain one for nodes of every degree up to 300. In floating
/// point 1/d · d is not always 1.
#[test]
fn strength_zero_is_the_plain_operator_for_any_degree() {
    fn check<T: Real>() {
        for leaves in 1..300u32 {
            let edges: Vec<(u32, u32)> = (1..=leaves).map(|u| (u, 0)).collect();
            let (star, _) =
                Adjacency::from_edges(leaves as usize + 1, &edges, None, false).unwrap();
            let numbers =
                |count: usize| (0..count).map(|i| T::of(0.37 * (i % 7) as f64)).collect::<Vec<T>>();
            let plain = Propagation::<T>::gcn(&star);
            for edge_score in [EdgeScore::Criticality, EdgeScore::Reliability] {
                let off =
                    topology::Config { lambda_e: 0.0, edge_score, ..topology::Config::default() };
                let (h, d) = (numbers(star.arcs()), numbers(star.len()));
                assert_eq!(
                    TopologyBoost::new(&off).propagation(&star, &plain, &h, &d),
                    plain,
                    "degree {leaves}"
                );
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

/// The sizes that decide how large a message is.
struct Wire {
    /// Number of parameters P.
    p: u64,
    /// Number of classes C.
    classes: u64,
    /// Hidden width h.
    hidden: u64,
    /// Number of features d.
    features: u64,
    /// Classes of the client that are not rare among its training nodes.
    majority: u64,
    /// Whether update norms are sent.
    trusted: bool,
    /// Rounds done before.
    done: usize,
    /// Rounds that were asked for; methods may add more.
    rounds: usize,
}

/// What a client sends or receives in a round: elements of tensors and their places, of 4 bytes
/// each, and single numbers, of 8.
#[derive(Clone, Copy)]
struct Sent {
    elements: u64,
    numbers: u64,
}

impl Sent {
    fn bytes(self) -> u64 {
        4 * self.elements + 8 * self.numbers
    }
}

/// What a client sends and receives in a round, without model boosting.
fn messages(method: &str, wire: &Wire) -> [Sent; 2] {
    let Wire { p, classes, hidden, features, majority, trusted, done, rounds } = *wire;
    let sent = |elements, numbers| Sent { elements, numbers };
    let down = sent(p, 0);
    match method {
        "isolated" | "central" => [sent(0, 0); 2],
        "fedavg" | "boostfgl" | "fedprox" | "moon" => [sent(p, 1), down],
        "scaffold" => [sent(2 * p, 0); 2],
        "fedsage-plus" => [down; 2],
        // Reliabilities go up once.
        "fedtad" => [sent(p, if done == 0 { classes } else { 0 }), down],
        // The first personal round still receives the last global model.
        "adafgl" if done > rounds => [sent(0, 0); 2],
        "adafgl" if done == rounds => [sent(0, 0), down],
        "adafgl" => [sent(p, 1), down],
        // Moments of both kinds up to order 10, and the confidence.
        "fedgta" => [sent(p, 2 * 10 * classes + 1), down],
        "qffl" | "afl" | "fedfv" => [sent(p, 1), down],
        "fairfed" => [sent(p, 5), sent(p, 2)],
        "fedpub" => [sent(p, hidden), down],
        // Prototypes and counts up, prototypes and which of them exist down; there are none before
        // the first round.
        "fedproto" => {
            let prototypes = sent(classes * hidden, classes);
            [prototypes, if done == 0 { sent(0, 0) } else { prototypes }]
        }
        "fedspray" => {
            // Encoder, two heads and class proxies, all of width 64; class counts once.
            let shared = (features + 1) * 64 + 2 * (64 + 1) * classes + classes * 64;
            [sent(shared, if done == 0 { classes } else { 0 }), sent(shared, 0)]
        }
        "fairfgl" => {
            // Places and values of 30 %, size and norm; a gradient per majority class. The numbers
            // of those classes are sent once.
            let sparse = 2 * (3 * p).div_ceil(10) + majority * (hidden + 1);
            let numbers = 1 + u64::from(trusted) + if done == 0 { majority } else { 0 };
            let experts = if done == 0 { 0 } else { classes * (hidden + 1) };
            [sent(sparse, numbers), sent(p + experts, 0)]
        }
        other => panic!("add the numbers that {other} sends and receives to this table"),
    }
}

/// The number of majority classes: those with training nodes, without the rarest ones that together
/// hold less than a share q.
fn majority_classes(counts: &[usize], q: f64) -> u64 {
    let mut present: Vec<usize> = counts.iter().copied().filter(|&n| n > 0).collect();
    present.sort_unstable();
    let limit = q * counts.iter().sum::<usize>() as f64;
    let sums = present.iter().scan(0, |sum, n| {
        *sum += n;
        Some(*sum)
    });
    sums.filter(|&sum| sum as f64 >= limit).count() as u64
}

#[test]
fn messages_have_the_size_that_the_method_states() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let clients = partition.client_graphs(&graph);
    let columns = graph.features().columns();
    let p = (columns * HIDDEN + HIDDEN + HIDDEN * CLASSES + CLASSES) as u64;
    for_all(|method, setup, what| {
        let (outcome, rounds) = watch::<f32>(&setup, data(method.name, &graph, &partition));
        let mut total = (0, 0);
        for (done, round) in rounds.iter().enumerate() {
            for client in &round.clients {
                let wire = Wire {
                    p,
                    classes: CLASSES as u64,
                    hidden: HIDDEN as u64,
                    features: columns as u64,
                    done,
                    rounds: setup.protocol.rounds,
                    majority: majority_classes(
                        &clients[client.client].class_counts(Role::Train),
                        setup.methods.fairfgl.minority_ratio,
                    ),
                    trusted: setup.boosts.contains(&Boost::Model),
                };
                let [mut up, down] = messages(method.name, &wire);
                // Under model boosting the gap and the minority's difficulty go up as well.
                if wire.trusted {
                    up.numbers += 2;
                }
                let (up, down) = (up.bytes(), down.bytes());
                let found = (client.bytes_up, client.bytes_down);
                assert_eq!(found, (up, down), "{what}, round {}", done + 1);
                total = (total.0 + up, total.1 + down);
            }
        }
        if !TALK_BEFORE.contains(&method.name) {
            assert_eq!((outcome.bytes_up, outcome.bytes_down), total, "{what}");
        }
    });
}

/// Methods whose clients exchange messages before the first round. Their own tests count those
/// messages.
const TALK_BEFORE: [&str; 1] = ["fedsage-plus"];

/// Methods under which no single set of weights combines the clients' models.
const NOT_COMBINED: [&str; 3] = ["isolated", "central", "fedproto"];

/// Methods whose server takes a step along the updates instead of a mean of models.
pub(crate) const STEPS: [&str; 2] = ["qffl", "fedfv"];

#[test]
fn weights_are_a_distribution_in_every_round() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for_all(|method, mut setup, what| {
        setup.protocol.participation = 0.6;
        for times_size in [true, false] {
            setup.boost.model.trust_times_size = times_size;
            let (_, rounds) = watch::<f32>(&setup, data(method.name, &graph, &partition));
            for (done, round) in rounds.iter().enumerate() {
                let weights: Vec<f64> =
                    round.clients.iter().filter_map(|client| client.weight).collect();
                assert!(weights.is_empty() || weights.len() == round.clients.len(), "{what}");
                assert!(weights.iter().all(|w| *w >= 0.0), "{what}: {weights:?}");
                // In rounds that a method adds there may be nothing to combine.
                let further = done >= setup.protocol.rounds;
                assert_eq!(
                    weights.is_empty(),
                    NOT_COMBINED.contains(&method.name) || further,
                    "{what}"
                );
                let sum = weights.iter().sum::<f64>();
                assert!(
                    weights.is_empty() || (sum - 1.0).abs() < 1e-12 || STEPS.contains(&method.name),
                    "{what}: {sum}"
                );
            }
        }
    });
}
