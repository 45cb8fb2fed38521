//! Boosts that no file of the library names: they are added by value and take part in a round.

use crate::small::{CLIENTS, WORDS, assert_same, bits, data, graph, partition, run, setup};
use boostfgl_fed::boost::{
    Boost, BoostConfig, BoostContext, BoostInfo, BoostPlugin, ClientBoost, Evidence, Place,
    ScoredNodes, ServerBoost,
};
use boostfgl_fed::{
    ClientRecord, Federation, Inspection, LocalData, Observer, ObserverResult, Outcome, Registry,
    Result, RoundRecord, Setup,
};
use boostfgl_nn::{Real, StateVisitor};

/// Multiplies the weight of training nodes of one class.
#[derive(Clone, Copy)]
struct HeavyClass {
    class: u32,
    factor: f64,
}

impl<T: Real> BoostPlugin<T> for HeavyClass {
    fn info(&self) -> BoostInfo {
        BoostInfo {
            name: "heavy-class",
            meaning: "client: nodes of one class weigh more in the local loss",
            acts: &[Place::Loss],
        }
    }

    fn client(&self, _: &BoostContext<'_, T>) -> Option<Box<dyn ClientBoost<T>>> {
        Some(Box::new(*self))
    }
}

impl<T: Real> ClientBoost<T> for HeavyClass {
    fn node_weights(&self, nodes: &ScoredNodes<'_, T>) -> Option<Vec<T>> {
        let weight = |&v: &u32| match nodes.data.training_label(v as usize) {
            Some(class) if class == self.class => T::of(self.factor),
            _ => T::ONE,
        };
        Some(nodes.data.training().iter().map(weight).collect())
    }
}

/// Multiplies the weight of one client's updates. The factor is state, so that it is saved.
struct Fading {
    client: usize,
    factor: f64,
}

impl<T: Real> BoostPlugin<T> for Fading {
    fn info(&self) -> BoostInfo {
        BoostInfo {
            name: "fading",
            meaning: "server: the weight of one client is multiplied by a number",
            acts: &[Place::Aggregation],
        }
    }

    fn server(&self, _: &BoostConfig) -> Option<Box<dyn ServerBoost<T>>> {
        Some(Box::new(Self { ..*self }))
    }
}

impl<T: Real> ServerBoost<T> for Fading {
    fn client_weights(
        &self,
        evidence: &Evidence<'_, T>,
        _tensor: Option<usize>,
        base: &[f64],
    ) -> Result<Vec<f64>> {
        let weigh = |(update, &base): (&boostfgl_fed::Contribution<'_, T>, &f64)| {
            if update.client == self.client { base * self.factor } else { base }
        };
        Ok(evidence.updates().iter().zip(base).map(weigh).collect())
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("fading factor", &mut self.factor)
    }
}

/// What an observer saw in all rounds.
#[derive(Default)]
struct Watcher {
    /// Node weights and labels of the training nodes of every client.
    node_weights: Vec<Vec<(Option<u32>, f64)>>,
    records: Vec<ClientRecord>,
}

impl Observer<f32> for Watcher {
    fn inspects(&self) -> bool {
        true
    }

    fn inspect(&mut self, inspection: &Inspection<'_, f32>) {
        for client in &inspection.clients {
            let labels =
                client.data.training().iter().map(|&v| client.data.training_label(v as usize));
            let weights = client.node_weights.unwrap_or_default().iter().map(|w| f64::from(*w));
            self.node_weights.push(labels.zip(weights).collect());
        }
    }

    fn round(&mut self, record: &RoundRecord<'_>) -> ObserverResult {
        self.records.extend_from_slice(record.clients);
        Ok(())
    }
}

fn clients(setup: &Setup) -> Vec<LocalData<f32>> {
    let graph = graph(WORDS);
    data(setup.method.name, &graph, &partition(&graph))
}

fn boosted(setup: &Setup, registry: &Registry<f32>) -> (Outcome<f32>, Watcher) {
    let mut watcher = Watcher::default();
    let federation = Federation::with_registry(setup.clone(), clients(setup), registry).unwrap();
    let outcome = federation.run(&mut [&mut watcher]).unwrap();
    (outcome, watcher)
}

fn heavy(factor: f64) -> Registry<f32> {
    Registry::builtin().with_boost(HeavyClass { class: 1, factor })
}

fn fading(factor: f64) -> Registry<f32> {
    Registry::builtin().with_boost(Fading { client: 2, factor })
}

#[test]
fn an_added_client_boost_weighs_nodes_in_every_round() {
    let setup = setup("fedavg", &[]);
    let (outcome, watcher) = boosted(&setup, &heavy(2.0));
    assert_eq!(watcher.node_weights.len(), CLIENTS * setup.protocol.rounds);
    for (label, weight) in watcher.node_weights.iter().flatten() {
        assert_eq!(*weight, if *label == Some(1) { 2.0 } else { 1.0 });
    }
    assert!(watcher.node_weights.iter().flatten().any(|(_, weight)| *weight == 2.0));
    let plain = run(&setup, clients(&setup));
    assert!(bits(&outcome.models) != bits(&plain.models), "the weights have no effect");
}

/// α of node boosting is at least 1, so a class that weighs 0 has weight 0 under both.
#[test]
fn node_weights_of_several_boosts_are_multiplied() {
    let (_, alone) = boosted(&setup("fedavg", &[Boost::Node]), &Registry::builtin());
    let (_, both) = boosted(&setup("fedavg", &[Boost::Node]), &heavy(0.0));
    for (alone, both) in alone.node_weights[..CLIENTS].iter().zip(&both.node_weights) {
        for ((label, alone), (_, both)) in alone.iter().zip(both) {
            assert_eq!(*both, if *label == Some(1) { 0.0 } else { *alone });
        }
    }
}

#[test]
fn an_added_server_boost_can_silence_a_client() {
    let setup = setup("fedavg", &[]);
    let (outcome, watcher) = boosted(&setup, &fading(0.0));
    for record in &watcher.records {
        assert_eq!(record.weight == Some(0.0), record.client == 2, "{record:?}");
    }
    let plain = run(&setup, clients(&setup));
    assert!(bits(&outcome.models) != bits(&plain.models), "the weights have no effect");
    assert_eq!(outcome.bytes_up, plain.bytes_up, "a server boost sends nothing");
}

#[test]
fn an_added_boost_of_strength_0_is_the_base_method_to_the_bit() {
    for method in ["fedavg", "fedgta", "boostfgl"] {
        let boosts: &[Boost] = if method == "boostfgl" { &Boost::ALL } else { &[] };
        let setup = setup(method, boosts);
        let plain = run(&setup, clients(&setup));
        assert_same(&boosted(&setup, &heavy(1.0)).0, &plain, &format!("{method} + heavy-class"));
        assert_same(&boosted(&setup, &fading(1.0)).0, &plain, &format!("{method} + fading"));
    }
}

/// The state of an added boost is saved: a federation with another factor restores this one.
#[test]
fn a_run_with_an_added_boost_resumes_to_the_same_bits() {
    let setup = setup("fedavg", &[]);
    let (expected, _) = boosted(&setup, &fading(0.25));
    let federation = |factor| {
        Federation::with_registry(setup.clone(), clients(&setup), &fading(factor)).unwrap()
    };
    let mut training = federation(0.25).begin(&mut []).unwrap();
    training.step(&mut []).unwrap();
    let mut bytes = Vec::new();
    training.visit(&mut StateVisitor::saving(&mut bytes)).unwrap();
    let mut resumed =
        federation(1.0).resume(&mut StateVisitor::restoring(&bytes), &mut []).unwrap();
    while !resumed.is_over() {
        resumed.step(&mut []).unwrap();
    }
    assert_same(&resumed.finish(), &expected, "resumed after round 1");
}

#[test]
fn a_registry_lists_built_in_boosts_first() {
    let names: Vec<&str> = heavy(1.0).boosts().map(|info| info.name).collect();
    assert_eq!(names, ["node", "topology", "model", "heavy-class"]);
}
