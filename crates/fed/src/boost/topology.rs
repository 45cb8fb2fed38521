//! Client-side topology boosting: messages along critical edges weigh more (Eqs. edge_score to
//! boosted_mp).
//!
//! Each arc u → v gets a score s = ½(d̄ᵤ + d̄ᵥ) + hᵤᵥ, with h = 1[yᵤ ≠ yᵥ] if both ends are
//! training nodes and 1 − ⟨pᵤ, pᵥ⟩ otherwise, and β = softmax of ±λₑ s over the arcs into v. A
//! [`PropagationRule`] turns β into a propagation matrix. The paper's text attenuates unreliable
//! neighbours, its equations amplify them; [`EdgeScore`] selects one.

use super::{BoostContext, BoostInfo, BoostPlugin, ClientBoost, Place, ScoredNodes};
use crate::config::{not_negative, single};
use crate::local_data::LocalData;
use crate::{Error, Result};
use boostfgl_graph::Adjacency;
use boostfgl_nn::{Matrix, Pattern, Propagation, Real, Tilted, arc_dots, tilt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The description that `boostfgl methods` prints, and the places where the boost acts.
pub const INFO: BoostInfo = BoostInfo {
    name: "topology",
    meaning: "client: messages are reweighted by difficulty and heterophily",
    acts: &[Place::Propagation],
};

/// Topology boosting as a plug-in.
pub(super) struct Plugin;

impl<T: Real> BoostPlugin<T> for Plugin {
    fn info(&self) -> BoostInfo {
        INFO
    }

    fn client(&self, context: &BoostContext<'_, T>) -> Option<Box<dyn ClientBoost<T>>> {
        let boost = TopologyBoost::new(&context.config.topology).on_own(context.data.own);
        Some(Box::new(ClientTopology { boost, heterophily: Vec::new() }))
    }
}

/// Topology boosting on one client, with hᵤᵥ of every arc under the model that was scored last: a
/// model that is evaluated and then trained from needs it twice.
struct ClientTopology<T> {
    boost: TopologyBoost,
    heterophily: Vec<T>,
}

impl<T: Real> ClientBoost<T> for ClientTopology<T> {
    fn scored(&mut self, data: &LocalData<T>, probabilities: &Matrix<T>) {
        self.heterophily =
            TopologyBoost::heterophily(data.adjacency(), probabilities, |v| data.training_label(v));
    }

    fn propagation(
        &self,
        nodes: &ScoredNodes<'_, T>,
        base: &Propagation<T>,
    ) -> Option<Propagation<T>> {
        let (adjacency, heterophily) = (nodes.data.adjacency(), &self.heterophily);
        Some(self.boost.propagation(adjacency, base, heterophily, nodes.difficulty))
    }

    fn boosts_evaluation(&self) -> bool {
        self.boost.boosts_evaluation()
    }

    fn boosts_scoring(&self) -> bool {
        self.boost.boosts_scoring()
    }
}

/// Settings of topology boosting (`[boost.topology]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Strength λe of the softmax over edge scores, at least 0.
    pub lambda_e: f64,
    /// How β becomes a propagation matrix: mulgcn, noself, selfsm, selfsep or mulgcnself.
    pub propagation_rule: PropagationRule,
    /// Sign of the score: criticality raises hard and heterophilous edges (the equations),
    /// reliability lowers them (what Theorem 2 assumes).
    pub edge_score: EdgeScore,
    /// What the threshold and the budget do to edges outside them: none ignores both, gate gives
    /// them the score that weighs least (0, under reliability 2), prune removes them.
    pub edge_gate: EdgeGate,
    /// Threshold τ on the score s, used by edge_gate: edges with s ≥ τ may keep it, under
    /// reliability those with s ≤ τ.
    pub tau: f64,
    /// Edge budget b, the share of the directed edges that may keep their score, in [0, 1]: the
    /// highest scores, under reliability the lowest; used by edge_gate.
    pub edge_budget: f64,
    /// Whether evaluation propagates with β too (boosted), recomputed from the evaluated model, or
    /// with the plain operator.
    pub eval_propagation: EvalPropagation,
    /// Which operator predicts when nodes and edges are scored: plain, or boosted: β of the
    /// client's last round, plain in its first.
    pub scoring_propagation: ScoringPropagation,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            lambda_e: 0.5,
            propagation_rule: PropagationRule::Mulgcn,
            edge_score: EdgeScore::Criticality,
            edge_gate: EdgeGate::None,
            tau: 0.4,
            edge_budget: 0.75,
            eval_propagation: EvalPropagation::Boosted,
            scoring_propagation: ScoringPropagation::Plain,
        }
    }
}

impl Config {
    pub(crate) fn check(&self) -> Result<()> {
        not_negative("boost.topology.lambda_e", self.lambda_e)?;
        if !self.tau.is_finite() {
            return Err(Error::setting("boost.topology.tau", "a finite number", self.tau));
        }
        single("boost.topology.tau", self.tau)?;
        if !(0.0..=1.0).contains(&self.edge_budget) {
            return Err(Error::setting(
                "boost.topology.edge_budget",
                "a number from 0 to 1",
                self.edge_budget,
            ));
        }
        Ok(())
    }
}

/// How β becomes a propagation matrix P. d is the number of neighbours of v, `gcn` the plain
/// coefficient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PropagationRule {
    /// P\[v,u\] = gcn\[v,u\]·d·β, P\[v,v\] = gcn\[v,v\]: λe = 0 is GCN bit for bit.
    Mulgcn,
    /// P\[v,u\] = β, nothing for v itself: the literal Eq. boosted_mp.
    Noself,
    /// The loop joins the softmax with score d̄ᵥ: P = β.
    Selfsm,
    /// P\[v,v\] = 1/(d+1), P\[v,u\] = β·d/(d+1).
    Selfsep,
    /// The loop joins the softmax and every entry is gcn·(d+1)·β.
    Mulgcnself,
}

impl PropagationRule {
    /// Whether v itself takes part in the softmax.
    fn loop_in_softmax(self) -> bool {
        matches!(self, Self::Selfsm | Self::Mulgcnself)
    }
}

/// The sign of a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeScore {
    /// Hard and heterophilous edges go up.
    Criticality,
    /// They go down.
    Reliability,
}

/// What happens to edges on the wrong side of the threshold or beyond the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeGate {
    /// Nothing: threshold and budget are not used.
    None,
    /// Their score becomes the one that weighs least before the softmax: 0, or 2 (the largest there
    /// can be) under reliability.
    Gate,
    /// They leave the softmax and carry no message.
    Prune,
}

/// The operator of evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvalPropagation {
    /// With β.
    Boosted,
    /// With the plain operator.
    Plain,
}

/// The operator of the predictions that give difficulties and edge scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScoringPropagation {
    /// With the plain operator.
    Plain,
    /// With β of the round that the client took part in last; with the plain operator before its
    /// first.
    Boosted,
}

/// The largest possible score s = ½(d̄ᵤ + d̄ᵥ) + h: difficulties and h are at most 1.
const HIGHEST: f64 = 2.0;

/// Topology boosting on one client's graph.
#[derive(Clone, Debug)]
pub struct TopologyBoost {
    config: Config,
    /// How many nodes are real; those that a method generated come after them.
    own: usize,
}

impl TopologyBoost {
    /// Topology boosting with these settings.
    pub fn new(config: &Config) -> Self {
        Self { config: config.clone(), own: usize::MAX }
    }

    /// The same for a graph of which only the first `own` nodes are real.
    #[must_use]
    pub fn on_own(self, own: usize) -> Self {
        Self { own, ..self }
    }

    /// Whether evaluation propagates with β.
    pub fn boosts_evaluation(&self) -> bool {
        self.config.eval_propagation == EvalPropagation::Boosted
    }

    /// Whether the β of a round predicts when the next one is scored.
    pub fn boosts_scoring(&self) -> bool {
        self.config.scoring_propagation == ScoringPropagation::Boosted
    }

    /// The heterophily term hᵤᵥ of every arc, in the order of the adjacency.
    pub fn heterophily<T: Real>(
        adjacency: &Adjacency,
        probabilities: &Matrix<T>,
        label: impl Fn(usize) -> Option<u32>,
    ) -> Vec<T> {
        // ⟨pᵤ, pᵥ⟩ of all arcs in one pass of a vectorised kernel, then overwritten between
        // training nodes: a branch per arc inside the kernel would cost more.
        let mut out = arc_dots(probabilities, adjacency.offsets(), adjacency.indices());
        for v in 0..adjacency.len() {
            let own = label(v);
            for arc in adjacency.arc_range(v) {
                out[arc] = match (label(adjacency.indices()[arc] as usize), own) {
                    (Some(a), Some(b)) => T::of(f64::from(u8::from(a != b))),
                    _ => T::ONE - out[arc],
                };
            }
        }
        out
    }

    /// The score s = ½(d̄ᵤ + d̄ᵥ) + h of every arc.
    pub fn scores<T: Real>(adjacency: &Adjacency, heterophily: &[T], difficulty: &[T]) -> Vec<T> {
        let half = T::of(0.5);
        let mut out = Vec::with_capacity(heterophily.len());
        for v in 0..adjacency.len() {
            for arc in adjacency.arc_range(v) {
                let u = adjacency.indices()[arc] as usize;
                out.push(half * (difficulty[u] + difficulty[v]) + heterophily[arc]);
            }
        }
        out
    }

    /// Which arcs keep their score: s ≥ τ and, of those, the ⌊b·m⌋ largest; under reliability s ≤ τ
    /// and the smallest (earlier arcs first among equals).
    pub fn eligible<T: Real>(&self, scores: &[T]) -> Vec<bool> {
        let mut candidates: Vec<usize> =
            (0..scores.len()).filter(|&arc| self.passes_threshold(scores[arc])).collect();
        let budget = (self.config.edge_budget * scores.len() as f64) as usize;
        // A stable sort: among equal scores the earlier arc comes first, so that the choice does
        // not depend on the sorting algorithm.
        candidates.sort_by(|&a, &b| {
            let rising = scores[a].f64().total_cmp(&scores[b].f64());
            if self.config.edge_score == EdgeScore::Criticality { rising.reverse() } else { rising }
        });
        let mut eligible = vec![false; scores.len()];
        candidates.into_iter().take(budget).for_each(|arc| eligible[arc] = true);
        eligible
    }

    /// s ≥ τ; under reliability s ≤ τ.
    fn passes_threshold<T: Real>(&self, score: T) -> bool {
        let tau = T::of(self.config.tau);
        match self.config.edge_score {
            EdgeScore::Criticality => score >= tau,
            EdgeScore::Reliability => score <= tau,
        }
    }

    /// The propagation matrix under the current difficulties; `plain` is the graph's GCN operator.
    pub fn propagation<T: Real>(
        &self,
        adjacency: &Adjacency,
        plain: &Propagation<T>,
        heterophily: &[T],
        difficulty: &[T],
    ) -> Propagation<T> {
        let mut scores = Self::scores(adjacency, heterophily, difficulty);
        // Before the gate, so that threshold and budget see the levelled scores.
        if self.own < adjacency.len() {
            self.level(adjacency, &mut scores);
        }
        let kept = match self.config.edge_gate {
            EdgeGate::None => None,
            EdgeGate::Gate | EdgeGate::Prune => Some(self.eligible(&scores)),
        };
        if let (EdgeGate::Gate, Some(kept)) = (self.config.edge_gate, &kept) {
            let least =
                T::of(if self.config.edge_score == EdgeScore::Criticality { 0.0 } else { HIGHEST });
            scores
                .iter_mut()
                .zip(kept)
                .filter(|(_, kept)| !**kept)
                .for_each(|(score, _)| *score = least);
        }
        // An empty mask keeps all edges: a mask is allocated only for pruning.
        let kept: Vec<T> = match (self.config.edge_gate, kept) {
            (EdgeGate::Prune, Some(kept)) => {
                kept.iter().map(|&k| if k { T::ONE } else { T::ZERO }).collect()
            }
            _ => Vec::new(),
        };
        let sign = if self.config.edge_score == EdgeScore::Criticality { 1.0 } else { -1.0 };
        let own = if self.config.propagation_rule.loop_in_softmax() { difficulty } else { &[] };
        // e^{±λₑ s} and its sum over each row. `fill_row` divides, since the rule decides which
        // factor comes before the division.
        let tilted =
            tilt(adjacency.offsets(), scores, own, &kept, T::of(sign * self.config.lambda_e));
        let mut values = vec![T::ZERO; plain.csr().non_zeros()];
        for v in 0..adjacency.len() {
            self.fill_row(adjacency, plain, v, &tilted, &mut values);
        }
        plain.with_values(values)
    }

    /// Gives every arc that touches a generated node the mean score of the real arcs. Such a node
    /// has no label, and its uncertain predictions would otherwise draw the softmax towards it.
    fn level<T: Real>(&self, adjacency: &Adjacency, scores: &mut [T]) {
        // In double precision and in the order of arcs: in single precision the sum over many arcs
        // would lose digits.
        let (mut sum, mut count) = (0.0, 0usize);
        for v in 0..self.own {
            for arc in adjacency.arc_range(v) {
                if self.joins_real_nodes(adjacency, v, arc) {
                    (sum, count) = (sum + scores[arc].f64(), count + 1);
                }
            }
        }
        let mean = T::of(sum / count.max(1) as f64);
        for v in 0..adjacency.len() {
            for arc in adjacency.arc_range(v) {
                if !self.joins_real_nodes(adjacency, v, arc) {
                    scores[arc] = mean;
                }
            }
        }
    }

    /// Whether an arc into `v` starts and ends at a real node.
    fn joins_real_nodes(&self, adjacency: &Adjacency, v: usize, arc: usize) -> bool {
        v.max(adjacency.indices()[arc] as usize) < self.own
    }

    /// Writes the propagation matrix's row of node v.
    fn fill_row<T: Real>(
        &self,
        adjacency: &Adjacency,
        plain: &Propagation<T>,
        v: usize,
        tilted: &Tilted<T>,
        values: &mut [T],
    ) {
        let (pattern, gcn) = (Pattern::of(adjacency), plain.csr().values());
        let (degree, sum) = (T::of(adjacency.degree(v) as f64), tilted.sums[v]);
        let own = pattern.own(v);
        // A node whose edges are all pruned has no β: the softmax would divide by 0.
        let arcs = if sum > T::ZERO { adjacency.arc_range(v) } else { 0..0 };
        for arc in arcs {
            let (at, e) = (pattern.arc(v, arc), tilted.arcs[arc]);
            // Multiplying before dividing makes d·β exactly 1 when all d neighbours are alike.
            values[at] = match self.config.propagation_rule {
                PropagationRule::Mulgcn => gcn[at] * (degree * e / sum),
                PropagationRule::Noself | PropagationRule::Selfsm => e / sum,
                PropagationRule::Selfsep => degree * e / sum / (degree + T::ONE),
                PropagationRule::Mulgcnself => gcn[at] * ((degree + T::ONE) * e / sum),
            };
        }
        values[own] = match self.config.propagation_rule {
            PropagationRule::Mulgcn => gcn[own],
            PropagationRule::Noself => T::ZERO,
            PropagationRule::Selfsm => tilted.own[v] / sum,
            PropagationRule::Selfsep => T::ONE / (degree + T::ONE),
            PropagationRule::Mulgcnself => gcn[own] * ((degree + T::ONE) * tilted.own[v] / sum),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores of four neighbours of one node. All difficulties are 0, so that the scores are h.
    const SCORES: [f64; 4] = [0.9, 0.1, 0.5, 0.2];

    fn gate(
        edge_score: EdgeScore,
        edge_gate: EdgeGate,
        tau: f64,
        edge_budget: f64,
    ) -> TopologyBoost {
        let propagation_rule = PropagationRule::Noself;
        TopologyBoost::new(&Config {
            edge_score,
            edge_gate,
            tau,
            edge_budget,
            propagation_rule,
            ..Config::default()
        })
    }

    /// The weights of nodes 1 to 4 in the row of node 0.
    fn row_0(boost: &TopologyBoost) -> Vec<f64> {
        let (star, _) =
            Adjacency::from_edges(5, &[(0, 1), (0, 2), (0, 3), (0, 4)], None, false).unwrap();
        let mut heterophily = vec![0.0; star.arcs()];
        heterophily[star.arc_range(0)].copy_from_slice(&SCORES);
        // So that arcs into the leaves are neither among the highest nor among the lowest.
        (1..5).for_each(|v| heterophily[star.arc_range(v)].fill(0.3));
        let found = boost.propagation(&star, &Propagation::gcn(&star), &heterophily, &[0.0; 5]);
        found.csr().values()[1..5].to_vec()
    }

    #[test]
    fn the_gate_keeps_the_end_that_the_score_raises() {
        let kept = |score, tau, budget| gate(score, EdgeGate::Gate, tau, budget).eligible(&SCORES);
        assert_eq!(kept(EdgeScore::Criticality, 0.0, 0.5), [true, false, true, false]);
        assert_eq!(kept(EdgeScore::Criticality, 0.6, 1.0), [true, false, false, false]);
        assert_eq!(kept(EdgeScore::Reliability, 2.0, 0.5), [false, true, false, true]);
        assert_eq!(kept(EdgeScore::Reliability, 0.6, 1.0), [false, true, true, true]);
    }

    /// A budget of two of eight arcs.
    #[test]
    fn a_pruned_edge_has_weight_zero_and_the_kept_ones_sum_to_one() {
        let found = row_0(&gate(EdgeScore::Reliability, EdgeGate::Prune, 2.0, 0.25));
        assert_eq!((found[0], found[2]), (0.0, 0.0));
        assert!(found[1] > found[3] && (found[1] + found[3] - 1.0).abs() < 1e-15);
    }

    #[test]
    fn no_gated_edge_outweighs_one_that_was_kept() {
        for (score, kept, gated) in
            [(EdgeScore::Criticality, [0, 2], [1, 3]), (EdgeScore::Reliability, [1, 3], [0, 2])]
        {
            let tau = if score == EdgeScore::Criticality { 0.0 } else { 2.0 };
            let found = row_0(&gate(score, EdgeGate::Gate, tau, 0.25));
            assert_eq!(found[gated[0]], found[gated[1]], "{score:?}");
            assert!(kept.iter().all(|&arc| found[arc] > found[gated[0]]), "{score:?}: {found:?}");
        }
    }
}
