//! A method with sets of boosts, in a registry.

use crate::properties::{PROPERTIES, Property};
use crate::runs::{self, Round};
use crate::small;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::methods::MethodInfo;
use boostfgl_fed::{LocalData, Outcome, Registry, Setup};
use boostfgl_graph::Graph;
use boostfgl_partition::Partition;

/// A method with sets of boosts, in a registry. Boosts that were added to the registry are on in
/// every run.
pub struct Suite<'a> {
    pub(crate) registry: &'a Registry<f32>,
    pub(crate) method: &'static MethodInfo,
    cases: Vec<Case>,
    /// A registry whose added boosts have strength 0, and one without them.
    pub(crate) zero: Option<[&'a Registry<f32>; 2]>,
    pub(crate) has_no_effect: fn(&Setup) -> bool,
    pub(crate) also: &'a Also<'a>,
}

/// A further check of the runs on unusual data.
pub type Also<'a> = dyn Fn(&Setup, &Outcome<f32>, &[Round]) + Sync + 'a;

/// The settings of some runs, and what they are called in messages.
#[derive(Clone)]
pub struct Case {
    /// The settings; a property changes those that it is about.
    pub setup: Setup,
    /// The method and its boosts.
    pub what: String,
}

impl<'a> Suite<'a> {
    /// The method alone, with each built-in boost alone, and with all of them, as far as it accepts
    /// them.
    pub fn new(registry: &'a Registry<f32>, method: &'static MethodInfo) -> Self {
        let suite = Self {
            registry,
            method,
            cases: Vec::new(),
            zero: None,
            has_no_effect: |_| false,
            also: &|_, _, _| {},
        };
        let alone = Boost::ALL.into_iter().map(|boost| vec![boost]);
        let sets = std::iter::once(Vec::new()).chain(alone).chain([Boost::ALL.to_vec()]);
        suite.boosts(&sets.collect::<Vec<_>>())
    }

    /// With these sets of built-in boosts in place of the usual ones. Sets with a boost that the
    /// method refuses are left out.
    #[must_use]
    pub fn boosts(mut self, sets: &[Vec<Boost>]) -> Self {
        let accepts = |boost: &Boost| (self.method.refuses)(*boost).is_none();
        let accepted = sets.iter().filter(|boosts| boosts.iter().all(accepts));
        self.cases = accepted
            .map(|boosts| Case {
                setup: small::setup(self.method, boosts),
                what: format!("{} with {boosts:?}", self.method.name),
            })
            .collect();
        self
    }

    /// With one more case.
    #[must_use]
    pub fn with_case(mut self, setup: Setup, what: impl Into<String>) -> Self {
        self.cases.push(Case { setup, what: what.into() });
        self
    }

    /// Also checks strength 0 of the added boosts: `off` has them with strength 0, and must give the
    /// same bits as `without`, which does not have them. Strength 0 of the built-in boosts is always
    /// checked.
    #[must_use]
    pub fn strength_zero(mut self, off: &'a Registry<f32>, without: &'a Registry<f32>) -> Self {
        self.zero = Some([off, without]);
        self
    }

    /// The settings under which the boosts of a case have no effect on this method at any strength.
    /// Elsewhere strength 0 is only accepted if the usual strength gives another model.
    #[must_use]
    pub fn without_effect_under(mut self, has_no_effect: fn(&Setup) -> bool) -> Self {
        self.has_no_effect = has_no_effect;
        self
    }

    /// With a further check of the runs on unusual data.
    #[must_use]
    pub fn also(mut self, also: &'a Also<'a>) -> Self {
        self.also = also;
        self
    }

    /// Checks every property.
    ///
    /// # Panics
    /// If one does not hold: with its name, the method and the boosts.
    pub fn check(&self) {
        PROPERTIES.iter().for_each(|property| self.check_one(property));
    }

    /// Checks one property.
    ///
    /// # Panics
    /// If it does not hold.
    pub fn check_one(&self, property: &Property) {
        println!("{}: {}", self.method.name, property.name);
        (property.check)(&self.about(property.name));
    }

    /// The same suite, whose messages start with the name of a property.
    fn about(&self, property: &str) -> Self {
        let named = |case: &Case| Case {
            setup: case.setup.clone(),
            what: format!("{property}: {}", case.what),
        };
        Self { cases: self.cases.iter().map(named).collect(), ..*self }
    }

    /// The method with each set of boosts.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// All built-in boosts that the method accepts.
    pub fn accepted(&self) -> Vec<Boost> {
        Boost::ALL.into_iter().filter(|&boost| (self.method.refuses)(boost).is_none()).collect()
    }

    /// The data of the method's clients.
    pub fn data(&self, graph: &Graph, partition: &Partition) -> Vec<LocalData<f32>> {
        small::data(self.method, graph, partition)
    }

    /// A run.
    pub(crate) fn run(&self, setup: &Setup, graph: &Graph, partition: &Partition) -> Outcome<f32> {
        runs::run(setup, self.data(graph, partition), self.registry)
    }

    /// A run with what an observer received.
    pub(crate) fn watch(
        &self,
        setup: &Setup,
        graph: &Graph,
        partition: &Partition,
    ) -> (Outcome<f32>, Vec<Round>) {
        runs::watch(setup, self.data(graph, partition), self.registry)
    }
}
