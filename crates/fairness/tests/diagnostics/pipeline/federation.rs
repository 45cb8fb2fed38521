//! During real runs: a small generated federation of 300 nodes, 4 classes and 4 clients.

use boostfgl_fairness::diagnostics::trust::Trust;
use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind, Diagnostician, Settings, Subject};
use boostfgl_fed::boost::{Boost, BoostConfig};
use boostfgl_fed::config::{Model, Optimizer, Protocol};
use boostfgl_fed::methods::fairfgl::EvaluatedWeights;
use boostfgl_fed::methods::{self, Layout, METHODS, MethodConfigs};
use boostfgl_fed::{
    ClientRecord, Federation, Inspection, LocalData, Observer, ObserverResult, Outcome,
    RoundRecord, Setup,
};
use boostfgl_graph::generator::{FeatureSpec, Spec, generate, preset};
use boostfgl_graph::groups::{Groups, HOMOPHILY_THRESHOLD, minority_classes, node_homophily};
use boostfgl_graph::{Graph, Role};
use boostfgl_nn::Params;
use boostfgl_partition::{Louvain, Partition, SplitRule};

const ROUNDS: usize = 3;
const CLIENTS: usize = 4;

pub(super) struct Small {
    graph: Graph,
    partition: Partition,
    counts: Vec<usize>,
    classes: Vec<Option<bool>>,
    groups: Groups,
}

impl Small {
    pub(super) fn new() -> Self {
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
            Partition::draw(&graph, &Louvain::default(), CLIENTS, &SplitRule::default(), 0)
                .unwrap();
        let counts = graph.labels().counts(partition.split().nodes(Role::Train));
        let minority = minority_classes(&counts, 0.3);
        let groups =
            Groups::new(&node_homophily(&graph), graph.labels(), &minority, HOMOPHILY_THRESHOLD)
                .unwrap();
        Self { graph, partition, counts, classes: minority, groups }
    }

    pub(super) fn data(&self) -> Vec<LocalData<f32>> {
        self.partition.client_graphs(&self.graph).iter().map(LocalData::new).collect()
    }

    pub(super) fn subject(&self) -> Subject<'_> {
        Subject {
            labels: self.graph.labels(),
            training_counts: &self.counts,
            minority_classes: &self.classes,
            minority: &self.groups.minority,
            heterophilous: &self.groups.heterophilous,
            roles: self.partition.split().roles(),
            seed: 5,
        }
    }

    /// The outcome of a watched run, and its findings.
    fn watched(&self, setup: &Setup, threads: usize) -> (Outcome<f32>, Diagnosis) {
        let (outcome, diagnosis, _) = self.recorded(setup, threads);
        (outcome, diagnosis)
    }

    /// The same, and what every round recorded of its participants.
    fn recorded(
        &self,
        setup: &Setup,
        threads: usize,
    ) -> (Outcome<f32>, Diagnosis, Vec<Vec<ClientRecord>>) {
        let work = || {
            let mut watching =
                Diagnostician::new(&DiagnosticKind::ALL, self.subject(), Settings::default());
            let mut records = Vec::new();
            let mut record = |round: &RoundRecord<'_>| records.push(round.clients.to_vec());
            let federation = Federation::new(setup.clone(), self.data()).unwrap();
            let outcome = federation.run(&mut [&mut watching, &mut record]).unwrap();
            (outcome, watching.conclude(), records)
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (outcome, diagnosis, records) = pool.install(work);
        // Only the cost may differ.
        (outcome, Diagnosis { cost: Vec::new(), ..diagnosis }, records)
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
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
        transport: Default::default(),
        loss: Default::default(),
        evaluation: String::new(),
        probabilities: false,
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

/// Methods whose records count something else than ‖θₖ − θ‖ of the network, and why.
const OTHER_NORMS: [(&str, &str); 1] = [(
    "fedspray",
    "the network stays with its client, and the norm is of the modules that are sent in place of \
     it",
)];

/// Fails unless the norms of updates are those that the rounds recorded, participant by
/// participant.
fn assert_recorded_norms(trust: &Trust, records: &[Vec<ClientRecord>], what: &str) {
    for (round, records) in trust.rounds.iter().zip(records) {
        let participants: Vec<usize> = round.clients.iter().map(|client| client.client).collect();
        assert_eq!(
            participants,
            records.iter().map(|record| record.client).collect::<Vec<_>>(),
            "{what}"
        );
        for (client, record) in round.clients.iter().zip(records) {
            let (found, expected) = (client.norm, record.update_norm);
            assert!(
                (found - expected).abs() <= 1e-6 * expected,
                "{what}, round {}: {found}, {expected}",
                round.round
            );
        }
    }
}

/// Methods that deploy other models than they send, add rounds, or generate nodes: no
/// result changes, every update is the one that was made, and every number is finite.
#[test]
fn every_method_can_be_watched() {
    let small = Small::new();
    let federated = METHODS.iter().filter(|method| method.layout == Layout::Federated);
    let mut setups: Vec<Setup> =
        federated.map(|method| setup(method.name, method.boosts, 1.0)).collect();
    setups.iter_mut().for_each(|setup| setup.methods = short());
    let mut mixture = setups.iter().find(|setup| setup.method.name == "fairfgl").unwrap().clone();
    mixture.methods.fairfgl.evaluate = EvaluatedWeights::Mixture;
    setups.push(mixture);
    for (setup, participation) in setups.iter().flat_map(|setup| [(setup, 1.0), (setup, 0.5)]) {
        let mut setup = setup.clone();
        setup.protocol.participation = participation;
        let (name, what) = (setup.method.name, format!("{} at {participation}", setup.method.name));
        let federation = Federation::new(setup.clone(), small.data()).unwrap();
        let rounds = federation.rounds();
        let plain = federation.run(&mut []).unwrap();
        let (outcome, found, records) = small.recorded(&setup, 2);
        assert!(bits(&outcome.models) == bits(&plain.models), "{what}: the models differ");
        assert!(outcome.predictions == plain.predictions, "{what}: the predictions differ");
        // What is no number would be written as null, and only an absent value may be.
        let copy: Diagnosis =
            serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
        assert_eq!(copy, found, "{what}");
        // Rounds that a method adds are not inspected; their predictions count.
        let (trust, epr) = (found.trust.unwrap(), found.epr.unwrap());
        assert_eq!(
            (trust.rounds.len(), found.gsd.unwrap().rounds.len(), epr.round),
            (ROUNDS, ROUNDS, ROUNDS),
            "{what}"
        );
        assert_eq!((records.len(), found.khop.unwrap().round), (rounds, rounds), "{what}");
        // Of these the network stays with its client.
        let shares = !["isolated", "fedproto", "fedspray"].contains(&name);
        assert!(
            found.dilution.unwrap().rounds.iter().all(|round| round.dr.is_some() == shares),
            "{what}"
        );
        if OTHER_NORMS.iter().all(|(other, _)| *other != name) {
            assert_recorded_norms(&trust, &records, &what);
        }
    }
}

/// Counts participants and absent clients.
#[derive(Default)]
struct Looking {
    took: usize,
    sat_out: usize,
}

impl Observer<f32> for Looking {
    fn inspects(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspection: &Inspection<'_, f32>) {
        for client in &inspection.clients {
            let plain = std::ptr::eq(client.propagation, client.data.inputs().propagation());
            let took = client.trained.is_some();
            assert_eq!(
                (client.node_weights.is_some(), !plain),
                (took, took),
                "round {}",
                inspection.round
            );
            *(if took { &mut self.took } else { &mut self.sat_out }) += 1;
        }
    }

    fn round(&mut self, _: &RoundRecord<'_>) -> ObserverResult {
        Ok(())
    }
}

#[test]
fn an_absent_client_has_no_weights_of_an_earlier_round() {
    let mut looking = Looking::default();
    let setup = setup("boostfgl", &Boost::ALL, 0.5);
    Federation::new(setup, Small::new().data()).unwrap().run(&mut [&mut looking]).unwrap();
    assert_eq!((looking.took, looking.sat_out), (2 * ROUNDS, (CLIENTS - 2) * ROUNDS));
}

#[test]
fn findings_are_consistent() {
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
            let (nodes, missed) =
                curve.hops.iter().fold((0, 0), |(n, e), hop| (n + hop.nodes, e + hop.errors));
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
                // Relative: where no update helps, DR is a number over ε.
                assert!((round.dr.unwrap() / round.dr_size.unwrap() - 1.0).abs() < 1e-9, "{what}");
            }
            for (client, trusted) in
                round.clients.iter().zip(&trusted.clients).filter(|_| what == "boostfgl")
            {
                assert!(trusted.gap.is_some(), "{what}");
                assert!((client.weight.unwrap() - trusted.weight).abs() < 1e-9, "{what}");
            }
        }
        assert_eq!(
            attribution.minority.nodes + attribution.majority.nodes,
            small.counts.iter().sum::<usize>()
        );
        assert!(attribution.share_of_decrease.is_some(), "{what}");
        assert_eq!(found.hardness.unwrap().clients.len(), CLIENTS, "{what}");
    }
}

/// After one small step of FedAvg, Σ wₖ ⟨Δθₖ, g_min⟩ is what the mean loss of the minority falls
/// by, to first order: projections have the right sign and scale.
#[test]
fn a_projection_is_the_fall_of_the_minoritys_loss() {
    let small = Small::new();
    let mut setup = setup("fedavg", &[], 1.0);
    setup.protocol.rounds = 1;
    setup.optimizer.learning_rate = 1e-4;
    let (_, found) = small.watched(&setup, 1);
    let (attribution, dilution) = (found.attribution.unwrap(), found.dilution.unwrap());
    let aggregated: f64 = dilution.rounds[0]
        .clients
        .iter()
        .map(|client| client.weight.unwrap() * client.whole.projection)
        .sum();
    let fall = attribution.minority.decrease() / attribution.minority.nodes as f64;
    assert!((aggregated / fall - 1.0).abs() < 0.02, "{aggregated} promised, {fall} found");
}
