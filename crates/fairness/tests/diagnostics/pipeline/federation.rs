//! Beside real runs: a small generated federation of 300 nodes, 4 classes and 4 clients.

use boostfgl_fairness::diagnostics::{Diagnosis, Diagnostician, Settings, Subject, Which};
use boostfgl_fed::boost::{Boost, BoostConfig};
use boostfgl_fed::config::{Model, Optimizer, Protocol};
use boostfgl_fed::methods::{self, Layout, METHODS, MethodConfigs};
use boostfgl_fed::{Federation, LocalData, Outcome, Setup};
use boostfgl_graph::generator::{FeatureSpec, Spec, generate, preset};
use boostfgl_graph::groups::{Groups, HOMOPHILY_THRESHOLD, minority_classes, node_homophily};
use boostfgl_graph::{Graph, Role};
use boostfgl_nn::Params;
use boostfgl_partition::{Partition, SplitRule, by_name};

const WATCHED: [Which; 5] = [Which::Khop, Which::Dilution, Which::Attribution, Which::Hardness, Which::Trust];
const ROUNDS: usize = 3;
const CLIENTS: usize = 4;

struct Small {
    graph: Graph,
    partition: Partition,
    counts: Vec<usize>,
    groups: Groups,
}

impl Small {
    fn new() -> Self {
        let spec = Spec {
            nodes: 300,
            edges: 700,
            classes: 4,
            communities: 3,
            pocket_size: 12,
            max_degree: 30,
            features: FeatureSpec::Sparse { columns: 60, per_node: 8, signal: 0.6 },
            ..preset("demo").unwrap().spec
        };
        let graph = generate("small", &spec, 1, &mut |_, _| {}).unwrap();
        let partition =
            Partition::draw(&graph, &by_name("louvain").unwrap(), CLIENTS, &SplitRule::default(), 0).unwrap();
        let counts = graph.labels().counts(partition.split().nodes(Role::Train));
        let minority = minority_classes(&counts, 0.3);
        let groups = Groups::new(&node_homophily(&graph), graph.labels(), &minority, HOMOPHILY_THRESHOLD).unwrap();
        Self { graph, partition, counts, groups }
    }

    fn data(&self) -> Vec<LocalData<f32>> {
        self.partition.client_graphs(&self.graph).iter().map(LocalData::new).collect()
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            labels: self.graph.labels(),
            training_counts: &self.counts,
            minority_ratio: 0.3,
            minority: &self.groups.minority,
            heterophilous: &self.groups.heterophilous,
            roles: self.partition.split().roles(),
            seed: 5,
        }
    }

    /// The outcome of a watched run, and what was found.
    fn watched(&self, setup: &Setup, threads: usize) -> (Outcome<f32>, Diagnosis) {
        let work = || {
            let mut watching = Diagnostician::new(&WATCHED, self.subject(), Settings::default());
            let outcome = Federation::new(setup.clone(), self.data()).unwrap().run(&mut [&mut watching]).unwrap();
            (outcome, watching.conclude())
        };
        let (outcome, diagnosis) = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work);
        // What it took is the only thing that may differ.
        (outcome, Diagnosis { cost: Vec::new(), ..diagnosis })
    }
}

fn setup(method: &str, boosts: &[Boost], participation: f64) -> Setup {
    Setup {
        seed: 5,
        method: methods::find(method).unwrap(),
        boosts: boosts.to_vec(),
        protocol: Protocol { rounds: ROUNDS, participation, ..Protocol::default() },
        model: Model { hidden: 16, ..Model::default() },
        optimizer: Optimizer::default(),
        boost: BoostConfig::default(),
        methods: MethodConfigs::default(),
        minority_ratio: 0.3,
    }
}

/// The methods that take longest, with little to do.
fn short() -> MethodConfigs {
    let mut methods = MethodConfigs::default();
    (methods.adafgl.personal_epochs, methods.adafgl.hidden, methods.adafgl.steps) = (1, 8, 1);
    (methods.fedtad.repetitions, methods.fedtad.pseudo_nodes) = (1, 10);
    (methods.fedtad.generator_steps, methods.fedtad.student_steps) = (1, 1);
    let generator = &mut methods.fedsage_plus;
    (generator.gen_epochs, generator.hidden, generator.latent) = (2, 8, 8);
    (generator.narrow, generator.wide, generator.learning_rate) = (16, 24, 2e-2);
    methods
}

fn cases() -> [(&'static str, Setup); 4] {
    [
        ("fedavg", setup("fedavg", &[], 1.0)),
        ("boostfgl", setup("boostfgl", &Boost::ALL, 1.0)),
        ("isolated", setup("isolated", &[], 1.0)),
        ("half of fedavg", setup("fedavg", &[], 0.5)),
    ]
}

fn bits(models: &[Params<f32>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    models.iter().for_each(|model| model.feed(|part| bytes.extend_from_slice(part)));
    bytes
}

#[test]
fn watching_changes_no_bit_and_threads_change_no_finding() {
    let small = Small::new();
    for (what, setup) in cases() {
        let plain = Federation::new(setup.clone(), small.data()).unwrap().run(&mut []).unwrap();
        let (one, found) = small.watched(&setup, 1);
        let (three, again) = small.watched(&setup, 3);
        for outcome in [&one, &three] {
            assert!(bits(&outcome.models) == bits(&plain.models), "{what}: the models differ");
            assert!(outcome.predictions == plain.predictions, "{what}: the predictions differ");
        }
        assert_eq!(found, again, "{what}");
    }
}

/// Methods that deploy other models than they send, add rounds, or make nodes up: none is disturbed, and every number is
/// one.
#[test]
fn every_method_can_be_watched() {
    let small = Small::new();
    let federated = METHODS.iter().filter(|method| method.layout == Layout::Federated);
    for method in federated {
        let mut setup = setup(method.name, &[], 1.0);
        setup.methods = short();
        let plain = Federation::new(setup.clone(), small.data()).unwrap().run(&mut []).unwrap();
        let (outcome, found) = small.watched(&setup, 2);
        assert!(bits(&outcome.models) == bits(&plain.models), "{}: the models differ", method.name);
        assert!(outcome.predictions == plain.predictions, "{}: the predictions differ", method.name);
        // What is no number would be written as null, and only an absent value may be.
        let copy: Diagnosis = serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
        assert_eq!(copy, found, "{}", method.name);
    }
}

#[test]
fn findings_hang_together() {
    let small = Small::new();
    let test = small.partition.split().nodes(Role::Test).count();
    for (what, setup) in cases() {
        let (outcome, found) = small.watched(&setup, 2);
        let (khop, dilution) = (found.khop.unwrap(), found.dilution.unwrap());
        let (attribution, trust) = (found.attribution.unwrap(), found.trust.unwrap());

        assert_eq!(khop.round, ROUNDS);
        let wrong = |v: &usize| Some(outcome.predictions[*v]) != small.graph.labels().get(*v);
        let errors = small.partition.split().nodes(Role::Test).filter(wrong).count();
        for curve in &khop.curves {
            let (nodes, missed) = curve.hops.iter().fold((0, 0), |(n, e), hop| (n + hop.nodes, e + hop.errors));
            assert_eq!(nodes + curve.unreachable.nodes, test, "{what}");
            assert_eq!(missed + curve.unreachable.errors, errors, "{what}");
        }

        let took = if setup.protocol.participation < 1.0 { 2 } else { CLIENTS };
        assert_eq!((dilution.rounds.len(), trust.rounds.len()), (ROUNDS, ROUNDS), "{what}");
        assert_eq!(dilution.cosines().count(), ROUNDS * took, "{what}");
        for (round, trusted) in dilution.rounds.iter().zip(&trust.rounds) {
            let aggregates = what != "isolated";
            assert_eq!(round.dr.is_some(), aggregates, "{what}");
            let weights: Option<f64> = round.clients.iter().map(|client| client.weight).sum();
            assert!(weights.is_none_or(|sum| (sum - 1.0).abs() < 1e-9), "{what}");
            // Plain averages are by size; the server's trust is the one of the whole update.
            if what.ends_with("fedavg") {
                // Relative: where nobody helps, DR is a number over ε.
                assert!((round.dr.unwrap() / round.dr_size.unwrap() - 1.0).abs() < 1e-9, "{what}");
            }
            for (client, trusted) in round.clients.iter().zip(&trusted.clients).filter(|_| what == "boostfgl") {
                assert!(trusted.gap.is_some(), "{what}");
                assert!((client.weight.unwrap() - trusted.weight).abs() < 1e-9, "{what}");
            }
        }
        assert_eq!(attribution.minority.nodes + attribution.majority.nodes, small.counts.iter().sum::<usize>());
        assert!(attribution.share_of_decrease.is_some(), "{what}");
        assert_eq!(found.hardness.unwrap().clients.len(), CLIENTS, "{what}");
    }
}

/// After one small step of FedAvg, Σ wₖ ⟨Δθₖ, g_min⟩ is what the mean loss of the minority falls by, to first order:
/// projections have the right sign and scale.
#[test]
fn a_projection_is_the_fall_of_the_minoritys_loss() {
    let small = Small::new();
    let mut setup = setup("fedavg", &[], 1.0);
    setup.protocol.rounds = 1;
    setup.optimizer.learning_rate = 1e-4;
    let (_, found) = small.watched(&setup, 1);
    let (attribution, dilution) = (found.attribution.unwrap(), found.dilution.unwrap());
    let aggregated: f64 =
        dilution.rounds[0].clients.iter().map(|client| client.weight.unwrap() * client.whole.projection).sum();
    let fall = attribution.minority.decrease() / attribution.minority.nodes as f64;
    assert!((aggregated / fall - 1.0).abs() < 0.02, "{aggregated} promised, {fall} found");
}
