//! Settings under which the smaller methods equal a simpler method by their equations.

use crate::small::*;
use boostfgl_fed::config::OptimizerKind;
use boostfgl_fed::methods::{fedgta, moon, qffl, scaffold};
use boostfgl_fed::{
    Federation, Inspection, LocalData, Observer, ObserverResult, RoundRecord, Setup,
};
use boostfgl_graph::{Graph, Stream};
use boostfgl_nn::{Matrix, Params};
use boostfgl_partition::{ClientGraph, Partition};

fn outcome(setup: &Setup, graph: &Graph, partition: &Partition) -> boostfgl_fed::Outcome<f32> {
    run::<f32>(setup, data(setup.method.name, graph, partition))
}

/// Clients of the same size, so that weights by size are uniform ones.
fn even(graph: &Graph) -> Partition {
    let mut order: Vec<u32> = (0..graph.len() as u32).collect();
    Stream::new(3, "even", &[]).shuffle(&mut order);
    let mut assignment = vec![0; graph.len()];
    order.iter().enumerate().for_each(|(i, &v)| assignment[v as usize] = (i % CLIENTS) as u32);
    Partition::new(CLIENTS, assignment, partition(graph).split().clone()).unwrap()
}

/// Runs `base` and the other method, changed, and asserts that they are the same bit for bit.
fn equal(base: &str, other: &str, change: impl Fn(&mut Setup)) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let [mut base, mut other] = [base, other].map(|name| setup(name, &[]));
    change(&mut base);
    change(&mut other);
    let what = format!("{} and {}", base.method.name, other.method.name);
    let (base, other) = (outcome(&base, &graph, &partition), outcome(&other, &graph, &partition));
    assert_same(&base, &other, &what);
}

/// How far the last models of two runs are apart.
fn apart(a: &Setup, b: &Setup, graph: &Graph, partition: &Partition) -> f64 {
    let (a, b) = (outcome(a, graph, partition), outcome(b, graph, partition));
    a.models.iter().zip(b.models.iter().cycle()).map(|(a, b)| a.distance(b)).fold(0.0, f64::max)
}

#[test]
fn fedprox_without_strength_or_with_one_step_is_fedavg() {
    equal("fedavg", "fedprox", |setup| {
        (setup.methods.fedprox.mu, setup.protocol.epochs) = (0.0, 3);
    });
    equal("fedavg", "fedprox", |setup| setup.methods.fedprox.mu = 5.0);
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut pulled = setup("fedprox", &[]);
    (pulled.methods.fedprox.mu, pulled.protocol.epochs) = (5.0, 3);
    let mut free = setup("fedavg", &[]);
    free.protocol.epochs = 3;
    assert!(apart(&pulled, &free, &graph, &partition) > 1e-4, "with three steps the term acts");
}

#[test]
fn moon_without_strength_or_in_its_first_round_is_fedavg() {
    for nodes in [moon::ContrastNodes::All, moon::ContrastNodes::Training] {
        let set = |setup: &mut Setup| setup.methods.moon.contrast_nodes = nodes;
        equal("fedavg", "moon", |setup| {
            set(setup);
            (setup.methods.moon.mu, setup.protocol.epochs) = (0.0, 2);
        });
        equal("fedavg", "moon", |setup| {
            set(setup);
            (setup.methods.moon.mu, setup.protocol.rounds) = (7.0, 1);
        });
        let graph = graph(WORDS);
        let partition = partition(&graph);
        let mut moon = setup("moon", &[]);
        set(&mut moon);
        assert!(apart(&moon, &setup("fedavg", &[]), &graph, &partition) > 1e-5, "{nodes:?} acts");
    }
}

#[test]
fn scaffold_in_its_first_round_is_fedavg() {
    for control in [scaffold::Control::Gradient, scaffold::Control::Difference] {
        equal("fedavg", "scaffold", |setup| {
            setup.methods.scaffold.control = control;
            (setup.protocol.rounds, setup.protocol.epochs) = (1, 3);
        });
    }
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let more = |name: &str| {
        let mut setup = setup(name, &[]);
        setup.protocol.epochs = 3;
        setup
    };
    assert!(apart(&more("fedavg"), &more("scaffold"), &graph, &partition) > 1e-4);
}

/// With identical clients c = cₖ for ever, and the correction is nothing but rounding.
#[test]
fn scaffold_of_identical_clients_is_fedavg() {
    let graph = graph(WORDS);
    let client = &partition(&graph).client_graphs(&graph)[1];
    let copy = ClientGraph { id: 0, nodes: (0..client.len() as u32).collect(), ..client.clone() };
    for control in [scaffold::Control::Gradient, scaffold::Control::Difference] {
        let last = |name: &str| {
            let mut setup = setup(name, &[]);
            setup.methods.scaffold.control = control;
            (setup.protocol.epochs, setup.optimizer.optimizer) = (2, OptimizerKind::Sgd);
            run::<f64>(&setup, (0..4).map(|_| LocalData::new(&copy)).collect()).models.remove(0)
        };
        assert!(last("fedavg").distance(&last("scaffold")) < 1e-12);
    }
}

/// With plain SGD, one step and no weight decay, both controls are the client's gradient: the runs
/// are the same.
#[test]
fn both_controls_of_scaffold_agree_for_one_step_of_sgd() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let last = |control: scaffold::Control| {
        let mut setup = setup("scaffold", &[]);
        setup.methods.scaffold.control = control;
        (setup.optimizer.optimizer, setup.optimizer.weight_decay) = (OptimizerKind::Sgd, 0.0);
        run::<f64>(&setup, data("scaffold", &graph, &partition)).models.remove(0)
    };
    assert!(
        last(scaffold::Control::Gradient).distance(&last(scaffold::Control::Difference)) < 1e-12
    );
}

/// q-FFL with q = 0, FedFV without projections, and Fed-PUB without similarity are all the uniform
/// mean.
#[test]
fn uniform_means_are_fedavg_of_equal_clients() {
    let graph = graph(WORDS);
    let partition = even(&graph);
    let base = setup("fedavg", &[]);
    let mut qffl = setup("qffl", &[]);
    qffl.methods.qffl.q = 0.0;
    assert!(apart(&base, &qffl, &graph, &partition) < 1e-5);
    qffl.methods.qffl.server_step = qffl::ServerStep::Lipschitz;
    assert!(apart(&base, &qffl, &graph, &partition) < 1e-5);
    qffl.methods.qffl.q = 2.0;
    let published = outcome(&qffl, &graph, &partition).models.remove(0);
    qffl.methods.qffl.server_step = qffl::ServerStep::Mean;
    let mean = outcome(&qffl, &graph, &partition).models.remove(0);
    let start = Params::glorot(mean.shapes(), base.seed);
    assert!(
        published.distance(&start) < 0.1 * mean.distance(&start),
        "the published step shrinks under Adam"
    );
    let mut fedfv = setup("fedfv", &[]);
    fedfv.methods.fedfv.alpha = 1.0;
    assert!(apart(&base, &fedfv, &graph, &partition) < 1e-5);
    let mut fedpub = setup("fedpub", &[]);
    let config = &mut fedpub.methods.fedpub;
    (config.tau, config.lambda1, config.lambda2, config.train_masks) = (0.0, 0.0, 0.0, false);
    assert_eq!(apart(&base, &fedpub, &graph, &partition), 0.0);
    let mut fedgta = setup("fedgta", &[]);
    fedgta.methods.fedgta.epsilon = -1.0;
    let models = outcome(&fedgta, &graph, &partition).models;
    assert!(models.iter().all(|model| model == &models[0]), "every client accepts all others");
}

/// The server's step has the length of FedAvg's, whatever was projected.
#[test]
fn fedfv_keeps_the_length_of_the_step() {
    let graph = graph(WORDS);
    let partition = even(&graph);
    let last = |name: &str| {
        let mut setup = setup(name, &[]);
        setup.protocol.rounds = 1;
        let outcome = run::<f64>(&setup, data(name, &graph, &partition));
        let start = Params::<f64>::glorot(outcome.models[0].shapes(), setup.seed);
        outcome.models[0].distance(&start)
    };
    let (plain, fair) = (last("fedavg"), last("fedfv"));
    assert!((plain - fair).abs() < 1e-9 * plain, "{plain} and {fair}");
}

#[test]
fn fairfed_without_rate_is_fedavg() {
    equal("fedavg", "fairfed", |setup| setup.methods.fairfed.beta = 0.0);
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let (_, rounds) = watch::<f32>(&setup("fairfed", &[]), data("fairfed", &graph, &partition));
    let weights =
        |round: &Round| round.clients.iter().map(|c| c.weight.unwrap()).collect::<Vec<_>>();
    assert_ne!(weights(&rounds[0]), weights(&rounds[2]), "weights move");
    assert!(rounds.iter().all(|round| round.predictions.is_some() && round.val_accuracy.is_some()));
}

/// AFL with γ = 0 gives every client the same weight, and evaluates the mean of the iterates.
#[test]
fn afl_without_rate_is_the_mean_of_uniform_fedavg() {
    let graph = graph(WORDS);
    let partition = even(&graph);
    let mut afl = setup("afl", &[]);
    afl.methods.afl.gamma = 0.0;
    let found = run::<f64>(&afl, data("afl", &graph, &partition)).models.remove(0);
    let iterates: Vec<Params<f64>> = (1..=afl.protocol.rounds)
        .map(|rounds| {
            let mut base = setup("fedavg", &[]);
            base.protocol.rounds = rounds;
            run::<f64>(&base, data("fedavg", &graph, &partition)).models.remove(0)
        })
        .collect();
    let mut mean = found.clone();
    mean.set_weighted_sum(&iterates.iter().collect::<Vec<_>>(), |_| vec![1.0 / 3.0; 3]);
    assert!(found.distance(&mean) < 1e-12);
    afl.methods.afl.gamma = 0.5;
    let (_, rounds) = watch::<f64>(&afl, data("afl", &graph, &partition));
    let last = &rounds[2].clients;
    let heaviest = (0..CLIENTS)
        .max_by(|&a, &b| last[a].weight.unwrap().total_cmp(&last[b].weight.unwrap()))
        .unwrap();
    assert!(last[heaviest].weight.unwrap() > 0.25);
}

#[test]
fn fedgta_alone_is_local_training() {
    // No two clients are similar.
    equal("isolated", "fedgta", |setup| setup.methods.fedgta.epsilon = 1.0);
    let graph = graph(WORDS);
    let split = partition(&graph).split().clone();
    let alone = Partition::new(1, vec![0; graph.len()], split).unwrap();
    assert_eq!(apart(&setup("fedgta", &[]), &setup("isolated", &[]), &graph, &alone), 0.0);
}

/// Two clients with the same graph have similarity 1 and the same confidence: both get the plain
/// mean.
#[test]
fn fedgta_of_identical_clients_is_their_mean() {
    let graph = graph(WORDS);
    let client = &partition(&graph).client_graphs(&graph)[1];
    let copy = ClientGraph { id: 0, nodes: (0..client.len() as u32).collect(), ..client.clone() };
    for kind in
        [fedgta::MomentKind::Origin, fedgta::MomentKind::Central, fedgta::MomentKind::Hybrid]
    {
        let last = |name: &str| {
            let mut setup = setup(name, &[]);
            setup.methods.fedgta.moment_kind = kind;
            setup.methods.fedgta.epsilon = 0.999;
            run::<f64>(&setup, (0..2).map(|_| LocalData::new(&copy)).collect()).models
        };
        let (found, expected) = (last("fedgta"), last("fedavg"));
        assert!(found.iter().all(|model| model.distance(&expected[0]) < 1e-12));
    }
}

#[test]
fn fedproto_without_strength_or_in_its_first_round_is_local_training() {
    equal("isolated", "fedproto", |setup| setup.methods.fedproto.lambda = 0.0);
    equal("isolated", "fedproto", |setup| setup.protocol.rounds = 1);
    let graph = graph(WORDS);
    let partition = partition(&graph);
    assert!(apart(&setup("fedproto", &[]), &setup("isolated", &[]), &graph, &partition) > 1e-5);
}

/// The client of the second round has classes that the one of the first does not have: nothing has
/// been sent for them, so that their nodes must have no term, in particular no pull towards 0.
#[test]
fn fedproto_has_no_term_for_a_class_that_was_never_sent() {
    let graph = graph(WORDS);
    let kind = |v: usize| graph.labels().get(v).map_or(0, |y| y / 2);
    let halves =
        Partition::new(2, (0..graph.len()).map(kind).collect(), partition(&graph).split().clone())
            .unwrap();
    let mut proto = setup("fedproto", &[]);
    (proto.protocol.participation, proto.protocol.rounds) = (0.5, 3);
    (proto.methods.fedproto.lambda, proto.seed) = (10.0, 6);
    let isolated = Setup { method: setup("isolated", &[]).method, ..proto.clone() };
    let [drawn, free] = [&proto, &isolated]
        .map(|setup| watch::<f32>(setup, data(setup.method.name, &graph, &halves)).1);
    let first_client = |round: &Round| (round.clients[0].client, round.clients[0].loss);
    assert_ne!(
        first_client(&drawn[0]).0,
        first_client(&drawn[1]).0,
        "a seed is needed under which both take part at first"
    );
    for (drawn, free) in drawn.iter().zip(&free).take(2) {
        assert_eq!(first_client(drawn), first_client(free));
        assert!(drawn.predictions == free.predictions);
    }
    assert_ne!(
        first_client(&drawn[2]),
        first_client(&free[2]),
        "in the third round every class has a prototype"
    );
}

/// Masks are personal: models are averaged, and what is evaluated differs.
#[test]
fn fedpub_masks_stay_with_the_client() {
    let graph = graph(WORDS);
    let partition = even(&graph);
    let mut blind = setup("fedpub", &[]);
    (blind.methods.fedpub.tau, blind.protocol.epochs) = (0.0, 3);
    let trained = outcome(&blind, &graph, &partition);
    assert!(trained.models.iter().all(|model| model == &trained.models[0]));
    blind.methods.fedpub.train_masks = false;
    assert!(outcome(&blind, &graph, &partition).models[0] != trained.models[0], "masks act");
}

/// The models that clients trained in the last round.
#[derive(Default)]
struct LastTrained(Vec<Params<f64>>);

impl Observer<f64> for LastTrained {
    fn inspects(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspection: &Inspection<'_, f64>) {
        self.0 = inspection.clients.iter().filter_map(|client| client.trained.cloned()).collect();
    }

    fn round(&mut self, _: &RoundRecord<'_>) -> ObserverResult {
        Ok(())
    }
}

/// Every number of a model.
fn flat(model: &Params<f64>) -> Vec<f64> {
    model.tensors().iter().flat_map(Matrix::to_vec).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Two kinds of clients, with two classes each: the functional embedding must distinguish them. A
/// hidden layer after its ReLU does not (own weight 0.50 to 0.52), since all its cosines are near
/// 1.
#[test]
fn fedpub_gives_different_clients_different_models() {
    let graph = graph(WORDS);
    let kind = |v: usize| graph.labels().get(v).map_or(0, |y| y / 2);
    let split = partition(&graph).split().clone();
    let halves = Partition::new(2, (0..graph.len()).map(kind).collect(), split).unwrap();
    for backbone in ["gcn", "sage", "mlp", "appnp", "gprgnn", "h2gcn"] {
        let mut setup = setup("fedpub", &[]);
        (setup.protocol.rounds, setup.model.backbone) = (10, backbone.into());
        let (mut last, data) = (LastTrained::default(), data("fedpub", &graph, &halves));
        let personal = Federation::new(setup, data).unwrap().run(&mut [&mut last]).unwrap().models;
        let (personal, trained) =
            (personal.iter().map(flat), last.0.iter().map(flat).collect::<Vec<_>>());
        let weight_and_distance = |(i, personal): (usize, Vec<f64>)| {
            // personal = a·own + (1 − a)·other.
            let apart: Vec<f64> =
                trained[i].iter().zip(&trained[1 - i]).map(|(own, other)| own - other).collect();
            let from_other: Vec<f64> =
                personal.iter().zip(&trained[1 - i]).map(|(p, other)| p - other).collect();
            let weight = dot(&from_other, &apart) / dot(&apart, &apart);
            let mean: Vec<f64> =
                trained[0].iter().zip(&trained[1]).map(|(a, b)| (a + b) / 2.0).collect();
            let moved: Vec<f64> = personal.iter().zip(&mean).map(|(p, mean)| p - mean).collect();
            (weight, (dot(&moved, &moved) / dot(&mean, &mean)).sqrt())
        };
        for (weight, moved) in personal.enumerate().map(weight_and_distance) {
            assert!(
                weight > 0.9,
                "{backbone}: a client's own model has weight {weight}, ½ is uniform"
            );
            assert!(
                moved > 0.01,
                "{backbone}: a personal model is {moved} of the mean's length away from it"
            );
        }
    }
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    type Change = fn(&mut Setup);
    let cases: [(Change, &str); 14] = [
        (|s| s.methods.fedprox.mu = -1.0, "methods.fedprox.mu"),
        (|s| s.methods.moon.mu = f64::NAN, "methods.moon.mu"),
        (|s| s.methods.moon.tau = 0.0, "methods.moon.tau"),
        (|s| s.methods.qffl.q = -0.1, "methods.qffl.q"),
        (|s| s.methods.qffl.q = 21.0, "methods.qffl.q"),
        (|s| s.methods.afl.gamma = f64::INFINITY, "methods.afl.gamma"),
        (|s| s.methods.fedfv.alpha = 1.1, "methods.fedfv.alpha"),
        (|s| s.methods.fairfed.beta = -1.0, "methods.fairfed.beta"),
        (|s| s.methods.fedgta.epsilon = 1.5, "methods.fedgta.epsilon"),
        (|s| s.methods.fedgta.moments = 0, "methods.fedgta.moments"),
        (|s| s.methods.fedgta.temperature = 0.0, "methods.fedgta.temperature"),
        (|s| s.methods.fedpub.proxy_nodes = 0, "methods.fedpub.proxy_nodes"),
        (|s| s.methods.fedpub.proxy_density = 2.0, "methods.fedpub.proxy_density"),
        (|s| s.methods.fedproto.lambda = -1.0, "methods.fedproto.lambda"),
    ];
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for (change, key) in cases {
        let mut setup = setup("fedavg", &[]);
        change(&mut setup);
        let error =
            Federation::<f32>::new(setup, data("fedavg", &graph, &partition)).err().unwrap();
        assert!(error.to_string().starts_with(&format!("{key}: expected ")), "{key}: {error}");
    }
}
