//! The propagation of the pass that scores nodes and edges (`boost.topology.scoring_propagation`).

use crate::small::*;
use boostfgl_fed::boost::topology::ScoringPropagation;
use boostfgl_fed::boost::{Boost, Difficulty, TopologyBoost};
use boostfgl_fed::{Federation, Inspection, Observer, ObserverResult, RoundRecord, Setup};
use boostfgl_nn::backbones::Pass;
use boostfgl_nn::{Params, Pool, Propagation, View, softmax_rows};

fn boosted(method: &str) -> Setup {
    let mut setup = setup(method, &Boost::ALL);
    setup.boost.topology.scoring_propagation = ScoringPropagation::Boosted;
    // Strong enough to matter in three rounds.
    (setup.boost.topology.lambda_e, setup.boost.node.mu) = (3.0, 0.5);
    setup
}

/// The model that client 0 starts each round from, and the messages it trains with.
#[derive(Default)]
struct Seen(Vec<(Params<f64>, Propagation<f64>)>);

impl Observer<f64> for Seen {
    fn inspects(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspection: &Inspection<'_, f64>) {
        let client = &inspection.clients[0];
        self.0.push((client.received.clone(), client.propagation.clone()));
    }

    fn round(&mut self, _: &RoundRecord<'_>) -> ObserverResult {
        Ok(())
    }
}

fn watched(setup: &Setup) -> Vec<(Params<f64>, Propagation<f64>)> {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut seen = Seen::default();
    let federation =
        Federation::new(setup.clone(), data(setup.method.name, &graph, &partition)).unwrap();
    federation.run(&mut [&mut seen]).unwrap();
    seen.0
}

/// β of every round, computed step by step: the first scoring pass is plain, each further one uses
/// the previous β.
#[test]
fn each_round_is_scored_with_the_propagation_of_the_previous_one() {
    let setup = boosted("boostfgl");
    let seen = watched(&setup);
    let graph = graph(WORDS);
    let data = data::<f64>("boostfgl", &graph, &partition(&graph)).swap_remove(0);
    let architecture = boostfgl_nn::backbones::Architecture {
        inputs: graph.features().columns(),
        hidden: HIDDEN,
        classes: CLASSES,
        layers: setup.model.layers,
    };
    let net = boostfgl_nn::backbones::build::<f64>("gcn", architecture).unwrap();
    let (plain, pool) = (data.inputs().propagation(), Pool::new());
    let label = |v: usize| data.training_label(v);
    let mut difficulty = Difficulty::new(data.len(), setup.boost.node.mu);
    let mut view = View::whole(data.inputs(), net.plan());
    for (round, (start, found)) in (1..).zip(&seen) {
        let mut probabilities = Pass::new(&*net, &view, &pool).logits(start);
        softmax_rows(&mut probabilities);
        difficulty.update(&probabilities, label);
        let heterophily = TopologyBoost::heterophily(data.adjacency(), &probabilities, label);
        let topology = TopologyBoost::new(&setup.boost.topology);
        let expected =
            topology.propagation(data.adjacency(), plain, &heterophily, difficulty.mean());
        let apart =
            expected.csr().values().iter().zip(found.csr().values()).map(|(a, b)| (a - b).abs());
        assert!(apart.fold(0.0, f64::max) < 1e-12, "round {round}");
        view.set_propagation(found);
    }
    let mut other = setup;
    other.boost.topology.scoring_propagation = ScoringPropagation::Plain;
    let other = watched(&other);
    assert!(seen[0].1 == other[0].1, "no β comes before the first round");
    assert!(seen[1].1 != other[1].1, "the key has an effect");
}

/// With strength 0 β is the plain operator.
#[test]
fn without_strength_both_scoring_propagations_agree() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let mut setup = boosted("boostfgl");
    setup.boost.topology.lambda_e = 0.0;
    let outcome_of = |setup: &Setup| run::<f32>(setup, data("boostfgl", &graph, &partition));
    let scored = outcome_of(&setup);
    setup.boost.topology.scoring_propagation = ScoringPropagation::Plain;
    assert_same(&scored, &outcome_of(&setup), "strength 0");
}

/// Evaluation between rounds scores the model early, with the same propagation.
#[test]
fn evaluation_in_between_changes_nothing() {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for method in ["boostfgl", "fedgta", "fedsage-plus"] {
        let mut setup = boosted(method);
        (setup.protocol.rounds, setup.protocol.participation) = (5, 0.5);
        let outcome_of = |setup: &Setup| run::<f32>(setup, data(method, &graph, &partition));
        let often = outcome_of(&setup);
        setup.protocol.eval_every = 5;
        assert_same(&often, &outcome_of(&setup), method);
    }
}
