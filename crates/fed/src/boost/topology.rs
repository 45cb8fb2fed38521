//! Client-side topology boosting: messages along critical edges weigh more (Eqs. edge_score to boosted_mp).
//!
//! Each arc u → v gets a score s = ½(d̄ᵤ + d̄ᵥ) + hᵤᵥ, with h = 1[yᵤ ≠ yᵥ] if both ends are training nodes and
//! 1 − ⟨pᵤ, pᵥ⟩ otherwise, and β = softmax of ±λₑ s over the arcs into v. A [`Rule`] makes a propagation matrix
//! of β. The paper's prose speaks of attenuating unreliable neighbours, its equations raise them;
//! [`EdgeScore`] chooses.

use crate::config::not_negative;
use crate::{Error, Result};
use boostfgl_graph::Adjacency;
use boostfgl_nn::{Matrix, Pattern, Propagation, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of topology boosting (`[boost.topology]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Strength λe of the softmax over edge scores, at least 0.
    pub lambda_e: f64,
    /// How β becomes a propagation matrix: mulgcn, noself, selfsm, selfsep or mulgcnself.
    pub propagation_rule: Rule,
    /// Sign of the score: criticality raises hard and heterophilous edges (the equations), reliability lowers them (what Theorem 2 assumes).
    pub edge_score: EdgeScore,
    /// What the threshold and the budget do to edges outside them: none ignores both, gate sets their score to 0, prune removes them.
    pub edge_gate: EdgeGate,
    /// Threshold τ on the score, used by edge_gate.
    pub tau: f64,
    /// Edge budget b, the share of the directed edges that may keep their score, in [0, 1]; used by edge_gate.
    pub edge_budget: f64,
    /// Whether evaluation propagates with β too (boosted), recomputed from the evaluated model, or with the plain operator.
    pub eval_propagation: EvalPropagation,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            lambda_e: 0.5,
            propagation_rule: Rule::Mulgcn,
            edge_score: EdgeScore::Criticality,
            edge_gate: EdgeGate::None,
            tau: 0.4,
            edge_budget: 0.75,
            eval_propagation: EvalPropagation::Boosted,
        }
    }
}

impl Config {
    pub(crate) fn check(&self) -> Result<()> {
        not_negative("boost.topology.lambda_e", self.lambda_e)?;
        if !self.tau.is_finite() {
            return Err(Error::setting("boost.topology.tau", "a finite number", self.tau));
        }
        if !(0.0..=1.0).contains(&self.edge_budget) {
            return Err(Error::setting("boost.topology.edge_budget", "a number from 0 to 1", self.edge_budget));
        }
        Ok(())
    }
}

/// How β becomes a propagation matrix P. d is the number of neighbours of v, `gcn` the plain coefficient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
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

impl Rule {
    /// Whether v itself takes part in the softmax.
    fn loop_in_softmax(self) -> bool {
        matches!(self, Self::Selfsm | Self::Mulgcnself)
    }
}

/// Which way a score pulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeScore {
    /// Hard and heterophilous edges go up.
    Criticality,
    /// They go down.
    Reliability,
}

/// What happens to edges below the threshold or beyond the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EdgeGate {
    /// Nothing: threshold and budget are not used.
    None,
    /// Their score becomes 0 before the softmax.
    Gate,
    /// They leave the softmax and carry no message.
    Prune,
}

/// With what evaluation propagates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvalPropagation {
    /// With β.
    Boosted,
    /// With the plain operator.
    Plain,
}

/// Topology boosting on one client's graph.
#[derive(Clone, Debug)]
pub struct TopologyBoost {
    config: Config,
}

impl TopologyBoost {
    /// Topology boosting with these settings.
    pub fn new(config: &Config) -> Self {
        Self { config: config.clone() }
    }

    /// Whether evaluation propagates with β.
    pub fn boosts_evaluation(&self) -> bool {
        self.config.eval_propagation == EvalPropagation::Boosted
    }

    /// The heterophily term hᵤᵥ of every arc, in the order of the adjacency.
    pub fn heterophily<T: Real>(
        adjacency: &Adjacency,
        probabilities: &Matrix<T>,
        label: impl Fn(usize) -> Option<u32>,
    ) -> Vec<T> {
        let stride = probabilities.stride();
        let row = |v: usize| &probabilities.data()[v * stride..(v + 1) * stride];
        let mut out = Vec::with_capacity(adjacency.arcs());
        for v in 0..adjacency.len() {
            let (own, own_label) = (row(v), label(v));
            for &u in adjacency.neighbours(v) {
                out.push(match (label(u as usize), own_label) {
                    (Some(a), Some(b)) => T::of(f64::from(u8::from(a != b))),
                    _ => T::ONE - dot(row(u as usize), own),
                });
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

    /// Which arcs keep their score: s ≥ τ and, of those, the ⌊b·m⌋ largest (earlier arcs first among equals).
    pub fn eligible<T: Real>(&self, scores: &[T]) -> Vec<bool> {
        let tau = T::of(self.config.tau);
        let mut candidates: Vec<usize> = (0..scores.len()).filter(|&arc| scores[arc] >= tau).collect();
        let budget = (self.config.edge_budget * scores.len() as f64) as usize;
        candidates.sort_by(|&a, &b| scores[b].f64().total_cmp(&scores[a].f64()));
        let mut eligible = vec![false; scores.len()];
        candidates.into_iter().take(budget).for_each(|arc| eligible[arc] = true);
        eligible
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
        let kept = match self.config.edge_gate {
            EdgeGate::None => None,
            EdgeGate::Gate | EdgeGate::Prune => Some(self.eligible(&scores)),
        };
        if let (EdgeGate::Gate, Some(kept)) = (self.config.edge_gate, &kept) {
            scores.iter_mut().zip(kept).filter(|(_, kept)| !**kept).for_each(|(score, _)| *score = T::ZERO);
        }
        let pruned = kept.filter(|_| self.config.edge_gate == EdgeGate::Prune);
        let sign = if self.config.edge_score == EdgeScore::Criticality { 1.0 } else { -1.0 };
        let tilt = T::of(sign * self.config.lambda_e);
        let mut values = vec![T::ZERO; plain.csr().non_zeros()];
        let pattern = Pattern::of(adjacency);
        for v in 0..adjacency.len() {
            let present = |arc: usize| pruned.as_ref().is_none_or(|kept| kept[arc]);
            let softmax =
                Softmax::over(adjacency, v, &scores, tilt, difficulty[v], self.config.propagation_rule, present);
            self.fill_row(adjacency, pattern, plain, v, &softmax, present, &mut values);
        }
        plain.with_values(values)
    }

    #[expect(clippy::too_many_arguments, reason = "one row of the matrix needs the whole picture")]
    fn fill_row<T: Real>(
        &self,
        adjacency: &Adjacency,
        pattern: Pattern<'_>,
        plain: &Propagation<T>,
        v: usize,
        softmax: &Softmax<'_, T>,
        present: impl Fn(usize) -> bool,
        values: &mut [T],
    ) {
        let gcn = plain.csr().values();
        let degree = T::of(adjacency.degree(v) as f64);
        let own = pattern.own(v);
        for arc in adjacency.arc_range(v).filter(|&arc| present(arc)) {
            let (at, tilted) = (pattern.arc(v, arc), softmax.tilted(arc));
            // Multiplying before dividing makes d·β exactly 1 when all d neighbours are alike.
            values[at] = match self.config.propagation_rule {
                Rule::Mulgcn => gcn[at] * (degree * tilted / softmax.sum),
                Rule::Noself | Rule::Selfsm => tilted / softmax.sum,
                Rule::Selfsep => degree * tilted / softmax.sum / (degree + T::ONE),
                Rule::Mulgcnself => gcn[at] * ((degree + T::ONE) * tilted / softmax.sum),
            };
        }
        values[own] = match self.config.propagation_rule {
            Rule::Mulgcn => gcn[own],
            Rule::Noself => T::ZERO,
            Rule::Selfsm => softmax.own / softmax.sum,
            Rule::Selfsep => T::ONE / (degree + T::ONE),
            Rule::Mulgcnself => gcn[own] * ((degree + T::ONE) * softmax.own / softmax.sum),
        };
    }
}

/// exp(t·s) of the arcs into one node, shifted by the largest so that nothing overflows, and their sum.
struct Softmax<'a, T> {
    scores: &'a [T],
    tilt: T,
    shift: T,
    own: T,
    sum: T,
}

impl<'a, T: Real> Softmax<'a, T> {
    fn over(
        adjacency: &Adjacency,
        v: usize,
        scores: &'a [T],
        tilt: T,
        own_score: T,
        rule: Rule,
        present: impl Fn(usize) -> bool,
    ) -> Self {
        let arcs = || adjacency.arc_range(v).filter(|&arc| present(arc));
        let first = rule.loop_in_softmax().then_some(tilt * own_score);
        let shift = arcs().map(|arc| tilt * scores[arc]).chain(first).reduce(|a, b| if b > a { b } else { a });
        let shift = shift.unwrap_or(T::ZERO);
        let mut softmax = Self { scores, tilt, shift, own: T::ZERO, sum: T::ZERO };
        if rule.loop_in_softmax() {
            softmax.own = (tilt * own_score - shift).exp();
            softmax.sum = softmax.own;
        }
        for arc in arcs() {
            softmax.sum += softmax.tilted(arc);
        }
        softmax
    }

    fn tilted(&self, arc: usize) -> T {
        (self.tilt * self.scores[arc] - self.shift).exp()
    }
}

fn dot<T: Real>(a: &[T], b: &[T]) -> T {
    a.iter().zip(b).fold(T::ZERO, |sum, (a, b)| a.mul_add(*b, sum))
}
