//! What every method of the registry must do, with every boost: a method that is added there is tested here.

use crate::small::*;
use boostfgl_fed::boost::topology::{self, EdgeScore, EvalPropagation, Rule};
use boostfgl_fed::boost::{Boost, TopologyBoost};
use boostfgl_fed::config::ReportedRound;
use boostfgl_fed::methods::{self, Layout, METHODS, MethodInfo};
use boostfgl_fed::{Error, Federation, LocalData, Outcome, Setup};
use boostfgl_graph::generator::FeatureSpec;
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role, Split, Stream};
use boostfgl_nn::backbones::{Architecture, BACKBONES, Backbone, Gcn, logits};
use boostfgl_nn::{Inputs, Params, Pool, Propagation, Real, View};
use boostfgl_partition::{ClientGraph, Partition};

/// Fewer than hidden units, so that features are propagated before the first product.
const NARROW: FeatureSpec = FeatureSpec::Dense { columns: 12, signal: 0.5 };

/// None, each alone, and all.
fn boost_sets() -> Vec<Vec<Boost>> {
    let alone = Boost::ALL.into_iter().map(|boost| vec![boost]);
    std::iter::once(Vec::new()).chain(alone).chain([Boost::ALL.to_vec()]).collect()
}

/// Whether the method takes all these boosts. What it refuses is held by `refused_boosts_are_named_with_the_reason`.
fn accepts(method: &MethodInfo, boosts: &[Boost]) -> bool {
    boosts.iter().all(|&boost| (method.refuses)(boost).is_none())
}

/// Calls `check` for every method with every set of boosts that it takes.
fn for_all(mut check: impl FnMut(&'static MethodInfo, Setup, &str)) {
    for method in METHODS {
        for boosts in boost_sets().into_iter().filter(|boosts| accepts(method, boosts)) {
            check(method, setup(method.name, &boosts), &format!("{} with {boosts:?}", method.name));
        }
    }
}

fn with_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for_all(|method, setup, what| {
        let with = |threads| with_threads(threads, || run::<f32>(&setup, data(method.name, &graph, &partition)));
        let one = with(1);
        for threads in [2, 3, 8] {
            assert_same(&one, &with(threads), &format!("{what}, {threads} threads"));
        }
    });
}

/// λn = λe = λs = γ = 0.
fn without_strength(setup: &Setup) -> Setup {
    let mut setup = setup.clone();
    setup.boost.node.lambda_n = 0.0;
    setup.boost.topology.lambda_e = 0.0;
    (setup.boost.model.lambda_s, setup.boost.model.gamma) = (0.0, 0.0);
    setup
}

/// Proposition 3.4 in its exact form: boosts of strength 0 leave the base method, bit for bit.
#[test]
fn strength_zero_is_the_base_method() {
    for features in [WORDS, NARROW] {
        let graph = graph(features);
        let partition = partition(&graph);
        for (participation, epochs) in [(1.0, 1), (0.5, 3)] {
            for_all(|method, mut boosted, what| {
                (boosted.protocol.participation, boosted.protocol.epochs) = (participation, epochs);
                let base =
                    run::<f32>(&Setup { boosts: Vec::new(), ..boosted.clone() }, data(method.name, &graph, &partition));
                let of = |setup: &Setup| run::<f32>(setup, data(method.name, &graph, &partition));
                assert_same(
                    &base,
                    &of(&without_strength(&boosted)),
                    &format!("{what}, {participation}, {epochs} epochs"),
                );
                // The comparison would be empty if the boosts did nothing at their usual strength either. (Where FairFGL has
                // two participants, each may be a cluster of its own, and trust within it says nothing.)
                let parted = method.name == "fairfgl" && participation < 1.0 && boosted.boosts == [Boost::Model];
                if !boosted.boosts.is_empty() && !parted {
                    assert!(bits(&base.models) != bits(&of(&boosted).models), "{what} does nothing");
                }
            });
        }
    }
}

/// The operator of strength 0 for nodes of every degree up to 300: 1/d · d is not always 1 to a float.
#[test]
fn strength_zero_is_the_plain_operator_for_any_degree() {
    fn check<T: Real>() {
        for leaves in 1..300u32 {
            let edges: Vec<(u32, u32)> = (1..=leaves).map(|u| (u, 0)).collect();
            let (star, _) = Adjacency::from_edges(leaves as usize + 1, &edges, None, false).unwrap();
            let numbers = |count: usize| (0..count).map(|i| T::of(0.37 * (i % 7) as f64)).collect::<Vec<T>>();
            let plain = Propagation::<T>::gcn(&star);
            for edge_score in [EdgeScore::Criticality, EdgeScore::Reliability] {
                let off = topology::Config { lambda_e: 0.0, edge_score, ..topology::Config::default() };
                let (h, d) = (numbers(star.arcs()), numbers(star.len()));
                assert_eq!(TopologyBoost::new(&off).propagation(&star, &plain, &h, &d), plain, "degree {leaves}");
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

/// The same graph with the labels of all nodes of `role` in another order.
fn shuffled(graph: &Graph, split: &Split, role: Role) -> Graph {
    let nodes: Vec<usize> = split.nodes(role).collect();
    let mut order = nodes.clone();
    Stream::new(9, "labels", &[]).shuffle(&mut order);
    let mut labels: Vec<Option<u32>> = graph.labels().iter().collect();
    for (&to, &from) in nodes.iter().zip(&order) {
        labels[to] = graph.labels().get(from);
    }
    let changed = nodes.iter().filter(|&&v| labels[v] != graph.labels().get(v)).count();
    assert!(changed > nodes.len() / 3, "{changed} labels of {} moved", nodes.len());
    let labels = Labels::new(labels, graph.labels().names().to_vec()).unwrap();
    Graph::new("shuffled", graph.adjacency().clone(), graph.features().clone(), labels).unwrap()
}

/// Nothing but training labels reaches training, difficulties, edge scores, gaps or predictions.
#[test]
fn labels_for_judging_never_reach_training() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let (test, val) = (shuffled(&graph, partition.split(), Role::Test), shuffled(&graph, partition.split(), Role::Val));
    for_all(|method, setup, what| {
        let on = |graph: &Graph, setup: &Setup| watch::<f32>(setup, data(method.name, graph, &partition));
        let (base, rounds) = on(&graph, &setup);
        assert_same(&base, &on(&test, &setup).0, &format!("{what}, test labels"));
        let (other, judged) = on(&val, &setup);
        assert_same(&base, &other, &format!("{what}, validation labels"));
        // They do reach what they are for.
        let accuracy = |rounds: &[Round]| rounds.iter().map(|r| r.val_accuracy.unwrap()).collect::<Vec<_>>();
        assert_ne!(accuracy(&rounds), accuracy(&judged), "{what}");
        let mut best = setup.clone();
        best.protocol.report = ReportedRound::BestVal;
        assert_same(&on(&graph, &best).0, &on(&test, &best).0, &format!("{what}, test labels, best round"));
    });
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
    /// Whether the server has to know how far a model moved.
    trusted: bool,
    /// Rounds done before.
    done: usize,
    /// Rounds that were asked for; methods may add more.
    rounds: usize,
}

/// Numbers a client sends and receives in a round, beside what model boosting adds.
fn messages(method: &str, wire: &Wire) -> (u64, u64) {
    let Wire { p, classes, hidden, features, majority, trusted, done, rounds } = *wire;
    match method {
        "isolated" | "central" => (0, 0),
        "fedavg" | "boostfgl" | "fedprox" | "moon" => (p + 1, p),
        "scaffold" => (2 * p, 2 * p),
        "fedsage-plus" => (p, p),
        // Reliabilities go up once.
        "fedtad" => (if done == 0 { p + classes } else { p }, p),
        // The first personal round still receives the last global model.
        "adafgl" if done > rounds => (0, 0),
        "adafgl" if done == rounds => (0, p),
        "adafgl" => (p + 1, p),
        // Moments of both kinds up to order 10, and the confidence.
        "fedgta" => (p + 2 * 10 * classes + 1, p),
        "qffl" | "afl" | "fedfv" => (p + 1, p),
        "fairfed" => (p + 5, p + 2),
        "fedpub" => (p + hidden, p),
        // Prototypes and counts; nothing is known before the first round.
        "fedproto" => (classes * hidden + classes, if done == 0 { 0 } else { classes * hidden }),
        "fedspray" => {
            // Encoder, two heads and class proxies, all of width 64; class counts once.
            let shared = (features + 1) * 64 + 2 * (64 + 1) * classes + classes * 64;
            (shared + if done == 0 { classes } else { 0 }, shared)
        }
        "fairfgl" => {
            // Places and values of 30 %, size and norm; a gradient per majority class, whose numbers are said once.
            let sparse = 2 * (3 * p).div_ceil(10) + 1 + u64::from(trusted);
            let experts = majority * (hidden + 1) + if done == 0 { majority } else { 0 };
            (sparse + experts, p + if done == 0 { 0 } else { classes * (hidden + 1) })
        }
        other => panic!("say here what {other} sends and receives"),
    }
}

/// How many classes are left when the rarest that hold less than a share q together, and absent ones, are taken away.
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
                    majority: majority_classes(&clients[client.client].class_counts(Role::Train), setup.minority_ratio),
                    trusted: setup.boosts.contains(&Boost::Model),
                };
                let (mut up, down) = messages(method.name, &wire);
                // Under model boosting the gap and the minority's difficulty go up as well.
                if up > 0 && wire.trusted {
                    up += 2;
                }
                assert_eq!((client.bytes_up, client.bytes_down), (4 * up, 4 * down), "{what}, round {}", done + 1);
                total = (total.0 + 4 * up, total.1 + 4 * down);
            }
        }
        if !TALK_BEFORE.contains(&method.name) {
            assert_eq!((outcome.bytes_up, outcome.bytes_down), total, "{what}");
        }
    });
}

/// Methods whose clients talk to each other before the first round; their own tests count those messages.
const TALK_BEFORE: [&str; 1] = ["fedsage-plus"];

#[test]
fn refused_boosts_are_named_with_the_reason() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut refused = 0;
    for method in METHODS {
        for boost in Boost::ALL {
            let made = Federation::<f32>::new(setup(method.name, &[boost]), data(method.name, &graph, &partition));
            match (method.refuses)(boost) {
                None => assert!(made.is_ok(), "{} with {boost:?}", method.name),
                Some(reason) => {
                    let message = made.err().unwrap().to_string();
                    let start = format!("{} cannot be combined with {} boosting: ", method.name, boost.name());
                    assert_eq!(message, format!("{start}{reason}"));
                    refused += 1;
                }
            }
        }
    }
    assert!(refused >= 2, "isolated and central refuse model boosting");
}

/// Every method on every backbone either runs or says why not.
#[test]
fn every_backbone_runs_or_is_refused_with_a_reason() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for method in METHODS {
        for backbone in BACKBONES {
            let mut setup = setup(method.name, &[]);
            setup.model.backbone = backbone.name.into();
            setup.protocol.rounds = 2;
            match Federation::<f32>::new(setup.clone(), data(method.name, &graph, &partition)) {
                Ok(federation) => {
                    let outcome = federation.run(&mut []).unwrap();
                    assert!(outcome.models.iter().all(Params::is_finite), "{} on {}", method.name, backbone.name);
                }
                Err(Error::Refused { what, reason, .. }) => {
                    assert_eq!(what, format!("the backbone {}", backbone.name));
                    assert!(reason.len() > 20, "{} on {}: {reason}", method.name, backbone.name);
                }
                Err(other) => panic!("{} on {}: {other}", method.name, backbone.name),
            }
        }
    }
}

/// Methods under which no single set of weights combines the clients' models.
const NOT_COMBINED: [&str; 3] = ["isolated", "central", "fedproto"];

/// Methods whose server takes a step along the updates instead of a mean of models.
const STEPS: [&str; 2] = ["qffl", "fedfv"];

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
                let weights: Vec<f64> = round.clients.iter().filter_map(|client| client.weight).collect();
                assert!(weights.is_empty() || weights.len() == round.clients.len(), "{what}");
                assert!(weights.iter().all(|w| *w >= 0.0), "{what}: {weights:?}");
                // In rounds that a method adds there may be nothing to combine.
                let further = done >= setup.protocol.rounds;
                assert_eq!(weights.is_empty(), NOT_COMBINED.contains(&method.name) || further, "{what}");
                let sum = weights.iter().sum::<f64>();
                assert!(
                    weights.is_empty() || (sum - 1.0).abs() < 1e-12 || STEPS.contains(&method.name),
                    "{what}: {sum}"
                );
            }
        }
    });
}

/// Looking, and looking more often, changes nothing, neither for clients that train in every round nor for those that
/// are judged by a model, sit a round out and train from another.
#[test]
fn observers_cannot_change_a_digit() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for participation in [1.0, 0.5] {
        for_all(|method, mut setup, what| {
            (setup.protocol.participation, setup.protocol.rounds) = (participation, 6);
            let data = || data::<f32>(method.name, &graph, &partition);
            let alone = run(&setup, data());
            let (watched, rounds) = watch(&setup, data());
            assert_same(&alone, &watched, &format!("{what}, watched"));
            assert!(rounds.iter().all(|round| round.predictions.is_some()));
            for eval_every in [7, 4] {
                let mut rarely = setup.clone();
                rarely.protocol.eval_every = eval_every;
                let (late, rounds) = watch(&rarely, data());
                assert_same(&alone, &late, &format!("{what}, participation {participation}, every {eval_every}"));
                for (round, seen) in (1..).zip(&rounds) {
                    let due = round % eval_every == 0 || round == rounds.len();
                    assert_eq!(seen.predictions.is_some(), due, "{what}, round {round}");
                }
                let last = rounds.last().and_then(|round| round.predictions.as_ref());
                assert_eq!(last, Some(&late.predictions), "{what}");
            }
        });
    }
}

/// Runs every method with every set of boosts, and topology boosting with every rule, and hands the results over.
fn survives(
    graph: &Graph,
    partition: &Partition,
    mut check: impl FnMut(&'static MethodInfo, &Setup, &Outcome<f32>, &[Round]),
) {
    let mut one = |method: &'static MethodInfo, setup: &Setup, what: &str| {
        let (outcome, rounds) = watch::<f32>(setup, data(method.name, graph, partition));
        assert_eq!(outcome.predictions.len(), graph.len(), "{what}");
        assert!(outcome.predictions.iter().all(|&class| (class as usize) < graph.classes()), "{what}");
        assert!(outcome.models.iter().all(Params::is_finite), "{what}");
        for client in rounds.iter().flat_map(|round| &round.clients) {
            assert!(client.loss.is_finite() && client.update_norm > 0.0, "{what}: {client:?}");
        }
        check(method, setup, &outcome, &rounds);
    };
    for_all(|method, setup, what| one(method, &setup, what));
    for rule in [Rule::Noself, Rule::Selfsm, Rule::Selfsep, Rule::Mulgcnself] {
        let method = methods::find("fedavg").unwrap();
        let mut setup = setup(method.name, &Boost::ALL);
        setup.boost.topology.propagation_rule = rule;
        one(method, &setup, &format!("{rule:?}"));
    }
}

/// The small federation with some nodes moved to the last client, alone there, and roles changed.
fn altered(graph: &Graph, last: &[usize], role: impl Fn(usize, Role) -> Role) -> Partition {
    let base = partition(graph);
    let keep = |v: usize| base.assignment()[v] % (CLIENTS as u32 - 1);
    let assignment = (0..graph.len()).map(|v| if last.contains(&v) { CLIENTS as u32 - 1 } else { keep(v) }).collect();
    let roles = (0..graph.len()).map(|v| role(v, base.split().role(v))).collect();
    Partition::new(CLIENTS, assignment, Split::new(roles)).unwrap()
}

#[test]
fn one_client() {
    let graph = graph(WORDS);
    let split = partition(&graph).split().clone();
    let alone = Partition::new(1, vec![0; graph.len()], split).unwrap();
    survives(&graph, &alone, |method, _, outcome, rounds| {
        assert_eq!(outcome.models.len(), 1);
        assert!(rounds.iter().all(|round| round.clients.len() == 1));
        let whole = |weight: f64| weight == 1.0 || STEPS.contains(&method.name);
        assert!(rounds.iter().all(|round| round.clients[0].weight.is_none_or(whole)));
    });
}

#[test]
fn a_client_with_a_single_node() {
    for features in [WORDS, NARROW] {
        let graph = graph(features);
        let alone = altered(&graph, &[17], |v, role| if v == 17 { Role::Train } else { role });
        let client = &alone.client_graphs(&graph)[CLIENTS - 1];
        assert_eq!((client.len(), client.training_nodes()), (1, vec![0]));
        survives(&graph, &alone, |method, _, _, rounds| {
            let clients = if method.layout == Layout::Whole { 1 } else { CLIENTS };
            assert!(rounds.iter().all(|round| round.clients.len() == clients));
        });
    }
}

/// Some nodes no two of which are neighbours.
fn independent(graph: &Graph) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    for v in 0..graph.len() {
        let free = graph.adjacency().neighbours(v).iter().all(|&u| !chosen.contains(&(u as usize)));
        if free && chosen.len() < 12 {
            chosen.push(v);
        }
    }
    chosen
}

#[test]
fn a_client_without_an_edge() {
    for features in [WORDS, NARROW] {
        let graph = graph(features);
        let nodes = independent(&graph);
        let half = |v: usize| nodes.iter().position(|&u| u == v).is_some_and(|i| i % 2 == 0);
        let bare = altered(&graph, &nodes, |v, role| if half(v) { Role::Train } else { role });
        let client = &bare.client_graphs(&graph)[CLIENTS - 1];
        assert_eq!((client.len(), client.graph.adjacency().edges()), (12, 0));
        survives(&graph, &bare, |_, _, _, _| {});
    }
}

/// What a model says of a client's nodes by plain propagation.
fn plain_predictions(client: &ClientGraph, model: &Params<f32>) -> Vec<u32> {
    let inputs = Inputs::new(&client.graph);
    let net = Gcn::new(Architecture { inputs: inputs.width(), hidden: HIDDEN, classes: CLASSES, layers: 2 });
    let out = logits(&net, model, &View::whole(&inputs, Backbone::<f32>::plan(&net)), &Pool::new());
    let best = |row: &[f32]| (0..row.len()).fold(0, |best, c| if row[c] > row[best] { c } else { best });
    (0..out.rows()).map(|v| best(out.row(v)) as u32).collect()
}

/// It is left out of every round, and everything is as if it were not there, except that it is judged as well.
#[test]
fn a_client_without_a_training_node() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let idle = CLIENTS - 1;
    let role = |v: usize| if base.client_of(v) == idle { Role::Test } else { base.split().role(v) };
    let split = Split::new((0..graph.len()).map(role).collect());
    let partition = Partition::new(CLIENTS, base.assignment().to_vec(), split).unwrap();
    let clients = partition.client_graphs(&graph);
    let sizes: Vec<f64> = clients.iter().map(|client| client.len() as f64).collect();
    let others: f64 = sizes[..idle].iter().sum();
    survives(&graph, &partition, |method, setup, outcome, rounds| {
        if method.layout == Layout::Whole {
            return;
        }
        for round in rounds {
            assert_eq!(round.clients.iter().map(|client| client.client).collect::<Vec<_>>(), [0, 1, 2]);
            if ["fedavg", "moon"].contains(&method.name) && !setup.boosts.contains(&Boost::Model) {
                let expected = |k: usize| sizes[k] / others;
                assert!(round.clients.iter().all(|c| c.weight.is_none_or(|w| (w - expected(c.client)).abs() < 1e-15)));
            }
        }
        // The other clients do not notice it.
        let trained = run_only(setup, &clients[..idle]);
        assert!(bits(&trained.models) == bits(&outcome.models[..trained.models.len()]), "{}", method.name);
        // It is judged by its own model, which is the initial one, or by everybody's.
        if setup.boosts.is_empty() {
            let judged = outcome.models.get(idle).unwrap_or(&outcome.models[0]);
            let found: Vec<u32> = clients[idle].nodes.iter().map(|&v| outcome.predictions[v as usize]).collect();
            assert_eq!(found, plain_predictions(&clients[idle], judged), "{}", method.name);
            if outcome.models.len() > 1 {
                assert_eq!(judged, &Params::glorot(judged.shapes(), setup.seed));
            }
        }
    });
}

/// A run of some of the clients, whose nodes are numbered one after the other.
fn run_only(setup: &Setup, clients: &[ClientGraph]) -> Outcome<f32> {
    let mut next = 0..u32::MAX;
    let renumbered = |client: &ClientGraph| {
        let nodes = next.by_ref().take(client.len()).collect();
        LocalData::new(&ClientGraph { nodes, ..client.clone() })
    };
    run(setup, clients.iter().map(renumbered).collect())
}

#[test]
fn a_client_with_one_class() {
    let graph = graph(WORDS);
    let nodes: Vec<usize> = (0..graph.len()).filter(|&v| graph.labels().get(v) == Some(2)).take(30).collect();
    let uniform = altered(&graph, &nodes, |_, role| role);
    let client = &uniform.client_graphs(&graph)[CLIENTS - 1];
    assert!(client.class_counts(Role::Train)[2] > 0);
    assert_eq!(client.class_counts(Role::Train).iter().filter(|n| **n > 0).count(), 1);
    survives(&graph, &uniform, |method, setup, _, rounds| {
        if method.layout == Layout::Federated && setup.boosts.contains(&Boost::Model) {
            // With one class there is a majority or a minority but never both.
            assert!(rounds.iter().all(|round| round.clients[CLIENTS - 1].gap == Some(0.0)));
        }
    });
}

#[test]
fn a_class_without_a_training_node() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    for class in [0, CLASSES as u32 - 1] {
        let unseen = |v: usize| graph.labels().get(v) == Some(class);
        let role = |v: usize| if unseen(v) { Role::Test } else { base.split().role(v) };
        let split = Split::new((0..graph.len()).map(role).collect());
        let partition = Partition::new(CLIENTS, base.assignment().to_vec(), split).unwrap();
        survives(&graph, &partition, |_, _, outcome, _| {
            // The model still has a column for it.
            assert!(outcome.models.iter().all(|model| model.tensors()[3].columns() == CLASSES));
        });
    }
}

/// Runs every method on data that not every method can serve. Returns who refused them, each with a reason.
fn served(graph: &Graph, partition: &Partition) -> Vec<&'static str> {
    let mut refused = Vec::new();
    for method in METHODS {
        match Federation::<f32>::new(setup(method.name, &[]), data(method.name, graph, partition)) {
            Ok(federation) => {
                let outcome = federation.run(&mut []).unwrap_or_else(|error| panic!("{}: {error}", method.name));
                assert!(outcome.models.iter().all(Params::is_finite), "{}", method.name);
                assert!(outcome.predictions.iter().all(|&class| (class as usize) < graph.classes()), "{}", method.name);
            }
            Err(Error::Refused { what, reason, .. }) => {
                assert_eq!(what, "these data", "{}", method.name);
                assert!(reason.len() > 20, "{}: {reason}", method.name);
                refused.push(method.name);
            }
            Err(other) => panic!("{}: {other}", method.name),
        }
    }
    refused
}

#[test]
fn clients_without_a_class_in_common() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let assignment = (0..graph.len()).map(|v| graph.labels().get(v).unwrap_or(0) % 2).collect();
    let disjoint = Partition::new(2, assignment, base.split().clone()).unwrap();
    let [one, two] = [0, 1].map(|k| disjoint.client_graphs(&graph)[k].class_counts(Role::Train));
    assert!(one.iter().zip(&two).all(|(a, b)| *a == 0 || *b == 0));
    assert!(served(&graph, &disjoint).is_empty());
}

#[test]
fn a_graph_without_an_edge() {
    for features in [WORDS, NARROW] {
        let graph = graph(features);
        let base = partition(&graph);
        let (bare, _) = Adjacency::from_edges(graph.len(), &[], None, false).unwrap();
        let graph = Graph::new("bare", bare, graph.features().clone(), graph.labels().clone()).unwrap();
        assert!(served(&graph, &base).is_empty());
    }
}

#[test]
fn a_graph_with_one_class() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let labels = Labels::from_integers(&vec![0; graph.len()], 1).unwrap();
    let graph = Graph::new("uniform", graph.adjacency().clone(), graph.features().clone(), labels).unwrap();
    assert!(served(&graph, &base).is_empty());
}

#[test]
fn a_graph_without_features() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let nothing = Features::dense(graph.len(), 0, Vec::new()).unwrap();
    let graph = Graph::new("featureless", graph.adjacency().clone(), nothing, graph.labels().clone()).unwrap();
    assert_eq!(served(&graph, &base), METHODS.iter().map(|method| method.name).collect::<Vec<_>>());
}

#[test]
fn nobody_has_a_training_node() {
    let graph = graph(WORDS);
    let base = partition(&graph);
    let split = Split::new(vec![Role::Test; graph.len()]);
    let partition = Partition::new(CLIENTS, base.assignment().to_vec(), split).unwrap();
    for_all(|method, setup, what| {
        let error = Federation::<f32>::new(setup.clone(), data(method.name, &graph, &partition)).err().unwrap();
        assert!(matches!(error, Error::NothingToTrain), "{what}: {error}");
        assert!(matches!(Federation::<f32>::new(setup, Vec::new()).err(), Some(Error::NothingToTrain)), "{what}");
    });
}

/// Whether β is used for judging is a choice of its own: training does not see it.
#[test]
fn propagation_in_evaluation_leaves_training_alone() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for method in METHODS {
        let boosts: Vec<Boost> = Boost::ALL.into_iter().filter(|&boost| (method.refuses)(boost).is_none()).collect();
        let boosted = setup(method.name, &boosts);
        let mut plain = boosted.clone();
        plain.boost.topology.eval_propagation = EvalPropagation::Plain;
        let of = |setup: &Setup| run::<f32>(setup, data(method.name, &graph, &partition));
        assert!(bits(&of(&boosted).models) == bits(&of(&plain).models), "{}", method.name);
    }
}

/// What a setup is refused with.
fn refusal(change: impl Fn(&mut Setup)) -> String {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup("fedavg", &Boost::ALL);
    change(&mut setup);
    let error = Federation::<f32>::new(setup, data("fedavg", &graph, &partition)).err().unwrap();
    assert!(!error.advice().is_empty());
    error.to_string()
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    type Change = fn(&mut Setup);
    let exact: [(Change, &str); 11] = [
        (|s| s.protocol.rounds = 0, "fed.rounds: expected at least 1, found 0"),
        (|s| s.protocol.epochs = 0, "fed.epochs: expected at least 1, found 0"),
        (|s| s.protocol.eval_every = 0, "fed.eval_every: expected at least 1, found 0"),
        (
            |s| s.protocol.participation = f64::NAN,
            "fed.participation: expected a number above 0 and at most 1, found NaN",
        ),
        (|s| s.model.dropout = 1.0, "model.dropout: expected at least 0 and below 1, found 1"),
        (|s| s.model.layers = 9, "model.layers: expected 1 to 8, found 9"),
        (|s| s.optimizer.learning_rate = 0.0, "optimizer.learning_rate: expected a number above 0, found 0"),
        (|s| s.boost.node.lambda_n = -0.5, "boost.node.lambda_n: expected a number of at least 0, found -0.5"),
        (|s| s.boost.node.mu = 0.0, "boost.node.mu: expected a number above 0 and at most 1, found 0"),
        (
            |s| s.boost.topology.edge_budget = 1.5,
            "boost.topology.edge_budget: expected a number from 0 to 1, found 1.5",
        ),
        (|s| s.model.backbone = "gnc".into(), "unknown backbone `gnc` (did you mean `gcn`?)"),
    ];
    for (change, message) in exact {
        assert_eq!(refusal(change), message);
    }
    let named: [(Change, &str); 21] = [
        (|s| s.protocol.participation = 0.0, "fed.participation"),
        (|s| s.protocol.participation = 2.0, "fed.participation"),
        (|s| s.protocol.participation = -0.1, "fed.participation"),
        (|s| s.model.hidden = 0, "model.hidden"),
        (|s| s.model.layers = 0, "model.layers"),
        (|s| s.model.dropout = -0.1, "model.dropout"),
        (|s| s.model.dropout = f64::NAN, "model.dropout"),
        (|s| s.optimizer.learning_rate = f64::NAN, "optimizer.learning_rate"),
        (|s| s.optimizer.learning_rate = -1.0, "optimizer.learning_rate"),
        (|s| s.optimizer.learning_rate = f64::INFINITY, "optimizer.learning_rate"),
        (|s| s.optimizer.weight_decay = -1e-4, "optimizer.weight_decay"),
        (|s| s.optimizer.momentum = 1.0, "optimizer.momentum"),
        (|s| s.boost.node.lambda_n = f64::NAN, "boost.node.lambda_n"),
        (|s| s.boost.node.mu = 1.1, "boost.node.mu"),
        (|s| s.boost.node.mu = f64::NAN, "boost.node.mu"),
        (|s| s.boost.topology.lambda_e = -1.0, "boost.topology.lambda_e"),
        (|s| s.boost.topology.tau = f64::NAN, "boost.topology.tau"),
        (|s| s.boost.topology.edge_budget = f64::NAN, "boost.topology.edge_budget"),
        (|s| s.boost.model.lambda_s = -0.1, "boost.model.lambda_s"),
        (|s| s.boost.model.gamma = f64::INFINITY, "boost.model.gamma"),
        (|s| s.boost.model.gamma = -1.0, "boost.model.gamma"),
    ];
    for (change, key) in named {
        let message = refusal(change);
        assert!(message.starts_with(&format!("{key}: expected ")), "{key}: {message}");
    }
    let unknown = |e: Error| e.to_string();
    assert_eq!(unknown(methods::find("fedavgg").unwrap_err()), "unknown method `fedavgg` (did you mean `fedavg`?)");
    assert_eq!(unknown(Boost::parse("node,modell").unwrap_err()), "unknown boost `modell` (did you mean `model`?)");
    assert_eq!(methods::find("xyzzy-plugh").unwrap_err().to_string(), "unknown method `xyzzy-plugh`");
}

/// A model that is given does not excuse the settings of the network that training still uses.
#[test]
fn a_given_model_does_not_bypass_the_checks() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let net = Gcn::new(Architecture { inputs: 60, hidden: HIDDEN, classes: CLASSES, layers: 2 });
    let initial = Params::<f32>::glorot(&Backbone::<f32>::shapes(&net), 0);
    let mut setup = setup("fedavg", &[]);
    setup.model.dropout = 1.0;
    let refused = Federation::from_model(setup, data("fedavg", &graph, &partition), Box::new(net), &initial);
    assert_eq!(refused.err().unwrap().to_string(), "model.dropout: expected at least 0 and below 1, found 1");
}

/// Everybody diverges at once: the first client is named, whoever noticed first.
#[test]
fn divergence_is_reported_for_the_first_client() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = setup("fedavg", &[]);
    setup.optimizer.learning_rate = 1e39;
    for _ in 0..25 {
        let error = with_threads(4, || {
            Federation::<f32>::new(setup.clone(), data("fedavg", &graph, &partition)).unwrap().run(&mut []).unwrap_err()
        });
        assert_eq!(error.to_string(), "client 0 diverged in round 1: its model is not finite");
    }
}
