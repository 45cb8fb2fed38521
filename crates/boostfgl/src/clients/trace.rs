//! How training developed under one seed, as far as the server knows.

use crate::Result;
use boostfgl_fairness::{ClientTallies, Confusion, Evaluation};
use boostfgl_fed::RoundEvaluation;
use boostfgl_nn::{StateVisitor, Stateful};
use boostfgl_protocol::{Enrolment, GROUPS, GroupCounts};

/// The rounds of one seed: losses, and the counts of the rounds that papers report.
#[derive(Default)]
pub(super) struct SeedTrace {
    /// The training loss of every round.
    pub(super) losses: Vec<f64>,
    pub(super) last: Option<CountedRound>,
    pub(super) best_val: Option<CountedRound>,
    /// The round to report.
    pub(super) reported: Option<CountedRound>,
}

/// What clients counted after one round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CountedRound {
    pub(super) round: usize,
    /// Share of validation nodes predicted right, if there are any.
    pub(super) val_accuracy: Option<f64>,
    /// The counts of each client that replied, in client order.
    pub(super) counts: Vec<ClientCounts>,
}

/// What one client counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ClientCounts {
    pub(super) client: usize,
    /// [`Evaluation::counts`](boostfgl_protocol::Evaluation::counts).
    pub(super) counts: Vec<u64>,
    /// [`Evaluation::groups`](boostfgl_protocol::Evaluation::groups).
    pub(super) groups: Vec<GroupCounts>,
}

impl CountedRound {
    pub(super) fn new(round: usize, evaluation: &RoundEvaluation<f32>) -> Self {
        let counts = evaluation.clients.iter().map(|(client, found)| ClientCounts {
            client: *client,
            counts: found.counts.clone(),
            groups: found.groups.clone(),
        });
        Self { round, val_accuracy: evaluation.val_accuracy, counts: counts.collect() }
    }
}

impl SeedTrace {
    /// Adds a round.
    pub(super) fn record(
        &mut self,
        (round, loss): (usize, f64),
        evaluation: Option<&RoundEvaluation<f32>>,
    ) {
        self.losses.push(loss);
        let Some(evaluation) = evaluation else { return };
        let counted = CountedRound::new(round, evaluation);
        if evaluation.is_best {
            self.best_val = Some(counted.clone());
        }
        if evaluation.is_reported {
            self.reported = Some(counted.clone());
        }
        if evaluation.is_last {
            self.last = Some(counted);
        }
    }
}

impl Stateful for SeedTrace {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("losses", &mut self.losses)?;
        visitor.option("last round", &mut self.last, CountedRound::default)?;
        visitor.option("best validation round", &mut self.best_val, CountedRound::default)?;
        visitor.option("reported round", &mut self.reported, CountedRound::default)
    }
}

impl Stateful for CountedRound {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("round", &mut self.round)?;
        visitor.option("validation accuracy", &mut self.val_accuracy, || 0.0)?;
        visitor.each("clients", &mut self.counts, ClientCounts::default)
    }
}

impl Stateful for ClientCounts {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("client", &mut self.client)?;
        visitor.visit("counts", &mut self.counts)?;
        visitor.each("groups", &mut self.groups, GroupCounts::default)
    }
}

/// What the server knows when it evaluates: the clients as they joined, and which classes are
/// minority classes.
pub(super) struct Scoring {
    pub(super) classes: Vec<String>,
    pub(super) enrolled: Vec<Enrolment>,
    /// Training nodes of each class, of all clients together.
    pub(super) training_counts: Vec<usize>,
    /// Per class, whether it is a minority class; `None` for a class without a training node.
    pub(super) minority: Vec<Option<bool>>,
}

impl Scoring {
    /// The scores of one round.
    pub(super) fn evaluate(&self, round: &CountedRound) -> Result<Evaluation> {
        let clients = round.counts.iter().map(|ClientCounts { client, counts, .. }| {
            let nodes = self.enrolled[*client].nodes as usize;
            let [heterophilous, homophilous, unknown] = self.groups(counts)?;
            let mut others = homophilous;
            others.merge(&unknown)?;
            let number = *client as u32;
            Ok(ClientTallies::new(number, nodes, &heterophilous, &others, &self.minority)?)
        });
        let clients = clients.collect::<Result<Vec<_>>>()?;
        Ok(Evaluation::of_tallies(self.classes.len(), &clients)?)
    }

    /// Whether counts that were saved are those of these clients.
    pub(super) fn fits(&self, trace: &SeedTrace) -> bool {
        let size = GROUPS * self.classes.len() * self.classes.len();
        let rounds = [&trace.last, &trace.best_val, &trace.reported];
        rounds.into_iter().flatten().flat_map(|round| &round.counts).all(|found| {
            found.client < self.enrolled.len() && [0, size].contains(&found.counts.len())
        })
    }

    /// All test nodes of a client in one matrix.
    pub(super) fn confusion(&self, counts: &[u64]) -> Result<Confusion> {
        let mut all = Confusion::new(self.classes.len());
        for group in self.groups(counts)? {
            all.merge(&group)?;
        }
        Ok(all)
    }

    /// The confusion matrix of each group of nodes. A client without test nodes sends none.
    fn groups(&self, counts: &[u64]) -> Result<[Confusion; GROUPS]> {
        let classes = self.classes.len();
        let mut groups = std::array::from_fn(|_| Confusion::new(classes));
        let size = classes * classes;
        for (group, counts) in groups.iter_mut().zip(counts.chunks_exact(size.max(1))) {
            *group = Confusion::from_counts(classes, counts.to_vec())?;
        }
        Ok(groups)
    }
}
