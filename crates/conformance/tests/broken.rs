//! Methods and boosts that break a promise fail the suite, with the name of the property.

use boostfgl_conformance::{Suite, properties};
use boostfgl_fed::boost::{BoostContext, BoostInfo, BoostPlugin, ClientBoost, Place, ScoredNodes};
use boostfgl_fed::methods::{MethodContext, MethodInfo, MethodPlugin, Round, ServerRule};
use boostfgl_fed::{
    ClientRule, Combination, Contribution, LocalData, Model, Registry, Result, default_hooks,
};
use boostfgl_nn::{Params, StateVisitor};

/// What is wrong with a method.
#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    None,
    /// State of the server is not saved.
    ForgetsState,
    /// The model depends on the number of threads.
    CountsThreads,
}

static INFO: MethodInfo = MethodInfo { name: "broken", ..MethodInfo::PLAIN };

impl MethodPlugin<f32> for Flaw {
    fn info(&self) -> &'static MethodInfo {
        &INFO
    }

    fn server(&self, context: &MethodContext<'_, f32>) -> Box<dyn ServerRule<f32>> {
        Box::new(Server { flaw: *self, global: Model::new(0, context.initial.clone()), rounds: 0 })
    }

    fn client(&self, _: &MethodContext<'_, f32>, _: &LocalData<f32>) -> Box<dyn ClientRule<f32>> {
        Box::new(Client)
    }
}

struct Client;

default_hooks!(Client: PreparationHooks, TrainingHooks, PersonalModel, RuleState);

/// The mean of models, shrunk by a factor that follows from the number of rounds.
struct Server {
    flaw: Flaw,
    global: Model<f32>,
    rounds: usize,
}

impl ServerRule<f32> for Server {
    fn start(&self, _: usize) -> Option<&Model<f32>> {
        Some(&self.global)
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, f32>],
        round: &Round<'_, f32>,
    ) -> Result<Option<Combination>> {
        let combination = Combination::new(updates, &vec![1.0; updates.len()], round.boost)?;
        self.rounds += match self.flaw {
            Flaw::CountsThreads => rayon::current_num_threads(),
            Flaw::None | Flaw::ForgetsState => 1,
        };
        let global = self.global.edit();
        let combination = combination.combine(updates, round.aggregation, global)?;
        let factor = 1.0 - 0.01 * self.rounds as f32;
        let tensors = global.tensors_mut().iter_mut();
        tensors.for_each(|tensor| tensor.data_mut().iter_mut().for_each(|x| *x *= factor));
        Ok(Some(combination))
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        if self.flaw != Flaw::ForgetsState {
            visitor.visit("rounds", &mut self.rounds)?;
        }
        visitor.visit("global", &mut self.global)
    }

    fn models(&self) -> Vec<&Params<f32>> {
        vec![&self.global]
    }
}

/// Checks a property of the method with this flaw.
fn check(flaw: Flaw, property: &str) {
    let registry = Registry::builtin().with_method(flaw);
    let suite = Suite::new(&registry, &INFO).boosts(&[vec![]]);
    suite.check_one(properties::find(property));
}

#[test]
fn a_method_without_a_flaw_passes() {
    check(Flaw::None, "a stopped run ends with the same bits");
    check(Flaw::None, "same bits on any number of threads");
}

#[test]
#[should_panic(expected = "a stopped run ends with the same bits: broken with []")]
fn a_method_that_forgets_state_is_found() {
    check(Flaw::ForgetsState, "a stopped run ends with the same bits");
}

#[test]
#[should_panic(expected = "both machines resume to the same digest: broken with []")]
fn a_method_that_forgets_state_is_found_on_two_machines() {
    check(Flaw::ForgetsState, "both machines resume to the same digest");
}

#[test]
#[should_panic(expected = "same bits on any number of threads: broken with [], 2 threads")]
fn a_method_that_counts_threads_is_found() {
    check(Flaw::CountsThreads, "same bits on any number of threads");
}

/// The first training node weighs 1 + strength + offset.
struct Weights {
    strength: f64,
    offset: f64,
}

impl BoostPlugin<f32> for Weights {
    fn info(&self) -> BoostInfo {
        let meaning = "client: the first training node weighs more";
        BoostInfo { name: "weights", meaning, acts: &[Place::Loss] }
    }

    fn client(&self, _: &BoostContext<'_, f32>) -> Option<Box<dyn ClientBoost<f32>>> {
        Some(Box::new(Self { ..*self }))
    }
}

impl ClientBoost<f32> for Weights {
    fn node_weights(&self, nodes: &ScoredNodes<'_, f32>) -> Option<Vec<f32>> {
        let mut weights = vec![1.0; nodes.data.training().len()];
        weights.iter_mut().take(1).for_each(|w| *w += (self.strength + self.offset) as f32);
        Some(weights)
    }
}

/// Checks strength 0 of a boost on FedAvg.
fn check_boost(strength: f64, offset: f64) {
    let [on, off] = [strength, 0.0]
        .map(|strength| Registry::builtin().with_boost(Weights { strength, offset }));
    let without = Registry::builtin();
    let fedavg = on.method("fedavg").unwrap();
    let suite = Suite::new(&on, fedavg).boosts(&[vec![]]).strength_zero(&off, &without);
    suite.check_one(properties::find("strength 0 is the base method"));
}

#[test]
fn a_boost_that_is_off_at_strength_0_passes() {
    check_boost(1.0, 0.0);
}

#[test]
#[should_panic(expected = "added boosts: the models differ")]
fn a_boost_with_an_effect_at_strength_0_is_found() {
    check_boost(1.0, 0.5);
}

#[test]
#[should_panic(expected = "added boosts: they have no effect")]
fn a_boost_without_effect_is_found() {
    check_boost(0.0, 0.0);
}
