//! Clients that fail or are slow in a round. In one process such faults have to be injected.

use super::*;
use crate::attack::Kind;
use crate::boost::model::Config as ModelBoostConfig;
use crate::boost::topology::ScoringPropagation;
use crate::boost::{Boost, BoostConfig};
use crate::client_rule::ClientContext;
use crate::client_rule::{StateContext, TrainingHooks, default_hooks};
use crate::config::{Model, Optimizer as OptimizerConfig, OptimizerKind, Protocol};
use crate::methods::{self, Layout, METHODS, MethodConfigs, SenderFacts};
use crate::{Error, Event, Federation, Message, Setup};
use boostfgl_graph::Graph;
use boostfgl_graph::generator::{FeatureSpec, Spec, generate, preset};
use boostfgl_nn::StateVisitor;
use boostfgl_partition::{Louvain, Partition, SplitRule};

const CLIENTS: usize = 4;

fn graph() -> Graph {
    let features = FeatureSpec::Sparse { columns: 40, per_node: 6, signal: 0.6 };
    let demo = preset("demo").unwrap().spec;
    let spec = Spec {
        nodes: 200,
        edges: 500,
        classes: 3,
        communities: 3,
        pocket_size: 12,
        max_degree: 30,
        ..demo
    };
    generate("small", &Spec { features, ..spec }, 1, &mut |_, _| {}).unwrap()
}

fn federation(method: &str, boosts: &[Boost], change: impl Fn(&mut Setup)) -> Federation<f32> {
    let adafgl = methods::adafgl::Config { personal_epochs: 2, ..Default::default() };
    let fedsage_plus =
        methods::fedsage_plus::Config { gen_epochs: 2, hidden: 8, latent: 8, ..Default::default() };
    let mut setup = Setup {
        seed: 5,
        method: methods::find(method).unwrap(),
        boosts: boosts.to_vec(),
        protocol: Protocol { rounds: 4, epochs: 3, ..Protocol::default() },
        model: Model { hidden: 8, ..Model::default() },
        optimizer: OptimizerConfig::default(),
        boost: BoostConfig {
            model: ModelBoostConfig { minority_ratio: 0.3, ..Default::default() },
            ..Default::default()
        },
        methods: MethodConfigs { adafgl, fedsage_plus, ..MethodConfigs::default() },
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
        transport: Default::default(),
        loss: Default::default(),
        evaluation: String::new(),
        probabilities: false,
    };
    change(&mut setup);
    let graph = graph();
    let partition =
        Partition::draw(&graph, &Louvain::default(), CLIENTS, &SplitRule::default(), 0).unwrap();
    let data = partition.client_graphs(&graph).iter().map(LocalData::new).collect();
    Federation::new(setup, data).unwrap()
}

/// The refused clients of the next round with the kinds of reasons, and the number of used updates.
fn round(federation: &mut Federation<f32>) -> (Vec<(usize, &'static str)>, usize) {
    loop {
        federation.exchange().unwrap();
        if let Some(Event::Round(report)) = federation.server.event() {
            let refused = report.refused.iter().map(|r| (r.client, r.reason.kind())).collect();
            return (refused, report.clients.len());
        }
    }
}

/// One client overflows in the second round, whatever its method trains, and takes part again in
/// the third.
#[test]
fn a_client_that_overflows_once_rejoins() {
    for method in METHODS.iter().filter(|method| method.layout == Layout::Federated) {
        let all: Vec<Boost> =
            Boost::ALL.into_iter().filter(|&boost| (method.refuses)(boost).is_none()).collect();
        for (boosts, scoring) in [
            (&[][..], ScoringPropagation::Plain),
            (&all, ScoringPropagation::Plain),
            (&all, ScoringPropagation::Boosted),
        ] {
            let what = format!("{} with {boosts:?}, {scoring:?}", method.name);
            let score = |setup: &mut Setup| setup.boost.topology.scoring_propagation = scoring;
            let mut federation = federation(method.name, boosts, score);
            assert_eq!(round(&mut federation), (vec![], CLIENTS), "{what}");
            let wild = OptimizerConfig {
                optimizer: OptimizerKind::Sgd,
                learning_rate: 1e39,
                ..Default::default()
            };
            let tame =
                std::mem::replace(&mut federation.clients[2].trainer_mut().optimizer, wild.build());
            assert_eq!(round(&mut federation), (vec![(2, "failed")], CLIENTS - 1), "{what}");
            federation.clients[2].trainer_mut().optimizer = tame;
            for number in 3..=federation.rounds() {
                assert_eq!(round(&mut federation), (vec![], CLIENTS), "{what}, round {number}");
            }
            assert!(
                federation.clients.iter().all(|client| client.trainer().local().is_finite()),
                "{what}"
            );
        }
    }
}

/// SCAFFOLD's c is the mean of all cₖ only if a client whose change was not used returns to its
/// earlier cₖ.
#[test]
fn a_control_variate_that_was_not_used_is_reverted() {
    for control in [methods::scaffold::Control::Gradient, methods::scaffold::Control::Difference] {
        let mut federation = federation("scaffold", &[], |setup| {
            setup.attack.kind = Kind::WrongRound;
            setup.methods.scaffold.control = control;
        });
        let state = |federation: &mut Federation<f32>, k: usize| {
            let Trainer { rule, workspace, local, .. } = federation.clients[k].trainer_mut();
            let data = &workspace.data;
            let mut bytes = Vec::new();
            let context = StateContext { data, local, seed: 5 };
            rule.visit(&context, &mut StateVisitor::saving(&mut bytes)).unwrap();
            bytes
        };
        round(&mut federation);
        let [honest, attacker] = [0, 3].map(|k| state(&mut federation, k));
        assert_eq!(round(&mut federation).0, [(3, "wrong-round")]);
        assert!(
            state(&mut federation, 3) == attacker && state(&mut federation, 0) != honest,
            "{control:?}"
        );
    }
}

/// Updates that are finite one by one may overflow when they are combined: the error has the round.
#[test]
fn a_server_that_overflows_is_an_error_with_the_round() {
    for method in ["fedavg", "scaffold", "fedsage-plus"] {
        let mut federation = federation(method, &[], |setup| {
            (setup.attack.kind, setup.screen.enabled) = (Kind::Nan, false);
        });
        // The screen was made while it was disabled, and still accepts everything.
        federation.server.screening = true;
        let mut training = federation.begin(&mut []).unwrap();
        match training.step(&mut []) {
            Err(error @ Error::ServerDiverged { round: 1 }) => assert!(!error.advice().is_empty()),
            Err(other) => panic!("{method}: {other}"),
            Ok(_) => panic!("{method} continues with NaN"),
        }
    }
}

/// Numbers that give a client weight are bounded by its enrolment: 10 training nodes, 40 nodes and
/// arcs.
#[test]
fn a_client_cannot_claim_more_than_it_was_enrolled_with() {
    let misfit = |method: &str, numbers: &[f64]| {
        let federation = federation(method, &[], |_| {});
        let message = Message::numbers(numbers.to_vec());
        let facts =
            SenderFacts { client: 0, done: 0, labelled: 10.0, reach: 40.0, message: &message };
        federation.server.rule.form(&facts).misfit(true, &message).map(|reason| reason.to_string())
    };
    assert_eq!(
        [misfit("fedtad", &[10.0, 0.0, 0.0]), misfit("fedtad", &[3.0, 3.5, 3.5])],
        [None, None]
    );
    let range = misfit("fedtad", &[-1.0, 0.0, 0.0]).unwrap();
    assert!(range.starts_with("expected a reliability of a class from 0 to 10.0"), "{range}");
    let sum = misfit("fedtad", &[4.0; 3]).unwrap();
    assert!(sum.starts_with("expected reliabilities whose sum is from 0 to 10.0"), "{sum}");
    assert_eq!(misfit("fairfed", &[2.0, 4.0, 0.0, 6.0]), None);
    let sum = "expected two groups of nodes whose sum is 10, found 9";
    assert_eq!(misfit("fairfed", &[2.0, 4.0, 0.0, 5.0]).as_deref(), Some(sum));
    let hits = "expected at most as many hits as there are nodes in the group, 4, found 5";
    assert_eq!(misfit("fairfed", &[5.0, 4.0, 0.0, 6.0]).as_deref(), Some(hits));
    // 60 moments, and a confidence of at most 40 · 3/e = 44.1.
    let confidence = |x: f64| misfit("fedgta", &[vec![0.0; 60], vec![x]].concat());
    assert_eq!([confidence(44.1).is_none(), confidence(44.3).is_none()], [true, false]);
}

/// A state of another shape is refused where no other check would find it.
#[test]
fn prototypes_of_another_width_are_not_restored() {
    let mut narrow = federation("fedproto", &[], |_| {});
    round(&mut narrow);
    let mut bytes = Vec::new();
    narrow.server.rule.visit(&mut StateVisitor::saving(&mut bytes)).unwrap();
    assert!(
        federation("fedproto", &[], |_| {})
            .server
            .rule
            .visit(&mut StateVisitor::restoring(&bytes))
            .is_ok()
    );
    let mut wide = federation("fedproto", &[], |setup| setup.model.hidden = 16);
    let error =
        wide.server.rule.visit(&mut StateVisitor::restoring(&bytes)).unwrap_err().to_string();
    assert!(error.contains("(3, 16)") && error.contains("(3, 8)"), "{error}");
}

/// A client that waits for threads and meanwhile runs other tasks, as parallel kernels do.
struct Waiting;

default_hooks!(Waiting: PreparationHooks, PersonalModel, RuleState);

impl<T: Real> TrainingHooks<T> for Waiting {
    fn begin(&mut self, _: &ClientContext<'_, T>, _: Option<&Message<T>>) -> Result<()> {
        while rayon::yield_now() == Some(rayon::Yield::Executed) {}
        Ok(())
    }
}

/// A client that takes two seconds.
struct Sleeping;

default_hooks!(Sleeping: PreparationHooks, PersonalModel, RuleState);

impl<T: Real> TrainingHooks<T> for Sleeping {
    fn begin(&mut self, _: &ClientContext<'_, T>, _: Option<&Message<T>>) -> Result<()> {
        std::thread::sleep(std::time::Duration::from_millis(2_000));
        Ok(())
    }
}

/// Under a deadline the time of one client does not count for another: the slow one is late, the
/// one that waits at the same time is not.
#[test]
fn only_the_client_that_is_slow_is_late() {
    let mut federation =
        federation("fedavg", &[], |setup| setup.screen.deadline_seconds = Some(1.0));
    federation.clients[0].trainer_mut().rule = Box::new(Waiting);
    federation.clients[3].trainer_mut().rule = Box::new(Sleeping);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one.install(|| round(&mut federation)), (vec![(3, "late")], CLIENTS - 1));
}
