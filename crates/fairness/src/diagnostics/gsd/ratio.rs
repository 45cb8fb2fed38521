//! From masses to GSD, for any choice of minority classes.

use super::{Gsd, Mass};
use boostfgl_graph::groups::minority_classes;
use serde::{Deserialize, Serialize};

/// Which gradients are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// ‖∇ℓᵥ‖₂.
    #[default]
    Plain,
    /// αᵥ‖∇ℓᵥ‖₂, as node boosting sees them.
    Boosted,
}

/// The minority's gradient compared with the majority's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// GSD = (G_min / N_min) / (G_maj / N_maj).
    pub per_node: f64,
    /// G_min / G_maj.
    pub mass: f64,
    /// Standard error of `per_node` by sampling; 0 if every node was measured.
    pub error: f64,
}

impl Gsd {
    /// The minority classes of the run.
    pub fn minority(&self) -> Vec<Option<bool>> {
        match self.minority_ratio {
            Some(q) if self.minority.is_empty() => self.minority_at(q),
            _ => self.minority.clone(),
        }
    }

    /// The minority classes by the ratio `q`.
    pub fn minority_at(&self, q: f64) -> Vec<Option<bool>> {
        minority_classes(&self.training_counts, q)
    }

    /// GSD over the training nodes of all clients in one round, for these minority classes:
    /// [`Gsd::minority`], or those of another ratio. `None` if there is no such round, one of the
    /// groups has no node, the majority has no gradient, of some class nothing was measured, or the
    /// numbers are too large.
    pub fn pooled(
        &self,
        round_index: usize,
        minority: &[Option<bool>],
        weighting: Weighting,
    ) -> Option<Ratio> {
        let clients = &self.rounds.get(round_index)?.clients;
        self.ratio(clients.iter().map(Vec::as_slice), minority, weighting)
    }

    /// GSD over the training nodes of one client, as [`Gsd::pooled`].
    pub fn of_client(
        &self,
        round_index: usize,
        client: usize,
        minority: &[Option<bool>],
        weighting: Weighting,
    ) -> Option<Ratio> {
        let classes = self.rounds.get(round_index)?.clients.get(client)?;
        self.ratio(std::iter::once(classes.as_slice()), minority, weighting)
    }

    /// The mean of [`Gsd::pooled`] over the rounds that have one. The nodes of a sample are the
    /// same in each round, so the error is the mean of the rounds' errors.
    pub fn mean_over_rounds(
        &self,
        minority: &[Option<bool>],
        weighting: Weighting,
    ) -> Option<Ratio> {
        mean((0..self.rounds.len()).filter_map(|round| self.pooled(round, minority, weighting)))
    }

    /// The mean of [`Gsd::of_client`] over the rounds that have one.
    pub fn client_mean_over_rounds(
        &self,
        client: usize,
        minority: &[Option<bool>],
        weighting: Weighting,
    ) -> Option<Ratio> {
        mean(
            (0..self.rounds.len())
                .filter_map(|round| self.of_client(round, client, minority, weighting)),
        )
    }

    /// [`Gsd::pooled`] of the last round.
    pub fn last(&self, minority: &[Option<bool>], weighting: Weighting) -> Option<Ratio> {
        self.pooled(self.rounds.len().checked_sub(1)?, minority, weighting)
    }

    /// GSD over the classes of these clients.
    fn ratio<'a>(
        &self,
        clients: impl Iterator<Item = &'a [Mass]>,
        minority: &[Option<bool>],
        weighting: Weighting,
    ) -> Option<Ratio> {
        // [majority, minority].
        let mut groups = [Total::default(); 2];
        for (mass, side) in clients.flat_map(|classes| classes.iter().zip(minority)) {
            let Some(minority) = *side else { continue };
            groups[usize::from(minority)].add(mass, weighting)?;
        }
        let [majority, minority] = groups;
        if majority.nodes == 0 || minority.nodes == 0 || majority.sum <= 0.0 {
            return None;
        }
        let mass = minority.sum / majority.sum;
        // The delta method for a ratio of independent sums: Var(a/b) ≈ (Var a + (a/b)² Var b) / b².
        let error = libm::sqrt(minority.variance + mass * mass * majority.variance) / majority.sum;
        let per_node = majority.nodes as f64 / minority.nodes as f64;
        let found = Ratio { per_node: mass * per_node, mass, error: error * per_node };
        Some(found)
            .filter(|found| [found.per_node, found.mass, found.error].iter().all(|x| x.is_finite()))
    }
}

/// A stratified estimate of a sum over nodes.
#[derive(Clone, Copy, Default)]
struct Total {
    nodes: usize,
    sum: f64,
    variance: f64,
}

impl Total {
    /// Adds a stratum: N x̄, and its variance N² (1 − m/N) s²/m. `None` if nothing of it was
    /// measured.
    fn add(&mut self, mass: &Mass, weighting: Weighting) -> Option<()> {
        if mass.nodes == 0 {
            return Some(());
        }
        if mass.measured == 0 {
            return None;
        }
        let (sum, squares) = match weighting {
            Weighting::Plain => (mass.sum, mass.squares),
            Weighting::Boosted => (mass.weighted_sum, mass.weighted_squares),
        };
        let (nodes, measured) = (mass.nodes as f64, mass.measured as f64);
        self.nodes += mass.nodes;
        if mass.measured >= mass.nodes {
            self.sum += sum;
            return Some(());
        }
        self.sum += nodes * (sum / measured);
        // The spread of a single node is unknown: its own size is a cautious estimate.
        let spread = if mass.measured == 1 {
            squares
        } else {
            (squares - sum * sum / measured) / (measured - 1.0)
        };
        self.variance += nodes * (nodes - measured) * spread.max(0.0) / measured;
        Some(())
    }
}

/// The mean of each number; `None` without ratios.
fn mean(ratios: impl Iterator<Item = Ratio>) -> Option<Ratio> {
    let mut count = 0.0;
    let mut sum = Ratio { per_node: 0.0, mass: 0.0, error: 0.0 };
    for ratio in ratios {
        count += 1.0;
        sum.per_node += ratio.per_node;
        sum.mass += ratio.mass;
        sum.error += ratio.error;
    }
    let mean =
        Ratio { per_node: sum.per_node / count, mass: sum.mass / count, error: sum.error / count };
    (count > 0.0).then_some(mean)
}
