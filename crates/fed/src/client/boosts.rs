//! The boosts of one client: what they have in common, and what they make of a round.

use super::views::Views;
use crate::boost::{
    BoostContext, BoostInfo, ClientBoost, Difficulty, Place, ScoredNodes, Summary, TrainedNodes,
};
use crate::local_data::LocalData;
use crate::run_context::RunContext;
use boostfgl_nn::{Matrix, Propagation, Real, StateVisitor, WeightedLoss};

/// The boosts of one client.
pub(super) struct ClientBoosts<T: Real> {
    boosts: Vec<(BoostInfo, Box<dyn ClientBoost<T>>)>,
    /// d̄ of every node, which all boosts share; `None` without boosts.
    difficulty: Option<Difficulty<T>>,
    /// αᵥ of the training nodes in this round, if a boost weighs nodes.
    node_weights: Option<Vec<T>>,
    /// The boosted propagation of the last round that the client took part in, if something reads
    /// it.
    last_propagation: Option<Propagation<T>>,
    /// Whether observers read the propagation of a round.
    inspected: bool,
}

impl<T: Real> ClientBoosts<T> {
    pub(super) fn new(run: &RunContext<T>, data: &LocalData<T>, class_counts: &[usize]) -> Self {
        let config = &run.setup.boost;
        let context = BoostContext { config, data, class_counts };
        let sides = run
            .boosts
            .iter()
            .filter_map(|plugin| plugin.client(&context).map(|boost| (plugin.info(), boost)));
        let boosts: Vec<_> = sides.collect();
        Self {
            difficulty: (!boosts.is_empty()).then(|| Difficulty::new(data.len(), config.node.mu)),
            boosts,
            node_weights: None,
            last_propagation: None,
            inspected: false,
        }
    }

    /// The boosts that act at `place`, in order.
    fn acting_at(&self, place: Place) -> impl Iterator<Item = &dyn ClientBoost<T>> {
        let active = self.boosts.iter().filter(move |(info, _)| info.acts_on(place));
        active.map(|(_, boost)| &**boost)
    }

    /// Whether there is no boost on the client's side.
    pub(super) fn is_empty(&self) -> bool {
        self.boosts.is_empty()
    }

    /// Whether a boost changes the propagation.
    pub(super) fn reweights_messages(&self) -> bool {
        self.acting_at(Place::Propagation).next().is_some()
    }

    /// Whether a boost sends a summary to the server.
    pub(super) fn summarises(&self) -> bool {
        self.acting_at(Place::Summary).next().is_some()
    }

    /// Whether evaluation uses boosted propagation.
    pub(super) fn boosts_evaluation(&self) -> bool {
        self.acting_at(Place::Propagation).any(ClientBoost::boosts_evaluation)
    }

    /// Whether the propagation of a round scores the next one.
    fn boosts_scoring(&self) -> bool {
        self.acting_at(Place::Propagation).any(ClientBoost::boosts_scoring)
    }

    /// Turns on storage of values that only observers read.
    pub(super) fn keep_for_inspection(&mut self) {
        self.inspected = true;
    }

    /// αᵥ of this round's training nodes, if a boost weighs nodes.
    pub(super) fn node_weights(&self) -> Option<&[T]> {
        self.node_weights.as_deref()
    }

    /// The boosted propagation of the last round, if it was kept.
    pub(super) fn last_propagation(&self) -> Option<&Propagation<T>> {
        self.last_propagation.as_ref()
    }

    /// The propagation that scores nodes, if it is not the plain one.
    pub(super) fn scoring_propagation(&self) -> Option<&Propagation<T>> {
        let last = self.last_propagation.as_ref().filter(|_| self.boosts_scoring());
        // A propagation that overflowed is not used: later ones are computed from its predictions
        // and would not be finite either.
        last.filter(|last| last.csr().values().iter().all(|x| x.is_finite()))
    }

    /// Hands the class distributions of a new model to the boosts.
    pub(super) fn scored(&mut self, data: &LocalData<T>, probabilities: &Matrix<T>) {
        self.boosts.iter_mut().for_each(|(_, boost)| boost.scored(data, probabilities));
    }

    /// Moves difficulties by one round and sets node weights and propagation for it.
    pub(super) fn begin_round(
        &mut self,
        data: &LocalData<T>,
        probabilities: &Matrix<T>,
        loss: &mut WeightedLoss<T>,
        views: &mut Views<T>,
    ) {
        let Some(difficulty) = &mut self.difficulty else { return };
        difficulty.update(probabilities, |v| data.training_label[v]);
        if let Some(weights) = self.combined_node_weights(data, probabilities) {
            loss.set_node_weights(&weights);
            self.node_weights = Some(weights);
        }
        if let Some(boosted) = self.propagation(data, probabilities) {
            views.set_training_propagation(&boosted);
            self.last_propagation = (self.inspected || self.boosts_scoring()).then_some(boosted);
        }
    }

    fn scored_nodes<'a>(
        &'a self,
        data: &'a LocalData<T>,
        probabilities: &'a Matrix<T>,
    ) -> ScoredNodes<'a, T> {
        let difficulty = self.difficulty.as_ref().map_or(&[][..], Difficulty::mean);
        ScoredNodes { data, probabilities, difficulty }
    }

    /// The product of the node weights that boosts give.
    fn combined_node_weights(
        &self,
        data: &LocalData<T>,
        probabilities: &Matrix<T>,
    ) -> Option<Vec<T>> {
        let nodes = self.scored_nodes(data, probabilities);
        let all = self.acting_at(Place::Loss).filter_map(|boost| boost.node_weights(&nodes));
        all.reduce(|mut product, weights| {
            product.iter_mut().zip(weights).for_each(|(a, b)| *a = *a * b);
            product
        })
    }

    /// The propagation that boosts make of the plain one, one after the other.
    pub(super) fn propagation(
        &self,
        data: &LocalData<T>,
        probabilities: &Matrix<T>,
    ) -> Option<Propagation<T>> {
        let nodes = self.scored_nodes(data, probabilities);
        let mut boosted: Option<Propagation<T>> = None;
        for boost in self.acting_at(Place::Propagation) {
            let base = boosted.as_ref().unwrap_or(data.inputs.propagation());
            boosted = boost.propagation(&nodes, base).or(boosted);
        }
        boosted
    }

    /// The summary that goes to the server, from logits of the training nodes.
    pub(super) fn summary(
        &self,
        data: &LocalData<T>,
        logits: &Matrix<T>,
        rows: Option<&[u32]>,
    ) -> Option<Summary> {
        let difficulty = self.difficulty.as_ref().map_or(&[][..], Difficulty::mean);
        let nodes = TrainedNodes { data, logits, rows, difficulty };
        self.acting_at(Place::Summary).find_map(|boost| boost.summary(&nodes))
    }

    /// Saves or restores the state that boosts keep between rounds.
    pub(super) fn visit(
        &mut self,
        plain: &Propagation<T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        if let Some(difficulty) = &mut self.difficulty {
            visitor.visit("difficulty", difficulty)?;
        }
        // If the last propagation scores nodes in the next round, it is part of the state.
        if self.boosts_scoring() {
            self.visit_last_propagation(plain, visitor)?;
        }
        self.boosts.iter_mut().try_for_each(|(_, boost)| boost.visit(visitor))
    }

    fn visit_last_propagation(
        &mut self,
        plain: &Propagation<T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        let mut exists = self.last_propagation.is_some();
        visitor.visit("scores with the last propagation", &mut exists)?;
        if !exists {
            self.last_propagation = None;
            return Ok(());
        }
        let last = self.last_propagation.as_ref().unwrap_or(plain);
        let mut values = last.csr().values().to_vec();
        visitor.visit("last propagation", &mut values[..])?;
        self.last_propagation = Some(plain.with_values(values));
        Ok(())
    }
}
